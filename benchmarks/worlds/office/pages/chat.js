/*
 * Chat.
 *
 * data-t            data-k       what
 * chat.channel      name         "#general", or a person
 * chat.back                      phone: from a conversation to the list
 * chat.search                    field; Enter searches in all conversations
 * chat.clear                     ends the search
 * chat.found        id           a message that was found: shows it in its conversation
 * chat.earlier                   older messages
 * chat.text                      field; Enter sends, Shift+Enter begins a line
 * chat.send
 * chat.pins                      window: the pinned messages
 * chat.message      id           a message (not to be clicked)
 * chat.pin          id           pins it or takes the pin away
 * chat.edit, chat.delete   id    own messages only
 * chat.edit-text                 field of the window in which a message is edited
 */

import { ask, count, oneLine, PHONE, TODAY } from "./core.js";
import { longDay, stamp } from "./days.js";
import { button, empty, face, h, icon, put, searchField } from "./elements.js";
import { contextMenu } from "./menus.js";
import { at, currentApp, unseen } from "./shell.js";
import { dialog, form, guard, sure } from "./windows.js";

export function chat(root) {
  const ME = "Robin Hale";
  const PAGE = 20; // messages that are shown at first
  const state = { channel: PHONE ? null : "#general", q: "", limit: PAGE, drafts: {} };
  const rows = h("div", { class: "rows" }),
    side = h("nav", { class: "side" }, rows),
    pane = h("div", { class: "pane conversation" }),
    columns = h("div", { class: "columns split" }, side, pane);
  const search = searchField("chat.search", "Search all messages", (q) => {
    state.q = q;
    if (q) find();
    else draw();
  });
  root.append(h("header", { class: "bar" }, h("h1", {}, "Chat"), h("i", { class: "grow" }), search), columns);

  const clear = () => {
    state.q = "";
    search.clear();
  };
  const choose = (channel) => {
    keep();
    clear();
    Object.assign(state, { channel, limit: PAGE });
    draw(true);
  };
  const keep = () => {
    const text = pane.querySelector("[data-t='chat.text']");
    if (text && state.channel) state.drafts[state.channel] = text.value;
  };

  async function sidebar() {
    const channels = await ask("chat", "channels");
    const entry = ({ name, kind, last }) =>
      h(
        "button",
        {
          type: "button",
          t: "chat.channel",
          k: name,
          class: name === state.channel ? "on" : unseen.has(name) ? "unseen" : "",
          onclick: () => choose(name),
        },
        PHONE && face(name),
        kind === "direct" && !PHONE && icon("contacts"),
        h("span", { class: "cut" }, name, PHONE && h("div", { class: "muted small cut" }, last || "No messages yet")),
        name !== state.channel && unseen.has(name) && h("span", { class: "badge" }, "new"),
      );
    put(
      rows,
      h("h3", {}, "Channels"),
      channels.filter((channel) => channel.kind === "channel").map(entry),
      h("h3", {}, "Direct messages"),
      channels.filter((channel) => channel.kind === "direct").map(entry),
    );
  }

  async function draw(toEnd) {
    if (currentApp() === "chat" && !state.q) unseen.delete(state.channel);
    await sidebar();
    columns.classList.toggle("detail", state.channel !== null);
    at("chat", state.channel ?? "");
    if (state.channel === null) return;
    const got = await ask("chat", "messages", { channel: state.channel, limit: state.limit });
    const text = messageField(),
      talk = talkOf(got),
      scroll = oldScroll();
    pane.dataset.channel = state.channel;
    put(
      pane,
      h(
        "div",
        { class: "bar" },
        PHONE && button("chat.back", "back", "", back, { class: "plain", title: "Conversations" }),
        h("b", { class: "grow cut" }, state.channel),
        got.pinned.length > 0 && button("chat.pins", "pin", `${got.pinned.length} pinned`, () => pins(got.pinned)),
      ),
      talk,
      h(
        "div",
        { class: "bar composer" },
        text,
        button("chat.send", "send", "Send", () => post(text), { class: "main" }),
      ),
    );
    talk.scrollTop = toEnd || scroll === null ? talk.scrollHeight : scroll;
    if (toEnd) text.focus();
  }

  /** The field for a message, with what is written in it already. */
  function messageField() {
    const text = h("textarea", {
      t: "chat.text",
      placeholder: `Write to ${state.channel}`,
      "aria-label": "Message",
      onkeydown: (event) => {
        if (event.key === "Enter" && !event.shiftKey) {
          event.preventDefault();
          post(text);
        }
      },
    });
    const written = pane.querySelector("[data-t='chat.text']"); // what came while the server was asked
    const isSame = written && pane.dataset.channel === state.channel;
    text.value = isSame ? written.value : state.drafts[state.channel] || "";
    return text;
  }

  /** The field is empty at once, for the next message; what is refused comes back. */
  const post = (text) =>
    guard(async () => {
      const { channel } = state;
      const message = text.value;
      state.drafts[channel] = "";
      text.value = "";
      try {
        await ask("chat", "post", { channel, text: message });
      } catch (error) {
        const field = pane.querySelector("[data-t='chat.text']");
        if (state.channel === channel && field?.value === "") field.value = message;
        throw error;
      }
      if (state.channel === channel && !state.q) await draw(true);
    });

  /** How far a conversation was scrolled; null: to its end, or it is another one. */
  function oldScroll() {
    const old = pane.querySelector(".talk"),
      isAtEnd = old && old.scrollTop + old.clientHeight >= old.scrollHeight - 2;
    return !old || (isAtEnd && pane.dataset.channel === state.channel) ? null : old.scrollTop;
  }

  /** The messages, below their days. */
  function talkOf({ rows: messages, earlier }) {
    let day = "";
    return h(
      "div",
      { class: "talk" },
      earlier > 0 &&
        h(
          "div",
          { class: "earlier" },
          button("chat.earlier", null, `Earlier messages (${earlier})`, () => {
            keep();
            state.limit += PAGE;
            draw();
          }),
        ),
      messages.length
        ? messages.map((message) => {
            const before = day;
            day = message.sent_at.slice(0, 10);
            return [
              day !== before && h("div", { class: "day" }, day === TODAY ? "Today" : longDay(day)),
              bubble(message),
            ];
          })
        : empty("chat", "No messages yet. Write the first one."),
    );
  }

  function bubble(message) {
    const redo = (work) => () =>
      guard(async () => {
        keep();
        await work();
        await draw();
      });
    if (message.deleted)
      return h(
        "div",
        { class: "bubble muted", t: "chat.message", k: message.id },
        face(message.author),
        h("i", {}, "This message was deleted."),
      );
    const isMine = message.author === ME,
      pinLabel = message.pinned ? "Unpin" : "Pin";
    const acts = {
      pin: redo(() => ask("chat", "pin", { id: message.id, on: !message.pinned })),
      edit: () => {
        keep();
        edit(message);
      },
      delete: () => {
        keep();
        sure("Delete message?", `“${oneLine(message.text)}” will be deleted for everyone.`, "Delete", async () => {
          await ask("chat", "delete", { id: message.id });
          draw();
        });
      },
    };
    const entries = [
      ["pin", pinLabel, "pin"],
      ...(isMine
        ? [
            ["edit", "Edit", "edit"],
            ["delete", "Delete", "trash"],
          ]
        : []),
    ];
    return h(
      "div",
      {
        class: message.pinned ? "bubble pinned" : "bubble",
        t: "chat.message",
        k: message.id,
        oncontextmenu: (event) => contextMenu(event, entries, (what) => acts[what]()),
      },
      face(message.author),
      h(
        "div",
        { class: "grow" },
        h("b", {}, message.author),
        h(
          "span",
          { class: "muted small" },
          `  ${message.sent_at.slice(11)}${message.edited ? " (edited)" : ""}${message.pinned ? ", pinned" : ""}`,
        ),
        h("div", { class: "pre" }, message.text),
      ),
      h(
        "div",
        { class: "tools" },
        button("chat.pin", "pin", PHONE ? pinLabel : "", acts.pin, {
          k: message.id,
          title: pinLabel,
          class: message.pinned ? "plain set" : "plain",
          filled: !!message.pinned,
        }),
        isMine && [
          button("chat.edit", "edit", PHONE ? "Edit" : "", acts.edit, { k: message.id, class: "plain", title: "Edit" }),
          button("chat.delete", "trash", PHONE ? "Delete" : "", acts.delete, {
            k: message.id,
            class: "plain",
            title: "Delete",
          }),
        ],
      ),
    );
  }
  const edit = (message) => {
    form(
      "Edit message",
      [{ name: "text", t: "chat.edit-text", label: "Message", kind: "area", value: message.text }],
      async ({ text }) => {
        await ask("chat", "edit", { id: message.id, text });
        draw();
      },
    );
  };
  const pins = (pinned) =>
    dialog({
      title: `Pinned in ${state.channel}`,
      cancel: "Close",
      body: pinned.map((message) =>
        h(
          "p",
          { class: "pre" },
          h("b", {}, message.author),
          h("span", { class: "muted small" }, `  ${stamp(message.sent_at)}`),
          `\n${message.text}\n\n`,
        ),
      ),
    });

  async function find() {
    keep();
    const { q } = state;
    const messages = await ask("chat", "find", { q });
    if (q !== state.q) return;
    delete pane.dataset.channel;
    columns.classList.add("detail");
    put(
      pane,
      h(
        "div",
        { class: "bar" },
        h("b", { class: "grow cut" }, `${count(messages.length, "result")} for “${state.q}” in all conversations`),
        button(
          "chat.clear",
          "close",
          "",
          () => {
            clear();
            draw();
          },
          { class: "plain", title: "End the search" },
        ),
      ),
      h(
        "div",
        { class: "talk" },
        messages.length
          ? messages.map((message) =>
              h(
                "button",
                {
                  type: "button",
                  t: "chat.found",
                  k: message.id,
                  class: "found",
                  onclick: () => {
                    clear();
                    Object.assign(state, { channel: message.channel, limit: 1000 });
                    draw().then(() =>
                      pane
                        .querySelector(`[data-t="chat.message"][data-k="${message.id}"]`)
                        ?.scrollIntoView({ block: "center" }),
                    );
                  },
                },
                h("b", {}, message.channel),
                h("span", { class: "muted small" }, `  ${message.author}, ${stamp(message.sent_at)}`),
                h("div", {}, message.text),
              ),
            )
          : empty("search", `No message or author of any conversation has “${state.q}”.`),
      ),
    );
  }
  function back() {
    if (state.q) {
      clear();
      draw();
      return true;
    }
    if (!PHONE || state.channel === null) return false;
    keep();
    state.channel = null;
    draw();
    return true;
  }
  draw(true);
  return {
    show: () => {
      keep();
      return state.q ? find() : draw();
    },
    back,
    keys: (event) => {
      if (event.key !== "/" || event.ctrlKey) return false;
      search.querySelector("input").focus();
      return true;
    },
    shortcuts: [
      ["Enter", "Send; Shift+Enter begins a line"],
      ["/", "Search"],
    ],
  };
}

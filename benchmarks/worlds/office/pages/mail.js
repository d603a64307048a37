/*
 * Mail: folders, the list of messages, and what can be done with them.
 *
 * data-t            data-k       what
 * mail.folder       folder       Inbox, Starred, Drafts, Sent, Archive, Trash
 * mail.compose                   a new message
 * mail.search                    field; searches in all folders, Escape clears
 * mail.clear                     ends the search
 * mail.filter                    choice: all, unread, starred, files
 * mail.newer, mail.older         pages
 * mail.row          id           a message of the list (in Drafts: of the table drafts)
 * mail.check        id           its checkbox
 * mail.star         id           its star
 * mail.all                       checks the whole page
 * mail.bulk-archive, mail.bulk-delete, mail.bulk-inbox, mail.bulk-read, mail.bulk-unread
 *                                shown once something is checked
 *
 * A message of the list has a menu (menu.item): open, reply, star, unread, archive or inbox, delete.
 *
 * Keys: c compose, / search, r reply, f forward, e archive, # delete, Ctrl+Enter send, Ctrl+Z back.
 */

import { ask, count, oneLine, PHONE } from "./core.js";
import { moment } from "./days.js";
import { button, empty, h, icon, pager, put, searchField } from "./elements.js";
import { composeMail } from "./mail_compose.js";
import { answersTo, messageArticle, messageBar } from "./mail_message.js";
import { choice, contextMenu } from "./menus.js";
import { at } from "./shell.js";
import { guard, sure, toast } from "./windows.js";

export function mail(root) {
  const ACTS = { r: "reply", f: "forward", e: "archive", "#": "remove", Delete: "remove" }; // of an open message, by key
  const HEAD = 140; // characters of a text in the list
  const FOLDERS = [
    ["Inbox", "inbox"],
    ["Starred", "star"],
    ["Drafts", "draft"],
    ["Sent", "send"],
    ["Archive", "archive"],
    ["Trash", "trash"],
  ];
  const state = { folder: "Inbox", q: "", show: "all", page: 0, open: null, checked: new Set(), got: null };
  const side = h("nav", { class: "side" }),
    pane = h("div", { class: "pane" });
  const search = searchField("mail.search", "Search all mail", (q) => {
    state.q = q;
    state.page = 0;
    state.open = null;
    list();
  });
  const filter = choice(
    "mail.filter",
    [
      ["all", "No filter"],
      ["unread", "Unread"],
      ["starred", "Starred"],
      ["files", "With attachment"],
    ],
    "all",
    (show) => {
      state.show = show;
      state.page = 0;
      state.open = null;
      list();
    },
  );
  root.append(
    h(
      "header",
      { class: "bar" },
      h("h1", {}, "Mail"),
      button("mail.compose", "edit", "Compose", () => compose(), { class: "main" }),
      h("i", { class: "grow" }),
      search,
      filter,
    ),
    h("div", { class: "columns" }, side, pane),
  );

  const go = (folder) => {
    Object.assign(state, { folder, q: "", show: "all", page: 0, open: null });
    search.clear();
    filter.set("all");
    list();
  };

  let newest = 0;
  async function list() {
    newest += 1;
    const request = newest;
    const got = await ask("mail", "list", {
      folder: state.folder,
      q: state.q,
      show: state.show,
      page: state.page,
    });
    if (request !== newest) return;
    state.got = got;
    state.page = got.page;
    state.checked.clear();
    put(
      side,
      FOLDERS.map(([name, sign]) => {
        const number = name === "Inbox" ? got.unread : name === "Drafts" ? got.drafts : 0;
        return h(
          "button",
          {
            type: "button",
            t: "mail.folder",
            k: name,
            class: name === state.folder && !state.q ? "on" : "",
            onclick: () => go(name),
          },
          icon(sign),
          name,
          number > 0 && h("span", { class: "number" }, number),
        );
      }),
    );
    if (state.open === null) draw();
  }

  function draw() {
    const { got, folder, q } = state;
    at("mail", q ? "search" : folder);
    put(
      pane,
      h(
        "div",
        { class: "bar list-bar" },
        !isDrafts() && checkAll(),
        state.checked.size ? bulkTools() : heading(),
        h("i", { class: "grow" }),
        pager(
          got,
          (page) => {
            state.page = page;
            list();
          },
          ["mail.newer", "Newer"],
          ["mail.older", "Older"],
        ),
      ),
      got.rows.length ? h("div", { class: "mails" }, got.rows.map(row)) : empty(q ? "search" : "inbox", nothing()),
    );
    pane.scrollTop = 0;
  }

  const isDrafts = () => state.folder === "Drafts" && !state.q;

  /** Why no message is listed. */
  function nothing() {
    const { q, folder, show } = state,
      filtered = show === "all" ? "" : ", and fits the filter";
    if (q)
      return `No message of any folder but Drafts has “${q}” in its subject, text, sender or recipients${filtered}.`;
    return show === "all" ? `Nothing in ${folder}.` : "No message fits this filter.";
  }

  function checkAll() {
    const { got, checked } = state;
    const all = h("input", {
      type: "checkbox",
      t: "mail.all",
      "aria-label": "Check all",
      checked: checked.size > 0 && checked.size === got.rows.length,
      disabled: !got.rows.length,
      onclick: () => {
        got.rows.forEach((row) =>
          checked.size && all.checked === false ? checked.delete(row.id) : checked.add(row.id),
        );
        draw();
      },
    });
    return all;
  }

  /** What can be done with the messages that are checked. */
  function bulkTools() {
    const { folder, checked, q } = state,
      isPutAway = ["Archive", "Trash"].includes(folder),
      ids = () => [...checked];
    const bulk = (name, sign, label, work) =>
      button(`mail.bulk-${name}`, sign, label, () =>
        guard(async () => {
          await work();
          list();
        }),
      );
    const mark = (on) => ask("mail", "mark", { ids: ids(), column: "is_read", on });
    return [
      h("span", { class: "small" }, `${checked.size} checked`),
      (q || !isPutAway) && bulk("archive", "archive", "Archive", () => move(ids(), "Archive")),
      (q || isPutAway) && bulk("inbox", "inbox", "Move to Inbox", () => move(ids(), "Inbox")),
      bulk("delete", "trash", "Delete", () => remove(ids())),
      bulk("read", null, "Mark as read", () => mark(true)),
      bulk("unread", null, "Mark as unread", () => mark(false)),
    ];
  }

  /** What is listed. */
  function heading() {
    const { q, folder } = state,
      results = PHONE ? `All folders: “${q}”` : `Results for “${q}” in all folders but Drafts`;
    return [
      h("b", { class: "cut" }, q ? results : folder),
      q && button("mail.clear", "close", "", () => go(folder), { class: "plain", title: "End the search" }),
    ];
  }

  function row(mail) {
    const acts = actsOn(mail),
      entries = entriesOf(mail),
      isChecked = state.checked.has(mail.id);
    return h(
      "div",
      {
        class: `mail-row ${mail.is_read ? "" : "unread"} ${isChecked ? "checked" : ""}`,
        t: "mail.row",
        k: mail.id,
        role: "button",
        tabindex: 0,
        onclick: acts.open,
        oncontextmenu: (event) => contextMenu(event, entries, (what) => acts[what]()),
      },
      !isDrafts() && [checkOf(mail), starOf(mail, acts)],
      h("span", { class: "who cut" }, whoOf(mail)),
      h(
        "span",
        { class: "what cut" },
        h("span", { class: "subject" }, mail.subject || "(no subject)"),
        h("span", { class: "muted" }, ` – ${beginning(mail.head)}`),
      ),
      state.q && h("span", { class: "tag" }, mail.folder),
      mail.attached ? icon("clip") : null,
      h("span", { class: "when small" }, moment(mail.sent_at)),
    );
  }

  function whoOf(mail) {
    if (isDrafts()) return mail.recipients || "(no recipient)";
    return mail.folder === "Sent" ? `To: ${mail.recipients}` : mail.sender;
  }

  const checkOf = (mail) =>
    h("input", {
      type: "checkbox",
      t: "mail.check",
      k: mail.id,
      "aria-label": "Check",
      checked: state.checked.has(mail.id),
      onclick: (event) => {
        event.stopPropagation();
        if (!state.checked.delete(mail.id)) state.checked.add(mail.id);
        draw();
      },
    });

  const starOf = (mail, acts) =>
    button(
      "mail.star",
      "star",
      "",
      (event) => {
        event.stopPropagation();
        acts.star();
      },
      {
        k: mail.id,
        title: mail.starred ? "Remove the star" : "Star",
        class: mail.starred ? "plain starred" : "plain",
        filled: !!mail.starred,
      },
    );

  /** What can be done with a message of the list. */
  function actsOn(mail) {
    const mark = (column, on) =>
      guard(async () => {
        await ask("mail", "mark", { ids: [mail.id], column, on });
        list();
      });
    return {
      open: isDrafts() ? () => resume(mail.id) : () => view(mail.id),
      reply: async () => {
        await view(mail.id);
        state.acts?.reply();
      },
      star: () => mark("starred", !mail.starred),
      unread: () => mark("is_read", !mail.is_read),
      archive: () => guard(() => move([mail.id], "Archive")).then(list),
      inbox: () => guard(() => move([mail.id], "Inbox")).then(list),
      delete: () => guard(() => remove([mail.id])).then(list),
    };
  }

  /** The menu of a message of the list. */
  function entriesOf(mail) {
    if (isDrafts()) return [["open", "Open", "edit"]];
    const isPutAway = ["Archive", "Trash"].includes(mail.folder);
    return [
      ["open", "Open", "mail"],
      ["reply", "Reply", "reply"],
      ["star", mail.starred ? "Remove the star" : "Star", "star"],
      ["unread", mail.is_read ? "Mark unread" : "Mark as read", "inbox"],
      isPutAway ? ["inbox", "Move to Inbox", "inbox"] : ["archive", "Archive", "archive"],
      ["delete", "Delete", "trash"],
    ];
  }

  /** What the list shows of a text, which comes with one character more than that: whole words. */
  const beginning = (head) =>
    oneLine(head.length > HEAD ? head.slice(0, HEAD).replace(/[.,:;?!]*\s+\S*$/, "") + "…" : head);
  const folderOf = (id) =>
    state.open?.id === id ? state.open.folder : state.got.rows.find((mail) => mail.id === id)?.folder;
  const move = async (ids, folder) => {
    const before = new Map(ids.map((id) => [id, folderOf(id)]));
    await ask("mail", "move", { ids, folder });
    toast(
      ids.length === 1 ? `Moved to ${folder}.` : `${ids.length} messages moved to ${folder}.`,
      false,
      folder === "Deleted"
        ? null
        : async () => {
            for (const [id, from] of before) await ask("mail", "move", { ids: [id], folder: from });
            toast(ids.length === 1 ? "Moved back." : `${ids.length} messages moved back.`);
            list();
          },
    );
  };
  function remove(ids) {
    if (ids.some((id) => folderOf(id) !== "Trash"))
      return move(
        ids.filter((id) => folderOf(id) !== "Trash"),
        "Trash",
      );
    sure(
      "Delete for good?",
      `${count(ids.length, "message")} will be deleted for good. This cannot be taken back.`,
      "Delete",
      async () => {
        await ask("mail", "move", { ids, folder: "Deleted" });
        toast("Deleted for good.");
        state.open = null;
        list();
      },
    );
    return null;
  }

  async function view(id) {
    const mail = await guard(() => ask("mail", "get", { id }));
    if (!mail) return list();
    state.open = mail;
    at("mail", mail.folder, id);
    const leave = async (work) =>
      guard(async () => {
        await work();
        if (mail.folder !== "Trash" || !pane.closest(".window").querySelector(".shade")) {
          state.open = null;
          list();
        }
      });
    const rows = state.got.rows,
      index = rows.findIndex((listed) => listed.id === id),
      begins = answersTo(mail);
    state.acts = {
      back,
      reply: () => compose(begins.reply, "Reply"),
      replyAll: begins.replyAll && (() => compose(begins.replyAll, "Reply")),
      forward: () => compose(begins.forward, "Forward"),
      archive: () => leave(() => move([id], "Archive")),
      inbox: () => leave(() => move([id], "Inbox")),
      remove: () => leave(() => remove([id])),
      unread: () => leave(() => ask("mail", "mark", { ids: [id], column: "is_read", on: false })),
      previous: index > 0 && (() => view(rows[index - 1].id)),
      next: index >= 0 && index + 1 < rows.length && (() => view(rows[index + 1].id)),
      star: () =>
        guard(async () => {
          await ask("mail", "mark", { ids: [id], column: "starred", on: !mail.starred });
          view(id);
        }),
    };
    put(pane, messageBar(mail, state.acts), messageArticle(mail, state.acts));
    pane.scrollTop = 0;
    if (!rows[index]?.is_read) list();
    return undefined;
  }
  const back = () => {
    if (state.open === null) return false;
    state.open = null;
    list();
    return true;
  };
  const resume = async (id) => {
    const draft = await guard(() => ask("mail", "draft", { id }));
    if (draft) compose({ ...draft, to: draft.recipients, draft: id });
  };

  const compose = (start = {}, title = "New message") =>
    composeMail(start, title, {
      changed: list,
      sent: () => {
        if (state.open === null) list();
      },
    });

  function keys(event) {
    const { key } = event,
      acts = state.open && state.acts;
    if (event.ctrlKey) return false;
    if (key === "c") compose();
    else if (key === "/") search.querySelector("input").focus();
    else if (acts && key in ACTS) acts[ACTS[key]]();
    else if (key === "Escape") return back();
    else return false;
    return true;
  }
  list();
  const shortcuts = [
    ["c", "Write a message"],
    ["/", "Search"],
    ["r", "Reply to the message that is open"],
    ["f", "Forward it"],
    ["e", "Archive the message that is open"],
    ["# or Delete", "Delete the message that is open"],
    ["Escape", "Back to the list"],
    ["Ctrl+Enter", "Send what is being written"],
  ];
  return { show: list, back, keys, compose, shortcuts };
}

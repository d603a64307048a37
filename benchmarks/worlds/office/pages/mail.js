"use strict";
/*
 * Mail.
 *
 * data-t            data-k       what
 * mail.folder       folder       Inbox, Starred, Drafts, Sent, Archive, Trash
 * mail.compose                   a new message
 * mail.search                    field; Enter searches in the folder, Escape clears
 * mail.clear                     ends the search
 * mail.filter                    choice: all, unread, starred, files
 * mail.newer, mail.older         pages
 * mail.row          id           a message of the list (in Drafts: of the table drafts)
 * mail.check        id           its checkbox
 * mail.star         id           its star
 * mail.all                       checks the whole page
 * mail.bulk-archive, mail.bulk-delete, mail.bulk-inbox, mail.bulk-read, mail.bulk-unread
 *                                shown once something is checked
 * mail.back                      from a message to the list
 * mail.reply, mail.reply-all, mail.forward, mail.archive, mail.delete, mail.inbox, mail.unread,
 *   mail.previous, mail.next     of the open message
 * mail.star-open                 the star of the open message
 * mail.view         number       an attachment's text, from 0
 * mail.save         number       saves it to Downloads
 * mail.to, mail.cc, mail.subject, mail.body    fields of a new message
 * mail.person       address      a suggestion below To or Cc
 * mail.attach                    window: choose a file (mail.attach-file, data-k: id)
 * mail.find-file                 field of that window: only files with such a name
 * mail.detach       id           takes an attachment away again
 * mail.discard                  throws the message away; dialog.ok sends it, dialog.cancel keeps a draft
 *
 * Keys: c compose, / search, r reply, f forward, e archive, # delete, Ctrl+Enter send.
 */

office.apps.mail = root => {
  const FOLDERS = [
    ["Inbox", "inbox"],
    ["Starred", "star"],
    ["Drafts", "draft"],
    ["Sent", "send"],
    ["Archive", "archive"],
    ["Trash", "trash"],
  ];
  const state = {folder: "Inbox", q: "", show: "all", page: 0, open: null, checked: new Set(), got: null};
  const side = h("nav", {class: "side"}),
    pane = h("div", {class: "pane"});
  const search = searchField("mail.search", "Search mail", q => {
    state.q = q;
    state.page = 0;
    state.open = null;
    list();
  });
  const filter = choice(
    "mail.filter",
    [
      ["all", "All mail"],
      ["unread", "Unread"],
      ["starred", "Starred"],
      ["files", "With attachment"],
    ],
    "all",
    show => {
      state.show = show;
      state.page = 0;
      state.open = null;
      list();
    },
  );
  root.append(
    h(
      "header",
      {class: "bar"},
      h("h1", {}, "Mail"),
      button("mail.compose", "edit", "Compose", () => compose(), {class: "main"}),
      h("i", {class: "grow"}),
      search,
      filter,
    ),
    h("div", {class: "columns"}, side, pane),
  );

  const go = folder => {
    Object.assign(state, {folder, q: "", show: "all", page: 0, open: null});
    search.querySelector("input").value = "";
    filter.set("all");
    list();
  };

  async function list() {
    const got = (state.got = await ask("mail", "list", {folder: state.folder, q: state.q, show: state.show, page: state.page}));
    state.page = got.page;
    state.checked.clear();
    put(
      side,
      FOLDERS.map(([name, sign]) => {
        const number = name === "Inbox" ? got.unread : name === "Drafts" ? got.drafts : 0;
        return h(
          "button",
          {type: "button", t: "mail.folder", k: name, class: name === state.folder ? "on" : "", onclick: () => go(name)},
          icon(sign),
          name,
          number > 0 && h("span", {class: "number"}, number),
        );
      }),
    );
    if (state.open === null) draw();
  }

  function draw() {
    const {got, folder, checked} = state,
      drafts = folder === "Drafts",
      ids = () => [...checked];
    const bulk = (name, sign, label, work) =>
      button(`mail.bulk-${name}`, sign, label, () =>
        guard(async () => {
          await work();
          list();
        }),
      );
    const all = h("input", {
      type: "checkbox",
      t: "mail.all",
      "aria-label": "Check all",
      checked: checked.size > 0 && checked.size === got.rows.length,
      disabled: !got.rows.length,
      onclick: () => {
        got.rows.forEach(row => (checked.size && all.checked === false ? checked.delete(row.id) : checked.add(row.id)));
        draw();
      },
    });
    const tools = checked.size
      ? [
          h("span", {class: "small"}, `${checked.size} checked`),
          folder !== "Archive" && folder !== "Trash" && bulk("archive", "archive", "Archive", () => move(ids(), "Archive")),
          ["Archive", "Trash"].includes(folder) && bulk("inbox", "inbox", "Move to Inbox", () => move(ids(), "Inbox")),
          bulk("delete", "trash", "Delete", () => remove(ids())),
          bulk("read", null, "Mark as read", () => ask("mail", "mark", {ids: ids(), column: "is_read", on: true})),
          bulk("unread", null, "Mark as unread", () => ask("mail", "mark", {ids: ids(), column: "is_read", on: false})),
        ]
      : [
          h("b", {class: "cut"}, state.q ? `Results for “${state.q}” in ${folder}` : folder),
          state.q && button("mail.clear", "close", "", () => go(folder), {class: "plain", title: "End the search"}),
        ];
    put(
      pane,
      h(
        "div",
        {class: "bar list-bar"},
        !drafts && all,
        tools,
        h("i", {class: "grow"}),
        pager(
          got,
          page => {
            state.page = page;
            list();
          },
          ["mail.newer", "Newer"],
          ["mail.older", "Older"],
        ),
      ),
      got.rows.length
        ? h("div", {class: "mails"}, got.rows.map(row))
        : empty(
            state.q ? "search" : "inbox",
            state.q ? "No message fits your search." : state.show === "all" ? `Nothing in ${folder}.` : "No message fits this filter.",
          ),
    );
    pane.scrollTop = 0;
  }

  function row(mail) {
    const drafts = state.folder === "Drafts",
      who = drafts ? mail.recipients || "(no recipient)" : state.folder === "Sent" ? `To: ${mail.recipients}` : mail.sender;
    const check = h("input", {
      type: "checkbox",
      t: "mail.check",
      k: mail.id,
      "aria-label": "Check",
      checked: state.checked.has(mail.id),
      onclick: event => {
        event.stopPropagation();
        if (!state.checked.delete(mail.id)) state.checked.add(mail.id);
        draw();
      },
    });
    const star = button(
      "mail.star",
      "star",
      "",
      event => {
        event.stopPropagation();
        guard(async () => {
          await ask("mail", "mark", {ids: [mail.id], column: "starred", on: !mail.starred});
          list();
        });
      },
      {
        k: mail.id,
        title: mail.starred ? "Remove the star" : "Star",
        class: mail.starred ? "plain starred" : "plain",
        filled: !!mail.starred,
      },
    );
    return h(
      "div",
      {
        class: `mail-row ${mail.is_read ? "" : "unread"} ${state.checked.has(mail.id) ? "checked" : ""}`,
        t: "mail.row",
        k: mail.id,
        role: "button",
        tabindex: 0,
        onclick: () => (drafts ? resume(mail.id) : view(mail.id)),
      },
      !drafts && check,
      !drafts && star,
      h("span", {class: "who cut"}, who),
      h(
        "span",
        {class: "what cut"},
        h("span", {class: "subject"}, mail.subject || "(no subject)"),
        h("span", {class: "muted"}, ` – ${oneLine(mail.head)}`),
      ),
      mail.attached ? icon("clip") : null,
      h("span", {class: "when small"}, moment(mail.sent_at)),
    );
  }

  const move = async (ids, folder) => {
    await ask("mail", "move", {ids, folder});
    toast(ids.length === 1 ? `Moved to ${folder}.` : `${ids.length} messages moved to ${folder}.`);
  };
  function remove(ids) {
    if (state.folder !== "Trash") return move(ids, "Trash");
    sure("Delete for good?", `${count(ids.length, "message")} will be deleted for good. This cannot be taken back.`, "Delete", async () => {
      await ask("mail", "move", {ids, folder: "Deleted"});
      toast("Deleted for good.");
      state.open = null;
      list();
    });
    return null;
  }

  async function view(id) {
    const mail = await guard(() => ask("mail", "get", {id}));
    if (!mail) return list();
    state.open = mail;
    const leave = async work =>
      guard(async () => {
        await work();
        if (state.folder !== "Trash" || !pane.closest(".window").querySelector(".shade")) {
          state.open = null;
          list();
        }
      });
    const rows = state.got.rows,
      at = rows.findIndex(each => each.id === id);
    const quote = `\n\nOn ${mail.sent_at}, ${mail.sender} wrote:\n> ${mail.body.replace(/\n/g, "\n> ")}`;
    const re = /^re:/i.test(mail.subject) ? mail.subject : `Re: ${mail.subject}`;
    const others = `${mail.recipients}, ${mail.cc}`
      .split(", ")
      .filter(each => each && each !== "robin.hale@northwind.example" && each !== mail.sender_addr)
      .join(", ");
    const own = mail.sender_addr === "robin.hale@northwind.example";
    const reply = all => compose({to: own ? mail.recipients : mail.sender_addr, cc: all ? others : "", subject: re, body: quote}, "Reply");
    const forward = () =>
      compose(
        {
          subject: `Fwd: ${mail.subject}`,
          body: `\n\n---------- Forwarded message ----------\nFrom: ${mail.sender} <${mail.sender_addr}>\nDate: ${mail.sent_at}\nSubject: ${mail.subject}\n\n${mail.body}`,
        },
        "Forward",
      );
    state.acts = {
      reply: () => reply(false),
      forward,
      archive: () => leave(() => move([id], "Archive")),
      remove: () => leave(() => remove([id])),
    };
    put(
      pane,
      h(
        "div",
        {class: "bar message-bar"},
        button("mail.back", "back", "Back", back),
        button("mail.reply", "reply", "Reply", () => reply(false)),
        others && button("mail.reply-all", "reply", "Reply to all", () => reply(true)),
        button("mail.forward", "forward", "Forward", forward),
        ["Inbox", "Sent"].includes(mail.folder)
          ? button("mail.archive", "archive", "Archive", state.acts.archive)
          : button("mail.inbox", "inbox", "Move to Inbox", () => leave(() => move([id], "Inbox"))),
        button("mail.delete", "trash", "Delete", state.acts.remove),
        button("mail.unread", "mail", "Mark unread", () => leave(() => ask("mail", "mark", {ids: [id], column: "is_read", on: false}))),
        h("i", {class: "grow"}),
        button("mail.previous", "left", "", () => view(rows[at - 1].id), {class: "plain", title: "Newer message", disabled: at < 1}),
        button("mail.next", "right", "", () => view(rows[at + 1].id), {
          class: "plain",
          title: "Older message",
          disabled: at < 0 || at + 1 >= rows.length,
        }),
      ),
      h(
        "article",
        {class: "pad message"},
        h(
          "div",
          {class: "line"},
          h("h2", {class: "grow"}, mail.subject),
          button(
            "mail.star-open",
            "star",
            "",
            () =>
              guard(async () => {
                await ask("mail", "mark", {ids: [id], column: "starred", on: !mail.starred});
                view(id);
              }),
            {class: mail.starred ? "plain starred" : "plain", title: mail.starred ? "Remove the star" : "Star", filled: !!mail.starred},
          ),
        ),
        h(
          "div",
          {class: "line"},
          face(mail.sender),
          h(
            "div",
            {class: "grow"},
            h("div", {}, h("b", {}, mail.sender), h("span", {class: "muted mailbox"}, ` <${mail.sender_addr}>`)),
            h("div", {class: "muted small"}, `to ${mail.recipients}${mail.cc ? `, copy to ${mail.cc}` : ""}`),
          ),
          h("span", {class: "muted small"}, mail.sent_at),
        ),
        h("p", {class: "pre text"}, mail.body),
        mail.attachments.length > 0 &&
          h(
            "div",
            {class: "attachments"},
            h("b", {class: "small"}, count(mail.attachments.length, "attachment")),
            mail.attachments.map((file, number) =>
              h(
                "div",
                {class: "file"},
                icon("text"),
                h("span", {class: "grow cut"}, file.name),
                button(
                  "mail.view",
                  null,
                  "View",
                  () => dialog({title: file.name, body: h("p", {class: "pre"}, file.text), cancel: "Close"}),
                  {k: number},
                ),
                button(
                  "mail.save",
                  null,
                  "Save to Files",
                  () =>
                    guard(async () => {
                      await ask("mail", "save", {id, index: number});
                      toast(`Saved “${file.name}” to Downloads.`);
                    }),
                  {k: number},
                ),
              ),
            ),
          ),
      ),
    );
    pane.scrollTop = 0;
    if (!rows[at]?.is_read) list();
    return undefined;
  }
  const back = () => {
    if (state.open === null) return false;
    state.open = null;
    list();
    return true;
  };
  const resume = async id => {
    const draft = await guard(() => ask("mail", "draft", {id}));
    if (draft) compose({...draft, to: draft.recipients, draft: id});
  };

  function compose(start = {}, title = "New message") {
    const attached = [...(start.attachments || [])];
    const line = (name, label, value) => {
      const input = h("input", {name, t: `mail.${name}`, id: `mail-${name}`, value: value || "", autocomplete: "off"});
      return [input, h("div", {class: "field"}, h("label", {for: input.id}, label), input)];
    };
    const [to, toLine] = line("to", "To", start.to),
      [cc, ccLine] = line("cc", "Cc", start.cc),
      [subject, subjectLine] = line("subject", "Subject", start.subject);
    const body = h("textarea", {name: "body", t: "mail.body", rows: PHONE ? 9 : 11, "aria-label": "Message"});
    body.value = start.body || "";
    const chips = h("div", {class: "grow"});
    const showFiles = () =>
      put(
        chips,
        attached.map((file, number) =>
          h(
            "span",
            {class: "chip small"},
            icon("clip"),
            file.name,
            button(
              "mail.detach",
              "close",
              "",
              () => {
                attached.splice(number, 1);
                showFiles();
              },
              {k: file.id, title: "Take away", class: "plain"},
            ),
          ),
        ),
      );
    const values = () => ({
      to: to.value,
      cc: cc.value,
      subject: subject.value,
      body: body.value,
      attachments: attached.map(file => file.id),
      draft: start.draft ?? null,
    });
    const blank = JSON.stringify(values());
    suggest(to);
    suggest(cc);
    showFiles();
    const shade = dialog({
      title,
      wide: true,
      label: "Send",
      cancel: "Close",
      body: [
        toLine,
        ccLine,
        subjectLine,
        body,
        h(
          "div",
          {class: "line"},
          button("mail.attach", "clip", "Attach file", () => attach(attached, showFiles)),
          button("mail.discard", "trash", "Discard", async () => {
            if (start.draft) await ask("mail", "discard", {draft: start.draft});
            shade.close();
            toast("Message discarded.");
            list();
          }),
          chips,
        ),
      ],
      ok: async () => {
        await ask("mail", "send", values());
        toast("Message sent.");
        if (state.open === null) list();
      },
      onclose: async () => {
        if (JSON.stringify(values()) !== blank) {
          await ask("mail", "keep", values());
          toast("Draft saved.");
          list();
        }
      },
    });
    if (start.to) {
      body.focus();
      body.setSelectionRange(0, 0);
      body.scrollTop = 0;
    }
    return shade;
  }

  /** People whose name or address begins like what is being written. */
  function suggest(input) {
    let turn = 0,
      box = null;
    const drop = () => {
      box?.remove();
      box = null;
      turn += 1;
    };
    input.addEventListener("input", async () => {
      const parts = input.value.split(/[,;]/),
        q = parts[parts.length - 1].trim();
      drop();
      if (q.length < 2) return;
      const mine = turn,
        people = await ask("mail", "people", {q});
      if (mine !== turn || !people.length || document.activeElement !== input) return;
      const place = input.getBoundingClientRect();
      box = h(
        "div",
        {class: "menu people"},
        people.map(person =>
          button(
            "mail.person",
            null,
            "",
            () => {
              input.value = [...parts.slice(0, -1).map(part => part.trim()), person.email].join(", ") + ", ";
              drop();
              input.focus();
            },
            {k: person.email, title: person.name},
          ),
        ),
      );
      people.forEach((person, number) => put(box.children[number], h("b", {}, person.name), h("span", {class: "muted"}, person.email)));
      document.body.append(box);
      box.style.left = `${place.left}px`;
      box.style.top = `${place.bottom + 2}px`;
      box.style.maxWidth = `${innerWidth - place.left - 8}px`;
    });
    input.addEventListener("keydown", event => {
      if (!box) return;
      if (event.key === "Escape") {
        drop();
        event.stopPropagation();
      } else if (event.key === "ArrowDown") {
        box.firstChild.focus();
        event.preventDefault();
      } else if (event.key === "Enter") {
        box.firstChild.click();
        event.stopPropagation();
        event.preventDefault();
      }
    });
    input.addEventListener("blur", event => {
      if (!box?.contains(event.relatedTarget)) drop();
    });
  }

  async function attach(attached, done) {
    const files = await guard(() => ask("mail", "files"));
    if (!files) return;
    const rows = h("div", {class: "pick"});
    const draw = q =>
      put(
        rows,
        files
          .filter(file => file.name.toLowerCase().includes(q.toLowerCase()))
          .map(file =>
            button(
              "mail.attach-file",
              "text",
              "",
              () => {
                if (!attached.some(each => each.id === file.id)) attached.push(file);
                done();
                shade.close();
              },
              {k: file.id, title: file.name},
            ),
          ),
      );
    const shade = dialog({
      title: "Attach a file",
      cancel: "Cancel",
      body: [searchField("mail.find-file", "Search by name", redraw, {live: true}), rows],
    });
    function redraw(q) {
      draw(q);
      for (const each of rows.children) {
        const file = files.find(one => one.id === +each.dataset.k);
        each.append(h("span", {class: "grow cut"}, file.name), h("span", {class: "muted small"}, file.folder));
      }
      if (!rows.children.length) put(rows, h("p", {class: "muted pad"}, "No file has such a name."));
    }
    redraw("");
  }

  function keys(event) {
    const {key} = event,
      acts = state.open && state.acts;
    if (event.ctrlKey) return false;
    if (key === "c") compose();
    else if (key === "/") search.querySelector("input").focus();
    else if (acts && key === "r") acts.reply();
    else if (acts && key === "f") acts.forward();
    else if (acts && key === "e") acts.archive();
    else if (acts && (key === "#" || key === "Delete")) acts.remove();
    else if (key === "Escape") return back();
    else return false;
    return true;
  }
  list();
  return {show: list, back, keys, compose};
};

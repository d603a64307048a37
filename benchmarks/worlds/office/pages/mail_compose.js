/*
 * Mail: writing a message.
 *
 * data-t            data-k       what
 * mail.to, mail.cc, mail.subject, mail.body    fields of a new message
 * mail.person       address      a suggestion below To or Cc
 * mail.quote                     shows the text that is answered to or forwarded, to be changed
 * mail.attach                    window: choose a file (mail.attach-file, data-k: id)
 * mail.find-file                 field of that window: only files with such a name
 * mail.detach       id           takes an attachment away again
 * mail.discard                   throws the message away; dialog.ok sends it, dialog.cancel keeps a draft
 */

import { ask, oneLine, PHONE } from "./core.js";
import { button, h, icon, put, searchField } from "./elements.js";
import { dialog, guard, toast } from "./windows.js";

/**
 * The window of a new message, with what it begins with; closed, it leaves a draft. `sent` runs once
 * it has gone, `changed` where the drafts are others.
 */
export function composeMail(start, title, { sent, changed }) {
  const attached = [...(start.attachments || [])];
  const line = (name, label, value) => {
    const input = h("input", { name, t: `mail.${name}`, id: `mail-${name}`, value: value || "", autocomplete: "off" });
    return [input, h("div", { class: "field" }, h("label", { for: input.id }, label), input)];
  };
  const [to, toLine] = line("to", "To", start.to),
    [cc, ccLine] = line("cc", "Cc", start.cc),
    [subject, subjectLine] = line("subject", "Subject", start.subject);
  const body = h("textarea", {
    name: "body",
    t: "mail.body",
    rows: start.quote || PHONE ? 9 : 11,
    "aria-label": "Message",
  });
  body.value = start.body || "";
  let quote = start.quote || ""; // goes below what is written, and is not in the way of it
  const quoted = h("div", { class: "quoted" });
  const showQuote = () =>
    put(
      quoted,
      quote && [
        button(
          "mail.quote",
          "more",
          "",
          () => {
            const end = body.value.length;
            body.value += quote;
            quote = "";
            showQuote();
            body.focus();
            body.setSelectionRange(end, end);
          },
          { title: "Show the quoted text and change it", class: "plain" },
        ),
        h("span", { class: "muted small cut" }, `The quoted text goes below: ${oneLine(quote)}`),
      ],
    );
  showQuote();
  const chips = h("div", { class: "grow" });
  const showFiles = () =>
    put(
      chips,
      attached.map((file, number) =>
        h(
          "span",
          { class: "chip small" },
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
            { k: file.id, title: "Take away", class: "plain" },
          ),
        ),
      ),
    );
  const values = () => ({
    to: to.value,
    cc: cc.value,
    subject: subject.value,
    body: body.value + quote,
    attachments: attached.map((file) => file.id),
    draft: start.draft ?? null,
  });
  const blank = JSON.stringify(values());
  suggestPeople(to);
  suggestPeople(cc);
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
      quoted,
      h(
        "div",
        { class: "line" },
        button("mail.attach", "clip", "Attach file", () => attachFile(attached, showFiles)),
        button("mail.discard", "trash", "Discard", async () => {
          if (start.draft) await ask("mail", "discard", { draft: start.draft });
          shade.close();
          toast("Message discarded.");
          changed();
        }),
        chips,
      ),
    ],
    ok: async () => {
      await ask("mail", "send", values());
      toast("Message sent.");
      sent();
    },
    onclose: async () => {
      if (JSON.stringify(values()) !== blank) {
        await ask("mail", "keep", values());
        toast("Draft saved.");
        changed();
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

/** People whose name or address begins like what is being written; Enter takes the one that is marked. */
function suggestPeople(input) {
  let newest = 0,
    box = null,
    chosen = 0;
  const drop = () => {
    box?.remove();
    box = null;
    newest += 1;
  };
  const mark = (number) => {
    chosen = (number + box.children.length) % box.children.length;
    for (const [index, item] of [...box.children].entries()) item.classList.toggle("on", index === chosen);
  };
  input.addEventListener("input", async () => {
    const parts = input.value.split(/[,;]/),
      q = parts[parts.length - 1].trim();
    drop();
    if (q.length < 2) return;
    const request = newest,
      people = await ask("mail", "people", { q });
    if (request !== newest || !people.length || document.activeElement !== input) return;
    const inputBox = input.getBoundingClientRect();
    const take = (person) => {
      input.value = [...parts.slice(0, -1).map((part) => part.trim()), person.email].join(", ") + ", ";
      drop();
      input.focus();
    };
    const item = (person) => {
      const element = button("mail.person", null, "", () => take(person), { k: person.email, title: person.name });
      put(element, h("b", {}, person.name), h("span", { class: "muted" }, person.email));
      return element;
    };
    box = h("div", { class: "menu people" }, people.map(item));
    mark(0);
    document.body.append(box);
    box.style.left = `${inputBox.left}px`;
    box.style.top = `${inputBox.bottom + 2}px`;
    box.style.maxWidth = `${innerWidth - inputBox.left - 8}px`;
  });
  input.addEventListener("keydown", (event) => {
    if (!box) return;
    if (event.key === "Escape") drop();
    else if (event.key === "ArrowDown") mark(chosen + 1);
    else if (event.key === "ArrowUp") mark(chosen - 1);
    else if (event.key === "Enter") box.children[chosen].click();
    else return;
    event.stopPropagation();
    event.preventDefault();
  });
  input.addEventListener("blur", (event) => {
    if (!box?.contains(event.relatedTarget)) drop();
  });
}

/** Chooses a file out of all; `done` runs once it has been added. */
async function attachFile(attached, done) {
  const files = await guard(() => ask("mail", "files"));
  if (!files) return;
  const rows = h("div", { class: "pick" });
  const draw = (q) =>
    put(
      rows,
      files
        .filter((file) => file.name.toLowerCase().includes(q.toLowerCase()))
        .map((file) =>
          button(
            "mail.attach-file",
            "text",
            "",
            () => {
              if (!attached.some((attachment) => attachment.id === file.id)) attached.push(file);
              done();
              shade.close();
            },
            { k: file.id, title: file.name },
          ),
        ),
    );
  const shade = dialog({
    title: "Attach a file",
    cancel: "Cancel",
    body: [searchField("mail.find-file", "Search by name", redraw), rows],
  });
  function redraw(q) {
    draw(q);
    for (const row of rows.children) {
      const file = files.find((listed) => listed.id === +row.dataset.k);
      row.append(h("span", { class: "grow cut" }, file.name), h("span", { class: "muted small" }, file.folder));
    }
    if (!rows.children.length) put(rows, h("p", { class: "muted pad" }, "No file has such a name."));
  }
  redraw("");
}

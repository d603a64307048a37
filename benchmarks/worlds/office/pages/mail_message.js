/*
 * Mail: the message that is open.
 *
 * data-t            data-k       what
 * mail.back                      to the list
 * mail.reply, mail.reply-all, mail.forward, mail.archive, mail.delete, mail.inbox, mail.unread,
 *   mail.previous, mail.next
 * mail.star-open                 its star
 * mail.view         number       an attachment's text, from 0
 * mail.save         number       saves it to Downloads
 */

import { ask, count, PHONE } from "./core.js";
import { stamp } from "./days.js";
import { button, face, h, icon } from "./elements.js";
import { dialog, guard, toast } from "./windows.js";

/** What answers to a message begin with; nobody else to answer: no `replyAll`. */
export function answersTo(mail) {
  const quote = `\n\nOn ${mail.sent_at}, ${mail.sender} wrote:\n> ${mail.body.replace(/\n/g, "\n> ")}`;
  const subject = /^re:/i.test(mail.subject) ? mail.subject : `Re: ${mail.subject}`;
  const others = `${mail.recipients}, ${mail.cc}`
    .split(", ")
    .filter((address) => address && address !== OWN_ADDRESS && address !== mail.sender_addr)
    .join(", ");
  const reply = {
    to: mail.sender_addr === OWN_ADDRESS ? mail.recipients : mail.sender_addr,
    cc: "",
    subject,
    quote,
  };
  return {
    reply,
    replyAll: others && { ...reply, cc: others },
    forward: {
      subject: `Fwd: ${mail.subject}`,
      quote: [
        "\n\n---------- Forwarded message ----------",
        `From: ${mail.sender} <${mail.sender_addr}>`,
        `Date: ${mail.sent_at}`,
        `Subject: ${mail.subject}\n`,
        mail.body,
      ].join("\n"),
    },
  };
}
const OWN_ADDRESS = "robin.hale@northwind.example";

/** What can be done with a message; an act that is missing is disabled or not there. */
export function messageBar(mail, acts) {
  return h(
    "div",
    { class: "bar message-bar" },
    button("mail.back", "back", "Back", acts.back),
    button("mail.reply", "reply", "Reply", acts.reply),
    acts.replyAll && button("mail.reply-all", "replyAll", PHONE ? "All" : "Reply to all", acts.replyAll),
    button("mail.forward", "forward", "Forward", acts.forward),
    ["Inbox", "Sent"].includes(mail.folder)
      ? button("mail.archive", "archive", "Archive", acts.archive)
      : button("mail.inbox", "inbox", PHONE ? "Inbox" : "Move to Inbox", acts.inbox),
    button("mail.delete", "trash", "Delete", acts.remove),
    button("mail.unread", "mail", PHONE ? "Unread" : "Mark unread", acts.unread),
    h("i", { class: "grow" }),
    button("mail.previous", "left", "", acts.previous, {
      class: "plain",
      title: "Newer message",
      disabled: !acts.previous,
    }),
    button("mail.next", "right", "", acts.next, { class: "plain", title: "Older message", disabled: !acts.next }),
  );
}

/** What it says, with its attachments. */
export function messageArticle(mail, acts) {
  return h(
    "article",
    { class: "pad message" },
    h(
      "div",
      { class: "line" },
      h("h2", { class: "grow" }, mail.subject),
      button("mail.star-open", "star", "", acts.star, {
        class: mail.starred ? "plain starred" : "plain",
        title: mail.starred ? "Remove the star" : "Star",
        filled: !!mail.starred,
      }),
    ),
    h(
      "div",
      { class: "line" },
      face(mail.sender),
      h(
        "div",
        { class: "grow" },
        h("div", {}, h("b", {}, mail.sender), h("span", { class: "muted mailbox" }, ` <${mail.sender_addr}>`)),
        h("div", { class: "muted small" }, `to ${mail.recipients}${mail.cc ? `, copy to ${mail.cc}` : ""}`),
      ),
      h("span", { class: "muted small" }, stamp(mail.sent_at)),
    ),
    h("p", { class: "pre text" }, mail.body),
    mail.attachments.length > 0 &&
      h(
        "div",
        { class: "attachments" },
        h("b", { class: "small" }, count(mail.attachments.length, "attachment")),
        mail.attachments.map((file, number) =>
          h(
            "div",
            { class: "file" },
            icon("text"),
            h("span", { class: "grow cut" }, file.name),
            button(
              "mail.view",
              null,
              "View",
              () => dialog({ title: file.name, body: h("p", { class: "pre" }, file.text), cancel: "Close" }),
              { k: number },
            ),
            button(
              "mail.save",
              null,
              "Save to Files",
              () =>
                guard(async () => {
                  await ask("mail", "save", { id: mail.id, index: number });
                  toast(`Saved “${file.name}” to Downloads.`);
                }),
              { k: number },
            ),
          ),
        ),
      ),
  );
}

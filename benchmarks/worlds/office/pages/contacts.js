/*
 * Contacts.
 *
 * data-t            data-k       what
 * contacts.new                   a new contact
 * contacts.search                field; searches names, companies, addresses, telephone numbers and notes
 * contacts.company               choice: all, or one company
 * contacts.row      id           a person of the list
 * contacts.newer, contacts.older pages
 * contacts.back                  phone: from a person to the list
 * contacts.edit, contacts.delete, contacts.mail (writes to the person)
 * contacts.name, contacts.email, contacts.phone, contacts.company-field, contacts.note
 *                                fields of the form; dialog.ok saves
 */

import { ask, PHONE } from "./core.js";
import { button, empty, face, h, pager, put, searchField } from "./elements.js";
import { choice, contextMenu } from "./menus.js";
import { at, openApp } from "./shell.js";
import { form, sure, toast } from "./windows.js";

export function contacts(root) {
  const state = { q: "", company: "", page: 0, open: null };
  const rows = h("div", { class: "rows" }),
    foot = h("div", { class: "bar foot" }),
    side = h("nav", { class: "side people-list" }, rows, foot),
    pane = h("div", { class: "pane" }),
    columns = h("div", { class: "columns split" }, side, pane);
  const company = choice("contacts.company", [["", "All companies"]], "", (chosen) => {
    state.company = chosen;
    state.page = 0;
    list();
  });
  const search = searchField("contacts.search", "Search contacts", (q) => {
    state.q = q;
    state.page = 0;
    list();
  });
  root.append(
    h(
      "header",
      { class: "bar" },
      h("h1", {}, "Contacts"),
      button("contacts.new", "plus", "New contact", () => edit({}), { class: "main" }),
      h("i", { class: "grow" }),
      search,
      company,
    ),
    columns,
  );

  let newest = 0;
  async function list() {
    const request = ++newest,
      got = await ask("contacts", "list", { q: state.q, company: state.company, page: state.page });
    if (request !== newest) return;
    state.page = got.page;
    at("contacts", state.open ?? "");
    const ofCompany = state.company ? ` of ${state.company}` : "";
    company.options(["", ...got.companies].map((name) => [name, name || "All companies"]));
    put(
      rows,
      got.rows.length
        ? got.rows.map((person) =>
            h(
              "button",
              {
                type: "button",
                t: "contacts.row",
                k: person.id,
                class: person.id === state.open ? "person on" : "person",
                onclick: () => {
                  state.open = person.id;
                  columns.classList.add("detail");
                  list();
                },
                oncontextmenu: (event) =>
                  contextMenu(
                    event,
                    [
                      ["open", "Open", "contacts"],
                      ["edit", "Edit", "edit"],
                      ...(person.email ? [["mail", "Write a mail", "mail"]] : []),
                      ["delete", "Delete", "trash"],
                    ],
                    (what) => {
                      if (what === "edit") edit(person);
                      else if (what === "mail") write(person);
                      else if (what === "delete") remove(person);
                      else event.target.closest("button").click();
                    },
                  ),
              },
              face(person.name),
              h(
                "span",
                { class: "grow" },
                h("div", { class: "cut" }, person.name),
                h("div", { class: "muted small cut" }, person.company || "Private"),
              ),
            ),
          )
        : empty(
            "contacts",
            `No contact${ofCompany} has “${state.q}” in name, company, mail address, telephone number or note.`,
          ),
    );
    put(
      foot,
      h("i", { class: "grow" }),
      pager(
        { ...got, size: 20 },
        (page) => {
          state.page = page;
          rows.scrollTop = 0;
          list();
        },
        ["contacts.newer", "Page before"],
        ["contacts.older", "Next page"],
      ),
    );
    await show();
  }
  const write = (person) => openApp("mail").compose({ to: `${person.email}, ` });
  const remove = (person) =>
    sure("Delete contact?", `${person.name} will be deleted from your contacts.`, "Delete", async () => {
      await ask("contacts", "delete", { id: person.id });
      toast("Contact deleted.");
      if (state.open === person.id) state.open = null;
      list();
    });
  let openPerson = null; // on the right
  async function show() {
    const person = state.open && (await ask("contacts", "get", { id: state.open }).catch(() => null));
    openPerson = person;
    if (!person) {
      state.open = null;
      columns.classList.remove("detail");
      return put(pane, empty("contacts", "Choose a contact on the left."));
    }
    const line = (name, text) =>
      h("div", { class: "field" }, h("label", {}, name), h("span", { class: "pre" }, text || "–"));
    return put(
      pane,
      PHONE && h("div", { class: "bar" }, button("contacts.back", "back", "Contacts", back)),
      h(
        "div",
        { class: "pad" },
        h(
          "div",
          { class: "card-head" },
          face(person.name),
          h("div", {}, h("h2", {}, person.name), h("span", { class: "muted" }, person.company)),
        ),
        h(
          "div",
          { class: "facts" },
          line("Mail", person.email),
          line("Phone", person.phone),
          line("Company", person.company),
          line("Note", person.note),
        ),
        h(
          "div",
          { class: "line acts" },
          button("contacts.edit", "edit", "Edit", () => edit(person)),
          button("contacts.mail", "mail", "Write a mail", () => write(person), {
            disabled: !person.email,
          }),
          button("contacts.delete", "trash", "Delete", () => remove(person), { class: "danger" }),
        ),
      ),
    );
  }
  const back = () => {
    if (!columns.classList.contains("detail") || !PHONE) return false;
    columns.classList.remove("detail");
    return true;
  };
  function edit(person) {
    form(
      person.id ? "Edit contact" : "New contact",
      [
        ["name", "Name"],
        ["email", "Mail"],
        ["phone", "Phone"],
        ["company", "Company"],
        ["note", "Note"],
      ].map(([name, label]) => ({
        name,
        label,
        t: `contacts.${name === "company" ? "company-field" : name}`,
        value: person[name],
        kind: name === "note" ? "area" : "",
      })),
      async (values) => {
        state.open = (await ask("contacts", "save", { contact: values, id: person.id })).id;
        columns.classList.add("detail");
        toast("Contact saved.");
        list();
      },
    );
  }
  list();
  return {
    show: list,
    back,
    keys: (event) => {
      if (event.ctrlKey) return false;
      if (event.key === "n") edit({});
      else if (event.key === "/") search.querySelector("input").focus();
      else if (event.key === "Delete" && openPerson) remove(openPerson);
      else return false;
      return true;
    },
    shortcuts: [
      ["n", "New contact"],
      ["/", "Search"],
      ["Delete", "Delete the contact that is open"],
    ],
  };
}

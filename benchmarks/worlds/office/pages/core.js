"use strict";
/* What all applications know: the day, the look, the talk with the server, and small things that they share. */

const TODAY = "2026-03-09",
  CLOCK = "09:00";
const LOOK = document.documentElement.dataset.look,
  PHONE = LOOK === "phone";
const office = { apps: {} };

/* ---- the server ---- */

let pending = 0;
office.quiet = () => pending === 0 && document.readyState === "complete";

/** What the server says; an error that it gives a reason for has a text for the user. */
async function ask(app, verb, values = {}) {
  pending += 1;
  try {
    const reply = await fetch(`api/${app}/${verb}`, { method: "POST", body: JSON.stringify(values) });
    const said = await reply.json();
    if (!reply.ok) throw Object.assign(new Error(said.error), { field: said.field });
    return said;
  } finally {
    pending -= 1;
  }
}

/** Runs what may be refused, and says why it was. */
async function guard(work) {
  try {
    return await work();
  } catch (error) {
    toast(error.message, true);
    return undefined;
  }
}

/* ---- small things ---- */

const euro = (cents) => `${(cents / 100).toFixed(2)} €`;
const count = (number, one, many = `${one}s`) => `${number} ${number === 1 ? one : many}`;
const oneLine = (text) => text.replace(/\s+/g, " ").trim();

/** A search field: Enter searches, Escape and the cross clear. */
function searchField(t, hint, search, { live = false } = {}) {
  const input = h("input", {
    t,
    type: "text",
    placeholder: hint,
    "aria-label": hint,
    autocomplete: "off",
    onkeydown: (event) => {
      if (event.key === "Enter") search(input.value.trim());
      else if (event.key === "Escape" && input.value) {
        input.value = "";
        search("");
      }
    },
    oninput: () => {
      if (live) search(input.value.trim());
    },
  });
  return h("label", { class: "search" }, icon("search"), input);
}

/** What is shown where nothing is. */
const empty = (sign, text, more) => h("div", { class: "empty" }, icon(sign), h("p", {}, text), more);

/** Newer, older, and where one is. */
function pager({ page, pages, count: all, size }, go, before, after) {
  const first = all ? page * size + 1 : 0;
  return [
    h("span", { class: "muted small" }, `${first}–${Math.min(all, (page + 1) * size)} of ${all}`),
    button(before[0], "left", "", () => go(page - 1), { class: "plain", title: before[1], disabled: page === 0 }),
    button(after[0], "right", "", () => go(page + 1), { class: "plain", title: after[1], disabled: page + 1 >= pages }),
  ];
}

/** The round sign of a person. */
function face(name) {
  const hue = [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 360, 7);
  const element = h(
    "span",
    { class: "face" },
    name
      .replace(/^#/, "")
      .split(" ")
      .map((part) => part[0])
      .slice(0, 2)
      .join("")
      .toUpperCase(),
  );
  element.style.background = `hsl(${hue} 45% 42%)`;
  return element;
}

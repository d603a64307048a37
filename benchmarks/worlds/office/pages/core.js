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

/**
 * What the server says; an error that it gives a reason for has a text for the user. Requests go out one after the other:
 * what was stored first is first in the store.
 */
let line = Promise.resolve();
function ask(app, verb, values = {}) {
  const body = JSON.stringify(values);
  pending += 1;
  const answer = line.then(() => send(app, verb, body));
  line = answer.catch(() => {});
  return answer;
}
async function send(app, verb, body) {
  try {
    const reply = await fetch(`api/${app}/${verb}`, { method: "POST", body });
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

const SEARCH_AFTER_MS = 150;

/**
 * A search field: it searches as one writes, at once with Enter; Escape empties it. `search` gets the text; `waits()`: only
 * Enter searches for now.
 */
function searchField(t, hint, search, { waits = () => false } = {}) {
  let timer = 0,
    last = "";
  const run = (again = false) => {
    clearTimeout(timer);
    const q = input.value.trim();
    if (q === last && !again) return;
    last = q;
    search(q);
  };
  const input = h("input", {
    t,
    type: "text",
    placeholder: hint,
    "aria-label": hint,
    autocomplete: "off",
    onkeydown: (event) => {
      if (event.key === "Escape" && input.value) {
        input.value = "";
        run();
      } else if (event.key === "Enter") run(true);
    },
    oninput: () => {
      clearTimeout(timer);
      if (!waits()) timer = setTimeout(() => run(), SEARCH_AFTER_MS);
    },
  });
  const field = h("label", { class: "search" }, icon("search"), input);
  /** Takes the text away, without a search. */
  field.clear = () => {
    clearTimeout(timer);
    input.value = last = "";
  };
  return field;
}

/* ---- what all pages do alike ---- */

const LONGEST = { INPUT: 500, TEXTAREA: 20_000 }; // characters of a field

/** Refuses what would make a text longer than its field takes, and says so. */
addEventListener(
  "beforeinput",
  (event) => {
    const field = event.target,
      most = LONGEST[field.tagName],
      more = event.data ?? event.dataTransfer?.getData("text/plain") ?? "";
    if (!most || !more) return;
    const length = field.value.length - (field.selectionEnd - field.selectionStart) + more.length;
    if (length <= most) return;
    event.preventDefault();
    toast(`Not written: this field takes ${most.toLocaleString("en")} characters at most.`, true);
  },
  true,
);

/**
 * The second press of a double click is for texts and cells alone: elsewhere it would fall on what the first one has
 * opened or moved.
 */
let pressed = null;
for (const name of ["mousedown", "mouseup", "click", "dblclick"])
  addEventListener(
    name,
    (event) => {
      const target = event.target.closest("input[type=text], input:not([type]), textarea, td, p, .pre");
      if (event.detail < 2) {
        if (name === "mousedown") pressed = target;
        return;
      }
      if (target !== null && target === pressed && !target.closest("[role=button]")) return;
      event.preventDefault();
      event.stopImmediatePropagation();
    },
    true,
  );

/** On the phone, a long press is what the right button is elsewhere. */
const LONG_PRESS_MS = 500;
if (PHONE) {
  let begun = null,
    isLong = false;
  addEventListener("pointerdown", (event) => (begun = event), true);
  addEventListener(
    "pointerup",
    (event) => {
      isLong = begun !== null && event.timeStamp - begun.timeStamp >= LONG_PRESS_MS;
      if (!isLong || !begun.target.isConnected) return;
      const { clientX, clientY } = event;
      const asked = new MouseEvent("contextmenu", { bubbles: true, cancelable: true, clientX, clientY });
      begun.target.dispatchEvent(asked);
    },
    true,
  );
  addEventListener(
    "click",
    (event) => {
      if (isLong && openMenu) {
        event.preventDefault();
        event.stopImmediatePropagation();
      }
      isLong = false;
    },
    true,
  );
}

/** What is shown where nothing is. */
const empty = (sign, text, more) => h("div", { class: "empty" }, icon(sign), h("p", {}, text), more);

/** Newer, older, and where one is. */
function pager({ page, pages, count: all, size }, go, before, after) {
  const first = all ? page * size + 1 : 0;
  return h(
    "span",
    { class: "pager" },
    h("span", { class: "muted small" }, `${first}–${Math.min(all, (page + 1) * size)} of ${all}`),
    button(before[0], "left", "", () => go(page - 1), { class: "plain", title: before[1], disabled: page === 0 }),
    button(after[0], "right", "", () => go(page + 1), { class: "plain", title: after[1], disabled: page + 1 >= pages }),
  );
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

"use strict";
/* Shared by all applications: the day, the look, requests to the server, and small helpers. */

const TODAY = "2026-03-09";
const CLOCK = "09:00";
const LOOK = document.documentElement.dataset.look;
const PHONE = LOOK === "phone";
const office = { apps: {} };

/* ---- the server ---- */

let pending = 0;
office.quiet = () => pending === 0 && document.readyState === "complete";

/**
 * Returns the answer of the server; throws its reason, a text for the user, where it refuses. Requests are sent one
 * after the other, so that they are stored in their order.
 */
let queue = Promise.resolve();
function ask(app, verb, values = {}) {
  const body = JSON.stringify(values);
  pending += 1;
  const answer = queue.then(() => send(app, verb, body));
  queue = answer.catch(() => {});
  return answer;
}
async function send(app, verb, body) {
  try {
    const reply = await fetch(`api/${app}/${verb}`, { method: "POST", body });
    const answer = await reply.json();
    if (!reply.ok) throw Object.assign(new Error(answer.error), { field: answer.field });
    return answer;
  } finally {
    pending -= 1;
  }
}

/** Runs what the server may refuse; shows its reason. */
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
 * A search field: it searches while one types, at once with Enter; Escape empties it. `search` gets the text; while
 * `waits()`, only Enter searches.
 */
function searchField(t, hint, search, { waits = () => false } = {}) {
  let timer = 0;
  let lastText = "";
  const run = (again = false) => {
    clearTimeout(timer);
    const q = input.value.trim();
    if (q === lastText && !again) return;
    lastText = q;
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
  /** Empties the field without a search. */
  field.clear = () => {
    clearTimeout(timer);
    input.value = "";
    lastText = "";
  };
  return field;
}

/* ---- behaviour of all pages ---- */

const MAX_LENGTH = { INPUT: 500, TEXTAREA: 20_000 }; // characters of a field

/** Refuses input that would make a text longer than its field takes, and says so. */
addEventListener(
  "beforeinput",
  (event) => {
    const field = event.target;
    const limit = MAX_LENGTH[field.tagName];
    const text = event.data ?? event.dataTransfer?.getData("text/plain") ?? "";
    if (!limit || !text) return;
    const length = field.value.length - (field.selectionEnd - field.selectionStart) + text.length;
    if (length <= limit) return;
    event.preventDefault();
    toast(`Not written: this field takes ${limit.toLocaleString("en")} characters at most.`, true);
  },
  true,
);

/**
 * The second press of a double click is for texts and cells alone: elsewhere it would fall on an element that the first
 * one has opened or moved.
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

/** On the phone, a long press opens the context menu. */
const LONG_PRESS_MS = 500;
if (PHONE) {
  let press = null;
  let isLong = false;
  addEventListener("pointerdown", (event) => (press = event), true);
  addEventListener(
    "pointerup",
    (event) => {
      isLong = press !== null && event.timeStamp - press.timeStamp >= LONG_PRESS_MS;
      if (!isLong || !press.target.isConnected) return;
      const { clientX, clientY } = event;
      const rightClick = new MouseEvent("contextmenu", { bubbles: true, cancelable: true, clientX, clientY });
      press.target.dispatchEvent(rightClick);
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

/** The content of an empty list. */
const empty = (sign, text, more) => h("div", { class: "empty" }, icon(sign), h("p", {}, text), more);

/** Buttons to the pages before and after, and the numbers of the rows on this one. */
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

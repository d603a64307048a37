/* Elements: how all applications make them, drawn signs, buttons, search fields. */

const PROPERTIES = new Set(["value", "checked", "disabled"]);

/**
 * Makes an element; `t` and `k` are its names for scripts, `on...` its listeners. null, undefined and false: not set.
 *
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...any} children
 * @returns {any}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) set(element, name, value);
  }
  put(element, ...children);
  return element;
}

function set(element, name, value) {
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name === "t" || name === "k") element.dataset[name] = value;
  else if (PROPERTIES.has(name)) element[name] = value;
  else element.setAttribute(name, value === true ? "" : value);
}

/** Replaces the children of an element; null, undefined and false are left out. */
export function put(element, ...children) {
  const nodes = children.flat(9).filter((child) => child !== null && child !== undefined && child !== false);
  element.replaceChildren(...nodes.map((node) => (node instanceof Node ? node : String(node))));
}

const ICONS = {
  mail: "M3 6h18v12H3zM3 7l9 7 9-7",
  calendar: "M4 6h16v14H4zM4 10h16M8 3v5M16 3v5",
  contacts: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 20c1-5 4-6 8-6s7 1 8 6",
  chat: "M4 5h16v11H11l-5 4v-4H4z",
  files: "M3 6h7l2 3h9v10H3z",
  sheets: "M4 4h16v16H4zM4 9h16M4 14.500h16M10 4v16",
  shop: "M6 8h12l1 12H5zM9 8V6a3 3 0 0 1 6 0v2",
  todo: "M4 7l2 2 4-4M4 16l2 2 4-4M13 7h7M13 16h7",
  jupyterlab: "M4 14a9 5 0 0 0 16 0M4 10a9 5 0 0 1 16 0",
  home: "M4 11l8-7 8 7v9h-5v-6H9v6H4z",
  back: "M15 5l-7 7 7 7",
  left: "M15 5l-7 7 7 7",
  right: "M9 5l7 7-7 7",
  down: "M6 9l6 6 6-6",
  search: "M10.500 17a6.500 6.500 0 1 0 0-13 6.500 6.500 0 0 0 0 13zM15.500 15.500L21 21",
  star: "M12 3l2.700 5.800 6.300.800-4.600 4.400 1.200 6.300L12 17.200 6.400 20.300l1.200-6.300L3 9.600l6.300-.800z",
  clip: "M8 12V7a4 4 0 0 1 8 0v9a6 6 0 0 1-2 4",
  trash: "M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13M10.500 11v6M13.500 11v6",
  archive: "M4 5h16v4H4zM5 9v11h14V9M10 13h4",
  plus: "M12 5v14M5 12h14",
  more: "M6 12h.010M12 12h.010M18 12h.010",
  check: "M5 13l5 5L19 7",
  close: "M6 6l12 12M18 6L6 18",
  text: "M6 3h8l4 4v14H6zM9 11h6M9 15h6",
  pin: "M9 4h6l-1 6 3 3H7l3-3zM12 13v7",
  edit: "M4 20l1-4L16 5l3 3L8 19z",
  cart: "M3 5h3l2 10h10l2-7H7M9 20h.010M17 20h.010",
  reply: "M10 6L4 12l6 6M4 12h10a6 6 0 0 1 6 6",
  replyAll: "M13 6l-6 6 6 6M7 12h9a6 6 0 0 1 5 6M8 6l-6 6 6 6",
  forward: "M14 6l6 6-6 6M20 12H10a6 6 0 0 0-6 6",
  inbox: "M4 5h16v14H4zM4 14h5l1 2h4l1-2h5",
  send: "M4 4l17 8-17 8 3-8zM7 12h14",
  keyboard: "M3 7h18v10H3zM6 10.500h.010M10 10.500h.010M14 10.500h.010M18 10.500h.010M8 14h8",
  start: "M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z",
  minus: "M5 12h14",
  square: "M6 6h12v12H6z",
  draft: "M6 3h8l4 4v14H6zM9 16l1-2 4-4 1 1-4 4z",
  phone: "M6 3h4l1 5-2 2a12 12 0 0 0 5 5l2-2 5 1v4a2 2 0 0 1-2 2A16 16 0 0 1 4 5a2 2 0 0 1 2-2z",
};

/** A drawn sign. */
export function icon(name, filled = false) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", filled ? "icon filled" : "icon");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/**
 * A button with a sign; `title` is its name where it shows no words.
 *
 * @param {string} t
 * @param {string | null} sign
 * @param {string} label
 * @param {((event: any) => any) | null} onclick
 * @param {Record<string, any>} [more] further attributes
 */
export function button(t, sign, label, onclick, more = {}) {
  return h(
    "button",
    { type: "button", t, onclick, "aria-label": label || more.title, ...more },
    sign && icon(sign, more.filled),
    label && h("span", {}, label),
  );
}

const SEARCH_AFTER_MS = 150;

/**
 * A search field: it searches while one types, at once with Enter; Escape empties it. `search` gets the text; while
 * `waits()`, only Enter searches.
 */
export function searchField(t, hint, search, { waits = () => false } = {}) {
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

/** The content of an empty list. */
export const empty = (sign, text, more = null) => h("div", { class: "empty" }, icon(sign), h("p", {}, text), more);

/** Buttons to the pages before and after, and the numbers of the rows on this one. */
export function pager({ page, pages, count: all, size }, go, before, after) {
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
export function face(name) {
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

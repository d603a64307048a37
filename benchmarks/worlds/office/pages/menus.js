/*
 * Lists that open where they were asked for. One is open at a time; while it is, the keyboard is its own.
 *
 * data-t          data-k         what
 * menu.item       value          an entry of an open choice or menu
 *
 * Keys: arrows, Home, End, the first letters of an entry, Enter or the space bar picks, Escape or Tab closes.
 */

import { button, h, icon, put } from "./elements.js";

let openMenu = null; // {box, close}

export const isMenuOpen = () => openMenu !== null;

/** Closes what is open. */
export function closeMenu() {
  openMenu?.close();
  for (const box of document.querySelectorAll(".menu")) box.remove();
}

/**
 * A box below an element, or at a point of the screen. `keys(event)` says whether it has done something with a key; no
 * key reaches what lies under the box.
 */
export function popup(box, anchor, anchorBox, keys) {
  closeMenu();
  const close = () => {
    openMenu = null;
    box.remove();
    removeEventListener("mousedown", away, true);
    removeEventListener("keydown", onKey, true);
  };
  const away = (event) => {
    if (box.contains(event.target)) return;
    close();
    if (anchor?.contains(event.target)) anchor.dataset.closed = "1";
  };
  const onKey = (event) => {
    event.stopImmediatePropagation();
    if (["Shift", "Control", "Alt", "Meta"].includes(event.key)) return;
    if (event.key === "Escape" || event.key === "Tab") {
      event.preventDefault();
      close();
      anchor?.focus();
    } else if (keys(event)) event.preventDefault();
  };
  openMenu = { box, close };
  document.body.append(box);
  const below = innerHeight - anchorBox.bottom - 8,
    above = anchorBox.top - 8,
    up = box.offsetHeight > below && above > below;
  box.style.minWidth = `${anchorBox.right - anchorBox.left}px`;
  box.style.maxHeight = `${up ? above : below}px`;
  box.style.left = `${Math.max(4, Math.min(anchorBox.left, innerWidth - box.offsetWidth - 4))}px`;
  box.style.top = `${up ? anchorBox.top - Math.min(box.offsetHeight, above) - 2 : anchorBox.bottom + 2}px`;
  addEventListener("mousedown", away, true);
  addEventListener("keydown", onKey, true);
  return close;
}

/** A list of entries, [value, label, sign], the chosen one in focus; `first`: the key that has opened it. */
export function menu(anchor, entries, chosen, pick, { anchorBox = null, first = null } = {}) {
  const take = (value) => {
    close();
    anchor?.focus();
    pick(value);
  };
  const items = entries.map(([value, label, sign]) =>
    button("menu.item", sign, label, () => take(value), { k: value, class: value === chosen ? "on" : "" }),
  );
  const box = h("div", { class: "menu", role: "menu" }, items);
  const current = () => items.indexOf(document.activeElement);
  const go = (number) => items[(number + items.length) % items.length].focus();
  let begun = "";
  /** Goes to the entry that begins with the letters written so far, or to the next one with the same letter. */
  const goByLetters = (letter) => {
    const find = (letters, start) => {
      const fits = (number) => entries[number % entries.length][1].toLowerCase().startsWith(letters);
      const step = entries.findIndex((_, number) => fits(start + number));
      return step < 0 ? null : start + step;
    };
    const longer = begun && find(begun + letter, Math.max(0, current()));
    begun = typeof longer === "number" ? begun + letter : letter;
    const number = typeof longer === "number" ? longer : find(letter, current() + 1);
    if (number !== null) go(number);
  };
  const keys = (event) => {
    const { key } = event;
    if (key.length > 1) begun = "";
    if (key === "ArrowDown") go(current() + 1);
    else if (key === "ArrowUp") go(current() < 0 ? -1 : current() - 1);
    else if (key === "Home") go(0);
    else if (key === "End") go(-1);
    else if (key === "Enter" || key === " ") {
      if (current() >= 0) take(entries[current()][0]);
    } else if (key.length === 1 && !event.ctrlKey) goByLetters(key.toLowerCase());
    else return false;
    return true;
  };
  const close = popup(box, anchor, anchorBox ?? anchor.getBoundingClientRect(), keys);
  const index = entries.findIndex(([value]) => value === chosen);
  go(Math.max(0, index));
  if (first) keys(first);
}

/** A menu at the pointer: what the right button opens, and on the phone a long press. */
export function contextMenu(event, entries, pick) {
  event.preventDefault();
  event.stopPropagation();
  const { clientX: x, clientY: y } = event;
  menu(null, entries, null, pick, { anchorBox: { left: x, right: x, top: y, bottom: y } });
}

/** A button that opens a menu, unless the click has just closed it. */
export function opener(element, open) {
  element.addEventListener("click", (event) => {
    event.stopPropagation();
    if (element.dataset.closed) delete element.dataset.closed;
    else open();
  });
  return element;
}

/** A drop-down list of our own: a native one is drawn outside of the page, on no screenshot. */
export function choice(t, entries, value, changed, more = {}) {
  let options = entries;
  const element = h("button", { type: "button", class: "choice", t, role: "combobox", ...more });
  const show = () =>
    put(
      element,
      h("span", {}, options.find(([optionValue]) => optionValue === element.value)?.[1] ?? ""),
      icon("down"),
    );
  const set = (chosen) => {
    element.value = chosen;
    show();
  };
  const open = (first = null) =>
    menu(
      element,
      options,
      element.value,
      (chosen) => {
        set(chosen);
        changed?.(chosen);
      },
      { first },
    );
  Object.defineProperty(element, "value", {
    writable: true,
    value: options.some(([optionValue]) => optionValue === value) ? value : options[0]?.[0],
  });
  element.set = set;
  element.options = (newOptions) => {
    options = newOptions;
    show();
  };
  element.addEventListener("keydown", (event) => {
    const opens = ["ArrowDown", "ArrowUp"].includes(event.key) || /^[\p{L}\p{N}]$/u.test(event.key);
    if (!opens || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    open(event);
  });
  show();
  return opener(element, () => open());
}

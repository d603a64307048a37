/* What holds for pointers and keys on all pages, before an application gets to know of them. */

import { PHONE } from "./core.js";
import { isMenuOpen } from "./menus.js";
import { dropToast, toast } from "./windows.js";

const MAX_LENGTH = { INPUT: 500, TEXTAREA: 20_000 }; // characters of a field

/** Refuses input that would make a text longer than its field takes, and says so. */
addEventListener(
  "beforeinput",
  (event) => {
    const field = /** @type {HTMLInputElement | HTMLTextAreaElement} */ (event.target);
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
    (/** @type {any} */ event) => {
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
      if (isLong && isMenuOpen()) {
        event.preventDefault();
        event.stopImmediatePropagation();
      }
      isLong = false;
    },
    true,
  );
}

/** A note goes with the next press elsewhere. */
addEventListener(
  "mousedown",
  ({ target }) => {
    if (!(/** @type {Element} */ (target).closest(".toast"))) dropToast();
  },
  true,
);

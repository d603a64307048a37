/*
 * Notes at the bottom, windows over an application, forms in them.
 *
 * data-t          data-k         what
 * dialog.close                   the cross of a window
 * dialog.cancel                  the left button: Cancel, Close
 * dialog.ok                      the right button: Save, Send, Delete, ...
 * dialog.other                   a third one: Don't save
 * toast                          the note at the bottom
 * toast.undo                     takes back what it tells of; so does Ctrl+Z
 */

import { datePicker } from "./days.js";
import { button, h } from "./elements.js";
import { choice } from "./menus.js";

let undoLast = null; // what takes back what was done last

export const dropToast = () => document.querySelector(".toast")?.remove();
/** A note at the bottom, until the next click elsewhere or another application is opened; `undo` takes back what it tells of. */
export function toast(text, bad = false, undo = null) {
  dropToast();
  undoLast = undo;
  const takeBack = undo && button("toast.undo", null, "Undo", () => undoNow());
  const note = h("div", { class: bad ? "toast bad" : "toast", t: "toast", role: "status" }, text, takeBack);
  document.body.append(note);
}
/** Takes back what was done last; false: there is nothing to take back. */
export function undoNow() {
  const undo = undoLast;
  undoLast = null;
  dropToast();
  if (undo) guard(undo);
  return undo !== null;
}
/** Runs what the server may refuse; shows its reason. */
export async function guard(work) {
  try {
    return await work();
  } catch (error) {
    toast(error.message, true);
    return undefined;
  }
}

/** What windows are put into: the application in front, or the desk. */
export const front = () => document.querySelector("#stage > .window:not([hidden])") ?? document.getElementById("stage");

/**
 * A window over the application. `ok` may refuse by throwing (the message is shown) or by returning false; `other` is a
 * third button; `onclose` runs where the window is closed in another way than by `ok`; `keys(event)` returns whether it
 * has handled a key.
 *
 * @param {{title: string, body: any, ok?: () => any, cancel?: string, other?: [string, () => any], danger?: boolean,
 *   onclose?: () => any, wide?: boolean, keys?: (event: KeyboardEvent) => boolean, label?: string}} what
 */
export function dialog({ title, body, ok, cancel = "Cancel", other, danger, onclose, wide, keys, label = "OK" }) {
  const host = front();
  const problem = h("div", { class: "problem", role: "alert" });
  const before = /** @type {HTMLElement | null} */ (document.activeElement);
  const close = () => {
    shade.remove();
    if (before?.isConnected) before.focus();
  };
  const dismiss = async () => {
    if ((await onclose?.()) !== false) close();
  };
  let working = false;
  const act = async (work) => {
    if (working) return;
    working = true;
    try {
      problem.textContent = "";
      for (const input of shade.querySelectorAll("[data-error]")) delete input.dataset.error;
      if ((await work()) !== false) close();
    } catch (error) {
      problem.textContent = error.message;
      const wrong = error.field && shade.querySelector(`[name="${error.field}"]`);
      if (wrong) {
        wrong.dataset.error = error.message;
        wrong.focus();
      }
    } finally {
      working = false;
    }
  };
  const shade = h(
    "div",
    { class: "shade" },
    h(
      "div",
      { class: wide ? "dialog wide" : "dialog", role: "dialog", "aria-label": title, tabindex: -1 },
      h(
        "header",
        {},
        h("h2", {}, title),
        button("dialog.close", "close", "", dismiss, { class: "plain", title: "Close" }),
      ),
      h("div", { class: "content" }, body),
      problem,
      h(
        "footer",
        {},
        other && button("dialog.other", null, other[0], () => act(other[1])),
        h("i", { class: "grow" }),
        button("dialog.cancel", null, cancel, dismiss),
        ok && button("dialog.ok", null, label, () => act(ok), { class: danger ? "danger main" : "main" }),
      ),
    ),
  );
  shade.dismiss = dismiss;
  shade.close = close;
  shade.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") dismiss();
    else if (!event.target.matches("input, textarea") && keys?.(event)) event.preventDefault();
    else if (event.key === "Enter" && ok && (event.ctrlKey || event.target.matches("input, .dialog"))) {
      event.preventDefault();
      act(ok);
    }
  });
  host.append(shade);
  const first = danger ? '[data-t="dialog.ok"]' : "input:not([type=checkbox]), textarea";
  (shade.querySelector(first) || shade.querySelector(".dialog")).focus();
  return shade;
}

/** Asks before something is done that cannot be taken back; Enter does it, as the ring around the button says. */
export function sure(title, text, label, work, cancel = "Cancel") {
  return dialog({ title, body: h("p", {}, text), label, cancel, ok: work, danger: true });
}

/** A form; `fields`: {name, t, label, value, kind, options, hint}; `save` gets their values. */
export function form(title, fields, save, label = "Save") {
  const inputs = {};
  const rows = fields.map((field) => {
    const common = {
      name: field.name,
      t: field.t,
      id: `field-${field.name}`,
      placeholder: field.hint || "",
      autocomplete: "off",
    };
    const input =
      field.kind === "area"
        ? h("textarea", { ...common, rows: 4, value: field.value || "" })
        : field.kind === "choice"
          ? choice(field.t, field.options, field.value, null, { name: field.name, id: common.id })
          : h("input", { ...common, value: field.value || "" });
    inputs[field.name] = input;
    const line = field.kind === "date" ? h("div", { class: "with-button" }, input, datePicker(input)) : input;
    return h("div", { class: "field" }, h("label", { for: common.id }, field.label), line);
  });
  return dialog({
    title,
    body: rows,
    label,
    ok: () => save(Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, input.value]))),
  });
}

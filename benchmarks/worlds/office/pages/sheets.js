/*
 * Sheets.
 *
 * data-t            data-k       what
 * sheets.tab        name         a sheet
 * sheets.cell       A1           a cell: click chooses it, double click edits it
 * sheets.formula                 field: the content of the chosen cell; Enter stores it
 * sheets.ok, sheets.undo         ✓ stores, ✗ takes the text back
 * sheets.clear                   empties the chosen cell
 * sheets.jump                    field: Enter goes to the cell that is written there
 * sheets.catch                   field that nobody sees: has the focus where a cell is chosen, takes what is written
 *
 * Keys: arrows, Tab, Enter, Delete, F2, Ctrl+C, Ctrl+V, Ctrl+Z; whatever else is written goes into the cell.
 */

import { ask, PHONE } from "./core.js";
import { button, h, put } from "./elements.js";
import { between, formula } from "./formula.js";
import { contextMenu } from "./menus.js";
import { at } from "./shell.js";
import { guard, toast } from "./windows.js";

export function sheets(root) {
  const COLUMNS = [..."ABCDEFGHIJ"],
    ROWS = 60;
  const state = { sheet: null, cells: {}, at: "A1", to: "A1", before: [] }; // before: what Ctrl+Z brings back
  const MAX_READS = 200_000; // of cells by formulas, each time the sheet is evaluated
  const MAX_UNDO = 50;
  let values = new Map(), // texts of cells, evaluated once
    reads = 0;
  const jump = h("input", {
    t: "sheets.jump",
    "aria-label": "Go to cell",
    autocomplete: "off",
    onfocus: () => jump.select(),
    onkeydown: (event) => {
      if (event.key !== "Enter") return;
      const cell = jump.value.trim().toUpperCase();
      if (/^[A-J]([1-9]|[1-5]\d|60)$/.test(cell)) leave(cell);
      else toast("Enter a cell from A1 to J60.", true);
    },
  });
  const field = h("input", {
    t: "sheets.formula",
    "aria-label": "Content of the cell",
    placeholder: PHONE ? "Value or =…" : "Value, or a formula such as =SUM(B2:B9)",
    autocomplete: "off",
    oninput: () => {
      const cell = cellOf(state.at);
      cell.textContent = field.value;
      cell.classList.add("writing");
    },
    onkeydown: (event) => {
      if (event.key === "Enter") {
        event.preventDefault();
        step(0, event.shiftKey ? -1 : 1);
      } else if (event.key === "Tab") {
        event.preventDefault();
        step(event.shiftKey ? -1 : 1, 0);
      } else if (event.key === "Escape") {
        event.preventDefault();
        choose(state.at);
      }
    },
  });
  const catcher = h("input", {
    t: "sheets.catch",
    class: "catcher",
    "aria-label": "Write into the cell",
    autocomplete: "off",
    oninput: () => {
      field.value = catcher.value;
      catcher.value = "";
      write();
      field.dispatchEvent(new Event("input", { bubbles: true }));
    },
    onkeydown: (event) => {
      if (keys(event)) event.preventDefault();
    },
    oncopy: (event) => {
      event.preventDefault();
      event.clipboardData.setData("text/plain", chosenText());
      toast("Copied.");
    },
    onpaste: (event) => {
      event.preventDefault();
      paste(event.clipboardData.getData("text/plain"));
    },
  });
  const table = h("table", {
      class: "cells",
      onmousedown: (event) => event.preventDefault(), // the focus stays where writing goes
      oncontextmenu: (event) => {
        const cell = event.target.closest("td");
        if (!cell) return;
        if (!between(state.at, state.to).includes(cell.dataset.k)) leave(cell.dataset.k);
        contextMenu(
          event,
          [
            ["edit", "Edit", "edit"],
            ["copy", "Copy", "sheets"],
            ["paste", "Paste", "text"],
            ["clear", "Clear", "trash"],
          ],
          actOnCells,
        );
      },
    }),
    pane = h("div", { class: "pane grid-pane", tabindex: -1 }, table, catcher),
    tabs = h("span", { class: "grow" }),
    status = h("span", { class: "muted small" });
  root.append(
    h(
      "header",
      { class: "bar formula" },
      jump,
      field,
      button("sheets.ok", "check", "", () => step(0, 0), { title: "Store" }),
      button("sheets.undo", "close", "", () => choose(state.at), { title: "Take back" }),
      button("sheets.clear", "trash", "Clear", () => empties(), { title: "Empty the cell" }),
    ),
    pane,
    h("footer", { class: "bar tabs-bar" }, tabs, status),
  );

  const cellElements = {};
  const cellOf = (name) => cellElements[name];
  put(
    table,
    h(
      "tr",
      {},
      h("th", {}),
      COLUMNS.map((column) => h("th", {}, column)),
    ),
    Array.from({ length: ROWS }, (_, number) =>
      h(
        "tr",
        {},
        h("th", {}, number + 1),
        COLUMNS.map((column) => {
          const name = column + (number + 1);
          cellElements[name] = h("td", {
            t: "sheets.cell",
            k: name,
            onpointerdown: (event) => {
              if (event.shiftKey) extend(name);
              else leave(name);
            },
            onpointerenter: (event) => {
              if (event.buttons === 1 && state.to !== name) extend(name);
            },
            ondblclick: () => write(),
          });
          return cellElements[name];
        }),
      ),
    ),
  );

  /** The text that a cell shows; a formula is evaluated once, however many others use it. */
  function textOf(name) {
    if (!values.has(name)) {
      values.set(name, "#CIRCLE!"); // for a formula that uses this cell
      values.set(name, evaluate(state.cells[name] ?? ""));
    }
    return values.get(name);
  }
  function evaluate(text) {
    if (text[0] !== "=") return text;
    try {
      const result = formula(text, (other) => {
        reads += 1;
        if (reads > MAX_READS) throw new Error("#LIMIT!");
        return textOf(other);
      });
      return String(+result.toFixed(6));
    } catch (error) {
      return error.message.startsWith("#") ? error.message : "#ERROR!";
    }
  }
  async function load() {
    const names = await ask("sheets", "names");
    state.sheet ??= names[0];
    state.cells = await ask("sheets", "cells", { sheet: state.sheet });
    put(
      tabs,
      names.map((name) =>
        button(
          "sheets.tab",
          null,
          name,
          () => {
            keep();
            Object.assign(state, { sheet: name, at: "A1", to: "A1", before: [] });
            pane.scrollTo(0, 0);
            load();
          },
          { k: name, class: name === state.sheet ? "on" : "" },
        ),
      ),
    );
    show();
    mark();
  }
  /** Evaluates and shows the whole sheet again. */
  function show() {
    values = new Map();
    reads = 0;
    for (const [name, cell] of Object.entries(cellElements)) {
      const text = textOf(name);
      cell.textContent = text;
      const classes = [];
      if (text !== "" && !isNaN(text)) classes.push("number");
      if (text[0] === "#") classes.push("bad");
      if (name.slice(1) === "1") classes.push("head");
      cell.className = classes.join(" ");
    }
  }
  /** Shows what is chosen, and sums it up. */
  function mark() {
    const chosen = between(state.at, state.to);
    for (const cell of table.querySelectorAll(".on, .range")) cell.classList.remove("on", "range");
    if (chosen.length > 1) chosen.forEach((name) => cellElements[name].classList.add("range"));
    cellElements[state.at].classList.add("on");
    table.rows[0].cells[COLUMNS.indexOf(state.at[0]) + 1].classList.add("on");
    table.rows[+state.at.slice(1)].cells[0].classList.add("on");
    jump.value = state.at;
    at("sheets", state.sheet, state.at);
    field.value = state.cells[state.at] ?? "";
    const numbers = chosen
        .map((name) => textOf(name))
        .filter((text) => text !== "" && !isNaN(text))
        .map(Number),
      sum = numbers.reduce((a, b) => a + b, 0);
    status.textContent =
      chosen.length > 1 && numbers.length
        ? `Sum ${+sum.toFixed(4)}   Average ${+(sum / numbers.length).toFixed(4)}   Count ${numbers.length}`
        : "";
  }
  function choose(name) {
    cellElements[state.at].textContent = textOf(state.at);
    cellElements[state.at].classList.remove("writing");
    state.at = state.to = name;
    mark();
    const cell = cellElements[name],
      topEdge = cell.offsetTop - 26,
      leftEdge = cell.offsetLeft - 44;
    if (topEdge < pane.scrollTop) pane.scrollTop = topEdge;
    else if (cell.offsetTop + 26 > pane.scrollTop + pane.clientHeight)
      pane.scrollTop = cell.offsetTop + 30 - pane.clientHeight;
    if (leftEdge < pane.scrollLeft) pane.scrollLeft = leftEdge;
    else if (cell.offsetLeft + cell.offsetWidth > pane.scrollLeft + pane.clientWidth)
      pane.scrollLeft = cell.offsetLeft + cell.offsetWidth + 4 - pane.clientWidth;
    catcher.focus({ preventScroll: true });
  }
  /** Writes on in the chosen cell, behind what is there. */
  function write() {
    field.focus();
    field.setSelectionRange(field.value.length, field.value.length);
  }
  const extend = (name) => {
    state.to = name;
    mark();
  };
  const changed = () => field.value.trim() !== (state.cells[state.at] ?? "");
  /** Stores the contents of cells; shown at once, before the server has answered. */
  function store(contents, isUndo = false) {
    const { sheet } = state,
      before = Object.entries(contents).map(([name]) => [name, state.cells[name] ?? ""]);
    if (!isUndo) state.before = [...state.before, Object.fromEntries(before)].slice(-MAX_UNDO);
    for (const [name, value] of Object.entries(contents))
      if (value === "") delete state.cells[name];
      else state.cells[name] = value;
    show();
    mark();
    return guard(async () => {
      for (const [cell, value] of Object.entries(contents))
        await ask("sheets", "set", { sheet, cell, value }).catch(async (error) => {
          await load();
          throw error;
        });
    });
  }
  /** What was begun is stored where one goes elsewhere, as one is used to. */
  function keep() {
    if (changed()) store({ [state.at]: field.value.trim() });
  }
  function leave(name) {
    keep();
    choose(name);
  }
  const step = (right, down) => leave(beside(right, down));
  const beside = (right, down, from = state.at) =>
    COLUMNS[Math.max(0, Math.min(COLUMNS.length - 1, COLUMNS.indexOf(from[0]) + right))] +
    Math.max(1, Math.min(ROWS, +from.slice(1) + down));
  function empties() {
    const filled = between(state.at, state.to).filter((name) => state.cells[name] !== undefined);
    field.value = state.cells[state.at] ?? "";
    store(Object.fromEntries(filled.map((name) => [name, ""])));
    catcher.focus({ preventScroll: true });
  }
  /** What the chosen cells show, as other applications take it. */
  function chosenText() {
    const all = between(state.at, state.to),
      rows = [...new Set(all.map((name) => name.slice(1)))];
    return rows
      .map((row) =>
        all
          .filter((name) => name.slice(1) === row)
          .map(textOf)
          .join("\t"),
      )
      .join("\n");
  }
  /** A text with a line for each row, its cells apart by tabs. */
  function paste(text) {
    const contents = {};
    for (const [down, row] of text
      .replace(/\r?\n$/, "")
      .split(/\r?\n/)
      .entries())
      for (const [right, cell] of row.split("\t").entries()) {
        const fits = COLUMNS.indexOf(state.at[0]) + right < COLUMNS.length && +state.at.slice(1) + down <= ROWS;
        if (fits) contents[beside(right, down)] = cell.trim();
      }
    store(contents);
  }
  function undo() {
    const before = state.before.pop();
    if (before) store(before, true);
    else toast("There is nothing to take back.");
  }
  async function actOnCells(what) {
    catcher.focus({ preventScroll: true });
    if (what === "edit") write();
    else if (what === "clear") empties();
    else if (what === "paste") paste(await navigator.clipboard.readText());
    else {
      await navigator.clipboard.writeText(chosenText());
      toast("Copied.");
    }
  }
  function keys(event) {
    const { key } = event,
      onward = event.shiftKey ? -1 : 1,
      arrows = {
        ArrowLeft: [-1, 0],
        ArrowRight: [1, 0],
        ArrowUp: [0, -1],
        ArrowDown: [0, 1],
        Tab: [onward, 0],
        Enter: [0, onward],
      };
    if (event.target.closest("button")) return false;
    if (document.activeElement !== catcher) catcher.focus({ preventScroll: true });
    if (event.ctrlKey) return command(key);
    if (event.shiftKey && key.startsWith("Arrow")) extend(beside(...arrows[key], state.to));
    else if (arrows[key]) choose(beside(...arrows[key]));
    else if (key === "Delete" || key === "Backspace") empties();
    else if (key === "F2") write();
    else if (key === "Home") choose(`A${state.at.slice(1)}`);
    else return false;
    return true;
  }
  function command(key) {
    if (key === "Home") choose("A1");
    else if (key === "z") undo();
    else return false;
    return true;
  }
  load().then(() => catcher.focus({ preventScroll: true }));
  return {
    show: async () => {
      if (changed()) return write();
      await load();
      return catcher.focus({ preventScroll: true });
    },
    keys,
    shortcuts: [
      ["Arrows, Tab, Enter", "To another cell; with Shift, arrows choose several"],
      ["F2", "Write on in the cell"],
      ["Delete", "Empty the chosen cells"],
      ["Ctrl+C, Ctrl+V", "Copy, paste"],
      ["Ctrl+Home", "To A1"],
    ],
  };
}

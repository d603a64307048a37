/*
 * The desk around the applications, in four looks.
 *
 * data-t          data-k         what
 * shell.home                     to the desk (Windows: Start; phone: the round button)
 * shell.app       application    opens it: taskbar, dock, bookmarks; on the desk and on the phone
 * shell.tab       application    the web look: an open tab
 * shell.close     application    closes its window or tab
 * shell.minimise  application    hides its window
 * shell.back                     the back button of the phone and of the web look
 * shell.address                  the web look: the open page; Enter opens the address in the field
 * shell.keys                     window: the keys of the application in front
 *
 * The browser's own "back" does what the back buttons do. An application is a function that gets its element; it sets
 * its address with at("mail", "inbox"), and lists its keys in `shortcuts`: [[key, what it does]].
 */

import { CLOCK, LOOK, PHONE } from "./core.js";
import { button, h, icon, put } from "./elements.js";
import { closeMenu, contextMenu } from "./menus.js";
import { dialog, dropToast, front, toast, undoNow } from "./windows.js";

const APPS = [
  ["mail", "Mail"],
  ["calendar", "Calendar"],
  ["contacts", "Contacts"],
  ["chat", "Chat"],
  ["files", "Files"],
  ["sheets", "Sheets"],
  ["shop", "Shop"],
  ["todo", "To-do"],
];
export const LAB = document.documentElement.dataset.lab; // the address of JupyterLab, where an episode has it
if (LAB) APPS.push(["jupyterlab", "JupyterLab"]);
export const TITLE = Object.fromEntries(APPS);
const SITE = "northwind.example";

let applications = {}; // by name: the function that makes one
const windows = {}; // by application: {frame, app}
const addresses = {}; // by application: parts of the address behind its name
let current = null;
const stage = h("main", { id: "stage" }),
  desk = h("div", { id: "desk" }),
  top = h("div", { id: "top" }),
  bottom = h("div", { id: "bottom" });

const unread = {}; // by application: how much came while another one was in front
const stale = new Set(); // applications that do not show yet what others have done
/** Conversations in which others have written since they were last shown. */
export const unseen = new Set();

/** The application in front; null: the desk. */
export const currentApp = () => current;

/* ---- parts of the desk ---- */

const badge = (name) => unread[name] > 0 && h("span", { class: "badge" }, unread[name]);
const tile = (name) => h("span", { class: `tile ${name}` }, icon(name));
const launcher = (name, title = false) =>
  h(
    "button",
    {
      type: "button",
      t: "shell.app",
      k: name,
      class: name === current ? "on" : windows[name] ? "running" : "",
      title: TITLE[name],
      onclick: () => openApp(name),
      oncontextmenu: (event) => contextMenu(event, [["open", "Open", null]], () => openApp(name)),
    },
    tile(name),
    title && h("span", {}, TITLE[name]),
    badge(name),
  );
const launchers = (title = false) => APPS.map(([name]) => launcher(name, title));
const homeButton = (sign) =>
  button("shell.home", sign, "", () => goHome(), { title: "Home", class: current ? "home" : "home on" });
const closeButton = (name) =>
  button(
    "shell.close",
    "close",
    "",
    (event) => {
      event.stopPropagation();
      close(name);
    },
    { k: name, title: `Close ${TITLE[name]}`, class: "close" },
  );
const minimiseButton = (name) =>
  button("shell.minimise", "minus", "", () => goHome(), { k: name, title: "Minimise", class: "minimise" });
const clock = () =>
  h(
    "span",
    { class: "clock" },
    h("b", {}, CLOCK),
    LOOK === "windows" ? h("span", {}, "9 Mar 2026") : LOOK === "macos" ? " Mon 9 Mar" : "",
  );

/* ---- addresses ---- */

const address = h("input", {
  t: "shell.address",
  class: "pill",
  "aria-label": "Address",
  placeholder: `Write an address, such as ${SITE}/mail, or choose an application`,
  autocomplete: "off",
  spellcheck: "false",
  onfocus: () => address.select(),
  onkeydown: (event) => {
    if (event.key === "Escape") showAddress();
    else if (event.key === "Enter") visit(address.value);
  },
});

function showAddress() {
  address.value = current ? [SITE, current, ...(addresses[current] ?? [])].join("/") : "";
}

/** Opens the application that an address names. */
function visit(text) {
  const [site, name] = text
    .trim()
    .toLowerCase()
    .replace(/^https?:\/\//, "")
    .split("/");
  const app = [name, site].find((part) => part in TITLE);
  if (app && (app === site || site === SITE)) openApp(app);
  else toast(`There is no page “${text.trim()}”. There are ${APPS.map(([app]) => `${SITE}/${app}`).join(", ")}.`, true);
  showAddress();
}

/** Sets the parts of the address behind the name of an application. */
export function at(name, ...parts) {
  addresses[name] = parts
    .filter((part) => part !== "")
    .map((part) =>
      String(part)
        .toLowerCase()
        .replace(/[\s/#]+/g, "-")
        .replace(/^-/, ""),
    );
  if (name === current && document.activeElement !== address) showAddress();
}

/* ---- the desk, as each look has it ---- */

function draw() {
  showAddress();
  put(desk, h("div", { class: "icons" }, launchers(true)));
  desk.hidden = current !== null;
  for (const [name, { frame }] of Object.entries(windows)) frame.hidden = name !== current;
  BARS[LOOK]();
}

const BARS = {
  windows: () => put(bottom, homeButton("start"), launchers(), clock()),
  macos: () => {
    put(top, h("b", {}, current ? TITLE[current] : "Desk"), h("i", { class: "grow" }), clock());
    put(bottom, h("div", { class: "dock" }, homeButton("home"), launchers()));
  },
  web: () =>
    put(
      top,
      h(
        "div",
        { class: "tabs" },
        Object.keys(windows).map(tab),
        button("shell.home", "plus", "", () => goHome(), { title: "New tab", class: "plain" }),
      ),
      h(
        "div",
        { class: "address" },
        button("shell.back", "back", "", () => goBack(), { class: "plain", title: "Back" }),
        address,
        h("span", { class: "muted" }, `${CLOCK}, Mon 9 Mar 2026`),
      ),
      h("div", { class: "bookmarks" }, launchers(true)),
    ),
  phone: () => {
    put(
      top,
      clock(),
      APPS.filter(([name]) => unread[name] > 0).map(([name]) => h("span", { class: "news" }, tile(name), badge(name))),
      h("i", { class: "grow" }),
      "Mon 9 Mar",
    );
    put(
      bottom,
      button("shell.back", "back", "Back", () => goBack()),
      button("shell.home", "home", "Home", () => goHome()),
    );
  },
};

const tab = (name) =>
  h(
    "div",
    { class: name === current ? "tab on" : "tab" },
    h(
      "button",
      { type: "button", t: "shell.tab", k: name, onclick: () => openApp(name) },
      tile(name),
      h("span", {}, TITLE[name]),
    ),
    closeButton(name),
  );

/* ---- opening, closing, going back ---- */

/** Opens an application, or brings it to the front. */
export function openApp(name) {
  if (!applications[name]) throw new Error(`There is no application ${name}.`);
  leaveText();
  if (name !== current) dropToast();
  const isNew = !windows[name];
  current = name;
  delete unread[name];
  if (isNew) begin(name);
  draw();
  if (!isNew && !windows[name].frame.querySelector(".shade")) {
    stale.delete(name);
    windows[name].app.show?.();
  }
  return windows[name].app;
}

/** Makes the window of an application, and the application in it. */
function begin(name) {
  const root = h("section", { class: `app ${name}`, "aria-label": TITLE[name] });
  const frame = h(
    "div",
    { class: "window" },
    h(
      "div",
      { class: "titlebar" },
      tile(name),
      h("span", { class: "grow" }, TITLE[name]),
      minimiseButton(name),
      closeButton(name),
    ),
    root,
  );
  windows[name] = { frame, app: {} };
  stage.append(frame);
  const app = (windows[name].app = applications[name](root) || {});
  if (app.shortcuts && !PHONE)
    root.querySelector(".bar").append(
      button("shell.keys", "keyboard", "Keys", () => showKeys(), {
        class: "plain",
        title: "Keyboard shortcuts (?)",
      }),
    );
}

function close(name) {
  windows[name].frame.remove();
  delete windows[name];
  if (name === current) current = LOOK === "web" ? (Object.keys(windows).pop() ?? null) : null;
  draw();
}

/** Back to the desk; what is open stays as it is. */
export function goHome() {
  leaveText();
  dropToast();
  current = null;
  draw();
}

/** One step back: a menu, a window, a detail, the application. */
export function goBack() {
  const shades = current ? windows[current].frame.querySelectorAll(".shade") : [];
  if (document.querySelector(".menu")) closeMenu();
  else if (shades.length) shades[shades.length - 1].dismiss();
  else if (current && !windows[current].app.back?.()) goHome();
}

/** Drops the selection, the focus and an open menu before another application is shown. */
function leaveText() {
  closeMenu();
  getSelection().removeAllRanges();
  /** @type {HTMLElement | null} */ (document.activeElement)?.blur();
}

/* ---- what others have done ---- */

/**
 * Shows what others have done, pairs of an application and, in Chat, a conversation: at once in the application in
 * front, unless a window lies over it; on the others as a number, where they are such that people look out for it.
 */
export async function showNews(pairs) {
  for (const [name, conversation] of pairs) {
    stale.add(name);
    if (conversation) unseen.add(conversation);
    if (name !== current && ["mail", "calendar", "chat"].includes(name)) unread[name] = (unread[name] ?? 0) + 1;
  }
  if (pairs.length) draw();
  if (!current || !stale.has(current) || windows[current].frame.querySelector(".shade")) return;
  stale.delete(current);
  await keepingFocus(() => windows[current].app.show?.());
}

/** Draws anew; what had the focus has it again afterwards, by its names. */
async function keepingFocus(redraw) {
  const namesInFocus = () => /** @type {HTMLElement | null} */ (document.activeElement)?.dataset ?? {};
  const { t, k } = namesInFocus();
  await redraw();
  if (!t || namesInFocus().t) return;
  const key = k === undefined ? "" : `[data-k="${CSS.escape(k)}"]`;
  windows[current].frame.querySelector(`[data-t="${t}"]${key}`)?.focus({ preventScroll: true });
}

/* ---- keys ---- */

const showKeys = () =>
  dialog({
    title: `Keys of ${TITLE[current]}`,
    cancel: "Close",
    body: h(
      "table",
      { class: "keys" },
      [...windows[current].app.shortcuts, ["Ctrl+Z", "Take back what was done last"], ["?", "This window"]].map(
        ([key, what]) => h("tr", {}, h("td", {}, h("b", {}, key)), h("td", {}, what)),
      ),
    ),
  });

/** Selects all text of the window in front, not of what lies under it or of other applications. */
function selectAll() {
  const frame = front();
  getSelection().selectAllChildren(
    [...frame.querySelectorAll(".shade .content")].pop() || frame.querySelector(".pane") || frame,
  );
}

/** Whether a key did something that the browser is not to do as well. */
function takeKey(event) {
  if (event.key === "Enter" && event.target.matches?.("[role=button]")) event.target.click();
  const isCommand = event.ctrlKey && !event.target.matches?.("input, textarea");
  if (isCommand && event.key === "a") {
    selectAll();
    return true;
  }
  if (isCommand && event.key === "z" && undoNow()) return true;
  return current !== null && takeAppKey(event, windows[current]);
}

/** The same of a key that is the application's in front. */
function takeAppKey(event, { frame, app }) {
  const isWriting = event.target.closest?.("input, textarea, .shade, .menu");
  if (event.key === "?" && app.shortcuts && !isWriting) {
    showKeys();
    return true;
  }
  const isSave = event.ctrlKey && event.key === "s";
  if (!app.keys || (isWriting && !isSave) || event.altKey || event.metaKey) return false;
  return !frame.querySelector(".shade") && app.keys(event);
}

/** Shows the desk, or the application that the episode begins with. */
export function start(makers) {
  applications = makers;
  addEventListener("keydown", (event) => {
    if (takeKey(event)) event.preventDefault();
  });
  addEventListener("popstate", () => {
    goBack();
    history.pushState({}, "");
  });
  addEventListener("contextmenu", (event) => event.preventDefault());
  stage.append(desk);
  document.body.append(top, stage, bottom);
  history.pushState({}, "");
  const first = document.documentElement.dataset.start;
  if (first === "home") goHome();
  else openApp(first);
}

"use strict";
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
 * For programs: office.open("mail"), office.home(), office.back(), office.current(), office.quiet(),
 * office.news([["chat", "Carla Meyer"]]): others have done something.
 * The browser's own "back" does what office.back() does. An application sets its address with
 * office.at("mail", "inbox"), and lists its keys in `shortcuts`: [[key, what it does]].
 */

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
const LAB = document.documentElement.dataset.lab; // the address of JupyterLab, where an episode has it
if (LAB) APPS.push(["jupyterlab", "JupyterLab"]);
const TITLE = Object.fromEntries(APPS);
const SITE = "northwind.example";

(() => {
  const windows = {}; // by application: {frame, app}
  const addresses = {}; // by application: parts of the address behind its name
  let current = null;
  const stage = h("main", { id: "stage" }),
    desk = h("div", { id: "desk" }),
    top = h("div", { id: "top" }),
    bottom = h("div", { id: "bottom" });

  const news = {}; // by application: what came while another one was in front
  const stale = new Set(); // applications that do not show yet what others have done
  const badge = (name) => news[name] > 0 && h("span", { class: "badge" }, news[name]);
  const tile = (name) => h("span", { class: `tile ${name}` }, icon(name));
  const launcher = (name, title) =>
    h(
      "button",
      {
        type: "button",
        t: "shell.app",
        k: name,
        class: name === current ? "on" : windows[name] ? "running" : "",
        title: TITLE[name],
        onclick: () => office.open(name),
        oncontextmenu: (event) => contextMenu(event, [["open", "Open", null]], () => office.open(name)),
      },
      tile(name),
      title && h("span", {}, TITLE[name]),
      badge(name),
    );
  const homeButton = (sign, label) =>
    button("shell.home", sign, label, () => office.home(), { title: "Home", class: current ? "home" : "home on" });
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
    button("shell.minimise", "minus", "", () => office.home(), { k: name, title: "Minimise", class: "minimise" });
  const clock = () =>
    h(
      "span",
      { class: "clock" },
      h("b", {}, CLOCK),
      LOOK === "windows" ? h("span", {}, "9 Mar 2026") : LOOK === "macos" ? " Mon 9 Mar" : "",
    );

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
  const showAddress = () => {
    address.value = current ? [SITE, current, ...(addresses[current] ?? [])].join("/") : "";
  };
  /** Opens the application that an address names. */
  function visit(text) {
    const [site, name] = text
      .trim()
      .toLowerCase()
      .replace(/^https?:\/\//, "")
      .split("/");
    const app = [name, site].find((part) => part in TITLE);
    if (app && (app === site || site === SITE)) office.open(app);
    else
      toast(`There is no page “${text.trim()}”. There are ${APPS.map(([app]) => `${SITE}/${app}`).join(", ")}.`, true);
    showAddress();
  }

  function draw() {
    showAddress();
    put(
      desk,
      h(
        "div",
        { class: "icons" },
        APPS.map(([name]) => launcher(name, true)),
      ),
    );
    desk.hidden = current !== null;
    for (const [name, { frame }] of Object.entries(windows)) frame.hidden = name !== current;
    if (LOOK === "windows") {
      put(
        bottom,
        homeButton("start"),
        APPS.map(([name]) => launcher(name)),
        clock(),
      );
    } else if (LOOK === "macos") {
      put(top, h("b", {}, current ? TITLE[current] : "Desk"), h("i", { class: "grow" }), clock());
      put(
        bottom,
        h(
          "div",
          { class: "dock" },
          homeButton("home"),
          APPS.map(([name]) => launcher(name)),
        ),
      );
    } else if (LOOK === "web") {
      put(
        top,
        h(
          "div",
          { class: "tabs" },
          Object.keys(windows).map((name) =>
            h(
              "div",
              { class: name === current ? "tab on" : "tab" },
              h(
                "button",
                { type: "button", t: "shell.tab", k: name, onclick: () => office.open(name) },
                tile(name),
                h("span", {}, TITLE[name]),
              ),
              closeButton(name),
            ),
          ),
          button("shell.home", "plus", "", () => office.home(), { title: "New tab", class: "plain" }),
        ),
        h(
          "div",
          { class: "address" },
          button("shell.back", "back", "", () => office.back(), { class: "plain", title: "Back" }),
          address,
          h("span", { class: "muted" }, `${CLOCK}, Mon 9 Mar 2026`),
        ),
        h(
          "div",
          { class: "bookmarks" },
          APPS.map(([name]) => launcher(name, true)),
        ),
      );
    } else {
      put(
        top,
        clock(),
        APPS.filter(([name]) => news[name] > 0).map(([name]) => h("span", { class: "news" }, tile(name), badge(name))),
        h("i", { class: "grow" }),
        "Mon 9 Mar",
      );
      put(
        bottom,
        button("shell.back", "back", "Back", () => office.back()),
        button("shell.home", "home", "Home", () => office.home()),
      );
    }
  }

  function close(name) {
    windows[name].frame.remove();
    delete windows[name];
    if (name === current) current = LOOK === "web" ? (Object.keys(windows).pop() ?? null) : null;
    draw();
  }

  /** Opens an application, or brings it to the front. */
  office.open = (name) => {
    if (!office.apps[name]) throw new Error(`There is no application ${name}.`);
    leaveText();
    if (name !== current) dropToast();
    const isNew = !windows[name];
    current = name;
    delete news[name];
    if (isNew) {
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
      const app = (windows[name].app = office.apps[name](root) || {});
      if (app.shortcuts && !PHONE)
        root.querySelector(".bar").append(
          button("shell.keys", "keyboard", "Keys", () => showKeys(), {
            class: "plain",
            title: "Keyboard shortcuts (?)",
          }),
        );
    }
    draw();
    if (!isNew && !windows[name].frame.querySelector(".shade")) {
      stale.delete(name);
      windows[name].app.show?.();
    }
    return windows[name].app;
  };
  /**
   * Shows what others have done, pairs of an application and, in Chat, a conversation: at once in the application in
   * front, unless a window lies over it; on the others as a number, where they are such that people look out for it.
   */
  office.news = async (pairs) => {
    for (const [name, conversation] of pairs) {
      stale.add(name);
      if (conversation) office.unseen.add(conversation);
      if (name !== current && ["mail", "calendar", "chat"].includes(name)) news[name] = (news[name] ?? 0) + 1;
    }
    if (pairs.length) draw();
    if (!current || !stale.has(current) || windows[current].frame.querySelector(".shade")) return;
    stale.delete(current);
    const { t, k } = document.activeElement?.dataset ?? {};
    await windows[current].app.show?.();
    if (!t || document.activeElement?.dataset.t) return;
    const key = k === undefined ? "" : `[data-k="${CSS.escape(k)}"]`;
    windows[current].frame.querySelector(`[data-t="${t}"]${key}`)?.focus({ preventScroll: true });
  };
  office.unseen = new Set(); // conversations in which others have written since they were last shown
  /** Back to the desk; what is open stays as it is. */
  office.home = () => {
    leaveText();
    dropToast();
    current = null;
    draw();
  };
  /** One step back: a menu, a window, a detail, the application. */
  office.back = () => {
    const shades = current ? windows[current].frame.querySelectorAll(".shade") : [];
    if (document.querySelector(".menu")) closeMenu();
    else if (shades.length) shades[shades.length - 1].dismiss();
    else if (current && !windows[current].app.back?.()) office.home();
  };
  office.current = () => current;
  /** Sets the parts of the address behind the name of an application. */
  office.at = (name, ...parts) => {
    addresses[name] = parts
      .filter((part) => part !== "")
      .map((part) =>
        String(part)
          .toLowerCase()
          .replace(/[\s/#]+/g, "-")
          .replace(/^-/, ""),
      );
    if (name === current && document.activeElement !== address) showAddress();
  };
  /** Drops the selection, the focus and an open menu before another application is shown. */
  function leaveText() {
    closeMenu();
    getSelection().removeAllRanges();
    document.activeElement?.blur();
  }
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
  /** The element that windows over the application are put into. */
  office.window = () => (current ? windows[current].frame : stage);

  /** Selects all text of the window in front, not of what lies under it or of other applications. */
  function selectAll() {
    const frame = office.window();
    getSelection().selectAllChildren(
      [...frame.querySelectorAll(".shade .content")].pop() || frame.querySelector(".pane") || frame,
    );
  }

  addEventListener("keydown", (event) => {
    const writing = event.target.closest?.("input, textarea, .shade, .menu");
    const app = current && windows[current].app;
    if (event.key === "Enter" && event.target.matches?.("[role=button]")) event.target.click();
    if (event.ctrlKey && event.key === "a" && !event.target.matches?.("input, textarea")) {
      event.preventDefault();
      selectAll();
      return;
    }
    if (event.ctrlKey && event.key === "z" && !event.target.matches?.("input, textarea") && undoNow()) {
      event.preventDefault();
      return;
    }
    if (event.key === "?" && app?.shortcuts && !writing) {
      event.preventDefault();
      showKeys();
      return;
    }
    if (!app?.keys || (writing && !(event.ctrlKey && event.key === "s")) || event.altKey || event.metaKey) return;
    if (windows[current].frame.querySelector(".shade")) return;
    if (app.keys(event)) event.preventDefault();
  });
  addEventListener("popstate", () => {
    office.back();
    history.pushState({}, "");
  });
  addEventListener("contextmenu", (event) => event.preventDefault());
  addEventListener("DOMContentLoaded", () => {
    stage.append(desk);
    document.body.append(top, stage, bottom);
    history.pushState({}, "");
    const { start } = document.documentElement.dataset;
    if (start === "home") office.home();
    else office.open(start);
  });
})();

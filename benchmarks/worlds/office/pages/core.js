"use strict";
/*
 * What all applications share: elements, windows, choices, the talk with the server.
 *
 * data-t          data-k         what
 * menu.item       value          an entry of an open choice or menu
 * dialog.close                   the cross of a window
 * dialog.cancel                  the left button: Cancel, Close
 * dialog.ok                      the right button: Save, Send, Delete, ...
 * dialog.other                   a third one: Don't save
 * date.open       field          opens the small calendar beside a date field
 * date.prev, date.next           its months
 * date.day        YYYY-MM-DD     one of its days
 * toast                          the note at the bottom (text only)
 */

const TODAY = "2026-03-09",
  CLOCK = "09:00";
const DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS = "January February March April May June July August September October November December".split(" ");
const LOOK = document.documentElement.dataset.look,
  PHONE = LOOK === "phone";
const office = {apps: {}};

/* ---- elements ---- */

/** An element; `t` and `k` are its names for scripts, `on...` its listeners. */
function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "t" || name === "k") element.dataset[name] = value;
    else if (name === "value" || name === "checked" || name === "disabled") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  put(element, ...children);
  return element;
}

/** Replaces what an element holds. */
function put(element, ...children) {
  const shown = children.flat(9).filter(each => each !== null && each !== undefined && each !== false);
  element.replaceChildren(...shown.map(each => (each instanceof Node ? each : String(each))));
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
  forward: "M14 6l6 6-6 6M20 12H10a6 6 0 0 0-6 6",
  inbox: "M4 5h16v14H4zM4 14h5l1 2h4l1-2h5",
  send: "M4 4l17 8-17 8 3-8zM7 12h14",
  start: "M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z",
  minus: "M5 12h14",
  square: "M6 6h12v12H6z",
  draft: "M6 3h8l4 4v14H6zM9 16l1-2 4-4 1 1-4 4z",
  phone: "M6 3h4l1 5-2 2a12 12 0 0 0 5 5l2-2 5 1v4a2 2 0 0 1-2 2A16 16 0 0 1 4 5a2 2 0 0 1 2-2z",
};

/** A drawn sign. */
function icon(name, filled) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", filled ? "icon filled" : "icon");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/** A button with a sign; `title` is what it is called where it shows no words. */
function button(t, sign, label, onclick, more = {}) {
  return h(
    "button",
    {type: "button", t, onclick, "aria-label": label || more.title, ...more},
    sign && icon(sign, more.filled),
    label && h("span", {}, label),
  );
}

/* ---- the server ---- */

let pending = 0;
office.quiet = () => pending === 0 && document.readyState === "complete";

/** What the server says; an error that it gives a reason for has a text for the user. */
async function ask(app, verb, values = {}) {
  pending += 1;
  try {
    const reply = await fetch(`api/${app}/${verb}`, {method: "POST", body: JSON.stringify(values)});
    const said = await reply.json();
    if (!reply.ok) throw Object.assign(new Error(said.error), {field: said.field});
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

/* ---- notes and windows ---- */

/** A note at the bottom, until the next click. */
function toast(text, bad) {
  document.querySelector(".toast")?.remove();
  document.body.append(h("div", {class: bad ? "toast bad" : "toast", t: "toast", role: "status"}, text));
}
addEventListener("pointerdown", () => document.querySelector(".toast")?.remove(), true);

/**
 * A window over the application. `ok` may refuse by throwing (its text is shown) or by returning
 * false; `other` is a third button; `onclose` runs where it is closed otherwise than by `ok`.
 */
function dialog({title, body, ok, cancel = "Cancel", other, danger, onclose, wide, label = "OK"}) {
  const host = office.window();
  const problem = h("div", {class: "problem", role: "alert"});
  const before = document.activeElement;
  const close = () => {
    shade.remove();
    if (before?.isConnected) before.focus();
  };
  const dismiss = async () => {
    if ((await onclose?.()) !== false) close();
  };
  let working = false;
  const act = async work => {
    if (working) return;
    working = true;
    try {
      problem.textContent = "";
      for (const each of shade.querySelectorAll("[data-error]")) delete each.dataset.error;
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
    {class: "shade"},
    h(
      "div",
      {class: wide ? "dialog wide" : "dialog", role: "dialog", "aria-label": title, tabindex: -1},
      h("header", {}, h("h2", {}, title), button("dialog.close", "close", "", dismiss, {class: "plain", title: "Close"})),
      h("div", {class: "content"}, body),
      problem,
      h(
        "footer",
        {},
        other && button("dialog.other", null, other[0], () => act(other[1])),
        h("i", {class: "grow"}),
        button("dialog.cancel", null, cancel, dismiss),
        ok && button("dialog.ok", null, label, () => act(ok), {class: danger ? "danger main" : "main"}),
      ),
    ),
  );
  shade.dismiss = dismiss;
  shade.close = close;
  shade.addEventListener("keydown", event => {
    event.stopPropagation();
    if (event.key === "Escape" && !document.querySelector(".menu")) dismiss();
    else if (event.key === "Enter" && ok && (event.ctrlKey || event.target.matches("input, .dialog"))) {
      event.preventDefault();
      act(ok);
    }
  });
  host.append(shade);
  (shade.querySelector("input:not([type=checkbox]), textarea") || shade.querySelector(".dialog")).focus();
  return shade;
}

/** Asks before something is done that cannot be taken back. */
function sure(title, text, label, work) {
  return dialog({title, body: h("p", {}, text), label, ok: work, danger: true});
}

/** A form; `fields`: {name, t, label, value, kind, options, hint}; `save` gets their values. */
function form(title, fields, save, label = "Save") {
  const made = {};
  const rows = fields.map(field => {
    const common = {name: field.name, t: field.t, id: `field-${field.name}`, placeholder: field.hint || "", autocomplete: "off"};
    const input =
      field.kind === "area"
        ? h("textarea", {...common, rows: 4, value: field.value || ""})
        : field.kind === "choice"
          ? choice(field.t, field.options, field.value, null, {name: field.name, id: common.id})
          : h("input", {...common, value: field.value || ""});
    made[field.name] = input;
    const line = field.kind === "date" ? h("div", {class: "with-button"}, input, datePicker(input)) : input;
    return h("div", {class: "field"}, h("label", {for: common.id}, field.label), line);
  });
  return dialog({
    title,
    body: rows,
    label,
    ok: () => save(Object.fromEntries(Object.entries(made).map(([name, input]) => [name, input.value]))),
  });
}

/** A list that opens where it was asked for; `entries`: [value, label, sign]. */
function menu(anchor, entries, chosen, pick) {
  document.querySelector(".menu")?.remove();
  const place = anchor.getBoundingClientRect();
  const box = h(
    "div",
    {class: "menu", role: "menu"},
    entries.map(([value, label, sign]) =>
      button(
        "menu.item",
        sign,
        label,
        () => {
          close();
          pick(value);
        },
        {k: value, class: value === chosen ? "on" : ""},
      ),
    ),
  );
  const close = () => {
    box.remove();
    removeEventListener("pointerdown", away, true);
    removeEventListener("keydown", keys, true);
  };
  const away = event => {
    if (!box.contains(event.target)) {
      close();
      if (anchor.contains(event.target)) anchor.dataset.closed = "1";
    }
  };
  const keys = event => {
    const all = [...box.children],
      at = all.indexOf(document.activeElement);
    if (event.key === "Escape") close();
    else if (event.key === "ArrowDown") all[(at + 1) % all.length].focus();
    else if (event.key === "ArrowUp") all[(at + all.length - 1) % all.length].focus();
    else if (event.key !== "Enter" || at < 0) return;
    event.stopPropagation();
    if (event.key !== "Enter") event.preventDefault();
    if (event.key === "Escape") anchor.focus();
  };
  document.body.append(box);
  const below = innerHeight - place.bottom - 8,
    above = place.top - 8;
  const up = box.offsetHeight > below && above > below;
  box.style.minWidth = `${place.width}px`;
  box.style.maxHeight = `${up ? above : below}px`;
  box.style.left = `${Math.max(4, Math.min(place.left, innerWidth - box.offsetWidth - 4))}px`;
  box.style.top = `${up ? place.top - Math.min(box.offsetHeight, above) - 2 : place.bottom + 2}px`;
  addEventListener("pointerdown", away, true);
  addEventListener("keydown", keys, true);
  return close;
}

/** A button that opens a menu, unless the click has just closed it. */
function opener(element, open) {
  element.addEventListener("click", event => {
    event.stopPropagation();
    if (element.dataset.closed) delete element.dataset.closed;
    else open();
  });
  return element;
}

/** A drop-down list of our own: a native one is drawn outside of the page, on no screenshot. */
function choice(t, entries, value, changed, more = {}) {
  let options = entries;
  const element = h("button", {type: "button", class: "choice", t, role: "combobox", ...more});
  const show = () => put(element, h("span", {}, options.find(([each]) => each === element.value)?.[1] ?? ""), icon("down"));
  const set = chosen => {
    element.value = chosen;
    show();
  };
  Object.defineProperty(element, "value", {writable: true, value: options.some(([each]) => each === value) ? value : options[0]?.[0]});
  element.set = set;
  element.options = given => {
    options = given;
    show();
  };
  element.addEventListener("keydown", event => {
    if (event.key === "ArrowDown") {
      event.preventDefault();
      element.click();
    }
  });
  show();
  return opener(element, () =>
    menu(element, options, element.value, chosen => {
      set(chosen);
      changed?.(chosen);
    }),
  );
}

/* ---- days ---- */

const iso = day => day.toISOString().slice(0, 10);
const dayOf = text => new Date(`${text}T00:00:00Z`);
const shift = (text, days) => {
  const day = dayOf(text);
  day.setUTCDate(day.getUTCDate() + days);
  return iso(day);
};
const weekday = text => (dayOf(text).getUTCDay() + 6) % 7; // 0: Monday
const longDay = text => `${DAYS[weekday(text)]}, ${+text.slice(8)} ${MONTHS[+text.slice(5, 7) - 1]} ${text.slice(0, 4)}`;
const shortDay = text => `${+text.slice(8)} ${MONTHS[+text.slice(5, 7) - 1].slice(0, 3)}`;
const isDay = text => /^\d{4}-\d{2}-\d{2}$/.test(text) && !isNaN(dayOf(text));

/** "08:46" for today, else "6 Mar". */
const moment = text => (text.slice(0, 10) === TODAY ? text.slice(11) : shortDay(text.slice(0, 10)));

/** Days of the weeks that a month touches. */
function monthDays(month) {
  const first = `${month}-01`,
    start = shift(first, -weekday(first));
  const length = new Date(Date.UTC(+month.slice(0, 4), +month.slice(5), 0)).getUTCDate();
  return Array.from({length: Math.ceil((weekday(first) + length) / 7) * 7}, (_, number) => shift(start, number));
}
const nextMonth = (month, step) => iso(new Date(Date.UTC(+month.slice(0, 4), +month.slice(5) - 1 + step, 1))).slice(0, 7);

/** The small calendar beside a date field. */
function datePicker(input) {
  const opening = button("date.open", "calendar", "", null, {title: "Choose a day", k: input.name});
  return opener(opening, () => {
    let month = (isDay(input.value) ? input.value : TODAY).slice(0, 7);
    const close = menu(opening, [], null, () => {});
    const box = document.querySelector(".menu");
    box.classList.add("days");
    const draw = () =>
      put(
        box,
        h(
          "div",
          {class: "bar"},
          button(
            "date.prev",
            "left",
            "",
            () => {
              month = nextMonth(month, -1);
              draw();
            },
            {class: "plain", title: "Month before"},
          ),
          h("b", {class: "grow"}, `${MONTHS[+month.slice(5) - 1]} ${month.slice(0, 4)}`),
          button(
            "date.next",
            "right",
            "",
            () => {
              month = nextMonth(month, 1);
              draw();
            },
            {class: "plain", title: "Month after"},
          ),
        ),
        h(
          "div",
          {class: "grid"},
          DAYS.map(day => h("span", {}, day[0])),
          monthDays(month).map(day =>
            button(
              "date.day",
              null,
              String(+day.slice(8)),
              () => {
                input.value = day;
                close();
                input.focus();
              },
              {
                k: day,
                class: `plain ${day.slice(0, 7) !== month ? "off" : ""} ${day === TODAY ? "today" : ""} ${day === input.value ? "on" : ""}`,
              },
            ),
          ),
        ),
      );
    draw();
    const place = opening.getBoundingClientRect();
    box.style.left = `${Math.max(4, Math.min(place.right - box.offsetWidth, innerWidth - box.offsetWidth - 4))}px`;
    box.style.top = `${Math.min(place.bottom + 2, innerHeight - box.offsetHeight - 4)}px`;
    box.style.maxHeight = "none";
  });
}

/* ---- small things ---- */

const euro = cents => `${(cents / 100).toFixed(2)} €`;
const count = (number, one, many = `${one}s`) => `${number} ${number === 1 ? one : many}`;
const oneLine = text => text.replace(/\s+/g, " ").trim();

/** A search field: Enter searches, Escape and the cross clear. */
function searchField(t, hint, search, {live = false} = {}) {
  const input = h("input", {
    t,
    type: "text",
    placeholder: hint,
    "aria-label": hint,
    autocomplete: "off",
    onkeydown: event => {
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
  return h("label", {class: "search"}, icon("search"), input);
}

/** What is shown where nothing is. */
const empty = (sign, text, more) => h("div", {class: "empty"}, icon(sign), h("p", {}, text), more);

/** Newer, older, and where one is. */
function pager({page, pages, count: all, size}, go, before, after) {
  const first = all ? page * size + 1 : 0;
  return [
    h("span", {class: "muted small"}, `${first}–${Math.min(all, (page + 1) * size)} of ${all}`),
    button(before[0], "left", "", () => go(page - 1), {class: "plain", title: before[1], disabled: page === 0}),
    button(after[0], "right", "", () => go(page + 1), {class: "plain", title: after[1], disabled: page + 1 >= pages}),
  ];
}

/** The round sign of a person. */
function face(name) {
  const hue = [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 360, 7);
  const element = h(
    "span",
    {class: "face"},
    name
      .replace(/^#/, "")
      .split(" ")
      .map(part => part[0])
      .slice(0, 2)
      .join("")
      .toUpperCase(),
  );
  element.style.background = `hsl(${hue} 45% 42%)`;
  return element;
}

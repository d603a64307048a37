/*
 * Calendar.
 *
 * data-t            data-k       what
 * calendar.new                   a new event
 * calendar.prev, calendar.next, calendar.today
 * calendar.view                  choice: month, week, day, list
 * calendar.search                field; Enter lists what is found in all months
 * calendar.day      YYYY-MM-DD   an empty place in a day: a new event there
 * calendar.number   YYYY-MM-DD   the number of a day: shows that day
 * calendar.event    id           an event; in the month it can be dragged to another day
 * calendar.more     YYYY-MM-DD   "+2 more": shows that day
 * calendar.edit, calendar.duplicate, calendar.delete     in the window of an event
 * calendar.title, calendar.date, calendar.start, calendar.end, calendar.place, calendar.guests,
 *   calendar.note                fields of the form; dialog.ok saves
 *
 * Keys: n new, t today, arrows left and right, m month, w week, d day, l list.
 */

import { ask, PHONE, TODAY } from "./core.js";
import { DAYS, longDay, monthDays, MONTHS, nextMonth, shift, shortDay, weekday } from "./days.js";
import { button, empty, h, put, searchField } from "./elements.js";
import { choice, contextMenu } from "./menus.js";
import { at } from "./shell.js";
import { dialog, form, guard, sure, toast } from "./windows.js";

export function calendar(root) {
  const state = { view: PHONE ? "list" : "month", day: TODAY, q: "" };
  const title = h("b", { class: "period" }),
    pane = h("div", { class: "pane" });
  const view = choice(
    "calendar.view",
    [
      ["month", "Month"],
      ["week", "Week"],
      ["day", "Day"],
      ["list", "List"],
    ],
    state.view,
    (chosen) => {
      state.view = chosen;
      clear();
    },
  );
  const search = searchField("calendar.search", "Search events", (q) => {
    state.q = q;
    draw();
  });
  const step = (by) => {
    state.day =
      state.view === "month" || state.view === "list"
        ? `${nextMonth(state.day.slice(0, 7), by)}-01`
        : shift(state.day, by * (state.view === "week" ? 7 : 1));
    clear();
  };
  const today = () => {
    state.day = TODAY;
    clear();
  };
  const clear = () => {
    state.q = "";
    search.clear();
    return draw();
  };
  root.append(
    h(
      "header",
      { class: "bar" },
      h("h1", {}, "Calendar"),
      button("calendar.new", "plus", "New event", () => edit({ date: state.view === "month" ? TODAY : state.day }), {
        class: "main",
      }),
      button("calendar.today", null, "Today", today),
      button("calendar.prev", "left", "", () => step(-1), { class: "plain", title: "Before" }),
      button("calendar.next", "right", "", () => step(1), { class: "plain", title: "After" }),
      title,
      h("i", { class: "grow" }),
      search,
      view,
    ),
    pane,
  );

  let newest = 0;
  async function draw() {
    newest += 1;
    const request = newest,
      month = state.day.slice(0, 7),
      days = daysInView();
    const events = state.q
      ? await ask("calendar", "find", { q: state.q })
      : await ask("calendar", "between", { first: days[0], last: days[days.length - 1] });
    if (request !== newest) return;
    if (state.q) at("calendar", "search");
    else at("calendar", state.view, state.view === "month" ? month : state.day);
    title.textContent = titleOf(days);
    pane.scrollTop = 0;
    if (state.q || state.view === "list") agenda(events);
    else if (state.view === "month") grid(days, month, events);
    else hours(days, events);
  }

  /** The days that the view has. */
  function daysInView() {
    const month = state.day.slice(0, 7),
      monday = shift(state.day, -weekday(state.day));
    if (state.view === "month") return monthDays(month);
    if (state.view === "week") return Array.from({ length: 7 }, (_, number) => shift(monday, number));
    if (state.view === "day") return [state.day];
    return monthDays(month).filter((day) => day.startsWith(month));
  }
  function titleOf(days) {
    if (state.q) return `“${state.q}” in all months`;
    if (state.view === "day") return longDay(state.day);
    if (state.view === "week") return `${shortDay(days[0])} – ${shortDay(days[6])} ${days[6].slice(0, 4)}`;
    return `${MONTHS[+state.day.slice(5, 7) - 1]} ${state.day.slice(0, 4)}`;
  }

  const colour = (event) =>
    ["blue", "green", "red", "violet", "brown"][
      [...event.title].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % 5
    ];
  const label = (event) =>
    h(
      "button",
      {
        type: "button",
        t: "calendar.event",
        k: event.id,
        class: `event ${colour(event)}`,
        draggable: "true",
        ondragstart: (drag) => drag.dataTransfer.setData("event", event.id),
        title: `${event.start}–${event.end} ${event.title}`,
        oncontextmenu: (click) => eventMenu(click, event),
        onkeydown: (key) => {
          if (key.key === "Delete") remove(event);
        },
        onclick: (click) => {
          click.stopPropagation();
          open(event);
        },
      },
      h("span", { class: "cut" }, h("b", {}, event.start), ` ${event.title}`),
    );
  const copyOf = (event) => ({ ...event, id: undefined });
  const remove = (event) =>
    sure("Delete event?", `“${event.title}” on ${longDay(event.date)} will be deleted.`, "Delete", async () => {
      await ask("calendar", "delete", { id: event.id });
      toast("Event deleted.");
      draw();
    });
  const eventMenu = (click, event) =>
    contextMenu(
      click,
      [
        ["open", "Open", "calendar"],
        ["edit", "Edit", "edit"],
        ["duplicate", "Duplicate", "plus"],
        ["delete", "Delete", "trash"],
      ],
      (what) => {
        if (what === "open") open(event);
        else if (what === "edit") edit(event);
        else if (what === "duplicate") edit(copyOf(event));
        else remove(event);
      },
    );
  const goTo = (day) => {
    state.day = day;
    state.view = "day";
    view.set("day");
    clear();
  };

  /** Shows a day alone. */
  const dayButton = (t, look, day, text) =>
    h(
      "button",
      {
        type: "button",
        t,
        k: day,
        class: `plain ${look}`,
        onclick: (click) => {
          click.stopPropagation();
          goTo(day);
        },
      },
      text,
    );

  function grid(days, month, events) {
    const room = Math.max(1, Math.floor(((pane.clientHeight - 27) / (days.length / 7) - 25) / 20));
    put(
      pane,
      h(
        "div",
        { class: "month" },
        DAYS.map((day) => h("div", { class: "head" }, PHONE ? day[0] : day.slice(0, 3))),
        days.map((day) => {
          const ofDay = events.filter((event) => event.date === day);
          const visible = ofDay.length > room ? room - 1 : ofDay.length;
          return h(
            "div",
            {
              class: `cell ${day.slice(0, 7) === month ? "" : "off"} ${day === TODAY ? "today" : ""}`,
              t: "calendar.day",
              k: day,
              onclick: () => edit({ date: day }),
              ondragover: (drag) => drag.preventDefault(),
              ondrop: (drag) =>
                move(
                  events.find((event) => event.id === +drag.dataTransfer.getData("event")),
                  day,
                ),
            },
            dayButton("calendar.number", "number", day, +day.slice(8)),
            ofDay.slice(0, visible).map(label),
            ofDay.length > visible && dayButton("calendar.more", "more", day, `+${ofDay.length - visible} more`),
          );
        }),
      ),
    );
    pane.querySelector(".month").style.gridTemplateRows = `26px repeat(${days.length / 7}, minmax(0, 1fr))`;
  }

  const HOUR = 46,
    FIRST = 7,
    LAST = 21,
    minutes = (time) => +time.slice(0, 2) * 60 + +time.slice(3);
  function hours(days, events) {
    put(
      pane,
      h(
        "div",
        { class: "hours" },
        h(
          "div",
          { class: "times" },
          Array.from({ length: LAST - FIRST }, (_, number) =>
            h("div", {}, `${String(FIRST + number).padStart(2, "0")}:00`),
          ),
        ),
        days.map((day) => {
          const column = h(
            "div",
            {
              class: day === TODAY ? "column today" : "column",
              t: "calendar.day",
              k: day,
              onclick: (click) => {
                const hour = Math.min(
                  LAST - 1,
                  FIRST + Math.floor((click.clientY - column.getBoundingClientRect().top - 30) / HOUR),
                );
                const two = (number) => `${String(number).padStart(2, "0")}:00`;
                if (hour >= FIRST) edit({ date: day, start: two(hour), end: two(hour + 1) });
              },
            },
            dayButton("calendar.number", "number", day, `${DAYS[weekday(day)].slice(0, 3)} ${+day.slice(8)}`),
          );
          const ofDay = events.filter((event) => event.date === day);
          const ends = []; // by lane: overlapping events stand side by side
          const placed = ofDay.map((event) => {
            let lane = ends.findIndex((end) => end <= event.start);
            if (lane < 0) lane = ends.length;
            ends[lane] = event.end;
            return [event, lane];
          });
          for (const [event, lane] of placed) {
            const element = label(event),
              from = Math.max(FIRST * 60, minutes(event.start)),
              until = Math.min(LAST * 60, minutes(event.end));
            element.style.top = `${30 + ((from - FIRST * 60) * HOUR) / 60}px`;
            element.style.height = `${Math.max(20, ((until - from) * HOUR) / 60 - 2)}px`;
            element.style.left = `${3 + (lane * 94) / ends.length}%`;
            element.style.width = `${94 / ends.length}%`;
            column.append(element);
          }
          return column;
        }),
      ),
    );
  }

  function agenda(events) {
    const days = [...new Set(events.map((event) => event.date))];
    put(
      pane,
      days.length
        ? days.map((day) =>
            h(
              "section",
              { class: "agenda" },
              h("h3", { class: day === TODAY ? "today" : "" }, longDay(day)),
              events
                .filter((event) => event.date === day)
                .map((event) =>
                  h(
                    "button",
                    {
                      type: "button",
                      t: "calendar.event",
                      k: event.id,
                      class: "item",
                      onclick: () => open(event),
                      oncontextmenu: (click) => eventMenu(click, event),
                    },
                    h("i", { class: `dot ${colour(event)}` }),
                    h("span", { class: "hour" }, `${event.start}–${event.end}`),
                    h(
                      "span",
                      { class: "grow cut" },
                      h("b", {}, event.title),
                      event.place && h("span", { class: "muted" }, `  ${event.place}`),
                    ),
                  ),
                ),
            ),
          )
        : empty(
            "calendar",
            state.q
              ? `No event of any month has “${state.q}” in its title, place, guests or note.`
              : "No events in this month.",
          ),
    );
    const next = days.findIndex((day) => day >= TODAY);
    pane.scrollTop =
      !state.q && next > 0 && state.day.slice(0, 7) === TODAY.slice(0, 7)
        ? pane.children[next].offsetTop - pane.offsetTop
        : 0;
  }

  function open(event) {
    const line = (name, text) =>
      text && h("div", { class: "field" }, h("label", {}, name), h("span", { class: "pre" }, text));
    const act = (name, sign, text, work, more) =>
      button(
        `calendar.${name}`,
        sign,
        text,
        () => {
          shade.close();
          work();
        },
        more,
      );
    const shade = dialog({
      title: event.title,
      cancel: "Close",
      body: [
        line("Day", longDay(event.date)),
        line("Time", `${event.start}–${event.end}`),
        line("Place", event.place),
        line("Guests", event.guests.replaceAll(", ", "\n")),
        line("Note", event.note),
        h(
          "div",
          { class: "line acts" },
          act("edit", "edit", "Edit", () => edit(event)),
          act("duplicate", "plus", "Duplicate", () => edit(copyOf(event))),
          act("delete", "trash", "Delete", () => remove(event), { class: "danger" }),
        ),
      ],
      keys: ({ key }) => {
        if (key !== "Delete") return false;
        shade.close();
        remove(event);
        return true;
      },
    });
  }

  /** To another day, at the same time: where an event of the month is dropped. */
  function move(event, date) {
    if (event && event.date !== date)
      guard(async () => {
        await ask("calendar", "save", { event: { ...event, date }, id: event.id });
        toast(`Moved to ${longDay(date)}.`);
        draw();
      });
  }

  function edit(event) {
    form(
      event.id ? "Edit event" : "New event",
      [
        { name: "title", t: "calendar.title", label: "Title", value: event.title },
        {
          name: "date",
          t: "calendar.date",
          label: "Date",
          value: event.date || TODAY,
          kind: "date",
          hint: "YYYY-MM-DD",
        },
        { name: "start", t: "calendar.start", label: "Start", value: event.start || "10:00", hint: "HH:MM" },
        { name: "end", t: "calendar.end", label: "End", value: event.end || "11:00", hint: "HH:MM" },
        { name: "place", t: "calendar.place", label: "Place", value: event.place },
        {
          name: "guests",
          t: "calendar.guests",
          label: "Guests",
          value: event.guests,
          hint: "Mail addresses, separated by commas",
        },
        { name: "note", t: "calendar.note", label: "Note", value: event.note, kind: "area" },
      ],
      async (values) => {
        await ask("calendar", "save", { event: values, id: event.id });
        toast("Event saved.");
        draw();
      },
    );
  }

  function keys(event) {
    const views = { m: "month", w: "week", d: "day", l: "list" },
      { key } = event;
    if (event.ctrlKey) return false;
    if (views[key]) {
      state.view = views[key];
      view.set(views[key]);
      clear();
    } else if (key === "n") edit({ date: state.day });
    else if (key === "t") today();
    else if (key === "ArrowLeft") step(-1);
    else if (key === "ArrowRight") step(1);
    else if (key === "/") search.querySelector("input").focus();
    else return false;
    return true;
  }
  draw();
  return {
    show: draw,
    keys,
    shortcuts: [
      ["n", "New event"],
      ["t", "Today"],
      ["Left, Right", "Before, after"],
      ["m, w, d, l", "Month, week, day, list"],
      ["/", "Search"],
      ["Delete", "Delete the event that is open"],
    ],
    back: () => {
      if (!state.q) return false;
      clear();
      return true;
    },
  };
}

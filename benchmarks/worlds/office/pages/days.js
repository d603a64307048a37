/*
 * Days as texts, YYYY-MM-DD, and the small calendar beside a date field.
 *
 * data-t          data-k         what
 * date.open       field          opens it
 * date.prev, date.next           its months
 * date.day        YYYY-MM-DD     one of its days
 */

import { TODAY } from "./core.js";
import { button, h, put } from "./elements.js";
import { opener, popup } from "./menus.js";

export const DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
export const MONTHS = "January February March April May June July August September October November December".split(
  " ",
);

const iso = (day) => day.toISOString().slice(0, 10);
const dayOf = (text) => new Date(`${text}T00:00:00Z`);
export const shift = (text, days) => {
  const day = dayOf(text);
  day.setUTCDate(day.getUTCDate() + days);
  return iso(day);
};
export const weekday = (text) => (dayOf(text).getUTCDay() + 6) % 7; // 0: Monday
export const longDay = (text) =>
  `${DAYS[weekday(text)]}, ${+text.slice(8)} ${MONTHS[+text.slice(5, 7) - 1]} ${text.slice(0, 4)}`;
export const shortDay = (text) => `${+text.slice(8)} ${MONTHS[+text.slice(5, 7) - 1].slice(0, 3)}`;
/** "6 Mar", in another year "6 Mar 2027": where days stand below each other. */
export const dayText = (text) =>
  text.slice(0, 4) === TODAY.slice(0, 4) ? shortDay(text) : `${shortDay(text)} ${text.slice(0, 4)}`;
/** "6 Mar 2026, 08:46": where one thing is shown with its time. */
export const stamp = (text) => `${shortDay(text.slice(0, 10))} ${text.slice(0, 4)}, ${text.slice(11)}`;
const isDay = (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && !isNaN(dayOf(text).getTime());

/** "08:46" for today, else "6 Mar". */
export const moment = (text) => (text.slice(0, 10) === TODAY ? text.slice(11) : dayText(text.slice(0, 10)));

/** Days of the weeks that a month touches. */
export function monthDays(month) {
  const first = `${month}-01`,
    start = shift(first, -weekday(first));
  const length = new Date(Date.UTC(+month.slice(0, 4), +month.slice(5), 0)).getUTCDate();
  return Array.from({ length: Math.ceil((weekday(first) + length) / 7) * 7 }, (_, number) => shift(start, number));
}
export const nextMonth = (month, step) =>
  iso(new Date(Date.UTC(+month.slice(0, 4), +month.slice(5) - 1 + step, 1))).slice(0, 7);

/** The small calendar beside a date field. */
export function datePicker(input) {
  const opening = button("date.open", "calendar", "", null, { title: "Choose a day", k: input.name });
  return opener(opening, () => {
    let month = (isDay(input.value) ? input.value : TODAY).slice(0, 7);
    const box = h("div", { class: "menu days" });
    const all = () => [...box.querySelectorAll("button")];
    /** Arrows go from day to day; Enter and the space bar press what is in focus, as everywhere. */
    const keys = (event) => {
      const offset = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 }[event.key];
      const index = all().indexOf(document.activeElement);
      if (offset === undefined) {
        if (event.key === "Enter" && index >= 0) all()[index].click();
        return event.key === "Enter";
      }
      const next = all()[index + offset];
      if (next?.dataset.t === "date.day") next.focus();
      return true;
    };
    const dayClass = (day) => {
      const classes = ["plain"];
      if (day.slice(0, 7) !== month) classes.push("off");
      if (day === TODAY) classes.push("today");
      if (day === input.value) classes.push("on");
      return classes.join(" ");
    };
    const draw = () =>
      put(
        box,
        h(
          "div",
          { class: "bar" },
          button(
            "date.prev",
            "left",
            "",
            () => {
              month = nextMonth(month, -1);
              draw();
            },
            { class: "plain", title: "Month before" },
          ),
          h("b", { class: "grow" }, `${MONTHS[+month.slice(5) - 1]} ${month.slice(0, 4)}`),
          button(
            "date.next",
            "right",
            "",
            () => {
              month = nextMonth(month, 1);
              draw();
            },
            { class: "plain", title: "Month after" },
          ),
        ),
        h(
          "div",
          { class: "grid" },
          DAYS.map((day) => h("span", {}, day[0])),
          monthDays(month).map((day) =>
            button(
              "date.day",
              null,
              String(+day.slice(8)),
              () => {
                input.value = day;
                close();
                input.focus();
                input.setSelectionRange(day.length, day.length);
              },
              {
                k: day,
                class: dayClass(day),
              },
            ),
          ),
        ),
      );
    draw();
    const anchorBox = opening.getBoundingClientRect();
    const close = popup(box, opening, anchorBox, keys);
    box.style.left = `${Math.max(4, Math.min(anchorBox.right - box.offsetWidth, innerWidth - box.offsetWidth - 4))}px`;
    box.style.top = `${Math.min(anchorBox.bottom + 2, innerHeight - box.offsetHeight - 4)}px`;
    box.style.maxHeight = "none";
    (box.querySelector(".on") || box.querySelector(".today") || box.querySelector(".grid button")).focus();
  });
}

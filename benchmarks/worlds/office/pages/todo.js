/*
 * To-do.
 *
 * data-t            data-k       what
 * todo.list         name         All, Work, Personal
 * todo.filter                    choice: open, today, overdue, done, all
 * todo.search                    field; searches titles and notes of what list and filter show
 * todo.everywhere                searches in all lists, done or not
 * todo.sort                      choice: due, priority, title
 * todo.quick                     field: Enter adds a task to the list that is shown
 * todo.new                       window: a new task
 * todo.row          id           a task (not to be clicked)
 * todo.done         id           its checkbox
 * todo.edit         id           window: edit; dialog.ok saves
 * todo.delete       id           asks again: dialog.ok
 * todo.title, todo.list-field, todo.due, todo.priority, todo.note      fields of the form
 */

import { ask, count, oneLine, PHONE, TODAY } from "./core.js";
import { dayText } from "./days.js";
import { button, empty, h, icon, put, searchField } from "./elements.js";
import { choice, contextMenu } from "./menus.js";
import { at } from "./shell.js";
import { form, guard, sure, toast } from "./windows.js";

export function todo(root) {
  const state = { list: "All", show: "open", sort: "due", q: "" },
    RANK = { High: 0, Normal: 1, Low: 2 };
  const side = h("nav", { class: "side" }),
    pane = h("div", { class: "pane" });
  const quick = h("input", {
    t: "todo.quick",
    placeholder: "Add a task and press Enter",
    "aria-label": "Add a task",
    autocomplete: "off",
    onkeydown: (event) => {
      if (event.key !== "Enter" || !quick.value.trim()) return;
      const title = quick.value;
      quick.value = ""; // for the next one; what is refused comes back
      guard(async () => {
        const list = state.list === "Work" ? "Work" : "Personal";
        try {
          await ask("todo", "save", { todo: { title, list, due: "", priority: "Normal", note: "" } });
        } catch (error) {
          if (!quick.value) quick.value = title;
          throw error;
        }
        draw();
      });
    },
  });
  const filter = choice(
    "todo.filter",
    [
      ["open", "Open"],
      ["today", "Due today"],
      ["overdue", "Overdue"],
      ["done", "Completed"],
      ["all", "All tasks"],
    ],
    state.show,
    (show) => {
      state.show = show;
      draw();
    },
  );
  root.append(
    h(
      "header",
      { class: "bar" },
      h("h1", {}, "To-do"),
      button("todo.new", "plus", "New task", () => edit({}), { class: "main" }),
      h("i", { class: "grow" }),
      searchField("todo.search", "Search tasks", (q) => {
        state.q = q;
        draw();
      }),
      filter,
      choice(
        "todo.sort",
        [
          ["due", "By date"],
          ["priority", "By priority"],
          ["title", "By title"],
        ],
        state.sort,
        (sort) => {
          state.sort = sort;
          draw();
        },
      ),
    ),
    h(
      "div",
      { class: "columns" },
      side,
      h("div", { class: "pane" }, h("div", { class: "bar quick" }, icon("plus"), quick), pane),
    ),
  );

  const FITS = {
    open: (todo) => !todo.done,
    today: (todo) => !todo.done && todo.due === TODAY,
    overdue: (todo) => !todo.done && todo.due && todo.due < TODAY,
    done: (todo) => todo.done,
    all: () => true,
  };
  const ORDER = {
    due: (a, b) => (a.due || "9").localeCompare(b.due || "9"),
    priority: (a, b) => RANK[a.priority] - RANK[b.priority],
    title: (a, b) => a.title.localeCompare(b.title),
  };
  let newest = 0;
  async function draw() {
    newest += 1;
    const request = newest,
      all = await ask("todo", "list"),
      fits = (name) => (todo) => name === "All" || todo.list === name;
    if (request !== newest) return;
    at("todo", state.list);
    put(
      side,
      ["All", "Work", "Personal"].map((name) =>
        h(
          "button",
          {
            type: "button",
            t: "todo.list",
            k: name,
            class: name === state.list ? "on" : "",
            onclick: () => {
              state.list = name;
              draw();
            },
          },
          icon(name === "Work" ? "archive" : name === "Personal" ? "contacts" : "todo"),
          name,
          h("span", { class: "number" }, all.filter((todo) => !todo.done).filter(fits(name)).length),
        ),
      ),
    );
    const matches = all.filter((todo) => `${todo.title} ${todo.note}`.toLowerCase().includes(state.q.toLowerCase()));
    const visible = matches
      .filter(fits(state.list))
      .filter(FITS[state.show])
      .sort((a, b) => a.done - b.done || ORDER[state.sort](a, b) || a.id - b.id);
    const nothing = state.q ? `No task shown here has “${state.q}” in its title or note.` : "Nothing to do here.";
    const hidden = state.q ? matches.length - visible.length : 0;
    put(
      pane,
      visible.length ? visible.map(row) : empty("todo", nothing),
      hidden > 0 &&
        h(
          "div",
          { class: "bar hidden-tasks" },
          h(
            "span",
            { class: "grow muted" },
            `${count(hidden, "more task fits", "more tasks fit")}, hidden by list or filter.`,
          ),
          button("todo.everywhere", null, "Show all that fit", () => {
            state.list = "All";
            state.show = "all";
            filter.set("all");
            draw();
          }),
        ),
    );
  }
  function row(todo) {
    const late = !todo.done && todo.due && todo.due < TODAY;
    const acts = {
      edit: () => edit(todo),
      tick: () =>
        guard(async () => {
          await ask("todo", "tick", { id: todo.id, on: !todo.done });
          toast(todo.done ? "Open again." : "Completed.");
          draw();
        }),
      delete: () =>
        sure("Delete task?", `“${todo.title}” will be deleted.`, "Delete", async () => {
          await ask("todo", "delete", { id: todo.id });
          toast("Task deleted.");
          draw();
        }),
    };
    const entries = [
      ["edit", "Open", "edit"],
      ["tick", todo.done ? "Mark as not done" : "Mark as done", "check"],
      ["delete", "Delete", "trash"],
    ];
    return h(
      "div",
      {
        class: todo.done ? "task done" : "task",
        t: "todo.row",
        k: todo.id,
        oncontextmenu: (event) => contextMenu(event, entries, (what) => acts[what]()),
      },
      h("input", {
        type: "checkbox",
        t: "todo.done",
        k: todo.id,
        "aria-label": `Done: ${todo.title}`,
        checked: !!todo.done,
        onclick: acts.tick,
      }),
      h(
        "div",
        { class: "grow" },
        h("div", { class: "title" }, todo.title),
        todo.note && h("div", { class: "muted small cut" }, oneLine(todo.note)),
      ),
      todo.priority !== "Normal" && h("span", { class: todo.priority === "High" ? "tag bad" : "tag" }, todo.priority),
      h("span", { class: "tag list" }, todo.list),
      h("span", { class: late ? "due late" : "due" }, dueText(todo.due)),
      button("todo.edit", "edit", PHONE ? "Edit" : "", acts.edit, { k: todo.id, class: "plain", title: "Edit" }),
      button("todo.delete", "trash", PHONE ? "Delete" : "", acts.delete, {
        k: todo.id,
        class: "plain",
        title: "Delete",
      }),
    );
  }
  const dueText = (due) => {
    if (!due) return "No date";
    return due === TODAY ? "Today" : dayText(due);
  };
  function edit(todo) {
    const options = (names) => names.map((name) => [name, name]);
    form(
      todo.id ? "Edit task" : "New task",
      [
        { name: "title", t: "todo.title", label: "Task", value: todo.title },
        {
          name: "list",
          t: "todo.list-field",
          label: "List",
          kind: "choice",
          options: options(["Personal", "Work"]),
          value: todo.list || (state.list === "Work" ? "Work" : "Personal"),
        },
        { name: "due", t: "todo.due", label: "Due", kind: "date", value: todo.due, hint: "YYYY-MM-DD, or nothing" },
        {
          name: "priority",
          t: "todo.priority",
          label: "Priority",
          kind: "choice",
          options: options(["Low", "Normal", "High"]),
          value: todo.priority || "Normal",
        },
        { name: "note", t: "todo.note", label: "Note", kind: "area", value: todo.note },
      ],
      async (values) => {
        await ask("todo", "save", { todo: values, id: todo.id });
        toast("Task saved.");
        draw();
      },
    );
  }
  draw();
  return {
    show: draw,
    keys: (event) => {
      if (event.ctrlKey) return false;
      if (event.key === "n") edit({});
      else if (event.key === "/") root.querySelector(".search input").focus();
      else return false;
      return true;
    },
    shortcuts: [
      ["n", "New task"],
      ["/", "Search"],
    ],
  };
}

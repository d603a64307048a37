"use strict";
/*
 * To-do.
 *
 * data-t            data-k       what
 * todo.list         name         All, Work, Personal
 * todo.filter                    choice: open, today, overdue, done, all
 * todo.search                    field; searches while it is written into
 * todo.sort                      choice: due, priority, title
 * todo.quick                     field: Enter adds a task to the list that is shown
 * todo.new                       window: a new task
 * todo.row          id           a task (not to be clicked)
 * todo.done         id           its checkbox
 * todo.edit         id           window: edit; dialog.ok saves
 * todo.delete       id           asks again: dialog.ok
 * todo.title, todo.list-field, todo.due, todo.priority, todo.note      fields of the form
 */

office.apps.todo = (root) => {
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
      guard(async () => {
        await ask("todo", "save", {
          todo: {
            title: quick.value,
            list: state.list === "Work" ? "Work" : "Personal",
            due: "",
            priority: "Normal",
            note: "",
          },
        });
        quick.value = "";
        draw();
      });
    },
  });
  root.append(
    h(
      "header",
      { class: "bar" },
      h("h1", {}, "To-do"),
      button("todo.new", "plus", "New task", () => edit({}), { class: "main" }),
      h("i", { class: "grow" }),
      searchField(
        "todo.search",
        "Search tasks",
        (q) => {
          state.q = q;
          draw();
        },
        { live: true },
      ),
      choice(
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
      ),
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
    open: (each) => !each.done,
    today: (each) => !each.done && each.due === TODAY,
    overdue: (each) => !each.done && each.due && each.due < TODAY,
    done: (each) => each.done,
    all: () => true,
  };
  const ORDER = {
    due: (a, b) => (a.due || "9").localeCompare(b.due || "9"),
    priority: (a, b) => RANK[a.priority] - RANK[b.priority],
    title: (a, b) => a.title.localeCompare(b.title),
  };
  async function draw() {
    const all = await ask("todo", "list"),
      fits = (name) => (each) => name === "All" || each.list === name;
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
          h("span", { class: "number" }, all.filter((each) => !each.done).filter(fits(name)).length),
        ),
      ),
    );
    const shown = all
      .filter(fits(state.list))
      .filter(FITS[state.show])
      .filter((each) => `${each.title} ${each.note}`.toLowerCase().includes(state.q.toLowerCase()))
      .sort((a, b) => a.done - b.done || ORDER[state.sort](a, b) || a.id - b.id);
    put(
      pane,
      shown.length ? shown.map(row) : empty("todo", state.q ? "No task fits your search." : "Nothing to do here."),
    );
  }
  function row(todo) {
    const late = !todo.done && todo.due && todo.due < TODAY;
    return h(
      "div",
      { class: todo.done ? "task done" : "task", t: "todo.row", k: todo.id },
      h("input", {
        type: "checkbox",
        t: "todo.done",
        k: todo.id,
        "aria-label": `Done: ${todo.title}`,
        checked: !!todo.done,
        onclick: () =>
          guard(async () => {
            await ask("todo", "tick", { id: todo.id, on: !todo.done });
            toast(todo.done ? "Open again." : "Completed.");
            draw();
          }),
      }),
      h(
        "div",
        { class: "grow" },
        h("div", { class: "title" }, todo.title),
        todo.note && h("div", { class: "muted small cut" }, oneLine(todo.note)),
      ),
      todo.priority !== "Normal" && h("span", { class: todo.priority === "High" ? "tag bad" : "tag" }, todo.priority),
      h("span", { class: "tag list" }, todo.list),
      h("span", { class: late ? "due late" : "due" }, todo.due ? (todo.due === TODAY ? "Today" : todo.due) : "No date"),
      button("todo.edit", "edit", "", () => edit(todo), { k: todo.id, class: "plain", title: "Edit" }),
      button(
        "todo.delete",
        "trash",
        "",
        () =>
          sure("Delete task?", `“${todo.title}” will be deleted.`, "Delete", async () => {
            await ask("todo", "delete", { id: todo.id });
            toast("Task deleted.");
            draw();
          }),
        { k: todo.id, class: "plain", title: "Delete" },
      ),
    );
  }
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
  };
};

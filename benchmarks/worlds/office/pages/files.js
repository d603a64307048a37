/*
 * Files.
 *
 * data-t            data-k       what
 * files.new-file, files.new-folder
 * files.search                   field; searches by name in all folders
 * files.clear                    ends the search
 * files.sort                     choice: name, kind, size
 * files.crumb       id           a folder of the path (0: Home)
 * files.row         id           a file or a folder: one click opens it, the right button its menu (open, ...);
 *                                can be dragged onto a folder
 * files.more        id           its menu: rename, move, copy, delete (menu.item)
 * files.name                     field of the windows New and Rename
 * files.folder      id           a folder in the windows Move and Copy (0: Home)
 * files.text                     field: the text of the open file
 * files.save, files.back         of the open file; Ctrl+S saves
 */

import { ask, count } from "./core.js";
import { button, empty, h, icon, put, searchField } from "./elements.js";
import { choice, contextMenu, menu, opener } from "./menus.js";
import { at } from "./shell.js";
import { dialog, form, guard, sure, toast } from "./windows.js";

export function files(root) {
  const state = { folder: 0, q: "", sort: "name", file: null };
  const pane = h("div", { class: "pane" });
  const search = searchField(
    "files.search",
    "Search all files by name",
    (q) =>
      leave(() => {
        state.q = q;
        list();
      }),
    { waits: () => state.file?.changed() }, // the question what becomes of it would catch what is written
  );
  root.append(
    h(
      "header",
      { class: "bar" },
      h("h1", {}, "Files"),
      button("files.new-file", "plus", "New file", () => leave(() => create("text")), { class: "main" }),
      button("files.new-folder", "files", "New folder", () => leave(() => create("folder"))),
      h("i", { class: "grow" }),
      search,
      choice(
        "files.sort",
        [
          ["name", "By name"],
          ["kind", "Folders first"],
          ["size", "By size"],
        ],
        "kind",
        (sort) =>
          leave(() => {
            state.sort = sort;
            list();
          }),
      ),
    ),
    pane,
  );
  state.sort = "kind";

  const clear = () => {
    state.q = "";
    search.clear();
  };
  const go = (folder) =>
    leave(() => {
      state.folder = folder;
      clear();
      list();
    });
  const again = (work, done) => async (values) => {
    await work(values);
    if (done) toast(done);
    list();
  };
  const ORDER = { name: () => 0, kind: (a, b) => a.kind.localeCompare(b.kind), size: (a, b) => b.size - a.size };

  let newest = 0;
  async function list() {
    state.file = null;
    newest += 1;
    const request = newest;
    const got = state.q
      ? { rows: await ask("files", "find", { q: state.q }) }
      : await ask("files", "list", { parent: state.folder }).catch(() => {
          state.folder = 0;
          return ask("files", "list");
        });
    if (request !== newest) return;
    at("files", ...(state.q ? ["search"] : got.path.slice(1).map((folder) => folder.name)));
    const rows = got.rows.sort((a, b) => ORDER[state.sort](a, b) || a.name.localeCompare(b.name));
    put(
      pane,
      h(
        "div",
        { class: "bar crumbs" },
        state.q
          ? [
              h("b", { class: "grow" }, `${count(rows.length, "result")} for “${state.q}” in the names of all folders`),
              button("files.clear", "close", "", () => go(state.folder), { class: "plain", title: "End the search" }),
            ]
          : got.path.map((folder, number) => [
              number > 0 && h("span", { class: "muted" }, "›"),
              button("files.crumb", null, folder.name, () => go(folder.id), { k: folder.id, class: "plain" }),
            ]),
      ),
      rows.length
        ? h(
            "table",
            {},
            h(
              "tr",
              {},
              h("th", {}),
              h("th", {}, "Name"),
              state.q && h("th", {}, "Folder"),
              h("th", { class: "wide" }, "Kind"),
              h("th", { class: "wide" }, "Size"),
              h("th", {}),
            ),
            rows.map(row),
          )
        : empty(
            state.q ? "search" : "files",
            state.q
              ? `No file or folder has “${state.q}” in its name. Texts of files are not searched.`
              : "This folder is empty.",
          ),
    );
    pane.scrollTop = 0;
  }
  function row(file) {
    const folder = file.kind === "folder",
      sign = icon(folder ? "files" : "text");
    if (folder) sign.classList.add("folder-icon");
    const entries = [
      ["open", "Open", folder ? "files" : "text"],
      ["rename", "Rename…", "edit"],
      ["move", "Move to…", "forward"],
      ...(folder ? [] : [["copy", "Copy to…", "plus"]]),
      ["delete", "Delete", "trash"],
    ];
    const pickAct = (what) => (what === "open" ? show() : act(what, file));
    const show = () => (folder ? go(file.id) : open(file.id));
    const more = opener(
      button("files.more", "more", "", null, { k: file.id, class: "plain", title: `More for ${file.name}` }),
      () => menu(more, entries, null, pickAct),
    );
    return h(
      "tr",
      {
        class: "file-row",
        t: "files.row",
        k: file.id,
        role: "button",
        tabindex: 0,
        draggable: "true",
        onclick: show,
        oncontextmenu: (event) => contextMenu(event, entries, pickAct),
        onkeydown: (event) => {
          if (event.key === "Delete") act("delete", file);
        },
        ondragstart: (event) => event.dataTransfer.setData("file", file.id),
        ondragover: (event) => {
          if (folder) event.preventDefault();
        },
        ondrop: (event) => {
          const id = +event.dataTransfer.getData("file");
          if (id && id !== file.id)
            guard(() => again(() => ask("files", "move", { id, parent: file.id }), `Moved to ${file.name}.`)());
        },
      },
      h("td", {}, sign),
      h("td", {}, file.name),
      state.q && h("td", { class: "muted" }, file.folder),
      h("td", { class: "muted wide" }, folder ? "Folder" : "Text"),
      h("td", { class: "muted wide" }, folder ? count(file.items, "item") : `${file.size} bytes`),
      h("td", {}, more),
    );
  }
  function act(what, file) {
    const id = file.id;
    if (what === "rename")
      form(
        `Rename “${file.name}”`,
        [{ name: "name", t: "files.name", label: "Name", value: file.name }],
        again(({ name }) => ask("files", "rename", { id, name }), "Renamed."),
        "Rename",
      );
    else if (what === "delete")
      sure(
        `Delete ${file.kind === "folder" ? "folder" : "file"}?`,
        `“${file.name}” will be deleted. This cannot be taken back.`,
        "Delete",
        again(() => ask("files", "delete", { id }), "Deleted."),
      );
    else
      pick(
        what === "move" ? `Move “${file.name}”` : `Copy “${file.name}”`,
        file.parent,
        what === "move" ? "Move" : "Copy",
        again((parent) => ask("files", what, { id, parent }), what === "move" ? "Moved." : "Copied."),
      );
  }
  async function pick(title, now, label, work) {
    const folders = await ask("files", "folders");
    let chosen = now;
    const box = h("div", { class: "pick" });
    const draw = () =>
      put(
        box,
        folders.map((folder) =>
          button(
            "files.folder",
            "files",
            folder.path,
            () => {
              chosen = folder.id;
              draw();
            },
            { k: folder.id, class: folder.id === chosen ? "on" : "" },
          ),
        ),
      );
    draw();
    dialog({ title, label, body: box, ok: () => work(chosen) });
  }
  function create(kind) {
    const what = kind === "text" ? "file" : "folder",
      parent = state.folder;
    form(
      `New ${what}`,
      [{ name: "name", t: "files.name", label: "Name", value: "", hint: kind === "text" ? "notes.txt" : "" }],
      async ({ name }) => {
        clear();
        const { id } = await ask("files", "create", { parent, name, kind });
        if (kind === "text") open(id);
        else {
          toast("Folder created.");
          list();
        }
      },
      "Create",
    );
  }

  async function open(id) {
    const file = await guard(() => ask("files", "get", { id }));
    if (!file) return list();
    const text = h("textarea", { class: "editor", t: "files.text", "aria-label": file.name, spellcheck: "false" });
    text.value = file.content;
    const saved = button("files.save", "check", "Save", save, { class: "main", disabled: true }),
      note = h("span", { class: "muted small" }, "Saved");
    const changed = () => text.value !== file.content;
    const mark = () => {
      saved.disabled = !changed();
      note.textContent = changed() ? "Not saved yet" : "Saved";
    };
    async function save() {
      await guard(async () => {
        await ask("files", "write", { id, content: text.value });
        file.content = text.value;
        mark();
        toast("Saved.");
      });
    }
    text.addEventListener("input", mark);
    at("files", file.name);
    state.file = { name: file.name, changed, save };
    put(
      pane,
      h(
        "div",
        { class: "bar crumbs" },
        button("files.back", "back", "Back", () => leave(list)),
        h("b", { class: "grow cut" }, file.name),
        note,
        saved,
      ),
      text,
    );
    text.focus();
    text.setSelectionRange(0, 0);
    text.scrollTop = 0;
    return undefined;
  }
  /** Goes on with `work`, once it is clear what becomes of an unsaved text. */
  function leave(work) {
    const { file } = state;
    if (!file?.changed()) return work();
    return dialog({
      title: "Save changes?",
      body: h("p", {}, `“${file.name}” has changes that are not saved yet.`),
      label: "Save",
      ok: async () => {
        await file.save();
        state.file = null;
        work();
      },
      other: [
        "Don't save",
        () => {
          state.file = null;
          work();
        },
      ],
    });
  }
  function back() {
    if (state.file) leave(list);
    else if (state.q) go(state.folder);
    else if (state.folder)
      ask("files", "list", { parent: state.folder }).then((got) => go(got.path[got.path.length - 2].id));
    else return false;
    return true;
  }
  function keys(event) {
    if (event.key === "s" && event.ctrlKey) {
      state.file?.save();
      return true;
    }
    if (event.key === "/" && !event.ctrlKey) {
      search.querySelector("input").focus();
      return true;
    }
    return event.key === "Backspace" && back();
  }
  list();
  const shortcuts = [
    ["Ctrl+S", "Save the text that is open"],
    ["/", "Search"],
    ["Backspace", "Back"],
  ];
  return { show: () => (state.file ? null : list()), back, keys, shortcuts };
}

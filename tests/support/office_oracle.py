"""Play scripted solutions of the office with mouse and keyboard.

An oracle may look where an agent cannot: it finds elements by their names (`data-t`) and rows in
the store. It acts through actions alone, as an agent does.

A step is a verb with arguments: ["mail.archive", "Keys"]. A verb may name another way to the same
end: ["mail.archive by checkbox", "Keys"]. Forms (events, contacts, to-dos) know the ways

    keys      from field to field with Tab, saved with Ctrl+Enter
    picker    days are chosen in the small calendar
    list      the row is picked from the whole list, not searched for
    view      the event is in sight, after a search or in a list

and the other ways are the methods whose names have `_by_`. `office_store` plays the same steps on
the store.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.actions.action import Action
from benchmarks.worlds.office.apps.mail import PAGE
from benchmarks.worlds.office.store import Row
from benchmarks.worlds.office.world import OfficeWorld
from tests.support.office_rows import find_row

FORMS = {"calendar": "events", "contacts": "contacts", "todo": "todos"}  # applications with forms
CHOICES = ("list", "priority")  # fields of forms with a drop-down list
DAYS = ("date", "due")  # fields of forms with a small calendar
FIELDS = {"company": "company-field", "list": "list-field"}  # not named like their columns
FINDING = {"list": "listed", "view": "shown"}  # ways to find a row that is not searched for
MAX_SCROLLS = 8
MAX_TABS = 14
FIND = """([name, key]) => {
  const isVisible = item => item.getClientRects().length > 0;
  const shade = [...document.querySelectorAll(".shade")].filter(isVisible).pop();
  const isAbove = /^(shell|menu|mail[.]person|date[.](day|prev|next))/.test(name);
  const root = shade && !isAbove ? shade : document;
  const element = [...root.querySelectorAll(`[data-t="${name}"]`)]
    .find(item => isVisible(item) && (key === null || item.dataset.k === key));
  if (!element) return null;
  const box = element.getBoundingClientRect();
  const middle = (start, end, size) => (Math.max(0, start) + Math.min(size, end)) / 2;
  for (let pane = element.parentElement; pane; pane = pane.parentElement) {
    const style = getComputedStyle(pane), frame = pane.getBoundingClientRect();
    const point = {x: middle(frame.left, frame.right, innerWidth) / innerWidth,
                   y: middle(frame.top, frame.bottom, innerHeight) / innerHeight};
    const over = box.bottom - frame.bottom, under = frame.top - box.top;
    const right = box.right - frame.right, left = frame.left - box.left;
    if (/auto|scroll/.test(style.overflowY) && (over > 1 || under > 1) && box.height < frame.height)
      return {...point, scroll: over > 1 ? over + 20 : under + 20, to: over > 1 ? "down" : "up"};
    if (/auto|scroll/.test(style.overflowX) && (right > 1 || left > 1) && box.width < frame.width)
      return {...point, scroll: right > 1 ? right + 20 : left + 20,
              to: right > 1 ? "right" : "left"};
  }
  return {scroll: 0, text: element.value ?? "",
          x: (box.left + box.width / 2) / innerWidth, y: (box.top + box.height / 2) / innerHeight};
}"""
"""Finds an element: its middle in fractions of the screen, or how far to scroll which point."""


class Oracle:
    """Plays steps in an episode that has begun."""

    def __init__(self, world: OfficeWorld) -> None:
        self.world = world
        self.actions: list[Action] = []  # all so far

    def play(self, steps: Sequence[Sequence[Any]]) -> None:
        """Do one step after the other.

        Raises:
            LookupError: an element or a row is missing.
        """
        for verb, *arguments in steps:
            if verb in ("answer", "done", "fail"):
                self._act(Action(verb, text=str(arguments[0]) if arguments else ""))
            else:
                self._step(verb, arguments)

    def _step(self, verb: str, arguments: Sequence[Any]) -> None:
        plain_verb, _, way = verb.partition(" by ")
        app, _, what = plain_verb.partition(".")
        method_name = f"_{app}_{what}_by_{way}" if way else f"_{app}_{what}"
        method: Callable[..., None] | None = getattr(self, method_name, None)
        self._open(app)
        if method is not None:
            method(*arguments)
        elif app in FORMS and what in ("new", "change", "delete"):
            self._form(app, what, way, *arguments)
        elif what == "search":
            self._search(f"{app}.search", *arguments)
        else:
            raise LookupError(f"there is no step {verb!r}")

    # -- mouse and keyboard -----------------------------------------------------------------------

    def _act(self, action: Action) -> None:
        self.actions.append(action)
        self.world.step(action)

    def _look(self, name: str, key: Any = None) -> Row | None:
        """Return the visible element with a name, or None (see `FIND`)."""
        key = None if key is None else str(key)
        element: Row | None = self.world.tab.page.evaluate(FIND, [name, key])
        return element

    def _find(self, name: str, key: Any = None) -> Row:
        """Return an element after scrolling to it."""
        for _ in range(MAX_SCROLLS):
            element = self._look(name, key)
            if element is None:
                break
            if not element["scroll"]:
                return element
            notches = math.ceil(element["scroll"] / 100)
            point = (element["x"], element["y"])
            self._act(Action("scroll", point, direction=element["to"], amount=notches))
        raise LookupError(f"{name} {key or ''} is not to be seen")

    def _click(self, name: str, key: Any = None) -> Row:
        element = self._find(name, key)
        self._act(Action("click", (element["x"], element["y"])))
        return element

    def _type(self, text: Any) -> None:
        self._act(Action("type", text=str(text)))

    def _key(self, *keys: str) -> None:
        self._act(Action("key", keys=keys))

    def _fill(self, name: str, text: Any) -> None:
        self._write(text, self._click(name)["text"])

    def _write(self, text: Any, before: str) -> None:
        """Write into the focused field in place of its present text."""
        if before:
            self._key("ctrl", "a")
            if text == "":
                self._key("delete")
        if text != "":
            self._type(text)

    def _tab_to(self, name: str) -> None:
        """Move the focus to a field of the window with the Tab key."""
        for _ in range(MAX_TABS):
            if self.world.tab.page.evaluate("document.activeElement.dataset.t") == name:
                return
            self._key("tab")
        raise LookupError(f"the Tab key does not lead to {name}")

    def _fill_by_keys(self, name: str, text: Any) -> None:
        self._tab_to(name)
        self._write(text, self.world.tab.page.evaluate("document.activeElement.value"))

    def _pick(self, name: str, day: str, before: str) -> None:
        """Choose a day in the small calendar of a field whose present day is `before`."""
        self._click("date.open", name)
        turn = "date.prev" if before and day < before else "date.next"
        while self._look("date.day", day) is None:
            self._click(turn)
        self._click("date.day", day)

    def _search(self, name: str, text: str) -> None:
        self._fill(name, text)
        self._key("enter")

    def _choose(self, name: str, value: Any) -> None:
        self._click(name)
        self._click("menu.item", value)

    def _ok(self) -> None:
        self._click("dialog.ok")

    def _row(self, table: str, name: Any) -> Row:
        return find_row(self.world.dump(), table, name)

    def _open(self, app: str) -> None:
        if self.world.tab.page.evaluate("office.current()") == app:
            return
        if self._look("shell.app", app) is None:  # the phone shows them at home only
            self._click("shell.home")
        self._click("shell.app", app)

    def _leave_detail(self, app: str) -> None:
        """Go back to the list, where the detail hides it."""
        if self._look(f"{app}.back") is not None:
            self._click(f"{app}.back")

    # -- forms ------------------------------------------------------------------------------------

    def _form(self, app: str, what: str, way: str, *arguments: Any) -> None:
        """Add, change or delete an event, a contact or a to-do."""
        if what == "new":
            self._click(f"{app}.new")
        else:
            row = self._row(FORMS[app], arguments[0])
            finding = FINDING.get(way, "found")
            getattr(self, f"_{app}_{finding}")(row["id"])
            verb = "edit" if what == "change" else "delete"
            self._click(f"{app}.{verb}", row["id"] if app == "todo" else None)
        fields: Mapping[str, Any] = {} if what == "delete" else arguments[-1]
        self._fields(app, way, fields)

    def _fields(self, app: str, way: str, fields: Mapping[str, Any]) -> None:
        """Fill in the open form and save it."""
        for name, value in fields.items():
            field = f"{app}.{FIELDS.get(name, name)}"
            if name in CHOICES:
                self._choose(field, value)
            elif way == "picker" and name in DAYS:
                self._pick(name, value, self._find(field)["text"])
            elif way == "keys":
                self._fill_by_keys(field, value)
            else:
                self._fill(field, value)
        if way == "keys":
            self._key("ctrl", "enter")
        else:
            self._ok()

    def _calendar_found(self, name: Any) -> None:
        row = self._row("events", name)
        self._search("calendar.search", row["title"])
        self._click("calendar.event", row["id"])

    def _calendar_shown(self, name: Any) -> None:
        self._click("calendar.event", self._row("events", name)["id"])

    def _calendar_through(self, text: str, names: Sequence[Any]) -> None:
        """Read several events that one search lists."""
        self._search("calendar.search", text)
        for name in names:
            self._calendar_shown(name)
            self._click("dialog.cancel")

    def _calendar_read(self, name: Any) -> None:
        self._calendar_found(name)
        self._click("dialog.cancel")

    def _calendar_listed(self, name: Any) -> None:
        row = self._row("events", name)
        self._calendar_show(row["date"])
        self._click("calendar.event", row["id"])

    def _calendar_read_by_list(self, name: Any) -> None:
        self._calendar_listed(name)
        self._click("dialog.cancel")

    def _calendar_duplicate(self, name: Any, fields: Mapping[str, Any]) -> None:
        self._calendar_found(name)
        self._click("calendar.duplicate")
        self._fields("calendar", "", fields)

    def _calendar_show_by_month(self, date: str) -> None:
        self._calendar_turn("month", date)
        self._click("calendar.number", date)

    def _calendar_new_by_day(self, event: Mapping[str, Any]) -> None:
        """Start from the day itself, whose date is then in the form."""
        self._calendar_show_by_month(event["date"])
        self._click("calendar.new")
        self._fields("calendar", "", {name: event[name] for name in event if name != "date"})

    def _calendar_show(self, date: str) -> None:
        self._calendar_turn("list", date)

    def _calendar_turn(self, view: str, date: str) -> None:
        """Show the month of a day."""
        self._choose("calendar.view", view)
        self._click("calendar.today")
        for _ in range(int(date[5:7]) - 3):  # months after March
            self._click("calendar.next")

    def _contacts_found(self, name: Any) -> None:
        row = self._row("contacts", name)
        self._leave_detail("contacts")
        self._fill("contacts.search", row["name"])
        self._click("contacts.row", row["id"])

    _contacts_read = _contacts_found

    def _contacts_listed(self, name: Any) -> None:
        """Look through the pages of the list."""
        row = self._row("contacts", name)
        self._leave_detail("contacts")
        self._fill("contacts.search", row["name"])
        self._fill("contacts.search", "")  # shows the first page
        while self._look("contacts.row", row["id"]) is None:
            self._click("contacts.older")
        self._click("contacts.row", row["id"])

    _contacts_read_by_list = _contacts_listed

    def _todo_show(self) -> None:
        self._choose("todo.filter", "all")

    def _todo_found(self, name: Any) -> None:
        row = self._row("todos", name)
        if row["done"]:
            self._choose("todo.filter", "all")
        self._fill("todo.search", row["title"])

    def _todo_listed(self, name: Any) -> None:
        self._choose("todo.filter", "all")
        self._choose("todo.sort", "title")
        self._fill("todo.search", "")

    def _todo_tick_by_list(self, name: Any) -> None:
        self._todo_listed(name)
        self._click("todo.done", self._row("todos", name)["id"])

    def _todo_new_by_line(self, todo: Mapping[str, Any]) -> None:
        """Use the line above the list, and the form for the other fields."""
        self._click("todo.list", todo.get("list", "Personal"))
        self._search("todo.quick", todo["title"])
        rest = {name: todo[name] for name in todo if name not in ("title", "list")}
        self._click("todo.list", "All")
        if rest:
            self._form("todo", "change", "", max(self.world.dump()["todos"]), rest)

    def _todo_tick(self, name: Any) -> None:
        self._todo_found(name)
        self._click("todo.done", self._row("todos", name)["id"])

    # -- mail -------------------------------------------------------------------------------------

    def _mail_found(self, name: Any) -> Row:
        """Show a list that has a mail."""
        row = self._row("mail", name)
        self._click("mail.folder", row["folder"])
        if self._look("mail.row", row["id"]) is None:
            self._search("mail.search", row["subject"])
        return row

    def _mail_read(self, name: Any) -> None:
        self._click("mail.row", self._mail_found(name)["id"])

    def _mail_star(self, name: Any) -> None:
        self._click("mail.star", self._mail_found(name)["id"])

    def _mail_archive(self, name: Any, verb: str = "archive") -> None:
        self._mail_read(name)
        self._click(f"mail.{verb}")

    def _mail_delete(self, name: Any) -> None:
        self._mail_archive(name, "delete")

    def _mail_inbox(self, name: Any) -> None:
        self._mail_archive(name, "inbox")

    def _mail_save(self, name: Any, number: int) -> None:
        self._mail_read(name)
        self._click("mail.save", number)

    def _mail_through(self, text: str, count: int) -> None:
        """Read the first messages that a search lists, one after the other."""
        self._search("mail.search", text)
        for number in range(count):
            if number % PAGE:
                self._click("mail.next")
                continue
            if number:
                self._click("mail.back")
                self._click("mail.older")
            self._click("mail.row")

    def _mail_gather(self, text: str, names: Sequence[Any]) -> None:
        """Check some of the messages that a search lists, page by page, and archive them."""
        remaining = [self._row("mail", name)["id"] for name in names]
        self._search("mail.search", text)
        while remaining:
            visible = [id for id in remaining if self._look("mail.check", id) is not None]
            for id in visible:
                self._click("mail.check", id)
                remaining.remove(id)
            self._click("mail.bulk-archive" if visible else "mail.older")

    def _mail_read_by_search(self, name: Any) -> None:
        row = self._row("mail", name)
        self._click("mail.folder", row["folder"])
        self._search("mail.search", f"{row['sender']} {row['subject']}")
        self._click("mail.row", row["id"])

    def _mail_star_by_opening(self, name: Any) -> None:
        self._mail_read(name)
        self._click("mail.star-open")

    def _mail_archive_by_checkbox(self, name: Any, verb: str = "archive") -> None:
        self._click("mail.check", self._mail_found(name)["id"])
        self._click(f"mail.bulk-{verb}")

    def _mail_delete_by_checkbox(self, name: Any) -> None:
        self._mail_archive_by_checkbox(name, "delete")

    def _mail_inbox_by_checkbox(self, name: Any) -> None:
        self._mail_archive_by_checkbox(name, "inbox")

    def _mail_view(self, name: Any, number: int) -> None:
        self._mail_read(name)
        self._click("mail.view", number)
        self._click("dialog.cancel")

    def _mail_reply(self, name: Any, body: str) -> None:
        self._mail_answer(name, body)
        self._ok()

    def _mail_reply_by_keys(self, name: Any, body: str) -> None:
        self._mail_answer(name, body)
        self._key("ctrl", "enter")

    def _mail_answer(self, name: Any, body: str) -> None:
        self._mail_read(name)
        self._click("mail.reply")
        self._type(body)  # the caret stands at the beginning

    def _mail_forward(self, name: Any, to: str, text: str = "") -> None:
        self._mail_read(name)
        self._click("mail.forward")
        self._address("to", to)
        if text:
            self._click("mail.body")
            self._key("ctrl", "home")
            self._type(text)
        self._ok()

    def _mail_send(self, mail: Mapping[str, Any]) -> None:
        self._click("mail.compose")
        self._mail_fill(mail)
        self._ok()

    def _mail_send_by_draft(self, mail: Mapping[str, Any]) -> None:
        """Write and close it, open it again among the drafts, send it."""
        self._mail_draft(mail)
        self._click("mail.folder", "Drafts")
        self._click("mail.row")
        self._ok()

    def _mail_draft(self, mail: Mapping[str, Any]) -> None:
        self._click("mail.compose")
        self._mail_fill(mail)
        self._click("dialog.cancel")

    def _mail_send_by_contact(self, mail: Mapping[str, Any]) -> None:
        """Start from the recipient's entry in the contacts."""
        people = self.world.dump()["contacts"].values()
        person = next(row for row in people if row["email"] == mail["to"])
        self._open("contacts")
        self._contacts_found(person["id"])
        self._click("contacts.mail")
        self._mail_fill({name: mail[name] for name in mail if name != "to"})
        self._ok()

    def _mail_send_by_suggestion(self, mail: Mapping[str, Any]) -> None:
        """Choose recipients from the suggestions for their names."""
        people = {row["email"]: row["name"] for row in self.world.dump()["contacts"].values()}
        self._click("mail.compose")
        self._click("mail.to")
        for address in mail["to"].split(", "):
            self._type(people[address])
            self._click("mail.person", address)
        self._mail_fill({name: mail[name] for name in mail if name != "to"})
        self._ok()

    def _mail_send_by_keys(self, mail: Mapping[str, Any]) -> None:
        self._click("mail.compose")
        for name in ("to", "cc", "subject", "body"):
            if name in mail:
                self._fill_by_keys(f"mail.{name}", mail[name])
                self._drop_suggestions()
        self._key("ctrl", "enter")

    def _mail_fill(self, mail: Mapping[str, Any]) -> None:
        for name in ("to", "cc"):
            if name in mail:
                self._address(name, mail[name])
        self._fill("mail.subject", mail["subject"])
        self._fill("mail.body", mail["body"])
        for path in mail.get("files", ()):
            self._click("mail.attach")
            self._click("mail.attach-file", self._row("files", path)["id"])

    def _address(self, name: str, addresses: str) -> None:
        self._fill(f"mail.{name}", addresses)
        self._drop_suggestions()

    def _drop_suggestions(self) -> None:
        if self._look("mail.person") is not None:  # suggestions lie over the next field
            self._key("escape")

    # -- chat -------------------------------------------------------------------------------------

    def _chat_read(self, channel: str) -> None:
        if self._look("chat.clear") is not None:
            self._click("chat.clear")
        self._leave_detail("chat")
        self._click("chat.channel", channel)

    def _chat_post(self, channel: str, text: Any) -> None:
        self._chat_read(channel)
        self._fill("chat.text", text)
        self._click("chat.send")

    def _chat_pinned(self, channel: str) -> None:
        self._chat_read(channel)
        self._click("chat.pins")
        self._click("dialog.cancel")

    def _chat_post_by_enter(self, channel: str, text: Any) -> None:
        self._chat_read(channel)
        self._search("chat.text", text)

    def _chat_pin_by_search(self, name: Any, verb: str = "pin") -> None:
        row = self._row("messages", name)
        self._search("chat.search", row["text"])
        self._click("chat.found", row["id"])
        self._click(f"chat.{verb}", row["id"])

    def _chat_edit_by_search(self, name: Any, text: str) -> None:
        self._chat_pin_by_search(name, "edit")
        self._fill("chat.edit-text", text)
        self._ok()

    def _chat_delete_by_search(self, name: Any) -> None:
        self._chat_pin_by_search(name, "delete")
        self._ok()

    def _chat_pin(self, name: Any, verb: str = "pin") -> None:
        row = self._row("messages", name)
        self._chat_read(row["channel"])
        while self._look(f"chat.{verb}", row["id"]) is None:
            self._click("chat.earlier")
        self._click(f"chat.{verb}", row["id"])

    def _chat_edit(self, name: Any, text: str) -> None:
        self._chat_pin(name, "edit")
        self._fill("chat.edit-text", text)
        self._ok()

    def _chat_delete(self, name: Any) -> None:
        self._chat_pin(name, "delete")
        self._ok()

    # -- files ------------------------------------------------------------------------------------

    def _files_go(self, path: str) -> None:
        """Show a folder."""
        self._leave_detail("files")
        if self._look("files.clear") is not None:
            self._click("files.clear")
        self._click("files.crumb", 0)
        names = [name for name in path.split("/") if name]
        for depth in range(len(names)):
            self._click("files.row", self._row("files", "/".join(names[: depth + 1]))["id"])

    _files_read = _files_go

    def _files_found(self, path: str) -> Row:
        """Show a file among the results of a search."""
        row = self._row("files", path)
        self._leave_detail("files")
        self._search("files.search", row["name"])
        return row

    def _files_read_by_search(self, path: str) -> None:
        self._click("files.row", self._files_found(path)["id"])

    def _files_delete_by_search(self, path: str) -> None:
        self._click("files.more", self._files_found(path)["id"])
        self._click("menu.item", "delete")
        self._ok()

    def _files_new(self, path: str, content: Any) -> None:
        self._files_make(path, "file")
        self._files_text(content)

    def _files_folder(self, path: str) -> None:
        self._files_make(path, "folder")

    def _files_make(self, path: str, kind: str) -> None:
        folder, _, name = path.rpartition("/")
        self._files_go(folder)
        self._click(f"files.new-{kind}")
        self._fill("files.name", name)
        self._ok()

    def _files_write(self, path: str, content: Any) -> None:
        self._files_go(path)
        self._files_text(content)

    def _files_write_by_keys(self, path: str, content: Any) -> None:
        self._files_read_by_search(path)
        self._fill("files.text", content)
        self._key("ctrl", "s")

    def _files_append(self, path: str, text: str) -> None:
        """Write below the present text."""
        self._files_go(path)
        self._click("files.text")
        self._key("ctrl", "end")
        self._type(f"\n{text}")
        self._click("files.save")

    def _files_text(self, content: Any) -> None:
        self._fill("files.text", content)
        self._click("files.save")

    def _files_menu(self, path: str, entry: str) -> None:
        row = self._row("files", path)
        self._files_go(path.rpartition("/")[0])
        self._click("files.more", row["id"])
        self._click("menu.item", entry)

    def _files_right(self, path: str, entry: str) -> None:
        """Choose an entry of the context menu."""
        row = self._row("files", path)
        self._files_go(path.rpartition("/")[0])
        element = self._find("files.row", row["id"])
        self._act(Action("right", (element["x"], element["y"])))
        self._click("menu.item", entry)

    def _files_rename(self, path: str, name: str) -> None:
        self._files_menu(path, "rename")
        self._fill("files.name", name)
        self._ok()

    def _files_rename_by_right(self, path: str, name: str) -> None:
        self._files_right(path, "rename")
        self._fill("files.name", name)
        self._key("enter")

    def _files_move(self, path: str, folder: str, verb: str = "move") -> None:
        self._files_menu(path, verb)
        self._click("files.folder", self._row("files", folder)["id"])
        self._ok()

    def _files_copy(self, path: str, folder: str) -> None:
        self._files_move(path, folder, "copy")

    def _files_move_by_right(self, path: str, folder: str) -> None:
        self._files_right(path, "move")
        self._click("files.folder", self._row("files", folder)["id"])
        self._ok()

    def _files_delete(self, path: str) -> None:
        self._files_menu(path, "delete")
        self._ok()

    # -- sheets and shop --------------------------------------------------------------------------

    def _sheets_read(self, sheet: str) -> None:
        self._click("sheets.tab", sheet)

    def _sheets_set_by_click(self, sheet: str, cell: str, value: Any) -> None:
        self._click("sheets.tab", sheet)
        self._click("sheets.cell", cell)
        if value == "":
            self._key("delete")
        else:
            self._type(value)
            self._key("tab")

    def _sheets_set_by_field(self, sheet: str, cell: str, value: Any) -> None:
        self._click("sheets.tab", sheet)
        self._search("sheets.jump", cell)
        self._fill("sheets.formula", value)
        self._click("sheets.ok")

    def _sheets_row(self, sheet: str, cell: str, values: Sequence[Any]) -> None:
        """Write values side by side, from a cell on."""
        self._click("sheets.tab", sheet)
        self._search("sheets.jump", cell)
        for value in values:
            self._type(value)
            self._key("tab")

    def _sheets_column(self, sheet: str, cell: str, values: Sequence[Any]) -> None:
        """Write values below each other, from a cell on, in one action."""
        self._click("sheets.tab", sheet)
        self._search("sheets.jump", cell)
        self._type("".join(f"{value}\n" for value in values))

    def _sheets_set(self, sheet: str, cell: str, value: Any) -> None:
        self._click("sheets.tab", sheet)
        self._search("sheets.jump", cell)
        if value == "":
            self._click("sheets.clear")
        else:
            self._type(value)
            self._key("enter")

    def _shop_show(self, product: str) -> None:
        self._search("shop.search", product)
        self._click("shop.row", self._row("products", product)["id"])

    def _shop_show_by_category(self, product: str) -> None:
        """Look through the pages of a category."""
        row = self._row("products", product)
        self._click("shop.cart")  # from wherever, to where the way back leads to the products
        self._click("shop.back")
        self._search("shop.search", "")
        self._click("shop.category", row["category"])
        while self._look("shop.row", row["id"]) is None:
            self._click("shop.next")
        self._click("shop.row", row["id"])

    def _shop_category(self, name: str, order: str = "featured") -> None:
        self._search("shop.search", "")
        self._click("shop.category", name)
        self._choose("shop.sort", order)

    def _shop_buy(self, product: str, pieces: int) -> None:
        self._shop_show(product)
        self._shop_add(pieces)

    def _shop_buy_by_category(self, product: str, pieces: int) -> None:
        self._shop_show_by_category(product)
        self._shop_add(pieces)
        self._click("shop.back")
        self._click("shop.category", "")

    def _shop_buy_by_cart(self, product: str, pieces: int) -> None:
        """Add one piece and set the quantity in the cart."""
        self._shop_show(product)
        self._click("shop.add")
        self._click("shop.cart")
        quantity = self._click("shop.cart-qty", self._row("products", product)["id"])
        self._write(pieces, quantity["text"])
        self._key("enter")

    def _shop_buy_by_clicks(self, product: str, pieces: int) -> None:
        self._shop_show(product)
        for _ in range(pieces):
            self._click("shop.add")

    def _shop_add(self, pieces: int) -> None:
        if pieces != 1:
            self._fill("shop.qty", pieces)
        self._click("shop.add")

    def _shop_remove(self, product: str) -> None:
        """Take a product out of the cart."""
        self._click("shop.cart")
        self._click("shop.remove", self._row("products", product)["id"])

    def _shop_order(self, order: Mapping[str, Any]) -> None:
        self._click("shop.cart")
        self._click("shop.checkout")
        self._choose("shop.address", self._row("addresses", order["address"])["id"])
        if order.get("delivery") == "Express":
            self._click("shop.express")
        if "note" in order:
            self._fill("shop.note", order["note"])
        self._click("shop.place")
        self._ok()

    def _shop_orders(self) -> None:
        self._click("shop.orders")

    def _shop_look(self, number: int) -> None:
        """Open an order."""
        self._click("shop.orders")
        self._click("shop.order", number)

    def _shop_cancel(self, number: int) -> None:
        self._click("shop.orders")
        self._click("shop.order", number)
        self._click("shop.cancel", number)
        self._ok()

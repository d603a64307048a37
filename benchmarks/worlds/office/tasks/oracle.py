"""Scripted solutions: steps as tasks write them down, played with mouse and keyboard.

An oracle may look where an agent cannot: it finds its way by the names of elements (`data-t`) and
by the store. What it does, it does through actions like everybody else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.worlds.actions import Action
from benchmarks.worlds.office.store import Row
from benchmarks.worlds.office.tasks.rows import find_row
from benchmarks.worlds.office.world import OfficeWorld

FORMS = {"calendar": "events", "contacts": "contacts", "todo": "todos"}  # applications with forms
CHOICES = ("list", "priority")  # fields of forms with a drop-down list
FIELDS = {"company": "company-field", "list": "list-field"}  # whose name is not that of the column
MOST_SCROLLS = 8
FIND = """([name, key]) => {
  const isSeen = each => each.getClientRects().length > 0;
  const shade = [...document.querySelectorAll(".shade")].filter(isSeen).pop();
  const root = shade && !/^(shell|menu|mail[.]person)/.test(name) ? shade : document;
  const element = [...root.querySelectorAll(`[data-t="${name}"]`)]
    .find(each => isSeen(each) && (key === null || each.dataset.k === key));
  if (!element) return null;
  const box = element.getBoundingClientRect();
  const middle = (one, other, most) => (Math.max(0, one) + Math.min(most, other)) / 2;
  for (let pane = element.parentElement; pane; pane = pane.parentElement) {
    if (!/auto|scroll/.test(getComputedStyle(pane).overflowY)) continue;
    const frame = pane.getBoundingClientRect();
    const over = box.bottom - frame.bottom, under = frame.top - box.top;
    if ((over > 1 || under > 1) && box.height < frame.height) {
      return {scroll: over > 1 ? over + 20 : -under - 20,
              x: middle(frame.left, frame.right, innerWidth) / innerWidth,
              y: middle(frame.top, frame.bottom, innerHeight) / innerHeight};
    }
  }
  return {scroll: 0, text: element.value ?? "",
          x: (box.left + box.width / 2) / innerWidth, y: (box.top + box.height / 2) / innerHeight};
}"""
"""Where an element is, as fractions of the screen, or what must be scrolled to see it."""


class Oracle:
    """Plays steps in an episode that has begun."""

    def __init__(self, world: OfficeWorld) -> None:
        self.world = world
        self.actions: list[Action] = []  # what it has done so far

    def play(self, steps: Sequence[Sequence[Any]]) -> None:
        """Does one step after the other.

        Raises:
            LookupError: something is not where it should be.
        """
        for verb, *arguments in steps:
            if verb in ("answer", "done", "fail"):
                self._act(Action(verb, text=str(arguments[0]) if arguments else ""))
                continue
            app, _, what = verb.partition(".")
            self._open(app)
            if app in FORMS and what in ("new", "change", "delete"):
                self._form(app, what, *arguments)
            else:
                step: Callable[..., None] = getattr(self, f"_{app}_{what}")
                step(*arguments)

    # -- mouse and keyboard -----------------------------------------------------------------------

    def _act(self, action: Action) -> None:
        self.actions.append(action)
        self.world.step(action)

    def _look(self, name: str, key: Any = None) -> Row | None:
        """Where something is, if it is anywhere."""
        key = None if key is None else str(key)
        place: Row | None = self.world.tab.page.evaluate(FIND, [name, key])
        return place

    def _at(self, name: str, key: Any = None) -> Row:
        """Where something is, once it has been scrolled to."""
        for _ in range(MOST_SCROLLS):
            place = self._look(name, key)
            if place is None:
                break
            if not place["scroll"]:
                return place
            direction = "down" if place["scroll"] > 0 else "up"
            notches = math.ceil(abs(place["scroll"]) / 100)
            point = (place["x"], place["y"])
            self._act(Action("scroll", point, direction=direction, amount=notches))
        raise LookupError(f"{name} {key or ''} is not to be seen")

    def _click(self, name: str, key: Any = None) -> Row:
        place = self._at(name, key)
        self._act(Action("click", (place["x"], place["y"])))
        return place

    def _type(self, text: Any) -> None:
        self._act(Action("type", text=str(text)))

    def _key(self, *keys: str) -> None:
        self._act(Action("key", keys=keys))

    def _fill(self, name: str, text: Any) -> None:
        if self._click(name)["text"]:
            self._key("ctrl", "a")
            if text == "":
                self._key("delete")
        if text != "":
            self._type(text)

    def _search(self, name: str, text: str) -> None:
        self._fill(name, text)
        self._key("enter")

    def _choose(self, name: str, value: Any) -> None:
        self._click(name)
        self._click("menu.item", value)

    def _ok(self) -> None:
        self._click("dialog.ok")

    def _row(self, table: str, named: Any) -> Row:
        return find_row(self.world.dump(), table, named)

    def _open(self, app: str) -> None:
        if self.world.tab.page.evaluate("office.current()") == app:
            return
        if self._look("shell.app", app) is None:  # the phone shows them at home only
            self._click("shell.home")
        self._click("shell.app", app)

    def _leave_detail(self, app: str) -> None:
        """Back to the list, where the detail hides it."""
        if self._look(f"{app}.back") is not None:
            self._click(f"{app}.back")

    # -- forms ------------------------------------------------------------------------------------

    def _form(self, app: str, what: str, *arguments: Any) -> None:
        """Makes, changes or deletes an event, a contact or a to-do."""
        if what == "new":
            self._click(f"{app}.new")
        else:
            row = self._row(FORMS[app], arguments[0])
            getattr(self, f"_{app}_found")(row["id"])
            verb = "edit" if what == "change" else "delete"
            self._click(f"{app}.{verb}", row["id"] if app == "todo" else None)
        fields: Mapping[str, Any] = {} if what == "delete" else arguments[-1]
        for name, value in fields.items():
            (self._choose if name in CHOICES else self._fill)(
                f"{app}.{FIELDS.get(name, name)}", value
            )
        self._ok()

    def _calendar_found(self, named: Any) -> None:
        row = self._row("events", named)
        self._search("calendar.search", row["title"])
        self._click("calendar.event", row["id"])

    def _calendar_read(self, named: Any) -> None:
        self._calendar_found(named)
        self._click("dialog.cancel")

    def _calendar_show(self, date: str) -> None:
        self._choose("calendar.view", "list")
        self._click("calendar.today")
        for _ in range(int(date[5:7]) - 3):  # months after March
            self._click("calendar.next")

    def _contacts_found(self, named: Any) -> None:
        row = self._row("contacts", named)
        self._leave_detail("contacts")
        self._fill("contacts.search", row["name"])
        self._click("contacts.row", row["id"])

    _contacts_read = _contacts_found

    def _todo_show(self) -> None:
        self._choose("todo.filter", "all")

    def _todo_found(self, named: Any) -> None:
        row = self._row("todos", named)
        if row["done"]:
            self._choose("todo.filter", "all")
        self._fill("todo.search", row["title"])

    def _todo_tick(self, named: Any) -> None:
        self._todo_found(named)
        self._click("todo.done", self._row("todos", named)["id"])

    # -- mail -------------------------------------------------------------------------------------

    def _mail_found(self, named: Any) -> Row:
        """Shows the list with a mail in it."""
        row = self._row("mail", named)
        self._click("mail.folder", row["folder"])
        if self._look("mail.row", row["id"]) is None:
            self._search("mail.search", row["subject"])
        return row

    def _mail_read(self, named: Any) -> None:
        self._click("mail.row", self._mail_found(named)["id"])

    def _mail_star(self, named: Any) -> None:
        self._click("mail.star", self._mail_found(named)["id"])

    def _mail_archive(self, named: Any, verb: str = "archive") -> None:
        self._mail_read(named)
        self._click(f"mail.{verb}")

    def _mail_delete(self, named: Any) -> None:
        self._mail_archive(named, "delete")

    def _mail_inbox(self, named: Any) -> None:
        self._mail_archive(named, "inbox")

    def _mail_save(self, named: Any, number: int) -> None:
        self._mail_read(named)
        self._click("mail.save", number)

    def _mail_reply(self, named: Any, body: str) -> None:
        self._mail_read(named)
        self._click("mail.reply")
        self._type(body)  # the caret stands at the beginning
        self._ok()

    def _mail_forward(self, named: Any, to: str) -> None:
        self._mail_read(named)
        self._click("mail.forward")
        self._address("to", to)
        self._ok()

    def _mail_send(self, mail: Mapping[str, Any]) -> None:
        self._click("mail.compose")
        for name in ("to", "cc"):
            if name in mail:
                self._address(name, mail[name])
        self._fill("mail.subject", mail["subject"])
        self._fill("mail.body", mail["body"])
        for path in mail.get("files", ()):
            self._click("mail.attach")
            self._click("mail.attach-file", self._row("files", path)["id"])
        self._ok()

    def _address(self, name: str, addresses: str) -> None:
        self._fill(f"mail.{name}", addresses)
        if self._look("mail.person") is not None:  # suggestions lie over the next field
            self._key("escape")

    # -- chat -------------------------------------------------------------------------------------

    def _chat_read(self, channel: str) -> None:
        self._leave_detail("chat")
        self._click("chat.channel", channel)

    def _chat_post(self, channel: str, text: Any) -> None:
        self._chat_read(channel)
        self._fill("chat.text", text)
        self._click("chat.send")

    def _chat_pin(self, named: Any, verb: str = "pin") -> None:
        row = self._row("messages", named)
        self._chat_read(row["channel"])
        while self._look(f"chat.{verb}", row["id"]) is None:
            self._click("chat.earlier")
        self._click(f"chat.{verb}", row["id"])

    def _chat_edit(self, named: Any, text: str) -> None:
        self._chat_pin(named, "edit")
        self._fill("chat.edit-text", text)
        self._ok()

    def _chat_delete(self, named: Any) -> None:
        self._chat_pin(named, "delete")
        self._ok()

    # -- files ------------------------------------------------------------------------------------

    def _files_go(self, path: str) -> None:
        """Shows a folder."""
        self._leave_detail("files")
        self._click("files.crumb", 0)
        names = [name for name in path.split("/") if name]
        for depth in range(len(names)):
            self._click("files.row", self._row("files", "/".join(names[: depth + 1]))["id"])

    _files_read = _files_go

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

    def _files_text(self, content: Any) -> None:
        self._fill("files.text", content)
        self._click("files.save")

    def _files_menu(self, path: str, entry: str) -> None:
        row = self._row("files", path)
        self._files_go(path.rpartition("/")[0])
        self._click("files.more", row["id"])
        self._click("menu.item", entry)

    def _files_rename(self, path: str, name: str) -> None:
        self._files_menu(path, "rename")
        self._fill("files.name", name)
        self._ok()

    def _files_move(self, path: str, folder: str) -> None:
        self._files_menu(path, "move")
        self._click("files.folder", self._row("files", folder)["id"])
        self._ok()

    def _files_delete(self, path: str) -> None:
        self._files_menu(path, "delete")
        self._ok()

    # -- sheets and shop --------------------------------------------------------------------------

    def _sheets_read(self, sheet: str) -> None:
        self._click("sheets.tab", sheet)

    def _sheets_set(self, sheet: str, cell: str, value: Any) -> None:
        self._click("sheets.tab", sheet)
        self._search("sheets.jump", cell)
        if value == "":
            self._click("sheets.clear")
        else:
            self._type(value)
            self._key("enter")

    def _shop_search(self, text: str) -> None:
        self._search("shop.search", text)

    def _shop_buy(self, product: str, pieces: int) -> None:
        self._shop_search(product)
        self._click("shop.row", self._row("products", product)["id"])
        if pieces != 1:
            self._fill("shop.qty", pieces)
        self._click("shop.add")

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

    def _shop_cancel(self, number: int) -> None:
        self._click("shop.orders")
        self._click("shop.order", number)
        self._click("shop.cancel", number)
        self._ok()

"""Play scripted solutions of the office on the store, as the applications would: without a browser.

The steps are those of `office_oracle`. All ways of a step have the same effect here.
"""

from __future__ import annotations

from typing import Any

from benchmarks.worlds.environment import Outcome
from benchmarks.worlds.office.apps import APPS
from benchmarks.worlds.office.events import Course
from benchmarks.worlds.office.store import Dump, Row, Store
from benchmarks.worlds.office.tasks.checks import check
from benchmarks.worlds.office.week import base_store
from tests.support.office_rows import find_row

FORMS: dict[str, tuple[str, str, Row]] = {
    "calendar": (
        "events",
        "event",
        {
            "title": "",
            "date": "2026-03-09",
            "start": "10:00",
            "end": "11:00",
            "place": "",
            "guests": "",
            "note": "",
        },
    ),
    "contacts": (
        "contacts",
        "contact",
        {"name": "", "email": "", "phone": "", "company": "", "note": ""},
    ),
    "todo": (
        "todos",
        "todo",
        {"title": "", "list": "Personal", "due": "", "priority": "Normal", "note": ""},
    ),
}
"""By application: table, name of the argument of "save", and the fields of an empty form."""
READ_TABLES = {"calendar": "events", "contacts": "contacts", "files": "files"}
WITHOUT_EFFECT = {
    "mail.through",
    "calendar.show",
    "calendar.through",
    "chat.read",
    "chat.pinned",
    "sheets.read",
    "shop.show",
    "shop.category",
    "shop.orders",
    "shop.look",
    "todo.show",
}


def _quote(mail: Row) -> str:
    """Return the quote that the page of Mail puts below a reply."""
    lines = "\n> ".join(mail["body"].split("\n"))
    return f"\n\nOn {mail['sent_at']}, {mail['sender']} wrote:\n> {lines}"


class StoreHand:
    """Plays steps in one episode and judges it."""

    def __init__(self, task: Row, before: Dump | None = None) -> None:
        self.task = task
        self.store = Store(base_store(task["seed"]), task["setup"])
        self.before = dict(before or self.store.dump())
        self.before |= {table: dict(rows) for table, rows in self.before.items()}
        self.course = Course(task, self.store, self.before)
        self.end = ""
        self.answer = ""

    def play(self, steps: Any) -> Outcome:
        """Do steps until one ends the episode."""
        for verb, *arguments in steps:
            if verb in ("answer", "done", "fail"):
                self.end = verb
                self.answer = str(arguments[0]) if arguments else ""
                break
            self.do([verb, *arguments])
        after, others = self.store.dump(), self.course.comparison()
        return check(self.task, self.before, after, self.end, self.answer, others)

    def do(self, step: Any) -> None:
        """Do one step."""
        verb, *arguments = step
        self._do(verb.partition(" by ")[0], arguments)
        self.course.follow()

    def _do(self, verb: str, arguments: list[Any]) -> None:
        app, _, what = verb.partition(".")
        method = getattr(self, f"_{app}_{what}", None)
        if method is not None:
            method(*arguments)
        elif app in FORMS and what in ("new", "change", "delete", "duplicate"):
            self._form(app, what, *arguments)
        elif what == "read" and app in READ_TABLES:
            self._row(READ_TABLES[app], arguments[0])
        elif verb not in WITHOUT_EFFECT and what != "search":
            raise ValueError(f"no such step: {verb} {arguments}")

    def _call(self, app: str, verb: str, **arguments: Any) -> Any:
        return self.store.call(APPS[app][verb], arguments)

    def _row(self, table: str, name: Any) -> Row:
        return find_row(self.store.dump(), table, name)

    def _id(self, table: str, name: Any) -> Any:
        return self._row(table, name)["id"]

    def _form(self, app: str, what: str, *arguments: Any) -> None:
        """Add, change, copy or delete an event, a contact or a to-do."""
        table, argument, empty = FORMS[app]
        if what == "delete":
            self._call(app, "delete", id=self._id(table, arguments[0]))
            return
        row, id = empty, None
        if what in ("change", "duplicate"):
            row = self._row(table, arguments[0])
        if what == "change":
            id = row["id"]
        fields = {name: row[name] for name in empty} | arguments[-1]
        self._call(app, "save", **{argument: fields, "id": id})

    def _mail_read(self, name: Any) -> None:
        self._call("mail", "get", id=self._id("mail", name))

    def _mail_send(self, mail: Row) -> None:
        ids = [self._id("files", path) for path in mail.get("files", [])]
        fields = {"to": "", "subject": "", "body": "", **mail}
        fields["body"] = str(fields["body"])
        fields.pop("files", None)
        self._call("mail", "send", **fields, attachments=ids)

    def _mail_view(self, name: Any, _index: int) -> None:
        self._mail_read(name)

    def _mail_draft(self, mail: Row) -> None:
        self._call("mail", "keep", **{"to": "", "subject": "", "body": "", **mail})

    def _mail_reply(self, name: Any, body: str) -> None:
        mail = self._row("mail", name)
        subject = f"Re: {mail['subject']}"
        body += _quote(mail)
        self._call("mail", "send", to=mail["sender_addr"], subject=subject, body=body)

    def _mail_forward(self, name: Any, to: str, text: str = "") -> None:
        mail = self._row("mail", name)
        self._call(
            "mail", "send", to=to, subject=f"Fwd: {mail['subject']}", body=text + _quote(mail)
        )

    def _mail_archive(self, name: Any, folder: str = "Archive") -> None:
        self._call("mail", "move", ids=[self._id("mail", name)], folder=folder)

    def _mail_gather(self, text: str, names: list[Any]) -> None:
        for name in names:
            self._mail_archive(name)

    def _mail_delete(self, name: Any) -> None:
        self._mail_archive(name, "Trash")

    def _mail_inbox(self, name: Any) -> None:
        self._mail_archive(name, "Inbox")

    def _mail_star(self, name: Any) -> None:
        mail = self._row("mail", name)
        self._call("mail", "mark", ids=[mail["id"]], column="starred", on=not mail["starred"])

    def _mail_save(self, name: Any, index: int) -> None:
        self._call("mail", "save", id=self._id("mail", name), index=index)

    def _chat_post(self, channel: str, text: str) -> None:
        self._call("chat", "post", channel=channel, text=text)

    def _chat_pin(self, name: Any) -> None:
        message = self._row("messages", name)
        self._call("chat", "pin", id=message["id"], on=not message["pinned"])

    def _chat_edit(self, name: Any, text: str) -> None:
        self._call("chat", "edit", id=self._id("messages", name), text=text)

    def _chat_delete(self, name: Any) -> None:
        self._call("chat", "delete", id=self._id("messages", name))

    def _files_new(self, path: str, content: Any) -> None:
        file = self._files_folder(path, "text")
        self._call("files", "write", id=file["id"], content=str(content))

    def _files_folder(self, path: str, kind: str = "folder") -> Any:
        folder, _, name = path.rpartition("/")
        return self._call("files", "create", parent=self._id("files", folder), name=name, kind=kind)

    def _files_write(self, path: str, content: Any) -> None:
        self._call("files", "write", id=self._id("files", path), content=str(content))

    def _files_append(self, path: str, text: str) -> None:
        content = self._row("files", path)["content"]
        self._files_write(path, f"{content}\n{text}")

    def _files_rename(self, path: str, name: str) -> None:
        self._call("files", "rename", id=self._id("files", path), name=name)

    def _files_move(self, path: str, folder: str, verb: str = "move") -> None:
        ids = {"id": self._id("files", path), "parent": self._id("files", folder)}
        self._call("files", verb, **ids)

    def _files_copy(self, path: str, folder: str) -> None:
        self._files_move(path, folder, "copy")

    def _files_delete(self, path: str) -> None:
        self._call("files", "delete", id=self._id("files", path))

    def _sheets_set(self, sheet: str, cell: str, value: Any) -> None:
        self._call("sheets", "set", sheet=sheet, cell=cell, value=str(value))

    def _sheets_row(self, sheet: str, cell: str, values: list[Any]) -> None:
        for number, value in enumerate(values):
            self._sheets_set(sheet, f"{chr(ord(cell[0]) + number)}{cell[1:]}", value)

    def _sheets_column(self, sheet: str, cell: str, values: list[Any]) -> None:
        for number, value in enumerate(values):
            self._sheets_set(sheet, f"{cell[0]}{int(cell[1:]) + number}", value)

    def _shop_buy(self, product: str, pieces: int) -> None:
        self._call("shop", "add", id=self._id("products", product), qty=pieces)

    def _shop_remove(self, product: str) -> None:
        self._call("shop", "set", id=self._id("products", product), qty=0)

    def _shop_order(self, order: Row) -> None:
        fields = {"delivery": "Standard", "note": "", **order}
        address = self._id("addresses", fields.pop("address"))
        self._call("shop", "order", address=address, **fields)

    def _shop_cancel(self, number: int) -> None:
        self._call("shop", "cancel", id=number)

    def _todo_tick(self, name: Any) -> None:
        todo = self._row("todos", name)
        self._call("todo", "tick", id=todo["id"], on=not todo["done"])

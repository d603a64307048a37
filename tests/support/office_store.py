"""Plays oracles of office tasks on the store, as the applications would: quick, and no browser."""

from __future__ import annotations

from typing import Any

from benchmarks.worlds.actions import Outcome
from benchmarks.worlds.office.apps import APPS
from benchmarks.worlds.office.store import Store
from benchmarks.worlds.office.tasks.checks import check
from benchmarks.worlds.office.week import base_store
from tests.support.office_rows import find_row

EVENT = {
    "title": "",
    "date": "2026-03-09",
    "start": "10:00",
    "end": "11:00",
    "place": "",
    "guests": "",
    "note": "",
}
CONTACT = {"name": "", "email": "", "phone": "", "company": "", "note": ""}
TODO = {"title": "", "list": "Personal", "due": "", "priority": "Normal", "note": ""}


LOOKING = (
    "mail.view",
    "calendar.show",
    "chat.read",
    "chat.pinned",
    "sheets.read",
    "shop.show",
    "shop.category",
    "shop.orders",
    "shop.look",
    "todo.show",
)


def _quote(mail) -> str:
    """What the page of Mail puts below a reply."""
    lines = "\n> ".join(mail["body"].split("\n"))
    return f"\n\nOn {mail['sent_at']}, {mail['sender']} wrote:\n> {lines}"


class StoreHand:
    """One episode; `play` does the steps of an oracle. Another way of a step has the same effect."""

    def __init__(self, task, before=None):
        self.task = task
        self.store = Store(base_store(task["seed"]), task["setup"])
        self.before = before or self.store.dump()
        self.end, self.answer = "", ""

    def play(self, steps) -> Outcome:
        for verb, *args in steps:
            if self.end:
                break
            self._do(verb.partition(" by ")[0], args)
        return check(self.task, self.before, self.store.dump(), self.end, self.answer)

    def _call(self, app: str, verb: str, **arguments: Any) -> Any:
        return self.store.call(APPS[app][verb], arguments)

    def _row(self, table: str, named: Any) -> Any:
        return find_row(self.store.dump(), table, named)

    def _do(self, verb: str, args: list[Any]) -> None:
        match [verb, *args]:
            case ["done" | "fail"]:
                self.end = verb
            case ["answer", text]:
                self.end, self.answer = verb, str(text)
            case ["mail.read" | "calendar.read" | "contacts.read" | "files.read", named]:
                table = {"calendar": "events"}.get(verb.split(".")[0], verb.split(".")[0])
                self._row(table, named)
            case ["mail.send", {**fields}]:
                to = {"to": "", "subject": "", "body": "", **fields}
                to["body"] = str(to["body"])
                files = [self._row("files", path)["id"] for path in to.pop("files", [])]
                self._call("mail", "send", **to, attachments=files)
            case ["mail.reply", named, body]:
                mail = self._row("mail", named)
                quoted = f"{body}{_quote(mail)}"
                self._call(
                    "mail",
                    "send",
                    to=mail["sender_addr"],
                    subject=f"Re: {mail['subject']}",
                    body=quoted,
                )
            case ["mail.draft", {**fields}]:
                self._call("mail", "keep", **{"to": "", "subject": "", "body": "", **fields})
            case ["mail.forward", named, to, *more]:
                mail = self._row("mail", named)
                body = f"{more[0] if more else ''}{_quote(mail)}"
                self._call("mail", "send", to=to, subject=f"Fwd: {mail['subject']}", body=body)
            case ["mail.archive" | "mail.delete" | "mail.inbox", named]:
                folder = {"archive": "Archive", "delete": "Trash", "inbox": "Inbox"}[verb[5:]]
                self._call("mail", "move", ids=[self._row("mail", named)["id"]], folder=folder)
            case ["mail.star", named]:
                mail = self._row("mail", named)
                self._call(
                    "mail", "mark", ids=[mail["id"]], column="starred", on=not mail["starred"]
                )
            case ["mail.save", named, number]:
                self._call("mail", "save", id=self._row("mail", named)["id"], index=number)
            case ["calendar.new", {**fields}]:
                self._call("calendar", "save", event={**EVENT, **fields})
            case ["contacts.new", {**fields}]:
                self._call("contacts", "save", contact={**CONTACT, **fields})
            case ["todo.new", {**fields}]:
                self._call("todo", "save", todo={**TODO, **fields})
            case ["calendar.change", named, {**fields}]:
                row = self._row("events", named)
                event = {name: row[name] for name in EVENT}
                self._call("calendar", "save", event={**event, **fields}, id=row["id"])
            case ["calendar.duplicate", named, {**fields}]:
                row = self._row("events", named)
                event = {name: row[name] for name in EVENT}
                self._call("calendar", "save", event={**event, **fields})
            case ["contacts.change", named, {**fields}]:
                row = self._row("contacts", named)
                contact = {name: row[name] for name in CONTACT}
                self._call("contacts", "save", contact={**contact, **fields}, id=row["id"])
            case ["todo.change", named, {**fields}]:
                row = self._row("todos", named)
                todo = {name: row[name] for name in TODO}
                self._call("todo", "save", todo={**todo, **fields}, id=row["id"])
            case ["calendar.delete" | "contacts.delete" | "todo.delete" | "files.delete", named]:
                app = verb.split(".")[0]
                table = {"calendar": "events", "todo": "todos"}.get(app, app)
                self._call(app, "delete", id=self._row(table, named)["id"])
            case [looking, *_] if looking in LOOKING or looking.endswith(".search"):
                pass
            case ["chat.post", channel, text]:
                self._call("chat", "post", channel=channel, text=text)
            case ["chat.pin", named]:
                message = self._row("messages", named)
                self._call("chat", "pin", id=message["id"], on=not message["pinned"])
            case ["chat.edit", named, text]:
                self._call("chat", "edit", id=self._row("messages", named)["id"], text=text)
            case ["chat.delete", named]:
                self._call("chat", "delete", id=self._row("messages", named)["id"])
            case ["files.new", path, content]:
                file = self._create(path, "text")
                self._call("files", "write", id=file["id"], content=str(content))
            case ["files.folder", path]:
                self._create(path, "folder")
            case ["files.write", path, content]:
                self._call(
                    "files", "write", id=self._row("files", path)["id"], content=str(content)
                )
            case ["files.append", path, text]:
                file = self._row("files", path)
                self._call("files", "write", id=file["id"], content=f"{file['content']}\n{text}")
            case ["files.rename", path, name]:
                self._call("files", "rename", id=self._row("files", path)["id"], name=name)
            case ["files.move" | "files.copy", path, folder]:
                file, to = self._row("files", path), self._row("files", folder)
                self._call("files", verb[6:], id=file["id"], parent=to["id"])
            case ["sheets.set", sheet, cell, value]:
                self._call("sheets", "set", sheet=sheet, cell=cell, value=str(value))
            case ["sheets.row" | "sheets.column", sheet, first, [*values]]:
                for number, value in enumerate(values):
                    right, down = (number, 0) if verb == "sheets.row" else (0, number)
                    cell = f"{chr(ord(first[0]) + right)}{int(first[1:]) + down}"
                    self._call("sheets", "set", sheet=sheet, cell=cell, value=str(value))
            case ["shop.remove", product]:
                self._call("shop", "set", id=self._row("products", product)["id"], qty=0)
            case ["shop.buy", product, qty]:
                self._call("shop", "add", id=self._row("products", product)["id"], qty=qty)
            case ["shop.order", {**fields}]:
                order = {"delivery": "Standard", "note": "", **fields}
                address = self._row("addresses", order.pop("address"))["id"]
                self._call("shop", "order", address=address, **order)
            case ["shop.cancel", number]:
                self._call("shop", "cancel", id=number)
            case ["todo.tick", named]:
                row = self._row("todos", named)
                self._call("todo", "tick", id=row["id"], on=not row["done"])
            case _:
                raise ValueError(f"no such step: {verb} {args}")

    def _create(self, path: str, kind: str) -> Any:
        folder, _, name = path.rpartition("/")
        return self._call(
            "files", "create", parent=self._row("files", folder)["id"], name=name, kind=kind
        )

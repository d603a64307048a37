"""Events in an episode that are not the agent's, and replies of colleagues.

A task lists events, each of which happens once, and replies of colleagues in Chat:

    events  = [{ when = { add = "events", row = { title = "Kick-off" } }, set = [[ ... ]] },
               { when = { has = "cart", where = { id = 12 } }, add.mail = [{ ... }] }]
    replies = [{ channel = "Carla Meyer", when = { contains = ["7306"] }, text = "Cancel it." },
               { channel = "Carla Meyer", text = "Which order do you mean?" }]

Both have

    add, set, drop   the changes by others, written as the `setup` of a task; mails and messages
                     are dated now
    when             of an event: an effect that the agent must have had, or a list of them, written
                     as expected effects are (`checks.is_there`); or {has = "cart", where = {...}}:
                     a row with these values in a table whose changes are no effects; of a reply:
                     a condition on the agent's message (`values.matches`)
    unless           an effect that must not be there
    required         the text of a check that fails if this never happens: "asks Carla first"

A reply also has `channel`, `text`, and `author` if the author is not the person of the channel. A
message gets the first reply that fits it, or none. Events and replies depend on what the agent has
done, never on time or on the number of its actions: waiting causes nothing. They happen after an
action, before the next screenshot. A change by others is no effect of the agent's; undoing it is
one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.worlds.office.store import NAME, NOW, Dump, Row, Store
from benchmarks.worlds.office.tasks.checks import Effect, StateComparison, effects, is_there
from benchmarks.worlds.office.tasks.values import matches

APPS = {
    "mail": "mail",
    "messages": "chat",
    "events": "calendar",
    "contacts": "contacts",
    "files": "files",
    "cells": "sheets",
    "products": "shop",
    "orders": "shop",
    "todos": "todo",
}
"""The application that shows a table."""
News = tuple[str, str]  # an application, and the conversation of Chat in which there is something


class Course:
    """The events and replies of one episode."""

    def __init__(self, task: Mapping[str, Any], store: Store, before: Dump) -> None:
        """Create what has not happened yet.

        Args:
            task: with `events` and `replies`, or without.
            store: of the episode.
            before: the store at the start; what others change is changed in it, too.
        """
        self._events: list[Row] = list(task.get("events", ()))
        self._replies: Sequence[Row] = task.get("replies", ())
        self._required = [
            part["required"] for part in (*self._events, *self._replies) if "required" in part
        ]
        self._happened: set[str] = set()  # of the required ones
        self._store = store
        self._before = before
        self._answered: set[int] = set()  # ids of messages
        self._change_count = store.change_count()
        self.is_empty = not self._events and not self._replies

    def follow(self) -> list[News]:
        """Have happen what is due after an action of the agent; return what is new where."""
        if self.is_empty or self._store.change_count() == self._change_count:
            return []
        news: list[News] = []
        part = self._next()
        while part is not None:
            news += self._happen(part)
            part = self._next()
        self._change_count = self._store.change_count()
        return list(dict.fromkeys(news))

    def comparison(self) -> StateComparison:
        """The event that had to happen, and whether it has."""
        lines = [(text in self._happened, text) for text in self._required]
        return StateComparison(lines, sum(fits for fits, _ in lines), len(lines))

    def _next(self) -> Row | None:
        """Return a reply, or else an event, that is due; None: there is none."""
        now = self._store.dump()
        changes = effects(self._before, now)
        for effect in changes:
            row = effect.row
            is_message = effect.op == "add" and effect.table == "messages"
            if is_message and row["author"] == NAME and row["id"] not in self._answered:
                self._answered.add(row["id"])
                reply = self._reply_to(row, changes, now)
                if reply is not None:
                    return reply
        for event in self._events:
            if self._is_due(event, changes, now):
                self._events.remove(event)
                return event
        return None

    def _reply_to(self, message: Row, changes: Sequence[Effect], now: Dump) -> Row | None:
        """The effects of a message, with the answer among the rows that are added."""
        for reply in self._replies:
            is_meant = reply["channel"] == message["channel"]
            if not is_meant or self._is_hindered(reply, changes, now):
                continue
            if matches(reply.get("when", {"any": True}), message["text"]):
                answer = {
                    "channel": reply["channel"],
                    "author": reply.get("author", reply["channel"]),
                    "text": reply["text"],
                    "sent_at": NOW,
                }
                added = reply.get("add", {})
                messages = [answer, *added.get("messages", ())]
                return {**reply, "add": {**added, "messages": messages}}
        return None

    def _is_due(self, event: Row, changes: Sequence[Effect], now: Dump) -> bool:
        conditions = event["when"]
        if isinstance(conditions, Mapping):
            conditions = [conditions]
        has_all = all(self._is_there(condition, changes, now) for condition in conditions)
        return has_all and not self._is_hindered(event, changes, now)

    def _is_hindered(self, part: Row, changes: Sequence[Effect], now: Dump) -> bool:
        return "unless" in part and self._is_there(part["unless"], changes, now)

    def _is_there(self, condition: Row, changes: Sequence[Effect], now: Dump) -> bool:
        if "has" in condition:
            rows = self._store.call(_all_rows, {"table": condition["has"]})
            return any(condition["where"].items() <= row.items() for row in rows)
        return is_there(condition, changes, now)

    def _happen(self, part: Row) -> list[News]:
        """Change the store, and what counts as its start."""
        if "required" in part:
            self._happened.add(part["required"])
        old = self._store.dump()
        changes: Any = {name: part[name] for name in ("add", "set", "drop") if name in part}
        self._store.change(changes)
        news = []
        for effect in effects(old, self._store.dump()):
            _repeat(effect, self._before)
            if effect.table in APPS:
                news.append((APPS[effect.table], effect.row.get("channel", "")))
        return news


def _all_rows(store: Store, table: str) -> list[Row]:
    return store.rows(f'SELECT * FROM "{table}"')


def _repeat(effect: Effect, dump: Dump) -> None:
    """Have an effect in a dump, too; what the agent has made since is not in it."""
    rows = dump[effect.table]
    if effect.op == "add":
        rows[effect.id] = effect.row
    elif effect.op == "remove":
        rows.pop(effect.id, None)
    elif effect.id in rows:
        rows[effect.id] = {**rows[effect.id], **effect.to}

"""The store of one episode: SQLite in memory, filled from a base world and a task's changes."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]
World = Mapping[str, Sequence[Row]]  # rows by table, in an order that keeps references whole
Dump = dict[str, dict[Any, Row]]  # {table: {id: row}}
Verb = Callable[..., Any]  # (store, **arguments of the page) → JSON

SCHEMA = (Path(__file__).parent / "schema.sql").read_text(encoding="utf-8")
NAME, ADDRESS = "Robin Hale", "robin.hale@northwind.example"  # whose office it is
TODAY, NOW = "2026-03-09", "2026-03-09 09:00"  # a Monday; the clock stands still
NO_EFFECT = frozenset({"drafts", "cart"})  # tables that say nothing about what was done
NO_EFFECT_COLUMNS = frozenset({("mail", "is_read")})


class Refused(Exception):
    """An application says no; its text is shown to who uses it, at the field that is wrong."""

    def __init__(self, text: str, field: str = "") -> None:
        self.field = field
        super().__init__(text)


class Store:
    """All that the applications of one episode know. Safe to use from several threads."""

    def __init__(self, world: World | Store, setup: Mapping[str, Any] | None = None) -> None:
        """A store with a base world and the changes that a task makes to it.

        Args:
            world: rows by table; or a store that has them, which is copied in a moment.
            setup: "add": {table: rows}, "set": [[table, where, values]], "drop": [[table, where]],
                done in this order; `where` holds the values that a row must have. A file's
                "parent" may be a path ("Documents/Personal"), a mail's "attachments" a list.

        Raises:
            ValueError: a change meets no row, or breaks a rule of the schema.
        """
        self._lock = threading.Lock()
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        self._db.row_factory = sqlite3.Row
        self._db.execute("PRAGMA foreign_keys = ON")
        if isinstance(world, Store):
            with world._lock:
                world._db.backup(self._db)
        else:
            self._db.executescript(SCHEMA)
            with self._db:
                for table, rows in world.items():
                    for row in rows:
                        self.insert(table, row)
        try:
            with self._db:
                self._prepare(setup or {})
        except sqlite3.Error as error:
            raise ValueError(f"setup: {error}") from error

    def _prepare(self, setup: Mapping[str, Any]) -> None:
        for table, rows in setup.get("add", {}).items():
            for row in rows:
                self.insert(table, self._completed(table, row))
        for table, where, values in setup.get("set", []):
            changed = ", ".join(f'"{column}" = ?' for column in values)
            self._meet(f'UPDATE "{table}" SET {changed}', table, where, list(values.values()))
        for table, where in setup.get("drop", []):
            self._meet(f'DELETE FROM "{table}"', table, where, [])

    def _meet(self, sql: str, table: str, where: Row, values: list[Any]) -> None:
        asked = " AND ".join(f'"{column}" = ?' for column in where)
        done = self._db.execute(f"{sql} WHERE {asked}", [*values, *where.values()])
        if not done.rowcount:
            raise ValueError(f"setup: no row of {table} has {where}")

    def _completed(self, table: str, row: Row) -> Row:
        """A row of a task with what it leaves out."""
        row = dict(row)
        if table == "mail":
            row = {"folder": "Inbox", "recipients": ADDRESS, **row}
            row["attachments"] = json.dumps(row.get("attachments", []), ensure_ascii=False)
        elif table == "cells":
            row["id"] = f"{row['sheet']}!{row['cell']}"
        elif table == "files" and isinstance(row.get("parent"), str):
            row["parent"] = self.folder(row["parent"])
        return row

    def folder(self, path: str) -> int:
        """The id of a folder by its path, "" being the root; ValueError: there is none."""
        at = 0
        for name in filter(None, path.split("/")):
            found = self.rows(
                "SELECT id FROM files WHERE parent = ? AND name = ? AND kind = 'folder'", at, name
            )
            if not found:
                raise ValueError(f"setup: there is no folder {path!r}")
            at = int(found[0]["id"])
        return at

    def rows(self, sql: str, *values: Any) -> list[Row]:
        """What a query finds."""
        return [dict(row) for row in self._db.execute(sql, values)]

    def one(self, sql: str, *values: Any) -> Row:
        """The one row that a query finds; Refused: it is gone."""
        found = self.rows(sql, *values)
        if not found:
            raise Refused("This item does not exist any more.")
        return found[0]

    def run(self, sql: str, *values: Any) -> None:
        """Changes rows."""
        self._db.execute(sql, values)

    def insert(self, table: str, row: Row) -> int:
        """Adds a row; returns its number."""
        columns = ", ".join(f'"{column}"' for column in row)
        marks = ", ".join("?" * len(row))
        done = self._db.execute(
            f'INSERT INTO "{table}" ({columns}) VALUES ({marks})', list(row.values())
        )
        return int(done.lastrowid or 0)

    def save(self, table: str, row: Row, id: int | None) -> Row:
        """Adds a row, or changes the one that is there; its number as a page gets it."""
        if id is None:
            return {"id": self.insert(table, row)}
        self.one(f"SELECT id FROM {table} WHERE id = ?", id)
        changed = ", ".join(f'"{column}" = ?' for column in row)
        self.run(f"UPDATE {table} SET {changed} WHERE id = ?", *row.values(), id)
        return {"id": id}

    def page(
        self,
        select: str,
        table: str,
        where: str,
        values: Sequence[Any],
        order: str,
        *,
        size: int,
        page: int,
    ) -> Row:
        """One page of the rows that fit, the nearest where there are not so many pages."""
        count = int(self.one(f"SELECT count(*) n FROM {table} WHERE {where}", *values)["n"])
        pages = -(-count // size) or 1
        page = max(0, min(page, pages - 1))
        rows = self.rows(
            f"{select} WHERE {where} ORDER BY {order} LIMIT {size} OFFSET ?", *values, page * size
        )
        return {"rows": rows, "count": count, "page": page, "pages": pages}

    def call(self, verb: Verb, arguments: Mapping[str, Any]) -> Any:
        """Runs what a page asks for, wholly or, where it is refused, not at all."""
        with self._lock, self._db:
            return verb(self, **arguments)

    def dump(self) -> Dump:
        """Every table that may show an effect; what a check compares."""
        with self._lock:
            names = self.rows(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            )
            tables = sorted({row["name"] for row in names} - NO_EFFECT)
            return {
                table: {row["id"]: row for row in self.rows(f'SELECT * FROM "{table}" ORDER BY id')}
                for table in tables
            }

    def close(self) -> None:
        """Frees the memory."""
        with self._lock:
            self._db.close()

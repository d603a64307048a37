"""The data of one episode: SQLite in memory, filled from a base world and a task's changes."""

from __future__ import annotations

import json
import math
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

Row = dict[str, Any]
World = Mapping[str, Sequence[Row]]  # rows by table; a table comes after those it refers to
Dump = dict[str, dict[Any, Row]]  # {table: {id: row}}
Verb = Callable[..., Any]  # (store, **arguments of the page) → JSON

SCHEMA = (Path(__file__).parent / "schema.sql").read_text(encoding="utf-8")
NAME = "Robin Hale"  # whose office it is
ADDRESS = "robin.hale@northwind.example"
NOW = "2026-03-09 09:00"  # a Monday; the clock stands still
NO_EFFECT = frozenset({"drafts", "cart"})  # tables whose changes never count as effects
NO_EFFECT_COLUMNS = frozenset({("mail", "is_read")})


class Setup(TypedDict, total=False):
    """The changes of a task to the base world, in this order."""

    add: dict[str, list[Row]]  # rows by table
    set: list[tuple[str, Row, Row]]  # table, values that a row must have, its new values
    drop: list[tuple[str, Row]]  # table, values that a row must have


class Refused(Exception):
    """A request that an application refuses. The page shows the text at the field `field`."""

    def __init__(self, text: str, field: str = "") -> None:
        self.field = field
        super().__init__(text)


class Store:
    """The database of one episode. Its methods `call` and `dump` may be used from any thread."""

    def __init__(self, world: World | Store, setup: Setup | None = None) -> None:
        """Create a database with a base world and the changes that a task makes to it.

        Args:
            world: rows by table; or a store that has them, which is much faster to copy.
            setup: the changes. A file's "parent" may be a path ("Documents/Personal"), a mail's
                "attachments" a list.

        Raises:
            ValueError: a change matches no row, or breaks a rule of the schema.
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

    def change(self, changes: Setup) -> None:
        """Make changes as others do them meanwhile; what is to be changed may be gone by then."""
        with self._lock, self._db:
            self._prepare(changes, may_miss=True)

    def change_count(self) -> int:
        """Return a number that grows with every row that is changed."""
        return self._db.total_changes

    def _prepare(self, setup: Setup, *, may_miss: bool = False) -> None:
        for table, rows in setup.get("add", {}).items():
            for row in rows:
                self.insert(table, self._completed(table, row))
        for table, criteria, values in setup.get("set", []):
            assignments = ", ".join(f'"{column}" = ?' for column in values)
            sql = f'UPDATE "{table}" SET {assignments}'
            count = self._execute_where(sql, list(values.values()), criteria)
            self._need_rows(count or may_miss, table, criteria)
        for table, criteria in setup.get("drop", []):
            count = self._execute_where(f'DELETE FROM "{table}"', [], criteria)
            self._need_rows(count or may_miss, table, criteria)

    def _execute_where(self, sql: str, values: list[Any], criteria: Row) -> int:
        """Change the rows that have some values; return how many there were."""
        condition = " AND ".join(f'"{column}" = ?' for column in criteria)
        return self._db.execute(f"{sql} WHERE {condition}", [*values, *criteria.values()]).rowcount

    def _need_rows(self, has_rows: object, table: str, criteria: Row) -> None:
        if not has_rows:
            raise ValueError(f"setup: no row of {table} has {criteria}")

    def _completed(self, table: str, row: Row) -> Row:
        """Return a row of a task with the columns that it leaves out."""
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
        """Return the id of a folder by its path, "" being the root; ValueError: there is none."""
        folder_id = 0
        for name in filter(None, path.split("/")):
            rows = self.rows(
                "SELECT id FROM files WHERE parent = ? AND name = ? AND kind = 'folder'",
                folder_id,
                name,
            )
            if not rows:
                raise ValueError(f"setup: there is no folder {path!r}")
            folder_id = int(rows[0]["id"])
        return folder_id

    def rows(self, sql: str, *values: Any) -> list[Row]:
        """Return all rows of a query."""
        return [dict(row) for row in self._db.execute(sql, values)]

    def one(self, sql: str, *values: Any) -> Row:
        """Return the first row of a query; Refused: there is none."""
        rows = self.rows(sql, *values)
        if not rows:
            raise Refused("This item does not exist any more.")
        return rows[0]

    def run(self, sql: str, *values: Any) -> None:
        """Execute a statement that changes rows."""
        self._db.execute(sql, values)

    def insert(self, table: str, row: Row) -> int:
        """Add a row and return its id."""
        columns = ", ".join(f'"{column}"' for column in row)
        marks = ", ".join("?" for _ in row)
        sql = f'INSERT INTO "{table}" ({columns}) VALUES ({marks})'
        cursor = self._db.execute(sql, list(row.values()))
        return int(cursor.lastrowid or 0)

    def save(self, table: str, row: Row, id: int | None) -> Row:
        """Add a row, or change the one with an id; return {"id": its id}."""
        if id is None:
            return {"id": self.insert(table, row)}
        self.one(f"SELECT id FROM {table} WHERE id = ?", id)
        assignments = ", ".join(f'"{column}" = ?' for column in row)
        self.run(f"UPDATE {table} SET {assignments} WHERE id = ?", *row.values(), id)
        return {"id": id}

    def page(self, select: str, values: Sequence[Any], *, size: int, page: int) -> Row:
        """Return one page of a query's rows; the last one where there are fewer pages."""
        count = int(self.one(f"SELECT count(*) n FROM ({select})", *values)["n"])
        pages = max(1, math.ceil(count / size))
        page = max(0, min(page, pages - 1))
        rows = self.rows(f"{select} LIMIT {size} OFFSET {page * size}", *values)
        return {"rows": rows, "count": count, "page": page, "pages": pages}

    def call(self, verb: Verb, arguments: Mapping[str, Any]) -> Any:
        """Do what a page requests: all of it or, if it is refused, nothing."""
        with self._lock, self._db:
            return verb(self, **arguments)

    def dump(self) -> Dump:
        """Return every table that may show an effect."""
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
        """Free the memory."""
        with self._lock:
            self._db.close()

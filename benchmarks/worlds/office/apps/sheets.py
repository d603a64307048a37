"""Sheets."""

from __future__ import annotations

import re
from typing import Any

from benchmarks.worlds.office.rules import need
from benchmarks.worlds.office.store import Store

MAX_LENGTH = 500  # characters of a cell
CELL = re.compile(r"[A-J]([1-9]|[1-5]\d|60)")


def names(store: Store) -> list[str]:
    """Return the names of the sheets in their order."""
    return [row["name"] for row in store.rows("SELECT name FROM sheets ORDER BY id")]


def cells(store: Store, sheet: str) -> dict[str, str]:
    """Return the content of the cells of a sheet, formulas as they were written."""
    rows = store.rows("SELECT cell, value FROM cells WHERE sheet = ?", sheet)
    return {row["cell"]: row["value"] for row in rows}


def set_(store: Store, sheet: str, cell: str, value: str) -> None:
    """Write into a cell, or empty it."""
    need(CELL.fullmatch(cell), "There is no such cell.")
    need(len(value) <= MAX_LENGTH, f"A cell takes {MAX_LENGTH} characters at most.")
    id = f"{sheet}!{cell}"
    value = value.strip()
    if not value:
        store.run("DELETE FROM cells WHERE id = ?", id)
        return
    store.run(
        """INSERT INTO cells (id, sheet, cell, value) VALUES (?, ?, ?, ?)
        ON CONFLICT (id) DO UPDATE SET value = excluded.value""",
        id,
        sheet,
        cell,
        value,
    )


VERBS: dict[str, Any] = {"names": names, "cells": cells, "set": set_}

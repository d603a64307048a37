"""Sheets."""

from __future__ import annotations

import re
from typing import Any

from benchmarks.worlds.office.rules import need
from benchmarks.worlds.office.store import Store

LONGEST = 500  # characters of a cell
CELL = re.compile(r"[A-J]([1-9]|[1-5]\d|60)")


def names(store: Store) -> list[str]:
    """The sheets, in their order."""
    return [row["name"] for row in store.rows("SELECT name FROM sheets ORDER BY id")]


def cells(store: Store, sheet: str) -> dict[str, str]:
    """What the cells of a sheet hold, formulas as they were written."""
    rows = store.rows("SELECT cell, value FROM cells WHERE sheet = ?", sheet)
    return {row["cell"]: row["value"] for row in rows}


def set_(store: Store, sheet: str, cell: str, value: str) -> None:
    """Writes into a cell, or empties it."""
    need(CELL.fullmatch(cell), "There is no such cell.")
    need(len(value) <= LONGEST, f"A cell takes {LONGEST} characters at most.")
    value, id = value.strip(), f"{sheet}!{cell}"
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

"""Judge an episode by the whole store before and after it, and by how the agent ended it.

A task expects effects, and no others:

    {add = "events", row = {title = "Flu shot", date = "2026-03-18", ...}}
    {change = "mail", where = {subject = "Parking"}, to = {folder = "Archive"}}
    {remove = "files", where = {name = "old.txt"}}
    {any_of = [[...], [...]]}    the effects of one of these lists

An added row has the values of `row`, anything in the columns that a task leaves free (`FREE`),
and the defaults of such a row (`DEFAULTS`) in all other columns; a changed row has changed in the
columns of `to` and in no other. A value is compared by
`values.matches`; a list of mail addresses without regard to order and case; a cell's
{formula = "=SUM(D2:D15)"} by the values of formulas (`formulas.is_same_formula`).

A row that was made again counts as the one that it replaces: a copy whose original was deleted has
moved. A notice that others have got counts where the rest of the store no longer shows it.
`tolerates` names further effects that do no harm (`TOLERATED`). What the agent writes to a
colleague who answers (`replies`) does none either, nor does a sum below a column that it fills in.

The partial score is the share of the expected effects that are there; the answer to a question is
one of them, and so is the right end where it is missing. It is 0 as soon as anything else has
changed, or where only `fail` is right; it is 1 for a success and for nothing else.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.worlds.environment import Outcome
from benchmarks.worlds.office.store import ADDRESS, NAME, NO_EFFECT_COLUMNS, Dump, Row
from benchmarks.worlds.office.tasks.formulas import NUMBER, cell_text, is_same_formula
from benchmarks.worlds.office.tasks.values import matches, same_addresses

REPLACEABLE = ("files", "events", "contacts", "todos")  # rows can be copied or made again
ADDRESS_LISTS = frozenset({("mail", "recipients"), ("mail", "cc"), ("events", "guests")})
IGNORED_COLUMNS = {
    "mail": {"sent_at", "is_read"},
    "messages": {"sent_at", "edited"},
    "orders": {"placed_at", "total"},
    "order_items": {"order_id", "price"},
}
"""Columns of an added row, besides `id`, that are not compared if a task does not name them."""
DEFAULTS: Mapping[str, Row] = {
    "mail": {
        "folder": "Sent",
        "sender": NAME,
        "sender_addr": ADDRESS,
        "cc": "",
        "starred": 0,
        "attachments": "[]",
    },
    "contacts": {"email": "", "phone": "", "company": "", "note": ""},
    "events": {"place": "", "guests": "", "note": ""},
    "files": {"kind": "text", "content": ""},
    "orders": {"status": "Placed", "delivery": "Standard", "note": ""},
    "messages": {"author": NAME, "pinned": 0, "deleted": 0},
    "todos": {"list": "Personal", "due": "", "done": 0, "priority": "Normal", "note": ""},
}
"""Values of the columns of an added row that a task does not name."""
FREE = {
    "events": ("place", "note"),
    "contacts": ("note",),
    "todos": ("priority", "note"),
}
"""Columns of an added row in which nobody forbids anything, if a task does not name them."""
TITLES = ("subject", "title", "name")
"""Columns by which people know a row."""
MAX_DESCRIPTION = 500  # characters
TINY = 1e-6
ExpectedEffect = Mapping[str, Any]  # as a task writes it down, see above
Lines = list[tuple[bool, str]]  # whether a part of a check is fulfilled, and what it is


@dataclass(frozen=True, slots=True)
class StateComparison:
    """A comparison of a part of the world with its expected state."""

    lines: Lines = field(default_factory=list)
    done: int = 0  # of what was to be done
    count: int = 0  # of all that was to be done
    is_spoiled: bool = False  # something else has changed

    def __add__(self, other: StateComparison) -> StateComparison:
        """Return the comparison of both parts."""
        return StateComparison(
            self.lines + other.lines,
            self.done + other.done,
            self.count + other.count,
            self.is_spoiled or other.is_spoiled,
        )


NOTHING_ELSEWHERE = StateComparison()


@dataclass(frozen=True, slots=True)
class Effect:
    """One row that was added, changed or removed."""

    op: str  # "add", "change", "remove"
    table: str
    id: Any
    row: Row  # before; an added one as it is after
    to: Row = field(default_factory=dict)  # the changed columns of a changed row, after

    def __str__(self) -> str:
        place = f"{self.op} {self.table} {self.id}"
        if not self.to:
            values = {name: value for name, value in self.row.items() if value not in ("", 0)}
            return f"{place}: {_description(values)}"
        title = next((self.row[name] for name in TITLES if self.row.get(name)), "")
        if title:
            place += f" ({_description(title)})"
        return f"{place}: {_description(self.to)}"


def effects(before: Dump, after: Dump) -> list[Effect]:
    """Return all differences of two dumps, but for those that never count (a mail was read)."""
    result = []
    for table, old in before.items():
        new = after[table]
        if table == "notices":
            result += [Effect("add", table, row["id"], row) for row in _undone(before, after)]
            continue
        for id, row in old.items():
            if id not in new:
                result.append(Effect("remove", table, id, row))
                continue
            if row == new[id]:  # most are, and this is told fastest
                continue
            changed = _changed_columns(table, row, new[id])
            if changed:
                result.append(Effect("change", table, id, row, changed))
        result += [Effect("add", table, id, row) for id, row in new.items() if id not in old]
    return result


def _changed_columns(table: str, old: Row, new: Row) -> Row:
    return {
        name: value for name, value in new.items() if _is_changed(table, name, old[name], value)
    }


def _is_changed(table: str, name: str, old: Any, new: Any) -> bool:
    if (table, name) in ADDRESS_LISTS:
        return not same_addresses(old, new)
    return bool(old != new) and (table, name) not in NO_EFFECT_COLUMNS


def check(
    task: Mapping[str, Any],
    before: Dump,
    after: Dump,
    end: str,
    answer: str = "",
    elsewhere: StateComparison = NOTHING_ELSEWHERE,
) -> Outcome:
    """Whether a task was done, the reasons line by line, and the partial score.

    Args:
        task: `expect`, `answer`, `feasible` and `tolerates` of a variant (see `variants`).
        before: the store at the start.
        after: the store at the end.
        end: how the agent ended: "answer", "done", "fail"; "" if it did not.
        answer: the text of "answer".
        elsewhere: what was expected outside the store.
    """
    tolerated = [TOLERATED[name] for name in task.get("tolerates", ())]
    colleagues = {reply["channel"] for reply in task.get("replies", ())}
    tolerated.append(lambda effect, _: _is_talk(effect, colleagues))
    tolerated.append(lambda effect, _: _is_of_a_sum(effect, task.get("expect", ()), after))
    comparisons = [
        _compare(expected_effects, tolerated, before, after)
        for expected_effects in _alternatives(task.get("expect", ()))
    ]
    best = min(comparisons, key=lambda comparison: _miss_count(comparison.lines))
    comparison = _compare_end(task, end, answer) + best + elsewhere
    success = _miss_count(comparison.lines) == 0
    is_share = task.get("feasible", True) and not comparison.is_spoiled and comparison.count > 0
    partial = comparison.done / comparison.count if is_share else float(success)
    return Outcome(success, comparison.lines, partial)


def _compare_end(task: Mapping[str, Any], end: str, answer: str) -> StateComparison:
    """Judge how the agent ended the episode; `done` alone is no part of what was to be done."""
    if not task.get("feasible", True):
        return StateComparison([(end == "fail", "says that it cannot be done (fail)")])
    if task.get("answer") is None:
        fits = end in ("done", "answer")
        return StateComparison([(fits, "ends with done or answer")], count=int(not fits))
    fits = end == "answer" and matches(task["answer"], answer)
    text = f"answers {_description(task['answer'])}; the answer: {_description(answer)}"
    return StateComparison([(fits, text)], int(fits), 1)


def _miss_count(lines: Lines) -> int:
    return sum(not fits for fits, _ in lines)


def _alternatives(expect: Sequence[ExpectedEffect]) -> Iterator[list[ExpectedEffect]]:
    """Yield every list of effects that counts as a success."""
    choices = [expected.get("any_of", [[expected]]) for expected in expect]
    for chosen_lists in itertools.product(*choices):
        yield list(itertools.chain(*chosen_lists))


def _compare(
    expect: Sequence[ExpectedEffect],
    tolerated: Sequence[Callable[[Effect, Dump], bool]],
    before: Dump,
    after: Dump,
) -> StateComparison:
    after = _with_old_ids(expect, before, after)
    lines: Lines = []
    remaining = effects(before, after)
    for expected in expect:
        match = next((effect for effect in remaining if _is(effect, expected, after)), None)
        if match is not None:
            remaining.remove(match)
        lines.append((match is not None, _expected_text(expected)))
    unexpected = [
        effect
        for effect in remaining
        if not any(is_tolerated(effect, before) for is_tolerated in tolerated)
    ]
    done = len(lines) - _miss_count(lines)
    lines += [(False, f"nothing else, but: {effect}") for effect in unexpected]
    return StateComparison(lines, done, len(expect), bool(unexpected))


def _is(effect: Effect, expected: ExpectedEffect, after: Dump) -> bool:
    table = effect.table
    if expected.get(effect.op) != table:
        return False
    if effect.op == "add":
        free = {name: {"any": True} for name in FREE.get(table, ())}
        values = {**DEFAULTS.get(table, {}), **free, **expected["row"]}
        ignored = IGNORED_COLUMNS.get(table, set()) | {"id"}
        return set(effect.row) <= set(values) | ignored and _fits(values, effect.row, table, after)
    if not _fits(expected["where"], effect.row, table, after):
        return False
    if effect.op == "remove":
        return True
    row_after = {**effect.row, **effect.to}
    return set(effect.to) == set(expected["to"]) and _fits(expected["to"], row_after, table, after)


def is_there(condition: ExpectedEffect, changes: Sequence[Effect], now: Dump) -> bool:
    """Whether a store has an effect, in the columns that a condition names.

    Args:
        condition: as an expected effect is written, or {read = "mail", where = {...}}: it was
            opened.
        changes: all effects so far.
        now: the store.
    """
    if "read" in condition:
        rows = now[condition["read"]].values()
        return any(row["is_read"] and _fits(condition["where"], row, "mail", now) for row in rows)
    for effect in changes:
        table = effect.table
        if condition.get(effect.op) != table:
            continue
        before = condition.get("row" if effect.op == "add" else "where", {})
        after = {**effect.row, **effect.to}
        if _fits(before, effect.row, table, now) and _fits(
            condition.get("to", {}), after, table, now
        ):
            return True
    return False


def _fits(values: Mapping[str, Any], row: Row, table: str, after: Dump) -> bool:
    return all(_has(row, name, value, table, after) for name, value in values.items())


def _has(row: Row, name: str, expected: Any, table: str, after: Dump) -> bool:
    """Whether a row of a table has an expected value in a column."""
    if isinstance(expected, Mapping) and "any_of" in expected:
        return any(_has(row, name, choice, table, after) for choice in expected["any_of"])
    if isinstance(expected, Mapping) and "formula" in expected:
        sheet = [cell for cell in after["cells"].values() if cell["sheet"] == row["sheet"]]
        cells = {cell["cell"]: cell["value"] for cell in sheet}
        return is_same_formula(expected["formula"], row[name], cells, row["cell"])
    if (table, name) in ADDRESS_LISTS and isinstance(expected, str):
        return same_addresses(expected, row[name])
    return matches(expected, row[name])


# -- rows that were made again ---------------------------------------------------------------------


def _with_old_ids(expect: Sequence[ExpectedEffect], before: Dump, after: Dump) -> Dump:
    """Return the dump `after` in which rows that replace others have the ids of those.

    An added row replaces a removed one that it equals, or that it differs from as an expected
    change says. What lies in a folder that was made again lies in the old one.
    """
    replacement = _find_replacement(expect, before, after)
    while replacement is not None:
        after = _with_old_id(after, *replacement)
        replacement = _find_replacement(expect, before, after)
    return after


def _find_replacement(
    expect: Sequence[ExpectedEffect], before: Dump, after: Dump
) -> tuple[str, Any, Any] | None:
    """Return a table, the id of a removed row and the id of the row that replaces it."""
    for table in REPLACEABLE:
        old, new = before.get(table, {}), after.get(table, {})
        removed = [row for id, row in old.items() if id not in new]
        added = [row for id, row in new.items() if id not in old]
        pairs = list(itertools.product(removed, added))
        for old_row, new_row in pairs:
            if not _differences(table, old_row, new_row):
                return table, old_row["id"], new_row["id"]
        changes = [expected for expected in expect if expected.get("change") == table]
        for old_row, new_row in pairs:
            differences = _differences(table, old_row, new_row)
            effect = Effect("change", table, old_row["id"], old_row, differences)
            if any(_is(effect, expected, after) for expected in changes):
                return table, old_row["id"], new_row["id"]
    return None


def _differences(table: str, old: Row, new: Row) -> Row:
    """Return the columns of a row made again whose meaning is not that of the old row."""
    differences = {}
    for name, value in old.items():
        expected = {"lines": value.splitlines()} if name == "content" else value
        if name != "id" and not _has(new, name, expected, table, {}):
            differences[name] = new[name]
    return differences


def _with_old_id(after: Dump, table: str, old_id: Any, new_id: Any) -> Dump:
    rows = {id: row for id, row in after[table].items() if id != new_id}
    rows[old_id] = {**after[table][new_id], "id": old_id}
    changed = {**after, table: rows}
    if table == "files":
        changed["files"] = _with_reference(rows, "parent", old_id, new_id)
    if table == "events":
        changed["notices"] = _with_reference(after.get("notices", {}), "event", old_id, new_id)
    return changed


def _with_reference(
    rows: Mapping[Any, Row], column: str, old_id: Any, new_id: Any
) -> dict[Any, Row]:
    """Return rows in which a column refers to the old id instead of the new one."""
    return {
        id: {**row, column: old_id} if row[column] == new_id else row for id, row in rows.items()
    }


# -- notices that others have got ------------------------------------------------------------------


def _undone(before: Dump, after: Dump) -> list[Row]:
    """Return the notices whose reason was undone: the rest of the store does not show it."""
    notices = [row for id, row in after["notices"].items() if id not in before["notices"]]
    return [notice for notice in notices if not _is_visible(notice, before, after)]


def _is_visible(notice: Row, before: Dump, after: Dump) -> bool:
    """Whether a notice follows from the differences of the two dumps."""
    if notice["message"] is not None:
        old, new = (dump["messages"].get(notice["message"]) for dump in (before, after))
        return old is None or new is None or old["pinned"] != new["pinned"]
    old, new = (dump["events"].get(notice["event"]) for dump in (before, after))
    if notice["kind"] == "changed":
        return old is None or new is None or any(old[name] != new[name] for name in old)
    was_guest = _is_guest(notice["guest"], old)
    is_guest = _is_guest(notice["guest"], new)
    return was_guest != is_guest and is_guest == (notice["kind"] == "invited")


def _is_guest(address: str, event: Row | None) -> bool:
    return event is not None and address in event["guests"].casefold().split(", ")


# -- effects that do no harm -----------------------------------------------------------------------


def _is_saved_attachment(effect: Effect, before: Dump) -> bool:
    """Whether an attachment was saved to Downloads, as one does to read it."""
    row = effect.row
    if effect.op != "add" or effect.table != "files" or row["kind"] != "text":
        return False
    folder = before["files"].get(row["parent"], {})
    if folder.get("name") != "Downloads" or folder.get("parent") != 0:
        return False
    return any(
        (attachment["name"], attachment["text"]) == (row["name"], row["content"])
        for mail in before["mail"].values()
        for attachment in json.loads(mail["attachments"])
    )


def _is_talk(effect: Effect, colleagues: Collection[str]) -> bool:
    """Whether it is a message of the agent's to somebody who answers, and to nobody else."""
    return (
        effect.op == "add"
        and effect.table == "messages"
        and effect.row["author"] == NAME
        and effect.row["channel"] in colleagues
        and not effect.row["channel"].startswith("#")
    )


def _is_of_a_sum(effect: Effect, expect: Sequence[ExpectedEffect], after: Dump) -> bool:
    """Whether it is a sum below a column of a sheet that a task fills in, or its label."""
    if (effect.op, effect.table) != ("add", "cells"):
        return False
    sheet, cell = effect.row["sheet"], effect.row["cell"]
    filled_in = {row["row"].get("sheet") for row in _added_cells(expect)}
    if sheet not in filled_in:
        return False
    cells = {row["cell"]: row["value"] for row in after["cells"].values() if row["sheet"] == sheet}
    if re.fullmatch(r"(?:sum|total|in all|altogether)\b.*", effect.row["value"], re.IGNORECASE):
        in_row = [name for name in cells if name[1:] == cell[1:]]
        return any(_is_sum(cells, name) for name in in_row)
    return _is_sum(cells, cell)


def _added_cells(expect: Sequence[ExpectedEffect]) -> Iterator[ExpectedEffect]:
    for expected in expect:
        for effects_of_choice in expected.get("any_of", [[expected]]):
            yield from (effect for effect in effects_of_choice if effect.get("add") == "cells")


def _is_sum(cells: Mapping[str, str], cell: str) -> bool:
    """Whether a cell is the last of its column and the sum of all numbers above it."""
    column = {int(name[1:]): cell_text(cells, name) for name in cells if name[0] == cell[0]}
    row = int(cell[1:])
    above = [float(text) for y, text in column.items() if y < row and NUMBER.fullmatch(text)]
    is_number = NUMBER.fullmatch(column[row]) is not None
    is_last = row == max(column) and len(above) > 1
    return is_last and is_number and abs(float(column[row]) - sum(above)) < TINY


TOLERATED: Mapping[str, Callable[[Effect, Dump], bool]] = {
    "saved attachments": _is_saved_attachment,
}
"""Effects that a task may tolerate, by name."""


def _expected_text(expected: ExpectedEffect) -> str:
    op = next(name for name in ("add", "change", "remove") if name in expected)
    text = f"{op} {expected[op]}"
    if "where" in expected:
        text += f" where {_description(expected['where'])}"
    values = expected.get("row") or expected.get("to")
    if values:
        text += f": {_description(values)}"
    return text


def _description(value: Any) -> str:
    if isinstance(value, Mapping):
        text = ", ".join(f"{name} {_description(item)}" for name, item in value.items())
    elif isinstance(value, (list, tuple)):
        text = " and ".join(_description(item) for item in value)
    elif isinstance(value, str):
        text = f"“{value}”"
    else:
        text = str(value)
    if len(text) > MAX_DESCRIPTION:
        return text[: MAX_DESCRIPTION - 1] + "…"
    return text

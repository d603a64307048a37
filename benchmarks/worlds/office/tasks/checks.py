"""What an episode has come to: the whole store before and after, and how the agent ended it.

A task expects effects, and no others:

    {add = "events", row = {title = "Flu shot", date = "2026-03-18", ...}}
    {change = "mail", where = {subject = "Parking"}, to = {folder = "Archive"}}
    {remove = "files", where = {name = "old.txt"}}
    {any_of = [[...], [...]]}    the effects of one of these lists

An added row has what `row` says, and in every other column what such a row has if nobody says
anything about it; a changed row has changed in the columns of `to` and in no other. A value is
compared by `values.matches`; a list of mail addresses without regard to order and case; a cell's
{formula = "=SUM(D2:D15)"} by what formulas give (`formulas.is_same_formula`).

A row that was made again is the one that it replaces: a copy whose original is gone has moved.
What others were told (`notices`) counts where the store no longer shows it.
`tolerates` names further steps that do no harm (`TOLERATED`).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.worlds.actions import Outcome
from benchmarks.worlds.office.store import ADDRESS, NAME, NO_EFFECT_COLUMNS, Dump, Row
from benchmarks.worlds.office.tasks.formulas import is_same_formula
from benchmarks.worlds.office.tasks.values import matches, same_addresses

REMADE = ("files", "events", "contacts", "todos")  # whose rows can be made again, or copied
ADDRESS_LISTS = frozenset({("mail", "recipients"), ("mail", "cc"), ("events", "guests")})
FREE = {
    "mail": {"sent_at", "is_read"},
    "messages": {"sent_at", "edited"},
    "orders": {"placed_at", "total"},
    "order_items": {"order_id", "price"},
}
"""Columns of an added row, besides `id`, that may hold anything if a task is silent about them."""
SILENT: Mapping[str, Row] = {
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
"""What the other columns hold if a task is silent about them."""
LONGEST_SHOWN = 500


@dataclass(frozen=True, slots=True)
class Effect:
    """One row that is not what it was."""

    op: str  # "add", "change", "remove"
    table: str
    id: Any
    row: Row  # as it was; an added one as it is
    to: Row = field(default_factory=dict)  # what a changed row holds now, where it changed

    def __str__(self) -> str:
        what = self.to or {name: value for name, value in self.row.items() if value not in ("", 0)}
        return f"{self.op} {self.table} {self.id}: {_shown(what)}"


def effects(before: Dump, after: Dump) -> list[Effect]:
    """Everything that two dumps differ in, but for what says nothing (a mail that was read)."""
    found = []
    for table in before:
        old, new = before[table], after[table]
        if table == "notices":
            found += [Effect("add", table, row["id"], row) for row in _undone(before, after)]
            continue
        for id in [*old, *(id for id in new if id not in old)]:
            if id not in new:
                found.append(Effect("remove", table, id, old[id]))
            elif id not in old:
                found.append(Effect("add", table, id, new[id]))
            elif to := {
                name: value
                for name, value in new[id].items()
                if _is_changed(table, name, old[id][name], value)
            }:
                found.append(Effect("change", table, id, old[id], to))
    return found


def _is_changed(table: str, name: str, old: Any, new: Any) -> bool:
    if (table, name) in ADDRESS_LISTS:
        return not same_addresses(old, new)
    return bool(old != new) and (table, name) not in NO_EFFECT_COLUMNS


def check(
    task: Mapping[str, Any], before: Dump, after: Dump, end: str, answer: str = ""
) -> Outcome:
    """Whether a task was done, and the reasons line by line.

    Args:
        task: `expect`, `answer`, `feasible` and `tolerates` of a variant (see `variants`).
        before: the store at the start.
        after: the store now.
        end: how the agent ended: "answer", "done", "fail"; "" if it did not.
        answer: its text, where it ended with one.
    """
    lines: list[tuple[bool, str]] = []
    if not task.get("feasible", True):
        lines.append((end == "fail", "says that it cannot be done (fail)"))
    elif task.get("answer") is not None:
        fits = end == "answer" and matches(task["answer"], answer)
        lines.append((fits, f"answers {_shown(task['answer'])}; the answer: {_shown(answer)}"))
    else:
        lines.append((end in ("done", "answer"), "ends with done or answer"))
    tolerated = [TOLERATED[name] for name in task.get("tolerates", ())]
    ways: list[list[tuple[bool, str]]] = [
        _compared(expected, tolerated, before, after)
        for expected in _alternatives(task.get("expect", ()))
    ]
    lines += max(ways, key=lambda way: -_misses(way))
    return Outcome(all(fits for fits, _ in lines), lines)


def _misses(lines: Iterable[tuple[bool, str]]) -> int:
    return sum(not fits for fits, _ in lines)


def _alternatives(expect: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """Every list of effects that a task takes as right."""
    choices = [wanted.get("any_of", [[wanted]]) for wanted in expect]
    for chosen in itertools.product(*choices):
        yield [wanted for several in chosen for wanted in several]


def _compared(
    expected: Sequence[Mapping[str, Any]],
    tolerated: Sequence[Callable[[Effect, Dump], bool]],
    before: Dump,
    after: Dump,
) -> list[tuple[bool, str]]:
    after = _with_old_ids(expected, before, after)
    lines = []
    left = effects(before, after)
    for wanted in expected:
        met = next((effect for effect in left if _is(effect, wanted, after)), None)
        if met is not None:
            left.remove(met)
        lines.append((met is not None, _wanted_text(wanted)))
    extra = [effect for effect in left if not any(is_one(effect, before) for is_one in tolerated)]
    return lines + [(False, f"nothing else, but: {effect}") for effect in extra]


def _is(effect: Effect, wanted: Mapping[str, Any], after: Dump) -> bool:
    table = effect.table
    if wanted.get(effect.op) != table:
        return False
    if effect.op == "add":
        said = {**SILENT.get(table, {}), **wanted["row"]}
        unsaid = set(effect.row) - set(said) - FREE.get(table, set()) - {"id"}
        return not unsaid and _fits(said, effect.row, table, after)
    if effect.op == "change" and (set(effect.to) != set(wanted["to"])):
        return False
    changed = {**effect.row, **effect.to}
    return _fits(wanted["where"], effect.row, table, after) and _fits(
        wanted.get("to", {}), changed, table, after
    )


def _fits(wanted: Mapping[str, Any], row: Row, table: str, after: Dump) -> bool:
    return all(_has(row, name, value, table, after) for name, value in wanted.items())


def _has(row: Row, name: str, wanted: Any, table: str, after: Dump) -> bool:
    """Whether a row of a table has in a column what is wanted there."""
    if isinstance(wanted, Mapping) and "any_of" in wanted:
        return any(_has(row, name, each, table, after) for each in wanted["any_of"])
    if isinstance(wanted, Mapping) and "formula" in wanted:
        sheet = [cell for cell in after["cells"].values() if cell["sheet"] == row["sheet"]]
        cells = {cell["cell"]: cell["value"] for cell in sheet}
        return is_same_formula(wanted["formula"], row[name], cells, row["cell"])
    if (table, name) in ADDRESS_LISTS and isinstance(wanted, str):
        return same_addresses(wanted, row[name])
    return matches(wanted, row[name])


# -- rows that were made again ---------------------------------------------------------------------


def _with_old_ids(expected: Sequence[Mapping[str, Any]], before: Dump, after: Dump) -> Dump:
    """The store as it is now, where rows that replace others have the numbers of those.

    An added row replaces a removed one that it equals, or that it differs from as an expected
    change says. What lies in a folder that was made again lies in the old one.
    """
    pair = _replaced(expected, before, after)
    while pair is not None:
        after = _renumbered(after, *pair)
        pair = _replaced(expected, before, after)
    return after


def _replaced(
    expected: Sequence[Mapping[str, Any]], before: Dump, after: Dump
) -> tuple[str, Any, Any] | None:
    """A table, the number of a removed row and that of the row that stands for it."""
    for table in REMADE:
        old, new = before.get(table, {}), after.get(table, {})
        removed = [row for id, row in old.items() if id not in new]
        added = [row for id, row in new.items() if id not in old]
        pairs = list(itertools.product(removed, added))
        for gone, made in pairs:
            if not _differing(table, gone, made):
                return table, gone["id"], made["id"]
        changes = [wanted for wanted in expected if wanted.get("change") == table]
        for (gone, made), wanted in itertools.product(pairs, changes):
            if _is(_as_change(table, gone, made), wanted, after):
                return table, gone["id"], made["id"]
    return None


def _differing(table: str, old: Row, new: Row) -> Row:
    """The columns of a row made again that say something else than those of the old one."""
    differing = {}
    for name, value in old.items():
        wanted = {"lines": value.splitlines()} if name == "content" else value
        if name != "id" and not _has(new, name, wanted, table, {}):
            differing[name] = new[name]
    return differing


def _as_change(table: str, old: Row, new: Row) -> Effect:
    return Effect("change", table, old["id"], old, _differing(table, old, new))


def _renumbered(after: Dump, table: str, old_id: Any, new_id: Any) -> Dump:
    rows = {id: row for id, row in after[table].items() if id != new_id}
    rows[old_id] = {**after[table][new_id], "id": old_id}
    if table == "files":
        rows = {
            id: {**row, "parent": old_id} if row["parent"] == new_id else row
            for id, row in rows.items()
        }
    renumbered = {**after, table: rows}
    if table == "events":
        renumbered["notices"] = {
            id: {**row, "event": old_id} if row["event"] == new_id else row
            for id, row in after.get("notices", {}).items()
        }
    return renumbered


# -- what others were told -------------------------------------------------------------------------


def _undone(before: Dump, after: Dump) -> list[Row]:
    """Notices that the rest of the store does not show: what they told was taken back."""
    notices = [row for id, row in after["notices"].items() if id not in before["notices"]]
    return [notice for notice in notices if not _is_visible(notice, before, after)]


def _is_visible(notice: Row, before: Dump, after: Dump) -> bool:
    """Whether a notice follows from how the store differs from what it was."""
    if notice["message"] is not None:
        old, new = (dump["messages"].get(notice["message"]) for dump in (before, after))
        return old is None or new is None or old["pinned"] != new["pinned"]
    old, new = (dump["events"].get(notice["event"]) for dump in (before, after))
    was_guest = _is_guest(notice["guest"], old)
    is_guest = _is_guest(notice["guest"], new)
    if notice["kind"] == "changed":
        return old is None or new is None or any(old[name] != new[name] for name in old)
    return was_guest != is_guest and is_guest == (notice["kind"] == "invited")


def _is_guest(address: str, event: Row | None) -> bool:
    return event is not None and address in event["guests"].casefold().split(", ")


# -- steps that do no harm -------------------------------------------------------------------------


def _is_saved_attachment(effect: Effect, before: Dump) -> bool:
    """An attachment that was saved to Downloads, as one does to read it."""
    if effect.op != "add" or effect.table != "files" or effect.row["kind"] != "text":
        return False
    folder = before["files"].get(effect.row["parent"], {})
    attached = [
        (each["name"], each["text"])
        for mail in before["mail"].values()
        for each in json.loads(mail["attachments"])
    ]
    is_in_downloads = folder.get("name") == "Downloads" and folder.get("parent") == 0
    return is_in_downloads and (effect.row["name"], effect.row["content"]) in attached


TOLERATED: Mapping[str, Callable[[Effect, Dump], bool]] = {
    "saved attachments": _is_saved_attachment,
}
"""Effects that a task may tolerate, by name."""


def _wanted_text(wanted: Mapping[str, Any]) -> str:
    op = next(name for name in ("add", "change", "remove") if name in wanted)
    where = f" where {_shown(wanted['where'])}" if "where" in wanted else ""
    to = wanted.get("row") or wanted.get("to")
    return f"{op} {wanted[op]}{where}{f': {_shown(to)}' if to else ''}"


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        text = ", ".join(f"{name} {_shown(each)}" for name, each in value.items())
    elif isinstance(value, (list, tuple)):
        text = " and ".join(_shown(each) for each in value)
    else:
        text = f"“{value}”" if isinstance(value, str) else str(value)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"

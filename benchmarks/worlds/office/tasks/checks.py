"""What an episode has come to: the whole store before and after, and how the agent ended it.

A task expects effects, and no others:

    {add = "events", row = {title = "Flu shot", date = "2026-03-18", ...}}
    {change = "mail", where = {subject = "Parking"}, to = {folder = "Archive"}}
    {remove = "files", where = {name = "old.txt"}}

An added row has what `row` says, and in every other column what such a row has if nobody says
anything about it; a changed row has changed in the columns of `to` and in no other. A value is
compared by `matches`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.worlds.actions import Outcome
from benchmarks.worlds.office.store import ADDRESS, NAME, NO_EFFECT_COLUMNS, Dump, Row

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
        for id in [*old, *(id for id in new if id not in old)]:
            if id not in new:
                found.append(Effect("remove", table, id, old[id]))
            elif id not in old:
                found.append(Effect("add", table, id, new[id]))
            elif to := {
                name: value
                for name, value in new[id].items()
                if value != old[id][name] and (table, name) not in NO_EFFECT_COLUMNS
            }:
                found.append(Effect("change", table, id, old[id], to))
    return found


def check(
    task: Mapping[str, Any], before: Dump, after: Dump, end: str, answer: str = ""
) -> Outcome:
    """Whether a task was done, and the reasons line by line.

    Args:
        task: `expect`, `answer` and `feasible` of a variant (see `variants`).
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
        lines.append((end in ("done", "answer"), "ends with done"))
    left = effects(before, after)
    for wanted in task.get("expect", ()):
        met = next((effect for effect in left if _is(effect, wanted)), None)
        if met is not None:
            left.remove(met)
        lines.append((met is not None, _wanted_text(wanted)))
    lines += [(False, f"nothing else, but: {effect}") for effect in left]
    return Outcome(all(fits for fits, _ in lines), lines)


def _is(effect: Effect, wanted: Mapping[str, Any]) -> bool:
    if wanted.get(effect.op) != effect.table:
        return False
    if effect.op == "add":
        said = {**SILENT.get(effect.table, {}), **wanted["row"]}
        unsaid = set(effect.row) - set(said) - FREE.get(effect.table, set()) - {"id"}
        return not unsaid and _fits(said, effect.row)
    if effect.op == "change" and (set(effect.to) != set(wanted["to"])):
        return False
    return _fits(wanted["where"], effect.row) and _fits(wanted.get("to", {}), effect.to)


def _fits(wanted: Mapping[str, Any], row: Row) -> bool:
    return all(matches(value, row[name]) for name, value in wanted.items())


def matches(wanted: Any, got: Any) -> bool:
    """Whether a value is what a task wants.

    Args:
        wanted: a value that is the same but for case, white space, quotation marks, a full stop at
            the end and the way a number is written; or one of {"contains": [...], "without":
            [...]} (whole words), {"lines": [...]}, {"number": 20} (the only one in a text),
            {"pattern": regular expression}, {"any_of": [wanted, ...]}, {"any": True}.
        got: what is there.

    Raises:
        ValueError: there is no such way to compare.
    """
    if not isinstance(wanted, Mapping):
        return _plain(wanted) == _plain(got)
    match dict(wanted):
        case {"any": True}:
            return True
        case {"contains": parts, **others} if set(others) <= {"without"}:
            text = _plain(got)
            unwanted = [_in(part, text) for part in others.get("without", ())]
            return all(_in(part, text) for part in parts) and not any(unwanted)
        case {"lines": lines}:
            return _lines(lines) == _lines(str(got).splitlines())
        case {"number": number}:
            found = re.findall(r"-?\d+(?:\.\d+)?", re.sub(r"(?<=\d),(?=\d{3})", "", str(got)))
            return len({float(each) for each in found}) == 1 and _plain(found[0]) == _plain(number)
        case {"pattern": pattern}:
            return bool(re.fullmatch(pattern, str(got).strip(), re.IGNORECASE | re.DOTALL))
        case {"any_of": several}:
            return any(matches(each, got) for each in several)
    raise ValueError(f"no way to compare with {wanted!r}")


def _lines(lines: Sequence[str]) -> list[str]:
    return [plain for line in lines if (plain := _plain(line))]


def _in(part: Any, text: str) -> bool:
    """Whether a part stands in a text, not as a piece of a longer word or number."""
    inner = re.escape(_plain(part))
    return bool(re.search(rf"(?<![\w])(?<!\d[.,]){inner}(?![\w])(?![.,]\d)", text))


def _plain(value: Any) -> str:
    """One form for what people take as the same."""
    text = " ".join(str(value).split()).casefold().strip(" \"'“”‘’")
    text = text.removesuffix(".").strip(" \"'“”‘’").replace("’", "'")
    number = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    if re.fullmatch(r"-?\d+(\.\d+)?", number):
        return f"{float(number):g}" if abs(float(number)) < 1e6 else number
    return text


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

"""What circular evaluation says beside the plain score: the section "circular" of an analysis.

Each question counts once, weighted scores or not. Those of which a rotation has not been asked yet
are left out of every figure here, so that plain and circular accuracy are of the same questions. A
rotation that failed or was refused counts as not right.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.matrics import in_order
from benchmarks.rotation import names_other_options
from utils.analysis.columns import PictureNumbers, Row, share
from utils.contracts import Facts
from utils.protocol import DIFFICULTIES

MOST_NAMED = 20  # questions in a note
OVERALL = "Overall"  # the row of all questions
TITLE = "L1 GUIContentUnderstanding circular"


@dataclass(frozen=True, slots=True)
class _Question:
    """What is kept of a question.

    Attributes:
        picture: its cluster, a number.
        hits: 1 or 0 for each rotation.
        is_consistent: the same text was chosen in every rotation.
        is_flagged: an option names letters or places.
    """

    split: str
    picture: int
    hits: bytes
    is_consistent: bool
    is_flagged: bool

    @property
    def rotations(self) -> int:
        return len(self.hits)


class CircularCollector:
    """Collects the lines of a rotations file, all of one question in a row."""

    def __init__(self) -> None:
        self._open: list[Facts] = []
        self._questions: list[_Question] = []
        self._pictures = PictureNumbers()
        self._flagged: list[Any] = []  # the first of them, by index
        self._counts: Counter[str] = Counter()

    def add(self, facts: Facts) -> None:
        """One rotation of a question."""
        if self._open and self._open[0]["question"] != facts["question"]:
            self._close()
        self._open.append(facts)

    def result(self) -> dict[str, Any]:
        """The section.

        `rows`, by difficulty and overall: `questions` and `flagged` of them (numbers); `plain`,
        `circular`, `consistent`, `circular_unflagged` (cells with intervals; the last None where
        nothing is flagged); `blind_plain`, `blind_circular` (percent).
        `table`: the same for people, in the form of the section "table" of an analysis.
        `by_rotation`: `accuracy` (a cell) of the questions that have that many rotations.
        """
        self._close()
        questions = self._questions
        splits = in_order({q.split for q in questions}, DIFFICULTIES)
        groups = {split: [q for q in questions if q.split == split] for split in splits}
        rows = [_row(name, group) for name, group in groups.items()]
        if questions:
            rows.append(_row(OVERALL, questions))
        return {
            "title": TITLE,
            "rows": rows,
            "table": circular_figures(rows),
            "by_rotation": list(_by_rotation(questions)),
            "notes": list(self._notes(rows)),
            "warnings": list(self._warnings()),
        }

    def _close(self) -> None:
        """Takes the question in that is complete now, if there is one."""
        turns, self._open = self._open, []
        if not turns:
            return
        first = turns[0]
        later = turns[1:]
        self._counts["failed"] += sum(turn["status"] == "failed" for turn in later)
        self._counts["refused"] += sum(turn["status"] == "refused" for turn in later)
        if len(turns) < first["rotations"]:
            self._counts["incomplete"] += 1
            return
        self._counts["not rotated"] += _shows_the_same(turns)
        chosen = {_chosen_text(turn) for turn in turns}
        flagged = bool(names_other_options(first["options"]))
        if flagged:
            self._counts["flagged"] += 1
            if len(self._flagged) < MOST_NAMED:
                self._flagged.append(first["index"])
        self._questions.append(
            _Question(
                split=str(first["split"]),
                picture=self._pictures.of(first["image"]),
                hits=bytes(turn["hit"] for turn in turns),
                is_consistent=len(chosen) == 1 and None not in chosen,
                is_flagged=flagged,
            )
        )

    def _notes(self, rows: Sequence[Mapping[str, Any]]) -> Iterable[str]:
        yield (
            "circular: right in every rotation of the options; consistent: the same text chosen in "
            "every rotation, right or wrong; blind: a letter drawn anew for each rotation, worked "
            "out and so without an interval"
        )
        if self._flagged:
            named = ", ".join(str(index) for index in self._flagged)
            more = self._counts["flagged"] - len(self._flagged)
            without = rows[-1]["circular_unflagged"]["value"]
            yield (
                'rotating breaks options that name letters or places ("A and B", "all of the '
                f'above"): {self._counts["flagged"]} of {len(self._questions)} questions, index '
                f"{named}{f' and {more} more' if more else ''}; circular accuracy without them: "
                f"{'-' if without is None else f'{without:.2f} %'}"
            )

    def _warnings(self) -> Iterable[str]:
        counts = self._counts
        if counts["incomplete"]:
            yield (
                f"questions with rotations that were not asked yet: {counts['incomplete']}; they "
                "are left out of the circular accuracy, the same command without --mode asks them"
            )
        for kind, again in (("failed", ", the same command asks them again"), ("refused", "")):
            if counts[kind]:
                yield (
                    f"rotations {kind}, beside the questions themselves: {counts[kind]}; they "
                    f"count as not right{again}"
                )
        if counts["not rotated"]:
            yield (
                f"questions asked in the same words in several rotations: {counts['not rotated']}; "
                'a prompt function must take the options from line["options"]'
            )


def circular_figures(rows: Sequence[Row]) -> dict[str, Any]:
    """The rows of the section in the form of the section "table" of an analysis, for people.

    "circular*" is without questions that rotating breaks; it is there if there are any.
    """
    names = {"plain": "plain", "circular": "circular", "circular*": "circular_unflagged",
             "consistent": "consistent", "blind, plain": "blind_plain",
             "blind, circular": "blind_circular"}  # fmt: skip
    if not any(row["flagged"] for row in rows):
        del names["circular*"]
    return {
        "title": TITLE,
        "columns": list(names),
        "rows": [
            {"name": row["name"], "cells": [_as_cell(row[name]) for name in names.values()]}
            for row in rows
        ],
    }


def _as_cell(figure: Row | float | None) -> Row | None:
    """A chance that was worked out as a figure without an interval."""
    if figure is None or isinstance(figure, dict):
        return figure
    return {"value": figure, "low": None, "high": None}


def _row(name: str, group: Sequence[_Question]) -> Row:
    kept = [q for q in group if not q.is_flagged]
    flagged = len(group) - len(kept)
    blind = [1 / q.rotations for q in group]
    return {
        "name": name,
        "questions": len(group),
        "flagged": flagged,
        "plain": _cell([q.hits[0] for q in group], group),
        "circular": _cell([min(q.hits) for q in group], group),
        "circular_unflagged": _cell([min(q.hits) for q in kept], kept) if flagged else None,
        "consistent": _cell([q.is_consistent for q in group], group),
        "blind_plain": _percent(blind),
        "blind_circular": _percent([chance ** round(1 / chance) for chance in blind]),
    }


def _by_rotation(questions: Sequence[_Question]) -> Iterable[Row]:
    for rotation in itertools.count():
        group = [q for q in questions if q.rotations > rotation]
        if not group:
            return
        accuracy = _cell([q.hits[rotation] for q in group], group)
        yield {"name": f"rotation {rotation}", "accuracy": accuracy}


def _cell(hits: Sequence[int], group: Sequence[_Question]) -> Row:
    import numpy as np

    pictures = np.array([q.picture for q in group], dtype=np.intp)
    return share(np.array(hits, dtype=np.float64), pictures)


def _percent(values: Sequence[float]) -> float | None:
    """Of a mean; a blind guess is seldom right throughout, hence the decimals."""
    return round(100 * sum(values) / len(values), 4) if values else None


def _chosen_text(turn: Facts) -> str | None:
    """The text of the option that was chosen; None if none of those listed was."""
    chosen = turn["chosen"]
    text = turn["options"].get(chosen) if isinstance(chosen, str) else None
    return None if text is None else str(text)


def _shows_the_same(turns: Sequence[Facts]) -> bool:
    """Whether two rotations were one and the same request, though their options differ."""
    options_of: dict[str, Any] = {}
    for turn in turns:
        first = options_of.setdefault(turn["fingerprint"], turn["options"])
        if turn["fingerprint"] and first != turn["options"]:
            return True
    return False

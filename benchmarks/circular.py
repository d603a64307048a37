"""Circular evaluation of L1: each question is asked once for every rotation of its options.

A model that picks letters by habit, or guesses, is right now and then; it is hardly ever right in
all rotations. Rotation 0 is the question itself, under the same key, so that a plain run and a
circular one share its answer; rotation k (see `benchmarks.rotation`) has the key `<key>~k`.

Source: Liu et al. (2023), MMBench: Is Your Multi-modal Model an All-around Player?, section 4.2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from benchmarks.matrics import in_order
from benchmarks.rotation import listed_letters, names_other_options, rotated, rotation_count
from utils.analysis.columns import Row, SampleColumns, share
from utils.contracts import Sample, turn_key
from utils.misc import OPTION_LETTERS
from utils.protocol import DIFFICULTIES

MOST_NAMED = 20  # questions in a note
TITLE = "L1 GUIContentUnderstanding circular"
FIGURES = {
    "plain": "plain",
    "circular": "circular",
    "circular*": "circular_unflagged",
    "consistent": "consistent",
    "blind, plain": "blind_plain",
    "blind, circular": "blind_circular",
}
"""Columns of the section's table, and the fields of a row that they show."""
MEANING = (
    "circular: right in every rotation of the options; consistent: the same text chosen in every "
    "rotation, right or wrong; blind: a letter drawn anew for each rotation, worked out and so "
    "without an interval"
)


@dataclass(frozen=True, slots=True)
class Circular:
    """Asks every rotation of every question.

    Attributes:
        reads_all_letters: the parse function is not the protocol's own, which knows A to F. With
            that one, questions with further letters are asked once and left out of the section.
    """

    reads_all_letters: bool = False

    def asked(self, samples: Sequence[Sample]) -> list[Sample]:
        """Each sample in all its rotations, rotation 0 being the sample itself.

        They are samples of their own to whoever asks them: none depends on what the model replied
        to another, so they can be asked at once, and one that fails holds up no other.
        """
        return [
            replace(
                sample, key=turn_key(sample.key, number), line=rotated(sample.line, number)
            ) if number else sample
            for sample in samples
            for number in range(self.count(sample.line))
        ]  # fmt: skip

    def count(self, line: Mapping[str, Any]) -> int:
        """How many rotations a line has, whichever of them it is."""
        return rotation_count(line["options"]) if self._can_rotate(line["options"]) else 1

    def _can_rotate(self, options: Mapping[str, str | None]) -> bool:
        return self.reads_all_letters or set(listed_letters(options)) <= set(OPTION_LETTERS)

    def section(self, columns: SampleColumns) -> dict[str, Any]:
        """The section "circular" of an analysis, of the rotations of all questions in file order.

        Each question counts once, weighted scores or not. Those of which a rotation has not been
        asked yet are left out of every figure, so that plain and circular accuracy are of the same
        questions. A rotation that failed or was refused counts as not right.

        Returns:
            `rows`, by difficulty and overall: `questions` and `flagged` of them (numbers); `plain`,
            `circular`, `consistent`, `circular_unflagged` (cells with intervals; the last None
            where nothing is flagged); `blind_plain`, `blind_circular` (percent).
            `by_rotation`: `accuracy` (a cell) of the questions that have that many rotations.
            `table`: in the form of the section "table", for people.
        """
        counts: Counter[str] = Counter()
        questions: list[_Question] = []
        flagged, unreadable = [], []
        pictures, first = columns.pictures(), 0
        for _, group in groupby(columns["question"]):
            turns = range(first, first + sum(1 for _ in group))
            first = turns.stop
            options, index = columns["options"][turns[0]], columns["index"][turns[0]]
            statuses = [columns["status"][turn] for turn in turns[1:]]
            counts.update(failed=statuses.count("failed"), refused=statuses.count("refused"))
            if not self._can_rotate(options):
                unreadable.append(index)
            elif len(turns) < columns["rotations"][turns[0]]:
                counts["incomplete"] += 1
            else:
                questions.append(_Question.of(columns, turns, int(pictures[turns[0]])))
                counts["not rotated"] += _shows_the_same(columns, turns)
                flagged += [index] if questions[-1].is_flagged else []
        splits = in_order({q.split for q in questions}, DIFFICULTIES)
        rows = [_row(split, [q for q in questions if q.split == split]) for split in splits]
        rows += [_row("Overall", questions)] if questions else []
        notes = [MEANING]
        if unreadable:
            notes.append(
                "left out, because the protocol's parser knows only the options A to F: "
                f"{len(unreadable)} questions, index {_named(unreadable)}"
            )
        if flagged:
            without = rows[-1]["circular_unflagged"]["value"]
            notes.append(
                'rotating breaks options that name letters or places ("A and B", "all of the '
                f'above"): {len(flagged)} of {len(questions)} questions, index {_named(flagged)}; '
                f"circular accuracy without them: {'-' if without is None else f'{without:.2f} %'}"
            )
        return {
            "title": TITLE,
            "rows": rows,
            "by_rotation": list(_by_rotation(questions)),
            "notes": notes,
            "warnings": list(_warnings(counts)),
            "table": _table(rows),
        }


@dataclass(frozen=True, slots=True)
class _Question:
    """One question in all its rotations."""

    split: str
    picture: int
    hits: list[int]  # of each rotation
    is_consistent: bool  # the same text was chosen in every rotation
    is_flagged: bool  # an option names letters or places

    @classmethod
    def of(cls, columns: SampleColumns, turns: range, picture: int) -> _Question:
        chosen = {_chosen_text(columns, turn) for turn in turns}
        return cls(
            str(columns["split"][turns[0]]),
            picture,
            [columns["hit"][turn] for turn in turns],
            len(chosen) == 1 and None not in chosen,
            bool(names_other_options(columns["options"][turns[0]])),
        )


def _chosen_text(columns: SampleColumns, turn: int) -> str | None:
    """The text of the option that was chosen; None if none of those listed was."""
    chosen = columns["chosen"][turn]
    return columns["options"][turn].get(chosen) if isinstance(chosen, str) else None


def _shows_the_same(columns: SampleColumns, turns: range) -> bool:
    """Whether two rotations were one and the same request, though their options differ."""
    options_of: dict[str, Any] = {}
    for turn in turns:
        fingerprint, options = columns["fingerprint"][turn], columns["options"][turn]
        if options_of.setdefault(fingerprint, options) != options and fingerprint:
            return True
    return False


def _row(name: str, group: Sequence[_Question]) -> Row:
    kept = [q for q in group if not q.is_flagged]
    blind = [1 / len(q.hits) for q in group]
    return {
        "name": name,
        "questions": len(group),
        "flagged": len(group) - len(kept),
        "plain": _cell([q.hits[0] for q in group], group),
        "circular": _cell([min(q.hits) for q in group], group),
        "circular_unflagged": (
            _cell([min(q.hits) for q in kept], kept) if len(kept) < len(group) else None
        ),
        "consistent": _cell([q.is_consistent for q in group], group),
        "blind_plain": round(100 * sum(blind) / len(blind), 4),
        "blind_circular": round(100 * sum(c ** round(1 / c) for c in blind) / len(blind), 4),
    }


def _by_rotation(questions: Sequence[_Question]) -> Iterator[Row]:
    for rotation in range(max((len(q.hits) for q in questions), default=0)):
        group = [q for q in questions if len(q.hits) > rotation]
        accuracy = _cell([q.hits[rotation] for q in group], group)
        yield {"name": f"rotation {rotation}", "accuracy": accuracy}


def _cell(hits: Sequence[int], group: Sequence[_Question]) -> Row:
    import numpy as np

    pictures = np.array([q.picture for q in group], dtype=np.intp)
    return share(np.array(hits, dtype=np.float64), pictures)


def _table(rows: Sequence[Row]) -> dict[str, Any]:
    """ "circular*" is without questions that rotating breaks; it is there if there are any."""
    shown = [name for name in FIGURES if name != "circular*" or any(row["flagged"] for row in rows)]

    def cell(figure: Any) -> Row | None:
        """A chance that was worked out is a figure without an interval."""
        is_chance = isinstance(figure, float)
        return {"value": figure, "low": None, "high": None} if is_chance else figure

    return {
        "title": TITLE,
        "columns": shown,
        "rows": [
            {"name": row["name"], "cells": [cell(row[FIGURES[name]]) for name in shown]}
            for row in rows
        ],
    }


def _named(indices: Sequence[Any]) -> str:
    more = len(indices) - MOST_NAMED
    return ", ".join(map(str, indices[:MOST_NAMED])) + (f" and {more} more" if more > 0 else "")


def _warnings(counts: Counter[str]) -> Iterator[str]:
    if counts["incomplete"]:
        yield (
            f"questions with rotations that were not asked yet: {counts['incomplete']}; they are "
            "left out of the circular accuracy, the same command without --mode queries them"
        )
    for kind, again in (("failed", ", the same command queries them again"), ("refused", "")):
        if counts[kind]:
            yield (
                f"rotations {kind}, beside the questions themselves: {counts[kind]}; they count as "
                f"not right{again}"
            )
    if counts["not rotated"]:
        yield (
            f"questions asked in the same words in several rotations: {counts['not rotated']}; a "
            'prompt function must take the options from line["options"]'
        )

"""A comparison as text for the console and as Markdown: one document, written in two ways."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from utils.comparing import words
from utils.comparing.pairing import Comparison, PairOfRuns, SamplePair
from utils.comparing.runs import counted
from utils.errors import printable
from utils.scoring.console import grid

FLIPS_IN_MARKDOWN = 200  # on each side of a pair; flips.csv has all
_LONGEST_TEXT = 100
TITLE, PARAGRAPH, ITEM, DETAIL = range(4)
Table = list[list[str]]
"""Rows of cells, the first row being the head; a line break in a cell stacks two figures."""


class Line(NamedTuple):
    """A line of text; one of the four levels above."""

    text: str
    level: int = PARAGRAPH


def as_text(comparison: Comparison, *, flips: int) -> str:
    """The comparison for a terminal, with the first `flips` flipped samples of each kind."""
    lines: list[str] = []
    for block in _document(comparison, flips, has_names=False):
        if isinstance(block, Line):
            lines += ["", block.text] if block.level == TITLE else ["  " * block.level + block.text]
        else:
            lines += grid(block)
    return "\n".join(map(printable, lines)).strip() + "\n"


def as_markdown(comparison: Comparison) -> str:
    """The comparison as Markdown; texts of models and data sets cannot turn into markup."""
    lines = ["# Comparison", ""]
    lines += [f"- **{escaped(run.label)}**: {escaped(run.folder)}" for run in comparison.runs]
    starts = {TITLE: "\n## ", PARAGRAPH: "\n", ITEM: "- ", DETAIL: "  - "}
    for block in _document(comparison, FLIPS_IN_MARKDOWN, has_names=True):
        if isinstance(block, Line):
            lines.append(starts[block.level] + escaped(block.text))
            continue
        rows = [["<br>".join(map(escaped, cell.split("\n"))) for cell in row] for row in block]
        rows.insert(1, ["---"] * len(rows[0]))
        lines += ["", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """A text in which Markdown finds no markup, HTML or links."""
    flat = printable(text.replace("\n", " "))
    return re.sub(r"([\\`*_{}\[\]<>()#|~&$@!:])", r"\\\1", flat)


def _document(comparison: Comparison, flips: int, *, has_names: bool) -> Iterator[Line | Table]:
    """Boards, notes, differences, at most so many flips of each kind.

    `has_names`: columns are headed by the names of the runs, which a console has no room for.
    """
    for board in comparison.boards:
        yield Line(f"{board.title} · accuracy in %, 95 % interval below where there is one", TITLE)
        cells = [[words.cell_text(row.cells.get(name)) for name in board.columns]
                 for row in board.rows]  # fmt: skip
        names = ["model", *(f"{row.name} {row.mark}".rstrip() for row in board.rows)]
        head = [words.group_text(name) for name in board.columns]
        yield [[name, *row] for name, row in zip(names, [head, *cells], strict=True)]
    if comparison.notes:
        yield Line("Notes", TITLE)
        yield from (Line(note, ITEM) for note in comparison.notes)
    for pair in comparison.pairs:
        yield Line(f"{pair.dataset} · {pair.title}", TITLE)
        yield Line("; ".join([f"run: {pair.run}", f"baseline: {pair.baseline}", *pair.notes]))
        if pair.differences:
            head = words.difference_head(*((pair.run, pair.baseline) if has_names else ()))
            yield [head, *(words.difference_cells(each) for each in pair.differences)]
            yield Line(words.MCNEMAR_NOTE)
        for winner, loser, found in pair.flips_by_winner:
            yield Line(f"{winner} right, {loser} wrong: {counted(len(found))}")
            for flip in found[:flips]:
                yield from _flip(flip, pair)
            if len(found) > flips:
                yield Line(f"and {len(found) - flips} more", ITEM)
    if comparison.pairs:
        yield Line("How to read the differences", TITLE)
        yield Line(words.HOW_TO_READ)


def _flip(flip: SamplePair, pair: PairOfRuns) -> Iterator[Line]:
    def short(text: object) -> str:
        return words.one_line(str(text), _LONGEST_TEXT)

    facts = flip.run
    place = ", ".join(str(facts.get(name)) for name in ("platform", "split", "key"))
    yield Line(f"{short(facts.get('text'))}  [{place}]", ITEM)
    yield Line(f"right: {short(words.truth_text(facts))}", DETAIL)
    for name, each in ((pair.run, flip.run), (pair.baseline, flip.baseline)):
        yield Line(f"{name}: {short(words.reply_text(each))}  → {words.parsed_text(each)}", DETAIL)

"""A comparison as Markdown, to paste into an issue or a paper's draft."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from utils.comparing.comparison import (
    MCNEMAR_NOTE,
    Comparison,
    difference_cells,
    difference_head,
    how_to_read,
    interval_text,
    one_line,
    pair_notes,
    read_as_text,
    reply_text,
    truth_text,
    value_text,
)
from utils.comparing.leaderboard import Board, Cell
from utils.comparing.pairing import PairOfRuns

MOST_FLIPS = 200  # per pair and data set; flips.csv has all
_LONGEST_TEXT = 200


def as_markdown(comparison: Comparison) -> str:
    """The whole comparison; texts of models and data sets cannot turn into markup."""
    lines = ["# Comparison", ""]
    lines += [f"- **{escaped(run.label)}**: {escaped(run.origin)}" for run in comparison.runs]
    lines.append("")
    for board in comparison.boards:
        lines += [f"## {escaped(board.title)}", "", *_board(board), ""]
    lines += [*(f"- {escaped(note)}" for note in comparison.notes), ""] if comparison.notes else []
    for pair in comparison.pairs:
        lines += [f"## {pair.dataset}: {escaped(pair.title)}", ""]
        lines += [escaped("; ".join(pair_notes(pair))), "", *_differences(pair), *_flips(pair)]
    lines.append(escaped(how_to_read(comparison.pairs)))
    return "\n".join(lines).rstrip() + "\n"


def _board(board: Board) -> Iterator[str]:
    heads = [escaped(f"{column.label} {column.split}".strip()) for column in board.columns]
    yield from _head(["model", *heads])
    for row in board.rows:
        yield _row([escaped(row.title), *(_cell(cell) for cell in row.cells)])


def _cell(cell: Cell | None) -> str:
    interval = interval_text(cell)
    return f"{value_text(cell)} ({interval})" if interval else value_text(cell)


def _differences(pair: PairOfRuns) -> Iterator[str]:
    if not pair.differences:
        return
    yield from _head([escaped(name) for name in difference_head(pair.run, pair.baseline)])
    for each in pair.differences:
        yield _row([escaped(cell) for cell in difference_cells(each)])
    yield from ("", escaped(MCNEMAR_NOTE), "")


def _flips(pair: PairOfRuns) -> Iterator[str]:
    if not pair.flips:
        return
    yield f"### Flipped samples: {len(pair.flips)}"
    yield ""
    names = (escaped(pair.run), escaped(pair.baseline))
    yield from _head(["right", "platform", "split", "asked", "truth", *names])
    for flip in pair.flips[:MOST_FLIPS]:
        facts = flip.run_facts
        texts = [str(facts.get("text")), truth_text(facts)]
        texts += [
            f"{reply_text(each)} → {read_as_text(each)}"
            for each in (flip.run_facts, flip.baseline_facts)
        ]
        yield _row([
            names[0] if flip.run_is_right else names[1],
            escaped(str(facts.get("platform"))), escaped(str(facts.get("split"))),
            *(escaped(one_line(text, _LONGEST_TEXT)) for text in texts),
        ])  # fmt: skip
    if len(pair.flips) > MOST_FLIPS:
        yield from ("", f"and {len(pair.flips) - MOST_FLIPS} more")
    yield ""


def _head(cells: Sequence[str]) -> Iterator[str]:
    yield _row(cells)
    yield _row(["---"] * len(cells))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def escaped(text: str) -> str:
    """A text in which Markdown finds no markup, HTML or links."""
    return re.sub(r"([\\`*_{}\[\]<>()#|~&$@!:])", r"\\\1", text.replace("\n", " "))

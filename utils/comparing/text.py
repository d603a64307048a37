"""A comparison as text, for the console."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from utils.comparing.comparison import (
    MCNEMAR_NOTE,
    Comparison,
    counted,
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
from utils.comparing.leaderboard import Board, Row
from utils.comparing.pairing import Flip, PairOfRuns

_LONGEST_TEXT = 100


def as_text(comparison: Comparison, *, flips: int) -> str:
    """Leaderboards, differences, and the first `flips` flipped samples of each kind."""
    lines: list[str] = []
    for board in comparison.boards:
        lines += [*_board(board), ""]
    lines += [*comparison.notes, ""] if comparison.notes else []
    for pair in comparison.pairs:
        lines += [*_pair(pair), *_flips(pair, flips), ""]
    lines.append(how_to_read(comparison.pairs))
    return "\n".join(lines).rstrip() + "\n"


def _board(board: Board) -> Iterator[str]:
    has_intervals = any(any(_intervals(row)) for row in board.rows)
    yield f"{board.title} · accuracy in %{', 95 % interval below' if has_intervals else ''}"
    heads = [[column.label for column in board.columns]]
    if any(column.split for column in board.columns):
        heads.append([column.split for column in board.columns])
    names = [row.title for row in board.rows]
    first = max(len(name) for name in [*names, "model"])
    filled = [cells for row in board.rows for cells in (_values(row), _intervals(row))]
    widths = [max(len(line[place]) for line in [*heads, *filled])
              for place in range(len(board.columns))]  # fmt: skip
    for head in heads:
        yield _line("", head, first, widths)
    yield "-" * (first + sum(width + 2 for width in widths))
    for row in board.rows:
        yield _line(row.title, _values(row), first, widths)
        if any(_intervals(row)):
            yield _line("", _intervals(row), first, widths)


def _values(row: Row) -> list[str]:
    return [value_text(cell) for cell in row.cells]


def _intervals(row: Row) -> list[str]:
    return [interval_text(cell) for cell in row.cells]


def _line(name: str, cells: Sequence[str], first: int, widths: Sequence[int]) -> str:
    fitted = [f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)]
    return "  ".join([f"{name:<{first}}", *fitted]).rstrip()


def _pair(pair: PairOfRuns) -> Iterator[str]:
    yield f"{pair.dataset} · {pair.title}"
    told = [f"run: {pair.run}", f"baseline: {pair.baseline}", *pair_notes(pair)]
    yield f"  {'; '.join(told)}"
    if not pair.differences:
        return
    # Names of two runs of one model would make the table three screens wide.
    rows = [difference_head(), *(difference_cells(each) for each in pair.differences)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  " + _line(row[0], row[1:], widths[0], widths[1:])
    yield f"  {MCNEMAR_NOTE}"


def _flips(pair: PairOfRuns, most: int) -> Iterator[str]:
    for winner, loser, run_is_right in (
        (pair.run, pair.baseline, True),
        (pair.baseline, pair.run, False),
    ):
        flips = [flip for flip in pair.flips if flip.run_is_right is run_is_right]
        if not flips:
            continue
        yield f"  {winner} right, {loser} wrong: {counted(len(flips))}"
        for flip in flips[:most]:
            yield from _flip(flip, pair)
        if len(flips) > most:
            yield f"    and {len(flips) - most} more"


def _flip(flip: Flip, pair: PairOfRuns) -> Iterator[str]:
    facts = flip.run_facts
    place = f"{facts.get('platform')}, {facts.get('split')}, {flip.key}"
    yield f"    {one_line(str(facts.get('text')), _LONGEST_TEXT)}  [{place}]"
    yield f"      right: {one_line(truth_text(facts), _LONGEST_TEXT)}"
    for name, each in ((pair.run, flip.run_facts), (pair.baseline, flip.baseline_facts)):
        yield f"      {name}: {one_line(reply_text(each), _LONGEST_TEXT)}  → {read_as_text(each)}"

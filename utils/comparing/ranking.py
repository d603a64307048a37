"""Many runs in one table: sorted by score, each with its difference from the first one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from utils.comparing.boards import Board, Row
from utils.comparing.pairing import Comparison, Difference, PairOfRuns


class RankedRun(NamedTuple):
    """One run of a ranking, or one published model."""

    row: Row
    pair: PairOfRuns | None = None  # with the baseline; None for that itself and for published ones
    better_than: int = 0  # how many runs it differs from clearly, in all pairs that were tested
    worse_than: int = 0

    @property
    def difference(self) -> Difference | None:
        """The difference from the baseline in the figure over everything; None without samples."""
        return None if self.pair is None else self.pair.main


class Ranking(NamedTuple):
    """The runs on one data set, the best first."""

    board: Board
    level: str
    baseline: str
    runs: Sequence[RankedRun]
    has_all_pairs: bool

    @property
    def notes(self) -> list[str]:
        """What is to be known about the pairs, then what audits say against runs; once each."""
        by_note: dict[str, list[str]] = {}
        doubts: dict[str, None] = {}
        for run in self.runs:
            if run.pair is None:
                continue
            for note in run.pair.notes:
                by_note.setdefault(note, []).append(run.row.name)
            for doubted, doubt in run.pair.doubts:
                see_also = "; see its report" if doubted.report else ""
                doubts[f"{doubted.label}: {doubt}{see_also}"] = None
        pairs = sum(run.pair is not None for run in self.runs)
        notes = [
            note if len(names) == pairs else f"{', '.join(names)}: {note}"
            for note, names in by_note.items()
        ]
        return [*notes, *doubts]


def rankings_of(comparison: Comparison) -> list[Ranking]:
    """Return a ranking for each data set, in order of level."""
    return [_ranking(board, comparison) for board in comparison.summary]


def _ranking(board: Board, comparison: Comparison) -> Ranking:
    scored_runs = [run for run in comparison.runs if board.dataset in run.sets]
    baseline = scored_runs[0].label
    pairs = [pair for pair in comparison.pairs if pair.dataset == board.dataset]
    with_baseline = {pair.run: pair for pair in pairs if pair.baseline == baseline}
    better: dict[str, int] = {}
    worse: dict[str, int] = {}
    for pair in pairs:
        if pair.main is None or not pair.main.is_clear:
            continue
        sides = [pair.run, pair.baseline]
        winner, loser = sides if pair.main.points[0] > 0 else reversed(sides)
        better[winner] = better.get(winner, 0) + 1
        worse[loser] = worse.get(loser, 0) + 1
    runs = [
        RankedRun(row)
        if row.is_published
        else RankedRun(
            row, with_baseline.get(row.name), better.get(row.name, 0), worse.get(row.name, 0)
        )
        for row in board.rows
    ]
    has_all_pairs = len(pairs) > len(with_baseline)
    return Ranking(board, scored_runs[0].sets[board.dataset].level, baseline, runs, has_all_pairs)

"""Many runs in one table: sorted by score, each with its difference from the first one."""

from __future__ import annotations

from collections import Counter
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
        """The notes on the pairs, then the audits' doubts about runs; each once."""
        pairs = [run.pair for run in self.runs if run.pair is not None]
        names_by_note: dict[str, list[str]] = {}
        for pair in pairs:
            for note in pair.notes:
                names_by_note.setdefault(note, []).append(pair.run)
        notes = [
            note if len(names) == len(pairs) else f"{', '.join(names)}: {note}"
            for note, names in names_by_note.items()
        ]
        doubts = dict.fromkeys(doubt for pair in pairs for doubt in pair.doubt_texts)
        return [*notes, *doubts]


def rankings_of(comparison: Comparison) -> list[Ranking]:
    """Return a ranking for each data set, in order of level."""
    return [_ranking(board, comparison) for board in comparison.summary]


def _ranking(board: Board, comparison: Comparison) -> Ranking:
    scored_runs = [run for run in comparison.runs if board.dataset in run.sets]
    baseline = scored_runs[0].label
    pairs = [pair for pair in comparison.pairs if pair.dataset == board.dataset]
    with_baseline = {pair.run: pair for pair in pairs if pair.baseline == baseline}
    better: Counter[str] = Counter()
    worse: Counter[str] = Counter()
    for pair in pairs:
        if pair.main is not None and pair.main.is_clear:
            is_better = pair.main.points[0] > 0
            better[pair.run if is_better else pair.baseline] += 1
            worse[pair.baseline if is_better else pair.run] += 1
    runs: list[RankedRun] = []
    for row in board.rows:
        name = "" if row.is_published else row.name  # which may be that of a run
        runs.append(RankedRun(row, with_baseline.get(name), better[name], worse[name]))
    has_all_pairs = len(pairs) > len(with_baseline)
    return Ranking(board, scored_runs[0].sets[board.dataset].level, baseline, runs, has_all_pairs)

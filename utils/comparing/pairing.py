"""Two runs on the samples that both have: differences with intervals and tests, and what flipped.

The unit of evidence is the image, not the sample: three questions share a screenshot. Differences
are of the later run minus the baseline.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from utils.analysis.paired import PairedResult, compare_paired, holm
from utils.comparing.boards import Board, Published, boards_of, notes_of
from utils.comparing.runs import ComparedRun, counted
from utils.contracts import Facts
from utils.errors import UserError
from utils.protocol import DIFFICULTIES, GROUNDING_TYPES, PLATFORMS

_TRUTH = ("text", "split", "platform", "options", "answer", "box_frac", "file_wh")


class SamplePair(NamedTuple):
    """One sample in both runs, as their samples files have it."""

    run: Facts
    baseline: Facts


@dataclass(slots=True)
class Difference:
    """Two runs on one group of common samples: accuracies in percent, compared by image."""

    group: str
    samples: int
    run_pct: float
    baseline_pct: float
    paired: PairedResult
    p_holm: float | None = None  # corrected for all comparisons of the data set's table

    @property
    def points(self) -> tuple[float, float | None, float | None]:
        """The difference in percentage points, low and high of its 95 % interval."""
        bounds = self.paired.interval
        low, high = (None, None) if bounds is None else (100 * bounds.low, 100 * bounds.high)
        return 100 * self.paired.difference, low, high


@dataclass(frozen=True, slots=True)
class PairOfRuns:
    """Two runs on one data set."""

    dataset: str
    run: str
    baseline: str
    common: int  # samples that both have, with the same truth
    changed: int  # and with another truth
    differences: Sequence[Difference]
    flips: Sequence[SamplePair]  # what one got right and the other missed, in file order
    notes: Sequence[str]

    @property
    def title(self) -> str:
        """Which is subtracted from which."""
        return f"{self.run} − {self.baseline}"

    @property
    def flips_by_winner(self) -> list[tuple[str, str, list[SamplePair]]]:
        """Who is right, who is wrong, on which samples; without sides that have none."""
        sides = [(self.run, self.baseline, 1), (self.baseline, self.run, 0)]
        found = [(winner, loser, [flip for flip in self.flips if flip.run["hit"] == run_hit])
                 for winner, loser, run_hit in sides]  # fmt: skip
        return [side for side in found if side[2]]


class Comparison(NamedTuple):
    """Everything that is shown; notes are whole sentences."""

    runs: Sequence[ComparedRun]
    boards: Sequence[Board]
    pairs: Sequence[PairOfRuns]
    notes: Sequence[str]


def compare(
    runs: Sequence[ComparedRun], *, all_pairs: bool = False, published: Published | None = None
) -> Comparison:
    """Puts runs side by side: each against the first one that has the data set, or every pair.

    Raises:
        UserError: several runs, and no two that are paired have a sample in common.
    """
    pairs: list[PairOfRuns] = []
    for name in dict.fromkeys(name for run in runs for name in run.sets):
        having = [run for run in runs if name in run.sets]
        found = [_compared(run, baseline, name) for baseline, run in combinations(having, 2)
                 if all_pairs or baseline is having[0]]  # fmt: skip
        differences = [each for pair in found for each in pair.differences]
        p_holm = holm([each.paired.p_value for each in differences])
        for each, p in zip(differences, p_holm, strict=True):
            each.p_holm = p
        pairs += found
    if len(runs) > 1 and not any(pair.common for pair in pairs):
        changed = sum(pair.changed for pair in pairs)
        why = f" ({changed} have the same name and another truth)" if changed else ""
        names = ", ".join(f"{run.label} ({', '.join(run.sets)})" for run in runs)
        raise UserError(f"{names}: no sample in common{why}, so there is nothing to compare")
    notes = [note for run in runs for note in run.notes()] + notes_of(runs, published)
    return Comparison(runs, boards_of(runs, published), pairs, notes)


def _compared(run: ComparedRun, baseline: ComparedRun, dataset: str) -> PairOfRuns:
    ours, theirs = run.sets[dataset], baseline.sets[dataset]
    both = [SamplePair(ours.samples[key], theirs.samples[key])
            for key in theirs.samples if key in ours.samples]  # fmt: skip
    common = [pair for pair in both
              if all(pair.run.get(name) == pair.baseline.get(name) for name in _TRUTH)]  # fmt: skip
    notes, changed = [f"{counted(len(common))} in common"], len(both) - len(common)
    if changed:
        notes.append(f"{counted(changed)} left out: question or truth differs between the runs")
    for each, scored in ((run, ours), (baseline, theirs)):
        if count := len(scored.samples) - len(both):
            notes.append(f"{counted(count)} only in {each.label}")
    if ours.is_weighted != theirs.is_weighted:
        notes.append("one score is weighted by options (L1_USE_WEIGHTED) and the other is not; "
                     "the differences are unweighted")  # fmt: skip
    for what, entry in (("annotations", "annotations"), ("images", "pictures")):
        mine, his = run.of_data(dataset, entry), baseline.of_data(dataset, entry)
        if mine and his and mine != his and mine.get("count") == his.get("count"):
            notes.append(f"the runs had different {what} (checksums in their manifests)")
    differences = _differences(common, is_weighted=ours.is_weighted and theirs.is_weighted)
    flips = [pair for pair in common if pair.run["hit"] != pair.baseline["hit"]]
    return PairOfRuns(
        dataset, run.label, baseline.label, len(common), changed, differences, flips, notes
    )


def _differences(common: Sequence[SamplePair], *, is_weighted: bool) -> list[Difference]:
    def weight(pair: SamplePair) -> float:
        options = pair.run.get("options") if is_weighted else None
        return (len(options) - 1) / len(options) if options else 1.0

    if not common:
        return []
    splits = _groups(common, "split", (*DIFFICULTIES, *GROUNDING_TYPES))
    found = [_difference("all samples", common, weight)]
    if set(splits) == {*GROUNDING_TYPES}:
        name = "mean of basic and advanced"
        found.append(_difference(name, common, lambda pair: 1 / len(splits[pair.run["split"]])))
    for grouping in (splits, _groups(common, "platform", PLATFORMS)):
        if len(grouping) > 1:
            found += [_difference(name, pairs, weight) for name, pairs in grouping.items()]
    return found


def _groups(
    common: Sequence[SamplePair], column: str, order: Sequence[str]
) -> Mapping[str, Sequence[SamplePair]]:
    found: dict[str, list[SamplePair]] = {name: [] for name in order}
    for pair in common:
        found.setdefault(str(pair.run[column]), []).append(pair)
    return {name: pairs for name, pairs in found.items() if pairs}


def _difference(
    group: str, pairs: Sequence[SamplePair], weight: Callable[[SamplePair], float]
) -> Difference:
    weights = [weight(pair) for pair in pairs]
    hits = [pair.run["hit"] for pair in pairs], [pair.baseline["hit"] for pair in pairs]
    is_even = len(set(weights)) == 1  # alike, they may all be 0
    images = [pair.run["image"] for pair in pairs]
    paired = compare_paired(*hits, images, None if is_even else weights)
    total = sum(weights) or 1
    run_pct, baseline_pct = (
        100 * sum(hit * each for hit, each in zip(side, weights, strict=True)) / total
        for side in hits
    )
    return Difference(group, len(pairs), run_pct, baseline_pct, paired)

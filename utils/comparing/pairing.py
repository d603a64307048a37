"""Two runs on the samples that both have: differences with intervals and tests, and what flipped.

The unit of evidence is the image, not the sample: three questions share a screenshot. Differences
are of the later run minus the baseline.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from utils.analysis import PairedResult, compare_paired, holm
from utils.comparing.boards import Board, Published, boards_of, notes_of
from utils.comparing.runs import ComparedRun, SampleResult, ScoredSet, counted
from utils.contracts import Facts
from utils.errors import UserError
from utils.protocol import DIFFICULTIES, GROUNDING_TYPES, PLATFORMS

ALL = "all samples"
_CHECKSUMS = (("annotations", "annotations", "sha256"), ("images", "pictures", "digest"))
Weighted = tuple[SampleResult, SampleResult, float]
"""A sample in the run and in the baseline, and its weight."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One comparison of two runs on one group of common samples.

    Attributes:
        group: "all samples", "mean of basic and advanced", a split, or a platform.
        run_pct, baseline_pct: accuracies on the common samples, in percent.
        paired: the run against the baseline, by image.
        p_holm: its p-value after Holm's correction over all comparisons of the data set's table.
    """

    group: str
    samples: int
    run_pct: float
    baseline_pct: float
    paired: PairedResult
    p_holm: float | None = None

    @property
    def points(self) -> tuple[float, float | None, float | None]:
        """The difference in percentage points, low and high of its 95 % interval."""
        bounds = self.paired.interval
        low, high = (None, None) if bounds is None else (100 * bounds.low, 100 * bounds.high)
        return 100 * self.paired.difference, low, high


@dataclass(frozen=True, slots=True)
class SamplePair:
    """One sample in both runs, as their samples files have it."""

    run: Facts
    baseline: Facts


@dataclass(frozen=True, slots=True)
class PairOfRuns:
    """Two runs on one data set.

    Attributes:
        common: number of samples that both have, with the same truth.
        changed: samples of both whose question or truth differs, and which are left out.
        flips: what one got right and the other missed, in file order.
        notes: what was compared and what was left out.
    """

    dataset: str
    run: str
    baseline: str
    common: int
    changed: int
    differences: Sequence[Difference]
    flips: Sequence[SamplePair]
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


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that is shown; notes are whole sentences."""

    runs: Sequence[ComparedRun]
    boards: Sequence[Board]
    pairs: Sequence[PairOfRuns]
    notes: Sequence[str]


def compare(
    runs: Sequence[ComparedRun], *, all_pairs: bool = False, published: Published | None = None
) -> Comparison:
    """Puts runs side by side.

    Args:
        all_pairs: every pair of runs, not only each run against the first.
        published: figures to show below one's own, or None.

    Raises:
        UserError: several runs, and no two that are paired have a sample in common.
    """
    datasets = dict.fromkeys(name for run in runs for name in run.sets)
    pairs = [pair for name in datasets for pair in pairs_of(runs, name, all_pairs=all_pairs)]
    if len(runs) > 1 and not any(pair.common for pair in pairs):
        changed = sum(pair.changed for pair in pairs)
        why = f" ({changed} have the same name and another truth)" if changed else ""
        names = ", ".join(f"{run.label} ({', '.join(run.sets)})" for run in runs)
        raise UserError(f"{names}: no sample in common{why}, so there is nothing to compare")
    notes = [note for run in runs for note in run.notes()] + notes_of(runs, published)
    return Comparison(runs, boards_of(runs, published), pairs, notes)


def pairs_of(
    runs: Sequence[ComparedRun], dataset: str, *, all_pairs: bool = False
) -> list[PairOfRuns]:
    """Every run against the first one that has the data set, or every pair.

    Holm's correction runs over all comparisons of all these pairs.
    """
    having = [run for run in runs if dataset in run.sets]
    pairs = [
        _compared(run, baseline, dataset)
        for number, baseline in enumerate(having if all_pairs else having[:1])
        for run in having[number + 1 :]
    ]
    p_values = [each.paired.p_value for pair in pairs for each in pair.differences]
    p_holm = iter(holm(p_values))
    return [
        replace(pair, differences=[replace(d, p_holm=next(p_holm)) for d in pair.differences])
        for pair in pairs
    ]


def _compared(run: ComparedRun, baseline: ComparedRun, dataset: str) -> PairOfRuns:
    ours, theirs = run.sets[dataset], baseline.sets[dataset]
    both = [key for key in theirs.samples if key in ours.samples]
    common = [key for key in both if ours.samples[key].truth == theirs.samples[key].truth]
    notes, changed = [f"{counted(len(common))} in common"], len(both) - len(common)
    if changed:
        notes.append(f"{counted(changed)} left out: question or truth differs between the runs")
    for each, scored in ((run, ours), (baseline, theirs)):
        if count := len(scored.samples) - len(both):
            notes.append(f"{counted(count)} only in {each.label}")
    if ours.is_weighted != theirs.is_weighted:
        notes.append("one score is weighted by options (L1_USE_WEIGHTED) and the other is not; "
                     "the differences are unweighted")  # fmt: skip
    for what, entry, name in _CHECKSUMS:
        data = [each.of_data(dataset, entry) for each in (run, baseline)]
        sums = [(found.get(name), found.get("count")) for found in data]
        if sums[0][0] and sums[1][0] and sums[0][1] == sums[1][1] and sums[0] != sums[1]:
            notes.append(f"the runs had different {what} (checksums in their manifests)")
    flipped = [key for key in common if ours.samples[key].hit != theirs.samples[key].hit]
    mine, his = ours.facts_of(flipped), theirs.facts_of(flipped)
    return PairOfRuns(
        dataset=dataset,
        run=run.label,
        baseline=baseline.label,
        common=len(common),
        changed=changed,
        differences=_differences(ours, theirs, common),
        flips=[SamplePair(mine[key], his[key]) for key in flipped],
        notes=notes,
    )


def _differences(ours: ScoredSet, theirs: ScoredSet, common: Sequence[str]) -> list[Difference]:
    if not common:
        return []
    is_weighted = ours.is_weighted and theirs.is_weighted
    pairs = [(ours.samples[key], theirs.samples[key]) for key in common]
    samples = [(mine, his, mine.weight if is_weighted else 1.0) for mine, his in pairs]
    by_split = _groups(samples, lambda each: each.split, (*DIFFICULTIES, *GROUNDING_TYPES))
    by_platform = _groups(samples, lambda each: each.platform, PLATFORMS)
    groups = [(ALL, samples)]
    if set(by_split) == {*GROUNDING_TYPES}:
        even = [(mine, his, 1 / len(by_split[mine.split])) for mine, his in pairs]
        groups.append(("mean of basic and advanced", even))
    for found in (by_split, by_platform):
        groups += found.items() if len(found) > 1 else ()  # a single one repeats the first line
    return [_difference(*group) for group in groups]


def _groups(
    samples: Sequence[Weighted], label: Callable[[SampleResult], str], order: Sequence[str]
) -> dict[str, list[Weighted]]:
    found: dict[str, list[Weighted]] = {name: [] for name in order}
    for each in samples:
        found.setdefault(label(each[0]), []).append(each)
    return {name: members for name, members in found.items() if members}


def _difference(group: str, samples: Sequence[Weighted]) -> Difference:
    ours, theirs, weights = zip(*samples, strict=True)
    hits = [[each.hit for each in side] for side in (ours, theirs)]
    is_even = len(set(weights)) == 1  # alike, they may all be 0
    images = [each.image for each in ours]
    paired = compare_paired(hits[0], hits[1], images, None if is_even else weights)
    total = sum(weights)
    earned = [sum(hit * weight for hit, weight in zip(side, weights, strict=True)) for side in hits]
    run_pct, baseline_pct = (100 * each / total if total else 0.0 for each in earned)
    return Difference(group, len(samples), run_pct, baseline_pct, paired)

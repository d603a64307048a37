"""Two runs on the samples that both have: differences with intervals and tests, and what flipped.

The unit of evidence is the image, not the sample: three questions share a screenshot. Differences
are of the later run minus the baseline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from utils.analysis.paired import PairedResult, compare_paired, holm
from utils.comparing.boards import Board, Published, boards_of, notes_of
from utils.comparing.runs import ComparedRun, counted
from utils.contracts import Facts
from utils.errors import UserError
from utils.protocol import DIFFICULTIES, GROUNDING_TYPES, PLATFORMS

ORDERS = {"split": (*DIFFICULTIES, *GROUNDING_TYPES), "platform": PLATFORMS}
_TRUTH = ("text", "split", "platform", "options", "answer", "box_frac", "file_wh")


@dataclass(frozen=True, slots=True)
class SamplePair:
    """One sample in both runs, as their samples files have it."""

    run: Facts
    baseline: Facts

    def is_same_question(self) -> bool:
        """Whether both were asked the same, and the same is right."""
        return all(self.run.get(name) == self.baseline.get(name) for name in _TRUTH)


@dataclass(frozen=True, slots=True)
class Difference:
    """Two runs on one group of common samples: accuracies in percent, compared by image.

    `p_holm` is corrected for all comparisons of the data set's table.
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
class PairOfRuns:
    """Two runs on one data set.

    Attributes:
        common, changed: numbers of samples that both have, with the same and with another truth.
        flips: what one got right and the other missed, in file order.
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
    """Puts runs side by side: each against the first one, or every pair.

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
    both = [SamplePair(ours.samples[key], theirs.samples[key])
            for key in theirs.samples if key in ours.samples]  # fmt: skip
    common = [pair for pair in both if pair.is_same_question()]
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
    return PairOfRuns(
        dataset=dataset,
        run=run.label,
        baseline=baseline.label,
        common=len(common),
        changed=changed,
        differences=_differences(common, is_weighted=ours.is_weighted and theirs.is_weighted),
        flips=[pair for pair in common if pair.run["hit"] != pair.baseline["hit"]],
        notes=notes,
    )


def _differences(common: Sequence[SamplePair], *, is_weighted: bool) -> list[Difference]:
    if not common:
        return []
    groups = {column: _groups(common, column, order) for column, order in ORDERS.items()}
    found = [_difference("all samples", common, [_weight(pair, is_weighted) for pair in common])]
    if set(groups["split"]) == {*GROUNDING_TYPES}:
        weights = [1 / len(groups["split"][pair.run["split"]]) for pair in common]
        found.append(_difference("mean of basic and advanced", common, weights))
    for grouping in groups.values():
        for name, pairs in grouping.items() if len(grouping) > 1 else ():
            found.append(_difference(name, pairs, [_weight(pair, is_weighted) for pair in pairs]))
    return found


def _weight(pair: SamplePair, is_weighted: bool) -> float:
    options = pair.run.get("options") or {}
    return (len(options) - 1) / len(options) if is_weighted and options else 1.0


def _groups(
    common: Sequence[SamplePair], column: str, order: Sequence[str]
) -> Mapping[str, Sequence[SamplePair]]:
    found: dict[str, list[SamplePair]] = {name: [] for name in order}
    for pair in common:
        found.setdefault(str(pair.run[column]), []).append(pair)
    return {name: pairs for name, pairs in found.items() if pairs}


def _difference(group: str, pairs: Sequence[SamplePair], weights: Sequence[float]) -> Difference:
    hits = [pair.run["hit"] for pair in pairs], [pair.baseline["hit"] for pair in pairs]
    is_even = len(set(weights)) == 1  # alike, they may all be 0
    images = [pair.run["image"] for pair in pairs]
    paired = compare_paired(*hits, images, None if is_even else weights)
    total = sum(weights)
    earned = [sum(hit * weight for hit, weight in zip(side, weights, strict=True)) for side in hits]
    run_pct, baseline_pct = (100 * each / total if total else 0.0 for each in earned)
    return Difference(group, len(pairs), run_pct, baseline_pct, paired)

"""Two runs on the samples that both have: differences with intervals and tests, and what flipped.

The unit of evidence is the picture, not the sample: three questions share a screenshot. Differences
are of the later run minus the baseline, in percentage points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from utils.analysis import compare_paired, holm
from utils.comparing.runs import ComparedRun, Outcome, ScoredSet, facts_of_keys
from utils.contracts import Facts
from utils.protocol import DIFFICULTIES, GROUNDING_TYPES, PLATFORMS

SPLITS = (*DIFFICULTIES, *GROUNDING_TYPES)
ALL = "all samples"


@dataclass(frozen=True, slots=True)
class Difference:
    """One comparison of two runs on one group of common samples.

    Attributes:
        group: "all samples", "mean of basic and advanced", a split, or a platform.
        run_pct, baseline_pct: accuracies on the common samples, in percent.
        points, low, high: their difference in percentage points with its 95 % interval, None with
            too few pictures for one.
        p_value: of the sign-flip test over pictures; None where none could be made.
        p_holm: the same after Holm's correction over all comparisons of the data set's table.
        p_mcnemar: McNemar's test, which takes samples on one picture for independent.
        only_run, only_baseline: samples that one of them alone got right.
    """

    group: str
    samples: int
    pictures: int
    run_pct: float
    baseline_pct: float
    points: float
    low: float | None
    high: float | None
    p_value: float | None
    p_holm: float | None
    p_mcnemar: float | None
    only_run: int
    only_baseline: int


@dataclass(frozen=True, slots=True)
class Flip:
    """A sample that one run got right and the other missed."""

    key: str
    run_is_right: bool
    run_facts: Facts
    baseline_facts: Facts


@dataclass(frozen=True, slots=True)
class PairOfRuns:
    """Two runs on one data set.

    Attributes:
        common: keys of the samples that both have, with the same truth.
        changed: samples of both whose question or truth differs, and which are left out.
        only_in_run, only_in_baseline: samples that the other lacks.
    """

    dataset: str
    run: str
    baseline: str
    common: Sequence[str]
    changed: int
    only_in_run: int
    only_in_baseline: int
    differences: Sequence[Difference]
    flips: Sequence[Flip]
    notes: Sequence[str]

    @property
    def title(self) -> str:
        """Which is subtracted from which."""
        return f"{self.run} − {self.baseline}"


def pairs_of(
    runs: Sequence[ComparedRun], dataset: str, *, all_pairs: bool
) -> list[PairOfRuns]:  # fmt: skip
    """Every run against the first one that has the data set, or every pair.

    Holm's correction runs over all comparisons of all these pairs.
    """
    having = [run for run in runs if dataset in run.sets]
    chosen = [
        (run, baseline)
        for number, baseline in enumerate(having)
        for run in having[number + 1 :]
        if all_pairs or number == 0
    ]
    pairs = [_compared(run, baseline, dataset) for run, baseline in chosen]
    corrected = iter(holm([each.p_value for pair in pairs for each in pair.differences]))
    return [
        replace(
            pair, differences=[replace(each, p_holm=next(corrected)) for each in pair.differences]
        )
        for pair in pairs
    ]


def _compared(run: ComparedRun, baseline: ComparedRun, dataset: str) -> PairOfRuns:
    ours, theirs = run.sets[dataset], baseline.sets[dataset]
    both = [key for key in theirs.outcomes if key in ours.outcomes]
    common = [key for key in both if ours.outcomes[key].truth == theirs.outcomes[key].truth]
    weighted = ours.is_weighted and theirs.is_weighted
    return PairOfRuns(
        dataset=dataset,
        run=run.label,
        baseline=baseline.label,
        common=common,
        changed=len(both) - len(common),
        only_in_run=len(ours.outcomes) - len(both),
        only_in_baseline=len(theirs.outcomes) - len(both),
        differences=_differences(ours.outcomes, theirs.outcomes, common, weighted=weighted),
        flips=_flips(ours, theirs, common),
        notes=_notes(run, baseline, dataset, weighted=weighted),
    )


def _differences(
    ours: Mapping[str, Outcome],
    theirs: Mapping[str, Outcome],
    common: Sequence[str],
    *,
    weighted: bool,
) -> list[Difference]:
    if not common:
        return []
    weights = {key: ours[key].weight if weighted else 1.0 for key in common}
    by_split = _groups(common, [ours[key].split for key in common], SPLITS)
    by_platform = _groups(common, [ours[key].platform for key in common], PLATFORMS)
    asked = [(ALL, list(common), weights)]
    if set(by_split) == {"basic", "advanced"}:
        even = {key: 1 / len(keys) for keys in by_split.values() for key in keys}
        asked.append(("mean of basic and advanced", list(common), even))
    for groups in (by_split, by_platform):
        if len(groups) > 1:  # a single one would repeat the first line
            asked += [(name, keys, weights) for name, keys in groups.items()]
    return [
        _difference(group, [ours[key] for key in keys], [theirs[key] for key in keys],
                    [weight[key] for key in keys])
        for group, keys, weight in asked
    ]  # fmt: skip


def _difference(
    group: str, ours: Sequence[Outcome], theirs: Sequence[Outcome], weights: Sequence[float]
) -> Difference:
    found = compare_paired(
        [outcome.hit for outcome in ours],
        [outcome.hit for outcome in theirs],
        [outcome.picture for outcome in ours],
        weights if len(set(weights)) > 1 else None,  # alike, they may all be 0
    )
    interval = found.interval
    return Difference(
        group=group,
        samples=len(ours),
        pictures=found.pictures,
        run_pct=_accuracy_pct(ours, weights),
        baseline_pct=_accuracy_pct(theirs, weights),
        points=100 * found.difference,
        low=None if interval is None else 100 * interval.low,
        high=None if interval is None else 100 * interval.high,
        p_value=found.p_value,
        p_holm=None,
        p_mcnemar=found.p_mcnemar,
        only_run=found.only_first,
        only_baseline=found.only_second,
    )


def _accuracy_pct(outcomes: Sequence[Outcome], weights: Sequence[float]) -> float:
    earned = sum(outcome.hit * weight for outcome, weight in zip(outcomes, weights, strict=True))
    return 100 * earned / sum(weights) if sum(weights) else 0.0


def _groups(
    keys: Sequence[str], names: Sequence[str], order: Sequence[str]
) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, name in zip(keys, names, strict=True):
        found.setdefault(name, []).append(key)
    known = [name for name in order if name in found]
    return {name: found[name] for name in [*known, *sorted(set(found) - set(order))]}


def _flips(ours: ScoredSet, theirs: ScoredSet, common: Sequence[str]) -> list[Flip]:
    flipped = [key for key in common if ours.outcomes[key].hit != theirs.outcomes[key].hit]
    if not flipped:
        return []
    run_facts = facts_of_keys(ours.files, flipped)
    baseline_facts = facts_of_keys(theirs.files, flipped)
    flips = [
        Flip(key, bool(ours.outcomes[key].hit), run_facts[key], baseline_facts[key])
        for key in flipped
    ]
    return sorted(flips, key=lambda flip: not flip.run_is_right)  # stable: file order within


def _notes(run: ComparedRun, baseline: ComparedRun, dataset: str, *, weighted: bool) -> list[str]:
    notes = []
    if run.sets[dataset].is_weighted != baseline.sets[dataset].is_weighted:
        notes.append("one score is weighted by options (L1_USE_WEIGHTED) and the other is not; "
                     "the differences are unweighted")  # fmt: skip
    elif weighted:
        notes.append("weighted by options (L1_USE_WEIGHTED)")
    mine, other = _data_of(run, dataset), _data_of(baseline, dataset)
    for what, name in (("annotations", "sha256"), ("pictures", "digest"), ("prompts", "sha256")):
        ours, theirs = (each.get(what) or {} for each in (mine, other))
        comparable = ours.get("count") == theirs.get("count")
        if ours.get(name) and theirs.get(name) and comparable and ours[name] != theirs[name]:
            notes.append(f"the runs had different {what} (checksums in their manifests)")
    return notes


def _data_of(run: ComparedRun, dataset: str) -> Mapping[str, Any]:
    return (run.manifest.get("datasets") or {}).get(dataset) or {}

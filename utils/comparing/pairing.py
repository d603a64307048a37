"""Two runs on the samples that both have: differences with intervals and tests, and what flipped.

The unit of evidence is the image, not the sample: three questions share a screenshot. Differences
are of a run (B) less its baseline (A). The official figures are the headline, each with a test of
its own; the groups below them are many, so their tests are corrected (Holm) for each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from math import hypot
from typing import NamedTuple

from utils.analysis.paired import PairedResult, compare_paired, holm
from utils.comparing.boards import Board, boards_of, notes_of
from utils.comparing.runs import ComparedRun
from utils.contracts import Facts
from utils.errors import UserError
from utils.protocol import (
    ACTING,
    AVERAGE,
    ELEMENT_KINDS,
    GROUNDING_TYPES,
    OFFICIAL,
    OVERALL,
    PLATFORMS,
    noun_of,
)
from utils.published import Published
from utils.text import counted

_CHECKSUMS = {"annotations": "annotations", "images": "pictures"}
_CAME_TO = ("chosen", "ended", "checks")
_TRUTH = ("text", "split", "platform", "options", "answer", "box_frac", "file_wh")


class Outcome(StrEnum):
    """What became of a sample in two runs; A is the baseline."""

    ONLY_A = "only A right"
    ONLY_B = "only B right"
    APART = "both wrong, apart"
    ALIKE = "both wrong, alike"
    BOTH = "both right"


class SamplePair(NamedTuple):
    """One sample in both runs, as their samples files have it."""

    run: Facts
    baseline: Facts

    @property
    def outcome(self) -> Outcome:
        """Who is right. Wrong ones are apart if other options were chosen, the clicks lie further
        from each other than the target is large (its diagonal), or episodes ended otherwise."""
        match bool(self.baseline["hit"]), bool(self.run["hit"]):
            case True, True:
                return Outcome.BOTH
            case True, False:
                return Outcome.ONLY_A
            case False, True:
                return Outcome.ONLY_B
        return Outcome.APART if self._is_apart() else Outcome.ALIKE

    @property
    def has_other_images(self) -> bool:
        """Whether the sample's image was replaced between the runs, as far as both say."""
        digests = {facts.get("image_digest") for facts in self} - {None}
        return len(digests) > 1

    def _is_apart(self) -> bool:
        ours, theirs = (facts.get("point_frac") for facts in self)
        box, wh = self.run.get("box_frac"), self.run.get("file_wh")
        if ours is None or theirs is None or box is None or wh is None:
            if (ours is None) != (theirs is None):
                return True
            return any(self.run.get(name) != self.baseline.get(name) for name in _CAME_TO)
        between = ((ours[side] - theirs[side]) * wh[side] for side in (0, 1))
        target = ((box[side + 2] - box[side]) * wh[side] for side in (0, 1))
        return hypot(*between) > hypot(*target)


@dataclass(slots=True)
class Difference:
    """Two runs on one group of common samples: accuracies in percent, compared by image."""

    group: str
    samples: int
    run_pct: float
    baseline_pct: float
    paired: PairedResult
    is_headline: bool = False  # an official figure, whose test stands for itself
    p_holm: float | None = None  # of the others: corrected for all of them, of all pairs of runs

    @property
    def p_value(self) -> float | None:
        """As it is shown: corrected where it is one of many; none with too few images to tell."""
        if self.paired.interval is None:
            return None
        return self.paired.p_value if self.is_headline else self.p_holm

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
    changed: int  # samples that both have, with another truth
    differences: Sequence[Difference]
    samples: Sequence[SamplePair]  # that both have, with the same truth, in file order
    notes: Sequence[str]
    level: str
    doubts: Sequence[tuple[ComparedRun, str]]  # what the audits of either run say against its score

    @property
    def headline(self) -> list[Difference]:
        """The official figures."""
        return [each for each in self.differences if each.is_headline]

    @property
    def subgroups(self) -> list[Difference]:
        """Platforms and kinds of elements; of episodes, platforms and categories."""
        return [each for each in self.differences if not each.is_headline]

    @property
    def flips_by_winner(self) -> list[tuple[str, str, list[SamplePair]]]:
        """Who is right, who is wrong, on which samples; without sides that have none."""
        names = self.run, self.baseline
        sides = [(*names, Outcome.ONLY_B), (*names[::-1], Outcome.ONLY_A)]
        found = [
            (winner, loser, [pair for pair in self.samples if pair.outcome == outcome])
            for winner, loser, outcome in sides
        ]
        return [side for side in found if side[2]]


class Comparison(NamedTuple):
    """Everything that is shown; notes are whole sentences."""

    runs: Sequence[ComparedRun]
    boards: Sequence[Board]
    pairs: Sequence[PairOfRuns]
    notes: Sequence[str]

    @property
    def summary(self) -> list[Board]:
        """The official figures of each data set."""
        return [board for board in self.boards if not board.split]


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
        found = [
            _compared(run, baseline, name)
            for baseline, run in combinations(having, 2)
            if all_pairs or baseline is having[0]
        ]
        differences = [each for pair in found for each in pair.subgroups]
        p_holm = holm(
            [each.paired.p_value if each.paired.interval else None for each in differences]
        )
        for each, p in zip(differences, p_holm, strict=True):
            each.p_holm = p
        pairs += found
    if len(runs) > 1 and not any(pair.samples for pair in pairs):
        changed = sum(pair.changed for pair in pairs)
        why = f" ({changed} have the same name but another ground truth)" if changed else ""
        names = ", ".join(f"{run.label} ({', '.join(run.sets)})" for run in runs)
        raise UserError(f"{names}: no sample in common{why}, so there is nothing to compare")
    notes = [note for run in runs for note in run.notes()] + notes_of(runs, published)
    if len(runs) == 1:  # those of several stand beside their differences
        notes += [
            f"{runs[0].label}, {name}: {text}"
            for name, scored in runs[0].sets.items()
            for text in scored.doubts
        ]
    return Comparison(runs, boards_of(runs, published), pairs, notes)


def _compared(run: ComparedRun, baseline: ComparedRun, dataset: str) -> PairOfRuns:
    ours, theirs = run.sets[dataset], baseline.sets[dataset]
    both = [
        SamplePair(ours.samples[key], theirs.samples[key])
        for key in theirs.samples
        if key in ours.samples
    ]
    common = [
        pair
        for pair in both
        if all(pair.run.get(name) == pair.baseline.get(name) for name in _TRUTH)
    ]
    noun, changed = noun_of(ours.level), len(both) - len(common)
    notes = [f"{counted(len(common), noun)} in common"]
    if changed:
        notes.append(f"{counted(changed, noun)} left out: question or ground truth differs")
    for each, scored in ((run, ours), (baseline, theirs)):
        if count := len(scored.samples) - len(both):
            notes.append(f"{counted(count, noun)} only in {each.label}")
    if ours.is_weighted != theirs.is_weighted:
        notes.append(
            "one score is weighted by options (L1_USE_WEIGHTED) and the other is not; "
            "the differences are unweighted"
        )
    other_images = sum(pair.has_other_images for pair in common)
    if other_images:
        about = "asked about different images in the two runs"
        notes.append(f"{counted(other_images, noun)} {about}")
    checksums = {"annotations": "annotations"} if other_images else _CHECKSUMS
    for what, name in checksums.items():
        mine, his = (each.entry(dataset).get(name) or {} for each in (run, baseline))
        if mine and his and mine != his and mine.get("count") == his.get("count"):
            notes.append(f"the runs had different {what} (checksums in their manifests)")
    doubts = [(run, text) for run in (baseline, run) for text in run.sets[dataset].doubts]
    is_weighted, is_acting = ours.is_weighted and theirs.is_weighted, ours.level in ACTING
    differences: list[Difference] = []
    if ours.has_score and theirs.has_score:
        differences = _differences(common, is_weighted=is_weighted, is_acting=is_acting)
    return PairOfRuns(
        dataset,
        run.label,
        baseline.label,
        changed,
        differences,
        common,
        notes,
        ours.level,
        doubts,
    )


def _differences(
    common: Sequence[SamplePair], *, is_weighted: bool, is_acting: bool
) -> list[Difference]:
    def weight(pair: SamplePair) -> float:
        options = pair.run.get("options") if is_weighted else None
        return (len(options) - 1) / len(options) if options else 1.0

    if not common:
        return []
    splits = {} if is_acting else _groups(common, "split", OFFICIAL)
    found = [
        _difference(name, pairs, _as_in_a_level(pairs, weight)) for name, pairs in splits.items()
    ]
    if set(splits) == {*GROUNDING_TYPES}:
        of_split = {name: 1 / len(pairs) for name, pairs in splits.items()}
        found.append(_difference(AVERAGE, common, lambda pair: of_split[pair.run["split"]]))
    elif is_acting or len(splits) > 1:
        found.append(_difference(OVERALL, common, weight))
    for each in found:
        each.is_headline = True
    groups_of = {"platform": PLATFORMS, **({"split": ()} if is_acting else {"kind": ELEMENT_KINDS})}
    for column, order in groups_of.items():
        if len(groups := _groups(common, column, order)) > 1:
            found += [_difference(name, pairs, weight) for name, pairs in groups.items()]
    return found


def _as_in_a_level(
    pairs: Sequence[SamplePair], weight: Callable[[SamplePair], float]
) -> Callable[[SamplePair], float]:
    """parity: in a difficulty platforms weigh by their samples, whatever questions weigh."""
    means = {
        name: sum(map(weight, own)) / len(own) or 1.0
        for name, own in _groups(pairs, "platform", PLATFORMS).items()
    }
    return lambda pair: weight(pair) / means[str(pair.run["platform"])]


def _groups(
    common: Sequence[SamplePair], column: str, order: Sequence[str]
) -> Mapping[str, Sequence[SamplePair]]:
    found: dict[str, list[SamplePair]] = {name: [] for name in order}
    for pair in common:
        if pair.run[column] is not None:  # an element may be of no kind
            found.setdefault(str(pair.run[column]), []).append(pair)
    return {name: pairs for name, pairs in found.items() if pairs}


def _difference(
    group: str, pairs: Sequence[SamplePair], weight: Callable[[SamplePair], float]
) -> Difference:
    weights = [weight(pair) for pair in pairs]
    hits = [pair.run["hit"] for pair in pairs], [pair.baseline["hit"] for pair in pairs]
    is_even = len(set(weights)) == 1  # alike, they may all be 0
    units = [str(pair.run.get("task") or pair.run["image"]) for pair in pairs]
    paired = compare_paired(*hits, units, None if is_even else weights)
    total = sum(weights) or 1
    run_pct, baseline_pct = (
        100 * sum(hit * each for hit, each in zip(side, weights, strict=True)) / total
        for side in hits
    )
    return Difference(group, len(pairs), run_pct, baseline_pct, paired)

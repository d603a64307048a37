"""Compares two runs on the samples that both have: differences with tests, and what flipped.

The unit of evidence is the image, not the sample: three questions share a screenshot. Differences
are of a run (B) less its baseline (A). The official figures are the headline; with several pairs of
runs the tests of each are corrected (Holm) for all pairs. The groups below them are many, so their
tests are corrected for each other, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations
from math import hypot
from statistics import fmean
from typing import Any, NamedTuple

from utils.analysis.judge_reading import SECTION as JUDGED
from utils.analysis.judge_reading import is_read_enough, with_reading
from utils.analysis.paired import MOST, PairedResult, compare_paired, holm
from utils.comparing.boards import Board, boards_of, notes_of
from utils.comparing.runs import ComparedRun, ScoredSet, answers_to
from utils.comparing.wordings import by_element, wording_notes
from utils.contracts import Facts, Verdict, credit_of, credits_of, repeat_of
from utils.datasets.published import Published
from utils.errors import UserError
from utils.protocol import (
    ACTING,
    AVERAGE,
    ELEMENT_KINDS,
    GROUNDING_TYPES,
    OFFICIAL,
    OVERALL,
    PLATFORM_ORDER,
    PLATFORMS,
    TIERS,
    noun_of_question,
    unit_of,
)
from utils.store.derived import changed_files
from utils.text import counted

CLEAR_P = 0.05
FEW_RUNS = 6  # with more, pairs without the first run have official figures and nothing else
_RESULT = ("chosen", "answered", "ended", "checks")
_TRUTH = ("platform", "options", "answer", "expected", "box_frac", "file_wh")
_QUESTION = ("text", "split")


class PairOutcome(StrEnum):
    """The outcome of a sample in two runs; A is the baseline."""

    ONLY_A = "only A right"
    ONLY_B = "only B right"
    APART = "both wrong, different"
    ALIKE = "both wrong, similar"
    SAME = "both wrong, same reply"
    BOTH = "both right"


class SamplePair(NamedTuple):
    """One sample in both runs, as their samples files have it."""

    run: Facts
    baseline: Facts

    @property
    def outcome(self) -> PairOutcome:
        """Return the outcome of the sample.

        If a question has several answers, most must be right. Wrong answers are apart if they
        differ in the option, the text, the action of a recorded step or the end of the episode, or
        if the clicks are further from each other than the diagonal of the target.
        """
        match self.baseline["hit"] > MOST, self.run["hit"] > MOST:
            case True, True:
                return PairOutcome.BOTH
            case True, False:
                return PairOutcome.ONLY_A
            case False, True:
                return PairOutcome.ONLY_B
        if self._is_apart():
            return PairOutcome.APART
        return PairOutcome.SAME if self._has_same_reply else PairOutcome.ALIKE

    @property
    def has_same_truth(self) -> bool:
        """Whether ground truth and question are the same; if reworded, the ground truth alone."""
        names = _TRUTH if self.is_reworded else (*_TRUTH, *_QUESTION)
        return all(self.run.get(name) == self.baseline.get(name) for name in names)

    @property
    def is_counted(self) -> bool:
        """Whether the scores of both runs count the sample."""
        return len(credits_of(self)) == len(self)

    @property
    def is_reworded(self) -> bool:
        """Whether the runs ask for one element of a table in different wordings of the table."""
        return self.run.get("wording") != self.baseline.get("wording")

    @property
    def text(self) -> str | None:
        """The question; both where an element is asked for in different words."""
        if self.is_reworded:
            return f"A: {self.baseline.get('text')} B: {self.run.get('text')}"
        text: str | None = self.run.get("text")
        return text

    @property
    def has_other_images(self) -> bool:
        """Whether the sample's image was replaced between the runs; False if one does not say."""
        digests = {facts.get("image_digest") for facts in self} - {None}
        return len(digests) > 1

    @property
    def has_other_verdict(self) -> bool:
        """Whether the same free answer is right in one run and wrong in the other."""
        answer, verdict = self.run.get("answered"), self.run.get("verdict")
        is_same = answer is not None and answer == self.baseline.get("answered")
        return is_same and verdict != self.baseline.get("verdict")

    @property
    def _has_same_reply(self) -> bool:
        """Whether both models gave exactly the same reply; False for episodes, which have many."""
        reply, baseline_reply = self.run.get("prediction"), self.baseline.get("prediction")
        are_answered = all(facts.get("status") == "ok" for facts in self)
        is_episode = "ended" in self.run
        return are_answered and not is_episode and reply is not None and reply == baseline_reply

    @property
    def _has_other_kind_of_action(self) -> bool:
        """Whether the actions of a recorded step are of two kinds, or one could not be read."""
        kinds = [(facts["details"]["answered"] or {}).get("kind") for facts in self]
        return kinds[0] != kinds[1]

    def _is_apart(self) -> bool:
        if "step" in self.run and self._has_other_kind_of_action:
            return True
        point, baseline_point = self.run.get("point_frac"), self.baseline.get("point_frac")
        box, wh = self.run.get("box_frac"), self.run.get("file_wh")
        if (point is None) != (baseline_point is None):
            return True
        if point is None or baseline_point is None or box is None or wh is None:
            if "step" in self.run:
                return bool(self.run["step"]["answer"] != self.baseline["step"]["answer"])
            return any(self.run.get(name) != self.baseline.get(name) for name in _RESULT)
        between_px = [(point[axis] - baseline_point[axis]) * wh[axis] for axis in (0, 1)]
        target_px = [(box[axis + 2] - box[axis]) * wh[axis] for axis in (0, 1)]
        return hypot(*between_px) > hypot(*target_px)


@dataclass(slots=True)
class Difference:
    """Two runs on one group of common samples: accuracies in percent, compared by image."""

    group: str
    samples: int
    run_pct: float
    baseline_pct: float
    paired: PairedResult
    field: str = ""  # of a sample that has the group's name; "": it is of all samples
    is_headline: bool = False  # an official figure
    p_holm: float | None = None  # corrected: an official figure for all pairs of runs, if there
    # are several; a group for all groups of all pairs

    @property
    def p_value(self) -> float | None:
        """p-value to display, corrected where it is one of several; None with too few images."""
        if self.paired.interval is None:
            return None
        return self.paired.p_value if self.p_holm is None else self.p_holm

    @property
    def is_clear(self) -> bool:
        """Whether the two runs differ significantly in this group."""
        return self.p_value is not None and self.p_value < CLEAR_P

    @property
    def points(self) -> tuple[float, float | None, float | None]:
        """The difference in percentage points, low and high of its 95 % interval."""
        return self.paired.points


@dataclass(frozen=True, slots=True)
class PairOfRuns:
    """Two runs on one data set."""

    dataset: str
    run: str
    baseline: str
    changed: int  # samples that both have, with another truth
    differences: Sequence[Difference]
    # That both have, with the same truth, in file order; none where `is_in_full` is not so.
    samples: Sequence[SamplePair]
    notes: Sequence[str]
    level: str
    doubts: Sequence[tuple[ComparedRun, str]]  # what the audits of either run say against its score
    is_in_full: bool = True  # False: with official figures alone
    has_part: bool = False  # one of the runs is of a part of the data set

    @property
    def unit(self) -> str:
        """The unit of intervals and tests: the episode, or the unit of the level."""
        has_episodes = any(sample.run.get("episode") for sample in self.samples)
        return "episode" if has_episodes else unit_of(self.level)

    @property
    def doubt_texts(self) -> list[str]:
        """The doubts of the audits, each with the label of its run."""
        return [
            f"{run.label}: {doubt}{'; see its report' if run.report else ''}"
            for run, doubt in self.doubts
        ]

    @property
    def headline(self) -> list[Difference]:
        """The official figures."""
        return [difference for difference in self.differences if difference.is_headline]

    @property
    def main(self) -> Difference | None:
        """The official figure over everything; None where the runs have no sample in common."""
        return self.headline[-1] if self.headline else None

    @property
    def subgroups(self) -> list[Difference]:
        """Platforms and kinds of elements; of episodes, platforms, categories and tiers."""
        return [difference for difference in self.differences if not difference.is_headline]

    @property
    def flips_by_winner(self) -> list[tuple[str, str, list[SamplePair]]]:
        """The run that is right, the run that is wrong, their samples; without empty sides."""
        sides = (
            (self.run, self.baseline, PairOutcome.ONLY_B),
            (self.baseline, self.run, PairOutcome.ONLY_A),
        )
        flips: list[tuple[str, str, list[SamplePair]]] = []
        for winner, loser, outcome in sides:
            samples = [pair for pair in self.samples if pair.outcome == outcome]
            if samples:
                flips.append((winner, loser, samples))
        return flips


class Comparison(NamedTuple):
    """Everything that is shown; notes are whole sentences."""

    runs: Sequence[ComparedRun]
    boards: Sequence[Board]
    pairs: Sequence[PairOfRuns]
    notes: Sequence[str]

    @property
    def has_many(self) -> bool:
        """Whether runs are shown in one table, sorted by score, instead of pair by pair."""
        return len(self.runs) > 2

    @property
    def summary(self) -> list[Board]:
        """The official figures of each data set."""
        return [board for board in self.boards if not board.split]


def compare(
    runs: Sequence[ComparedRun], *, all_pairs: bool = False, published: Published | None = None
) -> Comparison:
    """Put runs side by side: each against the first one that has the data set, or every pair.

    More than two are sorted by their scores.

    Raises:
        UserError: several runs, and no two that are paired have a sample in common.
    """
    pairs: list[PairOfRuns] = []
    notes: list[str] = []
    for name in dict.fromkeys(name for run in runs for name in run.sets):
        scored_runs = [run for run in runs if name in run.sets]
        first = scored_runs[0]
        if len(scored_runs) == 1 < len(runs):
            notes.append(f"{name}: not compared, only {first.label} has it")
        pairs_of_set = [
            _compared(
                run, baseline, name, in_full=baseline is first or len(scored_runs) <= FEW_RUNS
            )
            for baseline, run in combinations(scored_runs, 2)
            if all_pairs or baseline is first
        ]
        _correct_tests(pairs_of_set)
        pairs += pairs_of_set
    if len(runs) > 1 and not any(pair.samples for pair in pairs):
        raise UserError(_nothing_in_common(runs, pairs))
    notes += [note for run in runs for note in run.notes()]
    notes += [*_notes_on_rules(runs), *wording_notes(runs)]
    notes += notes_of(runs, published)
    if len(runs) == 1:  # those of several stand beside their differences
        for name, scored in runs[0].sets.items():
            notes += [f"{runs[0].label}, {name}: {doubt}" for doubt in scored.doubts]
    boards = boards_of(runs, published)
    if len(runs) > 2:
        boards = [board.sorted_by_score() for board in boards]
    return Comparison(runs, boards, pairs, notes)


def _correct_tests(pairs: Sequence[PairOfRuns]) -> None:
    """Correct the tests of pairs of runs on one data set (Holm).

    Of several pairs each official figure for all pairs; groups for all groups of all pairs.
    """
    families: dict[str, list[Difference]] = {}
    for pair in pairs:
        for difference in pair.differences:
            if not difference.is_headline:
                families.setdefault("", []).append(difference)
            elif len(pairs) > 1:
                families.setdefault(difference.group, []).append(difference)
    for family in families.values():
        p_values = [test.paired.p_value if test.paired.interval else None for test in family]
        for difference, p_holm in zip(family, holm(p_values), strict=True):
            difference.p_holm = p_holm


def _nothing_in_common(runs: Sequence[ComparedRun], pairs: Sequence[PairOfRuns]) -> str:
    changed = sum(pair.changed for pair in pairs)
    reason = f" ({changed} have the same name but another ground truth)" if changed else ""
    names = ", ".join(f"{run.label} ({', '.join(run.sets)})" for run in runs)
    return f"{names}: no sample in common{reason}, so there is nothing to compare"


def _compared(
    run: ComparedRun, baseline: ComparedRun, dataset: str, *, in_full: bool
) -> PairOfRuns:
    run_set, baseline_set = run.sets[dataset], baseline.sets[dataset]
    pairs = pairs_of_samples(run_set, baseline_set)
    common = [pair for pair in pairs if pair.has_same_truth]
    differences: list[Difference] = []
    if run_set.has_pairs and baseline_set.has_pairs:
        is_weighted = run_set.is_weighted and baseline_set.is_weighted
        is_acting = run_set.level in ACTING
        differences = _differences(
            [pair for pair in common if pair.is_counted],
            is_weighted=is_weighted,
            is_acting=is_acting,
            table=run_set.table or baseline_set.table,
            has_groups=in_full,
        )
    doubts = [(side, doubt) for side in (baseline, run) for doubt in side.sets[dataset].doubts]
    return PairOfRuns(
        dataset=dataset,
        run=run.label,
        baseline=baseline.label,
        changed=len(pairs) - len(common),
        differences=differences,
        samples=common if in_full else (),
        notes=_notes_on(run, baseline, dataset, pairs, common),
        level=run_set.level,
        doubts=doubts,
        is_in_full=in_full,
        has_part=run_set.is_partial or baseline_set.is_partial,
    )


def pairs_of_samples(run_set: ScoredSet, baseline_set: ScoredSet) -> list[SamplePair]:
    """Return the samples that both have; without a wording in common, by the element asked for."""
    run_samples, baseline_samples = run_set.samples, baseline_set.samples
    run_wordings, baseline_wordings = set(run_set.wordings), set(baseline_set.wordings)
    if run_wordings and baseline_wordings and run_wordings.isdisjoint(baseline_wordings):
        run_samples = by_element(run_samples.values())
        baseline_samples = by_element(baseline_samples.values())
    return [
        SamplePair(run_samples[key], facts)
        for key, facts in baseline_samples.items()
        if key in run_samples
    ]


def _notes_on_rules(runs: Sequence[ComparedRun]) -> Iterator[str]:
    """Say of each data set that its runs were scored by different rules."""
    for dataset in dict.fromkeys(name for run in runs for name in run.sets):
        rules = {
            run.label: run.scored_by(dataset)
            for run in runs
            if dataset in run.sets and run.scored_by(dataset)
        }
        if len(set(rules.values())) > 1:
            by_run = "; ".join(f"{label} by {rule}" for label, rule in rules.items())
            yield (
                f"{dataset}: the runs are scored by different rules, so equal replies may score "
                f"differently: {by_run}"
            )


def _notes_on(
    run: ComparedRun,
    baseline: ComparedRun,
    dataset: str,
    pairs: Sequence[SamplePair],
    common: Sequence[SamplePair],
) -> list[str]:
    """Notes that a reader of a pair of runs must know.

    Args:
        run: the later run.
        baseline: the run that it is compared with.
        dataset: that both were scored on.
        pairs: the samples that both have.
        common: those of them with the same truth.
    """
    run_set, baseline_set = run.sets[dataset], baseline.sets[dataset]
    noun = noun_of_question(run_set.level)
    notes = [f"{counted(len(common), noun)} in common"]
    if common and common[0].is_reworded:
        wordings = [", ".join(side.wordings) for side in (baseline_set, run_set)]
        notes.append(f"the same elements, worded differently: A {wordings[0]}, B {wordings[1]}")
    changed = len(pairs) - len(common)
    if changed:
        notes.append(f"{counted(changed, noun)} left out, because question or ground truth differs")
    uncounted = sum(not pair.is_counted for pair in common)
    if uncounted:
        notes.append(
            f"{counted(uncounted, noun)} left out of the differences by the rule of the score"
        )
    for side in (run, baseline):
        only = len(side.sets[dataset].samples) - len(pairs)
        if only:
            notes.append(f"{counted(only, noun)} only in {side.label}")
    if run_set.is_weighted != baseline_set.is_weighted:
        notes.append(
            "one score is weighted by options (L1_USE_WEIGHTED) and the other is not; "
            "the differences are unweighted"
        )
    notes += _notes_on_rules_and_inputs(run, baseline, dataset, common)
    return notes


def _notes_on_rules_and_inputs(
    run: ComparedRun, baseline: ComparedRun, dataset: str, common: Sequence[SamplePair]
) -> list[str]:
    """Notes on verdicts, images and annotations that differ without the models' doing."""
    noun = noun_of_question(run.sets[dataset].level)
    notes: list[str] = []
    other_verdicts = sum(pair.has_other_verdict for pair in common)
    files = changed_files(baseline.sets[dataset].head, run.sets[dataset].head)
    if files and not other_verdicts:
        notes.append(f"the two runs were scored by different versions of {files}")
    if other_verdicts:
        rules = f"versions of {files}" if files else "rules"
        have = "has" if other_verdicts == 1 else "have"
        notes.append(
            f"{counted(other_verdicts, noun)} {have} the same answer and different verdicts: the "
            f"two runs were scored by different {rules}"
        )
    with_judge = [
        side.label
        for side in (run, baseline)
        if any(JUDGED in facts for facts in side.sets[dataset].samples.values())
    ]
    if len(with_judge) == 1:
        notes.append(
            f"only {with_judge[0]} has a judge. All figures but one named after the judge are "
            "those without it"
        )
    other_images = sum(pair.has_other_images for pair in common)
    if other_images:
        about = "with different images in the two runs"
        notes.append(f"{counted(other_images, noun)} {about}")
    for inputs, name in (("annotations", "annotations"), ("images", "pictures")):
        run_sum = run.entry(dataset).get(name) or {}
        baseline_sum = baseline.entry(dataset).get(name) or {}
        if not run_sum or not baseline_sum or (name == "pictures" and other_images):
            continue
        if run_sum != baseline_sum and run_sum.get("count") == baseline_sum.get("count"):
            notes.append(f"the runs had different {inputs} (checksums in their manifests)")
    return notes


def _differences(
    common: Sequence[SamplePair],
    *,
    is_weighted: bool,
    is_acting: bool,
    table: Mapping[str, Any],
    has_groups: bool,
) -> list[Difference]:
    """Return the differences in the official figures, then those in groups of samples.

    Args:
        table: of a score. Its `parts` are fields of a sample, and the official figure is the mean
            of the means of the samples that agree in them. None: of a level, or a mean over all
            samples.
    """

    def weight(pair: SamplePair) -> float:
        options = pair.run.get("options") if is_weighted else None
        return (len(options) - 1) / len(options) if options else 1.0

    if not common:
        return []
    labels = _labels_of(table)
    headline = [
        *_with_judge(common, weight),
        *_official_differences(common, weight, is_acting, table),
    ]
    differences = [replace(difference, is_headline=True) for difference in headline]
    if has_groups:
        differences += _whole_episodes(common)
        differences += _group_differences(common, weight, is_acting, labels)
    return differences


def _official_differences(
    common: Sequence[SamplePair],
    weight: Callable[[SamplePair], float],
    is_acting: bool,
    table: Mapping[str, Any],
) -> list[Difference]:
    """Return the differences in the figures of each split, then that in their average."""
    parts_of_average = table.get("parts") or ()
    total = (table.get("official") or [OVERALL])[-1]  # as the table names it
    splits: Mapping[str, Sequence[SamplePair]] = {}
    if not is_acting:
        splits = _groups(common, "split", (*OFFICIAL, *_labels_of(table).get("split", ())))
    headline = [
        replace(_difference(name, pairs, _as_in_a_level(pairs, weight)), field="split")
        for name, pairs in splits.items()
    ]
    if parts_of_average:
        sizes = Counter(_part(pair, parts_of_average) for pair in common)
        average = _difference(total, common, lambda pair: 1 / sizes[_part(pair, parts_of_average)])
        headline.append(average)
    elif "official" not in table and set(splits) == {*GROUNDING_TYPES}:
        split_weights = {name: 1 / len(pairs) for name, pairs in splits.items()}
        average = _difference(AVERAGE, common, lambda pair: split_weights[pair.run["split"]])
        headline.append(average)
    elif is_acting or len(splits) != 1:  # none: the parts of a benchmark of the user's own
        headline.append(_difference(total, common, weight))
    return headline


def _group_differences(
    common: Sequence[SamplePair],
    weight: Callable[[SamplePair], float],
    is_acting: bool,
    labels: Mapping[str, Sequence[str]],
) -> list[Difference]:
    """Return the differences on each platform, kind of element, split or tier of tasks."""
    differences: list[Difference] = []
    group_columns = {"platform": PLATFORM_ORDER}
    if is_acting:
        group_columns["split"] = ()
        if all(pair.run.get("tier") for pair in common):
            group_columns["tier"] = TIERS
    else:
        group_columns["kind"] = ELEMENT_KINDS
    for column, order in group_columns.items():
        groups = _groups(common, column, (*labels.get(column, ()), *order))
        if len(groups) > 1:
            differences += [
                replace(_difference(name, pairs, weight), field=column)
                for name, pairs in groups.items()
            ]
    return differences


def _labels_of(table: Mapping[str, Any]) -> dict[str, Sequence[str]]:
    """Return the names of a score table's rows and columns by the field that holds them."""
    rows = [row["name"] for row in table.get("rows", ())]
    by_field = {table.get("row_field"): rows, table.get("column_field"): table.get("columns", ())}
    return {str(field): names for field, names in by_field.items() if field}


def _with_judge(
    common: Sequence[SamplePair], weight: Callable[[SamplePair], float]
) -> list[Difference]:
    """Return the difference with the readings of a judge.

    A run whose replies were all read without one needs none. There is no difference where no run
    has a judge, or where one has read less than half of what it was to read.
    """
    sides = ([pair.run for pair in common], [pair.baseline for pair in common])
    answers_of_sides = [
        [answer for facts in side for answer in answers_to(facts)] for side in sides
    ]
    has_judge = [any(JUDGED in answer for answer in answers) for answers in answers_of_sides]
    if not any(has_judge):
        return []
    for is_judged, answers in zip(has_judge, answers_of_sides, strict=True):
        is_all_read = all(answer.get("verdict") != Verdict.UNPARSED for answer in answers)
        if not (is_read_enough(answers) if is_judged else is_all_read):
            return []
    judged = [SamplePair(_judged(pair.run), _judged(pair.baseline)) for pair in common]
    return [_difference("overall with the judge", judged, weight)]


def _judged(facts: Facts) -> Facts:
    """Return a sample as it counts with the judge, several answers with the mean of theirs."""
    hits = [with_reading(answer)["hit"] for answer in answers_to(facts)]
    return {**with_reading(facts), "hit": sum(hits) / len(hits)}


def _part(pair: SamplePair, fields: Sequence[str]) -> tuple[Any, ...]:
    return tuple(pair.run[field] for field in fields)


def _as_in_a_level(
    pairs: Sequence[SamplePair], weight: Callable[[SamplePair], float]
) -> Callable[[SamplePair], float]:
    """parity: in a difficulty platforms weigh by their samples, whatever questions weigh."""
    means = {
        name: sum(map(weight, group)) / len(group) or 1.0
        for name, group in _groups(pairs, "platform", PLATFORMS).items()
    }
    return lambda pair: weight(pair) / means.get(str(pair.run["platform"]), 1.0)


def _groups(
    common: Sequence[SamplePair], column: str, order: Sequence[str]
) -> Mapping[str, Sequence[SamplePair]]:
    """Return the samples by the value of a column, those of `order` first."""
    groups: dict[str, list[SamplePair]] = {name: [] for name in order}
    for pair in common:
        if pair.run.get(column) is not None:  # an element may be of no kind
            groups.setdefault(str(pair.run[column]), []).append(pair)
    return {name: pairs for name, pairs in groups.items() if pairs}


def _difference(
    group: str, pairs: Sequence[SamplePair], weight: Callable[[SamplePair], float]
) -> Difference:
    weights = [weight(pair) for pair in pairs]
    run_credits = credits_of(pair.run for pair in pairs)
    baseline_credits = credits_of(pair.baseline for pair in pairs)
    rights = [pair.run["hit"] for pair in pairs], [pair.baseline["hit"] for pair in pairs]
    is_even = len(set(weights)) == 1  # alike, they may all be 0
    units = [str(_unit(pair.run)) for pair in pairs]
    paired = compare_paired(
        run_credits, baseline_credits, units, None if is_even else weights, rights=rights
    )
    return Difference(
        group,
        len(pairs),
        _percent(run_credits, weights),
        _percent(baseline_credits, weights),
        paired,
    )


def _unit(facts: Facts) -> Any:
    """The task, episode or image: samples that share it are no independent evidence."""
    return facts.get("task") or facts.get("episode") or facts["image"]


def _whole_episodes(common: Sequence[SamplePair]) -> list[Difference]:
    """Return the difference in recorded episodes all of whose steps are right."""
    episodes: dict[str, list[SamplePair]] = {}
    for pair in common:
        if pair.run.get("episode") is None:
            return []
        episodes.setdefault(pair.run["episode"], []).append(pair)
    episode_pairs = [
        SamplePair(
            _as_episode([step.run for step in steps]),
            _as_episode([step.baseline for step in steps]),
        )
        for steps in episodes.values()
    ]
    return [_difference("whole episodes", episode_pairs, lambda pair: 1.0)]


def _as_episode(steps: Sequence[Facts]) -> Facts:
    """The steps of an episode as one sample: whether all are right, in the mean of its answers."""
    credits_by_repeat: dict[int, list[float]] = {}
    for step in steps:
        for answer in answers_to(step):
            credit = credit_of(answer)
            if credit is not None:
                credits_by_repeat.setdefault(repeat_of(answer["key"]), []).append(credit)
    share = fmean(all(credit == 1 for credit in credits) for credits in credits_by_repeat.values())
    return {**steps[0], "hit": share, "credit": share}


def _percent(credits: Sequence[float], weights: Sequence[float]) -> float:
    total = sum(weights) or 1
    weighted = sum(credit * weight for credit, weight in zip(credits, weights, strict=True))
    return 100 * weighted / total

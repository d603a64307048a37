"""The headroom of a table: rows that all strong runs miss, and rows that may be wrong.

A row is doubtful if most strong runs give the same answer, and the table another one. These runs
may also be wrong in the same way: a doubtful row is one to look at. The figure without doubtful
rows is shown beside the official one, never in its place.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import hypot
from typing import Any

from utils.analysis.intervals import interval
from utils.analysis.paired import MOST
from utils.comparing.files import as_csv
from utils.comparing.pairing import SamplePair
from utils.comparing.runs import ComparedRun, ScoredSet
from utils.comparing.words import one_line, wrapped
from utils.contracts import Facts, credit_of, credits_of
from utils.protocol import ACTING, noun_of_question, title_of
from utils.scoring.console import grid
from utils.scoring.doubtful import FORMAT
from utils.text import counted, format_interval, format_percent, printable

FILE, WRONG_FILE = "doubtful_rows.json", "wrong_in_all_runs.csv"
WRONG_COLUMNS = (
    *("dataset", "key", "index", "id", "image", "platform", "app", "split", "kind", "text"),
    "doubtful",
)
FEWEST_RUNS = 3
STRONG_POINTS = 20.0  # a run is strong if its accuracy is so near that of the best
NEAR_SHARE = 0.01  # of the image's diagonal: answers so near one another mean one place
MOST_SHOWN = 10  # doubtful rows on the console
RULE = (
    f"A run is strong if it is within {STRONG_POINTS:.0f} points of the best, and has at least "
    "half as many answers as the largest. A row is doubtful if more than half of the strong "
    f"runs, and at least {FEWEST_RUNS}, give the same wrong answer. Answers are the same if they "
    "have the same letter, say that there is no such element, or click within "
    f"{100 * NEAR_SHARE:.0f} % of the image's diagonal of one click. If these clicks are that "
    "near to the target, they narrowly miss it, and the row is not doubtful."
)


@dataclass(frozen=True)
class DoubtfulRow:
    """A row on whose answer most strong runs agree, against the table."""

    facts: Facts  # of one of these runs
    answer: str  # that they agree on, as people read it
    seen_by: Sequence[str]  # labels of these runs
    right: Sequence[str]  # of those that the table calls right

    @property
    def is_near(self) -> bool:
        """Whether the point that these runs agree on narrowly misses the target."""
        point, box = _click_of(self.facts), self.facts.get("box_frac")
        if point is None or box is None:
            return False
        nearest = [min(max(point[axis], box[axis]), box[axis + 2]) for axis in (0, 1)]
        return _are_near(point, nearest, self.facts)

    @property
    def key(self) -> str:
        """Of the sample."""
        return str(self.facts["key"])

    def as_json(self) -> dict[str, Any]:
        """The row as the file has it."""
        return {
            "key": self.key,
            **{name: self.facts.get(name) for name in ("index", "image", "text", "box_frac")},
            "answer": self.answer,
            "point_frac": _click_of(self.facts),
            "seen_by": list(self.seen_by),
            "right": list(self.right),
        }


@dataclass(frozen=True)
class RowShare:
    """A part of rows in percent, with its 95 % interval by image where there is one."""

    count: int
    value: float
    low: float | None
    high: float | None

    @classmethod
    def of(cls, marks: Sequence[float], images: Sequence[Hashable]) -> RowShare:
        """The share of the marks, 0 or 1 (a mean of several answers: between) a row."""
        bounds = interval(marks, None, images)
        low, high = (None, None) if bounds is None else (100 * bounds.low, 100 * bounds.high)
        value = 100 * sum(marks) / (len(marks) or 1)
        return cls(sum(mark > MOST for mark in marks), value, low, high)

    @property
    def cells(self) -> list[str]:
        """The share and its interval as a table has them."""
        cell = {"value": self.value, "low": self.low, "high": self.high}
        return [format_percent(self.value), format_interval(cell)]


@dataclass(frozen=True)
class OfOneRun:
    """The share of right rows of one run, with and without the doubtful ones."""

    run: ComparedRun
    is_strong: bool
    rows: int
    all_rows: RowShare
    rows_left: int
    without_doubtful: RowShare


@dataclass(frozen=True)
class Headroom:
    """The headroom of one data set: shares of its rows that are right, missed or doubtful."""

    dataset: str
    level: str
    strong: Sequence[str]  # labels
    annotations: Sequence[str]  # SHA-256 of what the rows of these runs were read from
    rows: int  # that all of these have answered
    all_right: RowShare
    all_wrong: RowShare
    missed_alike: RowShare
    doubtful_share: RowShare
    doubtful: Sequence[DoubtfulRow]
    wrong_in_all: Sequence[Facts]  # of one of the strong runs
    runs: Sequence[OfOneRun]

    @property
    def shares(self) -> list[tuple[str, RowShare]]:
        """The parts of the rows, each with its name."""
        return [
            ("right in all runs", self.all_right),
            ("wrong in all runs", self.all_wrong),
            ("narrowly missed by most, in one place", self.missed_alike),
            ("doubtful: most agree on another answer", self.doubtful_share),
        ]

    def as_json(self) -> dict[str, Any]:
        """The data set as the file has it."""
        return {
            "level": self.level,
            "annotations": list(self.annotations),
            "rows": self.rows,
            "right_in_all": self.all_right.count,
            "wrong_in_all": self.all_wrong.count,
            "runs": [
                {
                    "name": one.run.label,
                    "model": one.run.model,
                    "folder": one.run.folder,
                    "is_strong": one.is_strong,
                    "rows": one.rows,
                    "accuracy": one.all_rows.value,
                    "accuracy_without_doubtful": one.without_doubtful.value,
                }
                for one in self.runs
            ],
            "doubtful": [row.as_json() for row in self.doubtful],
        }


def headrooms_of(runs: Sequence[ComparedRun]) -> list[Headroom]:
    """Return the headroom of each data set with three strong runs or more; episodes have none."""
    headrooms: list[Headroom] = []
    for dataset in dict.fromkeys(name for run in runs for name in run.sets):
        with_set = [run for run in runs if dataset in run.sets and run.sets[dataset].has_score]
        if not with_set or with_set[0].sets[dataset].level in ACTING:
            continue
        strong = _strong(with_set, dataset)
        if len(strong) >= FEWEST_RUNS:
            headrooms.append(_headroom(dataset, with_set, strong))
    return headrooms


def file_content(headrooms: Sequence[Headroom]) -> dict[str, Any]:
    """Return the content of the file of doubtful rows."""
    return {
        "format": FORMAT,
        "rule": RULE,
        "datasets": {headroom.dataset: headroom.as_json() for headroom in headrooms},
    }


def wrong_in_all_csv(headrooms: Sequence[Headroom]) -> str:
    """Return a line for each row that no strong run has right."""
    rows: list[dict[str, Any]] = []
    for headroom in headrooms:
        doubtful = {row.key for row in headroom.doubtful}
        rows += [
            {**facts, "dataset": headroom.dataset, "doubtful": facts["key"] in doubtful}
            for facts in headroom.wrong_in_all
        ]
    return as_csv(WRONG_COLUMNS, rows)


def as_text(headrooms: Sequence[Headroom]) -> str:
    """Return the headroom of each data set for the console."""
    lines: list[str] = []
    for headroom in headrooms:
        lines += ["", *_lines(headroom)]
    if not headrooms:
        lines.append("Headroom: no data set has three strong runs (episodes have none)")
    return "\n".join(map(printable, [*lines, "", *wrapped(RULE)]))


# -- which runs, which rows -----------------------------------------------------------------------


def _strong(runs: Sequence[ComparedRun], dataset: str) -> list[ComparedRun]:
    """The runs whose agreement says something about the rows of a data set."""
    sets = {run.label: run.sets[dataset] for run in runs}
    most_answers = max(len(_answered(scored)) for scored in sets.values())
    large = [run for run in runs if 2 * len(_answered(sets[run.label])) >= most_answers]
    accuracies = {run.label: _accuracy(sets[run.label]) for run in large}
    best = max(accuracies.values())
    return [run for run in large if accuracies[run.label] >= best - STRONG_POINTS]


def _answered(scored: ScoredSet) -> dict[str, Facts]:
    return {key: facts for key, facts in _counted(scored).items() if facts.get("verdict")}


def _counted(scored: ScoredSet) -> dict[str, Facts]:
    """The samples that the score counts: a rule of recorded steps may leave some out."""
    return {key: facts for key, facts in scored.samples.items() if credit_of(facts) is not None}


def _accuracy(scored: ScoredSet) -> float:
    credits = credits_of(_answered(scored).values())
    return 100 * sum(credits) / (len(credits) or 1)


def _headroom(dataset: str, runs: Sequence[ComparedRun], strong: Sequence[ComparedRun]) -> Headroom:
    samples = {run.label: _answered(run.sets[dataset]) for run in strong}
    first, *others = samples.values()
    keys = [
        key
        for key, facts in first.items()
        if all(
            key in run_samples and SamplePair(run_samples[key], facts).has_same_truth
            for run_samples in others
        )
    ]
    images = [first[key].get("image") for key in keys]
    rows = {
        key: {label: run_samples[key] for label, run_samples in samples.items()} for key in keys
    }
    right = {key: _right(row) for key, row in rows.items()}
    agreed = [row for key in keys if (row := _agreed(rows[key], right[key])) is not None]
    doubtful = [row for row in agreed if not row.is_near]
    near = {row.key for row in agreed if row.is_near}
    names = {row.key for row in doubtful}
    return Headroom(
        dataset=dataset,
        level=runs[0].sets[dataset].level,
        strong=[run.label for run in strong],
        annotations=sorted({*filter(None, (_annotations(run, dataset) for run in strong))}),
        rows=len(keys),
        all_right=RowShare.of([len(right[key]) == len(strong) for key in keys], images),
        all_wrong=RowShare.of([not right[key] for key in keys], images),
        missed_alike=RowShare.of([key in near for key in keys], images),
        doubtful_share=RowShare.of([key in names for key in keys], images),
        doubtful=doubtful,
        wrong_in_all=[first[key] for key in keys if not right[key]],
        runs=[_with_and_without(run, dataset, names, run in strong) for run in runs],
    )


def _annotations(run: ComparedRun, dataset: str) -> str | None:
    """The SHA-256 of the annotations that a run was made with; None where that is not known."""
    entry = (run.manifest.get("datasets") or {}).get(dataset) or {}
    return (entry.get("annotations") or {}).get("sha256")


def _right(row: Mapping[str, Facts]) -> list[str]:
    return [label for label, facts in row.items() if facts["hit"] > MOST]


def _agreed(row: Mapping[str, Facts], right: Sequence[str]) -> DoubtfulRow | None:
    """The row if most runs agree on another answer than the table's; None: they do not."""
    wrong = {label: facts for label, facts in row.items() if label not in right}
    if len(wrong) < FEWEST_RUNS or 2 * len(wrong) <= len(row):
        return None
    groups = (
        (facts, [other for other in wrong if _agree(facts, wrong[other])])
        for facts in wrong.values()
    )
    facts, seen_by = max(groups, key=lambda group: len(group[1]))
    if len(seen_by) < FEWEST_RUNS or 2 * len(seen_by) <= len(row):
        return None
    return DoubtfulRow(facts, _answer_text(facts), seen_by, right)


def _agree(facts: Facts, other: Facts) -> bool:
    """Whether two wrong answers agree."""
    if facts.get("declined") or other.get("declined"):
        return bool(facts.get("declined") and other.get("declined"))
    point, other_point = facts.get("point_frac"), other.get("point_frac")
    if point is not None and other_point is not None:
        return _are_near(point, other_point, facts)
    if point is not None or other_point is not None:
        return False
    return facts.get("chosen") is not None and facts["chosen"] == other.get("chosen")


def _click_of(facts: Facts) -> Sequence[float] | None:
    """The click of an answer; None where it says that there is no such element."""
    return None if facts.get("declined") else facts.get("point_frac")


def _are_near(point: Sequence[float], other: Sequence[float], facts: Facts) -> bool:
    """Whether two points, in fractions of a sample's image, are near enough to be one place."""
    width, height = facts.get("file_wh") or (1, 1)
    apart = hypot((point[0] - other[0]) * width, (point[1] - other[1]) * height)
    return apart <= NEAR_SHARE * hypot(width, height)


def _answer_text(facts: Facts) -> str:
    point = _click_of(facts)
    if point is None:
        return str(facts["chosen"]) if facts.get("chosen") else "there is no such element"
    wh = facts.get("file_wh")
    if not wh:
        return f"{100 * point[0]:.1f} %, {100 * point[1]:.1f} %"
    return f"({point[0] * wh[0]:.0f}, {point[1] * wh[1]:.0f})"


def _with_and_without(
    run: ComparedRun, dataset: str, doubtful: set[str], is_strong: bool
) -> OfOneRun:
    samples = _counted(run.sets[dataset])
    undoubted = [facts for key, facts in samples.items() if key not in doubtful]
    return OfOneRun(
        run,
        is_strong,
        len(samples),
        _share_right([*samples.values()]),
        len(undoubted),
        _share_right(undoubted),
    )


def _share_right(samples: Sequence[Facts]) -> RowShare:
    """The mean credit of samples that the score counts."""
    return RowShare.of(credits_of(samples), [facts.get("image") for facts in samples])


# -- the console ----------------------------------------------------------------------------------


def _lines(headroom: Headroom) -> Iterator[str]:
    noun = noun_of_question(headroom.level)
    title = title_of(headroom.level, headroom.dataset)
    yield (
        f"Headroom of {title}: {counted(headroom.rows, noun)} that "
        f"{counted(len(headroom.strong), 'strong run')} answered"
    )
    rows = [[name, str(share.count), *share.cells] for name, share in headroom.shares]
    yield from grid([[f"{noun}s", "count", "%", "95 %"], *rows])
    yield ""
    heads = ["right, in %", "rows", "all", "95 %", "without doubtful", "95 %"]
    yield from grid([heads, *map(_cells_of_run, headroom.runs)])
    yield "Here each row counts the same. The official figure is in the score table."
    for row in headroom.doubtful[:MOST_SHOWN]:
        row_name = f"{row.facts.get('image')} #{row.facts.get('index')}"
        text = one_line(str(row.facts.get("text")), 60)
        yield f"  {row_name}: {text} → {row.answer} in {len(row.seen_by)} of {len(headroom.strong)}"
    if len(headroom.doubtful) > MOST_SHOWN:
        yield f"  and {len(headroom.doubtful) - MOST_SHOWN} more doubtful rows"


def _cells_of_run(one: OfOneRun) -> list[str]:
    name = one_line(one.run.label, 40) + ("" if one.is_strong else " (not strong)")
    return [name, str(one.rows), *one.all_rows.cells, *one.without_doubtful.cells]

"""The scored samples of a run by column, and what the sections of all audits share."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, count, groupby
from operator import itemgetter, sub
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from utils.contracts import Facts, credit_of
from utils.findings import Finding

if TYPE_CHECKING:
    from utils.analysis.intervals import Floats, Interval, Ints, Labels, Mask
    from utils.geometry.resizing import ResizeStep

FIELDS = (
    "key",
    "index",
    "id",
    "image",
    "platform",
    "split",
    "kind",
    "status",
    "verdict",
    "hit",
    "credit",
    "prediction",
    "text",
    "finish_reason",
    "server",
    "latency_s",
    "prompt_tokens",
    "file_wh",
    "sent_wh",
    "grid_wh",
    "box_frac",
    "point_frac",
    "declined",
    "groups",
    "target",
    "zoom",
    "options",
    "answer",
    "chosen",
    "answered",
    "expected",
    "question",
    "rotations",
    "repeat",
    "fingerprint",
    "episode",
    "task",
    "steps",
    "ended",
    "apps",
    "tier",
    "feasible",
    "partial",
    "action_count",
    "cost",
    "details",
)
"""Of a sample's facts, what a figure or an audit looks at; see `utils/scoring/samples.py`."""
NUMBER = "number"  # of a sample in file order

Row = dict[str, Any]
"""One line of a section's table: a name and plain numbers or texts, None where there is none."""


class Section(TypedDict):
    """The result of an audit: one entry of a run's analysis."""

    title: str
    rows: list[Row]
    notes: list[str]
    findings: NotRequired[list[Finding]]  # without them it is a table, no check
    at: NotRequired[dict[str, str]]  # spans of the samples behind a row or a cell, by name
    counts: NotRequired[dict[str, int]]
    clear: NotRequired[str]  # what to say instead of the usual words where nothing was found
    is_undecided: NotRequired[bool]  # there is too little to look at: no tick in the report
    # Of the coordinate audit: names of the ways to read the replies.
    configured: NotRequired[list[str]]  # those that the parse function implements
    best: NotRequired[list[str]]  # those that fit best


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """The facts of a data set that an audit gets beside its samples."""

    dataset: str = ""
    model: str = ""
    parser_setting: str = "parse_function"  # the key path of the config that reads these replies
    scored_kinds: tuple[str, ...] = ()  # kinds of samples whose hits count; (): all
    image_rule: ResizeStep | None = None  # how the model's processor resizes; None: not known
    as_option: bool = False  # the run has no config file: `--set` changes a setting
    has_replies: bool = True  # False: an import of points alone
    is_read_by_recipe: bool = False  # what is unparsed, by another function: no other is advised


class SampleColumns:
    """The scored samples for figures and audits, in file order: a list for each field."""

    def __init__(self) -> None:
        self._columns: dict[str, list[Any]] = {field: [] for field in (*FIELDS, NUMBER)}
        self._sizes: dict[tuple[int, ...], tuple[int, ...]] = {}

    def add(self, facts: Facts) -> None:
        """Add a sample; of equal texts and sizes, of which there are many, one is kept."""
        usage = facts.get("usage") or {}
        facts = {
            **facts,
            NUMBER: len(self._columns[NUMBER]),
            "credit": credit_of(facts),
            "prompt_tokens": usage.get("prompt_tokens"),
        }
        for field, column in self._columns.items():
            value = facts.get(field)
            if type(value) is str:
                value = sys.intern(value)
            elif value and field.endswith("_wh"):
                value = self._sizes.setdefault(tuple(value), tuple(value))
            elif value and field == "box_frac":
                value = array("d", value)
            column.append(value)

    def __len__(self) -> int:
        return len(self._columns["hit"])

    def __getitem__(self, field: str) -> list[Any]:
        return self._columns[field]

    def where(self, keep: Sequence[bool] | Mask) -> SampleColumns:
        """Return new columns with some of the samples.

        Args:
            keep: True or False for each sample, in the order of the columns.
        """
        if all(keep):
            return self
        selected = SampleColumns()
        for field, column in self._columns.items():
            selected._columns[field] = list(compress(column, keep))
        return selected

    def answered(self) -> SampleColumns:
        """Return new columns with the samples that have a reply."""
        return self.where([verdict is not None for verdict in self["verdict"]])

    def with_one_box(self) -> SampleColumns:
        """Return the samples whose target is one box."""
        return self.where(self._have_one_box())

    def without_one_box(self) -> list[str]:
        """Return a note on the samples whose target is something else; nothing where all fit."""
        count = self._have_one_box().count(False)
        if not count:
            return []
        what = "their target is a polygon, several boxes or none."
        return [f"{count} samples are left out: {what}"]

    def _have_one_box(self) -> list[bool]:
        return [
            target is None and box is not None
            for target, box in zip(self["target"], self["box_frac"], strict=True)
        ]

    def hits(self) -> Floats:
        """Return an array with 1.0 or 0.0 for each sample, as the score counts it."""
        import numpy as np

        return np.array(self["hit"], dtype=np.float64)

    def pictures(self) -> Ints:
        """Return an array with a number for each sample: samples on one image have the same."""
        from utils.analysis.intervals import numbered

        return numbered([str(image) for image in self["image"]])

    def spans(self, keep: Sequence[bool] | Mask) -> str:
        """Return the numbers of some samples as a text, such as `0-3 7`: for `at` of an audit.

        Args:
            keep: True or False for each sample, in the order of the columns.
        """
        numbers = list(compress(self[NUMBER], keep))
        distances = map(sub, numbers, count())  # from the position: equal along a span
        spans = []
        for _, group in groupby(zip(distances, numbers, strict=True), itemgetter(0)):
            first, *more = (number for _, number in group)
            spans.append(f"{first}-{more[-1]}" if more else f"{first}")
        return " ".join(spans)


def in_spans(spans: str) -> Iterator[int]:
    """Yield the numbers of samples that `SampleColumns.spans` has written."""
    for span in spans.split():
        first, _, last = span.partition("-")
        yield from range(int(first), int(last or first) + 1)


def table(rows: Sequence[Sequence[float] | None], width: int) -> Floats:
    """Return rows of numbers as an array of shape (rows, width), NaN where there are fewer."""
    import numpy as np

    unknown = [float("nan")] * width
    filled = [(*(row or ()), *unknown)[:width] for row in rows]
    return np.array(filled, dtype=np.float64).reshape(-1, width)


def share(
    hits: Mask | Floats | Sequence[float],
    pictures: Labels,
    weights: Floats | None = None,
    groups: Ints | None = None,
) -> Row:
    """Return the share of hits as one cell of a table, with its 95 % interval.

    For example, `share([1, 0, 1, 1], columns.pictures())` has the `value` 75.0.

    Args:
        hits: a number for each sample, 0 to 1: whether it is right, or its credit.
        pictures: the image of each sample, by name or number. Samples of one image count as one
            piece of evidence in the interval.
        weights: the weight of each sample in the mean; None: all are equal.
        groups: the number of the group of each sample, if the figure is a mean of the means of
            groups; otherwise None.

    Returns:
        `value` in percent (None without samples); `low` and `high`, the ends of the interval in
        percent (None with fewer than 10 images); `samples` and `pictures`, how many were counted.
    """
    import numpy as np

    from utils.analysis.intervals import interval, numbered

    values = np.asarray(hits, dtype=np.float64)
    pictures = numbered(pictures)
    value = percent(np.average(values, weights=weights)) if len(values) else None
    return {
        "value": value,
        **in_percent(interval(values, weights, pictures, groups)),
        "samples": len(values),
        # np.unique would import numpy.ma, which costs more than the figures of a small run.
        "pictures": len(set((pictures if weights is None else pictures[weights > 0]).tolist())),
    }


def percent(fraction: float) -> float:
    """Return a fraction in percent, rounded to six digits: 0.25 becomes 25.0."""
    return round(100 * float(fraction), 6)


def in_percent(bounds: Interval | None) -> Row:
    """Return the cells of an interval, empty where there is none."""
    low, high = (percent(bounds.low), percent(bounds.high)) if bounds else (None, None)
    return {"low": low, "high": high}

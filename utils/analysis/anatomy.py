"""Distances and directions of the misses; the accuracy by target size is among the groups."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from utils.analysis import intervals
from utils.analysis.columns import (
    AuditSettings,
    Row,
    SampleColumns,
    Section,
    in_percent,
    percent,
    share,
    table,
)
from utils.analysis.intervals import Floats, Interval, Ints, Mask
from utils.protocol import FEWEST_PICTURES

POINTS, OUTSIDE = "all points", "outside the image"
DISTANCE, BY_DISTANCE = "distance of misses", "misses by distance"
OFFSET, OFFSET_OF_MISSES = "offset of all points", "offset of misses"
OFFSET_UNIT = "% of the image"
TITLE = "Error anatomy: where the misses are"
QUANTILES = (10, 50, 90)
DISTANCE_BOUNDS = (0.0, 1.0, 3.0, 10.0, float("inf"))  # in target sizes; below 1: a near miss
FARTHEST = 1000.0  # images away; a reply that ends in a loop of digits means no place at all

NOTES = [
    "The size of a target is its diagonal. Distances go from the point to the nearest point of the "
    "box, in pixels of the file, for all misses with a point, also outside the image.",
    "Offset: from the target's centre to the point. dx is in per cent of the width, positive to "
    "the right; dy is in per cent of the height, positive downwards. A few far clicks hardly "
    "change the median.",
]


def anatomy(columns: SampleColumns, _settings: AuditSettings) -> Section:
    """Return the section: distances of the misses, and the direction of all points."""
    without_box = columns.without_one_box()
    columns = columns.with_one_box().answered()
    if not len(columns):
        return {"title": TITLE, "rows": [], "notes": ["No replies to look at.", *without_box]}
    # Squares and products of these numbers must stay finite.
    points = np.array(
        [
            [min(max(value, -FARTHEST), FARTHEST) for value in point or (float("nan"),) * 2]
            for point in columns["point_frac"]
        ],
        dtype=np.float64,
    )
    corners = np.array(columns["box_frac"], dtype=np.float64).reshape(-1, 2, 2)
    boxes = np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)
    pictures = columns.pictures()
    # The second level takes two negative coordinates for "there is no such element".
    is_declined = np.array([bool(declined) for declined in columns["declined"]], dtype=np.bool_)
    has_point: Any = np.isfinite(points).all(axis=1) & ~is_declined
    # Not `hit`: a click inside the box of an element of another kind counts as no hit in the score.
    is_miss = np.array([verdict == "miss" for verdict in columns["verdict"]], dtype=np.bool_)
    missed: Mask = has_point & is_miss
    away = points - (boxes[:, :2] + boxes[:, 2:]) / 2
    outside: Mask = has_point & np.any((points < 0) | (points > 1), axis=1)
    spans = {
        DISTANCE: columns.spans(missed),
        BY_DISTANCE: columns.spans(missed),
        OUTSIDE: columns.spans(outside),
        POINTS: columns.spans(has_point),
        OFFSET_OF_MISSES: columns.spans(missed),
        OFFSET: columns.spans(has_point),
    }
    misses = columns.where(missed)
    rows = [
        *_distances(misses, points[missed], boxes[missed], spans),
        _row(
            POINTS,
            OUTSIDE,
            "% of points",
            count=int(outside.sum()),
            **share(outside[has_point], pictures[has_point]),
        ),
        *_directions(OFFSET_OF_MISSES, away[missed], pictures[missed]),
        *_directions(OFFSET, away[has_point], pictures[has_point]),
    ]
    return {"title": TITLE, "rows": rows, "notes": [*NOTES, *without_box], "at": spans}


def _row(group: str, name: str, unit: str, **numbers: Any) -> Row:
    """Return a row with the columns that all rows have."""
    empty = dict.fromkeys(("count", "value", "low", "high", "samples", "pictures"))
    return {"name": name, "group": group, "unit": unit, **empty, **numbers}


def _distances(
    misses: SampleColumns, points: Floats, boxes: Floats, spans: dict[str, str]
) -> Iterator[Row]:
    """Yield how far misses lie from their targets; `spans` get the samples behind the rows."""
    file_wh = table([wh or (1, 1) for wh in misses["file_wh"]], 2)
    pictures = misses.pictures()
    outside = np.maximum(np.maximum(boxes[:, :2] - points, points - boxes[:, 2:]), 0.0)
    distance_px = np.hypot(*(outside * file_wh).T)
    in_sizes = distance_px / np.maximum(np.hypot(*((boxes[:, 2:] - boxes[:, :2]) * file_wh).T), 1.0)
    counts = {"samples": len(points), "pictures": len(set(pictures))}
    for quantile in QUANTILES if len(points) else ():
        value = round(float(np.percentile(in_sizes, quantile)), 3)
        yield _row(
            DISTANCE, f"{quantile} % of misses lie within", "target sizes", value=value, **counts
        )
    for low, high in pairwise(DISTANCE_BOUNDS):
        if not low:
            name = f"near miss: less than {high:g} target size"
        elif np.isinf(high):
            name = f"{low:g} target sizes or more"
        else:
            name = f"{low:g} to {high:g} target sizes"
        within = (low <= in_sizes) & (in_sizes < high)
        spans[name] = misses.spans(within)
        yield _row(
            BY_DISTANCE, name, "% of misses", count=int(within.sum()), **share(within, pictures)
        )


def _directions(group: str, away: Floats, pictures: Ints) -> Iterator[Row]:
    """Yield rows of means with their 95 % interval, by image, and of medians."""
    if not len(away):
        return
    layout = intervals.lay_out(None, pictures)
    counts = {"samples": len(away), "pictures": layout.pictures}
    has_bounds = layout.pictures >= FEWEST_PICTURES
    if has_bounds:
        errors = np.sqrt(intervals.clustered_variance(layout.cells(away.T), layout))
        reach = errors * intervals.t_quantile(np.array([layout.pictures - 1.0]))
    for axis, name in enumerate(("dx", "dy")):
        mean, median = away[:, axis].mean(), percent(np.median(away[:, axis]))
        bounds = Interval(mean - reach[axis], mean + reach[axis]) if has_bounds else None
        cells = {"value": percent(mean), **in_percent(bounds), **counts}
        yield _row(group, f"mean {name}", OFFSET_UNIT, **cells)
        yield _row(group, f"median {name}", OFFSET_UNIT, value=median, **counts)

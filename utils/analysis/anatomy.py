"""Where misses go: how far, in which direction, to what, and on which targets (L2)."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from utils.analysis.columns import PictureNumbers, Row, percent, share

if TYPE_CHECKING:
    from utils.analysis.columns import Floats, Ints, Mask

TITLE = "Error anatomy: where the misses are"
QUANTILES = (10, 50, 90)
DISTANCE_BOUNDS = (1.0, 3.0, 10.0)  # in target sizes; below the first one it is a near miss
AREA_BOUNDS = (0.0005, 0.002, 0.01)  # of the picture's area
STRIKING_POINTS = 5.0  # of points more than expected, in percent, are worth a sentence
FARTHEST = 1000.0  # pictures away; a reply that ends in a loop of digits means no place at all
AROUND = 0.02  # of width and height: so near is "at" the centre or a corner
THIRDS = (("top", "middle", "bottom"), ("left", "centre", "right"))

NOTES = (
    "A target's size is its diagonal; distances are to the nearest point of its box, in pixels of "
    "the file, of misses with a point inside the picture or out.",
    "Direction: from the target's centre to the point, of all replies with a point; positive is "
    "right and down. The median resists a few clicks that went far astray.",
    f"At the centre or in a corner: within {100 * AROUND:.0f} % of width and height. Expected: "
    "what clicks spread evenly over the targets would give.",
)


@dataclass(frozen=True, slots=True, eq=False)
class _Clicks:
    """Answered samples as arrays; those without a point have NaN there.

    Attributes:
        points: fractions of the picture, shape (samples, 2).
        boxes: x1, y1, x2, y2 as fractions, in ascending order, shape (samples, 4).
        file_wh: in pixels, shape (samples, 2).
    """

    points: Floats
    boxes: Floats
    file_wh: Floats
    hits: Mask
    pictures: Ints

    @property
    def has_point(self) -> Mask:
        """Which have a point that a distance can be measured from."""
        import numpy as np

        finite: Mask = np.all(np.isfinite(self.points), axis=1)
        return finite

    @property
    def centres(self) -> Floats:
        """Of the targets."""
        return (self.boxes[:, :2] + self.boxes[:, 2:]) / 2


class Anatomy:
    """Collects points and targets; about 70 bytes of a sample."""

    def __init__(self) -> None:
        self._pictures = PictureNumbers()
        self._points, self._boxes = array("d"), array("d")
        self._sizes, self._picture = array("i"), array("i")
        self._hits = array("b")

    def add(self, facts: Mapping[str, Any]) -> None:
        """One more sample; one without an answer has no place among the misses."""
        if facts["verdict"] is None:
            return
        point = facts["point_frac"] or (float("nan"),) * 2
        # Squares and products of such numbers must stay finite.
        self._points.extend(min(max(value, -FARTHEST), FARTHEST) for value in point)
        x1, y1, x2, y2 = facts["box_frac"]
        self._boxes.extend((min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)))
        self._sizes.extend(facts["file_wh"] or (1, 1))
        self._picture.append(self._pictures.of(facts["image"]))
        self._hits.append(facts["hit"])

    def result(self) -> dict[str, Any]:
        """The section."""
        import numpy as np

        clicks = _Clicks(
            np.array(self._points).reshape(-1, 2),
            np.array(self._boxes).reshape(-1, 4),
            np.array(self._sizes, dtype=np.float64).reshape(-1, 2),
            np.array(self._hits, dtype=np.bool_),
            np.array(self._picture, dtype=np.intp),
        )
        rows: list[Row] = []
        if len(clicks.hits):
            for part in (_distances, _directions, _attractions, _areas, _positions):
                rows += part(clicks)
        notes = [*NOTES, *_striking(rows)] if rows else ["No reply to look at."]
        return {"title": TITLE, "rows": rows, "notes": notes, "warnings": []}


def _row(group: str, name: str, unit: str, **numbers: Any) -> Row:
    """All rows have the same columns."""
    empty = dict.fromkeys(("value", "low", "high", "expected", "samples", "pictures"))
    return {"name": name, "group": group, "unit": unit, **empty, **numbers}


# -- how far --------------------------------------------------------------------------------------


def _distances(clicks: _Clicks) -> Iterator[Row]:
    import numpy as np

    missed = clicks.has_point & ~clicks.hits
    file_wh, boxes = clicks.file_wh[missed], clicks.boxes[missed]
    points, pictures = clicks.points[missed], clicks.pictures[missed]
    counts = {"samples": len(points), "pictures": len(np.unique(pictures))}
    outside = np.maximum(np.maximum(boxes[:, :2] - points, points - boxes[:, 2:]), 0.0)
    distance_px = np.hypot(*(outside * file_wh).T)
    size_px = np.maximum(np.hypot(*((boxes[:, 2:] - boxes[:, :2]) * file_wh).T), 1.0)
    scales = {
        "target sizes": distance_px / size_px,
        "% of the picture's diagonal": 100 * distance_px / np.hypot(*file_wh.T),
    }
    for unit, distances in scales.items():
        for quantile in QUANTILES if len(distances) else ():
            value = round(float(np.percentile(distances, quantile)), 3)
            yield _row(
                "distance of misses", f"{quantile} % are within", unit, value=value, **counts
            )
    in_sizes = scales["target sizes"]
    lows, highs = (0.0, *DISTANCE_BOUNDS), (*DISTANCE_BOUNDS, np.inf)
    for low, high in zip(lows, highs, strict=True):
        within = (low <= in_sizes) & (in_sizes < high)
        yield _row("distance of misses", _span(low, high), "% of misses", **share(within, pictures))
    outside_picture = np.any((clicks.points < 0) | (clicks.points > 1), axis=1)
    answered = ~np.isnan(clicks.points[:, 0])
    shares = share(outside_picture[answered], clicks.pictures[answered])
    yield _row("points outside the picture", "outside", "% of points", **shares)


def _span(low: float, high: float) -> str:
    if low == 0:
        return f"near miss: less than {high:g} target size"
    return f"{low:g} target sizes or more" if high == float("inf") else f"{low:g} to {high:g}"


# -- in which direction, to what ------------------------------------------------------------------


def _directions(clicks: _Clicks) -> Iterator[Row]:
    import numpy as np

    kept = clicks.has_point
    away = (clicks.points - clicks.centres)[kept]
    pictures = clicks.pictures[kept]
    counts = {"samples": len(away), "pictures": len(np.unique(pictures))}
    for axis, (name, unit) in enumerate((("dx", "% of the width"), ("dy", "% of the height"))):
        values = away[:, axis]
        if not len(values):
            continue
        mean, low, high = _mean_with_interval(values, pictures)
        bounds = {"value": mean, "low": low, "high": high}
        yield _row("direction of points", f"mean {name}", unit, **bounds, **counts)
        median = percent(float(np.median(values)))
        yield _row("direction of points", f"median {name}", unit, value=median, **counts)


def _mean_with_interval(values: Floats, pictures: Ints) -> tuple[float, float | None, float | None]:
    """Mean in percent and its 95 % interval, by picture; None under the fewest pictures."""
    import numpy as np

    from utils.analysis import FEWEST_PICTURES
    from utils.analysis.clusters import by_cell, clustered_variance, lay_out, t_quantile

    layout = lay_out(None, pictures)
    mean = float(values.mean())
    if layout.pictures < FEWEST_PICTURES:
        return percent(mean), None, None
    error = np.sqrt(clustered_variance(by_cell(values[None, :], layout), layout))
    reach = float((t_quantile(np.array([layout.pictures - 1.0])) * error)[0])
    return percent(mean), percent(mean - reach), percent(mean + reach)


def _attractions(clicks: _Clicks) -> Iterator[Row]:
    import numpy as np

    kept = clicks.has_point
    points, boxes, pictures = clicks.points[kept], clicks.boxes[kept], clicks.pictures[kept]
    if not len(points):
        return
    corners = [(x, y) for x in (0.0, 1.0) for y in (0.0, 1.0)]
    places = {"at the picture's centre": [(0.5, 0.5)], "in a corner": corners}
    for name, spots in places.items():
        near = [np.all(np.abs(points - spot) <= AROUND, axis=1) for spot in spots]
        expected = sum(_overlap(boxes, spot) for spot in spots)
        shares = share(np.any(near, axis=0), pictures)
        expected_percent = percent(float(np.mean(expected)))
        yield _row("attraction", name, "% of points", expected=expected_percent, **shares)
    same, times = np.unique(np.round(points, 3), axis=0, return_counts=True)
    x, y = same[times.argmax()]
    name = f"the commonest point ({x:.3f}, {y:.3f})"
    at_it = np.all(np.round(points, 3) == same[times.argmax()], axis=1)
    yield _row("attraction", name, "% of points", **share(at_it, pictures))


def _striking(rows: list[Row]) -> Iterator[str]:
    """What attraction rows say in words, where they say something."""
    for row in (row for row in rows if row["group"] == "attraction" and row["low"] is not None):
        if row["low"] > (row["expected"] or 0.0) + STRIKING_POINTS:
            yield (
                f"{row['value']:.1f} % of the points are {row['name'].replace('the c', 'at the c')}"
                f" ({row['expected'] or 0.0:.1f} % would be expected)."
            )


def _overlap(boxes: Floats, spot: tuple[float, float]) -> Floats:
    """Chance that a click somewhere in a box is at a spot, shape (samples,)."""
    import numpy as np

    chance = np.ones(len(boxes))
    for axis, middle in enumerate(spot):
        low, high = boxes[:, axis], boxes[:, axis + 2]
        shared = np.minimum(high, middle + AROUND) - np.maximum(low, middle - AROUND)
        length = high - low
        on_it = np.clip(shared, 0.0, None) / np.where(length > 0, length, 1.0)
        chance *= np.where(length > 0, on_it, shared >= 0)  # a box may be a line or a point
    return chance


# -- on which targets -----------------------------------------------------------------------------


def _areas(clicks: _Clicks) -> Iterator[Row]:
    import numpy as np

    areas = np.prod(clicks.boxes[:, 2:] - clicks.boxes[:, :2], axis=1)
    lows, highs = (0.0, *AREA_BOUNDS), (*AREA_BOUNDS, np.inf)
    for low, high in zip(lows, highs, strict=True):
        within = (low <= areas) & (areas < high)
        name = f"{100 * low:g} to {100 * high:g} % of the picture"
        name = f"over {100 * low:g} % of the picture" if np.isinf(high) else name
        shares = share(clicks.hits[within], clicks.pictures[within])
        yield _row("accuracy by target area", name, "% hit", **shares)


def _positions(clicks: _Clicks) -> Iterator[Row]:
    import numpy as np

    cells = np.minimum((clicks.centres * 3).astype(np.intp), 2)
    for row, vertical in enumerate(THIRDS[0]):
        for column, horizontal in enumerate(THIRDS[1]):
            within = (cells[:, 0] == column) & (cells[:, 1] == row)
            shares = share(clicks.hits[within], clicks.pictures[within])
            name = f"{vertical} {horizontal}"
            yield _row("accuracy by position of the target", name, "% hit", **shares)

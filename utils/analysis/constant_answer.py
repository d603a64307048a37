"""Does a model point at the same place whatever it is asked? (L2)"""

from __future__ import annotations

from collections import Counter
from typing import Any

from utils.analysis.columns import Row, SampleColumns, percent
from utils.analysis.intervals import FEWEST_PICTURES

TITLE = "Constant answer: the same point again and again"
LARGEST_SHARE = 0.5
DIGITS = 3  # of a fraction of the image: about two pixels on a screen
ROW = "the most frequent point"


def constant_answer(columns: SampleColumns) -> dict[str, Any]:
    """Return the section: how often the most frequent point is given.

    It warns where one point makes up half of all points or more, over 10 images at least, and is
    wrong more often than right: such replies say nothing about what the model has seen.
    """
    columns = columns.answered()
    points = [_rounded(point) for point in columns["point_frac"]]
    counts = Counter(point for point in points if point is not None)
    if not counts:
        return {"title": TITLE, "rows": [], "notes": ["No point to look at."], "warnings": []}
    frequent, count = counts.most_common(1)[0]
    total = counts.total()
    is_frequent = [point == frequent for point in points]
    given_it = columns.where(is_frequent)
    images = len(set(given_it["image"]))
    is_mostly_wrong = 2 * given_it["verdict"].count("hit") < count
    row: Row = {
        "name": ROW,
        "count": count,
        "point": f"{100 * frequent[0]:.1f}, {100 * frequent[1]:.1f} %",
        "share": percent(count / total),
    }
    warnings = []
    if count >= LARGEST_SHARE * total and images >= FEWEST_PICTURES and is_mostly_wrong:
        warnings.append(
            f"constant answer: {count} of {total} points are ({frequent[0]:g}, {frequent[1]:g}) of "
            f"the image, on {images} images. Look at some replies: the model may not see the "
            "images, or the parse function may read numbers that are no answer"
        )
    notes = [f"Of {total} points; two are the same if they agree in {DIGITS} digits of a fraction."]
    spans = {ROW: columns.spans(is_frequent)}
    return {"title": TITLE, "rows": [row], "notes": notes, "warnings": warnings, "at": spans}


def _rounded(point: Any) -> tuple[float, float] | None:
    return None if point is None else (round(point[0], DIGITS), round(point[1], DIGITS))

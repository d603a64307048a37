"""Does a model point at the same place whatever it is asked?"""

from __future__ import annotations

from collections import Counter

from utils.analysis.columns import AuditSettings, Row, SampleColumns, Section, percent
from utils.findings import Finding, warning
from utils.protocol import FEWEST_PICTURES

TITLE = "Constant answer: the same point again and again"
LARGEST_SHARE = 0.5
DIGITS = 3  # of a fraction of the image: about two pixels on a screen
ROW = "the most frequent point"


def constant_answer(columns: SampleColumns, _settings: AuditSettings) -> Section:
    """Return the section: how often the most frequent point is given.

    It warns where one point makes up half of all points or more, over 10 images at least, and is
    wrong more often than right: such replies say nothing about what the model has seen.
    """
    columns = columns.answered()
    points = [
        None if point is None else (round(point[0], DIGITS), round(point[1], DIGITS))
        for point in columns["point_frac"]
    ]
    counts = Counter(point for point in points if point is not None)
    if not counts:
        return {"title": TITLE, "rows": [], "notes": ["No point to look at."], "findings": []}
    total = counts.total()
    [(frequent_point, count)] = counts.most_common(1)
    is_frequent = [point == frequent_point for point in points]
    x, y = frequent_point
    row: Row = {
        "name": ROW,
        "count": count,
        "point": f"{100 * x:.1f}, {100 * y:.1f} %",
        "share": percent(count / total),
    }
    findings: list[Finding] = []
    samples = columns.where(is_frequent)
    images = len(set(samples["image"]))
    is_mostly_wrong = 2 * samples["verdict"].count("hit") < count
    if count >= LARGEST_SHARE * total and images >= FEWEST_PICTURES and is_mostly_wrong:
        finding = warning(
            "constant_answer",
            f"{count} of {total} points are ({x:g}, {y:g}) of the image, on {images} images",
            fix="look at some replies: the model may not see the images, or the parse function may "
            "read numbers that are not the answer",
            topic="constant answer",
            row=ROW,
        )
        findings.append(finding)
    notes = [f"{total} points; two count as the same if {DIGITS} digits of their fractions agree."]
    spans = {ROW: columns.spans(is_frequent)}
    section: Section = {
        "title": TITLE,
        "rows": [row],
        "notes": notes,
        "findings": findings,
        "at": spans,
    }
    if len(set(columns["image"])) < FEWEST_PICTURES:
        section["clear"] = f"fewer than {FEWEST_PICTURES} images, too few to tell"
        section["is_undecided"] = not findings
    return section

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
REPLY_ROW = "the most frequent reply"
SHOWN = 60  # characters of that reply


def constant_answer(columns: SampleColumns, _settings: AuditSettings) -> Section:
    """Return the section: how often the most frequent point is given.

    It warns where one point makes up half of all points or more, over 10 images at least, and is
    wrong more often than right: such replies say nothing about what the model has seen. Likewise
    where one reply does: its pixels are other points on images of other sizes.
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
    if _is_suspicious(samples, total):
        finding = warning(
            "constant_answer",
            f"{count} of {total} points are ({x:g}, {y:g}) of the image, on {images} images",
            fix="look at some replies: the model may not see the images, or the parse function may "
            "read numbers that are not the answer",
            topic="constant answer",
            row=ROW,
        )
        findings.append(finding)
    rows = [row]
    spans = {ROW: columns.spans(is_frequent)}
    if not findings:
        reply_rows, reply_findings, is_frequent = _constant_reply(columns)
        rows += reply_rows
        findings += reply_findings
        spans |= {REPLY_ROW: columns.spans(is_frequent)} if reply_rows else {}
    notes = [f"{total} points; two count as the same if {DIGITS} digits of their fractions agree."]
    section: Section = {
        "title": TITLE,
        "rows": rows,
        "notes": notes,
        "findings": findings,
        "at": spans,
    }
    if len(set(columns["image"])) < FEWEST_PICTURES:
        section["clear"] = f"fewer than {FEWEST_PICTURES} images, too few to tell"
        section["is_undecided"] = not findings
    return section


def _is_suspicious(samples: SampleColumns, total: int) -> bool:
    """Whether samples with the same answer are half of all, on many images, and mostly wrong."""
    count = len(samples["verdict"])
    return (
        count >= LARGEST_SHARE * total
        and len(set(samples["image"])) >= FEWEST_PICTURES
        and 2 * samples["verdict"].count("hit") < count
    )


def _constant_reply(columns: SampleColumns) -> tuple[list[Row], list[Finding], list[bool]]:
    """The row and the warning about one reply that makes up half of all with a point, if any.

    The marks tell which samples have it.
    """
    replies = [
        reply if point is not None else None
        for reply, point in zip(columns["prediction"], columns["point_frac"], strict=True)
    ]
    counts = Counter(reply for reply in replies if reply is not None)
    if not counts:
        return [], [], []
    total = counts.total()
    [(frequent_reply, count)] = counts.most_common(1)
    is_frequent = [reply == frequent_reply for reply in replies]
    samples = columns.where(is_frequent)
    images = len(set(samples["image"]))
    if not _is_suspicious(samples, total):
        return [], [], is_frequent
    row: Row = {"name": REPLY_ROW, "count": count, "point": "", "share": percent(count / total)}
    finding = warning(
        "constant_answer.reply",
        f"{count} of {total} replies with a point are the same text, on {images} images: "
        f"{frequent_reply[:SHOWN]!r}",
        fix="look at some replies: the model may not see the images",
        topic="constant answer",
        row=REPLY_ROW,
    )
    return [row], [finding], is_frequent

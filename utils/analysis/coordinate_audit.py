"""Do the numbers of a model's replies mean what the parse function takes them for? (L2)

Models answer in fractions, in pixels of some rendering of the image, per mille; a parse function
for the wrong one, or one that takes a thought for the answer, gives a low score and no error. So
the same replies are read in every way, and a warning is given where another way is better than
chance allows. Replies of which the parse function read other numbers, or none, are included: what a
ready-made parse function would score on them is known all the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from utils.analysis.columns import LARGEST_P, Row, SampleColumns, lead_over, percent, share, table
from utils.analysis.paired import holm
from utils.contracts import Facts
from utils.coordinates import (
    OF_THE_IMAGE_SENT,
    Frame,
    numbers_of_reply,
    parse_function_name,
    place_in_frame,
)
from utils.protocol import ELEMENT_KINDS
from utils.text import format_number, format_percent
from utils.thinking import after_thinking

if TYPE_CHECKING:
    from utils.analysis.columns import Mask
    from utils.analysis.intervals import Floats

TITLE = "Coordinate audit: the same replies read in every frame"
SAME_PX = 1.0  # a parse function may round to pixels
NEARLY_ALL = 0.995  # of the replies agree: that is the reading the parse function implements
LEAST_FIT = 0.5  # of the points around their targets, a reading that fits has so many on them
REACH = 2.0  # sizes of a target: so near is around it
LEAST_HELD = 0.9  # of the points that would be on target were all images of another size
LABELS = {
    Frame.FRACTIONS: "fractions",
    Frame.PIXELS: "pixels of the file",
    Frame.PIXELS_SENT: "pixels of the image sent",
    Frame.GRID_PIXELS: "pixels of the grid seen",
    Frame.MILLION_PIXELS: "pixels of the image at 1,003,520 pixels",
    Frame.PER_MILLE: "per mille",
    Frame.PER_CENT: "per cent",
    Frame.WIDTH_1000: "pixels at a width of 1000",
    Frame.LONGEST_1024: "pixels at a longest side of 1024",
    Frame.LETTERBOXED: "per mille of a letterboxed square",
}
NOTE = (
    "Lead: points ahead of the configured reading on the same replies. Readings with the same "
    "verdict on every reply share a row."
)
P_NOTE = (
    "p: paired test over images, Holm over all readings, where the lead is 5 points on 10 "
    "discordant images or more."
)
NO_GRID = (
    "Left out: the grid that the model saw is not known (it is for local models, and where the "
    "config's kwargs say min_pixels and max_pixels)."
)
OTHER_NUMBERS = (
    "other numbers used: the parse function read other numbers than the audit (the last with "
    "names, in brackets or on a line of their own, after any thinking), or in no frame known here."
)
_JSON_POINT = re.compile(r"""\{\s*(["'])[xy]\1\s*:\s*["']?[-+.\d]""", re.IGNORECASE)


class Reading(NamedTuple):
    """One way to read two numbers as a point, or four as a box whose centre is meant."""

    frame: Frame
    y_first: bool = False

    @property
    def name(self) -> str:
        return LABELS[self.frame] + ", y before x" * self.y_first

    @property
    def parse_function(self) -> str:
        """What a config's `parse_function` has to say for this reading."""
        return parse_function_name(self.frame, y_first=self.y_first)


READINGS = tuple(Reading(frame, y_first) for y_first in (False, True) for frame in Frame)
"""All that are offered, the plainest first: where two do the same, the first one names both."""


class _Replies:
    """The replies that can be compared, as arrays of one row a sample; NaN: not known."""

    def __init__(self, columns: SampleColumns, numbers: Sequence[Sequence[float] | None]) -> None:
        import numpy as np

        self.numbers = table(numbers, 4)  # of each reply two or four
        self.given = table(columns["point_frac"], 2)  # as the parse function read them, fractions
        self.boxes = table(columns["box_frac"], 4)  # x1, y1, x2, y2 of the targets, in fractions
        self.hits, self.pictures = columns.hits() > 0, columns.pictures()
        # Of a kind that the score counts hits of.
        self.is_scored = np.array([kind in ELEMENT_KINDS for kind in columns["kind"]], dtype=bool)
        files = [wh or (1, 1) for wh in columns["file_wh"]]
        sent = [wh or file for wh, file in zip(columns["sent_wh"], files, strict=True)]
        self.file_wh, self.sent_wh = table(files, 2), table(sent, 2)
        self.grid_wh = table(columns["grid_wh"], 2)

    def points(self, reading: Reading) -> Floats:
        """Fractions of the image; NaN where the frame is not known."""
        import numpy as np

        pairs = self.numbers[:, :2]
        centres = (pairs + self.numbers[:, 2:]) / 2
        pairs = np.where(np.isnan(centres), pairs, centres)
        if reading.y_first:
            pairs = pairs[:, ::-1]
        if reading.frame is Frame.GRID_PIXELS:
            return pairs / self.grid_wh
        if reading.frame is Frame.LETTERBOXED:
            pairs = np.where(pairs.max(axis=1, keepdims=True) <= 1, 1000 * pairs, pairs)
        wh = self.sent_wh if reading.frame in OF_THE_IMAGE_SENT else self.file_wh
        sizes, where = np.unique(wh, axis=0, return_inverse=True)
        places = table([place_in_frame(reading.frame, size) for size in sizes.tolist()], 4)
        found: Floats = (pairs - places[where.ravel(), :2]) / places[where.ravel(), 2:]
        return found

    def on_target(self, reading: Reading, reach: float = 0.0, stretch: Any = 1.0) -> Mask:
        """Which points lie in their boxes, bounds included, or within `reach` box sizes of them."""
        import numpy as np

        low, high, points = self.boxes[:, :2], self.boxes[:, 2:], self.points(reading) * stretch
        around = reach * (high - low)
        inside = np.all((low - around <= points) & (points <= high + around), axis=1)
        found: Mask = inside & self.is_scored
        return found

    def on_target_stretched(self, reading: Reading, near: Mask) -> int:
        """How many there would be, had images the size that leads these points to them."""
        import numpy as np

        middles = (self.boxes[near, :2] + self.boxes[near, 2:]) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            stretch = np.median(middles / self.points(reading)[near], axis=0)
            return int(self.on_target(reading, stretch=stretch).sum())

    def same_as(self, points: Floats) -> Mask:
        """Where a reading gives the configured point, to a pixel; a point may have been clipped."""
        import numpy as np

        # A parse function may return infinity, or numbers near the largest there are.
        with np.errstate(invalid="ignore", over="ignore"):
            off_px = np.abs(np.stack([points, points.clip(0, 1)]) - self.given) * self.file_wh
        found: Mask = np.any(np.all(off_px <= SAME_PX, axis=2), axis=0)
        return found


def readings_on_target(facts: Facts) -> list[Reading]:
    """Return the readings in which the reply of one sample is on its target, the plainest first.

    Args:
        facts: the sample's line of the samples file.
    """
    columns = SampleColumns()
    columns.add(facts)
    replies = _Replies(columns, [numbers_of_reply(facts["prediction"])])
    readings = READINGS
    if facts.get("grid_wh") is None:
        readings = tuple(each for each in READINGS if each.frame is not Frame.GRID_PIXELS)
    return [reading for reading in readings if replies.on_target(reading).any()]


def coordinate_audit(columns: SampleColumns) -> dict[str, Any]:
    """The section."""
    import numpy as np

    answered = columns = columns.answered()
    counts = {"answered": len(columns)}
    numbers = [numbers_of_reply(reply) for reply in columns["prediction"]]
    kept = [each != (None, None) for each in zip(numbers, columns["point_frac"], strict=True)]
    columns = columns.where(kept)
    replies = _Replies(columns, [each for each, stays in zip(numbers, kept, strict=True) if stays])
    has_numbers = ~np.isnan(replies.numbers[:, 0])
    knows_grid = not np.isnan(replies.grid_wh).any()
    offered = [r for r in READINGS if knows_grid or r.frame is not Frame.GRID_PIXELS]
    matches = {reading: replies.same_as(replies.points(reading)) for reading in offered}
    same = np.any(list(matches.values()), axis=0)
    other = has_numbers & ~np.isnan(replies.given[:, 0]) & ~same
    counts |= {
        "audited": int(same.sum()),
        "other numbers used": int(other.sum()),
        "no point read": columns["point_frac"].count(None),
        "no numbers": numbers.count(None),
    }
    agree = {r: float(mask[same].mean()) if same.any() else 0.0 for r, mask in matches.items()}
    configured = [reading.name for reading, agreed in agree.items() if agreed >= NEARLY_ALL]
    at = {
        "compared": columns.spans([True] * len(columns)),
        "audited": columns.spans(same),
        "other numbers used": columns.spans(other),
        "no point read": columns.spans([point is None for point in columns["point_frac"]]),
        "no numbers": answered.spans([each is None for each in numbers]),
    }
    section: dict[str, Any] = {
        "title": TITLE,
        "rows": [],
        "notes": ["No reply could be audited."],
        "warnings": [],
        "counts": counts,
        "best": [],
        "configured": configured,
        "at": at,
    }
    if has_numbers.any():
        section["notes"] = [NOTE] + [NO_GRID] * (not knows_grid)
        section["notes"] += [OTHER_NUMBERS] * (counts["other numbers used"] > 0)
        name = _configured_name(configured, agree, counts)
        best = _compare(section, replies, columns, offered, name)
        section["notes"] += [P_NOTE] * any(row["p (Holm)"] is not None for row in section["rows"])
        if not section["best"] or not section["warnings"]:
            section["warnings"] += _json_hint(columns, best)
        elif thinking := sum(after_thinking(reply) != reply for reply in columns["prediction"]):
            section["warnings"][0] += (
                f". {thinking} of these replies think first; this "
                "function reads what follows the thinking"
            )
    return section


def _compare(
    section: dict[str, Any],
    replies: _Replies,
    columns: SampleColumns,
    offered: Sequence[Reading],
    configured: str,
) -> Reading:
    """Adds rows, the best readings, and a warning where the configured one loses to them.

    Returns the reading that has most points on their targets.
    """
    same: dict[bytes, tuple[Mask, list[Reading]]] = {}  # readings with the same verdicts
    for reading in offered:
        verdicts = replies.on_target(reading)
        same.setdefault(verdicts.tobytes(), (verdicts, []))[1].append(reading)
    ranked = sorted(same.values(), key=lambda each: -int(each[0].sum()))
    leads = [lead_over(verdicts, replies.hits, replies.pictures) for verdicts, _ in ranked]
    own = {
        "name": f"as configured ({configured})",
        **share(replies.hits, replies.pictures),
        "on target": int(replies.hits.sum()),
        "lead": 0.0,
        "discordant pictures": 0,
        "p (Holm)": None,
        "parse function": "",
    }
    rows = section["rows"] = [own]
    section["at"][own["name"]] = columns.spans(replies.hits)
    corrected = holm([1.0 if p is None else p for _, _, p in leads])
    for (hits, readings), (lead, discordant, p), holm_p in zip(
        ranked, leads, corrected, strict=True
    ):
        more = f" = {len(readings) - 3} more" if len(readings) > 3 else ""
        name = " = ".join(reading.name for reading in readings[:3]) + more
        section["at"][name] = columns.spans(hits)
        rows.append(
            {
                "name": name,
                **share(hits, replies.pictures),
                "on target": int(hits.sum()),
                "lead": percent(lead),
                "discordant pictures": discordant,
                "p (Holm)": None if p is None or holm_p is None else float(f"{holm_p:.3g}"),
                "parse function": readings[0].parse_function if hits.any() else "",
            }
        )
    on_target, best = ranked[0]
    near = replies.on_target(best[0], REACH)
    count, around = on_target.sum(), near.sum()
    winners = [row for row in rows if row["p (Holm)"] is not None and row["p (Holm)"] < LARGEST_P]
    fits = count and count >= LEAST_FIT * around
    if fits and count >= LEAST_HELD * replies.on_target_stretched(best[0], near):
        section["best"] = [reading.name for reading in best]
        section["warnings"] += [_warning(row, own, configured) for row in winners[:1]]
    elif count and winners:
        section["warnings"].append(
            "coordinate audit: no known reading fits these replies. As configured "
            f"({configured}) they score {format_percent(own['value'])} %; the best known reading, "
            f"{best[0].name}, has {count} points on their targets and {around - count} beside "
            "them. Look at some replies and write a parse function"
        )
    return best[0]


def _configured_name(
    configured: Sequence[str], agree: Mapping[Reading, float], counts: Mapping[str, int]
) -> str:
    parts = list(configured[:1])
    if not configured and counts["audited"]:
        mixed = sorted((r for r in agree if agree[r] > 0), key=lambda r: -agree[r])[:2]
        shares = [f"{format_number(100 * agree[r], 0)} % {r.name}" for r in mixed]
        parts = [f"a mix: {', '.join(shares)}" if shares else "a frame of its own"]
    unread = {"other numbers used": "other numbers of the reply", "no point read": "no point found"}
    parts += [f"{what} in {counts[kind]} replies" for kind, what in unread.items() if counts[kind]]
    return "; ".join(parts)


def _json_hint(columns: SampleColumns, best: Reading) -> list[str]:
    """Replies that are JSON with x and y, of which the parse function reads nothing."""
    replies = zip(columns["prediction"], columns["point_frac"], strict=True)
    unread = [reply for reply, point in replies if point is None and _JSON_POINT.search(reply)]
    if not unread:
        return []
    example = " ".join(unread[0].split())[:80]
    return [
        f"coordinate audit: {len(unread)} replies are JSON such as {example}, in which the parse "
        f"function found no point. To read them as {best.name}, {_fix(best.parse_function)}"
    ]


def _fix(parse_function: str) -> str:
    return (
        f'set data.GUIElementGrounding.parse_function: "{parse_function}" and run --mode eval; '
        "no request is made"
    )


def _warning(row: Row, own: Row, configured: str) -> str:
    name = row["name"].split(" = ")[0]
    return (
        f"coordinate audit: read as {name}, these replies score {format_percent(row['value'])} %; "
        f"as configured ({configured}) {format_percent(own['value'])} % ({row['samples']} replies, "
        f"{row['discordant pictures']} discordant images, p {row['p (Holm)']:.2g}). If that is "
        f"what the model means, {_fix(row['parse function'])}"
    )

"""Do the numbers of a model's replies mean what the parse function takes them for? (L2)

Models answer in fractions, in pixels of some rendering of the picture, per mille; a parse function
for the wrong one, or one that takes a thought for the answer, gives a low score and no error. So
the same replies are read in every way, and a warning is given where another way is better than
chance allows. Replies of which the parse function read other numbers, or none, take part: what a
ready-made parse function would score on them is known all the same.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from utils.analysis.columns import (
    FEWEST_DISCORDANT,
    LARGEST_P,
    LEAST_LEAD,
    PictureNumbers,
    Row,
    lead_over,
    listed,
    percent,
    share,
)
from utils.analysis.readings import READINGS, Reading, Replies, hits_of
from utils.coordinates import Frame, smart_resize
from utils.reply_numbers import numbers_of_reply
from utils.thinking import after_thinking

if TYPE_CHECKING:
    from utils.analysis.columns import Floats, Ints, Mask

TITLE = "Coordinate audit: the same replies read in every frame"
SAME_PX = 1.0  # a parse function may round to pixels
NEARLY_ALL = 0.995  # of the replies agree: that is the reading the parse function implements
# Frames that a parse function may use and the audit does not offer; only to recognise that it used
# the same numbers: scales of 999 and 1024, and UI-TARS's grid where no limits are configured.
OTHER_SCALES = (999, 1024)

_NO_WH = (-1, -1)


@dataclass(frozen=True, slots=True, eq=False)
class _Audited:
    """The replies that can be compared, as arrays.

    Attributes:
        replies: numbers are NaN where the audit found none.
        boxes: x1, y1, x2, y2 as fractions, shape (samples, 4).
        configured: what the parse function made of it, shape (samples, 2); NaN: no point.
    """

    replies: Replies
    boxes: Floats
    configured: Floats
    hits: Mask
    pictures: Ints

    @property
    def offers_numbers(self) -> Mask:
        """Which replies the audit can read."""
        import numpy as np

        return ~np.isnan(self.replies.numbers[:, 0])

    @property
    def has_point(self) -> Mask:
        """Which replies the parse function could read."""
        import numpy as np

        return ~np.isnan(self.configured[:, 0])


@dataclass(frozen=True, slots=True, eq=False)
class _Class:
    """Readings with the same verdict on every reply."""

    readings: tuple[Reading, ...]
    hits: Mask

    @property
    def name(self) -> str:
        return " = ".join(reading.name for reading in self.readings[:3]) + (
            f" = {len(self.readings) - 3} more" if len(self.readings) > 3 else ""
        )


class CoordinateAudit:
    """Collects numbers, targets and verdicts; about 110 bytes of a sample."""

    def __init__(self) -> None:
        self._pictures = PictureNumbers()
        self._numbers, self._boxes, self._points = array("d"), array("d"), array("d")
        self._sizes, self._picture = array("i"), array("i")
        self._hits = array("b")
        self._without_numbers = self._without_point = self._answered = self._thinking = 0

    def add(self, facts: Mapping[str, Any]) -> None:
        """One more sample; one without an answer says nothing about frames."""
        if facts["verdict"] is None:
            return
        self._answered += 1
        reply, point = facts["prediction"], facts["point_frac"]
        numbers = numbers_of_reply(reply)
        if numbers is None:
            self._without_numbers += 1
            if point is None:  # nobody finds anything in it
                return
        self._without_point += point is None
        self._thinking += after_thinking(reply) != reply
        padding = [float("nan")] * 4
        self._numbers.extend((*(numbers or ()), *padding)[:4])
        self._points.extend(padding[:2] if point is None else point)
        self._boxes.extend(facts["box_frac"])
        file_wh = facts["file_wh"] or (1, 1)
        sizes = (file_wh, facts["sent_wh"] or file_wh, facts.get("grid_wh") or _NO_WH)
        for wh in sizes:
            self._sizes.extend(wh)
        self._picture.append(self._pictures.of(facts["image"]))
        self._hits.append(facts["hit"])

    def result(self) -> dict[str, Any]:
        """The section."""
        everything = self._arrays()
        matches = {r: _same_points(everything, everything.replies.points(r)) for r in READINGS}
        same = _any_of([*matches.values(), *_odd_frames(everything)], len(self._hits))
        other = everything.offers_numbers & everything.has_point & ~same
        counts = {
            "answered": self._answered,
            "audited": int(same.sum()),
            "other numbers used": int(other.sum()),
            "numbers, but no point read": self._without_point,
            "no numbers": self._without_numbers,
        }
        offered = _offered(everything)
        agree = {r: _share_of(matches[r][same]) for r in offered}
        configured = [r for r, agreement in agree.items() if agreement >= NEARLY_ALL]
        section: dict[str, Any] = {"title": TITLE, "rows": [], "notes": [], "warnings": []}
        section |= {"counts": counts, "best": [], "configured": [r.name for r in configured]}
        section["notes"] = _notes(counts, offered, everything, other)
        if everything.offers_numbers.any():
            name = _configured_name(configured, agree, counts)
            _compare(section, everything, name, _classes(everything, offered))
            if self._thinking and section["warnings"]:
                section["warnings"][0] += (
                    f". {self._thinking} of these replies think first; this function reads what "
                    "follows the thinking"
                )
        return section

    def _arrays(self) -> _Audited:
        import numpy as np

        sizes = np.array(self._sizes, dtype=np.float64).reshape(-1, 3, 2)
        sizes[sizes < 0] = np.nan
        numbers = np.frombuffer(self._numbers).reshape(-1, 4)  # views: no second copy
        return _Audited(
            Replies(numbers, sizes[:, 0], sizes[:, 1], sizes[:, 2]),
            np.frombuffer(self._boxes).reshape(-1, 4),
            np.frombuffer(self._points).reshape(-1, 2),
            np.array(self._hits, dtype=np.bool_),
            np.array(self._picture, dtype=np.intp),
        )


# -- which numbers the parse function used --------------------------------------------------------


def _same_points(audited: _Audited, points: Floats) -> Mask:
    """Where a reading gives the configured point, to a pixel; a point may have been clipped."""
    import numpy as np

    file_wh, given = audited.replies.file_wh, audited.configured

    def close(candidates: Floats) -> Mask:
        # A parse function may return infinity, or numbers near the largest there are.
        with np.errstate(invalid="ignore", over="ignore"):
            near: Mask = np.all(np.abs(candidates - given) * file_wh <= SAME_PX, axis=1)
        return near

    return close(points) | close(np.clip(points, 0.0, 1.0))


def _odd_frames(audited: _Audited) -> list[Mask]:
    import numpy as np

    replies = audited.replies
    sizes, place = np.unique(replies.sent_wh, axis=0, return_inverse=True)
    grids = np.full(sizes.shape, np.nan)
    for number, (width, height) in enumerate(sizes):
        try:
            grids[number] = smart_resize(int(height), int(width))[::-1]
        except ValueError:  # no picture that this family of models takes
            continue
    frames: list[Floats | int] = [*OTHER_SCALES, grids[place.ravel()]]
    pairs = [replies.pairs(Reading(Frame.PIXELS, *way)) for way in _WAYS]
    return [_same_points(audited, pair / frame) for pair in pairs for frame in frames]


_WAYS = tuple((y_first, corner) for corner in (False, True) for y_first in (False, True))


def _any_of(masks: Sequence[Mask], count: int) -> Mask:
    import numpy as np

    found = np.zeros(count, dtype=np.bool_)
    for mask in masks:
        found |= mask
    return found


def _share_of(mask: Mask) -> float:
    return float(mask.mean()) if len(mask) else 0.0


def _offered(audited: _Audited) -> list[Reading]:
    """The readings that these replies can be read in, and that differ in form."""
    import numpy as np

    knows_grid = not bool(np.isnan(audited.replies.grid_wh).any())
    has_boxes = bool(audited.replies.is_box.any())
    return [
        reading
        for reading in READINGS
        if (knows_grid or reading.frame is not Frame.GRID_PIXELS)
        and (has_boxes or not reading.corner)
    ]


# -- classes and their comparison -----------------------------------------------------------------


def _classes(audited: _Audited, readings: Sequence[Reading]) -> list[_Class]:
    """Readings with the same verdicts together, best first; of equals the plainest first."""
    members: dict[bytes, list[Reading]] = {}
    verdicts: dict[bytes, Mask] = {}
    for reading in readings:
        hits = hits_of(audited.replies.points(reading), audited.boxes)
        members.setdefault(hits.tobytes(), []).append(reading)
        verdicts[hits.tobytes()] = hits
    found = [_Class(tuple(each), verdicts[key]) for key, each in members.items()]
    return sorted(found, key=lambda each: -int(each.hits.sum()))


def _compare(
    section: dict[str, Any],
    audited: _Audited,
    name: str,
    classes: Sequence[_Class],
) -> None:
    """Adds rows, the best class, and a warning where the configured reading loses to it."""
    from utils.analysis import holm

    leads = [lead_over(each.hits, audited.hits, audited.pictures) for each in classes]
    p_values = holm([1.0 if p is None else p for _, _, p in leads])
    own = share(audited.hits, audited.pictures)
    section["rows"].append(_row(f"as configured ({name})", own, 0.0, 0, None, ""))
    for each, (lead, discordant, p), corrected in zip(classes, leads, p_values, strict=True):
        row = share(each.hits, audited.pictures)
        function = each.readings[0].parse_function if each.hits.any() else ""
        shown_p = None if p is None or corrected is None else float(f"{corrected:.3g}")
        section["rows"].append(_row(each.name, row, lead, discordant, shown_p, function))
    best = classes[0]
    if not best.hits.any():
        return
    section["best"] = [reading.name for reading in best.readings]
    lead, discordant, p = leads[0]
    rivals = [each.readings[0].name for each in classes[1:] if _is_level(audited, best, each)]
    if rivals:
        section["notes"].append(
            f"These replies do not tell {best.readings[0].name} from {listed(rivals)}."
        )
    winners = [
        (each, row)
        for each, row, (_, _, p), corrected in zip(
            classes, section["rows"][1:], leads, p_values, strict=True
        )
        if p is not None and corrected is not None and corrected < LARGEST_P
    ]
    if winners:
        winner, row = winners[0]
        section["warnings"].append(_warning(winner, row, own, name))


def _is_level(audited: _Audited, best: _Class, other: _Class) -> bool:
    """Whether chance would explain that another class is behind the best one."""
    import numpy as np

    from utils.analysis import compare_paired

    if not other.hits.any() or best.hits.mean() - other.hits.mean() >= LEAST_LEAD:
        return False
    hits = best.hits.astype(np.float64), other.hits.astype(np.float64)
    return (compare_paired(*hits, audited.pictures.tolist()).p_value or 1.0) >= LARGEST_P


# -- words ----------------------------------------------------------------------------------------


def _row(name: str, cell: Row, lead: float, discordant: int, p: float | None, function: str) -> Row:
    return {
        "name": name,
        **cell,
        "lead": percent(lead),
        "discordant pictures": discordant,
        "p (Holm)": p,
        "parse function": function,
    }


def _configured_name(
    configured: Sequence[Reading], agreement: Mapping[Reading, float], counts: Mapping[str, int]
) -> str:
    parts = []
    if configured:
        parts = [configured[0].name]
    elif counts["audited"]:
        mixed = sorted((r for r in agreement if agreement[r] > 0), key=lambda r: -agreement[r])[:2]
        shares = [f"{100 * agreement[r]:.0f} % {r.name}" for r in mixed]
        parts = [f"a mix: {', '.join(shares)}" if shares else "a frame of its own"]
    for count, what in (
        ("other numbers used", "other numbers of the reply"),
        ("numbers, but no point read", "no point found"),
    ):
        if counts[count]:
            parts.append(f"{what} in {counts[count]} replies")
    return "; ".join(parts)


def _warning(winner: _Class, row: Row, own: Row, configured: str) -> str:
    reading = winner.readings[0]
    return (
        f"coordinate audit: read as {reading.name}, these replies score {row['value']:.1f} %; as "
        f"configured ({configured}) {own['value']:.1f} % ({row['samples']} replies, "
        f"{row['discordant pictures']} discordant pictures, p {row['p (Holm)']:.2g}). If that is "
        f'what the model means, set "parse_function": "{reading.parse_function}" and run '
        "--mode eval; nothing is asked again"
    )


def _notes(
    counts: Mapping[str, int], offered: Sequence[Reading], everything: _Audited, other: Mask
) -> list[str]:
    notes = [
        "Lead: points ahead of the configured reading on the same replies. p: sign flips over "
        f"pictures, Holm over all readings; only where the lead is {100 * LEAST_LEAD:.0f} points "
        f"or more on {FEWEST_DISCORDANT} discordant pictures or more.",
        "Readings with the same verdict on every reply stand in one row.",
    ]
    readable = bool(everything.offers_numbers.any())
    if not readable:
        notes = ["No reply could be audited."]
    if readable and Reading(Frame.GRID_PIXELS) not in offered:
        notes.append(
            "Left out: the grid that the model saw is not known (it is for local models, and where "
            "the config's kwargs say min_pixels and max_pixels)."
        )
    if counts["other numbers used"]:
        notes.append(
            f"In {counts['other numbers used']} of {counts['answered']} replies the parse function "
            "read other numbers than the audit, or in no frame known here "
            f"({percent(_share_of(everything.hits[other]))} % of them are hits). The audit takes "
            "the last numbers in the form of a point, of what follows any thinking."
        )
    if counts["numbers, but no point read"]:
        notes.append(
            f"{counts['numbers, but no point read']} replies offer numbers, but the parse function "
            "found no point."
        )
    if counts["no numbers"]:
        notes.append(f"{counts['no numbers']} replies offer no point and no box.")
    return notes

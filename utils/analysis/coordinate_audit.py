"""Do the numbers of a model's replies mean what the parse function takes them for?

Models answer in fractions, in pixels of some rendering of the image, per mille; a parse function
for the wrong one, or one that takes a thought for the answer, gives a low score and no error. So
the same replies are read in every way, and a warning is given where another way is better than
chance allows. Replies of which the parse function read other numbers, or none, are included: what a
ready-made parse function would score on them is known all the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import compress
from typing import NamedTuple

import numpy as np

from utils.analysis.columns import AuditSettings, Row, SampleColumns, Section, percent, share, table
from utils.analysis.fitted_size import FITS, FittedSize, fitted_size
from utils.analysis.intervals import Floats, Ints, Mask
from utils.analysis.paired import LARGEST_P, Lead, holm, lead_over
from utils.contracts import Facts
from utils.coordinates import (
    OF_THE_IMAGE_SENT,
    Frame,
    parse_function_name,
    place_in_frame,
)
from utils.findings import Finding, note, warning
from utils.reply_numbers import ParsedNumbers, is_from_other_numbers, parse_numbers
from utils.text import change_text, counted, format_number, format_percent
from utils.thinking import after_thinking

TITLE = "Coordinate audit: the same replies read in every frame"
TOPIC = "coordinate audit"
SAME_PX = 1.0  # a parse function may round to pixels
NEARLY_ALL = 0.995  # of the replies agree: that is the reading the parse function implements
LEAST_FIT = 0.5  # of the points around their targets, a reading that fits has so many on them
REACH = 2.0  # sizes of a target: so near is around it
FEWEST_TO_JUDGE = 20  # replies; of fewer it is not said that no known frame fits
MANY_UNREAD = 0.5  # of the replies have a parsed point, and no numbers that the audit can read
LEAST_SHARE_IF_RESIZED = 0.9  # of the hits that there would be were images of another size
DOUBTFUL_LEAD = 0.1  # of the replies: another reading scores so much better, on few images
FEWEST_DOUBTFUL = 5  # images that it wins, more than it loses
MANY_FROM_ELSEWHERE = 0.5  # of the points come from other numbers: the function takes those
MANY_OTHER = 0.1  # of the replies in a known frame; as many others show that it is another frame
MOST_NAMED = 3  # frames with the same verdicts
MOST_EQUAL = 0.5  # of the replies may name one point, for a size to be fitted to them
ORDERS = 2  # x before y, and y before x
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
    "Lead: percentage points above your parse function, on the same replies. Frames with the same "
    "verdict on every reply share a row."
)
P_NOTE = (
    "p: paired test over images, with Holm's correction over all frames. It is shown for a lead of "
    "at least 5 points on at least 10 deciding images: images on which the number of hits differs."
)
NO_GRID = (
    "Left out: pixels of the grid, because the grid is not known. It is known for "
    "local models, and if the config sets kwargs.min_pixels and kwargs.max_pixels."
)
UNKNOWN_FRAME = (
    "Unknown frame: the point of the parse function fits none of these frames. The function has "
    "a frame of its own, or takes other numbers of the reply. The audit takes the last numbers "
    "after any thinking."
)
OTHER_NUMBERS = "other numbers of the reply"  # are what the parse function takes
# What becomes of the replies, as the section counts them.
AUDITED, OTHER, NO_POINT, NO_NUMBERS = (
    "known frame",
    "unknown frame",
    "no point read",
    "no numbers",
)
UNREAD = "read by the parse function alone"
_JSON_POINT = re.compile(r"""\{\s*(["'])[xy]\1\s*:\s*["']?[-+.\d]""", re.IGNORECASE)


class Interpretation(NamedTuple):
    """One way to read two numbers as a point, or four as a box whose centre is meant."""

    frame: Frame
    y_first: bool = False

    @property
    def name(self) -> str:
        """The name for people, such as "per mille (y before x)"."""
        label = LABELS[self.frame]
        return f"{label} (y before x)" if self.y_first else label

    @property
    def parse_function(self) -> str:
        """The parse function of this interpretation, as a config names it."""
        return parse_function_name(self.frame, y_first=self.y_first)


INTERPRETATIONS = tuple(
    Interpretation(frame, y_first) for y_first in (False, True) for frame in Frame
)
"""All that are offered, the plainest first: where two do the same, the first one names both."""


class _Replies:
    """The replies that can be compared, as arrays of one row a sample; NaN: not known."""

    def __init__(
        self,
        columns: SampleColumns,
        numbers: Sequence[ParsedNumbers | None],
        *,
        scored_kinds: Sequence[str] = (),
    ) -> None:
        self.columns = columns
        values = [None if parsed is None else parsed.values for parsed in numbers]
        self.numbers = table(values, 4)  # of each reply two or four
        have_names = [parsed is not None and parsed.have_names for parsed in numbers]
        self.have_names = np.array(have_names, dtype=bool)  # x and y, so that no order counts
        self.parsed_frac = table(columns["point_frac"], 2)  # what the parse function returned
        self.boxes_frac = table(columns["box_frac"], 4)  # x1, y1, x2, y2 of the targets
        self.hits = columns.hits() > 0
        self.pictures = columns.pictures()
        counts = [not scored_kinds or kind in scored_kinds for kind in columns["kind"]]
        self.is_scored = np.array(counts, dtype=bool)  # of a kind that the score counts hits of
        file_wh = [wh or (1, 1) for wh in columns["file_wh"]]
        sent_wh = [sent or file for sent, file in zip(columns["sent_wh"], file_wh, strict=True)]
        self.file_wh = table(file_wh, 2)
        self.sent_wh = table(sent_wh, 2)
        self.grid_wh = table(columns["grid_wh"], 2)
        self.takes_other_numbers = False  # the parse function, than those in `numbers`

    def pairs(self) -> Floats:
        """Return the numbers of points, and of boxes the centre, shape (samples, 2)."""
        pairs = self.numbers[:, :2]
        centres = (pairs + self.numbers[:, 2:]) / 2
        return np.where(np.isnan(centres), pairs, centres)

    def points_frac(self, interpretation: Interpretation) -> Floats:
        """Return fractions of the image, shape (samples, 2); NaN where the frame is not known."""
        frame = interpretation.frame
        pairs = self.pairs()
        if interpretation.y_first:
            pairs = np.where(self.have_names[:, None], pairs, pairs[:, ::-1])
        if frame is Frame.GRID_PIXELS:
            return pairs / self.grid_wh
        if frame is Frame.LETTERBOXED:
            pairs = np.where(pairs.max(axis=1, keepdims=True) <= 1, 1000 * pairs, pairs)
        wh = self.sent_wh if frame in OF_THE_IMAGE_SENT else self.file_wh
        sizes, size_index = np.unique(wh, axis=0, return_inverse=True)
        images = table([place_in_frame(frame, size) for size in sizes.tolist()], 4)
        images = images[size_index.ravel()]  # left, top, width, height in the frame
        points: Floats = (pairs - images[:, :2]) / images[:, 2:]
        return points

    def on_target(
        self, interpretation: Interpretation, reach: float = 0.0, stretch: Floats | float = 1.0
    ) -> Mask:
        """Return a mask of the scored points that lie in their boxes, bounds included.

        Args:
            interpretation: the way to read the numbers.
            reach: width of the margin around a box that still counts, in box sizes.
            stretch: factors by which x and y are multiplied first.
        """
        low = self.boxes_frac[:, :2]
        high = self.boxes_frac[:, 2:]
        points = self.points_frac(interpretation) * stretch
        margin = reach * (high - low)
        is_inside = np.all((low - margin <= points) & (points <= high + margin), axis=1)
        mask: Mask = is_inside & self.is_scored
        return mask

    def fits(self, interpretation: Interpretation) -> bool:
        """Whether an interpretation fits the points.

        Most points around the targets must be on them; and no other image size, by which all
        points would be rescaled, may explain many more hits.
        """
        count = self.on_target(interpretation).sum()
        is_near = self.on_target(interpretation, REACH)
        if not count or count < LEAST_FIT * is_near.sum():
            return False
        boxes = self.boxes_frac[is_near]
        centres = (boxes[:, :2] + boxes[:, 2:]) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            stretch = np.median(centres / self.points_frac(interpretation)[is_near], axis=0)
            count_if_resized = self.on_target(interpretation, stretch=stretch).sum()
        return bool(count >= LEAST_SHARE_IF_RESIZED * count_if_resized)

    @cached_property
    def fitted_size(self) -> FittedSize | None:
        """The size of image of which the numbers may be pixels, by where the targets are.

        None, too, where most replies name one point: many a size has it in its targets.
        """
        counts = np.unique(self.pairs(), axis=0, return_counts=True)[1]
        if counts.max() > MOST_EQUAL * len(self.columns):
            return None
        sizes = [
            size._replace(hits=size.hits & self.is_scored, text=f"{size.text}{order}")
            for pairs, order in ((self.pairs(), ""), (self.pairs()[:, ::-1], " (y before x)"))
            if (size := fitted_size(pairs, self.file_wh, self.boxes_frac, self.pictures))
        ]
        return max(sizes, key=lambda size: int(size.hits.sum()), default=None)

    def agrees_with_parser(self, points_frac: Floats) -> Mask:
        """Return a mask of the points within a pixel of the parsed ones, which may be clipped."""
        # A parse function may return infinity, or numbers near the largest there are.
        with np.errstate(invalid="ignore", over="ignore"):
            candidates = np.stack([points_frac, points_frac.clip(0, 1)])
            off_px = np.abs(candidates - self.parsed_frac) * self.file_wh
        mask: Mask = np.any(np.all(off_px <= SAME_PX, axis=2), axis=0)
        return mask


def interpretations_on_target(facts: Facts) -> list[Interpretation]:
    """Return the ways to read one reply that put it on its target, the plainest first.

    Args:
        facts: the sample's line of the samples file.
    """
    columns = SampleColumns()
    columns.add(facts)
    replies = _Replies(columns, [parse_numbers(facts["prediction"])])
    candidates = _candidates(knows_grid=facts.get("grid_wh") is not None)
    return [candidate for candidate in candidates if replies.on_target(candidate).any()]


def _candidates(*, knows_grid: bool) -> list[Interpretation]:
    return [
        candidate
        for candidate in INTERPRETATIONS
        if knows_grid or candidate.frame is not Frame.GRID_PIXELS
    ]


def coordinate_audit(columns: SampleColumns, settings: AuditSettings) -> Section | None:
    """Return the section: what the replies score in every frame, and whether another one fits.

    None of points that were imported without their replies: their frame was converted.
    """
    if not settings.has_replies:
        return None
    without_box = columns.without_one_box()
    answered = columns.with_one_box().answered()
    # Points of a crop say nothing about frames of the image.
    answered = answered.where([looks is None for looks in answered["zoom"]])
    all_numbers = [parse_numbers(reply) for reply in answered["prediction"]]
    is_compared = [
        point is not None or numbers is not None
        for point, numbers in zip(answered["point_frac"], all_numbers, strict=True)
    ]
    columns = answered.where(is_compared)
    replies = _Replies(
        columns, [*compress(all_numbers, is_compared)], scored_kinds=settings.scored_kinds
    )
    has_numbers = ~np.isnan(replies.numbers[:, 0])
    knows_grid = not np.isnan(replies.grid_wh).any()
    agreement = {
        candidate: replies.agrees_with_parser(replies.points_frac(candidate))
        for candidate in _candidates(knows_grid=knows_grid)
    }
    is_audited = np.any(list(agreement.values()), axis=0)
    is_other = has_numbers & ~np.isnan(replies.parsed_frac[:, 0]) & ~is_audited
    counts = {
        "answered": len(answered),
        AUDITED: int(is_audited.sum()),
        OTHER: int(is_other.sum()),
        NO_POINT: columns["point_frac"].count(None),
        NO_NUMBERS: all_numbers.count(None),
    }
    spans = {
        "compared": columns.spans([True] * len(columns)),
        AUDITED: columns.spans(is_audited),
        OTHER: columns.spans(is_other),
        NO_POINT: columns.spans([point is None for point in columns["point_frac"]]),
        NO_NUMBERS: answered.spans([numbers is None for numbers in all_numbers]),
    }
    agreed_share = {
        candidate: float(mask[is_audited].mean()) if is_audited.any() else 0.0
        for candidate, mask in agreement.items()
    }
    section: Section = {
        "title": TITLE,
        "rows": [],
        "notes": ["No reply could be audited."],
        "findings": [],
        "counts": counts,
        "best": [],
        "configured": [
            candidate.name
            for candidate, agreed in agreed_share.items()
            if agreed >= NEARLY_ALL and counts[AUDITED] >= counts[OTHER]
        ],
        "at": spans,
    }
    if has_numbers.any():
        replies.takes_other_numbers = _takes_other_numbers(replies, is_other)
        configured = _configured_text(section, replies, agreed_share, counts)
        _compare(section, replies, configured, settings)
        section["notes"] = _notes(section, knows_grid=knows_grid)
    is_unread = ~has_numbers & ~np.isnan(replies.parsed_frac[:, 0])
    if is_unread.sum() > MANY_UNREAD * len(columns) and not settings.is_read_by_recipe:
        section["findings"] = [*section["findings"], _unread(is_unread, replies, settings)]
        section["at"][UNREAD] = columns.spans(is_unread)
        section["is_undecided"] = True
        section["clear"] = "the audit found no coordinates in most replies"
    section["notes"] = [*section["notes"], *without_box]
    return section


def _unread(is_unread: Mask, replies: _Replies, settings: AuditSettings) -> Finding:
    """Return that the audit cannot read most replies, so that their frame is not known."""
    number = int(is_unread.argmax())
    example = " ".join(replies.columns["prediction"][number].split())[:80]
    return note(
        "coordinate_audit.unread",
        f"the audit found no coordinates in {is_unread.sum()} replies that the parse function "
        f"reads, such as {example}",
        detail="so it cannot tell whether their frame is right",
        fix="the audit reads them if a postprocess function writes each point as (x, y), which the "
        "parse function must then read; run --mode eval afterwards, which sends no request",
        topic=TOPIC,
        setting=settings.parser_setting,
        row=UNREAD,
    )


def _notes(section: Section, *, knows_grid: bool) -> list[str]:
    notes = [NOTE]
    if not knows_grid:
        notes.append(NO_GRID)
    if section["counts"][OTHER]:
        notes.append(UNKNOWN_FRAME)
    if any(row["p (Holm)"] is not None for row in section["rows"]):
        notes.append(P_NOTE)
    return notes


def _compare(section: Section, replies: _Replies, configured: str, settings: AuditSettings) -> None:
    """Add to a section what the same replies score in every frame, and what to make of it.

    Args:
        section: gets rows, as configured first, then by points on target; and findings.
        replies: some have numbers.
        configured: how the parse function of the config reads them.
        settings: of the data set.
    """
    by_verdicts: dict[bytes, tuple[Mask, list[Interpretation]]] = {}
    for candidate in _candidates(knows_grid=not np.isnan(replies.grid_wh).any()):
        hits = replies.on_target(candidate)
        by_verdicts.setdefault(hits.tobytes(), (hits, []))[1].append(candidate)
    readings = sorted(by_verdicts.values(), key=lambda reading: -int(reading[0].sum()))
    leads = [lead_over(hits, replies.hits, replies.pictures) for hits, _ in readings]
    corrected = holm([1.0 if lead.p_value is None else lead.p_value for lead in leads])
    configured_row: Row = {
        "name": f"as configured ({configured})",
        **share(replies.hits, replies.pictures),
        "on target": int(replies.hits.sum()),
        "lead": 0.0,
        "discordant pictures": 0,
        "p (Holm)": None,
        "parse function": "",
    }
    rows = [configured_row]
    section["at"][configured_row["name"]] = replies.columns.spans(replies.hits)
    winners: list[tuple[Interpretation, Row]] = []
    for (hits, same), lead, p in zip(readings, leads, corrected, strict=True):
        row: Row = {
            "name": _joint_name(same),
            **share(hits, replies.pictures),
            "on target": int(hits.sum()),
            "lead": percent(lead.accuracy),
            "discordant pictures": lead.discordant,
            "p (Holm)": None if lead.p_value is None or p is None else float(f"{p:.3g}"),
            "parse function": same[0].parse_function if hits.any() else "",
        }
        if row["p (Holm)"] is not None and row["p (Holm)"] < LARGEST_P:
            winners.append((same[0], row))
        section["at"][row["name"]] = replies.columns.spans(hits)
        rows.append(row)
    section["rows"] = rows
    leaders = readings[0][1]
    count = rows[1]["on target"]
    if finding := _unknown_size(section, replies, readings[0][0], settings):
        section["findings"] = [finding]
    elif replies.fits(leaders[0]):
        section["best"] = [leader.name for leader in leaders]
        if winners:
            section["findings"] = [_other_frame(*winners[0], configured_row, replies, settings)]
    elif winners and count:
        beside = int(replies.on_target(leaders[0], REACH).sum()) - count
        finding = warning(
            "coordinate_audit.no_frame",
            "no known frame fits these replies",
            detail=f"{configured_row['name']}, {_of_all(replies)} score "
            f"{format_percent(configured_row['value'])} %; the best known frame, "
            f"{leaders[0].name}, has {count} points on their targets and {beside} next to them",
            fix="look at some replies and write a parse function",
            topic=TOPIC,
            setting=settings.parser_setting,
            row=rows[1]["name"],
        )
        section["findings"] = [finding]
    if not section["findings"] or not section["best"]:
        is_known = bool(section["best"]) or len(replies.columns) < FEWEST_TO_JUDGE
        fitting = leaders[0] if is_known else None
        section["findings"] += _json_findings(replies.columns, fitting, settings)
    if settings.is_read_by_recipe:
        section["findings"] = []
    else:
        _note_doubt(section, replies, readings[0])


def _note_doubt(
    section: Section, replies: _Replies, best: tuple[Mask, list[Interpretation]]
) -> None:
    """Note a reading that scores better, on too few images for a warning.

    Args:
        section: gets the note, and no tick in the report, if it has no findings.
        replies: some have numbers.
        best: the hits of the best known readings, and these readings.
    """
    if section["findings"]:
        return
    hits, [leader, *_] = best
    name, size = leader.name, replies.fitted_size
    if size is not None and not _is_much_better(size.hits, hits, replies.pictures):
        size = None
    if size is not None:
        name, hits = size.text, size.hits
    if not _is_much_better(hits, replies.hits, replies.pictures):
        return
    row = section["rows"][1]
    if size is not None:
        row = _add_size(section, replies, size, lead_over(hits, replies.hits, replies.pictures))
    deciding = int(np.count_nonzero(np.bincount(replies.pictures, weights=hits ^ replies.hits)))
    images = len(np.unique(replies.pictures))
    doubtful = (
        f"the two frames differ on {deciding} of {counted(images, 'image')}, too few to be sure"
    )
    if row["p (Holm)"] is not None:
        doubtful = f"the difference may be chance (p = {row['p (Holm)']:.2g})"
    doubt = note(
        "coordinate_audit.few_images",
        f"read as {name}, {_of_all(replies)} score {format_percent(percent(hits.mean()))} %, and "
        f"{format_percent(percent(replies.hits.mean()))} % as configured",
        detail=doubtful,
        fix="look at the samples on the images where the two frames differ. If nearly all of them "
        "miss, write a parse function (docs/functions.md)",
        topic=TOPIC,
        row=row["name"],
    )
    section["findings"] = [doubt]
    section["is_undecided"] = True
    section["clear"] = f"{doubt.summary}; {doubt.detail}"


def _is_much_better(hits: Mask, others: Mask, pictures: Ints) -> bool:
    """Whether hits are many more than others, on some images at least; it may be chance."""
    gains = np.bincount(pictures, weights=hits.astype(float) - others)
    is_more = hits.mean() - others.mean() >= DOUBTFUL_LEAD
    return bool(is_more and np.sign(gains).sum() >= FEWEST_DOUBTFUL)


def _add_size(section: Section, replies: _Replies, size: FittedSize, lead: Lead) -> Row:
    """Add a row for a fitted size, below the configured reading that it leads; return it."""
    p = None if lead.p_value is None else min(1.0, ORDERS * FITS * lead.p_value)
    row: Row = {
        "name": f"{size.text} (fitted)",
        **share(size.hits, replies.pictures),
        "on target": int(size.hits.sum()),
        "lead": percent(lead.accuracy),
        "discordant pictures": lead.discordant,
        "p (Holm)": None if p is None else float(f"{p:.3g}"),
        "parse function": "",
    }
    section["rows"].insert(1, row)
    section["at"][row["name"]] = replies.columns.spans(size.hits)
    return row


def _unknown_size(
    section: Section, replies: _Replies, best_hits: Mask, settings: AuditSettings
) -> Finding | None:
    """Return that the numbers are pixels of a size that no known reading has; None: they are not.

    The section gets a row of that size: the score of one half of the images by the size that is
    fitted to the other half. It has to be better than the configured reading, and better or on few
    images much better than `best_hits`, those of the best known one.
    """
    size = replies.fitted_size
    if size is None:
        return None
    lead = lead_over(size.hits, replies.hits, replies.pictures)
    if lead.p_value is None or min(1.0, ORDERS * FITS * lead.p_value) >= LARGEST_P:
        return None
    lead_over_best = lead_over(size.hits, best_hits, replies.pictures)
    is_sure = lead_over_best.p_value is not None and lead_over_best.p_value < LARGEST_P
    if not is_sure and not _is_much_better(size.hits, best_hits, replies.pictures):
        return None
    configured_row = section["rows"][0]
    row = _add_size(section, replies, size, lead)
    if replies.takes_other_numbers:
        fix = (
            "write a parse function that takes the last coordinates of the reply, after any "
            "thinking, and divides by this size"
        )
        cause = ""
    else:
        fix = "write a parse function that divides by this size"
        cause = " Or find out what shrinks the images: the server, or the model's processor"
    return warning(
        "coordinate_audit.unknown_size",
        f"the numbers seem to be {size.text}",
        detail=f"read like this, {_of_all(replies)} score {format_percent(row['value'])} %; "
        f"{configured_row['name']}, they score {format_percent(configured_row['value'])} %. No "
        "ready-made parse function converts from this size",
        fix=f'{fix} (docs/functions.md, "A frame of your own") and run --mode eval, which sends '
        f"no request.{cause}",
        topic=TOPIC,
        setting=settings.parser_setting,
        row=row["name"],
    )


def _joint_name(same: Sequence[Interpretation]) -> str:
    """Return the name of a row of several that have the same verdict on every reply."""
    if len(same) > MOST_NAMED:
        return f"{same[0].name} and {len(same) - 1} other frames"
    return " or ".join(interpretation.name for interpretation in same)


def _takes_other_numbers(replies: _Replies, is_other: Mask) -> bool:
    """Whether the parse function takes other numbers of the replies than the audit does.

    Args:
        replies: some have numbers.
        is_other: those whose point is in no known frame.
    """
    columns = replies.columns.where(is_other)
    samples = zip(
        columns["prediction"],
        replies.pairs()[is_other].tolist(),
        columns["point_frac"],
        replies.file_wh[is_other].tolist(),
        strict=True,
    )
    count = sum(is_from_other_numbers(*sample) for sample in samples)
    return bool(count > MANY_FROM_ELSEWHERE * len(replies.columns))


def _configured_text(
    section: Section,
    replies: _Replies,
    agreed_share: Mapping[Interpretation, float],
    counts: Mapping[str, int],
) -> str:
    """The way in which the parse function of the config reads replies, as far as is known.

    Args:
        section: has the names of the frames that the function implements.
        replies: that are audited.
        agreed_share: of the audited replies, how many it reads as each interpretation does.
        counts: of the section.
    """
    if replies.takes_other_numbers:
        return OTHER_NUMBERS
    if counts[OTHER] and not counts[AUDITED] and not counts[NO_POINT]:
        return OTHER
    parts = section["configured"][:1]
    is_own = bool(parts) and counts[OTHER] > MANY_OTHER * counts[AUDITED]
    if is_own:
        parts = ["a frame of its own"]
    if not parts and counts[AUDITED] and counts[AUDITED] >= counts[OTHER]:
        ranked = sorted(agreed_share, key=lambda candidate: -agreed_share[candidate])
        shares = [
            f"{candidate.name} in {format_number(100 * agreed_share[candidate], 0)} %"
            for candidate in ranked[:2]
            if agreed_share[candidate]
        ]
        parts.append(f"as {', as '.join(shares)}" if shares else "a frame of its own")
    if counts[OTHER] and not is_own:
        parts.append(f"{OTHER} in {counts[OTHER]} replies")
    if counts[NO_POINT]:
        parts.append(f"no point in {counts[NO_POINT]} replies")
    return "; ".join(parts)


def _json_findings(
    columns: SampleColumns, fitting: Interpretation | None, settings: AuditSettings
) -> list[Finding]:
    """Return a finding on replies that are JSON with x and y, but have no parsed point.

    `fitting`: the reading to advise; None: no known one fits.
    """
    replies = zip(columns["prediction"], columns["point_frac"], strict=True)
    unread = [reply for reply, point in replies if point is None and _JSON_POINT.search(reply)]
    if not unread:
        return []
    example = " ".join(unread[0].split())[:80]
    fix = (
        f"to read them as {fitting.name}, {_fix(fitting, settings)}"
        if fitting
        else "no ready-made parse function fits: write one for the frame of this model "
        "(docs/functions.md)"
    )
    finding = warning(
        "coordinate_audit.json",
        f"the parse function found no point in {len(unread)} replies in JSON, such as {example}",
        fix=fix,
        topic=TOPIC,
        setting=settings.parser_setting,
        row=NO_POINT,
    )
    return [finding]


def _of_all(replies: _Replies) -> str:
    """What the percentages of a message are of: replies without coordinates are left out."""
    return f"the {len(replies.columns):,} replies with coordinates"


def _fix(reading: Interpretation, settings: AuditSettings) -> str:
    change = change_text(settings.parser_setting, reading.parse_function, settings.as_option)
    return f"{change} and run --mode eval, which sends no request"


def _other_frame(
    winner: Interpretation,
    row: Row,
    configured_row: Row,
    replies: _Replies,
    settings: AuditSettings,
) -> Finding:
    """Return that read otherwise the replies score better than chance allows.

    Args:
        winner: the plainest way to read them that does so well.
        row: of the winner.
        configured_row: of the parse function of the config.
        replies: that both read.
        settings: of the data set.
    """
    fix = f"if this is the unit of the model, {_fix(winner, settings)}"
    thinking = sum(after_thinking(reply) != reply for reply in replies.columns["prediction"])
    if thinking:
        fix += (
            f". {thinking} of these replies begin with thinking; this function reads the text "
            "after the thinking"
        )
    return warning(
        "coordinate_audit.other_frame",
        f"read as {winner.name}, {_of_all(replies)} score {format_percent(row['value'])} %",
        detail=f"{configured_row['name']}, they score {format_percent(configured_row['value'])} %. "
        f"{row['discordant pictures']} images decide (p = {row['p (Holm)']:.2g})",
        fix=fix,
        topic=TOPIC,
        setting=settings.parser_setting,
        row=row["name"],
    )

"""Checks of answers made elsewhere while they are scored: points, replies, verdicts.

A file's own points and verdicts are compared with ours, and where they differ, the likely reason is
counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from utils.contracts import ParseFunction, Point, Record, Sizes, Status, Verdict
from utils.coordinates import Frame, frac_to_px, parse_function_name, point_as_fractions
from utils.findings import FINDINGS, Finding, note, warning
from utils.protocol import IMPORTED
from utils.scoring.scorer import POINT, ScoredSample, Scorer, meta_of_record, reply_of
from utils.store.records import sizes_of
from utils.text import counted, format_share

NOISE = 1e-9  # of a fraction
NEAR_PX = 1.0  # rounding moves a point by so much at most
MOST_EXAMPLES = 5
NEARLY_ALL = 0.95  # of the points of the file: what a function that is advised reads
MOST_TRIED = 200  # replies on which other parse functions are tried
TITLE = "Answers made elsewhere"
ORIGIN = f"{IMPORTED}.origin"  # the finding that every import has
REASONS = {
    "border": "the point lies within 1 px of the border, where rounding decides",
    "box": "the file has another box",
    "polygon": "the target is a polygon",
    "refusal": "there is nothing to click, or the reply says so",
    "reader": "the reply is read as another point than the file has",
    "unexplained": "no reason shows",
}


class ImportAudit:
    """Looks at each sample of an import once it was judged.

    Args:
        facts: of the import, as the record of its run has them.
        scorer: that judges the samples.
    """

    def __init__(self, facts: Mapping[str, Any], scorer: Scorer) -> None:
        self._facts, self._scorer = facts, scorer
        self.counts: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()
        self._examples: list[dict[str, Any]] = []
        self._agreeing: Counter[str] = Counter()  # points of the file, by parse function
        self._tried = 0
        self.has_replies = False  # of a file of points alone there are none

    def add(self, record: Record, scored: ScoredSample) -> None:
        """Count what a sample shows."""
        counts, verdict = self.counts, scored.judgement.verdict
        counts["samples"] += 1
        counts["right"] += verdict == Verdict.HIT
        counts["missing"] += record["status"] == Status.MISSING
        counts["answered"] += record["status"] == Status.OK
        is_there = record["status"] != Status.MISSING
        self.has_replies = self.has_replies or record.get("raw") is not None
        counts["nothing read"] += is_there and verdict not in (Verdict.HIT, Verdict.MISS)
        origin = record.get("origin") or {}
        sizes = sizes_of(record)
        stored = tuple(record[POINT]) if POINT in record else None
        if stored is not None:
            self._add_point(record, scored, sizes, stored)
        if "verdict" in origin:
            counts["verdicts of the file"] += 1
            counts["right by the file"] += bool(origin["verdict"])
            if origin["verdict"] != (verdict == Verdict.HIT):
                self._add_difference(record, scored, sizes, stored)

    def _add_point(self, record: Record, scored: ScoredSample, sizes: Sizes, stored: Point) -> None:
        """Compare the point of the file with what its reply is read as."""
        counts, file_wh = self.counts, sizes.file_wh
        counts["points of the file"] += 1
        facts, verdict = scored.judgement.facts, scored.judgement.verdict
        is_other = self._is_other_point(facts, sizes, stored)
        if not scored.is_stored_point and (is_other or not _is_equal(facts, stored, file_wh)):
            judge = self._scorer.benchmark.judge
            verdict = judge(record["line"], sizes, "", lambda reply, meta: stored, {}).verdict
        counts["right by the points of the file"] += verdict == Verdict.HIT
        point_px = None if file_wh is None else _in_px(stored, file_wh)
        is_whole = point_px is not None and all(float(number).is_integer() for number in point_px)
        counts["whole pixels"] += is_whole
        if record["raw"] is None:
            counts["points only"] += 1
            counts["whole pixels near a border"] += is_whole and _is_near_border(scored, sizes)
        elif scored.is_stored_point:
            counts["unread beside a point"] += 1
        else:
            counts["read beside a point"] += 1
            counts["read as another point"] += is_other
            if is_other:
                self._try_others(record, sizes, stored)

    def _try_others(self, record: Record, sizes: Sizes, stored: Point) -> None:
        """See which parse functions read the point of the file, on the first replies."""
        file_wh = sizes.file_wh
        if self._tried >= MOST_TRIED or file_wh is None:
            return
        self._tried += 1
        reply, _ = reply_of(record, self._scorer.postprocess)
        for dotted, parse in self._scorer.other_parsers.items():
            other = self._read(record, sizes, reply or "", parse)
            is_same = other is not None and _is_same(
                _in_px(other, file_wh), _in_px(stored, file_wh)
            )
            self._agreeing[dotted] += is_same

    def _read(self, record: Record, sizes: Sizes, reply: str, parse: ParseFunction) -> Point | None:
        """The point that a parse function reads; None: none."""
        extra = meta_of_record(record, sizes, self._scorer.kwargs)
        parsed, _ = self._scorer.benchmark.read(record["line"], sizes, reply, parse, extra)
        return parsed if isinstance(parsed, tuple) else None

    def _add_difference(
        self, record: Record, scored: ScoredSample, sizes: Sizes, stored: Point | None
    ) -> None:
        facts = scored.judgement.facts
        reason = "unexplained"
        if self._is_other_point(facts, sizes, stored):
            reason = "reader"
        elif facts.get("declined") or ("box_frac" in facts and facts["box_frac"] is None):
            reason = "refusal"
        elif (facts.get("target") or {}).get("polygons"):
            reason = "polygon"
        elif "box_px" in record["origin"]:
            reason = "box"
        elif _is_near_border(scored, sizes):
            reason = "border"
        self._reasons[reason] += 1
        if len(self._examples) < MOST_EXAMPLES:
            self._examples.append(
                {
                    "name": f"row {record['origin'].get('line')}",
                    "sample": str(record["line"].get("id", record["line"].get("index"))),
                    "of the file": "right" if record["origin"]["verdict"] else "wrong",
                    "here": str(scored.judgement.verdict),
                    "reason": REASONS[reason],
                }
            )

    @staticmethod
    def _is_other_point(facts: Mapping[str, Any], sizes: Sizes, stored: Point | None) -> bool:
        """Whether the point that was read differs from the point in the file."""
        if stored is None or sizes.file_wh is None or facts.get("declined"):
            return False
        point_frac = facts.get("point_frac")
        if not point_frac:
            return True
        x, y = point_frac
        return not _is_same(frac_to_px((x, y), sizes.file_wh), _in_px(stored, sizes.file_wh))

    def section(self) -> dict[str, Any]:
        """Return the section of the analysis."""
        rows = [{"name": name, "rows": count} for name, count in self._all_counts().items()]
        reasons = [
            {"name": REASONS[reason], "verdicts": count}
            for reason, count in self._reasons.most_common()
        ]
        return {
            "title": TITLE,
            "rows": rows,
            "reasons": reasons,
            "examples": self._examples,
            "notes": [f"Imported from {self._facts.get('file')}, format {self._facts['format']}."],
            "counts": self._all_counts(),
            FINDINGS: self._findings(),
        }

    def _all_counts(self) -> dict[str, int]:
        """The counts from reading the file and from judging its samples."""
        counts = {**self._facts["counts"], **self.counts}
        counts["verdicts that differ"] = sum(self._reasons.values())
        return {name: int(count) for name, count in counts.items()}

    def _findings(self) -> list[Finding]:
        findings = [
            self._about_origin(),
            self._about_missing(),
            self._about_points(),
            self._about_unread(),
            self._about_reader(),
            self._about_verdicts(),
        ]
        return [finding for finding in findings if finding is not None]

    def _about_origin(self) -> Finding:
        return note(
            ORIGIN,
            "these answers were made elsewhere and imported",
            detail="the program knows their prompt, images and settings only from the file",
        )

    def _about_missing(self) -> Finding | None:
        counts = self.counts
        if not counts["missing"]:
            return None
        answered = counts["samples"] - counts["missing"]
        return warning(
            f"{IMPORTED}.missing",
            f"{counts['missing']:,} of {counts['samples']:,} samples have no answer in the import",
            detail=f"{format_share(counts['right'], counts['samples'])} % of all samples are "
            f"right, and {format_share(counts['right'], answered) if answered else '0'} % of the "
            "samples with an answer",
        )

    def _about_points(self) -> Finding | None:
        counts = self.counts
        if not counts["points only"]:
            return None
        near = counts["whole pixels near a border"]
        rounding = f"; whole pixels: ± {near} verdicts" if counts["whole pixels"] else ""
        return note(
            f"{IMPORTED}.points_only",
            f"{counted(counts['points only'], 'answer')} are points only{rounding}",
            detail="without replies there is no audit of frames or letters, and no other reading",
        )

    def _about_unread(self) -> Finding | None:
        count = self.counts["unread beside a point"]
        if not count:
            return None
        return warning(
            f"{IMPORTED}.unread",
            f"{counted(count, 'reply', 'replies')} cannot be read; their points in the file are "
            "scored instead",
            detail="the score does not rest on these replies",
            setting=self._scorer.parser_setting,
        )

    def _about_reader(self) -> Finding | None:
        counts = self.counts
        if not counts["read as another point"]:
            return None
        return warning(
            f"{IMPORTED}.reader",
            f"{counts['read as another point']:,} of {counts['read beside a point']:,} replies are "
            "read as another point than in the file (more than 1 px apart)",
            detail="the points of the file come from another parse function",
            fix=self._better_reader(),
            setting=self._scorer.parser_setting,
        )

    def _better_reader(self) -> str:
        agreeing = self._agreeing.most_common(1)
        if not agreeing or agreeing[0][1] < NEARLY_ALL * self._tried:
            return ""
        dotted, count = agreeing[0]
        frames = {parse_function_name(frame): frame for frame in Frame}
        option = f"use --frame {frames[dotted]}, or " if dotted in frames else ""
        change = f'{option}set {self._scorer.parser_setting}: "{dotted}"'
        return f"{change}, which reads the file's points in {count} of the first {self._tried}"

    def _about_verdicts(self) -> Finding | None:
        differ, count = sum(self._reasons.values()), self.counts["verdicts of the file"]
        if not count:
            return None
        if not differ:
            return note(
                f"{IMPORTED}.verdicts",
                f"all verdicts are equal to those in the file ({counted(count, 'verdict')}, "
                f"{self.counts['right by the file']:,} right)",
            )
        reasons = "; ".join(
            f"{count} because {REASONS[reason]}"
            if reason != "unexplained"
            else f"{count} unexplained"
            for reason, count in self._reasons.most_common()
        )
        return note(
            f"{IMPORTED}.verdicts",
            f"{differ:,} of {count:,} verdicts differ from the "
            f"file, which has {self.counts['right by the file']:,} right",
            detail=reasons,
        )


def _in_px(point: Point, file_wh: tuple[int, int]) -> Point:
    return frac_to_px(point_as_fractions(point, file_wh), file_wh) if max(point) <= 1 else point


def _is_equal(facts: Mapping[str, Any], stored: Point, file_wh: tuple[int, int] | None) -> bool:
    """Whether the point that was read equals the point in the file, up to numerical noise."""
    point_frac = facts.get("point_frac")
    if not point_frac or file_wh is None:
        return False
    pairs = zip(point_frac, point_as_fractions(stored, file_wh), strict=True)
    return all(abs(a - b) < NOISE for a, b in pairs)


def _is_same(point_px: Point, other_px: Point) -> bool:
    """Whether two points differ by rounding at most."""
    return all(abs(a - b) <= NEAR_PX for a, b in zip(point_px, other_px, strict=True))


def _is_near_border(scored: ScoredSample, sizes: Sizes) -> bool:
    """Whether a point lies so near the border of its box that rounding decides."""
    facts = scored.judgement.facts
    point, box = facts.get("point_frac"), facts.get("box_frac")
    if not point or not box or sizes.file_wh is None:
        return False
    x, y = frac_to_px((point[0], point[1]), sizes.file_wh)
    x1, y1 = frac_to_px((box[0], box[1]), sizes.file_wh)
    x2, y2 = frac_to_px((box[2], box[3]), sizes.file_wh)
    is_beside = x1 - NEAR_PX <= x <= x2 + NEAR_PX and y1 - NEAR_PX <= y <= y2 + NEAR_PX
    return is_beside and min(abs(x - x1), abs(x - x2), abs(y - y1), abs(y - y2)) <= NEAR_PX

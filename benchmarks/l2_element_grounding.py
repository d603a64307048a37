"""L2, GUIElementGrounding: where on the screenshot would one click?"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from benchmarks.base import UNKNOWN_WH, BadSample, doubts, platform_path, read_annotations
from benchmarks.figures import grounding_sections
from benchmarks.grounding.base import SYSTEM_PROMPT, USER_PROMPT, PointBenchmark, finite_or_none
from benchmarks.grounding.rows import check_l2_boxes
from benchmarks.matrics import (
    Scores,
    box_as_fractions,
    score_click,
    score_element_grounding,
)
from utils.analysis.columns import SampleColumns
from utils.contracts import WH, Judgement, Line, Sample, Sizes, Verdict
from utils.coordinates import point_as_fractions
from utils.geometry.targets import Declined, means_declined
from utils.misc import parser_response_into_coordinates
from utils.protocol import ELEMENT_KINDS, GROUNDING_TYPES

# Rows of these applications come from ScreenSpot-v2: 354 of the published 3,594.
SCREENSPOT_V2, SCREENSPOT_V2_APPS = "ScreenSpot-v2", "screenspot_v2_"

OUTCOME_BY_VERDICT = {Verdict.HIT: 1, Verdict.MISS: 0, Verdict.UNPARSED: -1}


class GUIElementGrounding(PointBenchmark):
    """Is the click inside the target's box? Scored by grounding type and platform."""

    name = "GUIElementGrounding"
    level = "L2"
    modes = ("all", *GROUNDING_TYPES)
    mode_column, text_key = "grounding_type", "instruction"
    subset_columns: ClassVar = {
        **PointBenchmark.subset_columns,
        "data_type": "data_type",
        "kind": "data_type",
    }
    scored_kinds = ELEMENT_KINDS
    result_columns = (
        "img_path",
        "instruction",
        "bbox",
        "parsed_bbox(format:x1,y1,x2,y2)",
        "type",
        "app_name",
        "platform",
        "match",
        "is_wrong_format",
        "pred_bbox",
        "grounding_type",
        "index",
    )
    system_prompt = SYSTEM_PROMPT
    default_parse = staticmethod(parser_response_into_coordinates)

    def rows(self, mode: str) -> Iterator[Line]:
        """Yield a row for each instruction."""
        items = read_annotations(self.annotation_file)
        check_l2_boxes(self.annotation_file, items)
        for item in items:
            yield {**item, "image_path": platform_path(item)}

    def problem_of(self, row: Line, file_wh: WH) -> str | None:
        """Say what is wrong with the box, or that it lies outside the image."""
        if problem := super().problem_of(row, file_wh):
            return problem
        if not isinstance(row.get("bbox"), list):
            return f"the box is missing or not a list: {row.get('bbox')!r}"
        if file_wh == UNKNOWN_WH:
            return "there is no image_size, and its image is not there"
        if not isinstance(row.get("data_type"), (str, type(None))):
            return f"data_type: {row['data_type']!r} is not a string"
        try:
            box_as_fractions(row["bbox"], file_wh)
        except ValueError as error:
            return f"box: {error}"
        return None

    def notes(self, samples: Sequence[Sample], bad: Sequence[BadSample], mode: str) -> list[str]:
        """Name boxes that no click can hit, and boxes that mix fractions with pixels."""
        crossed, mixed = [], []
        for sample in samples:
            x1, y1, x2, y2 = (max(value, 0) for value in sample.line["bbox"])
            if x1 > x2 or y1 > y2:
                crossed.append(sample)
            elif is_mixed_box(x1, y1, x2, y2):
                mixed.append(sample)
        problems = {
            "with corners in the wrong order, which no click can hit": crossed,
            "with values of fractions beside a value above 1, which count as pixels": mixed,
        }
        return doubts(problems, "box", "boxes")

    def user_text(self, line: Line) -> str:
        """Return `L2_USER_PROMPT` or the protocol's text; only `{instruction}` is replaced."""
        template = os.environ.get("L2_USER_PROMPT") or USER_PROMPT
        return template.replace("{instruction}", line["instruction"])

    def judge_parsed(self, line: Line, sizes: Sizes, parsed: Any, reply: str | None) -> Judgement:
        """Return a hit if the point lies in the box, both as fractions of the image file.

        All elements are there, so a reply that says otherwise is a miss. The official score counts
        `DECLINED` with the replies without a point, and two negative coordinates as a point.
        """
        file_wh = sizes.file_wh or tuple(line["image_size"])
        box = box_as_fractions(line["bbox"], file_wh)
        click = point_as_fractions(parsed, file_wh) if isinstance(parsed, tuple) else None
        official_verdict = score_click(box, click)
        is_declined = isinstance(parsed, Declined) or (click is not None and means_declined(click))
        verdict = Verdict.MISS if is_declined else official_verdict
        split, kind = line["grounding_type"], line.get("data_type")
        counted = (split, line["platform"], kind, OUTCOME_BY_VERDICT[official_verdict])
        is_hit = int(verdict is Verdict.HIT)
        copied = ("instruction", "bbox", "app_name", "platform", "grounding_type", "index")
        columns = {
            **{column: line.get(column) for column in copied},
            "img_path": line["image_path"],
            "parsed_bbox(format:x1,y1,x2,y2)": list(box),
            "type": kind,
            "match": is_hit,
            "is_wrong_format": official_verdict is Verdict.UNPARSED,
            "pred_bbox": None if click is None else list(click),
        }
        facts = {
            "split": split,
            "kind": kind,
            "text": line.get("instruction"),
            "hit": is_hit * (kind in ELEMENT_KINDS),
            "box_frac": list(box),
            "point_frac": finite_or_none(click),
            "declined": is_declined,
        }
        if str(line.get("app_name")).startswith(SCREENSPOT_V2_APPS):
            facts["taken_from"] = SCREENSPOT_V2
        return Judgement(None if reply is None else verdict, counted, columns, facts)

    def summarise(self, counted: Iterable[Any], settings: Mapping[str, str]) -> Scores:
        """Return accuracy by grounding type and platform; no reply counts as a format error."""
        by_split: dict[str, dict[str, dict[str, list[int]]]] = {}
        for split, platform, kind, value in counted:
            kinds = by_split.setdefault(split, {}).setdefault(platform, {})
            kinds.setdefault(str(kind), []).append(value)
        return score_element_grounding(by_split)

    def sections(self, columns: SampleColumns, settings: Mapping[str, str]) -> dict[str, Any]:
        """Return the figures with intervals."""
        return grounding_sections(columns, self.title)


def is_mixed_box(x1: float, y1: float, x2: float, y2: float) -> bool:
    """Whether a box that counts as pixels looks as if it were in fractions."""
    if max(x1, y1, x2, y2) <= 1:
        return False
    has_fraction_corner = 0 < x1 < 1 and 0 < y1 < 1
    is_slightly_outside = max(x1, y1, x2, y2) < 2
    return has_fraction_corner or is_slightly_outside

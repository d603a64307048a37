"""Grounding: where on the screenshot would one click?

L2 and the other grounding tables share this base. A new benchmark is a class on
`GroundingBenchmark`; docs/own_benchmark.md shows one.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.base import BadSample, Benchmark
from benchmarks.grounding.figures import (
    GroundingResult,
    Layout,
    grounding_scores,
    table_sections,
)
from benchmarks.grounding.rows import (
    label_problem,
    layout_problems,
)
from benchmarks.matrics import Scores
from benchmarks.tables import TableBenchmark
from utils.analysis.columns import SampleColumns
from utils.contracts import (
    WH,
    Judgement,
    Line,
    ParseFunction,
    Point,
    Sample,
    Sizes,
    UserFunctionError,
    Verdict,
)
from utils.coordinates import (
    Frame,
    frame_parser,
    known_grid_wh,
    parse_function_name,
    point_as_fractions,
)
from utils.functions.calling import call_user_function
from utils.geometry.targets import (
    DECLINED,
    Answer,
    Declined,
    Target,
    means_declined,
    reversed_box_problem,
    target_problem,
)
from utils.misc import parser_response_into_coordinates
from utils.subsets import mode_with

# parity: L2's texts are those of the protocol, to the byte.
SYSTEM_PROMPT = (
    "You are a GUI agent. You are given a task and a screenshot of the screen. You need to finish "
    "this task following instructions from users."
)
USER_PROMPT = (
    "Output only the coordinate (x,y) of one point in your response. What element matches the "
    "following task: {instruction}"
)
REFUSAL_PROMPT = (
    "\nIf there is no such element on the screenshot, output (-1,-1) in place of a coordinate."
)


MAX_NAMED = 5  # rows that stand there twice


def finite_or_none(click_frac: Point | None) -> list[float] | None:
    """Return a click as the analysis takes it: None unless both numbers are finite."""
    return list(click_frac) if click_frac and all(map(math.isfinite, click_frac)) else None


class PointBenchmark(Benchmark):
    """A benchmark with points as answers."""

    recipe_form = "grounding"
    parse_functions: ClassVar[Mapping[str, Callable[..., Any]]] = {
        parse_function_name(frame, y_first=y_first): frame_parser(frame, y_first=y_first)
        for y_first in (False, True)
        for frame in Frame
    }
    audits = (
        "utils.analysis.coordinate_audit.coordinate_audit",
        "utils.analysis.constant_answer.constant_answer",
        "utils.analysis.image_tokens.image_tokens",
        "utils.analysis.anatomy.anatomy",
        "utils.analysis.server_audit.server_audit",
    )

    def accept(self, parsed: Any) -> Answer:
        """Return two numbers, `DECLINED`, or None."""
        if parsed is None:
            return None
        if isinstance(parsed, Declined):
            return DECLINED
        is_other = isinstance(parsed, (str, bytes, Mapping, Set))  # two of something, but no point
        try:
            x, y = map(float, "" if is_other else parsed)
            if not (math.isnan(x) or math.isnan(y)):
                return x, y
        except (TypeError, ValueError, OverflowError):
            pass
        raise ValueError(f"returned {parsed!r:.200}; expected (x, y) or None")

    def judge(
        self, line: Line, sizes: Sizes, reply: str | None, parse: ParseFunction, meta_extra: Line
    ) -> Judgement:
        """Judge as every benchmark does, and add the grid that the coordinate audit needs."""
        judged = super().judge(line, sizes, reply, parse, meta_extra)
        grid_wh = known_grid_wh({"image_size": sizes.file_wh or line["image_size"], **meta_extra})
        return replace(judged, facts={**judged.facts, "grid_wh": grid_wh})


class GroundingBenchmark(PointBenchmark, TableBenchmark):
    """A table of grounding: its files, its targets, its groups and its official figure.

    A subclass declares the class variables and yields its rows in `read_rows`. A row is a dict of
    JSON values:

    - `image_path`: below the folder `images`.
    - `instruction`: the text of the task.
    - `target`: where a click is right, `{"boxes": [[x1, y1, x2, y2], ...], "polygons": [[[x, y],
      ...], ...]}` with one of these keys or both, in pixels of the image unless `target_unit` is
      "fraction". An empty dict: the element is not there.
    - a label for each grouping of `layout`.
    - `element_id` and `wording`: for rows that ask for one element in different words. These rows
      share the `element_id`; comparisons pair them.
    """

    layout: ClassVar[Layout]
    target_unit: ClassVar[str] = "px"
    compares_px: ClassVar[bool] = False  # official: points in pixels, not in fractions
    with_refusals: ClassVar[bool] = False  # "no such element" can be right
    has_empty_boxes: ClassVar[bool] = False  # published with reversed corners: never a hit
    expected_rows: ClassVar[Mapping[str, int]] = {}  # by mode, as published

    result_columns = (
        "image_path",
        "instruction",
        "target",
        "platform",
        "type",
        "match",
        "is_wrong_format",
        "is_declined",
        "predicted_point",
        "index",
    )
    system_prompt = SYSTEM_PROMPT
    default_parse = staticmethod(parser_response_into_coordinates)

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__(folder, name)
        self._declining: list[str] = []
        self._mode = "all"

    @property
    def spread_column(self) -> str:
        """The column of the modes, else a grouping of the score table."""
        return self.mode_column or self.layout.split or self.layout.columns

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Take the benchmark's own keys and `declined`, words that say "not there"."""
        super().configure(settings)
        self._mode = mode_with(settings.get("mode") or "all", settings.get("only") or {})
        self._declining = [word.casefold() for word in settings.get("declined") or ()]

    def problem_of(self, row: Line, file_wh: WH) -> str | None:
        """Say whether instruction, target, labels or the size of the image are wrong."""
        if problem := super().problem_of(row, file_wh):
            return problem
        target: Any = row.get("target")
        problem = target_problem(target)
        if problem is None and not self.has_empty_boxes:
            problem = reversed_box_problem(target)
        if problem is None and not self.with_refusals and Target.from_json(target).is_absent:
            problem = "nothing to click, and the benchmark does not say `with_refusals = True`"
        if problem is not None:
            return problem
        try:
            labels = call_user_function("labels_of", self.labels_of, row)
        except UserFunctionError as failure:
            return f"labels_of {failure.summary}"
        return label_problem(self.layout, {**labels, "kind": row.get("kind")})

    def problems(self) -> list[str]:
        """Problems of the class variables, one line each."""
        problems = layout_problems(self.layout)
        if len(self.modes) > 1 and not self.mode_column:
            problems.append('modes beside "all" need `mode_column`, the column that tells them')
        return problems

    def notes(self, samples: Sequence[Sample], bad: Sequence[BadSample], mode: str) -> list[str]:
        """Return notes on missing and repeated rows, compared with the published numbers."""
        counts = Counter(str(sample.line.get(self.mode_column)) for sample in samples)
        notes = super().notes(samples, bad, mode)
        expected = self.expected_rows.get(mode)
        row_count = len(samples) + len(bad)
        if expected is not None and row_count != expected:
            note = f"{row_count:,} rows; the published files have {expected:,}"
            parts = [
                f"{part} {counts[part]:,} of {self.expected_rows[part]:,}"
                for part in self.modes[1:]
                if mode == "all"
                and not bad
                and counts[part] != self.expected_rows.get(part, counts[part])
            ]
            notes.append(f"{note} ({', '.join(parts)})" if parts else note)
        repeated = [self.position_of(sample.line, mode) for sample in samples if "-" in sample.key]
        if repeated:
            places = repeated[:MAX_NAMED]
            if len(repeated) > MAX_NAMED:
                places.append("...")
            rows = "1 row repeats" if len(repeated) == 1 else f"{len(repeated)} rows repeat"
            same = "image and instruction of an earlier one, and each counts"
            notes.append(f"{rows} {same}: {', '.join(places)}")
        return notes

    # -- asking ----

    def user_text(self, line: Line) -> str:
        """Return the text of the default prompt."""
        prompt = USER_PROMPT.replace("{instruction}", line["instruction"])
        return prompt + (REFUSAL_PROMPT if self.with_refusals else "")

    # -- judging ----

    def subset_labels(self, row: Line) -> dict[str, list[str]]:
        """The labels of a row in each grouping of the layout, and those that all tables have."""
        labels = super().subset_labels(row)
        try:
            own_labels = call_user_function("labels_of", self.labels_of, row)
        except UserFunctionError:  # such a row is named among the bad ones
            own_labels = {}
        for grouping in self.layout.groupings:
            value = own_labels.get(grouping, ())
            labels[grouping] = [value] if isinstance(value, str) else [*value]
        kinds = [str(row["kind"])] if row.get("kind") else []
        return {"data_type": kinds, **labels, "kind": kinds}  # L2's name for it, and that of all

    def accept(self, parsed: Any) -> Answer:
        """Return two numbers, `DECLINED` (also for two negative numbers), or None."""
        answer = super().accept(parsed)
        if isinstance(answer, tuple) and means_declined(answer):
            return DECLINED
        return answer

    def labels_of(self, line: Line) -> Mapping[str, str | Sequence[str]]:
        """Return the label, or several, of a row in each grouping."""
        return {grouping: str(line.get(grouping)) for grouping in self.layout.groupings}

    def judge_parsed(self, line: Line, sizes: Sizes, parsed: Any, reply: str | None) -> Judgement:
        """Return a hit if the point lies in the target, or rightly there is none."""
        if parsed is None and reply is not None:
            text = reply.casefold()
            if any(word in text for word in self._declining):
                parsed = DECLINED
        file_wh: WH = sizes.file_wh or tuple(line["image_size"])
        target = Target.from_json(line["target"])
        target_frac = target if self.target_unit == "fraction" else target.as_fractions(file_wh)
        is_declined = isinstance(parsed, Declined)
        click = None
        if parsed is None:
            is_hit = False
        elif is_declined:
            is_hit = target.is_absent
        else:
            click = point_as_fractions(parsed, file_wh)
            is_hit = self._contains(target, target_frac, parsed, click, file_wh)
        verdict = Verdict.HIT if is_hit else Verdict.MISS
        if parsed is None:
            verdict = Verdict.UNPARSED
        labels = self.labels_of(line)
        pairs = tuple(
            (grouping, label)
            for grouping, value in labels.items()
            for label in ([value] if isinstance(value, str) else value)
        )
        kind = str(line.get("kind"))
        final_verdict = None if reply is None else verdict
        result = GroundingResult(pairs, kind, final_verdict, is_declined, target.is_absent)
        columns = {
            "image_path": line["image_path"],
            "instruction": line["instruction"],
            "target": json.dumps(line["target"]),
            "platform": line.get("platform"),
            "type": line.get("kind"),
            "match": int(is_hit),
            "is_wrong_format": verdict is Verdict.UNPARSED,
            "is_declined": is_declined,
            "predicted_point": None if click is None else list(click),
            "index": line.get("index"),
        }
        bounds = target_frac.bounds
        facts: dict[str, Any] = {
            "split": line.get(self.layout.split) if self.layout.split else None,
            "kind": line.get("kind"),
            "text": line["instruction"],
            "id": line.get("id"),
            "image": f"{self.folder}/{self.images}/{line['image_path']}",
            "hit": int(is_hit),
            "box_frac": None if bounds is None else list(bounds),
            "point_frac": finite_or_none(click),
            "declined": is_declined,
            "groups": {
                grouping: [value] if isinstance(value, str) else list(value)
                for grouping, value in labels.items()
            },
        }
        if len(target.boxes) != 1 or target.polygons:
            facts["target"] = target_frac.as_json()
        if line.get("wording"):
            facts |= {"wording": line["wording"], "element_id": line.get("element_id")}
        return Judgement(final_verdict, result, columns, facts)

    def _contains(
        self, target: Target, target_frac: Target, parsed: Point, click_frac: Point, file_wh: WH
    ) -> bool:
        if not self.compares_px:
            return target_frac.contains(click_frac)
        if click_frac == parsed:  # the reply has fractions
            return target.contains((parsed[0] * file_wh[0], parsed[1] * file_wh[1]))
        return target.contains(parsed)

    # -- figures ----

    def summarise(self, results: Iterable[GroundingResult], settings: Mapping[str, str]) -> Scores:
        """Return the official figure, averages by name, counts, and a block for each group."""
        return grounding_scores(list(results), self.layout, self.expected_rows.get(self._mode))

    def sections(self, columns: SampleColumns, settings: Mapping[str, str]) -> dict[str, Any]:
        """Return the figures with intervals."""
        return table_sections(columns, self.title, self.layout)

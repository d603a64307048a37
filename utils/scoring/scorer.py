"""From the log to judged samples and scores. Needs no model, no pictures and no data root.

Samples pass through one at a time; what is kept of each is what its score needs.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from utils.analysis.repeats import with_means
from utils.contracts import (
    REPEAT_MARK,
    Benchmark,
    Judgement,
    Line,
    ParseFunction,
    Record,
    Sizes,
    Status,
    UserFunctionError,
    Verdict,
    repeat_of,
)
from utils.coordinates import PIXEL_LIMITS, format_size, point_as_fractions
from utils.errors import StopRun
from utils.findings import Finding, warning
from utils.functions.calling import FAILURES_IN_A_ROW, READING, as_scorer_error
from utils.functions.follow_up import parse_of_user, parse_of_zoom, reply_text
from utils.geometry.resizing import ResizeStep
from utils.geometry.zooming import SecondLook, Zoom
from utils.protocol import WORLD_FAILURE
from utils.store.records import error_text, sizes_of, user_error_fields
from utils.text import change_text

MOST_EXAMPLES = 3
COST = ("requests", "usage", "latency_s", "wall_s")  # of an episode, in its record
NEARLY_ALL = 0.8  # of the replies
NO_FUNCTION = "send the prompt that the model needs (custom_prompt), or write a parse function"
MOST_TRIED = 100  # unparsed replies on which other parse functions are tried
FEWEST_UNPARSED, MUCH = 10, 0.05  # so many replies, and this share, are worth another function
LEAST_RIGHT = 0.25  # of what a function reads, if it is the one that fits
MISSING_TEXT = "The imported file has no row for this sample."
WITHOUT_ANSWER = ("failed", "refused", "missing", "spoilt")  # counts
POINT = "point"  # of a record: that an imported file has
FAILED_TEXT = "Failed to obtain answer via API."  # parity: what the spreadsheet shows


@dataclass(frozen=True, slots=True)
class ScoredSample:
    """One sample, answered or not, with all that the derived files show of it."""

    line: Line
    prediction: str
    judgement: Judgement
    error: UserFunctionError | None = None  # of the postprocess or parse function
    is_stored_point: bool = False  # what was judged is the point of an imported file


@dataclass
class Scorer:
    """Judges samples one after the other and sums up."""

    benchmark: Benchmark
    postprocess: Callable[[str], str]  # raw reply → text to parse; for records that hold no reply
    parse: ParseFunction
    kwargs: Mapping[str, Any]  # the model's; parse functions see its pixel limits
    skip_errors: bool  # go on however often a user's function fails
    functions: Mapping[str, str] = field(default_factory=dict)  # the user's, by stage
    token_limit: str = "generate_cfg.max_tokens"  # the key of the model's entry
    parser_setting: str = "parse_function"  # the key path of what reads this model's replies
    as_option: bool = False  # the run has no config file: `--set` changes a setting
    # By dotted path: what may read replies that `parse` cannot.
    other_parsers: Mapping[str, ParseFunction] = field(default_factory=dict)
    recipe_parsers: Collection[str] = ()  # those of them that are the recipe's: they come first
    resized_by: str = ""  # what has images resized before sending, in words; "": nothing
    image_rule: ResizeStep | None = None  # how the model's processor resizes; None: not known
    zoom: Zoom | None = None  # how samples of two stages were looked at, if no record says it
    is_other_parser: bool = False  # `parse` is not what read the first points of these looks
    # "samples", "answered", "unparsed", "failed", ...
    counts: Counter[str] = field(default_factory=Counter)
    # What went wrong, by kind: how often, and one traceback ("" where there is none).
    errors: dict[str, tuple[int, str]] = field(default_factory=dict)
    # Of images that were resized before sending: samples by the sizes of the file and as sent.
    resized: Counter[tuple[str, str]] = field(default_factory=Counter)
    unparsed: list[str] = field(default_factory=list)  # the first few replies without an answer
    better_parsers: Counter[str] = field(default_factory=Counter)  # that read what is unparsed
    hits_of_parsers: Counter[str] = field(default_factory=Counter)  # and how often rightly
    _counted: dict[int, list[Any]] = field(default_factory=dict)  # of first answers, second ones
    _kinds: dict[Any, Any] = field(default_factory=dict)  # of equal ones one is kept
    _failures_in_a_row: Counter[str] = field(default_factory=Counter)  # by function

    def judge(self, record: Record) -> ScoredSample:
        """Judge one sample.

        Raises:
            StopRun: a postprocess or parse function failed ten times in a row.
        """
        reply, error = reply_of(record, self.postprocess)
        sizes = sizes_of(record)
        extra = meta_of_record(record, sizes, self.kwargs)
        parse = self.parse
        look = None
        stored = StoredPoint(self.parse, record) if POINT in record else None
        if stored is not None:
            parse = stored.read
        if reply is not None and "stages" in record:
            look = self._second_look(record["stages"])
            parse = self._parse_of(record["stages"], look)
        judged = self.benchmark.judge(record["line"], sizes, reply, parse, extra)
        if look is not None:
            judged = replace(judged, facts={**judged.facts, "zoom": self._looks(record, look)})
        error = error or judged.error
        if error or record.get("error") or self._failures_in_a_row:
            self._note(record, error)
        self._count(record, reply, judged, error)
        if judged.better_parser:
            self.better_parsers[judged.better_parser] += 1
        if judged.verdict == Verdict.UNPARSED and isinstance(reply, str) and "stages" not in record:
            self._try_others(record, sizes, reply, extra)
        key = record["key"]
        repeat = repeat_of(key) if REPEAT_MARK in key else 1
        counted = self._counted.setdefault(repeat, [])
        counted.append(self._kinds.setdefault(judged.counted, judged.counted))
        prediction = reply if isinstance(reply, str) else shown_reply(record, error)
        if judged.verdict == Verdict.UNPARSED and prediction not in self.unparsed[:MOST_EXAMPLES]:
            self.unparsed = [*self.unparsed, prediction][:MOST_EXAMPLES]
        is_stored = stored is not None and stored.is_taken
        return ScoredSample(record["line"], prediction, judged, error, is_stored)

    def _try_others(self, record: Record, sizes: Sizes, reply: str, extra: Line) -> None:
        """Try the other parse functions on a reply that could not be read, on the first ones."""
        if not reply.strip() or self.counts["tried"] >= MOST_TRIED or not self.other_parsers:
            return
        self.counts["tried"] += 1
        for dotted, parse in self.other_parsers.items():
            judged = self.benchmark.judge(record["line"], sizes, reply, parse, extra)
            if judged.verdict in (Verdict.HIT, Verdict.MISS) and judged.error is None:
                self.better_parsers[dotted] += 1
                self.hits_of_parsers[dotted] += judged.verdict == Verdict.HIT

    def best_parser(self) -> str | None:
        """Return the parse function that reads most of what this one cannot; None: there is none.

        The recipe's come before others. Of those that read as many rightly it is the first.
        """
        enough = self._readers()
        if not enough:
            return None
        of_recipe = [dotted for dotted in enough if dotted in self.recipe_parsers]
        return max(
            of_recipe or enough,
            key=lambda dotted: (self.hits_of_parsers[dotted], self.better_parsers[dotted]),
        )

    def _all_readers(self) -> list[str]:
        """The functions that read half of what this one cannot."""
        return [
            dotted
            for dotted in dict.fromkeys([*self.other_parsers, *self.better_parsers])
            if self.better_parsers[dotted]
            and 2 * self.better_parsers[dotted] >= self.counts["tried"]
        ]

    def _readers(self) -> list[str]:
        """Those of them that read something rightly, as far as that is known."""
        return [
            dotted
            for dotted in self._all_readers()
            if self.hits_of_parsers[dotted] or not self.other_parsers
        ]

    def _fits(self, dotted: str) -> bool:
        """Whether to advise a function of `best_parser`.

        Functions for all frames read the same numbers, so a successful reading proves nothing: a
        quarter of the readings must be right. The recipe's functions fit the model's family, and a
        function without a rival needs no other proof.
        """
        if (
            dotted in self.recipe_parsers
            or self._all_readers() == [dotted]
            or not self.other_parsers
        ):
            return True
        return self.hits_of_parsers[dotted] >= LEAST_RIGHT * self.better_parsers[dotted]

    @property
    def is_read_by_recipe(self) -> bool:
        """Whether a warning about unparsed replies names a function of the recipe."""
        codes = {finding.code for finding in self.findings()}
        return "replies.unparsed" in codes and self.best_parser() in self.recipe_parsers

    def _second_look(self, stages: Sequence[Record]) -> SecondLook | None:
        """The second look at a sample; None where a user's function has asked."""
        crop = stages[-1].get("crop")
        if crop is not None:
            return SecondLook.of(crop)
        if self.zoom is None:
            return None
        return SecondLook(self.zoom, is_around_first=not self.is_other_parser)

    def _parse_of(self, stages: Sequence[Record], look: SecondLook | None) -> ParseFunction:
        """The function that reads a sample of several stages: the replies of all of them."""
        replies = [reply_text(stage, self.postprocess) for stage in stages]
        if look is None:
            return parse_of_user(self.parse, replies)
        return parse_of_zoom(look, self.benchmark.accept, self.parse, replies, stages[-1]["sizes"])

    def _looks(self, record: Record, look: SecondLook) -> dict[str, Any]:
        """The facts of a second look for pages: first reply, its point, the crop (fractions).

        `is_elsewhere`: the crop is not the one around the first point as it is read now.
        """
        first, file_wh = record["stages"][0], sizes_of(record).file_wh
        looks: dict[str, Any] = {"first_reply": reply_text(first, self.postprocess)}
        sizes = sizes_of(first)
        extra = meta_of_record(first, sizes, self.kwargs)
        point, _ = self.benchmark.read(
            record["line"], sizes, looks["first_reply"], self.parse, extra
        )
        if file_wh is None:
            return looks
        first_frac = point_as_fractions(point, file_wh) if isinstance(point, tuple) else None
        if first_frac is not None:
            looks["first_point_frac"] = list(first_frac)
        crop = look.shown(file_wh, first_frac)
        if crop is not None:
            looks["crop_frac"] = list(crop.box_frac)
        if first_frac is None or look.around(file_wh, first_frac) is None:
            looks["is_elsewhere"] = True
            self.counts["looked_elsewhere"] += 1
        return looks

    def scores(self, settings: Mapping[str, str]) -> dict[str, Any]:
        """Return the score object of all samples so far; `settings` are environment variables.

        With several answers to each question its figures are the means of those of single runs,
        and its counts are of all answers.
        """
        singles = [*self._counted.values()]
        try:
            scores = self.benchmark.summarise([*chain(*singles)], settings)
            if len(singles) < 2:
                return scores
            of_runs = [self.benchmark.summarise(counted, settings) for counted in singles]
        except Exception as failure:  # noqa: BLE001 - it is raised again, as the user's or as ours
            raise as_scorer_error(self.benchmark, "summarise", failure) from None
        with_figures: dict[str, Any] = with_means(scores, of_runs)
        return with_figures

    def _note(self, record: Record, error: UserFunctionError | None) -> None:
        if why := record.get("error") if error is None else user_error_fields(error):
            kind = error_text(why)
            count, first_trace = self.errors.get(kind, (0, why.get("trace", "")))
            self.errors[kind] = (count + 1, first_trace)
        if error is None:
            if record["status"] == Status.OK:  # one without an answer says nothing about functions
                self._failures_in_a_row.clear()
            return
        if error.stage == READING:
            return
        if error.stage == "parse":  # it was reached, so postprocessing succeeded
            self._failures_in_a_row["postprocess"] = 0
        self._failures_in_a_row[error.stage] += repeat_of(record["key"]) == 1  # once a question
        too_many = self._failures_in_a_row[error.stage] >= FAILURES_IN_A_ROW
        if too_many and not self.skip_errors:
            raise keeps_failing(error.stage, self.functions, "all answers are kept", error.trace)

    def _count(
        self, record: Record, reply: str | None, judged: Judgement, error: UserFunctionError | None
    ) -> None:
        counts = self.counts
        counts["samples"] += 1
        counts["retried"] += record.get("attempts", 1) > 1
        for kind in ("prompt_tokens", "completion_tokens"):
            counts[kind] += (record.get("usage") or {}).get(kind) or 0
        if reply is None:
            if error:
                counts["spoilt"] += 1
            elif record["status"] == Status.REFUSED:
                counts["refused"] += 1
            elif record["status"] == Status.MISSING:
                counts["missing"] += 1
            else:
                counts["failed"] += 1
            is_of_world = (record.get("error") or {}).get("class") == WORLD_FAILURE
            counts["environment_failures"] += is_of_world
            return
        counts["parse_errors"] += error is not None
        counts["answered"] += 1
        counts[str(judged.verdict)] += 1
        counts["declined"] += bool(judged.facts.get("declined"))
        is_cut = record.get("finish_reason") == "length"
        counts["cut_off"] += is_cut
        counts["spent"] += is_cut and not record.get("raw")
        is_empty = record["kind"] == "answer" and not is_cut and not record.get("raw")
        is_empty = is_empty and POINT not in record
        counts["empty"] += is_empty
        counts["empty_with_reasoning"] += is_empty and bool(record.get("reasoning"))
        sent = record["sizes"].get("sent")
        for change in record.get("image_changes", ()):
            counts[f"image_{change}"] += 1
        if sent and sent != record["sizes"]["file"]:
            self.resized[format_size(record["sizes"]["file"]), format_size(sent)] += 1

    def findings(self) -> list[Finding]:
        """Warn where nearly all replies say nothing of the model, or are read otherwise now."""
        answered = self.counts["answered"]
        if not answered:
            return []
        return [*self._doubts_about_replies(answered), *self._doubts_about_looks()]

    def _doubts_about_looks(self) -> list[Finding]:
        """Warn of second looks at parts that the first points, as they are read now, are not in."""
        count = self.counts["looked_elsewhere"]
        if not count:
            return []
        return [
            warning(
                "replies.looked_elsewhere",
                f"{count} second looks show another part of the image than the one around the "
                "first point",
                detail="for these samples the first point counts",
                fix="the parse function has changed since then, and reads another first point. The "
                "same command without --mode eval queries the second look again",
                setting=self.parser_setting,
            )
        ]

    def _doubts_about_replies(self, answered: int) -> list[Finding]:
        cut_off = self.counts["cut_off"]
        unparsed = self.counts["unparsed"]
        if cut_off >= NEARLY_ALL * answered:
            return [
                warning(
                    "replies.cut_off",
                    f"{cut_off} of {answered} replies were cut off at the token limit",
                    detail=f"raise {self.token_limit}{self._first_unparsed()}",
                    setting=self.token_limit,
                )
            ]
        if self.counts["empty"] >= NEARLY_ALL * answered:
            return [self.empty_finding("replies.empty", f"{answered} replies")]
        is_most = unparsed >= NEARLY_ALL * answered
        is_much = unparsed >= FEWEST_UNPARSED and unparsed >= MUCH * answered
        best = self.best_parser()
        is_advised = best is not None and self._fits(best)
        has_better = is_advised and (is_much or not self.other_parsers)
        if not is_most and not has_better:
            return []
        summary = f"{unparsed} of {answered} replies are unparsed"
        if is_most:
            summary += ", so the score says little about the model"
        return [
            warning(
                "replies.unparsed",
                summary,
                detail=self.parser_advice(),
                setting=self.parser_setting,
            )
        ]

    def _first_unparsed(self) -> str:
        """An example of a reply that could not be read; "": all were read."""
        if not self.unparsed:
            return ""
        count = self.counts["unparsed"]
        return f". {count} of them are unparsed. The first one begins {self.unparsed[0][:60]!r}"

    def empty_finding(self, code: str, all_replies: str) -> Finding:
        """Return the warning about whole replies without text, and where it may be instead."""
        detail = ""
        with_reasoning = self.counts["empty_with_reasoning"]
        if with_reasoning:
            detail = (
                f"{with_reasoning} of them have text in the reasoning field (reasoning_content or "
                "reasoning). Start the server with the reasoning parser of this model, or without "
                "one (vLLM: --reasoning-parser)"
            )
        return warning(code, f"{self.counts['empty']} of {all_replies} are empty", detail=detail)

    def parser_advice(self) -> str:
        """Advice on replies that the parse function could not read."""
        key = self.parser_setting
        name = self.best_parser()
        if name is None:
            return f"{NO_FUNCTION} (docs/functions.md), and set {key}"
        count = self.better_parsers[name]
        change = change_text(key, name, self.as_option)
        if not self._fits(name):
            return (
                f"no ready-made function fits: the best one, {name}, reads {count} of "
                f"{self.counts['tried']}, {self.hits_of_parsers[name]} rightly; write one for the "
                f"frame of this model (docs/functions.md) and set {key}"
            )
        if self.other_parsers:
            return (
                f"{change}, which reads {count} of {self.counts['tried']} "
                f"({self.hits_of_parsers[name]} are hits), and run --mode eval; no request is sent"
            )
        return (
            f"{change}, which reads {count} of them, or the parser of this dialect for the frame "
            "of the points (docs/agents.md)"
        )

    @property
    def has_failures(self) -> bool:
        """Whether any sample failed, in whatever way."""
        return any(self.counts[kind] for kind in WITHOUT_ANSWER) or bool(
            self.counts["parse_errors"]
        )


def meta_of_record(record: Record, sizes: Sizes, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The facts that a parse function learns beside the line: limits, sizes, native tool calls.

    What judges an episode learns its cost, and the class of the error that has ended it.
    """
    extra = {key: kwargs[key] for key in PIXEL_LIMITS if key in kwargs}
    image_sizes = {"sent_size": sizes.sent_wh, "seen_size": sizes.seen_wh}
    extra |= {name: wh for name, wh in image_sizes.items() if wh}
    if record.get("tool_calls"):
        extra["tool_calls"] = record["tool_calls"]
    if record["kind"] == "episode":
        extra["cost"] = {name: record[name] for name in COST if name in record}
        extra["failure"] = (record.get("error") or {}).get("class")
    return extra


class StoredPoint:
    """Reads an imported reply; the point beside it in the file counts where nothing can be read."""

    def __init__(self, parse: ParseFunction, record: Record) -> None:
        self._parse = None if record.get("raw") is None else parse
        self._point = tuple(record[POINT])
        self.is_taken = False  # whether it was the point that counted

    def read(self, response: str, meta: Mapping[str, Any]) -> Any:
        """The result of the parse function, or the point."""
        parsed = None if self._parse is None else self._parse(response, meta)
        self.is_taken = parsed is None
        return self._point if parsed is None else parsed


def keeps_failing(stage: str, functions: Mapping[str, str], then: str, failure: str) -> StopRun:
    """The reason to try no more samples on a user's function, with its last failure."""
    name = " ".join(filter(None, (f"the {stage} function", functions.get(stage))))
    what = f"{name} failed {FAILURES_IN_A_ROW} times in a row"
    last_line = failure.strip().rpartition("\n")[2]
    return StopRun(
        f"{what}; {then} (set SKIP_ERR=1 to continue despite failures). The last "
        f"failure:\n{failure}",
        summary=f"{what}: {last_line}",
    )


def reply_of(
    record: Record, postprocess: Callable[[str], str]
) -> tuple[str | None, UserFunctionError | None]:
    """Return the text to parse; None if there is no answer, with the postprocess function's error.

    Of a whole episode it is what the benchmark's episode has returned.
    """
    if record["status"] != Status.OK:
        return None, None
    if record.get("raw") is None and POINT in record:
        x, y = record[POINT]
        return f"({x:g}, {y:g})", None
    if record["kind"] == "episode":
        return record["returned"], None
    if record.get("reply") is not None:
        return record["reply"], None
    try:
        return postprocess(record["raw"]), None
    except UserFunctionError as error:
        return None, error


def shown_reply(record: Record, error: UserFunctionError | None) -> str:
    """The text in sheets for want of a reply: the raw one where postprocessing failed."""
    if (returned := record.get("returned")) is not None:  # by a whole episode
        return str(returned["shown"]) if "shown" in returned else json.dumps(returned)
    if record["status"] == Status.MISSING:
        return MISSING_TEXT
    return str(record["raw"]) if error is not None else FAILED_TEXT

"""From the log to judged samples and scores. Needs no model, no pictures and no data root."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from utils.contracts import Line, Sizes, UserFunctionError
from utils.errors import StopRun
from utils.predictions import LogContent, Record, Status

FAILED_TEXT = "Failed to obtain answer via API."  # parity: what the spreadsheet shows
FAILURES_IN_A_ROW = 10


class Judged(Protocol):
    """A benchmark's judgement, as far as this module looks at it."""

    @property
    def verdict(self) -> Any: ...
    @property
    def columns(self) -> Mapping[str, Any]: ...
    @property
    def error(self) -> UserFunctionError | None: ...


class Judge(Protocol):
    """The part of a benchmark that scores."""

    def judge(
        self, line: Line, sizes: Sizes, reply: str | None, parse: Any, meta_extra: Line
    ) -> Any: ...
    def summarise(
        self, judgements: Iterable[Any], settings: Mapping[str, str]
    ) -> dict[str, Any]: ...
    def in_mode(self, row: Line, mode: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class ScoredSample:
    """One sample, answered or not, with all that the derived files show of it."""

    record: Record
    prediction: str
    judgement: Any

    @property
    def line(self) -> Line:
        """The row of the annotation file."""
        line: Line = self.record["line"]
        return line


@dataclass
class ScoredSet:
    """All samples of one data set for one model.

    Attributes:
        missing: samples that the run covers and that were not asked yet.
        counts: "answered", "unparsed", "failed", "refused", "cut_off", "size_differs", ...
        errors: what went wrong, by kind: how often, and one traceback ("" where there is none).
    """

    samples: list[ScoredSample] = field(default_factory=list)
    scores: dict[str, Any] = field(default_factory=dict)
    missing: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    errors: dict[str, tuple[int, str]] = field(default_factory=dict)

    @property
    def has_failures(self) -> bool:
        """Whether a sample failed in whatever way, or was not asked."""
        kinds = ("failed", "refused", "spoilt", "parse_errors")
        return self.missing > 0 or any(self.counts[kind] for kind in kinds)

    def note_error(self, kind: str, trace: str = "") -> None:
        """Counts an error under its kind, keeping the first traceback."""
        count, first_trace = self.errors.get(kind, (0, trace))
        self.errors[kind] = (count + 1, first_trace)


def score_log(
    content: LogContent,
    benchmark: Judge,
    *,
    mode: str,
    limit: int | None,
    postprocess: Callable[[str], str],
    parse: Callable[[str, Mapping[str, Any]], Any],
    kwargs: Mapping[str, Any],
    settings: Mapping[str, str],
    skip_errors: bool,
) -> ScoredSet:
    """Judges every covered sample of a log, in file order, and sums up.

    Args:
        postprocess: raw reply → text to parse; for records that hold no postprocessed reply.
        kwargs: the model's; parse functions see its pixel limits.
        settings: environment variables that a score depends on.
        skip_errors: go on however often a user's function fails.

    Raises:
        StopRun: a postprocess or parse function failed ten times in a row.
    """
    scored = ScoredSet()
    limits = {key: kwargs[key] for key in ("min_pixels", "max_pixels") if key in kwargs}
    in_a_row = 0
    for record in _covered(content, benchmark, mode, limit, scored):
        reply, error = reply_of(record, postprocess)
        sizes = _sizes_of(record)
        extra = limits | {f"{stage}_size": record["sizes"][stage]
                          for stage in ("sent", "seen") if record["sizes"].get(stage)}  # fmt: skip
        judgement = benchmark.judge(record["line"], sizes, reply, parse, extra)
        error = error or judgement.error
        if error is not None:
            scored.note_error(f"{error.stage} function: {error.summary}", error.trace)
        elif record.get("error"):
            why = record["error"]
            scored.note_error(f"{why['class']}: {why['message']}", why.get("trace", ""))
        in_a_row = in_a_row + 1 if error is not None else 0
        if in_a_row >= FAILURES_IN_A_ROW and not skip_errors:
            assert error is not None
            raise StopRun(
                f"the {error.stage} function failed {FAILURES_IN_A_ROW} times in a row; all "
                "answers are kept (set SKIP_ERR=1 to score in spite of failures). The last "
                f"failure:\n{error.trace}"
            )
        _count(scored.counts, record, reply, judgement, error)
        text = shown_reply(record, reply, error)
        scored.samples.append(ScoredSample(record, text, judgement))
    scored.scores = benchmark.summarise((s.judgement for s in scored.samples), settings)
    return scored


def predictions_of(content: LogContent, postprocess: Callable[[str], str]) -> list[dict[str, Any]]:
    """The lines of the newest run with their replies, unparsed; for `--mode infer`."""
    rows = []
    for key in content.run["samples"] if content.run else ():
        record = content.answers.get((key, 0))
        if record is not None:
            reply, error = reply_of(record, postprocess)
            rows.append({**record["line"], "prediction": shown_reply(record, reply, error)})
    return rows


def _covered(
    content: LogContent, benchmark: Judge, mode: str, limit: int | None, scored: ScoredSet
) -> Iterator[Record]:
    """The newest record of each sample that the newest run covers."""
    keys = content.run["samples"] if content.run else [key for key, _ in content.answers]
    taken = 0
    for key in keys:
        record = content.answers.get((key, 0))
        if record is None:
            scored.missing += 1
        elif benchmark.in_mode(record["line"], mode) and (limit is None or taken < limit):
            taken += 1
            yield record


def shown_reply(record: Record, reply: str | None, error: UserFunctionError | None) -> str:
    """What the spreadsheets show: the reply, the raw one where postprocessing it failed."""
    if reply is not None:
        return reply
    return str(record["raw"]) if error is not None else FAILED_TEXT


def reply_of(
    record: Record, postprocess: Callable[[str], str]
) -> tuple[str | None, UserFunctionError | None]:
    """The text to parse; None if there is no answer, with the postprocess function's error."""
    if record["status"] != Status.OK:
        return None, None
    if record.get("reply") is not None:
        return record["reply"], None
    try:
        return postprocess(record["raw"]), None
    except UserFunctionError as error:
        return None, error


def _sizes_of(record: Record) -> Sizes:
    def wh(stage: str) -> tuple[int, int] | None:
        value = record["sizes"].get(stage)
        return (value[0], value[1]) if value else None

    return Sizes(wh("file"), wh("sent"), wh("seen"))


def _count(
    counts: Counter[str],
    record: Record,
    reply: str | None,
    judgement: Judged,
    error: UserFunctionError | None,
) -> None:
    counts["samples"] += 1
    counts["retried"] += record.get("attempts", 1) > 1
    for kind in ("prompt_tokens", "completion_tokens"):
        counts[kind] += (record.get("usage") or {}).get(kind) or 0
    if reply is None:
        was_refused = record["status"] == Status.REFUSED
        counts["spoilt" if error else "refused" if was_refused else "failed"] += 1
        return
    counts["parse_errors"] += error is not None
    counts["answered"] += 1
    counts[str(judgement.verdict)] += 1
    counts["cut_off"] += record.get("finish_reason") == "length"
    sent = record["sizes"].get("sent")
    counts["size_differs"] += bool(sent and sent != record["sizes"]["file"])

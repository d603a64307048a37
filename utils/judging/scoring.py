"""The score with a judge, beside the official one: which replies it reads, and what comes of it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from utils.analysis.agreement import Agreement, agreement
from utils.analysis.columns import Row, SampleColumns, percent
from utils.analysis.judge_reading import (
    AUDIT,
    SECTION,
    UNREAD,
    ReadingStatus,
    has_read_enough,
)
from utils.config.endpoint import parse_endpoint
from utils.config.options import Options
from utils.config.schema import ModelEntry
from utils.contracts import Facts, Record, Status, Verdict
from utils.findings import Finding, warning
from utils.judging.judge import Judge, Reading, readings_of
from utils.judging.questions import PROMPT_DIGEST, PROMPT_VERSION, ReplyToRead
from utils.protocol import FEWEST_PICTURES
from utils.scoring.scorer import ScoredSample, Scorer
from utils.store.folder import RunFolder
from utils.text import counted

TITLE = "Judge: replies in which the parse function found no letter"


@dataclass(frozen=True)
class Judged:
    """The judge's readings of the replies of a data set."""

    judge: Judge
    readings: Mapping[str, tuple[str, Reading]]  # by sample: why it was read, and the reading
    why_stopped: str = ""

    def beside(self, record: Record, scored: ScoredSample) -> ScoredSample:
        """Return a sample with the judge's reading among its facts, if there is one."""
        if record["key"] not in self.readings:
            return scored
        role, reading = self.readings[record["key"]]
        facts = {"for": role, "status": reading.status, "choice": reading.choice}
        if reading.problem:
            facts["problem"] = reading.problem
        judgement = scored.judgement
        return replace(
            scored, judgement=replace(judgement, facts={**judgement.facts, SECTION: facts})
        )

    @property
    def is_whole(self) -> bool:
        """Whether every reply was read."""
        return all(reading.status is ReadingStatus.READ for _, reading in self.readings.values())

    @property
    def to_send(self) -> int:
        """The number of replies that a run would send to the judge now."""
        readings = {id(reading): reading for _, reading in self.readings.values()}
        return sum(reading.status is not ReadingStatus.READ for reading in readings.values())

    @property
    def no_score(self) -> str:
        """The reason why there is no figure with the judge; "": there is one."""
        readings = self._readings_for(UNREAD)
        read = _count_read(readings)
        if has_read_enough(len(readings), read):
            return ""
        return f"the judge read {read} of {counted(len(readings), 'reply', 'replies')}"

    def _readings_for(self, role: str) -> list[Reading]:
        return [reading for why, reading in self.readings.values() if why == role]

    def section(self, columns: SampleColumns, facts_of_judged: Iterable[Facts]) -> dict[str, Any]:
        """Return the section of the analysis, but for the score table with the judge.

        Args:
            columns: of all scored samples.
            facts_of_judged: of all samples, in the same order.
        """
        rows_by_name: dict[str, list[bool]] = {name: [] for name in _ROWS}
        official: list[str | None] = []
        by_judge: list[str | None] = []
        images: list[str] = []
        for facts in facts_of_judged:
            reading = facts.get(SECTION) or {}
            names = _names_of(facts, reading)
            for name, marks in rows_by_name.items():
                marks.append(name in names)
            if reading.get("for") == AUDIT and reading["status"] == ReadingStatus.READ:
                official.append(facts["chosen"])
                by_judge.append(reading["choice"])
                images.append(str(facts["image"]))
        total = len(columns)
        rows: list[Row] = [
            {"name": name, "count": sum(marks), "share": percent(sum(marks) / (total or 1))}
            for name, marks in rows_by_name.items()
        ]
        counts = {str(row["name"]): int(row["count"]) for row in rows}
        usage: Counter[str] = Counter()
        for _, reading in self.readings.values():
            for kind in ("prompt_tokens", "completion_tokens"):
                usage[kind] += int((reading.usage or {}).get(kind) or 0)
        agreed = agreement(official, by_judge, images)
        return {
            "title": TITLE,
            "clear": "the judge read every reply that it got",
            "model": self.judge.model.name,
            "prompt": {"version": PROMPT_VERSION, "sha256": PROMPT_DIGEST},
            "rows": rows,
            "at": {name: columns.spans(marks) for name, marks in rows_by_name.items()},
            "agreement": None if agreed is None else asdict(agreed),
            "tokens": dict(usage),
            "notes": [*self._notes(counts, agreed, usage)],
            "findings": self._findings(agreed),
        }

    def _notes(
        self, counts: Mapping[str, int], agreed: Agreement | None, usage: Mapping[str, int]
    ) -> Iterable[str]:
        yield self._sentence(counts)
        yield f"The judge's prompt is {PROMPT_VERSION} (SHA-256 {PROMPT_DIGEST[:12]}...)."
        if agreed is not None:
            replies = counted(agreed.samples, "reply", "replies")
            text = f"The judge also read {replies} in which the parse function found a letter. "
            text += f"The two agree in {100 * agreed.share:.1f} %"
            if agreed.kappa is not None:
                text += f"; Cohen's kappa {agreed.kappa:.2f} ({_bounds_text(agreed)})"
            yield f"{text}."
        if usage["prompt_tokens"]:
            yield (
                f"The judge's tokens: {usage['prompt_tokens']:,} + "
                f"{usage['completion_tokens']:,} (prompt + completion)."
            )

    def _sentence(self, counts: Mapping[str, int]) -> str:
        """Say what became of the replies in which the parse function found no letter."""
        readings = self._readings_for(UNREAD)
        if not readings:
            return "The judge got no reply, because no complete reply is unparsed."
        text = f"The judge read {counts['judged']} of {counted(len(readings), 'reply', 'replies')}"
        if counts["judged"]:
            text += (
                f": {counts['given a letter']} choose an option "
                f"({counts['right by the judge']} the right one), "
                f"{counts['settles on none']} choose no option"
            )
        unread = self._unread_texts(readings)
        return ". ".join([text, *unread]) + "."

    def _unread_texts(self, readings: Sequence[Reading]) -> list[str]:
        """Return a sentence for each kind of reply that was not read, without a full stop."""
        sentences = []
        failed = [reading for reading in readings if reading.status is ReadingStatus.FAILED]
        reasons = Counter(reading.reason for reading in failed)
        examples = {reading.reason: reading.problem for reading in reversed(failed)}
        for reason, count in reasons.most_common(MOST_REASONS):
            words = examples[reason].removeprefix(reason).removeprefix(": ")
            example = f" (such as {words})" if words else ""
            sentences.append(f"{count} failed: {reason.rstrip('.')}{example}")
        others = reasons.total() - sum(count for _, count in reasons.most_common(MOST_REASONS))
        if others:
            sentences.append(f"{others} failed for other reasons")
        statuses = Counter(reading.status for reading in readings)
        if over := statuses[ReadingStatus.OVER_BUDGET]:
            sentences.append(
                f"{over} were not sent: the budget is used up (max_requests "
                f"{self.judge.max_requests})"
            )
        if not_asked := statuses[ReadingStatus.NOT_ASKED]:
            sentences.append(f"{not_asked} were not sent to the judge")
        return sentences

    def _findings(self, agreed: Agreement | None) -> list[Finding]:
        findings: list[Finding] = []
        if self.judge.warning:
            findings.append(warning("judge.same_model", self.judge.warning, topic="judge"))
        if self.why_stopped:
            findings.append(
                warning("judge.stopped", f"the judge stopped: {self.why_stopped}", topic="judge")
            )
        if agreed is not None and agreed.samples >= FEWEST_AGREED and agreed.share < AGREES:
            replies = counted(agreed.samples, "reply", "replies")
            findings.append(
                warning(
                    "judge.disagrees",
                    f"the judge agrees with the parse function in only {100 * agreed.share:.1f} % "
                    f"of {replies} that both read",
                    detail="its other readings are as doubtful",
                    fix="look at the replies that the two read differently, or use another judge",
                    topic="judge",
                )
            )
        for role, code, what, meaning in _UNREAD_FINDINGS:
            readings = self._readings_for(role)
            read = _count_read(readings)
            if read == len(readings):
                continue
            if role == UNREAD and self.no_score:
                meaning = "There is no score with the judge, because the judge read fewer than half"
            replies = counted(len(readings), "reply", "replies")
            findings.append(
                warning(
                    code,
                    f"the judge read {read} of {replies} that the parse function {what}",
                    detail="; ".join(self._unread_texts(readings)),
                    fix=f"{meaning}. The next run sends them to the judge again",
                    topic="judge",
                )
            )
        return findings


_UNREAD_FINDINGS = (
    (UNREAD, "judge.failed", "could not read", "Replies that nobody read count as wrong"),
    (
        AUDIT,
        "judge.audit_failed",
        "read, too",
        "They only compare the judge with the parse function, and change no score",
    ),
)
MOST_REASONS = 3  # of failures that are told apart
FEWEST_AGREED, AGREES = 10, 0.9  # on so many replies a judge should agree in this share


def _count_read(readings: Iterable[Reading]) -> int:
    return sum(reading.status is ReadingStatus.READ for reading in readings)


def _bounds_text(agreed: Agreement) -> str:
    if agreed.low is None or agreed.high is None:
        return f"no interval: under {FEWEST_PICTURES} images"
    return f"{agreed.low:.2f} to {agreed.high:.2f}"


_ROWS = ("judged", "given a letter", "settles on none", "right by the judge", "not read")


def _names_of(facts: Facts, reading: Mapping[str, Any]) -> set[str]:
    """Return the rows that a sample belongs to; those of the audit are in none."""
    if reading.get("for") != UNREAD:
        return set()
    if reading["status"] != ReadingStatus.READ:
        return {"not read"}
    names = {"judged", "settles on none" if reading["choice"] is None else "given a letter"}
    if reading["choice"] == facts["answer"]:
        names.add("right by the judge")
    return names


def same_model_warning(model: ModelEntry, judge: ModelEntry) -> str:
    """Say that a model judges its own replies, if it does."""
    if _identity(model) != _identity(judge):
        return ""
    return "the judge is the model itself; use another model as judge, and name it with the figures"


def _identity(entry: ModelEntry) -> str:
    """Return a model's name on its server, or its checkpoint."""
    if entry.imp_type != "openai":
        return entry.model_path
    return parse_endpoint(entry.model_path).model or entry.model_path


def judge_replies(
    judge: Judge,
    records: Iterable[Record],
    scorer: Scorer,
    folder: RunFolder,
    options: Options,
    clean: Callable[[Any], Any],
) -> Judged:
    """Let the judge read the unparsed replies, and some of the others.

    Args:
        judge: the model that reads.
        records: of the samples that are scored.
        scorer: reads them once, as the score does.
        folder: of the run.
        options: of the run.
        clean: removes secrets from a record.
    """
    unread: dict[str, ReplyToRead] = {}
    read: dict[str, ReplyToRead] = {}
    for record in records:
        scored = scorer.judge(record)
        if not _is_whole_reply(record, scored):
            continue
        line = record["line"]
        options_of_line = {k: text for k, text in line["options"].items() if text is not None}
        reply = ReplyToRead(str(line["question"]), options_of_line, scored.prediction)
        is_unread = scored.judgement.verdict is Verdict.UNPARSED
        (unread if is_unread else read)[record["key"]] = reply
    audit = dict(sorted(read.items(), key=_by_chance)[: judge.audit_samples])
    name = scorer.benchmark.name
    readings, why_stopped = readings_of(
        judge, [*unread.values(), *audit.values()], folder, name, options, clean
    )
    by_sample = {key: (UNREAD, readings[reply.key]) for key, reply in unread.items()}
    by_sample |= {key: (AUDIT, readings[reply.key]) for key, reply in audit.items()}
    return Judged(judge, by_sample, why_stopped)


def _is_whole_reply(record: Record, scored: ScoredSample) -> bool:
    is_cut_off = record.get("finish_reason") == "length"
    is_answered = record["status"] == Status.OK and scored.judgement.verdict is not None
    return is_answered and not is_cut_off and bool(scored.prediction.strip())


def _by_chance(item: tuple[str, ReplyToRead]) -> str:
    """Order samples as if drawn, and the same in every run."""
    return hashlib.sha256(f"audit {item[0]}".encode()).hexdigest()

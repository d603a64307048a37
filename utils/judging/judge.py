"""Asks the judge about replies, and keeps what it said in a log of its own beside the run's.

An answer is stored under the content it is about (question, options, reply) and the request's
fingerprint, so another prompt version, model or setting asks again and nothing else does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from utils.analysis.judge_reading import ReadingStatus
from utils.config.options import Options
from utils.contracts import ModelWrapper, Prompt, Record, Sample, Status
from utils.engine.engine import Engine
from utils.engine.jobs import Job
from utils.errors import StopRun
from utils.judging.questions import (
    PROMPT_DIGEST,
    PROMPT_VERSION,
    ReplyToRead,
    UnusableReply,
    read_choice,
)
from utils.scoring.console import ConsoleProgress
from utils.store.folder import RunFolder
from utils.store.index import AnswerIndex, Reason, StoredAnswer
from utils.store.log import LoggedRun, RunLog
from utils.store.records import end_record, run_record

FOLDER = "judge"  # of a run: the judge's log
ENOUGH = 10  # unusable replies before any other: the judge does not understand its prompt


@dataclass(frozen=True, slots=True)
class Reading:
    """The judge's reading of one reply."""

    status: ReadingStatus
    choice: str | None = None  # None: the reply settles on no option
    reason: str = ""  # why it failed
    problem: str = ""  # the same with the judge's words
    usage: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Judge:
    """A model that reads replies, with its limits."""

    model: ModelWrapper
    max_requests: int  # new requests of one run
    audit_samples: int  # replies with a letter that the judge reads as well
    warning: str = ""  # what speaks against this judge


@dataclass(frozen=True)
class _JudgeRun:
    """The fixed settings of a judge while it reads the replies to one data set."""

    judge: Judge
    home: RunFolder
    dataset: str
    options: Options

    @property
    def log(self) -> Path:
        """Of the judge's answers."""
        return self.home.log(self.dataset)


class _JudgeAnswers(AnswerIndex):
    """The stored answers of a judge; an unusable one counts as failed and is requested again."""

    def look_up(
        self,
        key: str,
        fingerprint: str,
        parts: Mapping[str, str],
        options: Options,
        earlier_fingerprints: Sequence[str] = (),
    ) -> StoredAnswer | str:
        """Return the record of this request if it stands and can be used, or why it is asked."""
        answer = super().look_up(key, fingerprint, parts, options, earlier_fingerprints)
        if isinstance(answer, StoredAnswer) and answer.status is Status.OK and not options.ignore:
            record = answer.read()
            try:
                read_choice(_text_of(record), record["line"]["options"])
            except UnusableReply:
                return Reason.FAILED_BEFORE
        return answer


def _text_of(record: Record) -> str:
    """The text that a judge has said."""
    return str(record["raw"] if record.get("reply") is None else record["reply"])


def readings_of(
    judge: Judge,
    replies: Sequence[ReplyToRead],
    folder: RunFolder,
    dataset: str,
    options: Options,
    clean: Callable[[Any], Any],
) -> tuple[dict[str, Reading], str]:
    """The judge's readings of replies, by key, and why it stopped early, if it did.

    Args:
        judge: is asked, unless options say that stored answers alone are scored.
        replies: those that matter most first; beyond the budget none is asked.
        folder: of the run.
        dataset: whose replies they are.
        options: of the run.
        clean: removes secrets from a record.
    """
    home = RunFolder(folder.model, folder.path / FOLDER)
    # --retry-server names servers of the model that is evaluated.
    options = replace(options, fresh=options.fresh or options.retry_judge, retry_server=())
    run = _JudgeRun(judge, home, dataset, options)
    logs = sorted(folder.path.parent.glob(f"*/{FOLDER}/{run.log.name}"))
    stored = _JudgeAnswers(logs, own_log=run.log)
    unique = list({reply.key: reply for reply in replies}.values())
    new = [reply for reply in unique if not _is_stored(run, reply, stored)]
    beyond = {reply.key for reply in new[judge.max_requests :]}
    why_stopped = ""
    if new and options.mode != "eval":
        within = [reply for reply in unique if reply.key not in beyond]
        first = new[:ENOUGH] if len(new) == len(unique) > ENOUGH else []
        if first:
            why_stopped = _ask(run, first, stored, clean)
            stored = _JudgeAnswers(dict.fromkeys([*logs, run.log]), own_log=run.log)
            why_stopped = why_stopped or _why_none_is_usable(run, first, stored)
        if not why_stopped:
            why_stopped = _ask(run, within, stored, clean)
            stored = _JudgeAnswers(dict.fromkeys([*logs, run.log]), own_log=run.log)
    readings: dict[str, Reading] = {}
    for reply in unique:
        reading = _reading(run, reply, stored)
        if reading is None:
            is_beyond = reply.key in beyond and options.mode != "eval"
            status = ReadingStatus.OVER_BUDGET if is_beyond else ReadingStatus.NOT_ASKED
            reading = Reading(status)
        readings[reply.key] = reading
    return readings, why_stopped


def _why_none_is_usable(run: _JudgeRun, replies: Sequence[ReplyToRead], stored: AnswerIndex) -> str:
    """The reason to stop after the first replies, if the judge read none of them; else ""."""
    readings = [_reading(run, reply, stored) for reply in replies]
    problems = [reading.problem for reading in readings if reading is not None and reading.problem]
    if len(problems) < len(replies):
        return ""
    return f"it read none of the first {len(replies)} replies. The last one: {problems[-1]}"


def _is_stored(run: _JudgeRun, reply: ReplyToRead, stored: AnswerIndex) -> bool:
    request = run.judge.model.request(reply.messages(), run.dataset)
    answer = stored.look_up(reply.key, request.fingerprint, request.parts, run.options)
    return isinstance(answer, StoredAnswer)


def _reading(run: _JudgeRun, reply: ReplyToRead, stored: AnswerIndex) -> Reading | None:
    """The stored reading of the judge's answer to exactly this request, a failure too."""
    request = run.judge.model.request(reply.messages(), run.dataset)
    as_stored = replace(run.options, fresh=False, ignore=True, retry_refused=False)
    answer = stored.look_up(reply.key, request.fingerprint, request.parts, as_stored)
    if not isinstance(answer, StoredAnswer):
        return None
    record = answer.read()
    if record["status"] != Status.OK:
        error = record.get("error") or {}
        message = str(error.get("message"))
        return Reading(ReadingStatus.FAILED, reason=message, problem=message)
    usage = record.get("usage")
    try:
        choice = read_choice(_text_of(record), reply.options)
    except UnusableReply as error:
        return Reading(ReadingStatus.FAILED, None, error.reason, str(error), usage)
    return Reading(ReadingStatus.READ, choice, usage=usage)


def _ask(
    run: _JudgeRun,
    replies: Sequence[ReplyToRead],
    stored: AnswerIndex,
    clean: Callable[[Any], Any],
) -> str:
    """Ask about all replies that have no stored answer; return why that stopped early, or ""."""
    model = run.judge.model
    run.home.path.mkdir(parents=True, exist_ok=True)
    samples = {reply.key: _sample(reply) for reply in replies}
    messages = {reply.key: reply.messages() for reply in replies}

    log = RunLog(run.log, clean=clean)
    with closing(log):
        record = _run_record(run, list(samples), 1 + stored.newest)
        log.append(record)
        job = Job(
            dataset=run.dataset,
            samples=list(samples.values()),
            prompt_of=lambda sample: Prompt(messages[sample.key]),
            answers=stored,
            run=LoggedRun(record, {}),
        )
        job.open(log)
        began_s, began_cpu_s = time.monotonic(), time.process_time()
        bar = ConsoleProgress(len(samples), f"{model.name} (judge)", is_quiet=run.options.quiet)
        why_stopped = ""
        try:
            model.warm_up()
            Engine(model, run.options, bar, clean).run([job])
        except StopRun as stop:
            why_stopped = str(stop)
        finally:
            bar.close()
        if not why_stopped and job.stopped is not None:
            why_stopped = str(job.stopped)
        wall_s, cpu_s = time.monotonic() - began_s, time.process_time() - began_cpu_s
        log.append(end_record(wall_s, cpu_s, queried=job.reasons, reused=job.reused))
    return why_stopped


def _sample(reply: ReplyToRead) -> Sample:
    line = {"question": reply.question, "options": dict(reply.options), "reply": reply.reply}
    return Sample(reply.key, line, image=None, file_wh=None)


def _run_record(run: _JudgeRun, keys: Sequence[str], seq: int) -> dict[str, Any]:
    model = run.judge.model
    return run_record(
        seq=seq,
        model=run.home.model,
        dataset=run.dataset,
        mode="all",
        limit=None,
        samples=keys,
        turns=list(range(len(keys))),
        bad=[],
        asking={"settings": model.settings_digest()[:16], "prompt": PROMPT_DIGEST[:16]},
        judge=model.name,
        prompt_version=PROMPT_VERSION,
    )

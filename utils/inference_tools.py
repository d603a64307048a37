"""The engine: drives samples through a model and writes every answer to the log.

The calling thread makes the prompts, in file order, and is the only writer; worker threads prepare
requests, look them up among the stored answers, and ask. No worker ever holds the exit: they are
daemon threads, and all that counts is in the log before the next thing happens.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from utils.contracts import (
    CallError,
    Generation,
    Line,
    ModelWrapper,
    Prepared,
    Prompt,
    Record,
    Sample,
    Status,
    UserFunctionError,
    turn_key,
)
from utils.engine.asking import Asker, Unanswered
from utils.engine.gate import Gate, Limit
from utils.engine.interrupt import two_step_interrupt
from utils.engine.jobs import Episode, Job
from utils.engine.refusals import Refusals
from utils.engine.retry_policy import Policy, may_reuse
from utils.errors import StopRun, UserError
from utils.functions.calling import FAILURES_IN_A_ROW
from utils.runs.log import StoredAnswer
from utils.runs.records import (
    answer_fields,
    call_error_fields,
    new_record,
    user_error_fields,
)

SPARE_WORKERS = 8  # of `auto`, at the gate, with a request prepared
PATIENCE_AFTER_STOP_S = 1.5  # for answers under way when a run cannot go on


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How to ask.

    Attributes:
        in_flight: how many requests at once; None: as many as the server takes.
        policy: how patient to be with the server.
        fresh: ask again what has an answer.
        keep_failed: do not ask again what failed last time.
        retry_refused: ask again what the server refused.
        skip_errors: go on however often a user's function fails.
        clean, clean_text: remove secrets from a record, from a text.
        on_reason: told of each sample that is asked (data set, line), and why.
        on_asked: told of each sample that was asked (data set, record), answered or not, in the
            calling thread; a StopRun that it raises ends the asking of that data set.
    """

    in_flight: int | None
    policy: Policy
    fresh: bool = False
    keep_failed: bool = False
    retry_refused: bool = False
    skip_errors: bool = False
    clean: Callable[[Record], Record] = lambda record: record
    clean_text: Callable[[str], str] = lambda text: text
    on_reason: Callable[[str, Line, str], None] = lambda dataset, line, reason: None
    on_asked: Callable[[str, Record], None] = lambda dataset, record: None


class Progress(Protocol):
    """Is told of every finished sample."""

    def advance(self, status: str, *, reused: bool) -> None: ...


@dataclass(frozen=True, slots=True)
class _Turn:
    """One prompt of one sample on its way."""

    job: Job
    sample: Sample
    episode: Episode
    prompt: Prompt
    number: int

    @property
    def key(self) -> str:
        """Of this turn's record."""
        return turn_key(self.sample.key, self.number)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What a worker made of a turn: a record to write, or a reason to stop."""

    turn: _Turn
    record: Record | None = None
    generation: Generation | None = None
    reused: bool = False
    write: bool = True  # False: this log holds the record already, and need only say so
    reason: str | None = None
    user_error: UserFunctionError | None = None
    stop: StopRun | None = None
    settled: threading.Event = field(default_factory=threading.Event)


class Interrupted(Exception):
    """The user pressed Ctrl-C; what was in flight has been finished and logged."""


class Engine:
    """Runs jobs of one model, their samples in one queue, so that data sets overlap."""

    def __init__(self, model: ModelWrapper, settings: EngineSettings, progress: Progress) -> None:
        self._model, self._settings, self._progress = model, settings, progress
        limit = Limit.of(model.in_flight(settings.in_flight))
        self._workers, self._started = limit.most, 0  # threads: at most, so far
        self._inbox: queue.SimpleQueue[_Turn | None] = queue.SimpleQueue()
        self._outbox: queue.SimpleQueue[_Outcome] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._gate = Gate(limit, self._stopping)
        self._asker = Asker(model, settings.policy, self._gate, self._stopping, settings.clean_text)
        self._under_way = 0  # turns that were handed out and have not come back
        self._refusals = Refusals(model.name, settings.clean)

    def run(self, jobs: Sequence[Job]) -> None:
        """Asks everything that has no answer yet; returns when all of it is in the logs.

        Raises:
            StopRun: nothing can work any more (wrong key, no server, full disk).
            Interrupted: after Ctrl-C; a second one raises KeyboardInterrupt at once.
        """
        self._start_workers(min(self._workers, self._gate.limit + SPARE_WORKERS))
        with two_step_interrupt(self._stop) as interrupted:
            try:
                self._run(self._first_turns(jobs), interrupted)
                self._refusals.take_back()
            except StopRun:
                self._stop()
                self._keep_what_comes()
                raise
            finally:
                self._stop()
                for _ in range(self._started):
                    self._inbox.put(None)
            if interrupted:
                raise Interrupted

    def _run(self, turns: Iterator[_Turn | None], interrupted: Sequence[bool]) -> None:
        """Keeps the workers supplied and settles what they bring, until nothing is under way."""
        is_drained = False
        while True:
            while self._under_way < 2 * self._workers and not is_drained and not interrupted:
                try:
                    turn = next(turns)
                except StopIteration:
                    is_drained = True
                    break
                if turn is None:
                    break
                self._hand_out(turn)
            if self._under_way == 0:
                return
            outcome = self._next_outcome()
            following = self._settle(outcome)
            outcome.settled.set()
            if self._started < self._workers and self._gate.waiting < SPARE_WORKERS:
                self._start_workers(1)
            if following is not None and not interrupted:
                self._hand_out(following)

    def _start_workers(self, count: int) -> None:
        """Only as they are needed: each that waits at the gate costs the others time."""
        self._started += count
        for _ in range(count):
            threading.Thread(target=self._work, daemon=True).start()

    def _hand_out(self, turn: _Turn) -> None:
        self._inbox.put(turn)
        self._under_way += 1

    def _next_outcome(self, timeout_s: float | None = None) -> _Outcome:
        outcome = self._outbox.get(timeout=timeout_s)
        self._under_way -= 1
        return outcome

    def _keep_what_comes(self) -> None:
        """After a stop: answers that were on their way are paid for, so they are kept."""
        ends_s = time.monotonic() + PATIENCE_AFTER_STOP_S
        with contextlib.suppress(queue.Empty, StopRun):  # StopRun: the disk is what went wrong
            while self._under_way > 0:
                outcome = self._next_outcome(max(0.0, ends_s - time.monotonic()))
                if outcome.record is not None and outcome.stop is None:
                    self._finish(
                        outcome.turn.job, outcome.record,
                        reused=outcome.reused, write=outcome.write,
                    )  # fmt: skip
                    if not outcome.reused:
                        self._refusals.see_late(outcome.turn.job, outcome.record)
        with contextlib.suppress(StopRun):
            self._refusals.take_back()

    def _stop(self) -> None:
        """Nothing more is sent; what is under way comes back."""
        self._stopping.set()
        self._gate.wake()
        self._model.abandon()

    # -- the calling thread: prompts and log ------------------------------------------------------

    def _first_turns(self, jobs: Sequence[Job]) -> Iterator[_Turn | None]:
        """The first prompt of each sample; None: not now, come again when less is under way."""
        for job in jobs:
            for sample in job.to_ask(lambda: self._under_way):
                if job.stopped:
                    break
                if sample is None:
                    yield None
                    continue
                turn = self._next_turn(job, sample, job.episode(sample), 0, None)
                if turn is not None:
                    yield turn

    def _next_turn(
        self, job: Job, sample: Sample, episode: Episode, number: int, said: Generation | None
    ) -> _Turn | None:
        """The episode's next prompt; None if it has none, or the prompt function failed."""
        try:
            prompt = next(episode) if said is None else episode.send(said)
        except StopIteration:
            return None
        except UserFunctionError as error:
            record = new_record(
                sample, turn_key(sample.key, number), job.trial, None, Status.FAILED
            )
            record["error"] = user_error_fields(error)
            self._finish(job, record, reused=False)
            self._count_user_failure(job, error)
            return None
        job.failures_in_a_row["prompt"] = 0
        return _Turn(job, sample, episode, prompt, number)

    def _settle(self, outcome: _Outcome) -> _Turn | None:
        """Writes one outcome to the log; returns the episode's next turn, if there is one."""
        turn, job = outcome.turn, outcome.turn.job
        if outcome.stop is not None:
            raise outcome.stop
        if outcome.record is None:  # the run stopped before this turn was asked
            return None
        if outcome.reason:
            job.reasons[outcome.reason] += 1
            self._settings.on_reason(job.dataset, outcome.record["line"], outcome.reason)
        self._finish(job, outcome.record, reused=outcome.reused, write=outcome.write)
        if outcome.user_error is not None:
            self._count_user_failure(job, outcome.user_error)
        else:
            job.failures_in_a_row["preprocess"] = job.failures_in_a_row["postprocess"] = 0
            if not outcome.reused:
                job.failures_in_a_row["generate"] = 0
        if not outcome.reused:
            self._refusals.see(job, outcome.record, outcome.reason)
            try:
                self._settings.on_asked(job.dataset, outcome.record)
            except StopRun as why:
                job.stopped = StopRun(f"{job.dataset}: {why}")
        if outcome.generation is None:
            return None
        return self._next_turn(job, turn.sample, turn.episode, turn.number + 1, outcome.generation)

    def _finish(self, job: Job, record: Record, *, reused: bool, write: bool = True) -> None:
        if write:
            job.log.append(self._settings.clean(record))
        else:
            named = {name: record[name] for name in ("key", "trial", "fingerprint")}
            job.log.append({"kind": "reuse", **named})
        job.reused += reused
        self._progress.advance(record["status"], reused=reused)

    def _count_user_failure(self, job: Job, error: UserFunctionError) -> None:
        job.failures_in_a_row[error.stage] += 1
        if self._settings.skip_errors or job.failures_in_a_row[error.stage] < FAILURES_IN_A_ROW:
            return
        job.stopped = StopRun(
            f"{job.dataset}: the {error.stage} function failed {FAILURES_IN_A_ROW} times in a row; "
            "this data set was stopped (set SKIP_ERR=1 to go on in spite of failures). The last "
            f"failure:\n{error.trace}"
        )

    # -- the workers ------------------------------------------------------------------------------

    def _work(self) -> None:
        while (turn := self._inbox.get()) is not None:
            if self._stopping.is_set():
                self._outbox.put(_Outcome(turn))
                continue
            try:
                outcome = self._answer(turn)
            except BaseException as error:  # noqa: BLE001 - a worker that dies would hang the run
                text = "".join(traceback.format_exception(error))
                outcome = _Outcome(turn, stop=StopRun(f"internal error, please report it:\n{text}"))
            if outcome.stop is not None:  # at once: the others must not start another request
                self._stop()
            self._outbox.put(outcome)
            # What a kill can cost is what is in flight: nobody asks on before his answer is logged.
            while not (outcome.reused or outcome.settled.wait(1.0) or self._stopping.is_set()):
                continue

    def _answer(self, turn: _Turn) -> _Outcome:
        job, sample = turn.job, turn.sample
        try:
            prepared = self._model.request(
                turn.prompt.messages, job.dataset, is_custom_prompt=turn.prompt.is_custom
            )
        except (UserFunctionError, UserError) as error:
            return self._failed_before_asking(turn, None, error)
        stored = job.answers.find(turn.key, job.trial, prepared.fingerprint)
        if stored is not None and self._may_reuse(stored.status):
            return self._reused(turn, stored)
        reason = "--fresh" if self._settings.fresh else job.answers.reason_to_ask(
            turn.key, job.trial, prepared.fingerprint, prepared.parts
        )  # fmt: skip
        record = new_record(sample, turn.key, job.trial, prepared, Status.OK)
        outcome = self._ask(turn, prepared, record)
        return replace(outcome, reason=reason)

    def _may_reuse(self, status: Status) -> bool:
        told = self._settings
        return may_reuse(
            status,
            fresh=told.fresh,
            keep_failed=told.keep_failed,
            retry_refused=told.retry_refused,
        )

    def _reused(self, turn: _Turn, stored: StoredAnswer) -> _Outcome:
        before = stored.read()
        # The truth may have been mended since; the answer stands.
        now = {"line": turn.sample.line,
               "sizes": {**before["sizes"], "file": list(turn.sample.file_wh)}}  # fmt: skip
        # Each log is whole by itself, so that it can be copied and scored without the others.
        is_new_here = stored.path != turn.job.log.path or any(before[k] != now[k] for k in now)
        generation = None
        if before["status"] == Status.OK:
            generation = Generation(before["raw"], reply=before.get("reply"))
        return _Outcome(turn, before | now, generation, reused=True, write=is_new_here)

    def _ask(self, turn: _Turn, prepared: Prepared, record: Record) -> _Outcome:
        try:
            came = self._asker.ask(prepared)
        except StopRun as stop:
            return _Outcome(turn, stop=stop)
        except (UserFunctionError, UserError) as error:
            return self._failed_before_asking(turn, prepared, error)
        if came is None:
            return _Outcome(turn)
        record["attempts"] = came.attempts
        if isinstance(came, Unanswered):
            record["status"] = came.status
            record["error"] = call_error_fields(came.error)
            return _Outcome(turn, record, user_error=_own_error(came.error))
        generation = came.generation
        record |= answer_fields(generation, record["sizes"])
        latency_s = came.latency_s if generation.latency_s is None else generation.latency_s
        record["latency_s"] = round(latency_s, 4)
        if generation.postprocess_error is None:
            return _Outcome(turn, record, generation)
        summary = generation.postprocess_error.strip().splitlines()[-1]
        failure = UserFunctionError("postprocess", summary, generation.postprocess_error)
        record |= {"status": Status.FAILED, "error": user_error_fields(failure)}
        return _Outcome(turn, record, user_error=failure)

    def _failed_before_asking(
        self, turn: _Turn, prepared: Prepared | None, error: UserFunctionError | UserError
    ) -> _Outcome:
        record = new_record(turn.sample, turn.key, turn.job.trial, prepared, Status.FAILED)
        if isinstance(error, UserFunctionError):
            record["error"] = user_error_fields(error)
            return _Outcome(turn, record, user_error=error)
        record["error"] = {"class": "request", "message": str(error)}
        return _Outcome(turn, record)


def _own_error(error: CallError) -> UserFunctionError | None:
    """The exception of a custom class; None for what went wrong elsewhere."""
    return UserFunctionError("generate", str(error), error.trace) if error.trace else None

"""The engine: drives samples through a model and writes every answer to the log.

The calling thread makes the first prompts, in file order. Workers prepare requests, look them up
among the stored answers, query the model, and send its response into the sample's episode, so that
a slow world holds up nobody else. Whoever has a record writes it, counts it and shows it, under one
lock, before he does the next thing. No worker ever holds the exit: they are daemon threads.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from utils.config.environment import is_set
from utils.config.options import Options
from utils.contracts import (
    Answered,
    Generation,
    Line,
    ModelServer,
    ModelWrapper,
    Prepared,
    Prompt,
    Record,
    Sample,
    Status,
    UserFunctionError,
    WorldError,
    turn_key,
)
from utils.engine.asking import Asker
from utils.engine.early_warnings import Watcher
from utils.engine.gate import Gate, Limit
from utils.engine.interrupt import two_step_interrupt
from utils.engine.jobs import ChainPlan, EpisodePlan, Job, Progress
from utils.engine.worlds import Worlds
from utils.errors import StopRun, UserError
from utils.protocol import WORLD_FAILURE
from utils.store import records
from utils.store.index import TOKENS, StoredAnswer
from utils.store.records import MORE

SPARE_WORKERS = 8  # of `auto`, at the gate, with a request prepared
PATIENCE_AFTER_STOP_S = 1.5  # for answers under way when a run cannot go on
TRIES_OF_AN_EPISODE = 2  # the second where its world failed
EARLIER_FAILED = "an earlier step of its episode has no answer"


@dataclass(frozen=True, slots=True)
class _Task:
    """One sample on its way; without a prompt a chain, or a whole episode, lent a world."""

    job: Job
    sample: Sample
    prompt: Prompt | None = None
    chain: Sequence[Sample] = ()  # this sample, and those whose prompts hold the replies so far
    world: Any = None
    fingerprint: str = ""  # of a whole episode
    reason: str = ""  # why that is played


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The outcome of a task, or of one turn in a task."""

    task: _Task
    record: Record | None = None  # None: the run stopped before there was one
    generation: Generation | None = None
    reused: bool = False
    is_new: bool = True  # False: this log holds the record already
    reason: str | None = None  # why the sample was queried
    was_tried: bool = True  # False: an earlier step of its chain has no answer


class Interrupted(Exception):
    """The user pressed Ctrl-C; what was in flight has been finished and logged."""


class Engine:
    """Runs jobs of one model, their samples in one queue, so that data sets overlap.

    `clean` removes secrets from a response.
    """

    def __init__(
        self,
        model: ModelWrapper,
        options: Options,
        progress: Progress,
        clean: Callable[[str], str] = str,
    ) -> None:
        self._model = model
        self._options = options
        self._progress = progress
        self._limit = Limit.of(model.in_flight(options.api_nproc))  # of each server
        self._sample_count = 0
        self._most_workers = 0
        self._started_workers = 0
        self._inbox: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._over: queue.SimpleQueue[None] = queue.SimpleQueue()  # one for each finished task
        self._stopping = threading.Event()
        self._gate = Gate(self._limit, self._stopping)
        self._gate.on_aside = partial(self._start_workers, 1)
        self._gate.is_rest_aside = self._is_rest_aside
        self._asker = Asker(model, options, self._gate, self._stopping, clean)
        self._pools: Sequence[Worlds] = ()  # of worlds, a data set's each
        self._under_way = 0  # tasks that were handed out and are not known to be over
        self._has_handed_out_all = False
        self._workers_lock = threading.Lock()
        self._lock = threading.Lock()  # of the logs, the watcher and all counts
        self._is_waiting = False  # for a server, as there is none
        self._has_left = False  # `run` is over, and the logs may be closed
        self._stops: list[BaseException] = []  # why the run cannot go on; the first one counts
        self._watcher = Watcher(model.name, options.to_go_on, skip_errors=is_set("SKIP_ERR"))
        self._refusals: list[_Outcome] = []  # not in the log yet: the settings may be the cause
        self._last_prompt: Prompt | None = None
        self._last_line: Line | None = None  # that it was made of

    def run(self, jobs: Sequence[Job]) -> None:
        """Query everything that has no answer yet; return when all of it is in the logs.

        Raises:
            StopRun: nothing can work any more (wrong key, no server, full disk).
            Interrupted: after Ctrl-C; a second one raises KeyboardInterrupt at once.
        """
        self._asker.has_stored = any(job.answers.has_any for job in jobs)
        self._pools = [job.episodes.worlds for job in jobs if job.episodes is not None]
        self._sample_count = sum(len(job.samples) for job in jobs)
        self._count_workers()
        if self._model.servers is not None:
            self._model.servers.subscribe(self._take_servers)
        with two_step_interrupt(self._stop) as interrupted:
            try:
                self._start_workers(min(self._most_workers, self._gate.limit + SPARE_WORKERS))
                self._run(self._tasks(jobs), interrupted)
                with self._lock:
                    self._finish_refusals(Status.FAILED)
            except StopRun:
                self._stop()
                self._wait_for_rest()
                raise
            except BaseException:
                self._stop()
                raise
            finally:
                self._stopping.set()
                self._gate.wake()
                with self._lock:
                    self._has_left = True
                for _ in range(self._started_workers):
                    self._inbox.put(None)
                for pool in self._pools:
                    pool.close()
            if interrupted:
                raise Interrupted

    def _run(self, tasks: Iterator[_Task | None], interrupted: Sequence[bool]) -> None:
        """Supply the workers until nothing is under way."""
        while True:
            while self._under_way < 2 * self._most_workers and not interrupted:
                task = next(tasks, None)
                if task is None:  # there is no more, or not now
                    break
                self._inbox.put(task)
                self._under_way += 1
            if self._under_way == 0:
                return
            self._wait_for_one()
            if self._gate.aside:  # this may have been the last of the others
                self._gate.wake()
            with self._lock:
                self._watcher.judge_first_answers()
            if self._stops:
                raise self._stops[0]
            may_start = self._started_workers < self._most_workers + self._gate.aside
            if may_start and self._gate.waiting < SPARE_WORKERS:
                self._start_workers(1)

    def _wait_for_one(self, timeout_s: float | None = None) -> None:
        """Wait until a worker is done with a task, or raise queue.Empty."""
        self._over.get(timeout=timeout_s)
        self._under_way -= 1

    def _start_workers(self, count: int) -> None:
        """Start workers as they are needed: each that waits at the gate costs others time."""
        with self._workers_lock:
            self._started_workers += count
        for _ in range(count):
            threading.Thread(target=self._work, daemon=True).start()

    def _take_servers(
        self, servers: Sequence[ModelServer], may_come: bool, is_looking: bool
    ) -> None:
        """Ask these servers from now on; see `Gate.set_servers`.

        Called with a lock of theirs, so it takes none that progress, which shows them, is under.
        """
        is_waiting = may_come and not servers and not is_looking and not self._stopping.is_set()
        if is_waiting and not self._is_waiting:
            self._asker.report_wait()
        self._is_waiting = is_waiting
        self._gate.set_servers(servers, may_come=may_come, is_looking=is_looking)
        self._count_workers()
        useful = min(self._most_workers, self._gate.limit + SPARE_WORKERS)
        if self._started_workers and not self._stopping.is_set():
            self._start_workers(max(0, useful - self._started_workers))

    def _count_workers(self) -> None:
        """Set how many workers have something to do; one that acts in a world queries nothing."""
        acting = sum(pool.places for pool in self._pools)
        asking = min(self._gate.known * self._limit.largest, self._sample_count)
        self._most_workers = asking + acting

    def _is_rest_aside(self) -> bool:
        """Whether all tasks that are left were set aside until the end."""
        return self._has_handed_out_all and self._under_way <= self._gate.aside

    def _wait_for_rest(self) -> None:
        """Let answers that were on their way when the run stopped be logged: they are paid for."""
        ends_s = time.monotonic() + PATIENCE_AFTER_STOP_S
        with contextlib.suppress(queue.Empty):
            while self._under_way > 0:
                self._wait_for_one(max(0.0, ends_s - time.monotonic()))
        with self._lock, contextlib.suppress(StopRun):  # the disk is what went wrong
            self._finish_refusals(Status.FAILED)

    def _stop(self) -> None:
        """Send nothing more; what is under way comes back."""
        self._stopping.set()
        self._gate.wake()
        self._model.abandon()

    # -- the calling thread: first prompts --------------------------------------------------------

    def _tasks(self, jobs: Sequence[Job]) -> Iterator[_Task | None]:
        """Yield what is to be done; None: not now, come again when less is under way."""
        for job in jobs:
            part, parts = job.shard
            if job.chains is not None:
                chains = job.chains.chains(job.samples)[part::parts]
                yield from (_Task(job, chain[0], chain=chain) for chain in chains)
                continue
            for index, sample in enumerate(job.samples[part::parts]):
                if job.before_sample is not None:
                    while self._under_way:
                        yield None
                if job.stopped:
                    break
                if not self._announce(job, sample, index):
                    continue
                if job.episodes is not None:
                    yield from self._whole_episode(job, sample, job.episodes)
                else:
                    prompt = self._first_prompt(job, sample)
                    if prompt is not None:
                        yield _Task(job, sample, prompt)
        self._has_handed_out_all = True

    def _announce(self, job: Job, sample: Sample, index: int) -> bool:
        """Tell a model that wants to know which sample comes; False: it failed, and so does that.

        Args:
            index: of the sample in its data set.
        """
        if job.before_sample is None:
            return True
        try:
            job.before_sample(index)
        except UserFunctionError as error:
            self._settle(_failed(_Task(job, sample), sample.key, None, error))
            return False
        return True

    def _first_prompt(self, job: Job, sample: Sample) -> Prompt | None:
        """Return the first prompt of a sample; None where the prompt function fails."""
        if sample.line is not self._last_line:  # else another answer to the same question
            try:
                self._last_prompt = job.prompt_of(sample) if job.prompt_of else None
            except UserFunctionError as error:
                self._settle(_failed(_Task(job, sample), sample.key, None, error))
                return None
            self._last_line = sample.line
            job.failures_in_a_row["prompt"] = 0
        return self._last_prompt

    def _whole_episode(
        self, job: Job, sample: Sample, episodes: EpisodePlan
    ) -> Iterator[_Task | None]:
        """Yield an episode as a task once there is a world for it, unless it is stored."""
        fingerprint = episodes.fingerprint(sample)
        stored = job.answers.look_up(
            sample.key, fingerprint, {"settings": fingerprint}, self._options
        )
        if isinstance(stored, StoredAnswer):
            self._settle(_reused(_Task(job, sample), stored))
            return
        others = [pool for pool in self._pools if pool is not episodes.worlds]
        while (world := episodes.worlds.borrow(beside=others)) is None:
            yield None
            if job.stopped:
                return
        yield _Task(job, sample, world=world, fingerprint=fingerprint, reason=stored)

    # -- records: whoever has one -----------------------------------------------------------------

    def _settle(self, outcome: _Outcome) -> None:
        """Write the last record of a task to the log, and look at what it means for the others."""
        record = outcome.record
        if record is None:
            return
        with self._lock:
            if self._has_left:
                return
            try:
                self._settle_record(outcome, record)
            except BaseException as error:
                self._stops.append(error)
                raise

    def _settle_record(self, outcome: _Outcome, record: Record) -> None:
        is_new_refusal = record["status"] == Status.REFUSED and not outcome.reused
        if is_new_refusal and self._watcher.doubts_refusal(record, outcome.reason):
            self._refusals.append(outcome)
        else:
            self._finish(outcome, record)
        if outcome.was_tried:
            self._watcher.see(outcome.task.job, record, outcome.reason, reused=outcome.reused)
        if self._refusals and not self._watcher.all_refused:
            self._finish_refusals(Status.REFUSED)

    def _log_turn(self, outcome: _Outcome) -> None:
        """Write a record to the log after which its task goes on."""
        with self._lock:
            if outcome.record is not None and outcome.is_new and not self._has_left:
                outcome.task.job.log.append(outcome.record)
                _count_tokens(outcome, outcome.record)

    def _finish(self, outcome: _Outcome, record: Record) -> None:
        """Log, count and show a sample that is over."""
        job = outcome.task.job
        if outcome.is_new:
            job.log.append(record)
            _count_tokens(outcome, record)
        if outcome.reason:
            job.reasons[outcome.reason] += 1
            if self._options.verbose:
                line = record["line"]
                print(
                    f"querying {job.dataset} {line.get('index')}, "
                    f"{line.get('image_path') or line.get('task_id')}: {outcome.reason}"
                )
        if outcome.reused:
            job.reused += 1
        self._progress.advance(record["status"], reused=outcome.reused)

    def _finish_refusals(self, status: Status) -> None:
        """Log the refusals that came before anything else.

        Args:
            status: REFUSED if the server has answered since; FAILED if it has refused all, which
                says nothing about the samples: they are queried again once the settings are right.
        """
        refusals = self._refusals
        self._refusals = []
        for outcome in refusals:
            assert outcome.record is not None
            self._finish(outcome, {**outcome.record, "status": status})

    # -- the workers ------------------------------------------------------------------------------

    def _work(self) -> None:
        """Take tasks from the inbox until it gives None."""
        while (task := self._inbox.get()) is not None:
            try:
                self._settle(self._outcome(task))
            except StopRun as stop:
                self._stop_because(stop)
            except BaseException:  # noqa: BLE001 - a worker that dies would hang the run
                self._stop_because(
                    StopRun(f"internal error, please report it:\n{traceback.format_exc()}")
                )
            self._over.put(None)

    def _stop_because(self, stop: StopRun) -> None:
        """Stop the run at once: the others must not start another request."""
        self._stops.append(stop)
        self._stop()

    def _outcome(self, task: _Task) -> _Outcome:
        """Do a task, give its world back, and return the outcome."""
        try:
            if self._stopping.is_set() or task.job.stopped:
                return _Outcome(task)
            if task.job.episodes is not None:
                return self._play(task, task.job.episodes)
            if task.job.chains is not None:
                return self._chain(task, task.job.chains)
            assert task.prompt is not None
            return self._stages(task, task.prompt)
        finally:
            if task.job.episodes is not None:
                task.job.episodes.worlds.give_back(task.world)

    def _chain(self, task: _Task, chains: ChainPlan) -> _Outcome:
        """Ask the samples of a chain one after another; return the last one's outcome.

        Behind one without an answer the others have none either: they are asked with it again.
        """
        outcome = _Outcome(task)
        answered: list[tuple[Line, str | None]] = []
        is_broken = False
        for sample in task.chain:
            if outcome.record is not None:
                self._settle(outcome)
            step = replace(task, sample=sample)
            outcome = self._link(step, chains, answered, is_broken=is_broken)
            if outcome.record is None:
                return outcome
            is_broken = is_broken or outcome.record["status"] == Status.FAILED
            answered.append((sample.line, outcome.record.get("raw")))
        return outcome

    def _link(
        self, task: _Task, chains: ChainPlan, answered: Answered, *, is_broken: bool
    ) -> _Outcome:
        """Ask one sample of a chain."""
        if is_broken:
            failed = _failed(task, task.sample.key, None, UserError(EARLIER_FAILED))
            return replace(failed, was_tried=False)
        if self._stopping.is_set() or task.job.stopped:
            return _Outcome(task)
        try:
            prompt = chains.prompt_after(task.sample, answered)
        except UserFunctionError as error:
            return _failed(task, task.sample.key, None, error)
        return self._answer(task, prompt, task.sample.key)

    def _stages(self, task: _Task, prompt: Prompt) -> _Outcome:
        """Ask all stages of a sample, each an answer in the log; return the last one's outcome."""
        follow_up = task.job.follow_up
        if follow_up is None:
            return self._answer(task, prompt, task.sample.key)
        answered: list[Record] = []
        while True:
            outcome = self._answer(task, prompt, turn_key(task.sample.key, len(answered)))
            if answered:
                follow_up.release(prompt)
            if outcome.record is None or outcome.record["status"] != Status.OK:
                return outcome
            answered.append(outcome.record)
            try:
                next_prompt = follow_up.next_prompt(task.sample, answered)
            except (UserFunctionError, UserError) as error:
                self._log_turn(_followed(outcome, is_followed=True))
                return _failed(
                    task, turn_key(task.sample.key, len(answered)), None, error, outcome.reason
                )
            outcome = _followed(outcome, is_followed=next_prompt is not None)
            if next_prompt is None:
                return outcome
            self._log_turn(outcome)
            prompt = next_prompt

    def _play(self, task: _Task, episodes: EpisodePlan) -> _Outcome:
        """Play a whole episode, once more from its beginning if the world fails."""
        ending: dict[str, Any] | None = None
        for _ in range(TRIES_OF_AN_EPISODE):
            try:
                ending = self._turns(task, episodes)
                break
            except WorldError as error:
                ending = _ending(
                    0,
                    status=Status.FAILED,
                    error={"class": WORLD_FAILURE, "message": str(error), "trace": error.trace},
                )
        if ending is None:
            return _Outcome(task)
        return _Outcome(
            task,
            records.episode_record(task.sample, task.fingerprint, **ending),
            reason=task.reason,
        )

    def _turns(self, task: _Task, episodes: EpisodePlan) -> dict[str, Any] | None:
        """Play every turn of an episode; return how it ended, None if the run stopped."""
        turns = 0
        answers: list[Record] = []
        began_s = time.monotonic()
        with contextlib.closing(episodes.play(task.sample, task.world)) as episode:
            try:
                prompt = next(episode)
                while True:
                    turn = self._answer(task, prompt, turn_key(task.sample.key, turns + 1))
                    record = turn.record
                    if record is None:
                        return None
                    self._log_turn(turn)
                    answers.append(record)
                    if turn.generation is None:
                        ending = _ending(turns, status=record["status"], error=record["error"])
                        break
                    turns += 1
                    prompt = episode.send(replace(turn.generation, sizes=records.sizes_of(record)))
            except StopIteration as end:
                ending = _ending(turns, returned=end.value)
            except UserFunctionError as error:
                fields = records.user_error_fields(error)
                ending = _ending(turns, status=Status.FAILED, error=fields)
        return ending | records.episode_cost(answers, time.monotonic() - began_s)

    def _answer(self, task: _Task, prompt: Prompt, key: str) -> _Outcome:
        """Return the outcome of one prompt: the model's answer, new or stored."""
        job = task.job
        prepared: Prepared | None = None
        reason: str | None = None
        try:
            prepared = self._model.request(
                prompt.messages, job.dataset, is_custom_prompt=prompt.is_custom
            )
            if job.episodes is None:
                stored = job.answers.look_up(
                    key,
                    prepared.fingerprint,
                    prepared.parts,
                    self._options,
                    prepared.earlier_fingerprints,
                )
                if isinstance(stored, StoredAnswer):
                    return _reused(task, stored, prompt, prepared)
                reason = stored
            record = records.new_record(task.sample, key, prompt, prepared, Status.OK)
            result = self._asker.ask(prepared)
        except StopRun:
            raise
        except (UserFunctionError, UserError) as error:
            return _failed(task, key, prepared, error, reason)
        if result is None:
            return _Outcome(task)
        record |= {"attempts": result.attempts, "status": result.status}
        record["asked_at"] = result.asked_at or record["asked_at"]
        if result.server:
            record["server"] = result.server
        generation = result.generation
        if generation is None:
            assert result.error is not None
            record["error"] = records.call_error_fields(result.error)
            return _Outcome(task, record, reason=reason)
        record |= records.answer_fields(generation, prompt, record["sizes"])
        latency_s = generation.latency_s
        if latency_s is None:
            latency_s = result.latency_s
        record["latency_s"] = round(latency_s, 4)
        if generation.postprocess_error is None:
            return _Outcome(task, record, generation, reason=reason)
        record["status"] = Status.FAILED
        record["error"] = records.user_error_fields(generation.postprocess_error)
        return _Outcome(task, record, reason=reason)


def _ending(turns: int, *, returned: Any = None, **fields: Any) -> dict[str, Any]:
    """The end of an episode, as `records.episode_record` takes it."""
    return {"turns": turns, "returned": returned, "status": Status.OK, **fields}


def _reused(
    task: _Task,
    stored: StoredAnswer,
    prompt: Prompt | None = None,
    prepared: Prepared | None = None,
) -> _Outcome:
    """Return the outcome of a stored record, with annotation and crop of today."""
    record = stored.read()
    had_more = record.get(MORE) is not None and task.job.follow_up is None
    if had_more:  # of a run that asked again
        del record[MORE]
    file_wh = task.sample.file_wh
    current: dict[str, Any] = {
        "line": task.sample.line,
        "sizes": {**record["sizes"], "file": file_wh and list(file_wh)},
    }
    if prompt is not None and prompt.crop is not None:
        current["crop"] = dict(prompt.crop)
    if prepared is not None and prepared.fingerprint != stored.fingerprint:  # another server's
        current |= {"fingerprint": prepared.fingerprint, "parts": dict(prepared.parts)}
    # Each log is whole by itself, so that it can be copied and scored without the others. A record
    # is as good as its copy; an older answer to the same request is not.
    in_own_log = task.job.answers.in_own_log(record["key"], task.job.run.request_hashes)
    is_logged = in_own_log is not None and (in_own_log == stored or in_own_log.read() == record)
    is_outdated = any(record.get(name) != current[name] for name in current)
    is_new = is_outdated or had_more or not is_logged
    return _Outcome(task, record | current, reused=True, is_new=is_new)


def _followed(outcome: _Outcome, *, is_followed: bool) -> _Outcome:
    """Return the outcome of a stage with a record that says whether another one comes."""
    record = outcome.record
    assert record is not None
    if bool(record.get(MORE)) == is_followed:
        return outcome
    record = {name: value for name, value in record.items() if name != MORE}
    if is_followed:
        record[MORE] = True
    return replace(outcome, record=record, is_new=True)


def _failed(
    task: _Task,
    key: str,
    prepared: Prepared | None,
    error: UserFunctionError | UserError,
    reason: str | None = None,
) -> _Outcome:
    """Return the outcome of a sample whose request could not be made."""
    record = records.new_record(task.sample, key, task.prompt, prepared, Status.FAILED)
    record["error"] = {"class": "request", "message": str(error)}
    if isinstance(error, UserFunctionError):
        record["error"] = records.user_error_fields(error)
    return _Outcome(task, record, reason=reason)


def _count_tokens(outcome: _Outcome, record: Record) -> None:
    """Count the tokens of an answer that was asked for; those of an episode are its answers'."""
    if record["kind"] == "answer" and not outcome.reused:
        usage = record.get("usage") or {}
        for kind in TOKENS:
            outcome.task.job.tokens[kind] += usage.get(kind) or 0

"""One model on several ranks: rank 0 opens the run, all ask, rank 0 merges and scores.

Notes of a model in the store of the group, each below `<model>/`:

    start                run folder, start file and beginning of the run; or that there is none
    joined/<rank>        this rank sees the start file; what it has finished of earlier models
    claims/<data set>    how many pieces of its samples are claimed
    report/<rank>        this rank has asked all it claimed and closed its logs; or the model has
                         failed there
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from utils.engine.jobs import Job
from utils.engine.ranks.group import POLL_S, Group
from utils.engine.ranks.logs import MERGED_KINDS, merge
from utils.engine.ranks.shares import Share, pieces
from utils.engine.ranks.store import GroupLost
from utils.errors import StopRun
from utils.runs.folder import RunFolder, safe_name
from utils.runs.log import AnswerIndex, read_records

START_FILE = ".start-"
START_FILE_S = 30.0  # until a network file system shows a new file on all machines
NOTHING_LEFT = 1_000_000_000  # a count of claimed pieces that no data set reaches


class Progress(Protocol):
    """See `utils.inference_tools`."""

    def advance(self, status: str, *, reused: bool) -> None: ...


@dataclass(frozen=True, slots=True)
class Start:
    """Where rank 0 has opened a model's run.

    Attributes:
        folder: its name below the model's.
        seen_from: how rank 0 sees that folder, for messages.
        start_file: a file in it that a rank with the same work-dir sees too.
        runs: when the run began, by data set, as in the run records of the logs.
    """

    folder: str
    seen_from: str
    start_file: str
    runs: dict[str, str]


class LeadersPart:
    """Rank 0's part in one model's run.

    Args:
        batch: no fewer samples are claimed at once, but at the end.

    Attributes:
        cpu_s: CPU time of the other ranks.
    """

    def __init__(self, group: Group, folder: RunFolder, batch: int) -> None:
        self._group, self._folder, self._batch = group, folder, batch
        self._started = False
        self.cpu_s = 0.0
        self._jobs: Sequence[Job] = ()
        self._joined: dict[int, int] = {}

    @contextmanager
    def leading(self) -> Iterator[None]:
        """Around the whole run: the others learn of it if there is none, or if it ends early."""
        model = self._folder.model
        try:
            yield
        except BaseException:
            with contextlib.suppress(StopRun):
                if not self._started:
                    self._tell("start", note=False)
                for job in self._jobs:
                    self._group.count_up(f"{model}/claims/{job.dataset}", NOTHING_LEFT)
            raise

    def begin(self, jobs: Sequence[Job]) -> None:
        """Tells the others where the run is, waits for them, and shares the samples.

        Args:
            jobs: their logs open, the run's record written.
        """
        self._jobs = jobs
        for left_by_a_kill in self._folder.path.glob(f"{START_FILE}*"):
            left_by_a_kill.unlink(missing_ok=True)
        start_file = self._folder.path / f"{START_FILE}{secrets.token_hex(8)}"
        start_file.touch()
        try:
            runs = {job.dataset: job.run for job in jobs}
            seen_from = f"{socket.gethostname()}:{self._folder.path.absolute()}"
            self._tell("start", [self._folder.path.name, seen_from, start_file.name, runs])
            self._started = True
            self._joined = self._group.wait_for_others(lambda rank: self._heard(f"joined/{rank}"))
        finally:
            start_file.unlink(missing_ok=True)
        share_samples(self._group, self._folder.model, jobs, self._batch)

    def watched(self, progress: Progress) -> Progress:
        """The same progress, with the other ranks' samples in it."""
        self._progress = _GroupProgress(progress, self._group, self._joined)
        return self._progress

    def finish(self, ask: Callable[[Sequence[Job]], None], *, fresh: bool) -> None:
        """Waits for the others, merges their logs, and asks what a lost or failed rank has left.

        Args:
            ask: asks all samples of jobs that have no answer.
            fresh: stored answers from before this run do not count.
        """
        told = self._group.wait_for_others(
            lambda rank: self._heard(f"report/{rank}"), self._progress.catch_up
        )
        reports = [report for report in told.values() if report is not False]
        for report in reports:
            self._add(report)
        self._progress.catch_up(sum(report["finished"] for report in reports))
        failed = {rank for rank, report in told.items() if report is False}
        self._group.failed |= failed
        for job in self._jobs:
            lost = [self._log_of(rank, job.dataset) for rank in self._group.given_up | failed]
            mine = self._folder.rank_logs(job.dataset)
            merge(job.log, [path for path in mine if self._is_of_group(path) and path not in lost])
            settled = _settled(job)
            merge(job.log, [path for path in lost if path.exists()])
            rest = [sample for sample in job.samples if sample.key not in settled]
            if rest and job.stopped is None:
                self._ask_rest(job, rest, ask, fresh=fresh)
        for rank in sorted(self._group.given_up):
            print(
                f"rank {rank} was silent for more than {self._group.rank.silence_s:.0f} s and was "
                "given up; rank 0 has asked what it left",
                file=sys.stderr,
            )
        for rank in sorted(failed):
            print(f"rank {rank} has failed; rank 0 has asked what it left", file=sys.stderr)

    def _ask_rest(
        self, job: Job, rest: Sequence[Any], ask: Callable[[Sequence[Job]], None], *, fresh: bool
    ) -> None:
        """Samples of a lost rank: its answers were merged and count, the others are asked."""
        logs = [job.log.path] if fresh else self._folder.all_logs(job.dataset)
        answers = AnswerIndex.of_logs(logs, own=job.log.path, asked_since=job.run if fresh else "")
        again = replace(job, samples=rest, share=None, answers=answers, reused=0)
        try:
            ask([again])
        finally:
            job.reused += again.reused
            job.stopped = again.stopped

    def _add(self, report: dict[str, Any]) -> None:
        self.cpu_s += report["cpu_s"]
        for job in self._jobs:
            told = report["data"][job.dataset]
            job.reasons += Counter(told["asked"])
            job.reused += told["reused"]
            if told["stopped"] and job.stopped is None:
                job.stopped = StopRun(told["stopped"])

    def _log_of(self, rank: int, dataset: str) -> Path:
        return self._folder.rank_log(dataset, rank, self._group.token)

    def _is_of_group(self, path: Path) -> bool:
        return path.stem.endswith(f"-{self._group.token}")

    def _tell(self, key: str, note: object) -> None:
        self._group.tell(f"{self._folder.model}/{key}", note)

    def _heard(self, key: str) -> Any:
        return self._group.heard(f"{self._folder.model}/{key}")


def _is_there(file: Path) -> bool:
    """Whether a file exists now.

    A network file system may remember that it, or its folder, did not; opening a folder makes it
    ask the server again.
    """
    for folder in reversed(file.parents[:3]):  # work-dir, model, run
        with contextlib.suppress(OSError), os.scandir(folder):
            pass
    return file.exists()


class FollowersPart:
    """The part of another rank in one model's run."""

    def __init__(self, group: Group, model: str) -> None:
        self._group, self._model = group, model
        self._finished_before = group.finished
        self.cpu_s = 0.0

    def join(self, work_dir: Path) -> tuple[RunFolder, dict[str, str]] | None:
        """Waits until rank 0 has opened the run; None if it could not.

        Returns:
            The run's folder, and when the run began, by data set.

        Raises:
            GroupLost: this rank does not see rank 0's work-dir.
            GivenUp: this rank was silent for too long.
        """
        told = self._group.wait_for_leader(lambda: self._group.heard(f"{self._model}/start"))
        if told is False:
            return None
        start = Start(*told)
        folder = RunFolder(self._model, work_dir / safe_name(self._model) / start.folder)
        ends_s = time.monotonic() + START_FILE_S
        while not _is_there(folder.path / start.start_file):
            self._group.check_in()  # for one that was given up the file is not kept
            if time.monotonic() > ends_s:
                raise GroupLost(
                    f"this rank sees another work-dir than rank 0: rank 0 has begun in "
                    f"{start.seen_from}, which is not this machine's {folder.path.absolute()}. All "
                    "ranks must see the same folder; name one on a disk that they share"
                )
            time.sleep(POLL_S)
        self._group.tell(f"{self._model}/joined/{self._group.rank.number}", self._finished_before)
        return folder, start.runs

    def watched(self, progress: Progress) -> Progress:
        """Nothing is shown here; rank 0 is told how many are finished."""
        return _Counted(self._group)

    def finish(self, ask: Callable[[Sequence[Job]], None], *, fresh: bool) -> None:
        """Merging is rank 0's; see `report`."""

    def report(self, jobs: Sequence[Job], cpu_s: float) -> None:
        """Tells rank 0 that all is asked, after the logs were closed."""
        data = {
            job.dataset: {
                "asked": dict(job.reasons),
                "reused": job.reused,
                "stopped": str(job.stopped) if job.stopped else None,
            }
            for job in jobs
        }
        key = f"{self._model}/report/{self._group.rank.number}"
        finished = self._group.finished - self._finished_before
        self._group.tell(key, {"cpu_s": cpu_s, "finished": finished, "data": data})


def tell_failure(group: Group, model: str) -> None:
    """Tells rank 0 that this rank asks no more of a model, after the logs were closed.

    Nobody waits for a report then, and rank 0 asks what was claimed here.
    """
    group.tell(f"{model}/report/{group.rank.number}", note=False)


class _GroupProgress:
    """Rank 0's samples one by one, those of the others whenever they are heard of.

    Args:
        before: what each rank that takes part had finished of earlier models.
    """

    def __init__(self, shown: Progress, group: Group, before: Mapping[int, int]) -> None:
        self._shown, self._group, self._before = shown, group, before
        self._told = 0

    def advance(self, status: str, *, reused: bool) -> None:
        """One of rank 0's samples is finished."""
        self._group.finished += 1
        self._shown.advance(status, reused=reused)
        self.catch_up()

    def catch_up(self, at_least: int = 0) -> None:
        """Shows what the others have finished since the last time."""
        by_rank = self._group.finished_by
        # What was last heard of a rank may be older than what it had finished before.
        heard = sum(max(0, by_rank.get(rank, 0) - done) for rank, done in self._before.items())
        theirs = max(at_least, heard)
        for _ in range(theirs - self._told):
            self._shown.advance("by other ranks", reused=False)
        self._told = max(self._told, theirs)


class _Counted:
    """Counts for rank 0 to see, and shows nothing."""

    def __init__(self, group: Group) -> None:
        self._group = group

    def advance(self, status: str, *, reused: bool) -> None:
        """One sample is finished."""
        self._group.finished += 1


def share_samples(group: Group, model: str, jobs: Iterable[Job], batch: int) -> None:
    """Gives each job the share of it that this rank will claim."""
    for job in jobs:
        key = f"{model}/claims/{job.dataset}"
        job.share = Share(
            job.samples,
            pieces(len(job.samples), group.rank.count, batch),
            claim=partial(group.count_up, key),
            claimed=partial(group.count_up, key, 0),
        )


def _settled(job: Job) -> set[str]:
    """Keys of the samples that have a record of this run in its log."""
    found: set[str] = set()
    for _, record in read_records(job.log.path):
        if record.get("kind") == "run" and record["started_at"] == job.run:
            found.clear()
        elif record.get("kind") in MERGED_KINDS:
            found.add(record["key"])
    return found

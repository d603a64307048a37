"""One model on several ranks: rank 0 opens the run, all ask, rank 0 merges and scores.

    <model>_<dataset>.jsonl                   the run's log; rank 0 writes its own answers there
    <model>_<dataset>.rank<R>-<token>.jsonl   what rank R has answered; gone after the run

A rank's records are ordinary ones, copied behind those of the run; the last of a sample counts.
Whatever ends a run, the next one in its folder copies what is left; runs in other folders read it.

Notes of a model in the store of the group, each below `<model>/`:

    start                run folder, and when the run began; false: there is none, or it ended early
    joined/<rank>        this rank sees the run
    claims/<data set>    how many pieces of its samples are claimed
    report/<rank>        this rank has asked all it claimed; false: the model has failed there
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from utils.config.secret_filter import OutputStream
from utils.engine.jobs import Job, Progress
from utils.engine.ranks.group import POLL_S, Group, NoGroup, Rank
from utils.engine.ranks.shares import Share
from utils.errors import StopRun, UserError
from utils.runs.folder import RunFolder, safe_name
from utils.runs.log import (
    OF_A_SAMPLE,
    AnswerIndex,
    LoggedRun,
    RunLog,
    lock_or_refuse,
    read_records,
    runs_of,
)

LEADER_SPEAKS_FIRST_S = 30.0  # ranks start a few seconds apart, on a busy machine more
SEEN_S = 30.0  # until a network file system shows a new file on all machines


# -- what a user sees of the other ranks ----------------------------------------------------------


def rank_0_speaks(rank: Rank | None) -> bool:
    """Whether rank 0 reports the same problems: torchrun ends the other ranks then."""
    if rank is not None and not rank.leads:
        try:
            time.sleep(LEADER_SPEAKS_FIRST_S)
        except KeyboardInterrupt:
            return True
    return False


def speak_of_errors_only(rank: Rank) -> None:
    """What a rank other than 0 prints would stand there once per GPU; only its errors count."""
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # transformers heeds it too
    sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 - to the end
    prefix = f"rank {rank.number} ({socket.gethostname()}): "
    sys.stderr = OutputStream(sys.stderr, prefix=prefix)


class GroupProgress:
    """Counts this rank's samples for the others; on rank 0 it shows theirs among its own."""

    def __init__(self, shown: Progress, group: Group, model: str) -> None:
        self.group, self._shown, self._model = group, shown, model
        self._ours = self._theirs = 0

    def advance(self, status: str, *, reused: bool) -> None:
        """One of this rank's samples is finished."""
        self._ours += 1
        self.group.finished = (self._model, self._ours)
        if self.group.rank.leads:
            self._shown.advance(status, reused=reused)
            self.catch_up()

    def catch_up(self, at_least: int = 0) -> None:
        """Shows what the others have finished since the last time."""
        theirs = max(at_least, self.group.finished_by_others(self._model))
        for _ in range(theirs - self._theirs):
            self._shown.advance("by other ranks", reused=False)
        self._theirs = max(self._theirs, theirs)


# -- logs -----------------------------------------------------------------------------------------


def open_rank_log(
    group: Group,
    folder: RunFolder,
    dataset: str,
    run: LoggedRun,
    clean: Callable[[Any], Any] | None = None,
) -> RunLog:
    """The log of a rank other than 0 for a run; nobody else holds it."""
    part = folder.rank_log(dataset, group.rank.number, group.token)
    log = RunLog(folder.log(dataset), part=part, clean=clean)
    log.append({"kind": "rank", "seq": run.seq, "rank": group.rank.number})
    return log


def adopt(folder: RunFolder, dataset: str, log: RunLog) -> None:
    """Copies what ranks have answered into the run's log; what a rank still holds stays.

    A kill in the middle leaves some records twice, which changes nothing.
    """
    for part in folder.rank_logs(dataset):
        try:
            lock = lock_or_refuse(part)
        except UserError:
            continue
        for _, record in read_records(part):
            if record["kind"] in OF_A_SAMPLE:
                log.append(record)
        log.sync()  # before the only other copy goes
        part.unlink(missing_ok=True)
        lock.release()
        part.with_name(f"{part.name}.lock").unlink(missing_ok=True)


# -- rank 0 ---------------------------------------------------------------------------------------


@contextmanager
def leading(group: Group, model: str) -> Iterator[None]:
    """Around the whole run: if it cannot begin, or ends early, the others learn of it."""
    try:
        yield
    except BaseException:
        with suppress(StopRun):
            group.leave(f"{model}/start", note=False)
        raise


def begin(group: Group, folder: RunFolder, jobs: Sequence[Job], batch: int) -> None:
    """Has the others know where the run is, waits for them, and shares the samples."""
    seen_from = f"{socket.gethostname()}:{folder.path.absolute()}"
    runs = {job.dataset: job.run.begin["started_at"] for job in jobs}
    group.leave(f"{folder.model}/start", [folder.path.name, seen_from, runs])
    group.wait_for_others(lambda rank: group.find(f"{folder.model}/joined/{rank}"))
    share_samples(group, folder.model, jobs, batch)


def collect(
    progress: GroupProgress,
    folder: RunFolder,
    jobs: Sequence[Job],
    ask: Callable[[Sequence[Job]], None],
    *,
    fresh: bool,
) -> tuple[float, float]:
    """Waits for the others, adopts their answers, and asks what lost or failed ranks have left.

    With `fresh`, stored answers from before this run do not count. Returns the seconds that the
    slowest of the others took, and their CPU seconds.
    """
    group = progress.group
    found = group.wait_for_others(
        lambda rank: group.find(f"{folder.model}/report/{rank}"), progress.catch_up
    )
    reports = [report for report in found.values() if report]
    progress.catch_up(sum(report["finished"] for report in reports))
    failed = {rank for rank, report in found.items() if not report}
    group.failed |= failed
    for job in jobs:
        assert job.share is not None
        adopt(folder, job.dataset, job.log)
        done = set(job.share.claimed)
        for of_job in (report["data"][job.dataset] for report in reports):
            done |= set(of_job["claimed"])
            job.reasons += Counter(of_job["asked"])
            job.reused += of_job["reused"]
            if of_job["stopped"] and job.stopped is None:
                job.stopped = StopRun(of_job["stopped"])
        if (rest := job.share.rest(done)) and job.stopped is None:
            # What the lost rank has answered of it is found; its log may still be held.
            logs = [job.log.path, *folder.rank_logs(job.dataset)]
            logs = logs if fresh else folder.logs_of_model(job.dataset)
            answers = AnswerIndex(logs, own=job.log.path, since=job.run.seq if fresh else 0)
            again = replace(job, samples=rest, share=None, answers=answers, reused=0)
            ask([again])
            job.reused, job.stopped = job.reused + again.reused, again.stopped
    silent = f"was silent for more than {group.rank.silence_s:.0f} s and was given up"
    for ranks, what in ((group.given_up, silent), (failed, "has failed")):
        for rank in sorted(ranks):
            print(f"rank {rank} {what}; rank 0 has queried what it left", file=sys.stderr)
    longest_s = max((report["wall_s"] for report in reports), default=0.0)
    return longest_s, float(sum(report["cpu_s"] for report in reports))


# -- the other ranks ------------------------------------------------------------------------------


def join(group: Group, model: str, work_dir: Path) -> tuple[RunFolder, dict[str, LoggedRun]] | None:
    """Waits for rank 0: the run's folder, and what began there, by data set; None if it could not.

    Raises:
        NoGroup: this rank does not see rank 0's work-dir.
    """
    start = group.wait_for_leader(lambda: group.find(f"{model}/start"))
    if start is False:
        return None
    name, seen_from, runs = start
    folder = RunFolder(model, work_dir / safe_name(model) / name)
    ends_s = time.monotonic() + SEEN_S
    while (opened := _opened(folder, runs)) is None:
        if time.monotonic() > ends_s:
            where = f"in {seen_from}, not in this machine's {folder.path.absolute()}"
            what = f"this rank and rank 0 see different work-dirs: rank 0 has begun {where}"
            raise NoGroup(f"{what}; name a folder that all ranks share")
        time.sleep(POLL_S)
    group.leave(f"{model}/joined/{group.rank.number}", note=True)
    return folder, opened


def _opened(folder: RunFolder, runs: Mapping[str, str]) -> dict[str, LoggedRun] | None:
    """The runs that rank 0 has opened, found in the logs here; None if they are not all there."""
    for parent in (*reversed(folder.path.parents[:2]), folder.path):
        with suppress(OSError), os.scandir(parent):  # has a network file system ask the server
            pass
    logs = {name: folder.log(name) for name in runs}
    opened = {
        name: run
        for name, log in logs.items()
        if log.exists()
        for run in runs_of(log)
        if run.begin["started_at"] == runs[name]
    }
    return opened if opened.keys() == runs.keys() else None


def share_samples(group: Group, model: str, jobs: Iterable[Job], batch: int) -> None:
    """Gives each job the share of its samples that this rank will claim."""
    for job in jobs:
        job.share = Share(group, model, job.dataset, job.samples, batch)


def report(group: Group, model: str, jobs: Sequence[Job], wall_s: float, cpu_s: float) -> None:
    """Has rank 0 know that all is asked, after the logs were closed."""
    data = {
        job.dataset: {
            "asked": job.reasons,
            "reused": job.reused,
            "claimed": job.share and job.share.claimed,
            "stopped": job.stopped and str(job.stopped),
        }
        for job in jobs
    }
    counted, samples = group.finished
    note = {
        "wall_s": wall_s,
        "cpu_s": cpu_s,
        "data": data,
        "finished": samples if counted == model else 0,
    }
    group.leave(f"{model}/report/{group.rank.number}", note)


def report_failure(group: Group, model: str) -> None:
    """Has rank 0 know that this rank asks no more of a model: it asks what was claimed here."""
    group.leave(f"{model}/report/{group.rank.number}", note=False)

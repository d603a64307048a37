"""One model on several ranks: rank 0 opens the run, all ask, rank 0 merges and scores.

Rank R of N asks every Nth sample from the Rth on.

    <model>_<dataset>.jsonl                   the run's log; rank 0 writes its own answers there
    <model>_<dataset>.rank<R>-<token>.jsonl   what rank R has answered; gone after the run

A rank's records are ordinary ones, copied behind those of the run; the last of a sample counts.
Whatever ends a run, the next one in its folder copies what is left; runs in other folders read it.

Notes of a model in the store of the group, each below `<model>/`:

    start                run folder, and when the run began; false: there is none
    joined/<rank>        this rank sees the run
    finished             how many samples the ranks other than 0 have finished
    report/<rank>        this rank has asked its shard
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from utils.config.secret_filter import OutputStream
from utils.engine.jobs import Job, Progress
from utils.engine.ranks.group import POLL_S, Group, NoGroup, Rank
from utils.errors import StopRun, UserError
from utils.store.folder import RunFolder, safe_name
from utils.store.log import OF_A_SAMPLE, LoggedRun, RunLog, lock_or_refuse, read_records, runs_of

LEADER_SPEAKS_FIRST_S = 30.0  # ranks start a few seconds apart, on a busy machine more
VISIBLE_S = 30.0  # until a network file system shows a new file on all machines


# -- what a user sees of the other ranks ----------------------------------------------------------


def rank_0_speaks(rank: Rank | None) -> bool:
    """Wait for rank 0 to report the same problems; True if torchrun ends this rank meanwhile."""
    if rank is not None and not rank.leads:
        try:
            time.sleep(LEADER_SPEAKS_FIRST_S)
        except KeyboardInterrupt:
            return True
    return False


def speak_of_errors_only(rank: Rank) -> None:
    """Silences stdout of ranks other than 0, and prefixes their stderr."""
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # transformers heeds it too
    sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 - to the end
    prefix = f"rank {rank.number} ({socket.gethostname()}): "
    sys.stderr = OutputStream(sys.stderr, prefix=prefix)


class GroupProgress:
    """Counts samples for all ranks; rank 0 shows those of the others among its own."""

    def __init__(self, progress: Progress, group: Group, model: str) -> None:
        self.group = group
        self._progress = progress
        self._counter = f"{model}/finished"
        self._by_others = 0  # samples that were shown

    def advance(self, status: str, *, reused: bool) -> None:
        """One of this rank's samples is finished."""
        if self.group.rank.leads:
            self._progress.advance(status, reused=reused)
            self.catch_up()
        else:
            self.group.count_up(self._counter)

    def catch_up(self) -> None:
        """Shows what the others have finished since the last time."""
        by_others = self.group.count_up(self._counter, by=0)
        for _ in range(by_others - self._by_others):
            self._progress.advance("by other ranks", reused=False)
        self._by_others = by_others


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
    """Around the whole run: if it cannot begin, the others learn of it."""
    try:
        yield
    except BaseException:
        with suppress(StopRun):
            group.leave(f"{model}/start", note=False)
        raise


def begin(group: Group, folder: RunFolder, jobs: Sequence[Job]) -> None:
    """Has the others know where the run is, waits for them, and shares the samples."""
    leader_path = f"{socket.gethostname()}:{folder.path.absolute()}"
    runs = {job.dataset: job.run.begin["started_at"] for job in jobs}
    group.leave(f"{folder.model}/start", [folder.path.name, leader_path, runs])
    group.notes_of_others(f"{folder.model}/joined")
    share_samples(group, jobs)


def collect(progress: GroupProgress, folder: RunFolder, jobs: Sequence[Job]) -> tuple[float, float]:
    """Wait for the other ranks, and adopt their answers.

    Returns:
        The seconds that the slowest of the others took, and their CPU seconds.
    """
    notes = progress.group.notes_of_others(f"{folder.model}/report", progress.catch_up)
    reports = list(notes.values())
    progress.catch_up()
    for job in jobs:
        adopt(folder, job.dataset, job.log)
        for report in reports:
            part = report["data"][job.dataset]
            job.reasons += Counter(part["reasons"])
            job.reused += part["reused"]
            if part["stopped"] and job.stopped is None:
                job.stopped = StopRun(part["stopped"], summary=part["why"])
    longest_s = max((report["wall_s"] for report in reports), default=0.0)
    return longest_s, float(sum(report["cpu_s"] for report in reports))


# -- the other ranks ------------------------------------------------------------------------------


def join(group: Group, model: str, work_dir: Path) -> tuple[RunFolder, dict[str, LoggedRun]] | None:
    """Waits for rank 0: the run's folder, and what began there, by data set; None if it could not.

    Raises:
        NoGroup: this rank does not see rank 0's work-dir.
    """
    start = group.wait_for(f"{model}/start")
    if start is False:
        return None
    name, leader_path, runs = start
    folder = RunFolder(model, work_dir / safe_name(model) / name)
    ends_s = time.monotonic() + VISIBLE_S
    while (opened := _opened(folder, runs)) is None:
        if time.monotonic() > ends_s:
            location = f"in {leader_path}, not in this machine's {folder.path.absolute()}"
            what = f"this rank and rank 0 see different work-dirs: rank 0 has begun {location}"
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


def share_samples(group: Group, jobs: Iterable[Job]) -> None:
    """Gives each job the shard of its samples that this rank asks."""
    for job in jobs:
        job.shard = group.rank.number, group.rank.count


def report(group: Group, model: str, jobs: Sequence[Job], wall_s: float, cpu_s: float) -> None:
    """Tell rank 0 that all is asked, after the logs were closed."""
    data = {
        job.dataset: {
            "reasons": job.reasons,
            "reused": job.reused,
            "stopped": job.stopped and str(job.stopped),
            "why": job.stopped and job.stopped.summary,
        }
        for job in jobs
    }
    note = {"wall_s": wall_s, "cpu_s": cpu_s, "data": data}
    group.leave(f"{model}/report/{group.rank.number}", note)

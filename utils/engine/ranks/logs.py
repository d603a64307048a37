"""The logs of ranks other than 0: written beside the run's log, then merged into it.

    <model>_<dataset>.jsonl                      the run's log; rank 0 writes its own answers there
    <model>_<dataset>.rank<R>-<token>.jsonl      what rank R has answered; gone after the run

A rank's log opens with a record that names the run it belongs to. Whatever ends a run, its ranks'
logs are merged by the next process that holds the lock of the run's log; a kill in the middle costs
nothing, because what is merged already is recognised.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from utils.contracts import Record
from utils.errors import UserError
from utils.runs.folder import RunFolder
from utils.runs.locking import Lock, lock_or_refuse
from utils.runs.log import RunLog, read_records

MERGED_KINDS = frozenset({"answer", "reuse"})


def open_rank_log(folder: RunFolder, dataset: str, *, rank: int, token: str, run: str) -> RunLog:
    """A log of one rank's own.

    Args:
        token: of the group; a rank of an earlier one may still hold its file.
        run: when the run began, as the run's record in the log has it.

    Raises:
        UserError: the folder cannot be written.
    """
    path = folder.rank_log(dataset, rank, token)
    log = RunLog(folder.log(dataset), part=path)
    log.append({"kind": "rank", "rank": rank, "run": run})
    return log


def merge_leftovers(folder: RunFolder, dataset: str, log: RunLog) -> None:
    """Merges what groups that were stopped have left behind, in all run folders of the model.

    Args:
        folder: of the run that is about to begin.
        log: its log, open.
    """
    merge(log, folder.rank_logs(dataset))
    for other in folder.all_logs(dataset):
        earlier = folder.beside(other)
        parts = earlier.rank_logs(dataset)
        if other == log.path or not parts:
            continue
        try:
            earlier_log = RunLog(other)
        except UserError:  # that group is at work
            continue
        with contextlib.closing(earlier_log):
            merge(earlier_log, parts)


def merge_newest_run(folder: RunFolder, dataset: str, log: RunLog) -> None:
    """Merges what belongs to the newest run of a log, before it is scored as it stands."""
    runs = [record["started_at"] for _, record in read_records(log.path) if _is_run(record)]
    merge(
        log, [part for part in folder.rank_logs(dataset) if _run_of(part) == max(runs, default="")]
    )


def merge(log: RunLog, parts: Iterable[Path]) -> None:
    """Appends the records of ranks' logs to the run's log, each once, and removes the ranks' logs.

    A log that its rank still holds stays: what comes after is merged by the next run.
    """
    for part in parts:
        lock = _lock_if_free(part)
        known = _merged_before(log.path, _run_of(part))
        for _, record in read_records(part):
            mark = _mark(record)
            if record.get("kind") in MERGED_KINDS and mark not in known:
                known.add(mark)
                log.append(record)
        if lock is not None:
            log.sync()  # before the only other copy goes
            part.unlink(missing_ok=True)
            lock.release()
            part.with_name(f"{part.name}.lock").unlink(missing_ok=True)


def _lock_if_free(part: Path) -> Lock | None:
    try:
        return lock_or_refuse(part)
    except UserError:
        return None


def _merged_before(path: Path, run: str | None) -> set[bytes]:
    """Marks of a run's records: an earlier run's may look the same and mean something else."""
    known: set[bytes] = set()
    for _, record in read_records(path):
        if _is_run(record) and record["started_at"] == run:
            known.clear()
        elif record.get("kind") in MERGED_KINDS:
            known.add(_mark(record))
    return known


def _mark(record: Record) -> bytes:
    return hashlib.blake2b(json.dumps(record).encode(), digest_size=16).digest()


def _is_run(record: Record) -> bool:
    return record.get("kind") == "run"


def _run_of(part: Path) -> str | None:
    _, first = next(read_records(part), (0, {}))
    run: str | None = first.get("run")
    return run

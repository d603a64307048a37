"""`--log-to`: the figures of a run go to trackers, now and then while it goes on, and at its end.

The figures so far come from a process of their own (`--look RUN --json`): it shares neither time
nor users' functions with the run that is asking. No failure of a tracker costs the run anything.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from utils import PROJECT
from utils.engine.jobs import Progress
from utils.errors import one_line_reason
from utils.exchange.trackers import TrackedRun, Tracker, flat, metric_name, open_tracker
from utils.protocol import IMPORTED, SINGLE
from utils.session.evaluation import Evaluation
from utils.session.result import Result
from utils.session.so_far import LogOfRun
from utils.store.derived import MANIFEST_NAME
from utils.store.folder import RunFolder
from utils.store.manifest import portable
from utils.store.run_facts import data_kind
from utils.text import printable

EVERY_S = 60.0  # figures are sent at least so often while answers come
EVERY_SHARE = 0.05  # of the samples; whichever comes first
WORK_TO_REST = 19  # after a look at the log: it takes a twentieth of the time at most
SO_FAR, PARTIAL = "so_far/", "partial/"  # before the names of figures that are of a part


class Tracking:
    """The figures of one model's run on their way to the trackers of `--log-to`.

    Args:
        evaluations: of the model.
    """

    def __init__(self, evaluations: Sequence[Evaluation]) -> None:
        self._evaluations = evaluations
        self._names = evaluations[0].options.log_to
        self._trackers: dict[str, Tracker] = {}
        self._folder: RunFolder | None = None
        self._total = self._finished = 0
        self._step = 0  # the largest one so far: wandb drops figures of an earlier step
        self._next = 0.0  # figures are due when so many samples have finished
        self._began_s = time.monotonic()
        self._is_due, self._is_over = threading.Event(), threading.Event()
        self._look: subprocess.Popen[str] | None = None
        self._thread: threading.Thread | None = None
        self._has_warned = False

    def begin(self, folder: RunFolder, total: int) -> None:
        """Open the trackers, and send figures from now on.

        Args:
            folder: of the run, whose logs are open.
            total: how many samples it has.
        """
        self._open(folder)
        if self._trackers:
            self._total, self._next = total, EVERY_SHARE * total
            self._thread = threading.Thread(target=self._send_now_and_then, daemon=True)
            self._thread.start()

    def counting(self, progress: Progress) -> Progress:
        """Return a progress that counts finished samples here, too."""
        return _Counting(progress, self)

    def count(self) -> None:
        """Count a finished sample."""
        self._finished += 1
        if self._trackers and self._finished >= self._next:
            self._next = self._finished + EVERY_SHARE * self._total
            self._is_due.set()

    def finish(self, outcomes: Sequence[Result]) -> None:
        """Send the figures of a scoring, and end the run in all trackers."""
        self._stop_looking()
        folders = [outcome.folder for outcome in outcomes if outcome.folder is not None]
        for folder in dict.fromkeys(folders):
            folder_outcomes = [outcome for outcome in outcomes if outcome.folder == folder]
            scored = {outcome.dataset: outcome for outcome in folder_outcomes if outcome.is_scored}
            if self._folder != folder:
                self.close()
                self._open(folder)
            metrics: dict[str, float] = {}
            ends: list[Mapping[str, Any]] = []
            step = 0
            is_partial = len(scored) < len(folder_outcomes)
            for dataset, outcome in scored.items():
                assert outcome.entry is not None
                facts = outcome.entry.facts
                is_partial |= bool(facts["partial"])
                metrics |= _metrics(dataset, facts, PARTIAL if facts["partial"] else "")
                ends.append(outcome.entry.end)
                step += facts["samples"] - facts["missing"]
            if metrics:
                self._send({**metrics, **_times(ends)}, step)
            self._close("partial" if is_partial else "finished")

    def close(self) -> None:
        """End the run in trackers that it was not ended in: it was stopped."""
        self._stop_looking()
        self._close("stopped")

    # -- trackers ---------------------------------------------------------------------------------

    def _open(self, folder: RunFolder) -> None:
        self._folder = folder
        self._step = 0
        run = _tracked_run(self._evaluations, folder)
        for name in self._names:
            try:
                self._trackers[name] = open_tracker(name, run)
            except (Exception, SystemExit) as error:  # noqa: BLE001  it may not cost the run
                self._warn(name, error)
            else:
                print(f"figures go to {name}: {self._trackers[name].where}")

    def _send(self, metrics: Mapping[str, float], step: int) -> None:
        self._step = max(self._step, step)
        for name, tracker in [*self._trackers.items()]:
            try:
                tracker.log(metrics, self._step)
            except Exception as error:  # noqa: BLE001  likewise
                self._warn(name, error)
                del self._trackers[name]

    def _close(self, state: str) -> None:
        if self._folder is None:
            return
        path = self._folder.path / MANIFEST_NAME
        manifest = path if state != "stopped" and path.exists() else None
        for name, tracker in self._trackers.items():
            try:
                tracker.close(state, manifest)
            except Exception as error:  # noqa: BLE001  likewise
                self._warn(name, error)
        self._trackers = {}

    def _warn(self, name: str, error: BaseException) -> None:
        reason = one_line_reason(error) if isinstance(error, Exception) else str(error)
        print(
            f"warning: --log-to {name}: {printable(reason)}. The run goes on; afterwards, the same "
            "command with --mode eval sends its figures",
            file=sys.stderr,
        )

    # -- while the run goes on --------------------------------------------------------------------

    def _send_now_and_then(self) -> None:
        sent = 0
        while not self._is_over.is_set():
            self._is_due.wait(EVERY_S)
            self._is_due.clear()
            if self._is_over.is_set() or self._finished == sent:
                continue
            sent, began_s = self._finished, time.monotonic()
            facts_by_dataset = self._figures_so_far()
            if facts_by_dataset and not self._is_over.is_set():
                self._send_so_far(facts_by_dataset)
            self._is_over.wait(WORK_TO_REST * (time.monotonic() - began_s))

    def _send_so_far(self, facts_by_dataset: Mapping[str, Mapping[str, Any]]) -> None:
        metrics: dict[str, float] = {}
        for dataset, facts in facts_by_dataset.items():
            metrics |= _metrics(dataset, facts, SO_FAR)
        wall_s = time.monotonic() - self._began_s
        metrics |= {"run/wall_s": round(wall_s, 1), "run/samples_per_s": self._finished / wall_s}
        step = sum(facts["samples"] - facts["missing"] for facts in facts_by_dataset.values())
        self._send(metrics, step)

    def _figures_so_far(self) -> Mapping[str, Mapping[str, Any]]:
        """The facts of each data set by name; none where they could not be had, which is said."""
        assert self._folder is not None
        program = [sys.executable, str(PROJECT / "evaluate.py")]
        names = [evaluation.dataset for evaluation in self._evaluations]
        command = [*program, "--look", str(self._folder.path), "--json", "--data", *names]
        try:
            self._look = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            stdout, stderr = self._look.communicate()
            [run] = json.loads(stdout)
        except (OSError, ValueError) as error:
            if not self._has_warned and not self._is_over.is_set():
                self._has_warned = True
                last = stderr.strip().splitlines()[-1:] if isinstance(error, ValueError) else error
                print(f"warning: --log-to: no figures so far ({last})", file=sys.stderr)
            return {}
        by_dataset: Mapping[str, Mapping[str, Any]] = run["datasets"]
        return by_dataset

    def _stop_looking(self) -> None:
        self._is_over.set()
        self._is_due.set()
        if self._thread is None:
            return
        look = self._look
        if look is not None:
            with suppress(OSError):
                look.terminate()
        self._thread.join()
        self._thread = None


@dataclass(frozen=True)
class _Counting:
    """A progress whose samples are counted for trackers, too."""

    progress: Progress
    tracking: Tracking

    def advance(self, status: str, *, reused: bool) -> None:
        """Count a sample that has ended with a status."""
        self.progress.advance(status, reused=reused)
        self.tracking.count()


def _tracked_run(evaluations: Sequence[Evaluation], folder: RunFolder) -> TrackedRun:
    """Facts about a run for trackers: settings from the records of its logs, without secrets."""
    first = evaluations[0]
    params: dict[str, Any] = {"model": first.name}
    tags: dict[str, str] = {"run_folder": portable(str(folder.path.absolute()), {})}
    for evaluation in evaluations:
        log = folder.log(evaluation.dataset)
        if not log.exists():
            continue
        begin = LogOfRun(log).begin
        config = begin.get("config") or {}
        params["model_entry"] = (config.get("model") or {}).get(first.name) or {}
        params[metric_name(evaluation.dataset)] = {
            **((config.get("data") or {}).get(evaluation.dataset) or {}),
            "limit": begin.get("limit"),
            "data_kind": data_kind(begin),
        }
        tags["commit"] = str((begin.get("git") or {}).get("commit") or "")[:8]
        tags["protocol"] = str(begin.get("protocol", SINGLE))
        tags["imported"] = str(IMPORTED in begin).lower()
    folders = {"$EVAL_WORK_DIR": first.options.work_dir, ".": PROJECT}
    cleaned = first.secrets.clean_object(portable({"params": params, "tags": tags}, folders))
    return TrackedRun(
        name=f"{first.name} {folder.path.name}",
        folder=folder.path,
        params=flat(cleaned["params"]),
        tags=cleaned["tags"],
    )


def _metrics(dataset: str, facts: Mapping[str, Any], prefix: str) -> dict[str, float]:
    """The figures of a data set with their intervals, and its counts, by name."""
    metrics: dict[str, float] = {}
    for figure, cell in (facts.get("figures") or {}).items():
        name = metric_name(figure)
        bounds = {"": cell.get("value"), "_low": cell.get("low"), "_high": cell.get("high")}
        metrics |= {f"{name}{end}": value for end, value in bounds.items() if value is not None}
    metrics["n"] = facts["samples"] - facts["missing"]
    metrics["samples"] = facts["samples"]
    statuses = facts.get("statuses") or {}
    metrics |= {status: statuses.get(status, 0) for status in ("failed", "refused")}
    metrics |= facts.get("tokens") or {}
    folder = f"{prefix}{metric_name(dataset)}"
    return {f"{folder}/{name}": value for name, value in metrics.items()}


def _times(ends: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The duration and speed of the requests, from the records of the ends of data sets.

    Data sets that one command has queried have the same duration: that of all together.
    """
    wall_s = sum({end.get("wall_s") or 0.0 for end in ends})
    if not wall_s:
        return {}
    queried = sum(sum((end.get("asked") or {}).values()) for end in ends)
    return {"run/wall_s": wall_s, "run/samples_per_s": queried / wall_s}

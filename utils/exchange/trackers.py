"""Trackers of experiments that a run's figures are sent to: Weights & Biases, MLflow, TensorBoard.

Their packages are optional: each is imported only where `--log-to` names it.

Source: wandb 0.2x (`wandb.init`, `Run.log`, `Run.summary`), MLflow 2 and 3 (`MlflowClient`),
TensorBoard 2 (`EventFileWriter`, summaries as protocol buffers).
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from utils.text import counted

PROJECT_NAME = "mmbench-gui"
FOLDER = "tensorboard"  # in the folder of a run
LONGEST_PARAMETER = 500  # characters; MLflow's oldest stores take no more
_NOT_IN_A_NAME = re.compile(r"[^\w\-. /]", re.ASCII)


@dataclass(frozen=True)
class TrackedRun:
    """The facts about a run that a tracker gets when the run begins. None is secret."""

    name: str
    folder: Path  # of the run
    params: Mapping[str, str]
    tags: Mapping[str, str]


class Tracker(Protocol):
    """The destination of one run's figures.

    Attributes:
        where: the address of the run there, or a folder.
    """

    where: str

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """Send figures by name.

        Args:
            metrics: the figures.
            step: how many samples were finished then: with a reply, failed or refused.
        """

    def close(self, state: str, manifest: Path | None) -> None:
        """End the run there.

        Args:
            state: "finished", "partial" or "stopped".
            manifest: the file, which goes along where files can.
        """


def open_tracker(name: str, run: TrackedRun) -> Tracker:
    """Begin a run in a tracker; whatever its package raises comes through."""
    return TRACKERS[name](run)


def metric_name(name: str) -> str:
    """Return a name that all trackers take.

    A name with letters beyond ASCII gets a hash, so that two such names stay apart.
    """
    cleaned = _NOT_IN_A_NAME.sub("_", name)
    if name.isascii():
        return cleaned
    return f"{cleaned}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


class WandbTracker:
    """A run of Weights & Biases; `WANDB_MODE=offline` keeps it on this machine.

    What wandb collects by itself (command line, host, packages, console, code) is turned off: a
    command line may hold a key.
    """

    def __init__(self, run: TrackedRun) -> None:
        import wandb  # type: ignore[import-not-found]

        settings = wandb.Settings(
            console="off",
            disable_code=True,
            disable_git=True,
            disable_job_creation=True,
            silent=True,
            x_disable_meta=True,
            x_disable_stats=True,
            x_save_requirements=False,
        )
        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT_NAME),
            name=run.name,
            group=run.name,
            config={**run.params, **run.tags},
            dir=str(run.folder),
            settings=settings,
        )
        is_here = getattr(self._run, "offline", False)
        self.where = str(Path(self._run.dir).parent if is_here else self._run.url)

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """See `Tracker.log`."""
        self._run.log(dict(metrics), step=step)

    def close(self, state: str, manifest: Path | None) -> None:
        """See `Tracker.close`."""
        self._run.summary["state"] = state
        if manifest is not None:
            self._run.log_artifact(str(manifest), name="manifest", type="manifest")
        self._run.finish(exit_code=1 if state == "stopped" else 0)


class MlflowTracker:
    """A run of MLflow, at `MLFLOW_TRACKING_URI` or in the current folder."""

    def __init__(self, run: TrackedRun) -> None:
        import mlflow  # type: ignore[import-not-found]

        self._mlflow = mlflow
        self._client = mlflow.MlflowClient()
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT_NAME)
        experiment = self._client.get_experiment_by_name(name)
        experiment_id = (
            self._client.create_experiment(name) if experiment is None else experiment.experiment_id
        )
        started = self._client.create_run(experiment_id, run_name=run.name, tags=dict(run.tags))
        self._id = started.info.run_id
        self.where = f"{mlflow.get_tracking_uri()}, experiment {name}"
        params = [mlflow.entities.Param(key, value) for key, value in run.params.items()]
        for start in range(0, len(params), 100):  # as many as one request may hold
            self._client.log_batch(self._id, params=params[start : start + 100])

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """See `Tracker.log`."""
        now_ms = int(time.time() * 1000)
        entries = [
            self._mlflow.entities.Metric(name, value, now_ms, step)
            for name, value in metrics.items()
        ]
        self._client.log_batch(self._id, metrics=entries)

    def close(self, state: str, manifest: Path | None) -> None:
        """See `Tracker.close`."""
        self._client.set_tag(self._id, "state", state)
        if manifest is not None:
            self._client.log_artifact(self._id, str(manifest))
        self._client.set_terminated(self._id, "FAILED" if state == "stopped" else "FINISHED")


class TensorboardTracker:
    """Event files in the folder of the run: `tensorboard --logdir outputs` shows all runs."""

    def __init__(self, run: TrackedRun) -> None:
        from tensorboard.compat.proto import (  # type: ignore[import-not-found]
            event_pb2,
            summary_pb2,
            tensor_pb2,
            tensor_shape_pb2,
        )
        from tensorboard.summary.writer import (  # type: ignore[import-not-found]
            event_file_writer,
        )

        self._event, self._summary = event_pb2.Event, summary_pb2.Summary
        self.where = str(run.folder / FOLDER)
        self._writer = event_file_writer.EventFileWriter(self.where)
        rows = [f"| {key} | {value} |" for key, value in {**run.params, **run.tags}.items()]
        table = "\n".join(["| setting | value |", "|---|---|", *rows])
        one = tensor_shape_pb2.TensorShapeProto(dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=1)])
        text = self._summary.Value(
            tag="run/text_summary",
            metadata=summary_pb2.SummaryMetadata(
                plugin_data=summary_pb2.SummaryMetadata.PluginData(plugin_name="text")
            ),
            tensor=tensor_pb2.TensorProto(
                dtype="DT_STRING", string_val=[table.encode()], tensor_shape=one
            ),
        )
        self._add([text], 0)

    def _add(self, values: Sequence[Any], step: int) -> None:
        summary = self._summary(value=values)
        self._writer.add_event(self._event(wall_time=time.time(), step=step, summary=summary))
        self._writer.flush()

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """See `Tracker.log`."""
        values = [
            self._summary.Value(tag=name, simple_value=value) for name, value in metrics.items()
        ]
        self._add(values, step)

    def close(self, state: str, manifest: Path | None) -> None:
        """See `Tracker.close`."""
        self._writer.close()


TRACKERS: Mapping[str, Callable[[TrackedRun], Tracker]] = {
    "wandb": WandbTracker,
    "mlflow": MlflowTracker,
    "tensorboard": TensorboardTracker,
}


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Return nested settings as texts by dotted key, without empty ones."""
    texts: dict[str, str] = {}
    for key, value in values.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping):
            texts |= flat(value, f"{path}.")
        elif isinstance(value, (list, tuple)) and len(str(value)) > LONGEST_PARAMETER:
            texts[metric_name(path)] = counted(len(value), "item")
        elif value not in (None, "", [], ()):
            texts[metric_name(path)] = str(value)[:LONGEST_PARAMETER]
    return texts

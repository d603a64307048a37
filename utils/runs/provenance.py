"""What a run was made with, for the header of its log."""

from __future__ import annotations

import datetime
import platform
import time
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

PACKAGES = (
    "openai", "pillow", "pydantic", "torch", "torchvision", "transformers", "qwen-vl-utils",
    "accelerate", "ui-tars", "rapidocr", "onnxruntime",
)  # fmt: skip


def versions() -> dict[str, str]:
    """Versions of Python and of the installed packages that can change an answer."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def run_record(
    *,
    model: str,
    dataset: str,
    mode: str,
    limit: int | None,
    samples: Sequence[str],
    bad: Sequence[str],
    config: Mapping[str, Any],
    commit: str,
    arguments: Sequence[str],
) -> dict[str, Any]:
    """The record that opens a run in its log.

    Args:
        samples: keys of all samples that the run covers, in file order.
        bad: the samples that were left out, one line each.
        config: the resolved config, without secrets.
        commit: of the project, or "unknown".
        arguments: of the command line, as they were typed.
    """
    return {
        "kind": "run",
        "started_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds"),
        "model": model,
        "dataset": dataset,
        "mode": mode,
        "limit": limit,
        "samples": list(samples),
        "bad": list(bad),
        "config": dict(config),
        "versions": versions(),
        "commit": commit,
        "arguments": list(arguments),
    }


class Stopwatch:
    """Time since it was made: on the wall, and of all threads of this process on the CPU."""

    def __init__(self) -> None:
        self._wall_s, self._cpu_s = time.monotonic(), time.process_time()

    @property
    def wall_s(self) -> float:
        """Seconds on the wall."""
        return time.monotonic() - self._wall_s

    @property
    def cpu_s(self) -> float:
        """Seconds of CPU."""
        return time.process_time() - self._cpu_s


def end_record(
    wall_s: float, cpu_s: float, *, asked: Mapping[str, int], reused: int
) -> dict[str, Any]:
    """The record that closes a run's inference part; its cost is that of all data sets together."""
    return {
        "kind": "end",
        "ended_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds"),
        "wall_s": round(wall_s, 4),
        "cpu_s": round(cpu_s, 4),
        "asked": dict(asked),
        "reused": reused,
    }

"""What a run ran on: code, machine, environment. For its manifest, looked at when all is done."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

# Their values decide about prompts and scores, so they are written down.
SCORE_VARIABLES = ("L1_USE_WEIGHTED", "L2_USER_PROMPT", "SKIP_ERR")
# Places and secrets: whether they are set is all that another machine can use.
NAMED_VARIABLES = (
    "LMUData", "IMAGE_ROOT_DIR", "EVAL_WORK_DIR", "OPENAI_API_KEY", "HF_HOME", "HF_TOKEN",
    "HTTPS_PROXY", "CUDA_VISIBLE_DEVICES",
)  # fmt: skip
_GIB = 2**30


def git_state(project: Path, files: Iterable[Path] = ()) -> dict[str, Any]:
    """Commit of the project, and whether files that git knows were changed since.

    Args:
        files: those that the run was made with beside the project's own; git may not know them.

    Returns:
        `{"commit": 40 digits or "unknown", "dirty": bool}`; with changes also `diff_sha256`, the
        hash of `git diff HEAD`, by which two dirty states can be told apart; `not_in_commit`, the
        names of such `files`, where there are any.
    """
    commit = _git(project, "rev-parse", "HEAD")
    if commit is None:
        return {"commit": "unknown", "dirty": None}
    diff = _git(project, "diff", "HEAD", "--no-ext-diff", "--binary")
    if diff is None:
        return {"commit": commit.decode().strip(), "dirty": None}
    state: dict[str, Any] = {"commit": commit.decode().strip(), "dirty": bool(diff)}
    state |= {"diff_sha256": hashlib.sha256(diff).hexdigest()} if diff else {}
    unknown = [_name_in(project, file) for file in files if not _is_known(project, file)]
    return state | ({"not_in_commit": unknown} if unknown else {})


def hardware() -> dict[str, Any]:
    """Processor, memory in GiB, graphics cards; what cannot be found out is None or empty."""
    try:
        memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIB
    except (AttributeError, ValueError, OSError):  # not on every system
        memory_gib = None
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "system": f"{platform.system()} {platform.release()}",
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "cores_usable": usable,
        "memory_gib": None if memory_gib is None else round(memory_gib, 1),
        "gpus": _gpus(),
    }


def environment(environ: Mapping[str, str], names: Iterable[str]) -> dict[str, Any]:
    """The variables that matter.

    Args:
        names: further ones, of which the config takes `${NAME}` from the environment.

    Returns:
        Name → value where it decides about scores, else whether it is set.
    """
    values = {name: environ.get(name) for name in SCORE_VARIABLES}
    return values | {name: bool(environ.get(name)) for name in (*NAMED_VARIABLES, *names)}


def _is_known(project: Path, file: Path) -> bool:
    """Whether a commit of the project has a file, changed since or not."""
    if not file.resolve().is_relative_to(project.resolve()):
        return False
    return _git(project, "cat-file", "-e", f"HEAD:./{_name_in(project, file)}") is not None


def _name_in(project: Path, file: Path) -> str:
    """As it stands in the project; of a file elsewhere its name alone."""
    whole = file.resolve()
    root = project.resolve()
    return whole.relative_to(root).as_posix() if whole.is_relative_to(root) else whole.name


def _git(project: Path, *arguments: str) -> bytes | None:
    try:
        result = subprocess.run(
            ["git", "-C", str(project), *arguments], capture_output=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout if result.returncode == 0 else None


def _cpu_name() -> str | None:
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:  # not Linux
        pass
    return platform.processor() or platform.machine() or None


def _gpus() -> list[dict[str, Any]]:
    """The graphics cards: from torch if a model has loaded it, else what the driver lists."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        cards = map(torch.cuda.get_device_properties, range(torch.cuda.device_count()))
        return [
            {"name": card.name, "memory_gib": round(card.total_memory / _GIB, 1)} for card in cards
        ]
    found = []
    for file in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information")):
        try:
            lines = file.read_text("utf-8", "replace").splitlines()
        except OSError:
            continue
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("Model:")]
        found += [{"name": name} for name in names]
    return found

"""Folders of results of live worlds: OSWorld, AndroidWorld, MobileWorld.

Scores are those of the files: no check can be run again. Sources: xlang-ai/OSWorld as in
X-PLUG/MobileAgent @ 11cea57 `os_world_v3/run_multienv_owl.py`; google-research/android_world @
d9c569f `checkpointer.py`, `constants.py`; MobileWorld @ 6a4dec2 `trajectory_logger.py`.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from utils.errors import UserError
from utils.exchange.answers import WorldEpisode
from utils.exchange.files import MOST_ROW_BYTES, refuse_unusual, row_file
from utils.exchange.pickles import read_pickle

MOST_ENTRIES = 200_000  # of a folder and those below it
MOST_SCORE_BYTES = 100_000
RESULT, TRAJECTORY, EPISODE = "result.txt", "traj.jsonl", "traj.json"
PICKLES = (".pkl.gz", ".pkl")
BACKUP = "traj_backup"  # of MobileWorld: an earlier try
SCORE_LINE = re.compile(r"^\s*score\s*:\s*(\S+)", re.MULTILINE | re.IGNORECASE)
REASON_LINE = re.compile(r"^\s*reason\s*:\s*(.*)", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True)
class KnownWorld:
    """A world whose results are known."""

    name: str  # as `--format` has it
    title: str  # and its data set in a config
    own_figure: str  # how the world's own program counts, in words


WORLDS = {
    world.name: world
    for world in (
        KnownWorld(
            "osworld",
            "OSWorld",
            "an unreadable result.txt counts as 0; an episode without result.txt is left out",
        ),
        KnownWorld(
            "android_world",
            "AndroidWorld",
            "an episode that ended in an exception is left out",
        ),
        KnownWorld("mobile_world", "MobileWorld", "an episode without a score is left out"),
    )
}


@dataclass
class WorldResults:
    """The episodes of a folder.

    Attributes:
        refused: files that were not read, each with the reason.
    """

    world: KnownWorld
    episodes: list[WorldEpisode] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def world_of(folder: Path) -> str | None:
    """The format of a folder of results, by the names of the files in it; None: another folder."""
    names = [name for _, files in folders_of(folder) for name in files]
    if any(name.endswith(PICKLES) for name in names):
        return "android_world"
    if EPISODE in names and RESULT in names:
        return "mobile_world"
    return "osworld" if TRAJECTORY in names else None


def read_world(folder: Path, name: str) -> WorldResults:
    """Read all episodes of a folder.

    Raises:
        UserError: there is none.
    """
    readers: dict[str, Callable[[Path, WorldResults], None]] = {
        "osworld": _read_osworld,
        "android_world": _read_android_world,
        "mobile_world": _read_mobile_world,
    }
    results = WorldResults(WORLDS[name])
    readers[name](folder, results)
    if not results.episodes:
        problem = f"{folder}: has no episode of {results.world.title} that can be read"
        raise UserError([problem, *results.refused])
    return results


def folders_of(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield a folder and those below it with the names of their files, in order of names.

    Links are left alone.
    """
    count = 0
    for path, folders, files in os.walk(folder):
        folders.sort()
        folders[:] = [name for name in folders if not name.startswith(".")]
        count += len(files) + len(folders)
        if count > MOST_ENTRIES:
            raise UserError(f"{folder}: holds more than {MOST_ENTRIES:,} files")
        yield Path(path), sorted(name for name in files if not Path(path, name).is_symlink())


def _text(path: Path) -> str | None:
    """The short text of a file; None where there is no such file."""
    try:
        refuse_unusual(path)
        with path.open("rb") as file:
            return file.read(MOST_SCORE_BYTES).decode("utf-8", "replace").strip()
    except (UserError, OSError):
        return None


# -- OSWorld --------------------------------------------------------------------------------------


def _read_osworld(folder: Path, results: WorldResults) -> None:
    """`.../<domain>/<example id>/`; a try that only a trajectory is left of has no score."""
    tries: dict[str, int] = {}
    for path, files in folders_of(folder):
        if TRAJECTORY not in files and RESULT not in files:
            continue
        task, domain = path.name, path.parent.name
        tries[task] = tries.get(task, 0) + 1
        steps, error = _trajectory(path / TRAJECTORY, results) if TRAJECTORY in files else (0, "")
        results.episodes.append(
            WorldEpisode(
                task=task,
                domain=domain,
                score=_text(path / RESULT) if RESULT in files else None,
                steps=steps,
                error=error,
                number=tries[task],
                file=str((path / RESULT).relative_to(folder)),
            )
        )


def _trajectory(path: Path, results: WorldResults) -> tuple[int, str]:
    """The number of steps in a trajectory, and the error that has ended it."""
    steps, error = set(), ""
    try:
        for number, row in row_file(path).rows():
            if "Error" in row:
                error = str(row["Error"])[:500]
            else:
                steps.add(row.get("step_num", number))
    except UserError as problem:
        if path.stat().st_size:
            results.refused.append(str(problem))
    return len(steps), error


# -- AndroidWorld ---------------------------------------------------------------------------------


def _read_android_world(folder: Path, results: WorldResults) -> None:
    """`<template>_<instance>.pkl.gz`: a list of episodes each."""
    tries: dict[str, int] = {}
    for path, files in folders_of(folder):
        for name in files:
            if not name.endswith(PICKLES):
                continue
            file = (path / name).relative_to(folder)
            try:
                value = read_pickle(path / name, str(file))
            except UserError as problem:
                results.refused.append(str(problem))
                continue
            for episode in value if isinstance(value, list) else [value]:
                if isinstance(episode, Mapping):
                    _add_android_episode(episode, str(file), tries, results)


def _add_android_episode(
    episode: Mapping[str, Any], file: str, tries: dict[str, int], results: WorldResults
) -> None:
    known = {name: value for name, value in episode.items() if not _is_nan(value)}
    template = str(known.get("task_template") or file.partition("_")[0])
    task = f"{template}_{known.get('instance_id') or 0}"
    tries[task] = tries.get(task, 0) + 1
    score = known.get("is_successful")
    steps = known.get("episode_length")
    error = str(known.get("exception_info") or "")
    results.episodes.append(
        WorldEpisode(
            task=task,
            domain="android",
            score=str(float(score)) if isinstance(score, (int, float)) else None,
            instruction=str(known.get("goal") or ""),
            steps=int(steps) if isinstance(steps, (int, float)) else 0,
            error=error.strip().rpartition("\n")[2][:500],
            number=tries[task],
            file=file,
        )
    )


def _is_nan(value: Any) -> bool:
    """Whether a value is AndroidWorld's sign for none."""
    return isinstance(value, float) and math.isnan(value)


# -- MobileWorld ----------------------------------------------------------------------------------


def _read_mobile_world(folder: Path, results: WorldResults) -> None:
    """`<task>/traj.json` and `result.txt` with `score: x` and `reason: ...`."""
    for path, files in folders_of(folder):
        is_backup = any(part.startswith(BACKUP) for part in path.relative_to(folder).parts)
        if is_backup or not ({EPISODE, RESULT} & {*files}):
            continue
        text = _text(path / RESULT) if RESULT in files else None
        score = SCORE_LINE.search(text or "")
        reason = REASON_LINE.search(text or "")
        results.episodes.append(
            WorldEpisode(
                task=path.name,
                domain="mobile",
                score=score[1] if score else text,
                steps=_steps_of(path / EPISODE) if EPISODE in files else 0,
                error="" if text is not None or reason is None else reason[1][:500],
                file=str((path / RESULT).relative_to(folder)),
            )
        )


def _steps_of(path: Path) -> int:
    """The number of steps in a trajectory, whose form differs by version."""
    try:
        refuse_unusual(path)
        if path.stat().st_size > MOST_ROW_BYTES:
            return 0
        trajectory = json.loads(path.read_bytes())
    except (UserError, OSError, ValueError, RecursionError):
        return 0
    if isinstance(trajectory, Mapping):
        values = [*trajectory.values()]
        nested = [entry.values() for entry in values if isinstance(entry, Mapping)]
        values += [value for entries in nested for value in entries]
        lists = [value for value in values if isinstance(value, list)]
        trajectory = max(lists, key=len, default=[])
    return len(trajectory) if isinstance(trajectory, list) else 0

"""`manifest.json` of a run's folder: what was asked of whom, with what, and what came back.

Files that end in `_partial` have `manifest_partial.json`, for a run of five samples may not speak
for the scores of thousands. Both come from the logs alone. Their fields:

format, model, config   the resolved config of the asking, without secrets
asking                  of the newest run that asked: started_at, ended_at, wall_s, cpu_s, command,
                        config_file {name, sha256}, git {commit, dirty}, versions, hardware,
                        environment, and what its "end" record adds
scoring                 of the newest scoring: at, command, git, environment; config where it is not
                        the one of the asking
datasets                by name: level, mode, limit, started_at, samples, missing, left_out,
                        statuses, tokens, answered (first and last time),
                        runs_with (answers of local models by device, dtype, attention),
                        annotations {file, bytes, md5, sha256},
                        pictures {count, digest}: see `utils.runs.provenance.pictures_digest`

Paths: `$LMUData` is the data root, `$EVAL_WORK_DIR` the work-dir, `.` the project, `~` the home.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utils import PROJECT
from utils.contracts import Record
from utils.runs.finished import MANIFEST_NAME, PARTIAL_MANIFEST_NAME, read_json
from utils.runs.folder import RunFolder
from utils.runs.provenance import environment, git_state
from utils.runs.records import now
from utils.runs.view import LogView

FORMAT = 2
HOME = "~"
_OF_ASKING = ("config_file", "git", "versions", "hardware", "environment")
_OF_END = ("kind", "seq", "asked", "reused")  # what the manifest does not take of it


@dataclass(frozen=True, slots=True)
class Entry:
    """What the manifest says of one data set: the run that counts, its end, and facts."""

    run: Record
    end: Record
    is_part: bool
    facts: Mapping[str, Any]


def entry_of(view: LogView, level: str, *, is_part: bool) -> Entry:
    """What the manifest says of the data set of a log."""
    run = {key: value for key, value in view.run.items() if key != "samples"}
    facts: dict[str, Any] = {
        "level": level,
        "mode": view.mode,
        "limit": view.limit,
        "started_at": run.get("started_at"),
        "samples": len(view.covered),
        "missing": view.missing,
        "left_out": len(view.left_out),
        **view.totals(),
        **{name: run[name] for name in ("annotations", "pictures") if name in run},
    }
    return Entry(run, view.end, is_part, facts)


def scoring_of(arguments: Sequence[str], config: Mapping[str, Any]) -> dict[str, Any]:
    """The section on a scoring that has just been done.

    Args:
        arguments: of the command line.
        config: the resolved one, without secrets.
    """
    return {
        "at": now(),
        "command": _command(arguments),
        "git": git_state(PROJECT),
        "environment": environment(os.environ),
        "config": config,
    }


def manifests_of(
    folder: RunFolder,
    entries: Mapping[str, Entry],
    scoring: Mapping[str, Any] | None,
    places: Mapping[str, Path],
) -> dict[Path, dict[str, Any]]:
    """What a folder's manifests are to hold, where that is new; one that is empty is to go.

    Args:
        entries: by data set; what is there already of other data sets stays.
        scoring: the section on it; None: nothing was scored.
        places: what to write instead of a folder, e.g. "$LMUData".
    """
    found = {}
    full = {data for data, entry in entries.items() if not entry.is_part}
    for name, is_part in ((MANIFEST_NAME, False), (PARTIAL_MANIFEST_NAME, True)):
        before = read_json(folder.path / name, must_be_whole=False)
        mine = {data: entry for data, entry in entries.items() if entry.is_part == is_part}
        known = before.get("datasets") or {}
        kept = {data: facts for data, facts in known.items() if data not in full}
        if mine:
            made = _manifest(folder.model, mine, scoring or before.get("scoring"))
            before = portable(made, places)
            kept |= before["datasets"]
        if mine or kept != known:
            found[folder.path / name] = {**before, "datasets": kept} if kept else {}
    return found


def _manifest(
    model: str, entries: Mapping[str, Entry], scoring: Mapping[str, Any] | None
) -> dict[str, Any]:
    runs = [entry.run for entry in entries.values()]
    newest = max(runs, key=lambda run: run.get("seq", 0))
    end = max((entry.end for entry in entries.values()), key=lambda end: end.get("ended_at", ""))
    config = newest.get("config") or {}
    manifest = {
        "format": FORMAT,
        "model": model,
        "config": config,
        "asking": {
            "started_at": min(run.get("started_at", "") for run in runs),
            **{name: value for name, value in end.items() if name not in _OF_END},
            "command": _command(newest.get("arguments") or ()),
            **{name: newest[name] for name in _OF_ASKING if name in newest},
        },
        "datasets": {name: dict(entry.facts) for name, entry in entries.items()},
    }
    if scoring is not None:
        manifest["scoring"] = {key: value for key, value in scoring.items()
                               if key != "config" or value != config}  # fmt: skip
    return manifest


def _command(arguments: Iterable[str]) -> str:
    """The command as it can be pasted."""
    return shlex.join(["python", "evaluate.py", *map(str, arguments)])


# -- paths that hold on another machine ------------------------------------------------------------


def folder_replacer(places: Iterable[tuple[Path, str]]) -> Callable[[str], str]:
    """A function that puts marks in the place of folders in a text, the longest path first.

    A folder stands in a text as a whole path or the beginning of one: "x/jo" is no part of "x/john"
    or "y/x/jo", but it ends at the full stop of a sentence.

    Args:
        places: folder and mark, the later one where two are the same folder. Each is found as it
            is written and with its links resolved, for a home folder is often a link. The root of
            a file system is left alone.
    """
    marks = {str(form): mark for folder, mark in places
             for form in {folder.absolute(), folder.resolve()} if form.parts[1:]}  # fmt: skip
    either = "|".join(re.escape(folder) for folder in sorted(marks, key=len, reverse=True))
    wanted = re.compile(rf"(?<![\w.~-])({either})(?![\w-]|\.\w)", re.ASCII)

    def replace(text: str) -> str:
        if not any(folder in text for folder in marks):  # so in nearly all texts; much quicker
            return text
        return wanted.sub(lambda found: marks[found[1]], text)

    return replace


def portable(value: Any, places: Mapping[str, Path]) -> Any:
    """Plain data with its paths rewritten so that they hold on another machine.

    Args:
        places: what to write instead of a folder, e.g. "$LMUData". The home folder becomes `~`.
    """
    replace = folder_replacer([(Path.home(), HOME), *((at, mark) for mark, at in places.items())])

    def rewrite(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {rewrite(key): rewrite(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [rewrite(item) for item in value]
        return replace(str(value)) if isinstance(value, (str, Path)) else value

    return rewrite(value)

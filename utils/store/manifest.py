"""`manifest.json` of a run's folder: what was asked of whom, with what, and what came back.

It comes from the logs alone. Its fields:

format, model, config   the resolved config of the asking, without secrets
imported                of answers made elsewhere, in place of what a run has asked: file, files,
                        sha256, format, rows, frame, read_at
asking                  of the newest run that asked: started_at, ended_at, wall_s, cpu_s, command,
                        config_file {name, sha256}, git {commit, dirty}, versions, hardware,
                        environment
scoring                 of the newest scoring: at, command, git, environment; config where it is not
                        the one of the asking
datasets                by name: level, mode, limit, partial, started_at, samples (questions),
                        repeats (answers to each, where there are several), circular (true),
                        missing, left_out,
                        statuses (of answers; older versions count episodes as well), requests
                        (that these took, repeated ones, too), tokens, answered (first and last
                        time),
                        figures (the official ones, where it was scored: cells of the analysis),
                        scored_by (of recorded steps: rule, rows, level and history in words),
                        code (of a benchmark of the user's: hashes of its modules, by name),
                        warnings (how many, where it was scored), warned (in words),
                        imported (counts of an import's findings, by name),
                        config, scoring_config (that this data set was asked and scored with, for
                        this model alone; only where it is not the one of the section: see
                        `utils.store.logged_config`),
                        published (of a recipe's checkpoint, beside the figures of a whole data set:
                        see `utils.datasets.published.figures_beside`),
                        images_by_recipe (settings of images that the recipe has set),
                        runs_with (answers of local models by device, dtype, attention),
                        served (what serves the model, its version say), of several servers also
                        answered_by (answers to this data set by server) and servers (a row for
                        each, over all data sets of the newest run that asked): see
                        `utils.store.records`,
                        annotations {file, bytes, md5, sha256},
                        pictures {count, digest}: see `utils.store.provenance.pictures_digest`
files                   checksums (SHA-256) of the files that are read back, by name: see
                        `utils.store.seals`; those of formats 1 and 2 have none
stopped                 by name: level, and why the data set was stopped, if it was and samples are
                        missing since

What partial files stand for never replaces what the full ones beside them do. Paths: `$LMUData` is
the data root, `$EVAL_WORK_DIR` the work-dir, `.` the project, `~` the home.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from utils import PROJECT
from utils.config.secret_filter import with_texts
from utils.contracts import Record
from utils.program import EVALUATE
from utils.protocol import IMPORTED, SINGLE
from utils.store.logged_config import (
    CONFIG,
    FUNCTION_CODE,
    SCORING_CONFIG,
    asked_with,
    config_of_set,
    scored_with,
)
from utils.store.provenance import environment, git_state
from utils.store.records import now
from utils.store.seals import CHECKSUMS
from utils.store.view import LogView

FORMAT = 3
HOME = "~"
_OF_RUN = ("config_file", "git", "versions", "hardware", "environment")


OF_RUNS = ("annotations", "pictures", FUNCTION_CODE)
"""Fields of a run's record that stand in the entry as they are."""


class Entry(NamedTuple):
    """The manifest's entry for one data set: the run that counts, its end, and facts."""

    run: Record
    end: Record
    facts: dict[str, Any]


def entry_of(view: LogView, level: str, *, is_part: bool) -> Entry:
    """The manifest's entry of the data set of a log."""
    end = view.end_of_answers
    facts: dict[str, Any] = {
        "level": level,
        "mode": view.mode,
        "limit": view.limit,
        "partial": is_part,
        "started_at": view.run.get("started_at"),
        "samples": len(view.covered),
        "missing": view.missing,
        "left_out": len(view.left_out),
        **view.totals,
        **{name: end[name] for name in ("served", "servers") if end.get(name)},
        **{name: view.run[name] for name in OF_RUNS if name in view.run},
    }
    if IMPORTED in view.run:
        facts[IMPORTED] = view.run[IMPORTED]["counts"]
    protocol = view.run.get("protocol", SINGLE)
    if protocol != SINGLE:
        facts["protocol"] = protocol
    if view.repeats > 1:
        facts["repeats"] = view.repeats
    if view.is_circular:
        facts["circular"] = True
    return Entry(view.run, view.end, facts)


def scoring_of(arguments: Sequence[str], config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the section on a scoring that has just been done with the resolved config."""
    return {
        "at": now(),
        "command": _command(arguments),
        "config": config,
        "git": git_state(PROJECT),
        "environment": environment(os.environ),
    }


@dataclass(frozen=True)
class ManifestUpdate:
    """The additions of a run or a scoring to the manifest of its folder."""

    model: str
    entries: Mapping[str, Entry]  # by data set
    scoring: Mapping[str, Any] | None  # the section; None: nothing was scored
    stopped: Mapping[str, Mapping[str, str]]  # the section
    files: Mapping[str, str]  # the section, of all files in the folder


def manifest_of(
    before: Mapping[str, Any], update: ManifestUpdate, folders: Mapping[str, Path]
) -> dict[str, Any]:
    """Return the new manifest of a folder; empty: nothing is new.

    Args:
        before: the one from before; what it says of other data sets stays.
        update: what is new.
        folders: those of `portable`.
    """
    datasets_before = before.get("datasets") or {}
    new = {
        name: entry
        for name, entry in update.entries.items()
        if not entry.facts["partial"] or datasets_before.get(name, entry.facts).get("partial")
    }
    complete = [name for name, entry in new.items() if not entry.facts["missing"]]
    stopped_before = before.get("stopped") or {}
    stopped = {name: stop for name, stop in stopped_before.items() if name not in complete}
    stopped |= portable(update.stopped, folders)
    sections: dict[str, Any] = {}
    if stopped:
        sections["stopped"] = stopped
    if update.files:
        sections[CHECKSUMS] = dict(update.files)
    if new:
        manifest = portable(_sections_of_run(before, update, new), folders)
        datasets = {**datasets_before, **{name: entry.facts for name, entry in new.items()}}
        asked: dict[str, Any] = {name: asked_with(before, name) for name in datasets_before}
        scored: dict[str, Any] = {name: scored_with(before, name) for name in datasets_before}
        for name, entry in new.items():
            config = config_of_set(entry.run.get("config") or {}, update.model, name)
            asked[name] = portable(config, folders)
            if SCORING_CONFIG in entry.facts:
                scored[name] = portable(entry.facts[SCORING_CONFIG], folders)
        manifest["datasets"] = _with_configs(manifest, datasets, asked, scored)
        return {**manifest, **sections}
    if update.stopped or update.files != before.get(CHECKSUMS, {}):
        return {"model": update.model, "datasets": {}, **before, "format": FORMAT, **sections}
    return {}


def _with_configs(
    sections: Mapping[str, Any],
    datasets: Mapping[str, Mapping[str, Any]],
    asked: Mapping[str, Any],
    scored: Mapping[str, Any],
) -> dict[str, dict[str, Any]]:
    """Return the entries of data sets with their configs where those of the sections differ.

    Args:
        sections: of the manifest, but for the data sets.
        datasets: the entries.
        asked: by data set, the config that it was asked with; empty: it is not known.
        scored: likewise, the config that it was scored with.
    """
    entries: dict[str, dict[str, Any]] = {}
    for name, facts in datasets.items():
        entry = {key: facts[key] for key in facts if key not in (CONFIG, SCORING_CONFIG)}
        manifest = {**sections, "datasets": {name: entry}}
        if asked.get(name) and asked_with(manifest, name) != asked[name]:
            entry[CONFIG] = asked[name]
        if scored.get(name) and scored_with(manifest, name) != scored[name]:
            entry[SCORING_CONFIG] = scored[name]
        entries[name] = entry
    return entries


def _sections_of_run(
    before: Mapping[str, Any], update: ManifestUpdate, entries: Mapping[str, Entry]
) -> dict[str, Any]:
    """The sections of the manifest on the newest run and its scoring."""
    run = max((entry.run for entry in entries.values()), key=lambda run: run.get("seq", 0))
    end = max((entry.end for entry in entries.values()), key=lambda end: end.get("ended_at", ""))
    starts = [entry.run["started_at"] for entry in entries.values() if entry.run.get("started_at")]
    inference = {
        "started_at": min(starts, default=""),  # the record of a run may be damaged
        **{name: end.get(name) for name in ("ended_at", "wall_s", "cpu_s")},
        "command": _command(run.get("arguments") or ()),
        **{name: run[name] for name in _OF_RUN if name in run},
    }
    config = run.get("config") or {}
    sections = {"format": FORMAT, "model": update.model, "config": config, "asking": inference}
    if IMPORTED in run:
        sections[IMPORTED] = {
            name: value for name, value in run[IMPORTED].items() if name != "counts"
        }
    scoring = dict(update.scoring or before.get("scoring") or {})
    if scoring.get("config") == config:
        del scoring["config"]
    if scoring:
        sections["scoring"] = scoring
    return sections


def _command(arguments: Iterable[str]) -> str:
    return shlex.join([*EVALUATE.split(), *arguments])


# -- paths that hold on another machine ------------------------------------------------------------


def folder_replacer(folders: Iterable[tuple[Path, str]]) -> Callable[[str], str]:
    """Return a function that puts marks in the place of folders in a text, the longest path first.

    A folder stands in a text as a whole path or the beginning of one: "x/jo" is no part of "x/john"
    or "y/x/jo", but it ends at the full stop of a sentence.

    Args:
        folders: folder and mark, the later one where two are the same folder. Each is found as it
            is written and with its links resolved. The root of a file system is left alone.
    """
    marks = {
        str(form): mark
        for folder, mark in folders
        for form in {folder.absolute(), folder.resolve()}
        if form.parts[1:]
    }
    either = "|".join(re.escape(folder) for folder in sorted(marks, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w.~-])({either})(?![\w-]|\.\w)", re.ASCII)

    def replace(text: str) -> str:
        if not any(folder in text for folder in marks):  # so in nearly all texts; much quicker
            return text
        return pattern.sub(lambda match: marks[match[1]], text)

    return replace


def portable(value: Any, folders: Mapping[str, Path]) -> Any:
    """Return plain data with its paths rewritten so that they hold on another machine.

    Args:
        value: plain data.
        folders: by what to write instead of each, e.g. "$LMUData". The home folder becomes `~`.
    """
    marks = [(Path.home(), HOME), *((folder, mark) for mark, folder in folders.items())]
    return with_texts(value, folder_replacer(marks))


def on_this_machine(path: str, folders: Mapping[str, Path]) -> Path:
    """A path of a manifest as it is on this machine.

    Args:
        path: as `portable` wrote it.
        folders: those of `portable`.
    """
    mark, _, rest = path.partition("/")
    folder = {HOME: Path.home(), **folders}.get(mark)
    return Path(path) if folder is None else folder / rest

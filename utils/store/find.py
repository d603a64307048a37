"""Find the runs of a model: the newest, the newest that is complete, the order of all.

Answers made elsewhere lie in folders of their own, `I<date>_G<commit>`. They count only where a
model has no run, or where their folder is named.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from utils.errors import UserError
from utils.protocol import IMPORTED as IMPORT_FIELD
from utils.store.derived import SAMPLES_SUFFIX, samples_files_in
from utils.store.log import runs_of

IMPORTED = re.compile(r"I\d{8}_G\w+", re.ASCII)  # names of folders of answers made elsewhere


def is_import(folder: Path) -> bool:
    """Whether a run folder holds answers made elsewhere, according to its name."""
    return IMPORTED.fullmatch(folder.name) is not None


def find_run(path: Path) -> Path:
    """Return the folder of a run: `path` itself, or the newest run of the model whose folder it is.

    Where the newest run has only a part of its data sets, the newest that has all stands in.

    Raises:
        UserError: there is none, nothing in it was scored, or which is the newest is not known.
    """
    runs = scored_runs(path)
    if runs:  # before `path`: a model's folder links to the newest files
        problem = doubtful_order(runs)
        if problem is not None:
            raise UserError(f"{path}: {problem}; name the folder of the run that you mean")
        stems = [file.name.rpartition("_samples")[0] for file in samples_files_in(runs[0])]
        return fuller_run(runs[0], stems) or runs[0]
    if samples_files_in(path):
        return path
    why = (
        "is not a run folder; expected <work-dir>/<model>/T<date>_G<commit>, or "
        "<work-dir>/<model> for its newest run"
    )
    models = [folder for folder in _folders(path) if scored_runs(folder)]
    if not path.exists():
        why = "there is no such folder"
    elif models:
        why = f"is a work-dir; name the folder of a model in it, such as {models[0]}"
    elif any(map(newest_start, [path, *_folders(path)])):
        why = (
            "has a log but no scored samples. Run evaluate.py with the same --config and "
            "--work-dir, and with --mode eval, which sends no requests"
        )
    raise UserError(f"{path}: {why}")


def scored_runs(model_folder: Path) -> list[Path]:
    """Return the folders of a model's runs that were scored, the newest first.

    Of a model without a run those of its imports.
    """
    scored = [
        folder
        for folder in _folders(model_folder)  # a model's own folder has links alone
        if not all(file.is_symlink() for file in samples_files_in(folder))
    ]
    runs = [folder for folder in scored if not is_import(folder)]
    return sorted(runs or scored, key=newest_start, reverse=True)


def doubtful_order(folders: Sequence[Path]) -> str | None:
    """Say why the first of some run folders may not be the newest, if that is so.

    Runs are ordered by their numbers, whatever clocks say, and no two of a model share one. Two
    that do show that a folder was away when a run began, or comes from another work-dir.

    Args:
        folders: of one model, the newest first.
    """
    if not folders:
        return None
    newest, *others = folders
    starts = _starts(newest)
    for other in others:
        starts_of_other = _starts(other)
        shared = starts.keys() & starts_of_other.keys()
        if shared and max(starts_of_other.values()) > max(starts.values()):
            return (
                f"the newest run is not known: {newest.name} holds run {max(starts)}, but "
                f"{other.name} was started later, and both hold a run {max(shared)}. Were folders "
                "moved between work-dirs?"
            )
    return None


def _starts(folder: Path) -> dict[int, str]:
    """Return when each run in a folder was started, by its number."""
    runs = [run for log in _logs_in(folder) for run in runs_of(log)]
    return {run.seq: run.begin["started_at"] for run in runs}


def _logs_in(folder: Path) -> list[Path]:
    # The folder of a model links to its newest logs.
    return [log for log in folder.glob("*.jsonl") if not log.is_symlink()]


def fuller_run(run: Path, stems: Collection[str]) -> Path | None:
    """Return the newest run of the same model with full results of data sets that `run` lacks.

    An import with samples that have no row is none with full results.

    Args:
        stems: how the files of these data sets begin.
    """

    def is_full(folder: Path) -> bool:
        has_files = all((folder / f"{stem}{SAMPLES_SUFFIX}").exists() for stem in stems)
        return has_files and not (is_import(folder) and _lacks_rows(folder))

    alike = [folder for folder in _folders(run.parent) if is_import(folder) == is_import(run)]
    others = () if is_full(run) else filter(is_full, alike)
    return max(others, key=newest_start, default=None)


def _lacks_rows(folder: Path) -> bool:
    """Whether an import has no row for some samples of its data sets."""
    runs = [runs_of(log)[-1:] for log in _logs_in(folder)]
    origins = [run.begin.get(IMPORT_FIELD) or {} for newest in runs for run in newest]
    return any((origin.get("counts") or {}).get("missing") for origin in origins)


def newest_start(folder: Path) -> tuple[Any, ...]:
    """Return the sort key of the newest run in a folder; empty without a log."""
    return max(_starts(folder).items(), default=())


def _folders(path: Path) -> list[Path]:
    entries = path.iterdir() if path.is_dir() else ()
    return sorted(entry for entry in entries if entry.is_dir() and not entry.is_symlink())

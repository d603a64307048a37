"""The folder of a run, `<work-dir>/<model>/T<date>_G<commit>/`, and the names of its files.

One folder holds one experiment. A run gets a folder of its own, `..._2` and so on, if its requests,
its number of samples or the labels of its rows differ from the run that a folder holds. Otherwise
it goes on in the existing folder, whatever the day and the commit.
"""

from __future__ import annotations

import datetime
import errno
import glob
import hashlib
import itertools
import os
import re
import tempfile
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from utils.contracts import Record
from utils.errors import UserError
from utils.store.find import fuller_run, is_import
from utils.store.log import (
    LoggedRun,
    doubled_problem,
    one_process_at_a_time,
    runs_of,
)
from utils.store.logged_config import FUNCTION_CODE, changed_code, changed_settings, entry_of_run
from utils.subsets import are_same_rows, filters_of, folded_filters

INDEX = "index.html"  # in a work-dir: the list of all runs
COMPARISONS = "comparisons"  # folder of those that runs of several models have made
LOG_NAME = re.compile(r".*(?<!_samples)(?<!_rotations)(?<!_partial)\.jsonl")
"""Names of logs, and not of the files that scoring writes beside them."""
RANK_LOG = re.compile(r".*\.rank\d+-[^\W_]+\.jsonl")
"""Names of the logs of single ranks; a model may be called `lora.rank64`."""
DIFFERENCES = {
    "settings": "other settings",
    "prompt": "another prompt",
    "annotations": "another version of the data or tasks",
    "pictures": "other images",
}
"""The difference of a run by aspect of its requests, in words."""
LONGEST_NAME = (
    80  # bytes; file names add a data set and a suffix; most file systems end at 255 bytes
)


def safe_name(model: str) -> str:
    """Return a folder name for any model name; names that are safe already stay as they are.

    Others keep what can be read of them, in any script, plus a hash, so that `a/b` and `a:b` stay
    apart. A name with letters beyond ASCII gets the hash, too: file systems differ in how they
    write an accent.
    """
    cleaned = re.sub(r"[^\w.+@=-]", "_", unicodedata.normalize("NFC", model)).lstrip(".")
    cleaned = cleaned.encode()[:LONGEST_NAME].decode(errors="ignore")
    tail = hashlib.sha256(model.encode("utf-8", "replace")).hexdigest()[:8]
    return model if cleaned == model and model.isascii() else f"{cleaned or 'model'}-{tail}"


def name_collisions(models: Iterable[str]) -> list[str]:
    """Return a problem for each pair of models that would share a folder, case ignored."""
    taken: dict[str, str] = {}
    pairs = [(taken.setdefault(safe_name(name).casefold(), name), name) for name in models]
    return [
        f'models "{first}" and "{name}" would share one folder; rename one'
        for first, name in pairs
        if first != name
    ]


def _is_name_too_long(path: Path) -> bool:
    try:
        path.lstat()
    except OSError as error:
        return error.errno == errno.ENAMETOOLONG
    return False


def work_dir_problems(work_dir: Path, option: str = "--work-dir") -> list[str]:
    """Reasons why nothing could be written below the folder of an option; leaves nothing there."""
    # os.path.exists, unlike Path.exists, takes a folder that may not be looked into for absent.
    if _is_name_too_long(work_dir):
        return [f"{option} {str(work_dir)[:80]}...: the name is too long; name another folder"]
    candidates = (work_dir, *work_dir.absolute().parents)
    existing = next(path for path in candidates if os.path.exists(path))  # noqa: PTH110
    try:
        with tempfile.TemporaryFile(dir=existing):  # bits are no proof: root passes them all
            return []
    except OSError as error:
        return [
            f"{option} {work_dir}: {existing} cannot be written ({error.strerror or error}); "
            "name another folder"
        ]


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one model's run, and the names of the files in it."""

    model: str  # its name in the config
    path: Path  # in the folder of all runs of the model
    is_older: bool = False  # than another run, to which the links of the model's folder lead

    @classmethod
    def of_experiment(
        cls, work_dir: Path, model: str, commit: str, new_runs: Mapping[str, LoggedRun]
    ) -> tuple[RunFolder, str | None]:
        """Return the folder in which a run goes on or begins, and why it is not the usual one.

        Args:
            work_dir: the folder of all models.
            model: its name in the config.
            commit: of the project, or "unknown".
            new_runs: by data set, the run that begins or goes on, without a number yet.

        Raises:
            UserError: the folder belongs to another model, whose name was mapped to it before.
        """
        home = work_dir / safe_name(model)
        runs_by_folder: dict[Path, dict[str, LoggedRun]] = {}  # the newest run of each log
        for log, runs in logs_by_age(work_dir, model):
            for run in runs[-1:]:
                problem = foreign_owner(model, run, home)
                if problem is not None:
                    raise UserError(problem)
                runs_by_folder.setdefault(log.parent, {})[run.begin.get("dataset", "")] = run
        for folder, runs_of_folder in runs_by_folder.items():  # the newest first
            if runs_of_folder.keys() & new_runs and not differences(runs_of_folder, new_runs):
                return cls(model, folder)._checked(new_runs), None
        first = home / f"T{datetime.datetime.now().astimezone():%Y%m%d}_G{commit[:8]}"
        folder = first
        numbers = itertools.count(2)
        while differences(runs_by_folder.get(folder, {}), new_runs):
            folder = first.with_name(f"{first.name}_{next(numbers)}")
        run_folder = cls(model, folder)._checked(new_runs)
        if folder == first:
            return run_folder, None
        apart = " and ".join(differences(runs_by_folder[first], new_runs))
        return run_folder, f"{first.name} holds a run with {apart}"

    @classmethod
    def of_import(
        cls, work_dir: Path, model: str, commit: str, new_runs: Mapping[str, LoggedRun]
    ) -> RunFolder:
        """Return the folder for answers made elsewhere: that of an equal import, else a new one.

        Raises:
            UserError: the folder belongs to another model, whose name was mapped to it before.
        """
        home = work_dir / safe_name(model)
        first = home / f"I{datetime.datetime.now().astimezone():%Y%m%d}_G{commit[:8]}"
        for log, runs in logs_by_age(work_dir, model, imported=True):
            for run in runs[-1:]:
                problem = foreign_owner(model, run, home)
                if problem is not None:
                    raise UserError(problem)
                new = new_runs.get(run.begin.get("dataset", ""))
                if new is not None and new.request_hashes == run.request_hashes:
                    return cls(model, log.parent)._checked(new_runs)
        numbers = itertools.count(2)
        folder = first
        while folder.exists():
            folder = first.with_name(f"{first.name}_{next(numbers)}")
        return cls(model, folder)

    @property
    def is_imported(self) -> bool:
        """Whether it holds answers made elsewhere."""
        return is_import(self.path)

    def _checked(self, datasets: Iterable[str]) -> RunFolder:
        """Return itself; raise a UserError where a log in it was put together from two."""
        logs = [self.log(dataset) for dataset in datasets]
        problems = [doubled_problem(log) for log in logs if log.exists()]
        if any(problems):
            raise UserError([problem for problem in problems if problem])
        return self

    def scoring(self) -> AbstractContextManager[None]:
        """Hold a lock while derived files, manifest and report are written."""
        return one_process_at_a_time(self.path / ".scoring.lock", f"scoring {self.path}")

    def stem(self, dataset: str) -> str:
        """The beginning of the names of all files of one data set."""
        return f"{safe_name(self.model)}_{dataset}"

    def log(self, dataset: str) -> Path:
        """Return the run's log."""
        return self.path / f"{self.stem(dataset)}.jsonl"

    def rank_log(self, dataset: str, rank: int, token: str) -> Path:
        """Return the log of one rank of a group; see `utils.engine.ranks.runs`."""
        return self.path / f"{self.stem(dataset)}.rank{rank}-{token}.jsonl"

    def rank_logs(self, dataset: str) -> list[Path]:
        """Return the logs of ranks in this folder that are not merged into the run's log yet."""
        return sorted(self.path.glob(f"{glob.escape(self.stem(dataset))}.rank*-*.jsonl"))

    def file(self, dataset: str, suffix: str, *, partial: bool) -> Path:
        """Return a derived file; `suffix` includes the extension, e.g. "_score.json"."""
        ending = suffix.replace(".", "_partial.") if partial else suffix
        return self.path / f"{self.stem(dataset)}{ending}"

    def drop_partial(self, dataset: str, full_names: Iterable[str]) -> None:
        """Remove the `_partial` twins of full files and the links to them."""
        has_links = not (self.is_imported or self.is_older)
        folders = (self.path, self.path.parent) if has_links else (self.path,)
        for name in full_names:
            for folder in folders:
                twin = folder / f"{Path(name).stem}_partial{Path(name).suffix}"
                twin.unlink(missing_ok=True)

    def fuller(self, datasets: Iterable[str]) -> Path | None:
        """Return the newest run with full results of data sets that this run has a part of."""
        return fuller_run(self.path, [self.stem(dataset) for dataset in datasets])

    def link_newest(self, files: Iterable[Path], datasets: Collection[str]) -> None:
        """Link in the model's folder to files and folders of this run, where links are allowed.

        Those to a run that has more of these data sets stay. What was queried whole and not
        scored yet is no part, though it has no results: its caller names none. Nothing leads to
        answers made elsewhere: they are no run of the model.
        """
        if self.is_imported or self.is_older:
            return
        for file in () if self.fuller(datasets) else files:
            link = self.path.parent / file.name
            if not file.exists():  # a link to one that is gone goes too
                if link.is_symlink() and not link.exists():
                    link.unlink()
                continue
            temporary = link.with_name(f".{link.name}.tmp")
            try:
                temporary.unlink(missing_ok=True)  # left behind by a kill
                temporary.symlink_to(os.path.relpath(file, self.path.parent), file.is_dir())
                temporary.replace(link)
            except OSError:  # Windows without the privilege, some network file systems
                temporary.unlink(missing_ok=True)


def drop_dead_links(work_dir: Path) -> int:
    """Remove the links of models' folders that led into runs which were deleted; return how many.

    The next run of the model makes new ones.
    """
    links = [link for link in work_dir.glob("*/*") if link.is_symlink() and not link.exists()]
    dead = [link for link in links if not link.readlink().is_absolute()]
    for link in dead:
        link.unlink()
    return len(dead)


def foreign_owner(model: str, run: LoggedRun, home: Path) -> str | None:
    """Say that a run in a model's folder is one of another model, if that is so."""
    owner = run.begin.get("model", model)
    if owner == model:
        return None
    return f'{home}: holds results of model "{owner}"; rename "{model}" or use another --work-dir'


def choosing(work_dir: Path, model: str) -> AbstractContextManager[None]:
    """Hold a lock from choosing a model's run folder until the records of its runs are written.

    Another process that starts a run of the model meanwhile waits, and then sees them.
    """
    return one_process_at_a_time(
        work_dir / f".run-{safe_name(model)}.lock", f'starting a run of model "{model}"'
    )


def differences(runs: Mapping[str, LoggedRun], new_runs: Mapping[str, LoggedRun]) -> list[str]:
    """In what new runs would differ from the runs that a folder holds.

    Args:
        runs: the newest of each data set in the folder.
        new_runs: by data set.
    """
    texts: dict[str, None] = {}
    for dataset, run in runs.items():
        new = new_runs.get(dataset) or next(iter(new_runs.values()))
        aspects = set(run.request_hashes) if dataset in new_runs else {"settings"}
        modes = [side.begin.get("mode") for side in (run, new)]
        if not are_same_rows(*modes) or run.limit != new.limit:
            aspects.discard("pictures")  # those of other samples
        for aspect, value in run.request_hashes.items():
            if aspect in aspects and value != new.request_hashes.get(aspect):
                # Of a prompt function that takes the settings, they are part of the hash.
                perhaps = "perhaps " if aspect == "prompt" and texts else ""
                settings = _changed(run.begin, new.begin) if aspect == "settings" else []
                names = f" ({', '.join(settings)})" if settings else ""
                texts[f"{perhaps}{DIFFERENCES[aspect]}{names}"] = None
        if dataset in new_runs and run.is_circular != new.is_circular:
            texts["circular evaluation" if run.is_circular else "no circular evaluation"] = None
        if dataset in new_runs and run.repeats != new.repeats:
            texts[f"repeats {run.repeats}"] = None
        if dataset in new_runs and folded_filters(modes[0]) != folded_filters(modes[1]):
            labels = filters_of(modes[0])
            texts[f"--only {labels}" if labels else "no --only"] = None
        if run.limit != new.limit:
            texts["no --limit" if run.limit is None else f"--limit {run.limit}"] = None
    return list(texts)


def _changed(begin: Record, new_begin: Record) -> list[str]:
    """The settings that differ between the records of two runs of a model."""
    entries = [entry_of_run(record, str(record.get("model"))) for record in (begin, new_begin)]
    code = [record.get(FUNCTION_CODE) or {} for record in (begin, new_begin)]
    changed = changed_settings(entries[0], entries[1]) if all(entries) else []
    return changed + changed_code(code[0], code[1])


def all_logs(
    work_dir: Path, model: str, dataset: str = "", *, imported: bool = False
) -> list[Path]:
    """Return the logs of all runs of a model and its ranks, of all data sets unless named.

    Args:
        imported: those of answers made elsewhere instead, which are never answers to a request.
    """
    stem = re.escape(safe_name(model))
    letter = "I" if imported else "T"
    folder = rf"{letter}\d{{8}}_G\w+"
    of_set = re.escape(dataset) if dataset else r"[^/]+?"
    name = re.compile(rf"{folder}/{stem}_{of_set}(\.rank\d+-\w+)?\.jsonl")
    logs = (work_dir / safe_name(model)).glob(f"{letter}*/*.jsonl")
    return sorted(
        log
        for log in logs
        if LOG_NAME.fullmatch(log.name) and name.fullmatch(f"{log.parent.name}/{log.name}")
    )


def logs_by_age(
    work_dir: Path, model: str, dataset: str = "", *, imported: bool = False
) -> list[tuple[Path, Sequence[LoggedRun]]]:
    """Return the logs of a model with their runs, the one with the newest run first.

    Args as of `all_logs`.
    """
    logs = [(log, runs_of(log)) for log in all_logs(work_dir, model, dataset, imported=imported)]
    return sorted(logs, key=lambda log: [run.seq for run in log[1][-1:]], reverse=True)

"""Where the files of a run lie: `<work-dir>/<model>/T<date>_G<commit>/`, and their names."""

from __future__ import annotations

import datetime
import functools
import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from utils.runs.log import LoggedRun, runs_of

LONGEST_NAME = 80  # file names add a data set and a suffix; most file systems end at 255 bytes
_RUN_FOLDER = re.compile(r"T\d{8}_G\w+")


def safe_name(model: str) -> str:
    """A folder name for any model name; names that are safe already stay as they are.

    Others keep what can be read of them, plus a hash, so that `a/b` and `a:b` stay apart.
    """
    cleaned = re.sub(r"[^\w.+@=-]", "_", model, flags=re.ASCII).lstrip(".")[:LONGEST_NAME]
    if cleaned == model:
        return model
    tail = hashlib.sha256(model.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{cleaned or 'model'}-{tail}"


def name_collisions(models: Iterable[str]) -> list[str]:
    """Pairs of model names that would share a folder, on file systems that ignore case too."""
    taken: dict[str, str] = {}
    problems = []
    for model in models:
        other = taken.setdefault(safe_name(model).casefold(), model)
        if other != model:
            problems.append(f'models "{other}" and "{model}" would share one folder; rename one')
    return problems


def work_dir_problems(work_dir: Path) -> list[str]:
    """Why nothing could be written below `work_dir`; leaves nothing behind."""
    # os.path.exists, unlike Path.exists, takes a folder that may not be looked into for absent.
    candidates = (work_dir, *work_dir.absolute().parents)
    existing = next(path for path in candidates if os.path.exists(path))  # noqa: PTH110
    if not existing.is_dir():
        return [
            f"--work-dir {work_dir}: {existing} is a file; results need a folder, name another one"
        ]
    try:
        # Permission bits are no proof: root passes them all, and file systems have rules of their
        # own. This file has no name, or loses it at once.
        with tempfile.TemporaryFile(dir=existing):
            return []
    except OSError as error:
        why = error.strerror or error
        return [f"--work-dir {work_dir}: {existing} cannot be written ({why}); name another folder"]


@functools.cache
def git_commit(project: Path) -> str:
    """First 8 digits of the project's commit, or "unknown"."""
    try:
        result = subprocess.run(
            ["git", "-C", str(project), "rev-parse", "--short=8", "HEAD"],
            capture_output=True, text=True, timeout=10, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    commit = result.stdout.strip()[:8]
    return commit if result.returncode == 0 and commit else "unknown"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one model's run, and the names of the files in it.

    Attributes:
        model: the model's name in the config.
        path: the run's own folder, below the model's.
    """

    model: str
    path: Path

    @classmethod
    def for_today(cls, work_dir: Path, model: str, project: Path) -> RunFolder:
        """The folder of today's run with the project's present commit."""
        today = datetime.datetime.now().astimezone().strftime("%Y%m%d")
        name = f"T{today}_G{git_commit(project)}"
        return cls(model, work_dir / safe_name(model) / name)

    @property
    def model_folder(self) -> Path:
        """All runs of this model."""
        return self.path.parent

    def stem(self, dataset: str) -> str:
        """How the files of one data set begin."""
        return f"{safe_name(self.model)}_{dataset}"

    def log(self, dataset: str) -> Path:
        """The run's log."""
        return self.path / f"{self.stem(dataset)}.jsonl"

    def beside(self, log: Path) -> RunFolder:
        """The run folder of the same model that another log lies in."""
        return RunFolder(self.model, log.parent)

    def rank_log(self, dataset: str, rank: int, token: str) -> Path:
        """The log of one rank of a group; see `utils.engine.ranks.runs`."""
        return self.path / f"{self.stem(dataset)}.rank{rank}-{token}.jsonl"

    def rank_logs(self, dataset: str) -> list[Path]:
        """The logs of ranks in this folder that have not been merged into the run's log yet."""
        return sorted(self.path.glob(f"{_glob_quoted(self.stem(dataset))}.rank*-*.jsonl"))

    def file(self, dataset: str, suffix: str, *, partial: bool) -> Path:
        """A derived file; `suffix` includes the extension, e.g. "_score.json"."""
        base, extension = suffix.rsplit(".", 1) if "." in suffix else (suffix, "")
        middle = "_partial" if partial else ""
        return self.path / f"{self.stem(dataset)}{base}{middle}.{extension}"

    def drop_partial(self, dataset: str, full_names: Iterable[str]) -> None:
        """Removes the `_partial` twins of full files and the links to them."""
        for name in full_names:
            twin = f"{Path(name).stem}_partial{Path(name).suffix}"
            (self.path / twin).unlink(missing_ok=True)
            (self.model_folder / twin).unlink(missing_ok=True)

    def all_logs(self, dataset: str) -> list[Path]:
        """The logs of every run of this model, in order of their folders' names."""
        pattern = f"*/{_glob_quoted(self.stem(dataset))}.jsonl"
        logs = self.model_folder.glob(pattern)
        return sorted(path for path in logs if _RUN_FOLDER.fullmatch(path.parent.name))

    def owner_problems(self, datasets: Iterable[str]) -> list[str]:
        """Whether the folder belongs to another model, whose name was mapped to it before."""
        from utils.runs.log import read_records

        for path in (path for dataset in datasets for path in self.all_logs(dataset)):
            _, first = next(read_records(path), (0, {}))
            if first.get("kind") == "run" and first.get("model") != self.model:
                return [
                    f'{self.model_folder}: holds results of model "{first.get("model")}"; '
                    f'rename "{self.model}" or use another --work-dir'
                ]
        return []

    def link_newest(self, files: Iterable[Path]) -> None:
        """Links in the model's folder to this run's files; skipped where links are not allowed.

        Args:
            files: or folders; a link to one that is gone is removed.
        """
        for file in files:
            link = self.model_folder / file.name
            if not file.exists():
                self._unlink_dead(link)
                continue
            target = os.path.relpath(file, self.model_folder)
            temporary = link.with_name(f".{link.name}.tmp")
            try:
                temporary.unlink(missing_ok=True)  # left behind by a kill
                temporary.symlink_to(target, target_is_directory=file.is_dir())
                temporary.replace(link)
            except OSError:  # Windows without the privilege, some network file systems
                temporary.unlink(missing_ok=True)

    @staticmethod
    def _unlink_dead(link: Path) -> None:
        if link.is_symlink() and not link.exists():
            link.unlink(missing_ok=True)


def logs_by_age(work_dir: Path, model: str, dataset: str) -> list[tuple[Path, Sequence[LoggedRun]]]:
    """All logs of a model and data set with their runs, the one with the newest run first."""
    probe = RunFolder(model, work_dir / safe_name(model) / "T00000000_Gnone")
    logs = [(log, runs_of(log)) for log in probe.all_logs(dataset)]
    return sorted(logs, key=lambda each: newest_of(each[1]), reverse=True)


def last_start(log: Path) -> str:
    """When the newest run of a log began; a file's own times change when it is copied."""
    return newest_of(runs_of(log))


def newest_of(runs: Iterable[LoggedRun]) -> str:
    """When the newest of a log's runs began; "" without any."""
    return max((str(run.begin.get("started_at", "")) for run in runs), default="")


def _glob_quoted(text: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", text)

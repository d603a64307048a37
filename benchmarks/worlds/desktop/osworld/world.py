"""The desktop with the tasks of a folder in OSWorld's JSON, as a config's `environment`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.actions.action import Action
from benchmarks.worlds.desktop import root
from benchmarks.worlds.desktop.apps import APPLICATIONS
from benchmarks.worlds.desktop.home import Files
from benchmarks.worlds.desktop.looks import look_of
from benchmarks.worlds.desktop.osworld.files import Task, read_tasks
from benchmarks.worlds.desktop.osworld.metrics import METRICS
from benchmarks.worlds.desktop.world import DesktopWorld
from benchmarks.worlds.environment import Outcome


class OSWorldDesktop(DesktopWorld):
    """Tasks in OSWorld's form, judged by the functions of their evaluators."""

    def __init__(self, shots: Path, *, folder: str, leave_out: bool = False) -> None:
        """Begin.

        Args:
            shots: folder of the screenshots.
            folder: that of the tasks and their files (`files.read_tasks`).
            leave_out: whether tasks that cannot be run are left out; else they are problems.
        """
        super().__init__(shots)
        self._folder = Path(folder)
        del leave_out  # `problems` asks for it

    @staticmethod
    def tasks(level: str, seeds: Sequence[int], folder: str) -> list[Task]:
        """Return the tasks of a level: with several `related_apps` they are L4, else L3."""
        return [
            {**task, "seed": seed, "look": look_of(seed)}
            for seed in seeds
            for task in read_tasks(Path(folder)).tasks
            if task["level"] == level
        ]

    @staticmethod
    def problems(folder: str, leave_out: bool = False) -> list[str]:
        """The parts missing on this machine, and the tasks that cannot be run, a line each."""
        try:
            refusals = read_tasks(Path(folder)).refusals
        except OSError as error:
            return [f"environment_args.folder: {error}"]
        if leave_out or not refusals:
            return root.problems()
        remedy = "to leave such tasks out, set environment_args.leave_out to true"
        return [*root.problems(), *refusals, remedy]

    @staticmethod
    def applications(level: str) -> list[str]:
        """Return the names that `open_app` takes."""
        return [app.title for app in APPLICATIONS.values()]

    def files_of(self, task: Task) -> Files:
        """Return the files of a task as they lie in the folder."""
        return {path: self._read(source) for path, source in task["files"].items()}

    def evaluate(self) -> Outcome:
        """Do what the evaluator does first, such as Ctrl+S, and judge by its functions."""
        end = self._end.kind if self._end else ""
        if not self._task.get("feasible", True):
            is_right = end == "fail"
            return Outcome(is_right, [(is_right, "says that it cannot be done (fail)")])
        for action in self._task["actions"]:
            self.session.perform(_action(action))
            self.session.settle()
        self.session.flush()
        files = self.session.files()
        lines = [self._line(check, files) for check in self._task["checks"]]
        combine = all if self._task["conjunction"] == "and" else any
        fits = combine(is_met for is_met, _ in lines)
        return Outcome(fits and end != "fail", [(end != "fail", "does not give up"), *lines])

    def _line(self, check: Mapping[str, Any], files: Files) -> tuple[bool, str]:
        name, path = check["function"], check["path"]
        if path not in files:
            return False, f"{name}: {path} is not there"
        expected = self._read(check["expected"]) if "expected" in check else check.get("rules")
        try:
            is_met = METRICS[name].fits(files[path], expected, check["options"])
        except Exception as error:  # noqa: BLE001 - a file from a world may have anything in it
            return False, f"{name}: {path} cannot be read ({error!r:.100})"
        return is_met, f"{name}: {path} {'is' if is_met else 'is not'} as expected"

    def _read(self, source: Mapping[str, str]) -> bytes:
        return (self._folder / source["file"]).read_bytes()


def _action(fields: Mapping[str, Any]) -> Action:
    return Action(**{**fields, "keys": tuple(fields.get("keys", ()))})

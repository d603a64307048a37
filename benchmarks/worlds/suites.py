"""Where the tasks of L3 and L4 come from: suites, each with its tasks and its world.

A suite is a module with

    tasks(level, seeds)  the tasks of "L3" or "L4", each in a variant for every seed
    open_world(shots)    a new world, which saves its screenshots in the folder `shots`
    problems()           what is missing on this machine, one line each with what to do (optional)

or the class that a config names as `environment`: a world that is made with `shots`, with `tasks`,
and `problems` if there can be any, as static methods. A task is a dict with texts `id`, `goal`,
`platform`, `category`, a list `apps`, the `seed` that made it, and whatever else its world needs
(`setup`, `expect`, ...). Nothing but these six is shown to anybody before the episode is over.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol, cast

from utils.contracts import World
from utils.errors import UserError
from utils.protocol import PLATFORMS

SUITES = {
    "L3": {
        "office": "benchmarks.worlds.office.suite",
        "miniwob": "benchmarks.worlds.pages.miniwob",
    },
    "L4": {"office": "benchmarks.worlds.office.suite"},
}
"""The suites of a level, in the order of their tasks."""
TEXTS = ("id", "goal", "platform", "category")
Task = dict[str, Any]


class Suite(Protocol):
    """What a suite offers."""

    def tasks(self, level: str, seeds: Sequence[int]) -> Sequence[Task]:
        """The tasks of a level, each in a variant for every seed."""

    def open_world(self, shots: Path) -> World:
        """A new world; screenshots are saved in the folder `shots`."""


def suites_of(level: str, environment: Any = None) -> dict[str, Suite]:
    """The suites of a level by name, or the user's environment alone."""
    if environment is not None:
        offered = {
            "tasks": environment.tasks,
            "open_world": environment,
            "problems": getattr(environment, "problems", list),
        }
        return {"environment": cast(Suite, SimpleNamespace(**offered))}
    return {
        name: cast(Suite, importlib.import_module(module)) for name, module in SUITES[level].items()
    }


def problems_of(suite: Suite) -> list[str]:
    """What is missing on this machine, one line each."""
    return list(getattr(suite, "problems", list)())


def tasks_of(name: str, suite: Suite, level: str, seeds: Sequence[int]) -> list[Task]:
    """The tasks of a suite, under ids that begin with its name.

    Raises:
        UserError: it offers none, or one lacks what every task has.
    """
    tasks = [dict(task) for task in suite.tasks(level, seeds)]
    if not tasks:
        raise UserError(f"{name} has no tasks for {level}")
    for number, task in enumerate(tasks):
        where = f"{name}, {level}, task {task.get('id', number)!r}"
        if missing := [key for key in TEXTS if not isinstance(task.get(key), str)]:
            raise UserError(f"{where}: {missing[0]} must be a string, not {task.get(missing[0])!r}")
        if task["platform"] not in PLATFORMS:
            known = ", ".join(PLATFORMS)
            raise UserError(f"{where}: unknown platform {task['platform']!r}; known are {known}")
        task["id"], task["suite"] = f"{name}/{task['id']}", name
        task.setdefault("apps", [])
        task.setdefault("seed", 0)
    return tasks


class AnyWorld:
    """A world for the tasks of several suites: those of each are handed to its own."""

    def __init__(self, suites: dict[str, Suite], shots: Path) -> None:
        self._suites, self._shots = suites, shots
        self._worlds: dict[str, World] = {}
        self._now: World | None = None

    def reset(self, task: Task) -> Any:
        """Begins a task in the world of its suite, which is made when it is first needed."""
        name = task["suite"]
        if name not in self._worlds:
            self._worlds[name] = self._suites[name].open_world(self._shots)
        self._now = self._worlds[name]
        return self._now.reset(task)

    def step(self, action: Any) -> Any:
        """Acts; what there is to see then."""
        return self._current.step(action)

    def rest(self) -> None:
        """Nobody waits for it; a world may do what will be of use later."""
        if rest := getattr(self._now, "rest", None):
            rest()

    def evaluate(self) -> Any:
        """What the task has come to."""
        return self._current.evaluate()

    def close(self) -> None:
        """Closes every world that was made, even if one of them cannot be."""
        worlds, self._worlds, self._now = self._worlds, {}, None
        with ExitStack() as closing:
            for world in worlds.values():
                closing.callback(world.close)

    @property
    def _current(self) -> World:
        assert self._now is not None, "reset comes first"
        return self._now

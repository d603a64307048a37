"""The suites of L3 and L4, each with its tasks and its world.

A suite is a module with

    names(level)         the ids of the tasks of "L3" or "L4", without making any
    tasks(level, seeds, names)
                         those tasks, each in a variant for every seed
    open_world(shots)    a new world, which saves its screenshots in the folder `shots`
    world_data()         data, besides the code, that decide in its worlds: pages, say (optional)
    problems()           the parts missing on this machine, a line each with a remedy (optional)
    applications(level)  the names that `open_app` takes, told in the default prompt (optional)

or the class that a config names as `environment`. A world is made with `shots`, the config's
`environment_args` and, if the class has a parameter for it, its `world_number`. The class has
`tasks(level, seeds)` as a static method, and `problems` if there can be any. Both get the arguments
that they have parameters for.

A task is a dict with texts `id`, `goal`, `platform`, `category`, a list `apps`, the `seed` that
made it, perhaps a `tier` out of `TIERS`, and whatever else its world needs (`setup`, `expect`,
...). Only these seven are shown to anybody before the episode is over. Even `feasible`, which is
false for a task that cannot be done, is hidden until then. A world gets only the task. A stored
episode is valid as long as the task, the code of the world and `world_data` are unchanged.
Therefore a scripted solution is no part of a task.
"""

from __future__ import annotations

import fnmatch
import functools
import importlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, Protocol, cast

from utils.contracts import UserFunctionError, World
from utils.errors import UserError
from utils.functions.calling import call_user_function
from utils.functions.fingerprints import code_digest, digest
from utils.functions.names import dotted_name
from utils.functions.signatures import taken_of, takes
from utils.protocol import PLATFORMS, TIERS
from utils.text import did_you_mean, listed

SUITES = {
    "L3": {
        "office": "benchmarks.worlds.office.suite",
        "miniwob": "benchmarks.worlds.miniwob.suite",
        "jupyterlab": "benchmarks.worlds.jupyterlab.suite",
        "desktop": "benchmarks.worlds.desktop.suite",
    },
    "L4": {
        "office": "benchmarks.worlds.office.suite",
        "jupyterlab": "benchmarks.worlds.jupyterlab.suite",
        "desktop": "benchmarks.worlds.desktop.suite",
    },
}
"""The suites of a level, in the order of their tasks."""
OPTIONAL = frozenset({"jupyterlab", "desktop"})
"""Suites that are played only where the config's `tasks` name them: what they need is optional."""
LAYOUTS_ONLY = frozenset({"office", "jupyterlab"})
"""Suites of web pages in the layout of their platforms, which are not those platforms."""
REQUIRED_TEXTS = ("id", "goal", "platform", "category")
WORLD_NUMBER = "world_number"  # what a constructor calls the number of its world, if it takes one
Task = dict[str, Any]


class Suite(Protocol):
    """The interface of a suite."""

    def names(self, level: str) -> Sequence[str]:
        """Return the ids of the tasks of a level."""

    def tasks(self, level: str, seeds: Sequence[int], names: Sequence[str]) -> Sequence[Task]:
        """Return the named tasks of a level, each in a variant for every seed."""

    def open_world(self, shots: Path, **arguments: Any) -> World:
        """Return a new world; screenshots are saved in the folder `shots`."""


def no_applications(level: str) -> Sequence[str]:  # noqa: ARG001 - in the form of a suite's
    """Return no names: there is nothing to open, or nobody has said what."""
    return ()


def suites_of(
    level: str, environment: Any = None, arguments: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Suite]:
    """Return the suites of a level by name, or the user's environment alone.

    Args:
        level: "L3" or "L4".
        environment: the class that the config names.
        arguments: what an object of it is made with.
    """
    if environment is not None:
        problems = getattr(environment, "problems", list)
        offered = {
            "tasks": partial(environment.tasks, **taken_of(environment.tasks, arguments)),
            "open_world": environment,
            "arguments": dict(arguments),
            "problems": partial(problems, **taken_of(problems, arguments)),
            "applications": getattr(environment, "applications", no_applications),
        }
        return {"environment": cast(Suite, SimpleNamespace(**offered))}
    return {
        name: cast(Suite, importlib.import_module(module)) for name, module in SUITES[level].items()
    }


def world_digest(suite: Suite) -> str:
    """Return a hash of what decides, besides the task, how an action ends in a world of the suite.

    That is the code of its worlds, of the judging too, and `world_data`; of an environment the
    `version` that it names, and its arguments. The code of one with an `answers_version` does not
    count. Nothing is run for it but imports.
    """
    answers = getattr(suite.open_world, "answers_version", None)
    code = _code_of(suite.open_world) if answers is None else f"version {answers}"
    parts: list[Any] = [code, getattr(suite, "world_data", list)()]
    version = getattr(suite.open_world, "version", None)
    arguments = getattr(suite, "arguments", {})
    if version is not None or arguments:
        parts += [str(version), arguments]
    return digest(parts)


@functools.cache  # before anything was played: worlds may keep what they have in globals
def _code_of(open_world: Callable[[Path], World]) -> str:
    return code_digest(open_world)


def problems_of(suite: Suite) -> list[str]:
    """All that is missing on this machine, one line each."""
    return list(getattr(suite, "problems", list)())


def ids_of(name: str, suite: Suite, level: str) -> list[str] | None:
    """Return the ids of a suite's tasks, or None: they have to be made to be known."""
    names = getattr(suite, "names", None)
    return None if names is None else [f"{name}/{task}" for task in names(level)]


def fits_pattern(task_id: str, pattern: str) -> bool:
    """Whether a pattern of the config's `tasks` fits a task; only `*` has a meaning: any text."""
    escaped = re.sub(r"[?\[]", r"[\g<0>]", pattern)
    return fnmatch.fnmatchcase(task_id, escaped)


def is_requested(task_id: str, patterns: Sequence[str]) -> bool:
    """Whether the config's `tasks` have a task; without any, all but the `OPTIONAL` ones.

    A task of an optional suite is had by patterns that begin with its name: "jupyterlab/*".
    """
    name = task_id.partition("/")[0]
    if name in OPTIONAL:
        patterns = [pattern for pattern in patterns if pattern.startswith(f"{name}/")]
        return any(fits_pattern(task_id, pattern) for pattern in patterns)
    return not patterns or any(fits_pattern(task_id, pattern) for pattern in patterns)


def has_layouts(task_id: str) -> bool:
    """Whether a task is seen in the layout of its platform, and not on it."""
    return task_id.partition("/")[0] in LAYOUTS_ONLY


def tasks_of(
    name: str,
    suite: Suite,
    level: str,
    seeds: Sequence[int],
    is_chosen: Callable[[str], bool] = lambda task_id: True,
) -> list[Task]:
    """Return the tasks of a suite, under ids that begin with its name.

    Args:
        is_chosen: by id. No other task is made, unless the suite cannot name its tasks: then all
            are returned.

    Raises:
        UserError: it offers none, one cannot be made, or one lacks what every task has.
    """
    ids = ids_of(name, suite, level)
    if ids is None:
        tasks = _tasks_of_environment(suite, level, seeds)
    else:
        names = [task_id.removeprefix(f"{name}/") for task_id in ids if is_chosen(task_id)]
        tasks = [dict(task) for task in suite.tasks(level, seeds, names)] if names else []
        if not ids:
            raise UserError(f"{name} has no tasks for {level}")
    for number, task in enumerate(tasks):
        _check_task(task, f"{name}, {level}, task {task.get('id', number)!r}")
        task["id"] = f"{name}/{task['id']}"
        task["suite"] = name
        task.setdefault("apps", [])
        task.setdefault("seed", 0)
    return tasks


def _tasks_of_environment(suite: Suite, level: str, seeds: Sequence[int]) -> list[Task]:
    """The tasks of a user's environment; UserError: there are none, or its method fails."""
    name = f"{dotted_name(cast(Any, suite.open_world))}.tasks"
    try:
        variants = call_user_function("tasks", cast(Any, suite).tasks, level, seeds)
        is_list = isinstance(variants, Iterable)
        tasks = call_user_function("tasks", list, variants) if is_list else []
    except UserFunctionError as failure:
        if isinstance(failure.__cause__, UserError):
            raise failure.__cause__ from None
        raise UserError(f"environment: {name} {failure.summary}") from None
    if not is_list or not all(isinstance(task, Mapping) for task in tasks):
        raise UserError(f"environment: {name} returned {variants!r:.100}; expected a list of dicts")
    if not tasks:
        raise UserError(f"environment: {name} returned no tasks for {level}")
    return [dict(task) for task in tasks]


def _check_task(task: Task, name: str) -> None:
    for key in REQUIRED_TEXTS:
        if not isinstance(task.get(key), str):
            raise UserError(f"{name}: {key} must be a string, not {task.get(key)!r}")
    if task["platform"] not in PLATFORMS:
        platforms = ", ".join(PLATFORMS)
        raise UserError(f"{name}: unknown platform {task['platform']!r}; known are {platforms}")
    tier = task.get("tier")
    if tier is not None and tier not in TIERS:
        hint = did_you_mean(str(tier), TIERS)
        raise UserError(f"{name}: unknown tier {tier!r}{hint}; known are {listed(TIERS)}")
    if not isinstance(task.get("feasible", True), bool):
        raise UserError(f"{name}: feasible must be true or false, not {task['feasible']!r}")


class AnyWorld:
    """A world for the tasks of several suites: those of each are handed to a world of its own."""

    def __init__(self, suites: dict[str, Suite], shots: Path, number: int = 0) -> None:
        self._suites = suites
        self._shots = shots
        self._number = number  # among the worlds that are open
        self._worlds: dict[str, World] = {}
        self._current: World | None = None

    def reset(self, task: Task) -> Any:
        """Begin a task in the world of its suite, which is made when it is first needed."""
        name = task["suite"]
        if name not in self._worlds:
            suite = self._suites[name]
            arguments = dict(getattr(suite, "arguments", {}))
            if takes(suite.open_world, WORLD_NUMBER):
                arguments[WORLD_NUMBER] = self._number
            self._worlds[name] = suite.open_world(self._shots, **arguments)
        self._current = self._worlds[name]
        return self._current.reset(task)

    def step(self, action: Any) -> Any:
        """Act; return the next observation."""
        assert self._current is not None, "reset comes first"
        return self._current.step(action)

    def rest(self) -> None:
        """Let the world, for which nobody waits, prepare what will be of use later."""
        rest = getattr(self._current, "rest", None)
        if rest:
            rest()

    def evaluate(self) -> Any:
        """Return the outcome of the task."""
        assert self._current is not None, "reset comes first"
        return self._current.evaluate()

    def close(self) -> None:
        """Close every world that was made, even if one of them cannot be."""
        worlds = self._worlds
        self._worlds = {}
        self._current = None
        with ExitStack() as closing:
            for world in worlds.values():
                closing.callback(world.close)

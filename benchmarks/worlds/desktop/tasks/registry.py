"""The registry of the tasks in the modules of this folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class WrittenTask:
    """A task as it is written down; `make` makes a variant of it."""

    id: str
    level: str
    apps: Sequence[str]
    category: str
    tier: str
    make: Callable[..., dict[str, Any]]
    can_under: Sequence[int] = ()  # of a task with twins: the seeds, modulo 4, that can be done


TASKS: dict[str, WrittenTask] = {}


def task(
    *apps: str, category: str, tier: str = "basic", twins: Sequence[int] = ()
) -> Callable[[Callable[..., dict[str, Any]]], Callable[..., dict[str, Any]]]:
    """Enter a function as a task whose id is the function's name.

    Args:
        apps: names of applications (`apps.APPLICATIONS`); several make it a task of L4.
        category: what kind of task it is.
        tier: how much it asks for (`utils.protocol.TIERS`).
        twins: the seeds, modulo 4, under which it can be done, if that depends on the seed.
    """

    def enter(make: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
        name = make.__name__
        level = "L4" if len(apps) > 1 else "L3"
        TASKS[name] = WrittenTask(name, level, apps, category, tier, make, twins)
        return make

    return enter

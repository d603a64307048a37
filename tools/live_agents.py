"""Agents that know nothing, in every live task: what chance comes to, without a model.

    python -m tools.live_agents random|done|fail [--levels L3 L4] [--suites office miniwob]
        [--seeds 0] [--chance 0]

`random` acts 14 times (any kind of action but an end, any point, words of the goal and numbers, any
application of the suite) and then ends the episode in any way; `done` and `fail` do so at once.
Names what succeeded, and why.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.worlds.actions import DIRECTIONS, ENDS, KEYS, NEEDS, Action
from benchmarks.worlds.office.world import APPS
from benchmarks.worlds.suites import SUITES, AnyWorld, Suite, suites_of, tasks_of
from utils.contracts import World, WorldError

STEPS = 15
KINDS = [kind for kind in NEEDS if kind not in ENDS]
CHORDS = [(key,) for key in KEYS] + [("ctrl", key) for key in "acvxzs"]


def applications_of(suite: Suite, level: str) -> Sequence[str]:
    """Return the applications that a suite offers, or the office's names: opening one must fail."""
    offered = getattr(suite, "applications", None)
    return (offered(level) if offered else []) or list(APPS)


def anything(chance: random.Random, kind: str, goal: str, apps: Sequence[str]) -> Action:
    """An action of this kind; fields that it does not use do no harm."""
    words = [*goal.split(), str(chance.randrange(1000))]
    first = chance.randrange(len(words))
    return Action(
        kind,
        (chance.random(), chance.random()),
        (chance.random(), chance.random()),
        text=" ".join(words[first : first + chance.randint(1, 3)]),
        keys=chance.choice(CHORDS),
        direction=chance.choice(DIRECTIONS),
        amount=chance.randint(1, 10),
        seconds=0.1,
        app=chance.choice(apps),
    )


def actions(agent: str, chance: random.Random, goal: str, apps: Sequence[str]) -> Iterator[Action]:
    """Yield an agent's actions in an episode, in a suite with these applications."""
    if agent != "random":
        yield Action(agent)
        return
    for _ in range(STEPS - 1):
        yield anything(chance, chance.choice(KINDS), goal, apps)
    yield anything(chance, chance.choice(ENDS), goal, apps)


def play(world: World, task: dict[str, Any], moves: Iterator[Action]) -> tuple[str, list[str]]:
    """Play an episode; return its ending, and the lines of its checks if it succeeded."""
    try:
        world.reset(task)
        for action in moves:
            if world.step(action).has_ended:
                break
        outcome = world.evaluate()
    except WorldError as error:
        return f"environment: {error}", []
    if outcome.success:
        return "success", [text for _, text in outcome.lines] + [f"the last action: {action}"]
    return action.kind if action.kind in ENDS else "world", []


def main() -> None:
    """Prints a line for each success or failed world, and counts by suite and level."""
    parser = argparse.ArgumentParser()
    parser.add_argument("agent", choices=("random", "done", "fail"))
    parser.add_argument("--levels", nargs="+", default=list(SUITES))
    parser.add_argument("--suites", nargs="+", default=["office", "miniwob"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], help="of the tasks")
    parser.add_argument("--chance", type=int, default=0, help="seed of the agent")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for level in options.levels:
            suites = suites_of(level)
            world = AnyWorld(suites, Path(folder))
            for name in [name for name in suites if name in options.suites]:
                ends: Counter[str] = Counter()
                successes: Counter[str] = Counter()
                apps = applications_of(suites[name], level)
                for task in tasks_of(name, suites[name], level, options.seeds):
                    chance = random.Random(f"{options.chance} {task['id']} {task['seed']}")
                    moves = actions(options.agent, chance, task["goal"], apps)
                    outcome, why = play(world, task, moves)
                    ends[outcome.partition(":")[0]] += 1
                    if outcome.startswith("environment"):
                        world.close()
                        world = AnyWorld(suites, Path(folder))
                    successes[task.get("tier", "")] += outcome == "success"
                    if outcome.startswith(("success", "environment")):
                        print(
                            f"  {level} {task['id']} {task['seed']} ({task['category']}):",
                            outcome,
                            *why,
                            sep="\n    ",
                            flush=True,
                        )
                print(
                    f"{level} {name}: {ends['success']} of {ends.total()} succeed; {dict(ends)};"
                    f" by tier {dict(successes)}",
                    flush=True,
                )
            world.close()


if __name__ == "__main__":
    main()

"""Serve the office for your own browser, to look around or to try a task by hand.

python -m benchmarks.worlds.office                          serves an office without a task
python -m benchmarks.worlds.office L3                       lists the tasks of a level
python -m benchmarks.worlds.office L3 mail_write --seed 2   serves one task, and judges it
python -m benchmarks.worlds.office --every-task --seeds 0-199
                                                            makes all tasks for these seeds
"""

from __future__ import annotations

import argparse
import re
import sys
import time

from benchmarks.worlds.office.events import Course
from benchmarks.worlds.office.server import LOOKS, Office
from benchmarks.worlds.office.store import Row
from benchmarks.worlds.office.suite import tasks
from benchmarks.worlds.office.tasks import names
from benchmarks.worlds.office.tasks.checks import check
from utils.errors import UserError

LEVELS = ("L3", "L4")


def main(arguments: list[str] | None = None) -> int:
    """Serve one episode, list tasks or make them all; return the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.every_task:
        return make_every_task(options.seeds)
    task: Row = {"goal": "No task: look around."}
    if options.level:
        tasks_by_id = {task["id"]: task for task in tasks(options.level, [options.seed])}
        if options.task is None:
            for task_id, task in tasks_by_id.items():
                print(f"{task_id}: {task['goal']}")
            return 0
        if options.task not in tasks_by_id:
            parser.error(
                f"{options.level} has no task {options.task!r}; name only the level to list its "
                "tasks"
            )
        task = tasks_by_id[options.task]
    serve(task, options.seed, options.look or task.get("look", "web"))
    return 0


def serve(task: Row, seed: int, look: str) -> None:
    """Serve one episode and judge it whenever an end is typed; an empty line stops it."""
    with Office() as office:
        episode = office.new_episode(task, seed, look)
        course = Course(task, episode.store, episode.before)
        episode.follow = course.follow
        width, height = LOOKS[look].viewport_wh
        print(f"{episode.url}\nDesigned for a page of {width}x{height}.")
        print(task["goal"])
        print(
            "At the end, type: done, fail, or answer and the answer. An empty line or Ctrl-C quits."
        )
        for line in iter(sys.stdin.readline, ""):
            end, _, answer = line.strip().partition(" ")
            if not end:
                break
            outcome = check(task, episode.before, episode.dump(), end, answer, course.comparison())
            for fits, text in outcome.lines:
                print("✓" if fits else "✗", text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.worlds.office",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("level", nargs="?", choices=LEVELS)
    parser.add_argument(
        "task", nargs="?", help="name of a task (default: list the tasks of the level)"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        help="seed of the world and of the variant of the task (default 0)",
    )
    parser.add_argument(
        "--look", choices=tuple(LOOKS), help="look of the office (default: the look of the task)"
    )
    parser.add_argument(
        "--every-task", action="store_true", help="make every task for every seed; start no server"
    )
    parser.add_argument(
        "--seeds",
        type=_seeds,
        default=range(200),
        metavar="A-B",
        help="with --every-task: first and last seed (default 0-199)",
    )
    return parser


def make_every_task(seeds: range) -> int:
    """Make every task of every seed and print what cannot be made; return 1 if there is any."""
    start_s = time.monotonic()
    variant_count = 0
    problem_count = 0
    for seed in seeds:
        for level in LEVELS:
            for name in names(level):
                try:
                    tasks(level, [seed], [name])
                    variant_count += 1
                except UserError as error:
                    problem_count += 1
                    print(error, flush=True)
    duration_s = time.monotonic() - start_s
    result = f"{problem_count} failed" if problem_count else "none failed"
    summary = f"{variant_count} tasks made in {duration_s:.0f} s"
    print(f"seeds {seeds[0]} to {seeds[-1]}: {summary}, {result}")
    return int(problem_count > 0)


def _seeds(text: str) -> range:
    """Read "0-199" as the numbers from 0 to 199."""
    numbers = re.fullmatch(r"(\d+)-(\d+)", text)
    if numbers is None or int(numbers[1]) > int(numbers[2]):
        raise argparse.ArgumentTypeError(f"expected two numbers such as 0-199, not {text!r}")
    return range(int(numbers[1]), int(numbers[2]) + 1)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        sys.exit(f"{error}")
    except KeyboardInterrupt:
        print()

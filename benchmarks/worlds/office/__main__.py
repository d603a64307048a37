"""The office in a browser of one's own: to look around in, or to try a task by hand.

python -m benchmarks.worlds.office                          an office without a task
python -m benchmarks.worlds.office L3                       the tasks of a level
python -m benchmarks.worlds.office L3 mail_write --seed 2   one of them, and what came of it
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.worlds.office.server import LOOKS, Office
from benchmarks.worlds.office.suite import tasks
from benchmarks.worlds.office.tasks.checks import check


def main(arguments: list[str] | None = None) -> None:
    """Serves one episode, and judges it as often as it is told how it ends."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.worlds.office",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("level", nargs="?", choices=("L3", "L4"))
    parser.add_argument("task", nargs="?", help="its name; without one, all are listed")
    parser.add_argument("--seed", type=int, default=0, help="picks the world and the variant")
    parser.add_argument("--look", choices=tuple(LOOKS), help="instead of the task's own")
    given = parser.parse_args(arguments)
    found = tasks(given.level, [given.seed]) if given.level else []
    known = {task["id"]: task for task in found}
    if known and given.task is None:
        for name, task in known.items():
            print(f"{name}: {task['goal']}")
        return
    if known and given.task not in known:
        parser.error(f"{given.level} has no task {given.task!r}; name the level alone to see them")
    task = known[given.task] if known else {"goal": "No task: look around."}
    look = given.look or task.get("look", "web")
    with Office() as office:
        episode = office.new_episode(task, given.seed, look)
        size = "x".join(map(str, LOOKS[look].viewport_wh))
        print(f"{episode.url}\nDesigned for a page of {size}.")
        print(task["goal"])
        print("Then: done, fail, or answer and the answer. An empty line, or Ctrl-C, ends it.")
        for line in iter(sys.stdin.readline, ""):
            end, _, answer = line.strip().partition(" ")
            if not end:
                break
            outcome = check(task, episode.before, episode.dump(), end, answer)
            for fits, text in outcome.lines:
                print("✓" if fits else "✗", text)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print()

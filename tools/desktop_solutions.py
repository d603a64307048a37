"""Play the right and the wrong ways of the desktop's tasks, and say which are judged otherwise.

python -m tools.desktop_solutions --seeds 0-2 [--tasks calc_total,writer_*] [--ways right0]
    [--shots FOLDER] [--screens FILE] [--look dark]

`--ways "*0"` plays the first right way and the first wrong one of each task.
All points of the ways are those of the usual layout. In another one (`--look`) only ways without
any are played.
`--screens` adds a line with the hashes of all screenshots of each play: two runs can be compared.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.worlds.desktop.looks import LOOKS, USUAL
from benchmarks.worlds.desktop.suite import open_world
from benchmarks.worlds.desktop.tasks import tasks
from tests.support.desktop_play import MOUSE, Player


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--tasks", default="*")
    parser.add_argument("--ways", default="*")
    parser.add_argument("--shots", type=Path)
    parser.add_argument("--screens", type=Path)
    parser.add_argument("--look", choices=LOOKS, default=USUAL)
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    counts = {"as they should": 0, "not": 0}
    with tempfile.TemporaryDirectory() as folder:
        world = open_world(Path(folder))
        for task in [task for level in ("L3", "L4") for task in tasks(level, seeds)]:
            if not any(fnmatch.fnmatch(task["id"], name) for name in options.tasks.split(",")):
                continue
            task["look"] = options.look
            for way, steps, right in _ways(task):
                if options.look != USUAL and _has_points(steps):
                    continue
                if fnmatch.fnmatch(way, options.ways):
                    player = Player(world)
                    counts[_play(player, task, way, steps, right, options.shots)] += 1
                    if options.screens:
                        with options.screens.open("a") as file:
                            print(task["id"], task["seed"], way, *player.images, file=file)
        world.close()
    print(counts)
    return bool(counts["not"])


def _ways(task: dict[str, Any]) -> Iterator[tuple[str, Any, bool]]:
    for name, right in (("ways", True), ("wrong_ways", False)):
        for number, steps in enumerate(task[name]):
            yield f"{'right' if right else 'wrong'}{number}", steps, right


def _has_points(steps: list[list[Any]]) -> bool:
    return any(step[0] in MOUSE for step in steps)


def _play(player: Player, task: Any, way: str, steps: Any, right: bool, shots: Path | None) -> str:
    begin = time.monotonic()
    folder = shots and shots / f"{task['id']}-{task['seed']}-{way}"
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    player.folder = folder
    world = player.world
    try:
        player.images.append(world.reset(task).image.stem)
        ready = time.monotonic()
        player.look("0")
        player.play(steps)
        outcome = world.evaluate()
        player.look("end")
    except Exception:  # noqa: BLE001 - any failure is one of its way
        traceback.print_exc()
        print(f"{task['id']} {task['seed']} {way}: failed", flush=True)
        return "not"
    fits = outcome.success == right
    reasons = [text for is_met, text in outcome.lines if not is_met]
    print(
        f"{'ok ' if fits else 'NOT'} {task['id']} {task['seed']} {way}: {outcome.success}; reset "
        f"{ready - begin:.1f} s, {len(player.actions)} actions in {time.monotonic() - ready:.1f} s"
        f"; {reasons} {player.notes or ''}",
        flush=True,
    )
    return "as they should" if fits else "not"


if __name__ == "__main__":
    sys.exit(main())

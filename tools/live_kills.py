"""Stops a run of L3 and L4 at random moments, and starts it again.

    python -m tools.live_kills [--suite office|jupyterlab|desktop] [--kills 20] [--interrupts 3]
        [--seed 0] [--worlds 2]

Eight episodes, in two worlds unless `--worlds` says otherwise. The server says what the oracles do,
in every second task but for the last action. A moment is a request and up to a second after it. The
same command again must ask nothing of finished episodes and come to the same score files; of the
stopped run no process, no server and no mount may be left, and after the second run no folder of a
desktop (`folders` are those that Chromium and its driver forgot in TMPDIR). Exits with 1 if
anything is wrong.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import re
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from benchmarks.worlds.actions import Action
from benchmarks.worlds.desktop import suite as desktop_suite
from benchmarks.worlds.desktop.root import worlds_folder
from benchmarks.worlds.desktop.session import PREFIX
from benchmarks.worlds.desktop.tasks import tasks as desktop_tasks
from benchmarks.worlds.jupyterlab import suite as lab_suite
from benchmarks.worlds.jupyterlab.tasks import tasks as lab_tasks
from benchmarks.worlds.office import suite as office_suite
from benchmarks.worlds.office.tasks import tasks as office_tasks
from tests.support.desktop_play import Player
from tests.support.lab_oracle import LabOracle
from tests.support.mock_server import MockServer, Reply, Request
from tests.support.office_oracle import Oracle
from tests.support.runs import api_model
from tests.support.stage import Stage, read_log_lines


def tasks_with_oracles(level: str, seeds: list[int]) -> list[dict[str, Any]]:
    """The desktop's tasks in the words of the other suites."""
    return [
        {**task, "oracle": task["ways"][0], "expect": task["edits"]}
        for task in desktop_tasks(level, seeds)
    ]


SUITES: dict[str, tuple[Any, Any, Any]] = {
    "office": (office_suite, office_tasks, Oracle),
    "jupyterlab": (lab_suite, lab_tasks, LabOracle),
    "desktop": (desktop_suite, tasks_with_oracles, Player),
}
WRONG = ("left", "listening", "desktops", "mounts", "of_kept", "stored_twice")  # kinds of harm
LEVELS = {"GUITaskAutomation": "L3", "GUITaskCollaboration": "L4"}
EPISODES, PATIENCE_S = 4, 10.0  # of each level; until nothing may be left
SUBREAPER = 36  # for prctl: what a killed run leaves behind becomes a child of this process


def scripts_of(name: str, level: str, shots: Path) -> tuple[list[str], dict[str, list[Action]]]:
    """The tasks of a level with the shortest oracles, and what to do in each, by its goal."""
    suite, tasks, oracle_class = SUITES[name]
    able = sorted(
        (task for task in tasks(level, [0]) if task["expect"] or task.get("edits")),
        key=lambda task: len(str(task["oracle"])),
    )[:EPISODES]
    scripts, world = {}, suite.open_world(shots)
    for number, task in enumerate(able):
        world.reset(task)
        oracle = oracle_class(world)
        oracle.play(task["oracle"])
        half = [*oracle.actions[:-2], Action("done")]
        scripts[task["goal"]] = half if number % 2 else oracle.actions
    world.close()
    return [f"{name}/{task['id']}" for task in able], scripts


def where(request: Request) -> tuple[str, int]:
    """The goal of the episode that a request is of, and its step, from 1."""
    match = re.search(r"^Task: (.*)", request.text, re.MULTILINE)
    assert match, request.text
    return match[1], 1 + len(re.findall(r"^Action: \w+\(", request.text, re.MULTILINE))


def finished(stage: Stage) -> list[str]:
    """Goals of the episodes that have a record in a log."""
    return [
        record["line"]["instruction"]
        for log in stage.work_dir.glob("m/*/m_*.jsonl")
        for record in read_log_lines(log)
        if record["kind"] == "episode"
    ]


def scores(stage: Stage) -> list[dict[str, Any]]:
    """The score files, without what episodes cost: their seconds are never the same."""
    files = sorted(stage.folder().glob("m_*_score.json"))
    contents = [json.loads(file.read_bytes()) for file in files]
    return [{key: value for key, value in content.items() if key != "Cost"} for content in contents]


def alive() -> list[int]:
    """Processes that runs have started and that have not ended."""
    pids = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            pids += [process.pid] if process.status() != psutil.STATUS_ZOMBIE else []
    return pids


def listening() -> dict[int, int | None]:
    """The processes that listen at ports of this machine, by port."""
    connections = psutil.net_connections("tcp")
    return {
        connection.laddr.port: connection.pid
        for connection in connections
        if connection.status == psutil.CONN_LISTEN
    }


def mount_count() -> int:
    """The number of mounts that this process sees."""
    return len(Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines())


def stop_and_go_on(
    stage: Stage, number: int, stop_after: int, later_s: float, worlds: str, *, is_desktop: bool
) -> dict[str, Any]:
    """One run that is stopped, what is left of it, and the same command again."""
    mounts = mount_count()
    victim = stage.start("--worlds", worlds)
    stage.server.wait_for(stop_after, 600)
    time.sleep(later_s if stop_after else 4 * later_s)  # before the first request, browsers start
    running = alive()
    ports = {port for port, pid in listening().items() if pid in running}
    begun_s = time.monotonic()
    for pid in running:  # Ctrl-C in a terminal reaches every process of the group
        is_of_group = number == signal.SIGINT and os.getpgid(pid) == os.getpgid(victim.pid)
        if pid == victim.pid or is_of_group:
            os.kill(pid, number)
    victim.wait(120)
    ended_s = time.monotonic()
    while (survivors := alive()) and time.monotonic() < ended_s + PATIENCE_S:
        time.sleep(0.05)
    gone_s = time.monotonic()
    for pid in survivors:
        os.kill(pid, signal.SIGKILL)
    victim.communicate()
    finished_before, request_count = finished(stage), len(stage.server.requests)
    folders = len(list((stage.home / "tmp").iterdir()))
    requested_tasks = [where(request)[0] for request in stage.run("--worlds", worlds).requests]
    stored = finished(stage)
    desktops = [*worlds_folder().glob(f"{PREFIX}{victim.pid}-*")] if is_desktop else []
    return {
        "at": f"{stop_after}+{later_s:.1f}s",
        "code": victim.returncode,
        "processes": len(running),
        "servers": len(ports),
        "ended_s": round(ended_s - begun_s, 1),
        "gone_s": round(gone_s - ended_s, 1),
        "left": len(survivors),
        "listening": len(ports & set(listening())),
        "folders": folders,
        "desktops": len(desktops),
        "mounts": mount_count() - mounts,
        "requests": request_count,
        "kept": len(finished_before),
        "asked": len(requested_tasks),
        "of_kept": sum(goal in finished_before for goal in requested_tasks),
        "stored_twice": len(stored) - len(set(stored)),
    }


def main() -> int:
    """Stops, goes on, prints."""
    parser = argparse.ArgumentParser()
    for option, usual in (("--kills", 20), ("--interrupts", 3), ("--seed", 0)):
        parser.add_argument(option, type=int, default=usual)
    parser.add_argument("--suite", choices=SUITES, default="office")
    parser.add_argument("--worlds", default="2")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    moments = [signal.SIGKILL] * options.kills + [signal.SIGINT] * options.interrupts
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory() as name:
        scripted = Scripted.of(options.suite, Path(name))
        calm_scores = scripted.play_calmly(options.worlds)
        good = 0
        for count, number in enumerate(moments):
            stop_after, later_s = chance.randrange(scripted.requests), chance.random()
            with MockServer(scripted.reply) as server:
                stage = scripted.stage(str(count), server)
                is_desktop = options.suite == "desktop"
                row = stop_and_go_on(
                    stage, number, stop_after, later_s, options.worlds, is_desktop=is_desktop
                )
            row["scores_equal"] = scores(stage) == calm_scores
            good += row["scores_equal"] and not any(map(row.get, WRONG))
            if not count:
                print(*row)
            print(*(str(row[name]).rjust(len(name)) for name in row), flush=True)
    print(f"{good} of {len(moments)} moments cost nothing but the episodes that were under way")
    return int(good < len(moments))


class Scripted(NamedTuple):
    """Tasks of a suite and what a scripted agent does in each."""

    home: Path
    data: dict[str, dict[str, Any]]  # of a config
    scripts: dict[str, list[Action]]  # by goal

    @classmethod
    def of(cls, suite: str, home: Path) -> Scripted:
        """The tasks of both levels."""
        scripted = cls(home, {}, {})
        for dataset, level in LEVELS.items():
            tasks, scripts = scripts_of(suite, level, home)
            scripted.data[dataset] = {"tasks": tasks}
            scripted.scripts.update(scripts)
        return scripted

    @property
    def requests(self) -> int:
        """The number of requests of a whole run."""
        return sum(map(len, self.scripts.values()))

    def reply(self, request: Request) -> Reply:
        """The next action of the script."""
        goal, step = where(request)
        return Reply(f"Action: {self.scripts[goal][step - 1]}")

    def stage(self, folder: str, server: MockServer) -> Stage:
        """A run in a folder of its own."""
        home = self.home / folder
        (home / "tmp").mkdir(parents=True)
        env = {"TMPDIR": str(home / "tmp")}
        return Stage(home, server, {"m": api_model(server.url)}, self.data, env)

    def play_calmly(self, worlds: str) -> Any:
        """Play all episodes without a stop; return the scores."""
        with MockServer(self.reply) as server:
            calm = self.stage("calm", server)
            ran = calm.run("--worlds", worlds)
        assert ran.code == 0 and len(ran.requests) == self.requests, ran.output
        rates = [by_limit["Max step 50"]["SR"] for by_limit in scores(calm)]
        print(f"{len(self.scripts)} episodes, {self.requests} requests, SR {rates}")
        return scores(calm)


if __name__ == "__main__":
    sys.exit(main())

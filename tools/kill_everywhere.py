"""Kills a run when its server has counted k requests, for many k, and starts it again.

python -m tools.kill_everywhere [--kills 30] [--in-flight 8] [--servers 4]

With `--servers` the requests go to so many servers of one model, `--in-flight` of them at each.
The same command after each kill must ask only what has no answer yet and come to the same score
files. Prints a table and what went wrong, and exits with 1 if anything did.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.mock_server import MockServer, Reply, Request
from tests.support.replicas import Replica, address
from tests.support.runs import api_model, make_data
from tests.support.stage import L1, L2, Stage, dataset_of

PICTURES = 18  # 90 samples


def reply(request: Request) -> Reply:
    """Depends on the request alone; some right, some wrong."""
    if dataset_of(request) == L1:
        return Reply("B" if "1" in request.text else "A")
    return Reply("(0.2, 0.15)" if "basic" in request.text else "(0.9, 0.9)")


def question_of(text: str) -> str:
    """The part of a request's text that identifies a sample of the made data."""
    match = re.search(r"Question \d+ \w+\?|Click \w+ target \d+\.", text)
    assert match, text
    return match.group()


@dataclass
class Killer:
    """An answer function that kills a process when a request arrives."""

    kill_after: int = 0
    count: int = 0
    victim: list[subprocess.Popen[str]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, request: Request) -> Reply:
        with self.lock:
            self.count += 1
            is_time = self.count == self.kill_after
        if is_time:
            os.kill(self.victim[0].pid, signal.SIGKILL)
        return reply(request)


def answered(stage: Stage) -> list[str]:
    """The samples that have an answer in a log."""
    answers: list[dict[str, Any]] = []
    for dataset in (L1, L2):
        if stage.work_dir.exists() and stage.log(dataset).exists():
            answers += stage.answers(dataset)
    return [
        question_of(f"{line.get('question')} {line.get('instruction')}")
        for line in (record["line"] for record in answers)
    ]


def kill_and_go_on(
    kill_after: int, in_flight: int, servers: int, home: Path, calm: dict[str, bytes]
) -> dict[str, Any]:
    """One run that is killed, and the same command again."""
    killer = Killer(kill_after)
    with ExitStack() as stack:
        server = stack.enter_context(Replica(killer))
        stage = Stage(home, server, {"m": api_model(server.url)})
        if servers > 1:
            others = [stack.enter_context(Replica(killer)) for _ in range(servers - 1)]
            for other in others:
                other.requests = server.requests
            stage.model["m"]["model_path"] = [address(one) for one in (server, *others)]
        command = ("--api-nproc", str(in_flight))
        killer.victim.append(stage.start(*command))
        killer.victim[0].communicate()
        request_count, kept_answers = len(server.requests), answered(stage)
        killer.kill_after = 0
        again = stage.run(*command)
        repeated_questions = [question_of(request.text) for request in again.requests]
        stored = answered(stage)
        return {
            "k": kill_after,
            "killed": killer.victim[0].returncode == -signal.SIGKILL,
            "requests": request_count,
            "kept": len(kept_answers),
            "lost": request_count - len(kept_answers),
            "asked": len(repeated_questions),
            "twice": len(set(repeated_questions) & set(kept_answers))
            + len(stored)
            - len(set(stored)),
            "missing": 5 * PICTURES - len(stored),
            "equal": again.code == 0 and stage.both_scores() == calm,
        }


def main() -> int:
    """Kills, goes on, prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--in-flight", type=int, default=8)
    parser.add_argument("--servers", type=int, default=1)
    options = parser.parse_args()
    samples = 5 * PICTURES
    with tempfile.TemporaryDirectory() as name:
        home = Path(name) / "calm"
        make_data(home / "data", [("os_web", (40, 30))] * PICTURES)
        with MockServer(reply) as server:
            stage = Stage(home, server, {"m": api_model(server.url)})
            assert stage.run("--api-nproc", str(options.in_flight)).code == 0
            calm = stage.both_scores()
        rows = []
        print(
            "k   requests  kept  lost in flight  asked by the next run  asked or stored twice  "
            "missing  scores equal"
        )
        for number in range(options.kills):
            kill_after = 1 + round(number * (samples - 1) / max(1, options.kills - 1))
            folder = Path(name) / f"kill{kill_after}"
            shutil.copytree(home / "data", folder / "data")
            row = kill_and_go_on(kill_after, options.in_flight, options.servers, folder, calm)
            rows.append(row)
            print(
                "{k:<3} {requests:8}  {kept:4}  {lost:14}  {asked:21}  {twice:21}  {missing:7}  "
                "{equal!s:>12}".format(**row),
                flush=True,
            )
    good = [
        row
        for row in rows
        if row["killed"]
        and row["equal"]
        and not row["twice"]
        and not row["missing"]
        and row["lost"] <= options.in_flight * options.servers
    ]
    print(
        f"{len(good)} of {len(rows)} kills cost nothing but what was in flight "
        f"(at most {max(row['lost'] for row in rows)} requests)"
    )
    return 0 if len(good) == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())

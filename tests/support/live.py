"""A made benchmark whose samples act in a made world, for tests of the engine; runs as a process too.

    python -m tests.support.live LOG REQUESTS --episodes 8 --worlds 8 [--step-s 0.2] [--most 30]

says how long it took, and appends a line to REQUESTS for each request that the model gets; beyond
the most none is answered.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from utils.config.options import Options
from utils.contracts import Episode, Generation, Prepared, Prompt, ReadReply, Sample, World
from utils.engine.engine import Engine
from utils.engine.jobs import EpisodePlan, Job
from utils.engine.worlds import Worlds
from utils.store.index import AnswerIndex
from utils.store.log import LoggedRun, RunLog

TURNS = 5
PATIENCE_S = 60


@dataclass
class Stagehand:
    """Makes worlds whose steps take a while, and knows what became of each.

    Attributes:
        meets: at the first step of an episode its world waits for others at theirs.
        fails: is given the task and the number of the try, and says whether the third step fails.
    """

    step_s: float = 0.0
    meets: threading.Barrier = field(default_factory=lambda: threading.Barrier(1))
    fails: Callable[[str, int], bool] = lambda task, attempt: False
    made_count: int = 0
    closed: int = 0
    most_open: int = 0
    numbers: list[int] = field(default_factory=list)
    begun: Counter[str] = field(default_factory=Counter)
    threads: list[set[int]] = field(default_factory=list)

    def make(self, number: int = 0) -> World:
        self.made_count += 1
        self.numbers.append(number)
        self.most_open = max(self.most_open, self.made_count - self.closed)
        self.threads.append(set())
        return _World(self, self.threads[-1])


class _World:
    def __init__(self, hand: Stagehand, threads: set[int]) -> None:
        self._hand, self._task, self._steps = hand, "", 0
        self._note = lambda: threads.add(threading.get_ident())

    def reset(self, task: dict[str, Any]) -> str:
        self._note()
        self._task, self._steps = str(task["index"]), 0
        self._hand.begun[self._task] += 1
        return "the first screen"

    def observe(self) -> str:
        return f"screen {self._steps}"

    def step(self, action: str) -> str:
        self._note()
        self._steps += 1
        time.sleep(self._hand.step_s)  # so that a run ends in the middle of one
        if self._steps == 1:
            self._hand.meets.wait(PATIENCE_S)
        if self._steps == 3 and self._hand.fails(self._task, self._hand.begun[self._task]):
            raise RuntimeError("the page crashed")
        return f"{self.observe()} after {action}"

    def evaluate(self) -> bool:
        self._note()
        return self._task != "1"

    def close(self) -> None:
        self._note()
        self._hand.closed += 1


def act(sample: Sample, world: World) -> Episode:
    """Five turns: what is seen, an action, what is seen then."""
    screen = world.reset(sample.line)
    for _ in range(TURNS):
        text = f"Task {sample.line['index']}: {screen}"
        generation = yield Prompt([{"role": "user", "type": "text", "value": text}])
        screen = world.step(generation.text)
    return {"success": world.evaluate()}


def unread(*_: Any) -> ReadReply:
    """Nobody asks what replies of this benchmark ask for."""
    return ReadReply()


class Model:
    """Says what `answer` says to a text; `asked` holds the texts."""

    servers = None

    def __init__(self, answer: Callable[[str], str] = lambda text: "click") -> None:
        self.name, self._answer = "m", answer
        self.asked: list[str] = []

    def in_flight(self, requested: int | None) -> int | None:
        return requested

    def request(self, messages: Any, dataset: str, *, is_custom_prompt: bool = False) -> Prepared:
        text = messages[-1]["value"]
        return Prepared(dataset, f"of {text}", {"prompt": text}, text)

    def generate(self, prepared: Prepared) -> Generation:
        self.asked.append(prepared.payload)
        return Generation(self._answer(prepared.payload))

    def abandon(self) -> None:
        """Nothing waits in here."""


class Shown:
    """A progress bar that records its calls."""

    def __init__(self) -> None:
        self.statuses: list[tuple[str, bool]] = []

    def advance(self, status: str, *, reused: bool) -> None:
        self.statuses.append((str(status), reused))


def run(
    log: Path,
    model: Model,
    hand: Stagehand,
    *,
    episodes: int = 8,
    worlds: int = 8,
    in_flight: int = 8,
    settings: str = "as they are",
    episode: Callable[..., Episode] = act,
    progress: Shown | None = None,
    datasets: int = 1,
    **more: Any,
) -> Job:
    """Runs the tasks, those without an episode in the log, and returns the job.

    Of several data sets each has so many episodes, and worlds of its own; the last job is returned.
    """
    with contextlib.closing(RunLog(log)) as opened:
        jobs = [
            Job(
                dataset="Live",
                samples=[
                    Sample(f"key{n}", {"index": n}, Path("none.png"), (40, 30))
                    for n in range(number * episodes, (number + 1) * episodes)
                ],
                episodes=EpisodePlan(
                    play=episode,
                    worlds=Worlds(hand.make, worlds),
                    fingerprint=lambda sample: f"{settings} {sample.key}",
                    read_reply=unread,
                ),
                answers=AnswerIndex([log]),
                run=LoggedRun({"seq": 0, "asking": {}}, {}),
            )
            for number in range(datasets)
        ]
        for job in jobs:
            job.open(opened)
        options = Options(Path("config.json"), api_nproc=in_flight, retry=0, **more)
        Engine(model, options, progress or Shown()).run(jobs)  # type: ignore[arg-type]
        return jobs[-1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name, kind, default in (
        ("log", Path, None),
        ("requests", Path, None),
        ("--episodes", int, 8),
        ("--worlds", int, 4),
        ("--step-s", float, 0.0),
        ("--most", int, 10**9),
    ):
        parser.add_argument(name, type=kind, default=default)
    options = parser.parse_args()
    numbers = itertools.count(1)

    def noted(text: str) -> str:
        with options.requests.open("a") as file:
            file.write(f"{text}\n")
        if next(numbers) > options.most:
            threading.Event().wait()
        return "click"

    began_s = time.monotonic()
    sizes = {"episodes": options.episodes, "worlds": options.worlds}
    run(options.log, Model(noted), Stagehand(options.step_s), **sizes)
    print(f"{time.monotonic() - began_s:.2f} s")

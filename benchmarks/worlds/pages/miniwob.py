"""MiniWoB++: small tasks of one page each, as a suite of L3, in the pages of the package `miniwob`.

`miniwob.json` lists the tasks that are used, with the goal that each has under each seed, and the
others with the reason why they are not.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.worlds.actions import Action, Outcome
from benchmarks.worlds.pages.browser import Chromium, Tab, browser_problems
from benchmarks.worlds.pages.page_world import PageWorld, Task
from utils.contracts import WorldError
from utils.errors import UserError

LIST = Path(__file__).with_name("miniwob.json")
VIEWPORT_WH, SCALE = (160, 210), 3  # a page of 160 x 210, seen three times as large
SUCCESS = 0.99  # of the raw reward, which no time that passes takes away from
LONGEST_MS = 2**31 - 1  # an episode, 24 days; a longer timer would end at once
BEGIN = """async ([seed, longest]) => {
  const style = document.createElement("style");
  style.textContent = "#click-canvas, #reward-display { display: none !important }"
    + " html { scrollbar-width: none } #input-flicker { display: inline !important }";
  document.head.append(style);
  core.EPISODE_MAX_TIME = longest;
  Math.seedrandom(seed);
  core.startEpisodeReal();
  while (!WOB_TASK_READY) await new Promise(requestAnimationFrame);
}"""
GOAL = "(core.getUtterance().utterance ?? core.getUtterance()).trim()"
STATE = "({ ended: WOB_DONE_GLOBAL, reward: WOB_RAW_REWARD_GLOBAL, reason: WOB_REWARD_REASON })"


@cache
def listed() -> dict[str, Any]:
    """What `miniwob.json` says."""
    found: dict[str, Any] = json.loads(LIST.read_text(encoding="utf-8"))
    return found


def names(level: str) -> list[str]:
    """Return the ids of all tasks; each is of one application, so L4 has none."""
    return list(listed()["tasks"]) if level == "L3" else []


def tasks(level: str, seeds: Sequence[int], names: Sequence[str] | None = None) -> list[Task]:
    """Return the named tasks, or all, once for each seed."""
    known = range(listed()["seeds"])
    if unknown := [seed for seed in seeds if seed not in known]:
        raise UserError(
            f"seeds: MiniWoB++ has goals for the seeds 0 to {known[-1]}, not for {unknown[0]}"
        )
    return [
        {
            "id": name,
            "page": name,
            "goal": of_page["goals"][seed],
            "seed": seed,
            "platform": "os_web",
            "category": of_page["category"],
            "apps": ["miniwob"],
        }
        for seed in (seeds if level == "L3" else ())
        for name, of_page in listed()["tasks"].items()
        if names is None or name in names
    ]


def world_data() -> list[str]:
    """Return the release of the package whose pages are shown."""
    try:
        return [version("miniwob")]
    except PackageNotFoundError:
        return []


def problems() -> list[str]:
    """What is missing on this machine, one line each."""
    missing = [] if pages_folder() else ["miniwob is not installed; pip install miniwob"]
    return missing + browser_problems()


def pages_folder() -> Path | None:
    """The package's pages; the package itself is not imported, and needs nothing else."""
    found = find_spec("miniwob")
    return Path(found.origin).parent / "html" if found is not None and found.origin else None


class _Handler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that hangs up in the middle is nobody's news."""


class MiniWoB(PageWorld):
    """One task after the other, each in a page of its own."""

    rests = True  # some icons are exchanged under the pointer, and not there until that is loaded

    def __init__(self, shots: Path, **settings: Any) -> None:
        super().__init__(shots, **settings)
        answer = partial(_Handler, directory=str(pages_folder()))
        self._server = _Server(("127.0.0.1", 0), answer)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def open(self, task: Task, chromium: Chromium) -> Tab:
        """The page of a task with the problem that its seed makes."""
        home = f"http://127.0.0.1:{self._server.server_port}/"
        tab = chromium.open(f"{home}miniwob/{task['page']}.html", home, VIEWPORT_WH, SCALE)
        tab.page.evaluate(BEGIN, [str(task["seed"]), LONGEST_MS])
        if task["goal"] != (goal := tab.page.evaluate(GOAL)) and task["goal"]:
            raise WorldError(f'{task["id"]}: its goal is "{goal}" in this release of miniwob', "")
        return tab

    def judge(self, tab: Tab, end: Action | None) -> Outcome:
        """By the page's own reward."""
        state = tab.page.evaluate(STATE)
        reward = float(state["reward"]) if state["ended"] else 0.0
        ends = "" if state["ended"] else ", the page has not ended"
        why = f" ({state['reason']})" if state["reason"] else ""
        return Outcome(reward >= SUCCESS, [(reward >= SUCCESS, f"reward {reward:g}{ends}{why}")])

    def is_over(self, tab: Tab) -> bool:
        """The page gave its reward; a click would begin another problem."""
        return bool(tab.page.evaluate("WOB_DONE_GLOBAL"))

    def close(self) -> None:
        """Ends page, browser and server."""
        try:
            super().close()
        finally:
            self._server.shutdown()
            self._server.server_close()


open_world = MiniWoB

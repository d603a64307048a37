"""MiniWoB++: small tasks of one page each, as a suite of L3, in the pages of the package `miniwob`.

`miniwob.json` lists the tasks that are used, with their goals for each seed, and the others with
the reason why they are not.
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

from benchmarks.actions.action import Action
from benchmarks.worlds.browser.browser import Chromium, Tab, browser_problems
from benchmarks.worlds.browser.page_world import PageWorld, Task
from benchmarks.worlds.environment import Outcome
from utils.contracts import WorldError
from utils.errors import UserError

LIST = Path(__file__).with_name("miniwob.json")
VIEWPORT_WH = (160, 210)
SCALE = 3  # of screenshots
SUCCESS = 0.99  # of the raw reward, which does not fall with time
MAX_EPISODE_MS = 2**31 - 1  # 24 days; a longer timer would end at once
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
    """Return the content of `miniwob.json`."""
    content: dict[str, Any] = json.loads(LIST.read_text(encoding="utf-8"))
    return content


def names(level: str) -> list[str]:
    """Return the ids of all tasks; all are of one application, so L4 has none."""
    return list(listed()["tasks"]) if level == "L3" else []


def tasks(level: str, seeds: Sequence[int], names: Sequence[str] | None = None) -> list[Task]:
    """Return the named tasks, or all, once for each seed."""
    seed_count = listed()["seeds"]
    without_goals = [str(seed) for seed in seeds if seed not in range(seed_count)]
    if without_goals:
        raise UserError(
            "data.GUITaskAutomation: MiniWoB++ has goals only for the seeds "
            f"0 to {seed_count - 1}, not for {', '.join(without_goals)} "
            "(seeds_from and --seeds-from draw from 0 to 199). "
            'To leave MiniWoB++ out, name other tasks in this entry: "tasks": ["office/*"]'
        )
    if level != "L3":
        return []
    return [
        {
            "id": name,
            "page": name,
            "goal": entry["goals"][seed],
            "seed": seed,
            "platform": "os_web",
            "category": entry["category"],
            "tier": "basic",
            "apps": ["miniwob"],
        }
        for seed in seeds
        for name, entry in listed()["tasks"].items()
        if names is None or name in names
    ]


def world_data() -> list[str]:
    """Return the release of the package whose pages are shown."""
    try:
        return [version("miniwob")]
    except PackageNotFoundError:
        return []


def problems() -> list[str]:
    """All that is missing on this machine, one line each."""
    missing = [] if pages_folder() else ["miniwob is not installed; pip install miniwob"]
    return missing + browser_problems()


def pages_folder() -> Path | None:
    """Return the folder of the package's pages, or None; the package itself is not imported."""
    spec = find_spec("miniwob")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "html"


class _Handler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a browser may close a connection at any moment."""


class MiniWoB(PageWorld):
    """One task after the other, each in its own page."""

    moves_first = True  # some icons change under the pointer, and are missing until that is loaded

    def __init__(self, shots: Path, **settings: Any) -> None:
        super().__init__(shots, **settings)
        handler = partial(_Handler, directory=str(pages_folder()))
        self._server = _Server(("127.0.0.1", 0), handler)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def open(self, task: Task, chromium: Chromium) -> Tab:
        """Open the page of a task with the problem that its seed makes."""
        origin = f"http://127.0.0.1:{self._server.server_port}/"
        tab = chromium.open(f"{origin}miniwob/{task['page']}.html", origin, VIEWPORT_WH, SCALE)
        tab.page.evaluate(BEGIN, [str(task["seed"]), MAX_EPISODE_MS])
        goal = tab.page.evaluate(GOAL)
        if task["goal"] and task["goal"] != goal:
            raise WorldError(f'{task["id"]}: its goal is "{goal}" in this release of miniwob', "")
        return tab

    def judge(self, tab: Tab, end: Action | None) -> Outcome:
        """Judge by the page's own reward."""
        state = tab.page.evaluate(STATE)
        reward = float(state["reward"]) if state["ended"] else 0.0
        text = f"reward {reward:g}"
        if not state["ended"]:
            text += ", the page has not ended"
        if state["reason"]:
            text += f" ({state['reason']})"
        success = reward >= SUCCESS
        return Outcome(success, [(success, text)])

    def is_over(self, tab: Tab) -> bool:
        """Whether the page gave its reward; a click would begin another problem."""
        return bool(tab.page.evaluate("WOB_DONE_GLOBAL"))

    def close(self) -> None:
        """Close page, browser and server."""
        try:
            super().close()
        finally:
            self._server.shutdown()
            self._server.server_close()


open_world = MiniWoB

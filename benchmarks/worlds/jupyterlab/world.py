"""JupyterLab as a world: the folder of an episode, and the page that shows it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.worlds.actions import Action, Outcome
from benchmarks.worlds.jupyterlab.checks import compare, outcome
from benchmarks.worlds.jupyterlab.lab import Lab, LabEpisode, State
from benchmarks.worlds.office.tasks.checks import check
from benchmarks.worlds.pages.browser import Chromium, Tab
from benchmarks.worlds.pages.page_world import PageWorld

Task = dict[str, Any]
VIEWPORT_WH = (1280, 720)
READY = """path => {
  const file = path.split("/").pop(), splash = document.querySelector("#jupyterlab-splash");
  const tabs = [...document.querySelectorAll("#jp-main-dock-panel .lm-TabBar-tabLabel")];
  const isOpen = !file || tabs.some((tab) => tab.textContent === file);
  return !splash && tabs.length > 0 && isOpen && document.querySelector(".jp-DirListing-item");
}"""
"""Whether JupyterLab has started, and shows the file that is open at the start."""
MAX_LOOKS = 5  # until the page is quiet after it was opened


class LabWorld(PageWorld):
    """One episode at a time, in a browser page. All worlds of a process share one server."""

    _lock = threading.Lock()
    _lab: ClassVar[Lab | None] = None
    _server_users: ClassVar[int] = 0

    def __init__(self, shots: Path) -> None:
        super().__init__(shots)
        self._task: Task = {}
        self._episode: LabEpisode | None = None
        self._uses_server = False

    def open(self, task: Task, chromium: Chromium) -> Tab:
        """Make the folder of an episode, and open JupyterLab in it."""
        lab = self._server()
        self._task = task
        self._episode = lab.new_episode(task["files"])
        path = task.get("open", "")
        tab = chromium.open(self._episode.address(path), lab.url, VIEWPORT_WH)
        tab.page.wait_for_function(READY, arg=path)
        for _ in range(MAX_LOOKS):
            if tab.settle():
                break
        return tab

    def judge(self, tab: Tab, end: Action | None) -> Outcome:
        """Compare all files and settings with those at the start."""
        assert self._episode is not None, "a page belongs to an episode"
        lines = compare(self._task.get("edits", ()), self._episode.before, self._episode.dump())
        kind, text = (end.kind, end.text) if end else ("", "")
        return outcome(check(self._task, {}, {}, kind, text), lines)

    def dump(self) -> State:
        """Return the present files and settings of the episode, for scripts."""
        assert self._episode is not None, "a task has begun"
        return self._episode.dump()

    def forget(self) -> None:
        """Delete the episode's folder."""
        episode = self._episode
        self._episode = None
        if episode is not None:
            episode.close()

    def close(self) -> None:
        """Close the page and, with the last world, the server."""
        try:
            super().close()
        finally:
            self._leave_server()

    def app_of(self, tab: Tab) -> str:
        """Return the name of the application."""
        return "JupyterLab"

    @property
    def lab(self) -> Lab:
        """The server of all worlds, for scripts."""
        return self._server()

    def _server(self) -> Lab:
        cls = LabWorld
        with cls._lock:
            if cls._lab is None:
                cls._lab = Lab()
            if not self._uses_server:
                self._uses_server = True
                cls._server_users += 1
            return cls._lab

    def _leave_server(self) -> None:
        cls = LabWorld
        with cls._lock:
            if self._uses_server:
                self._uses_server = False
                cls._server_users -= 1
            if cls._server_users == 0 and cls._lab is not None:
                cls._lab.close()
                cls._lab = None

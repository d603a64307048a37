"""JupyterLab as a world: alone in the page, or as the ninth application of an office."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.actions.action import Action
from benchmarks.worlds.browser.browser import Chromium, Tab
from benchmarks.worlds.browser.page_world import PageWorld
from benchmarks.worlds.environment import Outcome
from benchmarks.worlds.jupyterlab.checks import compare
from benchmarks.worlds.jupyterlab.lab import Lab, LabEpisode
from benchmarks.worlds.office.server import LOOKS
from benchmarks.worlds.office.world import APPS, OfficeWorld

Task = dict[str, Any]
NAME = "jupyterlab"
VIEWPORT_WH = (1280, 720)
READY = """path => {
  const file = path.split("/").pop(), splash = document.querySelector("#jupyterlab-splash");
  const tabs = [...document.querySelectorAll("#jp-main-dock-panel .lm-TabBar-tabLabel")];
  const isOpen = !file || tabs.some((tab) => tab.textContent === file);
  return !splash && tabs.length > 0 && isOpen && document.querySelector(".jp-DirListing-item");
}"""
"""Whether JupyterLab has started, and shows the file that is open at the start."""
OPENING_S = 120.0  # for JupyterLab to open, its server included: slow where much else runs
MAX_LOOKS = 5  # until the page is quiet after it was opened


class LabWorld(OfficeWorld):
    """One episode at a time, in a browser page. All worlds of a process share one server."""

    apps: ClassVar = {**APPS, NAME: "JupyterLab"}
    opening_s = OPENING_S
    _lab_lock = threading.Lock()
    _lab: ClassVar[Lab | None] = None
    _lab_users: ClassVar[int] = 0

    def __init__(self, shots: Path) -> None:
        super().__init__(shots)
        self._lab_episode: LabEpisode | None = None
        self._uses_lab = False

    def open(self, task: Task, chromium: Chromium) -> Tab:
        """Make the folder of an episode, and open JupyterLab in it; with others, in an office."""
        self._task = task
        self._lab_episode = self.lab.new_episode(task["files"])
        path = task.get("open", "")
        address = self._lab_episode.address(path)
        if task["apps"] == [NAME]:
            tab = chromium.open(address, self.lab.url, VIEWPORT_WH)
        else:
            look = task["look"]
            viewport_wh = LOOKS[look].viewport_wh
            url = self.begin(task, look, address).url
            tab = chromium.open(url, url, viewport_wh, frames=self.lab.url)
            tab.page.evaluate(f"office.open('{NAME}'); document.activeElement.blur()")
        self.lab_frame(tab).wait_for_function(READY, arg=path, timeout=1000 * OPENING_S)
        for _ in range(MAX_LOOKS):
            if tab.settle():
                break
        if self._episode is not None:
            tab.page.evaluate("office.home()")
        return tab

    def lab_frame(self, tab: Tab) -> Any:
        """Return the frame of the page that JupyterLab is in."""
        return tab.page.frames[-1]

    def judge(self, tab: Tab, end: Action | None) -> Outcome:
        """Compare all files and settings, and the store of an office, with those at the start."""
        assert self._lab_episode is not None, "a page belongs to an episode"
        before, after = self._lab_episode.before, self._lab_episode.dump()
        lab = compare(self._task.get("edits", ()), before, after)
        return self.judge_office(end, lab)

    def forget(self) -> None:
        """Delete the episode's folder, and free its store."""
        episode = self._lab_episode
        self._lab_episode = None
        if episode is not None:
            episode.close()
        super().forget()

    def close(self) -> None:
        """Close the page and, with the last world, the servers."""
        try:
            super().close()
        finally:
            self._leave_lab()

    def app_of(self, tab: Tab) -> str:
        """Return the title of the open application, or ""."""
        return self.apps[NAME] if self._episode is None else super().app_of(tab)

    def open_app(self, tab: Tab, name: str) -> str:
        """Open an application of the office; return a note for the agent, or ""."""
        if self._episode is None:
            return PageWorld.open_app(self, tab, name)
        return super().open_app(tab, name)

    def home(self, tab: Tab) -> str:
        """Show the home screen of the office."""
        return PageWorld.home(self, tab) if self._episode is None else super().home(tab)

    def back(self, tab: Tab) -> str:
        """Do what the back button does."""
        return PageWorld.back(self, tab) if self._episode is None else super().back(tab)

    @property
    def lab(self) -> Lab:
        """The server of all worlds, which is started when it is first needed."""
        cls = LabWorld
        with cls._lab_lock:
            if cls._lab is None:
                cls._lab = Lab()
            if not self._uses_lab:
                self._uses_lab = True
                cls._lab_users += 1
            return cls._lab

    def _leave_lab(self) -> None:
        cls = LabWorld
        with cls._lab_lock:
            if self._uses_lab:
                self._uses_lab = False
                cls._lab_users -= 1
            if cls._lab_users == 0 and cls._lab is not None:
                cls._lab.close()
                cls._lab = None

"""The office as a world: the store of an episode, and the page that shows it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.actions.action import Action
from benchmarks.worlds.browser.browser import Chromium, Tab
from benchmarks.worlds.browser.page_world import PageWorld
from benchmarks.worlds.environment import Outcome
from benchmarks.worlds.office.events import Course
from benchmarks.worlds.office.server import LOOKS, EpisodeStore, Office
from benchmarks.worlds.office.store import Dump
from benchmarks.worlds.office.tasks.checks import StateComparison, check

Task = dict[str, Any]
APPS = {
    "mail": "Mail",
    "calendar": "Calendar",
    "contacts": "Contacts",
    "chat": "Chat",
    "files": "Files",
    "sheets": "Sheets",
    "shop": "Shop",
    "todo": "To-do",
}


class OfficeWorld(PageWorld):
    """One episode at a time, in a browser page. All worlds of a process share one server."""

    apps: ClassVar[Mapping[str, str]] = APPS  # titles by name
    _lock = threading.Lock()
    _office: ClassVar[Office | None] = None
    _server_users: ClassVar[int] = 0

    def __init__(self, shots: Path) -> None:
        super().__init__(shots)
        self._task: Task = {}
        self._episode: EpisodeStore | None = None
        self._course: Course | None = None
        self._uses_server = False

    def open(self, task: Task, chromium: Chromium) -> Tab:
        """Start an episode and open its page, in the look that the task names."""
        look = task.get("look", "web")
        episode = self.begin(task, look)
        return chromium.open(episode.url, episode.url, LOOKS[look].viewport_wh)

    def begin(self, task: Task, look: str, lab_url: str = "") -> EpisodeStore:
        """Make the store of an episode, and what will happen in it."""
        episode = self._server().new_episode(task, task.get("seed", 0), look, lab_url)
        self._task = task
        self._episode = episode
        self._course = Course(task, episode.store, episode.before)
        return episode

    def follow(self, tab: Tab) -> None:
        """Have happen what others do after an action of the agent, and let the page show it."""
        course = self._course
        if course is not None and not course.is_empty:
            tab.settle()
            tab.page.evaluate("news => office.news(news)", course.follow())

    def judge(self, tab: Tab, end: Action | None) -> Outcome:
        """Compare the whole store with its content at the start."""
        return self.judge_office(end)

    def judge_office(self, end: Action | None, elsewhere: StateComparison | None = None) -> Outcome:
        """Judge the end of an episode; `elsewhere` is what was expected outside the office."""
        kind, text = (end.kind, end.text) if end else ("", "")
        before, after, others = {}, {}, elsewhere or StateComparison()
        if self._episode is not None:
            before, after = self._episode.before, self._episode.dump()
        if self._course is not None:
            others += self._course.comparison()
        return check(self._task, before, after, kind, text, others)

    def dump(self) -> Dump:
        """Return the present content of the episode's store, for scripts."""
        assert self._episode is not None, "a task has begun"
        return self._episode.dump()

    def forget(self) -> None:
        """Free the episode's store."""
        episode = self._episode
        self._episode = None
        self._course = None
        if episode is not None:
            self._server().end_episode(episode)

    def close(self) -> None:
        """Close the page and, with the last world, the server."""
        try:
            super().close()
        finally:
            self._leave_server()

    def app_of(self, tab: Tab) -> str:
        """Return the title of the open application, or ""."""
        return self.apps.get(tab.page.evaluate("office.current()"), "")

    def open_app(self, tab: Tab, name: str) -> str:
        """Open an application by its name or title; return a note for the agent, or ""."""
        app = "".join(filter(str.isalnum, name)).casefold()
        if app not in self.apps:
            app += "s"  # "sheet", "contact"
        if app not in self.apps:
            titles = ", ".join(self.apps.values())
            return f"There is no application {name!r:.60}; there are {titles}."
        tab.page.evaluate("name => { office.open(name); }", app)
        return ""

    def home(self, tab: Tab) -> str:
        """Show the home screen."""
        tab.page.evaluate("office.home()")
        return ""

    def back(self, tab: Tab) -> str:
        """Do what the back button of a phone does."""
        tab.page.evaluate("office.back()")
        return ""

    def _server(self) -> Office:
        cls = OfficeWorld
        with cls._lock:
            if cls._office is None:
                cls._office = Office().__enter__()
            if not self._uses_server:
                self._uses_server = True
                cls._server_users += 1
            return cls._office

    def _leave_server(self) -> None:
        cls = OfficeWorld
        with cls._lock:
            if self._uses_server:
                self._uses_server = False
                cls._server_users -= 1
            if cls._server_users == 0 and cls._office is not None:
                cls._office.__exit__(None, None, None)
                cls._office = None

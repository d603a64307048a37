"""The office as a world: an episode's store, and the page that shows it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.worlds.actions import Action, Outcome
from benchmarks.worlds.office.server import LOOKS, EpisodeStore, Office
from benchmarks.worlds.office.store import Dump
from benchmarks.worlds.pages.browser import Chromium, Tab
from benchmarks.worlds.pages.page_world import PageWorld

Task = dict[str, Any]
Check = Callable[[Task, Dump, Dump, str, str], Outcome]  # task, before, after, end, answer
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
    """One browser page at a time. All worlds of a process share one server."""

    _lock = threading.Lock()
    _office: ClassVar[Office | None] = None
    _users: ClassVar[int] = 0

    def __init__(self, shots: Path, check: Check) -> None:
        super().__init__(shots)
        self._check = check
        self._task: Task = {}
        self._episode: EpisodeStore | None = None
        self._is_user = False

    def open(self, task: Task, chromium: Chromium) -> Tab:
        """An office of its own, in the look that the task names."""
        look = task.get("look", "web")
        episode = self._server().new_episode(task, task.get("seed", 0), look)
        self._task, self._episode = task, episode
        return chromium.open(episode.url, episode.url, LOOKS[look].viewport_wh)

    def judge(self, tab: Tab, end: Action | None) -> Outcome:
        """Compares the whole store with what it held at the start."""
        assert self._episode is not None, "a page belongs to an episode"
        kind, answer = (end.kind, end.text) if end else ("", "")
        return self._check(self._task, self._episode.before, self._episode.dump(), kind, answer)

    def dump(self) -> Dump:
        """What the store of the episode holds now, for scripts."""
        assert self._episode is not None, "a task has begun"
        return self._episode.dump()

    def forget(self) -> None:
        """Drops the episode's store."""
        episode, self._episode = self._episode, None
        if episode is not None:
            self._server().end_episode(episode)

    def close(self) -> None:
        """Ends the page and, with the last world, the server."""
        try:
            super().close()
        finally:
            self._leave_server()

    def app_of(self, tab: Tab) -> str:
        """The title of the application in front."""
        return APPS.get(tab.page.evaluate("office.current()"), "")

    def open_app(self, tab: Tab, name: str) -> str:
        """Opens an application by its name or its title, however they are written."""
        wanted = "".join(filter(str.isalnum, name)).casefold()
        found = wanted if wanted in APPS else wanted + "s"
        if found not in APPS:
            return f"There is no application {name!r:.60}; there are {', '.join(APPS.values())}."
        tab.page.evaluate("name => { office.open(name); }", found)
        return ""

    def home(self, tab: Tab) -> str:
        """Shows the desk."""
        tab.page.evaluate("office.home()")
        return ""

    def back(self, tab: Tab) -> str:
        """What the back button of a telephone does."""
        tab.page.evaluate("office.back()")
        return ""

    def _server(self) -> Office:
        cls = OfficeWorld
        with cls._lock:
            if cls._office is None:
                cls._office = Office().__enter__()
            cls._users += not self._is_user
            self._is_user = True
            return cls._office

    def _leave_server(self) -> None:
        cls = OfficeWorld
        with cls._lock:
            cls._users -= self._is_user
            self._is_user = False
            if cls._users == 0 and cls._office is not None:
                cls._office.__exit__(None, None, None)
                cls._office = None

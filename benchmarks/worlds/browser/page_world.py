"""The base class of worlds in a browser page: the office and MiniWoB++."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.actions.action import CLICKS, ENDS, Action
from benchmarks.worlds.browser.browser import PATIENCE_S, Chromium, Tab
from benchmarks.worlds.browser.gestures import perform
from benchmarks.worlds.environment import Observation, Outcome, save_screenshot
from utils.contracts import WorldError

Task = dict[str, Any]


class PageWorld(ABC):
    """Opens a page for each task, does actions in it, and judges the episode."""

    opening_s: ClassVar[float] = PATIENCE_S  # for the page of a task to open
    moves_first: ClassVar[bool] = False  # the pointer rests before it clicks: the page may react

    def __init__(self, shots: Path, patience_s: float = PATIENCE_S) -> None:
        self._shots = shots
        self._patience_s = patience_s
        self._chromium: Chromium | None = None
        self._tab: Tab | None = None
        self._end: Action | None = None  # the action with which the agent ended the episode

    # -- for subclasses ---------------------------------------------------------------------------

    @abstractmethod
    def open(self, task: Task, chromium: Chromium) -> Tab:
        """Open the page of a task, as it is at the beginning."""

    @abstractmethod
    def judge(self, tab: Tab, end: Action | None) -> Outcome:
        """Return the outcome; `end` is the action with which the agent ended, if it did."""

    def forget(self) -> None:  # noqa: B027 - most have nothing to drop
        """Free what was made for the episode besides its page."""

    def follow(self, tab: Tab) -> None:  # noqa: B027 - in most, nothing happens by itself
        """Do what happens in the world after an action, besides what the page does."""

    def is_over(self, tab: Tab) -> bool:
        """Whether the page takes no further action."""
        return False

    def app_of(self, tab: Tab) -> str:
        """Return the title of the open application, for people."""
        return ""

    def open_app(self, tab: Tab, name: str) -> str:
        """Open an application by its name; return "", or a note for the model if there is none."""
        return "There are no applications to open here."

    def home(self, tab: Tab) -> str:
        """Show the home screen; return "", or a note for the model if there is none."""
        return "There is no home screen here."

    def back(self, tab: Tab) -> str:
        """Go back; return "", or a note for the model if that is not possible."""
        return "" if tab.back() else "There is nothing to go back to."

    # -- the world's side of an episode -----------------------------------------------------------

    def reset(self, task: Task) -> Observation:
        """Begin a task in its own page."""
        self._leave()
        if self._chromium is None:
            self._chromium = Chromium.borrow()
        with self._chromium.watched("opening the page", self.opening_s):
            self._tab = self.open(task, self._chromium)
            return self._observation(self._tab)

    def observe(self) -> Observation:
        """Return a screenshot once the page is quiet."""
        with self._watched("reading the screen") as tab:
            return self._observation(tab)

    def step(self, action: Action) -> Observation:
        """Do an action, wait until the page is quiet, and return a screenshot.

        Raises:
            WorldError: the page hangs or is gone.
        """
        with self._watched("looking for the page") as tab:
            tab.ping()  # a browser that was gone before the action was not ended by it
        try:
            with self._watched(str(action)[:80]) as tab:
                note = self._act(tab, action)
                if self._end is None:
                    self.follow(tab)
                return self._observation(tab, note)
        except WorldError as error:
            raise WorldError(str(error), error.trace, by_action=True) from error

    def rest(self) -> None:
        """Prepare the page of the next episode; called while nobody waits for the world."""
        if self._chromium is not None:
            with self._chromium.watched("opening the next page", PATIENCE_S):
                self._chromium.rest()

    def evaluate(self) -> Outcome:
        """Return the outcome of the episode."""
        with self._watched("judging the episode") as tab:
            return self.judge(tab, self._end)

    def close(self) -> None:
        """Close the page and, if no other world of the thread uses it, the browser."""
        chromium = self._chromium
        self._chromium = None
        try:
            with suppress(Exception):  # the browser may have ended first
                self._leave()
        finally:
            if chromium is not None:
                chromium.close()

    @property
    def tab(self) -> Tab:
        """The page of the episode, for judges and for scripts that know it."""
        if self._tab is None:
            raise WorldError("no task has begun", "")
        return self._tab

    # -- internals --------------------------------------------------------------------------------

    @contextmanager
    def _watched(self, what: str) -> Iterator[Tab]:
        tab = self.tab
        assert self._chromium is not None
        with self._chromium.watched(what, self._patience_s):
            yield tab

    def _leave(self) -> None:
        tab = self._tab
        self._tab = None
        self._end = None
        self.forget()
        if tab is not None:
            tab.close()

    def _act(self, tab: Tab, action: Action) -> str:
        match action.kind:
            case kind if kind in ENDS:
                self._end = action
            case "open_app":
                return self.open_app(tab, action.app)
            case "home":
                return self.home(tab)
            case "back":
                return self.back(tab)
            case kind:
                if self.moves_first and kind in (*CLICKS, "drag"):
                    move = replace(action, kind="move", modifiers=())
                    perform(tab.page, move, tab.viewport_wh, tab.settle)
                    tab.settle()
                perform(tab.page, action, tab.viewport_wh, lambda: self._pause(tab))
        return ""

    def _pause(self, tab: Tab) -> bool:
        """Wait until the page is quiet within an action, whose time limit then starts again.

        Returns:
            Whether the page has become quiet.
        """
        is_quiet = tab.settle()
        assert self._chromium is not None
        self._chromium.restart_limit()
        return is_quiet

    def _observation(self, tab: Tab, note: str = "") -> Observation:
        is_quiet = tab.settle()
        image = save_screenshot(self._shots, tab.screenshot())
        note = " ".join(filter(None, (note, tab.notes())))
        has_ended = self._end is not None or self.is_over(tab)
        return Observation(image, note, self.app_of(tab), is_quiet, has_ended)

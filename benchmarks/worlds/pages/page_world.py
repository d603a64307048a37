"""A world in a page: what the office and MiniWoB++ share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.worlds.actions import CLICKS, ENDS, Action, Observation, Outcome
from benchmarks.worlds.environment import save_screenshot
from benchmarks.worlds.pages.browser import PATIENCE_S, Chromium, Tab
from benchmarks.worlds.pages.gestures import perform
from utils.contracts import WorldError

Task = dict[str, Any]


class PageWorld(ABC):
    """Shows a page, acts in it, and is asked what has come of it."""

    rests: ClassVar[bool] = False  # the pointer, before it presses: the page may react on it

    def __init__(self, shots: Path, patience_s: float = PATIENCE_S) -> None:
        self._shots, self._patience_s = shots, patience_s
        self._chromium: Chromium | None = None
        self._tab: Tab | None = None
        self._end: Action | None = None  # what the agent ended the episode with

    # -- what each world has of its own -----------------------------------------------------------

    @abstractmethod
    def open(self, task: Task, chromium: Chromium) -> Tab:
        """Makes the page of a task, as it is at the beginning."""

    @abstractmethod
    def judge(self, tab: Tab, end: Action | None) -> Outcome:
        """What the episode has come to; `end` is the agent's last word, if there was one."""

    def forget(self) -> None:  # noqa: B027 - most have nothing to drop
        """Drops what was made for the episode besides its page."""

    def is_over(self, tab: Tab) -> bool:
        """Whether the page takes no further action."""
        return False

    def app_of(self, tab: Tab) -> str:
        """What is in front, for people."""
        return ""

    def open_app(self, tab: Tab, name: str) -> str:
        """Opens an application by its name; what the model is told if that cannot be."""
        return "There are no applications to open here."

    def home(self, tab: Tab) -> str:
        """Goes to where applications are opened from; what the model is told if there is none."""
        return "There is no home screen here."

    def back(self, tab: Tab) -> str:
        """Goes back; what the model is told if that cannot be."""
        return "" if tab.back() else "There is nothing to go back to."

    # -- the world's side of an episode -----------------------------------------------------------

    def reset(self, task: Task) -> Observation:
        """Begins a task in a page of its own."""
        self._leave()
        self._chromium = self._chromium or Chromium.borrow()
        with self._chromium.watched("opening the page", PATIENCE_S):
            self._tab = self.open(task, self._chromium)
            return self._seen(self._tab)

    def observe(self) -> Observation:
        """What there is to see once the page is quiet."""
        with self._watched("reading the screen") as tab:
            return self._seen(tab)

    def step(self, action: Action) -> Observation:
        """Acts, waits until the page is quiet, and says what there is to see.

        Raises:
            WorldError: the page hangs or is gone.
        """
        try:
            with self._watched(str(action)[:80]) as tab:
                note = self._act(tab, action)
                return self._seen(tab, note)
        except WorldError as error:
            raise WorldError(str(error), error.trace, by_action=True) from error

    def rest(self) -> None:
        """Nobody waits for it: the page of the next episode is made ready."""
        if self._chromium is not None:
            with self._chromium.watched("opening the next page", PATIENCE_S):
                self._chromium.rest()

    def evaluate(self) -> Outcome:
        """What the episode has come to."""
        with self._watched("judging the episode") as tab:
            return self.judge(tab, self._end)

    def close(self) -> None:
        """Ends the page and, if no other world of the thread uses it, the browser."""
        chromium, self._chromium = self._chromium, None
        try:
            with suppress(Exception):  # the browser may have gone first
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

    # -- how --------------------------------------------------------------------------------------

    @contextmanager
    def _watched(self, what: str) -> Iterator[Tab]:
        tab = self.tab
        assert self._chromium is not None
        with self._chromium.watched(what, self._patience_s):
            yield tab

    def _leave(self) -> None:
        tab, self._tab, self._end = self._tab, None, None
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
                if self.rests and kind in (*CLICKS, "drag"):
                    move = replace(action, kind="move", modifiers=())
                    perform(tab.page, move, tab.viewport_wh, tab.settle)
                    tab.settle()
                perform(tab.page, action, tab.viewport_wh, lambda: self._pause(tab))
        return ""

    def _pause(self, tab: Tab) -> bool:
        """Waits until the page is quiet in the midst of an action, which may go on as long again.

        Returns:
            Whether the page has become quiet.
        """
        is_quiet = tab.settle()
        assert self._chromium is not None
        self._chromium.still_alive()
        return is_quiet

    def _seen(self, tab: Tab, note: str = "") -> Observation:
        is_quiet = tab.settle()
        image = save_screenshot(self._shots, tab.screenshot())
        note = " ".join(filter(None, (note, tab.notes())))
        has_ended = self._end is not None or self.is_over(tab)
        return Observation(image, note, self.app_of(tab), is_quiet, has_ended)

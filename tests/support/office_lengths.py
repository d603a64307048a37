"""Numbers of gestures in scripted solutions, counted without a browser.

A gesture is a click (a double click or a drag is one), a key press (`ctrl+a` is one) or a typed
text; scrolling and waiting are none. The players for the browser act on an imaginary page: the web
look, with everything that they look for in sight. Lists are as long as the server makes them, and
the right month is always shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from benchmarks.actions.action import ENDS, Action
from benchmarks.worlds.office.apps import mail
from benchmarks.worlds.office.store import Dump
from benchmarks.worlds.office.world import APPS
from tests.support.lab_oracle import LabOracle
from tests.support.office_store import StoreHand
from tests.support.office_tasks import tasks_of

BASIC_GESTURES = 7  # at most
LONG_GESTURES = 25  # at least
LONG_APPLICATIONS = 4  # at least
HIDDEN = (  # in the web look, where no search is under way
    "chat.back",
    "chat.clear",
    "contacts.back",
    "files.back",
    "files.clear",
)
NO_GESTURES = ("scroll", "wait", "move", *ENDS)
REWRITING = ("change", "duplicate", "write", "edit")  # steps that find a text in their fields


TAB = Action("key", keys=("tab",))


def feasible_tasks(suite: Any, level: str, seed: int) -> list[Any]:
    """Return the tasks of a level under a seed; twins of those that cannot be done under it."""
    tasks = []
    for task in tasks_of(level, seed, suite):
        if not task.get("feasible", True):
            [task] = suite.tasks(level, [seed + 2], [task["id"]])
        tasks.append(task)
    return tasks


class _Focus:
    """The name of the focused field: after the Tab key it is the one that is looked for."""

    def __init__(self, is_next: bool) -> None:
        self.is_next = is_next

    def __eq__(self, other: object) -> bool:
        return self.is_next

    __hash__ = None  # type: ignore[assignment]


class PaperWorld:
    """The parts of a world that a player needs, without a page; `hand` has the episode's store."""

    apps: Mapping[str, str] = {**APPS, "jupyterlab": "JupyterLab"}

    def __init__(self, task: Mapping[str, Any]) -> None:
        apps = task["apps"]
        self.hand = StoreHand(dict(task))
        self.app = apps[0] if len(apps) == 1 else ""
        self.gestures: list[Action] = []
        self.text = ""  # of the fields that are looked at
        self.typed = ""
        self.tab = SimpleNamespace(page=self, viewport_wh=(1280, 720))
        self._dump: Dump | None = None
        self._last_name = ""  # of what was looked for last
        self.parent_frame = None

    def count(self, steps: Any) -> int:
        """Return the number of gestures in steps."""
        player = LabOracle(self)
        for step in steps:
            verb = step[0]
            what = verb.partition(" by ")[0].rpartition(".")[2]
            self.text = "..." if what in REWRITING else ""
            player.play([step])
            if verb.partition(".")[0] in APPS:
                self.hand.do(step)
            self._dump = None
        return len(self.gestures)

    def step(self, action: Action) -> None:
        """Take note of an action."""
        if action.kind not in NO_GESTURES:
            self.gestures.append(action)
        self.typed = action.text

    def dump(self) -> Dump:
        """Return the store."""
        if self._dump is None:
            self._dump = self.hand.store.dump()
        return self._dump

    def app_of(self, tab: Any) -> str:
        """Return the title of the open application."""
        return self.apps.get(self.app, "")

    def lab_frame(self, tab: Any) -> Any:
        """Return the page of JupyterLab."""
        return self

    def evaluate(self, script: str, target: Any = None) -> Any:
        """Answer what the players ask of a page."""
        if script == "office.current()":
            return self.app
        if script == "document.activeElement.dataset.t":
            return _Focus(self.gestures[-1:] == [TAB])
        if script == "document.activeElement.value":
            return self.text
        if target is None or not self._is_shown(*target):
            return None
        if target[0] == "shell.app":
            self.app = target[1]
        return {"x": 0.5, "y": 0.5, "scroll": 0, "text": self.text}

    def _is_shown(self, name: str, key: Any) -> bool:
        last_name, self._last_name = self._last_name, name
        if name in HIDDEN:
            return False
        if name == "mail.person" and key is None:
            last = self.typed.rpartition(",")[2].strip()
            return bool(last) and any(
                row["email"].startswith(last) for row in self.dump()["contacts"].values()
            )
        if name == "mail.row" and key is not None and last_name == "mail.folder":
            row = self.dump()["mail"][int(key)]
            listed = self.hand.store.call(mail.list_, {"folder": row["folder"]})["rows"]
            return any(other["id"] == row["id"] for other in listed)
        return True


def lengths(task: Mapping[str, Any]) -> list[int]:
    """Return the number of gestures in each solution of a task's variant."""
    return [PaperWorld(task).count(steps) for steps in (task["oracle"], *task["ways"])]


def tier_of(length: int, application_count: int) -> str:
    """Return the tier of a task by its shortest solution (`utils.protocol.TIERS`)."""
    if length >= LONG_GESTURES or application_count >= LONG_APPLICATIONS:
        return "long"
    if length <= BASIC_GESTURES and application_count == 1:
        return "basic"
    return "standard"

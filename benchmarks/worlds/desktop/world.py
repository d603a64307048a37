"""The desktop as a world: one session for each episode, the next one made ready meanwhile."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.actions.action import ENDS, Action
from benchmarks.worlds.desktop.apps import APPLICATIONS, application_named, application_of
from benchmarks.worlds.desktop.checks import judge
from benchmarks.worlds.desktop.documents import written_files
from benchmarks.worlds.desktop.home import HOME, Files
from benchmarks.worlds.desktop.looks import USUAL
from benchmarks.worlds.desktop.root import root_folder, template_folder, worlds_folder
from benchmarks.worlds.desktop.session import (
    Session,
    quoted,
    remove_stale_folders,
)
from benchmarks.worlds.environment import Observation, Outcome, save_pixels
from utils.contracts import WorldError

Task = dict[str, Any]
OPENING_S = 20.0  # for the screen to become quiet once a task's application has its window
OPENING_QUIET_S = 1.2


class DesktopWorld:
    """One episode at a time, each on a desktop of its own."""

    def __init__(self, shots: Path) -> None:
        self._shots = shots
        self._session: Session | None = None
        self._next: Session | None = None  # is started while nobody waits
        self._task: Task = {}
        self._look = USUAL
        self._before: Files = {}
        self._end: Action | None = None
        remove_stale_folders(worlds_folder())

    def reset(self, task: Task) -> Observation:
        """Begin a task on a fresh desktop, with its files and what it opens."""
        self._leave()
        self._look = task.get("look", USUAL)
        self._session = session = self._take_next()
        self._task, self._end = task, None
        session.start()
        session.add_files(self.files_of(task))
        for path in task.get("open", ()):
            self._open(session, path)
            session.settle(OPENING_QUIET_S, OPENING_S)
        self._before = session.files()
        return self._observation(session)

    def files_of(self, task: Task) -> Files:
        """Return the files that a task begins with."""
        return written_files(task.get("files", {}))

    def step(self, action: Action) -> Observation:
        """Do one action; return the screen once it is quiet.

        Raises:
            WorldError: the desktop is gone.
        """
        session = self.session
        note = ""
        try:
            match action.kind:
                case kind if kind in ENDS:
                    self._end = action
                case "open_app":
                    note = self._open_app(session, action.app)
                case "back":
                    note = "There is nothing to go back to; windows are closed by their buttons."
                case "home":
                    session.press("ctrl", "alt", "d")  # shows the desktop
                case _:
                    session.perform(action)
            return self._observation(session, note)
        except WorldError as error:
            raise WorldError(str(error), error.trace, by_action=True) from error
        except OSError as error:
            raise WorldError(f"the desktop is gone: {error}", "", by_action=True) from error

    def rest(self) -> None:
        """Start a part of the next desktop, without waiting for it; in the layout of this one."""
        if self._next is None:
            self._next = self._new_session()
        self._next.advance()

    def evaluate(self) -> Outcome:
        """Compare the files of the home with what they were at the start."""
        session = self.session
        session.flush()
        end = (self._end.kind, self._end.text) if self._end else ("", "")
        return judge(self._task, self._before, session.files(), *end)

    def close(self) -> None:
        """End all that was started."""
        upcoming, self._next = self._next, None
        self._leave()
        if upcoming is not None:
            upcoming.close()

    @property
    def session(self) -> Session:
        """The desktop of the episode, also for scripts that know it."""
        if self._session is None:
            raise WorldError("no task has begun", "")
        return self._session

    def _take_next(self) -> Session:
        """Return the desktop that was made ready; or a new one, if it is none that can be used."""
        upcoming, self._next = self._next, None
        if upcoming is not None and (upcoming.has_failed or upcoming.look != self._look):
            upcoming.close()
            upcoming = None
        return upcoming or self._new_session()

    def _new_session(self) -> Session:
        return Session(root_folder(), template_folder(), worlds_folder(), self._look)

    def _leave(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def _open(self, session: Session, path: str) -> None:
        """Open a file or folder of the home with its application; or an application by name."""
        if path in APPLICATIONS:
            app = APPLICATIONS[path]
            session.launch(app.command)
            session.wait_for_window(app.window)
            return
        name, _, file = path.partition(":")
        if name in APPLICATIONS:
            app = APPLICATIONS[name]
        else:  # the name of a file may have a colon, too
            app, file = application_of(path), path
        command = app.command.rpartition(" --")[0] if "soffice" in app.command else app.command
        session.launch(f"{command} {quoted(f'/{HOME}/{file}')}")
        session.wait_for_window(app.title_of(file))

    def _open_app(self, session: Session, name: str) -> str:
        """Start an application; return a note for the model where there is none of that name."""
        app = application_named(name)
        if app is None:
            titles = ", ".join(app.title for app in APPLICATIONS.values())
            return f"There is no application {name!r:.60}; there are {titles}."
        count = len(session.x.window_titles())
        session.launch(app.command)
        with suppress(WorldError):  # an application that is open already may show no other window
            session.wait_until(lambda: len(session.x.window_titles()) > count, "", 40.0)
        session.settle(OPENING_QUIET_S, OPENING_S)
        return ""

    def _observation(self, session: Session, note: str = "") -> Observation:
        is_quiet = session.settle_for_screenshot()
        image = save_pixels(self._shots, session.screen.pixels())
        has_ended = self._end is not None
        return Observation(image, note, session.x.active_title(), is_quiet, has_ended)

"""Make the home that every episode begins with: each application was started and left once."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from benchmarks.worlds.desktop.apps import APPLICATIONS, Application
from benchmarks.worlds.desktop.home import write_files
from benchmarks.worlds.desktop.session import Session
from utils.contracts import WorldError

FOLDERS = ("Desktop", "Documents", "Downloads", "Music", "Pictures", "Templates", "Videos")
TRACES = (
    ".cache/",
    ".local/share/recently-used.xbel",
    ".config/libreoffice/4/.lock",
    ".config/libreoffice/4/user/backup/",
)
"""What starting the applications leaves and no episode should begin with."""
LEAVE_TRIES = 20


def make_template(root: Path, skeleton: Path, target: Path, worlds: Path) -> None:
    """Make the home in a folder that is not there yet.

    Args:
        root: the unpacked packages.
        skeleton: files that it begins with.
        target: the folder.
        worlds: where the folders of desktops are.

    Raises:
        WorldError: an application does not start.
    """
    with tempfile.TemporaryDirectory(prefix="mmbench-skeleton-", dir=worlds) as folder:
        first_home = Path(folder)
        shutil.copytree(skeleton, first_home, dirs_exist_ok=True)
        for name in FOLDERS:
            (first_home / name).mkdir(exist_ok=True)
        write_files(first_home, {})  # everybody may read it, and all has the same date
        session = Session(root, first_home, worlds)
        try:
            session.start()
            for app in APPLICATIONS.values():
                _start_and_leave(session, app)
            session.flush()
            files = session.files()
        finally:
            session.close()
    part = target.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    write_files(part, {path: text for path, text in files.items() if not path.startswith(TRACES)})
    (part / ".made").touch()
    part.rename(target)


def _start_and_leave(session: Session, app: Application) -> None:
    session.launch(app.command)
    session.wait_for_window(app.window)
    session.settle(0.4, 20.0)
    for _ in range(LEAVE_TRIES):
        session.press(*app.leave.split("+"))
        if not any(app.window in title for title in session.x.window_titles()):
            session.settle(0.4)
            return
    raise WorldError(f"{app.title} was not left; there are {session.x.window_titles()}", "")

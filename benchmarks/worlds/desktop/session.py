"""A running desktop: two sandboxes, started in order, and what a world does with them.

One sandbox has the X server, the other the session: a message bus, settings, window manager, panel,
desktop, and the applications. They share a folder with the server's socket and nothing else. The
parts start one after the other, each when the one before is there; else colours and focus depend on
which is first.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.actions.action import Action
from benchmarks.worlds.desktop.home import HOME, Files, read_home, write_files
from benchmarks.worlds.desktop.keyboard import Input
from benchmarks.worlds.desktop.looks import LOOKS, USUAL, changed_files
from benchmarks.worlds.desktop.processes import is_busy, name_of, resident_bytes
from benchmarks.worlds.desktop.sandbox import Sandbox, bound, give_to_sandbox, private
from benchmarks.worlds.desktop.screen import (
    LIMIT_S,
    QUIET_S,
    SHORT_QUIET_S,
    SLOW_PROGRAMS,
    Screen,
    settle,
)
from benchmarks.worlds.desktop.x11 import XConnection
from utils.contracts import WorldError

NOW = "2026-03-09 09:00:00"  # Monday
PREFIX = "mmbench-desktop-"
LOCK = "lock"
START_S = 60.0  # for one part of the desktop, slow where much else runs
LAST_QUIET_S, LAST_LIMIT_S = 0.3, 60.0  # before files are judged: a document may be being saved
WINDOW_S = 180.0  # for an application; GIMP takes ten seconds of a processor
MAX_MEMORY_BYTES = 3 << 30
HOME_MB, SCREEN_MB = 192, 16
SOFFICE = "/usr/lib/libreoffice/program/soffice.bin --norestore --nologo"
WARM_OFFICE = f"{SOFFICE} --nodefault --quickstart"
"""Waits for documents without a window. In a new home it ends at once, to be started again."""
VARIABLES = {
    "HOME": f"/{HOME}",
    "USER": "user",
    "LOGNAME": "user",
    "SHELL": "/bin/false",
    "LANG": "en_US.UTF-8",
    "TZ": "UTC",
    "PATH": "/usr/bin",
    "DISPLAY": ":0",
    "XDG_RUNTIME_DIR": "/run/user",
    "XDG_CURRENT_DESKTOP": "XFCE",
    "XDG_CONFIG_DIRS": "/etc/xdg",
    "XDG_DATA_DIRS": "/usr/share",
    "XDG_MENU_PREFIX": "xfce-",
    "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/bus",
    "NO_AT_BRIDGE": "1",
    "GTK_A11Y": "none",
    "GTK_USE_PORTAL": "0",
    "GTK_OVERLAY_SCROLLING": "0",
    "GDK_BACKEND": "x11",
    "GIO_USE_VFS": "local",
    "GSETTINGS_BACKEND": "keyfile",
    "SAL_USE_VCLPLUGIN": "gtk3",
    "LIBGL_ALWAYS_SOFTWARE": "1",
    "OMP_NUM_THREADS": "1",
    "GEGL_THREADS": "1",
    "LD_PRELOAD": "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
    "FAKETIME": f"@{NOW}",
    "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    "FAKETIME_DONT_RESET": "1",
    "NO_FAKE_STAT": "1",
}
"""Of the session. A program's clock begins at `NOW` and runs: where it stood still, LibreOffice's
timers would not end, which bring its toolbars up to date. Nothing is told of the host."""
SERVER_VARIABLES = {name: VARIABLES[name] for name in ("HOME", "LANG", "PATH")}
SERVER_SCRIPT = """exec 3<&0
(read -r line <&3; kill -KILL $$) &
exec Xvfb :0 -screen 0 {}x{}x24 -fbdir /screen -nolisten tcp -noreset -dpi 96 -ac -extension GLX
"""
SESSION_SCRIPT = """umask 077
cp -R --preserve=mode,timestamps,links /template/. ~/
cp -R --preserve=mode,timestamps /look/. ~/
dbus-daemon --session --nofork --nopidfile --address=unix:path=/run/user/bus &
bus=$!
while read -r line; do eval "$line" & done
kill -KILL $bus
"""
"""Both end with their standard input, which is the run's. The kernel ends a sandbox whose run is
killed, but not one that is only being started: it has not asked for that yet."""
SETTINGS_WRITERS = ("xfconfd", "dconf-service")
"""Programs that hold settings for a while before they write them."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of the start."""

    name: str
    start: Callable[[], None]
    is_there: Callable[[], bool]


class Session:
    """One desktop, from its start to its end."""

    def __init__(self, root: Path, template: Path, worlds: Path, look: str = USUAL) -> None:
        """Prepare it; `advance` starts it.

        Args:
            root: the unpacked packages.
            template: the home that it begins with.
            worlds: where its own folder is made.
            look: its layout (`looks.LOOKS`).
        """
        self._root, self._template = root, template
        self.look = look
        self.screen_wh = LOOKS[look].screen_wh
        self._folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=worlds))
        self._lock = (self._folder / LOCK).open("wb")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        give_to_sandbox(self._folder)
        for name in ("x11", "task", "look"):
            (self._folder / name).mkdir()
            give_to_sandbox(self._folder / name)
        (self._folder / "task").chmod(0o755)
        write_files(self._folder / "look", changed_files(LOOKS[look], template))
        self._sandboxes: list[Sandbox] = []
        self._copies = 0
        self._stages = self._all_stages()
        self._stage: Stage | None = None

    # -- its start --------------------------------------------------------------------------------

    def advance(self) -> bool:
        """Start the next part, if the one before is there; never wait. Whether all is there."""
        if self._stage is not None and not self._stage.is_there():
            return False
        if not self._stages:
            return True
        self._stage = self._stages.pop(0)
        self._stage.start()
        return False

    def start(self) -> None:
        """Start all that is not there yet, and wait for it.

        Raises:
            WorldError: a part does not come.
        """
        ends_s = time.monotonic() + START_S
        stage_count = len(self._stages)
        while not self.advance():
            if len(self._stages) < stage_count:
                stage_count, ends_s = len(self._stages), time.monotonic() + START_S
            if time.monotonic() > ends_s or self.has_failed:
                part = self._stage.name if self._stage else "it"
                raise WorldError(f"the desktop did not start: no {part}", self._outputs())
            time.sleep(0.02)
        self.settle(0.2, 15.0)

    def _all_stages(self) -> list[Stage]:
        """Return the stages of the start, in order."""

        def program(name: str, command: str, is_there: Callable[[], bool]) -> Stage:
            return Stage(name, lambda: self.launch(command), is_there)

        return [
            Stage("X server", self._start_server, self._connect),
            Stage("session", self._start_session, self._has_bus),
            program(
                "settings",
                "xfsettingsd --disable-wm-check --replace --no-daemon",
                lambda: self.x.has_owner("_XSETTINGS_S0"),
            ),
            program(
                "window manager",
                "xfwm4 --compositor=off",
                lambda: self.x.has_property("_NET_SUPPORTING_WM_CHECK"),
            ),
            program(
                "panel",
                f"FAKETIME='{NOW}' xfce4-panel --disable-wm-check",  # its clock stands still
                lambda: "xfce4-panel" in self.x.window_titles(),
            ),
            program(
                "desktop",
                "xfdesktop --disable-wm-check",
                lambda: "Desktop" in self.x.window_titles() and not is_busy(self.pids()),
            ),
            program(
                "LibreOffice",
                f"{WARM_OFFICE} || {WARM_OFFICE}",
                lambda: self._has_office() and not is_busy(self.pids()),
            ),
        ]

    def _start_server(self) -> None:
        places = [
            *("--dir", "/tmp/.X11-unix"),
            *bound("/tmp/.X11-unix", self._folder / "x11", writable=True),
            *private("/screen", SCREEN_MB),
        ]
        script = SERVER_SCRIPT.format(*self.screen_wh)
        self._sandboxes.append(Sandbox(self._root, places, SERVER_VARIABLES, script))

    def _connect(self) -> bool:
        """Connect to the server, if it takes connections; then it has a screen, too."""
        inside = self._sandboxes[0].inside()
        if inside is None:
            return False
        with suppress(OSError, ValueError):
            self.screen = Screen(inside / "screen/Xvfb_screen0", self.screen_wh)
            self.x = XConnection(self._folder / "x11/X0")
            self.input = Input(self.x)
            return True
        return False

    def _start_session(self) -> None:
        places = [
            *("--dir", "/tmp/.X11-unix"),
            *bound("/tmp/.X11-unix", self._folder / "x11"),
            *bound("/template", self._template),
            *bound("/look", self._folder / "look"),
            *bound("/task", self._folder / "task"),
            *private(f"/{HOME}", HOME_MB),
            *("--chdir", f"/{HOME}"),
        ]
        self._sandboxes.append(Sandbox(self._root, places, VARIABLES, SESSION_SCRIPT))

    def _has_bus(self) -> bool:
        return (self._inside() / "run/user/bus").exists()

    def _has_office(self) -> bool:
        return any((self._inside() / "tmp").glob("OSL_PIPE*"))

    def _inside(self) -> Path:
        inside = self._sandboxes[1].inside()
        return inside if inside is not None else Path("/nonexistent")

    # -- what runs in it --------------------------------------------------------------------------

    def launch(self, command: str) -> None:
        """Start a program of the root, as its launcher would."""
        self._sandboxes[1].send(f"{command} </dev/null")

    def add_files(self, files: Mapping[str, bytes]) -> None:
        """Put files into the home, and wait until they are there."""
        folder = self._folder / "task"
        write_files(folder, files)
        self._copies += 1
        done = self._inside() / f"run/user/copied-{self._copies}"
        copy = "cp -R --preserve=mode,timestamps /task/. ~/"
        self.launch(f"{copy} && touch /run/user/{done.name}")
        self.wait_until(done.exists, "the files of the task are not there")
        for path in folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def wait_for_window(self, title: str) -> None:
        """Wait until there is a window with that text in its title."""
        self.wait_until(
            lambda: any(title in each_title for each_title in self.x.window_titles()),
            f"there is no window {title!r}",
            WINDOW_S,
        )

    def wait_until(self, is_so: Callable[[], bool], problem: str, limit_s: float = START_S) -> None:
        """Wait for something.

        Raises:
            WorldError: it does not come.
        """
        ends_s = time.monotonic() + limit_s
        while not is_so():
            if time.monotonic() > ends_s or not self.is_running:
                titles = self.x.window_titles()
                raise WorldError(f"{problem}; there are {titles}", self._outputs())
            time.sleep(0.02)

    def _outputs(self) -> str:
        return "\n".join(box.output() for box in self._sandboxes)

    @property
    def is_running(self) -> bool:
        """Whether both sandboxes are there."""
        return len(self._sandboxes) == 2 and not self.has_failed

    @property
    def has_failed(self) -> bool:
        """Whether a part that was started has ended."""
        return not all(box.is_running for box in self._sandboxes)

    def pids(self) -> list[int]:
        """Return all processes of the desktop."""
        return [pid for sandbox in self._sandboxes for pid in sandbox.pids()]

    def settle(self, quiet_s: float = QUIET_S, limit_s: float = LIMIT_S) -> bool:
        """Wait until the screen is quiet and nothing runs; whether it became so in time.

        Raises:
            WorldError: the desktop is gone, or takes more memory than it may.
        """
        self.x.sync()
        is_quiet = settle(self.screen, self._pids_within_memory, quiet_s, limit_s)
        if not self.is_running:
            raise WorldError("the desktop has ended", self._sandboxes[-1].output())
        return is_quiet

    def _pids_within_memory(self) -> list[int]:
        """Return all processes; a `WorldError` if they take more memory than they may."""
        pids = self.pids()
        if resident_bytes(pids) > MAX_MEMORY_BYTES:
            raise WorldError(f"the desktop takes more than {MAX_MEMORY_BYTES >> 20} MiB", "")
        return pids

    def settle_for_screenshot(self) -> bool:
        """Wait for what programs draw late, too; whether the screen became quiet in time."""
        names = {name_of(pid) for pid in self.pids()}
        return self.settle(max([QUIET_S, *(SLOW_PROGRAMS.get(name, 0.0) for name in names)]))

    def perform(self, action: Action) -> None:
        """Do an action of mouse or keyboard, without waiting for its end."""
        self.input.perform(action, self.screen_wh, lambda: self.settle(SHORT_QUIET_S))

    def press(self, *keys: str) -> None:
        """Press keys together, and wait until the screen is quiet."""
        self.perform(Action("key", keys=keys))
        self.settle(SHORT_QUIET_S)

    # -- its files --------------------------------------------------------------------------------

    def flush(self) -> None:
        """Have written what programs still hold or are about to write.

        Those that keep settings for a while end by it.
        """
        self.settle(LAST_QUIET_S, LAST_LIMIT_S)
        for pid in self.pids():
            if name_of(pid) in SETTINGS_WRITERS:
                with suppress(OSError):
                    os.kill(pid, signal.SIGTERM)
        self.settle(LAST_QUIET_S, LAST_LIMIT_S)

    def files(self) -> Files:
        """Return the files of the home as they are now."""
        return read_home(self._inside())

    def close(self) -> None:
        """End it, from whatever state, and delete its folder."""
        with suppress(Exception):
            self.x.close()
        for sandbox in reversed(self._sandboxes):
            sandbox.end()
        self._sandboxes = []
        shutil.rmtree(self._folder, ignore_errors=True)
        self._lock.close()


def quoted(*parts: str) -> str:
    """Return a command line of these parts."""
    return shlex.join(parts)


def remove_stale_folders(worlds: Path) -> None:
    """Delete the folders of desktops whose run was killed: nobody holds their locks."""
    for folder in worlds.glob(f"{PREFIX}*"):
        pid = folder.name.removeprefix(PREFIX).partition("-")[0]
        if Path(f"/proc/{pid}").exists():
            continue
        with suppress(OSError), (folder / LOCK).open("rb") as lock:  # else it is in use elsewhere
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)

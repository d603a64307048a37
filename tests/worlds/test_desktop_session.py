"""How a desktop starts, waits and ends, with sandboxes that only write down what is done."""

import signal
from types import SimpleNamespace

import pytest

from benchmarks.actions.action import Action
from benchmarks.worlds.desktop import session as module
from benchmarks.worlds.desktop.root import SKELETON
from benchmarks.worlds.desktop.screen import LIMIT_S, QUIET_S
from benchmarks.worlds.desktop.session import MAX_MEMORY_BYTES, START_S, Session
from utils.contracts import WorldError

PARTS = [
    "xfsettingsd",
    "xfwm4",
    "FAKETIME='2026-03-09 09:00:00' xfce4-panel",
    "xfdesktop",
    "/usr/lib/libreoffice/program/soffice.bin",
]


class Machine:
    """Two sandboxes, their X server, a clock; programs come as soon as they are started."""

    def __init__(self, folder):
        self.folder = folder
        self.sandboxes = []
        self.titles = []
        self.owners, self.properties = set(), set()
        self.settled = []  # seconds of quiet and the limit
        self.slept_s = 0.0
        self.lost = ""  # a program that does not come
        self.dies = ""  # a program whose start ends the session
        self.memory_bytes = 0
        self.names = {}  # of processes
        self.killed = []
        self.busy = False

    def sandbox(self, root, places, variables, script):
        self.sandboxes.append(StandInSandbox(self, places, variables, script))
        return self.sandboxes[-1]

    def screen(self, file, screen_wh):
        if not file.exists():
            raise FileNotFoundError(file)
        return SimpleNamespace(file=file, wh=screen_wh)

    def connection(self, path):
        self.x = SimpleNamespace(
            has_owner=self.owners.__contains__,
            has_property=self.properties.__contains__,
            window_titles=lambda: list(self.titles),
            sync=lambda: None,
            close=lambda: self.killed.append("connection"),
        )
        return self.x

    def run(self, line):
        """What a program does that is started: it is there."""
        if self.dies and line.startswith(self.dies):
            self.sandboxes[-1].is_running = False
            return
        if self.lost and line.startswith(self.lost):
            return
        inside = self.sandboxes[-1].inside()
        if line.startswith("xfsettingsd"):
            self.owners.add("_XSETTINGS_S0")
        elif line.startswith("xfwm4"):
            self.properties.add("_NET_SUPPORTING_WM_CHECK")
        elif "xfce4-panel" in line:
            self.titles.append("xfce4-panel")
        elif line.startswith("xfdesktop"):
            self.titles.append("Desktop")
        elif "soffice" in line:
            (inside / "tmp/OSL_PIPE_1").touch()
        elif "touch /run/user/" in line:
            name = line.partition("touch /run/user/")[2].split()[0]
            (inside / "run/user" / name).touch()

    def sleep(self, seconds):
        self.slept_s += seconds

    def settle(self, screen, pids, quiet_s, limit_s):
        pids()
        self.settled.append((quiet_s, limit_s))
        return not self.busy


class StandInSandbox:
    """One sandbox; its root is a folder of the test."""

    def __init__(self, machine, places, variables, script):
        self.machine, self.places, self.variables = machine, places, variables
        self.script = script
        self.number = len(machine.sandboxes)
        self.root = machine.folder / f"inside {self.number}"
        for name in ("run/user", "tmp", "screen", "home/user"):
            (self.root / name).mkdir(parents=True)
        self.is_there = True
        self.is_running = True
        self.lines = []
        if "Xvfb" in script:
            (self.root / "screen/Xvfb_screen0").touch()
        else:
            (self.root / "run/user/bus").touch()

    def inside(self):
        return self.root if self.is_there else None

    def send(self, line):
        self.lines.append(line)
        self.machine.run(line)

    def pids(self):
        return [10 * self.number + 1, 10 * self.number + 2]

    def output(self):
        return f"log {self.number}"

    def end(self):
        self.is_running = False
        self.machine.killed.append(self.number)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    machine = Machine(tmp_path)
    monkeypatch.setattr(module, "Sandbox", machine.sandbox)
    monkeypatch.setattr(module, "Screen", machine.screen)
    monkeypatch.setattr(module, "XConnection", machine.connection)
    monkeypatch.setattr(module, "Input", lambda x: machine)
    monkeypatch.setattr(module, "settle", machine.settle)
    monkeypatch.setattr(module, "give_to_sandbox", lambda folder: None)
    monkeypatch.setattr(module, "is_busy", lambda pids: machine.busy)
    monkeypatch.setattr(module, "resident_bytes", lambda pids: machine.memory_bytes)
    monkeypatch.setattr(module, "name_of", lambda pid: machine.names.get(pid, ""))
    monkeypatch.setattr(module.os, "kill", lambda *call: machine.killed.append(call))
    monkeypatch.setattr(module.time, "sleep", machine.sleep)
    monkeypatch.setattr(module.time, "monotonic", lambda: machine.slept_s)
    return machine


@pytest.fixture
def session(machine, tmp_path):
    worlds = tmp_path / "worlds"
    worlds.mkdir()
    session = Session(tmp_path / "root", SKELETON, worlds, "top")
    yield session
    session.close()


@pytest.fixture
def started(session, machine):
    session.start()
    machine.settled.clear()
    return session


def begun(machine):
    """The programs that were started so far."""
    lines = machine.sandboxes[1].lines if len(machine.sandboxes) > 1 else []
    return [next(part for part in PARTS if line.startswith(part)) for line in lines]


def test_each_part_is_started_when_the_one_before_is_there(session, machine):
    counts = []
    while not session.advance():
        counts.append((len(machine.sandboxes), len(begun(machine))))
    assert counts == [(1, 0), (2, 0), (2, 1), (2, 2), (2, 3), (2, 4), (2, 5)]
    assert begun(machine) == PARTS
    assert session.advance() and len(begun(machine)) == 5


def test_the_screen_and_the_session_see_what_they_need_and_nothing_else(started, machine):
    server, desktop = machine.sandboxes
    assert "Xvfb :0 -screen 0 1280x720x24" in server.script and "/template" not in server.places
    assert "/template" in desktop.places and "DISPLAY" not in server.variables
    assert desktop.variables["DISPLAY"] == ":0"
    assert started.screen.wh == (1280, 720)


def test_a_server_that_is_not_there_yet_is_waited_for(session, machine):
    session.advance()
    server = machine.sandboxes[0]
    server.is_there = False
    assert not session.advance()
    server.is_there = True
    (server.root / "screen/Xvfb_screen0").unlink()
    assert not session.advance() and len(machine.sandboxes) == 1
    (server.root / "screen/Xvfb_screen0").touch()
    session.advance()
    assert len(machine.sandboxes) == 2


def test_a_session_whose_folder_is_not_there_yet_is_waited_for(session, machine):
    session.advance()
    session.advance()
    machine.sandboxes[1].is_there = False
    assert not session.advance() and begun(machine) == []
    machine.sandboxes[1].is_there = True
    session.advance()
    assert begun(machine) == PARTS[:1]


@pytest.mark.parametrize(
    ("lost", "name", "count"),
    [
        ("xfsettingsd", "settings", 1),
        ("xfwm4", "window manager", 2),
        ("FAKETIME", "panel", 3),
        ("xfdesktop", "desktop", 4),
        ("/usr/lib/libreoffice", "LibreOffice", 5),
    ],
)
def test_a_part_that_does_not_come_is_named_after_its_time(session, machine, lost, name, count):
    machine.lost = lost
    with pytest.raises(WorldError, match=f"the desktop did not start: no {name}$") as caught:
        session.start()
    assert caught.value.trace == "log 0\nlog 1"
    assert START_S < machine.slept_s < START_S + 0.5
    assert begun(machine) == PARTS[:count]


def test_a_part_that_ends_is_not_waited_for(session, machine):
    machine.dies = "xfwm4"
    with pytest.raises(WorldError, match="no window manager"):
        session.start()
    assert machine.slept_s < 1


def test_a_program_that_still_works_is_not_there_yet(session, machine):
    machine.busy = True
    with pytest.raises(WorldError, match="no desktop"):
        session.start()


def test_files_of_a_task_are_copied_into_the_home_and_not_left_outside(started, machine):
    started.add_files({"a.txt": b"x", "b/c.txt": b"y"})
    started.add_files({"d.txt": b"z"})
    first, second = machine.sandboxes[1].lines[-2:]
    assert "touch /run/user/copied-1 " in first and "touch /run/user/copied-2 " in second
    [folder] = (machine.folder / "worlds").glob("*/task")
    assert [*folder.iterdir()] == []


def test_files_that_do_not_arrive_are_said(started, machine):
    machine.lost = "cp "
    with pytest.raises(WorldError, match=r"files of the task are not there; there are \['xfce4-p"):
        started.add_files({"a.txt": b"x"})


def test_a_window_is_known_by_a_part_of_its_title(started, machine):
    machine.titles.append("notes.txt - Mousepad")
    started.wait_for_window("notes.txt")
    with pytest.raises(WorldError, match=r"there is no window 'other.txt'; there are \[") as caught:
        started.wait_for_window("other.txt")
    assert "log 1" in caught.value.trace


def test_nothing_is_waited_for_where_the_desktop_has_ended(started, machine):
    machine.sandboxes[0].is_running = False
    slept_s = machine.slept_s
    with pytest.raises(WorldError, match="there is no window"):
        started.wait_for_window("other.txt")
    assert machine.slept_s == slept_s
    assert started.has_failed and not started.is_running


@pytest.mark.parametrize("busy", [True, False])
def test_the_screen_is_quiet_or_not(started, machine, busy):
    machine.busy = busy
    assert started.settle() is not busy
    assert machine.settled == [(QUIET_S, LIMIT_S)]


def test_a_desktop_that_has_ended_is_no_quiet_one(started, machine):
    machine.sandboxes[1].is_running = False
    with pytest.raises(WorldError, match="the desktop has ended") as caught:
        started.settle()
    assert caught.value.trace == "log 1"


@pytest.mark.parametrize(("over", "is_error"), [(0, False), (1, True)])
def test_a_desktop_may_take_so_much_memory_and_no_more(started, machine, over, is_error):
    machine.memory_bytes = MAX_MEMORY_BYTES + over
    if not is_error:
        assert started.settle()
        return
    with pytest.raises(WorldError, match="more than 3072 MiB"):
        started.settle()


@pytest.mark.parametrize(("name", "quiet_s"), [("gimp-2.10", 1.3), ("mousepad", QUIET_S)])
def test_before_a_screenshot_slow_programs_get_more_time(started, machine, name, quiet_s):
    machine.names = {11: "xfwm4", 12: name}
    started.settle_for_screenshot()
    assert machine.settled == [(quiet_s, LIMIT_S)]


def test_keys_are_pressed_and_waited_for(started, machine):
    performed = []
    machine.perform = lambda action, screen_wh, settle: performed.append((action, screen_wh))
    started.press("ctrl", "s")
    assert performed == [(Action("key", keys=("ctrl", "s")), (1280, 720))]
    assert len(machine.settled) == 1


def test_before_files_are_judged_programs_that_hold_settings_are_ended(started, machine):
    machine.names = {1: "Xvfb", 11: "xfconfd", 12: "mousepad"}
    started.flush()
    assert machine.killed == [(11, signal.SIGTERM)]
    assert len(machine.settled) == 2


def test_a_program_that_has_just_gone_is_not_missed(started, machine, monkeypatch):
    def gone(pid, number):
        raise ProcessLookupError

    monkeypatch.setattr(module.os, "kill", gone)
    machine.names = {11: "dconf-service"}
    started.flush()
    assert len(machine.settled) == 2


def test_files_are_those_of_the_home(started, machine):
    (machine.sandboxes[1].root / "home/user/a.txt").write_bytes(b"x")
    assert started.files() == {"a.txt": b"x"}


def test_a_desktop_ends_from_its_last_part_to_its_first_and_leaves_no_folder(started, machine):
    assert len([*(machine.folder / "worlds").iterdir()]) == 1
    started.close()
    started.close()
    assert machine.killed == ["connection", 1, 0, "connection"]
    assert [*(machine.folder / "worlds").iterdir()] == []


def test_a_desktop_that_was_never_started_can_be_closed(session, machine):
    session.close()
    assert machine.killed == []
    assert [*(machine.folder / "worlds").iterdir()] == []

"""What a world of the desktop does with its sessions: sessions that only write down what is done."""

import fcntl
import os
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from benchmarks.actions.action import Action
from benchmarks.worlds.desktop import world as module
from benchmarks.worlds.desktop.apps import APPLICATIONS, application_named, application_of
from benchmarks.worlds.desktop.osworld.world import OSWorldDesktop
from benchmarks.worlds.desktop.session import LOCK, PREFIX, quoted, remove_stale_folders
from benchmarks.worlds.desktop.world import DesktopWorld
from tests.support.osworld_tasks import COSTS, xlsx
from utils.contracts import WorldError


class RecordedSession:
    """A desktop on which every program opens a window, and nothing else happens."""

    screen = SimpleNamespace(pixels=lambda: np.zeros((2, 3, 3), np.uint8))

    def __init__(self, look):
        self.look = look
        self.done = []
        self.home = {}
        self.titles = []
        self.x = self
        self.has_failed = False
        self.is_quiet = True
        self.error = None

    def start(self):
        self.done.append("start")

    def advance(self):
        self.done.append("advance")

    def add_files(self, files):
        self.home |= files

    def files(self):
        return dict(self.home)

    def launch(self, command):
        if self.error is not None:
            raise self.error
        self.done.append(f"launch {command}")
        self.titles.append(command)

    def wait_for_window(self, title):
        self.done.append(f"window {title}")

    def wait_until(self, is_so, problem, limit_s):
        if not is_so():
            raise WorldError("it does not come", "")

    def settle(self, *seconds):
        self.done.append("settle")

    def settle_for_screenshot(self):
        return self.is_quiet

    def press(self, *keys):
        self.done.append("+".join(keys))

    def perform(self, action):
        if self.error is not None:
            raise self.error
        self.done.append(action)

    def flush(self):
        self.done.append("flush")

    def close(self):
        self.done.append("close")

    def window_titles(self):
        return list(self.titles)

    def active_title(self):
        return "in front"

    def launched(self):
        return [text for text in self.done if text.startswith(("launch", "window"))]


@pytest.fixture
def sessions(monkeypatch, tmp_path):
    """All sessions that were begun, in order."""
    begun = []

    def begin(root, template, worlds, look):
        begun.append(RecordedSession(look))
        return begun[-1]

    monkeypatch.setattr(module, "Session", begin)
    for name in ("root_folder", "template_folder", "worlds_folder"):
        monkeypatch.setattr(module, name, lambda: tmp_path)
    return begun


@pytest.fixture
def world(sessions, tmp_path):
    return DesktopWorld(tmp_path)


def task(**fields):
    return {"look": "top", "edits": [], **fields}


def test_an_episode_begins_on_a_desktop_with_the_files_of_its_task(world, sessions):
    observation = world.reset(task(files={"a.txt": "one", "b/": ""}))
    [session] = sessions
    assert session.home == {"a.txt": b"one", "b/": b""}
    assert session.done[0] == "start" and session.look == "top"
    assert Image.open(observation.image).size == (3, 2)
    assert (observation.app, observation.state_ok, observation.note) == ("in front", True, "")
    assert not observation.has_ended


@pytest.mark.parametrize(
    ("path", "command", "window"),
    [
        ("calc", APPLICATIONS["calc"].command, "Calc"),
        ("Documents/a.ods", "{office} /home/user/Documents/a.ods", "a.ods"),
        ("my notes.txt", "mousepad '/home/user/my notes.txt'", "my notes.txt"),
        ("Documents/", "thunar /home/user/Documents/", "Documents"),
        ("gimp:a.png", "gimp-2.10 -n --no-splash /home/user/a.png", "[a]"),
        ("editor:a.html", "mousepad /home/user/a.html", "a.html"),
        ("at 10:30.txt", "mousepad '/home/user/at 10:30.txt'", "at 10:30.txt"),
        ("editor:at 10:30.html", "mousepad '/home/user/at 10:30.html'", "at 10:30.html"),
    ],
)
def test_a_task_opens_a_file_with_the_application_for_it(world, sessions, path, command, window):
    office = APPLICATIONS["calc"].command.removesuffix(" --calc")
    world.reset(task(open=[path]))
    expected = [f"launch {command.format(office=office)}", f"window {window}"]
    assert sessions[0].launched() == expected


def test_the_next_desktop_is_made_ready_in_the_layout_of_this_one(world, sessions):
    world.reset(task(look="dark"))
    world.rest()
    world.rest()
    world.reset(task(look="dark"))
    first, second = sessions
    assert second.done[:3] == ["advance", "advance", "start"]
    assert "close" in first.done and second.look == "dark"


@pytest.mark.parametrize(("look", "has_failed"), [("large", False), ("top", True)])
def test_a_desktop_that_was_made_ready_in_vain_is_closed(world, sessions, look, has_failed):
    world.reset(task())
    world.rest()
    sessions[1].has_failed = has_failed
    world.reset(task(look=look))
    assert sessions[1].done == ["advance", "close"]
    assert sessions[2].look == look and sessions[2].done[0] == "start"


def test_closing_ends_this_desktop_and_the_next_one(world, sessions):
    world.close()
    world.reset(task())
    world.rest()
    world.close()
    world.close()
    assert [session.done.count("close") for session in sessions] == [1, 1]
    with pytest.raises(WorldError, match="no task has begun"):
        world.step(Action("wait", seconds=1))


def test_an_action_is_done_on_the_desktop_and_its_screen_is_returned(world, sessions):
    world.reset(task())
    sessions[0].is_quiet = False
    click = Action("click", point=(0.5, 0.5))
    observation = world.step(click)
    assert sessions[0].done[-1] == click
    assert not observation.state_ok and not observation.has_ended


def test_home_shows_the_desktop_and_back_says_that_there_is_none(world, sessions):
    world.reset(task())
    before = len(sessions[0].done)
    assert "nothing to go back to" in world.step(Action("back")).note
    assert len(sessions[0].done) == before
    assert world.step(Action("home")).note == ""
    assert sessions[0].done[-1] == "ctrl+alt+d"


@pytest.mark.parametrize("kind", ["done", "fail", "answer"])
def test_an_episode_has_ended_when_the_model_says_so(world, kind):
    world.reset(task())
    assert world.step(Action(kind, text="x")).has_ended
    assert not world.reset(task()).has_ended


def test_an_application_is_started_by_its_name(world, sessions):
    world.reset(task())
    assert world.step(Action("open_app", app="text editor")).note == ""
    assert sessions[0].launched() == ["launch mousepad"]


def test_an_application_that_shows_no_other_window_is_no_failure(world, sessions):
    world.reset(task())
    titles = ["Calculator"]
    sessions[0].window_titles = lambda: titles
    assert world.step(Action("open_app", app="calculator")).note == ""


def test_of_an_application_that_is_not_there_the_others_are_named(world, sessions):
    world.reset(task())
    note = world.step(Action("open_app", app="Firefox")).note
    assert note.startswith("There is no application 'Firefox'; there are LibreOffice Calc, ")
    assert sessions[0].launched() == []


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (WorldError("the desktop has ended", "a log"), "the desktop has ended"),
        (BrokenPipeError("broken"), "the desktop is gone: broken"),
    ],
)
def test_a_desktop_that_an_action_ends_is_said_to_have_ended_by_it(world, sessions, error, text):
    world.reset(task())
    sessions[0].error = error
    with pytest.raises(WorldError) as caught:
        world.step(Action("click", point=(0, 0)))
    assert (str(caught.value), caught.value.by_action) == (text, True)
    assert caught.value.trace == getattr(error, "trace", "")


def test_an_episode_is_judged_by_what_has_become_of_the_files(world, sessions):
    edits = [["write", "b.txt", ["two"]]]
    world.reset(task(files={"a.txt": "one"}, edits=edits))
    world.step(Action("done"))
    assert not world.evaluate().success
    sessions[0].home["b.txt"] = b"two\n"
    assert world.evaluate().success
    assert sessions[0].done[-1] == "flush"
    sessions[0].home["a.txt"] = b"another"
    assert not world.evaluate().success


def test_an_episode_that_was_cut_short_is_no_success(world, sessions):
    world.reset(task(edits=[["write", "b.txt", ["two"]]]))
    sessions[0].home["b.txt"] = b"two\n"
    assert not world.evaluate().success


# -- applications ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("LibreOffice Calc", "calc"),
        ("libreoffice-calc", "calc"),
        ("Calc", "calc"),
        (" TEXT editor ", "editor"),
        ("GIMP", "gimp"),
        ("pdf", "pdf"),
        ("Calculator", "calculator"),
        ("LibreOffice", None),
        ("Firefox", None),
        ("", None),
        ("!", None),
    ],
)
def test_an_application_is_known_by_name_and_title(text, name):
    assert application_named(text) == (name and APPLICATIONS[name])


def test_a_file_is_opened_by_the_application_of_its_ending():
    endings = {"a.xlsx": "calc", "a.docx": "writer", "b/": "files", "a.pdf": "pdf"}
    for path, name in endings.items():
        assert application_of(path) == APPLICATIONS[name]


# -- tasks in OSWorld's form -----------------------------------------------------------------------


@pytest.fixture
def osworld(sessions, tmp_path):
    folder = tmp_path / "tasks/files"
    folder.mkdir(parents=True)
    (folder / "gold.xlsx").write_bytes(xlsx(COSTS))
    return OSWorldDesktop(tmp_path, folder=str(tmp_path / "tasks"))


IS_AS_GOLD = {
    "function": "compare_table",
    "path": "costs.xlsx",
    "options": {"rules": [{"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": "EI0"}]},
    "expected": {"file": "files/gold.xlsx"},
}
HAS_MILK = {
    "function": "file_contains",
    "path": "list.txt",
    "options": {},
    "rules": {"expected": ["milk"]},
}


def osworld_task(*checks, conjunction="and", actions=()):
    files = {"costs.xlsx": {"file": "files/gold.xlsx"}}
    return {"files": files, "checks": checks, "conjunction": conjunction, "actions": actions}


@pytest.mark.parametrize(
    ("conjunction", "text", "end", "is_success"),
    [
        ("and", b"milk", "done", True),
        ("and", b"tea", "done", False),
        ("and", b"milk", "fail", False),
        ("and", b"milk", None, True),  # as in OSWorld: the state alone counts
        ("or", b"tea", "done", True),
    ],
)
def test_its_functions_judge_together(osworld, sessions, conjunction, text, end, is_success):
    osworld.reset(osworld_task(IS_AS_GOLD, HAS_MILK, conjunction=conjunction))
    sessions[0].home["list.txt"] = text
    if end:
        osworld.step(Action(end))
    outcome = osworld.evaluate()
    assert outcome.success is is_success
    has_milk = text == b"milk"
    assert outcome.lines[1:] == [
        (True, "compare_table: costs.xlsx is as expected"),
        (has_milk, f"file_contains: list.txt {'is' if has_milk else 'is not'} as expected"),
    ]


def test_a_file_that_is_not_there_or_cannot_be_read_is_not_as_expected(osworld, sessions):
    osworld.reset(osworld_task(IS_AS_GOLD, HAS_MILK))
    sessions[0].home["costs.xlsx"] = b"no table"
    [_, (is_table, table), (is_list, text)] = osworld.evaluate().lines
    assert not is_table and table.startswith("compare_table: costs.xlsx cannot be read (")
    assert not is_list and text == "file_contains: list.txt is not there"


def test_before_judging_the_keys_of_the_evaluator_are_pressed(osworld, sessions):
    actions = [{"kind": "key", "keys": ["ctrl", "s"]}, {"kind": "wait", "seconds": 1}]
    osworld.reset(osworld_task(actions=actions))
    osworld.evaluate()
    save, settle, wait = sessions[0].done[-5:-2]
    assert save == Action("key", keys=("ctrl", "s")) and settle == "settle"
    assert (wait.kind, wait.seconds) == ("wait", 1)
    assert sessions[0].done[-1] == "flush"


@pytest.mark.parametrize(("end", "is_success"), [("fail", True), ("done", False), (None, False)])
def test_a_task_that_cannot_be_done_is_solved_by_saying_so(osworld, end, is_success):
    osworld.reset({"feasible": False, "files": {}})
    if end:
        osworld.step(Action(end))
    assert osworld.evaluate().success is is_success


# -- folders that were left behind -----------------------------------------------------------------


def test_folders_of_runs_that_were_killed_are_deleted_and_no_others(tmp_path):
    gone = 2**22 + 7  # above the highest number of a process
    names = {
        "stale": f"{PREFIX}{gone}-a",
        "of this process": f"{PREFIX}{os.getpid()}-b",
        "without a lock": f"{PREFIX}{gone}-c",
        "of another program": "another",
    }
    for what, name in names.items():
        (tmp_path / name).mkdir()
        if what != "without a lock":
            (tmp_path / name / LOCK).touch()
    remove_stale_folders(tmp_path)
    left = {what for what, name in names.items() if (tmp_path / name).exists()}
    assert left == names.keys() - {"stale"}


def test_a_folder_whose_lock_somebody_holds_stays(tmp_path):
    folder = tmp_path / f"{PREFIX}{2**22 + 7}-a"  # of another machine, or another namespace
    folder.mkdir()
    with (folder / LOCK).open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        remove_stale_folders(tmp_path)
        assert folder.exists()
    remove_stale_folders(tmp_path)
    assert not folder.exists()


def test_a_command_line_keeps_its_parts():
    assert quoted("mousepad", "/home/user/a b's.txt") == "mousepad '/home/user/a b'\"'\"'s.txt'"

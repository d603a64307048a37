"""The desktop as a world: begun afresh, the same each time, with all characters, and gone at the end."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image

from benchmarks.actions.action import Action
from benchmarks.worlds.desktop.looks import LOOKS
from benchmarks.worlds.desktop.processes import name_of
from benchmarks.worlds.desktop.root import desktop_folder, worlds_folder
from benchmarks.worlds.desktop.session import PREFIX, remove_stale_folders
from benchmarks.worlds.desktop.suite import open_world
from benchmarks.worlds.desktop.tasks import tasks
from tests.support.desktop import need_desktop
from tests.support.desktop_play import Player

TEXT_TASK = {"files": {"Documents/a.txt": "first\n"}, "open": ["Documents/a.txt"]}
TYPED = "Grüße, “naïve” €5 → ≤ 10 – Łódź; Привет, 東京 and ∞!"
HOLDER = """
import sys, time
from pathlib import Path
from benchmarks.worlds.desktop.suite import open_world
world = open_world(Path(sys.argv[1]))
world.reset({"files": {}})
for _ in range(9):
    world.rest()
print(*world.session.pids(), flush=True)
time.sleep(600)
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    need_desktop()
    world = open_world(tmp_path_factory.mktemp("shots"))
    yield world
    world.close()


def play(world, task, steps):
    world.reset(task)
    player = Player(world)
    player.play(steps)
    return player


def is_gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def all_are_gone(pids, limit_s=20.0):
    ends_s = time.monotonic() + limit_s
    while not all(map(is_gone, pids)) and time.monotonic() < ends_s:
        time.sleep(0.1)
    return all(map(is_gone, pids))


def clock_of(session, program):
    pid = next(pid for pid in session.pids() if name_of(pid) == program)
    return re.findall(rb"FAKETIME=(.*?)\0", Path(f"/proc/{pid}/environ").read_bytes())[0]


def own_folders():
    return [*worlds_folder().glob(f"{PREFIX}*")]


def test_texts_are_typed_whatever_characters_they_have(world):
    play(world, TEXT_TASK, [["key", "ctrl+end"], ["type", f"{TYPED}\n"], ["key", "ctrl+s"]])
    text = world.session.files()["Documents/a.txt"].decode()
    assert text == f"first\n{TYPED}\n"


def test_an_episode_finds_nothing_of_the_one_before(world):
    task = {"files": {"Documents/b.txt": "x\n"}}
    play(world, task, [["wait", 0.1]])
    first = world.session.files()
    world.session.launch("echo mine > ~/Documents/left.txt; touch ~/.config/left")
    Player(world).play([["wait", 1.0]])
    assert "Documents/left.txt" in world.session.files()
    play(world, task, [["wait", 0.1]])
    second = world.session.files()
    own = {path for path in {*first, *second} if first.get(path) != second.get(path)}
    assert not {path for path in own if not path.startswith(".")} and ".config/left" not in second


def test_two_runs_of_the_same_actions_show_the_same_screens(world):
    [task] = tasks("L3", [0], ["calc_total"])
    runs = []
    for is_warm in (False, True):
        if is_warm:  # the next desktop was made ready meanwhile
            world.rest()
            while not world._next.advance():
                time.sleep(0.05)
        images = [world.reset(task).image.name]
        player = Player(world)
        for step in [
            ["cell", "B9"],
            ["type", "=SUM(B2:B8)\n"],
            ["click", 20, 220],
            ["key", "ctrl+b"],
        ]:
            player.play([step])
            images.append(player.last.image.name)
        runs.append(images)
    differing = [number for number, pair in enumerate(zip(*runs, strict=True)) if len({*pair}) > 1]
    assert not differing


@pytest.mark.parametrize("look", ["dark", "large"])
def test_a_task_is_done_in_each_layout_and_a_layout_changes_no_setting_by_itself(world, look):
    [task] = tasks("L3", [0], ["calc_total"])
    task["look"] = look
    player = play(world, task, task["ways"][0])
    assert Image.open(player.last.image).size == LOOKS[look].screen_wh
    outcome = world.evaluate()
    assert outcome.success, outcome.lines


def test_the_clock_of_the_panel_stands_still_and_that_of_programs_runs(world):
    world.reset({"files": {}})
    assert clock_of(world.session, "xfce4-panel") == b"2026-03-09 09:00:00"
    assert clock_of(world.session, "soffice.bin") == b"@2026-03-09 09:00:00"


def test_an_application_is_opened_by_its_name_and_an_unknown_one_is_told_the_known(world):
    player = play(world, {"files": {}}, [["open_app", "calculator"], ["open_app", "Browser"]])
    assert "galculator" in world.session.x.window_titles()
    [note] = player.notes
    assert "There is no application 'Browser'" in note and "LibreOffice Calc" in note
    player.play([["key", "super+q"], ["drag", 640, 360, 700, 400], ["scroll", 640, 360, "down", 3]])
    assert world.step(Action("back")).note and not world.step(Action("home")).note


def test_a_key_that_is_held_with_a_click_is_still_held_when_the_program_gets_to_the_click(world):
    task = {
        "files": {f"Documents/{name}.txt": "x\n" for name in ("bridge", "garden", "harbour")},
        "open": ["Documents/"],
    }
    play(
        world,
        task,
        [["click", 222, 160], ["click", 396, 160, "ctrl"], ["key", "delete"], ["key", "enter"]],
    )
    assert {*world.session.files()} >= {"Documents/garden.txt"}
    assert not {"Documents/bridge.txt", "Documents/harbour.txt"} & {*world.session.files()}


def test_a_click_after_a_click_is_no_double_click_and_a_double_click_is_one(world):
    task = {"files": {"Documents/c/d.txt": "x\n"}, "open": ["Documents/"]}
    player = play(world, task, [["click", 215, 165], ["click", 215, 165]])
    assert "Documents - Thunar" in world.session.x.window_titles()
    player.play([["double", 215, 165]])
    assert "c - Thunar" in world.session.x.window_titles()


@pytest.mark.parametrize("kill", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_killed_leaves_no_process_and_the_next_one_its_folder(tmp_path, kill):
    need_desktop()
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    pids = [int(pid) for pid in process.stdout.readline().split()]
    assert len(pids) > 5
    process.send_signal(kill)
    process.wait()
    process.stdout.close()
    assert all_are_gone(pids)
    mine = [path for path in own_folders() if path.name.startswith(f"{PREFIX}{process.pid}-")]
    assert mine
    remove_stale_folders(worlds_folder())
    assert not any(path.exists() for path in mine)


def pipes_to(pids):
    """The ends of this process of the pipes that these processes read."""
    read = {link for pid in pids if (link := link_of(Path(f"/proc/{pid}/fd/0")))}
    own = {int(file.name): link_of(file) for file in Path("/proc/self/fd").iterdir()}
    return [number for number, link in own.items() if link.startswith("pipe:") and link in read]


def link_of(file):
    try:
        return str(file.readlink())
    except OSError:
        return ""


def test_a_world_whose_run_is_gone_ends_by_itself(tmp_path):
    """The kernel kills nothing where a run ends before its sandbox asks for that."""
    need_desktop()
    world = open_world(tmp_path)
    world.reset({"files": {}})
    pids = world.session.pids()
    pipes = pipes_to(pids)
    assert len(pipes) == 2
    for pipe in pipes:
        os.close(pipe)

    are_gone = all_are_gone(pids)

    world.close()
    assert are_gone


def test_worlds_that_are_closed_leave_nothing(tmp_path):
    need_desktop()
    before = {path.name for path in own_folders()}
    worlds = [open_world(tmp_path) for _ in range(2)]
    for world in worlds:
        world.reset({"files": {}})
        world.rest()
    pids = [pid for world in worlds for pid in world.session.pids()]
    for world in worlds:
        world.close()
    assert all_are_gone(pids)
    assert {
        name
        for name in {path.name for path in own_folders()} - before
        if f"-{os.getpid()}-" in name
    } == set()


def test_where_user_namespaces_are_refused_one_line_says_what_to_change():
    need_desktop()
    if shutil.which("unshare") is None:
        pytest.skip("unshare of util-linux is not there")
    refuse = "echo 0 > /proc/sys/user/max_user_namespaces"
    command = f'{refuse} && exec "{sys.executable}" -m benchmarks.worlds.desktop'
    result = subprocess.run(
        ["unshare", "-U", "--map-root-user", "sh", "-c", command],
        capture_output=True,
        text=True,
        env={**os.environ, "DESKTOP_DIR": str(desktop_folder())},
    )
    if result.returncode and "unshare" in result.stderr:
        pytest.skip("no user namespace can be made here")
    [line] = result.stdout.splitlines()
    assert "needs user namespaces" in line and "--security-opt" in line

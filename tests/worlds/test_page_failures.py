"""Pages that hang and pages that crash: each costs the try of an episode, and no more."""

import contextlib
import signal
import subprocess
import sys

import psutil
import pytest

from benchmarks.actions.action import Action
from tests.support.browser import need_browser
from tests.support.page_world import STYLE, AnyPage, begun
from tests.support.pages import Pages
from tests.support.runs import PROJECT
from utils.contracts import WorldError


@pytest.fixture
def world(tmp_path, request):
    need_browser()
    world = AnyPage(tmp_path, **getattr(request, "param", {}))
    yield world
    world.close()


@pytest.mark.parametrize("world", [{"patience_s": 2.0}], indirect=True)
@pytest.mark.parametrize(
    "work",
    [
        "onclick = () => { while (true); };",
        "onclick = () => setTimeout(() => { while (true); }, 40);",
    ],
)
def test_a_page_that_hangs_costs_the_try_and_nothing_more(world, work):
    with Pages({"/": f"{STYLE}<script>{work}</script>", "/two": "two"}) as server:
        begun(world, server)
        with pytest.raises(WorldError, match=r"the page hangs: .* took more than 2 s"):
            clicked_thrice(world)
        world.close()
        assert renderers() == []
        assert begun(world, server, "two").state_ok


def test_a_page_that_does_not_open_is_given_up_after_its_own_time(world, monkeypatch):
    monkeypatch.setattr(AnyPage, "opening_s", 2.0)
    hangs = pytest.raises(WorldError, match="the page hangs: opening the page took more than 2 s")
    with Pages({"/": f"{STYLE}<script>while (true);</script>"}) as server, hangs:
        begun(world, server)


def test_a_page_that_crashes_costs_the_try_and_nothing_more(world):
    with Pages({"/": STYLE}) as server:
        begun(world, server)
        for process in renderers():
            process.kill()
        with pytest.raises(WorldError, match="crash"):
            world.step(Action("click", (0.5, 0.5)))
        world.close()
        assert begun(world, server).state_ok


@pytest.mark.parametrize("world", [{"patience_s": 2.0}], indirect=True)
def test_a_page_that_an_action_kills_says_so_and_the_browser_is_made_anew(world):
    work = "onclick = () => { while (true); };"
    with Pages({"/": f"{STYLE}<script>{work}</script>"}) as server:
        world.home_url = server.url
        begun(world, server)
        with pytest.raises(WorldError) as failure:
            clicked_thrice(world)
        assert failure.value.by_action
        world.close()
        with pytest.raises(WorldError) as failure:
            world.observe()
        assert not failure.value.by_action


def clicked_thrice(world):
    for _ in range(3):
        world.step(Action("click", (0.5, 0.5)))


def renderers():
    """The processes that draw pages of this one's browsers."""
    processes = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # one of those that come and go
            if "--type=renderer" in process.cmdline():
                processes.append(process)
    return processes


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_process_that_ends_leaves_no_browser_behind(tmp_path, how):
    need_browser()
    command = [sys.executable, "-m", "tests.support.page_world", str(tmp_path)]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        started = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(how)
    assert len(started) > 3 and psutil.wait_procs(started, timeout=120)[1] == []

"""The browser of worlds, on a library that only writes down what it is told: no Chromium is needed."""

import base64
import re
import select
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from benchmarks.worlds.browser import browser as module
from benchmarks.worlds.browser.browser import (
    MAX_NOTES,
    Chromium,
    browser_problems,
    chromium_path,
)
from utils.contracts import WorldError

PATIENCE_S = 60
PREFIX = "http://127.0.0.1:8000/a/"


class Recorded:
    """What is called on it, in order; answers by the name of the call."""

    def __init__(self, **answers):
        self.calls = []
        self.answers = answers

    def __getattr__(self, name):
        def call(*arguments, **options):
            self.calls.append((name, *arguments))
            answer = self.answers.get(name)
            return answer(*arguments, **options) if callable(answer) else answer

        return call

    def names(self):
        return [name for name, *_ in self.calls]


class Library:
    """A stand-in for Playwright: a browser, its contexts, pages and their events."""

    def __init__(self, path=""):
        self.contexts = []
        self.driver = Recorded(stop=None)
        self.browser = Recorded(
            new_context=self.new_context,
            new_browser_cdp_session=lambda: Recorded(
                send=lambda name: {
                    "processInfo": [{"type": "gpu", "id": 1}, {"type": "browser", "id": self.pid}]
                }
            ),
        )
        self.pid = 0
        self.driver.chromium = Recorded(launch=self.launch)
        self.driver.chromium.executable_path = path
        self.launched = []

    def sync_playwright(self):
        return self

    def __enter__(self):
        return self.driver

    def __exit__(self, *error):
        pass

    def start(self):
        return self.driver

    def launch(self, **options):
        self.launched.append(options)
        return self.browser

    def new_context(self, **options):
        context = Recorded(
            new_page=lambda: page,
            new_cdp_session=lambda page: context.devtools,
        )
        page = Recorded(is_closed=False)
        page.handlers = {}
        page.on = page.handlers.__setitem__
        page.context = context
        context.page, context.options = page, options
        context.on = page.handlers.__setitem__
        context.devtools = Recorded()
        self.contexts.append(context)
        return context


class PlaywrightError(Exception):
    """An error of the library."""

    __module__ = "playwright.sync_api"


@pytest.fixture
def library(monkeypatch):
    library = Library()
    monkeypatch.setitem(sys.modules, "playwright.sync_api", library)
    monkeypatch.setattr(module.shutil, "which", lambda program: f"/usr/bin/{program}")
    chromium_path.cache_clear()
    yield library
    chromium_path.cache_clear()


@pytest.fixture
def chromium(library):
    return Chromium()


@pytest.fixture
def tab(chromium):
    tab = chromium.open(f"{PREFIX}start", PREFIX, (800, 600))
    tab.page.fire = lambda event, value: tab.page.handlers[event](value)
    return tab


# -- which browser ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("installed", "bundled", "expected"),
    [
        (["chromium", "google-chrome"], True, "/usr/bin/chromium"),
        (["google-chrome-stable", "google-chrome"], True, "/usr/bin/google-chrome"),
        ([], True, "bundled"),
        ([], False, None),
    ],
)
def test_the_browser_is_that_of_the_system_else_that_of_playwright(
    library, monkeypatch, tmp_path, installed, bundled, expected
):
    path = tmp_path / "chrome"
    library.driver.chromium.executable_path = str(path)
    if bundled:
        path.touch()
    monkeypatch.setattr(
        module.shutil, "which", lambda name: f"/usr/bin/{name}" if name in installed else None
    )
    assert chromium_path() == (str(path) if expected == "bundled" else expected)
    lines = browser_problems()
    assert len(lines) == (expected is None)
    assert all("apt install chromium" in line for line in lines)


def test_without_playwright_it_is_said_what_to_install(library, monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    assert browser_problems() == ["playwright is not installed; pip install playwright"]


# -- one browser for a thread ----------------------------------------------------------------------


def in_new_thread(function):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


def test_a_thread_has_one_browser_until_all_have_closed_it(library):
    def borrow_twice():
        first, second = Chromium.borrow(), Chromium.borrow()
        first.close()
        is_closed_early = "close" in library.browser.names()
        second.close()
        third = Chromium.borrow()
        third.close()
        return first is second, is_closed_early, third is first

    assert in_new_thread(borrow_twice) == (True, False, False)
    assert library.browser.names().count("close") == 2
    assert library.driver.names() == ["stop", "stop"]
    assert library.launched[0]["executable_path"] == "/usr/bin/chromium"


def test_a_browser_that_cannot_be_closed_is_let_go_all_the_same(library):
    def failing():
        raise PlaywrightError("it has ended")

    library.browser.answers["close"] = failing
    in_new_thread(lambda: Chromium.borrow().close())
    assert library.driver.names() == ["stop"]


def test_a_browser_that_does_not_start_leaves_no_driver(library):
    def failing(**options):
        raise PlaywrightError("no such file")

    library.driver.chromium.answers["launch"] = failing
    with pytest.raises(PlaywrightError):
        Chromium()
    assert library.driver.names() == ["stop"]


# -- time limits -----------------------------------------------------------------------------------


def test_an_error_of_the_library_is_one_line_and_any_other_stays(chromium):
    with pytest.raises(WorldError) as caught, chromium.watched("opening", 60):
        raise PlaywrightError("Target closed\n  a long log")
    assert str(caught.value) == "Target closed"
    with pytest.raises(KeyError), chromium.watched("opening", 60):
        raise KeyError("mine")


def hang(chromium, process):
    """Does what ends only when the browser's processes have ended, as a call of the library."""
    with chromium.watched("opening", 0.01):
        assert select.select([process.stdout], [], [], PATIENCE_S)[0]
        raise PlaywrightError("Target closed")


@pytest.mark.parametrize("is_leader", [True, False])
def test_what_takes_too_long_kills_the_browser_and_says_so(library, is_leader):
    command = ["sh", "-c", "cat; true"] if is_leader else ["cat"]  # a family only with its leader
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, start_new_session=is_leader) as process:
        library.pid = process.pid
        reason = r"^the page hangs: opening took more than 0\.01 s$"
        with pytest.raises(WorldError, match=reason):
            hang(Chromium(), process)
        assert process.wait() == -signal.SIGKILL


def test_a_browser_that_has_ended_by_itself_is_not_missed(library):
    with subprocess.Popen(["true"], stdout=subprocess.PIPE) as process:
        process.wait()
        library.pid = process.pid
        with pytest.raises(WorldError, match=r"^the page hangs: a step took more than 0\.01 s$"):
            time_out(Chromium())


def time_out(chromium):
    """Fails as soon as the time limit is over."""
    before = threading.enumerate()
    with chromium.watched("a step", 0.01):
        for thread in threading.enumerate():
            if thread not in before:
                thread.join(PATIENCE_S)
        raise PlaywrightError("Target closed")


def test_a_page_that_answers_gets_its_time_again(chromium, monkeypatch):
    timers = []
    monkeypatch.setattr(
        module.threading, "Timer", lambda *_: timers.append(Recorded()) or timers[-1]
    )
    chromium.restart_limit()
    assert timers == []  # nothing is watched
    with chromium.watched("a step", 3):
        chromium.restart_limit()
        assert [timer.names() for timer in timers] == [["start", "cancel"], ["start"]]
    assert timers[1].names() == ["start", "cancel"]


# -- pages -----------------------------------------------------------------------------------------


def test_a_page_prepared_beforehand_is_taken_for_the_next_episode_of_its_kind(chromium, library):
    chromium.rest()
    assert library.contexts == []  # of which kind is not known yet
    chromium.open(f"{PREFIX}start", PREFIX, (800, 600))
    chromium.rest()
    chromium.rest()
    assert len(library.contexts) == 2
    tab = chromium.open(f"{PREFIX}next", PREFIX, (640, 480))
    assert tab.page is library.contexts[1].page and len(library.contexts) == 2
    assert ("goto", f"{PREFIX}next") in tab.page.calls
    assert ("set_viewport_size", {"width": 640, "height": 480}) in tab.page.calls
    chromium.open(f"{PREFIX}third", PREFIX, (640, 480))
    assert len(library.contexts) == 3


@pytest.mark.parametrize(
    ("prefix", "scale", "frames"),
    [(PREFIX, 2, ""), ("http://127.0.0.1:9/", 1, ""), (PREFIX, 1, "http://127.0.0.1:9/")],
)
def test_a_page_prepared_for_another_scale_or_server_is_closed(
    chromium, library, prefix, scale, frames
):
    chromium.open(f"{PREFIX}start", PREFIX, (800, 600))
    chromium.rest()
    tab = chromium.open(f"{prefix}start", prefix, (800, 600), scale, frames=frames)
    first, prepared, third = library.contexts
    assert "close" in prepared.names() and "close" not in first.names()
    assert tab.page is third.page
    assert third.options["device_scale_factor"] == scale
    hosts = third.options["proxy"]["bypass"].split(";")[1:]
    assert hosts == [address.split("/")[2] for address in (prefix, frames) if address]
    tab.close()
    assert "close" in third.names()


@pytest.mark.parametrize(
    ("address", "is_allowed"),
    [
        (f"{PREFIX}b.png", True),
        ("http://127.0.0.1:9/in/a/frame", True),
        ("http://127.0.0.1:8000/b/", False),
        ("https://example.org/", False),
        (f"https://example.org/?{PREFIX}", False),
        ("http://127a0.0.1:8000/a/", False),
    ],
)
def test_a_page_gets_what_is_under_its_prefixes_alone(chromium, address, is_allowed):
    frames = "http://127.0.0.1:9/"
    tab = chromium.open(f"{PREFIX}start", PREFIX, (800, 600), frames=frames)
    [(pattern, refuse)] = [
        arguments for name, *arguments in tab.page.context.calls if name == "route"
    ]
    assert (re.match(pattern, address) is None) is is_allowed
    route = Recorded()
    route.request = SimpleNamespace(url=address)
    if not is_allowed:
        refuse(route)
        assert route.names() == ["abort"]
        assert tab.refused == [address]
        assert tab.notes() == f"The page may not reach {address}."


@pytest.mark.parametrize(
    ("address", "is_refused"),
    [("ws://127.0.0.1:8000/a/socket", False), ("ws://127.0.0.1:8000/b", True), ("wss://x/", True)],
)
def test_a_websocket_to_another_place_is_noted(tab, address, is_refused):
    tab.page.fire("websocket", SimpleNamespace(url=address))
    assert tab.refused == [address] * is_refused


@pytest.mark.parametrize(
    ("kind", "calls", "note"),
    [
        ("alert", ["dismiss"], 'The message "Sure?" came and was closed.'),
        ("confirm", ["dismiss"], 'The message "Sure?" came and was closed.'),
        ("beforeunload", ["accept"], ""),
    ],
)
def test_a_dialog_is_closed_and_noted_unless_the_page_is_left(tab, kind, calls, note):
    dialog = Recorded()
    dialog.type, dialog.message = kind, "Sure?"
    tab.page.fire("dialog", dialog)
    assert dialog.names() == calls
    assert tab.notes() == note


def test_a_new_window_is_closed_and_the_page_itself_is_not(tab):
    window = Recorded()
    tab.page.fire("page", tab.page)
    tab.page.fire("page", window)
    assert window.names() == ["close"] and "close" not in tab.page.names()
    assert tab.notes() == "A new window was closed."


def test_a_note_is_said_once_and_a_page_that_does_much_is_cut_short(tab):
    for _ in range(2):
        tab.page.fire("download", None)
    tab.page.fire("filechooser", None)
    tab.page.fire("page", Recorded())
    assert MAX_NOTES == 3
    assert tab.notes() == "Nothing can be downloaded. Files of this computer cannot be chosen."
    assert tab.notes() == ""


def test_a_page_that_crashed_or_is_closed_cannot_be_waited_for(tab):
    tab.page.answers["is_closed"] = True
    with pytest.raises(WorldError, match="the page crashed"):
        tab.settle()
    tab.page.answers["is_closed"] = False
    tab.page.fire("crash", None)
    with pytest.raises(WorldError, match="the page crashed"):
        tab.settle()


@pytest.mark.parametrize(
    ("addresses", "current", "goes_to"),
    [
        ([f"{PREFIX}1", f"{PREFIX}2", f"{PREFIX}3"], 2, 1),
        ([f"{PREFIX}1", f"{PREFIX}2"], 0, None),
        (["about:blank", f"{PREFIX}2"], 1, None),
        ([], 0, None),
    ],
)
def test_a_page_goes_back_to_what_was_before_and_not_out_of_its_server(
    tab, addresses, current, goes_to
):
    entries = [{"id": 10 + number, "url": url} for number, url in enumerate(addresses)]
    devtools = tab.page.context.devtools
    devtools.calls.clear()
    devtools.answers["send"] = lambda name, *_: {"entries": entries, "currentIndex": current}
    assert tab.back() is (goes_to is not None)
    gone = [arguments for name, *arguments in devtools.calls if "navigateTo" in arguments[0]]
    expected = [["Page.navigateToHistoryEntry", {"entryId": 10 + goes_to}]] if goes_to else []
    assert gone == expected


def test_a_screenshot_is_a_picture_of_the_page(tab):
    shot = {"data": base64.b64encode(b"\x89PNG").decode()}
    tab.page.context.devtools.answers["send"] = lambda name, options: shot
    assert tab.screenshot() == b"\x89PNG"

"""How the page comes into a browser: nobody else reads its secret, and nobody waits for it."""

import json
import os
import re
import select
import signal
import stat
import sys
import urllib.request
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.support.human import MODEL, PATIENCE_S, address_of

BROWSER = """\
import os, pathlib, sys
folder = pathlib.Path(sys.argv[1])
(folder / "told").open("w").write("\\n".join(sys.argv[2:]))
os.read(os.open(folder / "wait", os.O_RDONLY), 1)
"""
EMPTY = {"DISPLAY": "", "WAYLAND_DISPLAY": ""}


class Foreground:
    """A `BROWSER` that tells how it was called, and does not end before it is `closed`."""

    def __init__(self, folder):
        folder.mkdir()
        for name in ("told", "wait"):
            os.mkfifo(folder / name)
        (folder / "browser.py").write_text(BROWSER)
        self.folder = folder
        self.command = f"{sys.executable} {folder / 'browser.py'} {folder}"
        self._told = os.open(folder / "told", os.O_RDONLY | os.O_NONBLOCK)

    def arguments(self):
        """What it was called with, once it was."""
        assert select.select([self._told], [], [], PATIENCE_S)[0], "no browser was started"
        return os.read(self._told, 10_000).decode().splitlines()

    def close(self):
        with (self.folder / "wait").open("w") as pipe:
            pipe.write("x")


@pytest.fixture
def foreground(tmp_path):
    return Foreground(tmp_path / "browser")


def has_question(address):
    """Whether the page gets a question, at once or when its first wait is over."""
    state = {"version": 0}
    for _ in range(2):
        known = state["version"]
        with urllib.request.urlopen(f"{address}state?known={known}", timeout=PATIENCE_S) as answer:
            state = json.load(answer)
        if "question" in state:
            return True
    return False


@pytest.mark.parametrize(
    "form", ["{} %s", "{} --new-window %s", "{} --app=%s", "{} -P 'two words' %s"]
)
def test_the_secret_is_in_no_command_line_and_a_foreground_browser_holds_nothing_up(
    stage, foreground, form
):
    stage.model = MODEL
    process = stage.start("--quiet", env={**EMPTY, "BROWSER": form.format(foreground.command)})
    address = address_of(process)
    secret = urlsplit(address).path.strip("/")
    arguments = foreground.arguments()
    assert arguments and secret not in " ".join(arguments)
    assert has_question(address)  # while the browser is still open

    page = Path(unquote(urlsplit(arguments[-1].removeprefix("--app=")).path))
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert re.search(r'content="0; url=(.*)"', page.read_text("utf-8"))[1] == address
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_S) == 130  # nor does it hold up the end
    assert not page.exists()
    foreground.close()
    process.communicate(timeout=PATIENCE_S)


def test_the_file_leads_a_browser_to_the_question(ask, browser, stage, tmp_path):
    """The file itself is opened; its page goes on by itself."""
    running, page = ask()
    page.wait_for("1 of 3")
    context = browser.new_context()
    tab = context.new_page()
    tab.goto(running.uri())
    tab.wait_for_url("http://127.0.0.1:*/*/")
    tab.locator("h1", has_text="1 of 3").wait_for()
    context.close()


def test_without_a_place_for_the_file_the_address_is_printed_all_the_same(stage, foreground):
    stage.model = MODEL
    process = stage.start(
        "--quiet",
        env={**EMPTY, "BROWSER": foreground.command, "TMPDIR": "/proc", "TMP": "/proc"},
    )
    assert has_question(address_of(process))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_S)

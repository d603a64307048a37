"""A run that asks a person, in a thread; and the person, in a browser."""

from __future__ import annotations

import queue
import re
import threading
import webbrowser
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from unittest import mock
from urllib.parse import unquote, urlsplit

from models import human
from models.human.server import PageServer
from tests.support.browser import DESKTOP, Tab

MODEL = {"human": {"model_path": "models.human.Human", "imp_type": "custom"}}
PATIENCE_S = 120
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/\S+/")


def address_of(process):
    """The address of the page, as the process has printed it."""
    for line in process.stderr:
        if address := ADDRESS.search(line):
            return address[0]
    raise AssertionError("no address was printed")


@contextmanager
def asking(stage, *arguments):
    """Run a stage in a thread; yields `address`, once its page is open, and `ran`, once it is over.

    `uri` is that of the file that was opened.

    Where the block ends, so does the run.
    """
    addresses, uris, desks = queue.SimpleQueue(), queue.SimpleQueue(), []
    finished = queue.SimpleQueue()

    def serve(desk):
        desks.append(desk)
        return PageServer(desk)

    run = threading.Thread(target=lambda: finished.put(stage.run(*arguments)), daemon=True)

    def open_page(uri):
        text = Path(unquote(urlsplit(uri).path)).read_text("utf-8")
        addresses.put(re.search(r'url=([^"]+)"', text)[1])
        uris.put(uri)

    with (
        mock.patch.object(webbrowser, "open", open_page),
        mock.patch.object(human, "PageServer", serve),
    ):
        stage.env["DISPLAY"] = ":0"  # nothing is shown on it
        run.start()
        running = SimpleNamespace(address=lambda: addresses.get(timeout=PATIENCE_S))
        running.uri = lambda: uris.get(timeout=PATIENCE_S)
        running.ran = lambda: finished.get(timeout=PATIENCE_S)
        try:
            yield running
        finally:
            for desk in desks:  # a test that failed answers no more
                desk.stop()
            run.join(PATIENCE_S)
        assert not run.is_alive()


class Person(Tab):
    """A person at the page, and everything that the page complained of or asked others for."""

    def __init__(self, browser, address, **context):
        settings = {"viewport": DESKTOP, "reduced_motion": "reduce", **context}
        self.context = browser.new_context(**settings)
        self.context.set_default_timeout(PATIENCE_S * 1000)
        self.page, self.troubles = self.context.new_page(), []
        self.page.on("console", lambda m: self.note(m.type in ("error", "warning"), m.text))
        self.page.on("pageerror", lambda error: self.note(True, error))
        self.page.on("request", lambda r: self.note(not r.url.startswith(address), r.url))
        self.page.goto(address)

    def wait_for(self, text, selector="h1"):
        """Until an element shows a text, and the question can be answered."""
        self.page.locator(selector, has_text=text).wait_for()
        self.page.locator("body:not(.busy)").wait_for()

    def wait_for_step(self, number):
        self.page.locator("#step", has_text=f"Step {number}").wait_for()
        self.page.locator("body:not(.busy)").wait_for()

    def client_of(self, x, y):
        """The point of the page at the middle of a pixel of the image."""
        return self.run(
            """([x, y]) => {
          const box = document.getElementById("sheet").getBoundingClientRect();
          const image = document.getElementById("image");
          const [width, height] = ["width", "height"].map((name) => Number(image.getAttribute(name)));
          return [box.left + ((x + 0.5) * box.width) / width, box.top + ((y + 0.5) * box.height) / height];
        }""",
            [x, y],
        )

    def click_pixel(self, x, y, **settings):
        self.page.mouse.click(*self.client_of(x, y), **settings)

    def letter(self, letter):
        self.page.keyboard.press(letter)
        self.page.keyboard.press("Enter")

"""Headless Chromium for tests of pages: skipped where there is none, unless REQUIRE_BROWSER=1."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
_RENDER = Path(__file__).resolve().parents[2] / "sample_data" / "render.py"


def render_module() -> ModuleType:
    """`sample_data/render.py`, which knows the browser and its flags; a script, not a package."""
    name = "sample_data_render"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, _RENDER)
        assert spec is not None and spec.loader is not None
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


def need_browser() -> ModuleType:
    """The module whose `open_browser` works here; otherwise the test ends, skipped or failed."""
    render = render_module()
    if importlib.util.find_spec("playwright") is None:
        missing = "playwright is not installed"
    elif shutil.which(render.CHROMIUM) is None:
        missing = f"{render.CHROMIUM} is missing"
    else:
        return render
    if os.environ.get("REQUIRE_BROWSER") == "1":
        pytest.fail(f"REQUIRE_BROWSER=1, but {missing}")
    pytest.skip(missing)


class Tab:
    """A page with everything that it complained of or asked the network for."""

    READY = "document.documentElement.dataset.ready"

    def __init__(self, browser, page_path, *, address="", **context):
        settings = {"viewport": DESKTOP, "reduced_motion": "reduce", **context}
        self.context = browser.new_context(**settings)
        self.context.set_default_timeout(120_000)
        self.page, self.troubles = self.context.new_page(), []
        self.page.on("console", lambda m: self.note(m.type in ("error", "warning"), m.text))
        self.page.on("pageerror", lambda error: self.note(True, error))
        self.page.on("dialog", lambda dialog: (self.note(True, dialog.message), dialog.dismiss()))
        self.page.on(
            "request", lambda r: self.note(not r.url.startswith(("file:", "data:")), r.url)
        )
        # A page that makes way for another one gives up what it was still loading.
        self.page.on(
            "requestfailed",
            lambda r: self.note(r.failure != "net::ERR_ABORTED", f"failed: {r.url}"),
        )
        self.page.goto(page_path.as_uri() + address)
        self.page.wait_for_function(f"() => {self.READY}")

    def note(self, is_trouble, what):
        self.troubles += [str(what)] if is_trouble else []

    def run(self, script, argument=None):
        return self.page.evaluate(script, argument)

    def settle(self, least_ms=0):
        """Waits until what is under way is drawn: data files have come, and two frames since."""
        self.run(
            """async (least) => {
          const frame = () => new Promise(requestAnimationFrame);
          await new Promise((done) => setTimeout(done, least));
          do { await frame(); await frame(); } while (document.head.querySelector("script[src*='/data/']"));
        }""",
            least_ms,
        )

    def hold(self, owner, name):
        """The page's next call of this function of the owner goes on at `release`."""
        self.run(
            """(name) => {
          const held = OWNER, before = held[name];
          held[name] = async (...given) => {
            held[name] = before;
            await new Promise((done) => { window.release = done; });
            return before(...given);
          };
        }""".replace("OWNER", owner),
            name,
        )

    def wait_until_held(self):
        self.page.wait_for_function("() => window.release")

    def release(self):
        self.run("window.release()")
        self.settle()

    def type(self, text):
        """Into a search, which begins a moment after the last letter."""
        self.page.keyboard.type(text)
        is_searched = "(q) => new URLSearchParams(location.hash.split('?')[1]).get('q') === q"
        self.page.wait_for_function(is_searched, arg=text)
        self.settle()

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)
            self.settle()

    def go(self, address):
        """Follows a link within the page."""
        self.run("(address) => { location.hash = address; }", address)
        self.settle()

    def click(self, selector):
        self.page.click(selector)
        self.settle()

    def text(self, selector):
        return self.page.inner_text(selector)

    def texts(self, selector):
        """Of every element that fits."""
        return self.page.locator(selector).all_text_contents()

    @property
    def count(self):
        """The number of samples in the list, as text; the number of hits is cut off."""
        return self.run("document.getElementById('count').value").partition(" · ")[0]

    @property
    def hash(self):
        return self.run("location.hash")

    @property
    def focus(self):
        return self.run("document.activeElement.id")

    def box(self, selector):
        return self.run(
            "(s) => { const r = document.querySelector(s).getBoundingClientRect();"
            " return [r.left, r.top, r.width, r.height]; }",
            selector,
        )

    def findings(self):
        """The violations that axe-core finds on the page: rule, impact and elements."""
        if not self.run("Boolean(window.axe)"):
            self.run((resources.files("axe_playwright_python") / "axe.min.js").read_text("utf-8"))
        violations = self.run("axe.run({ preload: false }).then((all) => all.violations)")
        return [
            (rule["id"], rule["impact"], [node["html"][:160] for node in rule["nodes"]])
            for rule in violations
        ]


@contextmanager
def tabs_of(browser: Any) -> Iterator[Callable[..., Tab]]:
    """Open pages; in the end no tab may have had a reason to complain."""
    tabs: list[Tab] = []

    def open_(page: Path, **settings: Any) -> Tab:
        tabs.append(Tab(browser, page, **settings))
        return tabs[-1]

    yield open_
    for tab in tabs:
        tab.context.close()
        assert tab.troubles == []

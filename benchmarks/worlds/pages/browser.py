"""Chromium for worlds: one for each thread, a context of its own for each episode.

A page reaches its own server and nothing else: all other addresses lead to a proxy that does not
exist, names are not looked up, and a route refuses what is not under one prefix, by name. It opens
no window, downloads nothing, chooses no file, runs no service worker, and no dialog is answered
with more than "no".
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from benchmarks.worlds.pages.settle import WATCH, Requests, settle
from utils.contracts import WH, WorldError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page, Route

START_S = 120.0  # for the browser to start: several at once, from a slow disk
PATIENCE_S = 30.0  # for opening a page, and for one step; after that its browser is killed
PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--disable-gpu",
    "--disable-software-rasterizer",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--disable-print-preview",
    "--block-new-web-contents",
    "--lang=en-US",
    # The same text, colours and scrolling on every machine, and in every run.
    "--font-render-hinting=none",
    "--disable-lcd-text",
    "--force-color-profile=srgb",
    "--disable-smooth-scrolling",
    "--disable-partial-raster",
    "--disable-skia-runtime-opts",
    "--disable-checker-imaging",
    "--disable-features=OverlayScrollbar,ScrollableAreaAnimations,FluentScrollbar,PaintHolding,"
    "HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,MediaRouter,OptimizationHints,Translate,"
    # Each window's own search box is a page that costs more to load than an episode's, and each
    # context's spare renderer is never used: there is one page in it.
    "WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup,SpareRendererForSitePerProcess",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)
DRIVER_OPTIONS = "--max-semi-space-size=1"  # MiB; with its own it takes 40 MiB more, for nothing
LANGUAGE = {"LANGUAGE": "en_US", "LC_ALL": "en_US.UTF-8"}  # of fields for dates and times
NO_PROXY = "http://127.0.0.1:1"  # nothing listens there
STILL = """(() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("* { caret-animation: manual !important; scroll-behavior: auto !important }");
  document.adoptedStyleSheets.push(sheet);
  window.print = () => {};
  const { now } = Date, ahead = Date.UTC(2026, 2, 9, 9) - now();
  Date.now = () => now() + ahead;
  window.Date = Date.prototype.constructor = new Proxy(Date, {
    apply: () => new Date().toString(),
    construct: (kind, given, as) =>
      Reflect.construct(kind, given.length ? given : [Date.now()], as),
  });
})()"""
"""Keeps from screenshots what no run shows twice: a caret that blinks, and the day. The clock of a
document begins at the office's one moment, and goes on, since animations go by it."""
MOST_NOTES, LONGEST_NOTE = 3, 200


@cache
def chromium_path() -> str | None:
    """The browser of this machine: of the system, else Playwright's own; None: there is none."""
    found = filter(None, map(shutil.which, PROGRAMS))
    return next(found, None) or _playwrights_own()


def _playwrights_own() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def browser_problems() -> list[str]:
    """What is missing to show pages, one line each with the command that brings it."""
    if find_spec("playwright") is None:
        return ["playwright is not installed; pip install playwright"]
    if chromium_path() is None:
        return ["Chromium is not installed; apt install chromium, or playwright install chromium"]
    return []


class _Watch:
    """Does something unless it is cancelled or started again in time."""

    def __init__(self, limit_s: float, late: Callable[[], None]) -> None:
        self._limit_s, self._late = limit_s, late
        self._timer = self._start()

    def restart(self) -> None:
        self._timer.cancel()
        self._timer = self._start()

    def cancel(self) -> None:
        self._timer.cancel()

    def _start(self) -> threading.Timer:
        timer = threading.Timer(self._limit_s, self._late)
        timer.daemon = True
        timer.start()
        return timer


class Chromium:
    """A browser of one thread, shared by the worlds of that thread."""

    _of_thread = threading.local()

    def __init__(self) -> None:
        from playwright.sync_api import sync_playwright

        self._users = 0
        self._hung = ""
        self._watch: _Watch | None = None
        self._kind: tuple[float, str] | None = None  # of the last context
        self._next: Tab | None = None  # blank, of that kind
        os.environ.setdefault("NODE_OPTIONS", DRIVER_OPTIONS)
        self._playwright = sync_playwright().start()
        try:
            self._browser: Browser = self._playwright.chromium.launch(
                executable_path=chromium_path(),
                headless=True,
                args=list(FLAGS),
                ignore_default_args=["--hide-scrollbars"],
                handle_sigint=False,
                handle_sigterm=False,
                handle_sighup=False,
                env={**os.environ, **LANGUAGE},
                timeout=1000 * START_S,
            )
            told = self._browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")
            self._pid = next(e["id"] for e in told["processInfo"] if e["type"] == "browser")
        except BaseException:
            self._playwright.stop()
            raise

    @classmethod
    def borrow(cls) -> Chromium:
        """The browser of this thread, which is started when it is first needed; to be closed."""
        if getattr(cls._of_thread, "browser", None) is None:
            cls._of_thread.browser = cls()
        browser: Chromium = cls._of_thread.browser
        browser._users += 1
        return browser

    def close(self) -> None:
        """Ends it once all who borrowed it have closed it."""
        self._users -= 1
        if self._users == 0:
            type(self)._of_thread.browser = None
            with self.watched("closing", PATIENCE_S), suppress(Exception):  # it may be gone
                self._browser.close()
            self._playwright.stop()

    @contextmanager
    def watched(self, what: str, limit_s: float) -> Iterator[None]:
        """Kills the browser if what is done takes too long: most calls have no limit of their own.

        Raises:
            WorldError: that happened, or the browser failed otherwise; without its log.
        """
        self._watch = _Watch(limit_s, partial(self._kill, f"{what} took more than {limit_s:g} s"))
        try:
            yield
        except Exception as error:
            if self._hung:
                raise WorldError(f"the page hangs: {self._hung}", "") from error
            if type(error).__module__.startswith("playwright"):
                raise WorldError(str(error).partition("\n")[0], "") from error
            raise
        finally:
            self._watch.cancel()

    def still_alive(self) -> None:
        """Says that a page has answered: what is being done may take its whole limit again."""
        if self._watch is not None:
            self._watch.restart()

    def _kill(self, why: str) -> None:
        self._hung = why
        with suppress(ProcessLookupError):
            if os.getpgid(self._pid) == self._pid:  # with all its children
                os.killpg(self._pid, signal.SIGKILL)
            else:
                os.kill(self._pid, signal.SIGKILL)

    def open(self, url: str, prefix: str, viewport_wh: WH, scale: float = 1) -> Tab:
        """A page in a context of its own.

        Args:
            url: where it begins.
            prefix: of all addresses that it may load; ends with a slash.
        """
        kind, tab, self._next = (scale, urlsplit(prefix).netloc), self._next, None
        if tab is not None and self._kind != kind:
            tab.close()
            tab = None
        self._kind = kind
        tab = tab or self._blank(*kind)
        tab.show(url, prefix, viewport_wh)
        return tab

    def rest(self) -> None:
        """Makes the next page ready, of the kind of the last one."""
        if self._next is None and self._kind is not None:
            self._next = self._blank(*self._kind)

    def _blank(self, scale: float, netloc: str) -> Tab:
        context = self._browser.new_context(
            device_scale_factor=scale,
            accept_downloads=False,
            service_workers="block",
            locale="en-GB",
            timezone_id="UTC",
            reduced_motion="reduce",
            permissions=["clipboard-read", "clipboard-write"],
            proxy={"server": NO_PROXY, "bypass": f"<-loopback>;{netloc}"},
        )
        return Tab(context.new_page())


class Tab:
    """The one page of an episode, blank until `show`."""

    viewport_wh: WH

    def __init__(self, page: Page) -> None:
        self.page, self._prefix = page, ""
        self.refused: list[str] = []  # addresses that the page asked for and did not get
        self._notes: list[str] = []
        self._requests: Requests = {}
        self._crashed = False
        context = page.context
        context.add_init_script(WATCH)
        context.add_init_script(STILL)
        context.on("page", self._close_popup)
        for event, answer in (
            ("dialog", self._answer_dialog),
            ("filechooser", lambda _: self._note("Files of this computer cannot be chosen.")),
            ("websocket", lambda socket: self._refuse(socket.url)),  # no route sees it
            ("download", lambda _: self._note("Nothing can be downloaded.")),
            ("crash", lambda _: setattr(self, "_crashed", True)),
            ("request", lambda request: self._requests.update({request: time.monotonic()})),
            ("requestfinished", lambda request: self._requests.pop(request, None)),
            ("requestfailed", lambda request: self._requests.pop(request, None)),
        ):
            page.on(event, answer)  # type: ignore[call-overload]
        self._devtools = context.new_cdp_session(page)

    def show(self, url: str, prefix: str, viewport_wh: WH) -> None:
        """Opens the first address. From now on all that are not under the prefix are refused."""
        self._prefix, self.viewport_wh = prefix, viewport_wh
        self.page.set_viewport_size({"width": viewport_wh[0], "height": viewport_wh[1]})
        # What is allowed does not come here: that would cost each request two ways to this process.
        self.page.context.route(re.compile(f"^(?!{re.escape(prefix)})"), self._refuse_route)
        self.page.goto(url, timeout=1000 * PATIENCE_S)
        # Else a wide scroll to the left, a gesture of the browser's, ends on the empty page before.
        self._devtools.send("Page.resetNavigationHistory")
        # The clipboard is the browser's: what an earlier episode copied is not to be found in it.
        self.page.evaluate("navigator.clipboard.writeText('')")

    def settle(self) -> bool:
        """Waits until the page is quiet; False: it is not, and waiting has an end.

        Raises:
            WorldError: the page is gone.
        """
        if self._crashed or self.page.is_closed():
            raise WorldError("the page crashed", "")
        return settle(self.page, self._requests)

    def screenshot(self) -> bytes:
        """A PNG of what is seen. Twice as fast as Playwright's own, which also hides the caret."""
        form = {"format": "png", "optimizeForSpeed": True}
        return base64.b64decode(self._devtools.send("Page.captureScreenshot", form)["data"])

    def notes(self) -> str:
        """What the page tried and did not get since the last call, for the model."""
        told, self._notes = self._notes, []
        return " ".join(dict.fromkeys(told))

    def back(self) -> bool:
        """Goes back in the history of the page; False: there is nothing before."""
        history = self._devtools.send("Page.getNavigationHistory")
        before = history["entries"][: history["currentIndex"]]
        if not before or not before[-1]["url"].startswith(self._prefix):
            return False
        self._devtools.send("Page.navigateToHistoryEntry", {"entryId": before[-1]["id"]})
        return True

    def close(self) -> None:
        """Ends the page and forgets all that it kept."""
        self.page.context.close()

    # -- what the page asks for -------------------------------------------------------------------

    def _refuse_route(self, route: Route) -> None:
        self._refuse(route.request.url)
        route.abort()

    def _refuse(self, url: str) -> None:
        self.refused.append(url[:LONGEST_NOTE])
        self._note(f"The page may not reach {url[:LONGEST_NOTE]}.")

    def _answer_dialog(self, dialog: Dialog) -> None:
        if dialog.type == "beforeunload":
            dialog.accept()
            return
        self._note(f'The message "{dialog.message[:LONGEST_NOTE]}" came and was closed.')
        dialog.dismiss()

    def _close_popup(self, page: Any) -> None:
        if page is not self.page:
            self._note("A new window was closed.")
            page.close()

    def _note(self, text: str) -> None:
        if len(self._notes) < MOST_NOTES:
            self._notes.append(text)

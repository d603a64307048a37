"""Chromium for worlds: one browser for each thread, one context for each episode.

A page reaches its own server and nothing else: all other addresses lead to a proxy that does not
exist, host names are not resolved, and a route refuses what is not under one prefix. It opens no
window, downloads nothing, chooses no file, runs no service worker, and all dialogs are dismissed.
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

from benchmarks.worlds.browser.settle import WATCH, Requests, settle
from utils.contracts import WH, WorldError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page, Route, ViewportSize, WebSocket

START_S = 120.0  # for the browser to start: several at once, from a slow disk
PATIENCE_S = 30.0  # for opening a page, and for one step; after that the browser is killed
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
DRIVER_OPTIONS = "--max-semi-space-size=1"  # MiB; by default it takes 40 MiB more, in vain
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
    construct: (kind, args, as) =>
      Reflect.construct(kind, args.length ? args : [Date.now()], as),
  });
})()"""
"""Keeps from screenshots what would differ between runs: a caret that blinks, and the day. The
clock of a document starts at the office's one moment, and goes on, since animations need it."""
MAX_NOTES = 3
MAX_NOTE_LENGTH = 200  # of an address or a message in one


@cache
def chromium_path() -> str | None:
    """Return the browser of the system, else that of Playwright, else None."""
    for program in PROGRAMS:
        path = shutil.which(program)
        if path is not None:
            return path
    return _playwright_chromium_path()


def _playwright_chromium_path() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def browser_problems() -> list[str]:
    """All that is missing to open pages, each with the command that installs it."""
    if find_spec("playwright") is None:
        return ["playwright is not installed; pip install playwright"]
    if chromium_path() is None:
        return ["Chromium is not installed; apt install chromium, or playwright install chromium"]
    return []


class _Watch:
    """Calls a function unless it is cancelled or restarted within a time limit."""

    def __init__(self, limit_s: float, on_timeout: Callable[[], None]) -> None:
        self._limit_s = limit_s
        self._on_timeout = on_timeout
        self._timer = self._start()

    def restart(self) -> None:
        self._timer.cancel()
        self._timer = self._start()

    def cancel(self) -> None:
        self._timer.cancel()

    def _start(self) -> threading.Timer:
        timer = threading.Timer(self._limit_s, self._on_timeout)
        timer.daemon = True
        timer.start()
        return timer


class Chromium:
    """A browser of one thread, shared by the worlds of that thread."""

    _of_thread = threading.local()

    def __init__(self) -> None:
        from playwright.sync_api import sync_playwright

        self._users = 0
        self._hang = ""  # what took too long
        self._watch: _Watch | None = None
        self._context_kind: tuple[float, str] | None = None  # scale and hosts of the last context
        self._next: Tab | None = None  # blank, in a context of that kind
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
            self._pid = self._browser_pid()
        except BaseException:
            self._playwright.stop()
            raise

    def _browser_pid(self) -> int:
        info = self._browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")
        processes = info["processInfo"]
        return int(next(process["id"] for process in processes if process["type"] == "browser"))

    @classmethod
    def borrow(cls) -> Chromium:
        """Return the browser of this thread, started when it is first needed; to be closed."""
        if getattr(cls._of_thread, "browser", None) is None:
            cls._of_thread.browser = cls()
        browser: Chromium = cls._of_thread.browser
        browser._users += 1
        return browser

    def close(self) -> None:
        """Close the browser once all who borrowed it have called this."""
        self._users -= 1
        if self._users == 0:
            type(self)._of_thread.browser = None
            with self.watched("closing", PATIENCE_S), suppress(Exception):  # it may have ended
                self._browser.close()
            self._playwright.stop()

    @contextmanager
    def watched(self, what: str, limit_s: float) -> Iterator[None]:
        """Kill the browser if what is done takes too long: most calls have no limit themselves.

        Raises:
            WorldError: it took too long, or the browser failed otherwise; without its log.
        """
        self._watch = _Watch(limit_s, partial(self._kill, f"{what} took more than {limit_s:g} s"))
        try:
            yield
        except Exception as error:
            if self._hang:
                raise WorldError(f"the page hangs: {self._hang}", "") from error
            if type(error).__module__.startswith("playwright"):
                raise WorldError(str(error).partition("\n")[0], "") from error
            raise
        finally:
            self._watch.cancel()

    def restart_limit(self) -> None:
        """Start the time limit of what is done again: the page has answered."""
        if self._watch is not None:
            self._watch.restart()

    def _kill(self, reason: str) -> None:
        self._hang = reason
        with suppress(ProcessLookupError):
            if os.getpgid(self._pid) == self._pid:  # with all its children
                os.killpg(self._pid, signal.SIGKILL)
            else:
                os.kill(self._pid, signal.SIGKILL)

    def open(
        self, url: str, prefix: str, viewport_wh: WH, scale: float = 1, *, frames: str = ""
    ) -> Tab:
        """Open a page in its own context.

        Args:
            url: first address.
            prefix: of all addresses that it may load; ends with a slash.
            viewport_wh: in pixels of the page.
            scale: pixels of a screenshot per pixel of the page.
            frames: a second such prefix, of pages of another server in its frames.
        """
        prefixes = tuple(filter(None, (prefix, frames)))
        kind = (scale, ";".join(urlsplit(address).netloc for address in prefixes))
        tab = self._next
        self._next = None
        if tab is not None and self._context_kind != kind:
            tab.close()
            tab = None
        self._context_kind = kind
        if tab is None:
            tab = self._blank(*kind)
        tab.show(url, prefixes, viewport_wh)
        return tab

    def rest(self) -> None:
        """Prepare a blank page for the next episode, in a context like the last one."""
        if self._next is None and self._context_kind is not None:
            self._next = self._blank(*self._context_kind)

    def _blank(self, scale: float, netlocs: str) -> Tab:
        context = self._browser.new_context(
            device_scale_factor=scale,
            accept_downloads=False,
            service_workers="block",
            locale="en-GB",
            timezone_id="UTC",
            reduced_motion="reduce",
            permissions=["clipboard-read", "clipboard-write"],
            proxy={"server": NO_PROXY, "bypass": f"<-loopback>;{netlocs}"},
        )
        return Tab(context.new_page(), scale)


class Tab:
    """The one page of an episode, blank until `show`."""

    viewport_wh: WH

    def __init__(self, page: Page, scale: float) -> None:
        self.page = page
        self._scale = scale  # pixels of a screenshot per pixel of the page
        self._prefixes: tuple[str, ...] = ()
        self.refused: list[str] = []  # addresses that the page requested and did not get
        self._notes: list[str] = []
        self._requests: Requests = {}
        self._crashed = False
        context = page.context
        context.add_init_script(WATCH)
        context.add_init_script(STILL)
        context.on("page", self._close_popup)
        for event, handler in (
            ("dialog", self._answer_dialog),
            ("filechooser", lambda _: self._note("Files of this computer cannot be chosen.")),
            ("websocket", self._note_websocket),
            ("download", lambda _: self._note("Nothing can be downloaded.")),
            ("crash", lambda _: setattr(self, "_crashed", True)),
            ("request", lambda request: self._requests.update({request: time.monotonic()})),
            ("requestfinished", lambda request: self._requests.pop(request, None)),
            ("requestfailed", lambda request: self._requests.pop(request, None)),
        ):
            page.on(event, handler)  # type: ignore[call-overload]
        self._devtools = context.new_cdp_session(page)

    def show(self, url: str, prefixes: tuple[str, ...], viewport_wh: WH) -> None:
        """Open the first address; from then on, all that are not under a prefix are refused."""
        self._prefixes = prefixes
        self.viewport_wh = viewport_wh
        size: ViewportSize = {"width": viewport_wh[0], "height": viewport_wh[1]}
        self.page.set_viewport_size(size)
        if self._scale != 1:  # for screenshots, which another session than Playwright's takes
            metrics = {**size, "deviceScaleFactor": self._scale, "mobile": False}
            self._devtools.send("Emulation.setDeviceMetricsOverride", metrics)
        # Allowed requests do not match: each would cost a round trip to this process.
        allowed = "|".join(map(re.escape, prefixes))
        self.page.context.route(re.compile(f"^(?!{allowed})"), self._refuse_route)
        self.page.goto(url, timeout=0)  # whoever opens it watches how long it takes
        # Else a wide scroll to the left, a gesture of the browser, goes back to the blank page.
        self._devtools.send("Page.resetNavigationHistory")
        # All contexts share the clipboard: it must not hold what an earlier episode copied.
        self.page.evaluate("navigator.clipboard.writeText('')")

    def ping(self) -> None:
        """Have the browser answer; the error of the library if it is gone."""
        self._devtools.send("Browser.getVersion")

    def settle(self) -> bool:
        """Wait until the page is quiet; return False if it does not become quiet in time.

        Raises:
            WorldError: the page is gone.
        """
        if self._crashed or self.page.is_closed():
            raise WorldError("the page crashed", "")
        return settle(self.page, self._requests)

    def screenshot(self) -> bytes:
        """Return a PNG. Twice as fast as Playwright's own, which also hides the caret."""
        options = {"format": "png", "optimizeForSpeed": True}
        return base64.b64decode(self._devtools.send("Page.captureScreenshot", options)["data"])

    def notes(self) -> str:
        """Notes for the model on what the page tried and did not get since the last call."""
        notes = dict.fromkeys(self._notes)
        self._notes = []
        return " ".join(notes)

    def back(self) -> bool:
        """Go back in the history of the page; return False if there is nothing before."""
        history = self._devtools.send("Page.getNavigationHistory")
        before = history["entries"][: history["currentIndex"]]
        if not before or not before[-1]["url"].startswith(self._prefixes):
            return False
        self._devtools.send("Page.navigateToHistoryEntry", {"entryId": before[-1]["id"]})
        return True

    def close(self) -> None:
        """Close the page with its context."""
        self.page.context.close()

    # -- requests of the page ---------------------------------------------------------------------

    def _refuse_route(self, route: Route) -> None:
        self._refuse(route.request.url)
        route.abort()

    def _note_websocket(self, socket: WebSocket) -> None:
        """Refuse a websocket that leads elsewhere; no route sees it, the proxy stops it."""
        if not socket.url.replace("ws://", "http://", 1).startswith(self._prefixes):
            self._refuse(socket.url)

    def _refuse(self, url: str) -> None:
        self.refused.append(url[:MAX_NOTE_LENGTH])
        self._note(f"The page may not reach {url[:MAX_NOTE_LENGTH]}.")

    def _answer_dialog(self, dialog: Dialog) -> None:
        if dialog.type == "beforeunload":
            dialog.accept()
            return
        self._note(f'The message "{dialog.message[:MAX_NOTE_LENGTH]}" came and was closed.')
        dialog.dismiss()

    def _close_popup(self, page: Any) -> None:
        if page is not self.page:
            self._note("A new window was closed.")
            page.close()

    def _note(self, text: str) -> None:
        if len(self._notes) < MAX_NOTES:
            self._notes.append(text)

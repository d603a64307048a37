"""Wait until a page is quiet: no pending request, no recent change, no short timer, for two frames.

There is no fixed time to wait, but a limit of `LIMIT_S`; it is exceeded only where a slow machine,
or one that stood still, has hardly looked at the page by then.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import Frame, Page

LIMIT_S = 3.0
MIN_FRAMES = 30  # looked at before a page is given up; half a second usually
MIN_ROUNDS = 10  # of asking the page before it is given up
QUIET_MS = 20.0  # without a change
FRAMES = 2  # without a change
SHORT_TIMER_MS = 500  # is waited for: a search while typing, a menu that opens
Requests = dict[Any, float]  # pending requests of the page, with the times of their start

WATCH = (
    """(() => {
  const live = { pending: 0, started: 0, changed: performance.now(), timers: new Map(), depth: 0 };
  Object.defineProperty(window, "__live", { value: live });
  const touch = () => { live.changed = performance.now(); };
  const { fetch, setTimeout, clearTimeout, clearInterval } = window;
  const answered = () => setTimeout(() => { live.pending--; touch(); }, 0);
  window.fetch = (...args) => {
    live.pending++;
    live.started++;
    return fetch(...args).finally(answered);
  };
  // The head of a reply is not its body: on a slow machine that comes a good while later.
  for (const name of ["text", "json", "blob", "arrayBuffer", "formData"]) {
    const read = Response.prototype[name];
    Response.prototype[name] = function (...args) {
      live.pending++;
      return read.apply(this, args).finally(answered);
    };
  }
  const send = XMLHttpRequest.prototype.send;
  XMLHttpRequest.prototype.send = function (...args) {
    live.pending++;
    live.started++;
    this.addEventListener("loadend", answered);
    return send.apply(this, args);
  };
  window.setTimeout = (work, delay = 0, ...rest) => {
    const depth = live.depth;
    const run = typeof work !== "function" ? work : (...args) => {
      live.timers.delete(id);
      live.depth = depth + 1;
      try { return work.apply(window, args); } finally { live.depth = 0; touch(); }
    };
    const id = setTimeout(run, delay, ...rest);
    // A timer that always sets the next one is a clock, not work that ends.
    if (typeof work === "function" && delay <= SHORT_TIMER_MS && depth < 3)
      live.timers.set(id, performance.now() + Number(delay));
    return id;
  };
  window.clearTimeout = (id) => { live.timers.delete(id); clearTimeout(id); };
  window.clearInterval = (id) => { live.timers.delete(id); clearInterval(id); };
  new MutationObserver(touch).observe(document, {
    subtree: true, childList: true, attributes: true, characterData: true });
  for (const name of ["scroll", "load", "input", "resize"])
    addEventListener(name, touch, { capture: true, passive: true });
})()"""
).replace("SHORT_TIMER_MS", str(SHORT_TIMER_MS))
"""Runs in every document before its own scripts, and records requests, changes and timers."""

QUIET = """([quietMs, limitMs]) => new Promise((done) => {
  const start = performance.now();
  const idleMs = (view) => {
    const live = view.__live, now = view.performance.now();
    if (view.document.readyState !== "complete" || live?.pending > 0) return 0;
    if (live) for (const due of live.timers.values()) if (now < due + 100) return 0;
    const frames = [...view.document.querySelectorAll("iframe")].map((frame) => {
      try {
        const inner = frame.contentWindow;
        const isEmpty = inner.location.href === "about:blank";
        return isEmpty ? (frame.getAttribute("src") ? 0 : Infinity) : idleMs(inner);
      } catch { return Infinity; }
    });
    return Math.min(live ? now - live.changed : Infinity, ...frames);
  };
  let frames = -1, last = start, looks = 0;
  const look = () => {
    const now = performance.now(), idle = idleMs(window);
    frames = idle < now - last ? 0 : frames + 1;
    last = now;
    if (frames >= FRAMES && idle >= quietMs) done(true);
    else if (looks++ > MIN_FRAMES && now - start > limitMs) done(false);
    else requestAnimationFrame(look);
  };
  look();
})""".replace("MIN_FRAMES", str(MIN_FRAMES)).replace("FRAMES", str(FRAMES))
"""Returns true once the document and its frames are quiet, false if they are not in time."""


def requests_started(page: Page) -> int:
    """The number of requests that the document's scripts have started; -1 without a document."""
    from playwright.sync_api import Error

    try:
        return int(page.evaluate("window.__live?.started ?? 0"))
    except Error:
        if page.is_closed():
            raise
        return -1  # the next document is being loaded


def _frames(page: Page) -> list[Frame]:
    """Return the page's own frame, which looks into those of its server, and those of others.

    A frame that is not to be seen draws nothing, and would be waited for in vain.
    """
    main_frame, *frames = page.frames
    others = [
        frame
        for frame in frames
        if frame.url.startswith("http") and urlsplit(frame.url)[:2] != urlsplit(main_frame.url)[:2]
    ]
    return [main_frame, *(frame for frame in others if frame.frame_element().is_visible())]


def settle(page: Page, requests: Requests) -> bool:
    """Wait until a page is quiet; return False if it is not within `LIMIT_S`.

    Raises:
        playwright.sync_api.Error: the page is gone.
    """
    from playwright.sync_api import Error
    from playwright.sync_api import TimeoutError as PlaywrightTimeout

    start_s = time.monotonic()
    rounds = 0
    remaining_ms = 1000 * LIMIT_S
    while remaining_ms > 0 or rounds < MIN_ROUNDS:
        rounds += 1
        try:
            if not all(frame.evaluate(QUIET, [QUIET_MS, remaining_ms]) for frame in _frames(page)):
                return False
            # A request that never ends is not waited for by every later step.
            if all(since_s < start_s - LIMIT_S for since_s in requests.values()):
                return True
        except PlaywrightTimeout:
            return False
        except Error as error:
            if page.is_closed() or "crashed" in str(error):
                raise
            try:  # the next document is being loaded
                page.wait_for_load_state("domcontentloaded", timeout=max(remaining_ms, 500))
            except PlaywrightTimeout:
                return False
        remaining_ms = 1000 * (start_s + LIMIT_S - time.monotonic())
    return False

"""When a page is quiet: no request under way, no change of late, nothing about to come, two frames.

It is waited for that, never for a fixed time, and for `LIMIT_S` at most; longer only where a slow
machine, or one that stood still, has hardly had a look at the page by then.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

LIMIT_S = 3.0
LEAST_FRAMES, LEAST_ROUNDS = 30, 10  # of looking before a page is given up; half a second usually
QUIET_MS, FRAMES = 20.0, 2  # without a change
SOON_MS = 500  # a timer up to that is waited for: a search as one types, a menu that opens
Requests = dict[Any, float]  # what the page asks of its server, and since when

WATCH = (
    """(() => {
  const live = { asked: 0, begun: 0, changed: performance.now(), timers: new Map(), depth: 0 };
  Object.defineProperty(window, "__live", { value: live });
  const touch = () => { live.changed = performance.now(); };
  const { fetch, setTimeout, clearTimeout, clearInterval } = window;
  const answered = () => setTimeout(() => { live.asked--; touch(); }, 0);
  window.fetch = (...given) => {
    live.asked++;
    live.begun++;
    return fetch(...given).finally(answered);
  };
  // The head of a reply is not its body: on a slow machine that comes a good while later.
  for (const name of ["text", "json", "blob", "arrayBuffer", "formData"]) {
    const read = Response.prototype[name];
    Response.prototype[name] = function (...given) {
      live.asked++;
      return read.apply(this, given).finally(answered);
    };
  }
  const send = XMLHttpRequest.prototype.send;
  XMLHttpRequest.prototype.send = function (...given) {
    live.asked++;
    live.begun++;
    this.addEventListener("loadend", answered);
    return send.apply(this, given);
  };
  window.setTimeout = (work, delay = 0, ...given) => {
    const depth = live.depth;
    const run = typeof work !== "function" ? work : (...args) => {
      live.timers.delete(id);
      live.depth = depth + 1;
      try { return work.apply(window, args); } finally { live.depth = 0; touch(); }
    };
    const id = setTimeout(run, delay, ...given);
    // A timer that always sets the next one is a clock, not work that ends.
    if (typeof work === "function" && delay <= SOON && depth < 3)
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
).replace("SOON", str(SOON_MS))
"""Runs in every document before its own scripts, and notes what goes on."""

QUIET = """([quietMs, limitMs]) => new Promise((done) => {
  const start = performance.now();
  const idleMs = (view) => {
    const live = view.__live, now = view.performance.now();
    if (view.document.readyState !== "complete" || live?.asked > 0) return 0;
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
    else if (looks++ > LEAST && now - start > limitMs) done(false);
    else requestAnimationFrame(look);
  };
  look();
})""".replace("FRAMES", str(FRAMES)).replace("LEAST", str(LEAST_FRAMES))
"""True once the document and those of its own frames are quiet; false: they are not in time."""


def requests_begun(page: Page) -> int:
    """Return how many requests the document's scripts have begun; -1 while there is none."""
    from playwright.sync_api import Error

    try:
        return int(page.evaluate("window.__live?.begun ?? 0"))
    except Error:
        if page.is_closed():
            raise
        return -1  # the document makes way for the next one


def settle(page: Page, requests: Requests) -> bool:
    """Waits until a page is quiet; False: it is not within `LIMIT_S`.

    Raises:
        playwright.sync_api.Error: the page is gone.
    """
    from playwright.sync_api import Error
    from playwright.sync_api import TimeoutError as TookTooLong

    ends_s, rounds = time.monotonic() + LIMIT_S, 0
    while (left_ms := 1000 * (ends_s - time.monotonic())) > 0 or rounds < LEAST_ROUNDS:
        rounds += 1
        try:
            if not page.evaluate(QUIET, [QUIET_MS, left_ms]):
                return False
        except TookTooLong:
            return False
        except Error as error:
            if page.is_closed() or "crashed" in str(error):
                raise
            try:  # the document has made way for the next one
                page.wait_for_load_state("domcontentloaded", timeout=max(left_ms, 500))
            except TookTooLong:
                return False
            continue
        # A request that never ends is not waited for by every later step.
        if all(since < ends_s - 2 * LIMIT_S for since in requests.values()):
            return True
    return False

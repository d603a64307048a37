"""One request until there is an answer, or it is clear that there will be none."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from utils.config.options import Options
from utils.contracts import Abandoned, CallError, Generation, ModelWrapper, Prepared, Status
from utils.engine.gate import Gate
from utils.engine.retry_policy import AWAY_STATUS, FATAL_CODES, Action, History, decide, is_away
from utils.errors import StopRun

ADVICE = {
    401: "The server does not accept the API key.",
    402: "The account has no credit.",
    403: "The key may not use this model.",
    404: "No such model or no such path: base URLs usually end in /v1.",
}
NOT_THERE = (
    "Is the server running, and is the base URL right? --wait-for-server S waits for one "
    "that is still loading."
)
KEPT = " Answers so far are kept: {}; --mode eval scores them."
LONGEST_ERROR_TEXT = 600  # characters of what a server said
SILENT_S = 10.0  # of a server that is away or rate limits everything: then a line says so


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of a request."""

    status: Status
    attempts: int
    generation: Generation | None = None  # the answer
    error: CallError | None = None  # it was refused, or every attempt failed
    latency_s: float = 0.0  # of the attempt that succeeded


class Asker:
    """Asks one model, from many threads at once; knows what its server has been through.

    When `stopping` is set, nothing is asked any more; `clean` removes secrets from a text.
    """

    def __init__(
        self,
        model: ModelWrapper,
        options: Options,
        gate: Gate,
        stopping: threading.Event,
        clean: Callable[[str], str],
    ) -> None:
        self._model, self._options, self._gate, self._stopping = model, options, gate, stopping
        self._clean, self._lock, self._answers = clean, threading.Lock(), 0
        self._began_s = self._away_since_s = self._limited_since_s = math.inf  # not yet
        self._silent_since_s: float | None = None  # where a line has said so
        self.has_stored = False  # answers from before

    def ask(self, prepared: Prepared) -> Asked | None:
        """Attempts until it is clear what comes of it; None if the run stopped meanwhile.

        Raises:
            StopRun: nothing can work any more.
            UserFunctionError, UserError: the request cannot be made.
        """
        failures, attempts, rate_limited_s, answered_meanwhile = 0, 0, 0.0, False
        while True:
            with self._gate.slot():
                if self._stopping.is_set():
                    return None
                attempts += 1
                answers_before, sent_s = self._answers, time.monotonic()
                self._began_s = min(self._began_s, sent_s)
                try:
                    generation = self._model.generate(prepared)
                except Abandoned:
                    return None
                except CallError as error:
                    failure = presentable(error, self._clean)
                    if failure.status_code == 429:
                        self._gate.too_many()
                else:
                    now_s = time.monotonic()
                    with self._lock:
                        self._answers += 1
                        if self._silent_since_s is not None:
                            self._report_answer(now_s - self._silent_since_s)
                        self._away_since_s = self._limited_since_s = math.inf
                    self._gate.answered(sent_s=sent_s, now_s=now_s)
                    return Asked(Status.OK, attempts, generation, latency_s=now_s - sent_s)
            if failure.status_code in AWAY_STATUS:  # no other failure can be about one sample
                answered_meanwhile |= self._answers > answers_before
            history = self._history(failure, failures, rate_limited_s, answered_meanwhile)
            decision = decide(failure, history, self._options, jitter=random.random())
            if decision.action is Action.STOP:
                kept = KEPT.format(self._options.to_go_on)
                kept *= history.run_has_answers or self.has_stored
                raise StopRun(_stop_text(self._model.name, failure, history) + kept)
            if decision.action in (Action.REFUSED, Action.FAILED):
                return Asked(Status(decision.action.value), attempts, error=failure)
            failures += decision.counts
            if decision.action is Action.PAUSE:
                self._report_silence("the server is unreachable", history.away_s, decision.wait_s)
                self._gate.pause(decision.wait_s)
            elif failure.status_code == 429:
                rate_limited_s += decision.wait_s
                if self._wait_for_rate_limit(history.limited_s, decision.wait_s):
                    return None
            elif self._stopping.wait(decision.wait_s):
                return None

    def _history(
        self, error: CallError, failures: int, rate_limited_s: float, answered_meanwhile: bool
    ) -> History:
        now_s = time.monotonic()
        with self._lock:
            self._away_since_s = min(self._away_since_s, now_s) if is_away(error) else math.inf
            if error.status_code == 429:
                self._limited_since_s = min(self._limited_since_s, now_s)
            away_s, limited_s = now_s - self._away_since_s, now_s - self._limited_since_s
            return History(
                failures,
                rate_limited_s,
                self._answers > 0,
                answered_meanwhile,
                max(0.0, away_s),
                max(0.0, limited_s),
                run_s=now_s - self._began_s,
            )

    def _wait_for_rate_limit(self, limited_s: float, wait_s: float) -> bool:
        """Waits, and after a while says for what; True if the run stopped meanwhile."""
        answers, silent_s = self._answers, min(max(SILENT_S - limited_s, 0.0), wait_s)
        if self._stopping.wait(silent_s):
            return True
        left_s = wait_s - silent_s
        if self._answers == answers:
            self._report_silence("rate limited by the server", limited_s + silent_s, left_s)
        return self._stopping.wait(left_s)

    def _report_silence(self, what: str, since_s: float, next_s: float) -> None:
        """Once until the next answer."""
        with self._lock:
            if self._silent_since_s is not None or since_s < SILENT_S:
                return
            self._silent_since_s = time.monotonic() - since_s
        since = time.strftime("%H:%M:%S", time.localtime(time.time() - since_s))
        print(f"{self._model.name}: {what} since {since}, next try in {next_s:.0f} s", flush=True)

    def _report_answer(self, took_s: float) -> None:
        self._silent_since_s = None
        print(f"{self._model.name}: the server answers again after {took_s:.0f} s", flush=True)


def presentable(error: CallError, clean: Callable[[str], str]) -> CallError:
    """The error with a short text, cleaned of secrets before, so that no half key is left."""
    text = clean(str(error))
    error.message = text[:LONGEST_ERROR_TEXT] + "…" * (len(text) > LONGEST_ERROR_TEXT)
    return error


def _stop_text(model: str, error: CallError, history: History) -> str:
    advice = ADVICE.get(error.status_code or 0)
    if error.code == "insufficient_quota":
        advice = "The account's quota is used up."
    elif error.code in FATAL_CODES or error.status_code == 400:
        advice = "The server refuses the account or its key."
    elif error.status_code == 429:
        advice = f"The server has answered nothing else for {history.limited_s:.0f} s (--outage)."
    elif advice is None and history.run_has_answers:
        advice = f"The server has been away for {history.away_s:.0f} s (--outage)."
    elif advice is None:
        advice = NOT_THERE
    return f'model "{model}": {error}. {advice}'

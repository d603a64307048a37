"""One request until there is an answer, or it is clear that there will be none."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from utils.contracts import Abandoned, CallError, Generation, ModelWrapper, Prepared, Status
from utils.engine.gate import Gate
from utils.engine.retry_policy import (
    AWAY_STATUS,
    MISPLACED_STATUS,
    Action,
    History,
    Policy,
    decide,
    is_away,
    random_jitter,
)
from utils.errors import StopRun

LONGEST_ERROR_TEXT = 600  # characters of what a server said
NEVER_THERE = 5  # samples that failed on 502, 503 or a time-out before there was any answer
MISPLACED_IN_A_ROW = 10  # 403 and 404 after answers: then it is not the sample


@dataclass(frozen=True, slots=True)
class Answered:
    """There is an answer.

    Attributes:
        attempts: how many it took.
        latency_s: of the attempt that succeeded.
    """

    generation: Generation
    attempts: int
    latency_s: float


@dataclass(frozen=True, slots=True)
class Unanswered:
    """There is none: the server refused this request, or every attempt failed."""

    status: Status
    error: CallError
    attempts: int


class Asker:
    """Asks one model, from many threads at once; knows what its server has been through.

    Args:
        gate: how many may ask at once.
        stopping: when set, nothing is asked any more.
        clean: removes secrets from a text.
    """

    def __init__(
        self,
        model: ModelWrapper,
        policy: Policy,
        gate: Gate,
        stopping: threading.Event,
        clean: Callable[[str], str],
    ) -> None:
        self._model, self._policy, self._gate, self._stopping = model, policy, gate, stopping
        self._clean = clean
        self._lock = threading.Lock()
        self._began_s: float | None = None
        self._answers = 0
        self._away_since_s: float | None = None
        self._misplaced_in_a_row = 0
        self._never_there = 0  # samples given up before there was any answer

    def ask(self, prepared: Prepared) -> Answered | Unanswered | None:
        """Attempts until it is clear what comes of it; None if the run stopped meanwhile.

        Raises:
            StopRun: nothing can work any more.
            UserFunctionError, UserError: the request cannot be made.
        """
        failures, attempts, rate_limited_s = 0, 0, 0.0
        answered_meanwhile = False
        while True:
            with self._gate.slot():
                if self._stopping.is_set():
                    return None
                attempts += 1
                began_s, answers_before = self._note_start()
                try:
                    generation = self._model.generate(prepared)
                except Abandoned:
                    return None
                except CallError as error:
                    failure = self._presentable(error)
                    if failure.status_code == 429:
                        self._gate.too_many(sent_s=began_s, now_s=time.monotonic())
                else:
                    now_s = time.monotonic()
                    self._note_answer(began_s, now_s)
                    return Answered(generation, attempts, now_s - began_s)
            if failure.status_code in AWAY_STATUS:  # no other failure can be about one sample
                answered_meanwhile |= self._answers > answers_before
            history = self._history(failure, failures, rate_limited_s, answered_meanwhile)
            decision = decide(failure, history, self._policy, jitter=random_jitter())
            if decision.action is Action.STOP:
                raise StopRun(_stop_text(self._model.name, failure, history))
            if decision.action in (Action.REFUSED, Action.FAILED):
                self._watch_failures(failure)
                return Unanswered(Status(decision.action.value), failure, attempts)
            failures += decision.counts
            if decision.action is Action.PAUSE:
                self._gate.pause(decision.wait_s)
                continue
            if failure.status_code == 429:
                rate_limited_s += decision.wait_s
            if self._stopping.wait(decision.wait_s):
                return None

    def _presentable(self, error: CallError) -> CallError:
        """The error with its text cleaned first and then shortened, so that no half key is left."""
        text = self._clean(str(error))
        if len(text) > LONGEST_ERROR_TEXT:
            text = text[:LONGEST_ERROR_TEXT] + "…"
        error.args = (text,)
        return error

    def _note_start(self) -> tuple[float, int]:
        """The time, and how many answers there are so far."""
        now_s = time.monotonic()
        with self._lock:
            if self._began_s is None:
                self._began_s = now_s
            return now_s, self._answers

    def _note_answer(self, sent_s: float, now_s: float) -> None:
        with self._lock:
            self._answers += 1
            self._away_since_s = None
            self._misplaced_in_a_row = 0
        self._gate.answered(sent_s=sent_s, now_s=now_s)

    def _history(
        self, error: CallError, failures: int, rate_limited_s: float, answered_meanwhile: bool
    ) -> History:
        now_s = time.monotonic()
        with self._lock:
            if not is_away(error):
                self._away_since_s = None
            elif self._away_since_s is None:
                self._away_since_s = now_s
            away_s = now_s - self._away_since_s if self._away_since_s is not None else 0.0
            run_s = now_s - (self._began_s or now_s)
            return History(
                failures=failures,
                rate_limited_s=rate_limited_s,
                run_has_answers=self._answers > 0,
                answered_meanwhile=answered_meanwhile,
                away_s=away_s,
                run_s=run_s,
            )

    def _watch_failures(self, error: CallError) -> None:
        """Stops a run in which sample after sample fails for a reason that is no sample's."""
        with self._lock:
            misplaced = error.status_code in MISPLACED_STATUS
            self._misplaced_in_a_row = self._misplaced_in_a_row + 1 if misplaced else 0
            never_there = self._answers == 0 and (is_away(error) or error.kind == "timeout")
            self._never_there += never_there
            given_up = self._never_there >= NEVER_THERE
            if self._misplaced_in_a_row >= MISPLACED_IN_A_ROW or (never_there and given_up):
                in_a_row = max(self._misplaced_in_a_row, self._never_there)
                raise StopRun(
                    f'model "{self._model.name}": {in_a_row} samples in a row got '
                    f"{error}. Answers so far are kept; --mode eval scores them."
                )


def _stop_text(model: str, error: CallError, history: History) -> str:
    advice = {
        401: "The server does not accept the API key.",
        402: "The account has no credit.",
        403: "The key may not use this model.",
        404: "No such model or no such path: base URLs usually end in /v1.",
        429: "The account's quota is used up.",
    }.get(error.status_code or 0)
    if advice is None and history.run_has_answers:
        advice = f"The server has been away for {history.away_s:.0f} s (--outage)."
    elif advice is None:
        advice = (
            "Is the server running, and is the base URL right? --wait-for-server S waits for one "
            "that is still loading."
        )
    return f'model "{model}": {error}. {advice} Answers so far are kept; --mode eval scores them.'

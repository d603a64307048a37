"""One request until there is an answer, or it is clear that there will be none."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from utils.config.options import Options
from utils.contracts import (
    Abandoned,
    CallError,
    Generation,
    ModelServer,
    ModelWrapper,
    Prepared,
    Servers,
    Status,
)
from utils.engine.gate import Gate, Place
from utils.engine.retry_policy import (
    AWAY_STATUS,
    DEATHS_TO_FAIL,
    DEATHS_TO_SET_ASIDE,
    FATAL_CODES,
    FREE_FAULTS,
    Decision,
    Fault,
    History,
    NextAction,
    decide,
    fault_of,
    is_away,
)
from utils.errors import StopRun
from utils.store.records import now

ADVICE = {
    401: "The server does not accept the API key.",
    402: "The account has no credit.",
    403: "The key may not use this model.",
    404: "No such model or no such path: base URLs usually end in /v1.",
    407: "The proxy wants a user and a password.",
}
ADVICE_BY_KIND = {
    "scheme": "Write the other of http:// and https:// into model_path.",
    "certificate": (
        "SSL_CERT_FILE names a file with the certificate of the authority that has signed it."
    ),
}
NOT_THERE = (
    "Is the server running, and is the base URL right? --wait-for-server S waits for one "
    "that is still loading."
)
KEPT = " Answers so far are kept: {}; --mode eval scores them."
LONGEST_ERROR_TEXT = 600  # characters of what a server said
SILENT_S = 10.0  # of a server that is away or rate limits everything: then a line says so


@dataclass(frozen=True, slots=True)
class RequestResult:
    """The result of a request, all attempts included."""

    status: Status
    attempts: int
    generation: Generation | None = None  # the answer
    error: CallError | None = None  # it was refused, or every attempt failed
    latency_s: float = 0.0  # of the attempt that succeeded
    asked_at: str = ""  # when that attempt was sent; "" without an answer
    server: str = ""  # that has answered or failed last, where there are several


@dataclass(slots=True)
class _Attempts:
    """The attempts at one request so far."""

    count: int = 0
    failures: int = 0  # those that use up a retry
    rate_limited_s: float = 0.0
    last_s: float = 0.0  # how long the last one took
    was_empty: bool = False  # a reply was whole and had no text
    answered_meanwhile: bool = False  # the last one met with 502 or 503 beside other answers
    was_beside_answers: bool = False  # an earlier one did
    place: Place | None = None  # of the last one
    avoided: ModelServer | None = None  # it has failed last
    error: CallError | None = None  # what failed last
    deaths: int = 0  # of servers that had this request
    died: set[int] = field(default_factory=set)  # the ids of these servers
    faults: int = 0  # failures of servers that live on
    not_found: bool = False  # a server was excluded that said 404
    is_last: bool = False  # it is asked when all others are over: servers may die of it

    @property
    def server(self) -> str:
        """The server of the last attempt; "" where there is but one."""
        server = self.place.server if self.place is not None else None
        return server.name if server is not None else ""


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
        self._model = model
        self._options = options
        self._gate = gate
        gate.patience_s = options.wait_for_server_s
        gate.why_none = self._no_server_text
        self._servers = model.servers
        self._stopping = stopping
        self._clean = clean
        self._lock = threading.Lock()
        self._answers = 0
        self._began_s = math.inf  # not yet
        self._away_since_s = math.inf
        self._away_for: set[int] = set()  # ids of requests that found it away since an answer
        self._limited_since_s = math.inf
        self._silent_since_s: float | None = None  # if a line has said so
        self._died: set[int] = set()  # ids of all servers that did
        self._aside = 0  # requests that wait until all others are over
        self.has_stored = False  # answers from before

    def ask(self, prepared: Prepared) -> RequestResult | None:
        """Attempt until there is an answer, or none to be had; None if the run stopped meanwhile.

        Raises:
            StopRun: nothing can work any more.
            UserFunctionError, UserError: the request cannot be made.
        """
        attempts = _Attempts()
        if self._servers is not None:
            self._servers.start()
        try:
            return self._ask(prepared, attempts)
        finally:
            self._note_cleared(attempts)

    def _note_cleared(self, attempts: _Attempts) -> None:
        """Note that a request which was set aside is over."""
        with self._lock:
            self._aside -= attempts.is_last
        attempts.is_last = False

    def _ask(self, prepared: Prepared, attempts: _Attempts) -> RequestResult | None:
        while True:
            result = self._attempt(prepared, attempts)
            if not isinstance(result, CallError):
                return result
            attempts.error = result
            if self._servers is not None and self._goes_elsewhere(result, attempts, self._servers):
                continue
            decision, history = self._decision(result, attempts)
            if decision.action is NextAction.EMPTY:
                return RequestResult(
                    Status.OK,
                    attempts.count,
                    result.empty_answer,
                    latency_s=attempts.last_s,
                    server=attempts.server,
                )
            if decision.action in (NextAction.REFUSED, NextAction.FAILED):
                status = Status(decision.action.value)
                return RequestResult(status, attempts.count, error=result, server=attempts.server)
            self._report_silence(history, decision.wait_s)
            if decision.action is NextAction.PAUSE or self._is_busy(result):
                self._gate.pause(decision.wait_s, attempts.place)
            elif self._stopping.wait(decision.wait_s):
                return None

    def _decision(self, error: CallError, attempts: _Attempts) -> tuple[Decision, History]:
        """Count a failed attempt; return the decision and the history behind it.

        Raises:
            StopRun: no further request can succeed.
        """
        history = self._history(error, attempts)
        decision = decide(error, history, self._options, jitter=random.random())
        if decision.action is NextAction.STOP:
            raise StopRun(self._stop_text(error, history), summary=str(error))
        attempts.was_empty = attempts.was_empty or error.empty_answer is not None
        if decision.counts:
            attempts.failures += 1
        if error.status_code == 429:
            attempts.rate_limited_s += decision.wait_s
        return decision, history

    def _is_busy(self, error: CallError) -> bool:
        """Whether one of several servers wants no requests for a while; the others go on."""
        return self._servers is not None and fault_of(error) is Fault.BUSY

    def _goes_elsewhere(self, error: CallError, attempts: _Attempts, servers: Servers) -> bool:
        """Whether a failed request is its server's fault, and another server gets it.

        A sample may be the cause if several servers died while they had it: it is queried after
        all others. Failures of servers that stay alive are free a few times, then they count.
        """
        place, fault = attempts.place, fault_of(error)
        server = place.server if place is not None else None
        if server is None or fault in (Fault.SAMPLE, Fault.BUSY):
            return False
        attempts.avoided = server
        if fault is Fault.NEVER:
            if error.status_code == 404 and attempts.not_found:
                return False  # by two servers: it may be about this request
            attempts.not_found = error.status_code == 404
            servers.exclude(server, str(error))
        elif not servers.is_gone(server):
            attempts.faults += 1
            attempts.answered_meanwhile = True  # so that it uses up a retry
            if attempts.faults > FREE_FAULTS:
                return False
        elif not is_away(error) or error.status_code is not None:
            self._died.add(id(server))
            attempts.died.add(id(server))
            attempts.deaths += 1
            if attempts.deaths >= DEATHS_TO_FAIL:
                return False
            if attempts.deaths == DEATHS_TO_SET_ASIDE:
                attempts.is_last = True
                with self._lock:
                    self._aside += 1
                self._gate.set_aside()
        return True

    def _is_cause(self, attempts: _Attempts) -> bool:
        """Whether this request seems to have killed the servers that died.

        Every server that died in this run had it, and no other suspect is left. It would kill
        another server, too.
        """
        return self._aside == 1 and attempts.died == self._died

    def _as_cause(self, error: CallError, attempts: _Attempts) -> CallError:
        """The reason why such a request is not sent again."""
        error.message += (
            f" - {attempts.deaths} times a server died while it had this sample, and none died "
            "without it: it is not asked again in this run"
        )
        return error

    def _attempt(self, prepared: Prepared, attempts: _Attempts) -> RequestResult | CallError | None:
        """Send the request once; None if the run stopped meanwhile.

        Raises:
            StopRun: there is no server left to send it to.
        """
        is_suspect = bool(attempts.died)
        with self._gate.slot(
            attempts.avoided, is_suspect=is_suspect, is_last=attempts.is_last
        ) as place:
            if self._stopping.is_set():
                return None
            if attempts.is_last and attempts.error is not None and self._is_cause(attempts):
                return RequestResult(
                    Status.FAILED,
                    attempts.count,
                    error=self._as_cause(attempts.error, attempts),
                    server=attempts.server,
                )
            self._note_if_moved(attempts, place)
            attempts.place = place
            attempts.count += 1
            answers_before = self._answers
            sent_s = time.monotonic()
            asked_at = now()
            self._began_s = min(self._began_s, sent_s)
            try:
                generation = (place.server or self._model).generate(prepared)
            except Abandoned:
                return None
            except CallError as error:
                attempts.last_s = time.monotonic() - sent_s
                if error.status_code == 429 or error.kind == "timeout":
                    self._gate.too_many(place)
                attempts.answered_meanwhile = (  # no other failure can be about one sample
                    error.status_code in AWAY_STATUS and self._answers > answers_before
                )
                if error.empty_answer is not None:
                    self._note_answer(place)
                return presentable(error, self._clean)
            latency_s = time.monotonic() - sent_s
            self._note_answer(place)
            self._note_cleared(attempts)  # before another one that was set aside gets its turn
        return RequestResult(
            Status.OK,
            attempts.count,
            generation,
            latency_s=latency_s,
            asked_at=asked_at,
            server=place.server.name if place.server is not None else "",
        )

    def _note_if_moved(self, attempts: _Attempts, place: Place) -> None:
        """Count a request that its server failed and another one gets; not one that comes back."""
        failed = attempts.avoided
        has_just_failed = attempts.place is not None and attempts.place.server is failed
        if self._servers and failed and has_just_failed and place.server is not failed:
            self._servers.note_moved(failed)

    def _note_answer(self, place: Place) -> None:
        """Note that the server answers."""
        with self._lock:
            if not self._answers:
                self._gate.patience_s = self._options.outage_s
            self._answers += 1
            if self._silent_since_s is not None:
                self._report_answer()
            self._away_since_s = math.inf
            self._away_for.clear()
            self._limited_since_s = math.inf
        self._gate.answered(place)

    def _history(self, error: CallError, attempts: _Attempts) -> History:
        now_s = time.monotonic()
        with self._lock:
            if is_away(error):
                self._away_since_s = min(self._away_since_s, now_s)
                self._away_for.add(id(attempts))
            else:
                self._away_since_s = math.inf
                self._away_for.clear()
            if error.status_code == 429:
                self._limited_since_s = min(self._limited_since_s, now_s)
            attempts.was_beside_answers |= attempts.answered_meanwhile
            # A server that is away for others, too, has nothing against this sample.
            is_about_sample = attempts.was_beside_answers and len(self._away_for) == 1
            return History(
                failures=attempts.failures,
                was_empty=attempts.was_empty,
                rate_limited_s=attempts.rate_limited_s,
                run_has_answers=self._answers > 0,
                answered_meanwhile=attempts.answered_meanwhile or is_about_sample,
                away_s=max(0.0, now_s - self._away_since_s),
                limited_s=max(0.0, now_s - self._limited_since_s),
                run_s=now_s - self._began_s,
                deaths=attempts.deaths,
            )

    def _report_silence(self, history: History, wait_s: float) -> None:
        """Say once until the next answer that the server is away or limits everything."""
        silent_s = max(history.away_s, history.limited_s)
        with self._lock:
            if self._silent_since_s is not None or silent_s < SILENT_S:
                return
            self._silent_since_s = time.monotonic() - silent_s
        what = "the server is unreachable" if history.away_s else "rate limited by the server"
        since = time.strftime("%H:%M:%S", time.localtime(time.time() - silent_s))
        print(f"{self._model.name}: {what} since {since}, next try in {wait_s:.0f} s", flush=True)

    def _report_answer(self) -> None:
        assert self._silent_since_s is not None
        silent_s = time.monotonic() - self._silent_since_s
        self._silent_since_s = None
        print(f"{self._model.name}: the server answers again after {silent_s:.0f} s", flush=True)

    def report_wait(self) -> None:
        """Say that there is no server now, and for how long the run waits for one."""
        option = "--outage" if self._answers else "--wait-for-server"
        if self._gate.patience_s:
            print(
                f"{self._model.name}: no server is left. The run waits up to "
                f"{self._gate.patience_s:.0f} s for one ({option})",
                flush=True,
            )

    def _no_server_text(self) -> str:
        assert self._servers is not None
        text = f'model "{self._model.name}": no server is left: {self._servers.why_none()}. '
        if not self._answers:
            text += "--wait-for-server S waits for servers that are still loading."
        else:
            text += "--outage S sets how long the run waits for a server."
        if self._answers or self.has_stored:
            text += KEPT.format(self._options.to_go_on)
        return text

    def _stop_text(self, error: CallError, history: History) -> str:
        text = f'model "{self._model.name}": {error}. {_advice(error, history)}'
        if history.run_has_answers or self.has_stored:
            text += KEPT.format(self._options.to_go_on)
        return text


def presentable(error: CallError, clean: Callable[[str], str]) -> CallError:
    """Return an error with a short text, cleaned of secrets first, so that no half key is left."""
    text = clean(str(error))
    if len(text) > LONGEST_ERROR_TEXT:
        text = f"{text[:LONGEST_ERROR_TEXT]}…"
    error.message = text
    return error


def _advice(error: CallError, history: History) -> str:
    if error.advice and not history.run_has_answers:
        return error.advice
    if error.kind in ADVICE_BY_KIND:
        return ADVICE_BY_KIND[error.kind]
    if error.code == "insufficient_quota":
        return "The account's quota is used up."
    if error.code in FATAL_CODES or error.status_code == 400:
        return "The server refuses the account or its key."
    if error.status_code == 429:
        return f"The server has given no other answer for {history.limited_s:.0f} s (--outage)."
    if error.status_code in ADVICE:
        return ADVICE[error.status_code]
    if history.run_has_answers:
        return f"The server has been away for {history.away_s:.0f} s (--outage)."
    return NOT_THERE

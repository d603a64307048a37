"""Several servers of one model: which are there, which may be asked, and what each has done.

A server joins once it has been looked at (`looking.py`) and serves what the others serve. After a
failed request it is suspect, gets nothing new and is looked at again: it serves on, or it is down
and is looked at every few seconds. One whose address is taken away drains: what it has been sent
comes to its end. One that refuses all requests, or serves something else, is excluded.
"""

from __future__ import annotations

import datetime
import math
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from models.wrappers.api.addresses import Addresses
from models.wrappers.api.looking import Facts, OtherModel, differences, look_at
from models.wrappers.api.server import ApiServer
from utils.config.endpoint import Endpoint
from utils.contracts import CallError, Generation, ModelServer, Prepared
from utils.errors import StopRun
from utils.text import counted

SECONDS_BETWEEN_READINGS = 2.0  # of the addresses
SECONDS_BETWEEN_LOOKS = 5.0  # at a server that is down
NO_ADDRESS = 'the file or folder of "servers" names no address'
NO_ADDRESS_ADVICE = "Write one into it, or wait for one with --wait-for-server S."
NEVER = {401, 403, 404}  # status of a server that will not answer any request
DIFFER = '"servers_may_differ": true in the model\'s entry lets them differ'


class State(StrEnum):
    """The state of a server."""

    JOINING = "joining"
    SERVING = "serving"
    SUSPECT = "suspect"
    DOWN = "down"
    DRAINING = "draining"
    EXCLUDED = "excluded"


@dataclass(eq=False)
class Member:
    """One of the servers: what it is asked, and an account of it."""

    server: ApiServer
    state: State = State.JOINING
    reason: str = ""  # why it does not serve
    facts: Facts = field(default_factory=dict)
    moved: int = 0  # requests that went elsewhere because it failed
    joined_at: str = ""  # the first time
    left_at: str = ""  # the last time that it stopped serving
    left_s: float | None = None  # the same, while it is down
    outages_s: list[float] = field(default_factory=list)  # how long each one took that is over
    serving_s: float = 0.0  # how long it served, up to `since_s`
    since_s: float = 0.0  # when it began to serve
    next_look_s: float = 0.0
    printed_state: State | None = None  # the state that was printed last
    looking: threading.Lock = field(default_factory=threading.Lock)
    counting: threading.Lock = field(default_factory=threading.Lock)
    in_flight: int = 0
    latencies_s: list[float] = field(default_factory=list)
    tokens: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        """The host with its port."""
        return self.server.name

    def generate(self, prepared: Prepared) -> Generation:
        """Send a request once; CallError: no answer this time."""
        with self.counting:
            self.in_flight += 1
        sent_s = time.monotonic()
        try:
            generation = self.server.generate(prepared)
        except CallError as error:
            if error.empty_answer is not None:
                self._count(error.empty_answer, time.monotonic() - sent_s)
            raise
        finally:
            with self.counting:
                self.in_flight -= 1
        self._count(generation, time.monotonic() - sent_s)
        return generation

    def _count(self, generation: Generation, latency_s: float) -> None:
        """Count a reply, an empty one too."""
        self.latencies_s.append(latency_s)
        with self.counting:
            for kind in ("prompt_tokens", "completion_tokens"):
                self.tokens[kind] += generation.usage.get(kind) or 0

    @property
    def is_drained(self) -> bool:
        """Whether its address is gone and all that it was sent is over."""
        return self.state is State.DRAINING and not self.in_flight

    @property
    def where(self) -> str:
        """The state in words: `is down`."""
        return "has drained" if self.is_drained else f"is {self.state}"

    def row(self) -> dict[str, Any]:
        """Its row in the table of servers."""
        latencies_s = sorted(self.latencies_s)
        answers = len(latencies_s)
        serving_s = self.serving_s
        if self.state is State.SERVING:
            serving_s += time.monotonic() - self.since_s
        row: dict[str, Any] = {
            "server": self.name,
            "answers": answers,
            **{kind: self.tokens[kind] for kind in ("prompt_tokens", "completion_tokens")},
            "moved": self.moved,
            "joined_at": self.joined_at,
            "left_at": self.left_at,
            "outages": len(self.outages_s),
            "outages_s": round(sum(self.outages_s), 1),
            "state": "drained" if self.is_drained else str(self.state),
            "reason": self.reason,
            "serving_s": round(serving_s, 1),
            **{name: self.facts[name] for name in ("version",) if name in self.facts},
        }
        if answers:
            row["latency_median_s"] = round(statistics.median(latencies_s), 3)
            row["latency_p95_s"] = round(latencies_s[math.ceil(0.95 * answers) - 1], 3)
        return row


class ServerPool:
    """The servers of one model.

    Args:
        label: the model's name, for what is printed.
        source: gives their addresses, which may be others at each call.
        new_server: makes the server of an address.
        envelope: headers and query of requests.
        may_differ: servers may serve different things.
        may_come: whether addresses may come that are not there yet.

    Attributes:
        clean: removes secrets from what servers say.
    """

    def __init__(
        self,
        label: str,
        source: Callable[[], Addresses],
        new_server: Callable[[Endpoint], ApiServer],
        *,
        envelope: Mapping[str, Any],
        may_differ: bool,
        may_come: Callable[[], bool],
    ) -> None:
        self._label = label
        self._source = source
        self._new_server = new_server
        self._envelope = envelope
        self._may_differ = may_differ
        self._may_come = may_come
        self.clean: Callable[[str], str] = str
        self._known: set[str] | None = None  # addresses of the first; None: of all at the start
        self._members: dict[str, Member] = {}  # by address
        self._expected: Mapping[str, Any] = {}  # what stored answers are from
        self._facts: Facts = {}  # what all serve
        self._changed: Callable[[Sequence[ModelServer], bool, bool], None] = lambda *_: None
        self._lock = threading.RLock()  # of all above
        self._start_lock = threading.Lock()
        self._has_started = False  # or it is starting
        self._is_open = False  # the first servers have been looked at
        self._problem: StopRun | None = None
        self._told: set[str] = set()
        self._stopping = threading.Event()

    # -- what the engine calls --------------------------------------------------------------------

    def start(self) -> None:
        """Look at all servers, once; then go on looking for others.

        Raises:
            StopRun: they do not serve the same.
        """
        with self._start_lock:
            if not self._has_started:
                self._has_started = True
                try:
                    self._read_addresses(is_start=True)
                except StopRun as problem:
                    self._problem = problem
                else:
                    threading.Thread(target=self._watch, daemon=True).start()
            if self._problem is not None:
                raise self._problem

    def subscribe(self, changed: Callable[[Sequence[ModelServer], bool, bool], None]) -> None:
        """Have a function told which servers may be asked; see `utils.contracts.Servers`."""
        with self._lock:
            self._changed = changed
            self._tell()

    def is_gone(self, server: ModelServer) -> bool:
        """Look at a server after a failed request; it gets nothing new meanwhile."""
        member = self._member(server)
        with self._lock:
            if member.state is State.SERVING:
                self._set(member, State.SUSPECT)
        with member.looking:
            if member.state is State.SUSPECT:
                self._look(member)
            return member.state is not State.SERVING

    def exclude(self, server: ModelServer, reason: str) -> None:
        """Send nothing more to a server."""
        self._set(self._member(server), State.EXCLUDED, reason)

    def note_moved(self, server: ModelServer) -> None:
        """Count a request that goes elsewhere because its server failed."""
        with self._lock:
            self._member(server).moved += 1

    def first(self) -> Member:
        """A server that serves, for a single request; CallError: there is none."""
        self.start()
        with self._lock:
            serving = self._serving()
        if not serving:
            advice = "" if self._members else NO_ADDRESS_ADVICE
            message = f"no server is there: {self.why_none()}"
            raise CallError("unreachable", message, advice=advice)
        return serving[0]

    def shown(self) -> str:
        """Say how many serve: `7 of 8 servers`; "" where none was looked at."""
        with self._lock:
            if not self._members:
                return ""
            serving = len(self._serving())
            total = sum(member.state is not State.DRAINING for member in self._members.values())
        return f"{serving} of {counted(total, 'server')}"

    def why_none(self) -> str:
        """Say of each server why it may not be asked."""
        with self._lock:
            reasons = [
                f"{member.name} {member.where} ({member.reason})"
                for member in self._members.values()
                if member.reason
            ]
        return "; ".join(reasons) or NO_ADDRESS

    def served(self) -> Mapping[str, str | int]:
        """The facts about the served model, as far as servers tell them."""
        with self._lock:
            return dict(self._facts)

    def know(self, addresses: Addresses) -> None:
        """Set what a file or folder named when the run was prepared; what it names since is late.

        A late one that serves something else stays out; among the first it is an error.
        """
        self._known = {_url(endpoint) for endpoint in addresses.endpoints}

    def expect(self, served: Mapping[str, Any]) -> None:
        """Set what stored answers are from: servers that serve something else are an error."""
        self._expected = served

    def table(self) -> list[dict[str, Any]]:
        """The table of servers: a row for each, with its work and its times."""
        with self._lock:
            return [member.row() for member in self._members.values()]

    def close(self) -> None:
        """Let go of all connections."""
        self._stopping.set()
        for member in self._members.values():
            member.server.close()

    # -- the servers ------------------------------------------------------------------------------

    def _member(self, server: ModelServer) -> Member:
        assert isinstance(server, Member)
        return server

    def _serving(self) -> list[Member]:
        return [member for member in self._members.values() if member.state is State.SERVING]

    def _tell(self) -> None:
        """Tell who sends requests what may be asked now; the lock is held."""
        members = self._members.values()
        states = {member.state for member in members}
        is_looking = not self._is_open or bool(states & {State.JOINING, State.SUSPECT})
        may_come = is_looking or State.DOWN in states
        if states != {State.EXCLUDED}:
            may_come = may_come or self._may_come()
        self._changed(self._serving(), may_come, is_looking)

    def _set(self, member: Member, state: State, reason: str = "") -> None:
        """Note where a server stands, and say so where that is news."""
        with self._lock:
            before = member.state
            if before is State.DRAINING and state is not State.JOINING:
                return
            now_s = time.monotonic()
            if before is State.SERVING and state is not State.SERVING:
                member.serving_s += now_s - member.since_s
                member.left_at = _now()
            if state is State.DOWN and member.joined_at and member.left_s is None:
                member.left_s = now_s
            if state is State.SERVING and member.left_s is not None:
                member.outages_s.append(now_s - member.left_s)
                member.left_s = None
            member.state, member.reason = state, reason
            member.next_look_s = now_s + SECONDS_BETWEEN_LOOKS
            if state is State.SERVING and before is not State.SERVING:
                member.since_s = now_s
                member.joined_at = member.joined_at or _now()
                member.left_at = ""
            self._say_where(member)  # before others say what follows from it
            self._tell()

    def _say_where(self, member: Member) -> None:
        """Print where a server stands, unless that was the last that was said of it."""
        if member.state in (State.JOINING, State.SUSPECT, member.printed_state):
            return
        is_first = member.printed_state is None and member.state is State.SERVING
        member.printed_state = member.state
        if is_first and not self._is_open:  # as expected
            return
        what = "serves"
        if member.state is not State.SERVING:
            what = f"{member.where} ({member.reason})"
        print(f"{self._label}: {member.name} {what}; {self._how_many()}", flush=True)

    def _how_many(self) -> str:
        """The number of serving servers in words; during the first looks, the failures so far."""
        with self._lock:
            states = [member.state for member in self._members.values()]
        joining = states.count(State.JOINING)
        if self._is_open or not joining:
            return f"{self.shown()} serving"
        verb = "is" if joining == 1 else "are"
        total = counted(len(states), "server")
        return (
            f"of {total}, {len(states) - joining} failed and {joining} {verb} still being checked"
        )

    def _watch(self) -> None:
        """Look for servers that come and go, until the run is over."""
        while not self._stopping.wait(SECONDS_BETWEEN_READINGS):
            self._read_addresses()
            now_s = time.monotonic()
            with self._lock:
                due = [
                    member
                    for member in self._members.values()
                    if member.state is State.DOWN and member.next_look_s <= now_s
                ]
                for member in due:
                    member.next_look_s = math.inf  # until this look is over
            self._look_at_all(due)

    def _read_addresses(self, *, is_start: bool = False) -> None:
        """Take up new addresses, and let those drain that are gone."""
        addresses = self._source()
        for problem in addresses.problems:
            if problem not in self._told:
                self._told.add(problem)
                print(f"warning: {problem}; the address is not used", flush=True)
        by_url = {_url(endpoint): endpoint for endpoint in addresses.endpoints}
        with self._lock:
            new: list[Member] = []
            for address, endpoint in by_url.items():
                member = self._members.get(address)
                if member is None:
                    member = self._members[address] = Member(self._new_server(endpoint))
                    new.append(member)
                elif member.state is State.DRAINING:
                    member.state = State.JOINING
                    new.append(member)
            gone = [member for address, member in self._members.items() if address not in by_url]
            for member in gone:
                if member.state is not State.DRAINING:
                    self._set(member, State.DRAINING, "its address was taken away")
        if is_start:
            first = [member for member in new if self._was_known(member)]
            self._start_with(first)
            new = [member for member in new if member not in first]
        self._look_at_all(new)

    def _was_known(self, member: Member) -> bool:
        return self._known is None or _url(member.server.endpoint) in self._known

    def _start_with(self, members: Sequence[Member]) -> None:
        """Look at the first servers, and wait for it.

        Raises:
            StopRun: they do not serve the same, or not what stored answers are from.
        """
        threads = [_thread(self._find_facts, member) for member in members]
        for thread in threads:
            thread.join()
        answering = [member for member in members if member.state is State.JOINING]  # they answer
        if answering and not self._may_differ:
            first = answering[0]
            for member in answering[1:]:
                differing = differences(member.facts, first.facts)
                if differing:
                    raise StopRun(
                        f'model "{self._label}": {member.name} and {first.name} differ: '
                        f"{', '.join(differing)}. Leave one of them out; {DIFFER}"
                    )
            self._check_expected(first)
        for member in answering:
            self._join(member)
        with self._lock:
            self._is_open = True
            self._tell()
        if members:
            looks = f"looked at {counted(len(members), 'server')}"
            print(f"{self._label}: {looks}, {len(answering)} serving", flush=True)

    def _unlike_stored(self, member: Member) -> list[str]:
        """The differences of a server from the servers of the stored answers, in words."""
        names = [name for name in self._expected if name not in ("version", "max_model_len")]
        return differences(member.facts, {name: self._expected[name] for name in names})

    def _check_expected(self, member: Member) -> None:
        """Raise where a server serves something else than stored answers are from."""
        differing = self._unlike_stored(member)
        if differing:
            raise StopRun(
                f'model "{self._label}": {member.name} differs from the server that gave the '
                f"stored answers: {', '.join(differing)}. For another checkpoint, or other image "
                "limits, set another model_identity, or query everything again with --fresh; "
                f"{DIFFER}"
            )

    def _look_at_all(self, members: Iterable[Member]) -> None:
        """Look at servers, without waiting for it."""
        for member in members:
            _thread(self._look_and_join, member)

    def _look_and_join(self, member: Member) -> None:
        with member.looking:
            self._look(member)

    def _look(self, member: Member) -> None:
        """Look at a server: it serves from now on, or it does not."""
        if self._find_facts(member) and member.state not in (State.DRAINING, State.EXCLUDED):
            differing = differences(member.facts, self._facts)
            others = "the others"
            if not self._facts:  # the first one that is there
                differing = self._unlike_stored(member)
                others = "what stored answers are from"
            if differing and not self._may_differ:
                self._set(member, State.EXCLUDED, f"unlike {others}: {', '.join(differing)}")
            else:
                self._join(member)

    def _join(self, member: Member) -> None:
        with self._lock:
            self._facts = {**member.facts, **self._facts}
        self._set(member, State.SERVING)

    def _find_facts(self, member: Member) -> bool:
        """Find out what a server serves; False: it is down or excluded."""
        try:
            member.facts = look_at(member.server, self._envelope)
            return True
        except OtherModel as error:
            self._set(member, State.EXCLUDED, str(error))
        except CallError as error:
            if error.status_code == 429 and member.state is State.SUSPECT:
                return True  # it is busy, and was looked at before it served
            is_never = error.status_code in NEVER or error.kind in ("scheme", "certificate")
            self._set(member, State.EXCLUDED if is_never else State.DOWN, self._brief(error))
        except Exception as error:  # noqa: BLE001  one that nobody foresaw leaves the others alone
            self._set(member, State.DOWN, f"{type(error).__name__}: {error}")
        return False

    def _brief(self, error: CallError) -> str:
        """An error on one line, cleaned of secrets and then shortened: no half key is left."""
        text = " ".join(self.clean(str(error)).split())
        return text if len(text) <= 200 else f"{text[:200]}…"


def _url(endpoint: Endpoint) -> str:
    """The URL that identifies an address."""
    return endpoint.base_url.rstrip("/")


def _thread(function: Callable[[Member], object], member: Member) -> threading.Thread:
    thread = threading.Thread(target=function, args=(member,), daemon=True)
    thread.start()
    return thread


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")

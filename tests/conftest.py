"""Fixtures of all rooms, and what the conformance tests replayed at the end of a run with them."""

from __future__ import annotations

import gc
import signal
from contextlib import ExitStack
from typing import Any

import pytest

from tests.conformance import support as conformance
from tests.support.browser import need_browser
from tests.support.mock_server import MockServer
from tests.support.runs import PICTURES
from tests.support.stage import Stage, right_answers
from tests.tiers import left_out, mark_whole

REPLAYED: list[tuple[dict[str, int], int]] = []
LEFT_OUT: dict[str, int] = {}
"""How many tests the fast tier leaves out, by reason."""
FIRST = ("local", "ranks", "worlds", "live")
"""Rooms that come first. A worker begins with the first half of all tests, the other one with the
second, and whoever is done takes from the end of what the other one has left (worksteal): so
torch is loaded in one of them only, and what takes long does not come last."""


def pytest_configure() -> None:
    """Ctrl-C is what it is at a terminal: jobs that a shell put into the background ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rooms = {name: position for position, name in enumerate(FIRST)}
    items.sort(key=lambda item: rooms.get(item.path.parent.name, len(rooms)))
    mark_whole(items)


def pytest_collection_finish() -> None:
    """Spares the garbage collector thousands of tests that stay to the end."""
    gc.freeze()


def pytest_deselected(items: list[pytest.Item]) -> None:
    LEFT_OUT.update(left_out(items))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker tells what it left out to the process that prints the end."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = dict(LEFT_OUT)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    LEFT_OUT.update(getattr(node, "workeroutput", {}).get("left_out", {}))  # of all workers alike


@pytest.fixture(scope="session")
def whole(pytestconfig):
    """Whether all tests run, and not the fast tier alone."""
    return "not whole" not in pytestconfig.getoption("markexpr")


@pytest.fixture(scope="module")  # Playwright runs once in a thread: others open one of their own
def browser():
    with need_browser().open_browser() as opened:
        yield opened


@pytest.fixture
def staged(tmp_path):
    """Makes a stage with a user's module, a server's answers, pictures and a model's entry."""
    with ExitStack() as servers:

        def make(module="", answer=right_answers, pictures=PICTURES, **entry):
            server = servers.enter_context(MockServer(answer))
            stage = Stage.make(tmp_path, server, pictures, **entry)
            stage.module(module)
            return stage

        yield make


@pytest.fixture
def stage(staged):
    """Three pictures, so nine questions of L1 and six instructions of L2; all are answered right."""
    return staged()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collects from the reports, because with several workers the tests ran in other processes."""
    if report.when == "call":
        REPLAYED.extend(value for name, value in report.user_properties if name == "replayed")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for all conformance files, one for what was left to the whole."""
    if REPLAYED:
        terminalreporter.write_line(conformance.summary(REPLAYED))
    if LEFT_OUT:
        reasons = ", ".join(f"{reason} {count}" for reason, count in LEFT_OUT.items())
        terminalreporter.write_line(
            f"left to make test-all: {sum(LEFT_OUT.values())} tests ({reasons})"
        )

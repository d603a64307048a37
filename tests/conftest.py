"""Says what the conformance tests replayed at the end of a run that included them."""

from __future__ import annotations

import pytest

from tests.conformance import support as conformance

REPLAYED: list[tuple[dict[str, int], int]] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collects from the reports, because with several workers the tests ran in other processes."""
    if report.when == "call":
        REPLAYED.extend(value for name, value in report.user_properties if name == "replayed")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for all conformance files."""
    if REPLAYED:
        terminalreporter.write_line(conformance.summary(REPLAYED))

"""Prints what the conformance tests replayed at the end of a run that included them."""

from __future__ import annotations

import pytest

from tests.conformance import support as conformance

REPLAYED: list[list[object]] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collects from the reports, because with several workers the tests ran in other processes."""
    if report.when == "call":
        REPLAYED.extend(list(value) for name, value in report.user_properties if name == "replayed")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line per conformance file and one for all."""
    if REPLAYED:
        terminalreporter.section("conformance")
        for line in conformance.summary_lines(REPLAYED):
            terminalreporter.write_line(line)

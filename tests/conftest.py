"""Prints what the conformance tests replayed at the end of a run that included them."""

from __future__ import annotations

import pytest

from tests.support import conformance


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line per conformance file and one for all."""
    if conformance.TALLIES:
        terminalreporter.section("conformance")
        for line in conformance.summary_lines():
            terminalreporter.write_line(line)

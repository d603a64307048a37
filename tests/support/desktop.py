"""The desktop for tests: skipped where it has not been made."""

from __future__ import annotations

import pytest

from benchmarks.worlds.desktop.root import problems


def need_desktop() -> None:
    """End the test, skipped, where the desktop is not made or cannot run."""
    missing = problems()
    if missing:
        pytest.skip(missing[0])

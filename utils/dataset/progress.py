"""How far a long piece of work over bytes has come: a bar on a terminal, a few lines in a log."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Self

SILENT_BELOW_BYTES = 2**20


class ByteProgress:
    """Counts bytes and shows them on stderr; silent for what takes no time.

    A job without a terminal gets a line for each tenth: a bar would fill its log, and nothing at
    all would look like a hung process.
    """

    def __init__(self, what: str, total: int | None) -> None:
        self._what = what
        self._total = total or 0
        self._came = 0
        self._tenths = 0
        self._bar: Any = None
        self._quiet = self._total < SILENT_BELOW_BYTES
        if not self._quiet and sys.stderr.isatty():
            from tqdm import tqdm

            self._bar = tqdm(
                desc=what, total=self._total, unit="B", unit_scale=True, unit_divisor=1024
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def add(self, count: int) -> None:
        """Count bytes; a negative number takes some back."""
        self._came += count
        if self._bar is not None:
            self._bar.update(count)
        elif not self._quiet and self._came * 10 // self._total > self._tenths:
            self._tenths = self._came * 10 // self._total
            line = f"{self._what}: {self._tenths * 10} % of {in_units(self._total)}"
            print(line, file=sys.stderr, flush=True)


def in_units(count: int) -> str:
    """A number of bytes for people: `512 B`, `3.4 MiB`."""
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"

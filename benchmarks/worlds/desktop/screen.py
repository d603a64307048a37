"""The screen of a world: read from the memory of its X server, and waited for until it is quiet."""

from __future__ import annotations

import mmap
import struct
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.worlds.desktop.processes import is_busy, waiting_seconds
from utils.contracts import WH

QUIET_S = 0.7
"""Before a screenshot: LibreOffice brings its toolbars up to date 0.3 s after a change, in parts,
and tooltips come 0.5 s after the pointer has come to rest."""
SLOW_PROGRAMS = {"gimp-2.10": 1.3}
"""GIMP changes the icon of its window a second after the picture has changed."""
SHORT_QUIET_S = 0.3  # within an action
LIMIT_S = 8.0
MAX_WAITING_S = 40.0  # that are added to a limit where programs waited for a processor as long
LOOK_S = 0.02
HEADER_NUMBERS = 25  # of a file of `xwd`
HEADER_BYTES, LINE_BYTES, COLOURS = 0, 12, 19  # which of them says what
COLOUR_BYTES = 12


class Screen:
    """The file in which an X server keeps its screen, in the form of `xwd`; cursor included."""

    def __init__(self, file: Path, screen_wh: WH) -> None:
        """Map the file.

        Raises:
            OSError: it is not there yet.
            ValueError: it is not complete yet.
        """
        self.wh = screen_wh
        with file.open("rb") as content:
            self._memory = mmap.mmap(content.fileno(), 0, prot=mmap.PROT_READ)
        if len(self._memory) < 4 * HEADER_NUMBERS:
            raise ValueError(f"{file} is not complete")
        numbers = struct.unpack_from(f">{HEADER_NUMBERS}I", self._memory)
        self._begin = numbers[HEADER_BYTES] + COLOUR_BYTES * numbers[COLOURS]
        self._line_bytes = numbers[LINE_BYTES]
        self._end = self._begin + self._line_bytes * screen_wh[1]
        if not numbers[HEADER_BYTES] or len(self._memory) < self._end:
            raise ValueError(f"{file} is not complete")

    def raw(self) -> bytes:
        """Return the pixels as the server has them."""
        return self._memory[self._begin : self._end]

    def pixels(self) -> Any:
        """Return an array of height, width and RGB."""
        import numpy as np

        width, height = self.wh
        lines = np.frombuffer(self.raw(), np.uint8).reshape(height, self._line_bytes // 4, 4)
        return lines[:, :width, 2::-1].copy()


def settle(
    screen: Screen,
    pids: Callable[[], Iterable[int]],
    quiet_s: float = QUIET_S,
    limit_s: float = LIMIT_S,
) -> bool:
    """Wait until for `quiet_s` the screen was the same and all threads slept in every look.

    Returns:
        Whether that was so within `limit_s`. Time for which programs waited for a processor does
        not count: on a machine with much to do, saving a document may take that long.
    """
    begin = quiet_since = time.monotonic()
    waited_s = waiting_seconds(pids())
    frame = screen.raw()
    while True:
        time.sleep(LOOK_S)
        now, new_frame = time.monotonic(), screen.raw()
        if new_frame != frame or is_busy(pids()):
            quiet_since = now
        frame = new_frame
        if now - quiet_since >= quiet_s:
            return True
        if now - begin > limit_s:
            waiting_s = waiting_seconds(pids()) - waited_s
            if now - begin > limit_s + min(waiting_s, MAX_WAITING_S):
                return False

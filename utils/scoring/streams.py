"""Standard streams that no reader, terminal or full disk can end a run through."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _Lasting(io.FileIO):
    """A descriptor that takes everything: what cannot be written is dropped."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError:  # the reader left (`| head`), the terminal is gone, the log's disk is full
            return memoryview(data).nbytes


def outlive_readers() -> None:
    """From now on printing to stdout and stderr never raises.

    Hours of answers must not end at a progress line, nor at a character that the terminal's
    encoding lacks: it is spelt out. Both are written line by line, so that they keep their order
    where they go to one place.
    """
    sys.stdout, sys.stderr = _lasting(sys.stdout), _lasting(sys.stderr)


def _lasting(stream: TextIO) -> TextIO:
    if type(stream) is not io.TextIOWrapper:  # closed, or the stream of a caller in Python
        return stream
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Lasting(stream.fileno(), "w", closefd=False)),
        encoding=stream.encoding, errors="backslashreplace", line_buffering=True,
    )  # fmt: skip

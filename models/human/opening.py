"""Opens the page in a browser, without its address in a command line.

A browser's command line can be read by every user of the machine, and the address has the page's
secret. So the browser is given a file that only this user may read, and that leads to the page.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import webbrowser
from contextlib import suppress
from html import escape
from pathlib import Path

LEADING = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>Questions</title>
<p>The questions are <a href="{address}">here</a>.</p>
"""


def has_display() -> bool:
    """Whether a browser would be seen."""
    names = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in names)


class OpenedPage:
    """A page that was opened in a browser; the file that leads there lasts until it is closed."""

    def __init__(self, address: str) -> None:
        self._file: Path | None = None
        with suppress(OSError):  # the address is printed, too
            self._file = _leading_file(address)
            # A browser in the terminal ends with its last page: nobody may wait for it.
            arguments = (self._file.as_uri(),)
            threading.Thread(target=webbrowser.open, args=arguments, daemon=True).start()

    def close(self) -> None:
        """Remove the file."""
        if self._file is not None:
            with suppress(OSError):
                self._file.unlink()


def _leading_file(address: str) -> Path:
    """Write a file that leads to an address, for this user's eyes alone."""
    number, name = tempfile.mkstemp(prefix="questions-", suffix=".html")  # of mode 0600
    os.close(number)
    file = Path(name)
    file.write_text(LEADING.format(address=escape(address)), "utf-8")
    return file

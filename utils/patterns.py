"""Regular expressions that are compiled when they are first used."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable


def at_first_use(form: str, flags: int = 0) -> Callable[[], re.Pattern[str]]:
    """A function that returns the compiled expression, always the same one.

    Expressions with classes of all the world's letters take up to 30 ms to compile, and no reply is
    read before the first request is sent.
    """
    return functools.cache(lambda: re.compile(form, flags))

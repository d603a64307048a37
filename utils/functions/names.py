"""Names of functions and classes, and whose they are: the program's own or the user's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

OWN = ("benchmarks.", "utils.")
"""The beginnings of dotted paths in which the program alone has code."""
PACKAGES = (*OWN, "models.")
"""The same, with the folder in which users put functions beside the program's."""


def dotted_name(target: Callable[..., Any]) -> str:
    """The dotted path of a function or class; of another object, or of a partial, what it calls."""
    inner = target.func if isinstance(target, functools.partial) else target
    return f"{inner.__module__}.{getattr(inner, '__qualname__', type(inner).__name__)}"


def is_own(dotted: str) -> bool:
    """Whether a module, or the function or class of a dotted path, belongs to the program.

    Of `models` this is not known: users put files of their own there.
    """
    return f"{dotted}.".startswith(OWN)


def is_in_program(dotted: str) -> bool:
    """Whether a module, function or class lies in the program's folders, `models` among them."""
    return f"{dotted}.".startswith(PACKAGES)

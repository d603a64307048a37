"""Dotted path → the user's function, with errors that say which part of the path is wrong.

Whether the function can be called the way this program calls it is the business of
`utils.functions.signatures`; its public names can be imported from here too.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from utils import PROJECT
from utils.errors import UserError, did_you_mean, likeness, listed
from utils.functions.signatures import (
    FunctionRef,
    Kind,
    ParseCall,
    call_parse,
    custom_arguments,
    parse_caller,
    signature_problem,
)

__all__ = [
    "FunctionRef", "Kind", "ParseCall", "call_parse", "check_reference", "custom_arguments",
    "parse_caller", "path_problem", "resolve",
]  # fmt: skip

_MISSING = object()


class _Unresolved(Exception):
    """A dotted path that leads nowhere; the text is one line for the user."""


def resolve(dotted: str, *, role: str) -> Callable[..., Any]:
    """The function, class or other callable that a dotted path names.

    Args:
        dotted: `package.module.function`, or `package.module.Class.static_method`.
        role: what it is for; stands in front of the message.

    Raises:
        UserError: the path is malformed, or leads nowhere, or to something that cannot be called.
    """
    try:
        return _resolve(dotted)
    except _Unresolved as error:
        raise UserError(f"{role}: {error}") from None


def check_reference(ref: FunctionRef) -> list[str]:
    """What is wrong with a function named in a config: one line each, empty if it can be used."""
    try:
        target = _resolve(ref.dotted)
        problem = signature_problem(ref, target)
    except _Unresolved as error:
        problem = str(error)
    return [f"{ref.source}: {ref.key_path}: {problem}"] if problem else []


def path_problem(dotted: str) -> str | None:
    """Why a text cannot be a dotted path, or None."""
    example = 'like "models.local_uitars.build_custom_prompt"'
    if "/" in dotted or "\\" in dotted or dotted.endswith(".py"):
        return f'"{dotted}" looks like a file; write a dotted path {example}'
    if ":" in dotted:
        return f'"{dotted}" has a colon; write a dotted path {example}'
    if "." not in dotted:
        return f'"{dotted}" has no dot; write module and name with a dot between, {example}'
    if not all(part.isidentifier() for part in dotted.split(".")):
        return f'"{dotted}" is not a dotted path {example}'
    return None


def _resolve(dotted: str) -> Callable[..., Any]:
    if problem := path_problem(dotted):
        raise _Unresolved(problem)
    if str(PROJECT) not in sys.path:  # the program may be started from any folder
        sys.path.insert(0, str(PROJECT))
    importlib.invalidate_caches()
    parts = dotted.split(".")
    module, used = _import_longest(parts)
    value: Any = module
    for place in range(used, len(parts)):
        found = inspect.getattr_static(value, parts[place], _MISSING)
        if found is _MISSING and not hasattr(value, parts[place]):
            raise _Unresolved(_no_attribute(module, value, parts, place))
        owner, value = value, getattr(value, parts[place])
        if inspect.isclass(owner) and inspect.isfunction(found) and place == len(parts) - 1:
            raise _Unresolved(
                f'"{dotted}" is a method that needs an object; '
                "make it a @staticmethod or a function"
            )
    if isinstance(value, ModuleType):
        raise _Unresolved(f'"{dotted}" is a module; add the name of a function in it' + _has(value))
    if not callable(value):
        raise _Unresolved(f'"{dotted}" cannot be called: it is a {type(value).__name__}')
    return value  # type: ignore[no-any-return]


def _import_longest(parts: list[str]) -> tuple[ModuleType, int]:
    """Imports as much of the path as is modules; the last part only if it is no attribute."""
    module = _import_one(parts, 1)
    used = 1
    while used < len(parts) and hasattr(module, "__path__"):
        if hasattr(module, parts[used]) and not _is_module_file(module, parts[used]):
            break
        if used == len(parts) - 1 and hasattr(module, parts[used]):
            break
        module = _import_one(parts, used + 1)
        used += 1
    return module, used


def _import_one(parts: list[str], count: int) -> ModuleType:
    name = ".".join(parts[:count])
    if name in sys.modules:
        return sys.modules[name]
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        spec = None
    if spec is None:
        raise _Unresolved(_no_module(parts, count))
    try:
        return importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a module may do anything, sys.exit() too
        raise _Unresolved(f"{name} cannot be imported: {_one_line(error, spec.origin)}") from None


def _is_module_file(package: ModuleType, name: str) -> bool:
    return any(info.name == name for info in pkgutil.iter_modules(package.__path__))


def _no_module(parts: list[str], count: int) -> str:
    name, missing = ".".join(parts[:count]), parts[count - 1]
    if count == 1:
        known = [info.name for info in pkgutil.iter_modules([str(PROJECT)])]
        return f'there is no module "{name}"{did_you_mean(missing, known)}'
    package = sys.modules[".".join(parts[: count - 1])]
    known = sorted(info.name for info in pkgutil.iter_modules(package.__path__))
    hint = did_you_mean(missing, known)
    if not hint and known:
        hint = f"; {package.__name__} has {listed(known)}"
    if count == len(parts):  # `models.build_prompt`: the name may as well be a function's
        return f'{package.__name__} has no "{missing}"{hint}'
    folder = _shown_path(str(next(iter(package.__path__), package.__name__)))
    return f'there is no module "{name}" (no {missing}.py in {folder}){hint}'


def _no_attribute(module: ModuleType, owner: Any, parts: list[str], place: int) -> str:
    name, missing = ".".join(parts[:place]), parts[place]
    if owner is not module and not inspect.isclass(owner):
        return f'{name} has no "{missing}"; it is a {type(owner).__name__}'
    return f'{name} has no "{missing}"' + (_has(owner, missing) or "; it defines no functions")


def _has(owner: Any, wanted: str = "") -> str:
    """`; it has "a", "b"`: what a module or class defines itself and what could have been meant."""
    module_name = owner.__name__ if isinstance(owner, ModuleType) else owner.__module__
    names = [
        name
        for name, value in vars(owner).items()
        if not name.startswith("_")
        and (inspect.isroutine(value) or inspect.isclass(value))
        and getattr(getattr(value, "__func__", value), "__module__", None) == module_name
    ]
    if wanted and len(names) > 8:
        names.sort(key=lambda name: -likeness(name, wanted))
    return f"; it has {listed(names, 8)}" if names else ""


def _one_line(error: BaseException, origin: str | None) -> str:
    """`ValueError: text (models/mine.py:12)`: the last place in the user's own files."""
    if isinstance(error, SyntaxError) and error.filename:
        place = f"{_shown_path(error.filename)}:{error.lineno}"
        return f"{type(error).__name__}: {error.msg} ({place})"
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if _is_users(frame.filename, origin)]
    text = " ".join(str(error).split())[:300]
    summary = f"{type(error).__name__}: {text}" if text else type(error).__name__
    where = f" ({_shown_path(inside[-1].filename)}:{inside[-1].lineno})" if inside else ""
    return summary + where


def _is_users(filename: str, origin: str | None) -> bool:
    path = Path(filename)
    if filename == origin:
        return True
    installed = {"site-packages", "dist-packages"} & set(path.parts)
    return PROJECT in path.parents and path != Path(__file__) and not installed


def _shown_path(filename: str) -> str:
    path = Path(filename)
    return str(path.relative_to(PROJECT) if path.is_relative_to(PROJECT) else path)

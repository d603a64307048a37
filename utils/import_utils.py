"""Dotted path → the user's function, with errors that say which part of the path is wrong."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import inspect
import pkgutil
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from utils import PROJECT
from utils.errors import UserError
from utils.functions.calling import OURS
from utils.functions.signatures import FunctionRef, signature_problem
from utils.text import did_you_mean, likeness, listed

EXAMPLE = 'like "models.local_uitars.build_custom_prompt"'
_added: set[Path] = set()  # folders that `search_beside` has added to the search path
_searched: list[Path] = []  # those of its last call: the current one, then that of the config
LIBRARY = Path(traceback.__file__).parent


def resolve(dotted: str, *, role: str) -> Callable[..., Any]:
    """The object that `package.module.function` or `package.module.Class.static_method` names.

    UserError, beginning with its `role`, where it leads nowhere or to what cannot be called.
    """
    if problem := path_problem(dotted):
        raise UserError(f"{role}: {problem}")
    _search_in_project()
    try:
        return _callable_at(dotted.split("."))
    except UserError as error:
        raise UserError(f"{role}: {error}") from None


def module_at(dotted: str) -> ModuleType:
    """Return the module of a dotted path.

    Raises:
        UserError: there is none, or it cannot be imported.
    """
    _search_in_project()
    parts = dotted.split(".")
    if not all(part.isidentifier() for part in parts):
        raise UserError(f'"{dotted}" is not the dotted path of a module')
    for end in range(1, len(parts)):
        if not hasattr(_imported(parts[:end]), "__path__"):
            raise UserError(f'"{".".join(parts[:end])}" is no package, so there is no "{dotted}"')
    return _imported(parts)


def search_beside(config: Path) -> None:
    """Let dotted paths name modules in the current folder and beside a config.

    These folders come last, so that no file in them hides a module of the program or of a package.
    """
    _search_in_project()
    importlib.invalidate_caches()  # a file may be newer than the last look at its folder
    _searched[:] = [Path.cwd(), config.absolute().parent]
    for folder in _searched:
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
            _added.add(folder)


def file_beside(name: str) -> Path | None:
    """Return the file of a module in the current folder or beside the config, if there is one."""
    spec = PathFinder.find_spec(name, [str(folder) for folder in _searched])
    return None if spec is None or spec.origin is None else Path(spec.origin)


def _search_in_project() -> None:
    if str(PROJECT) not in sys.path:  # the program may be started from any folder
        sys.path.insert(0, str(PROJECT))


@contextmanager
def no_collecting() -> Iterator[None]:
    """Keep the search for garbage from the objects of large imports, which stay.

    Only where `evaluate.py` is the program, which freezes what it has imported itself: objects of
    a notebook that are garbage later would stay, too.
    """
    if not gc.get_freeze_count():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def check_reference(ref: FunctionRef) -> tuple[Callable[..., Any] | None, list[str]]:
    """The function that a config names, and what is wrong with it, one line each."""
    role = f"{ref.source}: {ref.key_path}"
    try:
        function = resolve(ref.dotted, role=role)
    except UserError as error:
        return None, list(error.problems)
    problem = signature_problem(ref, function)
    return function, [f"{role}: {problem}"] if problem else []


def path_problem(dotted: str) -> str | None:
    """The reason why a text cannot be a dotted path, or None."""
    parts = dotted.split(".")
    if len(parts) > 1 and parts[-1] != "py" and all(part.isidentifier() for part in parts):
        return None
    return f'"{dotted}" is not a dotted path of module and name, {EXAMPLE}'


def _callable_at(parts: list[str]) -> Callable[..., Any]:
    value: Any = _imported(parts[:1])
    for index, part in enumerate(parts[1:], start=1):
        name = ".".join(parts[:index])
        is_last = index == len(parts) - 1
        is_module = hasattr(value, "__path__") and _is_there(f"{name}.{part}")
        owner = value
        if is_module and not (is_last and hasattr(value, part)):
            value = _imported(parts[: index + 1])
        elif hasattr(value, part):
            value = getattr(value, part)
        else:
            raise UserError(f'{name} has no "{part}"{_what_else(value, part, is_last=is_last)}')
        if inspect.isclass(owner) and inspect.isfunction(inspect.getattr_static(owner, part, None)):
            raise UserError(f'"{name}.{part}" is an instance method; make it a @staticmethod')
    dotted = ".".join(parts)
    if isinstance(value, ModuleType):
        raise UserError(f'"{dotted}" is a module; name a function in it{_what_else(value, "")}')
    if not callable(value):
        raise UserError(f'"{dotted}" cannot be called: it is a {type(value).__name__}')
    return value  # type: ignore[no-any-return]


def _imported(parts: list[str]) -> ModuleType:
    name = ".".join(parts)
    if name not in sys.modules and not _is_there(name):
        folders = [str(PROJECT), *map(str, _searched)]
        available = [info.name for info in pkgutil.iter_modules(folders)]
        searched = ", ".join(dict.fromkeys(folders))
        hint = did_you_mean(name, available)
        raise UserError(f'there is no module "{name}"{hint} (looked for in {searched}, PYTHONPATH)')
    if len(parts) == 1:
        _refuse_namesake(name)
    try:
        return importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a module may do anything, sys.exit() too
        raise UserError(f"{name} cannot be imported: {_one_line(error)}") from None


def _is_there(name: str) -> bool:
    """Whether a module exists, even if it is newer than Python's cache of its folder."""
    if importlib.util.find_spec(name) is None:
        importlib.invalidate_caches()
        return importlib.util.find_spec(name) is not None
    return True


def _refuse_namesake(name: str) -> None:
    """Raise a UserError where the module beside this config is not the one that would be used.

    Python knows one module of a name: with two configs, each beside a file of the same name, both
    would get the functions of the first.
    """
    beside = PathFinder.find_spec(name, [str(folder) for folder in _searched[-1:]])
    loaded = sys.modules.get(name)
    used = loaded.__spec__ if loaded is not None else importlib.util.find_spec(name)
    if beside is None or used is None or beside.origin is None or used.origin is None:
        return
    is_of_another_config = not _added.isdisjoint(Path(used.origin).parents)
    if beside.origin != used.origin and is_of_another_config:
        raise UserError(
            f'there are two modules "{name}", {used.origin} and {beside.origin}; rename one of them'
        )


def _what_else(owner: Any, requested: str, *, is_last: bool = True) -> str:
    """Names that `requested` was probably meant as, else all there are, the likest first.

    Unless it `is_last` in its path, functions are left out: they hold nothing.
    """
    if not isinstance(owner, (ModuleType, type)):
        return f"; it is a {type(owner).__name__}"
    module = owner.__name__ if isinstance(owner, ModuleType) else owner.__module__
    names = [
        name
        for name, value in vars(owner).items()
        if not name.startswith("_")
        and ((is_last and inspect.isroutine(value)) or inspect.isclass(value))
        and getattr(getattr(value, "__func__", value), "__module__", None) == module
    ]
    if hasattr(owner, "__path__"):
        names += [info.name for info in pkgutil.iter_modules(owner.__path__)]
    if requested:
        hint = did_you_mean(requested, names)
        if hint:
            return hint
        names.sort(key=lambda name: -likeness(name, requested))
    return f"; it has {listed(names, 8)}" if names else "; it defines no functions"


def _one_line(error: BaseException) -> str:
    """`ValueError: text (models/mine.py:12)`: the last place that is no library's and not ours."""
    kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
    text = " ".join(str(error).split())[:600]
    places = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        text = error.msg
        places.append((error.filename, error.lineno))
    for path, line in ((Path(name), line) for name, line in reversed(places)):
        is_library = LIBRARY in path.parents or "site-packages" in path.parts
        if path.exists() and not is_library and not str(path).startswith(OURS):
            file = path.relative_to(PROJECT) if path.is_relative_to(PROJECT) else path
            return f"{kind}{text} ({file}:{line})"
    return f"{kind}{text}"

"""Hashes that say whether a stored answer is still the answer.

`digest` hashes data. `code_digest` hashes what a user's function does: its syntax tree and those of
the functions and classes that it reaches in the user's own files, without comments and docstrings,
and the constants, by value. What is installed counts by its name, and so does this program itself
(`DEFAULTS_VERSION` of the local models stands for it): rewriting it re-queries nothing. What plays
episodes of L3 and L4 is code of this program that does count, see `utils.run.requests`.
"""

from __future__ import annotations

import ast
import contextlib
import copyreg
import functools
import hashlib
import inspect
import json
import os
import re
import sys
import textwrap
import threading
import types
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

from utils import PROJECT

PROGRAM = ("utils.", "models.base.", "models.wrappers.")
CODE = (types.FunctionType, types.ModuleType, type)
BLOCKS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)
READING = ("utils.coordinates", "utils.misc", "utils.thinking")
"""Modules of this program that read replies; where a reply is acted upon at once, they count."""
WITHOUT_VALUE = (type(threading.Lock()), type(threading.RLock()), threading.local, object)

_PARSING = threading.Lock()


def digest(value: Any) -> str:
    """Hash of data (dicts, lists, texts, numbers, None, ...), whatever the order of keys."""
    try:
        text = json.dumps(value, sort_keys=True)
    except (TypeError, ValueError):  # keys or values that JSON has no order or no form for
        text = json.dumps(plain(value, _name_of))
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:32]  # 128 bits, short in logs


def code_digest(
    function: Callable[..., Any] | None,
    *,
    without: Collection[str] = (),
    also: Collection[str] = (),
) -> str:
    """Hash of what `function` does, comments and docstrings aside.

    Args:
        function: a function or a class.
        without: methods of the class that do not count, unless another method calls them.
        also: modules of this program that count nevertheless, such as "utils.coordinates".
    """
    if function is None:
        return "default"
    return digest(sorted(_CodeWalk(function, without=without, also=also).parts.items()))


def code_text(function: Callable[..., Any]) -> str:
    """The code that `code_digest` hashes, as one text; for "does it mention this key at all?"."""
    return "\n".join(_CodeWalk(function).parts.values())


def undescribed(function: Callable[..., Any] | None) -> list[str]:
    """Values that nothing describes; with one of them each `code_digest` is another one."""
    return [] if function is None else _CodeWalk(function).undescribed


def plain(value: Any, name_of: Callable[[Any], Any], above: tuple[int, ...] = ()) -> Any:
    """A value as lists, texts and numbers that JSON can write, equal for equal values.

    `name_of` says what stands for functions, classes and modules, and for objects that cannot be
    taken apart as `pickle` does it; `above` are the objects that hold this one.
    """
    if value is None or type(value) in (str, int, float, bool):
        return value
    if id(value) in above:
        return "<itself>"
    if value is os.environ:  # another one in every terminal
        return "<os:environ>"
    if isinstance(value, PurePath) and value.is_relative_to(PROJECT):
        return f"<project>/{value.relative_to(PROJECT)}"  # wherever the program lies
    within = functools.partial(plain, name_of=name_of, above=(*above, id(value)))
    if isinstance(value, Mapping):
        pairs = ([json.dumps(within(key)), within(item)] for key, item in value.items())
        return ["mapping", *sorted(pairs, key=lambda pair: pair[0])]
    if isinstance(value, (set, frozenset)):
        return ["set", *sorted(json.dumps(within(item)) for item in value)]
    if type(value) in (list, tuple):
        return [within(item) for item in value]
    if isinstance(value, (bytes, bytearray)):
        return f"<bytes {hashlib.sha256(value).hexdigest()}>"
    value = inspect.unwrap(value) if callable(value) else value  # functools.cache and the like
    if isinstance(value, CODE):
        return name_of(value)
    try:
        reduce = copyreg.dispatch_table.get(type(value))
        parts = reduce(value) if reduce else value.__reduce_ex__(4)
        if isinstance(parts, str):  # a builtin function or another global of that name
            return f"<{getattr(value, '__module__', '')}:{parts}>"
        return [within(list(part) if isinstance(part, Iterator) else part) for part in parts]
    except Exception:  # noqa: BLE001 - classes may raise anything there
        return name_of(value)


def _name_of(value: Any) -> str:
    # repr() of arbitrary objects holds addresses; the type is all that is stable about them.
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"<{getattr(named, '__module__', '')}:{getattr(named, '__qualname__', '')}>"


class _CodeWalk:
    """Collects `parts`: "module:name" → source without comments, or value, from a function on."""

    def __init__(
        self,
        start: Callable[..., Any],
        *,
        without: Collection[str] = (),
        also: Collection[str] = (),
    ) -> None:
        self.parts: dict[str, str] = {}
        self.undescribed: list[str] = []
        self._start = inspect.unwrap(start)
        self._left_out = _uncalled_methods(self._start, without)
        self._also = tuple(f"{module}." for module in also)
        file = _source_file(self._start) or _source_file(type(start))
        self._roots = {PROJECT} | ({file.parent} if file else set())
        self._add("start", start, getattr(start, "__module__", type(start).__module__))

    def _add(self, key: str, value: Any, module: str) -> None:
        """Adds a value that a name in `module` stands for, and all code in it."""
        if key not in self.parts:
            self.parts[key] = ""
            self.parts[key] = json.dumps(plain(value, functools.partial(self._named, key, module)))

    def _named(self, key: str, module: str, value: Any) -> str:
        """What stands for a value that is no data; its code becomes a part of its own."""
        if isinstance(value, (types.FunctionType, type)):
            return self._visit(value)
        if isinstance(value, types.ModuleType):
            return f"module {value.__name__}"
        if type(value) not in WITHOUT_VALUE:  # an open file, say: by the text of its module
            self._text_of(module, f"{key} is a {type(value).__qualname__} that cannot be described")
        return _name_of(value)

    def _text_of(self, module: str, what: str) -> ast.AST:
        """Adds a whole module, for something in it that cannot be described by itself."""
        tree = _tree_of(sys.modules.get(module))
        if tree is None:
            self.undescribed.append(what)
        self.parts[f"text of {module}"] = ast.unparse(tree) if tree else uuid.uuid4().hex
        return tree or ast.Module([], [])

    def _visit(self, target: Any) -> str:
        """Adds a function or class and what it reaches; returns the name of its part."""
        module, closure = target.__module__, _closure_of(target)
        where = f"{module}:{target.__qualname__}"
        if closure:  # one maker, several functions
            where += f"(closure {digest(plain(closure, _name_of))})"
        if where in self.parts:
            return where
        self.parts[where] = "installed"
        if not self._is_the_users(target, module):
            return where
        # Without a source of its own: a lambda within a call, a function built at run time.
        tree = _tree_of(target) or self._text_of(module, f"{where} has no source")
        if self._left_out and target in inspect.getmro(self._start):
            tree = _without_methods(tree, self._left_out)
        self.parts[where] = ast.unparse(tree)
        # Default values are evaluated once, from names that the tree alone does not resolve.
        defaults = [getattr(target, name, None) for name in ("__defaults__", "__kwdefaults__")]
        self._add(f"{where} values", [closure, defaults], module)
        namespace = vars(sys.modules.get(module, types))
        names = {**namespace, **closure}
        names |= self._imported_inside(tree, namespace.get("__package__"))
        for first, *rest in _chains(tree):
            if first not in names:
                continue
            value, used = names[first], [first]
            while isinstance(value, types.ModuleType) and rest and hasattr(value, rest[0]):
                if not self._is_the_users(value, value.__name__):
                    break
                value = getattr(value, rest[0])  # `module.helper`: the helper, not the module
                used.append(rest.pop(0))
            place = where if first in closure else module
            self._add(f"{place} {'.'.join(used)}", value, module)
        return where

    def _is_the_users(self, value: Any, module: str) -> bool:
        file = _source_file(value)
        if file is None:
            return value is self._start
        is_ours = PROJECT in file.parents and f"{module}.".startswith(PROGRAM)
        if is_ours and not f"{module}.".startswith(self._also):
            return False
        if {"site-packages", "dist-packages"} & set(file.parts):
            return False
        return any(root in file.parents for root in self._roots)

    def _imported_inside(self, tree: ast.AST, package: str | None) -> dict[str, Any]:
        """What import statements inside a function bind, by name; the user's own modules only."""
        found: dict[str, Any] = {"__package__": package}
        for node in ast.walk(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                top = re.split("[ .,]", ast.unparse(node))[1]  # empty for a relative import
                names = (top, f"{top}.py")
                if any((root / name).exists() for root in self._roots for name in names):
                    with contextlib.suppress(Exception):  # the function itself will raise it
                        exec(compile(ast.Module([node], []), "<import>", "exec"), found)
        return found


def _source_file(value: Any) -> Path | None:
    try:
        file = inspect.getsourcefile(value)
    except TypeError:
        return None
    return Path(file).resolve() if file and Path(file).exists() else None


def _tree_of(value: Any) -> ast.AST | None:
    """The tree of a function, class or module without docstrings; None where there is no source."""
    try:
        text = textwrap.dedent(inspect.getsource(value))
        with _PARSING:
            try:
                tree = ast.parse(text)
            except SystemError:  # CPython 3.11 counts the depth of all threads' parsing together,
                tree = ast.parse(text)  # and printing a traceback in another one parses, too
    except (OSError, TypeError, SyntaxError):  # no file; a lambda cut out of the middle of a call
        return None
    for node in ast.walk(tree):
        if isinstance(node, BLOCKS) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return tree


def _uncalled_methods(start: Any, names: Collection[str]) -> set[str]:
    """Those of the methods `names` of a class that none of its other methods mentions."""
    if not names or not isinstance(start, type):
        return set()
    trees = [tree for owner in inspect.getmro(start) if (tree := _tree_of(owner)) is not None]
    attributes = [
        node.attr
        for tree in trees
        for node in ast.walk(_without_methods(tree, names))
        if isinstance(node, ast.Attribute)
    ]
    return set(names).difference(attributes)


def _without_methods(tree: ast.AST, names: Collection[str]) -> ast.AST:
    """The tree of a class without some of its methods."""
    for block in ast.iter_child_nodes(tree):
        if isinstance(block, ast.ClassDef):
            kept = [node for node in block.body if getattr(node, "name", None) not in names]
            block.body = kept or [ast.Pass()]
    return tree


def _chains(tree: ast.AST) -> Iterator[list[str]]:
    """Every dotted name that is read: `a`, `a.b`, `a.b.c`."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
            text = ast.unparse(node)
            if re.fullmatch(r"[\w.]+", text):
                yield text.split(".")


def _closure_of(target: Any) -> dict[str, Any]:
    """What a function has from those around it, by name; without what is not bound yet."""
    found, cells = {}, getattr(target, "__closure__", None) or ()
    for name, cell in zip(target.__code__.co_freevars if cells else (), cells, strict=True):
        with contextlib.suppress(ValueError):
            found[name] = cell.cell_contents
    return found

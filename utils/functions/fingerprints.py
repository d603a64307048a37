"""Hashes that say whether a stored answer is still the answer.

`digest` hashes plain data. `code_digest` hashes what a user's function does: its syntax tree and
that of every project function, class and constant it reaches, without comments and docstrings, so
that reformatting costs nothing and a changed helper is noticed.
"""

from __future__ import annotations

import ast
import contextlib
import enum
import functools
import hashlib
import importlib
import importlib.util
import inspect
import json
import re
import sys
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from utils import PROJECT

PARSING_ATTEMPTS = 10
DIGEST_LENGTH = 32  # hex digits: 128 bits, no accidental collisions, short in logs


def digest(value: Any) -> str:
    """Hash of plain data (dicts, lists, texts, numbers, None), whatever the order of keys."""
    try:
        text = json.dumps(value, sort_keys=True, ensure_ascii=True, default=_describe)
    except TypeError:  # keys that JSON has no order or no form for
        text = json.dumps(_plain(value), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:DIGEST_LENGTH]


def code_digest(function: Callable[..., Any] | None) -> str:
    """Hash of what `function` does, comments and docstrings aside.

    Follows names into functions, classes, modules and constants of the project (files below the
    project root or beside the function's own file); what is installed counts by its name only.
    """
    if function is None:
        return "default"
    walk = _CodeWalk(function)
    return digest(sorted(walk.parts.items()))


def code_text(function: Callable[..., Any]) -> str:
    """The code that `code_digest` hashes, as one text; for "does it mention this key at all?"."""
    return "\n".join(_CodeWalk(function).parts.values())


def _describe(value: Any) -> Any:
    """A stable stand-in for what JSON cannot write."""
    if isinstance(value, (set, frozenset)):
        return sorted(json.dumps(item, sort_keys=True, default=_describe) for item in value)
    if isinstance(value, re.Pattern):
        return [str(value.pattern), value.flags]
    if isinstance(value, (bytes, bytearray)):
        return hashlib.sha256(value).hexdigest()
    if isinstance(value, (Path, complex)):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    # repr() of arbitrary objects holds addresses; the type is all that is stable about them.
    return f"<{type(value).__module__}.{type(value).__qualname__}>"


class _CodeWalk:
    """Collects `parts`: "module:qualname" → normalised source or constant, from a function on."""

    def __init__(self, start: Callable[..., Any]) -> None:
        self.parts: dict[str, str] = {}
        target = _unwrap(start)
        file = _source_file(target) or _source_file(type(target))  # a callable object
        self._roots = {PROJECT} | ({file.parent} if file else set())
        self._visit("start", start)

    def _is_project(self, file: Path | None) -> bool:
        if file is None or "site-packages" in file.parts or "dist-packages" in file.parts:
            return False
        return any(root in file.parents for root in self._roots)

    def _visit(self, name: str, value: Any) -> None:
        value = _unwrap(value)  # functools.cache and the like: what counts is inside
        if isinstance(value, functools.partial):
            self._visit(name, value.func)
            self.parts[f"{name}(partial)"] = digest(_plain([value.args, value.keywords]))
        elif isinstance(value, (types.FunctionType, types.MethodType, type)):
            self._visit_code(value)
            owner = _owner_of(value)
            if owner is not None:  # `cls.helper()` names the class only at run time
                self._visit_code(owner)
        elif isinstance(value, types.BuiltinFunctionType):
            self.parts[name] = f"builtin {value.__module__}.{value.__qualname__}"
        elif isinstance(value, types.ModuleType):
            self.parts[name] = f"module {value.__name__}"
        elif name not in self.parts:
            self.parts[name] = digest(_plain(value))
            for place, inner in enumerate(_functions_in(value)):  # a table of parsers, say
                self._visit(f"{name}[{place}]", inner)
            if self._is_project(_source_file(type(value))):
                self._visit_code(type(value))
                self._visit(f"{name}(state)", _state_of(value))

    def _visit_code(self, target: Any) -> None:
        where = f"{target.__module__}:{target.__qualname__}"
        closure = _closure_of(target)
        if closure:  # one maker, several functions
            where += f"(closure {digest(_plain(closure))})"
        if where in self.parts:
            return
        file = _source_file(target)
        if not self._is_project(file):
            self.parts[where] = "installed"
            return
        tree = _tree_of(target)
        if tree is None:  # typed into a prompt or built at run time: bytecode is all there is
            code = getattr(target, "__code__", None)
            self.parts[where] = _bytecode(code) if code else digest(repr(target))
            return
        self.parts[where] = ast.unparse(_without_docstrings(tree))
        self._visit_arguments(where, target)
        namespace = vars(sys.modules[target.__module__]) if target.__module__ in sys.modules else {}
        namespace = {**namespace, **closure, **self._imported_inside(tree, target)}
        for chain in _chains(tree):
            self._visit_chain(where if chain[0] in closure else target.__module__, chain, namespace)

    def _visit_arguments(self, where: str, target: Any) -> None:
        """Default values are evaluated once, from names that the tree alone does not resolve."""
        defaults = [getattr(target, "__defaults__", None), getattr(target, "__kwdefaults__", None)]
        if any(defaults):
            self.parts[f"{where}(defaults)"] = digest(_plain(defaults))
            for place, inner in enumerate(_functions_in(defaults)):
                self._visit(f"{where}(defaults)[{place}]", inner)

    def _visit_chain(self, module: str, chain: tuple[str, ...], names: Mapping[str, Any]) -> None:
        if chain[0] not in names:
            return
        value, used = names[chain[0]], [chain[0]]
        for attribute in chain[1:]:  # `module.helper`: go to the helper, not to the whole module
            if not isinstance(value, types.ModuleType):
                break
            file = _source_file(value)
            if not self._is_project(file) or not hasattr(value, attribute):
                break
            value = getattr(value, attribute)
            used.append(attribute)
        self._visit(f"{module}:{'.'.join(used)}", value)

    def _imported_inside(self, tree: ast.AST, target: Any) -> dict[str, Any]:
        """What import statements inside a function bind, by name; project modules only."""
        found: dict[str, Any] = {}
        for bound, module_name, attribute in _local_imports(tree, target):
            root = module_name.split(".")[0]
            if not any(
                (base / root).exists() or (base / f"{root}.py").exists() for base in self._roots
            ):
                continue
            try:
                found[bound] = importlib.import_module(module_name)
                if attribute and not hasattr(found[bound], attribute):
                    importlib.import_module(f"{module_name}.{attribute}")  # a submodule
                if attribute:
                    found[bound] = getattr(found[bound], attribute)
            except Exception:  # noqa: BLE001 - the function itself will raise it
                found.pop(bound, None)
        return found


def _unwrap(value: Any) -> Any:
    value = getattr(value, "__func__", value)
    return inspect.unwrap(value) if callable(value) else value


def _plain(value: Any, above: tuple[int, ...] = ()) -> Any:
    """A constant as plain data, whatever its keys are and whether or not it holds itself."""
    if id(value) in above:
        return "<itself>"
    inside = (*above, id(value))
    if isinstance(value, Mapping):
        pairs = [[repr(_plain(key)), _plain(item, inside)] for key, item in value.items()]
        return ["mapping", *sorted(pairs, key=lambda pair: pair[0])]
    if isinstance(value, (list, tuple)):
        return [_plain(item, inside) for item in value]
    if isinstance(value, (str, int, float, bool, type(None))):
        return value
    if callable(value) and hasattr(value, "__qualname__"):
        return f"<{value.__module__}:{value.__qualname__}>"
    return _describe(value)


def _functions_in(value: Any, above: tuple[int, ...] = ()) -> Iterator[Any]:
    """Functions and classes that a table, or a table in a table, holds."""
    if id(value) in above:
        return
    items = value.values() if isinstance(value, Mapping) else value
    if isinstance(value, (Mapping, list, tuple)):
        for item in items:
            if isinstance(_unwrap(item), (types.FunctionType, type, functools.partial)):
                yield item
            else:
                yield from _functions_in(item, (*above, id(value)))


def _source_file(value: Any) -> Path | None:
    try:
        file = inspect.getsourcefile(value)
    except TypeError:
        return None
    return Path(file).resolve() if file else None


def _tree_of(target: Any) -> ast.AST | None:
    """The source's tree; None where there is no source to be had."""
    for _ in range(PARSING_ATTEMPTS - 1):
        # CPython 3.11 counts the depth of all threads' parsing together, and then finds it wrong;
        # tracebacks that are made in another thread parse, too.
        with contextlib.suppress(SystemError):
            return _parsed(target)
    return _parsed(target)


def _parsed(target: Any) -> ast.AST | None:
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(target)))
    except (OSError, TypeError, SyntaxError):  # no file; a lambda cut out of the middle of a call
        return None


def _without_docstrings(tree: ast.AST) -> ast.AST:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = node.body[0]
            is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            if is_text and isinstance(first.value.value, str):  # type: ignore[attr-defined]
                node.body = node.body[1:] or [ast.Pass()]
    return tree


def _closure_of(target: Any) -> dict[str, Any]:
    code, cells = getattr(target, "__code__", None), getattr(target, "__closure__", None)
    if code is None or not cells:
        return {}
    found = {}
    for name, cell in zip(code.co_freevars, cells, strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not bound yet
            continue
    return found


def _chains(tree: ast.AST) -> Iterator[tuple[str, ...]]:
    """Every dotted name that is read: `a`, `a.b`, `a.b.c` (the longest form of each)."""
    for node in ast.walk(tree):
        names: list[str] = []
        inner: ast.AST = node
        while isinstance(inner, ast.Attribute):
            names.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load):
            yield (inner.id, *reversed(names))


def _local_imports(tree: ast.AST, target: Any) -> Iterator[tuple[str, str, str | None]]:
    """(name bound, module, attribute or None) of every import statement inside."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:  # `import a.b` binds a, and makes b an attribute of it
                first, *rest = alias.name.split(".", 1)
                if alias.asname or not rest:
                    yield alias.asname or first, alias.name, None
                else:
                    yield first, first, None
                    yield f"{first}.", first, rest[0]
        elif isinstance(node, ast.ImportFrom):
            package = getattr(sys.modules.get(target.__module__), "__package__", None)
            name = ("." * node.level) + (node.module or "")
            try:
                module = importlib.util.resolve_name(name, package) if node.level else name
            except ImportError:
                continue
            for alias in node.names:
                yield alias.asname or alias.name, module, alias.name


def _state_of(value: Any) -> Any:
    """What tells one object of a project's class from another: enum member, attributes, slots."""
    if isinstance(value, enum.Enum):
        return [value.name, value.value]
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    own = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return {**own, **getattr(value, "__dict__", {})}


def _owner_of(value: Any) -> Any:
    """The class that a static or class method stands in."""
    path = getattr(value, "__qualname__", "").split(".")[:-1]
    owner: Any = sys.modules.get(value.__module__)
    for name in path:
        owner = getattr(owner, name, None)
    return owner if path and isinstance(owner, type) else None


def _bytecode(code: types.CodeType) -> str:
    consts = [_bytecode(c) if isinstance(c, types.CodeType) else repr(c) for c in code.co_consts]
    return digest([code.co_code, consts, list(code.co_names)])

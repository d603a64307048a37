"""Hashes that say whether a stored answer is still the answer.

`digest` hashes data. `code_digest` hashes what a user's function does, from its source: its syntax
tree and those of the functions, classes and module variables that it names in the user's own files,
without comments and docstrings. Variables of plain types count by value, others by the statements
that make them. Nothing of the user's is executed for it. What is installed counts by its name, and
so does this program itself (`DEFAULTS_VERSION` of the local models stands for it): rewriting it
re-queries nothing. What plays episodes is code of this program that does count, see
`utils.run.requests`.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import itertools
import json
import re
import sys
import textwrap
import threading
import types
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from utils import PROJECT

PROGRAM = ("utils.", "models.base.", "models.wrappers.")
READING = (
    "utils.coordinates",
    "utils.folding",
    "utils.misc",
    "utils.reply_numbers",
    "utils.thinking",
    "utils.tool_calls",
)
"""Modules of this program that read replies; where a reply is acted upon at once, they count."""
INSTALLED = {"site-packages", "dist-packages"}

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_PARSING = threading.Lock()


def digest(value: Any) -> str:
    """Return a hash of data (dicts, lists, texts, numbers, ...), whatever the order of keys."""
    try:
        text = json.dumps(value, sort_keys=True, skipkeys=True, default=_plain)
    except TypeError:  # keys that have no order
        text = json.dumps(value, skipkeys=True, default=_plain)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:32]  # 128 bits, short in logs


def _plain(value: Any) -> Any:
    """Return what stands for a value that JSON has no form for: of an object its type."""
    if isinstance(value, (set, frozenset)):
        return ["set", *sorted(map(digest, value))]
    if isinstance(value, (bytes, bytearray)):
        return f"<bytes {hashlib.sha256(value).hexdigest()}>"
    return str(value) if isinstance(value, PurePath) else _name_of(type(value))


def code_digest(
    function: Callable[..., Any] | None,
    *,
    without: Collection[str] = (),
    also: Collection[str] = (),
) -> str:
    """Return a hash of what `function` does, comments and docstrings aside.

    Args:
        function: a function or a class.
        without: methods of the class that do not count, unless another method calls them.
        also: modules of this program that count nevertheless, such as "utils.coordinates".
    """
    if function is None:
        return "default"
    return digest(sorted(_CodeWalk(function, without=without, also=also).parts.items()))


def code_text(function: Callable[..., Any]) -> str:
    """Return the code that `code_digest` hashes as one text: does it mention this key at all?"""
    return "\n".join(_CodeWalk(function).parts.values())


def undescribed(function: Callable[..., Any] | None) -> list[str]:
    """Return values that nothing describes; with one of them each `code_digest` is another one."""
    return [] if function is None else _CodeWalk(function).undescribed


@dataclass(frozen=True)
class _Module:
    """The source of a module, by the names at its top level."""

    name: str
    # Top-level statements that bind or change a name.
    statements: dict[str, list[ast.stmt]] = field(default_factory=dict)
    # Of a name: the module it is from, and what it is called there ("" for the module itself).
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    star_imports: list[str] = field(default_factory=list)


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
        self._keys: dict[int, str] = {}  # of objects, by id
        self._start = inspect.unwrap(start)
        self._also = tuple(f"{module}." for module in also)
        self._left_out: dict[str, set[str]] = {}  # methods, by key of a class
        if without and isinstance(self._start, type):
            methods = _uncalled_methods(self._start, without)
            self._left_out = {_key_of(owner): methods for owner in inspect.getmro(self._start)}
        owner = self._start if _source_file(self._start) else type(self._start)
        file = _source_file(owner)
        self._roots = [PROJECT] if file is None else [PROJECT, _import_root(file, owner.__module__)]
        self.parts["start"] = json.dumps(self._described("start", start))

    # -- objects: the start, and what it holds beside its source ----------------------------------

    def _described(self, label: str, value: Any, above: tuple[int, ...] = ()) -> Any:
        """Return what stands for an object; its code becomes parts of their own."""
        if id(value) in above:
            return "<itself>"
        describe = functools.partial(self._described, label, above=(*above, id(value)))
        if callable(value):  # of functools.cache and the like
            value = inspect.unwrap(value)
        if isinstance(value, (types.FunctionType, type)):
            return self._add_object(value)
        if isinstance(value, types.MethodType):
            return ["method", describe(value.__func__), describe(value.__self__)]
        if isinstance(value, functools.partial):
            return ["partial", *map(describe, (value.func, value.args, value.keywords))]
        if isinstance(value, types.ModuleType):
            return f"module {value.__name__}"
        if hasattr(value, "__qualname__"):
            return _name_of(value)
        return self._described_data(label, value, describe)

    def _described_data(self, label: str, value: Any, describe: Callable[[Any], Any]) -> Any:
        """What stands for an object that is not code itself."""
        if isinstance(value, (dict, list, tuple)) and _value_text(value) is None:
            items = value.items() if isinstance(value, dict) else value
            return [describe(item) for item in items]
        text = _value_text(value)
        if text is not None:
            return text
        if self._is_own(_source_file(type(value)), type(value).__module__):
            return [self._add_object(type(value)), describe(_state_of(value))]
        return self._give_up(f"{label} holds a {type(value).__qualname__}, which nothing describes")

    def _give_up(self, problem: str) -> str:
        self.undescribed.append(problem)
        return uuid.uuid4().hex

    def _add_object(self, target: Any) -> str:
        """Add a function or class and what it names; return the key of its part."""
        if id(target) in self._keys:
            return self._keys[id(target)]
        key = _key_of(target)
        if key in self.parts:  # one maker, several functions
            key += f" {len(self._keys)}"
        self._keys[id(target)] = key
        file = _source_file(target)
        is_typed_in = file is None and target is self._start
        if not is_typed_in and not self._is_own(file, target.__module__):
            self.parts[key] = "installed"
            return key
        closure = _closure_of(target)
        module = self._module(target.__module__) or _Module(target.__module__)
        tree: ast.AST | None = _tree_of(target)
        if tree is None and file is not None:  # a lambda in the middle of a call
            tree = _parsed(file.read_text(encoding="utf-8"))
        if tree is None:
            self.parts[key] = self._give_up(f"{key} has no source")
            return key
        tree = _without_methods(tree, self._left_out.get(key, ()))
        self.parts[key] = ast.unparse(tree)
        if closure:
            names = {name: self._described(f"{key}: {name}", closure[name]) for name in closure}
            self.parts[f"{key} closure"] = json.dumps(names)
        self._follow(tree, module)
        return key

    # -- names: what source refers to -------------------------------------------------------------

    def _follow(self, tree: ast.AST, module: _Module) -> None:
        """Add what a piece of a module's source names."""
        inside = _Module(module.name)
        _note_imports(tree, inside, _package_of(module.name))
        for chain in _chains(tree):
            if chain[0] in inside.imports:
                self._reach_import(inside, chain)
            else:
                self._reach(module, chain)

    def _reach(self, module: _Module, chain: list[str]) -> bool:
        """Add what a dotted name stands for in a module; return whether it is known there."""
        name = chain[0]
        if name in module.statements:
            self._add_name(module, name)
            return True
        if name in module.imports:
            self._reach_import(module, chain)
            return True
        sources = filter(None, map(self._module, module.star_imports))
        return any(self._reach(source, chain) for source in sources)

    def _reach_import(self, module: _Module, chain: list[str]) -> None:
        source_name, attribute = module.imports[chain[0]]
        names = [attribute, *chain[1:]] if attribute else chain[1:]
        key = f"{module.name}:{'.'.join(chain)} of {source_name}"
        if key in self.parts:
            return
        self.parts[key] = attribute
        while names:
            source = self._module(source_name)
            if source is not None and self._reach(source, names):
                return
            source_name = f"{source_name}.{names.pop(0)}"  # a submodule, else what is installed

    def _add_name(self, module: _Module, name: str) -> None:
        """Add a function, class or variable at the top level of a module."""
        key = f"{module.name}:{name}"
        if key in self.parts:
            return
        statements = module.statements[name]
        is_code = any(isinstance(statement, _DEFINITIONS) for statement in statements)
        if not is_code:
            value = vars(sys.modules.get(module.name, types)).get(name, ...)
            text = _value_text(value)
            if text is not None:
                self.parts[key] = text
                return
            for code in _code_in(value):  # a table that a decorator fills, say
                self._add_object(code)
        methods = self._left_out.get(key, ())
        trees = [_without_methods(statement, methods) for statement in statements]
        self.parts[key] = "\n".join(map(ast.unparse, trees))
        for tree in trees:
            self._follow(tree, module)

    def _module(self, name: str) -> _Module | None:
        """Return the source of a module of the user's; None: it is installed, or unknown."""
        file = _source_file(sys.modules.get(name))
        if file is None and name not in sys.modules:
            paths = [root.joinpath(*name.split(".")) for root in self._roots]
            files = [path.with_suffix(".py") for path in paths]
            files += [path / "__init__.py" for path in paths]
            file = next((candidate for candidate in files if candidate.is_file()), None)
        if file is None or not self._is_own(file, name):
            return None
        is_package = file.name == "__init__.py"
        return _module_of(name, file.read_text(encoding="utf-8"), is_package=is_package)

    def _is_own(self, file: Path | None, module: str) -> bool:
        if file is None or INSTALLED & set(file.parts):
            return False
        is_program = PROJECT in file.parents and f"{module}.".startswith(PROGRAM)
        if is_program and not f"{module}.".startswith(self._also):
            return False
        return any(root in file.parents for root in self._roots)


# -- source ---------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=256)
def _module_of(name: str, text: str, *, is_package: bool) -> _Module | None:
    tree = _parsed(text)
    if tree is None:
        return None
    module = _Module(name)
    package = name if is_package else _package_of(name)
    for statement in tree.body:
        if isinstance(statement, _DEFINITIONS):
            module.statements.setdefault(statement.name, []).append(statement)
            continue
        _note_imports(statement, module, package)
        for name_in_it in _names_changed_by(statement):
            module.statements.setdefault(name_in_it, []).append(statement)
    return module


def _names_changed_by(statement: ast.stmt) -> set[str]:
    """Return names that a top-level statement binds or, like `TABLE.update(...)`, may change."""
    names = set()
    for node in ast.walk(statement):
        if isinstance(node, _DEFINITIONS):
            names.add(node.name)
        is_stored = isinstance(getattr(node, "ctx", None), ast.Store)
        if is_stored or isinstance(node, ast.Expr):
            names |= {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    return names


def _note_imports(tree: ast.AST, module: _Module, package: str) -> None:
    """Note what the import statements in a tree bind."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                source = alias.name if alias.asname else top
                module.imports[alias.asname or top] = (source, "")
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                source = ".".join([*parents, *filter(None, [node.module])])
            for alias in node.names:
                if alias.name == "*":
                    module.star_imports.append(source)
                else:
                    module.imports[alias.asname or alias.name] = (source, alias.name)


def _package_of(module: str) -> str:
    loaded = sys.modules.get(module)
    return getattr(loaded, "__package__", None) or module.rpartition(".")[0]


def _import_root(file: Path, module: str) -> Path:
    """Return the folder that a module was found from."""
    levels = module.count(".") + (file.name == "__init__.py")
    return file.parents[min(levels, len(file.parents) - 1)]


def _source_file(value: Any) -> Path | None:
    try:
        file = inspect.getsourcefile(value)
    except TypeError:
        return None
    return Path(file).resolve() if file and Path(file).exists() else None


def _tree_of(value: Any) -> ast.Module | None:
    """Return the tree of a function or class; None where there is no source of its own."""
    try:
        return _parsed(textwrap.dedent(inspect.getsource(value)))
    except (OSError, TypeError):
        return None


def _parsed(text: str) -> ast.Module | None:
    """Return the tree of a source without docstrings; None: it was cut out of a call."""
    with _PARSING:
        try:
            tree = ast.parse(text)
        except SyntaxError:
            return None
        except SystemError:  # CPython 3.11 counts the depth of all threads' parsing together,
            tree = ast.parse(text)  # and printing a traceback in another one parses, too
    for node in ast.walk(tree):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)):
            continue
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return tree


def _uncalled_methods(start: type, names: Collection[str]) -> set[str]:
    """Return those of the methods `names` of a class that none of its other methods mentions."""
    trees = [_tree_of(owner) for owner in inspect.getmro(start)]
    attributes = [
        node.attr
        for tree in trees
        if tree is not None
        for node in ast.walk(_without_methods(tree, names))
        if isinstance(node, ast.Attribute)
    ]
    return set(names).difference(attributes)


def _without_methods(tree: Any, names: Collection[str]) -> Any:
    """Return a copy of the tree of a class without some of its methods; any other tree as it is."""
    if isinstance(tree, ast.Module) and names:
        return ast.Module([_without_methods(node, names) for node in tree.body], [])
    if not isinstance(tree, ast.ClassDef) or not names:
        return tree
    body = [node for node in tree.body if getattr(node, "name", None) not in names]
    fields = {name: getattr(tree, name) for name in tree._fields}
    return ast.ClassDef(**{**fields, "body": body or [ast.Pass()]})


def _chains(tree: ast.AST) -> Iterator[list[str]]:
    """Yield every dotted name that is read: `a`, `a.b`, `a.b.c`."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
            text = ast.unparse(node)
            if re.fullmatch(r"[\w.]+", text):
                yield text.split(".")


def _closure_of(target: Any) -> dict[str, Any]:
    """Return what a function has from those around it, by name; without what is not bound yet."""
    cells = getattr(target, "__closure__", None) or ()
    values = {}
    for name, cell in zip(target.__code__.co_freevars if cells else (), cells, strict=True):
        try:
            values[name] = cell.cell_contents
        except ValueError:
            continue
    return values


def _code_in(value: Any, depth: int = 3) -> Iterator[Any]:
    """Yield the functions and classes in a container."""
    if isinstance(value, (types.FunctionType, type)):
        yield value
    elif depth and isinstance(value, (Mapping, list, tuple)):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _code_in(item, depth - 1)


def _value_text(value: Any) -> str | None:
    """Return a value of plain types as text; None for any other."""
    try:
        return json.dumps(value, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return None


def _key_of(target: Any) -> str:
    return f"{target.__module__}:{target.__qualname__}"


def _state_of(value: object) -> dict[str, Any]:
    """Return the attributes of an object, those in slots too."""
    slots = itertools.chain.from_iterable(
        getattr(owner, "__slots__", ()) for owner in type(value).__mro__
    )
    in_slots = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return {**in_slots, **getattr(value, "__dict__", {})}


def _name_of(value: Any) -> str:
    return f"<{getattr(value, '__module__', '')}:{getattr(value, '__qualname__', '')}>"

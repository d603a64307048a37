"""Hashes that say whether a stored answer is still the answer.

`digest` hashes data. `code_digest` hashes the code of a user's function: of its module, and of all
modules in the user's folder that this one imports, the statements at the top level that its code
mentions by name, as syntax trees without docstrings and comments. Whatever has a name that is
mentioned counts, used or not. A statement that binds no name counts, too, and so does one with
`import *`; but in this program's own modules that only leads on from a former path. What a function
holds besides (a closure, the arguments of a partial, the state of an object) counts by value.
Nothing of the user's is executed for it, so what a module reads when it is imported, such as a
file, does not count.

What is installed counts by its name, and so does this program itself (`DEFAULTS_VERSION` of the
local models stands for it): rewriting it re-queries nothing. What plays episodes is code
of this program that does count.
"""

from __future__ import annotations

import ast
import copyreg
import functools
import hashlib
import inspect
import json
import sys
import threading
import types
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import resolve_name
from pathlib import Path, PurePath
from typing import Any

from utils import PROJECT
from utils.functions.names import PACKAGES, is_own
from utils.program import OWN

PROGRAM = (
    "utils",
    "models.base",
    "models.wrappers",
    "models.recipes.base",
    "models.recipes.reading",
    "models.recipes.sources",
)
"""Of this program, what counts by its name alone, with all that lies below."""
READING = (
    "utils.coordinates",
    "utils.folding",
    "utils.misc",
    "utils.pyautogui_code",
    "utils.reply_numbers",
    "utils.thinking",
    "utils.tool_calls",
    "models.recipes.reading",
)
"""Modules of it that read replies; where a reply is acted upon at once, they count."""
INSTALLED = {"site-packages", "dist-packages"}
CODE_VERSION = 2
"""The version of code hashes, in the records of runs; records before version 2 have none."""

_MOVED = {
    "benchmarks.worlds.browser": (
        "benchmarks.worlds.pages",
        ("browser", "gestures", "page_world", "settle"),
    ),
    "utils.datasets": ("utils", ("github", "hub", "published", "table_downloads")),
    "utils.geometry": (
        "utils",
        ("images", "orientation", "pixels", "resizing", "targets", "zooming"),
    ),
}
FIRST_NAMES = {
    "benchmarks.worlds.miniwob.suite": "benchmarks.worlds.pages.miniwob",
    **{
        f"{room}.{name}": f"{before}.{name}"
        for room, (before, names) in _MOVED.items()
        for name in names
    },
}
"""Modules of this program that have moved, with the names that stored hashes have of them."""
_TODAY = {before: now for now, before in FIRST_NAMES.items()}

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_PLAIN = (str, int, float, bytes, set, frozenset, PurePath)
_PARSING = threading.Lock()


def digest(value: Any) -> str:
    """The hash of data (dicts, lists, texts, numbers, ...), whatever the order of keys."""
    try:
        text = json.dumps(value, sort_keys=True, skipkeys=True, default=_plain)
    except TypeError:  # keys that have no order
        text = json.dumps(value, skipkeys=True, default=_plain)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:32]  # 128 bits, short in logs


def _plain(value: Any) -> Any:
    """A JSON form of a value that JSON has none for: of an object, the name of its type."""
    if isinstance(value, (set, frozenset)):
        return ["set", *sorted(map(digest, value))]
    if isinstance(value, (bytes, bytearray)):
        return f"<bytes {hashlib.sha256(value).hexdigest()}>"
    return str(value) if isinstance(value, PurePath) else _name_of(type(value))


def code_digest(function: Callable[..., Any] | None, *, also: Collection[str] = ()) -> str:
    """The hash of the code of a function or class, comments and docstrings aside.

    Of one that `undescribed` has something to say about it is no description.

    Args:
        function: None has a hash, too.
        also: modules of this program that count nevertheless, such as "utils.coordinates".
    """
    if function is None:
        return "default"
    code = _Code(function, also)
    return digest([code.start, code.texts()])


def code_text(function: Callable[..., Any], *, also: Collection[str] = ()) -> str:
    """The code that `code_digest` hashes as one text: does it mention this key at all?"""
    return "\n".join(_Code(function, also).texts().values())


def own_code(target: Callable[..., Any]) -> dict[str, str]:
    """The hashes of the code of a function or class, by module of the user's; of this program none.

    The code is the one that `code_digest` hashes. Files in `models` count, where users copy the
    program's examples; recipes do not.
    """
    if _is_of_program(target.__module__):
        return {}
    return {
        module: digest(text)[:16]
        for module, text in _Code(target).texts().items()
        if not _is_of_program(module)
    }


def _is_of_program(module: str) -> bool:
    return is_own(module) or _is_below(module, (*PROGRAM, "models.recipes"))


def undescribed(function: Callable[..., Any] | None) -> list[str]:
    """The parts of a function that no hash covers, one line each; with any, no answer is reused."""
    return [] if function is None else _Code(function).problems


@dataclass(frozen=True)
class _Statement:
    """A statement at the top level of a module."""

    text: str
    binds: frozenset[str]
    mentions: frozenset[str]
    imports: tuple[str, ...]  # modules, and what may be modules


class _Code:
    """The description of a function: `start`, which is plain data, and the `texts` of its code."""

    def __init__(self, start: Callable[..., Any], also: Collection[str] = ()) -> None:
        self.problems: list[str] = []
        self._also = also
        self._roots = {PROJECT}  # folders that modules are found from
        self._modules: set[str] = set()
        self._mentioned: set[str] = set()
        self.start = self._described(start)

    def _described(self, value: Any, above: tuple[int, ...] = ()) -> Any:
        """Plain data that stands for a value: of code its name, and its module becomes a source."""
        if id(value) in above:
            return "<itself>"
        describe = functools.partial(self._described, above=(*above, id(value)))
        target = inspect.unwrap(value) if callable(value) else value  # of functools.cache, too
        if isinstance(target, (types.FunctionType, type)):
            self._add_code(target)
            return [_name_of(target), *map(describe, _closure_of(target))]
        if isinstance(target, dict):
            return [[describe(key), describe(item)] for key, item in target.items()]
        if isinstance(target, (list, tuple)):
            return [*map(describe, target)]
        if isinstance(target, types.ModuleType):
            return target.__name__
        if target is None or isinstance(target, _PLAIN):
            return target
        return self._described_object(target, describe)

    def _described_object(self, target: Any, describe: Callable[[Any], Any]) -> Any:
        """Plain data that stands for an object: what `pickle` would make it of."""
        kind = type(target)
        self._add_code(kind)
        file = _loaded_file(kind.__module__)
        if _is_standard(kind.__module__) or (file is not None and not _is_installed(file)):
            reduce: Callable[[Any], Any] | None = copyreg.dispatch_table.get(kind)
            try:
                parts = reduce(target) if reduce else target.__reduce_ex__(4)
            except Exception:  # noqa: BLE001 - an object may raise anything
                parts = ()
            if isinstance(parts, str):
                return [_name_of(kind), parts]
            if parts:
                parts = [[*part] if isinstance(part, Iterator) else part for part in parts]
                return [*map(describe, parts)]
        self.problems.append(f"it holds a {kind.__qualname__}, which nothing describes")
        return None

    def _add_code(self, target: Any) -> None:
        """Note the module and the name of a function or class."""
        name = str(target.__module__)
        file = _loaded_file(name)
        if file is not None:
            self._roots.add(_import_root(file, name))
        elif not isinstance(target, type) or not _is_standard(name):
            self.problems.append(f"{name}.{target.__qualname__} has no source file")
        self._modules.add(name)
        names = {name for statement in self._statements(name) for name in statement.binds}
        first_name = target.__qualname__.partition(".")[0]
        self._mentioned |= {first_name} if first_name in names else names  # all, for a lambda

    def texts(self) -> dict[str, str]:
        """The code that counts, by module: what is mentioned by code that counts."""
        own_file = functools.cache(self._own_file)  # nothing is loaded meanwhile
        statements_of = functools.cache(self._statements)
        counted: dict[str, dict[int, str]] = {}
        count = -1
        while count < (count := sum(map(len, counted.values())) + len(self._modules)):
            for name in sorted(self._modules):
                texts = counted.setdefault(name, {})
                for number, statement in enumerate(statements_of(name)):
                    if number in texts:
                        continue
                    if not statement.binds or statement.binds & self._mentioned:
                        texts[number] = statement.text
                        self._mentioned |= statement.mentions
                        modules = [_TODAY.get(module, module) for module in statement.imports]
                        self._modules.update(filter(own_file, modules))
        return {
            FIRST_NAMES.get(name, name): "\n".join(texts[number] for number in sorted(texts))
            for name, texts in sorted(counted.items())
            if texts
        }

    def _statements(self, name: str) -> Sequence[_Statement]:
        """The statements of a module whose code counts; of others there are none."""
        file = self._own_file(name)
        if file is None:
            return ()
        package = name if file.name == "__init__.py" else name.rpartition(".")[0]
        return _statements_of(file.read_bytes(), package)

    def _own_file(self, name: str) -> Path | None:
        """The file of a module whose code counts; None: it counts by its name, or there is none."""
        file = _loaded_file(name)
        if file is None and name not in sys.modules:
            paths = [root.joinpath(*name.split(".")) for root in self._roots]
            files = [path.with_suffix(".py") for path in paths]
            files += [path / "__init__.py" for path in paths]
            file = next(filter(Path.is_file, files), None)
        if file is None or _is_standard(name) or _is_installed(file):
            return None
        is_program = PROJECT in file.parents and _is_below(name, PROGRAM)
        if is_program and not _is_below(name, self._also):
            return None
        return None if self._roots.isdisjoint(file.parents) else file


def _is_below(name: str, modules: Collection[str]) -> bool:
    return any(f"{name}.".startswith(f"{module}.") for module in modules)


def _is_standard(name: str) -> bool:
    return name.partition(".")[0] in sys.stdlib_module_names


def _is_installed(file: Path) -> bool:
    """Whether a file belongs to an installed package; this program's own files never do."""
    return not INSTALLED.isdisjoint(file.parts) and OWN.isdisjoint(file.parents)


def _loaded_file(name: str) -> Path | None:
    """The Python file of a module that is loaded."""
    file = getattr(sys.modules.get(name), "__file__", None) or ""
    return Path(file).resolve() if file.endswith(".py") and Path(file).is_file() else None


def _import_root(file: Path, module: str) -> Path:
    """The folder that a module was found from."""
    levels = module.count(".") + (file.name == "__init__.py")
    return file.parents[min(levels, len(file.parents) - 1)]


@functools.lru_cache(maxsize=256)
def _statements_of(code: bytes, package: str) -> Sequence[_Statement]:
    with _PARSING:
        try:
            tree = ast.parse(code)
        except SystemError:  # CPython 3.11 counts the depth of all threads' parsing together,
            tree = ast.parse(code)  # and printing a traceback in another one parses, too
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)):
            is_documented = ast.get_docstring(node, clean=False) is not None
            node.body = node.body[is_documented:] or [ast.Pass()]
    return _in_first_order(tree.body, [_as_statement(node, package) for node in tree.body])


def _in_first_order(
    nodes: Sequence[ast.stmt], statements: Sequence[_Statement]
) -> Sequence[_Statement]:
    """The statements of a module in the order that its imports had before modules moved."""
    modules = {
        number: str(node.module)
        for number, node in enumerate(nodes)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(PACKAGES)
    }
    imports = {name for statement in statements for name in statement.imports}
    if FIRST_NAMES.keys().isdisjoint(imports):
        return statements
    order = [*range(len(nodes))]
    for index, number in zip(modules, sorted(modules, key=modules.__getitem__), strict=True):
        order[index] = number
    return [statements[number] for number in order]


def _as_statement(top: ast.stmt, package: str) -> _Statement:
    binds: set[str] = set()
    mentions: set[str] = set()
    imports: list[str] = []
    for node in ast.walk(top):
        if isinstance(node, ast.Name):
            (binds if isinstance(node.ctx, ast.Store) else mentions).add(node.id)
        elif isinstance(node, ast.Attribute):
            mentions.add(node.attr)
        elif isinstance(node, ast.Constant):
            mentions.add(str(node.value))  # the key of a table, perhaps
        elif isinstance(node, ast.alias):
            binds.add(node.asname or node.name.partition(".")[0])
            mentions.add(node.name)
        elif isinstance(node, _DEFINITIONS):
            binds.add(node.name)
        if isinstance(node, ast.Import):
            dotted = [alias.name.split(".") for alias in node.names]
            imports += [".".join(name[: end + 1]) for name in dotted for end in range(len(name))]
        elif isinstance(node, ast.ImportFrom):
            source = "." * node.level + (node.module or "")
            source = resolve_name(source, package) if node.level else source
            imports += [source, *(f"{source}.{alias.name}" for alias in node.names)]
            node.module = FIRST_NAMES.get(source, node.module)
    binds = _bound_at_top(top, binds, package)
    return _Statement(ast.unparse(top), frozenset(binds), frozenset(mentions), tuple(imports))


def _bound_at_top(top: ast.stmt, names: set[str], package: str) -> set[str]:
    """Of the names that a statement binds, those of its module; none: it always counts."""
    if isinstance(top, _DEFINITIONS):
        return {top.name}  # the others are its own
    return set() if "*" in names and not is_own(package) else names


def _closure_of(target: Any) -> Iterator[Any]:
    """Yield the values in a function's closure that are bound already."""
    for cell in getattr(target, "__closure__", None) or ():
        with suppress(ValueError):
            yield cell.cell_contents


def _name_of(value: Any) -> str:
    module = getattr(value, "__module__", "")
    return f"<{FIRST_NAMES.get(module, module)}:{getattr(value, '__qualname__', '')}>"

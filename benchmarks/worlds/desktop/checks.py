"""Judge an episode by all files and settings of the home before and after it.

What is expected is the state before, with a task's edits done to it (`edits.EDITS`); nothing else
may differ. Documents are compared by what they say and how it looks (`documents`), texts line by
line, pictures by their pixels, settings by their values, all other files byte by byte. Hidden files
are the programs' own, but for settings: those of the desktop are all compared, those of an
application where a task names them.
"""

from __future__ import annotations

import configparser
import copy
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any
from xml.etree import ElementTree

from benchmarks.worlds.desktop.documents import read_file
from benchmarks.worlds.desktop.edits import EDITS, Edit, Tree
from benchmarks.worlds.desktop.expected import matches
from benchmarks.worlds.desktop.home import Files
from benchmarks.worlds.environment import Outcome
from benchmarks.worlds.office.tasks.checks import StateComparison, check

MISSING = {"missing": True}
LOCK = re.compile(r"(.*/)?\.~lock\.[^/]*#")
"""LibreOffice's mark of an open document: it has the time, and goes when the document is closed."""
MAX_DESCRIPTION = 200  # characters
CHANNELS = ".config/xfce4/xfconf/xfce-perchannel-xml/"
KEYFILE = ".config/glib-2.0/settings/keyfile"
REGISTRY = ".config/libreoffice/4/user/registrymodifications.xcu"
WATCHED_CHANNELS = ("xsettings", "xfwm4", "xfce4-panel", "xfce4-desktop", "thunar", "pointers")
"""Settings of the desktop: those that nobody asks to be changed have to stay."""
OWN_VALUES = re.compile(
    r"thunar/(last-.*|misc-.*-warned.*)|xfce4-desktop/(backdrop/.*|last/.*|.*/icon-.*)"
    r"|xfce4-panel/plugins/plugin-\d+/(?!digital|mode|tooltip).*|.*/last-.*"
)
"""What programs write about themselves without being asked: sizes of windows, columns, lists."""


def judge(
    task: Mapping[str, Any], before: Files, after: Files, end: str, answer: str = ""
) -> Outcome:
    """Whether a task was done, the reasons line by line, and the partial score.

    Args:
        task: `edits`, `answer` and `feasible` of a variant.
        before: the home at the start.
        after: the home at the end.
        end: how the agent ended: "answer", "done", "fail"; "" if it did not.
        answer: the text of "answer".
    """
    edits = task.get("edits", ())
    keys = frozenset(str(edit[1]) for edit in edits if edit[0] == "setting")
    trees = tree_of(before, keys), tree_of(after, keys)
    return check(task, {}, {}, end, answer, compare_trees(edits, *trees))


def tree_of(files: Files, keys: frozenset[str] = frozenset()) -> Tree:
    """Return the contents of files and settings by path; settings are under "settings:".

    Args:
        files: of the home.
        keys: settings of applications that count, besides those of the desktop.
    """
    tree: Tree = {}
    for path, content in files.items():
        if not path.startswith(".") and not LOCK.fullmatch(path):
            tree[path] = _content(path, content)
    values = _settings(files)
    for key, value in values.items():
        if key in keys or (_is_watched(key) and not OWN_VALUES.fullmatch(key)):
            tree[f"settings:{key}"] = value
    for key in keys - values.keys():
        tree[f"settings:{key}"] = None
    return tree


def _content(path: str, content: bytes) -> Any:
    if path.endswith("/"):
        return "a folder"
    if content.startswith(b"-> "):
        return {"link": content.decode(errors="replace")}
    data = read_file(path, content)
    if isinstance(data, dict) and "pixels" in data:
        return {**data, "content": content}
    return data


# -- settings --------------------------------------------------------------------------------------


def _is_watched(key: str) -> bool:
    return key.partition("/")[0] in WATCHED_CHANNELS


def _settings(files: Files) -> dict[str, Any]:
    """Return all settings as texts, by channel or group and name."""
    values: dict[str, Any] = {}
    for path, content in files.items():
        with suppress(ElementTree.ParseError, UnicodeDecodeError, configparser.Error):
            if path.startswith(CHANNELS) and path.endswith(".xml"):
                root = ElementTree.fromstring(content)
                values |= dict(_properties(root, root.get("name", "")))
            elif path == KEYFILE:
                values |= _key_file(content.decode())
            elif path == REGISTRY:
                values |= dict(_registry(content))
    return values


def _properties(element: ElementTree.Element, prefix: str) -> Iterator[tuple[str, Any]]:
    for child in element:
        if child.tag != "property":
            continue
        path = f"{prefix}/{child.get('name')}"
        items = [value.get("value") for value in child if value.tag == "value"]
        if items:
            yield path, items
        elif child.get("value") is not None:
            yield path, child.get("value")
        yield from _properties(child, path)


def _key_file(text: str) -> dict[str, str]:
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return {f"{group}/{name}": value for group in parser for name, value in parser[group].items()}


def _registry(content: bytes) -> Iterator[tuple[str, str]]:
    """Yield the values of LibreOffice's settings; what is written there more than once, last."""
    space = "{http://openoffice.org/2001/registry}"
    for item in ElementTree.fromstring(content):
        for prop in item.iter("prop"):
            path = f"{item.get(f'{space}path', '')}/{prop.get(f'{space}name', '')}"
            yield path.removeprefix("/org.openoffice."), "".join(prop.itertext())


# -- what was expected -----------------------------------------------------------------------------


def edited(tree: Tree, edits: Sequence[Edit]) -> Tree:
    """Return a tree after some edits.

    Raises:
        ValueError: one does not fit the tree.
    """
    tree = copy.deepcopy(tree)
    for name, *arguments in edits:
        EDITS[name](tree, *arguments)
    return tree


def compare_trees(edits: Sequence[Edit], start: Tree, end: Tree) -> StateComparison:
    """Compare a tree with what is expected: a line for each path that differs or should."""
    comparisons = [_comparison(start, chosen, end) for chosen in _alternatives(edits)]
    return min(comparisons, key=lambda one: (_miss_count(one), one.is_spoiled, -one.done))


def _miss_count(comparison: StateComparison) -> int:
    return sum(not fits for fits, _ in comparison.lines)


def _alternatives(edits: Sequence[Edit]) -> Iterator[list[Edit]]:
    choices = [edit[1:] if edit[0] == "any_of" else [[edit]] for edit in edits]
    for lists in itertools.product(*choices):
        yield list(itertools.chain(*lists))


def _comparison(start: Tree, edits: Sequence[Edit], end: Tree) -> StateComparison:
    expected = edited(start, edits)
    lines = []
    for path in sorted({*start, *expected, *end}):
        before, wanted, actual = (tree.get(path, MISSING) for tree in (start, expected, end))
        if not matches(wanted, actual):
            lines.append((False, f"{path}: {_difference(wanted, actual)}"))
        elif not matches(before, wanted):
            lines.append((True, f"{path} is as expected"))
    done = _done_count(start, edits, end)
    return StateComparison(lines, done or 0, len(edits), done is None)


def _done_count(start: Tree, edits: Sequence[Edit], end: Tree) -> int | None:
    """The number of edits that lead to a tree by themselves; None: it has changed otherwise."""
    for count in range(len(edits), -1, -1):
        for chosen in itertools.combinations(edits, count):
            with suppress(ValueError, LookupError):  # one of them needs another one
                if _same(edited(start, chosen), end):
                    return count
    return None


def _same(expected: Tree, actual: Tree) -> bool:
    paths = {*expected, *actual}
    return all(matches(expected.get(path, MISSING), actual.get(path, MISSING)) for path in paths)


def _difference(expected: Any, actual: Any, place: str = "") -> str:
    """Return the first place where two contents differ."""
    if (
        isinstance(expected, dict)
        and isinstance(actual, dict)
        and MISSING not in (expected, actual)
    ):
        for key in sorted({*expected, *actual}, key=str):
            one, other = expected.get(key), actual.get(key)
            if key not in ("content", "*") and not matches(one, other):
                return _difference(one, other, f"{place} {key}")
    if isinstance(expected, list) and isinstance(actual, list):
        pairs = itertools.zip_longest(expected, actual)
        for number, (one, other) in enumerate(pairs, 1):
            if not matches(one, other):
                return _difference(one, other, f"{place} {number}")
    texts = f"{_short(expected)} is expected, not {_short(actual)}"
    return f"{place.strip()}: {texts}" if place else texts


def _short(value: Any) -> str:
    if isinstance(value, dict):
        value = {key: item for key, item in value.items() if key != "content"}
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MAX_DESCRIPTION else text[: MAX_DESCRIPTION - 1] + "…"

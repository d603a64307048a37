"""Judge an episode by all files and settings before and after it.

What is expected is the state before, with a task's edits done to it (`EDITS`); nothing else may
differ. Texts are compared line by line without white space at the ends of lines and empty lines at
the end of a file; notebooks by their cells (type, source, outputs, tags); settings by their values.
"""

from __future__ import annotations

import copy
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from benchmarks.worlds.jupyterlab.lab import State
from benchmarks.worlds.office.tasks.checks import StateComparison

SAME_METADATA = {
    "collapsed",
    "execution",
    "jp-MarkdownHeadingCollapsed",
    "jupyter",
    "scrolled",
    "trusted",
}
"""Metadata of cells that say how they are shown, or come and go by themselves."""
NO_METADATA: tuple[Any, ...] = ([], True, {"slide_type": ""})
"""Values that mean the same as none; the property inspector writes them when it is opened."""
MAX_DESCRIPTION = 200  # characters
Tree = dict[str, Any]  # by path: lines of a text, cells of a notebook, values of a setting
Edit = Sequence[Any]


def tree_of(state: State) -> Tree:
    """The content of files and settings, by path; settings under "settings:"."""
    tree: Tree = {path: _content(path, text) for path, text in state["files"].items()}
    for path, text in state["settings"].items():
        if not path.endswith("/"):
            name = path.replace("/", ":").replace(".jupyterlab-settings", "")
            tree[f"settings:{name}"] = json.loads(text)
    return {path: content for path, content in tree.items() if content != {}}


def _content(path: str, text: str) -> Any:
    if path.endswith("/"):
        return None
    if path.endswith(".ipynb"):
        try:
            return [_cell(cell) for cell in json.loads(text)["cells"]]
        except (ValueError, KeyError, TypeError, AttributeError):
            return ["no notebook", text]
    return _lines(text)


def _lines(text: str) -> list[str]:
    """Return the lines of a text; in rows of Markdown tables without the spaces around cells."""
    lines = [line.rstrip() for line in text.splitlines()]
    lines = [re.sub(r"\s*\|\s*", "|", line) if line[:1] == "|" else line for line in lines]
    return "\n".join(lines).rstrip("\n").split("\n")


def _cell(cell: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {
        name: value
        for name, value in cell.get("metadata", {}).items()
        if name not in SAME_METADATA and value not in NO_METADATA
    }
    return {
        "type": cell["cell_type"],
        "source": _lines("".join(cell["source"])),
        "outputs": cell.get("outputs", []),
        **metadata,
    }


# -- what a task expects ---------------------------------------------------------------------------


def _rename(tree: Tree, old: str, new: str) -> None:
    """Rename or move a file; or a folder, whose name ends with a slash, with all in it."""
    _at(tree, old)
    for path in [path for path in tree if path == old or (old[-1] == "/" and path.startswith(old))]:
        tree[new + path.removeprefix(old)] = tree.pop(path)


def _copy(tree: Tree, old: str, new: str) -> None:
    tree[new] = copy.deepcopy(_at(tree, old))


def _delete(tree: Tree, path: str) -> None:
    _at(tree, path)
    for name in [
        name for name in tree if name == path or (path[-1] == "/" and name.startswith(path))
    ]:
        del tree[name]


def _folder(tree: Tree, path: str) -> None:
    tree[path] = None


def _write(tree: Tree, path: str, content: str | list[Any]) -> None:
    """Have a text, or a notebook's cells, in a file that may be new."""
    from benchmarks.worlds.jupyterlab.folder import notebook

    tree[path] = _content(path, content if isinstance(content, str) else notebook(content))


def _append(tree: Tree, path: str, text: str) -> None:
    """Add lines to the end of a file."""
    _at(tree, path).extend(_lines(text))


def _line_delete(tree: Tree, path: str, beginning: str) -> None:
    """Remove the only line of a file that begins so."""
    lines = _at(tree, path)
    [line] = [line for line in lines if line.startswith(beginning)]
    lines.remove(line)


def _table_add(tree: Tree, path: str, line: int, values: list[Any]) -> None:
    """Have a row after a line in a Markdown table."""
    _at(tree, path).insert(line, "|".join(["", *map(str, values), ""]))


def _replace(tree: Tree, path: str, old: str, new: str) -> None:
    """Replace a text wherever it stands in a file, or in the cells of a notebook."""
    content = _at(tree, path)
    texts = [cell["source"] for cell in content] if path.endswith(".ipynb") else [content]
    before = copy.deepcopy(texts)
    for lines in texts:
        lines[:] = _lines("\n".join(lines).replace(old, new))
    if texts == before:
        raise ValueError(f"{path} does not have {old!r}")


def _cell_move(tree: Tree, path: str, number: int, to: int) -> None:
    cells = _at(tree, path)
    cells.insert(to - 1, cells.pop(number - 1))


def _cell_delete(tree: Tree, path: str, number: int) -> None:
    del _at(tree, path)[number - 1]


def _cell_insert(tree: Tree, path: str, number: int, kind: str, source: str) -> None:
    cell = _cell({"cell_type": kind, "source": source})
    _at(tree, path).insert(number - 1, cell)


def _cell_copy(tree: Tree, path: str, number: int, to_path: str, to: int) -> None:
    _at(tree, to_path).insert(to - 1, copy.deepcopy(_at(tree, path)[number - 1]))


def _cell_type(tree: Tree, path: str, number: int, kind: str) -> None:
    cell = _at(tree, path)[number - 1]
    cell.update(type=kind, outputs=[])


def _cell_source(tree: Tree, path: str, number: int, source: str) -> None:
    _at(tree, path)[number - 1]["source"] = _lines(source)


def _cell_split(tree: Tree, path: str, number: int, line: int) -> None:
    """Split a cell before a line; the first part has no output any more."""
    cells = _at(tree, path)
    cell = cells[number - 1]
    first = {**cell, "source": cell["source"][: line - 1], "outputs": []}
    second = {**cell, "source": cell["source"][line - 1 :]}
    cells[number - 1 : number] = [first, second]


def _cell_merge(tree: Tree, path: str, number: int, count: int) -> None:
    """Merge cells that follow each other; there is an empty line between them."""
    cells = _at(tree, path)
    parts = cells[number - 1 : number - 1 + count]
    source = "\n\n".join("\n".join(part["source"]) for part in parts)
    merged = {**parts[0], "source": _lines(source), "outputs": []}
    cells[number - 1 : number - 1 + count] = [merged]


def _cell_tag(tree: Tree, path: str, number: int, tags: list[str]) -> None:
    cell = _at(tree, path)[number - 1]
    cell.pop("tags", None)
    if tags:
        cell["tags"] = tags


def _outputs_clear(tree: Tree, path: str, number: int | None = None) -> None:
    """Remove the outputs of a cell, or of all."""
    for cell in _at(tree, path)[slice(number and number - 1, number)]:
        cell["outputs"] = []


def _setting(tree: Tree, plugin: str, name: str, value: Any) -> None:
    tree.setdefault(f"settings:{plugin}", {})[name] = value


def _at(tree: Tree, path: str) -> Any:
    if path not in tree:
        raise ValueError(f"there is no {path}")
    return tree[path]


EDITS: Mapping[str, Callable[..., None]] = {
    "rename": _rename,
    "copy": _copy,
    "delete": _delete,
    "folder": _folder,
    "write": _write,
    "append": _append,
    "line.delete": _line_delete,
    "table.add": _table_add,
    "replace": _replace,
    "cell.move": _cell_move,
    "cell.delete": _cell_delete,
    "cell.insert": _cell_insert,
    "cell.copy": _cell_copy,
    "cell.type": _cell_type,
    "cell.source": _cell_source,
    "cell.split": _cell_split,
    "cell.merge": _cell_merge,
    "cell.tag": _cell_tag,
    "outputs.clear": _outputs_clear,
    "setting": _setting,
}
"""What a task expects: ["rename", old path, new path], ...; cells and lines are counted from 1.
["any_of", [edit, ...], [edit, ...]] stands for the edits of one of the lists."""


def edited(tree: Tree, edits: Sequence[Edit]) -> Tree:
    """Return a tree after some edits.

    Raises:
        ValueError: one does not fit the tree.
    """
    tree = copy.deepcopy(tree)
    for name, *arguments in edits:
        EDITS[name](tree, *arguments)
    return tree


def compare(edits: Sequence[Edit], before: State, after: State) -> StateComparison:
    """Compare files and settings with what is expected: a line for each that differs or should."""
    return compare_trees(edits, tree_of(before), tree_of(after))


def compare_trees(edits: Sequence[Edit], start: Tree, end: Tree) -> StateComparison:
    """Return the same for trees."""
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
        contents = [tree.get(path, "missing") for tree in (start, expected, end)]
        if contents[1] != contents[2]:
            lines.append((False, f"{path}: {_difference(contents[1], contents[2])}"))
        elif contents[0] != contents[1]:
            lines.append((True, f"{path} is as expected"))
    done = _done_count(start, edits, end)
    return StateComparison(lines, done or 0, len(edits), done is None)


def _done_count(start: Tree, edits: Sequence[Edit], end: Tree) -> int | None:
    """The number of edits that lead to a tree by themselves; None: it has changed otherwise."""
    for count in range(len(edits), -1, -1):
        for chosen in itertools.combinations(edits, count):
            with suppress(ValueError, IndexError):  # one of them needs another one
                if edited(start, chosen) == end:
                    return count
    return None


def _difference(expected: Any, actual: Any) -> str:
    """Return the first place where two contents differ."""
    if isinstance(expected, list) and isinstance(actual, list):
        pairs = itertools.zip_longest(expected, actual, fillvalue="nothing")
        for number, (one, other) in enumerate(pairs, 1):
            if one != other:
                return f"{number}: {_short(one)} is expected, not {_short(other)}"
    return f"{_short(expected)} is expected, not {_short(actual)}"


def _short(value: Any) -> str:
    text = "a folder" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_DESCRIPTION else text[: MAX_DESCRIPTION - 1] + "…"

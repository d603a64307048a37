"""Expected changes of files and settings, as edits of a tree of plain data."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.worlds.desktop.documents.pictures import (
    grey_picture,
    mean_colours,
    open_picture,
    pixel_hash,
)

Tree = dict[str, Any]  # by path, see `checks.tree_of`
Edit = Sequence[Any]
Keys = Sequence[Any]
COLOUR_TOLERANCE = 10  # of 255; programs resample and turn grey in different ways


# -- files -----------------------------------------------------------------------------------------


def _below(tree: Tree, path: str) -> list[str]:
    """Return the paths of a file, or of a folder with all in it.

    Raises:
        ValueError: it is not there.
    """
    if path not in tree:
        raise ValueError(f"there is no {path}")
    return [name for name in tree if name == path or (path[-1] == "/" and name.startswith(path))]


def _rename(tree: Tree, old: str, new: str) -> None:
    """Rename or move a file; or a folder, whose name ends with a slash, with all in it."""
    for path in _below(tree, old):
        tree[new + path.removeprefix(old)] = tree.pop(path)


def _copy(tree: Tree, old: str, new: str) -> None:
    for path in _below(tree, old):
        tree[new + path.removeprefix(old)] = copy.deepcopy(tree[path])


def _delete(tree: Tree, path: str) -> None:
    for name in _below(tree, path):
        del tree[name]


def _folder(tree: Tree, path: str) -> None:
    tree[path] = "a folder"


def _write(tree: Tree, path: str, content: Any) -> None:
    """Have this content in a file, which may be new: lines of a text, or plain data."""
    tree[path] = content.split("\n") if isinstance(content, str) else content


def _replace(tree: Tree, path: str, old: str, new: str) -> None:
    """Replace a text wherever it stands in a file.

    Raises:
        ValueError: it stands nowhere.
    """
    replaced = _replaced(tree[path], old, new)
    if replaced == tree[path]:
        raise ValueError(f"{path} does not have {old!r}")
    tree[path] = replaced


def _replaced(value: Any, old: str, new: str) -> Any:
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, list):
        return [_replaced(item, old, new) for item in value]
    if isinstance(value, dict):
        return {key: _replaced(item, old, new) for key, item in value.items()}
    return value


# -- plain data at a place in a file ---------------------------------------------------------------


def _at(tree: Tree, path: str, keys: Keys) -> Any:
    value = tree[path]
    for key in keys:
        value = value[key]
    return value


def _set(tree: Tree, path: str, keys: Keys, value: Any) -> None:
    """Have a value at a place, whatever is there."""
    if keys:
        _at(tree, path, keys[:-1])[keys[-1]] = value
    else:
        tree[path] = value


def _update(tree: Tree, path: str, keys: Keys, values: Mapping[str, Any]) -> None:
    """Add values to what is at a place, or replace them there; None takes one away."""
    target = _at(tree, path, keys)
    for name, value in values.items():
        if value is None:
            target.pop(name, None)
        else:
            target[name] = value


def _remove(tree: Tree, path: str, keys: Keys) -> None:
    del _at(tree, path, keys[:-1])[keys[-1]]


def _insert(tree: Tree, path: str, keys: Keys, value: Any) -> None:
    """Have a value in a list, before the one at a place."""
    _at(tree, path, keys[:-1]).insert(keys[-1], value)


def _move(tree: Tree, path: str, keys: Keys, to: int) -> None:
    """Move a value of a list to another place in it."""
    values = _at(tree, path, keys[:-1])
    values.insert(to, values.pop(keys[-1]))


# -- sheets ----------------------------------------------------------------------------------------


def _cells(tree: Tree, path: str, sheet: str, cells: Mapping[str, Any]) -> None:
    """Have these cells: a value, data of a cell, or None for an empty one."""
    table = _at(tree, path, [f"sheet {sheet}", "cells"])
    for name, content in cells.items():
        if content is None:
            table.pop(name, None)
        elif isinstance(content, dict):
            table[name] = {**table.get(name, {}), **content}
        else:
            table[name] = {**table.get(name, {}), "value": content}


def _sheet_rename(tree: Tree, path: str, old: str, new: str) -> None:
    data = tree[path]
    data["sheets"][data["sheets"].index(old)] = new
    data[f"sheet {new}"] = data.pop(f"sheet {old}")


def _sheet_insert(tree: Tree, path: str, place: int, name: str, cells: Mapping[str, Any]) -> None:
    data = tree[path]
    data["sheets"].insert(place, name)
    data[f"sheet {name}"] = {"cells": {}}
    _cells(tree, path, name, cells)


def _sheet_remove(tree: Tree, path: str, name: str) -> None:
    tree[path]["sheets"].remove(name)
    del tree[path][f"sheet {name}"]


# -- pictures --------------------------------------------------------------------------------------


def _picture(
    tree: Tree, path: str, operations: Sequence[Sequence[Any]], to_path: str = "", form: str = ""
) -> None:
    """Do operations with a picture, in the file itself or saved to another one.

    Operations are methods of Pillow's images with arguments: ["rotate", 90], ["flip", "h"],
    ["crop", [left, upper, right, lower]], ["invert"], ["scale", [width, height]], ["grey"]. After
    the last two, and in a form with losses, colours have to be near those.
    """
    from PIL import ImageOps

    data = tree[path]
    image = open_picture(data["content"])
    for name, *arguments in operations:
        match name:
            case "rotate":  # clockwise
                image = image.rotate(-arguments[0], expand=True)
            case "flip":
                image = ImageOps.mirror(image) if arguments[0] == "h" else ImageOps.flip(image)
            case "crop":
                image = image.crop(tuple(arguments[0]))
            case "invert":
                image = ImageOps.invert(image.convert("RGB"))
            case "scale":
                image = image.resize(tuple(arguments[0]))
            case "grey":
                image = grey_picture(image)
            case _:
                raise ValueError(f"no operation {name!r}")
    is_exact = form != "JPEG" and not {"scale", "grey"} & {name for name, *_ in operations}
    colours = mean_colours(image)
    tree[to_path or path] = {
        **data,
        "size": list(image.size),
        "format": form or data["format"],
        "mode": "L" if image.mode == "L" else data["mode"],
        "pixels": pixel_hash(image) if is_exact else {"any": True},
        "colours": colours if is_exact else {"near": colours, "by": COLOUR_TOLERANCE},
    }


def _setting(tree: Tree, key: str, value: Any) -> None:
    tree[f"settings:{key}"] = value


EDITS: Mapping[str, Callable[..., None]] = {
    "rename": _rename,
    "copy": _copy,
    "delete": _delete,
    "folder": _folder,
    "write": _write,
    "replace": _replace,
    "set": _set,
    "update": _update,
    "remove": _remove,
    "insert": _insert,
    "move": _move,
    "cells": _cells,
    "sheet.rename": _sheet_rename,
    "sheet.insert": _sheet_insert,
    "sheet.remove": _sheet_remove,
    "picture": _picture,
    "setting": _setting,
}
"""Edits by name. ["any_of", [edit, ...], [edit, ...]] stands for the edits of one of the lists."""

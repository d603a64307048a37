"""One-off changes of a config: `--set model.x.generate_cfg.temperature=0.2`."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from json import JSONDecodeError
from typing import Any

from utils.config.text import key_path
from utils.text import did_you_mean

EXAMPLE = "model.my-model.generate_cfg.temperature=0.2"
NO_LEVELS: Mapping[str, str] = {}
ENTRIES = ("model", "data")  # sections whose entries a change does not begin


def apply_changes(
    config: Any, changes: Iterable[str], levels: Mapping[str, str] = NO_LEVELS
) -> list[str]:
    """Change a plain config in place; return what is wrong with the changes, without their values.

    Args:
        config: as it was read, before `${NAME}` is replaced.
        changes: `KEY=VALUE`; a name with dots may stand as it is or in quotes, as in messages. A
            value is JSON, else a text.
        levels: full names of data sets by short ones, which may stand in their place.
    """
    problems: list[str] = []
    for number, change in enumerate(changes, 1):
        path, equals, text = change.partition("=")
        problem = f"number {number} has no =; expected KEY=VALUE, as in {EXAMPLE}"
        if equals:
            full_path = _with_full_name(path.strip(), config, levels)
            problem = _change(config, full_path, _value_of(text))
        if problem:
            problems.append(f"--set: {problem}")
    return problems


def _with_full_name(path: str, config: Any, levels: Mapping[str, str]) -> str:
    """The key path with a data set's full name for its short one, if the config has that."""
    section, _, rest = path.partition(".")
    level, dot, key = rest.partition(".")
    name = levels.get(level.upper())
    entries = config.get(section) if isinstance(config, dict) else None
    if (
        section != "data"
        or not isinstance(entries, dict)
        or level in entries
        or name not in entries
    ):
        return path
    return f"{section}.{name}{dot}{key}"


def _value_of(text: str) -> Any:
    try:
        return json.loads(text)
    except (JSONDecodeError, RecursionError):
        return text


def _change(config: Any, path: str, value: Any) -> str:
    """Set one value, beginning objects on the way that are not there; return what is wrong."""
    parent, names = config, list[str]()
    rest = path
    while True:
        if not isinstance(parent, dict):
            return f"{path}: {key_path(*names) or 'the config'} is no object; set it as a whole"
        name, rest = _first_name(rest, parent)
        if not name:
            return f"{path or 'the key'}: a name is missing; expected a key like {EXAMPLE}"
        if not rest:
            parent[name] = value
            return ""
        if len(names) == 1 and names[0] in ENTRIES and name not in parent:
            hint = did_you_mean(name, parent) or f"; it has {', '.join(parent)}"
            return f'{path}: the config has no {names[0]} "{name}"{hint}'
        if parent.get(name) is None:
            parent[name] = {}
        names.append(name)
        parent = parent[name]


def _first_name(path: str, known_names: Collection[str]) -> tuple[str, str]:
    """Return the first name of a key path and what follows; of known names the longest that fits.

    Names of models are full of dots (`qwen2.5`).
    """
    if path.startswith('"'):
        try:
            name, end = json.JSONDecoder().raw_decode(path)
        except JSONDecodeError:
            return "", ""
        return name, path[end:].removeprefix(".")
    fitting = [name for name in known_names if path == name or path.startswith(f"{name}.")]
    name = max(fitting, key=len, default=path.partition(".")[0])
    return name, path[len(name) :].removeprefix(".")

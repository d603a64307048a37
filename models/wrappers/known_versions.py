"""Versions of transformers and vLLM that are known not to load a model, or to shift its scores.

`known_versions.json` has them, each with its source.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

Release = tuple[int, ...]


@cache
def known() -> Mapping[str, Any]:
    """Return the file of known versions."""
    path = Path(__file__).with_suffix(".json")
    content: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def version_notes(model_type: str, name: str, versions: Mapping[str, str]) -> list[str]:
    """Return a warning for each row that fits, one line each.

    Args:
        model_type: of the checkpoint's config.json; "" where it is not known.
        name: path or hub id of the checkpoint.
        versions: of the installed packages that run it.
    """
    notes = []
    for row in known()["rows"]:
        packages = row["packages"]
        if _is_of(row, model_type, name) and all(
            _is_within(limits, versions.get(package)) for package, limits in packages.items()
        ):
            installed = " with ".join(f"{package} {versions[package]}" for package in packages)
            source = f"{row['source']}, collected {known()['collected']}"
            notes.append(f"warning: {installed}: {row['problem']} ({source})")
    return notes


def _is_of(row: Mapping[str, Any], model_type: str, name: str) -> bool:
    """Whether a row is about a checkpoint: what it says of kind and name is true."""
    types, names = row.get("model_types"), row.get("names")
    is_type = types is None or model_type in types
    return is_type and (names is None or any(part in name.casefold() for part in names))


def _is_within(limits: Mapping[str, str], version: str | None) -> bool:
    if version is None:
        return False
    release = _release(version)
    is_late = "from" not in limits or release >= _release(limits["from"])
    return is_late and ("below" not in limits or release < _release(limits["below"]))


def _release(version: str) -> Release:
    """Return the numbers of a release, those of "0.18.0rc1+cpu" as (0, 18, 0)."""
    numbers = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, numbers[0].split("."))) if numbers else ()


def installed_versions(*packages: str) -> dict[str, str]:
    """Return the versions of packages in this environment, of those that are there."""
    versions = {}
    for package in packages:
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return versions

"""Every dotted path that the documentation names leads to something, and those of before still do."""

import importlib
import re
from pathlib import Path

import pytest

from utils.coordinates import Frame

PROJECT = Path(__file__).resolve().parents[2]
FOLDERS = {".": "*.md", "docs": "*.md", "configs": "*.json", "examples": "*.json"}
PACKAGES = "benchmarks|models|utils|examples"
PATH = re.compile(rf"(?<![\w./])(?:{PACKAGES})(?:\.[A-Za-z_]\w*)+")
IMPORT = re.compile(rf"^\s*from ((?:{PACKAGES})[\w.]*) import ([\w, ]+)$", re.MULTILINE)
FILES = re.compile(r"\.(?:md|py)$")
BEGINNINGS = ("utils.coordinates.parse_",)  # the frame follows
OF_READERS = ("models.acme.",)  # the README's reader writes it
GONE = ("benchmarks.worlds.adapters",)  # as the documentation says

FRAMES = ["", *(f"_{frame}" for frame in Frame)]
DIALECTS = ("parse_actions", "parse_uitars", "parse_computer_use")
FORMER = [
    *(f"benchmarks.worlds.dialects.{name}{frame}" for name in DIALECTS for frame in FRAMES),
    "benchmarks.worlds.dialects.parse_tool_calls",
    "benchmarks.worlds.dialects.parse_tool_calls_fractions",
    "benchmarks.worlds.dialects.parse_tool_calls_per_mille",
    *(
        f"benchmarks.worlds.actions.{name}"
        for name in ("Action", "Observation", "Outcome", "NEEDS", "ENDS", "NoAction", "KEYS")
    ),
    "benchmarks.grounding_figures.Layout",
    "benchmarks.worlds.pages.gestures.KEY_NAMES",
    "utils.images.image_path_of",
    "utils.resizing.canvas_ratio",
    "utils.targets.DECLINED",
    "utils.zooming.Zoom",
]
"""Documented once, and written in people's configs and environments since."""
FRAMED = [
    f"{module}.{name}{frame}"
    for module, name in (
        *(("benchmarks.actions.dialects", name) for name in DIALECTS),
        ("utils.coordinates", "parse"),
    )
    for frame in FRAMES
    if name != "parse" or frame
]
"""Documented as a table of beginnings."""


def documented():
    paths = set()
    for folder, pattern in FOLDERS.items():
        for file in sorted((PROJECT / folder).glob(pattern)):
            text = file.read_text(encoding="utf-8")
            paths |= {path for path in PATH.findall(text) if not FILES.search(path)}
            for module, names in IMPORT.findall(text):
                paths |= {f"{module}.{name.strip()}" for name in names.split(",")}
    return sorted(
        path for path in paths if path not in BEGINNINGS and not path.startswith(OF_READERS + GONE)
    )


def found(path):
    """What a dotted path stands for: of the longest module that it begins with, an attribute."""
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        module, _, name = path.rpartition(".")
        return getattr(found(module), name)


def test_the_documentation_names_paths_of_every_package():
    assert {path.partition(".")[0] for path in documented()} == set(PACKAGES.split("|"))


@pytest.mark.parametrize("path", [*documented(), *FRAMED, *FORMER])
def test_a_documented_path_leads_to_something(path):
    assert found(path) is not None


@pytest.mark.parametrize("path", [path for path in FORMER if "dialects" in path])
def test_a_parse_function_is_the_same_under_its_former_path(path):
    assert found(path) is found(path.replace("benchmarks.worlds", "benchmarks.actions"))

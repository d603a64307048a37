"""The folder that every task begins with: files of a small project, made by the seed."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence

from benchmarks.worlds.jupyterlab.lab import Files

ROOMS = ("Aurora", "Birch", "Cedar", "Delta", "Elm", "Fjord", "Garnet", "Harbour")
MONTHS = ("January", "February", "March", "April", "May", "June")
METADATA = {"language_info": {"name": "python"}}


def project(seed: int) -> Files:
    """Return the files of the project under a seed."""
    rng = random.Random(f"jupyterlab {seed}")
    visitors = [f"{month},{rng.randrange(400, 2000)}" for month in MONTHS]
    bookings = [f"{room},{rng.randrange(2, 30)},{rng.randrange(4, 20)}" for room in ROOMS]
    readings = [f"2026-03-0{day};{rng.randrange(150, 240) / 10}" for day in range(1, 9)]
    return {
        "archive/": "",
        "archive/notes_2025.md": "# Notes of 2025\n\nNothing is open.\n",
        "data/": "",
        "data/bookings.csv": _lines("room,bookings,seats", *bookings),
        "data/readings.csv": _lines("day;temperature", *readings),
        "data/visitors.csv": _lines("month,visitors", *visitors),
        "analysis.ipynb": notebook(
            ["# Visitors", "import pandas as pd", "visitors = pd.read_csv('data/visitors.csv')"]
        ),
        "notes.md": "# Notes\n\n- Ask for the key\n- Book a room\n\n## Later\n\n- New lamps\n",
        "README.md": "# Northwind visitors\n\nData and notes of the visitor survey.\n",
        "settings.yaml": f"rooms: 8\nlimit: {rng.randrange(20, 90)}\nmode: draft\n",
    }


def _lines(*lines: str) -> str:
    return "\n".join(lines) + "\n"


def notebook(cells: Sequence[str | Mapping[str, object]]) -> str:
    """Return a notebook as JSON.

    Args:
        cells: Markdown where a text begins with "#", "*" or a capital letter, else code; or a
            cell's `type`, `source` and perhaps `output` and `tags`.
    """
    content = {
        "cells": [_cell(number, cell) for number, cell in enumerate(cells)],
        "metadata": METADATA,
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _cell(number: int, content: str | Mapping[str, object]) -> dict[str, object]:
    if isinstance(content, str):
        is_text = content[0] in "#*" or content[0].isupper()
        content = {"type": "markdown" if is_text else "code", "source": content}
    cell: dict[str, object] = {
        "cell_type": content["type"],
        "id": f"cell-{number}",
        "metadata": {"tags": content["tags"]} if "tags" in content else {},
        "source": str(content["source"]).splitlines(keepends=True),
    }
    if content["type"] == "code":
        output = content.get("output")
        cell["execution_count"] = number if output else None
        cell["outputs"] = [_output(str(output))] if output else []
    return cell


def _output(text: str) -> dict[str, object]:
    return {
        "name": "stdout",
        "output_type": "stream",
        "text": text.splitlines(keepends=True),
    }

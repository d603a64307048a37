"""A small table and files of answers to it, in the forms that other programs write."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support import runs

RIGHT, WRONG = "(0.2, 0.15)", "(0.9, 0.9)"  # of every row of the small table
DATA = {"GUIElementGrounding": {"mode": "all"}}


def rows_of(root: Path) -> list[dict[str, Any]]:
    """The rows of the second level, as its file has them."""
    return json.loads((root / "MMBench-GUI" / "L2_annotations.json").read_text("utf-8"))


def plain_rows(root: Path, **fields: Any) -> list[dict[str, Any]]:
    """A right answer to each row, in plain rows."""
    return [
        {
            "id": row["index"],
            "image": f"{row['platform']}/{row['image_path']}",
            "instruction": row["instruction"],
            "reply": RIGHT,
            **fields,
        }
        for row in rows_of(root)
    ]


def write_lines(path: Path, rows: Sequence[Mapping[str, Any] | str]) -> Path:
    """Write JSON lines; a text stands as it is."""
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def imported(tmp_path: Path, root: Path, file: Path, *options: str | Path) -> runs.Finished:
    """Import a file as the command line does."""
    env = {"LMUData": str(root)}
    return runs.evaluate("--import", file, "--no-report", *options, cwd=tmp_path, env=env)


def import_folder(tmp_path: Path) -> Path:
    """The only folder of an import."""
    (folder,) = (tmp_path / "outputs").glob("*/I*")
    return folder


def counts_of(folder: Path) -> dict[str, int]:
    """The counts of an import's findings."""
    (analysis,) = folder.glob("*_analysis*.json")
    return json.loads(analysis.read_text("utf-8"))["imported"]["counts"]

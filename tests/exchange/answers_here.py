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


APPLICATIONS = {  # of ScreenSpot-Pro: group, and application with its platform
    "Dev": ("android_studio_macos pycharm_macos quartus_windows vmware_macos vscode_macos"),
    "Creative": (
        "blender_windows davinci_macos fruitloops_windows illustrator_windows photoshop_windows "
        "premiere_windows unreal_engine_windows"
    ),
    "CAD": "autocad_windows inventor_windows solidworks_windows vivado_windows",
    "Scientific": "eviews_windows matlab_macos origin_windows stata_windows",
    "Office": "excel_macos powerpoint_windows word_macos",
    "OS": "linux_common_linux macos_common_macos windows_common_windows",
}


def make_screenspot_pro(root: Path, rows: int) -> Path:
    """ScreenSpot-Pro's 26 files with so many rows, each on an image of its own that is not there.

    Every target is the box 100, 50, 300, 100 on an image of 1000 x 500.
    """
    names = [(group, name) for group, text in APPLICATIONS.items() for name in text.split()]
    files: dict[str, list[dict[str, Any]]] = {name: [] for _, name in names}
    for number in range(rows):
        group, name = names[number % len(names)]
        application, _, platform = name.rpartition("_")
        row = {
            "img_filename": f"{name}/{number}.png",
            "bbox": [100, 50, 300, 100],
            "instruction": f"target {number}",
            "instruction_cn": f"目标 {number}",
            "id": f"{name}_{number}",
            "application": application,
            "platform": platform,
            "img_size": [1000, 500],
            "ui_type": "icon" if number % 3 else "text",
            "group": group,
        }
        files[name].append(row)
    folder = root / "ScreenSpot-Pro" / "annotations"
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content), "utf-8")
    return root


def screenspot_pro_replies(rows: int) -> list[dict[str, Any]]:
    """A reply to each of these rows: right, wrong, unreadable in turns; the last one failed."""
    names = [name for text in APPLICATIONS.values() for name in text.split()]
    answers = [
        {"id": f"{names[number % 26]}_{number}", "reply": [RIGHT, WRONG, RIGHT, "no"][number % 4]}
        for number in range(rows - 1)
    ]
    last = {"id": f"{names[(rows - 1) % 26]}_{rows - 1}", "error": "lost", "reply": None}
    return [*answers, last]

"""Writes small samples of the other tables of grounding from the pictures that are already here.

    python sample_data/tables.py            # ScreenSpot, ScreenSpot-v2, ScreenSpot-Pro, ...
    python sample_data/tables.py --check    # compares, writes nothing

Rows are those of `MMBench-GUI/L2_annotations.json` in the format in which the authors of each table
publish theirs. Polygons are the outlines of round buttons; elements that are not there are named in
`ABSENT`.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
Row = Mapping[str, Any]

SOFTWARE, TERMINAL, EDITOR = "ebc5d4e3", "42d20dcf", "da5c4b1a"  # how the pictures' names begin
PULSEBOARD, CLOCK = "75fc8a61", "2fd6baec"
PLATFORMS = {"mobile": CLOCK, "desktop": SOFTWARE, "web": PULSEBOARD}
CHINESE = {
    "The magnifying glass at the left of the header bar": "标题栏左侧的放大镜",
    "The right-pointing arrow on the Stargazer banner": "Stargazer 横幅上的向右箭头",
    "The purple 'Learn' category button": "紫色的“Learn”类别按钮",
    "The 'Hourglass' tile": "“Hourglass”磁贴",
    "The plus symbol at the left of the terminal's header bar": "终端标题栏左侧的加号",
    "The magnifying glass in the header of the file manager": "文件管理器标题栏中的放大镜",
    "The icon 'notes.txt' in the file manager": "文件管理器中的“notes.txt”图标",
    "The 'Downloads' entry in the sidebar": "侧边栏中的“Downloads”条目",
    "The bell symbol in the top bar": "顶栏中的铃铛",
    "The power symbol beside Dana Koval": "Dana Koval 旁边的电源符号",
    "The 'Reorder' button in the row 'Linen apron, grey'": "“Linen apron, grey”一行的“Reorder”",
    "The 'Last 30 days' selector": "“Last 30 days”选择器",
    "The switch in the row of the 07:30 alarm": "07:30 闹钟一行中的开关",
    "The large plus button at the bottom right": "右下角的大加号按钮",
    "The 'Bedtime' tab": "“Bedtime”标签页",
    "The time '09:15'": "时间“09:15”",
    "See the new notifications": "查看新通知",
    "End the session on this computer": "结束这台电脑上的会话",
    "Order new aprons from the supplier": "向供应商订购新围裙",
    "Have the figures computed for another period": "按另一时间段计算数据",
    "Look for a program whose name you know": "查找已知名称的程序",
    "Show the next featured program": "显示下一个推荐程序",
    "List programs for education": "列出教育类程序",
    "See details of the program for working in short rounds": "查看用于短时段工作的程序的详情",
    "The printer symbol in the header bar": "标题栏中的打印机符号",
    "The entry 'Recycle bin' in the sidebar": "侧边栏中的“Recycle bin”条目",
}
ROUND = ("The right-pointing arrow on the Stargazer banner",)
ABSENT = ("The printer symbol in the header bar", "The entry 'Recycle bin' in the sidebar")
ROUND_CORNERS = 12
IMAGE_KEYS = ("img_filename", "image_path", "image")


def load_rows() -> list[dict[str, Any]]:
    """Return the rows of L2."""
    path = HERE / "MMBench-GUI" / "L2_annotations.json"
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return rows


def chosen(rows: Sequence[Row], picture: str, grounding_type: str = "basic") -> list[Row]:
    """Return the rows of one picture."""
    return [
        row
        for row in rows
        if row["image_path"].startswith(picture) and row["grounding_type"] == grounding_type
    ]


def corners_px(row: Row) -> list[int]:
    """Return x1, y1, x2, y2 in whole pixels."""
    width, height = row["image_size"]
    x1, y1, x2, y2 = row["bbox"]
    return [round(x1 * width), round(y1 * height), round(x2 * width), round(y2 * height)]


def sides_px(row: Row) -> list[int]:
    """Return x, y, width, height in whole pixels."""
    x1, y1, x2, y2 = corners_px(row)
    return [x1, y1, x2 - x1, y2 - y1]


def outline_px(row: Row) -> list[float]:
    """Return the corners of a polygon around a round button: x0, y0, x1, y1, ..."""
    x1, y1, x2, y2 = corners_px(row)
    corners: list[float] = []
    for number in range(ROUND_CORNERS):
        angle = 2 * math.pi * number / ROUND_CORNERS
        corners.append(round((x1 + x2) / 2 + (x2 - x1) / 2 * math.cos(angle), 2))
        corners.append(round((y1 + y2) / 2 + (y2 - y1) / 2 * math.sin(angle), 2))
    return corners


def screenspot(rows: Sequence[Row], ending: str) -> Iterator[tuple[str, Any]]:
    """Yield the files of ScreenSpot or ScreenSpot-v2, by name."""
    for platform, picture in PLATFORMS.items():
        yield (
            f"screenspot_{platform}{ending}.json",
            [
                {
                    "img_filename": row["image_path"],
                    "bbox": sides_px(row),
                    "instruction": row["instruction"],
                    "data_type": row["data_type"],
                    "data_source": row["platform"].removeprefix("os_"),
                }
                for row in chosen(rows, picture)
            ],
        )


def screenspot_pro(rows: Sequence[Row]) -> Iterator[tuple[str, Any]]:
    """Yield the files of ScreenSpot-Pro, by name."""
    for application, picture, group in (
        ("software", SOFTWARE, "OS"),
        ("terminal", TERMINAL, "Dev"),
    ):
        yield (
            f"annotations/{application}_linux.json",
            [
                {
                    "img_filename": f"{application}_linux/{row['image_path']}",
                    "bbox": corners_px(row),
                    "instruction": row["instruction"],
                    "instruction_cn": CHINESE[row["instruction"]],
                    "id": f"{application}_linux_{number}",
                    "application": application,
                    "platform": "linux",
                    "img_size": row["image_size"],
                    "ui_type": row["data_type"],
                    "group": group,
                }
                for number, row in enumerate(chosen(rows, picture))
            ],
        )


def osworld_g(rows: Sequence[Row]) -> Iterator[tuple[str, Any]]:
    """Yield the files of OSWorld-G, by name."""
    original: list[dict[str, Any]] = []
    refined: list[str] = []
    for picture, absent in zip((SOFTWARE, TERMINAL), ABSENT, strict=True):
        basic_rows = chosen(rows, picture)
        for row, other in zip(basic_rows, chosen(rows, picture, "advanced"), strict=True):
            is_round = row["instruction"] in ROUND
            kind = "Icon" if row["data_type"] == "icon" else "Label"
            original.append(
                {
                    "id": f"SAMPLE-{len(original)}",
                    "image_path": row["image_path"],
                    "image_size": row["image_size"],
                    "instruction": other["instruction"],
                    "box_type": "polygon" if is_round else "bbox",
                    "box_coordinates": outline_px(row) if is_round else sides_px(row),
                    "GUI_types": [kind, "Button"] if is_round else [kind],
                }
            )
            refined.append(row["instruction"])
        original.append(
            {
                "id": f"SAMPLE-{len(original)}",
                "image_path": basic_rows[0]["image_path"],
                "image_size": basic_rows[0]["image_size"],
                "instruction": absent,
                "box_type": "refusal",
                "box_coordinates": [0, 0, 0, 0],
                "GUI_types": ["/"],
            }
        )
        refined.append(absent)
    yield "OSWorld-G.json", original
    other_words = [
        {**row, "instruction": instruction}
        for row, instruction in zip(original, refined, strict=True)
    ]
    yield "OSWorld-G_refined.json", other_words
    yield "classification_result.json", {"classified": _categories(original)}


def _categories(rows: Sequence[Row]) -> dict[str, list[dict[str, str]]]:
    by_category = {
        "text_matching": [row for row in rows if "Label" in row["GUI_types"]],
        "element_recognition": [row for row in rows if "Icon" in row["GUI_types"]],
        "layout_understanding": rows[2:4],
        "fine_grained_manipulation": [row for row in rows if row["box_type"] == "polygon"],
        "refusal": [row for row in rows if row["box_type"] == "refusal"],
    }
    return {
        category: [{"id": row["id"]} for row in members]
        for category, members in by_category.items()
    }


def ui_vision(rows: Sequence[Row]) -> Iterator[tuple[str, Any]]:
    """Yield the files of UI-Vision, by name."""
    applications = {SOFTWARE: "Nemo", EDITOR: "Gedit"}  # of those that the table has
    pictures = {
        "basic": [(SOFTWARE, "basic"), (EDITOR, "basic")],
        "functional": [(SOFTWARE, "advanced"), (EDITOR, "advanced")],
        "spatial": [(EDITOR, "basic")],
    }
    for split, parts in pictures.items():
        yield (
            f"annotations/element_grounding/element_grounding_{split}.json",
            [
                {
                    "image_path": f"element_grounding/{row['image_path']}",
                    "image_size": row["image_size"],
                    "prompt_to_evaluate": row["instruction"],
                    "bbox": [float(value) for value in corners_px(row)],
                    "platform": applications[picture],
                    "category": "Button",
                    "element_type": row["data_type"],
                }
                for picture, grounding_type in parts
                for row in chosen(rows, picture, grounding_type)
            ],
        )


def venusbench_gd(rows: Sequence[Row]) -> Iterator[tuple[str, Any]]:
    """Yield the files of VenusBench-GD, by name."""
    tasks = {
        "element_grounding": [("web", "pulseboard", PULSEBOARD, "basic")],
        "spatial_grounding": [("mobile", "clock", CLOCK, "basic")],
        "visual_grounding": [("desktop", "software", SOFTWARE, "basic")],
        "reasoning_grounding": [("web", "pulseboard", PULSEBOARD, "advanced")],
        "functional_grounding": [("desktop", "software", SOFTWARE, "advanced")],
    }
    for task, parts in tasks.items():
        yield (
            f"instruction/{task}.json",
            [
                _venusbench_row(row, f"{platform}/{application}", task, corners_px(row))
                for platform, application, picture, grounding_type in parts
                for row in chosen(rows, picture, grounding_type)[:4]
            ],
        )
    absent = [
        {**chosen(rows, SOFTWARE)[0], "instruction": instruction, "data_type": "icon"}
        for instruction in ABSENT
    ]
    yield (
        "instruction/refusal_spatial.json",
        [
            _venusbench_row(row, "desktop/software", "refusal_spatial", [-1, -1, -1, -1])
            for row in absent
        ],
    )


def _venusbench_row(row: Row, folder: str, task: str, box: list[int]) -> dict[str, Any]:
    return {
        "img_filename": f"{folder}/{row['image_path']}",
        "instruction": row["instruction"],
        "instruction_zh": CHINESE[row["instruction"]],
        "category": task,
        "bbox": box,
        "label": "button" if row["data_type"] == "icon" else "text",
        "ui_type": row["data_type"],
    }


def ui_i2e(rows: Sequence[Row]) -> Iterator[tuple[str, Any]]:
    """Yield the file of UI-I2E-Bench: a name is explicit, a purpose implicit."""
    types = {"basic": "explicit", "advanced": "implicit"}
    yield (
        "I2E-bench-annotation.jsonl",
        [
            {
                "image": f"screenshot/{row['image_path']}",
                "instruction": row["instruction"],
                "bounding_box": corners_px(row),
                "annotations": {
                    "instr_type": instr_type,
                    "el_type": "icon" if row["data_type"] == "icon" else "button",
                },
                "source": platform,
            }
            for platform, picture in PLATFORMS.items()
            for grounding_type, instr_type in types.items()
            for row in chosen(rows, picture, grounding_type)
        ],
    )


def tables(rows: Sequence[Row]) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return for each folder the folder of its images and its files."""
    return {
        "ScreenSpot": ("screenspot_imgs", dict(screenspot(rows, ""))),
        "ScreenSpot-v2": ("screenspotv2_image", dict(screenspot(rows, "_v2"))),
        "ScreenSpot-Pro": ("images", dict(screenspot_pro(rows))),
        "OSWorld-G": ("images", dict(osworld_g(rows))),
        "ui-vision": ("images", dict(ui_vision(rows))),
        "VenusBench-GD": ("images", dict(venusbench_gd(rows))),
        "I2E-Bench": ("", dict(ui_i2e(rows))),
    }


def as_text(name: str, content: Any) -> str:
    """The content of a file as its name asks for it: JSON, or a row a line."""
    if name.endswith(".jsonl"):
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in content)
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def files_of(rows: Sequence[Row]) -> dict[Path, bytes | Path]:
    """Return every file: what is in it, or the picture that it is a copy of."""
    folders = {row["image_path"]: row["platform"] for row in rows}
    files: dict[Path, bytes | Path] = {}
    for folder, (images, contents) in tables(rows).items():
        for name, content in contents.items():
            files[HERE / folder / name] = as_text(name, content).encode()
            for row in content if isinstance(content, list) else ():
                image = next(row[key] for key in IMAGE_KEYS if key in row)
                source = folders[Path(image).name]
                picture = HERE / "MMBench-GUI" / "offline_images" / source / Path(image).name
                files[HERE / folder / images / image] = picture
    return files


def run(files: Mapping[Path, bytes | Path], description: str) -> int:
    """Command line that writes or compares files; returns the exit code."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    arguments = parser.parse_args()
    different = []
    for path, content in files.items():
        expected = content if isinstance(content, bytes) else content.read_bytes()
        if path.is_file() and path.read_bytes() == expected:
            continue
        different.append(path)
        if not arguments.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, Path):
                shutil.copyfile(content, path)
            else:
                path.write_bytes(content)
    for path in different:
        print(f"{path.relative_to(HERE)}: {'differs' if arguments.check else 'written'}")
    return int(arguments.check and bool(different))


if __name__ == "__main__":
    sys.exit(run(files_of(load_rows()), "Write the samples of the tables of grounding."))

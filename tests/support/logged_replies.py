"""Replies from the logs of authors, through the whole program: `golden_2026/real` of a folder.

    python -m tests.support.logged_replies FOLDER

Each log is laid out as rows of the benchmark whose rule its authors apply, with blank images of the
size that they had, and a model that answers with the logged replies. Printed are, for each log, the
rows, how many are right there and here, and how many points are not the logged ones. The exit status
is 1 where a total or a point differs.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.grounding_replay import lay_blank

HERE = "tests.support.logged_replies"
NEAR_PX = 1
"""Of a second look: its authors round the point of the crop before they map it back."""


@dataclass(frozen=True)
class Log:
    """A log and the settings for evaluating it."""

    name: str
    recipe: str
    dataset: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the model entry."""
    first_look: str = ""
    """The log of the first looks, for one of second looks."""


POLYGONS = "gelato_osworld-g-refined_gelato-30b_refusal_included"
"""The log with OSWorld-G's polygons; others have the box around them, though they judged by them."""
GRID_4M = {"kwargs": {"max_pixels": 4000000}}
KV_MODELS = ("4B-BaseQw3vl", "4B-BaseGuiOwl1.5-0228", "8B-BaseGuiOwl1.5-0315")
LOGS = [
    *(
        Log(f"KV-Ground-{model}_{table}", "kv_ground", "ScreenSpotPro")
        for model in KV_MODELS
        for table in ("sspro", "ssv2")
    ),
    *(
        Log(
            f"KV-Ground-{model}_sspro_zoom",
            "kv_ground",
            "ScreenSpotPro",
            {"zoom": True},
            f"KV-Ground-{model}_sspro",
        )
        for model in KV_MODELS
    ),
    Log("gelato_screenspot-pro-gelato-30b", "gelato", "ScreenSpotPro"),
    Log("gelato_osworld-g-gelato-30b", "gelato", "OSWorldG"),
    Log("gelato_osworld-g-gelato-30b-refusal_included", "gelato", "OSWorldG"),
    Log("gelato_osworld-g-refined-gelato-30b", "gelato", "OSWorldG"),
    Log("gelato_osworld-g-refined_gelato-30b_refusal_included", "gelato", "OSWorldG"),
    Log("gelato_screenspot-pro-gta1-7b-2507", "gta1", "ScreenSpotPro"),
    Log("gelato_osworld-g-gta1-7b-2507", "gta1", "OSWorldG"),
    Log("gelato_osworld-g-refined-gta1-7b-2507", "gta1", "OSWorldG"),
    Log("gelato_screenspot-pro-uitars-7b-gelato-baseline", "gta1", "ScreenSpotPro", GRID_4M),
    Log("gelato_osworld-g-uitars-7b-gelato-baseline", "gta1", "OSWorldG", GRID_4M),
    Log("gelato_osworld-g-refined-uitars-7b-gelato-baseline", "gta1", "OSWorldG", GRID_4M),
]


class Logged:
    """A model that answers with logged replies: the first to an image, the second to its crop."""

    def __init__(self, replies: str, max_pixels: int | None = None) -> None:
        self._replies = json.loads(Path(replies).read_text(encoding="utf-8"))

    def generate(self, message: Any, *, dataset_name: str) -> str:
        """Return the reply to the instruction that a message ends with."""
        image = next(Path(part["value"]) for part in message if part["type"] == "image")
        text = [part["value"] for part in message if part["type"] == "text"][-1]
        looks = self._replies[text.strip()]
        return str(looks[image.parent.name.startswith(".crops_")])


def rows_of(folder: Path, name: str) -> list[dict[str, Any]]:
    """The rows of a log."""
    with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def lay_out(
    log: Log,
    rows: Sequence[Mapping[str, Any]],
    root: Path,
    polygons: Mapping[tuple[str, int], list[float]],
) -> None:
    """Write the annotation file and blank images of a log's rows, numbered as instructions."""
    if log.dataset == "OSWorldG":
        images, file = root / "OSWorld-G" / "images", root / "OSWorld-G" / "OSWorld-G.json"
        annotations = [_osworld_row(number, row, polygons) for number, row in enumerate(rows)]
    else:
        folder = root / "ScreenSpot-Pro"
        images, file = folder / "images", folder / "annotations" / "log.json"
        annotations = [_screenspot_row(number, row) for number, row in enumerate(rows)]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(annotations), encoding="utf-8")
    blanks: dict[tuple[int, int], Path] = {}
    for row in rows:
        lay_blank(images / row["img"], tuple(row["image_wh"]), blanks)


def _screenspot_row(number: int, row: Mapping[str, Any]) -> dict[str, Any]:
    texts = {"instruction": f"row {number}", "instruction_cn": f"row {number}"}
    facts = {"group": "OS", "application": "a", "platform": "linux", "ui_type": "icon"}
    sizes = {"img_filename": row["img"], "img_size": row["image_wh"], "bbox": row["bbox_xyxy"]}
    return {"id": str(number), **texts, **facts, **sizes}


def _osworld_row(
    number: int, row: Mapping[str, Any], polygons: Mapping[tuple[str, int], list[float]]
) -> dict[str, Any]:
    numbers = polygons.get((row["img"], row["index"]), row["bbox_xyxy"])
    if not any(numbers):
        kind, coordinates = "refusal", [-1, -1, -1, -1]
    elif len(numbers) == 4:
        left, top, right, bottom = numbers
        kind, coordinates = "bbox", [left, top, right - left, bottom - top]
    else:
        kind, coordinates = "polygon", numbers
    sizes = {"image_path": row["img"], "image_size": row["image_wh"]}
    box = {"box_type": kind, "box_coordinates": coordinates}
    return {"id": str(number), "instruction": f"row {number}", **sizes, **box}


@dataclass(frozen=True)
class Outcome:
    """The result of evaluating a log."""

    rows: int
    logged_right: int
    own_right: int
    other_points: list[str]
    """A text for each point that is not the logged one."""


def evaluate_log(folder: Path, log: Log, work_folder: Path, limit: int | None = None) -> Outcome:
    """Run a log through the program.

    Args:
        folder: of the logs.
        log: one of `LOGS`.
        work_folder: an empty folder for data and outputs.
        limit: how many of its rows; None: all.
    """
    import evaluate

    os.environ["LMUData"] = str(work_folder / "data")  # noqa: SIM112 - the name is the user's
    os.environ.pop("IMAGE_ROOT_DIR", None)
    rows = rows_of(folder, log.name)[:limit]
    polygons = {
        (row["img"], row["index"]): row["bbox_xyxy"]
        for row in rows_of(folder, POLYGONS)
        if len(row["bbox_xyxy"]) > 4
    }
    lay_out(log, rows, work_folder / "data", polygons)
    replies = {f"row {number}": [row["reply"]] for number, row in enumerate(rows)}
    if log.first_look:
        firsts = {(row["id"], row["img"]): row for row in rows_of(folder, log.first_look)}
        for number, row in enumerate(rows):
            replies[f"row {number}"].insert(0, firsts[row["id"], row["img"]]["reply"])
    replies_file = work_folder / "replies.json"
    replies_file.write_text(json.dumps(replies), encoding="utf-8")
    entry = {"recipe": log.recipe, "imp_type": "custom", "model_path": f"{HERE}.Logged"}
    kwargs = {"replies": str(replies_file), **log.settings.get("kwargs", {})}
    model = {**entry, **log.settings, "kwargs": kwargs}
    config = work_folder / "config.json"
    config.write_text(json.dumps({"model": {"m": model}, "data": {log.dataset: {}}}))
    [result] = evaluate.run(config, work_dir=str(work_folder / "outputs"), quiet=True)
    [samples] = result.folder.glob("*_samples.jsonl")
    _, *lines = map(json.loads, samples.read_text(encoding="utf-8").splitlines())
    return _compared(log, rows, lines)


def _compared(log: Log, rows: Sequence[Any], lines: Sequence[Any]) -> Outcome:
    by_text = {line["text"]: line for line in lines}
    near_px = NEAR_PX if log.first_look else 1e-6
    others = []
    for number, row in enumerate(rows):
        point = by_text[f"row {number}"].get("point_frac")
        logged = row["point_px"]
        if logged == [-1, -1]:  # a refusal
            logged = None
        sides = row["image_wh"]
        point_px = point and [value * side for value, side in zip(point, sides, strict=True)]
        if point_px and log.recipe == "gta1":  # Gelato's code moves its points into the image
            point_px = [min(px, side) for px, side in zip(point_px, sides, strict=True)]
        is_same = (
            point_px == logged
            if point_px is None or logged is None
            else all(abs(a - b) <= near_px for a, b in zip(point_px, logged, strict=True))
        )
        if not is_same:
            others.append(f"{log.name} {row['reply']!r:.120}: {point_px}, logged {row['point_px']}")
    right = [bool(line["hit"]) for line in lines]
    return Outcome(len(rows), sum(row["correct"] for row in rows), sum(right), others)


def outcomes(folder: Path) -> Iterator[tuple[Log, Outcome]]:
    """Yield each log with what came of it."""
    for log in LOGS:
        with tempfile.TemporaryDirectory() as work_folder:
            yield log, evaluate_log(folder, log, Path(work_folder))


def main(arguments: list[str]) -> int:
    """Print the table of a folder; returns the exit status."""
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print("usage: python -m tests.support.logged_replies FOLDER")
        return 2
    status = 0
    print(f"{'':56}{'rows':>6}{'right':>7}{'here':>7}{'other points':>14}")
    for log, outcome in outcomes(Path(arguments[0]).resolve()):
        counts = f"{outcome.rows:>6}{outcome.logged_right:>7}{outcome.own_right:>7}"
        print(f"{log.name:56}{counts}{len(outcome.other_points):>14}", flush=True)
        for text in outcome.other_points[:3]:
            print(f"  {text}")
        status |= outcome.own_right != outcome.logged_right or bool(outcome.other_points)
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

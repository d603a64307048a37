"""UI-I2E-Bench: instructions that name an element, and others that only imply which one is meant.

File: vaundys/I2E-Bench, `I2E-bench-annotation.jsonl`, a row a line, boxes x1, y1, x2, y2 in pixels.
The official figures are the micro average over all rows and that of explicit and implicit ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.grounding import GroundingBenchmark, Layout, box_target
from benchmarks.grounding.rows import check_convention
from utils.contracts import Line

TYPES = ("explicit", "implicit")
FILES = ("I2E-bench-annotation.jsonl", "annotations.jsonl")
IMAGES = "screenshot"


class UII2E(GroundingBenchmark):
    """One file of boxes, with the type of each instruction and of each element."""

    name = level = "UII2E"
    folder = "I2E-Bench"
    images = IMAGES
    has_empty_boxes = True
    modes = ("all", *TYPES)
    mode_column = "instr_type"
    layout = Layout(
        groupings={
            "instr_type": TYPES,
            "platform": ("web", "desktop", "mobile"),
            "element": (),
        },
        columns="instr_type",
        rows=None,
        kinds=(),
        split="instr_type",
        averages=("instr_type",),
    )

    def files(self) -> Sequence[Path]:
        """Return the file, under the first of its names that is there."""
        paths = [self.root / name for name in FILES]
        return [next(filter(Path.is_file, paths), paths[0])]

    def read_rows(self) -> Iterator[Line]:
        """Yield a row for each instruction."""
        [path] = self.files()
        items = self.read_file(path.name)
        check_convention(path, [item.get("bounding_box") for item in items], "xyxy")
        for item in items:
            target, problem = box_target(item.get("bounding_box"), "xyxy")
            annotations = item.get("annotations")
            types: Line = annotations if isinstance(annotations, dict) else {}
            image: Any = item.get("image")
            yield {
                "image_path": image.removeprefix(f"{IMAGES}/") if isinstance(image, str) else image,
                "instruction": item.get("instruction"),
                "target": target,
                "problem": problem,
                "kind": None,
                "instr_type": types.get("instr_type"),
                "element": types.get("el_type") or item.get("el_type") or "none",
                "platform": item.get("source") or "none",
                "app_name": None,
            }

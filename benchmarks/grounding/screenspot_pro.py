"""ScreenSpot-Pro: small targets on professional applications, one screenshot for each row.

Files and rule: likaixin/ScreenSpot-Pro, `annotations/<application>_<platform>.json`; the official
figure is the micro average over 1,581 rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from benchmarks.base import text_problem
from benchmarks.grounding import GroundingBenchmark, Layout, box_target
from benchmarks.grounding.rows import check_convention, expect_choice
from utils.contracts import Line

GROUPS = ("Dev", "Creative", "CAD", "Scientific", "Office", "OS")


class ScreenSpotPro(GroundingBenchmark):
    """26 files of boxes x1, y1, x2, y2 in pixels, with instructions in English and Chinese."""

    name = level = "ScreenSpotPro"
    folder = "ScreenSpot-Pro"
    has_empty_boxes = True
    options: ClassVar = {"language": ("en", "cn")}
    modes = ("all", *GROUPS)
    mode_column = "group"
    layout = Layout(
        groupings={
            "group": GROUPS,
            "application": (),
            "platform": ("windows", "macos", "linux"),
            "platform and application": (),
        },
        columns="group",
        split="group",
        averages=("group", "application"),
    )
    expected_rows: ClassVar = {
        "all": 1581,
        "Dev": 299,
        "Creative": 341,
        "CAD": 261,
        "Scientific": 254,
        "Office": 230,
        "OS": 196,
    }

    def files(self) -> Sequence[Path]:
        """Return the files of all applications."""
        return sorted((self.root / "annotations").glob("*.json"))

    def read_rows(self) -> Iterator[Line]:
        """Yield a row for each instruction."""
        column = "instruction" if self.settings["language"] == "en" else "instruction_cn"
        for path in self.files() or [self.root / "annotations" / "*.json"]:
            items = self.read_file(f"annotations/{path.name}")
            check_convention(path, [item.get("bbox") for item in items], "xyxy")
            for item in items:
                application = f"{item.get('platform')}, {item.get('application')}"
                target, problem = box_target(item.get("bbox"), "xyxy")
                problem = problem or expect_choice(item.get("group"), GROUPS, "group")
                problem = problem or expect_choice(item.get("ui_type"), ("text", "icon"), "ui_type")
                problem = text_problem(item, column) or problem
                yield {
                    "id": item.get("id"),
                    "image_path": item.get("img_filename"),
                    "image_size": item.get("img_size"),
                    "instruction": item.get(column),
                    "target": target,
                    "problem": problem,
                    "kind": item.get("ui_type"),
                    "group": item.get("group"),
                    "application": item.get("application"),
                    "platform": item.get("platform"),
                    "platform and application": application,
                    "app_name": item.get("application"),
                }

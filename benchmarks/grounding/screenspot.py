"""ScreenSpot and ScreenSpot-v2: everyday screens of phones, desktops and the web.

Files: `screenspot_{mobile,desktop,web}[_v2].json`, boxes x, y, width, height in pixels. The
platform is the file's: `data_source` of v2 is wrong for 80 rows. The official figure of v1 is the
mean of the six cells (text and icon of each platform), that of v2 the micro average over 1,272
rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from benchmarks.grounding import GroundingBenchmark, Layout, box_target
from benchmarks.grounding.rows import check_convention, expect_choice
from utils.contracts import Line

PLATFORMS = ("mobile", "desktop", "web")


class ScreenSpot(GroundingBenchmark):
    """The first version."""

    name = level = "ScreenSpot"
    folder = "ScreenSpot"
    images = "screenspot_imgs"
    has_empty_boxes = True
    file_ending: ClassVar[str] = ""
    modes = ("all", *PLATFORMS)
    mode_column = "platform"
    layout = Layout(
        groupings={"platform": PLATFORMS}, columns="platform", headline="cells", split="platform"
    )
    expected_rows: ClassVar = {"all": 1272}

    def files(self) -> Sequence[Path]:
        """Return a file for each platform."""
        return [
            self.root / f"screenspot_{platform}{self.file_ending}.json" for platform in PLATFORMS
        ]

    def read_rows(self) -> Iterator[Line]:
        """Yield a row for each instruction."""
        for platform, path in zip(PLATFORMS, self.files(), strict=True):
            items = self.read_file(path.name)
            check_convention(path, [item.get("bbox") for item in items], "xywh")
            for item in items:
                target, problem = box_target(item.get("bbox"), "xywh")
                kind = item.get("data_type")
                yield {
                    "image_path": item.get("img_filename"),
                    "instruction": item.get("instruction"),
                    "target": target,
                    "problem": problem or expect_choice(kind, ("text", "icon"), "data_type"),
                    "kind": kind,
                    "platform": platform,
                    "app_name": item.get("data_source"),
                }


class ScreenSpotV2(ScreenSpot):
    """The corrected version."""

    name = level = "ScreenSpotV2"
    folder = "ScreenSpot-v2"
    images = "screenspotv2_image"
    file_ending = "_v2"
    layout = Layout(
        groupings={"platform": PLATFORMS},
        columns="platform",
        split="platform",
        averages=("platform",),
    )
    expected_rows: ClassVar = {"all": 1272, "mobile": 501, "desktop": 334, "web": 437}

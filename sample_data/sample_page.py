"""What is written beside each page by hand: screen, questions, and which elements are meant."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAGES_DIR = HERE / "pages"
DATA_DIR = HERE / "MMBench-GUI"

PLATFORMS = ("os_windows", "os_mac", "os_linux", "os_ios", "os_android", "os_web")
DIFFICULTIES = ("easy", "medium", "hard")
GROUNDING_TYPES = ("basic", "advanced")
DATA_TYPES = ("icon", "text")


@dataclass(frozen=True)
class Target:
    """One element of a page and the two instructions that mean it."""

    name: str
    data_type: str
    instructions: Mapping[str, str]


@dataclass(frozen=True)
class SamplePage:
    """One page with everything that is asked about it."""

    name: str
    html_path: Path
    platform: str
    app_name: str
    viewport_css: tuple[int, int]
    scale: float
    questions: tuple[Mapping[str, Any], ...]
    targets: tuple[Target, ...]

    @property
    def image_wh(self) -> tuple[int, int]:
        """Width and height of the picture in device pixels."""
        width, height = self.viewport_css
        return round(width * self.scale), round(height * self.scale)

    @property
    def picture_name(self) -> str:
        """Name of the picture file: three hashes, like the published ones.

        It hangs on the page, not on the picture, because another version of the browser may draw
        the same page with other bytes.
        """
        html = self.html_path.read_text(encoding="utf-8")
        parts = (
            (f"{self.platform}/{self.app_name}", 8),
            (f"{self.viewport_css}@{self.scale}", 8),
            (html, 32),
        )
        hashes = (hashlib.sha256(text.encode()).hexdigest()[:length] for text, length in parts)
        return "_".join(hashes) + ".png"

    @property
    def picture_path(self) -> Path:
        """Where the picture lies in the data root."""
        return DATA_DIR / "offline_images" / self.platform / self.picture_name


def load_pages(folder: Path = PAGES_DIR) -> list[SamplePage]:
    """All pages, by platform and then by name, so that the annotation files have a fixed order."""
    pages = [_load_page(path) for path in sorted(folder.glob("*.json"))]
    return sorted(pages, key=lambda page: (PLATFORMS.index(page.platform), page.name))


def _load_page(path: Path) -> SamplePage:
    truth = json.loads(path.read_text(encoding="utf-8"))
    width, height = truth["viewport"]
    targets = tuple(
        Target(
            name=entry["target"],
            data_type=entry["data_type"],
            instructions={kind: entry[kind] for kind in GROUNDING_TYPES},
        )
        for entry in truth["targets"]
    )
    return SamplePage(
        name=path.stem,
        html_path=path.with_suffix(".html"),
        platform=truth["platform"],
        app_name=truth["app_name"],
        viewport_css=(width, height),
        scale=truth["scale"],
        questions=tuple(truth["questions"]),
        targets=targets,
    )

"""The results that were published with the benchmark, and which data they were made with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utils.protocol import PUBLISHED_MD5

PUBLISHED_FILE = Path(__file__).with_name("published_results.json")


@dataclass(frozen=True, slots=True)
class Published:
    """Figures in percent, and where they are from."""

    source: str
    tables: Mapping[str, Any]

    def figures(self, dataset: str, split: str) -> dict[str, dict[tuple[str, str], float]]:
        """Model → (platform or "overall", grounding type or "") → accuracy in percent.

        Args:
            split: the difficulty for L1; "" for L2.
        """
        table = self.tables.get(dataset, {})
        if split:
            rows = table.get(split, {})
            return {
                model: {(place, ""): value for place, value in figures.items()}
                for model, figures in rows.items()
            }
        return {model: _by_platform(figures) for model, figures in table.items()}


def read_published() -> Published:
    """The project's data file of published results."""
    content = json.loads(PUBLISHED_FILE.read_text("utf-8"))
    return Published(content.pop("source"), content)


def is_published_data(manifest: Mapping[str, Any], dataset: str) -> bool:
    """Whether a run was made with the published annotations, by the checksum in its manifest."""
    data = (manifest.get("datasets") or {}).get(dataset) or {}
    annotations = data.get("annotations") or {}
    if data.get("left_out") or not annotations.get("md5"):
        return False
    return bool(PUBLISHED_MD5.get(annotations.get("file", "")) == annotations["md5"])


def _by_platform(figures: Mapping[str, Any]) -> dict[tuple[str, str], float]:
    cells = {("overall", ""): float(figures["average"])}
    for platform, splits in figures.items():
        if isinstance(splits, dict):
            cells |= {(platform, split): float(value) for split, value in splits.items()}
    return cells

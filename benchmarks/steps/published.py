"""Published figures of recorded steps beside one's own, with what differs in how they were made."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from utils.data_files import read_json

FIGURES = ("Type", "Grounding", "SR")
COMPARED = ("rows", "rule", "history", "texts")
"""Settings that must be equal for two figures to be comparable, besides data set and level."""
UNKNOWN = "not stated"


@cache
def published_figures() -> list[dict[str, Any]]:
    """All published figures; of each what is known of rows, rule and history, and its source."""
    figures: list[dict[str, Any]] = read_json(Path(__file__).with_name("published.json"))
    return figures


def published_section(dataset: str, protocol: Mapping[str, str]) -> dict[str, Any] | None:
    """The published figures of a data set, those made in the same way first; None: there are none.

    Args:
        dataset: the name of the benchmark.
        protocol: of one's own figure: "level", "rule", "history", and "rows", "texts" where the
            data set has them; "rows" may say how many are missing.
    """
    rows = []
    for figure in published_figures():
        if figure["dataset"] == dataset and figure["level"] in (None, protocol["level"]):
            differences = _differences(figure, protocol)
            rows.append((len(differences), _row(figure, differences)))
    if not rows:
        return None
    return {
        "title": "Published figures of this level, in %",
        "rows": [row for _, row in sorted(rows, key=lambda row: row[0])],
        "notes": [
            "Only rows that differ in nothing can be compared with the figures of this run; the "
            "others show what else was published."
        ],
        "is_folded": True,
    }


def _differences(figure: Mapping[str, Any], protocol: Mapping[str, str]) -> list[str]:
    """In what a published figure was made otherwise, or may have been."""
    differences = []
    for name in COMPARED:
        run_value = protocol.get(name)
        usual = "whole" if name == "texts" else None
        published = figure.get(name, usual)
        if run_value is None or run_value == published:
            continue
        differences.append(f"{name}: {published or UNKNOWN}")
    return differences


def _row(figure: Mapping[str, Any], differences: list[str]) -> dict[str, Any]:
    source = figure["source"]
    if figure.get("note"):
        source = f"{source}; {figure['note']}"
    return {
        "name": figure["model"],
        **{name: figure[name] for name in FIGURES},
        "differs in": ", ".join(differences) or "nothing",
        "source": source,
    }

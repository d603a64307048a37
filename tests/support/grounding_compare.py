"""Comparison of the files of a run with the expected values, cell by cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

OFFICIAL_VERDICTS = {"correct": "hit", "wrong": "miss", "wrong_format": "unparsed"}
GROUPINGS = {  # blocks of ScreenSpot-Pro's scorer: our grouping, and the name in their keys
    "seeclick_style": ("platform", "plat"),
    "leaderboard_simple_style": ("group", "group"),
    "leaderboard_detailed_style": ("application", "app"),
}
ROW_COUNTS = {"rows", "correct"}


class Comparison:
    """Counts cells that are equal, and names those that are not."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.equal = 0
        self.different: list[str] = []
        self.remarks: list[str] = []

    def cell(self, cell_name: str, actual: Any, expected: Any) -> None:
        """Compare one cell; numbers to nine places."""
        is_equal = actual == expected
        if isinstance(actual, float) and isinstance(expected, (int, float)):
            is_equal = abs(actual - expected) < 1e-9
        self.equal += is_equal
        if not is_equal:
            self.different.append(f"{cell_name}: {actual!r}, expected {expected!r}")

    def block(self, block_name: str, actual: Any, official: Mapping[str, Any]) -> None:
        """Compare a block of the official metrics; shares there are of 1, and 0 of nothing."""
        if actual is None:
            self.cell(block_name, None, "a block")
            return
        pairs = {
            "num_correct_action": actual["num_correct"],
            "num_total": actual["num_total"],
            "wrong_format_num": actual["num_wrong_format"],
            "action_acc": (actual["accuracy"] or 0) / 100,
            "text_acc": (actual.get("text_accuracy") or 0) / 100,
            "icon_acc": (actual.get("icon_accuracy") or 0) / 100,
        }
        for name, value in pairs.items():
            if name in official:
                self.cell(f"{block_name}, {name}", value, official[name])


def compare(
    expected: Mapping[str, Any], score: Any, lines: list[Any], comparison: Comparison
) -> None:
    """Compare the score file and the lines of the samples file with what is expected.

    Args:
        expected: "metrics" and "details" of ScreenSpot-Pro's scorer, "ui_vision" by split,
            "osworld", "counts" of a published model's replies.
    """
    if "metrics" in expected:
        compare_metrics(score, expected["metrics"], comparison)
        compare_details(lines, expected.get("details") or [], comparison)
    if "ui_vision" in expected:
        compare_ui_vision(expected["ui_vision"], score, lines, comparison)
    if "osworld" in expected:
        compare_osworld(expected["osworld"], score, lines, comparison)
    if "counts" in expected:
        compare_counts(expected["counts"], score, lines, comparison)


# -- ScreenSpot-Pro -------------------------------------------------------------------------------


def compare_metrics(score: Any, metrics: Any, comparison: Comparison) -> None:
    """Compare groups, applications, platforms, both together, the overall block, the headline."""
    comparison.block("overall", score["overall"], metrics["overall"])
    comparison.cell("headline", score["accuracy"] / 100, metrics["overall"]["action_acc"])
    for style, (grouping, short) in GROUPINGS.items():
        for key, official in (metrics.get(style) or {}).items():
            label = names_in(key).get(short)
            comparison.block(f"{style} {key}", score[grouping].get(label), official)
    for key, official in (metrics.get("fine_grained") or {}).items():
        names = names_in(key)
        label = f"{names['plat']}, {names['app']}"
        actual_block = score["platform and application"].get(label)
        comparison.block(f"fine_grained {key}", actual_block, official)


def names_in(key: str) -> dict[str, str]:
    """Return the parts of a key such as `plat:windows app:word`."""
    return dict(part.split(":", 1) for part in key.split() if ":" in part)


def compare_details(lines: list[Any], details: list[Any], comparison: Comparison) -> None:
    """Compare the verdict of each row, by its id."""
    verdicts = {line["id"]: line["verdict"] for line in lines}
    for item in details:
        expected = OFFICIAL_VERDICTS.get(item["correctness"])
        comparison.cell(str(item["id"]), verdicts.get(item["id"]), expected)


# -- UI-Vision ------------------------------------------------------------------------------------


def compare_ui_vision(
    by_split: Mapping[str, Any], score: Any, lines: list[Any], comparison: Comparison
) -> None:
    """Compare the metrics and verdicts of each split, and the mean of all three."""
    accuracies = []
    for split, official in by_split.items():
        metrics = official.get("metrics", official)
        blocks = {name: block for name, block in metrics.items() if isinstance(block, dict)}
        if "num_total" in metrics:
            blocks[""] = metrics
        for name, block in blocks.items():
            comparison.block(f"{split} {name}".strip(), score["split"].get(split), block)
        accuracies += [block["action_acc"] for block in blocks.values()][:1]
        expected_counts = Counter(
            (item["prompt_to_evaluate"], OFFICIAL_VERDICTS.get(item["correctness"]))
            for item in official.get("details", ())
        )
        counts = Counter(
            (line["text"], line["verdict"]) for line in lines if line["split"] == split
        )
        for text, verdict in expected_counts:
            count = counts[text, verdict]
            comparison.cell(f"{split}, {text}, {verdict}", count, expected_counts[text, verdict])
    if len(accuracies) == len(score["split"]):
        mean = sum(accuracies) / len(accuracies)
        comparison.cell("headline", score["accuracy"] / 100, mean)


# -- OSWorld-G ------------------------------------------------------------------------------------


def compare_osworld(expected: Any, score: Any, lines: list[Any], comparison: Comparison) -> None:
    """Compare all verdicts, categories and the overall count."""
    hits_by_row = {line["id"]: bool(line["hit"]) for line in lines}
    for row, is_right in (expected.get("correct") or {}).items():
        comparison.cell(row, hits_by_row.get(row), is_right)
    blocks = {"overall": score["overall"], **score["category"]}
    counts_by_name = dict(expected.get("categories") or {})
    if "overall" in expected:
        counts_by_name["overall"] = expected["overall"]
        hits, rows = expected["overall"]
        comparison.cell("headline", score["accuracy"], 100 * hits / rows)
    for name, counts in counts_by_name.items():
        block = blocks.get(name) or {"num_correct": 0, "num_total": 0}
        comparison.cell(name, [block["num_correct"], block["num_total"]], counts)
    if "without_refusals" in expected:
        compare_present(lines, expected["without_refusals"], comparison)


# -- counts of a published model's replies --------------------------------------------------------


def compare_counts(expected: Any, score: Any, lines: list[Any], comparison: Comparison) -> None:
    """Compare what is known of the rows and hits: in all, without refusals, by cell."""
    hit_count = sum(line["hit"] for line in lines)
    if expected.get("rows") is not None:
        comparison.cell("rows", len(lines), expected["rows"])
    if expected.get("correct") is not None:
        comparison.cell("correct", hit_count, expected["correct"])
        if str(score.get("headline", "")).startswith("micro"):
            headline = 100 * expected["correct"] / expected["rows"]
            comparison.cell("headline", score["accuracy"], headline)
    for name, counts in expected.items():
        if name in ROW_COUNTS or counts is None:
            continue
        if name == "without_refusals":
            compare_present(lines, counts, comparison)
        elif isinstance(counts, dict):
            for cell, counts_of_cell in counts.items():
                compare_cell(cell, counts_of_cell, lines, comparison)
        else:
            compare_cell(name, counts, lines, comparison)


def compare_cell(name: str, counts: Any, lines: list[Any], comparison: Comparison) -> None:
    """Compare hits and rows of the lines that have all labels of a cell, such as `web icon`."""
    labels = set(name.split())
    members = [line for line in lines if name in labels_of(line) or labels <= labels_of(line)]
    comparison.cell(name, [sum(line["hit"] for line in members), len(members)], counts)


def labels_of(line: Mapping[str, Any]) -> set[str]:
    """Return all labels of a line."""
    labels = {str(line.get(field)) for field in ("platform", "kind", "split", "app")}
    for values in (line.get("groups") or {}).values():
        labels |= {*values}
    return labels


def compare_present(lines: list[Any], counts: Any, comparison: Comparison) -> None:
    """Compare the count of the rows whose element is there."""
    present = [line for line in lines if line["box_frac"] is not None]
    hit_count = sum(line["hit"] for line in present)
    comparison.cell("without refusals", [hit_count, len(present)], counts)

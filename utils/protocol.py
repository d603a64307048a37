"""The published data set: its files, what its samples are divided into, its official figures.

All in the order in which people see them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

PLATFORM_LABELS = {
    "os_windows": "Windows",
    "os_mac": "macOS",
    "os_linux": "Linux",
    "os_ios": "iOS",
    "os_android": "Android",
    "os_web": "Web",
}
"""Platforms as the data names them (folders of pictures, too) and as people read them."""

PLATFORMS = tuple(PLATFORM_LABELS)
FEWEST_PICTURES = 10  # on fewer a figure has no interval: they say nothing about their spread
DIFFICULTIES = ("easy", "medium", "hard")
GROUNDING_TYPES = ("basic", "advanced")

L1_NAME, L2_NAME = "L1_annotations.json", "L2_annotations.json"
ZIP_NAME = "MMBench-GUI-OfflineImages.zip"
PUBLISHED_MD5 = {
    ZIP_NAME: "8a34d69f0e9c0c450a48bfc1c90b65d5",
    L1_NAME: "a9a4fd9eb1e4ae0355fee057bd55cbec",
    L2_NAME: "a2e042302ac389299873a857b7370a35",
}

PUBLISHED_ROWS = {
    "ScreenSpot": 1272,
    "ScreenSpot-v2": 1272,
    "ScreenSpot-Pro": 1581,
    "ui-vision": 5479,
    "OSWorld-G": 564,
    "OSWorld-G, instructions refined": 564,
    "VenusBench-GD": 6166,
    "VenusBench-GD, language cn": 6166,
}
"""Rows of the other grounding tables of which figures are known, by name of the annotations."""
OTHER_INSTRUCTIONS = ("OSWorld-G, instructions refined", "VenusBench-GD, language cn")
"""Annotations of which the tables of published results have rows only as context."""

SAMPLE_MD5 = {
    L1_NAME: "7ba6d8848168c9bafc612fa4a151ad12",
    L2_NAME: "4260530debb6c5ef9331c8d56695cfdc",
}
"""Of the sample data that comes with the program; a page says what its scores are worth."""
SAMPLE_TABLES_MD5 = {
    "ScreenSpot": "1699ea65fe2a6287ab7b0538772bcc47",
    "ScreenSpot-v2": "1699ea65fe2a6287ab7b0538772bcc47",
    "ScreenSpot-Pro": "7b2a05323ef9bba472b7ef0fa3e70249",
    "ui-vision": "e8be082830094b4e1549a6c949e2b540",
    "OSWorld-G": "31dc6ce05fb95f99185d3affde6bfa64",
    "OSWorld-G, instructions refined": "1696cf01e67ae23f90d972cf58f31078",
    "VenusBench-GD": "b99b4d4b00cb8ded5fe9f3b4852e1bfa",
    "I2E-Bench": "932d8cf311d28250c7b47e6eac656126",
    "AndroidControl": "61a2609f0cf0d182a792d7a626dd48a6",
    "GUIOdyssey": "8d2d304da6be8deef20ca3b22c560a2e",
    "AITZ": "a82e02f756e0915648e30833994fa666",
    "CAGUI": "dc40101746b8bc5caa1b24c62e4996d9",
    "AgentNetBench": "9bff54fe55d4c2278765a91132e1445d",
}
"""The same of the rows of the other data sets, by name of the annotations."""

TIERS = ("basic", "standard", "long")
"""The lengths of tasks; in the program's own worlds by the task's shortest scripted
solution. A gesture is a click, a key press or a typed text: `tests.support.office_lengths` counts
them in the web look, under seed 0.

    long      25 gestures and more, or four applications and more
    basic     one application and at most 7 gestures
    standard  all others
"""

ELEMENT_KINDS = ("icon", "text")
"""Kinds of elements whose hits the official score counts; others count in the divisor alone."""

SINGLE = "single"  # each sample is asked once, and not again after a reply
ZOOM, FOLLOW_UP = "zoom", "follow-up"  # a second look at a crop; what a user's function asks
IMPORTED = "imported"  # protocol of answers made elsewhere, and what marks them in all files
MADE_ELSEWHERE = "answers made elsewhere"  # the mark as people read it
OVERALL, AVERAGE = "overall", "average"
OFFICIAL = (*DIFFICULTIES, OVERALL, *GROUNDING_TYPES, AVERAGE)
"""Names and order: of difficulties and overall; of grounding types and their average."""
_ORDER = (*OFFICIAL[:-2], "functional", "spatial", "text", "icon", *OFFICIAL[-2:], "accuracy")
ACTING = ("L3", "L4")  # levels whose samples are episodes
EPISODE_FIGURES = ("SR", "EQA*")  # each with a number of steps: "SR 15"
WORLD_FAILURE = "world"  # class of the error of an episode whose environment failed
LAYOUTS = {platform: f"layout: {label}" for platform, label in PLATFORM_LABELS.items()}
"""Labels for web pages in the layout of a platform, in place of the platform's own label."""
PLATFORM_ORDER = (*PLATFORMS, *LAYOUTS.values())


LAST = 10**9


def official_order(name: str) -> tuple[int, int, str]:
    """Return the sort key of a figure among others; those of episodes by steps, then others."""
    kind, _, steps = name.partition(" ")
    position = _ORDER.index(name) if name in _ORDER else len(_ORDER)
    number = int(steps) if steps.isdecimal() else LAST
    return position, number, f"{len(kind)}{name}"  # SR before EQA*


def official_figures(analysis: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the cells of an analysis that a data set's headline has, by name.

    A figure over several levels is there only where all of its parts are: of one, it is nothing
    that one could set beside others.
    """
    table = analysis.get("table") or {}
    cells = {row["name"]: row["cells"][-1] for row in table.get("rows", ()) if row["cells"][-1]}
    if "official" in table:  # the benchmark says itself which figures it publishes
        return {name: cells[name] for name in table["official"] if name in cells}
    cells |= {OVERALL: (analysis.get("averages") or {}).get(OVERALL)}
    parts = {OVERALL: DIFFICULTIES, AVERAGE: GROUNDING_TYPES}
    names = [*OFFICIAL, *filter(_is_of_steps, cells)]
    return {
        name: cells[name]
        for name in names
        if all(cells.get(part) for part in (name, *parts.get(name, ())))
    }


def official_text(analysis: Mapping[str, Any]) -> str:
    """Return the name of the one figure that stands for a data set, and its rule: in its own table.

    "" where there is no such figure.
    """
    table = analysis.get("table") or {}
    figures = official_figures(analysis)
    if "headline" in table:
        return f"{table['rows'][-1]['name']} ({table['headline']})"
    rules = {OVERALL: "all questions", AVERAGE: "the mean of basic and advanced"}
    return next((f"{name} ({rule})" for name, rule in rules.items() if name in figures), "")


def headline_figure(analysis: Mapping[str, Any]) -> tuple[str, dict[str, Any] | None]:
    """Return the name and the cell of the one figure that stands for a data set.

    Where none does, as of a single mode, it is the last official one; "" and None without any.
    """
    figures = official_figures(analysis)
    official_name = official_text(analysis).partition(" (")[0]
    name = official_name if official_name in figures else next(reversed(figures), "")
    return name, figures.get(name)


def _is_of_steps(name: str) -> bool:
    kind, _, steps = name.partition(" ")
    return kind in EPISODE_FIGURES and steps.isdecimal()


def is_weighted(variables: Mapping[str, str | None]) -> bool:
    """Whether the environment asks for questions weighted by their options (L1_USE_WEIGHTED)."""
    return (variables.get("L1_USE_WEIGHTED") or "").strip().lower() in ("1", "true")


def title_of(level: str, dataset: str) -> str:
    """Return the heading of a data set; a table has no level."""
    return dataset if level == dataset else f"{level} {dataset}"


def unit_of(level: str) -> str:
    """The unit that the samples of a level are of, and its intervals go by."""
    return "task" if level in ACTING else "image"


def noun_of(level: str) -> str:
    """The noun for one answer of a level: a task that is repeated has several episodes."""
    return "episode" if level in ACTING else "sample"


def noun_of_question(level: str) -> str:
    """The noun for one question of a level, to which there may be several answers."""
    return "task" if level in ACTING else "sample"


def is_environment_failure(facts: Mapping[str, Any]) -> bool:
    """Whether a line of a samples file is an episode whose environment failed."""
    return (facts.get("error") or {}).get("class") == WORLD_FAILURE


def are_too_many(environment_failures: int, episodes: int) -> bool:
    """Whether over 1 % of episodes failed in their environment: figures say little then."""
    return 100 * environment_failures > episodes


def why_no_score(
    level: str, samples: int, *, without_answer: int, environment_failures: int = 0
) -> str:
    """Say why figures would mean nothing; "" where they do not.

    Args:
        level: of the data set.
        samples: how many it has.
        without_answer: how many of them have no answer, for whatever reason.
        environment_failures: how many of these are episodes whose environment failed.
    """
    if 2 * without_answer > samples and without_answer > environment_failures:
        return f"{without_answer:,} of {samples:,} {noun_of(level)}s have no answer"
    if are_too_many(environment_failures, samples):
        return (
            f"{environment_failures:,} of {samples:,} episodes failed in their environment, more "
            "than 1 %"
        )
    return ""


EPISODE_TERMS = (
    "SR: share of the episodes that succeeded within the step limit",
    "EQA*: success rate over the used share of all steps, averaged over all orders of the "
    "episodes; early successes count more",
    "recall infeasible: share of the impossible tasks that the agent gave up",
    "false fail: share of the possible tasks that the agent gave up",
    "partial credit: share of the task's requirements met at the end; 0 if the agent changed "
    "anything else",
)


def episode_terms(rows: Collection[str]) -> list[str]:
    """Return a line for each term in the names of rows of L3 and L4."""
    return [
        term
        for term in EPISODE_TERMS
        if any(name.startswith(term.partition(":")[0]) for name in rows)
    ]

"""Tasks in LibreOffice Calc."""

# Tasks of a benchmark, not to be trained on. Canary: 6f4f12ab-1b3f-45ea-bbe2-8e94ed0444e4

from __future__ import annotations

import random
from typing import Any

from benchmarks.worlds.desktop.tasks.registry import task

Row = dict[str, Any]
Steps = list[list[Any]]
SAVE: Steps = [["key", "ctrl+s"], ["done"]]
ITEMS = ("Paper", "Ink", "Chairs", "Lamps", "Plants", "Rent", "Coffee", "Cables", "Desks", "Tea")


def costs(rng: random.Random, count: int = 7) -> list[list[Any]]:
    """Return a header and rows of items with what each costs."""
    items = rng.sample(ITEMS, count)
    return [["Item", "Cost"], *([item, rng.randrange(20, 990)] for item in items)]


@task("calc", category="compute")
def calc_total(rng: random.Random) -> Row:
    """A sum that is worked out, below a column."""
    rows = costs(rng)
    total = sum(row[1] for row in rows[1:])
    path = "Documents/costs.ods"
    cell = {"value": float(total), "formula": {"uses": "B2:B8"}}
    return {
        "goal": [
            "In costs.ods, let cell B9 work out the sum of all costs by a formula. Save the file.",
            "Cell B9 of costs.ods should add up the costs above it, and keep doing so when they "
            "change. Save the file.",
        ],
        "files": {path: {"sheets": {"Costs": rows}}},
        "open": [path],
        "edits": [["cells", path, "Costs", {"B9": cell}]],
        "ways": [
            [["cell", "B9"], ["type", "=SUM(B2:B8)\n"], *SAVE],
            [["cell", "B9"], ["key", "alt+="], ["key", "enter"], *SAVE],
        ],
        "wrong_ways": [
            [["cell", "B9"], ["type", f"{total}\n"], *SAVE],
            [["cell", "B9"], ["type", "=SUM(B2:B8)\n"], ["cell", "A9"], ["type", "Total\n"], *SAVE],
        ],
    }

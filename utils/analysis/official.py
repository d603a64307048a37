"""The official figures of a scored data set, and the one rounding of every figure that is shown."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from utils.protocol import DIFFICULTIES, GROUNDING_TYPES

OVERALL, AVERAGE = "overall", "average"
OFFICIAL = (*DIFFICULTIES, OVERALL, *GROUNDING_TYPES, AVERAGE)
"""Names and order: L1 easy, medium, hard, overall; L2 basic, advanced, average."""


def official_figures(analysis: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The cells of an analysis that a data set's headline has, by name.

    A figure over several levels is there only where all of its parts are: of one, it is nothing
    that one could set beside others.
    """
    table = analysis.get("table") or {}
    found = {row["name"]: row["cells"][-1] for row in table.get("rows", ()) if row["cells"][-1]}
    found |= {OVERALL: (analysis.get("averages") or {}).get(OVERALL)}
    parts = {OVERALL: DIFFICULTIES, AVERAGE: GROUNDING_TYPES}
    there = [name for name in OFFICIAL if all(map(found.get, (name, *parts.get(name, ()))))]
    return {name: found[name] for name in there}


def shown(value: float, digits: int = 2, *, signed: bool = False) -> str:
    """A figure as it is shown everywhere: halves are rounded up, away from 0.

    The noise of floating point arithmetic is no reason to round down: 0.5 of 0.29 is 0.15.
    """
    exact = Decimal(repr(round(float(value), 9)))
    rounded = exact.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP)
    return f"{rounded or abs(rounded):{'+' if signed and rounded else ''}f}"  # no "-0.0"


def shown_accuracy(value: float | None) -> str:
    """A score in percent as papers print it; "-" for want of one."""
    return "-" if value is None else shown(value)


def shown_share(count: float, total: float) -> str:
    """A part of a count in percent."""
    return shown(100 * count / total, 1)


def shown_range(cell: Mapping[str, Any] | None) -> str:
    """The interval of a cell of an analysis, `20.1–62.0`; or "" where it has none."""
    if cell is None or cell.get("low") is None or cell.get("high") is None:
        return ""
    between = " to " if cell["low"] < 0 else "–"
    return between.join(shown(cell[bound], 1) for bound in ("low", "high"))

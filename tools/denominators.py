"""Find the numbers of rows that a printed accuracy can be based on.

python -m tools.denominators 63.23 [--data OSWorldG]

Papers leave rows out (refusals, failed requests) or count some twice, and seldom mention it. The
figure itself often shows it. A row count fits if some whole number of hits rounds to the figure.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

from utils.errors import UserError

KNOWN = {
    "GUIElementGrounding": {3594: "micro over all rows"},
    "ScreenSpot": {1272: "all rows"},
    "ScreenSpotV2": {1272: "all rows", 1271: "all but one (grouped by data_source)"},
    "ScreenSpotPro": {
        1581: "all rows",
        1580: "all but one",
        1582: "rows doubled by a distributed sampler",
        1584: "rows doubled by a distributed sampler",
        1304: "failed rows left out",
    },
    "OSWorldG": {
        564: "all rows, refusals included: the official figure",
        563: "all rows but one",
        510: "without the 54 refusals",
        470: "boxes alone",
    },
    "VenusBenchGD": {6166: "micro over all rows"},
    "UIVision": {5479: "micro over all rows", 1772: "basic or functional", 1935: "spatial"},
}
"""Row counts that papers use, by data set."""


def fitting_row_counts(text: str, dataset: str) -> str:
    """The known row counts of a data set that a printed percentage can be of, as text.

    Args:
        text: the figure as it is printed, "63.23"; its decimals matter.
        dataset: one of `KNOWN`.

    Raises:
        UserError: no number between 0 and 100, or a data set without known row counts.
    """
    if dataset not in KNOWN:
        raise UserError(f"--data {dataset}: row counts are known of {', '.join(KNOWN)}")
    try:
        figure = Decimal(text)
    except InvalidOperation:
        raise UserError(f"{text}: must be a percentage such as 63.23") from None
    if not 0 <= figure <= 100:
        raise UserError(f"{text}: must lie between 0 and 100")
    lines = [f"{text} % of {dataset}:"]
    for rows, meaning in KNOWN[dataset].items():
        hits = _hits(figure, rows)
        if hits:
            lines.append(f"  {rows:5}  fits: {' or '.join(map(str, hits))} hits  ({meaning})")
        else:
            lines.append(f"  {rows:5}  does not fit  ({meaning})")
    return "\n".join(lines)


def _hits(figure: Decimal, rows: int) -> list[int]:
    """The numbers of hits whose share of the rows rounds to a figure, in either way."""
    exponent = figure.as_tuple().exponent
    half_step = Decimal(5) * Decimal(10) ** (int(exponent) - 1)
    lowest = (figure - half_step) * rows / 100
    highest = (figure + half_step) * rows / 100
    return [hits for hits in range(math.ceil(lowest), math.floor(highest) + 1) if 0 <= hits <= rows]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.denominators", description=__doc__)
    parser.add_argument("figure", metavar="PERCENT", help="as it is printed")
    parser.add_argument("--data", default="OSWorldG", metavar="NAME")
    options = parser.parse_args(arguments)
    try:
        print(fitting_row_counts(options.figure, options.data))
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""A comparison as one static page: no script, no network, everything from models escaped."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from utils.comparing import comparison as words
from utils.comparing.comparison import Comparison
from utils.comparing.pairing import Flip, PairOfRuns

MOST_FLIPS = 300  # on each side of a pair; flips.csv has all
LONGEST_REPLY = 2_000  # characters
_HERE = Path(__file__).parent


def as_page(comparison: Comparison) -> str:
    """The whole page; its Content-Security-Policy allows its own style sheet and nothing else."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined
    )
    style = (_HERE / "page.css").read_text("utf-8")
    checksum = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return environment.get_template("page.html.j2").render(
        runs=comparison.runs,
        boards=comparison.boards,
        pairs=comparison.pairs,
        notes=comparison.notes,
        style=Markup(style),  # the project's own file
        style_hash=f"sha256-{checksum}",
        sides=_sides,
        cut=_cut,
        most_flips=MOST_FLIPS,
        difference_head=words.difference_head,
        mcnemar_note=words.MCNEMAR_NOTE,
        how_to_read=words.how_to_read(comparison.pairs),
        **{
            function.__name__: function
            for function in (
                words.value_text, words.interval_text, words.difference_cells, words.pair_notes,
                words.truth_text, words.reply_text, words.read_as_text,
                words.counted,
            )
        },
    )  # fmt: skip


def _sides(pair: PairOfRuns) -> list[tuple[str, str, list[Flip]]]:
    sides = [
        (pair.run, pair.baseline, [flip for flip in pair.flips if flip.run_is_right]),
        (pair.baseline, pair.run, [flip for flip in pair.flips if not flip.run_is_right]),
    ]
    return [side for side in sides if side[2]]


def _cut(text: str) -> str:
    rest = len(text) - LONGEST_REPLY
    return text if rest <= 0 else f"{text[:LONGEST_REPLY]}… ({rest} more characters)"

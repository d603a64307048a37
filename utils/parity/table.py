"""The comparison of two sides as text, and as a spreadsheet-friendly file of all samples."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from utils.contracts import Facts
from utils.coordinates import shown_wh
from utils.parity.causes import Pair, prompt_tokens
from utils.parity.sides import Side, setting_differences
from utils.scoring.sheets import open_lines, safe_cell

MOST_SHOWN = 20  # samples on the console; the file has them all
LONGEST_REPLY = 60  # characters
COLUMNS = (
    "index", "image", "seen_a", "seen_b", "prompt_tokens_a", "prompt_tokens_b", "answers_equal",
    "verdict_a", "verdict_b", "cause", "detail", "reply_a", "reply_b",
)  # fmt: skip


def render(dataset: str, a: Side, b: Side, pairs: Sequence[Pair]) -> list[str]:
    """What the comparison found, causes first, then sample by sample."""
    lines = [f"parity on {dataset}: A = {a.name} ({a.kind}), B = {b.name} ({b.kind}), "
             f"{len(pairs)} samples"]  # fmt: skip
    if not pairs:
        return [*lines, "  no sample has an answer on both sides"]
    total = len(pairs)
    seen = sum(1 for pair in pairs if _seen(pair.a) == _seen(pair.b) != "unknown")
    known = sum(1 for pair in pairs if "unknown" not in (_seen(pair.a), _seen(pair.b)))
    tokens = sum(1 for pair in pairs if _tokens(pair.a) == _tokens(pair.b) != "")
    right = [sum(pair.a["hit"] for pair in pairs), sum(pair.b["hit"] for pair in pairs)]
    sizes = f"equal in {seen} of {known}" if known else "not known on both sides"
    if 0 < known < total:
        sizes += f" (known on both sides in {known} of {total})"
    lines += [
        f"  picture size seen   {sizes}",
        f"  prompt tokens       equal in {tokens} of {total}",
        f"  answers             equal in {_count(pairs, 'answers_equal')} of {total}",
        f"  verdicts            equal in {_count(pairs, 'verdicts_equal')} of {total} "
        f"(A right {right[0]}, B right {right[1]})",
        *(f"  setting             {text}" for text in setting_differences(a, b)),
    ]
    causes = Counter(pair.cause for pair in pairs if pair.cause)
    for cause, count in causes.most_common():
        first = next(pair for pair in pairs if pair.cause == cause)
        lines.append(f"  {count} x {cause}: {first.detail}")
    if not causes:
        lines.append("  nothing differs")
    lines += ["", *_sample_lines(pairs[:MOST_SHOWN])]
    if total > MOST_SHOWN:
        lines.append(f"  and {total - MOST_SHOWN} more in the file")
    return lines


def _sample_lines(pairs: Sequence[Pair]) -> list[str]:
    head = ("index", "seen A", "seen B", "tokens A", "tokens B", "verdict A", "verdict B",
            "differs first in", "reply A", "reply B")  # fmt: skip
    rows = [
        (
            str(pair.a["index"]), _seen(pair.a), _seen(pair.b), _tokens(pair.a), _tokens(pair.b),
            str(pair.a["verdict"]), str(pair.b["verdict"]), pair.cause or "-",
            _short(pair.a["prediction"]),
            "the same" if pair.answers_equal else _short(pair.b["prediction"]),
        )
        for pair in pairs
    ]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return [
        "  "
        + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (head, *rows)
    ]


def write_csv(path: Path, pairs: Sequence[Pair]) -> None:
    """Every sample of the comparison.

    Raises:
        StopRun: the folder cannot be written.
    """
    with open_lines(path) as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for pair in pairs:
            a, b = pair.a, pair.b
            writer.writerow(map(safe_cell, (
                a["index"], a["image"], _seen(a), _seen(b), _tokens(a), _tokens(b),
                pair.answers_equal, a["verdict"], b["verdict"], pair.cause or "", pair.detail,
                a["prediction"], b["prediction"],
            )))  # fmt: skip


def _count(pairs: Sequence[Pair], what: str) -> int:
    return sum(bool(getattr(pair, what)) for pair in pairs)


def _seen(facts: Facts) -> str:
    return shown_wh(facts.get("seen_wh"))


def _tokens(facts: Facts) -> str:
    return str(prompt_tokens(facts) or "")


def _short(text: str) -> str:
    shown = repr(text)
    return shown if len(shown) <= LONGEST_REPLY else shown[:LONGEST_REPLY] + "…"

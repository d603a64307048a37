"""How often each letter is chosen against how often it is right (L1)."""

from __future__ import annotations

from typing import Any

from utils.analysis.columns import LARGEST_P, Row, SampleColumns, in_percent, percent
from utils.analysis.paired import compare_paired, holm
from utils.text import format_percent

TITLE = "Letter bias: chosen against right"

# Thousands of questions make the smallest habit significant; one worth a warning moves the score.
SMALLEST_HABIT = 10.0  # points


def letter_bias(columns: SampleColumns) -> dict[str, Any]:
    """The section; replies without a letter are only counted."""
    answered = columns.answered()
    columns = answered.where([chosen is not None for chosen in answered["chosen"]])
    pictures = columns.pictures().tolist()
    rows: list[Row] = []
    at: dict[str, str] = {}
    p_values = []
    for letter in _option_letters(columns):
        chosen = [each == letter for each in columns["chosen"]]
        right = [each == letter for each in columns["answer"]]
        paired = compare_paired(chosen, right, pictures)
        at |= {f"{letter} chosen": columns.spans(chosen), f"{letter} right": columns.spans(right)}
        p_values.append(paired.p_value if paired.interval else None)
        rows.append(
            {
                "name": letter,
                "chosen": sum(chosen),
                "right": sum(right),
                "chosen %": percent(sum(chosen) / len(chosen)),
                "right %": percent(sum(right) / len(right)),
                "difference": percent(paired.difference),
                **in_percent(paired.interval),
            }
        )
    for row, p in zip(rows, holm(p_values), strict=True):
        row["p (Holm)"] = None if p is None else float(f"{p:.3g}")
    tested = [row for row in rows if row["p (Holm)"] is not None]
    notes = ["No letter was chosen."]
    if rows:
        notes = [
            f"Over {len(columns)} replies with a letter; {len(answered) - len(columns)} have none. "
            "difference: chosen minus right, in points, with a 95 % interval by image."
        ]
        notes += ["p: paired test over images, Holm over the letters."] * bool(tested)
    significant = [row for row in tested if row["p (Holm)"] < LARGEST_P]
    clear = [row for row in significant if abs(row["difference"]) >= SMALLEST_HABIT]
    found = ", ".join(
        f"{row['name']} is chosen {'more' if row['difference'] > 0 else 'less'} often than right "
        f"({format_percent(row['chosen %'])} % against {format_percent(row['right %'])} %)"
        for row in clear
    )
    warnings = [f"letter bias: {found}"] if found else []
    return {"title": TITLE, "rows": rows, "notes": notes, "warnings": warnings, "at": at}


def _option_letters(columns: SampleColumns) -> list[str]:
    """Return the letters that some question offers; an option whose text is null is none."""
    letters = set()
    for options in columns["options"]:
        letters |= {letter for letter, text in options.items() if text is not None}
    return sorted(letters)

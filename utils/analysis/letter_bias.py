"""The share of each letter among the choices, compared with its share among the right answers."""

from __future__ import annotations

from utils.analysis.columns import AuditSettings, Row, SampleColumns, Section, in_percent, percent
from utils.analysis.paired import LARGEST_P, compare_paired, holm
from utils.findings import Finding, warning
from utils.text import format_percent

TITLE = "Letter bias: chosen against right"

# Thousands of questions make the smallest habit significant; one worth a warning moves the score.
SMALLEST_HABIT = 10.0  # points


def letter_bias(columns: SampleColumns, _settings: AuditSettings) -> Section:
    """Return the section; replies without a letter are only counted."""
    answered = columns.answered()
    columns = answered.where([letter is not None for letter in answered["chosen"]])
    pictures = columns.pictures().tolist()
    rows: list[Row] = []
    spans: dict[str, str] = {}
    p_values = []
    for letter in _option_letters(columns):
        is_chosen = [chosen == letter for chosen in columns["chosen"]]
        is_right = [answer == letter for answer in columns["answer"]]
        paired = compare_paired(is_chosen, is_right, pictures)
        spans[f"{letter} chosen"] = columns.spans(is_chosen)
        spans[f"{letter} right"] = columns.spans(is_right)
        p_values.append(paired.p_value if paired.interval else None)
        rows.append(
            {
                "name": letter,
                "chosen": sum(is_chosen),
                "right": sum(is_right),
                "chosen %": percent(sum(is_chosen) / len(is_chosen)),
                "right %": percent(sum(is_right) / len(is_right)),
                "difference": percent(paired.difference),
                **in_percent(paired.interval),
            }
        )
    for row, p in zip(rows, holm(p_values), strict=True):
        row["p (Holm)"] = None if p is None else float(f"{p:.3g}")
    return {
        "title": TITLE,
        "rows": rows,
        "notes": _notes(rows, len(columns), len(answered) - len(columns)),
        "findings": _findings(rows),
        "at": spans,
    }


def _option_letters(columns: SampleColumns) -> list[str]:
    """Return the letters that some question offers; an option whose text is null is none."""
    letters = set()
    for options in columns["options"]:
        letters |= {letter for letter, text in options.items() if text is not None}
    return sorted(letters)


def _notes(rows: list[Row], with_letter: int, without_letter: int) -> list[str]:
    if not rows:
        return ["No letter was chosen."]
    notes = [
        f"{with_letter} replies have a letter, {without_letter} have none. "
        "difference: chosen minus right, in percentage points, with a 95 % interval by image."
    ]
    if any(row["p (Holm)"] is not None for row in rows):
        notes.append("p: paired test over images, with Holm's correction over the letters.")
    return notes


def _findings(rows: list[Row]) -> list[Finding]:
    habits = [
        row
        for row in rows
        if row["p (Holm)"] is not None
        and row["p (Holm)"] < LARGEST_P
        and abs(row["difference"]) >= SMALLEST_HABIT
    ]
    if not habits:
        return []
    summary = ", ".join(
        f"{row['name']} is chosen {'more' if row['difference'] > 0 else 'less'} often than right "
        f"({format_percent(row['chosen %'])} % against {format_percent(row['right %'])} %)"
        for row in habits
    )
    first = f"{habits[0]['name']} chosen"
    return [warning("letter_bias", summary, topic="letter bias", row=first)]

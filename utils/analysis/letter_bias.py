"""How often each letter is chosen against how often it is right (L1)."""

from __future__ import annotations

import string
from array import array
from collections.abc import Mapping
from typing import Any

from utils.analysis.columns import PictureNumbers, Row, percent

TITLE = "Letter bias: chosen against right"
LARGEST_P = 0.05


class LetterBias:
    """Collects the letters chosen and the right ones; about ten bytes of a sample."""

    def __init__(self) -> None:
        self._pictures = PictureNumbers()
        self._picture = array("i")
        self._chosen, self._right = array("b"), array("b")
        self._offered = array("i")  # a bit for each letter
        self._without = 0

    def add(self, facts: Mapping[str, Any]) -> None:
        """One more sample; one without a letter is only counted."""
        if facts["verdict"] is None:
            return
        chosen = facts["chosen"]
        if chosen is None:
            self._without += 1
            return
        self._picture.append(self._pictures.of(facts["image"]))
        self._chosen.append(_number(chosen))
        self._right.append(_number(facts["answer"]))
        letters = [letter for letter, text in facts["options"].items() if text is not None]
        self._offered.append(sum(1 << _number(letter) for letter in letters))

    def result(self) -> dict[str, Any]:
        """The section."""
        import numpy as np

        from utils.analysis import compare_paired, holm

        chosen, right = np.array(self._chosen), np.array(self._right)
        offered = np.array(self._offered, dtype=np.int64)
        rows: list[Row] = []
        p_values = []
        for number, letter in enumerate(string.ascii_uppercase):
            is_chosen, is_right = chosen == number, right == number
            is_offered = (offered >> number) & 1
            if not (is_offered.any() or is_chosen.any()):
                continue
            first, second = is_chosen.astype(np.float64), is_right.astype(np.float64)
            paired = compare_paired(first, second, self._picture.tolist())
            bounds = paired.interval
            p_values.append(paired.p_value if bounds else None)
            rows.append({
                "name": letter,
                "offered": int(is_offered.sum()),
                "chosen": int(is_chosen.sum()),
                "right": int(is_right.sum()),
                "chosen %": percent(is_chosen.mean()),
                "right %": percent(is_right.mean()),
                "difference": percent(paired.difference),
                "low": percent(bounds.low) if bounds else None,
                "high": percent(bounds.high) if bounds else None,
                "p (Holm)": None,
            })  # fmt: skip
        for row, p in zip(rows, holm(p_values), strict=True):
            row["p (Holm)"] = None if p is None else float(f"{p:.3g}")
        return {"title": TITLE, "rows": rows, "notes": self._notes(rows), "warnings": []}

    def _notes(self, rows: list[Row]) -> list[str]:
        if not rows:
            return ["No letter was chosen."]
        notes = [
            f"Of {len(self._chosen)} replies with a letter; {self._without} have none. difference: "
            "chosen less right, in points, with a 95 % interval by picture; p: sign flips over "
            "pictures, Holm over the letters."
        ]
        odd = [row for row in rows if row["p (Holm)"] is not None and row["p (Holm)"] < LARGEST_P]
        for row in odd:
            how = "more" if row["difference"] > 0 else "less"
            notes.append(
                f"{row['name']} is chosen {how} often than it is right: {row['chosen %']:.1f} % "
                f"against {row['right %']:.1f} %."
            )
        return notes


def _number(letter: str) -> int:
    """0 for A; 26 for what is no single letter, which a parse function may return."""
    return string.ascii_uppercase.find(letter) % 27 if len(letter) == 1 else 26

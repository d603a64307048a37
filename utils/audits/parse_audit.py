"""Are the letters that were read out of the replies the letters that were meant? (L1)

The protocol's parser takes the first letter of a line even inside a word ("Based on ..." gives B)
and the first of several. It stays the score; this says how often that matters.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from utils.audits.option_replies import PATTERN_NAMES, decide, last_statement, strict_option
from utils.audits.rows import PictureNumbers, Row, percent, share

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TITLE = "Parse audit: how letters were read"
LARGEST_DOUBTFUL_SHARE = 0.05
MOST_DOUBTFUL = 10  # fewer are not warned of
EXAMPLES = 3

NO_PATTERN = len(PATTERN_NAMES)  # the default parser finds no letter
OTHER_PARSER = NO_PATTERN + 1  # the configured one reads otherwise

OF_WORD, OUTSIDE, CONTRADICTED = 1, 2, 4
DOUBTS = {
    OF_WORD: "doubtful: first letter of a word, or the article",
    OUTSIDE: "doubtful: no option of the question",
    CONTRADICTED: "doubtful: another letter is stated later",
}


class ParseAudit:
    """Collects how each reply was decided; about ten bytes of a sample."""

    def __init__(self) -> None:
        self._pictures = PictureNumbers()
        self._picture = array("i")
        self._hits, self._strict_hits = array("b"), array("b")
        self._patterns, self._doubts = array("b"), array("b")
        self._counts: Counter[str] = Counter()
        self._examples: list[dict[str, Any]] = []

    def add(self, facts: Mapping[str, Any]) -> None:
        """One more sample; one without an answer has nothing to read."""
        if facts["verdict"] is None:
            return
        reply, chosen = facts["prediction"], facts["chosen"]
        letters = [letter for letter, text in facts["options"].items() if text is not None]
        strict = strict_option(reply, letters)
        decision = decide(reply)
        is_default = chosen == (decision.letter if decision else None)
        pattern, doubts = OTHER_PARSER, 0
        if is_default:
            pattern = decision.pattern if decision else NO_PATTERN
        if chosen is not None:
            doubts |= OF_WORD if is_default and decision and decision.is_of_word else 0
            doubts |= OUTSIDE if chosen not in letters else 0
            if strict not in (None, chosen) and (stated := last_statement(reply)):
                read_at = decision.start if is_default and decision else -1
                doubts |= CONTRADICTED if stated[0] > read_at else 0
        self._picture.append(self._pictures.of(facts["image"]))
        self._hits.append(facts["hit"])
        self._strict_hits.append(strict == facts["answer"])
        self._patterns.append(pattern)
        self._doubts.append(doubts)
        self._counts["strict none"] += strict is None
        self._counts["differ"] += strict != chosen
        if doubts and len(self._examples) < EXAMPLES:
            self._examples.append({"key": facts["key"], "chosen": chosen, "stated": strict})

    def result(self) -> dict[str, Any]:
        """The section."""
        import numpy as np

        section: dict[str, Any] = {"title": TITLE, "rows": [], "notes": [], "warnings": []}
        if not len(self._hits):
            return section | {"notes": ["No reply to look at."]}
        hits = np.array(self._hits, dtype=np.bool_)
        strict_hits = np.array(self._strict_hits, dtype=np.bool_)
        patterns, doubts = np.array(self._patterns), np.array(self._doubts)
        everything = np.ones(len(hits), dtype=np.bool_)
        default = not bool((patterns == OTHER_PARSER).any())
        name = "the default parser (the score)" if default else "the parse function (the score)"
        section["rows"] = [
            self._row(name, everything, hits),
            self._row("a strict parser", everything, strict_hits),
        ]
        names = (*PATTERN_NAMES, "no letter found", "read otherwise than by the default parser")
        for number, decided_by in enumerate(names):
            mask = patterns == number
            if mask.any() or number < NO_PATTERN:
                section["rows"].append(self._row(f"decided by: {decided_by}", mask, hits))
        for doubt, what in DOUBTS.items():
            section["rows"].append(self._row(what, (doubts & doubt) > 0, hits))
        doubtful = self._row("doubtful in all", doubts > 0, hits)
        section["rows"].append(doubtful)
        section["notes"] = self._notes(int((patterns == OTHER_PARSER).sum()))
        section["examples"] = self._examples
        count = doubtful["samples"]
        if count >= MOST_DOUBTFUL and count > LARGEST_DOUBTFUL_SHARE * len(hits):
            section["warnings"].append(self._warning(section["rows"], doubts))
        return section

    def _row(self, name: str, mask: NDArray[np.bool_], hits: NDArray[np.bool_]) -> Row:
        """A group of replies: how large it is, and how many of it are right."""
        import numpy as np

        pictures = np.array(self._picture, dtype=np.intp)
        return {
            "name": name,
            "share": percent(mask.mean()),
            **share(hits[mask], pictures[mask]),
        }

    def _notes(self, read_otherwise: int) -> list[str]:
        notes = [
            "share: of the answered questions, in percent; value: how many of them are right. The "
            "strict parser takes a reply that is only a letter, the last plain statement of an "
            "answer, or a single list item, and only letters of the question's options.",
            f"The two disagree on {self._counts['differ']} replies; in "
            f"{self._counts['strict none']} the strict parser finds no answer.",
        ]
        if read_otherwise:
            notes.append(
                f"The configured parse function is not the default one: it reads {read_otherwise} "
                "replies otherwise. No pattern decided those; the strict parser is compared with "
                "what the configured one chose."
            )
        return notes

    def _warning(self, rows: list[Row], doubts: NDArray[np.int8]) -> str:
        words = {
            OF_WORD: "are the first letter of a word or an article",
            OUTSIDE: "are no option of the question",
            CONTRADICTED: "contradict an answer that is stated later",
        }
        parts = [
            f"{int(((doubts & doubt) > 0).sum())} {text}"
            for doubt, text in words.items()
            if ((doubts & doubt) > 0).any()
        ]
        official, strict = rows[0]["value"], rows[1]["value"]
        return (
            f"parse audit: {int((doubts > 0).sum())} of {len(doubts)} letters are doubtful "
            f"({', '.join(parts)}); a strict parser scores {strict:.1f} % instead of "
            f"{official:.1f} %. Ask for the letter alone, or set a parse_function for these replies"
        )

"""Are the letters that were read out of the replies the letters that were meant? (L1)

The protocol's parser takes the first letter of a line even inside a word ("Based on ..." gives B),
the first of several, and letters out of a model's thinking. It stays the score; this says how often
that matters, and warns where the ready-made parse function would score clearly better.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from utils.analysis.columns import LARGEST_P, PictureNumbers, Row, lead_over, percent, share
from utils.analysis.option_replies import PATTERN_NAMES, decide
from utils.reply_letters import last_statement, strict_option
from utils.thinking import PARSE_OPTION, answer_span, option_after_thinking

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from utils.analysis.columns import Mask

TITLE = "Parse audit: how letters were read"
LARGEST_DOUBTFUL_SHARE = 0.05
MOST_DOUBTFUL = 10  # fewer are not warned of
EXAMPLES = 3

NO_PATTERN = len(PATTERN_NAMES)  # the default parser finds no letter
OTHER_PARSER = NO_PATTERN + 1  # the configured one reads otherwise

OF_WORD, OUTSIDE, CONTRADICTED, THOUGHT = 1, 2, 4, 8
DOUBTS = {
    OF_WORD: "doubtful: first letter of a word, or the article",
    OUTSIDE: "doubtful: no option of the question",
    CONTRADICTED: "doubtful: another letter is stated later",
    THOUGHT: "doubtful: read out of the thinking, another letter is answered",
}


class ParseAudit:
    """Collects how each reply was decided; about ten bytes of a sample."""

    def __init__(self) -> None:
        self._pictures = PictureNumbers()
        self._picture = array("i")
        self._hits, self._strict_hits, self._answered_hits = array("b"), array("b"), array("b")
        self._patterns, self._doubts = array("b"), array("b")
        self._counts: Counter[str] = Counter()
        self._examples: list[dict[str, Any]] = []

    def add(self, facts: Mapping[str, Any]) -> None:
        """One more sample; one without an answer has nothing to read."""
        if facts["verdict"] is None:
            return
        reply, chosen = facts["prediction"], facts["chosen"]
        letters = [letter for letter, text in facts["options"].items() if text is not None]
        start, end = answer_span(reply)
        strict = strict_option(reply[start:end], letters)
        answered = option_after_thinking(reply, letters)
        decision = decide(reply)
        is_default = chosen == (decision.letter if decision else None)
        pattern, doubts = OTHER_PARSER, 0
        if is_default:
            pattern = decision.pattern if decision else NO_PATTERN
        if chosen is not None:
            read_at = decision.start if is_default and decision else -1
            doubts |= OF_WORD if is_default and decision and decision.is_of_word else 0
            doubts |= OUTSIDE if chosen not in letters else 0
            if 0 <= read_at < start or read_at >= end:
                doubts |= THOUGHT if answered not in (None, chosen) else 0
            elif strict not in (None, chosen) and (stated := last_statement(reply[start:end])):
                doubts |= CONTRADICTED if start + stated[0] > read_at else 0
        self._picture.append(self._pictures.of(facts["image"]))
        self._hits.append(facts["hit"])
        self._strict_hits.append(strict == facts["answer"])
        self._answered_hits.append(answered == facts["answer"])
        self._patterns.append(pattern)
        self._doubts.append(doubts)
        self._counts["strict none"] += strict is None
        self._counts["differ"] += strict != chosen
        if doubts and len(self._examples) < EXAMPLES:
            self._examples.append({"key": facts["key"], "chosen": chosen, "stated": answered})

    def result(self) -> dict[str, Any]:
        """The section."""
        import numpy as np

        section: dict[str, Any] = {"title": TITLE, "rows": [], "notes": [], "warnings": []}
        if not len(self._hits):
            return section | {"notes": ["No reply to look at."]}
        hits = np.array(self._hits, dtype=np.bool_)
        strict_hits = np.array(self._strict_hits, dtype=np.bool_)
        answered_hits = np.array(self._answered_hits, dtype=np.bool_)
        patterns, doubts = np.array(self._patterns), np.array(self._doubts)
        everything = np.ones(len(hits), dtype=np.bool_)
        default = not bool((patterns == OTHER_PARSER).any())
        name = "the default parser (the score)" if default else "the parse function (the score)"
        section["rows"] = [
            self._row(name, everything, hits),
            self._row("a strict parser", everything, strict_hits),
            self._row(PARSE_OPTION, everything, answered_hits),
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
        is_doubtful = count >= MOST_DOUBTFUL and count > LARGEST_DOUBTFUL_SHARE * len(hits)
        better = self._better(section["rows"], answered_hits, hits)
        parts = [_doubted(doubts)] if is_doubtful else []
        parts += [better] if better else []
        if is_doubtful and not better:
            parts[0] += _remedy(section["rows"])
        if parts:
            section["warnings"].append(f"parse audit: {'. '.join(parts)}")
        return section

    def _better(self, rows: list[Row], answered: Mask, hits: Mask) -> str | None:
        """What to do, where the ready-made parse function is better than chance allows."""
        import numpy as np

        pictures = np.array(self._picture, dtype=np.intp)
        _, discordant, p = lead_over(answered, hits, pictures)
        if p is None or p >= LARGEST_P:
            return None
        own, ready_made = rows[0], rows[2]
        return (
            f"Read as the answer that follows any thinking, these replies score "
            f"{_with_bounds(ready_made)} instead of {_with_bounds(own)} ({own['samples']} replies, "
            f"{discordant} discordant pictures, p {p:.2g}). If that is what the model means, set "
            f'"parse_function": "{PARSE_OPTION}" and run --mode eval; nothing is asked again'
        )

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
            "answer, or a single list item, only letters of the question's options, and only what "
            f"follows any thinking. {PARSE_OPTION} takes the protocol's letter of that where "
            "nothing is stated plainly.",
            f"The score and the strict parser disagree on {self._counts['differ']} "
            f"replies; in {self._counts['strict none']} the strict parser finds no answer.",
        ]
        if read_otherwise:
            notes.append(
                f"The configured parse function is not the default one: it reads {read_otherwise} "
                "replies otherwise. No pattern decided those; the strict parser is compared with "
                "what the configured one chose."
            )
        return notes


def _doubted(doubts: NDArray[np.int8]) -> str:
    words = {
        OF_WORD: "are the first letter of a word or an article",
        OUTSIDE: "are no option of the question",
        CONTRADICTED: "contradict an answer that is stated later",
        THOUGHT: "are read out of the thinking and are not the answer that follows",
    }
    parts = [
        f"{int(((doubts & doubt) > 0).sum())} {text}"
        for doubt, text in words.items()
        if ((doubts & doubt) > 0).any()
    ]
    return f"{int((doubts > 0).sum())} of {len(doubts)} letters are doubtful ({', '.join(parts)})"


def _remedy(rows: list[Row]) -> str:
    """What to do about doubtful letters where no way to read them is clearly better."""
    official, strict, ready_made = (row["value"] for row in rows[:3])
    words = f"; a strict parser scores {strict:.1f} % instead of {official:.1f} %. "
    if official == ready_made:
        return words + "Ask for the letter alone, or set a parse_function for these replies"
    return words + (
        f'Ask for the letter alone, or set "parse_function": "{PARSE_OPTION}", which scores '
        f"{ready_made:.1f} %, and run --mode eval; nothing is asked again"
    )


def _with_bounds(row: Row) -> str:
    bounds = "" if row["low"] is None else f" ({row['low']:.0f} to {row['high']:.0f})"
    return f"{row['value']:.1f} %{bounds}"

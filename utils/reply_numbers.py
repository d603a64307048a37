"""The numbers with which a reply names a place: two for a point, four for a box.

The protocol's own parser takes the first two numbers it meets. This reader looks at the form
instead: numbers with keys (`x=0.2, y=0.3`), in brackets or tags (`(200, 300)`,
`<point>200 300</point>`, `[x1, y1, x2, y2]`) or on a line of their own count before others, and
of equals the last one counts, because models that think aloud answer at the end. What stands
between the marks of a thinking (`utils.thinking`) is no answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

from utils.thinking import after_thinking

Numbers = tuple[float, ...]
"""Two numbers (a point) or four (a box, or two corners), in the order in which x comes first
wherever the reply says which is which."""

LARGEST = 1e6  # no screen has a coordinate beyond it; identifiers and time stamps have

_NUMBER = r"[-+]?(?:\d+(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?"
# Not inside a word (bbox_2d, 1920x1080, v1.2.3); "%" and "px" may follow.
_LONE_NUMBER = re.compile(
    rf"(?<![\w.])(?P<number>{_NUMBER})(?:\s?%|\s?px\b)?(?![\w%]|\.\d)", re.IGNORECASE
)
_KEYED_NUMBER = re.compile(
    rf"(?<![a-z0-9])(?P<key>[xy](?:_?(?:1|2|min|max))?)[\"']?\s*[:=]\s*[\"']?(?P<number>{_NUMBER})"
    r"(?![\w]|\.\d)",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"[\s,;()\[\]{}]{1,12}")  # what may stand between two numbers of one place
_BETWEEN_KEYED = re.compile(r"[\s,;\"'%&px]{1,12}|\s*and\s*", re.IGNORECASE)
_OPENING, _CLOSING = set("([{<>'\"|"), set(")]}<>'\"|")
LONGEST_LABEL = 60  # signs; also what bounds the time that a long reply takes
_LABEL = re.compile(r"[\s*`#>-]*(?:[^\n:=]{0,40}[:=])?[\s*`]*")  # "Answer:" in front of numbers

_KEYED_FORMS = (("x1", "y1", "x2", "y2"), ("xmin", "ymin", "xmax", "ymax"), ("x", "y"))


def numbers_of_reply(reply: str) -> Numbers | None:
    """The two or four numbers with which a reply names its place; None where it offers none.

    Args:
        reply: what the model said, after postprocessing.
    """
    best: tuple[bool, int, Numbers] | None = None
    answer = after_thinking(reply)
    for found in (*_keyed(answer), *_listed(answer)):
        if best is None or found[:2] >= best[:2]:
            best = found
    return best[2] if best else None


def _keyed(reply: str) -> Iterator[tuple[bool, int, Numbers]]:
    """Numbers that say what they are: `x=1, y=2`, `{"x1": 1, ...}`; in whatever order."""
    run: dict[str, float] = {}
    end = -1
    for match in _KEYED_NUMBER.finditer(reply):
        key = match["key"].lower().replace("_", "")
        between = reply[end : match.start()]
        if key in run or end < 0 or not _BETWEEN_KEYED.fullmatch(between):
            run = {}
        run[key] = float(match["number"])
        end = match.end()
        for form in _KEYED_FORMS:
            if set(run) == set(form) and _plausible(run.values()):
                yield True, end, tuple(run[name] for name in form)


def _listed(reply: str) -> Iterator[tuple[bool, int, Numbers]]:
    """Runs of exactly two or four numbers with nothing but separators between them."""
    run: list[float] = []
    start = end = 0
    for match in _LONE_NUMBER.finditer(reply):
        if run and not _BETWEEN.fullmatch(reply, end, match.start()):
            yield from _closed(reply, start, end, run)
            run = []
        if not run:
            start = match.start()
        run.append(float(match["number"]))
        end = match.end()
    yield from _closed(reply, start, end, run)


def _closed(
    reply: str, start: int, end: int, run: list[float]
) -> Iterator[tuple[bool, int, Numbers]]:
    if len(run) not in (2, 4) or not _plausible(run):
        return
    before, after = reply[max(0, start - 4) : start].rstrip(), reply[end : end + 4].lstrip()
    in_brackets = before[-1:] in _OPENING and after[:1] in _CLOSING
    in_front = reply[max(0, start - LONGEST_LABEL) : start].rpartition("\n")[2]
    behind = reply[end : end + LONGEST_LABEL].partition("\n")[0]
    has_line = _LABEL.fullmatch(in_front) and not behind.strip(" \r.*`")
    yield in_brackets or bool(has_line), end, tuple(run)


def _plausible(values: Iterable[float]) -> bool:
    return all(math.isfinite(value) and abs(value) < LARGEST for value in values)

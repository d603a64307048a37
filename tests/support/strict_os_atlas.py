"""OS-Atlas's two scripts on the texts of replies, where they judge another thing than the action.

Their texts are compared whole: a line feed at the end, a full stop or small letters make a right
action wrong. The rules of the program judge actions, so this is for tests alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

REACH = 140  # per mille of each axis
LABEL = re.compile(r"actions:\n")
STRIPPED = "<|im_end>"  # characters, not a word
FAR = (-100, -100)

Triple = tuple[bool, bool | None, bool]  # type, grounding, success


def android_control(case: Mapping[str, Any]) -> Triple:
    """The verdict of `android_control/evaluation_unify.py`.

    Raises:
        IndexError: the script dies.
    """
    truth, answer = str(case["truth"]), _answer(case["reply"])
    kind = truth.split()[0]
    if answer.split()[0] != kind:
        return False, None, False
    if kind in ("CLICK", "LONG_PRESS"):
        is_hit = _is_near(_first_two(truth), _first_two(answer))
        return True, is_hit if kind == "CLICK" else None, is_hit
    is_right = answer == truth
    if kind in ("TYPE", "OPEN_APP"):
        is_right = answer.split()[1].lower() == truth.split()[1].lower() or is_right
    return True, None, is_right


def odyssey(case: Mapping[str, Any]) -> Triple:
    """The verdict of `odyssey/evaluation_unify.py`, which wants exactly two numbers."""
    truth, answer = str(case["truth"]), _answer(case["reply"]).strip()
    kind = truth.split()[0].strip(":")
    if not answer or answer.split()[0].strip(":") != kind:
        return False, None, False
    if kind in ("CLICK", "LONG_PRESS"):
        is_hit = _is_near(_only_two(truth), _only_two(answer))
        return True, is_hit if kind == "CLICK" else None, is_hit
    is_right = answer == truth if kind == "SCROLL" else True
    if kind == "TYPE":
        is_right = _f1(answer, truth) > 0.5
    return True, None, is_right


def _answer(reply: str) -> str:
    label = LABEL.search(reply)
    return reply[label.end() :].strip(STRIPPED) if label else "invalid action"


def _first_two(text: str) -> tuple[int, ...]:
    numbers = [int(digits) for digits in re.findall(r"\d+", text)][:2]
    return tuple(numbers) if len(numbers) == 2 else FAR


def _only_two(text: str) -> tuple[int, ...]:
    numbers = [int(digits) for digits in re.findall(r"\d+", text)]
    return tuple(numbers) if len(numbers) == 2 else (0, 0)


def _is_near(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return math.dist(one, other) <= REACH


def _f1(answer: str, truth: str) -> float:
    answered, recorded = set(answer.lower().split()), set(truth.lower().split())
    common = len(answered & recorded)
    return 2 * common / (len(answered) + len(recorded)) if common else 0.0

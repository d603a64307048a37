"""Rows of AndroidControl whose annotation is doubtful, by rules that anybody can apply.

    repeats      the instruction is that of the step before: mostly the action has been done
    empty        there is no instruction
    opposite     a swipe whose instruction says the opposite of the annotated direction
    other_axis   a swipe whose instruction says a direction of the other axis

The annotated direction is where the content goes. A person who writes "swipe up" means the finger,
so most rows of `opposite` are consistent in themselves; a model that obeys the word is wrong by a
rule that asks for the content.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchmarks.steps.action import opposite

VERSION = 1  # of the rules: figures without doubtful rows compare only within one
REPEATS, EMPTY, OPPOSITE, OTHER_AXIS = "repeats", "empty", "opposite", "other_axis"
MEANINGS = {
    REPEATS: "the instruction is that of the step before",
    EMPTY: "there is no instruction",
    OPPOSITE: "the instruction says the opposite of the recorded direction",
    OTHER_AXIS: "the instruction says a direction of the other axis",
}
"""Each doubt in words."""
DIRECTION_WORD = re.compile(r"\b(up|down|left|right)\b")


def doubts_of_episode(
    instructions: Sequence[str], directions: Sequence[str]
) -> list[tuple[str, ...]]:
    """The doubts about each step of an episode.

    Args:
        instructions: of its steps in order.
        directions: the annotated direction of each step's swipe; "" for other actions.
    """
    earlier: list[str | None] = [None, *instructions[:-1]]
    return [
        tuple(_doubts(instruction, before, direction))
        for instruction, before, direction in zip(instructions, earlier, directions, strict=True)
    ]


def _doubts(instruction: str, before: str | None, direction: str) -> list[str]:
    doubts = []
    if instruction == before:
        doubts.append(REPEATS)
    if not instruction.strip():
        doubts.append(EMPTY)
    word = DIRECTION_WORD.search(instruction.lower())
    if direction and word is not None and word[1] != direction:
        doubts.append(OPPOSITE if word[1] == opposite(direction) else OTHER_AXIS)
    return doubts

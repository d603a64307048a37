"""An answer as a file of another program has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from utils.contracts import WH, Point
from utils.coordinates import Frame
from utils.geometry.targets import Bounds
from utils.text import counted, format_share


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One row of a file of answers; None or empty where the file does not say it."""

    line: int  # in the file, from 1; of a list its number, of a spreadsheet its row
    file: str = ""  # name below the folder that is imported
    dataset: str = ""  # name of its data set, as the row has it
    ids: tuple[str, ...] = ()  # what may be the id of its sample
    place: int | None = None  # in an order that somebody else knows, from 0
    image: str | None = None  # a name to compare, never a path to open
    instruction: str | None = None
    prompt: str | None = None  # a text that holds the instruction somewhere
    options: Mapping[str, Any] | None = None  # of a question, by letter
    box: Bounds | None = None  # in pixels, or in fractions if no number is above 1
    image_wh: WH | None = None
    reply: str | None = None  # "": an empty one; None: the file does not keep it
    point: Point | None = None
    frame: Frame | None = Frame.PIXELS  # of the point; None: the file does not say it
    verdict: bool | None = None  # of the file
    error: str = ""  # why there is no answer
    repeat: int = 1  # which answer to its question it is
    sent_wh: WH | None = None  # of the image as it was sent, and as the model saw it, in pixels
    seen_wh: WH | None = None
    usage: Mapping[str, int] = field(default_factory=dict)
    finish_reason: str | None = None
    damage: str = ""  # what a spreadsheet may have done to the reply

    @property
    def is_empty(self) -> bool:
        """Whether there is neither a reply nor a point."""
        return not self.reply and self.point is None

    @property
    def is_verdict_only(self) -> bool:
        """Whether the row has a verdict, and nothing that can be judged."""
        has_nothing_else = self.reply is None and self.point is None and not self.error
        return self.verdict is not None and has_nothing_else

    def text(self) -> str:
        """Name the row for people: where it stands, its id, its image."""
        parts = [f"{self.file} row {self.line}".strip()]
        if self.ids:
            parts.append(f"id {self.ids[0]}")
        if self.image:
            parts.append(self.image.replace("\\", "/").rpartition("/")[2])
        if self.instruction:
            parts.append(f'"{self.instruction[:60]}"')
        return ", ".join(parts)


def verdicts_problem(verdicts: Sequence[bool]) -> str:
    """Say that rows of verdicts alone are no import, and what their file makes of them.

    Args:
        verdicts: of each row, as the file has it.
    """
    right = sum(verdicts)
    return (
        f"{counted(len(verdicts), 'row')} with a verdict alone, and neither a reply nor a point: "
        f"verdicts cannot be judged again. As the file says, {right:,} of {len(verdicts):,} are "
        f"right ({format_share(right, len(verdicts))} %). Import the file that has the replies"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldEpisode:
    """One try at a task of a live world, as its folder of results has it."""

    task: str
    domain: str
    score: str | None  # as it is written; None: the episode has none
    instruction: str = ""
    steps: int = 0
    error: str = ""  # what has ended it
    number: int = 1  # which try at the task it is
    file: str = ""  # that has the score, below the folder that is imported

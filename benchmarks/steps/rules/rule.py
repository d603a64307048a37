"""The types of a rule and of its verdict on one step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from benchmarks.steps.action import Convention, StepAction
from benchmarks.steps.rules.area import AreaFunction
from benchmarks.steps.truth import StepTruth
from utils.contracts import WH


@dataclass(frozen=True, slots=True)
class StepVerdict:
    """A rule's verdict on one answer; None: the row is not in the denominator of that figure."""

    type: bool | None
    grounding: bool | None
    success: bool | float | None
    # Terms of the rule's official figures.
    counts: Mapping[str, float] = field(default_factory=dict)


DROPPED = StepVerdict(type=None, grounding=None, success=None)
"""Of a row that the rule leaves out altogether."""


class Share(NamedTuple):
    """A figure with both its numbers."""

    numerator: float
    denominator: float

    @property
    def value(self) -> float | None:
        """The quotient; None where there is nothing to count."""
        return self.numerator / self.denominator if self.denominator else None


@dataclass(frozen=True, slots=True)
class JudgedStep:
    """One answer with its verdict and its place in an episode."""

    episode: str
    step: int
    action: StepAction | None  # None: nothing could be read
    truth: StepTruth
    verdict: StepVerdict


class HasVerdict(Protocol):
    """A step with a rule's verdict."""

    @property
    def episode(self) -> str:
        """The episode that it is part of."""

    @property
    def step(self) -> int:
        """Its place there."""

    @property
    def verdict(self) -> StepVerdict:
        """The verdict of the rule."""


JudgeFunction = Callable[[Any, Any, WH], StepVerdict]
"""An answer (None: nothing could be read), the truth, the size of the image in pixels → verdict.

Answers are `StepAction` and truths `StepTruth`; on a desktop, lists of actions."""
OfficialFigures = Callable[[Sequence[JudgedStep]], dict[str, Share]]
OfficialNotes = Callable[[Sequence[JudgedStep]], dict[str, str]]
"""Of some of the official figures a note each, by the figure's name."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A published way to compare an answer with what was recorded."""

    name: str
    judge: JudgeFunction
    description: str  # what else it asks for, in sentences
    grounding: str  # the denominator of Grounding in words; "": the rule has none
    convention: Convention | None  # of a swipe's direction; None: the direction is not asked for
    source: str  # repository and commit of the authors' code
    official_figures: OfficialFigures | None = None  # where the official denominators differ
    official_notes: OfficialNotes | None = None  # what a reader of them would not expect
    clicks: str = ""  # where a click is right: "within 0.04"; "": the description says it
    area: AreaFunction | None = None  # the same, to be drawn
    has_boxes: bool = True  # a click in some box is right
    asks_type: bool = True  # an answer of another kind is wrong for that alone

    @property
    def sentences(self) -> str:
        """The description of the rule in sentences, with the denominator of Grounding."""
        clicks = f"A click is right {self.clicks}. " if self.clicks else ""
        grounding = f" Grounding is over {self.grounding}." if self.grounding else ""
        return f"{clicks}{self.description}{grounding}"

    def area_in_json(self, truth: Any, size: WH) -> dict[str, Any] | None:
        """The area of right clicks on an image of this size, as JSON; None: nothing to draw."""
        area = self.area(truth, size) if self.area is not None else None
        return None if area is None else area.as_json()


def sum_of(rows: Sequence[JudgedStep], name: str) -> float:
    """The sum of one of the verdicts' counts."""
    return sum(row.verdict.counts.get(name, 0) for row in rows)

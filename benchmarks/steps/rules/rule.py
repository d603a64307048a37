"""What a rule is and what it says of one step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from benchmarks.steps.action import Convention, StepAction
from benchmarks.steps.truth import StepTruth
from utils.contracts import WH


@dataclass(frozen=True, slots=True)
class StepVerdict:
    """What a rule says of one answer; None: the row is in no such denominator."""

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
    """A step with what a rule says of it."""

    @property
    def episode(self) -> str:
        """The episode that it is part of."""

    @property
    def step(self) -> int:
        """Its place there."""

    @property
    def verdict(self) -> StepVerdict:
        """What the rule says."""


JudgeFunction = Callable[[Any, Any, WH], StepVerdict]
"""An answer (None: nothing could be read), the truth, the size of the image in pixels → verdict.

Answers are `StepAction` and truths `StepTruth`; on a desktop, lists of actions."""
OfficialFigures = Callable[[Sequence[JudgedStep]], dict[str, Share]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A published way to compare an answer with what was recorded."""

    name: str
    judge: JudgeFunction
    description: str  # in one sentence
    grounding: str  # the denominator of Grounding in words; "": the rule has none
    convention: Convention | None  # of a swipe's direction; None: the direction is not asked for
    source: str  # repository and commit of the authors' code
    official_figures: OfficialFigures | None = None  # where the official denominators differ
    has_boxes: bool = True  # a click in some box is right


def sum_of(rows: Sequence[JudgedStep], name: str) -> float:
    """The sum of one of the verdicts' counts."""
    return sum(row.verdict.counts.get(name, 0) for row in rows)

"""A rule of the user's: a function by dotted path that judges one answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.steps.action import StepAction
from benchmarks.steps.rules import Rule, StepVerdict
from benchmarks.steps.truth import StepTruth
from utils.contracts import WH
from utils.functions.calling import call_user_function
from utils.functions.names import dotted_name


def rule_of_user(function: Callable[..., Any]) -> Rule:
    """The rule of a function `f(action, truth, size)`, named by its dotted path.

    It takes a `StepAction` (None: nothing could be read), a `StepTruth` and the size of the image
    in pixels, and returns `(type, grounding, success)`: True, False, a number from 0 to 1, or None
    where the row does not count in that figure.
    """
    dotted = dotted_name(function)

    def judge(action: StepAction | None, truth: StepTruth, size: WH) -> StepVerdict:
        verdict: Any = call_user_function("rule", function, action, truth, size)
        return verdict if isinstance(verdict, StepVerdict) else StepVerdict(*verdict)

    return Rule(
        name=dotted,
        judge=judge,
        description=(function.__doc__ or "A function of yours.").strip().partition("\n")[0],
        grounding="rows where the function returns a figure for it",
        convention=None,
        source=dotted,
    )

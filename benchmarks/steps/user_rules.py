"""A rule of the user's: a function by dotted path that judges one answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from benchmarks.steps.rules import Rule, StepVerdict
from benchmarks.steps.truth import StepTruth
from utils.contracts import WH, UserFunctionError
from utils.coordinates import frac_to_px
from utils.errors import ScorerError
from utils.functions.calling import call_user_function
from utils.functions.names import dotted_name


def rule_of_user(function: Callable[..., Any]) -> Rule:
    """The rule of a function `f(action, truth, size)`, named by its dotted path.

    It takes a `StepAction` (None: nothing could be read), a `StepTruth` and the size of the image
    in pixels, and returns `(type, grounding, success)`: True, False, a number from 0 to 1, or None
    where the row does not count in that figure.

    The rule raises a `ScorerError` where the function raises, or returns something else.
    """
    dotted = dotted_name(function)

    def judge(action: Any, truth: Any, size: WH) -> StepVerdict:
        if isinstance(truth, StepTruth):
            truth = _with_both_units(truth, size)
        try:
            verdict: Any = call_user_function("rule", function, action, truth, size)
        except UserFunctionError as failure:
            raise ScorerError(f"{dotted} {failure.summary}, for the answer {action}") from None
        if isinstance(verdict, StepVerdict):
            verdict = (verdict.type, verdict.grounding, verdict.success)
        if not isinstance(verdict, (tuple, list)) or not _is_verdict(verdict):
            raise ScorerError(
                f"{dotted} returned {verdict!r:.100}, for the answer {action}; expected type, "
                "grounding and success: each True, False, None, or a number from 0 to 1"
            )
        return StepVerdict(*verdict)

    return Rule(
        name=dotted,
        judge=judge,
        description=(function.__doc__ or "A function of yours.").strip().partition("\n")[0],
        grounding="rows where the function returns a figure for it",
        convention=None,
        source=dotted,
    )


def _is_verdict(values: tuple[Any, ...] | list[Any]) -> bool:
    return len(values) == 3 and all(
        value is None or (isinstance(value, (int, float)) and 0 <= value <= 1) for value in values
    )


def _with_both_units(truth: StepTruth, size: WH) -> StepTruth:
    """The truth with its point and boxes in pixels and in fractions, whichever it had."""
    point_frac = truth.point_frac(size)
    boxes_frac = truth.candidate_boxes_frac(size)
    return replace(
        truth,
        point_px=truth.point_px or (point_frac and frac_to_px(point_frac, size)),
        boxes_px=truth.boxes_px
        or tuple((*frac_to_px(box[:2], size), *frac_to_px(box[2:], size)) for box in boxes_frac),
        boxes_frac=boxes_frac,
    )

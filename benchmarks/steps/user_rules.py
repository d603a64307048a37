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
    in pixels, and returns `(type, grounding, success)`: True, False, or None where the row does not
    count in that figure. `success` may also be a number from 0 to 1.

    The rule raises a `ScorerError` where the function raises, or returns something else.
    """
    dotted = dotted_name(function)

    def judge(action: Any, truth: Any, size: WH) -> StepVerdict:
        if isinstance(truth, StepTruth):
            truth = _with_both_units(truth, size)
        try:
            returned: Any = call_user_function("rule", function, action, truth, size)
        except UserFunctionError as failure:
            raise ScorerError(f"{dotted} {failure.summary}, for the answer {action}") from None
        verdict = returned
        if isinstance(returned, (tuple, list)) and len(returned) == 3:
            verdict = StepVerdict(*map(_plain, returned))
        if not isinstance(verdict, StepVerdict) or not _is_countable(verdict):
            raise ScorerError(
                f"{dotted} returned {returned!r:.100}, for the answer {action}; expected type, "
                "grounding and success: each True, False or None; success may also be a number "
                "from 0 to 1"
            )
        return verdict

    return Rule(
        name=dotted,
        judge=judge,
        description=(function.__doc__ or "A function of yours.").strip().partition("\n")[0],
        grounding="rows where the function returns a figure for it",
        convention=None,
        source=dotted,
    )


def _plain(value: Any) -> Any:
    """A scalar of numpy as a value of Python, which files can hold; any other value as it is."""
    import numpy as np

    return value.item() if isinstance(value, np.generic) else value


def _is_countable(verdict: StepVerdict) -> bool:
    """Whether each figure is None or a truth value; success may also be a share."""
    try:
        is_share = verdict.success is None or 0 <= verdict.success <= 1
        return is_share and all(
            value is None or value in (0, 1) for value in (verdict.type, verdict.grounding)
        )
    except (TypeError, ValueError):  # a text, an array
        return False


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

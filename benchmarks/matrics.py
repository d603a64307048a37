"""Scores: plain numbers in, score objects out. No files, no environment, no clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from utils.contracts import WH, Point, Verdict
from utils.protocol import (
    DIFFICULTIES,
    GROUNDING_TYPES,
    PLATFORM_ORDER,
    PLATFORMS,
    TIERS,
    are_too_many,
)

Scores = dict[str, Any]
LARGEST = 1e9  # pixels; NaN, infinity and whole numbers without end are no coordinates


class Box(NamedTuple):
    """A target as fractions of the image's width and height; corners as annotated."""

    x1: float
    y1: float
    x2: float
    y2: float


def box_as_fractions(bbox: Sequence[float], file_wh: WH) -> Box:
    """Return the annotated box in fractions of the image.

    It has fractions if all four values lie in 0..1, else pixels of the image file; a -1 stands for
    0.

    Raises:
        ValueError: not four finite numbers, or outside the image.
    """
    if len(bbox) != 4 or not all(type(v) in (int, float) and abs(v) < LARGEST for v in bbox):
        raise ValueError(f"expected four numbers x1, y1, x2, y2, got {list(bbox)}")
    values = [0.0 if value == -1 else float(value) for value in bbox]
    if not all(0 <= value <= 1 for value in values):
        width, height = file_wh
        values = [values[0] / width, values[1] / height, values[2] / width, values[3] / height]
        if not all(0 <= value <= 1 for value in values):
            raise ValueError(f"{list(bbox)} lies outside the image of {width}x{height} pixels")
    return Box(*values)


def score_click(box_frac: Box, click_frac: Point | None) -> Verdict:
    """Return the verdict on a click; `click_frac` is None if the reply had no readable click.

    The bounds belong to the box; a crossed box (x1 > x2) contains nothing.
    """
    if click_frac is None:
        return Verdict.UNPARSED
    x, y = click_frac
    is_inside = box_frac.x1 <= x <= box_frac.x2 and box_frac.y1 <= y <= box_frac.y2
    return Verdict.HIT if is_inside else Verdict.MISS


class OptionResult(NamedTuple):
    """One scored multiple-choice question."""

    difficulty: str
    platform: str
    hit: bool
    options_num: int


def score_content_understanding(rows: Iterable[OptionResult], *, weighted: bool) -> Scores:
    """Return the L1 score object; scores are in 0..1, failed requests count as misses.

    Args:
        weighted: a question with n options weighs (n-1)/n, the chance of a blind guess to miss.

    Returns:
        `{difficulty: {platform: {score, sample_num}, level_sample_num, level_score},
        total_sample_num}`. A platform of the set that a difficulty lacks has score None there and
        stays out of `level_score`.
    """
    rows = list(rows)
    platforms = in_order({row.platform for row in rows}, PLATFORMS)
    scores: Scores = {}
    for difficulty in in_order({row.difficulty for row in rows}, DIFFICULTIES):
        group = [row for row in rows if row.difficulty == difficulty]
        block: Scores = {
            platform: _option_block([row for row in group if row.platform == platform], weighted)
            for platform in platforms
        }
        scores[difficulty] = block | {
            "level_sample_num": len(group),
            "level_score": _weighted_mean(
                (part["score"], part["sample_num"]) for part in block.values()
            ),
        }
    scores["total_sample_num"] = len(rows)
    return scores


def _option_block(group: Sequence[OptionResult], weighted: bool) -> Scores:
    weights = [(row.options_num - 1) / row.options_num if weighted else 1.0 for row in group]
    base = mean(weights)
    earned = mean([weight * row.hit for weight, row in zip(weights, group, strict=True)])
    score = earned / base if earned is not None and base else None
    parts = {"score_weighted": earned, "score_base": base} if weighted else {}
    return {"score": score, **parts, "sample_num": len(group)}


def score_element_grounding(
    outcomes: Mapping[str, Mapping[str, Mapping[str, Sequence[int]]]],
) -> Scores:
    """Return the L2 score object; accuracies are in percent, None where nothing was counted.

    Args:
        outcomes: grounding type → platform → kind of element ("icon", "text", other) → outcomes,
            each 1 (hit), 0 (miss) or -1 (no point in the reply, or no reply).
    """
    blocks: dict[str, Scores] = {
        split: {name: _grounding_block(platforms[name]) for name in in_order(platforms, PLATFORMS)}
        for split, platforms in outcomes.items()
    }
    by_split = {
        split: _weighted_mean(
            (part["Total accuracy"], part["Total num"]) for part in blocks.get(split, {}).values()
        )
        for split in GROUNDING_TYPES
    }
    return {
        "Average accuracy": mean(by_split.values()),
        "Basic accuracy": by_split["basic"],
        "Advanced accuracy": by_split["advanced"],
        **{split: blocks[split] for split in in_order(blocks, GROUNDING_TYPES)},
    }


def _grounding_block(kinds: Mapping[str, Sequence[int]]) -> Scores:
    icon = kinds.get("icon", ())
    text = kinds.get("text", ())
    scored = [*icon, *text]
    # parity: a kind other than icon and text counts in the divisor and nowhere else.
    total = sum(len(values) for values in kinds.values())
    correct = scored.count(1)
    return {
        "Total num": total,
        "Icon num": len(icon),
        "Text num": len(text),
        "Total accuracy": 100 * correct / total if total else None,
        "Icon accuracy": _percent_of_hits(icon),
        "Text accuracy": _percent_of_hits(text),
        "Correct num": correct,
        "Wrong num": scored.count(0),
        "Error format num": scored.count(-1),
    }


def in_order(names: Iterable[str], order: Sequence[str]) -> list[str]:
    """Return known names in their usual order, then the others by alphabet."""
    names = set(names)
    return [name for name in order if name in names] + sorted(names - set(order))


def _percent_of_hits(outcomes: Sequence[int]) -> float | None:
    return 100 * list(outcomes).count(1) / len(outcomes) if outcomes else None


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are there; None of none."""
    present = [value for value in values if value is not None]
    return sum(present) / len(present) if present else None


def _weighted_mean(pairs: Iterable[tuple[float | None, int]]) -> float | None:
    counted = [(value, weight) for value, weight in pairs if value is not None]
    total = sum(weight for _, weight in counted)
    return sum(value * weight for value, weight in counted) / total if total else None


# -- episodes (L3, L4) ----------------------------------------------------------------------------

ENVIRONMENT = "environment"
COSTS = {
    "requests": "requests",
    "prompt tokens": "prompt_tokens",
    "completion tokens": "completion_tokens",
    "seconds": "seconds",
    "model seconds": "model_seconds",
}
"""What is said of the cost of episodes, by fields of `Cost`."""
AREA_POINTS = 100  # parts into which the used budget is divided


class Cost(NamedTuple):
    """The cost of one episode."""

    requests: int  # those that were repeated, too
    prompt_tokens: int | None  # None: the server does not count them
    completion_tokens: int | None
    seconds: float  # of the whole episode
    model_seconds: float  # of these, how many the model took to reply


class TaskResult(NamedTuple):
    """One episode: whether it came to what the task asks for, and after how many steps."""

    success: bool
    steps: int
    platform: str
    category: str
    apps: tuple[str, ...]
    tier: str | None = None  # None: its environment has none
    partial: float | None = None  # the share of the expected effects; None: the world gives none
    feasible: bool | None = True  # None: not known
    end_reason: str = ""  # why the episode was over; `ENVIRONMENT`: its world failed
    actions: int = 0
    cost: Cost | None = None  # None: not known

    def within(self, budget: int) -> TaskResult:
        """Return the same episode under a smaller budget: what came later did not happen."""
        is_in_time = self.success and self.steps <= budget
        return self._replace(success=is_in_time, steps=min(self.steps, budget))


def success_rate(results: Sequence[TaskResult]) -> float | None:
    """Return the share of episodes that succeeded, 0..1; None of none."""
    return mean([result.success for result in results])


def efficiency_area(results: Sequence[TaskResult], budget: int) -> float | None:
    """Return EQA as its authors' script reads it: the area under success over steps used, 0..1.

    After k episodes, u is the share of all steps that they were allowed, R the share of all
    episodes that succeeded so far. R at u = 0, 0.01, ..., 1, linear between the episodes from
    (0, 0) on and constant after the last one; their mean. It depends on the order of the episodes.

    Source: arXiv 2507.19478, section 3.4.
    """
    count = len(results)
    if not count:
        return None
    # Whole numbers, so that an episode that ends exactly on a point counts there.
    ends = [0]
    solved = [0]
    for result in results:
        ends.append(ends[-1] + result.steps * AREA_POINTS)
        solved.append(solved[-1] + result.success)
    total = 0.0
    k = 0
    for point in range(AREA_POINTS + 1):
        used = point * count * budget
        while k < count and ends[k + 1] <= used:
            k += 1
        total += solved[k]
        if k < count:
            total += (solved[k + 1] - solved[k]) * (used - ends[k]) / (ends[k + 1] - ends[k])
    return total / count / (AREA_POINTS + 1)


def expected_areas(results: Sequence[TaskResult], budget: int) -> list[float]:
    """The part of each episode in the exact area under the steps of R, over all orders.

    Their mean is a figure that no order moves: an episode that succeeds after t steps counts
    1 - (T + t) / (2 N budget) with T steps in all N episodes.
    """
    steps = sum(result.steps for result in results)
    allowed = 2 * len(results) * budget
    return [1 - (steps + result.steps) / allowed if result.success else 0.0 for result in results]


def partial_credits(results: Sequence[TaskResult]) -> list[float]:
    """The credit of each episode, 0..1: its share, or its success where there is none."""
    return [
        float(result.success) if result.partial is None else result.partial for result in results
    ]


def feasibility_groups(results: Sequence[TaskResult]) -> dict[str, list[int]]:
    """Return the indices of the episodes whose task can be done, and of those where it cannot.

    Those of which it is not known are in neither.
    """
    return {
        "feasible": [index for index, result in enumerate(results) if result.feasible is True],
        "infeasible": [index for index, result in enumerate(results) if result.feasible is False],
    }


def given_up(results: Sequence[TaskResult]) -> list[bool]:
    """Return, by episode, whether the agent ended it by saying that the task cannot be done."""
    return [result.end_reason == "fail" for result in results]


def environment_failures(results: Sequence[TaskResult]) -> int:
    """The number of episodes whose environment has failed twice."""
    return sum(result.end_reason == ENVIRONMENT for result in results)


def score_episodes(results: Sequence[TaskResult], budgets: Sequence[int]) -> Scores:
    """Return the score object of L3 and L4: by budget, all episodes, then by platform and so on.

    Rates, areas and shares are in percent, None where there is no episode. What has no step limit
    in its name is of the largest budget.
    """
    scores: Scores = {}
    for budget in budgets:
        in_budget = [result.within(budget) for result in results]
        block = _episode_block(in_budget, budget)
        for grouping, groups in episode_groups(in_budget).items():
            block[grouping] = {
                name: _episode_block([in_budget[index] for index in indices], budget)
                for name, indices in groups.items()
            }
        scores[f"Max step {budget}"] = block
    groups = feasibility_groups(results)
    feasible, infeasible = ([results[index] for index in indices] for indices in groups.values())
    failures = environment_failures(results)
    return {
        **scores,
        "Feasible tasks": {
            "SR": _percent(success_rate(feasible)),
            "False fail rate": _percent(mean(given_up(feasible))),
            "False fail num": sum(given_up(feasible)),
            "Total num": len(feasible),
        },
        "Infeasible tasks": {
            "Recall": _percent(success_rate(infeasible)),
            "Total num": len(infeasible),
        },
        "Partial credit": _percent(mean(partial_credits(results))),
        "Cost": {name: cost_of(results, per=name) for name in ("episode", "success")},
        "Environment failures": {  # with too many, no headline is shown
            "Num": failures,
            "Rate": _percent(failures / len(results)) if results else None,
            "Headline": not are_too_many(failures, len(results)),
        },
        "Total num": len(results),
    }


def cost_of(results: Sequence[TaskResult], *, per: str) -> Scores:
    """Return the mean cost of an episode, or what all of them cost for each "success".

    Steps and actions are those of all episodes; the rest is of those whose cost is known, None
    where there is none, or no success among them.
    """
    with_cost = [result for result in results if result.cost is not None]
    numbers = {
        "steps": _per([result.steps for result in results], results, per),
        "actions": _per([result.actions for result in results], results, per),
    }
    for name, field in COSTS.items():
        values = [getattr(result.cost, field) for result in with_cost]
        is_known = None not in values
        numbers[name] = _per(values, with_cost, per) if is_known else None
    return {**numbers, "Known num": len(with_cost)}


def _per(values: Sequence[float], results: Sequence[TaskResult], per: str) -> float | None:
    count = sum(result.success for result in results) if per == "success" else len(results)
    return sum(values) / count if count else None


def episode_groups(results: Sequence[TaskResult]) -> dict[str, dict[str, list[int]]]:
    """Return the indices of the episodes of each platform, category and application."""
    labels_by_grouping = {
        "platform": [{result.platform} for result in results],
        "category": [{result.category} for result in results],
        "tier": [{result.tier} if result.tier else set() for result in results],
        "app": [set(result.apps) for result in results],
    }
    groups: dict[str, dict[str, list[int]]] = {}
    for grouping, names_by_episode in labels_by_grouping.items():
        names = in_order(set().union(*names_by_episode), (*PLATFORM_ORDER, *TIERS))
        groups[grouping] = {
            name: [index for index, labels in enumerate(names_by_episode) if name in labels]
            for name in names
        }
    return groups


def _episode_block(results: Sequence[TaskResult], budget: int) -> Scores:
    shares = {
        "SR": success_rate(results),
        "EQA": efficiency_area(results, budget),
        "EQA in any order": mean(expected_areas(results, budget)),
    }
    return {
        **{name: _percent(value) for name, value in shares.items()},
        "Mean steps": mean([result.steps for result in results]),
        "Correct num": sum(result.success for result in results),
        "Total num": len(results),
    }

"""SR and EQA of episodes against values worked out by hand."""

import itertools

import numpy as np
import pytest

from benchmarks.matrics import (
    TaskResult,
    efficiency_area,
    expected_areas,
    score_episodes,
    success_rate,
)

YES, NO = True, False


def results(*pairs):
    return [TaskResult(success, steps, "os_web", "update", ("mail",)) for success, steps in pairs]


@pytest.mark.parametrize(
    ("pairs", "budget", "rate", "area"),
    [
        # One task done after half of its steps: R rises from (0, 0) to (0.5, 1) and stays; at 0.00,
        # 0.02, ..., 1.00 for the first 51 points, then 50 points of 1.
        ([(YES, 5)], 10, 1, (25.5 + 50) / 101),
        ([(YES, 10)], 10, 1, 50.5 / 101),  # the last step: a straight line
        ([(NO, 10)], 10, 0, 0),
        ([(NO, 3)], 10, 0, 0),
        # Two tasks, the first one done at once: (0, 0) → (0.05, 0.5) → (0.55, 0.5), constant.
        ([(YES, 1), (NO, 10)], 10, 0.5, (sum(0.1 * k for k in range(6)) + 95 * 0.5) / 101),
        # In the other order it is later: (0, 0) → (0.5, 0) → (0.55, 0.5).
        ([(NO, 10), (YES, 1)], 10, 0.5, (sum(0.1 * k for k in range(6)) + 45 * 0.5) / 101),
        ([], 10, None, None),
    ],
)
def test_rate_and_area_by_hand(pairs, budget, rate, area):
    episodes = results(*pairs)
    assert success_rate(episodes) == rate
    assert efficiency_area(episodes, budget) == (None if area is None else pytest.approx(area))


def test_the_area_is_what_interpolation_at_101_points_gives():
    draw = np.random.default_rng(0)
    for count in (1, 2, 7, 60):
        episodes = results(*zip(draw.random(count) < 0.5, draw.integers(1, 51, count), strict=True))
        used = np.cumsum([0, *(episode.steps for episode in episodes)]) / (50 * count)
        solved = np.cumsum([0, *(episode.success for episode in episodes)]) / count
        expected = np.interp(np.linspace(0, 1, 101), used, solved).mean()
        assert efficiency_area(episodes, 50) == pytest.approx(expected)


def test_the_expected_area_is_the_mean_over_all_orders():
    episodes = results((YES, 3), (NO, 10), (YES, 7), (NO, 1), (YES, 10))

    def exact(order):
        """The area under the steps of R."""
        used, area = 0, 0.0
        for episode in order:
            used += episode.steps
            area += episode.success * (1 - used / (10 * len(order)))
        return area / len(order)

    orders = [exact(order) for order in itertools.permutations(episodes)]
    assert np.mean(expected_areas(episodes, 10)) == pytest.approx(np.mean(orders))


def test_a_smaller_budget_cuts_off_what_came_later():
    scores = score_episodes(results((YES, 15), (YES, 16), (NO, 50), (YES, 2)), [15, 50])
    assert [scores[f"Max step {budget}"]["SR"] for budget in (15, 50)] == [50, 75]
    assert [scores[f"Max step {budget}"]["Mean steps"] for budget in (15, 50)] == [11.75, 20.75]
    assert scores["Total num"] == 4


def test_each_platform_category_and_application_has_its_own_figures():
    results = [
        TaskResult(YES, 5, "os_web", "lookup", ("mail", "chat")),
        TaskResult(NO, 50, "os_web", "update", ("mail",)),
        TaskResult(YES, 9, "os_android", "update", ("chat",)),
    ]
    scores = score_episodes(results, [50])["Max step 50"]
    rates = {
        name: {
            label: (group_scores["SR"], group_scores["Total num"])
            for label, group_scores in scores[name].items()
        }
        for name in ("platform", "category", "app")
    }
    assert rates == {
        "platform": {"os_android": (100, 1), "os_web": (50, 2)},
        "category": {"lookup": (100, 1), "update": (50, 2)},
        "app": {"chat": (100, 2), "mail": (50, 2)},
    }


def test_no_episode_has_no_score():
    scores = score_episodes([], [15])["Max step 15"]
    assert (scores["SR"], scores["EQA"], scores["EQA in any order"], scores["Total num"]) == (
        None,
        None,
        None,
        0,
    )

"""SR and EQA of episodes against values worked out by hand."""

import itertools

import numpy as np
import pytest

from benchmarks.episode_figures import episode_sections
from benchmarks.matrics import (
    Cost,
    TaskResult,
    efficiency_area,
    expected_areas,
    score_episodes,
    success_rate,
)
from utils.analysis.columns import SampleColumns
from utils.protocol import official_figures, why_no_score

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


# -- kinds of tasks, partial credit, cost ----------------------------------------------------------


def graded(success, end_reason, *, feasible=True, tier="basic", partial=None, cost=None, actions=2):
    return TaskResult(
        success,
        4,
        "os_web",
        "update",
        ("mail",),
        tier=tier,
        partial=partial,
        feasible=feasible,
        end_reason=end_reason,
        actions=actions,
        cost=cost,
    )


FIVE = [
    graded(YES, "done", partial=1.0, cost=Cost(4, 1000, 100, 20.0, 8.0), actions=6),
    graded(NO, "done", tier="long", partial=0.5, cost=Cost(8, 3000, 300, 40.0, 16.0), actions=10),
    graded(NO, "fail", tier="long", partial=0.0, cost=Cost(1, 500, 50, 5.0, 2.0), actions=1),
    graded(YES, "fail", feasible=False, partial=1.0, cost=Cost(1, 500, 50, 5.0, 2.0), actions=1),
    graded(NO, "done", feasible=False, partial=0.0, cost=Cost(2, 1000, 0, 10.0, 4.0), actions=2),
]
"""Three tasks that can be done, of which one is done and one given up; two that cannot be."""


def test_tasks_that_cannot_be_done_have_figures_of_their_own():
    scores = score_episodes(FIVE, [15])
    assert scores["Max step 15"]["SR"] == 40
    assert scores["Feasible tasks"] == {
        "SR": pytest.approx(100 / 3),
        "False fail rate": pytest.approx(100 / 3),
        "False fail num": 1,
        "Total num": 3,
    }
    assert scores["Infeasible tasks"] == {"Recall": 50, "Total num": 2}
    unknown = score_episodes([graded(YES, "done", feasible=None)], [15])
    assert unknown["Feasible tasks"]["Total num"] == unknown["Infeasible tasks"]["Total num"] == 0


def test_each_tier_has_its_success_rate_and_partial_credit_stands_beside():
    scores = score_episodes(FIVE, [15])
    tiers = {name: block["SR"] for name, block in scores["Max step 15"]["tier"].items()}
    assert tiers == {"basic": pytest.approx(200 / 3), "long": 0}
    assert list(tiers) == ["basic", "long"]
    assert scores["Partial credit"] == 50  # (1 + 0.5 + 0 + 1 + 0) / 5
    # Where a world gives no share, an episode is worth what it came to.
    episodes = [graded(YES, "done"), graded(NO, "done"), graded(NO, "done", partial=0.8)]
    assert score_episodes(episodes, [15])["Partial credit"] == pytest.approx(60)


def test_costs_are_means_of_episodes_and_all_of_them_for_each_success():
    scores = score_episodes(FIVE, [15])
    assert scores["Cost"]["episode"] == {
        "steps": 4,
        "actions": 4,  # (6 + 10 + 1 + 1 + 2) / 5
        "requests": 3.2,  # 16 / 5
        "prompt tokens": 1200,
        "completion tokens": 100,
        "seconds": 16,
        "model seconds": 6.4,
        "Known num": 5,
    }
    assert scores["Cost"]["success"] == {
        "steps": 10,
        "actions": 10,
        "requests": 8,
        "prompt tokens": 3000,
        "completion tokens": 250,
        "seconds": 40,
        "model seconds": 16,
        "Known num": 5,
    }


def test_costs_that_are_not_known_are_none():
    without_tokens = graded(NO, "done", cost=Cost(4, None, None, 20.0, 8.0))
    scores = score_episodes([without_tokens, graded(NO, "done")], [15])
    cost = scores["Cost"]["episode"]
    assert (cost["requests"], cost["prompt tokens"], cost["Known num"]) == (4, None, 1)
    assert scores["Cost"]["success"]["requests"] is None


def test_above_one_percent_of_environment_failures_there_is_no_headline():
    played = [graded(YES, "done")] * 99
    for failures, headline in ((1, True), (2, False)):
        episodes = [*played, *[graded(NO, "environment")] * failures]
        failure_row = score_episodes(episodes, [15])["Environment failures"]
        assert (failure_row["Num"], failure_row["Headline"]) == (failures, headline)
        counts = {"without_answer": failures, "environment_failures": failures}
        assert (not why_no_score("L3", len(episodes), **counts)) is headline
    why = why_no_score("L3", 101, without_answer=2, environment_failures=2)
    assert why == "2 of 101 episodes failed in their environment, more than 1 %"
    # Too few answers say so first, unless the environment alone is to blame.
    why = why_no_score("L3", 3, without_answer=2, environment_failures=1)
    assert why == "2 of 3 episodes have no answer"
    why = why_no_score("L3", 3, without_answer=2, environment_failures=2)
    assert why == "2 of 3 episodes failed in their environment, more than 1 %"


def sections_of(results):
    """The sections of some episodes, as an analysis has them."""
    columns = SampleColumns()
    for number, result in enumerate(results):
        facts = result._asdict()
        cost = facts.pop("cost")
        facts |= {"hit": int(result.success), "split": result.category, "task": str(number)}
        facts |= {"ended": result.end_reason, "action_count": result.actions}
        facts["cost"] = cost and cost._asdict()
        columns.add(facts)
    return episode_sections(columns, "L3 made", [15])


def test_the_table_has_rows_for_kinds_of_tasks_and_the_area_that_no_order_moves():
    sections = sections_of(FIVE)
    rows = {row["name"]: row["cells"][-1]["value"] for row in sections["table"]["rows"]}
    area = rows.pop("EQA* 15")
    assert rows == {
        "SR 15": 40,
        "SR feasible": pytest.approx(100 / 3),
        "recall infeasible": 50,
        "false fail": pytest.approx(100 / 3),
        "SR basic": pytest.approx(200 / 3),
        "SR long": 0,
        "partial credit": 50,
    }
    assert area == pytest.approx(score_episodes(FIVE, [15])["Max step 15"]["EQA in any order"])
    assert list(official_figures(sections)) == ["SR 15", "EQA* 15"]
    assert {name: cell["at"] for name, cell in sections["groups"]["tier"].items()} == {
        "basic": "0 3-4",
        "long": "1-2",
    }
    [in_order] = sections["efficiency"]["rows"]
    assert in_order["EQA"] == pytest.approx(score_episodes(FIVE, [15])["Max step 15"]["EQA"])
    per_episode, per_success = sections["cost"]["rows"]
    assert (per_episode["prompt tokens"], per_success["requests"]) == (1200, 8)
    without_kinds = sections_of([graded(YES, "done", tier=None)])["table"]["rows"]
    assert [row["name"] for row in without_kinds] == ["SR 15", "EQA* 15", "false fail"]

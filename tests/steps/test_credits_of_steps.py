"""Rules that leave steps out, or find a part of one right: all figures are the SR of the score."""

import json

import pytest

from tests.steps.conftest import right
from tests.support.mock_server import Reply
from utils.comparing.headroom import headrooms_of
from utils.comparing.pairing import compare
from utils.comparing.runs import read_runs
from utils.comparing.words import as_text
from utils.contracts import credit_of

RULE = """
def mine(action, truth, size):
    if truth.action.kind == "open_app":
        return None, None, None
    if action is None or action.kind != truth.action.kind:
        return False, None, False
    if action.kind == "swipe" and action.direction != truth.action.direction:
        return True, None, 0.6
    return True, None, True
"""
SR_OF_SCROLLED_UP = 100 * (1 + 1 + 0.6 + 1) / 4


@pytest.fixture
def credited(recorded):
    """A stage with a rule that leaves out one of five steps, and gives credit for any scroll."""
    recorded.module(RULE, "my_rules")
    recorded.data["Steps"]["rule"] = "my_rules.mine"
    del recorded.model["m"]["generate_cfg"]["temperature"]
    recorded.model |= dict.fromkeys("no", recorded.model["m"])
    return recorded


def scrolls_up(request):
    """Is right but in the step that the rule leaves out, and in the direction of the scroll."""
    if "open the shop" in request.text:
        return Reply("Action: wait(3)")
    return Reply('Action: scroll("up")') if "scroll down" in request.text else right(request)


def runs_of(stage, **answer_by_model):
    for model, answer in answer_by_model.items():
        stage.server.answer = answer
        ran = stage.run("--no-report", "--model", model)
        assert ran.code == 0, ran.output
    return read_runs([str(stage.folder(model)) for model in answer_by_model])


@pytest.mark.parametrize(
    ("facts", "credit"),
    [
        ({"hit": 1}, 1),  # no recorded step, or of an earlier version
        ({"hit": 0, "credit": 0.6}, 0.6),
        ({"hit": 0, "credit": None}, None),
    ],
)
def test_samples_without_a_credit_count_by_their_hit(facts, credit):
    assert credit_of(facts) == credit


def test_comparisons_have_the_figures_of_the_score_files(credited):
    comparison = compare(runs_of(credited, m=right, n=scrolls_up))
    [pair] = comparison.pairs
    figures = {
        difference.group: (difference.samples, difference.baseline_pct, difference.run_pct)
        for difference in pair.differences
    }
    scores = credited.scores("Steps", "n")
    assert (scores["SR"], scores["Episodes"]) == (SR_OF_SCROLLED_UP, 50)
    assert figures["SR"] == pytest.approx((4, 100, scores["SR"]))
    assert figures["whole episodes"] == (2, 100, scores["Episodes"])
    assert len(pair.samples) == 5
    assert "1 sample left out of the differences by the rule of the score" in pair.notes


def test_a_step_that_is_right_in_part_is_a_flip(credited):
    comparison = compare(runs_of(credited, m=right, n=scrolls_up))
    [pair] = comparison.pairs
    [(winner, _, flips)] = pair.flips_by_winner
    assert (winner, [flip.run["step"]["answer"] for flip in flips]) == ("m", ['scroll("up")'])
    [line] = [line for line in as_text(comparison, flips=0).splitlines() if line.startswith("SR ")]
    assert line.endswith("1 / 0")


def test_the_headroom_leaves_out_what_the_rule_leaves_out(credited):
    runs = runs_of(credited, m=scrolls_up, n=scrolls_up, o=scrolls_up)
    [headroom] = headrooms_of(runs)
    assert [facts["step"]["answer"] for facts in headroom.wrong_in_all] == ['scroll("up")']
    assert (headroom.rows, headroom.all_right.count) == (4, 3)
    accuracies = [(one.rows, one.all_rows.value) for one in headroom.runs]
    assert accuracies == [pytest.approx((4, SR_OF_SCROLLED_UP))] * 3


def test_repeats_have_the_success_rate_at_pass_1_and_whole_successes_beyond(credited):
    credited.data["Steps"]["repeats"] = 2
    runs_of(credited, m=scrolls_up)
    analysis = json.loads(next(credited.folder().glob("*_analysis.json")).read_bytes())
    rows = {row["name"]: row for row in analysis["repeats"]["rows"]}
    assert rows.keys() == {"click", "swipe", "type", "back / press", "Overall"}
    overall = {name: cell["value"] for name, cell in rows["Overall"].items() if name != "name"}
    assert overall == pytest.approx(
        {"pass@1": credited.scores("Steps")["SR"], "pass@2": 75, "pass^2": 75, "agreement": 100}
    )

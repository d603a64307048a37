"""What is drawn as the area of a rule is where the rule takes a click for right."""

import pytest

from benchmarks.steps.action import StepAction
from benchmarks.steps.rules import RULES, agentnetbench
from benchmarks.steps.rules.agentnetbench import DesktopAction
from benchmarks.steps.truth import (
    TreeNode,
    truth_of_aitz_step,
    truth_of_odyssey_step,
    truth_of_step,
)

SIZES = [(1080, 2400), (1440, 3120)]
BOXES = [[400, 1000, 700, 1200], [0, 900, 1080, 1300]]
TREE = [[400, 1000, 700, 1200, None, None], [0, 0, 1080, 2400, None, None]]
POINTS = [(x / 61, y / 97) for x in range(62) for y in range(98)]


def android_control(size, boxes):
    options = {"action": "click", "coordinate": [541, 1103], "candidate_bbox": boxes, "nodes": TREE}
    return truth_of_step({"check_options": options}, size)


def odyssey(size, box):
    return truth_of_odyssey_step({"action": "CLICK", "info": [[501, 463]], "sam2_bbox": box})


def aitz(size, boxes):
    row = {
        "result_action_type": 4,
        "result_touch_yx": "[0.463, 0.501]",
        "result_lift_yx": "[0.463, 0.501]",
        "ui_positions": boxes,
    }
    return truth_of_aitz_step(row)


CASES = [
    *((rule, android_control, BOXES) for rule in RULES if "aitz" not in rule),
    *((rule, android_control, []) for rule in ("qwen", "infigui_r1", "clawgui", "curated_box")),
    *((rule, odyssey, [400, 400, 600, 500]) for rule in RULES if "odyssey" in rule),
    ("odyssey_official", odyssey, []),
    ("aitz_agentcpm", aitz, [[0.44, 0.4, 0.05, 0.3], [0.1, 0.1, 0.1, 0.1]]),
]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("name", "make_truth", "boxes"), CASES)
def test_a_click_is_right_where_the_area_is_drawn_and_nowhere_else(name, make_truth, boxes, size):
    rule, truth = RULES[name], make_truth(size, boxes)
    area = rule.area(truth, size) if rule.area else None
    right = {
        point
        for point in POINTS
        if rule.judge(StepAction("click", point=point), truth, size).success
    }
    drawn = {point for point in POINTS if area is not None and area.holds(point)}
    # The rules that go through whole pixels or per mille may differ by one at a border.
    assert len(right ^ drawn) <= len(right) // 100
    assert bool(right) == bool(drawn)


def test_of_a_desktop_the_boxes_of_all_recorded_clicks_are_drawn():
    click = DesktopAction("click", point=(0.5, 0.5), boxes_frac=((0.4, 0.4, 0.6, 0.6),))
    area = agentnetbench.area([[click, DesktopAction("write", text="a")]], (100, 100))
    assert area.holds((0.41, 0.59)) and not area.holds((0.39, 0.5))


@pytest.mark.parametrize("name", RULES)
def test_what_is_no_click_has_no_area(name):
    truth = truth_of_step({"check_options": {"action": "wait"}}, SIZES[0])
    assert RULES[name].area_in_json(truth, SIZES[0]) is None


def test_a_node_that_holds_the_recorded_point_is_the_area_of_uground():
    truth = android_control(SIZES[0], [])
    assert truth.tree[0] == TreeNode((400, 1000, 700, 1200))
    area = RULES["uground"].area(truth, SIZES[0])
    assert area.as_json() == {"boxes": [[0.3704, 0.4167, 0.6481, 0.5]]}

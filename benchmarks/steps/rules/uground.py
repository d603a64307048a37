"""The rule of UGround for AndroidControl: the target is the smallest node of the tree.

Points of answers come from a grounding model, so that kinds other than clicks may have one, too:
where the app of an `open_app` was clicked, or the back button of the screen.

Source: OSU-NLP-Group/UGround 3a9b9f2, offline_evaluation/AndroidControl/eval.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.steps.action import StepAction, content_direction
from benchmarks.steps.rules.area import Area
from benchmarks.steps.rules.matching import area as area_of_box
from benchmarks.steps.rules.matching import is_inside, scaled
from benchmarks.steps.rules.os_atlas import type_word
from benchmarks.steps.rules.rule import JudgedStep, Rule, Share, StepVerdict, sum_of
from benchmarks.steps.truth import StepTruth, TreeNode, as_fractions
from utils.contracts import WH, Point

GROUNDED = ("click", "long_press", "type")
BACK = "press_back"


def judge(action: StepAction | None, truth: StepTruth, size: WH) -> StepVerdict:
    """The verdict on one answer; its counts are those of the official script."""
    if action is None:
        return _verdict(False, None, False)
    word, true_word = type_word(action), type_word(truth.action)
    point_px = None if action.point is None else scaled(action.point, *size)
    if word == true_word:
        if truth.action.kind not in GROUNDED:
            return _verdict(True, None, _is_equal(action, truth.action, size))
        is_right = _is_grounded(action, point_px, truth)
        return _verdict(True, is_right, is_right)
    if {word, true_word} == {"click", "open_app"}:
        app = truth.action.text.lower() if true_word == "open_app" else ""
        is_right = _is_named(truth.tree, point_px, app)
        # Where the truth is the click, only the script's numerator of grounding counts the row.
        grounding = is_right if true_word == "open_app" else None
        return _verdict(False, grounding, is_right, counts_grounding=is_right)
    if {word, true_word} == {"click", BACK}:
        is_right = _is_named(truth.tree, point_px, "back")
        return _verdict(False, is_right, is_right)
    return _verdict(False, None, False)


def _verdict(
    is_type_right: bool,
    grounding: bool | None,
    is_right: bool,
    *,
    counts_grounding: bool = False,
) -> StepVerdict:
    counts = {
        "correct_steps": int(is_right),
        "total_steps": 1,
        "grounding_steps": int(grounding is not None),
        "correct_grounding_steps": int(bool(grounding) or counts_grounding),
    }
    return StepVerdict(is_type_right, grounding, is_right, counts)


def _is_equal(action: StepAction, recorded: StepAction, size: WH) -> bool:
    if recorded.kind == "swipe":
        return content_direction(action, size) == content_direction(recorded, size)
    if recorded.kind == "open_app":
        return action.text == recorded.text
    return True


def _is_grounded(action: StepAction, point_px: Point | None, truth: StepTruth) -> bool:
    if action.kind == "type" and action.text != truth.action.text:
        return False
    node = _smallest_node(truth.tree, truth.point_px)
    return node is not None and point_px is not None and is_inside(node.box_px, point_px)


def _is_named(tree: Sequence[TreeNode], point_px: Point | None, name: str) -> bool:
    """Whether the smallest node at a point has a text or a description that holds a name."""
    node = _smallest_node(tree, point_px)
    if node is None:
        return False
    return any(name in text.lower() for text in (node.text, node.description) if text)


def _smallest_node(tree: Sequence[TreeNode], point_px: Point | None) -> TreeNode | None:
    if point_px is None:
        return None
    nodes = [node for node in tree if is_inside(node.box_px, point_px)]
    return min(nodes, key=lambda node: area_of_box(node.box_px), default=None)


def area(truth: StepTruth, size: WH) -> Area | None:
    """The smallest node at the recorded point; nodes that stand for other kinds are not drawn."""
    node = _smallest_node(truth.tree, truth.point_px)
    if truth.action.kind not in GROUNDED or node is None:
        return None
    return Area(boxes=(as_fractions(node.box_px, size),))


def official_figures(rows: Sequence[JudgedStep]) -> dict[str, Share]:
    """The accuracy of steps, and of grounding with the script's own counts."""
    return {
        "accuracy": Share(sum_of(rows, "correct_steps"), sum_of(rows, "total_steps")),
        "grounding_accuracy": Share(
            sum_of(rows, "correct_grounding_steps"), sum_of(rows, "grounding_steps")
        ),
    }


RULE = Rule(
    name="uground",
    judge=judge,
    clicks="in the smallest node of the accessibility tree that holds the recorded point",
    description=(
        "A click on the app's name or on the back button stands for opening it or going back. All "
        "else is equal."
    ),
    area=area,
    grounding="rows answered with the recorded grounded kind, or with a click for an app or back",
    convention="content",
    source="OSU-NLP-Group/UGround 3a9b9f2",
    official_figures=official_figures,
)

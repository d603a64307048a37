"""The recorded action of a step, and the annotations that rules compare answers with."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from benchmarks.steps.action import Corners, StepAction, duration_of
from utils.contracts import WH, Point

Texts = Literal["whole", "first_word"]
Points = Literal["exact", "per_mille"]

TAP_LENGTH = 0.04  # of the image: a longer way from touch to lift is a swipe (Android in the Wild)
AITZ_BUTTONS = {5: "back", 6: "home", 7: "enter"}
ODYSSEY_BUTTONS = {"KEY_HOME": "home", "KEY_BACK": "back", "KEY_APPSELECT": "recent"}


class TreeNode(NamedTuple):
    """A node of the accessibility tree; a text that the node lacks is None."""

    box_px: Corners
    text: str | None = None
    description: str | None = None


@dataclass(frozen=True, slots=True)
class StepTruth:
    """The recorded action of one step with all that some rule asks for.

    Boxes are in pixels or in fractions, as the data set has them. The direction of `action` is
    that of the content: on AndroidControl the annotated word as it stands.
    """

    action: StepAction
    point_px: Point | None = None
    boxes_px: tuple[Corners, ...] = ()  # candidates: each holds what the recorded click meant
    boxes_frac: tuple[Corners, ...] = ()
    tree: tuple[TreeNode, ...] = ()
    prompt: str = ""  # the whole text that the model was asked

    def point_frac(self, size: WH) -> Point | None:
        """The recorded point as fractions of an image of this size in pixels; None: there is none.

        Of rows in pixels it is divided here, which may differ in the last digit from `action`.
        """
        if self.point_px is None:
            return self.action.point
        return self.point_px[0] / size[0], self.point_px[1] / size[1]

    def candidate_boxes_frac(self, size: WH) -> tuple[Corners, ...]:
        """The candidate boxes as fractions of an image of this size in pixels."""
        return self.boxes_frac or tuple(as_fractions(box, size) for box in self.boxes_px)

    def node_boxes_frac(self, size: WH) -> tuple[Corners, ...]:
        """The boxes of all nodes of the tree as fractions; without a tree the candidates."""
        if not self.tree:
            return self.candidate_boxes_frac(size)
        return tuple(as_fractions(node.box_px, size) for node in self.tree)


def as_fractions(box_px: Corners, size: WH) -> Corners:
    """A box in pixels as fractions of an image of this size."""
    x1, y1, x2, y2 = box_px
    width, height = size
    return x1 / width, y1 / height, x2 / width, y2 / height


# -- AndroidControl -------------------------------------------------------------------------------


def truth_of_step(step: Mapping[str, Any], size: WH, prompt: str = "") -> StepTruth:
    """The truth of a step of AndroidControl, of a row with `check_options`.

    Raises:
        ValueError: the action is unknown.
    """
    options = step["check_options"]
    boxes = tuple(_box(box) for box in options.get("candidate_bbox") or ())
    action, point_px = _recorded_action(options, size)
    nodes = options.get("nodes") or ()
    tree = tuple(TreeNode(_box(node[:4]), node[4], node[5]) for node in nodes)
    return StepTruth(action, point_px=point_px, boxes_px=boxes, tree=tree, prompt=prompt)


def _recorded_action(options: Mapping[str, Any], size: WH) -> tuple[StepAction, Point | None]:
    name = options.get("action")
    if name in ("click", "long_press"):
        x, y = options["coordinate"]
        return StepAction(name, point=(x / size[0], y / size[1])), (x, y)
    if name == "swipe":
        return StepAction("swipe", direction=options["direction"]), None
    if name == "type":
        point_px = options.get("coordinate")  # of rows of UGround: the field
        return StepAction("type", text=options["text"]), point_px and (point_px[0], point_px[1])
    if name == "open":
        return StepAction("open_app", text=options["text"]), None
    if name == "system_button":
        return StepAction("press", button=options["button"].lower()), None
    if name == "wait":
        return StepAction("wait", seconds=duration_of(options.get("time"))), None
    if name == "terminate":  # of rows of UGround, which end each episode
        return StepAction("finish", status=options["status"]), None
    raise ValueError(
        f"action {name!r} is none of click, long_press, swipe, type, open, system_button, wait"
    )


def published_form(
    truth: StepTruth, size: WH, *, texts: Texts = "whole", points: Points = "exact"
) -> StepTruth:
    """The truth as the published rows of GUI-R1 and AndroidControl-Curated have it.

    Args:
        texts: "first_word" cuts texts and names of apps at the first blank.
        points: "per_mille" moves points up and left to a whole per mille of each axis.
    """
    action = truth.action
    if texts == "first_word" and action.kind in ("type", "open_app"):
        truth = replace(truth, action=replace(action, text=action.text.split(" ")[0]))
    if points == "per_mille" and truth.point_px is not None:
        point_px = (
            _through_per_mille(truth.point_px[0], size[0]),
            _through_per_mille(truth.point_px[1], size[1]),
        )
        point = (point_px[0] / size[0], point_px[1] / size[1])
        truth = replace(truth, action=replace(action, point=point), point_px=point_px)
    return truth


def _through_per_mille(value_px: float, side_px: int) -> int:
    return int(math.floor(1000 * value_px / side_px) / 1000 * side_px)


# -- AITZ, CAGUI and GUI-Odyssey ------------------------------------------------------------------


def truth_of_aitz_step(row: Mapping[str, Any]) -> StepTruth:
    """The truth of a step of AITZ or CAGUI, with `ui_positions` as fractions y, x, height, width.

    A touch that lifts elsewhere is a swipe of which only the drag is known.
    """
    boxes = tuple((x, y, x + w, y + h) for y, x, h, w in _from_text(row.get("ui_positions") or []))
    return StepTruth(_aitz_action(row), boxes_frac=boxes)


def _aitz_action(row: Mapping[str, Any]) -> StepAction:
    number = row["result_action_type"]
    if number in AITZ_BUTTONS:
        return StepAction("press", button=AITZ_BUTTONS[number])
    if number == 3:
        return StepAction("type", text=row["result_action_text"])
    if number == 10:
        return StepAction("finish", status="success")
    if number == 11:
        return StepAction("finish", status="failure")
    if number == 1:
        return StepAction("wait")
    touch_y, touch_x = _from_text(row["result_touch_yx"])
    if not row.get("result_lift_yx"):
        raise ValueError("a touch needs its end, but there is no result_lift_yx")
    lift_y, lift_x = _from_text(row["result_lift_yx"])
    touch, lift = (touch_x, touch_y), (lift_x, lift_y)
    if number == 0:
        return StepAction("long_press", point=touch)
    if number != 4:
        raise ValueError(f"result_action_type {number!r} is none of 0, 1, 3, 4, 5, 6, 7, 10, 11")
    way = math.sqrt((lift_x - touch_x) ** 2 + (lift_y - touch_y) ** 2)
    if way <= TAP_LENGTH:
        return StepAction("click", point=touch)
    return StepAction("swipe", start=touch, end=lift)


def truth_of_odyssey_step(step: Mapping[str, Any]) -> StepTruth:
    """The truth of a step of GUI-Odyssey, whose points and boxes are per mille.

    Raises:
        ValueError: the action is unknown.
    """
    box = step.get("sam2_bbox") or ()
    boxes = (_box([value / 1000 for value in box]),) if box else ()
    return StepTruth(_odyssey_action(step), boxes_frac=boxes)


def _odyssey_action(step: Mapping[str, Any]) -> StepAction:
    name, info = step["action"], step["info"]
    if name in ("CLICK", "LONG_PRESS") and isinstance(info, str):
        if info not in ODYSSEY_BUTTONS:
            raise ValueError(f"{name} of {info!r}, which is none of {', '.join(ODYSSEY_BUTTONS)}")
        return StepAction("press", button=ODYSSEY_BUTTONS[info])
    if name == "CLICK":
        return StepAction("click", point=_point_of_per_mille(info[0]))
    if name == "LONG_PRESS":
        return StepAction("long_press", point=_point_of_per_mille(info[0]))
    if name == "SCROLL":
        if not isinstance(info, list) or len(info) < 2:
            raise ValueError(f"a SCROLL needs its start and its end, but info is {info!r:.60}")
        start, end = map(_point_of_per_mille, info)
        return StepAction("swipe", start=start, end=end)
    if name == "TEXT":
        return StepAction("type", text=info)
    if name == "COMPLETE":
        return StepAction("finish", status="success")
    if name == "INCOMPLETE":
        return StepAction("finish", status="failure")
    raise ValueError(
        f"action {name!r} is none of CLICK, LONG_PRESS, SCROLL, TEXT, COMPLETE, INCOMPLETE"
    )


def _point_of_per_mille(numbers: Sequence[float]) -> Point:
    return numbers[0] / 1000, numbers[1] / 1000


def _box(numbers: Sequence[float]) -> Corners:
    x1, y1, x2, y2 = numbers
    return x1, y1, x2, y2


def _from_text(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value

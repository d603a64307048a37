"""Cases of recorded steps as the files of a data set, each case a step whose instruction names it.

A case becomes an episode of one step; whole episodes stay whole. Images are blank, of the size that
the case names, and those of one size are one file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.steps.action import StepAction, finger_direction
from benchmarks.steps.truth import truth_of_aitz_step
from tests.support.step_cases import PER_MILLE, coat_case, truth_of

USUAL_SIZE = (1080, 2400)
CENTRE = (500, 500)  # per mille
ENDS = {"up": (500, 200), "down": (500, 800), "left": (200, 500), "right": (800, 500)}
ODYSSEY_BUTTONS = {"home": "KEY_HOME", "back": "KEY_BACK", "recent": "KEY_APPSELECT"}
AITZ_BUTTONS = {"back": 5, "home": 6, "enter": 7}
GOAL = "A recorded task."


@dataclass(frozen=True)
class LaidStep:
    """One step to lay out."""

    episode: int
    number: int
    name: str  # what its instruction is
    recorded: Mapping[str, Any]  # as the data set has it
    size: tuple[int, int] = USUAL_SIZE
    goal: str = GOAL

    @property
    def row_id(self) -> str:
        """The id of its row."""
        return f"episode_{self.episode}_screenshot_{self.number}"

    @property
    def image(self) -> str:
        return f"{self.episode}_{self.number}.png"


class Blanks:
    """White images, one file for each size."""

    def __init__(self) -> None:
        self._paths: dict[tuple[int, int], Path] = {}

    def lay(self, path: Path, size: tuple[int, int]) -> None:
        """Make the image, or link the one of this size."""
        from PIL import Image

        path.parent.mkdir(parents=True, exist_ok=True)
        if size in self._paths:
            os.link(self._paths[size], path)
        else:
            Image.new("L", size, 255).save(path, format="PNG")
            self._paths[size] = path


def by_episode(steps: Sequence[LaidStep]) -> dict[int, list[LaidStep]]:
    """The steps of each episode in their order."""
    episodes: dict[int, list[LaidStep]] = {}
    for step in steps:
        episodes.setdefault(step.episode, []).append(step)
    return {
        episode: sorted(part, key=lambda step: step.number) for episode, part in episodes.items()
    }


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


# -- files of each data set -----------------------------------------------------------------------


def lay_android_control(root: Path, steps: Sequence[LaidStep]) -> None:
    """The official file; a step's recorded action is its `check_options`."""
    blanks = Blanks()
    lines = []
    for episode, part in by_episode(steps).items():
        for step in part:
            blanks.lay(root / "AndroidControl" / "images" / step.image, step.size)
        official = [
            {
                "screenshot": f"/images/{step.image}",
                "step_instruction": step.name,
                "check_options": step.recorded,
            }
            for step in part
        ]
        lines.append(json.dumps({"episode_id": episode, "goal": part[0].goal, "steps": official}))
    file = root / "AndroidControl" / "android_control_test.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def lay_uground(root: Path, steps: Sequence[LaidStep]) -> None:
    """The file of sampled steps with their trees; a step's recorded action is its columns."""
    blanks = Blanks()
    lines = []
    for step in steps:
        blanks.lay(root / "AndroidControl" / "images" / step.image, step.size)
        columns = {"episode_id": step.episode, "step": step.number, "goal": step.goal}
        lines.append(json.dumps({**columns, "step_instruction": step.name, **step.recorded}))
    file = root / "AndroidControl" / "uground_sampled.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def lay_odyssey(root: Path, steps: Sequence[LaidStep]) -> None:
    """Annotations and a split; a step's recorded action is a step of an annotation."""
    folder = root / "GUIOdyssey"
    blanks = Blanks()
    names = []
    for episode, part in by_episode(steps).items():
        for step in part:
            blanks.lay(folder / "screenshots" / step.image, PER_MILLE)
        raw_steps = [
            {
                **step.recorded["raw_step"],
                "step": step.number,
                "screenshot": step.image,
                "low_level_instruction": step.name,
            }
            for step in part
        ]
        annotation = {
            "episode_id": str(episode),
            "task_info": {"instruction": GOAL, "category": part[0].recorded.get("category", "-")},
            "step_length": part[0].recorded.get("step_length", len(part)),
            "steps": raw_steps,
        }
        write_json(folder / "annotations" / f"{episode}.json", annotation)
        names.append(f"{episode}.json")
    write_json(folder / "splits" / "random_split.json", {"train": [], "test": names})


def lay_aitz(root: Path, steps: Sequence[LaidStep]) -> None:
    """A file for each episode; a step's recorded action is its row."""
    folder = root / "AITZ" / "test" / "general"
    blanks = Blanks()
    for episode, part in by_episode(steps).items():
        rows = []
        for step in part:
            blanks.lay(folder / str(episode) / step.image, step.size)
            ids = {"episode_id": str(episode), "step_id": step.number, "instruction": GOAL}
            rows.append({**step.recorded, **ids, "coat_action_desc": step.name})
        write_json(folder / str(episode) / f"{episode}.json", rows)


def lay_agentnetbench(root: Path, steps: Sequence[LaidStep]) -> None:
    """A file for each episode; a step's recorded action is its list of actions."""
    folder = root / "AgentNetBench" / "single_data"
    blanks = Blanks()
    for episode, part in by_episode(steps).items():
        raw_steps = []
        for step in part:
            blanks.lay(folder / "images" / step.image, step.size)
            monologue = {"low_level_instruction": step.name}
            raw_steps.append({"image": step.image, "inner_monologue": monologue, **step.recorded})
        task = {"task_id": str(episode), "instruction": GOAL, "steps": raw_steps}
        write_json(folder / f"{episode}.json", task)


LAYOUTS = {
    "AndroidControl": lay_android_control,
    "AndroidControl, form uground": lay_uground,
    "GUIOdyssey": lay_odyssey,
    "AITZ": lay_aitz,
    "AgentNetBench": lay_agentnetbench,
}


# -- recorded actions of cases --------------------------------------------------------------------


def options_of(case: Mapping[str, Any], steps: Mapping[str, Any]) -> dict[str, Any]:
    """The `check_options` of a case of AndroidControl, with its own boxes where it has some."""
    options = dict(steps[case["row"]]["check_options"])
    if case.get("ui_boxes"):
        options["candidate_bbox"] = case["ui_boxes"]
    return options


def uground_columns(case: Mapping[str, Any]) -> dict[str, Any]:
    """Action and tree of a case of UGround as its file has them."""
    tree = [
        {
            "bbox_pixels": dict(zip(("x_min", "y_min", "x_max", "y_max"), node[:4], strict=True)),
            "text": node[4],
            "content_description": node[5],
        }
        for node in case["tree"]
    ]
    return {"action": case["gold"], "accessibility_tree": tree}


def odyssey_step(case: Mapping[str, Any]) -> dict[str, Any]:
    """The annotated step of a case of GUI-Odyssey, written from its truth where it has none."""
    if "raw_step" in case:
        labels = {name: case[name] for name in ("category", "step_length") if name in case}
        return {"raw_step": case["raw_step"], **labels}
    if isinstance(case["truth"], dict):
        action = truth_of_aitz_step(case["truth"]).action
    else:
        action = truth_of(case).action
    return {"raw_step": {**_odyssey_action(action), "sam2_bbox": []}}


def _odyssey_action(action: StepAction) -> dict[str, Any]:
    if action.kind in ("click", "long_press"):
        assert action.point is not None
        point = _per_mille(action.point)
        return {"action": action.kind.upper(), "info": [point, point]}
    if action.kind == "swipe":
        if action.start is not None and action.end is not None:
            return {"action": "SCROLL", "info": [_per_mille(action.start), _per_mille(action.end)]}
        end = ENDS[finger_direction(action, PER_MILLE)]
        return {"action": "SCROLL", "info": [list(CENTRE), list(end)]}
    if action.kind == "type":
        return {"action": "TEXT", "info": action.text}
    if action.kind == "press":
        return {"action": "CLICK", "info": ODYSSEY_BUTTONS[action.button]}
    return {"action": "INCOMPLETE" if action.status == "failure" else "COMPLETE", "info": ""}


def _per_mille(point: tuple[float, float]) -> list[float]:
    return [round(1000 * value, 6) for value in point]


def coat_row(case: Mapping[str, Any]) -> dict[str, Any]:
    """A case of CoAT as a row of AITZ, its action written from `coat_action_desc`."""
    _, truth = coat_case(case)
    action = truth.action
    touch = json.loads(case["gt"]["result_touch_yx"])
    lift, number = touch, 4
    if action.kind == "swipe":
        x, y = ENDS[finger_direction(action, PER_MILLE)]
        touch, lift = [0.5, 0.5], [y / 1000, x / 1000]
    elif action.kind == "press":
        number = AITZ_BUTTONS[action.button]
    elif action.kind == "type":
        number = 3
    elif action.kind == "finish":
        number = 10
    touched = {"result_touch_yx": json.dumps(touch), "result_lift_yx": json.dumps(lift)}
    names = ("result_action_text", "ui_positions")
    return {
        **{name: case["gt"][name] for name in names},
        **touched,
        "result_action_type": number,
    }

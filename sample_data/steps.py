"""Writes small samples of the recorded-step data sets from the pictures that are already here.

    python sample_data/steps.py            # AndroidControl, GUIOdyssey, AITZ, CAGUI, AgentNetBench
    python sample_data/steps.py --check    # compares, writes nothing

Places are those of the elements in `MMBench-GUI/L2_annotations.json`; episodes are ours, in the
format in which the authors of each data set publish theirs. Steps share pictures where the format
allows it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tables import HERE, SOFTWARE, Row, corners_px, load_rows, run

BANK, CLOCK = "eaae00ad", "2fd6baec"  # how the pictures' names begin
ALARM = "Set an alarm for 06:30 in the Clock app"
PLUS = "The large plus button at the bottom right"
SEE_ALL = "The 'See all' link right of 'Recent activity'"
BELL = "The bell with the red badge at the top right"
GLASS = "The magnifying glass at the left of the header bar"
HOURGLASS = "The 'Hourglass' tile"
BEDTIME = "The 'Bedtime' tab"

Files = dict[Path, bytes | Path]
"""What is in a file, or the picture that it is a copy of."""


class Elements:
    """Elements of the pictures by instruction, and the pictures themselves."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = {row["instruction"]: row for row in rows}
        self._pictures = {row["image_path"][:8]: row for row in rows}

    def box_px(self, instruction: str) -> list[int]:
        """Return x1, y1, x2, y2 of an element in pixels."""
        return corners_px(self._rows[instruction])

    def point_px(self, instruction: str) -> list[int]:
        """Return the centre of an element in pixels."""
        x1, y1, x2, y2 = self.box_px(instruction)
        return [(x1 + x2) // 2, (y1 + y2) // 2]

    def box_frac(self, instruction: str) -> list[float]:
        """Return x1, y1, x2, y2 of an element as fractions."""
        return [float(value) for value in self._rows[instruction]["bbox"]]

    def point_frac(self, instruction: str) -> list[float]:
        """Return the centre of an element in fractions."""
        x1, y1, x2, y2 = self.box_frac(instruction)
        return [round((x1 + x2) / 2, 4), round((y1 + y2) / 2, 4)]

    def picture(self, name: str) -> Path:
        """Return the file of a picture."""
        row = self._pictures[name]
        folder = HERE / "MMBench-GUI" / "offline_images" / row["platform"]
        path: Path = folder / row["image_path"]
        return path


def as_json(content: Any) -> bytes:
    """Return the content of a file."""
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()


def pressed(kind: str, instruction: str, elements: Elements) -> dict[str, Any]:
    """Return a click or a long press on an element, as AndroidControl has it."""
    return {
        "action": kind,
        "coordinate": elements.point_px(instruction),
        "candidate_bbox": [elements.box_px(instruction)],
    }


def android_control(elements: Elements) -> Files:
    """Return the files of AndroidControl: two episodes of four steps."""
    plus, see_all = "Click on the plus button", "Click on see all"
    clock_steps = [
        (BANK, "Open the Clock app", {"action": "open", "text": "Clock"}),
        (CLOCK, plus, pressed("click", PLUS, elements)),
        (CLOCK, plus, {"action": "wait", "time": 2}),
        (CLOCK, "Type 06:30", {"action": "type", "text": "06:30"}),
    ]
    bank_steps = [
        (BANK, see_all, pressed("click", SEE_ALL, elements)),
        (BANK, "Swipe up to see more", {"action": "swipe", "direction": "down"}),
        (BANK, "Press and hold the bell", pressed("long_press", BELL, elements)),
        (BANK, "Go back", {"action": "system_button", "button": "Back"}),
    ]
    folder = HERE / "AndroidControl"
    files: Files = {}
    lines = []
    for number, goal, steps in (
        (1, ALARM, clock_steps),
        (2, "Look through the recent activity of my Millrace account", bank_steps),
    ):
        recorded = []
        for step, (picture, instruction, options) in enumerate(steps):
            files[folder / "images" / f"{number}_{step}.png"] = elements.picture(picture)
            recorded.append(
                {
                    "screenshot": f"{number}_{step}.png",
                    "step_instruction": instruction,
                    "check_options": options,
                }
            )
        lines.append({"goal": goal, "is_successful": True, "steps": recorded, "episode_id": number})
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    files[folder / "android_control_test.jsonl"] = text.encode()
    return files


def gui_odyssey(elements: Elements) -> Files:
    """Return the files of GUI-Odyssey: an episode of four steps, in the test part of each split."""
    folder = HERE / "GUIOdyssey"
    point = [round(1000 * value) for value in elements.point_frac(PLUS)]
    box = [round(1000 * value) for value in elements.box_frac(PLUS)]
    steps = [
        ("CLICK", [point, point], box, "Click the plus button at the bottom right."),
        ("TEXT", "06:30", [], "Type 06:30."),
        ("SCROLL", [[500, 700], [500, 300]], [], "Scroll down to the end of the list."),
        ("COMPLETE", "", [], "The task is completed."),
    ]
    screenshot = "sample_0001_0.png"
    annotation = {
        "episode_id": "sample_0001",
        "device_info": {"device_name": "Sample", "w": 1080, "h": 2400},
        "task_info": {
            "category": "General_Tool",
            "app": ["Clock"],
            "meta_task": "Set an alarm",
            "task": "Set an alarm",
            "instruction": ALARM,
        },
        "step_length": len(steps),
        "steps": [
            {
                "step": number,
                "screenshot": screenshot,
                "action": action,
                "info": info,
                "ps": "",
                "sam2_bbox": box_of_step,
                "low_level_instruction": instruction,
            }
            for number, (action, info, box_of_step, instruction) in enumerate(steps)
        ],
    }
    name = "sample_0001.json"
    files: Files = {
        folder / "annotations" / name: as_json(annotation),
        folder / "screenshots" / screenshot: elements.picture(CLOCK),
    }
    for split in ("random", "task", "device", "app"):
        files[folder / "splits" / f"{split}_split.json"] = as_json({"train": [], "test": [name]})
    return files


def aitz_steps(elements: Elements, goal: str, texts: Sequence[str]) -> list[dict[str, Any]]:
    """Return the steps of an episode in the format of AITZ: a touch, a swipe, a text, the end."""
    x, y = elements.point_frac(BEDTIME)
    touch, low, high, none = [y, x], [0.7, 0.5], [0.3, 0.5], [-1.0, -1.0]
    actions = [
        (4, "", touch, touch, texts[0]),
        (4, "", low, high, texts[1]),
        (3, "06:30", none, none, texts[2]),
        (10, "", none, none, texts[3]),
    ]
    x1, y1, x2, y2 = elements.box_px(BEDTIME)
    return [
        {
            "step_id": number,
            "episode_length": len(actions),
            "instruction": goal,
            "result_action_type": kind,
            "result_action_text": text,
            "result_touch_yx": json.dumps(touched),
            "result_lift_yx": json.dumps(lifted),
            "ui_positions": json.dumps([[y1, x1, y2 - y1, x2 - x1]]),
            "coat_action_desc": description,
        }
        for number, (kind, text, touched, lifted, description) in enumerate(actions)
    ]


def aitz(elements: Elements) -> Files:
    """Return the files of AITZ: an episode of four steps on one picture."""
    episode = "GENERAL-1"
    image = f"general/{episode}/{episode}_0.png"
    words = ("click on the bedtime tab", "scroll up", "input 06:30", "stop, the task is completed")
    steps = [
        {"episode_id": episode, "image_path": image, **step}
        for step in aitz_steps(elements, ALARM, words)
    ]
    folder = HERE / "AITZ" / "test"
    return {
        folder / "general" / episode / f"{episode}.json": as_json(steps),
        folder / image: elements.picture(CLOCK),
    }


def cagui(elements: Elements) -> Files:
    """Return the files of CAGUI: an episode of four steps on one picture."""
    episode = "sample_1"
    image = f"domestic/{episode}/{episode}_0.png"
    steps = [
        {"episode_id": episode, "image_path": image, "duration": None, **step}
        for step in aitz_steps(elements, "在时钟应用中设置06:30的闹钟", ("",) * 4)
    ]
    for step in steps:
        del step["coat_action_desc"]
    folder = HERE / "CAGUI" / "CAGUI_agent"
    return {
        folder / "domestic" / episode / f"{episode}.json": as_json(steps),
        folder / image: elements.picture(CLOCK),
    }


def clicked(instruction: str, elements: Elements) -> dict[str, Any]:
    """Return a click on an element as AgentNetBench has it."""
    x, y = elements.point_frac(instruction)
    x1, y1, x2, y2 = elements.box_frac(instruction)
    box = [x1, y1, round(x2 - x1, 4), round(y2 - y1, 4)]
    return {
        "type": "click",
        "params": {"position": {"x": x, "y": y}},
        "metadata": {"bboxes": [{"rel_bbox": box}]},
    }


def agentnetbench(elements: Elements) -> Files:
    """Return the files of AgentNetBench: an episode of four steps on one picture."""
    image = "sample_1_0.png"
    enter = {"type": "press", "params": {"keys": ["enter"]}}
    write = {"type": "write", "params": {"text": "hourglass"}}
    search_key = {"type": "hotkey", "params": {"keys": ["ctrl", "f"]}}
    end = {"type": "terminate", "params": {"status": "success"}}
    steps: list[tuple[list[Mapping[str, Any]], list[Any], str]] = [
        ([clicked(GLASS, elements)], [[search_key]], "Click the magnifying glass."),
        ([write, enter], [], "Search for hourglass."),
        ([clicked(HOURGLASS, elements)], [], "Open the Hourglass tile."),
        ([end], [], "The task is completed."),
    ]
    task = {
        "task_id": "sample_1",
        "high_level_task_description": "Find the app Hourglass in the software centre",
        "steps": [
            {
                "image": image,
                "ground_truth_actions": actions,
                "alternative_options": alternatives,
                "inner_monologue": {"low_level_instruction": instruction},
            }
            for actions, alternatives, instruction in steps
        ],
    }
    folder = HERE / "AgentNetBench" / "single_data"
    return {
        folder / "sample_1.json": as_json(task),
        folder / "images" / image: elements.picture(SOFTWARE),
    }


def files_of(rows: Sequence[Row]) -> Files:
    """Return every file."""
    elements = Elements(rows)
    files: Files = {}
    for make in (android_control, gui_odyssey, aitz, cagui, agentnetbench):
        files |= make(elements)
    return files


if __name__ == "__main__":
    sys.exit(run(files_of(load_rows()), "Write the samples of the recorded-step data sets."))

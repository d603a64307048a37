"""Files of recorded steps for tests: the official one, and other forms made from it."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks import BENCHMARK
from benchmarks.steps.base import StepBenchmark
from tests.support.step_cases import FOLDER

OFFICIAL_FILE = FOLDER / "data" / "android_control_test.jsonl.gz"
NAME = "android_control_test.jsonl"
SIZE = (1080, 2400)
PUBLISHED_KINDS = {"open": "open_app", "swipe": "scroll", "system_button": "press_back"}
UGROUND_KINDS = {"open": "open_app", "swipe": "scroll", "type": "type_text"}
NO_POINT, NO_TEXT = [-100, -100], "no input text"


@cache
def official_text() -> bytes:
    """The official file of AndroidControl, unpacked."""
    return gzip.decompress(OFFICIAL_FILE.read_bytes())


@cache
def official_episodes() -> list[dict[str, Any]]:
    """Its episodes."""
    return [json.loads(line) for line in official_text().splitlines()]


def benchmark(name: str, root: Path, **settings: Any) -> StepBenchmark:
    """A data set below a data root, with an image folder that may be empty."""
    kind = BENCHMARK[name]
    assert issubclass(kind, StepBenchmark)
    (root / kind.folder / kind.images).mkdir(parents=True, exist_ok=True)
    data_set = kind(root / kind.folder, name)
    data_set.configure(settings)
    return data_set


def write_json(path: Path, content: Any) -> Path:
    """Write a file, of JSON lines where its name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = "\n".join(map(json.dumps, content)) if path.suffix == ".jsonl" else None
    path.write_text(json.dumps(content) if lines is None else lines, encoding="utf-8")
    return path


def infigui_r1_row(episode: Mapping[str, Any]) -> dict[str, Any]:
    """An episode in the form of InfiGUI-R1."""
    steps = episode["steps"]
    paths = [f"{episode['episode_id']}/screenshot_{n}.png" for n in range(len(steps) + 1)]
    return {
        "width": SIZE[0],
        "height": SIZE[1],
        "step_pams": [step["action_content"] for step in steps],
        "step_check_pams": [step["check_options"] for step in steps],
        "episode": {
            "goal": episode["goal"],
            "episode_id": episode["episode_id"],
            "step_instructions": [step["step_instruction"] for step in steps],
            "screenshot_paths": paths,
        },
    }


def gui_r1_row(
    episode: Mapping[str, Any], number: int, *, level: str, has_history: bool
) -> dict[str, Any]:
    """A step in the form of GUI-R1 and Curated."""
    step = episode["steps"][number]
    options = step["check_options"]
    earlier = [before["step_instruction"] for before in episode["steps"][:number]]
    history = "".join(f"Step {position}: {text}\n" for position, text in enumerate(earlier, 1))
    kind = PUBLISHED_KINDS.get(options["action"], options["action"])
    point = NO_POINT
    if "coordinate" in options:
        pairs = zip(options["coordinate"], SIZE, strict=True)
        point = [int(math.floor(1000 * value / side) / 1000 * side) for value, side in pairs]
    text = options.get("direction", "").upper() or options.get("text", NO_TEXT).split(" ")[0]
    row = {
        "image": f"android_control_{level}/image_{episode['episode_id']}_{number}.jpg",
        "instruction": episode["goal"] if level == "high" else step["step_instruction"],
        "gt_action": kind,
        "gt_bbox": point,
        "gt_input_text": text,
        "group": "android",
        "ui_type": kind,
    }
    if has_history:
        row["history"] = f" \n{history or 'None'}\n"
    return row


def uground_row(episode: Mapping[str, Any], number: int) -> dict[str, Any]:
    """A step in the form of UGround, with a tree of the candidate boxes."""
    step = episode["steps"][number]
    options = step["check_options"]
    kind = UGROUND_KINDS.get(options["action"], options["action"])
    action: dict[str, Any] = {"action_type": kind}
    if kind == "system_button":
        action = {"action_type": "navigate_back"}
    if "coordinate" in options:
        action |= dict(zip("xy", options["coordinate"], strict=True))
    if "direction" in options:
        action["direction"] = options["direction"]
    if "text" in options:
        action["app_name" if kind == "open_app" else "text"] = options["text"]
    tree = [
        {
            "bbox_pixels": dict(zip(("x_min", "y_min", "x_max", "y_max"), box, strict=True)),
            "text": "here",
            "content_description": None,
        }
        for box in options.get("candidate_bbox", ())
    ]
    return {
        "episode_id": episode["episode_id"],
        "step": number,
        "goal": episode["goal"],
        "step_instruction": step["step_instruction"],
        "previous_actions": [before["step_instruction"] for before in episode["steps"][:number]],
        "screenshot": f"{episode['episode_id']}/screenshot_{number}.png",
        "action": action,
        "accessibility_tree": tree,
    }


def steps_of(episodes: Sequence[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], int]]:
    """All steps of some episodes, each with its episode."""
    return [(episode, number) for episode in episodes for number in range(len(episode["steps"]))]

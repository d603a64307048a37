"""Recorded steps and the verdicts of the authors' own code on them, from files beside the project."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from benchmarks.steps.action import StepAction
from benchmarks.steps.truth import (
    StepTruth,
    TreeNode,
    truth_of_aitz_step,
    truth_of_odyssey_step,
    truth_of_step,
)
from utils import PROJECT

FOLDER = PROJECT.parent / "shared" / "steps"
OFFICIAL = FOLDER / "official"
PER_MILLE = (1000, 1000)


@cache
def android_control_steps() -> dict[str, dict[str, Any]]:
    """All recorded steps of the official test set by id."""
    steps = {}
    with gzip.open(
        FOLDER / "data" / "android_control_test.jsonl.gz", "rt", encoding="utf-8"
    ) as file:
        for line in file:
            episode = json.loads(line)
            for index, step in enumerate(episode["steps"]):
                steps[f"episode_{episode['episode_id']}_screenshot_{index}"] = step
    return steps


@cache
def os_atlas_ids() -> frozenset[str]:
    """The ids of the rows of OS-Atlas."""
    with gzip.open(FOLDER / "data" / "os_atlas_subset.txt.gz", "rt", encoding="utf-8") as file:
        return frozenset(file.read().split())


@cache
def cross_table() -> dict[str, Any]:
    """One answer file under all rules."""
    return json.loads((FOLDER / "cross_table.json").read_text(encoding="utf-8"))


@cache
def official(name: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The totals of a file of official verdicts, and its cases."""
    with (OFFICIAL / f"{name}.jsonl").open(encoding="utf-8") as file:
        head, *cases = map(json.loads, file)
    return head["totals"], cases


def by_action(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cases that were judged and whose verdict does not hang on how a reply is read."""
    return [
        case
        for case in cases
        if not case.get("by_reply") and not {"crash", "dropped"} & {*case["expected"]}
    ]


def action_of(case: Mapping[str, Any]) -> StepAction | None:
    """The action of a case in its canonical form."""
    return None if case["action"] is None else StepAction.from_json(case["action"])


def size_of(case: Mapping[str, Any]) -> tuple[int, int]:
    """The size of a case's image in pixels; per mille where the case names none."""
    return (case["width"], case["height"]) if "width" in case else PER_MILLE


def truth_of(case: Mapping[str, Any]) -> StepTruth:
    """The truth of a case of any official file."""
    if "raw_step" in case:
        return truth_of_odyssey_step(case["raw_step"])
    if "gold" in case:
        return _uground_truth(case)
    record = case.get("gt") or case.get("truth")
    if isinstance(record, dict) and "result_action_type" in record:
        return truth_of_aitz_step(record)
    if "row" not in case:
        return _os_atlas_odyssey_truth(case["truth"])
    if case["row"].endswith("_finish"):  # a step that AgentCPM-GUI adds to each episode
        return StepTruth(StepAction("finish", status="success"))
    step = android_control_steps()[case["row"]]
    truth = truth_of_step(step, size_of(case), case.get("prompt", ""))
    nodes = tuple(TreeNode(tuple(box)) for box in case.get("ui_boxes", ()))
    return replace(truth, tree=nodes)


def _uground_truth(case: Mapping[str, Any]) -> StepTruth:
    gold = case["gold"]
    tree = tuple(TreeNode(tuple(node[:4]), node[4], node[5]) for node in case["tree"])
    point_px = (gold["x"], gold["y"]) if "x" in gold else None
    actions = {
        "open_app": lambda: StepAction("open_app", text=gold["app_name"]),
        "type_text": lambda: StepAction("type", text=gold["text"]),
        "scroll": lambda: StepAction("swipe", direction=gold["direction"]),
        "navigate_back": lambda: StepAction("press", button="back"),
    }
    make = actions.get(gold["action_type"], lambda: StepAction(gold["action_type"]))
    return StepTruth(make(), point_px=point_px, tree=tree)


def grounded_action(case: Mapping[str, Any]) -> StepAction:
    """The action of a case of UGround with the point of the grounding model, whatever its kind."""
    action = action_of(case)
    assert action is not None
    answer = case["reply"]["answer"]
    x, y = json.loads(answer["output"].replace("(", "[").replace(")", "]"))
    scale, (width, height) = answer["scale"], size_of(case)
    return replace(action, point=(x / scale / width, y / scale / height))


def _os_atlas_odyssey_truth(line: str) -> StepTruth:
    word, _, rest = line.partition(" ")
    if word in ("CLICK", "LONG_PRESS"):
        x, y = json.loads(rest.removeprefix("<point>[").removesuffix("]</point>"))
        return StepTruth(StepAction(word.lower(), point=(x / 1000, y / 1000)))
    if word == "SCROLL":
        fields = {"kind": "swipe", "direction": rest[1:-1].lower(), "convention": "finger"}
        return StepTruth(StepAction.from_json(fields))
    if word == "TYPE":
        return StepTruth(StepAction("type", text=rest[1:-1]))
    if word.startswith("PRESS_"):
        return StepTruth(StepAction("press", button=word.removeprefix("PRESS_").lower()))
    return StepTruth(
        StepAction("finish", status={"COMPLETE": "success", "IMPOSSIBLE": "failure"}[word])
    )


def coat_case(case: Mapping[str, Any]) -> tuple[StepAction, StepTruth]:
    """Answer and truth of a case of CoAT, which has no canonical action."""
    return _coat_answer(case["reply"]), StepTruth(_coat_recorded(case["gt"]))


def _coat_answer(reply: Mapping[str, Any]) -> StepAction:
    name, arguments = reply["ACTION"], reply["ARGS"]
    if name == "CLICK ELEMENT":
        x1, y1, x2, y2 = (value / 1000 for value in arguments["bbox"])
        return StepAction("click", box_frac=(x1, y1, x2, y2))
    if name == "INPUT":
        return StepAction("type", text=arguments["text"])
    if name == "SCROLL":
        return StepAction("swipe", direction=arguments["direction"])
    if name == "STOP":
        is_done = arguments.get("task_status") == "completed"
        return StepAction("finish", status="success" if is_done else "failure")
    return StepAction("press", button=name.removeprefix("PRESS_").lower())


def _coat_recorded(row: Mapping[str, Any]) -> StepAction:
    words = row["coat_action_desc"]
    if words.startswith("click"):
        return StepAction("click")
    if words.startswith("input"):
        return StepAction("type", text=row["result_action_text"])
    if words.startswith("scroll"):
        return StepAction("swipe", direction=words.split()[1])
    if words.startswith("stop"):
        return StepAction("finish", status="success")
    return StepAction("press", button=words.removeprefix("press").replace("the", "").split()[0])

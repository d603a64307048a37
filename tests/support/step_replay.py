"""Replays recorded steps that the authors' own code judged through the whole program.

    python -m tests.support.step_replay FOLDER [--keep FOLDER]

Reads `official/*.jsonl`, `cross_table.json` and `real/*.json` of a folder, whose recorded set is
`data/android_control_test.jsonl.gz` there, or that of the folder beside the project. Each file is
laid out with blank images and run from a config with a server that gives the recorded answers.
Verdicts are read from the samples file, totals from the score file. Cases whose verdict hangs on
how the authors' code reads a reply (`by_reply`) are run, and compared through a strict reader or
named. The exit status is 0 if all else is equal, 1 if anything is different or fails, 2 if there is
nothing to replay.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.steps.action import StepAction
from benchmarks.steps.rules import RULES
from benchmarks.steps.rules.agentnetbench import POINTED, DesktopAction
from tests.support import step_cases
from tests.support.mock_server import MockServer, Reply, Request
from tests.support.replay_results import exit_status, show
from tests.support.runs import api_model, environment
from tests.support.step_compare import (
    Case,
    Comparison,
    Ran,
    compare_cases,
    compare_cross_table,
    compare_real,
    compare_rule_alone,
    triple_of,
)
from tests.support.step_layout import (
    LAYOUTS,
    USUAL_SIZE,
    LaidStep,
    coat_row,
    odyssey_step,
    options_of,
    uground_columns,
)

HERE = "tests.support.step_replay"
PARSE, PARSE_DESKTOP = f"{HERE}.parse_action", f"{HERE}.parse_desktop"
RECORDED = Path("data") / "android_control_test.jsonl.gz"
FINGER = "benchmarks.steps.rules.infigui_r1.judge_with_finger_truth"
OFFICIAL_ROWS = {"benchmark": "AndroidControl", "level": "low", "rows": "official"}
PUBLISHED = {**OFFICIAL_ROWS, "texts": "first_word", "points": "per_mille"}
ODYSSEY = {"benchmark": "GUIOdyssey", "level": "low"}
AITZ = {"benchmark": "AITZ", "level": "low"}
UGROUND = {**OFFICIAL_ROWS, "form": "uground", "rule": "uground"}
AGENTNETBENCH = {"benchmark": "AgentNetBench", "level": "low", "parse_function": PARSE_DESKTOP}
ENTRIES: Mapping[str, Mapping[str, Any]] = {
    "os_atlas": OFFICIAL_ROWS,
    "qwen": OFFICIAL_ROWS,
    "infigui_r1": OFFICIAL_ROWS,
    "agentcpm": OFFICIAL_ROWS,
    "clawgui": OFFICIAL_ROWS,
    "os_genesis": OFFICIAL_ROWS,
    "gui_r1": OFFICIAL_ROWS,
    "curated": OFFICIAL_ROWS,
    "gui_r1_published_rows": PUBLISHED,
    "curated_published_rows": PUBLISHED,
    "uground": UGROUND,
    "odyssey_official": ODYSSEY,
    "odyssey_os_atlas": ODYSSEY,
    "odyssey_agentcpm": ODYSSEY,
    "aitz_agentcpm": AITZ,
    "aitz_coat": AITZ,
    "agentnetbench": AGENTNETBENCH,
}
"""The config's entry for each file of official verdicts."""


@dataclass
class Replay:
    """Steps to lay out, and what to answer at each."""

    name: str
    entries: Mapping[str, Mapping[str, Any]]  # of the config, by the name of a data set
    steps: list[LaidStep] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)  # by the steps' names

    def add(self, step: LaidStep, answer: Any) -> None:
        """Add a step with its answer in the canonical form."""
        self.steps.append(step)
        self.answers[step.name] = json.dumps(answer)


# -- parse functions ------------------------------------------------------------------------------


def parse_action(response: str, meta: Mapping[str, Any]) -> StepAction | None:
    """Return the canonical action in a reply."""
    fields = json.loads(response)
    return None if fields is None else StepAction.from_json(fields)


def parse_desktop(response: str, meta: Mapping[str, Any]) -> tuple[DesktopAction, ...]:
    """Return the desktop actions in a reply."""
    return tuple(_desktop_action(*answer) for answer in json.loads(response))


def _desktop_action(word: str, value: Any = None) -> DesktopAction:
    name = word.lower()
    if name in POINTED:
        return DesktopAction(name, point=tuple(value))
    if name == "write":
        return DesktopAction(name, text=value)
    if name in ("press", "hotkey"):
        return DesktopAction(name, keys=tuple(value))
    if name == "terminate":
        return DesktopAction(name, status=value)
    return DesktopAction(name)


# -- files of a folder ----------------------------------------------------------------------------


def recorded_steps(folder: Path) -> dict[str, dict[str, Any]]:
    """All recorded steps by id, of the folder or of the one beside the project."""
    path = folder / RECORDED
    if not path.is_file():
        path = step_cases.FOLDER / RECORDED
    steps = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for episode in map(json.loads, lines):
            for number, step in enumerate(episode["steps"]):
                steps[f"episode_{episode['episode_id']}_screenshot_{number}"] = step
    return steps


def read_cases(path: Path, limit: int | None) -> tuple[dict[str, Any], list[Case]]:
    """The totals of a file of official verdicts, and its cases, or so many of them."""
    with path.open(encoding="utf-8") as lines:
        head, *cases = [json.loads(line) for line in lines if line.strip()]
    if limit is not None:
        cases = cases[:: max(1, len(cases) // limit)][:limit]
    return head["totals"], cases


# -- official verdicts ----------------------------------------------------------------------------


def rules_of(file: str, case: Case) -> dict[str, str]:
    """The rules by which a case is compared, each with the field of the expected verdict."""
    if file == "qwen":
        return {"qwen": "expected", "ui_s1": "expected_as_released"}
    if file == "curated":
        return {"curated_point" if case["variant"] == "point" else "curated_box": "expected"}
    names = {"curated_published_rows": "curated_point", "aitz_coat": "aitz_coat_broken"}
    return {names.get(file, file.removesuffix("_published_rows")): "expected"}


def is_added(case: Case) -> bool:
    """Whether the step stands in no recorded set: AgentCPM-GUI ends each episode by one."""
    return str(case.get("row", "")).endswith("_finish")


def answer_of(file: str, case: Case) -> Any:
    """The answer of a case as JSON."""
    if file == "agentnetbench":
        return case["predicted_actions"]
    if file == "aitz_coat":
        return step_cases.coat_case(case)[0].as_json()
    if file == "uground":
        return step_cases.grounded_action(case).as_json()
    return case["action"]


def recorded_of(file: str, case: Case, steps: Mapping[str, Any]) -> dict[str, Any]:
    """The recorded action of a case's step, in the form of its data set."""
    if file == "uground":
        return uground_columns(case)
    if file == "agentnetbench":
        return {"ground_truth_actions": case["ground_truth_actions"]}
    if file == "aitz_coat":
        return coat_row(case)
    if file == "aitz_agentcpm":
        return dict(case["gt"])
    if file.startswith("odyssey"):
        return odyssey_step(case)
    return options_of(case, steps)


def place_of(cases: Sequence[Case]) -> Iterator[tuple[int, int]]:
    """Yield episode and step of each case: its own where they are whole, or an episode of its own."""
    by_episode: dict[Any, list[int]] = {}
    for case in cases:
        by_episode.setdefault(case.get("episode_id"), []).append(case.get("step", -1))
    are_whole = None not in by_episode and all(
        sorted(numbers) == list(range(len(numbers))) for numbers in by_episode.values()
    )
    for number, case in enumerate(cases, 1):
        yield (int(case["episode_id"]), case["step"]) if are_whole else (number, 0)


def replay_official(
    path: Path, folder: Path, steps: Mapping[str, Any], limit: int | None
) -> list[Comparison]:
    """Run the cases of a file; return a comparison for each rule."""
    file = path.stem
    totals, cases = read_cases(path, limit)
    comparisons: dict[str, Comparison] = {}
    for case in cases:
        for rule in rules_of(file, case):
            comparisons.setdefault(rule, Comparison(f"{rule} ({path.name})"))
    added = [case for case in cases if is_added(case)]
    run_cases = [case for case in cases if not is_added(case)]
    replay = Replay(file, {"Steps": ENTRIES[file]})
    by_id: dict[str, Case] = {}
    for number, (case, place) in enumerate(zip(run_cases, place_of(run_cases), strict=True)):
        size = (case["width"], case["height"]) if "width" in case else USUAL_SIZE
        recorded = recorded_of(file, case, steps)
        prompt = {"goal": case["prompt"]} if "prompt" in case else {}
        step = LaidStep(*place, f"case {number}", recorded, size, **prompt)
        replay.add(step, answer_of(file, case))
        by_id[step.row_id] = case
    ran = run(replay, folder)["Steps"]
    for rule, comparison in comparisons.items():
        of_rule = {row_id: case for row_id, case in by_id.items() if rule in rules_of(file, case)}
        field_name = next(rules_of(file, case)[rule] for case in of_rule.values())
        if added:
            compare_rule_alone(comparison, added, judge_alone(rule))
        all_cases = None if limit is not None else cases
        compare_cases(comparison, file, rule, field_name, of_rule, ran, totals, all_cases)
    return list(comparisons.values())


def judge_alone(rule: str) -> Any:
    """The verdict of a rule on a case, without the program."""

    def judge(case: Case) -> Any:
        action, truth = step_cases.action_of(case), step_cases.truth_of(case)
        return triple_of(RULES[rule].judge(action, truth, step_cases.size_of(case)))

    return judge


# -- whole episodes under all rules, and real replies ---------------------------------------------


def replay_cross_table(path: Path, folder: Path, steps: Mapping[str, Any]) -> list[Comparison]:
    """Run the answers of the table on all rows and on those of OS-Atlas."""
    table = json.loads(path.read_text(encoding="utf-8"))
    with_finger = {**OFFICIAL_ROWS, "rule": FINGER}
    entries = {"AllRows": with_finger, "OSAtlasRows": {**with_finger, "rows": "os_atlas"}}
    replay = Replay("cross_table", entries)
    for answer in table["answers"]:
        _, episode, _, number = answer["id"].split("_")
        options = options_of({"row": answer["id"]}, steps)
        size = (answer["width"], answer["height"])
        step = LaidStep(int(episode), int(number), f"case {len(replay.steps)}", options, size)
        replay.add(step, answer["action"])
    runs = run(replay, folder)
    return compare_cross_table(table, runs, {FINGER: "infigui_r1_finger"})


def replay_real(path: Path, folder: Path, steps: Mapping[str, Any]) -> list[Comparison]:
    """Run published replies and count the kinds of actions."""
    content = json.loads(path.read_text(encoding="utf-8"))
    replay = Replay(path.stem, {"Steps": OFFICIAL_ROWS})
    by_id: dict[str, Case] = {}
    for number, row in enumerate(content["rows"], 1):
        ending = {"action": "terminate", "status": "success"}
        recorded = ending if row["row"] is None else options_of(row, steps)
        step = LaidStep(number, 0, f"case {number}", recorded)
        replay.add(step, row["action"])
        by_id[step.row_id] = row
    return [compare_real(path.name, content["counts"], by_id, run(replay, folder)["Steps"])]


# -- running --------------------------------------------------------------------------------------


def run(replay: Replay, folder: Path) -> dict[str, Ran]:
    """Lay a replay out and run it; return what came of each data set."""
    import evaluate

    root = folder / "data"
    entry = next(iter(replay.entries.values()))
    layout = entry["benchmark"] + (", form uground" if "form" in entry else "")
    LAYOUTS[layout](root, replay.steps)

    def answer(request: Request) -> Reply:
        return Reply(replay.answers[re.findall(r"case \d+", request.text)[-1]])

    data = {name: {"parse_function": PARSE, **entry} for name, entry in replay.entries.items()}
    variables = environment(LMUData=str(root))
    with (
        MockServer(answer) as server,
        mock.patch.dict(os.environ, variables, clear=True),
        contextlib.redirect_stdout(io.StringIO()),  # it warns that rows of the set are missing
    ):
        config = folder / "config.json"
        model = {"recorded": api_model(server.url)}
        config.write_text(json.dumps({"model": model, "data": data}), encoding="utf-8")
        results = evaluate.run(
            config, work_dir=str(folder / "outputs"), report=False, quiet=True, api_nproc=4
        )
    runs = {}
    for dataset in replay.entries:
        score = next(results[0].folder.glob(f"*_{dataset}_score.json"))
        samples = next(results[0].folder.glob(f"*_{dataset}_samples.jsonl"))
        _, *lines = map(json.loads, samples.read_text(encoding="utf-8").splitlines())
        lines_by_id = {line["id"]: line for line in lines}
        runs[dataset] = Ran(
            json.loads(score.read_bytes()), lines_by_id, results[0].analysis[dataset]
        )
    return runs


def comparisons_of(folder: Path, keep: Path, limit: int | None = None) -> Iterator[Comparison]:
    """Yield what comes of each file of a folder.

    Args:
        folder: with the files.
        keep: where runs stay.
        limit: cases of each file of official verdicts; None: all, and the other files too.
    """
    steps = recorded_steps(folder)
    official = sorted((folder / "official").glob("*.jsonl"))
    jobs = [(path, replay_official) for path in official if path.stem in ENTRIES]
    for path in official:
        if path.stem not in ENTRIES:
            print(f"{path.name}: no rule of the program; left out")
    if limit is None:
        tables = [path for path in [folder / "cross_table.json"] if path.is_file()]
        jobs += [(path, replay_cross_table) for path in tables]
        jobs += [(path, replay_real) for path in sorted((folder / "real").glob("*.json"))]
    for path, replay in jobs:
        run_folder = keep / path.stem
        arguments = (path, run_folder, steps, *([limit] if replay is replay_official else []))
        try:
            run_folder.mkdir(parents=True)
            yield from replay(*arguments)
        except Exception as error:  # noqa: BLE001 - it is named, and the next file goes on
            comparison = Comparison(path.name)
            comparison.different.append(f"failed with {type(error).__name__}: {error}")
            yield comparison


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog=f"python -m {HERE}")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keep", type=Path, help="an empty folder where runs stay")
    options = parser.parse_args(arguments)
    if not options.folder.is_dir():
        parser.error(f"{options.folder} is no folder")
    results: list[Comparison] = []
    with tempfile.TemporaryDirectory() as temporary:
        for comparison in comparisons_of(options.folder, options.keep or Path(temporary)):
            show(comparison)
            results.append(comparison)
    return exit_status(results, "comparisons")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

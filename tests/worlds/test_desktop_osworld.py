"""Tasks in OSWorld's JSON become tasks of the desktop; what cannot be run is named with its reason."""

import subprocess
import sys

import pytest

from benchmarks.worlds.desktop.osworld.files import read_tasks
from benchmarks.worlds.desktop.osworld.metrics import METRICS
from benchmarks.worlds.desktop.osworld.world import OSWorldDesktop
from tests.support.desktop import need_desktop
from tests.support.desktop_play import Player
from tests.support.osworld_tasks import (
    COSTS,
    TASKS,
    docx,
    gold,
    table_rule,
    task,
    write_folder,
    xlsx,
)
from tests.support.runs import PROJECT

RIGHT_WAYS = {
    "total": [["cell", "B4"], ["type", "=SUM(B2:B3)\n"], ["done"]],
    "list": [["key", "ctrl+end"], ["type", "milk\n"], ["done"]],
    "impossible": [["fail", "there is no Thunderbird"]],
}
"""Of tasks whose evaluators press Ctrl+S, and of one that cannot be done."""
UNSUPPORTED = {
    "function": (
        {"evaluator": {"func": "compare_pptx_files"}},
        "the function 'compare_pptx_files' is none of infeasible, compare_table",
    ),
    "rule": (
        {"evaluator": {"options": {"rules": [{"type": "chart"}]}}},
        "compare_table with the rule 'chart' cannot be judged here",
    ),
    "rule_key": (
        {"evaluator": {"options": {"rules": [{"type": "sheet_data", "ignore_chars": " "}]}}},
        "'ignore_chars' of the rule 'sheet_data'",
    ),
    "option": (
        {"evaluator": {"func": "compare_docx_files", "options": {"fuzzy_match": True}}},
        "compare_docx_files has an option 'fuzzy_match' that is unknown",
    ),
    "result": (
        {"evaluator": {"result": {"type": "vm_command_line", "command": "ls"}}},
        "the result 'vm_command_line' cannot be read here",
    ),
    "expected": (
        {"evaluator": {"expected": {"type": "vm_file", "path": "/home/user/a"}}},
        "'vm_file' cannot be expected here",
    ),
    "command": (
        {"config": [{"type": "execute", "parameters": {"command": ["ls"]}}]},
        "config: 'execute' cannot be done here",
    ),
    "program": (
        {"config": [{"type": "launch", "parameters": {"command": ["google-chrome"]}}]},
        "'google-chrome' cannot be launched here",
    ),
    "place": (
        {"config": [{"type": "open", "parameters": {"path": "/etc/passwd"}}]},
        "/etc/passwd is not in the home",
    ),
    "way_out": (
        {"config": [{"type": "open", "parameters": {"path": "/home/user/../../etc/a.txt"}}]},
        "is not in the home",
    ),
    "last_code": (
        {
            "evaluator": {
                "postconfig": [
                    {
                        "type": "execute",
                        "parameters": {"command": ["python", "-c", "import os; os.remove('a')"]},
                    }
                ]
            }
        },
        "its code cannot be read: os.remove",
    ),
    "no_file": (
        {"evaluator": {"expected": None}},
        "compare_table compares with a file, and there is none",
    ),
    "no_rules": (
        {"evaluator": {"func": "file_contains", "expected": None, "options": None}},
        "file_contains with no list of what is expected",
    ),
    "lost_file": (
        {"evaluator": {"expected": gold("nowhere.xlsx")}},
        "nowhere.xlsx is not in files/ID/ or files/",
    ),
    "form": ({"config": [{"parameters": {}}]}, "is not in OSWorld's form"),
}


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path / "tasks")


def test_ten_tasks_in_its_form_can_be_run(folder):
    reading = read_tasks(folder)
    assert reading.refusals == []
    assert {task["id"] for task in reading.tasks} == {content["id"] for content in TASKS}
    levels = {
        level: [task["id"] for task in OSWorldDesktop.tasks(level, [0, 1], str(folder))]
        for level in ("L3", "L4")
    }
    assert len(levels["L3"]) == 18 and levels["L4"] == ["impossible"] * 2
    [total] = [task for task in reading.tasks if task["id"] == "total"]
    assert total["open"] == ["costs.xlsx"] and total["category"] == "office"
    assert total["actions"] == [{"kind": "key", "keys": ["ctrl", "s"]}]


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_a_task_that_cannot_be_run_is_named_with_the_reason(tmp_path, name):
    change, reason = UNSUPPORTED[name]
    content = task(name, "costs.xlsx", "compare_table", expected=gold("costs_gold.xlsx"))
    content["evaluator"] = {
        **content["evaluator"],
        "options": table_rule("sheet_name"),
        **change.get("evaluator", {}),
    }
    content["config"] = change.get("config", content["config"])
    [refusal] = read_tasks(write_folder(tmp_path, [content])).refusals
    assert refusal.startswith(f"{name}: ") and reason in refusal


def test_tasks_that_cannot_be_run_are_problems_unless_they_are_to_be_left_out(tmp_path):
    unknown = {**TASKS[0], "id": "video", "evaluator": {"func": "compare_videos"}}
    folder = str(write_folder(tmp_path, [*TASKS, unknown]))
    lines = OSWorldDesktop.problems(folder)
    assert any(line.startswith("video: ") for line in lines) and "leave_out" in lines[-1]
    assert not any("video" in line for line in OSWorldDesktop.problems(folder, leave_out=True))
    [line] = OSWorldDesktop.problems(f"{folder}/none")
    assert "is no folder" in line
    command = [sys.executable, "-m", "benchmarks.worlds.desktop.osworld", folder]
    result = subprocess.run(command, capture_output=True, text=True, cwd=PROJECT)
    assert result.returncode == 0 and result.stdout.endswith("10 can be run, 1 cannot\n")


def test_another_file_of_that_name_makes_another_task(folder):
    [before] = [task for task in read_tasks(folder).tasks if task["id"] == "list"]
    (folder / "files/list.txt").write_text("apples\n")
    [after] = [task for task in read_tasks(folder).tasks if task["id"] == "list"]
    assert before != after


@pytest.mark.parametrize(
    ("function", "content", "expected", "options", "fits"),
    [
        ("compare_table", xlsx(COSTS), xlsx([["Item"]]), "sheet_data", False),
        ("compare_table", xlsx([[1.00001]]), xlsx([[1.00002]]), "sheet_data", True),
        ("compare_table", xlsx([*COSTS, [None]]), xlsx(COSTS), "sheet_data", True),
        ("compare_table", xlsx(COSTS, freeze="A2"), xlsx(COSTS), "freeze", False),
        ("compare_table", xlsx(COSTS), xlsx(COSTS, sheet="B"), "sheet_name", False),
        ("compare_csv", b"a,B\n", b"a,b\n", {}, False),
        ("compare_csv", b"a, B\n", b"a,  b\n", {"strict": False}, True),
        ("compare_text_file", b"a \n", b"a\n", {}, False),
        ("compare_text_file", b"A  b\n", b"a b\n", {"ignore_blanks": 1, "ignore_case": 1}, True),
        ("compare_docx_files", docx("a", "b"), docx("b", "a"), {"ignore_order": True}, True),
        ("compare_docx_files", docx("a", "b"), docx("b", "a"), {}, False),
        ("compare_docx_files_and_ignore_new_lines", docx("a", "", "b"), docx("a", "b"), {}, True),
        ("compare_docx_tables", docx("x", table=[["a"]]), docx("y", table=[["a"]]), {}, True),
        ("compare_docx_tables", docx("x", table=[["a"]]), docx("x"), {}, False),
        ("contains_page_break", docx("a", "b", page_break=True), {"page_break_count": 2}, {}, 0),
        ("contains_page_break", docx("a", "b", page_break=True), None, {}, True),
        ("file_contains", b"bread and milk", {"expected": ["milk", "tea"]}, {}, False),
        ("check_config_status", b'(theme "Dark")\n', {"key": "theme", "value": "Dark"}, {}, True),
        ("check_config_status", b'# (theme "Dark")\n', {"key": "theme", "value": "Dark"}, {}, 0),
    ],
)
def test_functions_judge_by_their_names(function, content, expected, options, fits):
    if isinstance(options, str):
        options = {"rules": [{"type": options, "sheet_idx0": 0, "sheet_idx1": "EI0"}]}
    assert METRICS[function].fits(content, expected, options) == fits


@pytest.mark.parametrize(
    ("method", "reference", "fits"),
    [("eq", 35, True), ("ne", 35, False), ("lt", 36, True), ("gt", "x", False), ("re", "^3", True)],
)
def test_a_cell_is_compared_by_its_method(method, reference, fits):
    props = {"value": {"method": method, "ref": reference}}
    rule = {"type": "check_cell", "sheet_idx": "RNCosts", "coordinate": "B3", "props": props}
    assert METRICS["compare_table"].fits(xlsx(COSTS), None, {"rules": [rule]}) is fits


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    need_desktop()
    folder = write_folder(tmp_path_factory.mktemp("tasks"))
    world = OSWorldDesktop(tmp_path_factory.mktemp("shots"), folder=str(folder))
    yield world, {task["id"]: task for task in read_tasks(folder).tasks}
    world.close()


@pytest.mark.parametrize("name", RIGHT_WAYS)
def test_a_task_is_solved_on_the_desktop_and_nothing_done_is_no_success(world, name):
    world, tasks = world
    outcomes = []
    for steps in (RIGHT_WAYS[name], [["done"]]):
        world.reset(tasks[name])
        Player(world).play(steps)
        outcomes.append(world.evaluate())
    assert [outcome.success for outcome in outcomes] == [True, False], outcomes

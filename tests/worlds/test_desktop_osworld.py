"""Tasks in OSWorld's JSON become tasks of the desktop; what cannot be run is named with its reason."""

import json
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


def of_config(tmp_path, *steps):
    """The one task with these steps before it starts, and the lines on what cannot be run."""
    content = {**TASKS[0], "config": [{"type": kind, "parameters": it} for kind, it in steps]}
    reading = read_tasks(write_folder(tmp_path, [content]))
    return [*reading.tasks], [*reading.refusals]


@pytest.mark.parametrize(
    ("command", "opened"),
    [
        (["gimp"], "gimp"),
        ("gimp /home/user/a.png", "gimp:a.png"),
        (["/usr/bin/nautilus", "/home/user/Documents"], "files:Documents"),
        (["soffice", "--calc"], "calc"),
        ("libreoffice --writer '~/my letter.docx'", "writer:my letter.docx"),
        ("libreoffice ~/Documents/a.xlsx", "Documents/a.xlsx"),
    ],
)
def test_a_program_that_is_launched_is_an_application_of_the_desktop(tmp_path, command, opened):
    [task], _ = of_config(tmp_path, ("launch", {"command": command}))
    assert task["open"] == [opened]


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (["soffice", "--headless"], "'soffice --headless' cannot be launched here"),
        (["soffice"], "'soffice' cannot be launched here"),
        (["libreoffice", "/home/user/a.vsd"], "no application opens a.vsd"),
        (["gimp", "--no-interface"], "'gimp --no-interface' cannot be launched here"),
        (["gimp", "~/a.png", "~/b.png"], "cannot be launched here"),
        (["gimp", "/etc/a.png"], "/etc/a.png is not in the home"),
        (["gimp", "~"], "~ is not in the home"),
        ([], "is not in OSWorld's form"),
        ("", "is not in OSWorld's form"),
    ],
)
def test_a_program_or_an_argument_that_is_not_there_is_named(tmp_path, command, reason):
    tasks, [refusal] = of_config(tmp_path, ("launch", {"command": command}))
    assert tasks == [] and reason in refusal


def test_what_waits_for_windows_is_not_needed(tmp_path):
    waits = [("sleep", {"seconds": 2}), ("activate_window", {"window_name": "x"})]
    [task], _ = of_config(tmp_path, *waits, ("open", {"path": "~/a.txt"}))
    assert (task["open"], task["files"]) == (["a.txt"], {})


def test_a_file_that_no_application_opens_is_named(tmp_path):
    _, [refusal] = of_config(tmp_path, ("open", {"path": "/home/user/a.iso"}))
    assert refusal == "total: config: no application opens a.iso"


def uploaded(local_path):
    return "upload_file", {"files": [{"local_path": local_path, "path": "/home/user/b/c.txt"}]}


def test_a_file_of_the_folder_is_uploaded_under_another_name(tmp_path):
    [task], _ = of_config(tmp_path, uploaded("files/list.txt"))
    [(path, source)] = task["files"].items()
    assert (path, source["file"]) == ("b/c.txt", "files/list.txt")


@pytest.mark.parametrize("path", ["files/none.txt", "files", "../secret.txt", "/etc/hostname"])
def test_a_file_beside_the_folder_or_none_is_not_uploaded(tmp_path, path):
    (tmp_path / "secret.txt").write_text("x")
    _, [refusal] = of_config(tmp_path / "tasks", uploaded(path))
    assert refusal == f"total: {path} is no file in the folder"


def test_a_file_of_the_task_itself_comes_before_one_of_all_tasks(tmp_path):
    folder = write_folder(tmp_path, [TASKS[0]])
    [shared] = read_tasks(folder).tasks
    own = folder / "files/total"
    own.mkdir()
    (own / "costs.xlsx").write_bytes(b"other")
    [task] = read_tasks(folder).tasks
    assert shared["files"]["costs.xlsx"]["file"] == "files/costs.xlsx"
    assert task["files"]["costs.xlsx"]["file"] == "files/total/costs.xlsx"


def test_other_files_of_the_folder_are_no_tasks(tmp_path):
    folder = write_folder(tmp_path, [TASKS[0]])
    text = (folder / "examples/office/total.json").read_text()
    (folder / "examples/half.json").write_text(text[:-9])
    (folder / "examples/index.json").write_text('{"office": ["total"]}')
    (folder / "examples/list.json").write_text("[]")
    (folder / "files/copy.json").write_text(text)
    reading = read_tasks(folder)
    assert [task["id"] for task in reading.tasks] == ["total"] and reading.refusals == []


@pytest.mark.parametrize(
    ("place", "apps", "category", "level"),
    [
        ("examples/multi_apps/a.json", ["gimp"], "multi_apps", "L4"),
        ("examples/gimp/a.json", ["gimp"], "gimp", "L3"),
        ("examples/gimp/a.json", ["gimp", "files"], "gimp", "L4"),
        ("a.json", [], "libreoffice", "L3"),
    ],
)
def test_tasks_with_several_applications_are_of_the_fourth_level(
    tmp_path, place, apps, category, level
):
    folder = write_folder(tmp_path, [])
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    (folder / place).write_text(json.dumps({**TASKS[0], "related_apps": apps}))
    [task] = read_tasks(folder).tasks
    assert (task["category"], task["level"]) == (category, level)


def last_steps(*commands):
    steps = [{"type": "execute", "parameters": {"command": command}} for command in commands]
    return {"postconfig": steps}


def python(code):
    return ["python3", "-c", code]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"conj": "xor"}, "conj 'xor' is neither and nor or"),
        ({"expected": {**gold("a"), "path": ["a", "b"]}}, "compare_table expects several files"),
        ({"expected": {"type": "rule", "rules": {}}}, "compares with a file, and there is none"),
        (
            {"func": "file_contains", "options": {}},
            "file_contains expects rules, and no file",
        ),
        ({"result": None}, "the result None cannot be read here"),
        ({"result": {"type": "vm_file", "path": ["a"]}}, "result 'vm_file' cannot be read here"),
        (last_steps("reboot"), "'execute' cannot be done before judging here"),
        (last_steps(["bash", "-c", "ls"]), "'execute' cannot be done before judging here"),
        (last_steps(["python", "a.py"]), "'execute' cannot be done before judging here"),
        (
            last_steps(python("import pyautogui; pyautogui.click(1, 2)")),
            "'click' cannot be done before judging",
        ),
        ({"postconfig": [{"type": "launch"}]}, "'launch' cannot be done before judging here"),
    ],
)
def test_an_evaluator_that_cannot_judge_here_is_named_with_the_reason(tmp_path, change, reason):
    content = {**TASKS[0], "evaluator": TASKS[0]["evaluator"] | change}
    [refusal] = read_tasks(write_folder(tmp_path, [content])).refusals
    assert refusal.startswith("total: evaluator: ") and reason in refusal


def test_what_is_done_before_judging_is_done_in_its_order(tmp_path):
    steps = last_steps(
        python("import pyautogui; pyautogui.press('escape'); pyautogui.write('a')"),
        python("import pyautogui; pyautogui.hotkey('ctrl', 's')"),
    )
    content = {**TASKS[0], "evaluator": TASKS[0]["evaluator"] | steps}
    [task] = read_tasks(write_folder(tmp_path, [content])).tasks
    assert [action.get("keys", action.get("text")) for action in task["actions"]] == [
        ["escape"],
        "a",
        ["ctrl", "s"],
    ]


def test_several_functions_judge_each_its_own_file_and_one_result_is_that_of_all(tmp_path):
    [task] = read_tasks(write_folder(tmp_path, [TASKS[5]])).tasks
    assert task["conjunction"] == "or"
    first, second = task["checks"]
    assert (first["function"], second["function"]) == ("compare_docx_tables", "contains_page_break")
    assert first["path"] == second["path"] == "letter.docx"
    assert first["expected"]["file"] == "files/table.docx" and "rules" not in first
    assert second["rules"] == {"page_break_count": 1} and "expected" not in second


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

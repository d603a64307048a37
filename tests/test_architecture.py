"""The rules of the house that a machine can check: who imports whom, what a run loads, how long."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import runs
from tests.support.mock_server import MockServer
from utils.protocol import PLATFORM_LABELS

PROJECT = Path(__file__).resolve().parents[1]
SKIPPED_FOLDERS = {"outputs", "__pycache__", "node_modules", "build", "venv"}
LONGEST_MODULE = 400
HEAVY = ("torch", "torchvision", "transformers", "onnxruntime", "rapidocr", "vllm", "qwen_vl_utils")

# A path of somebody's machine: nothing that another one has.
MACHINE_PATH = re.compile(
    r"(?<![\w.~$}>:/])/(?:home|root|work|Users|mnt|scratch|tmp)/\w|\b[A-Za-z]:\\\\?Users"
)

# Runs the program in a process of its own, then says which modules that has loaded.
DRIVER = """
import json, sys
sys.path.insert(0, sys.argv[1])
import evaluate
code = "not run"
if sys.argv[3:]:
    try:
        code = evaluate.main(sys.argv[3:])
    except SystemExit as ended:
        code = ended.code
tops = {name.partition(".")[0] for name in sys.modules}
open(sys.argv[2], "w").write(json.dumps({"code": code, "loaded": sorted(tops)}))
"""


def project_files(folder=PROJECT):
    paths = [path.relative_to(PROJECT) for path in sorted(folder.rglob("*.py"))]
    return [path for path in paths if not any(
        part in SKIPPED_FOLDERS or part.startswith(".") for part in path.parts)]  # fmt: skip


def imported_packages(path):
    """Top-level packages that a file imports, inside functions and by import_module too."""
    found = set()
    for node in ast.walk(ast.parse((PROJECT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(path.parts[0] if node.level else (node.module or "").partition(".")[0])
        elif isinstance(node, ast.Call) and node.args:
            called = (
                node.func.attr
                if isinstance(node.func, ast.Attribute)
                else getattr(node.func, "id", "")
            )
            name = node.args[0]
            if called in ("import_module", "__import__") and isinstance(name, ast.Constant):
                found.add(str(name.value).partition(".")[0])
    return found


def loaded_by(tmp_path, *arguments, env=None):
    """Exit code of `evaluate.py <arguments>` (or of its import) and what the process has loaded."""
    answer = tmp_path / "loaded.json"
    finished = subprocess.run(
        [sys.executable, "-c", DRIVER, str(PROJECT), str(answer), *map(str, arguments)],
        cwd=tmp_path, env=runs.environment(**(env or {})), capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert answer.exists(), finished.stdout + finished.stderr
    return json.loads(answer.read_text())


# -- imports --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("package", "forbidden"), [
    ("benchmarks", {"models", "evaluate"}),
    ("models", {"benchmarks", "evaluate"}),
    ("utils", {"benchmarks", "models", "evaluate"}),
])  # fmt: skip
def test_a_package_knows_only_what_lies_below_it(package, forbidden):
    files = project_files(PROJECT / package)
    assert files

    offenders = {str(path): sorted(imported_packages(path) & forbidden) for path in files}

    assert {path: names for path, names in offenders.items() if names} == {}


def test_benchmarks_and_models_meet_in_evaluate_only():
    top_level_or_test = [path for path in project_files()
                         if len(path.parts) > 1 and path.parts[0] not in ("tests", "perf")]  # fmt: skip

    both = [str(p) for p in top_level_or_test if {"benchmarks", "models"} <= imported_packages(p)]

    assert both == []


def test_nothing_but_tests_imports_tests():
    outside = [path for path in project_files() if path.parts[0] not in ("tests", "perf")]

    offenders = [str(path) for path in outside if "tests" in imported_packages(path)]

    assert offenders == []


def test_the_check_sees_imports_inside_functions(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "PROJECT", tmp_path)
    (tmp_path / "sly.py").write_text(
        "def f():\n    from models.wrappers.api.wire import x\n    importlib.import_module('benchmarks.base')\n"
    )

    assert imported_packages(Path("sly.py")) == {"models", "benchmarks"}


# -- what is loaded -------------------------------------------------------------------------------


def test_importing_evaluate_loads_nothing_heavy(tmp_path):
    loaded = loaded_by(tmp_path)["loaded"]

    assert set(loaded) & set(HEAVY) == set()


def test_help_loads_nothing_heavy(tmp_path):
    result = loaded_by(tmp_path, "--help")

    assert (result["code"], set(result["loaded"]) & set(HEAVY)) == (0, set())


def test_a_config_error_loads_nothing_heavy(tmp_path):
    config = runs.write_config(tmp_path / "c.json", model={"m": {"imp_type": "transformers"}})

    result = loaded_by(tmp_path, "--config", config)

    assert (result["code"], set(result["loaded"]) & {*HEAVY, "pandas"}) == (2, set())


def test_reading_a_config_loads_nothing_for_arithmetic(tmp_path):
    data = runs.make_data(tmp_path / "data")
    config = runs.write_config(
        tmp_path / "c.json", model={"m": runs.api_model("http://127.0.0.1:9/v1")}
    )

    result = loaded_by(tmp_path, "--config", config, "--check", env={"LMUData": str(data)})

    assert (result["code"], set(result["loaded"]) & {"pandas", "numpy", "scipy"}) == (0, set())


def test_an_api_run_loads_nothing_heavy(tmp_path):
    data = runs.make_data(tmp_path / "data")
    with MockServer() as server:
        config = runs.write_config(tmp_path / "c.json", model={"m": runs.api_model(server.url)})
        result = loaded_by(
            tmp_path, "--config", config, "--work-dir", tmp_path / "out", env={"LMUData": str(data)}
        )

    assert (result["code"], set(result["loaded"]) & set(HEAVY)) == (0, set())


@pytest.mark.parametrize("example", ["api_gpt", "api_uitars"])
def test_an_api_run_with_an_example_file_loads_nothing_heavy(tmp_path, example):
    data = runs.make_data(tmp_path / "data")
    functions = {"custom_prompt": {"GUIElementGrounding": f"models.{example}.build_custom_prompt"}}
    parse = {"mode": "all", "parse_function": f"models.{example}.parse_grounding_response"}
    with MockServer() as server:
        config = runs.write_config(
            tmp_path / "c.json",
            model={"m": runs.api_model(server.url, **functions)},
            data={"GUIElementGrounding": parse},
        )
        result = loaded_by(
            tmp_path, "--config", config, "--work-dir", tmp_path / "out", env={"LMUData": str(data)}
        )

    assert (result["code"], set(result["loaded"]) & set(HEAVY)) == (0, set())


# -- files ----------------------------------------------------------------------------------------


def test_no_module_is_longer_than_a_reader_bears():
    modules = [path for path in project_files() if path.parts[0] != "tests"]

    lengths = {str(path): len((PROJECT / path).read_bytes().splitlines()) for path in modules}

    assert {path: lines for path, lines in lengths.items() if lines > LONGEST_MODULE} == {}


@pytest.mark.parametrize(("text", "is_one"), [
    ('root = "/home/jane/data"', True),
    ('root = "C:\\\\Users\\\\jane"', True),
    ('root = "~/LMUData"', False),
    ('url = "http://host/home/x"', False),
    ('path = folder / "home/x"', False),
])  # fmt: skip
def test_a_path_of_a_machine_is_told_from_others(text, is_one):
    assert bool(MACHINE_PATH.search(text)) is is_one


def test_no_file_names_a_path_of_somebodys_machine():
    found = [
        f"{path}:{number}: {line.strip()}"
        for path in project_files()
        for number, line in enumerate((PROJECT / path).read_text(encoding="utf-8").splitlines(), 1)
        if MACHINE_PATH.search(line) and path != Path("tests/test_architecture.py")
    ]

    assert found == []


@pytest.mark.parametrize("word", ["os_windows", "os_web", "easy", "hard"])
def test_what_the_samples_are_divided_into_is_listed_in_one_place(word):
    listed = re.compile(rf'[(\[{{,]\s*"{word}"\s*[,:)\]}}]')
    packages = [
        path for path in project_files() if path.parts[0] in ("benchmarks", "models", "utils")
    ]

    found = [str(p) for p in packages if listed.search((PROJECT / p).read_text(encoding="utf-8"))]

    assert found == ["utils/protocol.py"]


def test_the_report_page_names_platforms_as_the_program_does():
    script = (PROJECT / "utils/report/assets/core.js").read_text(encoding="utf-8")

    assert [f'{name}: "{label}"' in script for name, label in PLATFORM_LABELS.items()] == [True] * 6

"""The rules of the house that a machine can check: who imports whom, what a run loads."""

import ast
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.support import runs
from tests.support.mock_server import MockServer
from utils.protocol import PLATFORM_LABELS

PROJECT = Path(__file__).resolve().parents[1]
SKIPPED_FOLDERS = {"outputs", "__pycache__", "node_modules", "build", "venv"}
HEAVY = ("torch", "torchvision", "transformers", "onnxruntime", "rapidocr", "vllm", "qwen_vl_utils")

DOORS_OF_GEOMETRY = ("utils.images", "utils.resizing", "utils.targets", "utils.zooming")
"""For functions of users; what is within `utils.geometry` is imported from there."""
ORDER = (
    (
        "utils",
        "utils.contracts",
        "utils.data_files",
        "utils.errors",
        "utils.findings",
        "utils.locks",
        "utils.program",
        "utils.protocol",
        "utils.starting",
        "utils.text",
        "utils.folding",
        "utils.patterns",
        "utils.tool_calls",
        "utils.pyautogui_code",
        "utils.sampling",
        "utils.subsets",
        "utils.sections",
    ),
    (
        "utils.misc",
        "utils.thinking",
        "utils.reply_numbers",
        "utils.coordinates",
        "utils.datasets",
        "utils.geometry",
        *DOORS_OF_GEOMETRY,
    ),
    ("utils.functions", "utils.import_utils"),
    ("utils.config",),
    ("utils.store",),
    ("utils.exchange",),
    ("utils.analysis",),
    ("utils.scoring",),
    ("utils.engine",),
    ("utils.inference_tools",),
    ("utils.judging",),
    ("utils.comparing",),
    ("utils.pages",),
    ("utils.session",),
)
"""Rooms of `utils`, left to right: a module imports from its own and from those before it."""

BELOW = (
    "program contracts data_files errors findings protocol sections text folding tool_calls pyautogui_code "
    "misc thinking reply_numbers coordinates geometry functions "
)
SEEN_BY = {
    "benchmarks": BELOW + "analysis subsets",
    "models": BELOW + "import_utils config datasets.published",
}
DOWNLOAD = {
    "utils.download",
    "utils.datasets.github",
    "utils.datasets.hub",
    "utils.datasets.table_downloads",
}
SEEN_BY_DOWNLOAD = {
    "utils",
    "utils.data_files",
    "utils.errors",
    "utils.locks",
    "utils.program",
    "utils.protocol",
    "utils.starting",
    "utils.text",
    "utils.geometry.images",
    "utils.config.environment",
    *DOWNLOAD,
}

# A path of somebody's machine: nothing that another one has. "/home/user" is in every desktop world.
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
    return [
        path
        for path in paths
        if not any(part in SKIPPED_FOLDERS or part.startswith(".") for part in path.parts)
    ]


def loaded_by(tmp_path, *arguments, env=None):
    """Exit code of `evaluate.py <arguments>` (or of its import) and what the process has loaded."""
    answer = tmp_path / "loaded.json"
    finished = subprocess.run(
        [sys.executable, "-c", DRIVER, str(PROJECT), str(answer), *map(str, arguments)],
        cwd=tmp_path,
        env=runs.environment(**(env or {})),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert answer.exists(), finished.stdout + finished.stderr
    return json.loads(answer.read_text())


# -- imports --------------------------------------------------------------------------------------


@cache
def program_files():
    return [
        path
        for path in project_files()
        if path.parts[0] in ("benchmarks", "models", "utils") or len(path.parts) == 1
    ]


def module_name(path):
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
@cache
def imported(path):
    """The modules that a file imports, those within functions and for types included."""
    tree = ast.parse((PROJECT / path).read_text(encoding="utf-8"))
    modules = set(map(module_name, program_files()))
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import"
            members = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= (members & modules) or {node.module}
    return frozenset(names)


@cache
def imported_modules(path):
    """Those of them that are the project's own."""
    return imported(path) & set(map(module_name, program_files()))


@pytest.mark.parametrize(
    ("package", "below"),
    [
        ("benchmarks", {"utils"}),
        ("models", {"utils"}),
        ("utils", set()),
    ],
)
def test_a_package_knows_only_what_lies_below_it(package, below):
    packages = {"benchmarks", "models", "utils", "evaluate", "compare", "tools", "tests"} - {
        package
    }
    offenders = [
        f"{path} -> {name}"
        for path in project_files(PROJECT / package)
        for name in imported(path)
        if name.partition(".")[0] in packages - below
    ]
    assert offenders == []


def floor_of(name):
    """The place of a module in `ORDER`."""
    return max(
        (
            i
            for i, rooms in enumerate(ORDER)
            for room in rooms
            if name == room or (room != "utils" and name.startswith(f"{room}."))
        ),
        default=None,
    )


def test_a_module_imports_from_its_own_room_and_from_those_before_it():
    offenders = []
    for path in program_files():
        name = module_name(path)
        if name.partition(".")[0] != "utils" or name in DOWNLOAD:
            continue
        assert floor_of(name) is not None, f"{name} is in no room of ORDER"
        offenders += [
            f"{name} -> {other}"
            for other in imported_modules(path)
            if other in DOWNLOAD or (floor_of(other) or 0) > floor_of(name)
        ]
    assert offenders == []


def test_no_two_rooms_import_each_other():
    rooms = [room for floor in ORDER for room in floor if room != "utils"]
    imports = set()
    for path in program_files():
        name = module_name(path)
        imports |= {
            (room, other)
            for room in rooms
            if f"{name}.".startswith(f"{room}.")
            for other in rooms
            if any(f"{module}.".startswith(f"{other}.") for module in imported_modules(path))
        }
    mutual = {(room, other) for room, other in imports if room < other and (other, room) in imports}
    assert mutual == set()


@pytest.mark.parametrize("package", SEEN_BY)
def test_benchmarks_and_models_see_a_part_of_utils(package):
    allowed = tuple(f"utils.{room}" for room in SEEN_BY[package].split())
    offenders = [
        f"{path} -> {other}"
        for path in project_files(PROJECT / package)
        for other in imported_modules(path)
        if other.startswith("utils.") and not other.startswith(allowed)
    ]
    assert offenders == []


def test_the_download_stands_alone():
    offenders = [
        f"{name} -> {other}"
        for name in sorted(DOWNLOAD)
        for other in imported_modules(Path(name.replace(".", "/") + ".py")) - SEEN_BY_DOWNLOAD
    ]
    assert offenders == []


def test_no_modules_import_each_other_in_a_circle():
    graph = {module_name(path): imported_modules(path) for path in program_files()}
    done, circles = set(), []

    def visit(name, trail):
        if name in trail:
            circles.append(" -> ".join([*trail[trail.index(name) :], name]))
        elif name not in done:
            for other in graph[name]:
                visit(other, [*trail, name])
            done.add(name)

    for name in graph:
        visit(name, [])
    assert circles == []


NAMES_OF_DATA_SETS = re.compile(
    r"\bL[1-4]\b|GUIContentUnderstanding|GUIElementGrounding|GUITaskAutomation"
    r"|GUITaskCollaboration|ScreenSpot|OSWorld-?G\b|UI-?Vision"
)
KNOW_DATA_SETS = {"utils.protocol", "utils.datasets.published", *DOWNLOAD}
"""Modules of what is published: downloads, other people's figures, hashes of files."""
FORMATS = ("utils.exchange.formats.", "utils.exchange.export.")
"""What other programs write and take, which is named for their tables."""


def test_utils_names_no_level_and_no_data_set():
    matches = [
        f"{path}:{number}: {line.strip()}"
        for path in program_files()
        if path.parts[0] == "utils"
        and module_name(path) not in KNOW_DATA_SETS
        and not module_name(path).startswith(FORMATS)
        for number, line in enumerate((PROJECT / path).read_text(encoding="utf-8").splitlines(), 1)
        if NAMES_OF_DATA_SETS.search(line)
    ]
    assert matches == []


# -- what is loaded -------------------------------------------------------------------------------


ONE_DATA_SET = "GUIElementGrounding"
ARITHMETIC = {"pandas", "numpy", "scipy"}


@pytest.mark.parametrize(
    ("arguments", "code", "forbidden"),
    [
        pytest.param([], "not run", {*HEAVY}, id="the import of evaluate"),
        pytest.param(["--help"], 0, {*HEAVY}, id="help"),
        pytest.param(
            ["--config", "bad.json"], 2, {*HEAVY, "pandas", "numpy", "openai"}, id="a config error"
        ),
        pytest.param(["--config", "api.json", "--check"], 0, ARITHMETIC, id="reading a config"),
        pytest.param(
            ["--config", "uitars.json"], 0, {*HEAVY}, id="an API run with an example file"
        ),
    ],
)
def test_nothing_heavy_is_loaded_that_is_not_needed(tmp_path, arguments, code, forbidden):
    data = runs.make_data(tmp_path / "data")
    with MockServer() as server:
        runs.write_config(tmp_path / "bad.json", model={"m": {"imp_type": "transformers"}})
        runs.write_config(tmp_path / "api.json", model={"m": runs.api_model(server.url)})
        prompt = {ONE_DATA_SET: "models.api_uitars.build_custom_prompt"}
        parse = {"mode": "all", "parse_function": "models.api_uitars.parse_grounding_response"}
        model = {"m": runs.api_model(server.url, custom_prompt=prompt)}
        runs.write_config(tmp_path / "uitars.json", model=model, data={ONE_DATA_SET: parse})
        result = loaded_by(tmp_path, *arguments, env={"LMUData": str(data)})
    assert (result["code"], set(result["loaded"]) & forbidden) == (code, set())


# -- files ----------------------------------------------------------------------------------------


def test_no_file_names_a_path_of_somebodys_machine():
    matches = [
        f"{path}:{number}: {line.strip()}"
        for path in project_files()
        for number, line in enumerate((PROJECT / path).read_text(encoding="utf-8").splitlines(), 1)
        if MACHINE_PATH.search(line.replace("/home/user", ""))
        and path != Path("tests/test_architecture.py")
    ]
    assert matches == []


@pytest.mark.parametrize("word", ["os_windows", "os_web", "easy", "hard"])
def test_what_the_samples_are_divided_into_is_listed_in_one_place(word):
    listed = re.compile(rf'[(\[{{,]\s*"{word}"\s*[,:)\]}}]')
    packages = [path for path in program_files() if len(path.parts) > 1]
    files = [str(p) for p in packages if listed.search((PROJECT / p).read_text(encoding="utf-8"))]
    assert files == ["utils/protocol.py"]


def test_the_report_page_names_platforms_as_the_program_does():
    script = (PROJECT / "utils/pages/assets/core/core.js").read_text(encoding="utf-8")
    assert [f'{name}: "{label}"' in script for name, label in PLATFORM_LABELS.items()] == [True] * 6


def test_a_user_may_have_a_module_that_is_called_tools(tmp_path):
    (tmp_path / "tools.py").write_text("def parse(response): return 'mine'")
    code = (
        "from pathlib import Path; from utils.import_utils import resolve, search_beside\n"
        f"search_beside(Path({str(tmp_path / 'config.json')!r}))\n"
        "print(resolve('tools.parse', role='x')('r'))"
    )
    printed = subprocess.check_output([sys.executable, "-c", code], cwd=PROJECT)
    assert printed.strip() == b"mine"


def test_a_class_name_stands_for_one_thing():
    paths_of_name = {}
    for path in program_files():
        if path.parts[:2] == ("models", "recipes") and path.name != "base.py":
            continue  # copied whole, so each has classes of its own
        for node in ast.walk(ast.parse((PROJECT / path).read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                paths_of_name.setdefault(node.name, []).append(path.as_posix())
    repeated = {name: paths for name, paths in paths_of_name.items() if len(paths) > 1}
    # What a run needs of a benchmark, and the class that all of them build on.
    assert repeated == {"Benchmark": ["benchmarks/base.py", "utils/contracts.py"]}

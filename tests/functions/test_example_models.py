"""The example model files: their prompts and parsers, against the reference and the departures."""

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from models import api_gpt, api_uitars, local_aguvis, local_uitars
from tests.config.test_misc import CONFORMANCE, equal, number, outcome
from utils.errors import UserError
from utils.misc import parser_response_into_coordinates

L1, L2 = "GUIContentUnderstanding", "GUIElementGrounding"
UITARS = [local_uitars, api_uitars]
MODULES = [local_uitars, api_uitars, local_aguvis, api_gpt]


def cases(name, key="cases"):
    return json.loads((CONFORMANCE / f"{name}.json").read_text("utf-8"))[key]


def name_of(module):
    return module.__name__


@pytest.fixture
def picture_root(tmp_path, monkeypatch):
    monkeypatch.setenv("IMAGE_ROOT_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("module", UITARS, ids=name_of)
def test_the_uitars_prompt_is_the_reference_prompt(module, picture_root):
    pytest.importorskip("ui_tars")
    known = cases("prompts_custom")
    print(f"prompts_custom: {len(known)} cases")
    for case in known:
        messages = module.build_custom_prompt(case["input"]["row"], case["input"]["dataset"])
        for message in messages:
            if message["type"] == "image":
                message["value"] = Path(message["value"]).relative_to(picture_root).as_posix()
        assert messages == case["expected"]


@pytest.mark.parametrize("module", [*UITARS, api_gpt], ids=name_of)
def test_a_custom_prompt_leaves_l1_to_the_benchmark(module):
    assert module.build_custom_prompt({"question": "?", "image_path": "a.png"}, L1) is None


@pytest.mark.parametrize("module", [*UITARS, api_gpt], ids=name_of)
def test_braces_in_an_instruction_stay(module, picture_root):
    pytest.importorskip("ui_tars")
    line = {"image_path": "os_web/a.png", "instruction": "open {settings} {0}"}
    assert "open {settings} {0}" in module.build_custom_prompt(line, L2)[-1]["value"]


@pytest.mark.parametrize("module", UITARS, ids=name_of)
def test_a_missing_ui_tars_package_is_named_with_its_cure(module, monkeypatch):
    monkeypatch.setitem(sys.modules, "ui_tars.prompt", None)
    with pytest.raises(UserError, match=r"pip install ui-tars"):
        module.build_custom_prompt({"image_path": "a.png", "instruction": "x"}, L2)


@pytest.mark.parametrize("module", UITARS, ids=name_of)
def test_uitars_points_are_read_as_the_reference_reads_them(module):
    known = cases("uitars_point_parser")
    known += [
        {"input": case["input"], "expected": case["proposed"]}
        for case in cases("uitars_point_parser", "upstream_crashes")
    ]
    print(f"uitars_point_parser: {len(known)} cases")
    for case in known:
        meta = {"image_size": case["input"]["image_size"]}
        got = outcome(module.parse_grounding_response, case["input"]["text"], meta)
        assert equal(got, case["expected"]), case


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        ({"seen_size": "[1000, 500]"}, (0.1, 0.4)),
        ({"sent_size": "[280, 280]"}, (100 / 280, 200 / 280)),
        ({"sent_size": "[280, 280]", "seen_size": None}, (100 / 280, 200 / 280)),
        ({"max_pixels": 78400, "min_pixels": 3136}, (100 / 364, 200 / 196)),
    ],
)
@pytest.mark.parametrize("module", UITARS, ids=name_of)
def test_uitars_pixels_belong_to_the_grid_that_the_model_saw(module, meta, expected):
    reply = "Action: click(point='<point>100 200</point>')"
    point = module.parse_grounding_response(reply, {"image_size": "[1920, 1080]", **meta})
    assert point == pytest.approx(expected)


def test_gpt_points_are_read_as_the_reference_reads_them_and_a_miss_is_none_of_its_zeros():
    known = cases("gpt_point_parser")
    departures = 0
    for case in known:
        expected = case["expected"]
        if expected == [0.0, 0.0]:  # the reference's "nothing found"
            departures += 1
            expected = outcome(parser_response_into_coordinates, case["input"])
        assert equal(outcome(api_gpt.parse_grounding_response, case["input"]), number(expected)), (
            case
        )
    print(f"gpt_point_parser: {len(known)} cases, {departures} of them departures")
    assert api_gpt.parse_grounding_response("I cannot see it") is None


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("pyautogui.click(x=0.25, y=0.75)", (0.25, 0.75)),
        ("step 3, 4: pyautogui.click(x=0.25, y=0.75)", (0.25, 0.75)),
        ("x=1.2.3, y=4", (2.3, 4.0)),  # dots and digits, but no number: the default parser looks
        ("(0.5, 0.5)", (0.5, 0.5)),
        ("nowhere", None),
    ],
)
def test_aguvis_points_are_the_named_ones_else_the_first_pair(reply, expected):
    assert local_aguvis.parse_gui_bbox_aguvis(reply) == expected


@pytest.mark.parametrize(
    "parse",
    [
        local_uitars.parse_understanding_response,
        api_uitars.parse_understanding_response,
        api_gpt.parse_understanding_response,
        local_aguvis.parse_gui_qa_aguvis,
    ],
    ids=lambda parse: parse.__module__,
)
def test_the_letter_of_l1_is_read_by_the_default_parser(parse):
    for case in cases("option_parser_wrappers"):
        assert outcome(parse, case["input"]["text"], {}) == case["expected"]


@pytest.mark.parametrize(
    ("dataset", "ending"),
    [
        (L2, "<|im_start|>assistant<|recipient|>os\n"),
        (L1, "<|im_start|>assistant<|recipient|>all\n"),
        ("GUITaskAutomation", "<|im_start|>assistant<|recipient|>"),
    ],
)
def test_the_aguvis_prompt_names_the_recipient_and_adds_no_system_message(dataset, ending):
    turns = [
        {
            "role": "user",
            "content": [{"type": "image", "image": "p"}, {"type": "text", "text": "Q"}],
        }
    ]
    user = "<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>Q<|im_end|>\n"
    assert local_aguvis.chat_text(turns, dataset) == user + ending
    turns.insert(0, {"role": "system", "content": "S"})
    expected = "<|im_start|>system\nS<|im_end|>\n" + user + ending
    assert local_aguvis.chat_text(turns, dataset) == expected


def test_the_image_folder_is_looked_up_when_it_is_needed(tmp_path, monkeypatch):
    from utils.images import image_path_of

    line = {"image_path": "os_web/a.png"}
    moved = tmp_path / "moved"
    monkeypatch.setenv("LMUData", str(tmp_path))
    monkeypatch.setenv("IMAGE_ROOT_DIR", str(moved))
    default = tmp_path / "MMBench-GUI" / "offline_images" / "os_web" / "a.png"
    assert image_path_of(line) == str(default)  # IMAGE_ROOT_DIR does not exist
    moved.mkdir()
    assert image_path_of(line) == str(moved / "os_web" / "a.png")
    assert image_path_of({"image_path": "/else/a.png"}) == "/else/a.png"
    monkeypatch.delenv("LMUData")
    monkeypatch.delenv("IMAGE_ROOT_DIR")
    assert image_path_of(line).startswith(str(Path.home() / "LMUData"))


def test_example_files_import_nothing_heavy():
    names = ", ".join(module.__name__ for module in MODULES)
    code = f"import sys, {names}; print(sorted({{'torch', 'transformers', 'openai'}} & set(sys.modules)))"
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_of_the_program_an_example_imports_the_one_door_only(module):
    tree = ast.parse(Path(module.__file__).read_text("utf-8"))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import)
                 for name in node.names}  # fmt: skip

    assert {name for name in imported if name.partition(".")[0] in ("models", "utils")} == {
        "models.base"
    }


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_every_example_says_what_it_is(module):
    text = importlib.import_module(module.__name__).__doc__
    assert f"configs/config_{module.__name__.split('.')[1]}.json" in text

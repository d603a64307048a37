"""The example model files; `tests/conformance` replays their prompts and parsers."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from models import api_gpt, api_uitars, local_aguvis, local_uitars
from tests.support.runs import PROJECT
from tests.support.stage import L1, L2
from utils.errors import UserError
from utils.geometry.images import image_path_of

UITARS = [local_uitars, api_uitars]
EXAMPLES = [*UITARS, local_aguvis, api_gpt]
HEAVY = {"torch", "transformers", "openai", "numpy", "PIL", "onnxruntime", "rapidocr", "rapidfuzz"}


def each_of(modules):
    return pytest.mark.parametrize("module", modules, ids=lambda module: module.__name__)


@each_of([*UITARS, api_gpt])
def test_a_custom_prompt_leaves_l1_to_the_benchmark_and_braces_as_they_are(module):
    pytest.importorskip("ui_tars")
    line = {"image_path": "os_web/a.png", "instruction": "open {settings} {0}"}
    assert module.build_custom_prompt(line, L1) is None
    assert "open {settings} {0}" in module.build_custom_prompt(line, L2)[-1]["value"]


@each_of(UITARS)
def test_a_missing_ui_tars_package_is_named_with_its_cure(module, monkeypatch):
    monkeypatch.setitem(sys.modules, "ui_tars.prompt", None)
    with pytest.raises(UserError, match=r"pip install ui-tars"):
        module.build_custom_prompt({"image_path": "a.png", "instruction": "x"}, L2)


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        ({"seen_size": "[1000, 500]"}, (0.1, 0.4)),
        *[
            ({"sent_size": "[280, 280]", **more}, (100 / 280, 200 / 280))
            for more in ({}, {"seen_size": None})
        ],
        ({"max_pixels": 78400, "min_pixels": 3136}, (100 / 364, 200 / 196)),
    ],
)
@each_of(UITARS)
def test_uitars_pixels_belong_to_the_grid_that_the_model_saw(module, meta, expected):
    reply = "Action: click(point='<point>100 200</point>')"
    point = module.parse_grounding_response(reply, {"image_size": "[1920, 1080]", **meta})
    assert point == pytest.approx(expected)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        *[
            (f"{front}pyautogui.click(x=0.25, y=0.75)", (0.25, 0.75))
            for front in ("", "step 3, 4: ")
        ],
        ("x=1.2.3, y=4", (2.3, 4.0)),  # dots and digits, but no number: the default parser looks
        ("(0.5, 0.5)", (0.5, 0.5)),
        ("nowhere", None),
    ],
)
def test_points_are_the_named_ones_else_the_first_pair(reply, expected):
    assert local_aguvis.parse_gui_bbox_aguvis(reply) == expected  # that of GPT: tests/conformance


def test_the_letter_of_l1_is_read_by_the_default_parser():
    wrappers = [module.parse_understanding_response for module in (*UITARS, api_gpt)]
    for parse in (*wrappers, local_aguvis.parse_gui_qa_aguvis):
        assert (parse("Answer: C", {}), parse("None of them", {})) == ("C", None)


def test_the_aguvis_prompt_names_the_recipient_and_adds_no_system_message():
    parts = [{"type": "image", "image": "p"}, {"type": "text", "text": "Q"}]
    turns = [{"role": "system", "content": "S"}, {"role": "user", "content": parts}]
    expected = (
        "<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>Q<|im_end|>\n"
        "<|im_start|>assistant<|recipient|>os\n"
    )
    assert local_aguvis.chat_text(turns[1:], L2) == expected
    assert local_aguvis.chat_text(turns, L2) == "<|im_start|>system\nS<|im_end|>\n" + expected


def test_the_image_folder_is_looked_up_when_it_is_needed(tmp_path, monkeypatch):
    line, moved = {"image_path": "os_web/a.png"}, tmp_path / "moved"
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
    names = ", ".join(["sys", "models.ocr_baseline", *(module.__name__ for module in EXAMPLES)])
    code = f"import {names}; print(sorted({HEAVY} & set(sys.modules)))"
    printed = subprocess.check_output([sys.executable, "-c", code], cwd=PROJECT)
    assert printed.strip() == b"[]"


@each_of(EXAMPLES)
def test_an_example_says_what_it_is_and_imports_the_one_door_of_the_program_only(module):
    nodes = list(ast.walk(ast.parse(Path(module.__file__).read_text("utf-8"))))
    imported = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    imported |= {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    of_the_program = {name for name in imported if name.partition(".")[0] in ("models", "utils")}
    assert of_the_program == {"models.base"}
    assert f"configs/config_{module.__name__.split('.')[1]}.json" in module.__doc__

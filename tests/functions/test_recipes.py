"""Recipes of model families: prompts, sizes, and replies read as the authors' code reads them.

`tests.support.recipe_replay` compares them with cases that the authors' own parsers were run on;
those that lie beside the project are replayed where they are there, the few below are our own.
"""

import json
import math
import random
from importlib import import_module

import pytest

from models.recipes import (
    all_recipes,
    claude,
    gemini,
    infigui_g1,
    kv_ground,
    phi_ground,
    qwen2_5_vl,
    seed_1_8,
)
from models.recipes.base import Limits
from models.wrappers.local.settings import LIBRARY_LIMIT
from tests.support import recipe_replay
from tests.support.mock_server import Reply
from tests.support.runs import PROJECT
from tests.support.stage import API, L1, L2, l2_counts
from utils.geometry.resizing import canvas_ratio
from utils.geometry.targets import DECLINED
from utils.geometry.zooming import Zoom

MODELS = PROJECT.parent / "shared" / "models"
GOLDEN = MODELS / "golden"
GOLDEN_2026 = MODELS / "golden_2026"
RECIPES = all_recipes()
GROUNDING = [name for name, recipe in RECIPES.items() if recipe.has_grounding]
LINE = {
    "image_path": "os_web/a.png",
    "instruction": "open {settings} {0}",
    "image_size": [800, 600],
}


def call(coordinate, name="computer_use"):
    arguments = {"action": "left_click", "coordinate": coordinate}
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def glm(action):
    return f"Memory: []\nReason: it is the gear.\nAction: {action}"


FAILURE = """\
<tool_call>
{"name": "computer_use", "arguments": {"action": "terminate", "status": "failure"}}
</tool_call>"""

# Of an image of 800x600, whose grid is 812x588 in steps of 28.
READ = [
    ("qwen2_5_vl", call([406, 294]), (0.5, 0.5)),
    ("qwen2_5_vl", call([400, 284, 412, 304]), (0.5, 0.5)),
    ("qwen2_5_vl", call([400, 284, 412]), None),
    ("qwen2_5_vl", call(["406", "294"]), None),
    ("qwen2_5_vl", "(406, 294)", None),
    ("qwen3_vl", call([250, 750]), (0.25, 0.75)),
    ("qwen3_vl", f"<think>not [1, 2]</think>\n\n{call([250, 750])}<|im_end|>", (0.25, 0.75)),
    ("qwen3_vl", call([1020, 500]), (816, 300)),  # beyond the edge: pixels of the file
    ("qwen3_vl", '<tool_call>{"arguments": {"coordinate": [1, 2]}}</tool_call>', None),
    ("ui_tars_1_5", "Action: click(point='<point>406 294</point>')", (0.5, 0.5)),
    ("ui_tars_1_5", "Action: click(start_box='(400,284,412,304)')", (0.5, 0.5)),
    ("ui_tars_1_5", "Action: wait()", None),
    ("ui_tars_1_5", "click(point='<point>406 294</point>')", None),
    ("ui_tars_1_0", "Action: click(start_box='(250,750)')", (0.25, 0.75)),
    ("ui_tars_1_0", "(250,750)", None),
    ("gui_owl_1_5", '{"coordinate": [250, 750]}', (0.25, 0.75)),
    ("gui_owl_1_5", '{"coordinate": [250,750]}', None),
    ("gui_owl_1_5", "[1, 2], then (250,750)", (0.25, 0.75)),
    ("ui_venus_1_5", "[250,750]", (0.25, 0.75)),
    ("ui_venus_1_5", "[200, 700, 300, 800]", (0.25, 0.75)),
    ("ui_venus_1_5", "[200,700],\n[300,800]", (0.25, 0.75)),  # two points on two lines
    ("ui_venus_1_5", "[007, 750]", None),  # no Python number
    ("ui_venus_1_5", "at [007, 750]", (0.007, 0.75)),  # but read digit by digit within a text
    ("ui_venus_1_5", "[１２, 750]", None),
    ("ui_venus_1_5", "[25 0,700],[300,800]", None),
    ("ui_venus_1_5", "[-1,-1]", DECLINED),
    ("ui_venus_1_5", "[-1, -1, -1, -1]", DECLINED),
    ("ui_venus_1_5", "nowhere", None),
    ("gui_g2", "[400,284,412,304]", (0.5, 0.5)),
    ("gui_g2", "[400,284,412,304].", None),
    ("gui_g2", "[406, 294]", None),
    ("gui_g2", '["400",284,412,304]', None),
    ("mai_ui", '<answer>\n{"coordinate":[250,750]}\n</answer>', (0.25, 0.75)),
    ("mai_ui", '<answer>\n{"coordinate":[250, 750]}\n</answer>', None),
    ("gta1", "at (406,294)", (0.5, 0.5)),
    ("gta1", "(406,294) or (0.5,0.5)", None),
    ("infigui_g1", '<think>[1]</think>\n[{"point_2d": [406, 294]}]', (0.5, 0.5)),
    ("infigui_g1", '{"point_2d": [406, 294]}', None),
    ("step_gui", "point:250,750", (200 / 800, 450 / 600)),
    ("step_gui", "point:250", None),
    ("opencua", "```python\npyautogui.click(x=406, y=294)\n```", (0.5, 0.5)),
    ("opencua", "pyautogui.click(x=0.25, y=0.75)", (0.25, 0.75)),
    ("opencua", "pyautogui.click(x=1, y=294)", (800, 294 * 600)),  # as fractions
    ("opencua", "pyautogui.write(message='12, 34')", None),
    ("holo1_5", '{"action": "click_absolute", "x": 406, "y": 294}', (0.5, 0.5)),
    ("holo1_5", '{"action": "click", "x": 406, "y": 294}', None),
    ("holo2", '{"x": 250, "y": 750}', (0.25, 0.75)),
    ("holo2", '{"x": 1001, "y": 750}', None),
    ("jedi", call([406, 294]), (400 / 800, 300 / 600)),
    ("jedi", call([]), None),
    ("jedi", call([-1.5, -1.5]), None),  # what the authors' code returns for "nothing found"
    ("uground_v1", "(250, 750)", (200 / 800, 450 / 600)),
    ("uground_v1", "The place is (250, 750)", None),
    ("uground_v1", "\N{NO-BREAK SPACE}\n(250, 750)\N{IDEOGRAPHIC SPACE}", (200 / 800, 450 / 600)),
    ("os_atlas_base_7b", "<|box_start|>(200,700),(300,800)<|box_end|>", (0.25, 0.75)),
    ("os_atlas_base_7b", "<|box_start|>(0,700),(300,800)<|box_end|>", None),
    ("os_atlas_base_4b", "[[1,2]] [[250,750]]", (0.25, 0.75)),
    ("showui", "[0.25, 0.75]", (0.25, 0.75)),
    ("showui", "at [0.25, 0.75]", None),
    ("ui_ins", '{"coordinate": [406,294]}', (0.5, 0.5)),
    ("ui_ins", '{"coordinate": [406, 294]}', None),
    ("ui_ins", '{"coordinate": [406, 294]} or [406,294]', None),  # behind the last brace
    ("ui_ins", "[406,294]", (0.5, 0.5)),
    ("se_gui", call([406, 294]), (0.5, 0.5)),
    ("se_gui", "(406, 294)", None),
    ("agentcpm_gui", '{"POINT": [250, 750]}', (0.25, 0.75)),
    ("agentcpm_gui", '{"PRESS": "BACK"}', None),
    ("aguvis", "pyautogui.click(x=0.25, y=0.75)", (0.25, 0.75)),
    ("aguvis", "pyautogui.click(x=0.25,y=0.75)", None),
    ("gemini", "first (1, 2), so\n(250,750)", (0.25, 0.75)),
    ("kimi_k2_5", "250, 750", (0.25, 0.75)),
    ("kimi_vl", "◁think▷x=0.1, y=0.2◁/think▷click(x=0.25, y=0.75)", (0.25, 0.75)),
    ("kimi_vl", "◁think▷x=0.1, y=0.2", None),
    ("seed_1_8", "<point>1 2</point> <point>250 750</point>", (0.25, 0.75)),
    ("seed_1_8", "<point>250 750<point>", None),
    ("claude", '{"x": 400, "y": 300}', (0.5, 0.5)),
    ("claude", '{"x": 400.0, "y": 300.0}', None),
    ("gpt5", "[[0.2,0.7,0.3,0.8]]", (0.25, 0.75)),
    ("gpt5", "[[0.2, 0.7, 0.3, 0.8]]", None),
    ("gpt5", "[[0.25,0.75]], not: Target not existent", (0.25, 0.75)),
    ("phi_ground", "<point>250, 750</point>", (0.28125, 0.75)),
    ("phi_ground", "<point>250,750</point>", None),
    ("glm_4_5v", glm('{"action_type": "click", "box_2d": [[200,700,299,800]]}'), (0.25, 0.75)),
    ("glm_4_5v", glm('{"action_type": "status", "goal_status": "infeasible"}'), DECLINED),
    ("glm_4_5v", "It is <|begin_of_box|>[[200, 700, 300, 800]]<|end_of_box|>.", (0.25, 0.75)),
    ("qwen2_5_vl", FAILURE, DECLINED),
    ("qwen3_vl", FAILURE, DECLINED),
    ("gui_owl_1_5", FAILURE, DECLINED),
    ("gui_owl_1_5", f"(250, 750)?\n{FAILURE}", (0.25, 0.75)),  # a point wins for the authors' code
    ("jedi", FAILURE, DECLINED),
    ("se_gui", FAILURE, DECLINED),
    ("gpt5", "Target not existent", DECLINED),
    ("qwen3_vl", FAILURE.replace("failure", "success"), None),
    ("mimo_vl", '[{"action": "click", "start_point": [406, 294]}]', (0.5, 0.5)),
    ("mimo_vl", '[{"action": "wait"}]', None),
    ("ui_venus_2", "[250,750]", (0.25, 0.75)),
    ("ui_venus_2", "<think>[200,700,300,800]</think>[1,2]", (0.25, 0.75)),  # a box wins
    ("ui_venus_2", "[200,700] , [300,800]", (0.25, 0.75)),
    ("ui_venus_2", "x=250, y=750", (0.25, 0.75)),
    ("ui_venus_2", "from 200 700 to 300 800", (0.25, 0.75)),
    ("ui_venus_2", "250, 750 or 3", None),
    ("ui_venus_2", "[-1, -1]", DECLINED),
    ("ui_venus_2", "[-1,-1,-1,-1]", DECLINED),
    ("qwen3_5", call([250, 750]), (0.25, 0.75)),
    ("qwen3_5", f"{call([1, 2])}\n{call([200, 700, 300, 800])}", (0.25, 0.75)),
    ("qwen3_5", call([250, 750]).removesuffix("\n</tool_call>"), None),
    ("kv_ground", f"{call([250, 750])}\n{call([1, 2])}<|im_end|>", (200 / 800, 450 / 600)),
    ("kv_ground", call([250.4, 749.6]), (200 / 800, 450 / 600)),  # whole pixels
    ("kv_ground", call([-1, 5]), DECLINED),
    ("kv_ground", call([1, 2]).replace("left_click", "refusal"), DECLINED),
    ("kv_ground", call([1, 2, 3]), None),
    ("gelato", "It is (250, 750), not (1, 2)", (0.25, 0.75)),
    ("gelato", "( 250, 750)", None),
    ("groundnext", call([406, 294]), (0.5, 0.5)),
    ("groundnext", call([406.9, 294.9]), (0.5, 0.5)),
    ("groundnext", "<tool_call>[-406, 294", (0.5, 0.5)),  # of broken JSON the digits alone
    ("groundnext", "<tool_call>[406.5, 294", None),
    ("holo3", '{"x": 250, "y": 750}', (200 / 800, 450 / 600)),
    ("holo3", '{"x": 250.5, "y": 750}', None),
    ("points_gui_g", "(0.25, 0.75)", (0.25, 0.75)),
    ("points_gui_g", "(0.25, 0.75, 1)", None),
    ("internvl3", "pyautogui.click(x=0.25, y=0.75)", (0.25, 0.75)),
    ("internvl3", "```python\npyautogui.moveTo(0.25, .75, duration=1)\n```", (0.25, 0.75)),
    ("internvl3", "pyautogui.write('1, 2')", None),
    ("glm_5v", "It is <|begin_of_box|>[[200,700,300,800]]<|end_of_box|>", (0.25, 0.75)),
    ("glm_5v", '[{"bbox_2d": [200, 700, 300, 800], "label": "gear"}]', (0.25, 0.75)),
    ("glm_5v", "[200, 700, 1300, 1800]", ((200 + 999) / 2000, (700 + 999) / 2000)),
    ("glm_5v", "[250, 750]", None),
]
# Of the other parse functions of a recipe.
READ_BY = [
    ("gelato.parse_answer", "a refusal, (250, 750)", DECLINED),
    ("gelato.parse_answer", "(250, 750)", (0.25, 0.75)),
    ("glm_5v.parse_of_cli", '[{"bbox_2d": [200, 700, 300, 800]}]', None),
    ("holo3.parse_or_refusal", 'So: {"x": 250, "y": "750"}.', (0.25, 0.75)),
    ("holo3.parse_or_refusal", '{"x": null, "y": null}', DECLINED),
    ("holo3.parse_or_refusal", '{"x": 250}', None),
    ("qwen3_5.parse_first_call", f"{call([250, 750])}{call([1, 2])}", (0.25, 0.75)),
    ("qwen3_5.parse_first_call", '"coordinate": [250, 750]', (0.25, 0.75)),
    ("qwen3_5.parse_point_venus", "[250,750]", (0.25, 0.75)),
    ("qwen3_vl.parse_point_ssp", call([250, 750]), (0.25, 0.75)),
]


@pytest.mark.parametrize(("family", "reply", "expected"), READ)
def test_a_reply_is_read_as_the_authors_code_reads_it(family, reply, expected):
    parse = import_module(f"models.recipes.{family}").parse_point
    point = parse(reply, {"image_size": "[800, 600]"})
    assert point == (pytest.approx(expected) if isinstance(expected, tuple) else expected)


@pytest.mark.parametrize(("path", "reply", "expected"), READ_BY)
def test_another_code_that_is_followed_reads_in_its_own_way(path, reply, expected):
    family, name = path.split(".")
    parse = getattr(import_module(f"models.recipes.{family}"), name)
    point = parse(reply, {"image_size": "[800, 600]"})
    assert point == (pytest.approx(expected) if isinstance(expected, tuple) else expected)


@pytest.mark.parametrize("family", RECIPES)
def test_a_reply_that_says_nothing_has_no_point(family):
    meta = {"image_size": "[800, 600]"}
    replies = ("", " ", "None", "null", "[]", "{}", "terminate", "[" * 5000, "9" * 5000 + ", 1")
    for parser in RECIPES[family].parsers.values():
        assert [parser.parse(reply, meta) for reply in replies[:7]] == [None] * 7
        for reply in replies[7:]:
            parser.parse(reply, meta)  # whatever it is, it does not raise


ODD = [
    "007",
    "-3",
    "12.5",
    "1e400",
    "9" * 30,
    "１２",
    "NaN",
    "null",
    '"5"',
    "[",
    "\n",
    "\\",
    "'",
    "x=",
]


@pytest.mark.parametrize("family", RECIPES)
def test_odd_replies_are_a_finite_point_or_none(family):
    """Replies of all families, with odd things put into them: whatever they are, none raises."""
    chance = random.Random(family)
    replies = [reply for _, reply, _ in READ]
    for _ in range(300):
        reply = chance.choice(replies)
        start, end = sorted(chance.choices(range(len(reply) + 1), k=2))
        damaged_reply = reply[:start] + chance.choice(ODD) + reply[min(end, start + 6) :]
        for parser in RECIPES[family].parsers.values():
            point = parser.parse(damaged_reply, {"image_size": "[800, 600]"})
            is_point = isinstance(point, tuple) and all(map(math.isfinite, point))
            assert point is None or point is DECLINED or is_point, damaged_reply


@pytest.mark.parametrize("family", GROUNDING)
def test_the_first_parser_and_prompt_of_a_recipe_are_those_that_a_config_names(family):
    recipe = RECIPES[family]
    module = import_module(f"models.recipes.{family}")
    assert next(iter(recipe.parsers.values())).parse is getattr(module, recipe.grounding_parser)
    assert recipe.source and recipe.verified and recipe.frame
    if family != "phi_ground":  # a raw prompt
        prompt = module.build_prompt(LINE, L2, file_size=[800, 600])
        assert [message["type"] for message in prompt].count("image") == 1
        assert any(LINE["instruction"] in message["value"] for message in prompt)
        assert module.build_prompt(LINE, L1) is None


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("(250,750)", (0.25, 0.75)),
        (" (250, 750)<|im_end|>", (0.25, 0.75)),
        ("Action: click(start_box='(250,750)')", (0.25, 0.75)),
        ("(1,2)\nAction: wait()", None),
        ("250, 750", None),
    ],
)
def test_ui_tars_1_0_answers_its_grounding_prompt_with_a_bare_pair(reply, expected):
    parse = import_module("models.recipes.ui_tars_1_0").parse_answer
    assert parse(reply, {"image_size": "[800, 600]"}) == expected
    entry = RECIPES["ui_tars_1_0"].entry("openai", "m", {"Mine": L2})
    assert entry["parse_function"] == {"Mine": "m.parse_answer"}


def test_what_the_config_knows_of_sizes_and_limits_wins_over_the_recipe():
    meta = {"image_size": "[800, 600]", "max_pixels": "78400"}
    point = qwen2_5_vl.parse_point(call([161, 112]), meta)
    assert point == pytest.approx((161 / 308, 112 / 224))
    with_seen_size = {"image_size": "[800, 600]", "seen_size": "[1000, 500]"}
    assert qwen2_5_vl.parse_point(call([500, 250]), with_seen_size) == (0.5, 0.5)


def test_infigui_counts_in_the_image_resized_twice_unless_its_size_is_known():
    reply = '[{"point_2d": [1974, 560]}]'
    meta = {"image_size": "[5120, 1440]"}
    assert infigui_g1.parse_point(reply, meta) == (0.5, 0.5)
    for key in ("seen_size", "sent_size"):
        point = infigui_g1.parse_point(reply, {**meta, key: "[3948, 2240]"})
        assert point == pytest.approx((0.5, 0.25), abs=0.002)


@pytest.mark.parametrize(
    ("settings", "named_size"),
    [
        ({"file_size": [800, 600]}, "812x588"),
        ({"file_size": [800, 600], "max_pixels": 78400}, "308x224"),
        ({"file_size": [800, 600], "seen_size": "[1000, 500]"}, "1000x500"),
    ],
)
def test_a_prompt_names_the_size_that_the_model_sees(settings, named_size):
    system = qwen2_5_vl.build_prompt(LINE, L2, **settings)[0]
    assert f"The screen's resolution is {named_size}.\\n" in system["value"]
    assert system["role"] == "system"
    assert system["value"].startswith("You are a helpful assistant.\n\n# Tools\n")


def test_messages_are_those_of_the_authors_code():
    image = {"type": "image"}
    assert RECIPES["mai_ui"].prompts["official_eval"].messages("open it", (0, 0))[1] == {
        "role": "user",
        "content": [{"type": "text", "text": "open it\n"}, image],
    }
    assert [turn["role"] for turn in gemini.messages("open it")] == ["user"] * 3
    venus = RECIPES["ui_venus_1_5"].prompts["official_no_refusal"].messages("stop..", (0, 0))
    assert "instruction: \nstop.. \n\n" in venus[0]["content"][1]["text"]
    showui = RECIPES["showui"].prompts["official"].messages("open it", (0, 0))
    assert [part["type"] for part in showui[0]["content"]] == ["text", "image", "text"]


@pytest.mark.parametrize(
    ("size", "image_wh", "expected"),
    [
        (Limits(28, 3136, 12845056).grid_wh, (1920, 1080), (1932, 1092)),
        (Limits(28, 2000000, 4800000).grid_wh, (375, 812), (980, 2100)),
        (Limits(32, 1024, 6553600).grid_wh, (800, 600), (800, 608)),
        (infigui_g1.two_steps_wh, (5120, 1440), (3948, 1120)),
        (claude.target_wh, (1920, 1080), (1456, 819)),
        (claude.target_wh, (375, 812), (375, 812)),
        (lambda wh: canvas_ratio(wh, phi_ground.CANVAS_WH), (2016, 672), 0.5),
    ],
)
def test_sizes_are_those_of_the_authors_code(size, image_wh, expected):
    assert size(image_wh) == expected


@pytest.mark.parametrize(
    ("point_frac", "box_px"),
    [
        ((0.5, 0.5), (480, 270, 1440, 810)),
        ((0.1, 0.9), (0, 702, 672, 1080)),  # 192, 972: cut, not moved
        ((1.2, 0.5), (0, 0, 1920, 1080)),
    ],
)
def test_a_zoom_of_kv_ground_cuts_its_crop_at_the_edge_and_keeps_the_size(point_frac, box_px):
    zoom = kv_ground.ZOOM
    crop = zoom.crop((1920, 1080), point_frac)
    assert (crop.box_px, crop.sent_wh) == (box_px, (1920, 1080))
    x = (box_px[0] + 0.5 * (box_px[2] - box_px[0])) / 1920
    assert zoom.answer(crop, (0.5, 0.5))[0] == pytest.approx(x)
    assert Zoom.of(zoom.as_settings()) == zoom
    assert zoom.as_settings() == {"ratio": 0.5, "keep_size": True, "cut_at_edge": True}


def test_a_zoom_moves_its_crop_into_the_image_and_maps_back():
    crop = gemini.ZOOM.crop((1920, 1080), (0, 1))
    assert (crop.box_px, crop.sent_wh) == ((0, 810, 480, 1080), (1920, 1080))
    assert crop.in_image((0.5, 0.5)) == pytest.approx((0.125, 0.875))
    # A point without the slash counts only where none has it.
    loose = ("<point>1,2</point> <point>250 750<point>", "<point>250,750<point>")
    points = [seed_1_8.parse_first_point(reply, {"image_size": "[800, 600]"}) for reply in loose]
    assert points == [(0.25, 0.75)] * 2
    half = seed_1_8.ZOOM.crop((1920, 1080), (0.5, 0.5))
    assert (half.box_px, half.sent_wh) == ((480, 270, 1440, 810), (960, 540))


@pytest.mark.skipif(not GOLDEN.is_dir(), reason="the authors' cases are not beside the project")
def test_recipes_agree_with_the_authors_code_on_every_case_beside_the_project():
    counts, differences = recipe_replay.replay(GOLDEN)
    assert differences == []
    assert sum(outcomes["equal"] for outcomes in counts.values()) > 4000


@pytest.mark.skipif(
    not GOLDEN_2026.is_dir(), reason="the authors' cases are not beside the project"
)
def test_recipes_agree_with_the_authors_code_of_2026_as_far_as_they_follow_it():
    counts, differences = recipe_replay.replay(GOLDEN_2026)
    assert differences == []
    agents = {
        ("evocua", "s1_qwen25"): (27, 2),
        ("evocua", "s2"): (49, 2),
        ("fara_1_5", "official_6505fef"): (31, 0),
        ("fara_1_5", "official_8904727"): (57, 0),
        ("fara_7b", "official"): (56, 0),
        ("gemini_3_5", "computer_use_legacy"): (23, 0),
        ("gemini_3_5", "computer_use_new"): (29, 0),
        ("kimi_k2_6", "osworld_non_thinking"): (18, 10),
        ("kimi_k2_6", "osworld_thinking"): (12, 7),
        ("qwen3_5", "osworld_agent"): (75, 1),
        ("ui_venus_2", "computer_agent"): (40, 0),
    }
    agent_counts = {
        key: (counts[key]["equal"], counts[key]["documented fallbacks"]) for key in agents
    }
    assert agent_counts == agents
    assert sum(outcomes["equal"] for outcomes in counts.values()) > 1100


def test_the_replay_counts_fallbacks_names_strangers_and_fails_on_differences(tmp_path, capsys):
    base = {"id": "1", "image_wh": [800, 600], "raises": None}
    rows = [
        {**base, "parser": "official_readme", "reply": "(406,294)", "point_px": [400.0, 300.0]},
        {**base, "parser": "official_readme", "reply": "no", "point_px": [0.0, 0.0]},
        {**base, "parser": "somebody_else", "reply": "no", "point_px": None},
    ]
    path = tmp_path / "gta1.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    assert recipe_replay.main([str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert "gta1 somebody_else" in output and "no recipe follows it (1)" in output
    assert "1 equal, 1 documented fallbacks, 0 different, 1 not followed" in output

    path.write_text(json.dumps({**rows[0], "point_px": [1.0, 2.0]}))
    assert recipe_replay.main([str(tmp_path)]) == 1
    assert "expected (1.0, 2.0)" in capsys.readouterr().out


def test_the_replay_compares_what_agents_do_with_what_their_authors_code_does(tmp_path, capsys):
    reply = '<tool_call>\n{"name": "computer_use", "arguments": %s}\n</tool_call>'
    click = reply % '{"action": "left_click", "coordinate": [999, 0]}'
    base = {"id": "1", "parser": "s2", "image_wh": [999, 500], "raises": None, "point_px": None}
    same = {"reply": click, "code": ["pyautogui.click(999, 0)"], "point_px": [999, 0]}
    rows = [
        {**base, **same},
        {**base, "reply": reply % '{"action": "answer", "text": "7"}', "code": []},
        {**base, "reply": click, "raises": "TypeError"},
        {**base, **same, "code": ["pyautogui.rightClick(999, 0)"]},
        {**base, **same, "code": ["pyautogui.click(998, 0)"], "point_px": [998, 0]},
    ]
    path = tmp_path / "evocua.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    assert recipe_replay.main([str(tmp_path)]) == 1
    output = capsys.readouterr().out
    assert "1 equal, 1 documented fallbacks, 3 different, 0 not followed" in output
    assert "[{'kind': 'click', 'point': (1.0, 0.0)}]" in output


@pytest.mark.parametrize(
    ("family", "reply"),
    [("qwen3_vl", call([200, 150])), ("gui_owl_1_5", '{"coordinate": [200, 150]}')],
)
def test_a_config_names_the_functions_of_a_recipe(staged, family, reply):
    stage = staged(answer=lambda _: Reply(reply))
    prompt = {L2: f"models.recipes.{family}.build_prompt"}
    data = {L2: {"mode": "all", "parse_function": f"models.recipes.{family}.parse_point"}}
    result = stage.evaluate({"m": {**API, "custom_prompt": prompt}}, data=data)
    assert result.code == 0, result.output
    for request in result.requests:
        system, user = request.body["messages"]
        assert (system["role"], user["role"]) == ("system", "user")
        assert [part["type"] for part in user["content"]] == ["image_url", "text"]
    assert l2_counts(stage.scores(L2))["Correct num"] == 6


def test_the_documentation_has_every_recipe_with_its_frame():
    text = (PROJECT / "docs" / "recipes.md").read_text(encoding="utf-8")
    missing = [name for name, recipe in RECIPES.items() if f"| `{name}` |" not in text]
    assert missing == []
    assert [name for name, recipe in RECIPES.items() if f"| {recipe.frame} |" not in text] == []


STEPS = "AndroidControl"
L3 = "GUITaskAutomation"


def settings_of_a_checkpoint(family, dataset):
    recipe = RECIPES[family]
    steps = {STEPS: recipe.steps.form} if dataset == STEPS else {}
    entry = recipe.entry("transformers", f"models.recipes.{family}", {dataset: dataset}, steps)
    return entry["generate_cfg"]


@pytest.mark.parametrize(
    ("family", "dataset", "limit"),
    [
        # Their authors name no limit.
        ("jedi", L2, 512),
        ("aguvis", L2, 512),
        ("os_atlas_base_4b", L2, 512),
        ("os_atlas_base_7b", L2, 512),
        ("uground_v1", L2, 512),
        ("agentcpm_gui", L2, 512),
        ("fara_7b", L3, 2048),
        ("fara_1_5", L3, 2048),
        # The authors' own.
        ("gta1", L2, 32),
        ("qwen3_vl", L2, 512),
        ("qwen3_vl", L3, 1024),
        ("agentcpm_gui", STEPS, 2048),
    ],
)
def test_a_checkpoint_has_the_authors_limit_of_new_tokens_or_one_that_cuts_no_reply(
    family, dataset, limit
):
    assert settings_of_a_checkpoint(family, dataset)["max_new_tokens"] == limit


@pytest.mark.parametrize("family", RECIPES)
def test_no_checkpoint_of_a_recipe_is_left_with_the_library_s_limit_of_new_tokens(family):
    recipe = RECIPES[family]
    forms = {L2: recipe.has_grounding, STEPS: recipe.steps, L3: recipe.agent}
    datasets = [] if recipe.needs_class else [dataset for dataset, form in forms.items() if form]
    limits = [settings_of_a_checkpoint(family, dataset)["max_new_tokens"] for dataset in datasets]
    assert all(limit > LIBRARY_LIMIT for limit in limits)


def test_a_server_gets_no_limit_where_the_authors_name_none():
    settings = RECIPES["jedi"].entry("openai", "models.recipes.jedi", {L2: L2})["generate_cfg"]
    assert settings == {"temperature": 0}


def test_a_checkpoint_has_the_authors_penalty_for_repetition():
    settings = settings_of_a_checkpoint("gui_r1", STEPS)
    assert settings == {"max_new_tokens": 1024, "do_sample": False, "repetition_penalty": 1.05}

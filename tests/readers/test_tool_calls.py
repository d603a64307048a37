"""Tool calls written into replies, in XML and JSON, as agents and recipes read them."""

import json

import pytest

from benchmarks.actions import dialects
from benchmarks.actions.action import Action
from benchmarks.actions.reading import read_actions
from models.recipes import all_recipes
from utils.geometry.targets import DECLINED
from utils.tool_calls import written_calls

WH = (1000, 1000)
META = {"image_size": str(list(WH)), "seen_size": str(list(WH))}
CLICK = {"action": "left_click", "coordinate": [250, 500]}


def plain(value):
    return value if isinstance(value, str) else json.dumps(value)


def qwen3_coder(name, arguments):
    lines = [f"<parameter={key}>\n{plain(value)}\n</parameter>" for key, value in arguments.items()]
    return "\n".join(["<tool_call>", f"<function={name}>", *lines, "</function>", "</tool_call>"])


def glm(name, arguments):
    lines = [
        f"<arg_key>{key}</arg_key>\n<arg_value>{plain(value)}</arg_value>"
        for key, value in arguments.items()
    ]
    return "\n".join([f"<tool_call>{name}", *lines, "</tool_call>"])


def invoke(name, arguments, prefix="", attributes=""):
    lines = [
        f'<{prefix}parameter name="{key}"{attributes}>{plain(value)}</{prefix}parameter>'
        for key, value in arguments.items()
    ]
    return "\n".join([f'<{prefix}invoke name="{name}">', *lines, f"</{prefix}invoke>"])


def minimax(name, arguments):
    return f"<minimax:tool_call>\n{invoke(name, arguments)}\n</minimax:tool_call>"


def deepseek(name, arguments):
    return invoke(name, arguments, "｜DSML｜", ' string="true"')


def hermes(name, arguments):
    call = json.dumps({"name": name, "arguments": arguments})
    return f"<tool_call>\n{call}\n</tool_call>"


def python_words(name, arguments):
    return repr({"name": name, "arguments": arguments})


FORMS = [qwen3_coder, glm, invoke, minimax, deepseek, hermes, python_words]
IN_XML = [qwen3_coder, glm, invoke, minimax]
TOOL_RECIPES = [
    name for name, recipe in all_recipes().items() if "any_written_call" in recipe.parsers
]


def actions_of(reply):
    return read_actions(dialects.parse_computer_use(reply, META), WH)


@pytest.mark.parametrize("form", FORMS)
def test_agents_read_calls_in_every_form(form):
    click = (Action("click", (0.25, 0.5)),)
    reply = f"<think>a</think>I click it.\n{form('computer_use', CLICK)}"
    assert actions_of(reply) == click
    assert actions_of(form("left_click", {"coordinate": [250, 500]})) == click
    assert actions_of(form("computer_use", {"action": "key", "keys": ["ctrl", "s"]})) == (
        Action("key", keys=("ctrl", "s")),
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", ["7", "true", "[1,2]", "a <b> c", "it's", " x ", "好，（a）"])
def test_texts_to_type_stay_as_they_are_in_every_form(form, text):
    call = form("computer_use", {"action": "type", "text": text})
    assert actions_of(call) == (Action("type", text=text),)


@pytest.mark.parametrize("form", IN_XML)
def test_several_calls_follow_each_other_and_one_that_is_cut_off_is_none(form):
    click, wait = form("computer_use", CLICK), form("computer_use", {"action": "wait"})
    assert [action.kind for action in actions_of(click + wait)] == ["click", "wait"]
    cut_off = click[: click.index("250")]
    assert actions_of(cut_off) is None
    assert [action.kind for action in actions_of(wait + cut_off)] == ["wait"]


def test_json_in_an_argument_is_no_call_of_its_own():
    inner = json.dumps({"action": "left_click", "coordinate": [1, 1]})
    call = qwen3_coder("computer_use", {"action": "type", "text": inner})
    assert actions_of(call) == (Action("type", text=inner),)


@pytest.mark.parametrize("reply", ["", "no call", "{", "<function=", "<parameter=a>b</parameter>"])
def test_what_is_no_call_is_none(reply):
    assert written_calls(reply) == []


def test_the_recipes_whose_models_call_a_tool_have_the_reader():
    assert {"qwen2_5_vl", "qwen3_vl", "gui_owl_1_5", "jedi", "se_gui", "ui_ins"} <= {*TOOL_RECIPES}


@pytest.mark.parametrize("form", [*IN_XML, hermes, python_words])
@pytest.mark.parametrize("name", TOOL_RECIPES)
def test_recipes_read_points_of_calls_in_every_form(name, form):
    parse = all_recipes()[name].parsers["any_written_call"].parse
    assert parse(f"<think>(1, 2)</think>{form('computer_use', CLICK)}", META) == (0.25, 0.5)
    assert parse(form("grounding", {"coordinate": [200, 400, 300, 600]}), META) == (0.25, 0.5)
    assert parse(form("click", {"x": 250, "y": 500}), META) == (0.25, 0.5)
    infeasible = {"action": "terminate", "status": "failure"}
    assert parse(form("computer_use", infeasible), META) is DECLINED
    assert parse("There is no such element at (1, 2).", META) is None

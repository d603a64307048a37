"""What a model says → actions: our own words, UI-TARS's, JSON of computer tools."""

import json
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from benchmarks.actions import dialects
from benchmarks.actions.action import AT_POINTER, KEYS, NEEDS, Action, NoAction
from benchmarks.actions.reading import LONGEST_TEXT, MOST_ACTIONS, read_actions, read_keys
from tests.support.effort import least_cpu_s
from utils.coordinates import Frame, model_grid_wh

WH = (1280, 720)
META = {"image_size": str(list(WH)), "file_size": str(list(WH))}
GRID = model_grid_wh(META)


def read(parse, reply, meta=META):
    return read_actions(parse(reply, meta), WH)


def one(kind, **fields):
    return (Action(kind, **fields),)


# -- the default prompt's -------------------------------------------------------------------------

CLICK = one("click", point=(0.25, 0.5))


@pytest.mark.parametrize(
    ("reply", "actions"),
    [
        ("Thought: the button.\nAction: click(0.25, 0.5)", CLICK),
        ("**Action:** `click(0.25, 0.5)`", CLICK),
        ("action 3: Click(0.25, 0.5)  # the button", CLICK),
        ("```\nclick(0.25, 0.5)\n```", CLICK),
        ("click(x=0.25, y=0.5)", CLICK),
        ("Action: click(320, 360)", CLICK),  # pixels, by a coordinate above 1
        ("<think>Action: done()</think>\nAction: click(0.25, 0.5)", CLICK),
        (
            "Action: click(0.9, 0.9)\nNo, wait.\nAction: click(0.25, 0.5)",
            CLICK,
        ),  # the last word counts
        ("Action: click(1.5, -0.5)", one("click", point=(1.5 / 1280, 0.0))),
        ("double_click(0.25, 0.5)", one("double", point=(0.25, 0.5))),
        ("triple_click(0.25, 0.5)", one("triple", point=(0.25, 0.5))),
        ("right_click(0.25, 0.5)", one("right", point=(0.25, 0.5))),
        ("long_press(0.25, 0.5)", one("long", point=(0.25, 0.5))),
        ("middle_click(0.25, 0.5)", one("middle", point=(0.25, 0.5))),
        (
            'click(0.25, 0.5, modifiers="ctrl+shift")',
            one("click", point=(0.25, 0.5), modifiers=("ctrl", "shift")),
        ),
        ('Action: click("[320, 360]")', CLICK),
        ('Action: click("(0.25, 0.5)")', CLICK),
        ("Action: click([0.25, 0.5])", CLICK),
        ("Action: click((0.25, 0.5))", CLICK),
        ('Action: click({"x": 0.25, "y": 0.5})', CLICK),
        ("Action: click([0.2, 0.4, 0.3, 0.6])", CLICK),  # a box
        ("Action: click(point=[0.25, 0.5])", CLICK),
        ("Action: click(coordinate='320, 360')", CLICK),
        ("Action: click(bbox=[310, 350, 330, 370])", CLICK),
        (
            "drag([0.25, 0.5], [0.75, 0.5])",
            one("drag", point=(0.25, 0.5), to_point=(0.75, 0.5)),
        ),
        (
            "drag(point=[0.25, 0.5], end_point=[0.75, 0.5])",
            one("drag", point=(0.25, 0.5), to_point=(0.75, 0.5)),
        ),
        (
            'scroll([0.25, 0.5], "up", 3)',
            one("scroll", point=(0.25, 0.5), direction="up", amount=3.0),
        ),
        ('Action: type(content="x")', one("type", text="x")),
        ('answer(content="42")', one("answer", text="42")),
        ('fail(content="no")', one("fail", text="no")),
        ("move(0.25, 0.5)", one("move", point=(0.25, 0.5))),
        ("drag(0.25, 0.5, 0.75, 0.5)", one("drag", point=(0.25, 0.5), to_point=(0.75, 0.5))),
        (
            'scroll(0.25, 0.5, "up", 3)',
            one("scroll", point=(0.25, 0.5), direction="up", amount=3.0),
        ),
        ('scroll(direction="left")', one("scroll", point=(0.5, 0.5), direction="left")),
        ('Action: type("a (b), \\"c\\"\\n")', one("type", text='a (b), "c"\n')),
        ('Action: type("two\nlines")', one("type", text="two\nlines")),
        ("Action: type('Action: done()')", one("type", text="Action: done()")),
        ('press("Ctrl+A")', one("key", keys=("ctrl", "a"))),
        ('press(" ")', one("key", keys=("space",))),
        ('press(["ctrl", "shift", "t"])', one("key", keys=("ctrl", "shift", "t"))),
        ('scroll("down", 2)', one("scroll", point=(0.5, 0.5), amount=2.0)),
        ("wait(2)", one("wait", seconds=2.0)),
        ("wait(3600)", one("wait", seconds=5.0)),
        ("back()", one("back")),
        ("home()", one("home")),
        ('open_app("Mail")', one("open_app", app="Mail")),
        ('answer("42")', one("answer", text="42")),
        ("Action: done().", one("done")),
        ('fail(reason="no such file")', one("fail", text="no such file")),
        (
            'Action: click(0.25, 0.5)\nAction: type("x")\npress("enter")',
            (*CLICK, Action("type", text="x"), Action("key", keys=("enter",))),
        ),
        ('Action: click(0.25, 0.5); type("x")', (*CLICK, Action("type", text="x"))),
        ("I would click(0.25, 0.5) here.", None),
        ("click(0.25, 0.5) would be wrong", None),
        ("The answer is 42.", None),
        ("<html><body>Action taken</body></html>", None),
        ("Action:", None),
        ("", None),
    ],
)
def test_own_words(reply, actions):
    assert read(dialects.parse_actions, reply) == actions


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("Action: tap(0.25, 0.5)", "unknown action 'tap'"),
        ("Action: double_clik(0.25, 0.5)", 'did you mean "double_click"'),
        ("Action: click(0.25)", "click takes x, y"),
        ("Action: click(0.25, 0.5, 3)", "click takes 2 values, not 3"),
        ("Action: click(x, y)", "numbers and texts in quotes"),
        ('Action: type(__import__("os").system("true"))', "numbers and texts in quotes"),
        ("Action: click(nan, 0.5)", "numbers and texts in quotes"),
        ("Action: click(1e999, 0.5)", "is no point"),
        ('Action: click("a", 0.5)', "'a' is no number"),
        ('Action: press("ctrl+hyper")', "there is no key 'hyper'"),
        ('Action: press("")', "there is no key ''"),
        (r'Action: press("\x00")', r"there is no key '\\x00'"),
        (r'Action: press("ctrl+\x01")', r"there is no key '\\x01'"),
        (r'Action: press("\ud800")', "there is no key"),
        ('Action: click(0.5, 0.5, modifiers="a")', "click with 'a' held; only ctrl, alt, shift"),
        ('Action: type("a", modifiers="ctrl")', "type has no value called 'modifiers'"),
        ('Action: type(text="a", content="b")', "type has two values called 'text'"),
        ("Action: click(0.1, 0.2, point=[0.3, 0.4])", "click has two values called 'x'"),
        ('Action: click(point="here")', "'here' is no point"),
        ("Action: click(point=[1, 2, 3])", "is no point"),
        ("Action: click(end_point=[1, 2])", "click has no value called 'end_point'"),
        ('Action: scroll(0.5, 0.5, "sideways")', "scroll 'sideways'"),
        ('Action: type("' + "x\\n" * 300 + '")', "type: 301 lines; at most 200 are allowed"),
        ('Action: scroll(0.5, 0.5, "down", -3)', "scroll by -3; the amount must not be negative"),
        ("Action: drag(0.1, 0.2, 0.3)", "drag takes x1, y1, x2, y2"),
        ("Action: type()", "type without text"),
        ("Action: answer()", "answer without text"),
        ("Action: press()", "key without keys"),
        ("Action: open_app()", "open_app without app"),
        ("Action: click()", "click without point"),
        ("Action: wait('long')", "'long' is no number"),
        ("Action: " + "done(); " * (MOST_ACTIONS + 1), f"at most {MOST_ACTIONS}"),
    ],
)
def test_what_does_not_exist_is_said_to_the_model(reply, why):
    with pytest.raises(NoAction, match=why.replace("(", r"\(")):
        read(dialects.parse_actions, reply)


def test_what_python_thinks_of_a_text_is_no_news():
    with warnings.catch_warnings(action="error"):
        assert read(dialects.parse_actions, r'Action: type("C:\docs")') == one(
            "type", text=r"C:\docs"
        )


@pytest.mark.parametrize(
    "action",
    [
        Action("click", (0.25, 0.5)),
        Action("drag", (0.25, 0.5), (0.75, 0.125)),
        Action("scroll", (0.25, 0.5), direction="right", amount=2),
        Action("key", keys=("ctrl", "a")),
        Action("type", text='"a"\n\\b'),
        Action("answer", text="42"),
        Action("fail"),
        Action("back"),
        Action("open_app", app="To-do"),
        Action("wait", seconds=0.5),
        Action("long", (0.125, 0.25)),
        Action("middle", (0.25, 0.5)),
        Action("click", (0.25, 0.5), modifiers=("ctrl", "shift")),
        Action("scroll", (0.25, 0.5), direction="down", amount=3, modifiers=("ctrl",)),
    ],
)
def test_an_action_is_shown_as_the_default_prompt_reads_it(action):
    assert read(dialects.parse_actions, f"Action: {action}") == (action,)


@pytest.mark.parametrize(
    ("reply", "actions"),
    [
        ("Action：click（0.25，0.5）", CLICK),
        ("动作。Action：Click(０．２５, ０．５)", None),  # not on a line of its own
        ("**Action：** click(0.25，0.5)", CLICK),
        ("Action: click(x＝0.25, y＝0.5)", CLICK),
        ("Action：type（“你好，世界”）", one("type", text="你好，世界")),
        ("Action: type('“so”，he said')", one("type", text="“so”，he said")),
        ("Action：type（'（a）'）", one("type", text="（a）")),
        ("Action: done（）", one("done")),
    ],
)
def test_own_words_in_another_width_are_read_and_texts_stay_as_they_are(reply, actions):
    assert read(dialects.parse_actions, reply) == actions


# -- UI-TARS --------------------------------------------------------------------------------------


def of_grid(x, y):
    return x / GRID[0], y / GRID[1]


TARS_CLICK = one("click", point=of_grid(322, 378))


@pytest.mark.parametrize(
    ("reply", "actions"),
    [
        (
            "Thought: a\nAction: click(point='<point>322 378</point>')",
            one("click", point=of_grid(322, 378)),
        ),
        ("Action: click(start_box='(322,378)')", one("click", point=of_grid(322, 378))),
        (
            "Action: click(start_box='<|box_start|>(322,378)<|box_end|>')",
            one("click", point=of_grid(322, 378)),
        ),
        ("Action: left_double(point='<point>10 20</point>')", one("double", point=of_grid(10, 20))),
        ("Action: right_single(point='<point>10 20</point>')", one("right", point=of_grid(10, 20))),
        ("Action: long_press(point='<point>10 20</point>')", one("long", point=of_grid(10, 20))),
        (
            "Action: drag(start_point='<point>1 2</point>', end_point='<point>30 40</point>')",
            one("drag", point=of_grid(1, 2), to_point=of_grid(30, 40)),
        ),
        (
            "Action: scroll(point='<point>10 20</point>', direction='up')",
            one("scroll", point=of_grid(10, 20), direction="up"),
        ),
        ("Action: hotkey(key='ctrl c')", one("key", keys=("ctrl", "c"))),
        ("Action: type(content='it\\'s (1)\\n')", one("type", text="it's (1)\n")),
        ("Action: wait()", one("wait", seconds=5.0)),
        ("Action: press_back()", one("back")),
        ("Action: press_home()", one("home")),
        ("Action: open_app(app_name='Mail')", one("open_app", app="Mail")),
        ("Action: finished()", one("done")),
        ("Action: finished(content='42')", one("answer", text="42")),
        ("Action: call_user()", one("fail")),
        (
            "Action: click(point='<point>10 20</point>')\n\ntype(content='x')",
            (Action("click", of_grid(10, 20)), Action("type", text="x")),
        ),
        ("Action: type(content='it's ok')", one("type", text="it's ok")),
        ("Action: type(content='don't say 'no'')", one("type", text="don't say 'no'")),
        ("Action: type(content='f('a') is (1)')", one("type", text="f('a') is (1)")),
        ("Action: type(content='it's\nok\\n')", one("type", text="it's\nok\n")),
        ("Action: finished(content='It's done')", one("answer", text="It's done")),
        ("Action: finished(content='It's done') <|im_end|>", one("answer", text="It's done")),
        ('Action: finished(content="the "Q4" sheet")', one("answer", text='the "Q4" sheet')),
        (
            "Action: type(content='it's')\nhotkey(key='enter')",
            (Action("type", text="it's"), Action("key", keys=("enter",))),
        ),
        ("no action at all", None),
        ("Thought：a\nAction：click(point='<point>322 378</point>')", TARS_CLICK),
        ("**Action:** click(point='<point>322 378</point>')", TARS_CLICK),
        ("**Action**: `click(point='<point>322 378</point>')`", TARS_CLICK),
        ("Action：click（point='<point>322 378</point>'）", TARS_CLICK),
        ("Action: click(point='（322，378）')", TARS_CLICK),
        ("Action: click(coordinate='[322, 378]')", TARS_CLICK),
        ("Action: type(text='好，（a）')", one("type", text="好，（a）")),
        ("Action：type(content='好，（a）')", one("type", text="好，（a）")),
        ("Action: hotkey(keys='ctrl c')", one("key", keys=("ctrl", "c"))),
    ],
)
def test_the_words_of_ui_tars(reply, actions):
    assert read(dialects.parse_uitars, reply) == actions


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("Action: type()", "type without text"),
        ("Action: hotkey()", "key without keys"),
        ("Action: open_app()", "open_app without app"),
        ("Action: click()", "click without point"),
        ("Action: drag(start_box='(1,2)')", "drag without to_point"),
        ("Action: click(point='(1,920, 1,080)')", "is no point"),
    ],
)
def test_an_action_of_ui_tars_without_its_argument_is_said_to_the_model(reply, why):
    with pytest.raises(NoAction, match=why):
        read(dialects.parse_uitars, reply)


# -- JSON -----------------------------------------------------------------------------------------


def qwen(**arguments):
    call = json.dumps({"name": "computer_use", "arguments": arguments})
    return f"<tool_call>\n{call}\n</tool_call>"


def openai(**action):
    return json.dumps({"type": "computer_call", "call_id": "c", "action": action})


def batch(*actions):
    return json.dumps({"type": "computer_call", "call_id": "c", "actions": actions})


def claude(**arguments):
    return json.dumps({"type": "tool_use", "id": "t", "name": "computer", "input": arguments})


@pytest.mark.parametrize(
    ("reply", "actions"),
    [
        (qwen(action="left_click", coordinate=[320, 360]), CLICK),
        (qwen(action="double_click", coordinate=[320, 360]), one("double", point=(0.25, 0.5))),
        (
            qwen(action="left_click_drag", coordinate=[320, 360], coordinate2=[640, 360]),
            one("drag", point=(0.25, 0.5), to_point=(0.5, 0.5)),
        ),
        (
            qwen(action="scroll", coordinate=[320, 360], pixels=-300),
            one("scroll", point=(0.25, 0.5), direction="down", amount=3.0),
        ),
        (
            qwen(action="scroll", coordinate=[320, 360], pixels=-5),
            one("scroll", point=(0.25, 0.5), direction="down", amount=5.0),
        ),
        (
            qwen(action="scroll", coordinate=[320, 360], pixels=30),
            one("scroll", point=(0.25, 0.5), direction="up", amount=30.0),
        ),
        (
            qwen(action="hscroll", coordinate=[320, 360], pixels=-2),
            one("scroll", point=(0.25, 0.5), direction="left", amount=2.0),
        ),
        (qwen(action="middle_click", coordinate=[320, 360]), one("middle", point=(0.25, 0.5))),
        (qwen(action="type", text="a\nb"), one("type", text="a\nb")),
        (qwen(action="type", text="a\nb").replace("\\n", "\n"), one("type", text="a\nb")),
        ('{"action": "type", "text": "a\tb\n"}', one("type", text="a\tb\n")),
        (qwen(action="key", keys=["ctrl", "s"]), one("key", keys=("ctrl", "s"))),
        (qwen(action="wait", time=2), one("wait", seconds=2.0)),
        (qwen(action="answer", text="42"), one("answer", text="42")),
        (qwen(action="terminate", status="success"), one("done")),
        (qwen(action="terminate", status="failure"), one("fail")),
        (qwen(action="terminate", status="Success"), one("done")),
        (qwen(action="terminate", status="FAILED"), one("fail")),
        (qwen(action="terminate", status="infeasible"), one("fail")),
        (qwen(action="terminate"), one("done")),
        (qwen(action="system_button", button="Home"), one("home")),
        (qwen(action="system_button", button="Back"), one("back")),
        (qwen(action="system_button", button="Enter"), one("key", keys=("enter",))),
        (
            qwen(action="left_click", coordinate=[320, 360]) + qwen(action="type", text="x"),
            (*CLICK, Action("type", text="x")),
        ),
        (openai(type="click", button="left", x=320, y=360), CLICK),
        (openai(type="click", button="right", x=320, y=360), one("right", point=(0.25, 0.5))),
        (openai(type="click", button="wheel", x=320, y=360), one("middle", point=(0.25, 0.5))),
        (openai(type="click", button="back", x=320, y=360), one("back")),
        (
            openai(type="click", button="left", x=320, y=360, keys=["CTRL", "SHIFT"]),
            one("click", point=(0.25, 0.5), modifiers=("ctrl", "shift")),
        ),
        (openai(type="click", button="left", x=320, y=360, keys=None), CLICK),
        (
            openai(type="double_click", x=320, y=360, keys=["ALT"]),
            one("double", point=(0.25, 0.5), modifiers=("alt",)),
        ),
        (
            batch(
                {"type": "click", "button": "left", "x": 320, "y": 360},
                {"type": "type", "text": "x"},
                {"type": "keypress", "keys": ["ENTER"]},
            ),
            (*CLICK, Action("type", text="x"), Action("key", keys=("enter",))),
        ),
        (batch(), None),
        (
            openai(type="scroll", x=320, y=360, scroll_x=0, scroll_y=200),
            one("scroll", point=(0.25, 0.5), direction="down", amount=2.0),
        ),
        (
            openai(type="scroll", x=320, y=360, scroll_x=-100, scroll_y=0),
            one("scroll", point=(0.25, 0.5), direction="left", amount=1.0),
        ),
        (
            openai(
                type="drag", path=[{"x": 320, "y": 360}, {"x": 400, "y": 1}, {"x": 640, "y": 360}]
            ),
            one("drag", point=(0.25, 0.5), to_point=(0.5, 0.5)),
        ),
        (openai(type="keypress", keys=["CTRL", "A"]), one("key", keys=("ctrl", "a"))),
        (openai(type="screenshot"), one("wait", seconds=0.0)),
        (claude(action="left_click", coordinate=[320, 360]), CLICK),
        (
            claude(action="left_click", coordinate=[320, 360], text="ctrl"),
            one("click", point=(0.25, 0.5), modifiers=("ctrl",)),
        ),
        (claude(action="left_click", coordinate=[320, 360], text="the button"), CLICK),
        (
            claude(
                action="scroll",
                coordinate=[320, 360],
                scroll_direction="down",
                scroll_amount=2,
                text="ctrl+shift",
            ),
            one("scroll", point=(0.25, 0.5), amount=2.0, modifiers=("ctrl", "shift")),
        ),
        (
            claude(action="left_click_drag", start_coordinate=[320, 360], coordinate=[640, 360]),
            one("drag", point=(0.25, 0.5), to_point=(0.5, 0.5)),
        ),
        (
            claude(action="scroll", coordinate=[320, 360], scroll_direction="up", scroll_amount=3),
            one("scroll", point=(0.25, 0.5), direction="up", amount=3.0),
        ),
        (claude(action="key", text="ctrl+Return"), one("key", keys=("ctrl", "enter"))),
        (
            claude(action="key", text="ctrl+a Delete"),
            (Action("key", keys=("ctrl", "a")), Action("key", keys=("delete",))),
        ),
        (claude(action="key", text="Down Down Down"), (Action("key", keys=("down",)),) * 3),
        (claude(action="key", text="ctrl + a"), one("key", keys=("ctrl", "a"))),
        (claude(action="key", text="ctrl shift t"), one("key", keys=("ctrl", "shift", "t"))),
        (qwen(action="hotkey", keys="alt tab"), one("key", keys=("alt", "tab"))),
        (qwen(action="key", keys='["ctrl", "s"]'), one("key", keys=("ctrl", "s"))),
        (claude(action="wait", duration=1), one("wait", seconds=1.0)),
        ('I think {"action": "left_click", "coordinate": [320, 360]} is right', CLICK),
        (qwen(action="left_click", coordinate="[320, 360]"), CLICK),
        (qwen(action="left_click", coordinate="320, 360"), CLICK),
        (qwen(action="left_click", coordinate="<point>320 360</point>"), CLICK),
        (qwen(action="left_click", coordinate=["320", "360"]), CLICK),
        (qwen(action="left_click", coordinate={"x": 320, "y": 360}), CLICK),
        (qwen(action="left_click", point=[320, 360]), CLICK),
        (qwen(action="left_click", position="x=320, y=360"), CLICK),
        (qwen(action="left_click", bbox=[310, 350, 330, 370]), CLICK),
        (qwen(action="left_click", x="320, 360"), CLICK),
        (qwen(action="left_click", x=[320, 360]), CLICK),
        (qwen(action="left_click", x="320", y="360"), CLICK),
        (qwen(action="left_click", coordinate=[320, 360], bbox=[0, 0, 9, 9]), CLICK),
        (qwen(action="type", content="abc"), one("type", text="abc")),
        (qwen(action="type", value="abc"), one("type", text="abc")),
        (qwen(action="type", text="", content="abc"), one("type", text="abc")),
        (qwen(action="type", text=""), one("type", text="")),
        (qwen(action="key", key="ctrl+s"), one("key", keys=("ctrl", "s"))),
        (qwen(action="open", app_name="Mail"), one("open_app", app="Mail")),
        (qwen(action="wait", seconds=2), one("wait", seconds=2.0)),
        (
            qwen(action="scroll", coordinate=[320, 360], direction="down", amount=2),
            one("scroll", point=(0.25, 0.5), amount=2.0),
        ),
        (qwen(action="left_click", coordinate=[320, 360]).replace('"', "'"), CLICK),
        ("{'action': 'type', 'text': \"it's\", 'enter': False}", one("type", text="it's")),
        ("{'action': 'left_click', 'coordinate': (320, 360),}", CLICK),
        ('{"action"："left_click"，"coordinate"：[320，360]}', CLICK),
        ("｛“action”：“type”，“text”：“好，”｝", one("type", text="好，")),
        (json.dumps({"name": "left_click", "arguments": {"coordinate": [320, 360]}}), CLICK),
        (
            claude(action="mouse_move", coordinate=[320, 360]) + claude(action="left_click"),
            (Action("move", (0.25, 0.5)), Action("click", (0.25, 0.5))),
        ),
        (
            claude(action="double_click", coordinate=[320, 360]) + claude(action="right_click"),
            (Action("double", (0.25, 0.5)), Action("right", (0.25, 0.5))),
        ),
        (
            qwen(action="mouse_move", coordinate=[320, 360])
            + qwen(action="left_click_drag", coordinate=[640, 360]),
            (Action("move", (0.25, 0.5)), Action("drag", (0.25, 0.5), (0.5, 0.5))),
        ),
        (
            claude(action="mouse_move", coordinate=[320, 360])
            + claude(action="scroll", scroll_direction="up", scroll_amount=3),
            (
                Action("move", (0.25, 0.5)),
                Action("scroll", (0.25, 0.5), direction="up", amount=3.0),
            ),
        ),
        (
            claude(action="scroll", scroll_direction="up"),
            one("scroll", point=(0.5, 0.5), direction="up"),
        ),
        ('{"answer": 42}', None),
        ('{"action": ', None),
        ("{" * 5000, None),
    ],
)
def test_the_json_of_computer_tools(reply, actions):
    assert read(dialects.parse_computer_use, reply) == actions


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (qwen(action="fly"), "unknown action 'fly'"),
        (qwen(action="left_click", coordinate="here"), "'here' is no point"),
        (qwen(action="left_click"), "click without point"),
        (qwen(action="system_button", button="Menu"), "there is no system button 'Menu' here"),
        (openai(type="click", button="forward", x=1, y=1), "the button 'forward' cannot be done"),
        (openai(type="click", button=["left"], x=1, y=1), "cannot be done"),
        (openai(type="double_click", button="right", x=1, y=1), "cannot be done here"),
        (openai(type="click", button="left", x=1, y=1, keys=["A"]), "click with 'a' held"),
        (claude(action="left_click", coordinate=[1, 1], text="delete"), "with 'delete' held"),
        (batch("click"), "are no actions"),
        (qwen(action="type"), "type without text"),
        (qwen(action="answer"), "answer without text"),
        (qwen(action="open"), "open_app without app"),
        (qwen(action="key"), "key without keys"),
        (claude(action="key", text="Tab ctrl c"), "'Tab ctrl c': which keys are held together"),
        (claude(action="key", text="ctrl+a hyper"), "there is no key 'hyper'"),
        (qwen(action="terminate", status="completed"), "terminate with the status 'completed'"),
        (qwen(action="terminate", status=True), "terminate with the status True"),
        (qwen(action="scroll", coordinate=[1, 1]), "scroll without direction"),
        (qwen(action="left_click_drag", coordinate=[1, 1]), "drag without point, and the mouse"),
        (openai(type="click", button="left"), "click without point"),
        (qwen(action="left_click", coordinate="1,920, 1,080"), "is no point"),
        (qwen(action="left_click", point=[1, 2], position=[3, 4]), "which of them is meant"),
        (qwen(action="type", content="a", value="b"), "which of them is meant"),
        ('{"arguments":' * 9 + '{"action": "wait"}' + "}" * 9, "a call within"),
        (batch({"type": "fly"}), "unknown action 'fly'"),
        (claude(action="scroll", scroll_direction="up", scroll_amount="far"), "'far' is no number"),
        (claude(action="scroll", scroll_direction="up", scroll_amount=-3), "scroll by -3"),
        (claude(action="scroll", scroll_direction="up", scroll_amount="-3"), "scroll by -3"),
    ],
)
def test_json_that_means_nothing_is_said_to_the_model(reply, why):
    with pytest.raises(NoAction, match=why):
        read(dialects.parse_computer_use, reply)


# -- frames and limits ----------------------------------------------------------------------------


@pytest.mark.parametrize("frame", list(Frame))
def test_every_dialect_reads_points_in_every_frame_of_l2(frame):
    from utils.coordinates import place_in_frame

    size = GRID if frame is Frame.GRID_PIXELS else WH
    area_x, top, wide, high = place_in_frame(frame, size)
    x, y = round(area_x + 0.25 * wide, 6), round(top + 0.5 * high, 6)
    for dialect, reply in (
        ("actions", f"Action: click({x}, {y})"),
        ("uitars", f"Action: click(point='<point>{x} {y}</point>')"),
        ("computer_use", qwen(action="left_click", coordinate=[x, y])),
    ):
        parse = getattr(dialects, f"parse_{dialect}_{frame}")
        [action] = read(parse, reply)
        assert action.point == pytest.approx((0.25, 0.5), abs=1e-6)


def test_warnings_of_others_are_heard_after_many_replies_were_read_at_once():
    interval_s, before = sys.getswitchinterval(), [*warnings.filters]
    sys.setswitchinterval(1e-5)
    try:
        with warnings.catch_warnings(), ThreadPoolExecutor(4) as pool:
            results = pool.map(lambda reply: read(dialects.parse_actions, reply), ["done()"] * 1000)
            assert {*results} == {one("done")}
            assert warnings.filters == before
    finally:
        sys.setswitchinterval(interval_s)


LONG = 99_000


@pytest.mark.parametrize(
    "parse",
    [
        dialects.parse_actions,
        dialects.parse_uitars,
        dialects.parse_computer_use,
    ],
)
@pytest.mark.parametrize(
    "part",
    [
        "x",
        "(",
        "\n",
        "Action: ",
        "click(",
        "click((0.5)\n",
        "done (it's\n",
        "Action: type(\"'\n",
        '{"a":',
        '{"arguments":',
        "<think>",
        "</think>",
        "action:\n",
        "x (",
        "1+",
        "action" + " " * LONG,
        "action" + ":" * LONG,
        "done()\n" + "action::" * 30 + "x\ndone()",
        "Action: type('" + "\\" * LONG,
        f"Action: {'a' * LONG}()",
        f"Action: type({'a' * LONG})",
        f'Action: press("{"a" * LONG}")',
        f"Action: click({'-' * LONG}1, 2)",
        "Action: " + "type(content='it's')" * (LONG // 20),
        "Action: type(content='" + "') " * (LONG // 3),
        "Action: type(content='" + "'" * LONG,
        "Action: type(content='" + "'" + " " * LONG,
        "Action: press('" + "\t+" * (LONG // 2) + "')",
        '{"action": "' + "a" * LONG + '"}',
    ],
)
def test_a_reply_of_whatever_length_is_read_in_a_moment(parse, part):
    def reads():
        with suppress(NoAction):
            read(parse, part * (LONG // len(part) or 1))

    assert least_cpu_s(reads, 2) < 2


@pytest.mark.parametrize(
    ("point", "remark"),
    [
        ((0.5, 0.5), ""),
        ((1280, 720), ""),  # its far corner
        ((1281, 5), "The point (1281, 5) is off the screen of 1280x720 pixels"),
        ((-0.1, 0.5), "The point (-128, 360) is off the screen"),
        ((5, 7200), "The point (5, 7200) is off the screen"),
        ((5, -1), "The point (5, -1) is off the screen"),
    ],
)
def test_a_point_off_the_screen_is_moved_to_its_edge_with_a_remark(point, remark):
    [action] = read_actions({"kind": "click", "point": point}, WH)
    assert action.remark.startswith(remark)
    assert bool(action.remark) == bool(remark)
    assert min(action.point) >= 0
    assert max(action.point) < 1


def test_a_parse_function_may_name_the_place_of_the_mouse():
    click = {"kind": "click", "point": AT_POINTER}
    assert read_actions(click, WH, (0.25, 0.5)) == CLICK
    with pytest.raises(NoAction, match="click without point"):
        read_actions(click, WH)


def test_texts_are_cut_and_actions_counted():
    [action] = read(dialects.parse_actions, f'Action: type("{"x" * 9000}")')
    assert len(action.text) == LONGEST_TEXT


@pytest.mark.parametrize(
    ("parsed", "actions"),
    [
        (None, None),
        ([], None),
        ({"kind": "click", "point": [320, 360]}, CLICK),
        ([{"kind": "done"}], one("done")),
        (Action("click", (0.25, 0.5)), CLICK),
    ],
)
def test_a_parse_function_returns_actions_or_mappings_of_their_fields(parsed, actions):
    assert read_actions(parsed, WH) == actions


@pytest.mark.parametrize(
    ("parsed", "why"),
    [
        ("click", "'click' is no action"),
        (3, "3 is no action"),
        ([3], "3 is no action"),
        ({"kind": "klick"}, 'did you mean "click"'),
        ({"kind": "click"}, "click without point"),
        ({"kind": "done", "at": 3}, "unknown field 'at'"),
        ({"kind": "click", "point": 3}, "3 is no point"),
        ({"kind": "done", "modifiers": ["ctrl"]}, "done takes no modifiers"),
    ],
)
def test_anything_else_that_a_parse_function_returns_is_no_action(parsed, why):
    with pytest.raises(NoAction, match=why):
        read_actions(parsed, WH)


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        ("ctrl+a", ("ctrl", "a")),
        ("ctrl a", ("ctrl", "a")),
        ("ctrl++", ("ctrl", "+")),
        ("+", ("+",)),
        ("Return", ("enter",)),
        ("Page_Down", ("pagedown",)),
        ("cmd-a", None),
        (["cmd", "A"], ("meta", "a")),
        ("arrowleft", ("left",)),
        ([" "], ("space",)),
        ("f12", ("f12",)),
        ("\b", ("backspace",)),
        ("\t", ("tab",)),
        ("\n", ("enter",)),
        ("\x1b", ("escape",)),
        ("\x7f", ("delete",)),
        ("ctrl+\x7f", ("ctrl", "delete")),
        ("shift+\t", ("shift", "tab")),
        ("ctrl+a\n", ("ctrl", "a")),
        (["ctrl", "\b"], ("ctrl", "backspace")),
        (["\n"], ("enter",)),
        ("\x00", None),
        (["\x00"], None),
        ("\u200b", None),
        ("\ud800", None),
        ("\x85", None),
        ("a b c d e", None),
    ],
)
def test_keys_have_one_name_each(keys, names):
    if names is None:
        with pytest.raises(NoAction):
            read_keys(keys)
    else:
        assert read_keys(keys) == names
        assert all(name in KEYS or len(name) == 1 for name in names)


def test_every_kind_of_action_can_be_said_in_our_own_words():
    values = {
        "point": (0.1, 0.2),
        "to_point": (0.3, 0.4),
        "text": "x",
        "keys": ("a",),
        "app": "Mail",
    }
    for kind, needed in NEEDS.items():
        action = Action(kind, **{name: values[name] for name in needed})
        [parsed_action] = read(dialects.parse_actions, str(action))
        assert parsed_action.kind == kind

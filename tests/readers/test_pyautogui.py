"""Code of pyautogui and the JSON of computer_13, read as actions and never run."""

import json

import pytest

from benchmarks.actions.action import Action, NoAction
from benchmarks.actions.pyautogui import (
    calls_of_code,
    parse_computer_13,
    parse_pyautogui,
    parse_pyautogui_fractions,
)
from benchmarks.actions.reading import read_actions

WH = (1000, 500)
META = {"image_size": list(WH)}
CODE = {
    "pyautogui.click(100, 200)": ["click(0.100, 0.400)"],
    "pyautogui.click(x=100, y=200, clicks=2)": ["double_click(0.100, 0.400)"],
    "pyautogui.click(100, 200, button='right')": ["right_click(0.100, 0.400)"],
    "pyautogui.rightClick(100, 200)": ["right_click(0.100, 0.400)"],
    "pyautogui.moveTo(500, 250, duration=0.5)\npyautogui.dragTo(600, 250, button='left')": [
        "move(0.500, 0.500)",
        "drag(0.500, 0.500, 0.600, 0.500)",
    ],
    "import pyautogui\nimport time\npyautogui.hotkey('ctrl', 's')\ntime.sleep(1)": [
        'press("ctrl+s")',
        "wait(1)",
    ],
    "pyautogui.hotkey(['ctrl', 'shift', 't'])": ['press("ctrl+shift+t")'],
    "pyautogui.write('a\\nb', interval=0.1)": ['type("a\\nb")'],
    "pyautogui.press(['left', 'left'])": ['press("left")', 'press("left")'],
    "pyautogui.press('tab', presses=2)": ['press("tab")', 'press("tab")'],
    "x, y = 100, 200\npyautogui.click(x, y)": ["click(0.100, 0.400)"],
    "pyautogui.scroll(-5, 500, 250)": ['scroll(0.500, 0.500, "down", 5)'],
    "pyautogui.hscroll(3)": ['scroll(0.500, 0.500, "right", 3)'],
    "pyautogui.keyDown('shift')\npyautogui.click(100, 200)\npyautogui.keyUp('shift')": [
        'click(0.100, 0.400, modifiers="shift")'
    ],
    "pyautogui.keyDown('ctrl')\npyautogui.press('c')\npyautogui.keyUp('ctrl')": ['press("ctrl+c")'],
    "pyautogui.keyDown('alt')\npyautogui.keyUp('alt')": ['press("alt")'],
    "pyautogui.mouseDown(100, 200)\npyautogui.moveTo(300, 200)\npyautogui.mouseUp()": [
        "drag(0.100, 0.400, 0.300, 0.400)"
    ],
    "WAIT": ["wait(1)"],
    "DONE": ["done()"],
    "FAIL": ["fail()"],
    "It is open.\n```python\npyautogui.click(100, 200)\n```\n": ["click(0.100, 0.400)"],
    "Done now.\n```\nDONE\n```": ["done()"],
    "<think>pyautogui.click(1, 1)</think>pyautogui.click(100, 200)": ["click(0.100, 0.400)"],
}
REFUSED = [
    "import os; os.system('id')",
    "import pyautogui as p; p.click(1, 1)",
    "from pyautogui import click; click(1, 1)",
    "pyautogui.__class__",
    "pyautogui.screenshot('/etc/x')",
    "pyautogui.click(__import__('os').getpid())",
    "[pyautogui.click(1, 1) for _ in range(9)]",
    "for i in range(3):\n    pyautogui.click(1, 1)",
    "pyautogui.click(*[1, 2])",
    "pyautogui.click(**{'x': 1})",
    "pyautogui.write('a' * 10**9)",
    "pyautogui.click(1 + 1, 2)",
    "getattr(pyautogui, 'click')()",
    "pyautogui.write(f'{1}')",
    "time.sleep.__globals__",
    "time.click(1, 1); pyautogui.click(1, 1)",
    "pyautogui.press(lambda: 'a')",
    "pyautogui.click(100, 200, 1, 0, 'left', 5)",
    "pyautogui.click(100, 200, colour='red')",
    "pyautogui.click(100, 200",
    "pyautogui." + "(" * 3000,
    "x = pyautogui.position(); pyautogui.click(x)",
    "while True: pyautogui.click(1, 1)",
    "\n".join(["pyautogui.click(1, 1)"] * 60),
]


def texts(parsed):
    return [str(action) for action in read_actions(parsed, WH) or ()]


@pytest.mark.parametrize("reply", CODE)
def test_code_is_read_as_the_actions_that_it_would_do(reply):
    assert texts(parse_pyautogui(reply, META)) == CODE[reply]


@pytest.mark.parametrize("code", REFUSED)
def test_whatever_else_stands_in_the_code_is_refused_in_words(code):
    with pytest.raises(NoAction, match=r"."):
        calls_of_code(code)


def test_a_text_without_code_names_no_action():
    assert parse_pyautogui("I shall click the button.", META) is None


def test_points_are_read_in_the_frame_that_is_named():
    assert texts(parse_pyautogui_fractions("pyautogui.click(0.25, 0.5)", META)) == [
        "click(0.250, 0.500)"
    ]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ({"action_type": "CLICK", "parameters": {"x": 100, "y": 200}}, "click(0.100, 0.400)"),
        (
            {"action_type": "CLICK", "parameters": {"x": 100, "y": 200, "num_clicks": 2}},
            "double_click(0.100, 0.400)",
        ),
        (
            {"action_type": "CLICK", "x": 100, "y": 200, "button": "right"},
            "right_click(0.100, 0.400)",
        ),
        ({"action_type": "TYPING", "parameters": {"text": "Hello"}}, 'type("Hello")'),
        ({"action_type": "PRESS", "parameters": {"key": "enter"}}, 'press("enter")'),
        ({"action_type": "HOTKEY", "parameters": {"keys": ["ctrl", "a"]}}, 'press("ctrl+a")'),
        (
            {"action_type": "SCROLL", "parameters": {"dx": 0, "dy": -3}},
            'scroll(0.500, 0.500, "down", 3)',
        ),
        ({"action_type": "DONE"}, "done()"),
    ],
)
def test_the_kinds_of_computer_13_are_read(call, expected):
    reply = f"Thought: it is there.\n{json.dumps(call)}"
    assert texts(parse_computer_13(reply, META)) == [expected]


def test_an_unknown_kind_is_refused_with_the_known_ones():
    with pytest.raises(NoAction, match="known are MOVE_TO"):
        parse_computer_13('{"action_type": "EXPLODE"}', META)


def test_a_drag_begins_where_the_mouse_is():
    parsed = parse_pyautogui("pyautogui.dragTo(300, 200)", META)
    [action] = read_actions(parsed, WH, pointer=(0.1, 0.1))
    assert action == Action("drag", (0.1, 0.1), (0.3, 0.4))

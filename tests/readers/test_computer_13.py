"""The JSON of OSWorld's `computer_13` is read as actions."""

import json

import pytest

from benchmarks.actions.action import NoAction
from benchmarks.actions.dialects import parse_computer_13, parse_computer_13_fractions
from benchmarks.actions.reading import read_actions

WH = (1000, 500)
META = {"image_size": list(WH)}


def texts(parsed):
    return [str(action) for action in read_actions(parsed, WH, pointer=(0.5, 0.5)) or ()]


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
        (
            {"action_type": "CLICK", "parameters": {"x": 100, "y": 200, "button": None}},
            "click(0.100, 0.400)",
        ),
        ({"action_type": "TYPING", "parameters": {"text": "Hello"}}, 'type("Hello")'),
        ({"action_type": "PRESS", "parameters": {"key": "enter"}}, 'press("enter")'),
        ({"action_type": "HOTKEY", "parameters": {"keys": ["ctrl", "a"]}}, 'press("ctrl+a")'),
        (
            {"action_type": "SCROLL", "parameters": {"dx": 0, "dy": -3}},
            'scroll(0.500, 0.500, "down", 3)',
        ),
        ({"action_type": "TYPING", "parameters": {"content": "Hello"}}, 'type("Hello")'),
        (
            {"action_type": "CLICK", "parameters": {"coordinate": [100, 200]}},
            "click(0.100, 0.400)",
        ),
        (
            {"action_type": "CLICK", "parameters": {"point": "(100, 200)"}},
            "click(0.100, 0.400)",
        ),
        (
            {"action_type": "CLICK", "parameters": {"bbox": [90, 190, 110, 210]}},
            "click(0.100, 0.400)",
        ),
        (
            {"action_type": "CLICK", "parameters": {"position": {"x": 100, "y": 200}}},
            "click(0.100, 0.400)",
        ),
        ({"action_type": "DONE"}, "done()"),
    ],
)
def test_the_kinds_of_computer_13_are_read(call, expected):
    reply = f"Thought: it is there.\n{json.dumps(call)}"
    assert texts(parse_computer_13(reply, META)) == [expected]


def test_the_kinds_of_computer_13_are_read_in_another_width():
    reply = '{"action_type"："CLICK"，"parameters"：{"x"：100，"y"：200}}'
    assert texts(parse_computer_13(reply, META)) == ["click(0.100, 0.400)"]


def test_an_unknown_kind_is_refused_with_the_known_ones():
    with pytest.raises(NoAction, match="known are MOVE_TO"):
        parse_computer_13('{"action_type": "EXPLODE"}', META)


@pytest.mark.parametrize(
    ("calls", "problem"),
    [
        (
            [{"action_type": "CLICK", "parameters": {"pos": [100, 200]}}],
            "click has no argument called 'pos'",
        ),
        (
            [{"action_type": "CLICK", "parameters": {"x": 1, "y": 2, "point": [3, 4]}}],
            "two values called 'x'",
        ),
        (
            [{"action_type": "CLICK", "x": 100, "y": 200, "button": "back"}],
            "click with the button 'back' cannot be done here",
        ),
        (
            [
                {"action_type": "KEY_DOWN", "parameters": {"key": "ctrl"}},
                {"action_type": "TYPING", "parameters": {"text": "a"}},
                {"action_type": "KEY_UP", "parameters": {"key": "ctrl"}},
            ],
            "a text cannot be typed with ctrl held",
        ),
    ],
)
def test_a_call_that_cannot_be_done_is_no_action(calls, problem):
    with pytest.raises(NoAction, match=problem):
        parse_computer_13("\n".join(map(json.dumps, calls)), META)


def test_a_button_that_goes_down_in_one_place_and_up_in_another_is_a_drag():
    calls = [
        {"action_type": "MOUSE_DOWN", "parameters": {"x": 100, "y": 200}},
        {"action_type": "MOVE_TO", "parameters": {"x": 300, "y": 200}},
        {"action_type": "MOUSE_UP"},
    ]
    reply = "\n".join(map(json.dumps, calls))
    assert texts(parse_computer_13(reply, META)) == ["drag(0.100, 0.400, 0.300, 0.400)"]


def test_points_are_read_in_the_frame_that_is_named():
    reply = '{"action_type": "CLICK", "parameters": {"x": 0.25, "y": 0.5}}'
    assert texts(parse_computer_13_fractions(reply, META)) == ["click(0.250, 0.500)"]


def test_a_reply_without_such_an_object_has_no_action():
    assert parse_computer_13('I shall click. {"x": 5}', META) is None

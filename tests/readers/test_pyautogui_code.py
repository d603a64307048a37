"""Code for pyautogui is read as actions, in every frame, and never run."""

import pytest

from benchmarks.actions import dialects
from benchmarks.actions.action import NoAction
from benchmarks.actions.reading import read_actions

WH = (1000, 500)
META = {"image_size": "[1000, 500]", "platform": "os_web"}


def read(reply, frame=""):
    parse = getattr(dialects, f"parse_pyautogui{frame}")
    actions = read_actions(parse(reply, META), WH, pointer=(0.5, 0.5))
    return None if actions is None else [str(action) for action in actions]


def block(code, language="python"):
    return f"Thought: x.\n```{language}\n{code}\n```"


@pytest.mark.parametrize(
    ("code", "actions"),
    [
        ("pyautogui.click(0.4, 0.1)", ["click(0.400, 0.100)"]),
        ("pyautogui.click(x=400, y=50)", ["click(0.400, 0.100)"]),
        ("pyautogui.click((400, 50))", ["click(0.400, 0.100)"]),
        ("pyautogui.click()", ["click(0.500, 0.500)"]),
        ("pyautogui.click(400, 50, clicks=2)", ["double_click(0.400, 0.100)"]),
        ("pyautogui.click(400, 50, button='right')", ["right_click(0.400, 0.100)"]),
        ("pyautogui.doubleClick(400, 50)", ["double_click(0.400, 0.100)"]),
        ("computer.tripleClick(400, 50)", ["triple_click(0.400, 0.100)"]),
        ("pyautogui.middleClick(400, 50)", ["middle_click(0.400, 0.100)"]),
        (
            "import pyautogui\nimport time\npyautogui.moveTo(400, 50)\npyautogui.click()",
            ["move(0.400, 0.100)", "click(0.400, 0.100)"],
        ),
        (
            "pyautogui.moveTo(400, 50)\npyautogui.dragTo(600, 50, duration=0.5)",
            ["move(0.400, 0.100)", "drag(0.400, 0.100, 0.600, 0.100)"],
        ),
        (
            "pyautogui.mouseDown(400, 50)\npyautogui.moveTo(600, 50)\npyautogui.mouseUp()",
            ["drag(0.400, 0.100, 0.600, 0.100)"],
        ),
        ("pyautogui.mouseDown(400, 50)\npyautogui.mouseUp()", ["click(0.400, 0.100)"]),
        (
            "pyautogui.mouseDown(400, 50)\npyautogui.dragTo(600, 50)\npyautogui.mouseUp()",
            ["drag(0.400, 0.100, 0.600, 0.100)"],
        ),
        (
            "pyautogui.mouseDown(400, 50)\npyautogui.dragTo(600, 50)\npyautogui.mouseUp(600, 50)",
            ["drag(0.400, 0.100, 0.600, 0.100)"],
        ),
        (
            "pyautogui.mouseDown(400, 50)\npyautogui.dragTo(600, 50)\npyautogui.click(700, 50)",
            ["drag(0.400, 0.100, 0.600, 0.100)", "click(0.700, 0.100)"],
        ),
        (
            "pyautogui.mouseDown(400, 50, button='left')\npyautogui.mouseUp(button='primary')",
            ["click(0.400, 0.100)"],
        ),
        ("pyautogui.click(400, 50, clicks=3)", ["triple_click(0.400, 0.100)"]),
        ("pyautogui.click(400, 50, 1, 0.1, 'middle', 0.2)", ["middle_click(0.400, 0.100)"]),
        (
            "pyautogui.click(400, 50, tween='x', _pause=False, logScreenshot=None)",
            ["click(0.400, 0.100)"],
        ),
        ("pyautogui.scroll(-3)", ['scroll(0.500, 0.500, "down", 3)']),
        ("pyautogui.scroll(3, x=400, y=50)", ['scroll(0.400, 0.100, "up", 3)']),
        ("pyautogui.hscroll(3)", ['scroll(0.500, 0.500, "right", 3)']),
        ("pyautogui.write('it\\'s (5)\\n', interval=0.1)", ['type("it\'s (5)\\n")']),
        ("pyautogui.write(content='x')", ['type("x")']),
        ("pyautogui.typewrite(text='x')", ['type("x")']),
        ("pyautogui.click（400，50）", ["click(0.400, 0.100)"]),
        ("pyautogui.write（'好，（a）'）", ['type("好，（a）")']),
        ("pyautogui.press('down', presses=2)", ['press("down")', 'press("down")']),
        ("pyautogui.press(['a', 'enter'])", ['press("a")', 'press("enter")']),
        ("pyautogui.hotkey('ctrl', 's')", ['press("ctrl+s")']),
        ("pyautogui.keyDown('ctrl')\npyautogui.keyUp('ctrl')", ['press("ctrl")']),
        (
            "pyautogui.keyDown('ctrl')\npyautogui.press('a')\npyautogui.keyUp('ctrl')",
            ['press("ctrl+a")'],
        ),
        (
            "pyautogui.keyDown('shift')\npyautogui.click(400, 50)\npyautogui.keyUp('shift')",
            ['click(0.400, 0.100, modifiers="shift")'],
        ),
        (
            "pyautogui.keyDown('shiftleft')\npyautogui.write('A')\npyautogui.keyUp('shiftleft')",
            ['type("A")'],
        ),
        ("pyautogui.press('winleft')", ['press("meta")']),
        ("pyautogui.hotkey('ctrlleft', 'altleft', 't')", ['press("ctrl+alt+t")']),
        ("pyautogui.hotkey('shiftright', 'winright', 'ctrlright')", ['press("shift+meta+ctrl")']),
        ("time.sleep(2)", ["wait(2)"]),
        ("computer.wait()", ["wait(5)"]),
        ("WAIT", ["wait(1)"]),
        ("DONE", ["done()"]),
        ("FAIL", ["fail()"]),
        ('computer.terminate(status="success")', ["done()"]),
        ('computer.terminate("success", answer="it did not fail")', ['answer("it did not fail")']),
        ('computer.terminate(status="failure", answer="no box")', ['fail("no box")']),
    ],
)
def test_code_is_read_as_the_actions_it_asks_for(code, actions):
    assert read(block(code)) == actions


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("pyautogui.keyDown('ctrl')", "unknown action 'key_down'"),
        ("pyautogui.mouseDown(400, 50)", "unknown action 'mouse_down'"),
        ("pyautogui.mouseUp()", "unknown action 'mouse_up'"),
        ("x = 400\npyautogui.click(x, 50)", "line 1 of the code is no call"),
        ("pyautogui.click(x, 50)", "click: its values must be numbers and texts in quotes"),
        ("pyautogui.click(x=400)", "click: None is no number"),
        ("pyautogui.click('400', '50')", "click: '400' is no number"),
        ("pyautogui.click(True, False)", "click: True is no number"),
        ("pyautogui.click(1, 2, 3, 4, 5, 6, 7)", "click takes 6 values, not 7"),
        ("pyautogui.locateOnScreen('a.png')", "pyautogui.locateOnScreen cannot be called here"),
        ("os.system('ls')", "os.system cannot be called here"),
        ("__import__('os').system('ls')", "line 1 of the code calls something unknown"),
        ("for _ in range(3):\n    pyautogui.click(4, 5)", "line 1 of the code is no call"),
        ("pyautogui.click(x=, y=5)", "is no code in Python"),
        ("pyautogui.write(5)", "write: 5 is no text"),
        ("pyautogui.write('a', text='b')", "write has two values called 'message'"),
        ("pyautogui.dragTo(button='left')", "dragTo without x and y"),
        ("computer.terminate()", "terminate with the status None"),
        ("pyautogui.press('down', presses=99)", "32 actions in one reply"),
        ("pyautogui.click(pos=(400, 50))", "click has no argument called 'pos'"),
        ("pyautogui.click(400, 50, speed=2)", "click has no argument called 'speed'"),
        ("pyautogui.press(key='enter')", "press has no argument called 'key'"),
        ("pyautogui.click(400, 50, button='back')", "click with the button 'back' cannot be done"),
        ("pyautogui.click(400, 50, button=[])", "click with the button \\[\\] cannot be done"),
        (
            "pyautogui.click(400, 50, clicks=2, button='right')",
            "2 clicks of the right button cannot be done",
        ),
        ("pyautogui.click(400, 50, clicks=5)", "5 clicks of the left button cannot be done"),
        ("pyautogui.click(400, 50, clicks='2')", "click: '2' is no number"),
        (
            "pyautogui.doubleClick(400, 50, button='right')",
            "doubleClick with the button 'right' cannot be done",
        ),
        (
            "pyautogui.dragTo(400, 50, button='right')",
            "dragTo with the button 'right' cannot be done",
        ),
        (
            "pyautogui.mouseDown(400, 50, button='right')\npyautogui.mouseUp(button='right')",
            "mouseDown with the button 'right' cannot be done",
        ),
        (
            "pyautogui.keyDown('ctrl')\npyautogui.write('a')\npyautogui.keyUp('ctrl')",
            "a text cannot be typed with ctrl held",
        ),
    ],
)
def test_code_that_does_something_else_is_no_action(code, problem):
    with pytest.raises(NoAction, match=problem.replace("(", r"\(").replace(".", r"\.")):
        read(block(code))


def test_the_last_block_counts_whatever_its_language():
    reply = f"{block('pyautogui.click(1, 2)')}\nor\n{block('pyautogui.click(400, 50)', 'Code')}"
    assert read(reply) == ["click(0.400, 0.100)"]


@pytest.mark.parametrize("language", ["", "python", "py", "python3", "Python", "code"])
def test_the_name_of_a_language_is_no_code(language):
    assert read(block("pyautogui.click(400, 50)", language)) == ["click(0.400, 0.100)"]
    assert read(f"```{language} pyautogui.click(400, 50)```") == ["click(0.400, 0.100)"]


def test_without_a_block_lines_that_are_calls_count():
    reply = "I click.\npyautogui.click(400, 50)\ncomputer.wait()"
    assert read(reply) == ["click(0.400, 0.100)", "wait(5)"]


@pytest.mark.parametrize("reply", ["", "I am done.", "Action: click(0.4, 0.1)", "```python\n```"])
def test_a_reply_without_code_has_no_action(reply):
    assert read(reply) is None


def test_code_in_thoughts_is_not_read():
    thoughts = f"<think>{block('pyautogui.click(1, 2)')}</think>"
    assert read(f"{thoughts}{block('pyautogui.click(400, 50)')}") == ["click(0.400, 0.100)"]


@pytest.mark.parametrize(
    ("frame", "x"),
    [("_fractions", 0.4), ("_per_mille", 400), ("_per_cent", 40), ("_pixels", 400)],
)
def test_points_are_read_in_the_frame_that_a_function_names(frame, x):
    code = block(f"pyautogui.click({x}, 0)")
    assert read(code, frame) == ["click(0.400, 0.000)"]


def test_a_parser_that_reads_more_is_named():
    replies = [block("pyautogui.click(0.4, 0.1)")] * 3
    assert dialects.better_parser(replies) == "benchmarks.actions.dialects.parse_pyautogui"

"""What L3 and L4 send to a server: whole bodies of the first turns of an episode."""

import json
from base64 import b64encode

import pytest

from models.api_qwen_agent import MOBILE_USE
from models.api_qwen_agent import SYSTEM as SYSTEM_OF_QWEN
from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model
from tests.support.stage import Stage, read_log_lines
from tests.support.standin import ENVIRONMENT

L3, L4 = "GUITaskAutomation", "GUITaskCollaboration"
GOAL = "Click the red box, then the green box."

SYSTEM = """You operate a computer to do a task. You get a screenshot, say what to do, and get the next one, with a note on an action where there is something to say about it.

Reply with a thought and with one action or up to 8, each on a line of its own:
Thought: what you see, what of it you will need later, and what to do next
Action: one of the actions below

click(x, y)    double_click(x, y)    triple_click(x, y)    right_click(x, y)    long_press(x, y)
move(x, y)
drag(x1, y1, x2, y2)
scroll(x, y, "down", 5)    # or "up", "left", "right"; 5 notches of the wheel
type("text")               # into what has the focus; "\\n" presses Enter
press("ctrl+a")            # one key, or several held together
wait(1)                    # seconds
back()    home()
open_app("Mail")
answer("text")             # the answer to a question; ends the task
done()                     # the task is completed; ends it
fail("why")                # the task cannot be completed; ends it

x and y are fractions of the width and height of the screenshot: 0.000 is its left or upper edge, 1.000 its right or lower edge. Keys are characters and ctrl, alt, shift, meta, enter, tab, escape, backspace, delete, insert, space, up, down, left, right, home, end, pageup, pagedown, f1 to f12.

Actions are done in order, up to the first that fails. You see the latest screenshots only, but all of your replies: what you will need later must stand in a thought."""

MOBILE = r"""You are a GUI agent. You are given a task and your action history, with screenshots. You need to perform the next action to complete the task. 
## Output Format
```
Thought: ...
Action: ...
```
## Action Space

click(point='<point>x1 y1</point>')
long_press(point='<point>x1 y1</point>')
type(content='') #If you want to submit your input, use "\n" at the end of `content`.
scroll(point='<point>x1 y1</point>', direction='down or up or right or left')
open_app(app_name='')
drag(start_point='<point>x1 y1</point>', end_point='<point>x2 y2</point>')
press_home()
press_back()
finished(content='xxx') # Use escape characters \', \", and \n in content part to ensure we can parse the content in normal python string format.
call_user() # End the task here if it cannot be completed.


## Note
- Use English in `Thought` part.
- Write a small plan and finally summarize your next action (with its target element) in one sentence in `Thought` part.

## User Instruction
Click the red box, then the green box.
"""  # noqa: W291 - the trailing blank is the authors', the call of call_user is ours
NO_ACTION = "No action could be read in this reply"


def text(words):
    return {"type": "text", "text": words}


def said(words):
    return {"role": "assistant", "content": [text(words)]}


def user(*parts):
    """What the user says: texts, and screens by their number."""
    image_parts = ({"type": "image_url", "image_url": {"url": part}} for part in parts)
    return {
        "role": "user",
        "content": [
            text(part) if isinstance(part, str) else image_part
            for part, image_part in zip(parts, image_parts, strict=True)
        ],
    }


# The third turn follows a reply without an action: the screen is that of the second one.
HOUSE = ("Action: click(0.2, 0.2)", "Let me think.", "Action: done()")
TASK = f"Task: {GOAL}"
DEFAULT = [
    [user(TASK, 1)],
    [user(TASK, 1), said(HOUSE[0]), user(2)],
    [user(TASK, 1), said(HOUSE[0]), user(2), said(HOUSE[1]), user(NO_ACTION, 2)],
]
CLICK = "Thought: a box.\nAction: click(point='<point>64 36</point>')"
UITARS_REPLIES = (CLICK, "Let me think.", "Thought: all done.\nAction: finished(content='')")
UITARS = [
    [user(MOBILE, 1)],
    [user(MOBILE, 1), said(CLICK), user(2)],
    [user(MOBILE, 1), said(CLICK), user(2), said("Let me think."), user(NO_ACTION, 2)],
]


def bodies_of(home, level, replies, parse_function="parse_uitars", **model):
    """Each request's body with the number of a screen in place of its bytes; the first ones."""
    replies_left = iter(replies)
    with MockServer(lambda request: Reply(next(replies_left))) as server:
        live = {"environment": ENVIRONMENT, "tasks": ["environment/two"], "max_steps": 9}
        if model:
            live["parse_function"] = f"benchmarks.actions.dialects.{parse_function}"
        stage = Stage(home, server, {"m": api_model(server.url, **model)}, {level: live})
        ran = stage.run()
    assert ran.code == 0, ran.output
    numbers = {}
    for request in ran.requests:
        numbers.setdefault(request.pictures[-1], len(numbers) + 1)
        for message in request.body["messages"]:
            for part in message["content"]:
                if part["type"] == "image_url":
                    part["image_url"]["url"] = numbers[part["image_url"]["url"]]
    seen_images = {
        step["image_path"]
        for record in read_log_lines(stage.folder() / f"m_{level}.jsonl")
        if record["kind"] == "episode"
        for step in record["returned"]["trajectory"]
    }
    files = [(stage.folder() / "screenshots" / name).read_bytes() for name in seen_images]
    assert set(numbers) == {
        f"data:image/png;base64,{b64encode(image_bytes).decode()}" for image_bytes in files
    }
    return [request.body for request in ran.requests]


SETTINGS = {"model": "mock", "max_tokens": 16, "temperature": 0}


@pytest.mark.parametrize("level", [L3, L4])
def test_the_default_prompt_of_three_turns(tmp_path, level):
    system = {"role": "system", "content": [text(SYSTEM)]}
    expected = [{**SETTINGS, "messages": [system, *turn]} for turn in DEFAULT]
    assert bodies_of(tmp_path, level, HOUSE) == expected


@pytest.mark.parametrize("level", [L3, L4])
def test_the_uitars_example_in_three_turns(tmp_path, level):
    expected = [{**SETTINGS, "messages": turn} for turn in UITARS]
    assert bodies_of(tmp_path, level, UITARS_REPLIES, **example(level)) == expected


def test_the_uitars_example_shows_five_screens_and_all_that_was_said(tmp_path):
    clicks = [CLICK.replace("64 36", point_text) for point_text in ("64 36", "160 36") * 4]
    replies = [*clicks[:7], UITARS_REPLIES[-1]]
    *_, last = bodies_of(tmp_path, L3, replies, **example(L3))
    spoken = [
        chat_message for chat_message in last["messages"] if chat_message["role"] == "assistant"
    ]
    assert spoken == [*map(said, clicks[:7])]
    assert last["messages"][:4] == [user(MOBILE), *map(said, clicks[:3])]
    shown_images = [
        part
        for message in last["messages"]
        for part in message["content"]
        if part["type"] == "image_url"
    ]
    assert len(shown_images) == 5


def example(level, name="uitars"):
    """What a config says of an example."""
    return {
        "custom_prompt": {level: f"models.api_{name}.build_agent_prompt"},
        "kwargs": {"system_prompt": "model_default"},
    }


def qwen_says(summary, **arguments):
    call = json.dumps({"name": "mobile_use", "arguments": arguments})
    return f"Action: {summary}\n<tool_call>\n{call}\n</tool_call>"


def test_the_qwen_example_in_three_turns(tmp_path):
    replies = [
        qwen_says("Tap the red box.", action="click", coordinate=[200, 200]),
        qwen_says("Wait.", action="wait", time=0),
        qwen_says("All done.", action="terminate", status="success"),
    ]
    system = {"role": "system", "content": [text(SYSTEM_OF_QWEN.format(tool=MOBILE_USE))]}
    task = f"Instruction: {GOAL}\n\nPrevious actions:\nNone"
    first = [user(task, 1), said(replies[0])]
    turns = [
        [user(task, 1)],
        [*first, user(2)],
        [*first, user(2), said(replies[1]), user("The screen is still the same.", 2)],
    ]
    bodies = bodies_of(
        tmp_path, L4, replies, "parse_computer_use_per_mille", **example(L4, "qwen_agent")
    )
    assert bodies == [{**SETTINGS, "messages": [system, *turn]} for turn in turns]


def test_the_qwen_example_repeats_four_turns_and_says_of_the_earlier_ones_what_was_done(tmp_path):
    places = [[200, 200], [500, 200]] * 3
    replies = [
        *(qwen_says(f"Tap {x}.", action="click", coordinate=[x, y]) for x, y in places),
        qwen_says("All done.", action="terminate", status="success"),
    ]
    *_, last = bodies_of(
        tmp_path, L4, replies, "parse_computer_use_per_mille", **example(L4, "qwen_agent")
    )
    _, task, *conversation = last["messages"]
    assert task["content"][0]["text"] == (
        f"Instruction: {GOAL}\n\nPrevious actions:\nStep 1: Tap 200.\nStep 2: Tap 500."
    )
    assert conversation[::2] == [said(reply) for reply in replies[2:6]]
    images = [part for message in last["messages"] for part in message["content"]]
    assert [part["type"] for part in images].count("image_url") == 5

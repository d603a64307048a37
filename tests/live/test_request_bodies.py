"""What L3 and L4 send to a server: whole bodies of the first turns of an episode."""

from base64 import b64encode

import pytest

from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model
from tests.support.stage import Stage, read_log_lines
from tests.support.standin import ENVIRONMENT

L3, L4 = "GUITaskAutomation", "GUITaskCollaboration"
GOAL = "Click the red box, then the green box."

SYSTEM = """You operate a computer. You are given a task and a screenshot of the screen as it is now, and you say what to do next. The next screenshot shows what came of it.

Reply with two lines:
Thought: what you see and what to do next, in one or two sentences.
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

x and y are fractions of the width and height of the screenshot: 0.000 is its left or upper edge, 1.000 its right or lower edge."""

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
    shown = ({"type": "image_url", "image_url": {"url": part}} for part in parts)
    return {
        "role": "user",
        "content": [
            text(part) if isinstance(part, str) else each
            for part, each in zip(parts, shown, strict=True)
        ],
    }


def now(step, *history):
    so_far = "".join(f"{line}\n" for line in history)
    return (
        f"Task: {GOAL}\n\n"
        + (f"Your actions so far:\n{so_far}\n" if history else "")
        + f"This is the screen now (step {step} of at most 9). What do you do next?"
    )


# The third turn follows a reply without an action: the screen is that of the second one.
HOUSE = ("Action: click(0.2, 0.2)", "Let me think.", "Action: done()")
DEFAULT = [
    [user(1, now(1))],
    [user(2, now(2, "1. click(0.200, 0.200)"))],
    [user(2, now(3, "1. click(0.200, 0.200)", f"2. (no action) - {NO_ACTION}"))],
]
CLICK = "Thought: a box.\nAction: click(point='<point>64 36</point>')"
UITARS_REPLIES = (CLICK, "Let me think.", "Thought: all done.\nAction: finished(content='')")
UITARS = [
    [user(MOBILE, 1)],
    [user(MOBILE, 1), said(CLICK), user(2)],
    [user(MOBILE, 1), said(CLICK), user(2), said("Let me think."), user(NO_ACTION, 2)],
]


def bodies_of(home, level, replies, **model):
    """Each request's body with the number of a screen in place of its bytes; the first ones."""
    left = iter(replies)
    with MockServer(lambda request: Reply(next(left))) as server:
        live = {"environment": ENVIRONMENT, "tasks": ["environment/two"], "max_steps": 9}
        if model:
            live["parse_function"] = "benchmarks.worlds.dialects.parse_uitars"
        made = Stage(home, server, {"m": api_model(server.url, **model)}, {level: live})
        ran = made.run()
    assert ran.code == 0, ran.output
    numbers = {}
    for request in ran.requests:
        numbers.setdefault(request.pictures[-1], len(numbers) + 1)
        for message in request.body["messages"]:
            for part in message["content"]:
                if part["type"] == "image_url":
                    part["image_url"]["url"] = numbers[part["image_url"]["url"]]
    seen = {
        step["image_path"]
        for record in read_log_lines(made.folder() / f"m_{level}.jsonl")
        if record["kind"] == "episode"
        for step in record["returned"]["trajectory"]
    }
    files = [(made.folder() / "screenshots" / name).read_bytes() for name in seen]
    assert set(numbers) == {f"data:image/png;base64,{b64encode(each).decode()}" for each in files}
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
    clicks = [CLICK.replace("64 36", place) for place in ("64 36", "160 36") * 4]
    replies = [*clicks[:7], UITARS_REPLIES[-1]]
    *_, last = bodies_of(tmp_path, L3, replies, **example(L3))
    spoken = [each for each in last["messages"] if each["role"] == "assistant"]
    assert spoken == [*map(said, clicks[:7])]
    assert last["messages"][:4] == [user(MOBILE), *map(said, clicks[:3])]
    shown = [
        part
        for message in last["messages"]
        for part in message["content"]
        if part["type"] == "image_url"
    ]
    assert len(shown) == 5


def example(level):
    """What a config says of the example."""
    return {
        "custom_prompt": {level: "models.api_uitars.build_agent_prompt"},
        "kwargs": {"system_prompt": "model_default"},
    }

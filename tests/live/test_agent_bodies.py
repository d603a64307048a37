"""What the authors' agents of 2026 send in three turns of an episode: whole bodies, written by hand."""

import json

import pytest

from models.recipes.agents import evocua, fara_1_5, fara_7b, kimi, qwen3_5, ui_venus_2
from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model
from tests.support.stage import Stage
from tests.support.standin import ENVIRONMENT

L3 = "GUITaskAutomation"
GOAL = "Click the red box, then the green box."
UNREAD = "Let me think."
NO_ACTION = "No action could be read in this reply"
WH = [320, 180]


def text(words):
    return {"type": "text", "text": words}


def turn(role, *parts):
    """A message: texts, and screens by their number."""
    return {
        "role": role,
        "content": [
            text(part)
            if isinstance(part, str)
            else {"type": "image_url", "image_url": {"url": part}}
            for part in parts
        ],
    }


def user(*parts):
    return turn("user", *parts)


def said(words):
    return turn("assistant", words)


def system(words):
    return turn("system", words)


def bodies_of(home, replies, **model):
    """Each request's body with the number of a screen in place of its bytes."""
    replies_left = iter(replies)
    with MockServer(lambda request: Reply(next(replies_left))) as server:
        live = {"environment": ENVIRONMENT, "tasks": ["environment/two"], "max_steps": 9}
        entry = {"model_path": api_model(server.url)["model_path"], **model}
        stage = Stage(home, server, {"m": entry}, {L3: live})
        ran = stage.run("--retry", "0")
    assert ran.code == 0, ran.output
    numbers = {}
    for request in ran.requests:
        numbers.setdefault(request.pictures[-1], len(numbers) + 1)
        for message in request.body["messages"]:
            for part in message["content"]:
                if part["type"] == "image_url":
                    part["image_url"]["url"] = numbers[part["image_url"]["url"]]
    returned = [json.loads(line) for line in (stage.folder() / f"m_{L3}.jsonl").open()]
    [episode] = [record for record in returned if record["kind"] == "episode"]
    return [request.body for request in ran.requests], episode["returned"]


def of_agent(agent):
    """What a config says of an agent that no recipe has yet."""
    return {
        "custom_prompt": {L3: agent.prompt},
        "parse_function": {L3: agent.parse},
        "generate_cfg": dict(agent.generate_cfg),
        "kwargs": {"system_prompt": "model_default"},
    }


# -- the replies of each, and what is sent before them --------------------------------------------


def xml(action, **arguments):
    values = {"action": action, **arguments}
    parameters = "".join(
        f"<parameter={name}>\n{value}\n</parameter>\n" for name, value in values.items()
    )
    return f"<tool_call>\n<function=computer_use>\n{parameters}</function>\n</tool_call>"


def call(action, **arguments):
    arguments = {"action": action, **arguments}
    written = json.dumps({"name": "computer_use", "arguments": arguments})
    return f"<tool_call>\n{written}\n</tool_call>"


def code(action, words, language="python"):
    return f"## Action:\n{action}\n## Code:\n```{language}\n{words}\n```"


NEXT_MOVE = f"""
Please generate the next move according to the UI screenshot, instruction and previous actions.

Instruction: {GOAL}

Previous actions:
None"""
NEXT_STEP = f"""# Task Instruction:
{GOAL}

Please generate the next move according to the screenshot, task instruction and previous steps (if provided).
"""
NEXT_SCREEN = "Here is the next screenshot. Think about what to do next."


def qwen3_5_turns():
    click = f"Action: Click red.\n{xml('left_click', coordinate=[200, 200])}"
    replies = [click, UNREAD, xml("terminate", status="success")]
    first = [
        system(qwen3_5.SYSTEM.replace("{date}", "Monday, March 09, 2026")),
        user(1, NEXT_MOVE),
    ]
    second = [*first, said(click), user("<tool_response>\n", 2, "\n</tool_response>")]
    told = user("<tool_response>\n", f"{NO_ACTION}\n", 2, "\n</tool_response>")
    settings = {"temperature": 0, "top_p": 0.9, "max_tokens": 32768}
    return (
        of_agent(qwen3_5.AGENT),
        replies,
        settings,
        [first, second, [*second, said(UNREAD), told]],
    )


def ui_venus_2_turns():
    click = "<think>\nred\n</think>\n<action> Click(box=(200, 200)) </action>"
    replies = [click, UNREAD, "<action>Finished(content='')</action>"]
    accepted = said("<think>red</think>\n<action>Click(box=(200, 200))</action>")
    task = ui_venus_2.SYSTEM.replace("{sudo_password}", "password").replace("{user_task}", GOAL)
    now, earlier = "Current Screenshot:\n", "History Screenshot:\n"
    second = [system(task), user(earlier, 1), accepted, user(now, 2)]
    third = [*second[:3], user(earlier, 2), said(UNREAD), user(f"{NO_ACTION}\n", now, 2)]
    settings = {"temperature": 0, "top_p": 0.7, "max_tokens": 4096}
    turns = [[system(task), user(now, 1)], second, third]
    return of_agent(ui_venus_2.AGENT), replies, settings, turns


def evocua_turns():
    click = f"Action: Click red.\n{call('left_click', coordinate=[200, 200])}"
    replies = [click, UNREAD, call("terminate", status="success")]
    first = [system(evocua.S2), user(1, NEXT_MOVE)]
    second = [*first, said(click), user(2)]
    third = [*second, said(UNREAD), user(NO_ACTION, 2)]
    settings = {"temperature": 0.01, "top_p": 0.9, "max_tokens": 32768}
    return {"recipe": "evocua"}, replies, settings, [first, second, third]


def evocua_s1_turns():
    click = f"# Step: 1\n## Thought:\nred\n{code('Click red.', 'pyautogui.click(x=62, y=34)')}"
    replies = [click, UNREAD, code("End.", 'computer.terminate(status="success")', "code")]
    task = system(evocua.S1.replace("{password}", "osworld-public-evaluation"))
    told = said("# Step 1:\n## Action:\nClick red.\n")
    nothing = said("# Step 2:\n## Action:\n\n")
    second = [task, user(1), told, user(2, NEXT_STEP)]
    third = [task, user(1), told, user(2), nothing, user(NO_ACTION, 2, NEXT_STEP)]
    settings = {"temperature": 0.01, "top_p": 0.9, "max_tokens": 32768}
    return {"recipe": "evocua_s1"}, replies, settings, [[task, user(1, NEXT_STEP)], second, third]


def fara_7b_turns():
    click = f"Red is first.\n{call('left_click', coordinate=[62, 34])}"
    replies = [click, UNREAD, call("terminate", status="success")]
    first = [system(fara_7b.SYSTEM.replace("{W}x{H}", "308x168")), user(1, GOAL)]
    second = [*first, said(click), user(2, NEXT_SCREEN)]
    third = [*second, said(UNREAD), user(2, f"{NO_ACTION}\n{NEXT_SCREEN}")]
    return {"recipe": "fara_7b"}, replies, {"temperature": 0}, [first, second, third]


def fara_1_5_turns():
    click = f"Red is first.\n{call('left_click', coordinate=[200, 200])}"
    replies = [click, UNREAD, call("terminate", answer="")]
    first = [system(fara_1_5.SYSTEM), user(1, GOAL)]
    second = [*first, said(click), user(2, NEXT_SCREEN)]
    third = [*second, said(UNREAD), user(2, f"{NO_ACTION}\n{NEXT_SCREEN}")]
    return {"recipe": "fara_1_5"}, replies, {"temperature": 0}, [first, second, third]


def kimi_turns():
    click = code("Click red.", "pyautogui.click(x=0.2, y=0.2)")
    replies = [click, UNREAD, code("End.", 'computer.terminate(status="success")', "code")]
    task = system(kimi.THINKING.replace("{password}", ""))
    told = said("# Step 1:\n◁think▷◁/think▷## Action:\nClick red.\n")
    second = [task, user(1), told, user(2, NEXT_STEP)]
    third = [task, user(1), told, user(2), said(f"# Step 2:\n{UNREAD}")]
    third.append(user(NO_ACTION, 2, NEXT_STEP))
    settings = {"temperature": 1, "top_p": 0.95, "max_tokens": 4096}
    return {"recipe": "kimi_k2_5"}, replies, settings, [[task, user(1, NEXT_STEP)], second, third]


TURNS = {
    "qwen3_5": qwen3_5_turns,
    "ui_venus_2": ui_venus_2_turns,
    "evocua": evocua_turns,
    "evocua_s1": evocua_s1_turns,
    "fara_7b": fara_7b_turns,
    "fara_1_5": fara_1_5_turns,
    "kimi": kimi_turns,
}


@pytest.mark.parametrize("name", TURNS)
def test_an_agent_sends_three_turns_as_its_authors_code_does(tmp_path, name):
    model, replies, settings, turns = TURNS[name]()
    bodies, episode = bodies_of(tmp_path, replies, **model)
    assert [body.pop("messages") for body in bodies] == turns
    assert bodies == [{"model": "mock", **settings}] * 3
    clicks = [step["actions"] for step in episode["trajectory"]]
    assert [action["kind"] for action in clicks[0]] == ["click"]
    assert clicks[0][0]["point"] == pytest.approx((0.2, 0.2), abs=0.01)
    assert (clicks[1], episode["ended"]) == ([], "done")

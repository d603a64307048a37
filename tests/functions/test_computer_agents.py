"""The authors' agents of 2026: histories that are longer than what they show, and their replies."""

import json

import pytest

from benchmarks.actions.action import NoAction
from benchmarks.actions.reading import read_actions
from models.recipes.agents import evocua, fara_1_5, fara_7b, gemini, kimi, qwen3_5, ui_venus_2
from tests.functions.test_recipe_agents import L3, line, sketch, step

WH = (1000, 500)
META = {"image_size": "[1000, 500]", "file_size": "[1000, 500]", "platform": "os_web"}


def images(messages):
    return [text for _, text in sketch(messages) if text.startswith("[") and text.endswith(".png]")]


# -- histories ------------------------------------------------------------------------------------


def test_qwen3_5_collapses_the_oldest_of_more_than_twenty_screenshots():
    history = [step(number, f"Action: {number}.") for number in range(21)]
    _, *turns = sketch(qwen3_5.build_agent_prompt(line(*history), L3))
    assert turns[0][1].endswith("Instruction: Open the mail\n\nPrevious actions:\nNone")
    assert turns[1] == ("assistant", "Action: 0.")
    collapsed = "<tool_response>\nThis screenshot has been collapsed.\n</tool_response>"
    assert turns[2] == ("user", collapsed)
    image_names = images(qwen3_5.build_agent_prompt(line(*history), L3))
    assert image_names == [*(f"[{number}.png]" for number in range(2, 21)), "[/now.png]"]


def test_qwen3_5_has_a_line_for_steps_before_the_last_hundred():
    history = [step(number, f"Action: do {number}.") for number in range(102)]
    _, (_, task), *turns = sketch(qwen3_5.build_agent_prompt(line(*history), L3))
    assert task.endswith("Previous actions:\nStep 1: do 0.\nStep 2: do 1.")
    assert turns[0] == ("assistant", "Action: do 2.")


def test_what_came_of_an_action_is_told_within_qwens_answer_of_the_tool():
    history = [step(0, "a", "There is no application Mail")]
    *_, opening, note, screen, closing = sketch(qwen3_5.build_agent_prompt(line(*history), L3))
    assert [opening[1], closing[1]] == ["<tool_response>\n", "\n</tool_response>"]
    assert (note[1], screen[1]) == ("There is no application Mail\n", "[/now.png]")


def test_ui_venus_2_sees_three_screenshots_and_empty_turns_before_them():
    history = [step(number, f"<action>Wait()</action>{number}") for number in range(4)]
    _, *turns = sketch(ui_venus_2.build_agent_prompt(line(*history), L3))
    accepted = ("assistant", "<action>Wait()</action>")
    assert turns[:4] == [("user", ""), accepted, ("user", ""), accepted]
    assert turns[4:6] == [("user", "History Screenshot:\n"), ("user", "[2.png]")]
    assert turns[-2:] == [("user", "Current Screenshot:\n"), ("user", "[/now.png]")]


def test_evocua_has_four_turns_and_a_line_for_older_steps_with_the_task_in_the_first():
    history = [step(number, f"Action: do {number}.\n<tool_call>") for number in range(5)]
    _, first, task, *turns = sketch(evocua.build_agent_prompt(line(*history), L3))
    assert first == ("user", "[1.png]")
    assert task[1].endswith("Previous actions:\nStep 1: do 0.")
    assert [text for role, text in turns if role == "user"] == [
        "[2.png]",
        "[3.png]",
        "[4.png]",
        "[/now.png]",
    ]


def test_evocua_names_the_actions_that_were_read_where_a_reply_has_no_words_for_them():
    silent = {**step(0, "<tool_call>"), "actions": ["click(0.1, 0.2)", "wait(1)"]}
    history = [silent, *(step(number, "") for number in range(1, 5))]
    (_, task), *_ = sketch(evocua.build_agent_prompt(line(*history), L3))[2:]
    assert task.endswith("Step 1: click(0.1, 0.2); wait(1)")


@pytest.mark.parametrize(
    ("build", "image_count", "step_text"),
    [
        (evocua.build_agent_prompt_s1, 4, "# Step {}:\n## Action:\nDo {}.\n"),
        (kimi.build_agent_prompt, 3, "# Step {}:\n◁think▷I see {}.◁/think▷## Action:\nDo {}.\n"),
        (
            kimi.build_agent_prompt_non_thinking,
            3,
            "# Step {}:\n## Thought:\nso {}\n\n## Action:\nDo {}.\n",
        ),
    ],
)
def test_steps_without_a_screenshot_are_one_message_of_the_assistant(build, image_count, step_text):
    history = [
        {
            **step(n, f"## Thought\nso {n}\n## Action:\nDo {n}.\n## Code:\n```code\nx\n```"),
            "message": {"reasoning_content": f"I see {n}."},
        }
        for n in range(5)
    ]
    messages = build(line(*history), L3)
    steps = [
        step_text.format(number + 1, *[number] * (step_text.count("{}") - 1)) for number in range(5)
    ]
    old = 6 - image_count
    assert sketch(messages)[1] == ("assistant", "\n".join(steps[:old]))
    replies = [text for role, text in sketch(messages)[2:] if role == "assistant"]
    assert replies == steps[old:]
    assert images(messages) == [*(f"[{n}.png]" for n in range(old, 5)), "[/now.png]"]


def test_kimis_thoughts_are_those_that_the_server_has_set_apart():
    replied = {**step(0, "## Action:\nGo."), "message": {"reasoning": " because "}}
    messages = sketch(kimi.build_agent_prompt(line(replied), L3))
    assert messages[2] == ("assistant", "# Step 1:\n◁think▷because◁/think▷## Action:\nGo.\n")


@pytest.mark.parametrize("agent", [fara_7b, fara_1_5])
def test_fara_keeps_the_task_all_replies_and_three_screenshots(agent):
    history = [step(number, f"reply {number}") for number in range(4)]
    line_now = {**line(*history), "image_size": [1000, 500]}
    messages = agent.build_agent_prompt(line_now, L3)
    later = ("user", "Here is the next screenshot. Think about what to do next.")
    assert sketch(messages)[1:] == [
        ("user", "Open the mail"),
        ("assistant", "reply 0"),
        ("assistant", "reply 1"),
        ("user", "[2.png]"),
        later,
        ("assistant", "reply 2"),
        ("user", "[3.png]"),
        later,
        ("assistant", "reply 3"),
        ("user", "[/now.png]"),
        later,
    ]
    assert [message.get("turn") for message in messages[2:4]] == [None, "new"]


def test_fara_7b_names_the_size_to_which_its_image_is_resized():
    system, *_ = sketch(
        fara_7b.build_agent_prompt({**line(), "image_size": [1366, 768]}, L3, min_pixels=3136)
    )
    assert "The screen's resolution is 1372x756." in system[1]


# -- replies --------------------------------------------------------------------------------------


def venus(action):
    return f"<think> x </think>\n<action> {action} </action>"


def xml(**arguments):
    parameters = "".join(
        f"<parameter={name}>\n{arguments[name]}\n</parameter>\n" for name in arguments
    )
    return f"<tool_call>\n<function=computer_use>\n{parameters}</function>\n</tool_call>"


def call(**arguments):
    written = json.dumps({"name": "computer_use", "arguments": arguments})
    return f"Here.\n<tool_call>\n{written}\n</tool_call>"


def code(words):
    return f"## Action:\nDo.\n## Code:\n```python\n{words}\n```"


def tool(name, **args):
    return json.dumps({"name": name, "args": args})


@pytest.mark.parametrize(
    ("parse", "reply", "actions"),
    [
        (ui_venus_2.parse_actions, venus("Click(box=(999, 0))"), ["click(0.999, 0.000)"]),
        (ui_venus_2.parse_actions, venus("RightClick()"), ["right_click(0.500, 0.500)"]),
        (
            ui_venus_2.parse_actions,
            venus("Drag(end=(500, 0), start=(0, 0))"),
            ["drag(0.000, 0.000, 0.500, 0.000)"],
        ),
        (
            ui_venus_2.parse_actions,
            venus("Swipe(amount=-5, axis='vertical')"),
            ['scroll(0.500, 0.500, "down", 5)'],
        ),
        (
            ui_venus_2.parse_actions,
            venus("Swipe(amount=5, axis='horizontal')"),
            ['scroll(0.500, 0.500, "right", 5)'],
        ),
        (
            ui_venus_2.parse_actions,
            venus("Hotkey(keys=['down'], repeat=2)"),
            ['press("down")', 'press("down")'],
        ),
        (
            ui_venus_2.parse_actions,
            venus("Sequence(actions=[TripleClick(box=(0, 0)), Type(content='a\\n')])"),
            ["triple_click(0.000, 0.000)", 'type("a\\n")'],
        ),
        (
            ui_venus_2.parse_actions,
            venus(
                "Sequence(actions=[KeyDown(keys=['shift']), Click(box=(0, 0)), KeyUp(keys=['shift'])])"
            ),
            ['click(0.000, 0.000, modifiers="shift")'],
        ),
        (ui_venus_2.parse_actions, venus("CallUser(content='no box')"), ['fail("no box")']),
        (ui_venus_2.parse_actions, venus("Finished(content='7')"), ['answer("7")']),
        (ui_venus_2.parse_actions, venus("Finished()"), ["done()"]),
        (ui_venus_2.parse_actions, f"{venus('Wait()')}</action>", ["wait(1)"]),
        (ui_venus_2.parse_actions, venus("Wait()") * 2, None),
        (ui_venus_2.parse_actions, "</action>Wait()", None),
        (ui_venus_2.parse_actions, venus("Sequence(actions=[Wait(), Finished(), Wait()])"), None),
        (ui_venus_2.parse_actions, venus("Click(box=[5, 5])"), None),
        (ui_venus_2.parse_actions, venus("Click(box=(5, 5), note='x')"), None),
        (
            qwen3_5.parse_actions,
            xml(action="left_click", coordinate=[999, 0]),
            ["click(1.000, 0.000)"],
        ),
        (
            qwen3_5.parse_actions,
            xml(action="left_click", coordinate=[0, 0], text="ctrl+shift"),
            ['click(0.000, 0.000, modifiers="ctrl+shift")'],
        ),
        (
            qwen3_5.parse_actions,
            xml(action="left_click", coordinate=[0, 0], text="OK"),
            ["click(0.000, 0.000)"],
        ),
        (qwen3_5.parse_actions, xml(action="key", keys='["ctrl", "s"]'), ['press("ctrl+s")']),
        (qwen3_5.parse_actions, xml(action="key", keys="ctrl+s"), ['press("ctrl+s")']),
        (qwen3_5.parse_actions, xml(action="type", text="[1] a\nb"), ['type("[1] a\\nb")']),
        (
            qwen3_5.parse_actions,
            xml(action="hscroll", pixels=-3),
            ['scroll(0.500, 0.500, "down", 3)'],
        ),
        (
            qwen3_5.parse_actions,
            xml(action="left_click_drag", coordinate=[0, 0]),
            ["drag(0.500, 0.500, 0.000, 0.000)"],
        ),
        (qwen3_5.parse_actions, xml(action="wait", time=2), ["wait(2)"]),
        (qwen3_5.parse_actions, xml(action="answer", text="7"), ['answer("7")']),
        (qwen3_5.parse_actions, xml(action="terminate", status="failure"), ["fail()"]),
        (qwen3_5.parse_actions, xml(action="terminate", status="success"), ["done()"]),
        (qwen3_5.parse_actions, "I am done.", None),
        (
            evocua.parse_actions,
            call(action="left_click", coordinate=[999, 0]),
            ["click(1.000, 0.000)"],
        ),
        (
            evocua.parse_actions,
            "\n".join(
                [
                    call(action="key_down", keys=["ctrl"]),
                    call(action="left_click", coordinate=[0, 0]),
                    call(action="key_up", keys=["ctrl"]),
                ]
            ),
            ['click(0.000, 0.000, modifiers="ctrl")'],
        ),
        (evocua.parse_actions, call(action="type", text="a\\nb"), ['type("a\\nb")']),
        (evocua.parse_actions, call(action="type", text="é"), ['type("é")']),
        (
            evocua.parse_actions,
            call(action="key", keys=["keys=['ctrl", "a']"]),
            ['press("ctrl+a")'],
        ),
        (
            evocua.parse_actions,
            call(action="scroll", pixels=-3),
            ['scroll(0.500, 0.500, "down", 3)'],
        ),
        (evocua.parse_actions, call(action="answer", text="7"), ['answer("7")']),
        (evocua.parse_actions, call(action="terminate", status="failure"), ["fail()"]),
        (evocua.parse_actions, call(action="terminate"), ["done()"]),
        (evocua.parse_actions_s1, code("pyautogui.write('ab')"), ['type("ab")']),
        (evocua.parse_actions_s1, "pyautogui.click(1, 2)", None),
        (
            fara_7b.parse_actions,
            call(action="type", coordinate=[504, 252], text="a", delete_existing_text=True),
            ["click(0.500, 0.500)", 'press("ctrl+a")', 'press("backspace")', 'type("a\\n")'],
        ),
        (fara_7b.parse_actions, call(action="type", text="a", press_enter=False), ['type("a")']),
        (
            fara_7b.parse_actions,
            call(action="scroll", pixels=9),
            ['scroll(0.500, 0.500, "up", 8.5)'],
        ),
        (fara_7b.parse_actions, call(action="key", keys=["Control", "a"]), ['press("ctrl+a")']),
        (fara_7b.parse_actions, call(action="visit_url", url="a.b"), ['open_app("a.b")']),
        (fara_7b.parse_actions, call(action="history_back"), ["back()"]),
        (fara_7b.parse_actions, call(action="pause_and_memorize_fact", fact="7"), ["wait(0)"]),
        (fara_7b.parse_actions, call(action="terminate", status="success"), ['answer("Here.")']),
        (fara_7b.parse_actions, call(action="terminate", status="failure"), ['fail("Here.")']),
        (
            fara_1_5.parse_actions,
            call(action="scroll", pixels=-400),
            ['scroll(0.500, 0.500, "down", 2)'],
        ),
        (
            fara_1_5.parse_actions,
            call(action="hscroll", pixels=200),
            ['scroll(0.500, 0.500, "right", 2)'],
        ),
        (
            fara_1_5.parse_actions,
            call(action="left_click_drag", coordinate=[0, 0]),
            ["drag(0.500, 0.500, 0.000, 0.000)"],
        ),
        (fara_1_5.parse_actions, call(action="type", text="a"), ['type("a")']),
        (fara_1_5.parse_actions, call(action="terminate", answer="7"), ['answer("7")']),
        (fara_1_5.parse_actions, call(action="terminate", answer=""), ["done()"]),
        (fara_1_5.parse_actions, call(action="ask_user_question", question="?"), ['fail("?")']),
        (kimi.parse_actions, code("pyautogui.click(x=0.5, y=0.5)"), ["click(0.500, 0.500)"]),
        (kimi.parse_actions, code("pyautogui.click(x=500, y=250)"), ["click(0.500, 0.500)"]),
        (kimi.parse_actions, "```python\npyautogui.click(0.5, 0.5)\n```", None),
        (
            kimi.parse_actions,
            '```code\ncomputer.terminate(status="success", answer="it did not fail")\n```',
            ['answer("it did not fail")'],
        ),
        (
            kimi.parse_actions_non_thinking,
            f"```python\nx\n```\n{code('computer.wait()')}",
            ["wait(5)"],
        ),
        (
            kimi.parse_actions,
            code('{"name": "computer.terminate", "arguments": {"status": "failure"}}'),
            ["fail()"],
        ),
        (
            evocua.parse_actions_s1,
            code('{"name": "computer.terminate", "arguments": {"status": "success"}}'),
            ["done()"],
        ),
        (kimi.parse_actions, code('{"name": "computer.wait", "arguments": {}}'), ["wait(1)"]),
        (fara_7b.parse_actions, call(action="reload"), ['press("f5")']),
        (gemini.parse_actions, tool("scroll", direction="up"), ['scroll(0.500, 0.500, "up", 4)']),
        (gemini.parse_actions, tool("wait", seconds=2), ["wait(2)"]),
        (gemini.parse_actions, tool("take_screenshot"), ["wait(0)"]),
        (gemini.parse_actions, tool("search"), None),
        (gemini.parse_actions, tool("click", x=500, y=0), ["click(0.500, 0.000)"]),
        (gemini.parse_actions, tool("type", text="a", press_enter=True), ['type("a\\n")']),
        (gemini.parse_actions, tool("hotkey", keys="ctrl+a"), ['press("ctrl+a")']),
        (gemini.parse_actions, tool("press_key", key="Enter"), ['press("enter")']),
        (gemini.parse_actions, tool("navigate", url="a.b"), ['open_app("a.b")']),
        (gemini.parse_actions, tool("go_back"), ["back()"]),
        (
            gemini.parse_actions,
            tool("drag_and_drop", x=0, y=0, destination_x=500, destination_y=0),
            ["drag(0.000, 0.000, 0.500, 0.000)"],
        ),
        (gemini.parse_actions, tool("click_at", x=500, y=0), None),
        (gemini.parse_actions, "Done.", ['answer("Done.")']),
        (gemini.parse_actions, "INFEASIBLE: no box", ['fail("no box")']),
        (
            gemini.parse_actions_legacy,
            tool("type_text_at", x=500, y=0, text="a", press_enter=True),
            [
                "click(0.500, 0.000)",
                'press("ctrl+a")',
                'press("backspace")',
                'type("a\\n")',
            ],
        ),
        (
            gemini.parse_actions_legacy,
            tool("scroll_at", x=500, y=0, direction="up"),
            ['scroll(0.500, 0.000, "up", 4)'],
        ),
        (
            gemini.parse_actions_legacy,
            tool("key_combination", keys="Control+A"),
            ['press("ctrl+a")'],
        ),
    ],
)
def test_a_reply_is_read_in_the_words_of_its_agent(parse, reply, actions):
    parsed = parse(reply, META)
    if actions is None:
        assert parsed is None
    else:
        read = read_actions(parsed, WH, pointer=(0.5, 0.5))
        assert [str(action) for action in read] == actions


@pytest.mark.parametrize(
    ("parse", "reply", "name"),
    [
        (ui_venus_2.parse_actions, venus("MouseDown()"), "mouse_down"),
        (ui_venus_2.parse_actions, venus("KeyDown(keys=['ctrl'])"), "key_down"),
        (evocua.parse_actions, call(action="key_down", keys=["ctrl"]), "key_down"),
        (fara_7b.parse_actions, call(action="web_search", query="x"), "web_search"),
        (
            fara_1_5.parse_actions,
            call(action="read_page_answer_question", question="?"),
            "read_page_answer_question",
        ),
        (gemini.parse_actions, tool("mouse_down", x=5, y=5), "mouse_down"),
        (gemini.parse_actions, tool("go_forward"), "go_forward"),
        (gemini.parse_actions, tool("key_down", key="shift"), "key_down"),
        (gemini.parse_actions_legacy, tool("search"), "search"),
    ],
)
def test_what_no_world_can_do_is_named_in_the_note(parse, reply, name):
    with pytest.raises(NoAction, match=f"unknown action '{name}'"):
        read_actions(parse(reply, META), WH)


def test_whole_pixels_are_clicked_where_the_authors_code_clicks_them():
    meta = {"image_size": "[1366, 768]"}
    [click] = qwen3_5.parse_actions(xml(action="left_click", coordinate=[500, 500]), meta)
    assert (click["point"][0] * 1366, click["point"][1] * 768) == pytest.approx((683, 384))
    [click] = ui_venus_2.parse_actions(venus("Click(box=(999, 999))"), meta)
    assert (click["point"][0] * 1366, click["point"][1] * 768) == pytest.approx((1365, 767))
    [click] = evocua.parse_actions(call(action="left_click", coordinate=[1000, 500]), meta)
    assert click["point"] == pytest.approx((1367, 384))  # beyond the edge: in pixels

"""The authors' own agents, which recipes name for L3 and L4: prompts, histories, replies."""

import json
import re

import pytest

from benchmarks.actions.reading import read_actions
from models.recipes import all_recipes
from models.recipes.agents import (
    agentcpm,
    evocua,
    fara_1_5,
    fara_7b,
    gui_owl,
    kimi,
    mai_ui,
    qwen3_5,
    step_gui,
    ui_tars,
    ui_venus,
    ui_venus_2,
)
from tests.support.mock_server import Reply
from tests.support.runs import PROJECT
from tests.support.stage import KEY
from tests.support.standin import ENVIRONMENT
from utils.import_utils import resolve

PROMPTS = PROJECT.parent / "shared" / "models" / "AGENT_PROMPTS.md"
PROMPTS_2026 = PROMPTS.with_name("PROMPTS_2026.json")
BLOCK = re.compile(r"^## ([^\n]*)\n\n(`{3,4})text\n(.*?)\n\2$", re.MULTILINE | re.DOTALL)
AGENTS = [name for name, recipe in all_recipes().items() if recipe.agent]
L3 = "GUITaskAutomation"


def step(number, reply, note=""):
    return {"image_path": f"{number}.png", "reply": reply, "actions": [], "notes": [], "note": note}


def line(*history, platform="os_web"):
    state = {"instruction": "Open the mail", "platform": platform, "image_path": "/now.png"}
    return {**state, "history": list(history)}


def sketch(messages):
    """Role and text of each message, an image as its path in brackets."""
    return [
        (m["role"], f"[{m['value']}]" if m["type"] == "image" else m["value"]) for m in messages
    ]


@pytest.mark.skipif(not PROMPTS.is_file(), reason="the authors' prompts are not beside the project")
@pytest.mark.parametrize(
    ("heading", "text"),
    [
        ("prompt.py: COMPUTER_USE_DOUBAO", ui_tars.COMPUTER),
        ("prompt.py: MOBILE_USE_DOUBAO", ui_tars.PHONE),
        ("prompt.py: MAI_MOBILE_SYS_PROMPT", mai_ui.SYSTEM),
        ("utils.py: WEB_USER_PROMPT", ui_venus.COMPUTER),
        ("navigation/utils.py: MOBILE_USER_PROMPT", ui_venus.PHONE),
        ("task_define_prompt", step_gui.TASK),
        ("mobile_use/utils.py: SYSTEM_PROMPT", gui_owl.PHONE),
        ("computer_use/utils.py: SYSTEM_PROMPT", gui_owl.COMPUTER),
        ("comes first in text A", f"{step_gui.BEFORE_IMAGE}<image>{step_gui.AFTER_IMAGE}"),
    ],
)
def test_a_prompt_is_the_authors_to_the_byte(heading, text):
    blocks = {match[1]: match[3] for match in BLOCK.finditer(PROMPTS.read_text("utf-8"))}
    [published] = [block for name, block in blocks.items() if name.endswith(heading)]
    assert text.removesuffix("\n") == published


@pytest.mark.skipif(
    not PROMPTS_2026.is_file(), reason="the authors' prompts are not beside the project"
)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ui_venus_2_computer_system", ui_venus_2.SYSTEM),
        ("qwen3_5_osworld_system", qwen3_5.SYSTEM),
        ("osworld_next_move_user", qwen3_5.TASK),
        ("osworld_next_move_user", evocua.S2_TASK),
        ("evocua_s2_system", evocua.S2),
        ("evocua_s1_system", evocua.S1),
        ("evocua_s1_user", evocua.S1_TASK),
        ("fara_7b_system", fara_7b.SYSTEM),
        ("fara_1_5_system", fara_1_5.SYSTEM),
        ("kimi_osworld_thinking_system", kimi.THINKING),
        ("kimi_osworld_non_thinking_system", kimi.NON_THINKING),
        ("kimi_osworld_user", kimi.TASK),
        ("kimi_osworld_step", kimi.STEP),
        ("kimi_osworld_history_thinking", kimi.THOUGHT_AND_ACTION),
        ("kimi_osworld_history_non_thinking", kimi.BOTH_AS_SECTIONS),
    ],
)
def test_a_prompt_of_2026_is_the_authors_to_the_byte(name, text):
    published = json.loads(PROMPTS_2026.read_text("utf-8"))
    [expected] = [value for key, value in published.items() if key.partition(" ")[0] == name]
    assert text == expected


@pytest.mark.skipif(not PROMPTS.is_file(), reason="the authors' prompts are not beside the project")
def test_the_schema_is_the_authors_in_its_compact_form():
    text = PROMPTS.read_text("utf-8").rpartition("```json\n")[2].partition("\n```")[0]
    schema = json.loads(agentcpm.SCHEMA)
    assert list(schema)[3] == "required"
    assert schema.pop("required") == ["thought"]
    assert schema == json.loads(text)
    assert agentcpm.SYSTEM.endswith(f"# Schema\n{agentcpm.SCHEMA}")


# -- histories ------------------------------------------------------------------------------------


def test_ui_tars_sees_its_replies_and_the_last_screenshots():
    history = [step(number, f"Thought: {number}") for number in range(6)]
    (_, prompt), *turns = sketch(ui_tars.build_agent_prompt(line(*history), L3))
    assert prompt.endswith("## User Instruction\nOpen the mail\n")
    assert "Use English in `Thought`" in prompt
    images = [f"[{number}.png]" for number in range(2, 6)]
    assert [text for _, text in turns if text.startswith("[")] == [*images, "[/now.png]"]
    assert sum(role == "assistant" for role, _ in turns) == 6


def test_mai_ui_sees_its_replies_what_came_of_them_and_three_screenshots():
    history = [step(0, "a"), step(1, "b", "the app is not there"), step(2, "c")]
    messages = sketch(mai_ui.build_agent_prompt(line(*history, platform="os_android"), L3))
    assert messages[0] == ("system", mai_ui.SYSTEM)
    assert messages[1:] == [
        ("user", "Open the mail"),
        ("assistant", "a"),
        ("user", "[1.png]"),
        ("assistant", "b"),
        ("user", "the app is not there"),
        ("user", "[2.png]"),
        ("assistant", "c"),
        ("user", "[/now.png]"),
    ]


def test_ui_venus_reads_a_line_for_each_earlier_step():
    reply = "<think> I click. </think>\n<action> Click(box=(5,6)) </action>\n<conclusion> x </conclusion>"
    image, (_, prompt) = sketch(ui_venus.build_agent_prompt(line(step(0, reply)), L3))
    assert image == ("user", "[/now.png]")
    previous = "Step 0: <think> I click. </think><action> Click(box=(5,6)) </action>"
    assert f"### User Task\nOpen the mail\n\n### Previous Actions\n{previous}\n" in prompt


def test_ui_venus_reads_earlier_steps_without_the_newlines_around_them():
    reply = "<think>\nI click.\n</think>\n<action>\nWait()\n</action>"
    _, (_, prompt) = sketch(ui_venus.build_agent_prompt(line(step(0, reply)), L3))
    assert "Step 0: <think>I click.</think><action>Wait()</action>\n" in prompt


def test_mai_ui_is_told_the_task_in_a_message_of_its_own():
    messages = mai_ui.build_agent_prompt(line(platform="os_android"), L3)
    assert [message.get("turn") for message in messages] == [None, None, "new"]


@pytest.mark.parametrize(
    ("history", "summary"),
    [
        ((), "暂无历史操作"),
        ((step(0, "<THINK>t</THINK>\nexplain:e\taction:WAIT\tsummary:s"),), "s"),
    ],
)
def test_step_gui_reads_the_summary_of_its_last_reply(history, summary):
    (_, before), image, (_, after) = sketch(step_gui.build_agent_prompt(line(*history), L3))
    assert before.endswith(
        f"已知用户任务为：Open the mail\n已知已经执行过的历史动作如下：{summary}\n当前手机屏幕截图如下：\n"
    )
    assert image == ("user", "[/now.png]")
    assert after == step_gui.AFTER_IMAGE


def test_gui_owl_sees_four_steps_as_turns_and_reads_older_ones():
    history = [step(n, f"Action: click {n}\n<tool_call>\n{{}}\n</tool_call>") for n in range(5)]
    messages = sketch(gui_owl.build_agent_prompt(line(*history), L3))
    assert messages[0] == ("system", gui_owl.COMPUTER)
    assert messages[1][1].endswith(
        "Instruction: Open the mail\n\nPrevious actions:\nStep 1: click 0"
    )
    assert [text for _, text in messages[2::2]] == [
        *(f"[{n}.png]" for n in range(1, 5)),
        "[/now.png]",
    ]


def test_agentcpm_sees_the_screen_now_alone():
    messages = sketch(agentcpm.build_agent_prompt(line(step(0, "{}")), L3))
    assert [role for role, _ in messages] == ["system", "user", "user"]
    assert messages[1][1] == "<Question>Open the mail</Question>\n当前屏幕截图："


# -- replies --------------------------------------------------------------------------------------


def mai(**arguments):
    call = json.dumps({"name": "mobile_use", "arguments": arguments})
    return f"<thinking>\nx\n</thinking>\n<tool_call>\n{call}\n</tool_call>"


def venus(action):
    return f"<think> x </think><action> {action} </action><conclusion> y </conclusion>"


def step_reply(action):
    return f"<THINK> x </THINK>\nexplain:e\taction:{action}\tsummary:s"


@pytest.mark.parametrize(
    ("agent", "reply", "actions"),
    [
        ("mai_ui", mai(action="click", coordinate=[999, 0]), ["click(1.000, 0.000)"]),
        ("mai_ui", mai(action="click", coordinate=[0, 0, 999, 999]), ["click(0.500, 0.500)"]),
        (
            "mai_ui",
            f"<thinking>not <tool_call>{{}}</tool_call></thinking>{mai(action='wait')}",
            ["wait(1)"],
        ),
        ("mai_ui", mai(action="wait") + mai(action="terminate", status="fail"), ["wait(1)"]),
        ("mai_ui", mai(action="swipe", direction="up"), ['scroll(0.500, 0.500, "down", 5)']),
        ("mai_ui", mai(action="system_button", button="back"), ["back()"]),
        ("mai_ui", mai(action="open", text="Mail"), ['open_app("Mail")']),
        ("mai_ui", mai(action="terminate", status="fail"), ["fail()"]),
        ("mai_ui", mai(action="wait"), ["wait(1)"]),
        ("mai_ui", mai(action="answer", text="7"), ['answer("7")']),
        ("mai_ui", "click there", None),
        ("ui_venus_1_5", venus("Click(box=(500,250))"), ["click(0.500, 0.250)"]),
        (
            "ui_venus_1_5",
            venus("Drag(start=(0,0), end=(500,1000))"),
            ["drag(0.000, 0.000, 0.500, 1.000)"],
        ),
        ("ui_venus_1_5", venus("Scroll(direction='down')"), ['scroll(0.500, 0.500, "down", 5)']),
        ("ui_venus_1_5", venus("Type(content='it')"), ['type("it\\n")']),
        ("ui_venus_1_5", venus("Type(content='It's fine')"), ['type("It\'s fine\\n")']),
        ("ui_venus_1_5", venus("Type(content='a\nb')"), ['type("a\\nb\\n")']),
        ("ui_venus_1_5", venus("Type(content='a, box=(1,2)')"), ['type("a, box=(1,2)\\n")']),
        ("ui_venus_1_5", venus("Type(content=mail)"), ['type("mail\\n")']),
        ("ui_venus_1_5", venus("Click(box='(500, 250)')"), ["click(0.500, 0.250)"]),
        ("ui_venus_1_5", venus("CallUser(content='Ann's, 5 (pm)')"), ['answer("Ann\'s, 5 (pm)")']),
        ("ui_venus_1_5", venus("Hotkey(keys=['ctrl', 'c'])"), ['press("ctrl+c")']),
        ("ui_venus_1_5", venus("Finished(content='')"), ["done()"]),
        ("ui_venus_1_5", venus("CallUser(content='7')"), ['answer("7")']),
        ("ui_venus_1_5", venus("PressRecent()"), None),
        ("ui_venus_1_5", venus("__import__('os')"), None),
        ("step_gui", step_reply("CLICK\tpoint:500,250"), ["click(0.500, 0.250)"]),
        (
            "step_gui",
            step_reply("TYPE\tvalue:hi\tpoint:500,250"),
            ["click(0.500, 0.250)", 'type("hi")'],
        ),
        ("step_gui", step_reply("ABORT\tvalue:no"), ['fail("no")']),
        ("step_gui", step_reply("INFO\tvalue:which?"), None),
        (
            "gui_owl_1_5",
            'Action: Click.\n<tool_call>\n{"name": "computer_use", "arguments": '
            '{"action": "left_click", "coordinate": [500, 250]}}\n</tool_call>',
            ["click(0.500, 0.250)"],
        ),
        ("agentcpm_gui", '{"thought":"x","POINT":[500,250]}', ["click(0.500, 0.250)"]),
        (
            "agentcpm_gui",
            '{"thought":"x","POINT":[500,250],"to":"up"}',
            ['scroll(0.500, 0.250, "down", 5)'],
        ),
        ("agentcpm_gui", '{"POINT":[500,250],"duration":1000}', ["long_press(0.500, 0.250)"]),
        ("agentcpm_gui", '{"TYPE":"hi","STATUS":"finish"}', ['type("hi")', "done()"]),
        ("agentcpm_gui", '{"STATUS":"impossible"}', ["fail()"]),
        ("agentcpm_gui", '{"thought":"x"}', None),
        ("step_gui", "<think>x</think>\naction:CLICK\tpoint:500 250", ["click(0.500, 0.250)"]),
        ("step_gui", "< THINK >x</TINK>\naction:CLICK\tpoint:500,250", ["click(0.500, 0.250)"]),
        (
            "qwen3_vl",
            '<tool_call>{"name": "computer_use", "arguments": '
            '{"action": "left_click", "coordinate": [500, 250]}}</tool_call>',
            ["click(0.500, 0.250)"],
        ),
    ],
)
def test_a_reply_is_read_in_the_words_of_its_agent(agent, reply, actions):
    parse = resolve(all_recipes()[agent].agent.parse, role="parse_function")
    meta = {"image_size": "[1000, 500]", "platform": "os_web"}
    parsed = parse(reply, meta)
    if actions is None:
        assert parsed is None
    else:
        assert [str(action) for action in read_actions(parsed, (1000, 500))] == actions


# -- configs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", AGENTS)
def test_a_recipe_fills_in_its_agent_for_l3_and_l4(name):
    recipe = all_recipes()[name]
    benchmarks = {L3: L3, "GUITaskCollaboration": "GUITaskCollaboration"}
    entry = recipe.entry("openai", f"models.recipes.{name}", benchmarks)
    assert entry["custom_prompt"] == dict.fromkeys(benchmarks, recipe.agent.prompt)
    assert entry["parse_function"] == dict.fromkeys(benchmarks, recipe.agent.parse)
    assert entry["generate_cfg"].get("max_tokens", 1024) >= 1024  # Fara's authors name no limit
    assert recipe.other_data_sets(benchmarks) == []
    if not recipe.has_grounding:
        assert recipe.without_form({**benchmarks, "Mine": "OSWorldG"}, ()) == ["Mine"]
        return
    combined = recipe.entry("openai", f"models.recipes.{name}", {**benchmarks, "Mine": "OSWorldG"})
    assert combined["parse_function"]["Mine"] == f"models.recipes.{name}.parse_point"
    grounding = recipe.entry("openai", "", {"a": "OSWorldG"})
    assert combined["generate_cfg"] == grounding["generate_cfg"]
    assert recipe.other_data_sets({**benchmarks, "Mine": "OSWorldG"}) == [*benchmarks]


def test_a_recipe_without_an_agent_leaves_l3_to_the_default_prompt():
    entry = all_recipes()["gta1"].entry("openai", "models.recipes.gta1", {L3: L3})
    assert (entry["custom_prompt"], entry["parse_function"]) == ({}, {})
    assert all_recipes()["gta1"].other_data_sets({L3: L3}) == [L3]


# -- episodes -------------------------------------------------------------------------------------

OWL = '<tool_call>\n{{"name": "computer_use", "arguments": {}}}\n</tool_call>'
QWEN_XML = """\
Action: Go on.
<tool_call>
<function=computer_use>
<parameter=action>
{}
</parameter>
{}
</function>
</tool_call>"""
EPISODES = {
    "ui_tars_1_5": ("Thought: t\nAction: wait()", "Thought: t\nAction: finished(content='')"),
    "gui_owl_1_5": (
        "Action: Wait.\n" + OWL.format('{"action": "wait", "time": 0}'),
        "Action: End.\n" + OWL.format('{"action": "terminate", "status": "success"}'),
    ),
    "qwen3_vl": (
        "Action: Wait.\n" + OWL.format('{"action": "wait", "time": 0}'),
        "Action: End.\n" + OWL.format('{"action": "terminate", "status": "success"}'),
    ),
    "ui_venus_1_5": (venus("Wait()"), venus("Finished(content='')")),
    "mai_ui": (mai(action="wait"), mai(action="terminate", status="success")),
    "step_gui": (step_reply("WAIT\tvalue:0"), step_reply("COMPLETE\treturn:done")),
    "agentcpm_gui": ('{"thought":"t","duration":0}', '{"thought":"t","STATUS":"finish"}'),
    "evocua": (
        "Action: Wait.\n" + OWL.format('{"action": "wait", "time": 0}'),
        "Action: End.\n" + OWL.format('{"action": "terminate", "status": "success"}'),
    ),
    "evocua_s1": (
        "## Action:\nWait.\n## Code:\n```python\ntime.sleep(0)\n```",
        '## Action:\nEnd.\n## Code:\n```code\ncomputer.terminate(status="success")\n```',
    ),
    "fara_7b": (
        OWL.format('{"action": "wait", "time": 0}'),
        OWL.format('{"action": "terminate", "status": "success"}'),
    ),
    "fara_1_5": (
        OWL.format('{"action": "wait", "time": 0}'),
        OWL.format('{"action": "terminate", "answer": "Done."}'),
    ),
    "qwen3_5": (
        QWEN_XML.format("wait", "<parameter=time>\n0\n</parameter>"),
        QWEN_XML.format("terminate", "<parameter=status>\nsuccess\n</parameter>"),
    ),
    "ui_venus_2": (
        "<think>t</think>\n<action>Wait()</action>",
        "<think>t</think>\n<action>Finished(content='')</action>",
    ),
    "kimi_k2_5": (
        "## Action:\nWait.\n## Code:\n```python\ntime.sleep(0)\n```",
        '## Action:\nEnd.\n## Code:\n```code\ncomputer.terminate(status="success")\n```',
    ),
}


@pytest.mark.parametrize("name", AGENTS)
def test_an_episode_is_played_with_two_lines_of_a_config(staged, monkeypatch, name):
    replies = iter(EPISODES[name])
    stage = staged(answer=lambda _: Reply(next(replies)))
    monkeypatch.chdir(stage.home)
    entry = {"recipe": name, "model_path": f"{{url}}?api_key={KEY}&model=mock"}
    live = {"environment": ENVIRONMENT, "tasks": ["environment/two"], "max_steps": 9}
    options = ("--retry", "0", "--work-dir", "here", "--no-report")
    result = stage.evaluate({"m": entry}, *options, data={L3: live})
    assert result.code == 0, result.output
    first, second = (request.body for request in result.requests)
    agent = all_recipes()[name].agent
    assert {key: first[key] for key in agent.generate_cfg} == agent.generate_cfg
    assert "Click the red box, then the green box." in json.dumps(first["messages"])
    assert "image_url" in json.dumps(first["messages"])
    assert len(second["messages"]) >= len(first["messages"])

"""Recipes at recorded steps: prompts to the byte, histories that tell no more, replies read."""

import hashlib
import json
import random
from importlib import import_module

import pytest
from PIL import Image

import evaluate
from benchmarks.steps.episodes import RecordedEpisode, RecordedStep, step_rows
from benchmarks.steps.reading import step_action
from models.recipes import all_recipes, gui_r1, infigui_r1, os_atlas_pro, ui_s1
from models.recipes.agents import agentcpm, gui_owl, mai_ui
from models.recipes.agents.ui_tars import PHONE
from models.recipes.base import as_path
from models.recipes.steps import qwen2_5_vl, qwen3_vl, recorded, step_gui, ui_tars, ui_venus
from tests.support import step_cases
from tests.support.mock_server import Reply
from tests.support.runs import PROJECT
from utils.import_utils import resolve

FILE = PROJECT.parent / "shared" / "steps" / "PROMPTS.json"
PUBLISHED = json.loads(FILE.read_text("utf-8")) if FILE.is_file() else {}
beside = pytest.mark.skipif(not PUBLISHED, reason="the authors' prompts are not beside the project")
STEPS = {name: recipe.steps for name, recipe in all_recipes().items() if recipe.steps}
WH = (1080, 2400)  # resized in steps of 28: 1092x2408
LEVELS, HISTORIES = ("high", "low"), ("none", "instructions", "actions", "own")

EPISODE = RecordedEpisode(
    number="7",
    goal="Greet {history} Ann",
    steps=[
        RecordedStep(
            0,
            "7_0.png",
            "tap the first field",
            {"action": "click", "coordinate": [540, 1200], "candidate_bbox": [[11, 22, 33, 44]]},
        ),
        RecordedStep(1, "7_1.png", "write the greeting", {"action": "type", "text": "it's hello"}),
        RecordedStep(2, "7_2.png", "look further down", {"action": "swipe", "direction": "down"}),
    ],
)


def function(name, stage):
    dotted = as_path(f"models.recipes.{name}", getattr(STEPS[name], stage))
    return resolve(dotted, role="function")


def rows(level, history, replies=("reply 0", "reply 1")):
    lines = list(step_rows(EPISODE, level=level, history=history))
    if history == "own":
        for line in lines:
            for step in line["history"]:
                step["reply"] = replies[step["step"]]
    return lines


def asked(name, line):
    return function(name, "prompt")(line, "AndroidControl", file_size=WH, sent_size=(1092, 2408))


def sketch(messages):
    """Role and text of each message, an image as its path in brackets."""
    return [
        (m["role"], f"[{m['value']}]" if m["type"] == "image" else m["value"]) for m in messages
    ]


# -- texts ----------------------------------------------------------------------------------------

OS_ATLAS = f"{os_atlas_pro.BEFORE_IMAGE}<image>{os_atlas_pro.AFTER_IMAGE}".replace(
    "{task}", "{goal} You need to: {step_instruction}"
)
GUI_OWL_TASK = gui_owl.TASK.replace(
    "{instruction}", "Today's date is: {YYYY-MM-DD Weekday}.{goal}"
).replace("{previous_actions}", "{previous}")
QWEN3_USER = f"{qwen3_vl.QUERY}{qwen3_vl.PROGRESS}{{image}}"
STEP_GUI_2 = step_gui.BEFORE_IMAGE.replace("{task}", "{goal}").replace(
    "{history_display}", "{history}"
)


@pytest.mark.parametrize(
    ("entry", "part", "sha256", "text"),
    [
        ("os_atlas_android_control", "text", "dff12df7628ab23e", OS_ATLAS),
        ("infigui_r1", "system_thinking", "2890d8a6ec2aadfd", infigui_r1.SYSTEM),
        ("infigui_r1", "system_plain", "291d968b54c1bbe0", qwen2_5_vl.SYSTEM),
        ("infigui_r1", "user_low", "7ea680a84fcf2361", f"{qwen2_5_vl.USER_LOW}<image>"),
        ("infigui_r1", "user_high", "42aa1c2c38698262", f"{qwen2_5_vl.USER_HIGH}<image>"),
        ("qwen3_vl_mobile_use", "system", "9d060af15f62acb3", qwen3_vl.SYSTEM),
        ("qwen3_vl_mobile_use", "user", "56a407bc360144db", QWEN3_USER),
        ("gui_owl_1.5", "system", "28235cbaf0bd9692", gui_owl.PHONE),
        ("gui_owl_1.5", "user_first", "7f3274951d9dbc1c", GUI_OWL_TASK),
        ("ui_venus_1.5_mobile", "user", "d4d88aafe0991572", ui_venus.PROMPT),
        ("ui_tars_1.5_mobile", "user", "4c6da47a4608edb0", PHONE),
        ("ui_tars_1.0_offline", "user_high", "65ebda66a1dba59b", ui_tars.PHONE_1_0),
        ("mai_ui", "MAI_MOBILE_SYS_PROMPT", "86b907c1e936b8c9", mai_ui.SYSTEM),
        ("agentcpm_gui", "system", "92852f64619d7b3c", agentcpm.SYSTEM),
        ("step_gui", "user_1", "5a98cfa53e5d2b1b", step_gui.DEFINITION),
        ("step_gui", "user_2", "3d927cfaf0bc59c0", STEP_GUI_2),
        ("step_gui", "user_4", "7175c07fd0a22ab4", step_gui.FORMAT),
        ("gui_r1_android_control", "user", "345e0e85b3434e5a", f"{{image}}{gui_r1.TEXT}"),
        ("ui_s1", "system", "462b31e0e00df40b", ui_s1.SYSTEM),
    ],
)
def test_a_text_is_the_authors_to_the_byte(entry, part, sha256, text):
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == sha256
    if PUBLISHED:
        assert (PUBLISHED[entry][part], PUBLISHED[entry]["sha256"][part]) == (text, sha256)


# -- messages, filled by hand ---------------------------------------------------------------------

GOAL = "Greet {history} Ann"
INSTRUCTIONS = ["tap the first field", "write the greeting", "look further down"]
WITH_STEP = [f"{GOAL} You need to: {instruction}" for instruction in INSTRUCTIONS]
JSONS = [
    '{"action": "click", "coordinate": [540, 1200]}',
    '{"action": "type", "text": "it\'s hello"}',
]
OWL_REPLIES = tuple(
    f'Action: {words}.\n<tool_call>\n{{"name": "mobile_use", "arguments": {{"action": "wait", '
    '"time": 1}}\n</tool_call>'
    for words in ('Tap "A"', "Write")
)
VENUS_REPLIES = (
    "<think>\nI tap.\n</think>\n<action>\nClick(box=(1,2))\n</action>\n<conclusion>x</conclusion>",
    "<think> I write. </think><action>Type(content='it')</action><conclusion>y</conclusion>",
)
STEP_REPLIES = (
    "<THINK> x </THINK>\nexplain:e\taction:WAIT\tvalue:1\tsummary:tapped it",
    "<THINK> x </THINK>\nexplain:e\taction:WAIT\tvalue:1\tsummary:tapped it and wrote",
)


def of_tool(system, low, step):
    """The messages of Qwen2.5-VL and InfiGUI-R1, whose history is the recorded actions."""
    progress = "".join(f"Step {n}: {JSONS[n - 1]}; " for n in range(1, step + 1))
    text = f"The user query:  {GOAL}\n"
    if low:
        text += f"Current step query: {INSTRUCTIONS[step]}\n"
    text += "Task progress (You have done the following operation on the current device): "
    system = PUBLISHED["infigui_r1"][system].replace(
        "{resized_width}x{resized_height}", "1092x2408"
    )
    return [("system", system), ("user", text + progress), ("user", f"[7_{step}.png]")]


def qwen3(low, step):
    history = "".join(
        [f"Step {n}: {words}; " for n, words in ((1, "Tap A."), (2, "Write."))][:step]
    )
    text = f"The user query: {GOAL}.\n"
    if low:
        text += f"Current step query: {INSTRUCTIONS[step]}\n"
    text += "Task progress (You have done the following operation on the current device): "
    system = PUBLISHED["qwen3_vl_mobile_use"]["system"]
    return [("system", system), ("user", f"{text}{history}.\n"), ("user", f"[7_{step}.png]")]


def turns(step, words):
    """Earlier screenshots and the assistant's words, then the screen."""
    messages = []
    for number in range(step):
        messages += [("user", f"[7_{number}.png]"), ("assistant", words[number])]
    return [*messages, ("user", f"[7_{step}.png]")]


def begun(low, step):
    return [("assistant", f"Thought: {INSTRUCTIONS[step]}\nAction:")] if low else []


def tars_1_5(low, step):
    text = PUBLISHED["ui_tars_1.5_mobile"]["user"].replace("{language}", "English")
    text = text.replace("{instruction}", GOAL)
    return [("user", text), *turns(step, ["reply 0", "reply 1"]), *begun(low, step)]


def tars_1_0(low, step):
    text = PUBLISHED["ui_tars_1.0_offline"]["user_low" if low else "user_high"]
    point = "click(start_box='<|box_start|>(500,500)<|box_end|>')"
    words = [
        f"Thought: tap the first field\nAction: {point}",
        "Thought: write the greeting\nAction: type(content='it\\'s hello')",
    ]
    system = ("system", PUBLISHED["ui_tars_1.0_offline"]["system"])
    task = ("user", text.replace("{goal}", GOAL))
    return [system, task, *turns(step, words), *begun(low, step)]


def atlas(low, step):
    before, after = PUBLISHED["os_atlas_android_control"]["text"].split("<image>")
    history = "".join(f"Step {n}: {INSTRUCTIONS[n - 1]}\n" for n in range(1, step + 1)) or "None"
    after = after.replace("{history}", history)
    after = (
        after.replace("{step_instruction}", INSTRUCTIONS[step])
        if low
        else after.replace(" You need to: {step_instruction}", "")
    )
    after = after.replace("{goal}", GOAL)
    return [("user", before), ("user", f"[7_{step}.png]"), ("user", after)]


def r1(low, step):
    text = PUBLISHED["gui_r1_android_control"]["user"].removeprefix("{image}")
    lines = [f"Step {n}: {INSTRUCTIONS[n - 1]}" for n in range(1, step + 1)]
    history = " \n" + "\n".join(lines) + "\n\n" if lines else "None"
    text = text.replace("{history}", history)
    text = text.replace("{instruction}", INSTRUCTIONS[step] if low else GOAL)
    return [("user", f"[7_{step}.png]"), ("user", text)]


def venus(low, step):
    text = PUBLISHED["ui_venus_1.5_mobile"]["user"]
    lines = [
        "Step 0: <think>I tap.</think><action>Click(box=(1,2))</action>",
        "Step 1: <think> I write. </think><action>Type(content='it')</action>",
    ]
    text = text.replace("{previous_actions}", "\n".join(lines[:step]))
    text = text.replace("{user_task}", WITH_STEP[step] if low else GOAL)
    return [("user", f"[7_{step}.png]"), ("user", text)]


def mai(low, step):
    system = ("system", PUBLISHED["mai_ui"]["MAI_MOBILE_SYS_PROMPT"])
    return [
        system,
        ("user", WITH_STEP[step] if low else GOAL),
        *turns(step, ["reply 0", "reply 1"]),
    ]


def owl(low, step):
    entry = PUBLISHED["gui_owl_1.5"]
    text = entry["user_first"].replace("Today's date is: {YYYY-MM-DD Weekday}.", "")
    text = text.replace("{goal}", WITH_STEP[step] if low else GOAL)
    text = text.replace("{previous}", "None")
    return [("system", entry["system"]), ("user", text), *turns(step, OWL_REPLIES)]


def cpm(low, step):
    entry = PUBLISHED["agentcpm_gui"]
    text = entry["user"].replace("{query}", INSTRUCTIONS[step] if low else GOAL)
    text = text.removesuffix("{image}")
    return [("system", entry["system"]), ("user", text), ("user", f"[7_{step}.png]")]


def step_gui_messages(low, step):
    entry = PUBLISHED["step_gui"]
    history = ["暂无历史操作", "tapped it", "tapped it and wrote"][step]
    text = entry["user_2"].replace("{history}", history)
    text = text.replace("{goal}", WITH_STEP[step] if low else GOAL)
    screen = ("user", f"[7_{step}.png]")
    return [("user", entry["user_1"]), ("user", text), screen, ("user", entry["user_4"])]


def s1(low, step):
    entry = PUBLISHED["ui_s1"]
    first, questions, _ = entry["user_first"]
    messages = [
        ("system", entry["system"]),
        ("user", first.replace("{goal}", WITH_STEP[step] if low else GOAL)),
        ("user", questions),
    ]
    for number in range(step):
        if number:
            messages.append(("user", entry["user_later"][0]))
        if number == step - 1:  # of two images the other one
            messages.append(("user", f"[7_{number}.png]"))
        messages.append(("assistant", f"reply {number}"))
    if step:
        messages.append(("user", entry["user_later"][0]))
    return [*messages, ("user", f"[7_{step}.png]")]


BY_HAND = {
    "qwen2_5_vl": lambda low, step: of_tool("system_plain", low, step),
    "infigui_r1": lambda low, step: of_tool("system_thinking", low, step),
    "qwen3_vl": qwen3,
    "ui_tars_1_5": tars_1_5,
    "ui_tars_1_0": tars_1_0,
    "os_atlas_pro": atlas,
    "gui_r1": r1,
    "ui_venus_1_5": venus,
    "mai_ui": mai,
    "gui_owl_1_5": owl,
    "agentcpm_gui": cpm,
    "step_gui": step_gui_messages,
    "ui_s1": s1,
}
REPLIES = {
    "qwen3_vl": OWL_REPLIES,
    "gui_owl_1_5": OWL_REPLIES,
    "ui_venus_1_5": VENUS_REPLIES,
    "step_gui": STEP_REPLIES,
}


def test_every_form_for_steps_is_filled_by_hand():
    assert BY_HAND.keys() == STEPS.keys()


@beside
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", STEPS)
def test_a_family_is_asked_in_its_own_words_with_its_own_history(name, level):
    replies = REPLIES.get(name, ("reply 0", "reply 1"))
    for line in rows(level, STEPS[name].history, replies):
        expected = BY_HAND[name](level == "low", line["step"])
        assert sketch(asked(name, line)) == expected


def test_the_turn_of_a_first_screenshot_is_one_of_its_own_where_the_authors_have_it_so():
    for name in ("mai_ui", "ui_tars_1_0"):
        messages = asked(name, rows("high", "none")[0])
        assert [message.get("turn") for message in messages] == [None, None, "new"]


# -- histories ------------------------------------------------------------------------------------


@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", STEPS)
def test_a_prompt_tells_what_its_level_and_its_history_tell_and_nothing_else(name, level, history):
    for line in rows(level, history):
        messages = asked(name, line)
        text = "\n".join(m["value"] for m in messages if m["type"] == "text")
        images = [m["value"] for m in messages if m["type"] == "image"]
        is_alone = level == "low" and name in ("agentcpm_gui", "gui_r1")  # without the goal
        assert (GOAL in text) is not is_alone
        assert (line["step_instruction"] in text) is (level == "low")
        assert "candidate" not in text and "11, 22" not in text
        for later in range(line["step"] + 1, 3):
            assert INSTRUCTIONS[later] not in text
        if line["step"] < 2:
            assert "hello" not in text
        if history != "actions":
            assert "hello" not in text and "1200" not in text
        if history != "own":
            assert "reply 0" not in text
        if history in ("none", "own") and line["step"]:
            assert INSTRUCTIONS[0] not in text
        assert images.count(line["image_path"]) == 1
        assert set(images) <= {step["image_path"] for step in line["history"]} | {
            line["image_path"]
        }


@pytest.mark.parametrize("history", ["instructions", "actions", "own"])
@pytest.mark.parametrize("name", sorted(STEPS.keys() - {"agentcpm_gui"}))
def test_a_history_of_another_kind_is_told_in_the_familys_words(name, history):
    replies = ("x\tsummary:reply 0", "y\tsummary:reply 1") if name == "step_gui" else None
    line = rows("high", history, *([replies] if replies else []))[2]
    text = "\n".join(m["value"] for m in asked(name, line) if m["type"] == "text")
    assert {"instructions": INSTRUCTIONS[1], "actions": "hello", "own": "reply 1"}[history] in text


@pytest.mark.parametrize("name", STEPS)
def test_a_step_without_a_reply_is_told_as_one(name):
    for line in rows("high", "own", (None, None)):
        assert all(isinstance(m["value"], str) and m["value"] for m in asked(name, line))


def test_the_judges_boxes_are_not_in_a_history():
    line = rows("high", "actions")[2]
    assert [step["action"] for step in line["history"]] == list(map(json.loads, JSONS))
    assert line["recorded"] == {"action": "swipe", "direction": "down"}
    assert "candidate_bbox" in rows("high", "actions")[0]["recorded"]


@pytest.mark.parametrize("name", STEPS)
def test_actions_that_are_annotated_otherwise_are_told_as_they_are(name):
    steps = [
        RecordedStep(0, "a.png", "x", {"action": "TEXT", "info": "hello", "sam2_bbox": [1]}),
        RecordedStep(1, "b.png", "y", {"result_action_type": 10, "ui_positions": "[[5, 5]]"}),
        RecordedStep(2, "c.png", "z", {"action": "COMPLETE"}),
    ]
    *_, line = step_rows(RecordedEpisode("7", "g", steps), level="high", history="actions")
    text = "\n".join(m["value"] for m in asked(name, line) if m["type"] == "text")
    assert ("hello" in text) is (name != "agentcpm_gui")
    assert "sam2_bbox" not in text and "ui_positions" not in text


def test_ui_tars_goes_on_with_a_reply_that_was_begun_for_it():
    first, second = rows("low", "own", (" click(point='<point>1 2</point>')", ""))[:2]
    assert asked("ui_tars_1_5", first)[-1]["role"] == "assistant"
    words = [m["value"] for m in asked("ui_tars_1_5", second) if m["role"] == "assistant"]
    assert words[0] == "Action: click(point='<point>1 2</point>')"


def test_long_histories_keep_the_last_screenshots():
    steps = [RecordedStep(n, f"7_{n}.png", f"do {n}", {"action": "wait"}) for n in range(8)]
    *_, line = step_rows(RecordedEpisode("7", "g", steps), level="high", history="own")
    line["history"] = [
        {**step, "reply": f"Action: r{n}\n<tool_call>"} for n, step in enumerate(line["history"])
    ]
    counts = {name: sketch(asked(name, line)) for name in STEPS}
    images = {name: sum(text.startswith("[7_") for _, text in m) for name, m in counts.items()}
    assert {name: count for name, count in images.items() if count > 1} == {
        "ui_tars_1_5": 5,
        "ui_tars_1_0": 5,
        "mai_ui": 3,
        "gui_owl_1_5": 5,
        "ui_s1": 2,
    }
    assert sum(role == "assistant" for role, _ in counts["ui_tars_1_0"]) == 4
    assert "Previous actions:\nStep 1: r0\nStep 2: r1\nStep 3: r2" in counts["gui_owl_1_5"][1][1]


# -- replies --------------------------------------------------------------------------------------


def tool(words="", think="", **arguments):
    call = json.dumps({"name": "mobile_use", "arguments": arguments}, ensure_ascii=False)
    return f"{think}{words}<tool_call>\n{call}\n</tool_call>"


def click(x, y, kind="click"):
    return {"kind": kind, "point": [x, y]}


def drag(*points):
    return {"kind": "swipe", "start": list(points[0]), "end": list(points[1])}


def swipe(direction):
    """A swipe by the way of the content."""
    return {"kind": "swipe", "direction": direction, "convention": "content"}


def press(button):
    return {"kind": "press", "button": button}


def finish(status="success", **text):
    return {"kind": "finish", "status": status, **text}


def typed(text, kind="type"):
    return {"kind": kind, "text": text}


WAIT = {"kind": "wait"}
UP = ((0.5, 0.75), (0.5, 0.25))


def of_mobile_use(width, height):
    """Replies of the families that call `mobile_use`, `width` and `height` being the far edges."""
    w, h = width, height
    start, end = [w / 2, 3 * h / 4], [w / 2, h / 4]
    return [
        (tool(action="click", coordinate=[w / 4, h / 2]), click(0.25, 0.5)),
        (
            tool(think="<think>\nnot <tool_call>{}</tool_call>\n</think>\n", action="wait", time=2),
            WAIT,
        ),
        (tool(action="click", coordinate=[0, 0, w, h]), click(0.5, 0.5)),  # a box
        (tool(action="click", coordinate=[2 * w, 0]), click(2, 0)),  # outside stays outside
        (tool(action="long_press", coordinate=[w, h], time=1), click(1, 1, "long_press")),
        (tool(action="swipe", coordinate=start, coordinate2=end), drag(*UP)),
        (
            tool(action="type", text='naïve\n"x" '),
            typed('naïve\n"x" '),
        ),
        (tool(action="open", text="Mail"), typed("Mail", "open_app")),
        (tool(action="system_button", button="Back"), press("back")),
        (tool(action="system_button", button="Menu"), press("recent")),
        (tool(action="wait", time=1) + tool(action="terminate", status="success"), WAIT),
        (tool(action="terminate", status="failure"), finish("failure")),
        (tool(action="answer", text="7"), finish(text="7")),
        (tool(action="interact", text="log in"), finish("failure", text="log in")),
        (
            f"Thought: x\nAction: tap\n{tool(action='click', coordinate=[0, 0])}<|im_end|>",
            click(0, 0),
        ),
        ('{"name": "mobile_use", "arguments": {"action": "wait", "time": 1}}', WAIT),
        (tool(action="system_button", button="Power"), None),
        (tool(action="key", text="volume_up"), None),
        (tool(action="click"), None),
        (tool(action="click", coordinate=["a", "b"]), None),
        (tool(action="click", coordinate=[True, False]), None),
        (tool(action="swipe", coordinate=start), None),
        (tool(action="type"), None),
        (tool(action="fly", coordinate=[1, 2]), None),
        ('<tool_call>\n{"name": "mobile_use", "arguments": {"action": "wait"}\n</tool_call>', None),
        ("<think>I click.</think> I clicked.", None),
        ("", None),
    ]


def of_tars(point, w, h):
    """Replies of UI-TARS with points as `point` writes them."""
    here, start, end = point(w // 4, h // 2), point(0, h), point(w, 0)
    return [
        (f"Thought: x\nAction: click({here})", click(w // 4 / w, h // 2 / h)),
        (f"Thought: x\nAction: long_press({here}, time='')", click(w // 4 / w, h // 2 / h, "long_press")),
        (f" click({here})", click(w // 4 / w, h // 2 / h)),  # behind "Action:" of the prompt
        ("Thought: Action: no\nAction: wait()", WAIT),
        ("Action: scroll(direction='down')", swipe("down")),
        (f"Action: scroll({here}, direction='left')", swipe("left")),
        (f"Action: drag({start}, {end.replace('start_box', 'end_box').replace('point=', 'end_point=')})", drag((0, 1), (1, 0))),
        ("Action: type(content='it's (ok)')", typed("it's (ok)")),
        (r"Action: type(content='it\'s ok\n')", typed("it's ok")),
        ("Action: type(content='Action: go')", typed("Action: go")),
        ("Action: open_app(app_name='My Mail')", typed("My Mail", "open_app")),
        ("Action: press_back()", press("back")),
        ("Action: press_home()", press("home")),
        ("Action: press_enter()", press("enter")),
        ("Action: finished(content='done it')", finish(text="done it")),
        ("Action: finished()", finish()),
        ("Action: wait()\n\nclick('x')", WAIT),
        ("Action: press_power()", None),
        ("Action: scroll(direction='around')", None),
        ("Action: click(point='there')", None),
        ("Thought: click it", None),
        ("", None),
    ]  # fmt: skip


def atlas_reply(action):
    return f"thoughts:\nI look.\nactions:\n{action}"


def r1_reply(action, point=(-100, -100), text="no input text"):
    answer = (
        f"[{{'action': '{action}', 'point': [{point[0]}, {point[1]}], 'input_text': '{text}'}}]"
    )
    return f"<think> x [1, 2] </think> <answer>{answer}</answer>"


def venus_reply(action):
    return f"<think> x </think>\n<action> {action} </action>\n<conclusion> y </conclusion>"


def step_reply(action):
    return f"<THINK> x </THINK>\nexplain:e\taction:{action}\tsummary:s"


def mai_reply(**arguments):
    return tool(think="<thinking>\nnot <tool_call>{}</tool_call>\n</thinking>\n", **arguments)


def s1_reply(**arguments):
    return f"<think>\nx\n</think>\n<action>\n{json.dumps(arguments)}\n</action>"


READ = {
    "qwen2_5_vl": of_mobile_use(1092, 2408),
    "infigui_r1": of_mobile_use(1092, 2408),
    "qwen3_vl": of_mobile_use(999, 999),
    "gui_owl_1_5": of_mobile_use(1000, 1000),
    "ui_tars_1_5": of_tars(lambda x, y: f"point='<point>{x} {y}</point>'", 1092, 2408),
    "ui_tars_1_0": of_tars(
        lambda x, y: f"start_box='<|box_start|>({x},{y})<|box_end|>'", 1000, 1000
    ),
    "os_atlas_pro": [
        (atlas_reply("CLICK <point>[[250,500]]</point>"), click(0.25, 0.5)),
        (atlas_reply("CLICK <point>[[250, 500]]</point><|im_end|>"), click(0.25, 0.5)),
        (atlas_reply("CLICK [250,500]\n"), click(0.25, 0.5)),
        (atlas_reply("LONG_PRESS <point>[[0,1000]]</point>"), click(0, 1, "long_press")),
        (atlas_reply("CLICK"), {"kind": "click", "point": None}),
        (atlas_reply("TYPE [a [b] c]"), typed("a [b] c")),
        (atlas_reply("TYPE"), None),
        (atlas_reply("OPEN_APP [Google Chrome]<|im_end|>"), typed("Google Chrome", "open_app")),
        (atlas_reply("SCROLL [DOWN]"), swipe("down")),
        (atlas_reply("SCROLL [left]"), swipe("left")),
        (atlas_reply("SCROLL [AWAY]"), None),
        (atlas_reply("PRESS_BACK"), press("back")),
        (atlas_reply("PRESS_HOME"), press("home")),
        (atlas_reply("PRESS_POWER"), None),
        (atlas_reply("WAIT\n"), WAIT),
        (atlas_reply("COMPLETE"), finish()),
        (atlas_reply("IMPOSSIBLE"), finish("failure")),
        (atlas_reply("click <point>[[1,2]]</point>"), None),
        ("Actions:\nWAIT", None),
        ("", None),
    ],
    "gui_r1": [
        (r1_reply("click", (273, 1204)), click(0.25, 0.5)),
        (r1_reply("long_press", (1092, 2408)), click(1, 1, "long_press")),
        ("<answer>[{'action': 'click'}]</answer>", {"kind": "click", "point": None}),
        (r1_reply("type", text="Leonardo's (text)"), typed("Leonardo's (text)")),
        (r1_reply("open_app", text="Mail"), typed("Mail", "open_app")),
        (r1_reply("scroll", text="down"), swipe("down")),
        (r1_reply("scroll", text="UP"), swipe("up")),
        (r1_reply("scroll"), None),
        (r1_reply("press_back"), press("back")),
        (r1_reply("press_power"), None),
        (r1_reply("wait"), WAIT),
        (r1_reply("complete"), finish()),
        (r1_reply("impossible"), finish("failure")),
        ('<answer>[{"action": "click", "point": [1, 2]}]</answer>', None),
        ("[{'action': 'click', 'point': [1, 2]}]", None),
        ("", None),
    ],
    "ui_venus_1_5": [
        (venus_reply("Click(box=(250,500))"), click(0.25, 0.5)),
        (venus_reply("Click(box='(250, 500)')"), click(0.25, 0.5)),
        (venus_reply("LongPress(box=(0,1000))"), click(0, 1, "long_press")),
        (venus_reply("Scroll(start=(500,750), end=(500,250))"), drag(*UP)),
        (venus_reply("Drag(start=(0,0), end=(500,1000))"), drag((0, 0), (0.5, 1))),
        (venus_reply("Type(content='It's, fine')"), typed("It's, fine")),
        (venus_reply("Launch(app='Mail')"), typed("Mail", "open_app")),
        (venus_reply("PressBack()"), press("back")),
        (venus_reply("PressRecent()"), press("recent")),
        (venus_reply("Wait()"), WAIT),
        (venus_reply("Finished(content='')"), finish()),
        (venus_reply("CallUser(content='7')"), finish(text="7")),
        (venus_reply("PressPower()"), None),
        (venus_reply("Scroll(direction='down')"), None),
        ("<think>Click(box=(1,2))</think>", None),
        ("", None),
    ],
    "mai_ui": [
        (mai_reply(action="click", coordinate=[999, 0]), click(1, 0)),
        (mai_reply(action="click", coordinate=[0, 0, 999, 999]), click(0.5, 0.5)),
        (mai_reply(action="long_press", coordinate=[0, 999]), click(0, 1, "long_press")),
        (mai_reply(action="swipe", direction="up"), swipe("down")),  # the finger's
        (mai_reply(action="swipe", direction="left", coordinate=[1, 2]), swipe("right")),
        (
            mai_reply(action="drag", start_coordinate=[0, 0], end_coordinate=[999, 999]),
            drag((0, 0), (1, 1)),
        ),
        (mai_reply(action="type", text="hi"), typed("hi")),
        (mai_reply(action="open", text="Mail"), typed("Mail", "open_app")),
        (mai_reply(action="system_button", button="back"), press("back")),
        (mai_reply(action="system_button", button="menu"), press("menu")),
        (mai_reply(action="system_button", button="power"), None),
        (mai_reply(action="wait"), WAIT),
        (mai_reply(action="terminate", status="success"), finish()),
        (mai_reply(action="terminate", status="fail"), finish("failure")),
        (mai_reply(action="answer", text="7"), finish(text="7")),
        (mai_reply(action="swipe", direction="away"), None),
        ("click there", None),
        ("", None),
    ],
    "agentcpm_gui": [
        ('{"thought":"x","POINT":[250,500]}', click(0.25, 0.5)),
        ('{\n "thought": "x",\n "POINT": [\n  0,\n  1000\n ]\n}', click(0, 1)),
        ('{"thought":"x","POINT":[500,500],"to":"up"}', swipe("down")),  # the finger's
        ('{"thought":"x","POINT":[500,750],"to":[500,250]}', drag(*UP)),
        ('{"thought":"x","POINT":[0,0],"duration":1000}', click(0, 0, "long_press")),
        ('{"thought":"x","POINT":[0,0],"duration":100}', WAIT),
        ('{"thought":"x","duration":2000}', WAIT),
        ('{"thought":"x","TYPE":"hi \\"there\\""}', typed('hi "there"')),
        ('{"thought":"x","PRESS":"BACK"}', press("back")),
        ('{"thought":"x","PRESS":"MENU"}', None),
        ('{"thought":"x","TYPE":"hi","STATUS":"finish"}', finish()),
        ('{"thought":"x","STATUS":"need_feedback"}', finish("failure")),
        ('{"thought":"x","POINT":[1,2],"STATUS":"continue"}', click(0.001, 0.002)),
        ('{"thought":"x","POINT":[1.5,2]}', None),
        ('{"thought":"x","POINT":[1,1001]}', None),
        ('{"thought":"x","POINT":[1,2],"TYPE":"a"}', None),
        ('{"thought":"x","CLICK":[1,2]}', None),
        ('[{"POINT":[1,2]}]', None),
        ("", None),
    ],
    "step_gui": [
        (step_reply("CLICK\tpoint:250,500"), click(0.25, 0.5)),
        (step_reply("CLICK\tpoint:250 500"), click(0.25, 0.5)),
        (step_reply("LONGPRESS\tpoint:0,1000"), click(0, 1, "long_press")),
        (step_reply("SLIDE\tpoint1:500,750\tpoint2:500,250"), drag(*UP)),
        (step_reply("TYPE\tvalue:hi: you\tpoint:250,500"), {**typed("hi: you"), "point": [0.25, 0.5]}),
        (step_reply("TYPE\tvalue:hi"), typed("hi")),
        (step_reply("AWAKE\tvalue:Mail"), typed("Mail", "open_app")),
        (step_reply("WAIT\tvalue:2"), WAIT),
        (step_reply("COMPLETE\treturn:it is 7"), finish(text="it is 7")),
        (step_reply("ABORT\tvalue:no"), finish("failure", text="no")),
        (step_reply("INFO\tvalue:which?"), finish("failure", text="which?")),
        ("< THINK >action:WAIT\t</TINK>\naction:CLICK\tpoint:0,0", click(0, 0)),
        (step_reply("BACK"), None),
        (step_reply("CLICK\tpoint:there"), None),
        ("<THINK>click</THINK>", None),
        ("", None),
    ],
    "ui_s1": [
        (s1_reply(action="click", coordinate=[273, 1204]), click(0.25, 0.5)),
        (s1_reply(action="long_press", coordinate=[0, 2408], time=1), click(0, 1, "long_press")),
        (s1_reply(action="swipe", coordinate=[546, 1806], coordinate2=[546, 602]), drag(*UP)),
        (s1_reply(action="type", text='a "b"'), typed('a "b"')),
        (s1_reply(action="open", text="Mail"), typed("Mail", "open_app")),
        (s1_reply(action="system_button", button=" Back "), press("back")),
        (s1_reply(action="system_button", button="Power"), None),
        (s1_reply(action="wait", time=1), WAIT),
        (s1_reply(action="terminate", status="failure"), finish("failure")),
        (s1_reply(action="answer", text="7"), finish(text="7")),
        (s1_reply(action="click"), None),
        (s1_reply(coordinate=[1, 2]), None),
        ('<think>x</think>{"action": "click", "coordinate": [1, 2]}', None),
        ("<action>\nclick(1,2)\n</action>", None),
        ("", None),
    ],
}  # fmt: skip
META = {"file_size": str([*WH])}


def rounded(value):
    """The same with every number rounded to what a float keeps."""
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(part) for part in value]
    return round(value, 9) if isinstance(value, (int, float)) else value


def read(name, reply, meta=META):
    action = step_action(function(name, "parse")(reply, meta), WH)
    return None if action is None else action.as_json()


def test_every_family_has_replies():
    assert READ.keys() == STEPS.keys()


@pytest.mark.parametrize(
    ("name", "reply", "expected"),
    [(name, reply, action) for name, cases in READ.items() for reply, action in cases],
)
def test_a_reply_is_read_to_one_action(name, reply, expected):
    assert rounded(read(name, reply)) == rounded(expected)


# A point beyond the right or lower edge stays outside: tolerances of rules may reach it.
OUTSIDE = [
    ("ui_tars_1_5", "Action: click(point='<point>273 2709</point>')", click(0.25, 2709 / 2408)),
    ("ui_tars_1_0", "Action: click(start_box='(250,1005)')", click(0.25, 1.005)),
    ("os_atlas_pro", atlas_reply("CLICK <point>[[250,1005]]</point>"), click(0.25, 1.005)),
    ("gui_r1", r1_reply("click", (1365, 1204)), click(1.25, 0.5)),
    ("ui_venus_1_5", venus_reply("Click(box=(1005,500))"), click(1.005, 0.5)),
    (
        "ui_venus_1_5",
        venus_reply("Drag(start=(500,500), end=(500,1005))"),
        drag((0.5, 0.5), (0.5, 1.005)),
    ),
    ("mai_ui", mai_reply(action="click", coordinate=[1998, 999]), click(2, 1)),
    ("step_gui", step_reply("CLICK\tpoint:1005,500"), click(1.005, 0.5)),
    ("ui_s1", s1_reply(action="click", coordinate=[1365, 1204]), click(1.25, 0.5)),
]


@pytest.mark.parametrize(("name", "reply", "expected"), OUTSIDE)
def test_a_point_outside_the_image_stays_outside(name, reply, expected):
    assert rounded(read(name, reply)) == rounded(expected)


def test_pixels_count_in_the_image_that_the_model_saw():
    reply = tool(action="click", coordinate=[100, 100])
    for size in ({"seen_size": "[200, 400]"}, {"sent_size": "[196, 392]", "min_pixels": 3136}):
        wide = 200 if "seen_size" in size else 196
        assert read("qwen2_5_vl", reply, META | size)["point"][0] == pytest.approx(100 / wide)
    ask = function("qwen2_5_vl", "prompt")
    system, *_ = ask(rows("high", "none")[0], "AC", file_size=WH, seen_size="[200, 400]")
    assert "resolution is 200x400." in system["value"]


ODD = ["007", "-3", "12.5", "1e400", "9" * 30, "１２", "NaN", "null", '"5"', "[", "\n", "\\", "'"]


@pytest.mark.parametrize("name", STEPS)
def test_odd_replies_are_an_action_or_none(name):
    chance = random.Random(name)
    replies = [reply for reply, _ in READ[name] if reply]
    for _ in range(400):
        reply = chance.choice(replies)
        start, end = sorted(chance.choices(range(len(reply) + 1), k=2))
        damaged = reply[:start] + chance.choice(ODD) + reply[min(end, start + 6) :]
        read(name, damaged)  # whatever it is, it does not raise
    for reply in ("[" * 5000, "9" * 5000 + ", 1", "<tool_call>" * 3, "Action: " * 3):
        read(name, reply)


WRITERS = {
    "ui_tars_1_5": lambda a: f"Action: {ui_tars.written(a, (1092, 2408), ui_tars.POINT_1_5)}",
    "ui_tars_1_0": lambda a: f"Action: {ui_tars.written(a, (1000, 1000), ui_tars.POINT_1_0)}",
    "os_atlas_pro": lambda a: atlas_reply(os_atlas_pro.written(a)),
    "gui_r1": lambda a: f"<answer>{gui_r1.written(a, (1092, 2408))}</answer>",
    "ui_venus_1_5": lambda a: ui_venus.written(a),
    "mai_ui": lambda a: import_module("models.recipes.steps.mai_ui").written(a),
    "gui_owl_1_5": lambda a: import_module("models.recipes.steps.gui_owl").written(a),
    "step_gui": lambda a: step_gui.written(a),
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize(
    "annotated",
    [
        {"action": "click", "coordinate": [540, 1200]},
        {"action": "long_press", "coordinate": [540, 1200]},
        {"action": "swipe", "direction": "down"},
        {"action": "swipe", "direction": "left"},
        {"action": "type", "text": "it's (ok)"},
        {"action": "open", "text": "My Mail"},
        {"action": "system_button", "button": "Back"},
        {"action": "wait", "time": 1},
    ],
)
def test_a_recorded_action_that_a_family_is_told_is_one_that_it_could_havewritten(name, annotated):
    action = recorded(annotated, WH)
    reading = read(name, WRITERS[name](action))
    if name == "step_gui" and annotated["action"] == "system_button":
        assert reading is None  # it has no word for it
        return
    expected = step_action(action, WH).as_json()
    if "start" in reading:
        (_, y1), (_, y2) = reading["start"], reading["end"]
        finger = "up" if y2 < y1 else "right"
        assert finger == {"down": "up", "left": "right"}[annotated["direction"]]
        return
    assert reading.pop("point", None) == pytest.approx(expected.pop("point", None), abs=2e-3)
    assert reading == expected


# -- the authors' own cases -----------------------------------------------------------------------

DIFFERENT = {  # where another reading is the right one, and why
    ("os_atlas_pro", "CLICK"): "the kind is read, the point is not",
    ("os_atlas_pro", "[[50.4, 70.2]]"): "the authors read the digits as 50 and 4",
    ("infigui_r1", '"Menu"'): "Menu is the background menu, as the tool's text says",
    ("ui_s1", '"Menu"'): "the same",
    ("ui_s1", '"Back."'): "no such button",
    ("gui_r1", "'complete'"): "a failure for which the format has no word",
}


@pytest.mark.skipif(not step_cases.OFFICIAL.is_dir(), reason="the cases are not beside the project")
@pytest.mark.parametrize(
    ("official", "name", "count"),
    [
        ("os_atlas", "os_atlas_pro", 851),
        ("qwen", "ui_s1", 836),
        ("infigui_r1", "infigui_r1", 836),
        ("agentcpm", "agentcpm_gui", 756),
        ("gui_r1", "gui_r1", 517),
    ],
)
def test_replies_of_the_authors_evaluations_are_read_as_the_actions_they_are(official, name, count):
    _, cases = step_cases.official(official)
    assert len(cases) == count
    different = []
    for case in cases:
        size = case.get("width"), case.get("height")
        size = WH if None in size else size
        reading = step_action(function(name, "parse")(case["reply"], {"file_size": [*size]}), size)
        expected = step_cases.action_of(case)
        if not is_same(reading, expected):
            different.append(case["reply"])
    known_texts = [text for family, text in DIFFERENT if family == name]
    assert [reply for reply in different if not any(text in reply for text in known_texts)] == []
    assert len(different) <= 6


def is_same(reading, expected):
    """Whether two actions are the same, points to a per mille, a drag by the way it goes."""
    if reading is None or expected is None:
        return reading is expected
    names = ("kind", "text", "button", "status")
    if any(getattr(reading, name) != getattr(expected, name) for name in names):
        return False
    if reading.start and expected.direction:
        (x1, y1), (x2, y2) = reading.start, reading.end
        sides = ("left", "right") if abs(x2 - x1) > abs(y2 - y1) else ("up", "down")
        is_first = (x2 if sides[0] == "left" else y2) > (x1 if sides[0] == "left" else y1)
        return expected.direction == sides[0 if is_first else 1]
    if reading.direction != expected.direction:
        return False
    names = ("point", "start", "end")
    pairs = [(getattr(reading, name), getattr(expected, name)) for name in names]
    return all(a == b if None in (a, b) else a == pytest.approx(b, abs=1.001e-3) for a, b in pairs)


# -- configs and runs -----------------------------------------------------------------------------

AC = {"benchmark": "AndroidControl", "rows": "official"}
URL = "{url}?api_key=test-key-123456&model="


def recorded_set(stage):
    """An episode of two steps with screenshots of 540x1200, whose grid is 532x1204."""
    folder = stage.root / "AndroidControl"
    (folder / "images").mkdir(parents=True)
    steps = [
        {
            "check_options": {
                "action": "click",
                "coordinate": [135, 600],
                "candidate_bbox": [[77, 555, 144, 666]],
            },
            "step_instruction": "tap the first field",
        },
        {"check_options": {"action": "type", "text": "hello"}, "step_instruction": "write it"},
    ]
    for number in range(2):
        Image.new("L", (540, 1200), 40 * number).save(folder / "images" / f"7_{number}.png")
    episode = {"episode_id": 7, "goal": "Greet Ann", "is_successful": True, "steps": steps}
    (folder / "android_control_test.jsonl").write_text(json.dumps(episode), encoding="utf-8")


RIGHT = {
    "qwen2_5_vl": tool(action="click", coordinate=[133, 602]),
    "qwen3_vl": tool(words="Thought: x\nAction: tap\n", action="click", coordinate=[250, 500]),
    "ui_tars_1_5": "Thought: x\nAction: click(point='<point>133 602</point>')",
    "ui_tars_1_0": "Action: click(start_box='<|box_start|>(250,500)<|box_end|>')",
    "os_atlas_pro": atlas_reply("CLICK <point>[[250,500]]</point>"),
    "infigui_r1": tool(think="<think>x</think>\n", action="click", coordinate=[133, 602]),
    "gui_r1": r1_reply("click", (133, 602)),
    "ui_venus_1_5": venus_reply("Click(box=(250,500))"),
    "mai_ui": mai_reply(action="click", coordinate=[250, 500]),
    "gui_owl_1_5": tool(words="Action: tap\n", action="click", coordinate=[250, 500]),
    "agentcpm_gui": '{"thought":"x","POINT":[250,500]}',
    "step_gui": step_reply("CLICK\tpoint:250,500"),
    "ui_s1": s1_reply(action="click", coordinate=[133, 602]),
}
PAIRS = list(zip(list(RIGHT)[::2], [*list(RIGHT)[1::2], "qwen2_5_vl"], strict=True))


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_two_lines_of_a_config_ask_a_family_in_its_words_and_read_its_replies(staged, pair):
    stage = staged(answer=lambda request: Reply(RIGHT[request.body["model"]]))
    recorded_set(stage)
    low = pair[0] in ("ui_tars_1_5", "os_atlas_pro", "gui_r1", "agentcpm_gui")
    data = {"AC": {**AC, "level": "low" if low else "high", "history": "own"}}
    models = {name: {"recipe": name, "model_path": URL + name} for name in pair}
    result = stage.evaluate(models, "--no-report", data=data)
    assert result.code == 0, result.output
    assert len(result.requests) == 4
    for name in pair:
        bodies = [r.body for r in result.requests if r.body["model"] == name]
        settings = STEPS[name].generate_cfg or all_recipes()[name].generate_cfg
        assert bodies[0]["temperature"] == settings["temperature"]
        assert bodies[0]["max_tokens"] == settings["max_tokens"]
        dumped = [json.dumps(body["messages"], ensure_ascii=False) for body in bodies]
        assert ("tap the first field" in dumped[0]) is low
        assert ("Greet Ann" in dumped[0]) is not (low and name in ("agentcpm_gui", "gui_r1"))
        assert "555" not in "".join(dumped) and "hello" not in "".join(dumped)
        if name in ("qwen2_5_vl", "infigui_r1"):
            assert "resolution is 532x1204." in dumped[0]
        [samples] = stage.folder(name).glob("*_samples.jsonl")
        _, *lines = map(json.loads, samples.read_text(encoding="utf-8").splitlines())
        assert [line["hit"] for line in lines] == [1, 0]
        assert lines[0]["point_frac"] == pytest.approx([0.25, 0.5], abs=1e-3)


def test_a_recipe_without_a_form_for_steps_is_one_message_before_the_run(staged):
    stage = staged()
    recorded_set(stage)
    models = {"m": {"recipe": "gta1", "model_path": URL + "m"}}
    result = stage.evaluate(models, data={"AC": AC})
    assert (result.code, result.requests) == (2, [])
    message = "recipe: GTA1 has no form for recorded steps, which data.AC needs. Name a "
    assert result.output.count(message) == 1 and "1 problem. Nothing was run." in result.output


def test_a_form_of_phones_is_not_named_for_the_steps_of_a_desktop(staged):
    models = {"m": {"recipe": "agentcpm_gui", "model_path": URL + "m"}}
    result = staged().evaluate(models, data={"AgentNetBench": {}})
    assert (result.code, result.requests) == (2, [])
    message = "has no form for recorded steps of a desktop, which data.AgentNetBench needs"
    assert result.output.count(message) == 1
    assert "benchmarks.actions.dialects.parse_pyautogui" in result.output


def test_a_prompt_of_the_users_own_stands_in_for_a_form(staged):
    stage = staged(
        """
        def ask(line, dataset):
            return [{"role": "user", "type": "text", "value": line["goal"]}]
        """,
        answer=lambda _: Reply("click(0.25, 0.5)"),
    )
    recorded_set(stage)
    entry = {"recipe": "gta1", "model_path": URL + "m", "custom_prompt": {"AC": "mymodel.ask"}}
    result = stage.evaluate({"m": entry}, "--no-report", data={"AC": AC})
    assert result.code == 0, result.output


def test_a_recipe_of_steps_alone_does_not_answer_for_points(staged):
    models = {"m": {"recipe": "gui_r1", "model_path": URL + "m"}}
    result = staged().evaluate(models, data={"GUIElementGrounding": {"mode": "all"}})
    assert result.code == 2
    assert "GUI-R1 has no form for questions for a point" in result.output


def test_points_and_steps_in_one_config_have_a_form_each_and_the_settings_of_points():
    recipe = all_recipes()["qwen2_5_vl"]
    benchmarks = {"GUIElementGrounding": "GUIElementGrounding", "AC": "AndroidControl"}
    entry = recipe.entry("openai", "models.recipes.qwen2_5_vl", benchmarks, {"AC": "steps"})
    assert entry["custom_prompt"] == {
        "GUIElementGrounding": "models.recipes.qwen2_5_vl.build_prompt",
        "AC": "models.recipes.steps.qwen2_5_vl.build_step_prompt",
    }
    assert entry["generate_cfg"]["max_tokens"] == 100
    assert recipe.other_data_sets(benchmarks, {"AC": "steps"}) == ["AC"]
    alone = recipe.entry(
        "openai", "models.recipes.qwen2_5_vl", {"AC": "AndroidControl"}, {"AC": "steps"}
    )
    assert alone["generate_cfg"]["max_tokens"] == 512
    assert recipe.other_data_sets({"AC": "AndroidControl"}, {"AC": "steps"}) == []


def test_a_benchmark_of_the_users_own_is_known_for_steps(staged):
    stage = staged(
        """
        from benchmarks.steps.android_control import AndroidControl

        class Mine(AndroidControl):
            pass
        """,
    )
    recorded_set(stage)
    models = {"m": {"recipe": "qwen3_vl", "model_path": URL + "m"}}
    result = stage.evaluate(models, "--check", data={"Mine": {"benchmark": "mymodel.Mine"}})
    assert "models.recipes.steps.qwen3_vl.parse_step" in result.output


def test_the_documented_form_of_a_recipe_of_the_users_own_works(staged):
    stage = staged(answer=lambda _: Reply("at <p>250,500</p>"))
    recorded_set(stage)
    text = (PROJECT / "docs" / "recipes.md").read_text(encoding="utf-8")
    recipe, _, functions = (part.partition("```")[0] for part in text.split("```python\n")[1:])
    form = 'steps=Steps(source="the model card", history="none"),'
    recipe = recipe.replace("RECIPE = Recipe(", f"RECIPE = Recipe(\n    {form}")
    recipe = recipe.replace("Recipe, image_and_text", "Recipe, Steps, image_and_text")
    stage.module(f"{functions}\n{recipe}", name="acme")
    models = {"m": {"recipe": "acme", "model_path": URL + "m"}}
    result = stage.evaluate(models, "--no-report", data={"AC": AC})
    assert result.code == 0, result.output
    [samples] = stage.folder().glob("*_samples.jsonl")
    _, *lines = map(json.loads, samples.read_text(encoding="utf-8").splitlines())
    assert [line["hit"] for line in lines] == [1, 0]


def test_forms_for_steps_are_listed(capsys):

    evaluate.main(["--recipes"])
    printed = capsys.readouterr().out
    assert printed.count("recorded steps") == len(STEPS)
    evaluate.main(["--recipes", "infigui_r1"])
    recipe = capsys.readouterr().out
    assert "models.recipes.infigui_r1.build_step_prompt" in recipe and "history: actions" in recipe

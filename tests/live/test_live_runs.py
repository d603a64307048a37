"""L3 and L4 through `evaluate.py`: a scripted server acts in a small world."""

import contextlib
import csv
import io
import json
import re
import shutil
from pathlib import Path

import pytest
from PIL import Image

from benchmarks.l3_task_automation import GUITaskAutomation
from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model
from tests.support.stage import Stage, answer_records, read_log_lines
from tests.support.standin import ENVIRONMENT, WH, Boxes, agent, solve
from utils.comparing.boards import boards_of, notes_of
from utils.comparing.files import flips_csv
from utils.comparing.pairing import compare
from utils.comparing.runs import read_runs
from utils.comparing.words import as_text
from utils.contracts import WorldError
from utils.findings import findings_of
from utils.pages.comparison import write_page
from utils.pages.data_files import value_of

L3, L4 = "GUITaskAutomation", "GUITaskCollaboration"
TASKS, STEPS = 4, 7  # of one seed; a solver needs 2, 3, 1 and 1


@pytest.fixture(autouse=True)
def fresh_boxes(monkeypatch):
    Boxes.made_counts.clear()
    monkeypatch.setattr(Boxes, "fails", Boxes.fails)


@pytest.fixture
def bench(tmp_path):
    """Makes a bench for a server that answers as `answer` says; keys go to the data of L3."""
    with contextlib.ExitStack() as servers:

        def made(answer=agent, **settings):
            server = servers.enter_context(MockServer(answer))
            data = {L3: {"environment": ENVIRONMENT, **settings}}
            return Stage(tmp_path, server, {"m": api_model(server.url)}, data)

        yield made


def scores_of(bench, level=L3):
    return json.loads((bench.folder() / f"m_{level}_score.json").read_text())


def episodes_of(bench, level=L3):
    """What each episode returned, by its task."""
    records = read_log_lines(bench.folder() / f"m_{level}.jsonl")
    return {
        record["line"]["task_id"].removeprefix("environment/"): record
        for record in records
        if record["kind"] == "episode"
    }


def module(bench, text):
    """A module of the user's called `mine`."""
    bench.code.mkdir(exist_ok=True)
    shutil.rmtree(bench.code / "__pycache__", ignore_errors=True)  # of the same second
    (bench.code / "mine.py").write_text(text)


def saying(text):
    return lambda request: Reply(text)


# -- an episode -----------------------------------------------------------------------------------


def test_an_agent_that_solves_every_task_gets_them_all(bench):
    stage = bench(max_steps=20, seeds=[0, 1])
    stage.data[L4] = stage.data[L3]
    ran = stage.run("--worlds", "2")
    assert ran.code == 0, ran.output
    for level in (L3, L4):
        scores = scores_of(stage, level)
        assert scores["Max step 15"]["SR"] == scores["Max step 20"]["SR"] == 100
        assert (scores["Total num"], scores["Max step 15"]["Mean steps"]) == (8, 1.75)
    assert Boxes.made_counts["opened"] == Boxes.made_counts["closed"] <= 4
    assert "SR 15" in ran.output and "100.00" in ran.output
    assert "queried 8 (8 new)" in ran.output
    assert ran.output.count("no 95 % intervals in the table: fewer than 10 tasks per cell") == 2
    summary = value_of((stage.folder() / "report" / "data" / "summary_0.js").read_text("ascii"))
    assert [
        (entry["unit"], entry["samples"], entry["pictures"]) for entry in summary["datasets"]
    ] == [("task", 8, TASKS)] * 2
    assert ("Episodes", "16 in 8 tasks") in [
        (entry["name"], entry["text"]) for entry in summary["facts"]
    ]


def test_each_prompt_has_the_task_and_the_last_three_screens_between_all_replies(bench):
    stage = bench(tasks=["environment/none"], max_steps=5)
    replies = [f"Thought: {word}.\nAction: wait(0)" for word in ("One", "Two", "Three", "Four")]
    replies_left = iter([*replies, 'Action: fail("no")'])
    stage.server.answer = lambda request: Reply(next(replies_left))
    requests = stage.run().requests
    assert [len(request.pictures) for request in requests] == [1, 2, 3, 3, 3]
    task, *conversation = requests[-1].text.split("Task: ")[1].splitlines()
    assert task == "Click the purple box."
    omitted = "(The screenshot of this step is no longer shown.)"
    unchanged = "The screen is still the same."
    expected = [omitted, *replies[0].splitlines(), unchanged]
    expected += [omitted, *replies[1].splitlines(), unchanged]
    expected += [*replies[2].splitlines(), unchanged, *replies[3].splitlines(), unchanged]
    assert conversation == expected
    assert "of at most" not in requests[-1].text


def test_earlier_screenshots_are_shown_as_many_as_the_config_says(bench):
    stage = bench(tasks=["environment/two"], history_images=1)
    pictures = [request.pictures for request in stage.run().requests]
    assert [len(shown_images) for shown_images in pictures] == [1, 2, 2]
    assert [shown_images[0] for shown_images in pictures[1:]] == [
        shown_images[-1] for shown_images in pictures[:2]
    ]


def test_the_number_of_the_step_is_told_on_demand(bench):
    stage = bench(tasks=["environment/two"], max_steps=9, tell_steps=True)
    texts = [request.text for request in stage.run().requests]
    assert [text.splitlines()[-1] for text in texts] == [
        f"This is step {number} of at most 9." for number in (1, 2, 3)
    ]


@pytest.mark.parametrize(
    ("actions", "note"),
    [
        (["wait(0)"], "The screen is still the same."),
        (["wait(0)"] * 2, "wait(0): The screen is still the same."),
        (["wait(0)"] * 5, "wait(0): The screen is still the same."),
        (
            ["click(0.001, 0.001)", "wait(0)", "wait(0)"],
            "click(0.001, 0.001): The screen did not change.\nwait(0): The screen is still the same.",
        ),
        (["wait(0)", "click(0.001, 0.001)"], "click(0.001, 0.001): The screen did not change."),
    ],
)
def test_of_waits_one_after_the_other_only_the_last_has_a_note(bench, actions, note):
    reply = "\n".join(f"Action: {action}" for action in actions)
    replies_left = iter([reply, "Action: done()"])
    stage = bench(lambda request: Reply(next(replies_left)), tasks=["environment/two"])
    text = stage.run().requests[-1].text
    assert text.endswith(f"{reply}\n{note}")


def test_several_actions_are_done_up_to_the_first_that_fails(bench):
    reply = """Thought: all at once.
Action: click(0.2, 0.2)
Action: wait(0)
Action: click(0.001, 0.001)
Action: open_app("Mail")
Action: click(0.5, 0.2)
Action: done()"""
    replies_left = iter([reply, "Action: click(0.5, 0.2)", "Action: done()"])
    stage = bench(lambda request: Reply(next(replies_left)), tasks=["environment/two"])
    ran = stage.run()
    notes = """click(0.001, 0.001): The screen did not change.
open_app("Mail"): There is no application Mail
click(0.500, 0.200): Not done, because the action before it failed.
done(): Not done, because the action before it failed."""
    assert ran.requests[1].text.endswith(f"{reply}\n{notes}")
    episode = episodes_of(stage)["two"]["returned"]
    assert (episode["success"], episode["ended"], episode["steps"]) == (True, "done", 3)
    assert [len(step["actions"]) for step in episode["trajectory"]] == [4, 1, 1]
    [row] = stage.sheet(L3, "_result")
    assert (row["steps"], row["action_count"]) == (3, 6)


@pytest.mark.parametrize(("max_tokens", "steps"), [(10, 1), (11, 2), (20, 2), (30, 3), (1000, 5)])
def test_an_episode_is_over_when_it_has_used_its_tokens(bench, max_tokens, steps):
    stage = bench(saying("Action: wait(0)"), tasks=["environment/one"], max_steps=5)
    stage.data[L3]["max_tokens_per_episode"] = max_tokens  # a request and its reply have 10
    assert stage.run().code == 0
    episode = episodes_of(stage)["one"]["returned"]
    assert (episode["ended"], episode["steps"]) == ("budget", steps)


@pytest.mark.parametrize(
    ("reply", "task", "end_reason", "steps", "hit"),
    [
        ("Action: done()", "one", "done", 1, False),
        ("Action: done()", "none", "done", 1, False),
        ('Action: fail("no")', "none", "fail", 1, True),
        ('Action: fail("no")', "one", "fail", 1, False),
        ('Action: answer("3")', "count", "answer", 1, True),
        ('Action: answer("4")', "count", "answer", 1, False),
        ("Action: wait(0)", "one", "budget", 5, False),
        ("I do not know.", "one", "unread", 3, False),
        ("<html>" * 200_000, "one", "unread", 3, False),
        ("Action: " + "click(0.2, 0.2); " * 1000, "one", "unread", 3, False),
        ("Action: click(0.2, 0.2); done()", "one", "done", 1, True),
        ("Action: click(64, 36); done(); click(0.5, 0.2)", "one", "done", 1, True),  # over is over
        ("Action: click(0.2, 0.2); click(0.5, 0.2); done()", "one", "done", 1, False),  # too much
    ],
)
def test_how_an_episode_ends(bench, reply, task, end_reason, steps, hit):
    stage = bench(saying(reply), tasks=[f"environment/{task}"], max_steps=5)
    assert stage.run().code == 0
    episode = episodes_of(stage)[task]["returned"]
    assert (episode["ended"], episode["steps"], episode["success"]) == (end_reason, steps, hit)
    assert scores_of(stage)["Max step 5"]["SR"] == 100 * hit


def test_a_reply_without_an_action_is_told_so(bench):
    replies = iter(
        ["Let me think.", "Action: tap(0.2, 0.2)", 'Action: open_app("Mail")', "Action: done()"]
    )
    stage = bench(lambda request: Reply(next(replies)), tasks=["environment/one"])
    conversation = stage.run().requests[-1].text.partition("Task: ")[2]
    assert conversation.splitlines()[2:] == [
        "Let me think.",
        "No action could be read in this reply",
        "Action: tap(0.2, 0.2)",
        "No action could be read in this reply: unknown action 'tap'",
        'Action: open_app("Mail")',
        "There is no application Mail",
    ]


def test_a_click_off_the_screen_is_told_and_done_at_its_edge(bench):
    replies = iter(["Action: click(3200, -20)", "Action: drag(0.5, 0.5, 0.9, -0.1)", "done()"])
    stage = bench(lambda request: Reply(next(replies)), tasks=["environment/one"])
    conversation = stage.run().requests[-1].text.partition("Task: ")[2]
    lies_off = "is off the screen of 320x180 pixels; the nearest point on it was taken."
    unchanged = "The screen did not change."
    assert conversation.splitlines()[1:] == [
        "Action: click(3200, -20)",
        f"The point (3200, -20) {lies_off} {unchanged}",
        "Action: drag(0.5, 0.5, 0.9, -0.1)",
        f"The point (288, -18) {lies_off} {unchanged}",
    ]
    first, *_ = episodes_of(stage)["one"]["returned"]["trajectory"]
    assert first["actions"] == [{"kind": "click", "point": [0.9999, 0.0]}]


def test_a_click_without_a_point_is_done_where_the_mouse_is(bench):
    actions = [
        {"action": "left_click"},  # nowhere yet
        {"action": "mouse_move", "coordinate": [64, 36]},
        {"action": "wait", "time": 0},
        {"action": "left_click"},
        {"action": "terminate", "status": "success"},
    ]
    replies = iter(map(json.dumps, actions))
    stage = bench(
        lambda request: Reply(next(replies)),
        tasks=["environment/one"],
        parse_function="benchmarks.actions.dialects.parse_computer_use",
    )
    ran = stage.run()
    episode = episodes_of(stage)["one"]["returned"]
    assert "click without point, and the mouse has not been moved" in ran.requests[1].text
    assert episode["trajectory"][3]["actions"] == [{"kind": "click", "point": [0.2, 0.2]}]
    assert episode["success"]


def test_the_log_keeps_every_turn_and_the_episode_what_was_seen_and_done(bench):
    stage = bench(tasks=["environment/two"])
    stage.run()
    log = stage.folder() / f"m_{L3}.jsonl"
    assert [record["raw"].split("Action: ")[1] for record in answer_records(log)] == [
        "click(0.200, 0.200)",
        "click(0.500, 0.200)",
        "done()",
    ]
    episode = episodes_of(stage)["two"]["returned"]
    assert episode["trajectory"][0]["actions"] == [{"kind": "click", "point": [0.2, 0.2]}]
    assert episode["checks"] == [[True, "clicked: ['red', 'green']"]]
    shots = {step["image_path"] for step in episode["trajectory"]} | {episode["last_image"]}
    assert {path.name for path in (stage.folder() / "screenshots").iterdir()} == shots
    [row] = stage.sheet(L3, "_result")
    assert (row["task_id"], row["success"], row["steps"], row["checks"]) == (
        "environment/two",
        1,
        3,
        "✓ clicked: ['red', 'green']",
    )


# -- which tasks ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "tasks"),
    [
        ({}, {"one", "two", "count", "none"}),
        ({"platforms": ["os_android"]}, {"two"}),
        ({"tasks": ["environment/o*", "*none"]}, {"one", "none"}),
    ],
)
def test_the_config_says_which_tasks(bench, settings, tasks):
    stage = bench(**settings)
    assert stage.run().code == 0
    assert set(episodes_of(stage)) == tasks


class OddlyNamed:
    """An environment whose tasks have marks in their names."""

    @staticmethod
    def tasks(level, seeds):
        names = ("lamp[1]", "lamp1", "lamp?", "lamps")
        facts = {"goal": "Do it.", "platform": "os_web", "category": "create"}
        return [{"id": name, **facts} for name in names]


@pytest.mark.parametrize(
    ("pattern", "tasks"),
    [
        ("environment/lamp[1]", ["lamp[1]"]),
        ("environment/lamp?", ["lamp?"]),
        ("environment/lamp[*", ["lamp[1]"]),
        ("*lamp*", ["lamp[1]", "lamp1", "lamp?", "lamps"]),
    ],
)
def test_a_star_is_the_only_mark_in_a_pattern_of_tasks(pattern, tasks):
    benchmark = GUITaskAutomation(Path(), Path())
    benchmark.configure({"environment": OddlyNamed, "tasks": [pattern]})
    samples, _ = benchmark.load("all")
    assert [sample.line["task_id"] for sample in samples] == [f"environment/{t}" for t in tasks]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (
            {"tasks": ["environment/on"]},
            'tasks: there is no task "environment/on"; did you mean "environment/one"?',
        ),
        ({"tasks": ["*two"], "platforms": ["os_web"]}, "no task matches all of its keys"),
    ],
)
def test_tasks_that_do_not_exist_stop_the_run(bench, settings, why):
    stage = bench(**settings)
    ran = stage.run()
    assert (ran.code, ran.requests) == (2, [])
    assert f"data.{L3}" in ran.output and why in ran.output


# -- the house's own ways -------------------------------------------------------------------------


def test_a_check_begins_one_task_and_asks_nothing(bench):
    ran = bench().run("--check")
    assert (ran.code, ran.requests) == (0, []), ran.output
    assert f"{L3}: {TASKS} samples, mode all" in ran.output
    assert f"{L3}: {TASKS} episodes to play ({TASKS} new)" in ran.output
    assert "Task: Click the red box." in ran.output
    assert Boxes.made_counts["opened"] == Boxes.made_counts["closed"] == 1


def test_a_ping_shows_one_reply_to_a_task_that_was_begun(bench):
    ran = bench(saying("Action: wait(0)")).run("--check", "--ping")
    assert (ran.code, len(ran.requests)) == (0, 1), ran.output
    assert "reply: 'Action: wait(0)'\n  read as: wait(0)\n" in ran.output
    assert f"image: file {WH[0]}x{WH[1]}" in ran.output
    assert Boxes.made_counts["opened"] == Boxes.made_counts["closed"] == 2


TOOL = '<tool_call>{"name": "computer_use", "arguments": {"action": "key", "keys": ["enter"]}}'
COMPUTER_USE = "benchmarks.actions.dialects.parse_computer_use"
USE_IT = f'set data.{L3}.parse_function: "{COMPUTER_USE}", which reads'


@pytest.mark.parametrize(
    ("reply", "parser", "why"),
    [
        (TOOL, "actions", f"no action could be read by {{}}; {USE_IT} 1 of them"),
        ("Action: done()", "uitars", "by {}: unknown action 'done'"),
        ("Action: done()", "uitars", 'dialects.parse_actions", which reads 1 of them'),
        (
            "I cannot see it.",
            "actions",
            f"send the prompt that the model needs (custom_prompt), or write a parse function (docs/functions.md), and set data.{L3}.parse_function",
        ),
    ],
)
def test_a_ping_in_which_no_action_can_be_read_is_a_problem(bench, reply, parser, why):
    function = f"benchmarks.actions.dialects.parse_{parser}"
    ran = bench(saying(reply), parse_function=function).run("--check", "--ping")
    assert ran.code == 2, ran.output
    assert why.format(function) in ran.stderr
    assert "1 problem." in ran.stderr


def test_a_ping_reads_actions_as_the_config_says(bench):
    ran = bench(saying(TOOL), parse_function=COMPUTER_USE).run("--check", "--ping")
    assert (ran.code, '  read as: press("enter")\n' in ran.output) == (0, True), ran.output


def test_replies_of_a_computer_tool_under_another_parser_name_its_own(bench):
    stage = bench(saying(TOOL))
    ran = stage.run()
    assert f"{USE_IT} {TASKS} of them" in ran.output
    analysis = json.loads((stage.folder() / f"m_{L3}_analysis.json").read_text())
    [finding] = findings_of("replies", analysis["replies"])
    assert COMPUTER_USE in finding.text


def test_a_check_says_once_that_a_prompt_function_fails(bench):
    stage = bench()
    module(stage, "def prompt(line, dataset):\n    return line['no_such_key']\n")
    stage.model["m"]["custom_prompt"] = {L3: "mine.prompt"}
    ran = stage.run("--check", "--worlds", "1")
    assert (ran.code, ran.requests) == (2, [])
    what = "index 0 on environment/one: prompt function raised KeyError: 'no_such_key'"
    assert ran.output.count(what) == 1
    assert Boxes.made_counts["opened"] == Boxes.made_counts["closed"] == 1


def test_what_a_world_misses_is_said_before_anything_runs(bench, monkeypatch):
    problems = staticmethod(lambda: ["no browser; install one"])
    monkeypatch.setattr(Boxes, "problems", problems, raising=False)
    ran = bench().run("--check")
    assert (ran.code, ran.requests) == (2, [])
    assert f"{L3}: no browser; install one" in ran.output


def test_finished_episodes_are_not_played_again_unless_what_decides_them_changes(bench):
    stage = bench()
    assert len(stage.run("--limit", "2").requests) < STEPS
    first = len(stage.server.requests)
    assert first + len(stage.run().requests) == STEPS
    assert stage.run().requests == []
    assert stage.run("--mode", "eval").code == 0
    stage.data[L3]["max_steps"] = 40
    assert len(stage.run().requests) == STEPS
    stage.model["m"]["kwargs"] = {"system_prompt": "Act."}
    assert len(stage.run().requests) == STEPS
    assert len(stage.run("--fresh").requests) == STEPS


def test_a_world_that_crashes_costs_one_try_and_twice_is_a_failure_of_the_world(bench):
    Boxes.fails = staticmethod(lambda task, attempt: task.endswith("/one") and attempt == 1)
    stage = bench()
    assert stage.run().code == 0
    assert scores_of(stage)["Max step 50"]["SR"] == 100
    Boxes.fails = staticmethod(lambda task, attempt: task.endswith("/one"))
    ran = stage.run("--fresh")
    assert ran.code == 1
    assert "1 x world: step: RuntimeError: the page crashed" in ran.output
    assert scores_of(stage)["Max step 50"]["Correct num"] == TASKS - 1
    assert episodes_of(stage)["one"]["status"] == "failed"


def test_a_world_that_fails_twice_by_an_action_ends_the_episode_as_a_miss(bench, monkeypatch):
    failure = WorldError("the page hangs", "", by_action=True)
    monkeypatch.setattr(Boxes, "failure", failure)
    Boxes.fails = staticmethod(lambda task, attempt: task.endswith("/one"))
    stage = bench()
    ran = stage.run()
    assert ran.code == 0
    assert scores_of(stage)["Max step 50"]["Correct num"] == TASKS - 1
    record = episodes_of(stage)["one"]
    returned = record["returned"]
    assert (record["status"], returned["ended"], returned["success"]) == ("ok", "crash", False)
    assert returned["trajectory"][-1]["note"].startswith("The world failed by this: ")
    assert stage.run().requests == []  # and it is over for good


def test_a_world_that_fails_by_an_action_once_is_played_again(bench, monkeypatch):
    failure = WorldError("the page hangs", "", by_action=True)
    monkeypatch.setattr(Boxes, "failure", failure)
    Boxes.fails = staticmethod(lambda task, attempt: task.endswith("/one") and attempt == 1)
    stage = bench()
    assert stage.run().code == 0
    assert scores_of(stage)["Max step 50"]["SR"] == 100


# -- the user's functions -------------------------------------------------------------------------

WITH_AN_EXAMPLE = """
def prompt(line, dataset):
    images = {order}
    return [*({{"role": "user", "type": "image", "value": image}} for image in images),
            {{"role": "user", "type": "text", "value": line["instruction"]}}]
"""


@pytest.mark.parametrize(
    "order", ["[EXAMPLE, line['image_path']]", "[line['image_path'], EXAMPLE]"]
)
def test_points_count_in_the_screen_whatever_images_the_prompt_shows_beside_it(
    bench, order, tmp_path
):
    Image.new("RGB", (1280, 400), "white").save(tmp_path / "example.png")
    click = {"action": "left_click", "coordinate": [64, 36]}  # of 320x180: a fifth of both
    stage = bench(
        saying(json.dumps(click)),
        tasks=["environment/one"],
        max_steps=2,
        parse_function="benchmarks.actions.dialects.parse_computer_use",
    )
    example = repr(str(tmp_path / "example.png"))
    module(stage, WITH_AN_EXAMPLE.format(order=order.replace("EXAMPLE", example)))
    stage.model["m"]["custom_prompt"] = {L3: "mine.prompt"}
    ran = stage.run()
    assert [len(request.pictures) for request in ran.requests] == [2, 2]
    steps = episodes_of(stage)["one"]["returned"]["trajectory"]
    assert [step["actions"][0]["point"] for step in steps] == [[0.2, 0.2]] * 2
    answers = answer_records(stage.folder() / f"m_{L3}.jsonl")
    sent = {"file": list(WH), "sent": list(WH), "seen": None}
    assert [answer["sizes"] for answer in answers] == [sent] * 2
    assert sorted(sizes["sent"] for sizes in answers[0]["image_sizes"]) == [list(WH), [1280, 400]]


FOUR = """
import re
SEEN = []

def prompt(line, dataset):
    SEEN.append((line["step"], [each["actions"] for each in line["history"]], line["image_size"]))
    told = [{"role": "assistant", "type": "text", "value": each["reply"]} for each in line["history"]]
    text = f"Task: {line['instruction']}\\n" + "\\n".join(f"{n}. done" for n in range(1, line["step"]))
    return [*told, {"role": "user", "type": "image", "value": line["image_path"]},
            {"role": "user", "type": "text", "value": text}]

def post(response, model, processor, **kwargs):
    return response.replace("Action", "ACT")

def parse(response, meta):
    assert meta["image_size"] == meta["file_size"] == "[320, 180]" and meta["task_id"]
    name, values = re.search(r"ACT: (\\w+)\\((.*)\\)", response).groups()
    numbers = [float(each) for each in re.findall(r"[\\d.]+", values)]
    if name == "click":
        return {"kind": "click", "point": numbers}
    return [{"kind": name, "text": values.strip('"')}]
"""


def test_the_four_functions_of_a_model_drive_an_episode(bench):
    stage = bench(parse_function="mine.parse")
    module(stage, FOUR)
    stage.model["m"] |= {"custom_prompt": {L3: "mine.prompt"}, "postprocess_function": "mine.post"}
    ran = stage.run()
    assert ran.code == 0, ran.output
    assert scores_of(stage)["Max step 50"]["SR"] == 100
    [last] = [
        request for request in ran.requests if "then" in request.text and "2. done" in request.text
    ]
    roles = [message["role"] for message in last.body["messages"]]
    module(stage, FOUR.replace("numbers}", "numbers }  # laid out anew"))
    assert stage.run().requests == []
    module(stage, FOUR.replace('"text": values', '"text": "3" or values'))
    assert len(stage.run().requests) == STEPS  # what reads replies decides how an episode goes
    assert roles == ["assistant", "assistant", "user"]  # two replies, then what the user says


def test_a_parse_function_that_raises_leaves_replies_unread_and_is_shown(bench):
    stage = bench(parse_function="mine.parse", tasks=["environment/one"])
    module(stage, "def parse(response, meta):\n    return meta['nothing']\n")
    ran = stage.run()
    assert ran.code == 1
    assert "1 x parse function raised KeyError: 'nothing' (mine.py, line 2)" in ran.output
    assert episodes_of(stage)["one"]["returned"]["ended"] == "unread"


def test_a_prompt_function_that_raises_fails_its_episode(bench):
    stage = bench(tasks=["environment/one"])
    module(stage, "def prompt(line, dataset):\n    return line['nothing']\n")
    stage.model["m"]["custom_prompt"] = {L3: "mine.prompt"}
    ran = stage.run()
    assert (ran.code, ran.requests) == (1, [])
    assert "1 x prompt function raised KeyError: 'nothing' (mine.py, line 2)" in ran.output


@pytest.mark.parametrize(
    ("dialect", "reply"),
    [
        ("actions_per_mille", "Action: click(200, 200)"),
        ("uitars_pixels", "Action: click(point='<point>64 36</point>')"),
        ("computer_use", '{"action": "left_click", "coordinate": [64, 36]}'),
    ],
)
def test_a_dialect_is_named_in_the_config(bench, dialect, reply):
    stage = bench(
        saying(reply),
        tasks=["environment/one"],
        max_steps=1,
        parse_function=f"benchmarks.actions.dialects.parse_{dialect}",
    )
    assert stage.run().code == 0
    assert episodes_of(stage)["one"]["returned"]["success"]


def test_pixels_of_a_smaller_image_count_in_what_was_sent(bench):
    stage = bench(
        saying('{"action": "left_click", "coordinate": [32, 18]}'),
        tasks=["environment/one"],
        max_steps=1,
        parse_function="benchmarks.actions.dialects.parse_computer_use",
    )
    stage.model["m"]["kwargs"] = {"img_size": 160}
    assert stage.run().code == 0
    assert episodes_of(stage)["one"]["returned"]["success"]


def test_two_models_are_compared_episode_by_episode(bench):
    stage = bench(
        lambda request: Reply(
            "Action: done()" if "weak" in str(request.body["model"]) else solve(request.text)
        )
    )
    weak = stage.model["m"] | {"model_path": stage.model["m"]["model_path"].replace("mock", "weak")}
    stage.model["n"] = weak
    ran = stage.run()
    assert ran.code == 0, ran.output
    table = ran.output.rpartition("\n\n")[2]
    assert re.search(r"SR 50", ran.output) and table
    assert "GUITaskAutomation · SR and EQA* in %, 95 % interval below" in ran.output
    comparison = compare(read_runs([stage.folder(model="m"), stage.folder(model="n")]))
    flips = {row["text"]: row for row in csv.DictReader(io.StringIO(flips_csv(comparison)))}
    two = flips["Click the red box, then the green box."]
    assert (two["right"], two["truth"]) == ("m", "clicked: ['red', 'green']")
    assert (two["baseline_read_as"], two["run_read_as"]) == (
        "done after 3 steps",
        "done after 1 step",
    )
    text = as_text(comparison, flips=TASKS)
    assert "right: clicked: ['red', 'green']" in text
    assert " sample" not in text.partition("A difference is B minus A")[0]
    # Categories are many: their tests are corrected for each other, and no official figures.
    [pair] = comparison.pairs
    assert [difference.group for difference in pair.headline] == ["overall"]
    assert [difference.group for difference in pair.subgroups] == [
        "os_android",
        "os_web",
        "update",
        "lookup",
        "infeasible",
    ]


def test_an_episode_that_failed_in_one_run_has_truth_and_screen_of_the_other(bench, tmp_path):
    stage = bench(tasks=["environment/one"])
    assert stage.run().code == 0
    stage.model = {"n": stage.model["m"]}
    Boxes.fails = staticmethod(lambda task, attempt: True)
    assert stage.run().code == 1
    comparison = compare(read_runs([stage.folder(), stage.folder(model="n")]))
    [row] = csv.DictReader(io.StringIO(flips_csv(comparison)))
    assert (row["right"], row["truth"]) == ("m", "clicked: ['red']")
    data = write_page(comparison, tmp_path / "page").parent / "comparison_files" / "data"
    [picture] = value_of((data / "summary_0.js").read_text("ascii"))["pictures"]
    assert picture["view"].startswith("../out/m/")
    assert value_of((data / "details0_0.js").read_text("ascii"))[0]["screen"] == "A"


def test_published_rows_stand_below_those_of_a_run_and_are_never_comparable(bench):
    stage = bench(tasks=["environment/one"])
    assert stage.run().code == 0
    published = {
        "source": {L3: "a paper"},
        L3: {"SR 50": {"Model P": {"os_web": 12.5, "Overall": 10.0}}},
    }
    runs = read_runs([stage.folder()])
    official, *boards = boards_of(runs, published)
    [by_platform] = [board for board in boards if board.split == "SR 50"]
    for board, cells in (
        (official, {"SR 50": 10.0}),
        (by_platform, published[L3]["SR 50"]["Model P"]),
    ):
        row = board.rows[-1]
        assert (row.name, row.mark) == ("Model P", "† published, not comparable")
        assert {name: cell["value"] for name, cell in row.cells.items()} == cells
    assert [board.split for board in boards] == [
        "SR 15",
        "EQA* 15",
        "SR 50",
        "EQA* 50",
        "false fail",
    ]
    assert "NOT COMPARABLE" in notes_of(runs, published)[-1]


def test_a_run_of_other_steps_has_their_figures_as_its_headline(bench):
    stage = bench(max_steps=12)
    assert stage.run().code == 0
    summary = (stage.folder() / "report" / "data" / "summary_0.js").read_text("utf-8")
    assert '"name":"SR 12"' in summary


def test_the_uitars_example_drives_both_levels_in_its_own_words(bench):
    from utils.coordinates import model_grid_wh

    grid = model_grid_wh({"image_size": list(WH)})

    def answer(request):
        reply_text = solve(
            request.text.replace("## User Instruction\n", "Task: ")
            + "\n1. " * sum(m["role"] == "assistant" for m in request.body["messages"])
        )
        numbers = re.search(r"click\((.*), (.*)\)", reply_text)
        if numbers:
            x, y = (
                round(float(fraction) * side)
                for fraction, side in zip(numbers.groups(), grid, strict=True)
            )
            reply_text = f"Thought: a box.\nAction: click(point='<point>{x} {y}</point>')"
        reply_text = reply_text.replace('answer("3")', "finished(content='3')").replace(
            "done()", "finished(content='')"
        )
        return Reply(re.sub(r'fail\("(.*)"\)', "call_user()", reply_text))

    stage = bench(answer, parse_function="benchmarks.actions.dialects.parse_uitars")
    stage.data[L4] = stage.data[L3]
    prompt = "models.api_uitars.build_agent_prompt"
    stage.model["m"] |= {
        "custom_prompt": {L3: prompt, L4: prompt},
        "kwargs": {"system_prompt": "model_default"},
    }
    ran = stage.run()
    assert ran.code == 0, ran.output
    assert (
        scores_of(stage, L3)["Max step 50"]["SR"]
        == scores_of(stage, L4)["Max step 50"]["SR"]
        == 100
    )
    for words in ("open_app(", "hotkey("):  # phones and computers have prompts of their own
        texts = [request.text for request in ran.requests if words in request.text]
        assert texts and all("\ncall_user() # End the task here if" in text for text in texts)
    last = next(r for r in ran.requests if "then" in r.text and len(r.pictures) == 3)
    assert [message["role"] for message in last.body["messages"]] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    first = [part["type"] for part in last.body["messages"][0]["content"]]
    assert first == ["text", "image_url"]
    assert "press_home()" in last.text  # the prompt for phones, as the task's platform is one

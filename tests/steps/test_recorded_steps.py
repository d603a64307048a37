"""Recorded steps through the whole program: what is asked, how it is scored, what is resumed."""

import json
import math
import shutil
import signal

import pytest

from benchmarks.actions.action import Action
from benchmarks.steps.action import StepAction
from benchmarks.steps.prompt import in_words
from benchmarks.steps.reading import step_action
from benchmarks.steps.truth import truth_of_step
from tests.steps.conftest import EPISODES, right, write_recorded
from tests.support.mock_server import Reply
from tests.support.runs import finish


def texts(run):
    """What was asked of each step, without the system prompt, in the order of the requests."""
    return [request.text.partition("right or lower edge.")[2].strip() for request in run.requests]


def samples_of(stage):
    """The lines of the samples file."""
    path = next(stage.folder().glob("*_samples*.jsonl"))
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()[1:]]


def test_right_answers_are_right_under_every_rule_and_the_protocol_stands_beside_the_figures(
    recorded,
):
    run = recorded.run("--no-report")
    assert run.code == 0, run.output
    assert "% by the rule os_atlas; rows official, level low, history none" in run.output
    assert "95 % intervals in the table: fewer than 10 episodes per cell" in run.output
    scores = recorded.scores("Steps")
    assert (scores["Type"], scores["Grounding"], scores["SR"]) == (100, 100, 100)
    others = {name: block["SR"] for name, block in scores["by_rule"].items()}
    assert others == {**dict.fromkeys(others, 100), "infigui_r1": 80}  # it asks for the finger
    assert scores["by_action"]["click"]["num_SR"] == 1
    assert (scores["Episodes"], scores["num_Episodes"], scores["Progress"]) == (100, 2, 100)


def test_an_answer_file_is_scored_by_another_rule_without_a_request(recorded):
    recorded.server.answer = lambda request: Reply("Action: click(0.5, 0.62)")
    recorded.run("--no-report")
    by_rule = recorded.scores("Steps")["by_rule"]
    assert (by_rule["os_atlas"]["SR"], by_rule["ui_s1"]["SR"]) == (20, 0)
    recorded.data["Steps"]["rule"] = "ui_s1"
    again = recorded.run("--no-report", "--mode", "eval")
    assert (again.code, again.requests, recorded.scores("Steps")["SR"]) == (0, [], 0)
    assert "by the rule ui_s1" in again.output


def test_a_scoring_by_another_rule_says_that_it_replaces_the_one_before(recorded):
    assert "scoring before was by" not in recorded.run().output
    recorded.data["Steps"]["rule"] = "qwen"
    again = recorded.run()
    assert "the score is by the rule qwen now; the scoring before was by os_atlas" in again.output
    summary = (recorded.folder() / "report" / "data" / "summary_0.js").read_text("utf-8")
    assert "figures by os_atlas are in the table" in summary
    assert "scoring before was by" not in recorded.run().output


TOLD = {  # what the third step of the first episode is told, by level and history
    ("high", "none"): "Task: Find a red shoe.",
    ("low", "none"): "Task: Find a red shoe.\n\nThe next step: type red shoe",
    ("high", "instructions"): (
        "Task: Find a red shoe.\n\n"
        "Steps before this one:\n1. open the shop\n2. click on the search field"
    ),
    ("high", "actions"): (
        "Task: Find a red shoe.\n\nSteps before this one:\n"
        '1. {"action": "open", "text": "Shoe Shop"}\n'
        '2. {"action": "click", "coordinate": [54, 120]}'
    ),
    ("high", "own"): (
        "Task: Find a red shoe.\n\nSteps before this one:\n"
        "1. Action: answer 1 to Find a red shoe.\n2. Action: answer 2 to Find a red shoe."
    ),
}


def numbered_answers():
    """Answers each step of an episode with its number, and its goal."""
    counts = {}

    def answer(request):
        goal = request.text.partition("Task: ")[2].partition("\n")[0]
        counts[goal] = counts.get(goal, 0) + 1
        return Reply(f"Action: answer {counts[goal]} to {goal}")

    return answer


@pytest.mark.parametrize(("level", "history"), TOLD)
def test_a_step_is_told_what_level_and_history_say_and_nothing_else(recorded, level, history):
    recorded.data["Steps"] |= {"level": level, "history": history}
    recorded.server.answer = numbered_answers()
    prompts = texts(recorded.run("--no-report", "--api-nproc", "1"))
    assert prompts[2] == TOLD[level, history]
    assert len(prompts) == 5


def waits(request):
    """Depends on the request alone."""
    return Reply(f"Action: wait({len(request.text) % 7})")


@pytest.mark.parametrize("killed_at", range(1, 6))
def test_own_replies_as_history_a_killed_run_goes_on_at_its_step(recorded, killed_at):
    recorded.data["Steps"] |= {"level": "high", "history": "own"}
    recorded.server.answer = waits
    recorded.run("--no-report", "--work-dir", str(recorded.home / "whole"))
    all_texts = {request.text for request in recorded.server.requests}
    recorded.server.requests.clear()

    def kill(request):
        if len(recorded.server.requests) == killed_at:
            process.kill()
        return waits(request)

    recorded.server.answer = kill
    process = recorded.start("--api-nproc", "1", "--no-report")
    assert finish(process).code == -signal.SIGKILL
    answered = {request.text for request in recorded.server.requests[: killed_at - 1]}
    recorded.server.answer = waits
    resumed_texts = {request.text for request in recorded.run("--no-report").requests}
    assert resumed_texts == all_texts - answered
    assert recorded.run("--no-report").requests == []
    scores = [
        json.loads(next(folder.rglob("*_score.json")).read_bytes())
        for folder in (recorded.home / "whole", recorded.work_dir)
    ]
    assert scores[0] == scores[1]


def test_behind_a_step_without_an_answer_an_episode_waits_for_the_next_run(recorded):
    recorded.data["Steps"] |= {"level": "high", "history": "own"}
    recorded.server.answer = lambda request: (
        Reply(status=400, body=b'{"error": {"message": "no"}}')
        if "red shoe" in request.text and "1. " in request.text
        else Reply("Action: wait(1)")
    )
    first = recorded.run("--no-report")
    statuses = {facts["id"]: facts["status"] for facts in samples_of(recorded)}
    assert first.code == 1
    assert statuses["episode_11_screenshot_1"] == "refused"
    assert statuses["episode_12_screenshot_1"] == "ok"


def copies_of_first_episode(recorded, count):
    """Replace the recorded episodes by so many of three steps."""
    shutil.rmtree(recorded.root / "AndroidControl")
    write_recorded(recorded.root, [{**EPISODES[0], "episode_id": n} for n in range(count)])


def test_a_prompt_function_that_fails_at_one_step_of_each_episode_stops_nothing(recorded):
    copies_of_first_episode(recorded, 12)
    recorded.data["Steps"] |= {"history": "own"}
    recorded.module("""
        def prompt(line, dataset):
            if line["step"] == 1:
                raise KeyError("a label")
    """)
    recorded.model["m"]["custom_prompt"] = {"Steps": "mymodel.prompt"}
    run = recorded.run("--no-report", "--api-nproc", "1")
    assert (len(run.requests), "in a row" in run.output) == (12, False), run.output


@pytest.mark.parametrize(
    ("status", "request_count", "expected_text"),
    [
        (403, 18, "10 samples in a row got HTTP 403"),
        (418, 20, "the server answered none of the first 20 samples"),
    ],
)
def test_steps_behind_one_without_an_answer_do_not_hide_that_everything_fails(
    recorded, status, request_count, expected_text
):
    copies_of_first_episode(recorded, 25)
    recorded.data["Steps"] |= {"history": "own"}
    answered_count = 8 if status == 403 else 0

    def answer(request):
        is_answered = len(recorded.server.requests) <= answered_count
        return right(request) if is_answered else Reply(status=status, body=b"no")

    recorded.server.answer = answer
    run = recorded.run("--no-report", "--api-nproc", "1", "--retry", "0")
    assert (run.code, len(run.requests)) == (1, request_count), run.output
    assert expected_text in run.stderr


def test_a_limit_takes_whole_episodes_where_replies_are_the_history(recorded):
    recorded.data["Steps"] |= {"history": "own"}
    run = recorded.run("--no-report", "--limit", "1")
    assert [facts["id"] for facts in samples_of(recorded)] == [
        "episode_11_screenshot_0",
        "episode_11_screenshot_1",
        "episode_11_screenshot_2",
    ]
    assert len(run.requests) == 3


def test_a_rule_of_the_users_decides_the_score(recorded):
    recorded.module(
        "def lenient(action, truth, size):\n"
        "    return True, None, action is not None and truth.action.kind == action.kind\n",
        "my_rules",
    )
    recorded.data["Steps"]["rule"] = "my_rules.lenient"
    run = recorded.run("--no-report")
    scores = recorded.scores("Steps")
    assert (run.code, scores["rule"], scores["SR"], scores["Grounding"]) == (
        0,
        "my_rules.lenient",
        100,
        None,
    )


def test_a_rule_of_the_users_gets_boxes_and_points_in_pixels_for_made_up_answers_too(recorded):
    recorded.module(
        "def boxed(action, truth, size):\n"
        "    is_click = truth.action.kind == 'click'\n"
        "    assert len(truth.boxes_px) == len(truth.boxes_frac)\n"
        "    assert not is_click or max(truth.point_px) > 1\n"
        "    return True, None, True\n",
        "my_rules",
    )
    recorded.data["Steps"]["rule"] = "my_rules.boxed"
    run = recorded.run("--no-report")
    assert (run.code, recorded.scores("Steps")["SR"]) == (0, 100)


def test_a_rule_of_the_users_may_return_truth_values_of_numpy(recorded):
    recorded.module(
        "import numpy as np\n"
        "def mine(action, truth, size):\n"
        "    return np.bool_(True), None, np.float32(1)\n",
        "my_rules",
    )
    recorded.data["Steps"]["rule"] = "my_rules.mine"
    run = recorded.run("--no-report")
    assert (run.code, recorded.scores("Steps")["SR"]) == (0, 100)


BROKEN_RULES = [
    ("return True, 0.5, True", "my_rules.mine returned (True, 0.5, True)"),
    ("return 0.5, None, True", "my_rules.mine returned (0.5, None, True)"),
    ("raise KeyError('box')", "my_rules.mine raised KeyError: 'box'"),
    ("return True, None, 3", "my_rules.mine returned (True, None, 3)"),
    ("return True, None", "my_rules.mine returned (True, None)"),
    ("return 'yes'", "my_rules.mine returned 'yes'"),
]


@pytest.mark.parametrize(("line", "message"), BROKEN_RULES)
def test_a_rule_of_the_users_that_fails_is_named_before_any_request(recorded, line, message):
    recorded.module(f"def mine(action, truth, size):\n    {line}\n", "my_rules")
    recorded.data["Steps"]["rule"] = "my_rules.mine"
    for options in ((), ("--check",)):
        run = recorded.run(*options)
        assert (run.code, run.requests) == (2, [])
        assert message in run.output and "Traceback" not in run.output


@pytest.mark.parametrize(("line", "message"), BROKEN_RULES)
def test_a_rule_of_the_users_that_fails_at_scoring_costs_no_answer(recorded, line, message):
    recorded.run("--no-report")
    recorded.module(f"def mine(action, truth, size):\n    {line}\n", "my_rules")
    recorded.data["Steps"]["rule"] = "my_rules.mine"
    run = recorded.run("--mode", "eval")
    assert (run.code, run.requests) == (1, [])
    assert message in run.output and "Traceback" not in run.output


def test_another_version_of_a_rule_of_the_users_is_told(recorded):
    rule = "def mine(action, truth, size):\n    return True, None, {}\n"
    recorded.module(rule.format("True"), "my_rules")
    recorded.data["Steps"]["rule"] = "my_rules.mine"
    recorded.run("--no-report")
    recorded.module(rule.format("action is not None"), "my_rules")
    run = recorded.run("--no-report", "--mode", "eval")
    assert "these scores are by another version of my_rules.py" in run.output


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("rule", "os_atlass", 'there is no rule "os_atlass"; did you mean "os_atlas"?'),
        ("rule", "odyssey_official", 'the rule "odyssey_official" does not fit these rows'),
        ("rule", "my_rules.gone", "my_rules"),
        ("history", "owns", "must be one of"),
        ("rows", "officials", "must be one of"),
    ],
)
def test_what_does_not_exist_is_named_before_any_request(recorded, key, value, message):
    recorded.data["Steps"][key] = value
    run = recorded.run()
    assert (run.code, run.requests) == (2, [])
    assert message in run.output and "Traceback" not in run.output


def test_stored_answers_are_scored_again_where_no_data_is(recorded):
    recorded.run("--no-report")
    scores = recorded.scores("Steps")
    again = recorded.run("--mode", "eval", env={"LMUData": str(recorded.home / "nowhere")})
    assert (again.code, recorded.scores("Steps")) == (0, scores)


def test_the_report_has_the_steps_of_an_episode_what_each_rule_says_and_what_was_published(
    recorded,
):
    recorded.run()
    page = recorded.folder() / "report"
    details = (page / "data" / "details_0.js").read_text("utf-8")
    assert "another type" not in details and "infigui_r1" in details
    summary = (page / "data" / "summary_0.js").read_text("utf-8")
    assert "Published figures of this level" in summary
    assert "rows: os_atlas" in summary
    assert "with 95 % intervals" not in summary  # two episodes are too few for any


def test_the_rule_of_the_score_alone_makes_the_same_figures_without_the_others(recorded):
    recorded.run("--no-report")
    [scores] = recorded.folder().glob("*_score.json")
    every_rule = json.loads(scores.read_text())
    recorded.data["Steps"] |= {"rule": "qwen", "rules": "headline"}
    run = recorded.run("--no-report", "--mode", "eval")
    assert run.code == 0 and "under every rule" not in run.output
    alone = json.loads(scores.read_text())
    assert alone["by_rule"] == {"qwen": every_rule["by_rule"]["qwen"]}
    assert alone["SR"] == every_rule["by_rule"]["qwen"]["SR"]


def test_a_wait_is_shown_with_its_duration_which_no_prompt_has():
    recorded = truth_of_step({"check_options": {"action": "wait", "time": 2}}, (1080, 2400)).action
    assert in_words(recorded) == "wait(2)"
    assert recorded.as_json() == {"kind": "wait"}
    assert in_words(StepAction("wait")) == "wait()"
    answered = step_action([Action("wait", seconds=3.5)], (1080, 2400))
    assert in_words(answered) == "wait(3.5)" and answered == recorded
    unreadable = step_action({"kind": "wait", "seconds": "soon"}, (1080, 2400))
    assert in_words(unreadable) == "wait()"


PHONE = (1080, 2400)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"kind": "type", "text": 1234}, {"kind": "type", "text": "1234"}),
        ({"kind": "type", "text": 0}, {"kind": "type", "text": "0"}),
        ({"kind": "press", "button": 4}, {"kind": "press", "button": "4"}),
        ({"kind": "finish", "status": 1}, {"kind": "finish", "status": "1"}),
        ({"kind": "wait", "seconds": 10**400}, {"kind": "wait"}),
    ],
)
def test_texts_of_a_mapping_that_are_numbers_become_texts(fields, expected):
    assert step_action(fields, PHONE).as_json() == expected


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "click", "point": [math.nan, 0.5]},
        {"kind": "click", "point": [math.inf, 0.5]},
        {"kind": "click", "point": 5},
        {"kind": "click", "point": [0.5]},
        {"kind": "click", "point": ["left", 0.5]},
        {"kind": "click", "point": [[0.5], 0.5]},
        {"kind": "click", "point": [10**400, 0.5]},
        {"kind": "swipe", "start": [0.5, 0.5], "end": [0.5, math.nan]},
        {"kind": "swipe", "direction": ["up"]},
        {"kind": "click", "box": [0.1, 0.1, 0.2]},
    ],
)
def test_nonsense_in_a_mapping_is_an_error_of_the_parse_function(fields):
    with pytest.raises(ValueError, match="is no"):
        step_action(fields, PHONE)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"kind": "click", "point": [540, 1200]}, {"kind": "click", "point": [0.5, 0.5]}),
        ({"kind": "click", "point": [0.5, 1200]}, {"kind": "click", "point": [0.5 / 1080, 0.5]}),
        ({"kind": "click", "point": [0.5, 1]}, {"kind": "click", "point": [0.5, 1]}),
        (
            {"kind": "swipe", "start": [540, 1800], "end": [540, 600]},
            {"kind": "swipe", "start": [0.5, 0.75], "end": [0.5, 0.25]},
        ),
    ],
)
def test_coordinates_of_a_mapping_above_1_are_pixels_as_those_of_a_list(fields, expected):
    assert step_action(fields, PHONE).as_json() == expected


def test_a_mapping_of_a_parse_function_is_scored_whatever_it_holds(recorded):
    recorded.module(
        "def parse(response, meta):\n"
        "    if 'open_app' in response:\n"
        "        return {'kind': 'type', 'text': 1234}\n"
        "    if 'click' in response:\n"
        "        return {'kind': 'click', 'point': [54, 120]}\n"
        "    return {'kind': 'click', 'point': [float('nan'), 0.5]}\n",
        "my_parse",
    )
    recorded.data["Steps"]["parse_function"] = "my_parse.parse"
    recorded.run("--no-report")
    scores = recorded.scores("Steps")
    assert (scores["SR"], scores["by_action"]["click"]["SR"]) == (20, 100)
    assert scores["counts"]["unparsed"] == 3

"""A model whose swipes go by the other convention than the rule of the score asks for."""

import json

import pytest
from PIL import Image

from benchmarks.steps.swipes import CONTENT, FINGER, OTHER_AXIS, swipe_convention
from tests.steps.conftest import SIZE
from tests.support.clicks import SETTINGS, columns_of, texts_of
from tests.support.mock_server import Reply

AUDIT = "benchmarks.steps.swipes.swipe_convention"
OPPOSITE = {"down": "up", "up": "down", "left": "right", "right": "left"}
DIRECTIONS = ("down", "down", "down", "up", "left", "right")


def swipe(direction):
    return {"kind": "swipe", "direction": direction, "convention": "content"}


def drag(start, end):
    return {"kind": "swipe", "start": start, "end": end}


def step(recorded, answered, hit=0):
    return {"hit": hit, "details": {"recorded": recorded, "answered": answered}}


def swipes(as_content, as_finger, on_another_axis=0, *, hits="content"):
    """So many answers by either convention; `hits`: the one that the rule counts right, or both."""
    recorded = [DIRECTIONS[number % 6] for number in range(as_content + as_finger)]
    steps = [
        step(swipe(word), swipe(word), int(hits in ("content", "both")))
        for word in recorded[:as_content]
    ]
    steps += [
        step(swipe(word), swipe(OPPOSITE[word]), int(hits in ("finger", "both")))
        for word in recorded[as_content:]
    ]
    return steps + [step(swipe("down"), swipe("left"))] * on_another_axis


def counts(section):
    return {row["name"]: row["count"] for row in section["rows"]}


def test_swipes_are_counted_by_either_convention_and_what_the_rule_says_of_them():
    click = {"kind": "click", "point": [0.5, 0.5]}
    others = [step(click, swipe("up")), step(swipe("up"), click), step(swipe("up"), None)]
    section = swipe_convention(columns_of([*others, *swipes(8, 3, 2)]), SETTINGS)
    assert counts(section) == {CONTENT: 8, FINGER: 3, OTHER_AXIS: 2}
    assert [row["right by the rule"] for row in section["rows"]] == [8, 0, 0]
    assert section["at"] == {CONTENT: "3-10", FINGER: "11-13", OTHER_AXIS: "14-15"}
    assert texts_of(section) == []


def test_a_drag_is_compared_by_where_it_moves_the_content():
    upward = drag([0.5, 0.8], [0.5, 0.2])
    still = drag([0.5, 0.5], [0.5, 0.5])
    leftward = drag([0.8, 0.5], [0.2, 0.4])
    answers = [step(swipe("down"), answer) for answer in (upward, still, leftward)]
    section = swipe_convention(columns_of([*answers, step(upward, swipe("up"))]), SETTINGS)
    assert counts(section) == {CONTENT: 1, FINGER: 1, OTHER_AXIS: 1, "no direction": 1}


@pytest.mark.parametrize(
    ("steps", "convention", "rule_convention"),
    [
        pytest.param(swipes(2, 34, 4), "finger", "content", id="85 % by one, 5 % by the other"),
        pytest.param(swipes(0, 10), "finger", "content", id="ten are enough"),
        pytest.param(swipes(20, 1, hits="finger"), "content", "finger", id="the other way"),
    ],
)
def test_the_other_convention_is_named_with_what_to_do(steps, convention, rule_convention):
    section = swipe_convention(columns_of(steps), SETTINGS)
    [warning] = section["findings"]
    assert f"seems to use the convention of the {convention}: " in warning.summary
    assert (
        f"the rule of the score uses the convention of the {rule_convention}: 0 of these"
        in warning.detail
    )
    assert warning.setting == SETTINGS.parser_setting
    assert warning.row in section["at"] and warning.fix
    assert "one way" not in warning.detail


def test_a_model_that_always_swipes_one_way_may_know_no_other():
    steps = [step(swipe("down"), swipe("up"))] * 12
    [text] = texts_of(swipe_convention(columns_of(steps), SETTINGS))
    assert "all of them go one way (content up), so the model may know no other" in text


def test_a_rule_that_counts_them_right_makes_it_a_note():
    [finding] = swipe_convention(columns_of(swipes(1, 19, hits="both")), SETTINGS)["findings"]
    assert finding.severity == "note"
    assert "the rule of the score counts 19 of these 19 right" in finding.detail


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(swipes(0, 9), id="too few"),
        pytest.param(swipes(36, 2, 2), id="the convention that is asked for"),
        pytest.param(swipes(8, 20), id="both are frequent"),
        pytest.param(swipes(1, 8, 11), id="neither is frequent"),
        pytest.param(swipes(36, 2, hits="both"), id="any swipe is right"),
    ],
)
def test_others_are_not_named(steps):
    section = swipe_convention(columns_of(steps), SETTINGS)
    assert texts_of(section) == [] and section["clear"]


@pytest.mark.parametrize("steps", [[], [step({"kind": "wait"}, swipe("up"))], [{"hit": 0}]])
def test_without_a_swipe_there_is_nothing_to_say(steps):
    assert swipe_convention(columns_of(steps), SETTINGS) is None


def write_swipes(root, count):
    """Two episodes that swipe in all directions."""
    folder = root / "AndroidControl"
    with (folder / "android_control_test.jsonl").open("w") as lines:
        for episode in (21, 22):
            steps = []
            for number in range(count):
                name = f"{episode}_{number}.png"
                Image.new("RGB", SIZE, (number * 9, 90, 140)).save(folder / "images" / name)
                direction = DIRECTIONS[number % 6]
                steps.append(
                    {
                        "screenshot": name,
                        "step_instruction": f"go {direction}",
                        "check_options": {"action": "swipe", "direction": direction},
                    }
                )
            lines.write(json.dumps({"episode_id": episode, "goal": "Look.", "steps": steps}) + "\n")


def test_a_run_warns_of_swipes_by_the_other_convention_until_they_are_read_by_it(recorded):
    write_swipes(recorded.root, 6)
    recorded.server.answer = lambda request: Reply(
        f"swipe {OPPOSITE[request.text.rpartition('go ')[2].strip()]}"
    )
    recorded.module(
        "def content(response, meta):\n"
        "    word = response.split()[1]\n"
        "    return {'kind': 'swipe', 'direction': word, 'convention': 'content'}\n"
        "def finger(response, meta):\n"
        "    return {**content(response, meta), 'convention': 'finger'}\n",
        "my_parser",
    )
    recorded.data["Steps"]["parse_function"] = "my_parser.content"
    run = recorded.run("--no-report")
    assert run.code == 0, run.output
    assert "warning: m, Steps: swipe convention: the model seems to use the conv" in run.output
    assert recorded.scores("Steps")["SR"] == 0
    analysis = json.loads(next(recorded.folder().glob("*_analysis.json")).read_bytes())
    assert counts(analysis[AUDIT]) == {CONTENT: 0, FINGER: 12, OTHER_AXIS: 0}

    recorded.data["Steps"]["parse_function"] = "my_parser.finger"
    again = recorded.run("--no-report", "--mode", "eval")
    assert "swipe convention" not in again.output
    assert recorded.scores("Steps")["SR"] == 100

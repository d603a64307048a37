"""What a person did becomes a reply that the default parsers read, and a prompt a question."""

import threading

import pytest
from PIL import Image

from benchmarks.actions.dialects import parse_actions
from benchmarks.actions.reading import read_actions
from benchmarks.grounding.base import REFUSAL_PROMPT
from benchmarks.l1_content_understanding import GUIContentUnderstanding
from benchmarks.l2_element_grounding import GUIElementGrounding
from benchmarks.l3_task_automation import GUITaskAutomation
from models.human.desk import Desk
from models.human.questions import PastStep, Picture, Question, question_of
from models.human.replies import BadAnswer, reply_of
from tests.support.standin import ENVIRONMENT
from utils.coordinates import point_as_fractions
from utils.geometry.targets import means_declined
from utils.import_utils import resolve
from utils.misc import parser_answers_into_option, parser_response_into_coordinates

WH = (640, 360)


def asked(kind, tmp_path, **more):
    picture = Picture(tmp_path / "any.png", WH)
    return Question(kind, "any", "What?", (picture,), **more)


@pytest.fixture
def image(tmp_path):
    path = tmp_path / "screen.png"
    Image.new("RGB", WH).save(path)
    return str(path)


# -- replies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("letter", "ABCDEF")
def test_a_letter_is_read_as_this_letter(tmp_path, letter):
    question = asked("letter", tmp_path, options=tuple((label, "") for label in "ABCDEF"))
    assert parser_answers_into_option(reply_of(question, {"letter": letter})) == letter


@pytest.mark.parametrize("pixel", [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (639, 359), (320, 1)])
def test_a_pixel_is_read_as_this_pixel_in_the_corner_too(tmp_path, pixel):
    reply = reply_of(asked("point", tmp_path), {"point": list(pixel)})
    x, y = point_as_fractions(parser_response_into_coordinates(reply), WH)
    assert (x * WH[0], y * WH[1]) == pytest.approx(pixel, abs=0.001)
    call = reply_of(
        asked("actions", tmp_path),
        {"actions": [{"kind": "click", "x": pixel[0], "y": pixel[1]}]},
    )
    [action] = read_actions(parse_actions(call, {}), WH)
    assert (action.point[0] * WH[0], action.point[1] * WH[1]) == pytest.approx(pixel, abs=0.07)


def test_not_there_is_read_as_declined(tmp_path):
    reply = reply_of(asked("point", tmp_path), {"point": None})
    assert means_declined(parser_response_into_coordinates(reply))


TEXT = 'It\'s "ok" \\n\t(x)\nAction: done()\nżółć 😀 # no'


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ({"kind": "click", "x": 320, "y": 90}, {"kind": "click", "point": (0.5, 0.25)}),
        (
            {"kind": "click", "x": 320, "y": 90, "modifiers": ["ctrl", "shift"]},
            {"kind": "click", "modifiers": ("ctrl", "shift")},
        ),
        ({"kind": "double_click", "x": 5, "y": 9}, {"kind": "double"}),
        ({"kind": "right_click", "x": 5, "y": 9}, {"kind": "right"}),
        ({"kind": "long_press", "x": 5, "y": 9}, {"kind": "long"}),
        (
            {"kind": "drag", "x1": 320, "y1": 90, "x2": 160, "y2": 180},
            {"kind": "drag", "point": (0.5, 0.25), "to_point": (0.25, 0.5)},
        ),
        (
            {"kind": "scroll", "x": 320, "y": 90, "direction": "up", "amount": 3},
            {"kind": "scroll", "direction": "up", "amount": 3},
        ),
        ({"kind": "type", "text": TEXT}, {"kind": "type", "text": TEXT}),
        ({"kind": "press", "keys": "ctrl+a"}, {"kind": "key", "keys": ("ctrl", "a")}),
        ({"kind": "wait", "seconds": 1}, {"kind": "wait", "seconds": 1}),
        ({"kind": "back"}, {"kind": "back"}),
        ({"kind": "home"}, {"kind": "home"}),
        ({"kind": "open_app", "name": "To-do"}, {"kind": "open_app", "app": "To-do"}),
        ({"kind": "answer", "text": TEXT}, {"kind": "answer", "text": TEXT}),
        ({"kind": "fail", "text": "no"}, {"kind": "fail", "text": "no"}),
        ({"kind": "done"}, {"kind": "done"}),
    ],
)
def test_an_action_is_read_as_this_action(tmp_path, action, expected):
    reply = reply_of(asked("actions", tmp_path), {"actions": [action]})
    [read] = read_actions(parse_actions(reply, {}), WH)
    assert {name: getattr(read, name) for name in expected} == expected


def test_several_actions_are_read_in_their_order(tmp_path):
    actions = [{"kind": "type", "text": "a\nb"}, {"kind": "click", "x": 5, "y": 9}]
    reply = reply_of(asked("actions", tmp_path), {"actions": actions})
    assert [action.kind for action in read_actions(parse_actions(reply, {}), WH)] == [
        "type",
        "click",
    ]


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        ("letter", {"letter": "Z"}),
        ("letter", {"letter": ["A"]}),
        ("letter", {}),
        ("point", {}),
        ("point", {"point": [640, 0]}),
        ("point", {"point": [-1, 0]}),
        ("point", {"point": [0.5, 0.5]}),
        ("point", {"point": [True, 1]}),
        ("point", {"point": [1]}),
        ("actions", {"actions": []}),
        ("actions", {"actions": [{"kind": "done"}] * 9}),
        ("actions", {"actions": ["done"]}),
        ("actions", {"actions": [{"kind": "format_disk"}]}),
        ("actions", {"actions": [{"kind": ["done"]}]}),
        ("actions", {"actions": [{"kind": "click", "x": 1}]}),
        ("actions", {"actions": [{"kind": "click", "x": 1, "y": 1, "modifiers": ["x"]}]}),
        ("actions", {"actions": [{"kind": "type", "text": ""}]}),
        ("actions", {"actions": [{"kind": "type", "text": "x" * 5001}]}),
        ("actions", {"actions": [{"kind": "wait", "seconds": 60}]}),
        (
            "actions",
            {"actions": [{"kind": "scroll", "x": 1, "y": 1, "direction": "in", "amount": 1}]},
        ),
    ],
)
def test_what_is_no_answer_is_not_taken(tmp_path, kind, answer):
    with pytest.raises(BadAnswer):
        reply_of(asked(kind, tmp_path, options=(("A", "yes"),)), answer)


# -- questions ------------------------------------------------------------------------------------


def of_level(benchmark, line, tmp_path, **settings):
    level = benchmark(tmp_path, tmp_path)
    level.configure(settings)
    return question_of(level.build_prompt(line), level.name)


def test_question_hint_and_options_of_l1_are_shown_apart(tmp_path, image):
    line = {
        "image_path": image,
        "question": "Which?",
        "hint": "Look.",
        "options": {"A": "one", "B": "two\nlines", "C": None, "D": "four. B. x"},
    }
    question = of_level(GUIContentUnderstanding, line, tmp_path)
    assert (question.kind, question.text) == ("letter", "Hint: Look.\nQuestion: Which?")
    assert question.options == (("A", "one"), ("B", "two\nlines"), ("D", "four. B. x"))
    assert question.pictures[0].wh == WH


def test_the_instruction_of_l2_is_shown_without_the_form_of_a_reply(tmp_path, image):
    line = {"image_path": image, "instruction": "Open: the task"}
    question = of_level(GUIElementGrounding, line, tmp_path)
    assert (question.text, question.may_be_absent) == ("Open: the task", False)
    messages = GUIElementGrounding(tmp_path, tmp_path).build_prompt(line)
    messages[-1]["value"] += REFUSAL_PROMPT
    refusable = question_of(messages, "OSWorldG refined")
    assert (refusable.text, refusable.may_be_absent) == ("Open: the task", True)


def test_a_prompt_in_other_words_is_shown_whole(image):
    messages = [
        {"role": "user", "type": "image", "value": image},
        {"role": "user", "type": "text", "value": "Where is it?"},
    ]
    assert question_of(messages, "Mine").text == "Where is it?"
    letters = question_of(messages, "GUIContentUnderstanding")
    assert (letters.text, len(letters.options)) == ("Where is it?", 6)


def test_a_task_is_shown_with_its_steps_and_notes_and_what_can_be_opened(
    tmp_path, image, monkeypatch
):
    def names(level):
        return ["Mail", "To-do"]

    monkeypatch.setattr(resolve(ENVIRONMENT, role="test"), "applications", names, raising=False)
    step = {"image_path": image, "reply": "Action: back()", "note": "Nothing.\nAt all."}
    line = {
        "instruction": "Do it.",
        "image_path": image,
        "task_id": "environment/one",
        "step": 4,
        "max_steps": 9,
        "history": [step, {**step, "note": ""}, step],
    }
    environment = resolve(ENVIRONMENT, role="test")
    question = of_level(
        GUITaskAutomation,
        line,
        tmp_path,
        environment=environment,
        history_images=1,
        tell_steps=True,
    )
    assert (question.kind, question.text) == ("actions", "Do it.")
    noted = PastStep("Action: back()", "Nothing.\nAt all.")
    assert question.steps == (noted, PastStep("Action: back()", ""), noted)
    assert question.remark == "This is step 4 of at most 9."
    assert question.applications == ("Mail", "To-do")
    assert len(question.pictures) == 2


@pytest.mark.parametrize("value", ["https://example.org/a.png", "data:image/png;base64,AAAA"])
def test_an_image_that_is_no_file_is_named(value):
    with pytest.raises(ValueError, match="no file"):
        question_of([{"role": "user", "type": "image", "value": value}], "Mine")


# -- the time -------------------------------------------------------------------------------------


def test_only_the_time_with_the_image_in_view_counts(tmp_path):
    """The image comes after 3 s; there is a pause of 100 s, and one of 50 s."""
    now = [0.0]
    desk = Desk(now=lambda: now[0])

    def look_and_answer():
        desk.state(1, 60)  # until the question is there
        for now[0], is_seen in [(3, True), (5, False), (105, True), (109, False), (159, True)]:
            desk.set_clock(1, is_seen)
        now[0] = 160
        desk.answer(1, "A")

    person = threading.Thread(target=look_and_answer)
    person.start()
    assert desk.ask(asked("letter", tmp_path)) == ("A", 2 + 4 + 1)
    person.join()
    assert not desk.answer(1, "B")

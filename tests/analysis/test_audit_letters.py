"""The parse audit and the letter bias of L1."""

import json
import random

import pytest

from tests.support.clicks import columns_of, texts_of
from utils.analysis.columns import AuditSettings
from utils.analysis.letter_bias import letter_bias
from utils.analysis.parse_audit import OF_WORD, PATTERN_NAMES, examine, parse_audit
from utils.findings import as_json
from utils.misc import parser_answers_into_option
from utils.thinking import parse_option, strict_option

SETTING = "data.GUIContentUnderstanding.parse_function"


def facts(reply, *, chosen="default", answer="B", image=0, letters="ABCD", **more):
    """One sample as it stands in the samples file."""
    parsed_letter = parser_answers_into_option(reply) if chosen == "default" else chosen
    return {
        "key": f"k{image}",
        "image": f"os_web/{image}.png",
        "verdict": "hit" if parsed_letter == answer else "miss",
        "hit": int(parsed_letter == answer),
        "prediction": reply,
        "chosen": parsed_letter,
        "answer": answer,
        "options": dict.fromkeys(letters, "text"),
        **more,
    }


def many(reply, count, *, pictures=None, **more):
    """The same reply to so many questions, on pictures of their own or on so many."""
    return [facts(reply, image=n % (pictures or count), **more) for n in range(count)]


def section_of(audit, samples):
    section = audit(columns_of(samples), AuditSettings(parser_setting=SETTING))
    json.dumps(as_json(section), allow_nan=False)
    return section


def counts(section):
    return {row["name"]: row["samples"] for row in section["rows"]}


@pytest.mark.parametrize(
    ("reply", "letter", "pattern", "is_of_word"),
    [
        ("B. Settings", "B", 0, False),
        ("i.e. the gear", "E", 0, True),
        ("Option C is correct", "C", 1, False),
        ("option a user would pick", "A", 1, True),
        ("Final answer:\n\nC", "C", 2, False),
        ("B", "B", 3, False),
        ("Based on the picture", "B", 3, True),
        ("Can't say", "C", 3, True),
        ("A button is shown", "A", 3, True),
        ("A is the right one", "A", 3, False),
        ("The icon 'B' is bold", "B", 4, False),
        ("(C)", "C", 5, False),
        ("Nothing fits", None, 6, False),
    ],
)
def test_the_pattern_that_decided_is_known(reply, letter, pattern, is_of_word):
    examination = examine(reply, letter, list("ABCDE"))
    assert examination.decided_by == (*PATTERN_NAMES, "no letter found")[pattern]
    assert (OF_WORD in examination.doubts) is is_of_word
    assert parser_answers_into_option(reply) == letter


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("B", "B"),
        ("b.", "B"),
        ("**D**", "D"),
        ("Option C", "C"),
        ("B. Settings", "B"),
        ("B, because it is blue", "B"),
        ("D – Close", "D"),
        ("a", "A"),
        ("Answer: **C**", "C"),
        ("Final answer:\n\nC", "C"),
        ("\\boxed{B}", "B"),
        ("<answer>D</answer>", "D"),
        ("The correct answer would be: C. Foo", "C"),
        ("I'd choose option B", "B"),
        ("A is correct because B is not", "A"),
        ("Based on the screenshot, the answer is C.", "C"),
        ("The answer is A. No: the answer is B.", "B"),
        ("A. Yes\nB. No\nC. Maybe\nAnswer: C", "C"),
        ("Correct answer: Option A. Yes", "A"),
        ("A. Yes\nB. No", None),
        ("Based on the picture", None),
        ("A button is shown", None),
        ("The answer is A button", None),
        ("Answer: I think so", None),
        ("F", None),
        ("", None),
        ("The user sees a: b", None),
    ],
)
def test_the_strict_parser_takes_only_what_is_plainly_an_answer(reply, expected):
    assert strict_option(reply, "ABCD") == expected


@pytest.mark.parametrize(
    ("sample", "row"),
    [
        (facts("Based on the picture"), "doubtful: first letter of a word, or the article"),
        (facts("A button", answer="A"), "doubtful: first letter of a word, or the article"),
        (facts("E", letters="ABCD"), "doubtful: no option of the question"),
        (facts("D", options={"A": "x", "D": None}), "doubtful: no option of the question"),
        (facts("A. Yes\nB. No\nAnswer: B"), "doubtful: another letter is stated later"),
    ],
)
def test_doubtful_letters_are_told_apart(sample, row):
    counts_by_pattern = counts(section_of(parse_audit, [sample, facts("C. Close"), facts("B")]))
    assert {
        name
        for name in counts_by_pattern
        if name.startswith("doubtful:") and counts_by_pattern[name]
    } == {row}
    assert counts_by_pattern[row] == counts_by_pattern["doubtful in all"] == 1


def test_both_parsers_are_scored_and_the_default_one_is_the_score():
    samples = many("B", 10) + many("Based on this the answer is: C", 10)
    default, strict, *_ = section_of(parse_audit, samples)["rows"]
    assert (default["name"], default["value"]) == ("the default parser (the score)", 100)
    assert (strict["name"], strict["value"]) == ("a strict parser", 50)
    assert strict["low"] < 50 < strict["high"]


@pytest.mark.parametrize(
    ("doubtful", "plain", "warns"),
    [(10, 150, True), (9, 20, False), (10, 190, False), (0, 50, False)],
)
def test_a_warning_needs_ten_doubtful_letters_and_five_per_cent(doubtful, plain, warns):
    plainly = [facts("B", image=100 + n) for n in range(plain)]
    samples = many("Before that, the answer is: D", doubtful) + plainly
    warnings = texts_of(section_of(parse_audit, samples))
    assert bool(warnings) is warns
    if warns:
        assert "10 of 160 letters are doubtful (10 are the first letter of a word" in warnings[0]
        assert "a strict parser scores 93.75 % instead of 100.00 %" in warnings[0]


def test_a_parser_of_ones_own_is_said_to_be_one_and_no_pattern_is_blamed():
    section = section_of(parse_audit, many("Based on it: D", 12, chosen="D"))
    assert section["rows"][0]["name"] == "the parse function (the score)"
    assert counts(section)["decided by: read otherwise than by the default parser"] == 12
    assert counts(section)["doubtful in all"] == 0
    expected_text = "is not the default one: it reads 12 replies differently"
    assert any(expected_text in note for note in section["notes"])


@pytest.mark.parametrize(
    ("audit", "samples"),
    [
        (parse_audit, [facts("Failed", verdict=None)]),  # a failed request is no reply
        (parse_audit, []),
        (letter_bias, []),
    ],
)
def test_without_a_reply_there_is_nothing_to_audit(audit, samples):
    assert section_of(audit, samples)["rows"] == []


OF_FOUR = dict.fromkeys("ABCD", "text")
THINKING = (
    "<think>Option A? The first one looks plausible.</think>\n{}",
    "<thinking>\nFirst the menu: A. Then the bar.\n</thinking>\n\n**{}**",
    "◁think▷Option A or option D◁/think▷Answer: {}",
    "It says option A somewhere.\n</think>\n\nThe answer is {}",
)


@pytest.mark.parametrize("says", THINKING)
@pytest.mark.parametrize("accuracy", [1.0, 0.6])
def test_letters_out_of_the_thinking_are_doubtful_and_the_fix_is_named(says, accuracy):
    dice = random.Random(1)
    replies = [says.format("B" if dice.random() < accuracy else "C") for _ in range(40)]
    section, fixed = (
        section_of(
            parse_audit,
            [
                facts(reply, image=n // 2, chosen=parse(reply, {"options": OF_FOUR}))
                for n, reply in enumerate(replies)
            ],
        )
        for parse in (parser_answers_into_option, parse_option)
    )
    assert counts(section)["doubtful: read out of the thinking, another letter is answered"] == 40
    [warning] = texts_of(section)
    assert "40 of 40 letters are doubtful" in warning and "40 are read out of the" in warning
    assert 'GUIContentUnderstanding.parse_function: "utils.thinking.parse_option"' in warning
    assert f"these replies score {fixed['rows'][0]['value']:.2f} % (" in warning
    assert fixed["rows"][0]["value"] >= 50 > section["rows"][0]["value"]
    assert fixed["findings"] == []


@pytest.mark.parametrize(("questions", "pictures"), [(12, 12), (90, 10), (90, 9)])
def test_a_better_reading_without_a_doubtful_letter_is_warned_of(questions, pictures):
    """The lone letter at the end is no statement in words, and "Option A" a perfect match."""
    samples = many("Option A is wrong here.\n\nB", questions, pictures=pictures)
    section = section_of(parse_audit, samples)
    assert counts(section)["doubtful in all"] == 0
    assert len(section["findings"]) == int(pictures >= 10)  # however many questions they have
    for warning in texts_of(section):
        assert warning.startswith("parse audit: read as the answer")
        assert 'GUIContentUnderstanding.parse_function: "utils.thinking.parse_option"' in warning


HONEST = (
    "{}",
    "{}.",
    "({})",
    "**{}**",
    "{}. Settings",
    "Option {}",
    "Answer: {}",
    "The answer is {}.",
    "<think>It is option {}.</think>\n{}",
    "<think>There is a menu on top.</think>\n{}",
    "This must be {}\n</think>\n\nAnswer: {}",
    "<think>Perhaps option {}, or",
    "{}. Settings, not option A",
    "I see nothing.",
    "",
)


def test_a_thousand_runs_whose_letters_are_read_as_they_are_meant_give_no_false_alarm():
    dice = random.Random(20_260_102)
    alarms = []
    for number in range(1000):
        accuracy = (0.0, 0.25, 0.6, dice.uniform(0.2, 1.0))[number % 4]
        forms = dice.sample(HONEST, dice.choice((1, 2, 5)))
        samples = []
        for question in range(dice.choice((12, 40, 90))):
            answer = dice.choice("ABCD")
            letter = answer if dice.random() < accuracy else dice.choice("ABCD")
            reply = dice.choice(forms).replace("{}", letter)
            samples.append(facts(reply, answer=answer, image=question // dice.choice((1, 3))))
        warnings = section_of(parse_audit, samples)["findings"]
        alarms += [(forms, accuracy, warnings)] if warnings else []
    assert alarms == []


def test_a_liked_letter_shows_against_the_letters_that_are_right():
    samples = [facts("A", answer="ABCD"[n % 4], image=n) for n in range(40)]
    section = section_of(letter_bias, samples)
    rows = {row["name"]: row for row in section["rows"]}
    assert [rows[x]["chosen"] for x in "ABCD"] == [40, 0, 0, 0]
    assert [rows[x]["right"] for x in "ABCD"] == [10, 10, 10, 10]
    assert (rows["A"]["difference"], rows["A"]["low"] > 50) == (75, True)
    expected_text = (
        "A is chosen more often than right (100.00 % against 25.00 %), B is chosen less often"
    )
    assert texts_of(section)[0].startswith(f"letter bias: {expected_text}")
    # a model without a habit is not blamed
    samples = [facts("ABCD"[n % 4], answer="ABCD"[n // 2 % 4], image=n) for n in range(40)]
    section = section_of(letter_bias, samples)
    assert section["findings"] == []
    assert all(row["difference"] == 0 for row in section["rows"])
    # one with a habit of a few points is not either, however sure that is
    samples = [
        facts("A" if n % 20 == 1 else "ABCD"[n % 4], answer="ABCD"[n % 4], image=n)
        for n in range(400)
    ]
    section = section_of(letter_bias, samples)
    assert section["findings"] == []
    assert [row["p (Holm)"] < 0.05 for row in section["rows"]] == [True, True, False, False]


def test_replies_without_a_letter_and_letters_that_are_none_are_kept_apart():
    odd_samples = [facts("?"), facts("x", chosen="yes"), facts("B", verdict=None)]
    section = section_of(letter_bias, [*odd_samples, facts("E", letters="ABE")])
    chosen = {row["name"]: row["chosen"] for row in section["rows"]}
    assert chosen == {"A": 0, "B": 0, "C": 0, "D": 0, "E": 1}
    assert "2 replies have a letter, 1 have none" in section["notes"][0]


def test_options_that_a_question_does_not_have_are_not_tested_for_bias():
    samples = [
        facts(
            "A" if n % 3 == 0 else "ABCD"[n % 4],
            answer="ABCD"[n % 4],
            image=n,
            options={**dict.fromkeys("ABCD", "text"), "E": None, "F": None},
        )
        for n in range(60)
    ]
    plain = [{**sample, "options": dict.fromkeys("ABCD", "text")} for sample in samples]
    with_null = section_of(letter_bias, samples)
    assert with_null["rows"] == section_of(letter_bias, plain)["rows"]
    assert [row["name"] for row in with_null["rows"]] == list("ABCD")

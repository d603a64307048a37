"""The letter that a reply gives as its answer, in scripts that put no spaces between words."""

import pytest

from utils.analysis.parse_audit import examine
from utils.thinking import last_statement, parse_option, strict_option

META = {"options": str({letter: letter.lower() for letter in "ABCD"})}


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("答案：（Ｂ）", "B"),
        ("最终答案是**D**。", "D"),
        ("A不对，B也不对，选D", "D"),
        ("选项A不对，应该选D", "D"),
        ("答案不是A，而是C", "C"),
        ("我不选A，选B", "B"),
        ("因此，正确选项为C", "C"),
        ("正確答案為 Ｄ", "D"),
        ("正解はＢです", "B"),
        ("答えはDだ", "D"),
        ("정답은 C입니다", "C"),
        ("Ｂ、设置", "B"),
        ("Ｄ。因为……", "D"),
        ("选项Ｂ", "B"),
        ("Ａｎｓｗｅｒ：Ｃ", "C"),
        ("The answer is “C”.", "C"),
        ("设置", None),
    ],
)
def test_letters_beside_signs_of_unspaced_scripts_are_letters(reply, letter):
    assert parse_option(reply, META) == letter


@pytest.mark.parametrize("reply", ["The answer is Café", "答案是ABC公司", "I choose D'Artagnan"])
def test_the_first_letter_of_a_word_is_no_letter(reply):
    assert strict_option(reply, "ABCD") is None


def test_the_place_of_a_statement_is_its_place_in_the_reply():
    reply = "\u200b答案\u200b：\u200bＣ"
    assert last_statement(reply) == (reply.index("Ｃ"), "C")


def test_the_audit_finds_a_later_statement_behind_signs_that_nobody_sees():
    reply = "A. 不对\u200b\u200b，答案是Ｃ"
    assert examine(reply, "A", [*"ABCD"]).doubts == {"another letter is stated later"}

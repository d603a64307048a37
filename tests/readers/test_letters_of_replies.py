"""The letter that a reply gives as its answer, in words and in scripts without spaces between them."""

import pytest

from utils.analysis.parse_audit import examine
from utils.thinking import last_statement, parse_option, parse_option_text, strict_option

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


EXPLAINED = "A. Open - not shown\nB. Settings - shown\nC. Close - not shown"


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        (f"B\n\nExplanation:\n{EXPLAINED}", "B"),
        (f"**B**\n\n{EXPLAINED}", "B"),
        ("A. Open: no\nB. Settings: yes\n\nB", "B"),
        ("A. Open: no\nB. Settings: yes\n\n**(B)**\n", "B"),
        (f"B\n\n{EXPLAINED}\n\nThe correct answer is C.", "C"),
        (f"Z\n\n{EXPLAINED}", "A"),  # no option: as the protocol reads it
        (f"A\n\n{EXPLAINED}\n\nB", "A"),  # two letters: as the protocol reads it
    ],
)
def test_a_first_or_last_line_that_is_only_a_letter_is_the_answer(reply, letter):
    assert parse_option(reply, META) == letter


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("Correct option: B", "B"),
        ("Correct option: B) Settings", "B"),
        ("**Correct option:** B", "B"),
        ("The best choice: B, because of the gear", "B"),
        ("The correct option is B", "B"),
        ("Choice: B", "B"),
        ("Choose B", "B"),
        ("Select option B.", "B"),
        ("Ans: D", "D"),
        ("Ans. D", "D"),
        ("Answer: B\nOption A is right below the toolbar, so it is wrong.", "B"),
        ("Answer: B\nOption A is best seen in the other menu.", "B"),
        ("The correct answer is B. A is the right arrow, not the left one.", "B"),
        ("The correct answer is B. A is right next to it.", "B"),
        ("Answer: B? No, A is right.", "A"),
        ("Answer: B? No, A is the right one", "A"),
        ("Answer: B? No, option A is the best answer here", "A"),
        ("Answer: B? No, A is right because it is blue", "A"),
        ("Answer: B? No, A is correct and B is not", "A"),
    ],
)
def test_a_statement_is_told_from_words_that_look_like_one(reply, letter):
    assert parse_option(reply, META) == letter


@pytest.mark.parametrize(
    "reply",
    [
        "Choose A, B, C or D",
        "Select A or B",
        "Select A file from the list",
        "Correct option: All of them",
        "I transferred the options: A",
    ],
)
def test_an_instruction_that_is_repeated_states_no_letter(reply):
    assert strict_option(reply, "ABCD") is None


def test_the_place_of_a_statement_is_its_place_in_the_reply():
    reply = "\u200b答案\u200b：\u200bＣ"
    assert last_statement(reply) == (reply.index("Ｃ"), "C")


def test_the_audit_finds_a_later_statement_behind_signs_that_nobody_sees():
    reply = "A. 不对\u200b\u200b，答案是Ｃ"
    assert examine(reply, "A", [*"ABCD"]).doubts == {"another letter is stated later"}


COLOURS = {"options": {"A": "blue", "B": "light blue", "C": "Save as...", "D": "是", "E": None}}


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("C", "C"),
        ("The answer is B.", "B"),
        ("It is the light blue one.", "B"),  # "blue" is a part of it
        ("Looking at the screenshot, I would say that it is the Blue", "A"),
        ("The button says “Save as...”", "C"),
        ("<think>blue or save as?</think>save as", "C"),
        ("<think>It is blue.</think>I see a screenshot.", None),
        ("答案是：是", "D"),
        ("bluer than blueberries", None),
        ("It is blue, or save as", None),  # two of them
        ("It is not blue.", None),
        ("It isn't blue", None),
        ("None of these", None),
        ("", None),
    ],
)
def test_the_text_of_an_option_may_stand_for_its_letter(reply, letter):
    assert parse_option_text(reply, COLOURS) == letter
    assert parse_option_text(reply, {"options": str(COLOURS["options"])}) == letter


def test_a_text_that_denies_is_an_option_all_the_same():
    meta = {"options": {"A": "Do not save", "B": "Save"}}
    assert parse_option_text("do not save", meta) == "A"
    assert parse_option_text("Maybe save", {"options": {"A": "Discard", "B": "Save"}}) == "B"
    assert parse_option_text("Save", {}) is None

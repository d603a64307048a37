"""One table of thinking marks serves all readers: of points, of letters, of actions."""

import pytest

from benchmarks.actions import dialects
from utils.coordinates import numbers_of_reply
from utils.thinking import after_thinking, parse_option

META = {
    "image_size": "[1000, 1000]",
    "options": str({letter: letter.lower() for letter in "ABCD"}),
}
OPENED_AND_CLOSED = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<thoughts>", "</thoughts>"),
    ("<reasoning>", "</reasoning>"),
    ("<Reasoning_Process>", "</Reasoning_Process>"),
    ("<reflection>", "</reflection>"),
    ("<analysis>", "</analysis>"),
    ("<scratchpad>", "</scratchpad>"),
    ("<inner_monologue>", "</inner_monologue>"),
    ("<grounding_think>", "</grounding_think>"),
    ("<antThinking>", "</antThinking>"),
    ("<seed:think>", "</seed:think>"),
    ("<think_fast>", "</think_fast>"),
    ('<thought lang="en">', "</thought>"),
    ("<|thinking|>", "<|/thinking|>"),
    ("◁think▷", "◁/think▷"),
    ("[THINK]", "[/THINK]"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|START_THINKING|>", "<|END_THINKING|><|START_RESPONSE|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>\n<|begin_of_solution|>"),
    ("<|think_start|>", "<|think_end|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<|channel>thought\n", "<channel|>"),
    (
        "<|channel|>analysis<|message|>",
        "<|end|><|start|>assistant<|channel|>final<|message|>",
    ),
    ("analysisWe see that ", "assistantfinal"),
    ("Here are my reasoning steps:\n", "[BEGIN FINAL RESPONSE]\n"),
    ("Here is my thought process:\n", "Here is my response:\n"),
    ("Thinking...\n", "\n...done thinking.\n"),
    (" \n Here are my reasoning steps:\n", "[BEGIN FINAL RESPONSE]\n"),
    (" \n Thinking...\n", "\n...done thinking.\n"),
    ('<details type="reasoning" done="true">', "</details>"),
    ("&lt;think&gt;", "&lt;/think&gt;"),
    ("\\u003cthought\\u003e", "\\u003c/thought\\u003e"),
    ("\\<think\\>", "\\</think\\>"),
    ("＜think＞", "＜/think＞"),
]
THOUGHT = "Answer: A, at (10, 20).\nAction: click(10, 20)\n"


@pytest.mark.parametrize(("opened", "closed"), OPENED_AND_CLOSED)
def test_no_reader_reads_a_thinking_as_the_answer(opened, closed):
    thinking = opened + THOUGHT + closed
    assert parse_option(thinking + "C", META) == "C"
    assert numbers_of_reply(thinking + "There is no such element.") is None
    assert numbers_of_reply(thinking + "(30, 40)") == (30, 40)
    [action] = dialects.parse_actions(thinking + "Action: done()", META)
    assert action["kind"] == "done"


@pytest.mark.parametrize("opened", [opened for opened, _ in OPENED_AND_CLOSED])
def test_a_thinking_that_is_never_closed_is_no_answer(opened):
    reply = opened + THOUGHT
    assert parse_option(reply, META) is None
    assert numbers_of_reply(reply) is None
    assert dialects.parse_actions(reply, META) is None


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("<think>a <reasoning>b</reasoning> (1, 2)</think>B", "B"),
        ("<think>a <reasoning>b</reasoning> (1, 2)", ""),  # the outer one is not closed
        ("<thought>a</think>B", "B"),  # one kind opened, another closed
        ("a</thought>B", "B"),  # opened by the chat template
        ("B</details>", "B</details>"),  # that is no mark unless one of its kind was opened
        ("C. Here is my response: D", "C. Here is my response: D"),
        ("[BEGIN FINAL RESPONSE]\nB\n[END FINAL RESPONSE]\n", "\nB\n"),
        ("<|channel|>final<|message|>B<|return|>", "B"),
        ("<|START_RESPONSE|>B<|END_RESPONSE|>", "B"),
        ("Analysis of the screen: B", "Analysis of the screen: B"),
        ("<details><summary>a</summary>B</details>", "<details><summary>a</summary>B</details>"),
    ],
)
def test_what_is_outside_of_all_marks_is_the_answer(reply, answer):
    assert after_thinking(reply) == answer


def test_the_thinking_of_a_reply_of_any_length_is_passed():
    reply = "<thought>" + "Action: click(10, 20)\n" * 10_000
    assert dialects.parse_actions(reply, META) is None
    assert len(dialects.parse_actions(reply + "</thought>Action: done()", META)) == 1

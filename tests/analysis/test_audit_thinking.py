"""What a reply answers, apart from its thinking, and how long any reply takes to read."""

from contextlib import suppress

import pytest

from models import api_uitars
from tests.support.effort import least_cpu_s
from utils import coordinates
from utils.coordinates import numbers_of_reply
from utils.misc import option_match
from utils.thinking import after_thinking, last_statement, parse_option, parse_point, strict_option

META = {"image_size": "[2000, 1000]", "options": "{'A': 'x', 'B': 'y', 'C': None, 'G': 'z'}"}


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("B", "B"),
        ("<think>A?</think>\nB", "\nB"),
        ("<THINK>A?</Think>B", "B"),
        ("<thinking>A?</thinking>B", "B"),
        ("◁think▷A?◁/think▷B", "B"),
        ("[THINK]A?[/THINK]B", "B"),
        ("<seed:think>A?</seed:think>B", "B"),
        ("A?</think>B", "B"),  # opened by the chat template
        ("<think>A</think>no<think>C</think>B", "B"),
        ("<think>a <think> b </think>B", "B"),
        ("<think>A?", ""),  # cut off: there is no answer
        ("<think>A?</think>", ""),
        ("A?</think>\n ", ""),
        ("B <think>is it?</think>\n", "B "),  # thinks behind the answer
        ("B <think>is it?", ""),  # cut off before it had thought it over
        ("<think>A?</think>B<think>or", ""),
        ("I think> so <thinker>", "I think> so <thinker>"),
        ("", ""),
    ],
)
def test_the_answer_is_the_last_text_outside_of_the_thinking(reply, answer):
    assert after_thinking(reply) == answer


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("<think>Option A?</think>\nB", "B"),
        ("<think>Answer: A</think>\nOf these, the answer is B.", "B"),
        ("<think>Option A?</think>\nMaybe B", "B"),  # nothing plainly stated: the protocol's letter
        ("<think>Option A?</think>\nF", "F"),  # as the protocol's parser has it, an option or not
        ("<think>no</think>\nG", "G"),  # an option beyond the protocol's letters
        ("<think>Option A", None),
        ("B", "B"),
        ("I see nothing.", None),
    ],
)
def test_the_letter_that_is_answered_is_read(reply, letter):
    assert parse_option(reply, META) == letter


def test_options_in_any_form_or_none_are_no_obstacle():
    for options in (None, "no mapping", "[1]", {"A": "x", "B": "y"}, ""):
        assert parse_option("<think>Option A?</think>\nB", {"options": options}) == "B"


@pytest.mark.parametrize(
    ("reply", "point", "numbers"),
    [
        # the protocol's parser reads the first point of the answer, the numbers are the last
        ("<think>(0.1, 0.2)</think>(0.3, 0.4) or (0.5, 0.6)", (0.3, 0.4), (0.5, 0.6)),
        ("<think>(0.1, 0.2)</think> about 0.3, 0.4 there", (0.3, 0.4), (0.3, 0.4)),
        ("<think>(0.1, 0.2)", None, None),
        ("(0.3, 0.4)", (0.3, 0.4), (0.3, 0.4)),
    ],
)
def test_numbers_of_a_thinking_are_not_read(reply, point, numbers):
    assert (parse_point(reply, META), numbers_of_reply(reply)) == (point, numbers)


LENGTH = 20_000
PIECES = (
    " ",
    "\n",
    "\t",
    "1",
    ".",
    "1 ",
    "1.",
    "(",
    "x=",
    "x=1, ",
    "y=1 ",
    "A",
    "A ",
    '"',
    "'",
    ",",
    "-",
    "*",
    "%",
    "1e",
    "Answer ",
    "Option ",
    "boxed{",
    "I choose ",
    "correct option is ",
    "<think>",
    "</think>",
    "◁",
    "[/think",
)
STARTS = (
    "Answer",
    "Option",
    "answer is",
    "the correct answer is",
    "correct option",
    "I choose",
    "option A",
    "A",
    "I",
    "boxed{",
    "<answer>",
    "x",
    "x=",
    "x=1",
    "1",
    "(",
    "(1,",
    "<think>",
)
ENDLESS = [(piece * LENGTH)[:LENGTH] for piece in PIECES]
ENDLESS += [
    start + filler * LENGTH + end for start in STARTS for filler in " \n*1" for end in ("", ";")
]
READERS = {
    "option_match": option_match,
    "last_statement": last_statement,
    "strict_option": lambda reply: strict_option(reply, "ABCD"),
    "numbers_of_reply": numbers_of_reply,
    "after_thinking": after_thinking,
    "parse_per_cent": lambda reply: coordinates.parse_per_cent(reply, META),
    "api_uitars": lambda reply: api_uitars.parse_grounding_response(reply, META),
}


@pytest.mark.parametrize("reader", READERS)
def test_no_reply_of_twenty_thousand_signs_takes_long_to_read(reader):
    def cpu_s(reply):
        def read():
            with suppress(ValueError):  # UI-TARS's parser has digits for a number, however many
                READERS[reader](reply)

        return least_cpu_s(read, 0.5)

    assert [reply[:30] for reply in ENDLESS if cpu_s(reply) > 0.5] == []

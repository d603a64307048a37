"""The two default parsers where the conformance files do not reach; those are replayed elsewhere."""

import random
import re
from functools import partial

import pytest

from tests.support.effort import least_cpu_s
from utils import misc

PIECES = (
    " ",
    "  ",
    "\n\n",
    "\t",
    "\u3000 ",
    "1",
    "12",
    "0.5",
    ".5",
    "1.2.3",
    "-3",
    "+",
    ",",
    ";",
    ", ",
    "x",
    "x=",
    "y",
    "y: ",
    "(",
    "[",
    ")",
    "A",
    "b",
    "G",
    ".",
    ":",
    "：",
    "Answer",
    "answer ",
    "Option",
    "'",
    '"',
    "is",
    "\u0661",
)


def test_both_parsers_read_what_the_patterns_of_the_protocol_read_whatever_meta_says(whole):
    def option(text):
        matches = (re.search(p, text, re.I | re.M) for p in misc.OPTION_PATTERNS)
        return next((match[1].upper() for match in matches if match), None)

    def point(text):
        match = re.search(misc.POINT_PATTERN, text, re.I | re.X)
        return match and (float(match[1]), float(match[2]))

    chance = random.Random(7)
    texts = [
        "".join(chance.choices(PIECES, k=chance.randint(1, 9)))
        for _ in range(60_000 if whole else 12_000)
    ]
    for parse, plainly, share_of_readable in (
        (misc.parser_answers_into_option, option, 12),
        (misc.parser_response_into_coordinates, point, 30),
    ):
        assert [text for text in texts if parse(text) != plainly(text)] == []
        meta = {"image_size": "[1, 1]"}
        assert [text for text in texts[::10] if parse(text, meta) != plainly(text)] == []
        assert sum(plainly(text) is not None for text in texts) > len(texts) / share_of_readable


@pytest.mark.parametrize(
    ("start", "repeated"),
    [
        ("1", " "),
        ("x", "\n"),
        ("", " \n"),
        ("", "7"),
        ("", "1."),
        ("1", ", "),
        ("", "("),
        ("", "x="),
        ("is Answer", " "),
        ("is ", "Answer "),
        ("Option", "\n"),
    ],
)
def test_a_reply_that_repeats_itself_to_the_token_limit_holds_up_nobody(start, repeated):
    text = start + repeated * 30_000
    for parse in (misc.parser_response_into_coordinates, misc.parser_answers_into_option):
        assert parse(text) is None
        # With the patterns alone: seconds to hours.
        assert least_cpu_s(partial(parse, text), 5) < 5

"""The two default parsers and the reply cutter, against the reference results."""

import json
import math
import random
import re
import time
from pathlib import Path

import pytest

from utils import misc

CONFORMANCE = Path(__file__).parents[1] / "conformance"


def number(value):
    """JSON → Python: `{"float": "inf"}` is a number that JSON cannot write."""
    if isinstance(value, dict) and set(value) == {"float"}:
        return float(value["float"])
    return [number(item) for item in value] if isinstance(value, list) else value


def outcome(function, *arguments):
    """What a call gives, in the form in which the conformance files write it."""
    try:
        result = function(*arguments)
    except (TypeError, AttributeError, ValueError, ZeroDivisionError) as error:
        return {"raises": type(error).__name__}
    return list(result) if isinstance(result, tuple) else result


def equal(got, expected):
    if isinstance(expected, list) and isinstance(got, list):
        return len(got) == len(expected) and all(
            a == b or math.isclose(a, b, rel_tol=1e-9) for a, b in zip(got, expected, strict=True)
        )
    return got == expected


FILES = [
    ("option_parser", misc.parser_answers_into_option, lambda text: (text,), 853),
    ("point_parser", misc.parser_response_into_coordinates, lambda text: (text,), 509),
    ("reply_cutter", misc.cut_reply, lambda given: (given["text"], given["dataset"]), 58),
    ("option_parser_wrappers", misc.parser_answers_into_option, lambda given: (given["text"],), 14),
]


@pytest.mark.parametrize(
    ("name", "function", "arguments", "count"), FILES, ids=lambda v: v if isinstance(v, str) else ""
)
def test_replies_are_read_as_the_reference_reads_them(name, function, arguments, count):
    cases = json.loads((CONFORMANCE / f"{name}.json").read_text("utf-8"))["cases"]
    differing = [
        (case, got)
        for case in cases
        if not equal(got := outcome(function, *arguments(case["input"])), number(case["expected"]))
    ]
    print(f"{name}: {len(cases)} cases")
    assert len(cases) == count
    assert differing == []


@pytest.mark.parametrize("meta", [None, {"image_size": "[1, 1]"}])
def test_the_default_parsers_take_meta_and_ignore_it(meta):
    assert misc.parser_answers_into_option("Answer： c", meta) == "C"
    assert misc.parser_response_into_coordinates("click(x=0.25, y=0.75)", meta) == (0.25, 0.75)


def test_the_third_option_pattern_knows_the_full_width_colon():
    assert "：" in misc.OPTION_PATTERNS[2]
    assert misc.parser_answers_into_option("it is said: Answer：D x") == "D"


# -- degenerate replies ---------------------------------------------------------------------------

PIECES = (" ", "  ", "\n\n", "\t", "\u3000 ", "1", "12", "0.5", ".5", "1.2.3", "-3", "+", ",", ";", ", ",
          "x", "x=", "y", "y: ", "(", "[", ")", "A", "b", "G", ".", ":", "：", "Answer", "answer ",
          "Option", "'", '"', "is", "\u0661")  # fmt: skip


def test_both_parsers_read_what_the_patterns_of_the_protocol_read():
    chance = random.Random(7)
    texts = ["".join(chance.choices(PIECES, k=chance.randint(1, 9))) for _ in range(60_000)]
    assert [t for t in texts if misc.parser_answers_into_option(t) != plainly_option(t)] == []
    assert [t for t in texts if misc.parser_response_into_coordinates(t) != plainly_point(t)] == []
    assert sum(plainly_point(text) is not None for text in texts) > 2_000
    assert sum(plainly_option(text) is not None for text in texts) > 5_000


def plainly_option(text):
    matches = (re.search(p, text, re.I | re.M) for p in misc.OPTION_PATTERNS)
    return next((found[1].upper() for found in matches if found), None)


def plainly_point(text):
    found = re.search(misc.POINT_PATTERN, text, re.I | re.X)
    return found and (float(found[1]), float(found[2]))


@pytest.mark.parametrize(
    "text",
    ["1" + " " * 30_000, "x" + "\n" * 30_000, " \n" * 30_000, "7" * 30_000, "1." * 30_000, "1" + ", " * 30_000,
     "(" * 30_000, "x=" * 30_000, "is Answer" + " " * 30_000, "is " + "Answer " * 30_000, "Option" + "\n" * 30_000],
)  # fmt: skip
def test_a_reply_that_repeats_itself_to_the_token_limit_holds_up_nobody(text):
    began_s = time.process_time()
    assert misc.parser_response_into_coordinates(text) is None
    assert misc.parser_answers_into_option(text) is None
    assert (
        time.process_time() - began_s < 5
    )  # hours, and seconds to minutes, with the patterns alone

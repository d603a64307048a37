"""The two default parsers and the reply cutter, against the reference results."""

import json
import math
from pathlib import Path

import pytest

from utils import misc

CONFORMANCE = Path(__file__).parent / "conformance"


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

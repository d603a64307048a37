"""What a cell of somebody's answer file means: numbers that may be texts, lists, or missing."""

import json

import pytest

from utils.exchange.formats.reading import (
    CELL_LIMIT,
    LONGEST_LITERAL,
    box_of,
    damage_of,
    error_text,
    first_text,
    ids_of,
    literal,
    numbers_of,
    point_of,
    reply_of,
    size_of,
    text_of,
    token_usage,
    user_texts,
    verdict_in,
    verdict_of,
)

NAN, INFINITE = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("7", "7"),
        ("", ""),
        (7, "7"),
        (7.0, "7"),  # an id that a spreadsheet took for a number
        (7.5, "7.5"),
        (INFINITE, "inf"),
        (True, "True"),
        (None, None),
        (["7"], None),
        ({"a": 1}, None),
    ],
)
def test_a_value_is_a_text_as_it_would_be_written(value, text):
    assert text_of(value) == text


def test_the_first_column_that_has_a_text_counts():
    row = {"a": None, "b": {"not": "a text"}, "c": 0, "d": "x"}
    assert first_text(row, ["none", "a", "b", "c", "d"]) == "0"
    assert first_text(row, ["a", "none"]) is None


def test_ids_are_those_that_are_there():
    assert ids_of("x", None, "", 0, 12.0, ["y"]) == ("x", "0", "12")


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("[1, 2]", [1, 2]),
        ('{"a": null}', {"a": None}),
        ("{'a': None}", {"a": None}),  # as Python writes it
        ("(1, 2)", (1, 2)),
        ("[1, 2", "[1, 2"),
        ("{a: 1}", "{a: 1}"),
        ("(open('x'))", "(open('x'))"),
        ("12", "12"),
        ("", ""),
        (12, 12),
        ("[" * 5000, "[" * 5000),
    ],
)
def test_a_list_in_a_cell_is_read_and_never_run(value, read):
    assert literal(value) == read


@pytest.mark.parametrize(("beyond", "is_read"), [(0, True), (1, False)])
def test_a_cell_that_is_too_long_stays_a_text(beyond, is_read):
    text = json.dumps(["x" * (LONGEST_LITERAL + beyond - 4)])
    assert len(text) == LONGEST_LITERAL + beyond
    assert isinstance(literal(text), list) is is_read


@pytest.mark.parametrize(
    ("value", "numbers"),
    [
        ([1, 2.5], (1.0, 2.5)),
        ("(1, '2')", (1.0, 2.0)),
        ([1], None),
        ([1, 2, 3], None),
        ([1, None], None),
        ([1, "left"], None),
        ([1, NAN], None),
        ([INFINITE, 1], None),
        ([1, 10**400], None),
        ("1, 2", None),
        ({"x": 1, "y": 2}, None),
        (None, None),
    ],
)
def test_so_many_finite_numbers_or_none(value, numbers):
    assert numbers_of(value, 2) == numbers
    assert point_of(value) == numbers


@pytest.mark.parametrize(
    ("value", "box"),
    [("[1, 2, 3, 4]", (1.0, 2.0, 3.0, 4.0)), ([1, 2], None), ([[1, 2], [3, 4]], None)],
)
def test_a_box_is_two_corners(value, box):
    assert box_of(value) == box


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ([1920.0, "1080"], (1920, 1080)),
        ([0.5, 0.5], None),
        ([-1, 100], None),
        ([100], None),
        (None, None),
    ],
)
def test_a_size_is_at_least_one_pixel_wide_and_high(value, size):
    assert size_of(value) == size


@pytest.mark.parametrize(
    ("value", "reply"),
    [
        ("a", "a"),
        (["a", "b"], "a"),
        ([["a"], "b"], "a"),
        ([], None),
        ([[]], None),
        ([{"role": "user"}], None),
        (3, "3"),
    ],
)
def test_the_first_reply_of_a_list_is_the_reply(value, reply):
    assert reply_of(value) == reply


def test_lists_within_lists_without_an_end_hold_no_reply():
    endless = []
    endless.append(endless)
    assert reply_of(endless) is None


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        ("correct", True),
        (" True ", True),
        ("WRONG", False),
        ("incorrect", False),
        ("wrong_format", False),
        ("false", False),
        ("maybe", None),
        (True, True),
        (False, False),
        (1, None),
        (None, None),
    ],
)
def test_a_verdict_is_read_in_the_words_of_files(value, verdict):
    assert verdict_of(value) is verdict


@pytest.mark.parametrize(
    ("value", "verdict"),
    [(1, True), (1.0, True), (0, False), (0.5, False), (True, True), ("1", None), (None, None)],
)
def test_a_score_of_one_is_right(value, verdict):
    assert verdict_in({"score": value}, "score") is verdict
    assert verdict_in({}, "score") is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("", ""),
        ({}, ""),
        ("timed\n  out", "timed out"),
        ({"type": "Overload", "message": "try\nlater", "code": 5}, "Overload: try later"),
        ({"message": "later"}, "later"),
        ({"type": "Overload", "message": ""}, "Overload"),
        (504, "504"),
        ("x" * 600, "x" * 500),
    ],
)
def test_an_error_is_one_short_line(value, text):
    assert error_text(value) == text


@pytest.mark.parametrize(
    ("reply", "damage"),
    [
        ("click(1, 2)", ""),
        ("", ""),
        (None, ""),
        ("x" * (CELL_LIMIT - 1), ""),
        ("x" * CELL_LIMIT, "cut at 32,767 characters"),
        ("=A1", "began with ="),
        (0, "began with ="),  # what a formula came to
        ("one_x000D_two", "has escapes of the file format (_x....)"),
        (["=A1"], ""),
    ],
)
def test_damage_of_a_spreadsheet_is_named(reply, damage):
    assert damage_of(reply) == damage


def test_texts_of_the_user_are_found_in_all_forms_of_a_message():
    messages = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "one"},
        {"role": "user", "content": [{"type": "text", "text": "two"}, "three", {"image": "x"}, 4]},
        {"role": "assistant", "content": "yes"},
        {"role": "user"},
        "user",
    ]
    assert [*user_texts(messages)] == ["one", "two", "three"]
    assert [*user_texts("one")] == [*user_texts(None)] == []


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"input_tokens": 5, "output_tokens": 7}, {"prompt_tokens": 5, "completion_tokens": 7}),
        ({"prompt_tokens": 5, "total_tokens": 12}, {"prompt_tokens": 5}),
        ({"prompt_tokens": "5", "completion_tokens": None, 3: 4}, {}),
        ([5, 7], {}),
        (None, {}),
    ],
)
def test_tokens_are_counted_under_one_name(usage, counts):
    assert token_usage(usage) == counts

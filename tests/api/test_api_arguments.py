"""Parameters of a request that are refused before the first one is sent."""

from __future__ import annotations

import inspect

import pytest

from models.wrappers.api.arguments import NOT_YOURS, PARAMETERS, generate_findings


def findings(**generate_cfg):
    return [(".".join(map(str, place)), what) for place, what in generate_findings(generate_cfg)]


def test_the_parameters_of_the_client_are_known():
    from openai.resources.chat.completions import Completions

    assert set(inspect.signature(Completions.create).parameters) - {"self"} == (
        PARAMETERS | set(NOT_YOURS)
    )


OBJECT = "must be an object { }"
SIGNS = "must be a text of one line and of ASCII signs alone"


@pytest.mark.parametrize(("name", "value", "expected"), [
    ("max_new_tokens", 5, 'API models call it "max_tokens"'),
    ("top_k", 5, 'what only some servers know goes into "extra_body": {"top_k": ...}'),
    ("repetition_penalty", 1.05, 'goes into "extra_body": {"repetition_penalty": ...}'),
    ("min_tokens", 1, 'goes into "extra_body": {"min_tokens": ...}'),
    ("temperatur", 0, 'did you mean "temperature"?'),
    ("do_sample", False, 'greedy decoding is "temperature": 0'),
    ("img_size", 5, 'it belongs in "kwargs"'),
    ("quux", 5, 'what only some servers know goes into "extra_body"'),
    ("stream", True, "replies are not streamed; leave it out"),
    ("n", 2, "so n must be 1"), ("n", "1", "so n must be 1"),
    ("tools", [], "tool calls are not supported"),
    ("messages", [], "the messages come from the prompt"),
    ("model", "x", "the model name stands in model_path"),
    ("extra_body", 5, OBJECT), ("extra_headers", "X: 5", OBJECT), ("extra_query", ["a"], OBJECT),
    ("timeout", "60s", 'must be a number of seconds greater than 0, not "60s"'),
    ("timeout", 0, "must be a number of seconds greater than 0, not 0"),
])  # fmt: skip
def test_parameters_that_the_api_does_not_take_are_errors_with_a_hint(name, value, expected):
    [(place, problem)] = findings(**{name: value})
    assert place == f"generate_cfg.{name}"
    assert expected in problem


@pytest.mark.parametrize(("name", "value", "place", "what"), [
    ("extra_body", {"top_k": 1, "stream": True}, "stream", "replies are not streamed; leave it out"),
    ("extra_headers", {"X": 5}, "X", SIGNS), ("extra_headers", {"X": None}, "X", SIGNS),
    ("extra_headers", {"X": "two\nlines"}, "X", SIGNS), ("extra_headers", {"X": "schlüssel"}, "X", SIGNS),
    ("extra_headers", {"X Y": "a"}, "X Y", "is no name of a header"),
])  # fmt: skip
def test_what_cannot_be_sent_in_the_envelope_is_an_error(name, value, place, what):
    assert findings(**{name: value}) == [(f"generate_cfg.{name}.{place}", what)]


@pytest.mark.parametrize("generate_cfg", [
    {"temperature": 0, "max_tokens": 5, "seed": 1, "stream": False, "n": 1, "extra_body": {}},
    {"timeout": 1.5, "extra_headers": {"X-A": ""}, "extra_query": {"a": 1, "b": ["x", True]}},
    {"timeout": None},
])  # fmt: skip
def test_what_the_api_takes_passes(generate_cfg):
    assert findings(**generate_cfg) == []

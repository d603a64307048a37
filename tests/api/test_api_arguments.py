"""Parameters of a request that are refused before the first one is sent."""

import inspect

import pytest

from models.wrappers.api.arguments import (
    NOT_YOURS,
    NOT_YOURS_OF_RESPONSES,
    PARAMETERS,
    RESPONSES_PARAMETERS,
    generate_problems,
)

OBJECT = "must be an object { }"
SIGNS = "must be one line of ASCII characters, with no white space at either end"


def problems(**generate_cfg):
    return [(".".join(map(str, path)), what) for path, what in generate_problems(generate_cfg)]


def test_the_parameters_of_the_client_are_known():
    from openai.resources.chat.completions import Completions

    documented = PARAMETERS | set(NOT_YOURS)
    assert set(inspect.signature(Completions.create).parameters) - {"self"} == documented


def test_the_parameters_of_the_responses_api_are_known():
    from openai.resources.responses import Responses

    taken = set(inspect.signature(Responses.create).parameters) - {"self", "access_programs"}
    left_out = {"background_options", "image"}
    documented = RESPONSES_PARAMETERS | set(NOT_YOURS_OF_RESPONSES)
    assert taken - left_out == documented


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("max_tokens", 5, 'this API calls it "max_output_tokens"'),
        ("reasoning_effort", "low", 'this API calls it "reasoning": {"effort": ...}'),
        ("previous_response_id", "r", "every request is complete in itself"),
        ("input", [], "the input comes from the prompt"),
        ("seed", 5, "responses.create does not know this parameter"),
    ],
)
def test_what_the_responses_api_does_not_take_is_an_error_with_a_hint(name, value, expected):
    [(_, problem)] = generate_problems({name: value}, "responses")
    assert expected in problem


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("max_new_tokens", 5, 'API models call it "max_tokens"'),
        ("top_k", 5, 'server-specific parameters go into "extra_body": {"top_k": ...}'),
        ("repetition_penalty", 1.05, 'go into "extra_body": {"repetition_penalty": ...}'),
        ("min_tokens", 1, 'go into "extra_body": {"min_tokens": ...}'),
        ("temperatur", 0, 'did you mean "temperature"?'),
        ("do_sample", False, 'greedy decoding is "temperature": 0'),
        ("img_size", 5, 'it belongs in "kwargs"'),
        ("quux", 5, 'server-specific parameters go into "extra_body"'),
        ("stream", "yes", 'must be true or false, not "yes"'),
        ("stream_options", {}, "the program asks for the token counts of a stream; leave it out"),
        ("n", 2, "so n must be 1"),
        ("n", "1", "so n must be 1"),
        ("tools", {}, 'must be a list of tools: [{"type": "function", "function": {...}}]'),
        ("tools", ["computer"], "must be a list of tools"),
        ("functions", [], 'the API calls it "tools" now'),
        ("messages", [], "the messages come from the prompt"),
        ("model", "x", "the model name comes from model_path"),
        ("timeout", "60s", 'must be a number of seconds greater than 0, not "60s"'),
        ("timeout", 0, "must be a number of seconds greater than 0, not 0"),
        ("temperature", "0", 'must be a number, not "0"'),
        ("top_p", True, "must be a number, not true"),
        ("seed", 1.5, "must be a whole number, not 1.5"),
        ("max_tokens", "5", 'must be a whole number, not "5"'),
        ("max_completion_tokens", 5.0, "must be a whole number, not 5"),
        ("top_logprobs", [], "must be a whole"),
        ("stop", 5, "must be a string or a list of strings, not 5"),
        ("stop", ["a", 1], "a list of strings, not a list"),
        ("logprobs", 1, "must be true or false, not 1"),
        ("extra_body", 5, OBJECT),
        ("extra_headers", "X: 5", OBJECT),
        ("extra_query", ["a"], OBJECT),
        ("extra_body.stream_options", {}, "the program asks for the token counts of a stream"),
        ("extra_body.n", 2, "so n must be 1"),
        *[
            ("extra_headers.X", value, SIGNS)
            for value in (5, None, "two\nlines", "schlüssel", "key ", " key", "key\t")
        ],
        ("extra_headers.X Y", "a", "is not a valid header name"),
    ],
)
def test_what_the_api_does_not_take_is_an_error_with_a_hint(path, value, expected):
    outer, _, inner = path.partition(".")
    [(key, problem)] = problems(**{outer: {inner: value} if inner else value})
    assert (key, expected in problem) == (f"generate_cfg.{path}", True)


def test_what_the_api_takes_passes():
    every = {
        "temperature": 0,
        "max_tokens": 5,
        "seed": 1,
        "stream": True,
        "n": 1,
        "extra_body": {},
        "timeout": 1.5,
        "stop": ["\n"],
        "top_p": None,
        "logprobs": True,
        "extra_headers": {"X-A": ""},
        "extra_query": {"a": ["x", True]},
    }
    assert problems(**every) == problems(timeout=None) == []

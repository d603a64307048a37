"""Bodies of 200 responses, as servers of many kinds send them: an answer, or which failure."""

import json

import pytest

from models.wrappers.api.replies import read_reply
from models.wrappers.api.responses import read_response
from utils.contracts import CallError


def body_of(message, finish_reason="stop", **more):
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    return json.dumps({"choices": [choice], **more}).encode()


def read(message, finish_reason="stop", **more):
    return read_reply(body_of(message, finish_reason, **more), [])


def failure_of(body, reader=read_reply):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    with pytest.raises(CallError) as caught:
        reader(body, [])
    return caught.value


def function(name="click", **fields):
    return {"id": "c", "type": "function", "function": {"name": name, **fields}}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        # without an id, without arguments, without a type
        (
            {"type": "function", "function": {"name": "click", "arguments": '{"x": 5}'}},
            ("call_0", "click", {"x": 5}),
        ),
        (function(), ("c", "click", {})),
        (function(arguments=None), ("c", "click", {})),
        (function(arguments=""), ("c", "click", {})),
        (
            {"id": None, "function": {"name": "wait", "arguments": "{}"}},
            ("call_0", "wait", {}),
        ),
        ({"id": 7, "function": {"name": "wait", "arguments": {"s": 1}}}, ("7", "wait", {"s": 1})),
        # without a name, without the object around it
        (
            {"id": "c", "type": "function", "function": {"arguments": '{"x": 5}'}},
            ("c", "function", {"x": 5}),
        ),
        ({"id": "c", "name": "click", "arguments": '{"x": 5}'}, ("c", "click", {"x": 5})),
        # of other kinds
        (
            {"id": "c", "type": "custom", "custom": {"name": "shell", "input": "ls"}},
            ("c", "shell", "ls"),
        ),
        (
            {"id": "c", "type": "computer", "computer": {"action": "click", "x": 5}},
            ("c", "computer", {"action": "click", "x": 5}),
        ),
        (
            {"call_id": "c", "type": "mcp", "server": "s", "tool": "t"},
            ("c", "mcp", {"call_id": "c", "server": "s", "tool": "t"}),
        ),
        ("click", ("call_0", "", "click")),
    ],
)
def test_an_odd_tool_call_is_kept_as_far_as_it_goes_and_the_text_beside_it_counts(call, expected):
    generation = read({"content": "(0.5, 0.5)", "tool_calls": [call]}, "tool_calls")
    [read_call] = generation.tool_calls
    assert (read_call["id"], read_call["name"], read_call["arguments"]) == expected
    assert generation.text == "(0.5, 0.5)"
    [repeated] = generation.message["tool_calls"]
    assert repeated.get("id", expected[0]) == expected[0]


@pytest.mark.parametrize("calls", [{}, "none", 5, True, {"id": "c"}])
def test_tool_calls_that_are_no_list_are_left_out(calls):
    generation = read({"content": "B", "tool_calls": calls})
    assert (generation.text, generation.tool_calls) == ("B", [])
    assert "tool_calls" not in generation.message


def test_a_tool_call_goes_out_again_in_the_form_that_the_api_takes():
    raw = [
        function(arguments='{"x": 5}'),
        {"function": {"name": "a"}},
        function(arguments='{"x": '),
    ]
    message = read({"content": None, "tool_calls": raw}, "tool_calls").message
    assert message["tool_calls"] == [
        raw[0],
        {
            "id": "call_1",
            "type": "function",
            "function": {"name": "a", "arguments": "{}"},
        },
        function(arguments="{}"),
    ]


def nested(depth, opening='{"a":', closing="}"):
    return opening * depth + "1" + closing * depth


@pytest.mark.parametrize(
    "arguments",
    [
        nested(101),
        nested(500),
        nested(5000),
        nested(300, "[", "]"),
        '{"a": ' + nested(200, '[{"b":', "}]") + "}",
        '{"x": NaN}',
        '{"x": 1e999}',
        '{"x": [1, -Infinity]}',
        '{"box": {"x": -1e400}}',
        '{"x": 0.5, "y": Infinity}',
    ],
    ids=lambda arguments: arguments[:20] + str(len(arguments)),
)
def test_arguments_that_are_no_plain_json_stay_text_and_end_nothing(arguments):
    generation = read({"content": "B", "tool_calls": [function(arguments=arguments)]})
    [call] = generation.tool_calls
    assert (generation.text, call["arguments"]) == ("B", arguments)
    json.loads(generation.response.split("<tool_call>")[1].removesuffix("</tool_call>"))
    json.dumps([generation.message, call], allow_nan=False)


@pytest.mark.parametrize("depth", [1, 30, 99])
def test_arguments_of_a_usual_depth_are_an_object(depth):
    [call] = read({"content": "", "tool_calls": [function(arguments=nested(depth))]}).tool_calls
    assert call["arguments"] == json.loads(nested(depth))


def test_an_object_in_the_place_of_arguments_and_other_fields_are_bounded_alike():
    deep = json.loads(nested(400))
    message = {"content": "B", "details": deep, "tool_calls": [function(arguments=deep)]}
    generation = read(message)
    [call] = generation.tool_calls
    assert json.loads(call["arguments"]) == deep
    assert generation.message == {
        "role": "assistant",
        "content": "B",
        "tool_calls": [function(arguments="{}")],
    }
    odd = body_of({"content": "B", "tool_calls": [function(arguments={"x": "?"})], "y": ["?"]})
    generation = read_reply(odd.replace(b'"?"', b"NaN"), [])
    assert generation.tool_calls[0]["arguments"] == {"x": None}
    json.dumps(generation.message, allow_nan=False)


@pytest.mark.parametrize(
    "word",
    [
        "length",
        "LENGTH",
        "MAX_TOKENS",
        "max_tokens",
        "maxTokens",
        "FinishReason.MAX_TOKENS",
        "FINISH_REASON_MAX_TOKENS",
        "model_context_window_exceeded",
        "max_output_tokens",
        "model_length",
        "max-new-tokens",
        "length: limit of the context",
    ],
)
def test_other_words_for_cut_off_are_an_answer_that_was_cut_off(word):
    for text in ("", "The button is"):
        generation = read({"content": text}, word)
        assert (generation.text, generation.finish_reason) == (text, "length")


@pytest.mark.parametrize(
    "word",
    [
        "content_filter",
        "SAFETY",
        "FinishReason.SAFETY",
        "content_filter: PROHIBITED_CONTENT",
        "PROHIBITED_CONTENT",
        "sensitive",
        "refusal",
        "RECITATION",
        "guardrail_intervened",
        "contentFiltered",
        "ERROR_TOXIC",
    ],
)
def test_other_words_for_withheld_are_refusals_unless_there_is_a_text(word):
    error = failure_of(body_of({"content": None}, word))
    assert (error.kind, word in str(error)) == ("content_filter", True)
    generation = read({"content": "B"}, word)
    assert (generation.text, generation.finish_reason) == ("B", "content_filter")


@pytest.mark.parametrize(
    "word",
    ["error", "abort", "network_error", "NETWORK_ERROR", "insufficient_system_resource", "timeout"],
)
def test_a_reply_that_broke_off_is_none_whatever_its_text(word):
    for text in (None, "The button"):
        error = failure_of(body_of({"content": text}, word))
        assert (error.kind, f"broke off (finish_reason {word!r})" in str(error)) == (
            "bad_body",
            True,
        )


@pytest.mark.parametrize("word", [None, "", "MALFORMED_FUNCTION_CALL", "OTHER", "load", 5])
def test_no_text_for_a_reason_that_is_not_known_is_a_failure_that_may_pass(word):
    assert failure_of(body_of({"content": None}, word)).kind == "bad_body"
    assert read({"content": "B"}, word).text == "B"


@pytest.mark.parametrize(
    ("message", "reasoning", "field"),
    [
        ({"content": None}, None, None),
        ({"content": "", "reasoning_content": "At (5, 5)."}, "At (5, 5).", "reasoning_content has"),
        ({"content": None, "reasoning": "At (5, 5)."}, "At (5, 5).", "reasoning has 10"),
        ({"content": [], "thinking": "Hm."}, "Hm.", "thinking has 3 characters"),
        (
            {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]},
            "Hm.",
            "a part of its content has 3 characters",
        ),
        ({"reasoning_content": "So."}, "So.", "reasoning parser of this model, or without one"),
    ],
)
@pytest.mark.parametrize("word", ["stop", "STOP", "end_turn", "tool_calls"])
def test_a_whole_reply_without_text_comes_with_the_answer_that_it_is(
    word, message, reasoning, field
):
    error = failure_of(body_of(message, word, usage={"prompt_tokens": 9}))
    assert error.kind == "empty"
    answer = error.empty_answer
    assert (answer.text, answer.reasoning, answer.usage["prompt_tokens"]) == ("", reasoning, 9)
    assert (field or "has no text") in str(error)
    assert ("reasoning parser" in str(error)) is (reasoning is not None)


@pytest.mark.parametrize(
    ("content", "text", "reasoning"),
    [
        ([{"type": "output_text", "text": "(5, "}, {"type": "text", "text": "5)"}], "(5, 5)", None),
        ([{"text": "(5, 5)"}], "(5, 5)", None),
        (["(5, ", "5)"], "(5, 5)", None),
        ({"type": "text", "text": "(5, 5)"}, "(5, 5)", None),
        ({"text": "(5, 5)"}, "(5, 5)", None),
        ([{"type": "text", "text": {"value": "(5, 5)", "annotations": []}}], "(5, 5)", None),
        ([{"type": "reasoning", "text": "Hm."}, {"type": "text", "text": "B"}], "B", "Hm."),
        (
            [{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"text": "B"}],
            "B",
            "Hm.",
        ),
        ([{"type": "image_url", "image_url": {"url": "x"}}, {"text": "B"}], "B", None),
    ],
)
def test_texts_of_all_parts_are_joined_and_reasoning_is_set_apart(content, text, reasoning):
    generation = read({"content": content})
    assert (generation.text, generation.reasoning) == (text, reasoning)


@pytest.mark.parametrize("content", [5, True, [5], [{"type": "text", "text": 5}], [None]])
def test_content_that_is_no_text_is_no_reply(content):
    assert failure_of(body_of({"content": content})).kind == "bad_body"


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        # a status in digits, wherever it stands
        ({"error": {"message": "no", "code": 401}}, 401, None),
        ({"error": {"message": "no", "code": "429"}}, 429, "429"),
        ({"code": 503, "message": "busy"}, 503, None),
        ({"object": "error", "message": "no", "type": "BadRequestError", "code": 400}, 400, None),
        ({"status_code": 404, "detail": "no such model"}, 404, None),
        ([{"error": {"code": 400, "message": "API key not valid"}}], 400, None),
        # a code in words
        ({"error": {"message": "no", "code": "invalid_api_key"}}, 401, "invalid_api_key"),
        ({"code": "InvalidApiKey", "message": "Invalid API-key provided."}, 401, "InvalidApiKey"),
        ({"error": {"message": "no", "status": "UNAUTHENTICATED"}}, 401, None),
        ({"error": {"message": "no", "type": "authentication_error"}}, 401, None),
        ({"error": {"message": "no", "code": "model_not_found"}}, 404, "model_not_found"),
        ({"error": {"message": "no", "type": "rate_limit_error"}}, 429, None),
        ({"error": {"message": "no", "code": "content_filter"}}, 400, "content_filter"),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "no"}}, 503, None),
        ({"error": {"message": "no", "code": "Arrearage"}}, 402, "Arrearage"),
        # a quota that is used up, also as new-api calls it
        (
            {"error": {"message": "no", "type": "insufficient_quota", "code": None}},
            429,
            "insufficient_quota",
        ),
        (
            {"error": {"message": "no", "code": "insufficient_user_quota"}},
            429,
            "insufficient_quota",
        ),
        # nothing but a text
        ({"error": "Invalid API key"}, 401, None),
        ({"error": {"message": "Incorrect API key provided: sk-..."}}, 401, None),
        ({"detail": "Unauthorized"}, 401, None),
        ({"error": {"message": "Invalid token"}}, 401, None),
        ({"error": {"message": "The access_token has expired"}}, 401, None),
        ({"error": {"message": "invalid value for max_tokens: 0"}}, None, None),  # no key's
        ({"error": {"message": "Invalid prompt: too many image tokens"}}, None, None),
        ({"error": {"message": "the max_token is invalid"}}, None, None),
        ({"error": {"message": "Insufficient account balance"}}, 402, None),
        ({"error": {"message": "Your credit balance is too low"}}, 402, None),
        ({"error": {"message": "the key of the door was wrong"}}, None, None),
        ({"error": {"message": "busy"}}, None, None),
        ({"error": "something"}, None, None),
        # beside a choice, or in one
        (
            {"choices": [{"message": {"content": "B"}}], "error": {"code": 429, "message": "no"}},
            429,
            None,
        ),
        (
            {
                "choices": [
                    {
                        "message": {"content": "B"},
                        "finish_reason": "error",
                        "error": {"code": 502, "message": "no"},
                    }
                ]
            },
            502,
            None,
        ),
    ],
    ids=lambda value: json.dumps(value)[:60],
)
def test_an_error_in_a_200_is_the_error_that_it_would_be_with_its_status(answer, status, code):
    error = failure_of(answer)
    assert (error.status_code, error.code) == (status, code)
    assert error.kind == ("bad_body" if status is None else "http")
    assert "in a 200 response: " in str(error)


@pytest.mark.parametrize(
    "more",
    [
        {"error": None},
        {"error": {"message": "", "code": None}},
        {"error": {"message": "a plugin failed"}},
        {"code": 0, "message": "ok"},
        {"status": "success", "detail": "fine"},
    ],
)
def test_beside_an_answer_nothing_but_an_error_with_a_status_counts(more):
    body = json.dumps({"choices": [{"message": {"content": "B"}}], **more}).encode()
    assert read_reply(body, []).text == "B"


@pytest.mark.parametrize(
    "answer",
    [
        {"model": "m", "message": {"role": "assistant", "content": "B"}, "done": True},
        [{"generated_text": "B"}],
        {"status": "ok"},
        {"code": 200, "data": {}},
        "B",
    ],
)
def test_an_answer_of_another_api_is_told_as_such(answer):
    error = failure_of(answer)
    assert "is not a chat completion (does the base URL end in /v1?)" in str(error)


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (
            {"type": "function_call", "id": "f", "name": "click"},
            {"id": "f", "name": "click", "arguments": {}},
        ),
        (
            {"type": "function_call", "call_id": "f", "name": "click", "arguments": nested(300)},
            {"id": "f", "name": "click", "arguments": nested(300)},
        ),
        (
            {"type": "computer_call", "call_id": "f", "action": {"x": 5}},
            {"id": "f", "name": "computer", "arguments": {"action": {"x": 5}}},
        ),
    ],
)
def test_odd_calls_of_the_responses_api_are_kept_alike(item, expected):
    body = json.dumps({"status": "completed", "output": [{"id": "odd"}, item]}).encode()
    generation = read_response(body, [])
    assert [dict(call) for call in generation.tool_calls] == [expected]


@pytest.mark.parametrize(
    ("answer", "kind", "status"),
    [
        ({"status": "failed", "error": {"code": "server_error", "message": "m"}}, "http", 500),
        ({"status": "failed", "output": [], "error": None}, "bad_body", None),
        ({"status": "incomplete", "incomplete_details": {"reason": "SAFETY"}}, "content_filter", 0),
        ({"status": "completed", "output": []}, "empty", None),
    ],
)
def test_failures_of_the_responses_api_are_judged_alike(answer, kind, status):
    error = failure_of({"output": [], **answer}, read_response)
    assert (error.kind, error.status_code or 0) == (kind, status or 0)

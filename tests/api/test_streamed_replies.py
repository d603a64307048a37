"""Replies that come as streams of events, asked for or not: put together, or broken off."""

import json

import pytest

from models.wrappers.api.replies import read_reply
from models.wrappers.api.responses import read_response
from tests.support.mock_server import Reply
from tests.support.stage import L1, L2
from utils.contracts import CallError


def delta(finish_reason=None, *, index=0, **fields):
    """An event with a part of a message."""
    return {"choices": [{"index": index, "delta": fields, "finish_reason": finish_reason}]}


def whole(finish_reason="stop", **fields):
    """An event with a whole message."""
    message = {"role": "assistant", **fields}
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish_reason}]}


def stream(*events, end="data: [DONE]\n\n", line_end="\n"):
    """A body of events: objects, or texts as they are."""
    lines = [
        event if isinstance(event, str) else f"data: {json.dumps(event)}\n\n" for event in events
    ]
    return ("".join(lines) + end).replace("\n", line_end).encode()


def read(*events, **more):
    return read_reply(stream(*events, **more), [])


def failure_of(body, reader=read_reply):
    with pytest.raises(CallError) as caught:
        reader(body, [])
    return caught.value


BEGIN, MIDDLE, STOP = (
    delta(role="assistant", content="(0.5, "),
    delta(content="0.5)"),
    delta("stop"),
)
USAGE = {"prompt_tokens": 1234, "completion_tokens": 5, "total_tokens": 1239}


@pytest.mark.parametrize(
    "body",
    [
        stream(BEGIN, MIDDLE, STOP),
        stream(BEGIN, MIDDLE, STOP, line_end="\r\n"),
        stream(BEGIN, MIDDLE, STOP, line_end="\r"),
        stream(BEGIN, MIDDLE, STOP, end=""),  # the finish reason is an end, too
        stream(BEGIN, MIDDLE),  # and so is the last event without one
        stream(": waiting\n\n", BEGIN, ": waiting\n\n", MIDDLE, STOP),
        stream("event: message\nid: 1\nretry: 5\n", BEGIN, MIDDLE, STOP),
        b"\xef\xbb\xbf" + stream(BEGIN, MIDDLE, STOP),
        b"\n\n" + stream(BEGIN, MIDDLE, STOP),
        stream(*(f"data:{json.dumps(event)}\n" for event in (BEGIN, MIDDLE, STOP))),
        stream('data: {"choices": [{"delta":\ndata: {"content": "(0.5, 0.5)"}}]}\n\n', STOP),
        stream({"choices": []}, BEGIN, MIDDLE, STOP, {"type": "ping"}),
        stream({"choices": [{"message": {"content": "(0.5, 0.5)"}, "finish_reason": "stop"}]}),
        stream(BEGIN, MIDDLE, whole(content="(0.5, 0.5)")),  # MiniMax's
        stream(BEGIN, MIDDLE, whole(content="")),
        stream(BEGIN, delta(index=1, content="no"), MIDDLE, STOP),
        stream(BEGIN, delta(content=[{"type": "text", "text": "0.5)"}]), STOP),
        stream(delta(content=[{"type": "text", "text": "(0.5, "}]), MIDDLE, STOP),
        stream(BEGIN, delta(content=None), delta(content=""), MIDDLE, delta("stop", content="")),
    ],
)
def test_however_a_stream_is_written_its_text_is_the_reply(body):
    generation = read_reply(body, [])
    assert generation.text == "(0.5, 0.5)"
    assert generation.message["role"] == "assistant"


def test_reasoning_usage_and_finish_reason_are_put_together_too():
    generation = read(
        delta(role="assistant", content="", reasoning_content="It is "),
        delta(reasoning_content="there.\u2028"),
        delta(content="é\u2028B"),
        delta("MAX_TOKENS"),
        {"choices": [], "usage": USAGE},
    )
    assert (generation.text, generation.reasoning) == ("é\u2028B", "It is there.\u2028")
    assert (generation.finish_reason, generation.usage) == ("length", USAGE)
    each_time = read({**BEGIN, "usage": {"prompt_tokens": 1}}, {**STOP, "usage": USAGE})
    assert each_time.usage == USAGE
    within = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": USAGE}]}
    assert read(BEGIN, within).usage == USAGE


def call(index, call_id=None, name=None, arguments=None, **more):
    function = {"name": name, "arguments": arguments}
    given = {field: value for field, value in function.items() if value is not None}
    fields = {"index": index, "id": call_id, "type": "function", "function": given, **more}
    return {field: value for field, value in fields.items() if value is not None}


TWO = [("a", "click", {"x": 5}), ("b", "wait", {"s": 1})]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (  # OpenAI's
            [
                [call(0, "a", "click", "")],
                [call(0, arguments='{"x"')],
                [call(0, arguments=": 5}")],
                [call(1, "b", "wait", "")],
                [call(1, arguments='{"s": 1}')],
            ],
            TWO,
        ),
        (  # in turn
            [
                [call(0, "a", "click", '{"x"'), call(1, "b", "wait", '{"s": ')],
                [call(1, arguments="1}"), call(0, arguments=": 5}")],
            ],
            TWO,
        ),
        (  # Gemini's: whole calls, all of them the 0th
            [[call(0, "a", "click", '{"x": 5}')], [call(0, "b", "wait", '{"s": 1}')]],
            TWO,
        ),
        (  # whole calls without numbers
            [[call(None, "a", "click", '{"x": 5}'), call(None, "b", "wait", '{"s": 1}')]],
            TWO,
        ),
        (  # and without ids
            [[call(None, None, "click", {"x": 5}), call(None, None, "wait", {"s": 1})]],
            [("call_0", "click", {"x": 5}), ("call_1", "wait", {"s": 1})],
        ),
        (  # old vLLM: another id in each part
            [
                [call(0, "a", "click", "")],
                [call(0, "z", arguments='{"x": ')],
                [call(0, "y", "", "5}")],
            ],
            TWO[:1],
        ),
        (  # the same id and name in each part
            [[call(0, "a", "click", '{"x"')], [call(0, "a", "click", ": 5}")]],
            TWO[:1],
        ),
        (  # the name again without an id
            [[call(0, "a", "click", '{"x"')], [call(0, None, "click", ": 5}")]],
            TWO[:1],
        ),
        ([[call(None, "a", "click", '{"x"')], [call(None, arguments=": 5}")]], TWO[:1]),
        ([[call(0, "a", "click")]], [("a", "click", {})]),
    ],
)
def test_parts_of_tool_calls_are_joined_by_their_index(parts, expected):
    generation = read(*(delta(tool_calls=part) for part in parts), delta("tool_calls"))
    calls = [(call["id"], call["name"], call["arguments"]) for call in generation.tool_calls]
    assert calls == expected
    assert not any("index" in call for call in generation.message["tool_calls"])


def test_calls_and_reasoning_of_a_whole_message_replace_the_parts_that_came_before():
    parts = [call(0, "a", "click", '{"x": 5}'), call(1, "b", "wait", '{"s": 1}')]
    fields = {"tool_calls": parts, "reasoning_content": "It is there."}
    generation = read(delta(**fields), whole("tool_calls", content=None, **fields))
    calls = [(call["id"], call["name"], call["arguments"]) for call in generation.tool_calls]
    assert (calls, generation.reasoning) == (TWO, "It is there.")


def test_a_field_of_a_tool_call_that_is_not_known_goes_out_again():
    signed = {"google": {"thought_signature": "s"}}
    generation = read(
        delta(tool_calls=[call(0, "a", "click", "{}", extra_content=signed)]), delta("tool_calls")
    )
    assert generation.message["tool_calls"][0]["extra_content"] == signed


@pytest.mark.parametrize(
    "body",
    [
        stream(BEGIN, end=""),
        stream(BEGIN, MIDDLE, end=""),
        stream(BEGIN, end='data: {"choices": [{"delta": {"con'),
        stream(delta(tool_calls=[call(0, "a", "click", '{"x"')]), end=""),
        stream(delta(reasoning_content="It is"), end=": waiting\n\n"),
        stream(BEGIN, delta(""), end=""),
        stream({"choices": [{"delta": {"role": "assistant"}, "finish_reason": None}]}, end=""),
    ],
)
def test_a_stream_that_broke_off_is_no_answer_and_may_be_asked_again(body):
    error = failure_of(body)
    assert error.kind == "bad_body"
    assert "the stream of the reply broke off" in str(error)


@pytest.mark.parametrize(
    ("event", "status", "code"),
    [
        ({"error": {"message": "no", "code": 429}}, 429, None),
        ({"error": {"message": "no", "type": "insufficient_quota"}}, 429, "insufficient_quota"),
        ({"error": "Invalid API key"}, 401, None),
        ('event: error\ndata: {"message": "busy", "code": 503}\n\n', 503, None),
        ({"object": "error", "message": "no", "code": 400}, 400, None),
        ({"error": {"message": "something"}}, None, None),
    ],
)
@pytest.mark.parametrize("before", [(), (BEGIN,), (BEGIN, MIDDLE)])
def test_an_error_inside_a_stream_is_judged_like_the_same_error_with_its_status(
    before, event, status, code
):
    error = failure_of(stream(*before, event))
    assert (error.status_code, error.code) == (status, code)
    assert "in a 200 response: " in str(error)


@pytest.mark.parametrize(
    ("events", "kind"),
    [
        ((delta("stop", content=""),), "empty"),
        ((delta(reasoning_content="Hm."), delta("stop")), "empty"),
        ((delta("SAFETY", content=""),), "content_filter"),
        ((delta(refusal="I "), delta(refusal="will not"), delta("stop")), "refusal"),
        ((BEGIN, delta("network_error")), "bad_body"),
        (("data: <html>\n\n",), "bad_body"),
        ((), "bad_body"),
    ],
)
def test_a_stream_without_a_text_fails_as_the_same_reply_would(events, kind):
    assert failure_of(stream(*events)).kind == kind


OUTPUT = [{"type": "message", "content": [{"type": "output_text", "text": "B"}]}]
DONE = {
    "type": "response.completed",
    "response": {"status": "completed", "output": OUTPUT, "usage": {"input_tokens": 9}},
}


def test_a_stream_of_the_responses_api_ends_with_the_whole_response():
    parts = [{"type": "response.output_text.delta", "delta": letter} for letter in "Bx"]
    generation = read_response(stream({"type": "response.created"}, *parts, DONE, end=""), [])
    assert (generation.text, generation.usage["prompt_tokens"]) == ("B", 9)
    cut = {**DONE["response"], "incomplete_details": {"reason": "max_output_tokens"}}
    body = stream({"type": "response.incomplete", "response": cut}, end="")
    assert read_response(body, []).finish_reason == "length"
    assert "broke off" in str(failure_of(stream(*parts, end=""), read_response))
    error = failure_of(stream({"type": "error", "code": "rate_limit_exceeded"}), read_response)
    assert (error.status_code, error.kind) == (429, "http")


def as_stream(text, usage=USAGE, **more):
    events = [delta(content=letter) for letter in text]
    body = stream(*events, delta("stop"), *([{"choices": [], "usage": usage}] if usage else []))
    return Reply(body=body, headers={"content-type": "text/event-stream"}, **more)


@pytest.fixture
def stage(staged):
    stage = staged(pictures=2)
    stage.data = {L2: {"mode": "all"}}
    return stage


def test_a_stream_that_is_asked_for_is_stored_like_any_answer(stage):
    stage.server.answer = lambda request: as_stream("(0.2, 0.15)")
    stage.model["m"]["generate_cfg"] = {"temperature": 0, "stream": True}
    ran = stage.run()
    assert ran.code == 0, ran.output
    bodies = [request.body for request in ran.requests]
    assert [body["stream"] for body in bodies] == [True] * 4
    assert [body["stream_options"] for body in bodies] == [{"include_usage": True}] * 4
    records = stage.answers(L2)
    assert {(record["raw"], record["status"]) for record in records} == {("(0.2, 0.15)", "ok")}
    assert [record["usage"] for record in records] == [USAGE] * 4
    assert {record["finish_reason"] for record in records} == {"stop"}


def test_whether_replies_are_streamed_decides_nothing_about_stored_answers(stage):
    stage.server.answer = lambda request: Reply("(0.2, 0.15)")
    assert stage.run().code == 0
    stage.server.answer = lambda request: as_stream("(0.2, 0.15)")
    stage.model["m"]["generate_cfg"] |= {"stream": True}
    again = stage.run()
    assert (again.code, again.requests) == (0, []), again.output


def test_a_body_without_the_setting_asks_for_no_stream_and_a_stream_is_read_all_the_same(stage):
    stage.server.answer = lambda request: as_stream("(0.2, 0.15)", usage=None)
    ran = stage.run()
    assert (ran.code, len(ran.requests)) == (0, 4), ran.output
    assert not [name for request in ran.requests for name in request.body if "stream" in name]
    assert {record["raw"] for record in stage.answers(L2)} == {"(0.2, 0.15)"}


@pytest.mark.parametrize("status", [400, 422])
def test_a_server_that_does_not_know_the_option_for_token_counts_is_asked_without(status, stage):
    def answer(request):
        if "stream_options" in request.body:
            body = b'{"error": {"message": "Extra inputs are not permitted: stream_options"}}'
            return Reply(status=status, body=body)
        return as_stream("(0.2, 0.15)", usage=None)

    stage.server.answer = answer
    stage.model["m"]["generate_cfg"] = {"stream": True}
    ran = stage.run("--api-nproc", "1")
    assert (ran.code, len(ran.requests)) == (0, 5), ran.output
    assert {record["attempts"] for record in stage.answers(L2)} == {1}


def test_a_stream_that_broke_off_is_asked_again_and_no_part_of_it_is_an_answer(stage):
    replies = [Reply(body=stream(BEGIN, end="")), Reply(body=stream(BEGIN, {"error": "busy"}))]
    stage.server.answer = lambda request: replies.pop() if replies else as_stream("(0.2, 0.15)")
    stage.model["m"]["generate_cfg"] = {"stream": True}
    ran = stage.run("--retry", "2")
    assert (ran.code, len(ran.requests)) == (0, 6), ran.output
    assert {record["raw"] for record in stage.answers(L2)} == {"(0.2, 0.15)"}


def test_ping_shows_what_a_streamed_reply_comes_to(stage):
    stage.server.answer = lambda request: as_stream("(0.2, 0.15)")
    stage.model["m"]["generate_cfg"] = {"stream": True}
    ran = stage.run("--check", "--ping")
    assert ran.code == 0, ran.output
    for expected in ("reply: '(0.2, 0.15)'", "tokens: prompt 1234, completion 5", "verdict: hit"):
        assert expected in ran.output


def test_an_error_in_a_stream_that_is_about_the_account_stops_the_run(staged):
    stage = staged(pictures=4)
    stage.data = {L1: {"mode": "all"}}
    used_up = {
        "error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}
    }
    stage.server.answer = lambda request: Reply(body=stream(used_up))
    stage.model["m"]["generate_cfg"] = {"stream": True}
    ran = stage.run("--api-nproc", "1")
    assert (ran.code, len(ran.requests)) == (1, 1)
    assert "The account's quota is used up." in ran.stderr

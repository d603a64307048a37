"""Agents with native tool calls: whole bodies of an episode's turns, as servers of each kind get them."""

import json
from base64 import b64encode
from pathlib import Path

import pytest

from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model
from tests.support.stage import Stage, read_log_lines
from tests.support.standin import ENVIRONMENT
from utils.config.text import read_plain

L4 = "GUITaskCollaboration"
GOAL = "Click the red box, then the green box."
CONFIGS = Path(__file__).parents[2] / "configs"
EXAMPLES = Path(__file__).parents[2] / "examples"
UNREAD = "No action could be read in this reply: the arguments of computer are no JSON object: "
UNCHANGED = "The screen is still the same."
RED_PX, GREEN_PX = [64, 36], [160, 36]


def commented_json(path):
    return read_plain(path.read_text("utf-8"), {}, unset="k").value


def numbered(bodies):
    """The bodies with the number of a screenshot, as they come first, in place of its bytes."""
    numbers = {}

    def walk(value):
        if isinstance(value, dict):
            return {key: walk(item) for key, item in value.items()}
        if isinstance(value, list):
            return [walk(item) for item in value]
        is_image = isinstance(value, str) and value.startswith(("data:image", "iVBOR"))
        return numbers.setdefault(value, len(numbers) + 1) if is_image else value

    return [walk(body) for body in bodies]


def played(home, model, parse_function, answers, **data):
    """Play one episode of two boxes against scripted answers; the stage and the request bodies."""
    answers_left = iter(answers)
    live = {"environment": ENVIRONMENT, "tasks": ["environment/two"], "max_steps": 9}
    live |= {"parse_function": f"benchmarks.actions.dialects.{parse_function}", **data}
    with MockServer(lambda request: Reply(body=json.dumps(next(answers_left)).encode())) as server:
        entry = json.loads(json.dumps(model).replace("{url}", server.url))
        stage = Stage(home, server, {"m": entry}, {L4: live})
        ran = stage.run("--retry", "0")
    assert ran.code == 0, ran.output
    return stage, ran


def episode_of(stage):
    records = read_log_lines(stage.folder() / f"m_{L4}.jsonl")
    [episode] = [record for record in records if record["kind"] == "episode"]
    return episode["returned"], [record for record in records if record["kind"] == "answer"]


def text(words):
    return {"type": "text", "text": words}


# -- chat completions -----------------------------------------------------------------------------

TOOL = {"type": "function", "function": {"name": "computer", "parameters": {"type": "object"}}}


def call(call_id, arguments):
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    function = {"name": "computer", "arguments": written}
    return {"id": call_id, "type": "function", "function": function}


CLICK_RED = call("c1", {"action": "left_click", "coordinate": RED_PX})
BROKEN = call("c2", '{"action": "left_click", "coordinate": [160')
EMPTIED = call("c2", "{}")
CLICK_GREEN = call("c3", {"action": "left_click", "coordinate": GREEN_PX})
WAIT = call("c4", {"action": "wait", "time": 0})

VLLM = {"refusal": None, "annotations": None, "audio": None, "function_call": None}
OPENAI = {"refusal": None, "annotations": []}


def completion(content, calls=(), **more):
    message = {"role": "assistant", "content": content, "tool_calls": list(calls), **more}
    finish_reason = "tool_calls" if calls else "stop"
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    return {"object": "chat.completion", "choices": [choice], "usage": usage}


def screen(number):
    return {"role": "user", "content": [{"type": "image_url", "image_url": {"url": number}}]}


def result(call_id, content="Done."):
    return {"role": "tool", "tool_call_id": call_id, "content": content}


@pytest.mark.parametrize(
    ("server_fields", "thought"),
    [(VLLM, {"reasoning": "Red is first."}), (OPENAI, {})],
    ids=["vllm", "openai"],
)
def test_a_chat_server_gets_every_call_again_with_its_result(tmp_path, server_fields, thought):
    from models.api_tools_agent import OMITTED, SYSTEM

    answers = [
        completion(None, [CLICK_RED], **server_fields, **thought),
        completion("Now green.", [BROKEN], **server_fields),
        completion(None, [CLICK_GREEN, WAIT], **server_fields),
        completion("Done.", **server_fields),
    ]
    settings = {"max_tokens": 16, "tools": [TOOL], "tool_choice": "auto"}
    model = api_model(
        "{url}",
        generate_cfg=settings,
        custom_prompt={L4: "models.api_tools_agent.build_agent_prompt"},
    )
    stage, ran = played(tmp_path, model, "parse_tool_calls", answers)
    system = {"role": "system", "content": [text(SYSTEM)]}
    task = {"role": "user", "content": [text(GOAL), *screen(1)["content"]]}
    first = {"role": "assistant", "content": None, "tool_calls": [CLICK_RED], **thought}
    second = {"role": "assistant", "content": "Now green.", "tool_calls": [EMPTIED]}
    third = {"role": "assistant", "content": None, "tool_calls": [CLICK_GREEN, WAIT]}
    unread = UNREAD + repr(BROKEN["function"]["arguments"])
    turns = [
        [system, task],
        [system, task, first, result("c1"), screen(2)],
        [system, task, first, result("c1"), screen(2), second, result("c2", unread), screen(2)],
        [
            system,
            {"role": "user", "content": [text(GOAL), text(OMITTED)]},
            first,
            result("c1"),
            screen(2),
            second,
            result("c2", unread),
            screen(2),
            third,
            result("c3"),
            result("c4", UNCHANGED),
            screen(3),
        ],
    ]
    bodies = numbered([request.body for request in ran.requests])
    assert bodies == [{"model": "mock", **settings, "messages": turn} for turn in turns]
    returned, records = episode_of(stage)
    assert (returned["success"], returned["ended"], returned["steps"]) == (True, "answer", 4)
    assert records[0]["raw"] == (
        '<tool_call>\n{"name": "computer", "arguments": '
        '{"action": "left_click", "coordinate": [64, 36]}}\n</tool_call>'
    )
    assert records[0]["tool_calls"][0]["id"] == "c1"
    assert records[0].get("reasoning") == thought.get("reasoning")


def test_a_model_that_answers_with_text_alone_has_ended_the_task(tmp_path):
    model = api_model("{url}", custom_prompt={L4: "models.api_tools_agent.build_agent_prompt"})
    answers = [completion("INFEASIBLE: there is no green box.")]
    stage, _ = played(tmp_path, model, "parse_tool_calls", answers)
    returned, _ = episode_of(stage)
    assert (returned["ended"], returned["success"]) == ("fail", False)
    assert returned["trajectory"][0]["actions"] == [
        {"kind": "fail", "text": "there is no green box."}
    ]


def test_calls_that_a_server_has_parsed_away_are_read_as_if_they_stood_in_the_text(tmp_path):
    written = f"<tool_call>\n{json.dumps({'name': 'computer', 'arguments': {}})}\n</tool_call>"
    click = call("c1", {"action": "left_click", "coordinate": RED_PX})
    done = call("c2", {"action": "terminate", "status": "success"})
    answers = [completion("First red.", [click]), completion(None, [done])]
    model = api_model("{url}")
    stage, ran = played(tmp_path, model, "parse_computer_use", answers)
    returned, records = episode_of(stage)
    assert (returned["ended"], returned["steps"]) == ("done", 2)
    assert records[0]["raw"].startswith("First red.\n" + written[:32])
    assert "no_action" not in ran.output


# -- the Responses API ----------------------------------------------------------------------------

COMPUTER = {"type": "computer"}
THINKING = {"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAA", "summary": []}
CHECK = {"id": "sc_1", "code": "malicious_instructions", "message": "look"}


def computer_call(call_id, *actions, checks=()):
    fields = {"id": f"cu_{call_id}", "call_id": call_id, "status": "completed"}
    what = {"action": actions[0]} if len(actions) == 1 else {"actions": list(actions)}
    return {"type": "computer_call", **fields, **what, "pending_safety_checks": list(checks)}


def response(*items, **more):
    usage = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
    return {"object": "response", "status": "completed", "output": items, "usage": usage, **more}


def said(words):
    part = {"type": "output_text", "text": words, "annotations": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": [part]}


def shown(number):
    return {"type": "input_image", "image_url": number, "detail": "auto"}


def screenshot(call_id, number, **more):
    output = {"type": "computer_screenshot", "image_url": number}
    return {"type": "computer_call_output", "call_id": call_id, "output": output, **more}


def test_the_responses_api_gets_every_item_again_with_the_screenshot_it_led_to(tmp_path):
    from models.api_openai_agent import SYSTEM

    click = {"type": "click", "button": "left", "x": RED_PX[0], "y": RED_PX[1]}
    again = {"type": "click", "button": "left", "x": GREEN_PX[0], "y": GREEN_PX[1]}
    first = [THINKING, computer_call("a", click, checks=[CHECK])]
    second = [said("Now green."), computer_call("b", again, {"type": "wait"})]
    answers = [response(*first), response(*second), response(said("Done."))]
    config = commented_json(CONFIGS / "config_live_openai.json")
    [entry] = config["model"].values()
    model = {**entry, "model_path": "{url}?api_key=k&model=mock"}
    stage, ran = played(tmp_path, model, "parse_tool_calls", answers)
    task = {"role": "user", "content": [{"type": "input_text", "text": GOAL}, shown(1)]}
    system = {"role": "system", "content": [{"type": "input_text", "text": SYSTEM}]}
    turns = [
        [system, task],
        [system, task, *first, screenshot("a", 2, acknowledged_safety_checks=[CHECK])],
    ]
    turns.append(
        [
            *turns[1],
            *second,
            screenshot("b", 3),
            {
                "role": "user",
                "content": [{"type": "input_text", "text": f"wait(1): {UNCHANGED}"}],
            },
        ]
    )
    assert {request.path for request in ran.requests} == {"/v1/responses"}
    settings = {"model": "mock", **entry["generate_cfg"]}
    bodies = numbered([request.body for request in ran.requests])
    assert bodies == [{**settings, "input": turn} for turn in turns]
    returned, records = episode_of(stage)
    assert (returned["success"], returned["ended"], returned["steps"]) == (True, "answer", 3)
    assert records[1]["usage"]["prompt_tokens"] == 7
    assert [len(step["actions"]) for step in returned["trajectory"]] == [1, 2, 1]


@pytest.mark.parametrize(
    ("answer", "status", "kind"),
    [
        (
            response(status="incomplete", incomplete_details={"reason": "content_filter"}),
            "refused",
            "content_filter",
        ),
        (
            response(
                {"type": "message", "content": [{"type": "refusal", "refusal": "I will not"}]}
            ),
            "refused",
            "refusal",
        ),
        (response(status="failed"), "failed", "bad_body"),
        ({"choices": []}, "failed", "bad_body"),
    ],
    ids=["filtered", "refused", "failed", "no-response"],
)
def test_a_response_without_text_and_call_is_no_answer(tmp_path, answer, status, kind):
    with MockServer(lambda request: Reply(body=json.dumps(answer).encode())) as server:
        model = {**api_model(server.url), "api": "responses", "generate_cfg": {}}
        live = {"environment": ENVIRONMENT, "tasks": ["environment/one"]}
        stage = Stage(tmp_path, server, {"m": model}, {L4: live})
        stage.run("--retry", "0")
    records = read_log_lines(stage.folder() / f"m_{L4}.jsonl")
    [record] = [record for record in records if record["kind"] == "answer"]
    assert (record["status"], record["error"]["class"]) == (status, kind)


def test_a_response_that_is_cut_off_is_an_answer(tmp_path):
    answer = response(
        said("Action: click(0.2"),
        status="incomplete",
        incomplete_details={"reason": "max_output_tokens"},
    )
    model = {**api_model("{url}"), "api": "responses", "generate_cfg": {"max_output_tokens": 5}}
    stage, _ = played(tmp_path, model, "parse_actions", [answer] * 3)
    returned, records = episode_of(stage)
    assert (returned["ended"], records[0]["finish_reason"]) == ("unread", "length")


# -- Claude, a class of the user's ----------------------------------------------------------------


def claude_says(*blocks, stop_reason="tool_use"):
    usage = {"input_tokens": 7, "output_tokens": 3}
    fields = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude"}
    return {**fields, "content": blocks, "stop_reason": stop_reason, "usage": usage}


def use(call_id, **arguments):
    return {"type": "tool_use", "id": call_id, "name": "computer", "input": arguments}


def image(number):
    source = {"type": "base64", "media_type": "image/png", "data": number}
    return {"type": "image", "source": source}


def tool_result(call_id, *content):
    return {"type": "tool_result", "tool_use_id": call_id, "content": list(content)}


def test_the_claude_example_in_three_turns_with_an_overloaded_server(tmp_path, monkeypatch):
    pytest.importorskip("anthropic")
    from examples.claude_agent import SYSTEM

    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    thinking = {"type": "thinking", "thinking": "Red is first.", "signature": "s"}
    first = [thinking, use("a", action="left_click", coordinate=RED_PX)]
    second = [
        use("b", action="left_click", coordinate=GREEN_PX),
        use("c", action="zoom", region=[0, 0, 9, 9]),
    ]
    third = [
        use("d", action="left_click", coordinate=GREEN_PX),
        use("e", action="wait", duration=0),
    ]
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    too_many = {"type": "error", "error": {"type": "rate_limit_error", "message": "Slow down"}}
    replies = [
        Reply(status=529, body=json.dumps(overloaded).encode()),
        Reply(status=429, body=json.dumps(too_many).encode(), headers={"retry-after": "0"}),
        *(
            Reply(body=json.dumps(answer).encode(), headers={"content-type": "application/json"})
            for answer in (
                claude_says(*first),
                claude_says(*second),
                claude_says(*third),
                claude_says(text("Done."), stop_reason="end_turn"),
            )
        ),
    ]
    replies_left = iter(replies)
    config = commented_json(EXAMPLES / "config_claude_agent.json")
    [entry] = config["model"].values()
    with MockServer(lambda request: next(replies_left)) as server:
        entry["kwargs"]["base_url"] = server.url.removesuffix("/v1")
        live = {"environment": ENVIRONMENT, "tasks": ["environment/two"], **config["data"][L4]}
        stage = Stage(tmp_path, server, {"m": entry}, {L4: live})
        ran = stage.run("--retry", "1")
    assert ran.code == 0, ran.output
    returned, records = episode_of(stage)
    assert (returned["success"], returned["ended"], returned["steps"]) == (True, "answer", 4)
    assert [record["attempts"] for record in records] == [3, 1, 1, 1]
    assert records[0]["reasoning"] == "Red is first."
    tool = {"type": "computer_20250124", "name": "computer"}
    tool |= {"display_width_px": 320, "display_height_px": 180}
    unread = "No action could be read in this reply: unknown action 'zoom'"
    turns = [
        [{"role": "user", "content": [text(GOAL), image(1)]}],
    ]
    turns.append(
        [
            *turns[0],
            {"role": "assistant", "content": first},
            {"role": "user", "content": [tool_result("a", text("Done."), image(2))]},
        ]
    )
    turns.append(
        [
            *turns[1],
            {"role": "assistant", "content": second},
            {
                "role": "user",
                "content": [
                    tool_result("b", text("Done.")),
                    tool_result("c", text(unread), image(2)),
                ],
            },
        ]
    )
    bodies = numbered([request.body for request in ran.requests])
    kwargs = {"model": "claude-sonnet-4-5", "max_tokens": 2048, "system": SYSTEM, "tools": [tool]}
    assert bodies[2:5] == [{**kwargs, "messages": turn} for turn in turns]
    assert bodies[:2] == [bodies[2]] * 2
    assert ran.requests[0].headers["anthropic-beta"] == "computer-use-2025-01-24"
    manifest = json.loads((stage.folder() / "manifest.json").read_text())
    assert manifest["datasets"][L4]["tokens"] == {"prompt_tokens": 28, "completion_tokens": 12}


def test_a_newer_tool_of_claude_is_named_in_the_config(tmp_path, monkeypatch):
    pytest.importorskip("anthropic")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    config = commented_json(EXAMPLES / "config_claude_agent.json")
    [entry] = config["model"].values()
    entry["kwargs"] |= {"tool": "computer_20251124", "beta": "computer-use-2025-11-24"}
    answer = claude_says(text("Done."), stop_reason="end_turn")
    reply = Reply(body=json.dumps(answer).encode(), headers={"content-type": "application/json"})
    with MockServer(lambda request: reply) as server:
        entry["kwargs"]["base_url"] = server.url.removesuffix("/v1")
        live = {"environment": ENVIRONMENT, "tasks": ["environment/two"], **config["data"][L4]}
        ran = Stage(tmp_path, server, {"m": entry}, {L4: live}).run("--retry", "0")
    assert ran.code == 0, ran.output
    [request] = ran.requests
    assert request.headers["anthropic-beta"] == "computer-use-2025-11-24"
    assert request.body["tools"][0]["type"] == "computer_20251124"


def test_a_screenshot_of_original_detail_stays_so_in_results(tmp_path):
    click = {"type": "click", "button": "left", "x": RED_PX[0], "y": RED_PX[1]}
    answers = [response(computer_call("a", click)), response(said("Done."))]
    config = commented_json(CONFIGS / "config_live_openai.json")
    [entry] = config["model"].values()
    kwargs = {"system_prompt": "model_default", "img_detail": "original"}
    model = {**entry, "model_path": "{url}?api_key=k&model=mock", "kwargs": kwargs}
    _, ran = played(tmp_path, model, "parse_tool_calls", answers)
    [_, task, _, result] = numbered([ran.requests[1].body])[0]["input"]
    assert task["content"][1] == {**shown(1), "detail": "original"}
    assert result == {
        **screenshot("a", 2),
        "output": {"type": "computer_screenshot", "image_url": 2, "detail": "original"},
    }


# -- Gemini, a class of the user's ----------------------------------------------------------------


def gemini_says(*parts, reason="STOP"):
    content = {"role": "model", "parts": list(parts)}
    usage = {"promptTokenCount": 7, "candidatesTokenCount": 2, "thoughtsTokenCount": 1}
    return {
        "candidates": [{"content": content, "finishReason": reason}],
        "usageMetadata": usage,
    }


def function_call(name, **args):
    return {"functionCall": {"name": name, "args": args}, "thoughtSignature": "s"}


def inline(number):
    return {"inlineData": {"mimeType": "image/png", "data": number}}


def function_response(name, output, *images, **more):
    response = {"url": "about:blank", "output": output, **more}
    answer = {"name": name, "response": response}
    if images:
        answer["parts"] = list(images)
    return {"functionResponse": answer}


def gemini(home, monkeypatch, replies, **data):
    """Play one episode of two boxes against scripted answers of Google's API."""
    monkeypatch.setenv("GEMINI_API_KEY", "key-of-gemini")
    config = commented_json(EXAMPLES / "config_gemini_agent.json")
    [entry] = config["model"].values()
    replies_left = iter(replies)
    with MockServer(lambda request: next(replies_left)) as server:
        entry["kwargs"]["base_url"] = server.url.removesuffix("/v1")
        live = {"environment": ENVIRONMENT, "tasks": ["environment/two"], **config["data"][L4]}
        stage = Stage(home, server, {"m": entry}, {L4: {**live, **data}})
        ran = stage.run("--retry", "1")
    return stage, ran


def of_json(answer):
    return Reply(body=json.dumps(answer).encode(), headers={"content-type": "application/json"})


def test_the_gemini_example_in_turns_with_an_overloaded_server(tmp_path, monkeypatch):
    from examples.gemini_agent import SYSTEM

    thought = {"text": "Red is first.", "thought": True}
    check = {"decision": "require_confirmation", "explanation": "a box"}
    first = [thought, function_call("click", x=200, y=200)]
    second = [
        function_call("go_forward"),
        function_call("click", x=500, y=200, safety_decision=check),
    ]
    third = [function_call("click", x=500, y=200)]
    answers = [gemini_says(*parts) for parts in (first, second, third, [{"text": "Done."}])]
    replies = [
        Reply(status=503, body=b'{"error": {"message": "overloaded"}}'),
        *map(of_json, answers),
    ]
    stage, ran = gemini(tmp_path, monkeypatch, replies)
    assert ran.code == 0, ran.output
    returned, records = episode_of(stage)
    assert (returned["success"], returned["ended"], returned["steps"]) == (True, "answer", 4)
    assert [record["attempts"] for record in records] == [2, 1, 1, 1]
    assert records[0]["reasoning"] == "Red is first."
    unread = "No action could be read in this reply: unknown action 'go_forward'"
    task = {"role": "user", "parts": [{"text": GOAL}, inline(1)]}
    turns = [[task]]
    turns.append(
        [
            task,
            {"role": "model", "parts": first},
            {"role": "user", "parts": [function_response("click", "Done.", inline(2))]},
        ]
    )
    bodies = numbered([request.body for request in ran.requests])
    assert [body["contents"] for body in bodies[1:3]] == turns
    [output] = {
        part["functionResponse"]["response"]["output"]
        for part in bodies[3]["contents"][4]["parts"][1:]
    }
    assert output.startswith(unread)
    assert bodies[3]["contents"][4]["parts"] == [
        function_response("go_forward", "Done."),
        function_response("click", output, inline(2), safety_acknowledgement="true"),
    ]
    shown_images = json.dumps(bodies[4]["contents"]).count("inlineData")
    assert (shown_images, bodies[4]["contents"][0]["parts"]) == (3, [{"text": GOAL}])
    assert bodies[0] == {
        "systemInstruction": {"parts": [{"text": SYSTEM}]},
        "contents": [task],
        "tools": [{"computerUse": {"environment": "ENVIRONMENT_BROWSER"}}],
        "generationConfig": {
            "temperature": 1,
            "topP": 0.95,
            "topK": 40,
            "maxOutputTokens": 8192,
            "thinkingConfig": {"includeThoughts": True},
        },
    }
    [path] = {request.path for request in ran.requests}
    assert path == "/v1beta/models/gemini-3.5-flash:generateContent"
    assert ran.requests[0].headers["x-goog-api-key"] == "key-of-gemini"
    manifest = json.loads((stage.folder() / "manifest.json").read_text())
    assert manifest["datasets"][L4]["tokens"] == {"prompt_tokens": 28, "completion_tokens": 12}
    files = [path.read_bytes() for path in stage.folder().rglob("*.json*")]
    assert not any(b"key-of-gemini" in content for content in files)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ({"promptFeedback": {"blockReason": "SAFETY"}}, "content_filter"),
        (gemini_says(reason="MALFORMED_FUNCTION_CALL"), "bad_body"),
        ({"candidates": []}, "bad_body"),
    ],
    ids=["blocked", "malformed", "none"],
)
def test_an_answer_of_gemini_without_text_and_call_is_no_answer(
    tmp_path, monkeypatch, answer, kind
):
    stage, _ = gemini(tmp_path, monkeypatch, [of_json(answer)] * 2)
    records = read_log_lines(stage.folder() / f"m_{L4}.jsonl")
    [record] = [record for record in records if record["kind"] == "answer"]
    assert record["error"]["class"] == kind


def test_gemini_without_a_key_is_a_message(tmp_path, monkeypatch):
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    config = commented_json(EXAMPLES / "config_gemini_agent.json")
    [entry] = config["model"].values()
    with MockServer(lambda request: Reply()) as server:
        live = {"environment": ENVIRONMENT, "tasks": ["environment/two"], **config["data"][L4]}
        ran = Stage(tmp_path, server, {"m": entry}, {L4: live}).run()
    assert ran.code != 0
    assert "GEMINI_API_KEY is not set" in ran.output
    assert "Traceback" not in ran.output


def test_screenshots_that_are_sent_are_those_of_the_log(tmp_path):
    model = api_model("{url}", custom_prompt={L4: "models.api_tools_agent.build_agent_prompt"})
    stage, ran = played(tmp_path, model, "parse_tool_calls", [completion("Done.")])
    [url] = ran.requests[0].pictures
    returned, _ = episode_of(stage)
    file = stage.folder() / "screenshots" / returned["trajectory"][0]["image_path"]
    assert url == f"data:image/png;base64,{b64encode(file.read_bytes()).decode()}"

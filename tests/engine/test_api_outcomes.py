"""How requests can end, against a server that misbehaves: answered, refused, failed, stopped."""

import errno
import gzip
import json
import re
import socket
import threading
from datetime import UTC, datetime

import pytest

from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model
from tests.support.stage import FAILED_TEXT, L1, Stage, read_log_lines, told


def completion(message, finish_reason="stop", **more):
    """A chat completion with any message."""
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    return Reply(body=json.dumps({"choices": [choice], **more}).encode())


def packed(body):
    return Reply(body=gzip.compress(body), headers={"content-encoding": "gzip"})


def error(status, message="no", code=None, **headers):
    body = json.dumps({"error": {"message": message, "code": code, "type": "t"}}).encode()
    return Reply(status=status, body=body, headers=headers)


@pytest.fixture
def stage_for(staged):
    """Makes a stage of `pictures` times 3 L1 questions with a server's answers."""

    def make(answer, pictures=3):
        stage = staged(answer=answer, pictures=pictures)
        stage.data = {L1: {"mode": "all"}}
        return stage

    return make


def number_of(request):
    """Number of the question: 3 n + 0 (easy), 1 (medium), 2 (hard)."""
    picture, difficulty = re.search(r"Question (\d+) (\w+)\?", request.text).groups()
    return 3 * int(picture) + ("easy", "medium", "hard").index(difficulty)


def by_number(stage):
    """Newest record of each question by its number; mode all numbers them in file order."""
    return {record["line"]["index"]: record for record in stage.answers(L1)}


def test_more_requests_at_once_than_samples_start_no_more_workers_than_samples(stage_for):
    worker_counts = []

    def answer(request):
        names = [thread.name for thread in threading.enumerate()]
        worker_counts.append(sum(name.endswith("(_work)") for name in names))
        return Reply("A")

    assert stage_for(answer).run("--api-nproc", "300", "--no-report").code == 0
    assert 0 < max(worker_counts) <= 9


def test_an_answer_has_the_time_at_which_its_last_attempt_was_sent(stage_for):
    came_at = []

    def answer(request):
        came_at.append(datetime.now(UTC))
        return error(500, **SOON) if len(came_at) == 1 else Reply("A")

    stage = stage_for(answer, pictures=1)
    assert stage.run("--limit", "1", "--api-nproc", "1").code == 0
    [record] = stage.answers(L1)
    first, last = came_at
    asked_at = datetime.fromisoformat(record["asked_at"])
    assert first < asked_at < last


def missing(texts, ran):
    """Those of the texts that the errors of a run lack."""
    return [text for text in texts if text not in ran.stderr]


SOON, NO_WAIT = {"retry-after-ms": "0"}, {"retry-after": "0"}
BODIES = {
    "empty-body": b"",
    "json-text": b'"B"',
    "json-null": b"null",
    "deep-json": b"[" * 200_000,
    "broken-json": b'{"choices": [{"message": {"content": "B',
    "cut-in-a-sign": '{"choices": "é'.encode()[:-1],
    "no-choices": b'{"object": "chat.completion"}',
    "choices-null": b'{"choices": null}',
    "choices-empty": b'{"choices": []}',
    "choice-without-message": b'{"choices": [{"text": "B"}]}',
    "message-null": b'{"choices": [{"message": null}]}',
    "error-in-a-200": b'{"error": {"message": "busy"}}',
}
MESSAGES = {
    "content-null": {"role": "assistant", "content": None},
    "content-absent": {"role": "assistant"},
    "content-number": {"content": 5},
    "parts-without-text": {"content": [{"type": "text", "text": 5}]},
    "reasoning-alone": {"content": None, "reasoning_content": "A."},
}
TRANSIENT = {
    "429": error(429, **NO_WAIT),
    "429-in-ms": error(429, **SOON),
    "408": error(408, **SOON),
    "409": error(409, **SOON),
    "500": error(500, "A500", **SOON),
    "503": error(503, **NO_WAIT),
    "502-html": Reply(status=502, body=b"<html>Bad gateway</html>", headers=SOON),
    "504-empty": Reply(status=504, body=b"", headers=SOON),
    "reset": Reply(reset=True),
    "html": Reply(body=b"<html>Answer: A</html>", headers={"content-type": "text/html"}),
    **{name: Reply(body=body) for name, body in BODIES.items()},
    **{name: completion(message) for name, message in MESSAGES.items()},
    "content-empty": Reply(text=""),
    "too-large": packed(b" " * (65 << 20)),
    # Routers begin a 200 answer before they know what the model's own server will say.
    "500-in-a-200": Reply(body=b'{"error": {"message": "A", "code": 500}}'),
    "429-in-a-200": Reply(body=b'{"error": {"message": "A", "code": 429}}'),
    "broken-off": Reply("A and th", finish_reason="error"),
    "aborted": Reply("A and th", finish_reason="abort"),  # vLLM and SGLang
    "endless-code-in-a-200": Reply(body=b'{"error": {"message": "A", "code": 1e999}}'),
}


def test_every_transient_error_is_followed_by_the_answer(stage_for):
    failures = dict(enumerate(TRANSIENT.values()))
    stage = stage_for(lambda request: failures.pop(number_of(request), Reply("B")), pictures=12)
    ran = stage.run("--api-nproc", "16", "--retry", "1")
    requested_numbers, records = [number_of(request) for request in ran.requests], by_number(stage)
    outcomes = {
        name: (
            requested_numbers.count(n),
            *(records[n][field] for field in ("attempts", "status", "raw")),
        )
        for n, name in enumerate(TRANSIENT)
    }
    assert (len(TRANSIENT), outcomes) == (34, dict.fromkeys(TRANSIENT, (2, 2, "ok", "B")))
    assert ran.code == 0, ran.output


CALL = {"id": "c", "type": "function", "function": {"name": "computer_use", "arguments": "{}"}}
TOOL_CALL = completion({"content": None, "tool_calls": [CALL]}, finish_reason="tool_calls")


def test_a_native_tool_call_is_an_answer_that_is_stored_with_its_call(stage_for):
    stage = stage_for(lambda request: TOOL_CALL if number_of(request) == 4 else Reply("B"))
    ran = stage.run()
    requested_numbers, records = [number_of(request) for request in ran.requests], by_number(stage)
    assert (ran.code, sorted(requested_numbers)) == (0, list(range(9))), ran.output
    assert {record["status"] for record in records.values()} == {"ok"}
    assert records[4]["tool_calls"] == [{"id": "c", "name": "computer_use", "arguments": {}}]
    assert records[4]["raw"] == (
        '<tool_call>\n{"name": "computer_use", "arguments": {}}\n</tool_call>'
    )
    assert "tool_calls" not in records[3]


BY_CALL = """
def parse(response, meta):
    calls = meta.get("tool_calls")
    return calls[0]["arguments"]["letter"] if calls else None
"""


def test_a_parse_function_gets_native_tool_calls_also_when_a_log_is_scored_again(stage_for):
    function = {"name": "choose", "arguments": '{"letter": "B"}'}
    message = {"content": None, "tool_calls": [{"id": "c", "function": function}]}
    stage = stage_for(lambda request: completion(message, finish_reason="tool_calls"))
    stage.module(BY_CALL)
    stage.data[L1]["parse_function"] = "mymodel.parse"
    stage.model["m"]["generate_cfg"] = {"tools": [{"type": "function", "function": {}}]}
    assert stage.run().code == 0
    score = stage.scores(L1)
    assert stage.run("--mode", "eval").code == 0
    assert stage.scores(L1) == score
    assert {record["status"] for record in stage.answers(L1)} == {"ok"}
    assert {score[level]["level_score"] for level in ("easy", "medium", "hard")} == {1.0}


def test_an_empty_list_of_tool_calls_beside_a_text_is_an_answer(stage_for):
    stage = stage_for(lambda request: completion({"content": "B", "tool_calls": []}))
    assert stage.run().code == 0


DIARY = """
import pathlib
def parse(response):
    with pathlib.Path(__file__).with_name("parsed.txt").open("a") as file:
        file.write(response + "\\n")
    return "A" if "A" in response else None
"""
REFUSED = {
    "400": error(400, "A picture too large"),
    "413": error(413),
    "422": error(422),
    "400-that-quotes": error(400, f"A: no such role in {'a long prompt, ' * 20}API key expired"),
    "400-content-filter": error(400, "policy", code="content_filter"),
    "content-filter": completion({"content": None}, "content_filter"),
    "refusal": completion({"content": None, "refusal": "I will not"}),
    "400-in-a-200": completion({"content": ""}, "error", error={"code": 400, "message": "A"}),
}
EMPTY = ("content-null", "content-absent", "reasoning-alone", "content-empty")
PARTS = [{"type": "text", "text": "C"}, {"type": "text", "text": "!"}]
THOUGHT = {"content": None, "reasoning_content": "A? No"}
ANSWERED = {
    "cut-off": (Reply("C and then", finish_reason="length"), "C and then"),
    "reasoning-content": (completion({"content": "C", "reasoning_content": "A, I think"}), "C"),
    "reasoning": (completion({"content": "C", "reasoning": "A, I guess"}), "C"),
    "parts": (completion({"content": PARTS}), "C!"),
    "cut-by-the-filter": (Reply("C", finish_reason="content_filter"), "C"),
    "all-thought": (completion(THOUGHT, "length", usage={"completion_tokens": 16}), ""),
    "no-error-in-a-200": (completion({"content": "C"}, error={"message": "", "code": None}), "C"),
    "content-object": (completion({"content": {"text": "C"}}), "C"),
    # They end as they should and have no text, which another try would not change.
    **{name: (TRANSIENT[name], "") for name in EMPTY},
    "packed": (packed(Reply("C").encoded()), "C"),
}
# All but what is an answer, rate limits and a server that is away, which use up no retry.
FAILED = {
    name: reply
    for name, reply in TRANSIENT.items()
    if name not in EMPTY and reply.status not in (429, 502, 503) and "429" not in name
}
LASTING = {**{name: reply for name, (reply, _) in ANSWERED.items()}, **REFUSED, **FAILED}


@pytest.fixture(scope="module")
def lasting(tmp_path_factory):
    """Each question meets its reply every time; no retries; a parse function keeps a diary."""
    replies = dict(enumerate(LASTING.values()))
    with MockServer(lambda request: replies.get(number_of(request), Reply("C"))) as server:
        stage = Stage.make(tmp_path_factory.mktemp("lasting"), server, (len(replies) + 2) // 3)
        stage.module(DIARY, "diary")
        stage.data = {L1: {"mode": "all", "parse_function": "diary.parse"}}
        first, again = (stage.run("--api-nproc", "16", "--retry", "0") for _ in range(2))
        records = by_number(stage)
        return stage, first, again, {name: records[number] for number, name in enumerate(LASTING)}


def test_every_reply_is_stored_as_what_it_is_and_only_failures_are_queried_again(lasting):
    _, first, again, records = lasting
    expected = {name: ("ok", text) for name, (_, text) in ANSWERED.items()}
    expected |= dict.fromkeys(REFUSED, ("refused", None)) | dict.fromkeys(FAILED, ("failed", None))
    assert {name: (r["status"], r["raw"]) for name, r in records.items()} == expected
    once, twice = ([number_of(request) for request in ran.requests] for ran in (first, again))
    for number, name in enumerate(LASTING):
        assert (once.count(number), twice.count(number)) == (1, name in FAILED), name
    assert {records[name]["attempts"] for name in FAILED} == {1}


def test_neither_reasoning_nor_failures_are_parsed_and_all_that_has_no_answer_is_wrong(lasting):
    stage, ran, *_ = lasting
    parsed = (stage.code / "parsed.txt").read_text().split("\n")
    assert set(parsed) == {"", "C", "C and then", "C!"}
    rows = dict(zip(LASTING, stage.sheet(L1, "_exact_matching_result"), strict=False))
    assert {rows[name]["prediction"] for name in FAILED} == {FAILED_TEXT}
    assert {(row["parsed_prediction"], row["hit"]) for row in rows.values()} == {("None", 0)}
    counts = {
        "failed": len(FAILED),
        "refused": len(REFUSED),
        "cut off at the token limit": 2,
        "empty: the model used all its tokens before it answered": 1,
    }
    assert {what: told(ran.output, what) for what in counts} == {w: [n] for w, n in counts.items()}
    assert ran.code == 1


def test_records_describe_failures_and_keep_reasoning_finish_reason_usage_and_latency(lasting):
    *_, records = lasting
    errors = {name: records[name]["error"] for name in (*FAILED, *REFUSED)}
    assert (errors["500"]["status_code"], errors["500"]["class"]) == (500, "http")
    assert errors["reset"]["class"] == "connection"
    assert (errors["html"]["class"], "<html>" in errors["html"]["message"]) == ("bad_body", True)
    for name, message in (
        ("too-large", "larger than 64 MB"),
        ("refusal", "I will not"),
        ("400", "picture too large"),
    ):
        assert message in errors[name]["message"]
    reasoning_texts = [
        records[name].get("reasoning") for name in ("reasoning-content", "reasoning", "parts")
    ]
    assert reasoning_texts == ["A, I think", "A, I guess", None]
    thought, cut = records["all-thought"], records["cut-off"]
    assert (thought["reasoning"], thought["usage"]) == ("A? No", {"completion_tokens": 16})
    assert (cut["finish_reason"], cut["latency_s"] > 0) == ("length", True)
    assert cut["usage"] == {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    assert records["cut-by-the-filter"]["finish_reason"] == "content_filter"


UNKNOWN_FIELD = "unknown field max_tokens"


@pytest.mark.parametrize(
    ("answer", "most"),
    [
        (lambda request: error(400, f"{UNKNOWN_FIELD} ({number_of(request)})"), 20),
        (lambda request: error(413, UNKNOWN_FIELD), 20),  # later images may be smaller
        (lambda request: error(400, UNKNOWN_FIELD), 10),
        (lambda request: error(422, f"{UNKNOWN_FIELD} (id r-{id(request):016x})"), 10),
    ],
    ids=["400s", "413", "the-same-400", "the-same-422-with-an-id"],
)
def test_when_the_first_are_all_refused_the_run_stops_and_nothing_stays_refused(
    answer, most, stage_for
):
    stage = stage_for(answer, pictures=20)
    ran = stage.run("--api-nproc", "2", "--no-report")
    assert (ran.code, most <= len(ran.requests) <= most + 2) == (1, True)
    expected_texts = (f'model "m": the first {most} requests were all refused', UNKNOWN_FIELD)
    assert missing(expected_texts, ran) == []
    stage.server.answer = lambda request: Reply("B")
    again = stage.run("--api-nproc", "8")
    assert (again.code, len(again.requests)) == (0, 60)


def test_where_nothing_but_refusals_came_progress_and_summary_call_them_failed_alike(stage_for):
    ran = stage_for(lambda request: error(400), pictures=1).run("--data", "L1")
    assert (ran.code, told(ran.output, "failed: counted as wrong")) == (1, [3])
    assert "m: 3/3 (3 failed)" in ran.output and "refused" not in ran.output


def test_after_one_answer_any_number_of_refusals_goes_through_and_counts_as_wrong(stage_for):
    replies_left = ["B"]
    stage = stage_for(
        lambda request: Reply(replies_left.pop()) if replies_left else error(400), pictures=8
    )
    ran = stage.run("--api-nproc", "1")
    assert (ran.code, len(ran.requests)) == (1, 24)
    assert (told(ran.output, "have a reply"), told(ran.output, "refused")) == ([1], [23])
    scores = stage.scores(L1)
    assert scores["total_sample_num"] == 24
    hits = [8 * scores[level]["level_score"] for level in ("easy", "medium", "hard")]
    assert sum(hits) == pytest.approx(1)


@pytest.mark.parametrize(
    ("reply", "expected_texts"),
    [
        (error(401, "bad key"), ["401", "bad key", "API key"]),
        (error(402, "pay first"), ["402", "pay first", "credit"]),
        (error(429, "quota", code="insufficient_quota", **NO_WAIT), ["quota is used up"]),
        (error(429, "inactive", code="billing_not_active", **NO_WAIT), ["inactive", "the account"]),
        (error(403, "not yours"), ["403", "not yours", "key may not use"]),
        (error(404, "no model mock"), ["404", "no model mock", "/v1"]),
        (
            Reply(status=307, headers={"location": "http://127.0.0.1:9/away"}),  # not followed
            [
                "HTTP 307: the server redirects to http://127.0.0.1:9/away",
                "write it into model_path",
            ],
        ),
    ],
    ids=[
        "401",
        "402",
        "insufficient-quota",
        "inactive",
        "403-first",
        "404-first",
        "redirect-first",
    ],
)
def test_a_run_that_cannot_work_stops_at_once_and_says_what_to_do(reply, expected_texts, stage_for):
    ran = stage_for(lambda request: reply, pictures=8).run("--api-nproc", "3")
    assert (ran.code, 1 <= len(ran.requests) <= 3) == (1, True)
    assert missing((*expected_texts, 'model "m"'), ran) == []


@pytest.mark.parametrize(
    ("models", "expected_text"),
    [
        (["other", "mock-7b"], '- the server offers "mock-7b", "other". '),
        (["other", "mokc"], '- the server offers "mokc", "other". '),
        (["mock"], "no model mock. "),  # it is the path that is wrong
        ([], "no model mock. "),
        (None, "no model mock. "),
    ],
)
@pytest.mark.parametrize("arguments", [(), ("--check", "--ping")])
def test_a_wrong_model_name_is_told_what_the_server_offers(
    arguments, models, expected_text, stage_for
):
    stage = stage_for(lambda request: error(404, "no model mock"))
    stage.server.models = models
    ran = stage.run(*arguments)
    assert ran.code != 0 and expected_text.rstrip(". ") in ran.output
    assert ("offers" in ran.output) == ("offers" in expected_text)


@pytest.mark.parametrize(
    "refusal",
    [
        error(401),
        error(400, "Your credit balance is too low to access the API."),
        error(400, "API key expired. Please renew the API key."),
        error(400, code="Arrearage"),
        error(400, "Budget has been exceeded! Current cost: 5.1, Max budget: 5.0"),
    ],
    ids=["401", "no-credit", "expired", "in-arrears", "no-budget"],
)
def test_a_key_that_is_refused_in_the_middle_keeps_what_was_answered(stage_for, refusal):
    replies_left = ["B"] * 5
    stage = stage_for(lambda request: Reply(replies_left.pop()) if replies_left else refusal)
    ran = stage.run("--api-nproc", "1")
    assert (ran.code, len(ran.requests)) == (1, 6)
    assert (
        missing(["Answers so far are kept", "the account" if "400" in ran.stderr else "key"], ran)
        == []
    )
    assert len(stage.run("--api-nproc", "1").requests) == 1  # nothing more counts as answered
    replies_left.extend("B" * 99)
    again = stage.run("--api-nproc", "1")
    assert (again.code, len(again.requests)) == (0, 4), again.output


def test_a_401_without_any_key_says_how_to_give_one(stage_for):
    stage = stage_for(lambda request: error(401, "who are you?"))
    stage.model["m"]["model_path"] = f"{stage.server.url}?model=mock"
    ran = stage.run()
    assert "Answers so far" not in ran.output  # there are none
    assert missing(["no API key was given", "?api_key=${NAME}&model=", ".env"], ran) == []
    assert ran.requests[0].headers["authorization"] == "Bearer api_key_placeholder"


@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("127.0.0.1", OSError()),
        ("elsewhere.invalid", socket.gaierror(socket.EAI_NONAME, "Name or service not known")),
        (
            "elsewhere.invalid",
            socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"),
        ),
        ("elsewhere.invalid", socket.gaierror(socket.EAI_NONAME, "nodename nor servname provided")),
        ("elsewhere.invalid", OSError(errno.EHOSTUNREACH, "No route to host")),
        ("elsewhere.invalid", OSError(errno.ENETUNREACH, "Network is unreachable")),
        ("elsewhere.invalid", TimeoutError(errno.ETIMEDOUT, "Connection timed out")),
    ],
    ids=[
        "nobody-listens",
        "unknown-host",
        "no-name-server",
        "unknown-host-on-a-mac",
        "no-route",
        "no-network",
        "switched-off",
    ],
)
def test_a_server_that_is_not_there_stops_its_model(host, why, stage_for, monkeypatch):
    stage, real_getaddrinfo = stage_for(lambda request: Reply("B")), socket.getaddrinfo

    def getaddrinfo(host, *args, **kwargs):  # what resolvers say differs between machines
        if host in ("elsewhere.invalid", b"elsewhere.invalid"):
            raise why
        return real_getaddrinfo(host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        urls = {"m": f"http://{host}:{nobody.getsockname()[1]}/v1", "there": stage.server.url}
        stage.model = {name: api_model(url) for name, url in urls.items()}
        ran = stage.run("--retry", "0")
    expected_texts = ('model "m"', "Is the server running, and is the base URL right?")
    assert (ran.code, missing(expected_texts, ran)) == (1, [])
    assert not [r for r in read_log_lines(stage.log(L1)) if r["kind"] == "answer"]
    # The other model of the config is asked all the same.
    assert len(ran.requests) == 9
    assert stage.scores(L1, "there")["total_sample_num"] == 9


@pytest.mark.parametrize("arguments", [(), ("--check", "--ping")], ids=["run", "ping"])
def test_what_a_server_says_cannot_move_the_cursor(arguments, stage_for):
    ran = stage_for(lambda request: error(401, "\x1b[2Jno \x07key\x9b31m")).run(*arguments)
    assert "key" in ran.output
    assert [sign for sign in "\x1b\x07\x9b" if sign in ran.output] == []


def test_429_alone_stops_the_run_after_the_outage(stage_for):
    replies_left, busy = ["B"] * 2, error(429, **{"retry-after": "999999"})
    ran = stage_for(lambda request: Reply(replies_left.pop()) if replies_left else busy).run(
        "--outage", "0.5"
    )
    assert (ran.code, missing(("no other answer", "(--outage)"), ran)) == (1, [])


@pytest.mark.parametrize("status", [401, 500])
def test_of_a_long_page_with_an_error_the_beginning_is_told_and_kept(status, stage_for):
    stage = stage_for(lambda request: error(status, "x" * 5000), pictures=1)
    ran = stage.run("--retry", "0", "--no-report")
    texts = [ran.output, *(path.read_text() for path in stage.written() if path.suffix != ".xlsx")]
    assert 400 < max(map(len, re.findall("x+", " ".join(texts)))) <= 600


def test_an_answer_is_kept_though_its_image_has_gone_meanwhile(stage_for):
    def answer(request):
        stage.picture(0).unlink()
        return Reply("B")

    stage = stage_for(answer, pictures=1)
    assert stage.run("--limit", "1").code == 0
    assert [record["status"] for record in stage.answers(L1)] == ["ok"]


@pytest.mark.parametrize(
    ("env", "expected_text"),
    [
        ({"ALL_PROXY": "ftp://me:Hidden-1234@127.0.0.1:9"}, "begins with ftp://, which is no kind"),
        ({"HTTP_PROXY": "http://me:Hidden/1234@127.0.0.1:9"}, "is no valid address of a proxy"),
        ({"SSL_CERT_FILE": "no-such-file.pem"}, "there is no such file: no-such-file.pem"),
        ({"ALL_PROXY": "socks://127.0.0.1:1080"}, "write socks5://"),
        ({"https_proxy": "socks4://127.0.0.1:1080"}, "known are http://, https://, socks5://"),
        ({"HTTP_PROXY": "socks5://me:Hidden-1234@127.0.0.1:1"}, "pip install socksio"),
        ({"ALL_PROXY": "http://"}, "write http://host:port"),
        ({"HTTPS_PROXY": "127.0.0.1:no"}, "is no valid address of a proxy"),
    ],
)
@pytest.mark.parametrize("arguments", [(), ("--check",)], ids=["run", "check"])
def test_a_proxy_or_certificate_file_that_cannot_be_used_is_told_before_the_run(
    arguments, env, expected_text, stage_for
):
    stage = stage_for(lambda request: Reply("B"), pictures=1)
    ran = stage.run(*arguments, env=env)
    assert (ran.code, ran.requests, missing([expected_text, *env], ran)) == (2, [], [])
    assert "Hidden" not in ran.output

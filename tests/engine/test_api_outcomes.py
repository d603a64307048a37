"""How requests can end, against a server that misbehaves: answered, refused, failed, stopped."""

import gzip
import json
import re
import socket
import threading

import pytest

from tests.support.bench import FAILED_TEXT, L1, L2, Bench, dataset_of, read_log_lines, told
from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model, make_data, run_folder


def completion(message, finish_reason="stop", **more):
    """A chat completion with any message."""
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    return json.dumps({"object": "chat.completion", "choices": [choice], **more}).encode()


def error(status, message="no", code=None, **headers):
    body = json.dumps({"error": {"message": message, "code": code, "type": "t"}}).encode()
    return Reply(status=status, body=body, headers=headers)


def bench_for(tmp_path, server, pictures=3, **entry):
    """`pictures` times 3 L1 questions against a server."""
    make_data(tmp_path / "data", [("os_web", (40, 30))] * pictures)
    return Bench(tmp_path, server, {"m": api_model(server.url, **entry)}, {L1: {"mode": "all"}})


def number_of(request):
    """Number of the question: 3 n + 0 (easy), 1 (medium), 2 (hard)."""
    picture, difficulty = re.search(r"Question (\d+) (\w+)\?", request.text).groups()
    return 3 * int(picture) + ("easy", "medium", "hard").index(difficulty)


def problem_of(ran):
    """What a stopped run says on its way out."""
    assert "Traceback" not in ran.output
    return ran.finished.stderr


# ---- failures in passing -------------------------------------------------------------------------

SOON = {"retry-after-ms": "0"}
NO_WAIT = {"retry-after": "0"}
TRANSIENT = {
    "429": error(429, **NO_WAIT),
    "429-in-ms": error(429, **SOON),
    "408": error(408, **SOON),
    "409": error(409, **SOON),
    "500": error(500, **SOON),
    "502-html": Reply(status=502, body=b"<html>Bad gateway</html>", headers=SOON),
    "503": error(503, **NO_WAIT),
    "504-empty": Reply(status=504, body=b"", headers=SOON),
    "reset": Reply(reset=True),
    "html": Reply(body=b"<html><body>Answer: B</body></html>", headers={"content-type": "text/html"}),
    "empty-body": Reply(body=b""),
    "broken-json": Reply(body=b'{"choices": [{"message": {"content": "B'),
    "cut-in-a-sign": Reply(body='{"choices": "é'.encode()[:-1]),
    "json-text": Reply(body=b'"B"'),
    "json-null": Reply(body=b"null"),
    "no-choices": Reply(body=b'{"object": "chat.completion"}'),
    "choices-null": Reply(body=b'{"choices": null}'),
    "choices-empty": Reply(body=b'{"choices": []}'),
    "choice-without-message": Reply(body=b'{"choices": [{"text": "B"}]}'),
    "message-null": Reply(body=b'{"choices": [{"message": null}]}'),
    "content-null": Reply(body=completion({"role": "assistant", "content": None})),
    "content-empty": Reply(text=""),
    "content-absent": Reply(body=completion({"role": "assistant"})),
    "content-object": Reply(body=completion({"content": {"text": "B"}})),
    "content-number": Reply(body=completion({"content": 5})),
    "reasoning-alone": Reply(body=completion({"content": None, "reasoning_content": "B."})),
    "error-in-a-200": Reply(body=b'{"error": {"message": "overloaded"}}'),
}  # fmt: skip


@pytest.fixture(scope="module")
def transient(tmp_path_factory):
    """Each question meets one of the failures first and is answered then: (bench, run)."""
    home = tmp_path_factory.mktemp("transient")
    failures, seen = list(TRANSIENT.values()), set()

    def answer(request):
        number = number_of(request)
        if number < len(failures) and number not in seen:
            seen.add(number)
            return failures[number]
        return Reply("B")

    with MockServer(answer) as server:
        bench = bench_for(home, server, pictures=(len(failures) + 2) // 3)
        return bench, bench.run("--api-nproc", "16", "--retry", "1")


@pytest.mark.parametrize("failure", TRANSIENT)
def test_a_failure_in_passing_is_followed_by_the_answer(failure, transient):
    bench, ran = transient
    texts = [request for request in ran.requests if number_of(request) == number(failure)]
    assert len(texts) == 2, ran.output
    record = by_number(bench)[number(failure)]
    assert (record["status"], record["raw"], record["attempts"]) == ("ok", "B", 2)
    assert ran.code == 0, ran.output


def number(failure):
    return list(TRANSIENT).index(failure)


def by_number(bench):
    """Newest record of each question by its number; mode all numbers them in file order."""
    return {record["line"]["index"]: record for record in bench.answers(L1)}


@pytest.fixture(scope="module")
def hopeless(tmp_path_factory):
    """Each question meets its failure every time; no retries: (bench, run)."""
    home = tmp_path_factory.mktemp("hopeless")
    # All but rate limits and a server that is away, which use up no retry; with a success first.
    failures = {n: reply for n, reply in TRANSIENT.items() if reply.status not in (429, 502, 503)}
    replies = [Reply("B"), *failures.values()]

    def answer(request):
        number = number_of(request)
        return replies[number] if number < len(replies) else Reply("B")

    with MockServer(answer) as server:
        bench = bench_for(home, server, pictures=(len(replies) + 2) // 3)
        return bench, bench.run("--api-nproc", "16", "--retry", "0"), list(failures)


def test_retry_0_asks_each_sample_once(hopeless):
    bench, ran, failures = hopeless
    asked = sorted(number_of(request) for request in ran.requests)
    assert asked == sorted(set(asked))
    assert {by_number(bench)[n]["attempts"] for n in range(1, len(failures) + 1)} == {1}


def test_no_failure_is_stored_as_an_answer_or_read_as_one(hopeless):
    bench, ran, failures = hopeless
    records = by_number(bench)
    wrong = [name for n, name in enumerate(failures, 1)
             if (records[n]["status"], records[n]["raw"]) != ("failed", None)]  # fmt: skip
    assert wrong == []
    rows = bench.sheet(L1, "_exact_matching_result")[1 : len(failures) + 1]
    assert {(row["prediction"], row["parsed_prediction"], row["hit"]) for row in rows} == {
        (FAILED_TEXT, "None", 0)
    }
    assert told(ran.output, "failed") == [len(failures)]
    assert ran.code == 1


def test_a_failure_is_described_in_its_record(hopeless):
    bench, _, failures = hopeless
    errors = {name: by_number(bench)[n].get("error") for n, name in enumerate(failures, 1)}
    assert (errors["500"]["status_code"], errors["500"]["class"]) == (500, "http")
    assert errors["reset"]["class"] == "connection"
    assert errors["html"]["class"] == "bad_body"
    assert "<html>" in errors["html"]["message"]


@pytest.mark.parametrize(
    "body",
    [b"[" * 200_000, completion({"content": [{"type": "text", "text": 5}]})],
    ids=["deep-json", "parts-without-text"],
)
def test_no_body_whatever_it_is_ends_the_run(body, tmp_path):
    replies = [Reply(body=body), Reply("B"), Reply("B"), Reply("B")]
    with MockServer(lambda request: replies.pop(0)) as server:
        ran = bench_for(tmp_path, server, pictures=1).run("--api-nproc", "1", "--retry", "1")
    assert (ran.code, len(ran.requests)) == (0, 4), ran.output


def test_rate_limits_use_up_no_retries(tmp_path):
    counts = {}

    def answer(request):
        counts[request.text] = counts.get(request.text, 0) + 1
        return error(429, **NO_WAIT) if counts[request.text] <= 7 else Reply("B")

    with MockServer(answer) as server:
        bench = bench_for(tmp_path, server, pictures=1)
        ran = bench.run("--retry", "0")
    assert (ran.code, len(ran.requests)) == (0, 3 * 8), ran.output


def test_an_attempt_takes_no_longer_than_timeout_s(tmp_path):
    released = threading.Event()

    def answer(request):
        if number_of(request) == 1:
            released.wait(60)
        return Reply("B")

    with MockServer(answer) as server:
        bench = bench_for(tmp_path, server, pictures=1, kwargs={"timeout_s": 1})
        ran = bench.run("--retry", "0")
        released.set()
    record = by_number(bench)[1]
    assert (ran.code, record["status"], record["error"]["class"]) == (1, "failed", "timeout")


# ---- refused -------------------------------------------------------------------------------------

REFUSED = {
    "400": error(400, "picture too large"),
    "413": error(413),
    "422": error(422),
    "content-filter": Reply(body=completion({"content": None}, "content_filter")),
    "400-content-filter": error(400, "policy", code="content_filter"),
    "refusal": Reply(body=completion({"content": None, "refusal": "I will not"})),
}


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """The first questions are refused, each in its way: (bench, run)."""
    home = tmp_path_factory.mktemp("refused")
    replies = list(REFUSED.values())

    def answer(request):
        number = number_of(request)
        return replies[number] if number < len(replies) else Reply("B")

    with MockServer(answer) as server:
        bench = bench_for(home, server)
        return bench, bench.run()


@pytest.mark.parametrize("refusal", REFUSED)
def test_a_refused_sample_is_asked_once_and_is_wrong(refusal, refused):
    bench, ran = refused
    number = list(REFUSED).index(refusal)
    assert [number_of(request) for request in ran.requests].count(number) == 1
    record = by_number(bench)[number]
    assert (record["status"], record["raw"]) == ("refused", None)
    row = bench.sheet(L1, "_exact_matching_result")[number]
    assert (row["parsed_prediction"], row["hit"]) == ("None", 0)


def test_refusals_are_counted_apart_and_the_rest_goes_on(refused):
    bench, ran = refused
    assert ran.code == 1
    assert (told(ran.output, "answered"), told(ran.output, "refused")) == ([3], [6])
    assert "I will not" in by_number(bench)[5]["error"]["message"]
    assert "picture too large" in by_number(bench)[0]["error"]["message"]
    scores = json.loads(bench.scores(L1))
    assert scores["total_sample_num"] == 9
    assert sum(3 * scores[level]["level_score"] for level in ("easy", "medium", "hard")) \
        == pytest.approx(3)  # fmt: skip


def test_when_the_first_20_are_all_refused_the_run_stops_and_quotes_the_server(tmp_path):
    with MockServer(lambda request: error(400, "unknown field max_tokens")) as server:
        bench = bench_for(tmp_path, server, pictures=20)
        ran = bench.run("--api-nproc", "2")
    assert ran.code == 1
    assert 20 <= len(ran.requests) <= 22
    assert "unknown field max_tokens" in problem_of(ran)
    assert 'model "m": the first 20 requests were all refused' in problem_of(ran)


def test_nothing_stays_refused_after_a_run_that_stopped_because_all_was(tmp_path):
    broken = [True]

    def answer(request):
        return error(400) if broken else Reply("B")

    with MockServer(answer) as server:
        bench = bench_for(tmp_path, server, pictures=10)
        assert bench.run("--api-nproc", "8").code == 1
        broken.clear()
        ran = bench.run()
    assert (ran.code, len(ran.requests)) == (0, 30)


def test_after_one_answer_any_number_of_refusals_goes_through(tmp_path):
    first = []

    def answer(request):
        first.append(request)
        return Reply("B") if len(first) == 1 else error(400)

    with MockServer(answer) as server:
        bench = bench_for(tmp_path, server, pictures=8)
        ran = bench.run("--api-nproc", "1")
    assert (ran.code, len(ran.requests)) == (1, 24)
    assert (told(ran.output, "answered"), told(ran.output, "refused")) == ([1], [23])


# ---- nothing will work ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (error(401, "bad key"), ["401", "bad key", "API key"]),
        (error(402, "pay first"), ["402", "pay first", "credit"]),
        (error(429, "quota", code="insufficient_quota", **NO_WAIT), ["quota"]),
        (error(403, "not yours"), ["403", "not yours", "key may not use"]),
        (error(404, "no model mock"), ["404", "no model mock", "/v1"]),
    ],
    ids=["401", "402", "insufficient-quota", "403-first", "404-first"],
)
def test_a_run_that_cannot_work_stops_at_once_and_says_what_to_do(reply, said, tmp_path):
    with MockServer(lambda request: reply) as server:
        bench = bench_for(tmp_path, server, pictures=8)
        ran = bench.run("--api-nproc", "3")
        message = problem_of(ran)
        assert ran.code == 1
        assert [text for text in said if text not in message] == []
        assert 'model "m"' in message
        assert 1 <= len(ran.requests) <= 3


def test_a_wrong_key_costs_one_request_for_each_in_flight(tmp_path):
    with MockServer(lambda request: error(401)) as server:
        bench = bench_for(tmp_path, server)
        assert len(bench.run("--api-nproc", "1").requests) == 1
        assert len(bench.run("--api-nproc", "1").requests) == 1  # nothing counts as answered


def test_a_401_in_the_middle_keeps_what_was_answered(tmp_path):
    valid = ["B"] * 5

    def answer(request):
        return Reply(valid.pop()) if valid else error(401)

    with MockServer(answer) as server:
        bench = bench_for(tmp_path, server)
        ran = bench.run("--api-nproc", "1")
        assert (ran.code, len(ran.requests)) == (1, 6)
        assert "Answers so far are kept" in problem_of(ran)
        valid.extend("B" * 99)
        again = bench.run("--api-nproc", "1")
    assert (again.code, len(again.requests)) == (0, 4), again.output


def test_a_401_ends_the_run_though_other_requests_hang(tmp_path):
    released, hanging = threading.Event(), threading.Semaphore(0)

    def answer(request):
        if number_of(request) < 7:
            hanging.release()
            released.wait(60)
            return Reply("B")
        assert all(hanging.acquire(timeout=30) for _ in range(7))
        return error(401)

    with MockServer(answer) as server:
        bench = bench_for(tmp_path, server, pictures=8)
        process = bench.start("--api-nproc", "8")
        server.wait_for(8)
        try:
            stdout, stderr = process.communicate(timeout=20)
        finally:
            released.set()
            process.kill()
    assert process.returncode == 1, stdout + stderr
    assert "401" in stderr


def test_a_401_without_any_key_says_how_to_give_one(tmp_path):
    with MockServer(lambda request: error(401, "who are you?")) as server:
        bench = bench_for(tmp_path, server)
        bench.model["m"]["model_path"] = f"{server.url}?model=mock"
        ran = bench.run()
    assert ran.code == 1
    message = problem_of(ran)
    assert "no API key was given" in message
    assert "?api_key=${NAME}&model=" in message
    assert ".env" in message
    assert ran.requests[0].headers["authorization"] == "Bearer api_key_placeholder"


def test_404_after_an_answer_is_the_matter_of_its_sample(tmp_path):
    with MockServer(
        lambda request: error(404) if number_of(request) == 4 else Reply("B")
    ) as server:
        bench = bench_for(tmp_path, server)
        ran = bench.run("--api-nproc", "1")
    assert (ran.code, len(ran.requests)) == (1, 9)
    assert (told(ran.output, "answered"), told(ran.output, "failed")) == ([8], [1])


def test_a_server_that_stays_away_is_given_up_and_what_was_answered_is_kept(tmp_path):
    left = ["B"] * 4

    def answer(request):
        return Reply(left.pop()) if left else error(503, **NO_WAIT)

    with MockServer(answer) as server:
        bench = bench_for(tmp_path, server)
        ran = bench.run("--api-nproc", "1", "--outage", "0")
        assert ran.code == 1
        assert "503" in problem_of(ran)
        left.extend("B" * 9)
        again = bench.run("--api-nproc", "1")
    assert (again.code, len(again.requests)) == (0, 5), again.output


def unused_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


# What resolvers say differs from machine to machine, so the process is given one of ours.
RESOLVER = """
import socket

known = socket.getaddrinfo


def getaddrinfo(host, *args, **kwargs):
    if host in ("no-such-host.invalid", b"no-such-host.invalid"):
        raise socket.gaierror({code}, {text!r})
    return known(host, *args, **kwargs)


socket.getaddrinfo = getaddrinfo
"""


@pytest.mark.parametrize(
    ("host", "code", "text"),
    [
        ("127.0.0.1", 0, ""),
        ("no-such-host.invalid", socket.EAI_NONAME, "Name or service not known"),
        ("no-such-host.invalid", socket.EAI_AGAIN, "Temporary failure in name resolution"),
        ("no-such-host.invalid", socket.EAI_NONAME, "nodename nor servname provided, or not known"),
    ],
    ids=["nobody-listens", "unknown-host", "no-name-server", "unknown-host-on-a-mac"],
)
def test_a_server_that_is_not_there_stops_its_model_at_once(host, code, text, tmp_path):
    with MockServer() as server:
        bench = bench_for(tmp_path, server)
        bench.code.mkdir()
        (bench.code / "sitecustomize.py").write_text(RESOLVER.format(code=int(code), text=text))
        bench.model["m"] = api_model(f"http://{host}:{unused_port()}/v1")
        bench.model["there"] = api_model(server.url)
        ran = bench.run("--retry", "0")
    assert ran.code == 1
    message = problem_of(ran)
    assert 'model "m"' in message, ran.output
    assert "Is the server running, and is the base URL right?" in message
    assert not [r for r in read_log_lines(bench.log(L1)) if r["kind"] == "answer"]
    # The other model of the config is asked all the same.
    assert len(ran.requests) == 9
    assert json.loads(bench.scores(L1, "there"))["total_sample_num"] == 9


# ---- odd answers ---------------------------------------------------------------------------------

PARSE_FILE = '''\
import pathlib

SEEN = pathlib.Path(__file__).with_name("parsed.txt")


def parse(response):
    """Writes down whatever it is given."""
    with SEEN.open("a") as file:
        file.write(response + "\\n")
    return "A" if "A" in response else None
'''


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """Cut-off, reasoning, parts, failures, read by a parse function that keeps a diary."""
    home = tmp_path_factory.mktemp("odd")
    replies = [
        Reply("C and then", finish_reason="length"),
        Reply(body=completion({"content": "C", "reasoning_content": "A, I think"})),
        Reply(body=completion({"content": "C", "reasoning": "A, I guess"})),
        Reply(body=completion({"content": [{"type": "text", "text": "C"}, {"type": "text", "text": "!"}]})),
        error(500, "A500"),
        error(400, "A400"),
        Reply(body=b"<html>A</html>"),
        Reply("C", finish_reason="content_filter"),
        Reply(body=completion({"content": None, "reasoning_content": "A? No"}, "length",
                              usage={"completion_tokens": 16})),
    ]  # fmt: skip

    def answer(request):
        number = number_of(request)
        return replies[number] if number < len(replies) else Reply("C")

    with MockServer(answer) as server:
        bench = bench_for(home, server)
        bench.code.mkdir()
        (bench.code / "diary.py").write_text(PARSE_FILE)
        bench.data = {L1: {"mode": "all", "parse_function": "diary.parse"}}
        return bench, bench.run("--retry", "0")


def test_an_answer_cut_off_at_the_token_limit_counts_and_is_counted(odd):
    bench, ran = odd
    assert by_number(bench)[0]["finish_reason"] == "length"
    assert by_number(bench)[0]["status"] == "ok"
    assert told(ran.output, "cut off at the token limit") == [2]


def test_a_model_that_thinks_until_the_tokens_are_spent_has_answered_nothing_readable(odd):
    bench, ran = odd
    assert [number_of(request) for request in ran.requests].count(8) == 1
    record = by_number(bench)[8]
    assert (record["status"], record["raw"], record["finish_reason"]) == ("ok", "", "length")
    assert (record["reasoning"], record["usage"]) == ("A? No", {"completion_tokens": 16})
    assert told(ran.output, "empty: the model used all its tokens before it answered") == [1]
    again = bench.run("--retry", "0")
    assert 8 not in [number_of(request) for request in again.requests]


def test_reasoning_is_stored(odd):
    records = by_number(odd[0])
    assert [records[n].get("reasoning") for n in (1, 2, 3)] == ["A, I think", "A, I guess", None]


def test_neither_reasoning_nor_failures_are_ever_parsed(odd):
    bench, _ = odd
    parsed = (bench.code / "parsed.txt").read_text().split("\n")
    assert sorted(parsed) == ["", "", "C", "C", "C", "C and then", "C!"]
    rows = bench.sheet(L1, "_exact_matching_result")
    assert {row["parsed_prediction"] for row in rows} == {"None"}


def test_finish_reason_usage_and_latency_are_kept(odd):
    record = by_number(odd[0])[0]
    assert record["finish_reason"] == "length"
    assert record["usage"] == {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    assert record["latency_s"] > 0


def test_an_answer_that_the_filter_cut_is_marked_in_its_record(odd):
    assert by_number(odd[0])[7]["finish_reason"] == "content_filter"


def test_failed_l2_samples_are_format_errors_and_no_points(tmp_path):
    make_data(tmp_path / "data")
    body = b"<html>(0.2, 0.15)</html>"

    def answer(request):
        return Reply("B") if dataset_of(request) == L1 else Reply(body=body)

    with MockServer(answer) as server:
        bench = Bench(tmp_path, server, {"m": api_model(server.url)}, {L2: {"mode": "all"}})
        ran = bench.run("--retry", "0")
    assert ran.code == 1
    scores = json.loads((run_folder(bench.work_dir, "m") / f"m_{L2}_score.json").read_text())
    assert scores["Average accuracy"] == 0
    assert scores["basic"]["os_web"]["Error format num"] == 1


# ---- servers that mean harm ----------------------------------------------------------------------


def test_a_redirect_is_not_followed_and_the_message_says_what_to_change(tmp_path):
    with (
        MockServer() as elsewhere,
        MockServer(
            lambda request: Reply(status=307, headers={"location": f"{elsewhere.url}/elsewhere"})
        ) as server,
    ):
        bench = bench_for(tmp_path, server)
        ran = bench.run("--api-nproc", "1")
        assert elsewhere.requests == []
        assert f"HTTP 307: the server redirects to {elsewhere.url}/elsewhere" in problem_of(ran)
    assert "write it into model_path" in problem_of(ran)
    assert (ran.code, len(ran.requests)) == (1, 1)


def test_one_redirect_that_leads_nowhere_is_the_matter_of_its_sample(tmp_path):
    away = {"location": f"http://127.0.0.1:{unused_port()}/v1"}

    def answer(request):
        return Reply(status=302, headers=away) if number_of(request) == 8 else Reply("B")

    with MockServer(answer) as server:
        ran = bench_for(tmp_path, server).run("--api-nproc", "1", "--retry", "0")
    assert (ran.code, len(ran.requests)) == (1, 9)
    assert (told(ran.output, "answered"), told(ran.output, "failed")) == ([8], [1])


def test_a_reply_that_unpacks_to_gigabytes_fails_its_sample(tmp_path):
    packed = gzip.compress(b" " * (65 << 20), compresslevel=9)

    def answer(request):
        if number_of(request) == 2:
            return Reply(body=packed, headers={"content-encoding": "gzip"})
        return Reply("B")

    with MockServer(answer) as server:
        bench = bench_for(tmp_path, server, pictures=1)
        ran = bench.run("--retry", "0")
    failed = by_number(bench)[2]
    assert (ran.code, failed["status"], failed["error"]["class"]) == (1, "failed", "bad_body")
    assert "larger than 64 MB" in failed["error"]["message"]


def test_a_small_packed_reply_is_read_like_any_other(tmp_path):
    body = gzip.compress(Reply("B").encoded())
    with MockServer(
        lambda request: Reply(body=body, headers={"content-encoding": "gzip"})
    ) as server:
        ran = bench_for(tmp_path, server, pictures=1).run()
    assert (ran.code, told(ran.output, "answered")) == (0, [3])


@pytest.mark.parametrize("arguments", [(), ("--check", "--ping")], ids=["run", "ping"])
def test_what_a_server_says_cannot_move_the_cursor(arguments, tmp_path):
    with MockServer(lambda request: error(401, "\x1b[2Jno \x07key\x9b31m")) as server:
        ran = bench_for(tmp_path, server, pictures=1).run(*arguments)
    assert "key" in ran.output
    assert [sign for sign in "\x1b\x07\x9b" if sign in ran.output] == []


def test_nothing_but_429_stops_the_run_after_the_outage_whatever_wait_the_server_asks_for(tmp_path):
    with MockServer(lambda request: error(429, **{"retry-after": "999999"})) as server:
        ran = bench_for(tmp_path, server).run("--api-nproc", "2", "--outage", "1")
    assert ran.code == 1
    assert "nothing else" in problem_of(ran) and "(--outage)" in problem_of(ran)


def test_after_ten_seconds_of_429_a_line_says_what_is_happening(tmp_path):
    left = [Reply("B")] * 2

    def answer(request):
        if left:
            return left.pop()
        return error(429, **{"retry-after": "999999"})

    with MockServer(answer) as server:
        ran = bench_for(tmp_path, server, pictures=1).run("--outage", "11")
    assert ran.code == 1
    lines = [line for line in ran.output.splitlines() if "rate limited by the server since" in line]
    assert len(lines) == 1, ran.output
    assert "next try in 1 s" in lines[0]

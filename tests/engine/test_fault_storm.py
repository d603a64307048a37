"""Servers with bad nights: everything is answered in the end, and nothing else is stored."""

import itertools
import socket
import socketserver
import threading
import time
from collections import Counter
from contextlib import contextmanager

import pytest

from tests.support.faults import MOST_IN_A_ROW, SHARES, Storm
from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model
from tests.support.stage import L1, L2, Stage, dataset_of, told

PICTURES = 10  # of whose samples some fail four times in a row, and every fault is met


def calm(request):
    """Depends on the request alone; some right, some wrong, some unreadable."""
    if dataset_of(request) == L1:
        return Reply("B" if "1" in request.text else "A")
    return Reply("(0.2, 0.15)" if "basic" in request.text else "no idea")


@pytest.fixture(scope="module")
def calm_scores(tmp_path_factory):
    with MockServer(calm) as server:
        stage = Stage.make(tmp_path_factory.mktemp("calm"), server, PICTURES)
        assert stage.run("--api-nproc", "8").code == 0
        return stage.both_scores()


@pytest.mark.parametrize("nproc", ["32", "auto"])
def test_through_a_storm_everything_is_answered_once(nproc, staged, calm_scores):
    storm = Storm(calm, retry_after_s=0.05)
    stage = staged(answer=storm, pictures=PICTURES, kwargs={"timeout_s": 3})
    ran = stage.run("--api-nproc", nproc, "--retry", "20")
    storm.over.set()
    assert set(storm.met) == {name for name, _ in SHARES}
    assert storm.most_attempts > MOST_IN_A_ROW
    assert (ran.code, told(ran.output, "have a reply")) == (0, [3 * PICTURES, 2 * PICTURES]), (
        ran.output
    )
    assert stage.both_scores() == calm_scores
    # No answer is stored twice, and no failure as an answer.
    records = {dataset: stage.answers(dataset) for dataset in (L1, L2)}
    every = records[L1] + records[L2]
    assert set(Counter(record["key"] for record in every).values()) == {1}
    assert {record["raw"] for record in records[L1]} == {"A", "B"}
    assert {record["raw"] for record in records[L2]} == {"(0.2, 0.15)", "no idea"}
    assert {record["status"] for record in every} == {"ok"}
    # On a machine that stood still an attempt may be over before it has arrived.
    attempts, request_counts = Counter(), Counter(request.text for request in ran.requests)
    for record in every:
        texts = [part["value"] for part in record["prompt"] if part["type"] == "text"]
        attempts["\n".join(texts)] += record["attempts"]
    assert attempts >= request_counts and len(attempts) == len(every)


@pytest.fixture
def comes_up(monkeypatch):
    """A server that comes up after so many of the run's connections were refused."""
    connect, refused = socket.create_connection, threading.Semaphore(0)

    def create_connection(*args, **kwargs):
        try:
            return connect(*args, **kwargs)
        except ConnectionRefusedError:
            refused.release()
            raise

    @contextmanager
    def after(times, port):
        attempts_seen = []

        def start():
            for _ in range(times):
                refused.acquire(timeout=60)
            attempts_seen.append(MockServer(calm, port).__enter__())

        (thread := threading.Thread(target=start, daemon=True)).start()
        yield attempts_seen
        thread.join(60)
        attempts_seen[0].__exit__()

    monkeypatch.setattr(socket, "create_connection", create_connection)
    return after


def leaving(last):
    """A server that is gone, with its connections, when so many requests have arrived."""
    numbers = itertools.count(1)

    def answer(request):
        if next(numbers) == last:
            server.go_away()
        return calm(request)

    server = MockServer(answer)
    return server


@pytest.mark.parametrize("nproc", ["1", "8"])
def test_a_server_that_comes_back_costs_no_retries(nproc, tmp_path, calm_scores, comes_up):
    # The second connection that is refused is that of a run that has waited and tried again.
    with leaving(last=20) as server, comes_up(2, server.port) as back:
        stage = Stage.make(tmp_path, server, PICTURES)
        # One retry, for what was in flight; refused connections use up none.
        ran = stage.run("--api-nproc", nproc, "--retry", "1")
    assert (ran.code, told(ran.output, "have a reply")) == (0, [3 * PICTURES, 2 * PICTURES]), (
        ran.output
    )
    # 19 requests were answered before; of those at most so many were still on their way.
    assert len(back[0].requests) <= 5 * PICTURES - 19 + int(nproc) - 1
    assert stage.both_scores() == calm_scores


def test_requests_under_way_when_a_gateway_loses_its_server_wait_for_another_one(staged):
    bad_gateway = Reply(status=502, headers={"retry-after": "0.01"}, body=b"no server")
    numbers = itertools.count(1)

    def answer(request):
        number = next(numbers)
        if number == 1:
            stage.server.wait_for(4)
        elif number <= 4:  # until the client has the first answer
            stage.server.wait_for(5)
        return calm(request) if number == 1 or number > 100 else bad_gateway

    stage = staged(answer=answer, pictures=PICTURES)
    ran = stage.run("--api-nproc", "4", "--no-report")
    assert told(ran.output, "have a reply") == [3 * PICTURES, 2 * PICTURES], ran.output


def test_an_outage_that_is_too_long_stops_the_run_with_everything_kept(tmp_path, calm_scores):
    with leaving(last=20) as server:
        stage = Stage.make(tmp_path, server, PICTURES)
        ran = stage.run("--api-nproc", "1", "--outage", "0.5")
    assert (ran.code, ran.stderr.count("problem")) == (1, 1)
    assert "The server has been away" in ran.stderr and "(--outage)" in ran.stderr
    with MockServer(calm, server.port) as back:
        assert stage.run("--api-nproc", "8").code == 0
        assert len(back.requests) == 5 * PICTURES - 19
    assert stage.both_scores() == calm_scores


def test_a_server_that_is_still_loading_is_waited_for_as_long_as_the_user_says(tmp_path, comes_up):
    with MockServer(calm) as nobody:
        stage = Stage.make(tmp_path, nobody, 1)
        nobody.go_away()
    ran = stage.run("--wait-for-server", "0.1", "--api-nproc", "1")
    assert (ran.code, "--wait-for-server" in ran.stderr) == (1, True)
    with comes_up(1, nobody.port) as late:
        ran = stage.run("--wait-for-server", "60", "--retry", "0")
    assert (ran.code, len(late[0].requests)) == (0, 5), ran.output


@pytest.mark.parametrize(
    ("status", "in_a_row"), [(403, 10), (404, 10), (403, 9), (404, 9), (302, 9)]
)
def test_ten_403_or_404_in_a_row_stop_the_run_and_nine_do_not(status, in_a_row, staged):
    gone = Reply(
        status=status,
        headers={"location": "http://127.0.0.1:9/v1"},
        body=b'{"error": {"message": "gone"}}',
    )
    answered = [1] if in_a_row == 10 else range(1, 41, 10)
    stage = staged(
        pictures=8,
        answer=lambda request: calm(request) if len(stage.server.requests) in answered else gone,
    )
    ran = stage.run("--api-nproc", "1", "--retry", "0")
    if in_a_row < 10:
        assert (ran.code, len(ran.requests)) == (1, 40), ran.output
        assert [sum(told(ran.output, what)) for what in ("have a reply", "failed")] == [4, 36]
        return
    assert (ran.code, len(ran.requests)) == (1, 11), ran.output
    expected_texts = ("10 samples in a row", str(status), "gone")
    assert [text for text in expected_texts if text not in ran.stderr] == []
    stage.server.answer = calm
    again = stage.run("--api-nproc", "1")
    assert (again.code, len(again.requests)) == (0, 39), again.output


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
DRIPS = {
    # sent at once, then a byte at a time
    "body": (HEAD + b"content-length: 100000\r\n\r\n", b" "),
    "chunked": (HEAD + b"transfer-encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
}


@contextmanager
def dripping(first, drop):
    """A server that sends a little, again and again: (its URL, event: the client has hung up)."""
    over, hung_up = threading.Event(), threading.Event()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            self.request.recv(1 << 16)  # what is asked does not matter
            try:
                self.wfile.write(first)
                while not over.wait(0.05):
                    self.wfile.write(drop)
            except OSError:
                hung_up.set()

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1", hung_up
        finally:
            over.set()
            server.shutdown()


@pytest.mark.parametrize("phase", DRIPS)
def test_a_dripping_reply_ends_at_timeout_s(phase, staged):
    stage = staged(pictures=1)
    with dripping(*DRIPS[phase]) as (url, hung_up):
        stage.model = {"m": api_model(url, kwargs={"timeout_s": 2})}
        stage.data = {L1: {"mode": "easy"}}
        ran = stage.run("--retry", "0")
        assert hung_up.wait(60)
    [record] = stage.answers(L1)
    assert (ran.code, record["status"], record["error"]["class"]) == (1, "failed", "timeout")


def test_the_time_of_a_request_begins_when_it_is_sent(staged, monkeypatch):
    import openai

    real_init, clock, passed_s = openai.OpenAI.__init__, time.monotonic, []

    def make(self, *args, **kwargs):
        passed_s.append(1000)  # as on a machine where the import of the client takes long
        real_init(self, *args, **kwargs)

    monkeypatch.setattr(openai.OpenAI, "__init__", make)
    monkeypatch.setattr(time, "monotonic", lambda: clock() + sum(passed_s))
    stage = staged(pictures=1, kwargs={"timeout_s": 500})
    ran = stage.run("--retry", "0")
    assert (ran.code, len(ran.requests), len(passed_s)) == (0, 5, 1), ran.output
    assert max(r["latency_s"] for r in stage.answers(L1)) < 1000

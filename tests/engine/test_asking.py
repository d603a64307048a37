"""One request until it is answered: what its earlier attempts and the others' answers mean for it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from utils.config.options import Options
from utils.contracts import CallError, Generation, Prepared, Sizes
from utils.engine.asking import Asker
from utils.engine.gate import Gate, Limit


class Server:
    """Fails the first sample with these, one after the other; the others always get an answer.

    While the first attempt is under way, another sample is answered.
    """

    name = "m"

    def __init__(self, failures):
        self.failures, self.asker = failures, None

    def generate(self, prepared):
        if prepared.fingerprint == "first" and self.failures:
            failure = self.failures.pop(0)
            if failure.is_beside_answers:
                assert self.asker.ask(Prepared("L2", "other", {}, [])).generation
            raise failure
        return Generation("B", sizes=Sizes())


def failure(kind, status_code=None, *, beside_answers=False):
    error = CallError(kind, kind, status_code=status_code, retry_after_s=0.001)
    error.is_beside_answers = beside_answers
    return error


@pytest.mark.parametrize(("failures", "is_answered"), [
    # One retry is left after what was in flight; nobody there uses up none, however often.
    ([failure("connection", beside_answers=True), failure("refused_connection")], True),
    ([failure("connection", beside_answers=True), *[failure("refused_connection")] * 4], True),
    ([failure("connection", beside_answers=True), failure("http", 503)], True),
    ([failure("connection", beside_answers=True), failure("connection")], False),
    # A gateway that answers others has something against this sample.
    ([failure("http", 502, beside_answers=True), failure("http", 502)], False),
])  # fmt: skip
def test_a_server_that_is_away_uses_up_no_retry_of_what_was_in_flight(failures, is_answered):
    server, stopping = Server(list(failures)), threading.Event()
    gate = Gate(Limit.of(2), stopping)
    asker = Asker(server, Options(Path("config.json"), retry=1), gate, stopping, clean=str)
    server.asker = asker

    outcome = asker.ask(Prepared("L2", "first", {}, []))

    assert (outcome.generation is not None) is is_answered

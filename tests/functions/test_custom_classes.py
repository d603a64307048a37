"""A class of the user's that says more than a text, and fails as a server does."""

import json

import pytest

from tests.support.stage import L1, L2, NOBODY, Stage

CLASS = """
from models.base import CallError, Generation

class Model:
    tries = 0

    def generate(self, message, *, dataset_name, **generate_cfg):
        Model.tries += 1
        if Model.tries <= {failures}:
            raise CallError("http", "HTTP {status}: overloaded", status_code={status}, retry_after_s=0)
        call = {{"id": "c", "name": "choose", "arguments": {{"letter": "B"}}}}
        usage = {{"input_tokens": 11, "output_tokens": 2}}
        return Generation("B", usage=usage, reasoning="It is B.", tool_calls={calls})
"""


def stage_of(home, *, failures=0, status=429, calls="[call]"):
    stage = Stage.make(home, NOBODY, pictures=1)
    stage.module(CLASS.format(failures=failures, status=status, calls=calls))
    stage.model = {"m": {"model_path": "mymodel.Model", "imp_type": "custom"}}
    stage.data = {L1: {"mode": "all"}}
    return stage


@pytest.mark.parametrize(("status", "retry"), [(429, "0"), (529, "3")])
def test_a_server_that_is_too_busy_is_asked_again(tmp_path, status, retry):
    stage = stage_of(tmp_path, failures=3, status=status)
    ran = stage.run("--api-nproc", "1", "--retry", retry)
    assert ran.code == 0, ran.output
    assert [record["attempts"] for record in stage.answers(L1)] == [4, 1, 1]
    assert "\n  1 (33.3 %) needed more than one attempt\n" in ran.output


def test_what_a_class_will_not_answer_is_refused_at_once(tmp_path):
    stage = stage_of(tmp_path, failures=1, status=413)
    stage.run("--api-nproc", "1")
    records = stage.answers(L1)
    assert [record["status"] for record in records] == ["refused", "ok", "ok"]
    assert records[0]["error"]["status_code"] == 413


def test_a_generation_shows_in_log_manifest_and_report(tmp_path):
    stage = stage_of(tmp_path)
    ran = stage.run()
    assert ran.code == 0, ran.output
    record = stage.answers(L1)[0]
    assert (record["reasoning"], record["tool_calls"][0]["name"]) == ("It is B.", "choose")
    assert record["raw"].startswith("B\n<tool_call>")
    manifest = json.loads((stage.folder() / "manifest.json").read_text())
    assert manifest["datasets"][L1]["tokens"] == {"prompt_tokens": 33, "completion_tokens": 6}
    summary = (stage.folder() / "report" / "data" / "summary_0.js").read_text("ascii")
    assert "33 in, 6 out" in summary


def test_a_class_that_returns_neither_text_nor_generation_is_told_so(tmp_path):
    stage = stage_of(tmp_path)
    stage.module("class Model:\n    def generate(self, message, *, dataset_name): return 5\n")
    ran = stage.run()
    assert ran.code == 1
    assert "generate returned int; expected str or Generation" in ran.output


ONE_BY_ONE = """
events = []

class Model:
    one_by_one = True

    def announce(self, dataset, sample_count, index):
        events.append(f"{dataset} {index + 1} of {sample_count}")

    def generate(self, message, *, dataset_name):
        events.append("asked")
        return "B"

    def close(self):
        print(" | ".join(events))
"""


def test_a_class_that_wants_one_sample_after_the_other_is_told_of_each(tmp_path):
    stage = stage_of(tmp_path)
    stage.module(ONE_BY_ONE)
    stage.data = {name: {"mode": "all"} for name in (L1, L2)}
    first = [f"{L1} {number} of 3 | asked" for number in (1, 2, 3)]
    second = [f"{L2} {number} of 2 | asked" for number in (1, 2)]
    ran = stage.run("--api-nproc", "4")
    assert " | ".join([*first, *second]) in ran.output
    again = stage.run("--data", "L1", "--set", "data.GUIContentUnderstanding.mode=easy", "--fresh")
    assert f"{L1} 1 of 1 | asked" in again.output


def test_a_class_without_a_source_is_asked_again_and_says_so(tmp_path):
    stage = stage_of(tmp_path)
    text = "class Model:\n    def generate(self, message, *, dataset_name): return 'B'\n"
    stage.module(
        f"scope = {{'__name__': 'typed_in'}}\nexec({text!r}, scope)\nModel = scope['Model']"
    )
    assert "queried 3 (3 new)" in stage.run().output
    again = stage.run()
    assert "queried 3 (3 code that cannot be compared), reused 0" in again.output
    assert "stored answers are not reused: typed_in.Model has no source file" in again.output
    assert len(list(stage.work_dir.glob("m/T*/m_*.jsonl"))) == 2  # the log and the samples


def test_the_code_of_a_class_with_a_version_of_its_answers_does_not_count(tmp_path):
    stage = stage_of(tmp_path)
    answers = "    def generate(self, message, *, dataset_name): return '{}'\n"
    versioned = "class Model:\n    answers_version = '{}'\n" + answers
    for version, reply, queried in (("1", "B", 3), ("1", "C", 0), ("2", "C", 3), ("1", "A", 0)):
        stage.module(versioned.format(version, reply))
        ran = stage.run()
        assert f"queried {queried}" in ran.output and f"reused {3 - queried}" in ran.output


ODD = """
import http
import numpy
from models.base import CallError, Generation

class Model:
    tries = 0

    def generate(self, message, *, dataset_name):
        Model.tries += 1
        if Model.tries == 2:
            {statement}
        return "B"
"""


def run_with_odd_second_try(home, statement):
    stage = stage_of(home)
    stage.module(ODD.format(statement=statement))
    ran = stage.run("--api-nproc", "1", "--retry", "1", "--no-report")
    return ran, stage.answers(L1)[1]


@pytest.mark.parametrize(
    "statement",
    [
        'raise CallError("connection", ConnectionError("lost"))',
        'raise CallError("http", "busy", 429, retry_after_s="0.01")',
        'raise CallError("http", "busy", "503")',
        'raise CallError("http", "busy", http.HTTPStatus.SERVICE_UNAVAILABLE, code=["busy"])',
    ],
)
def test_a_failure_whose_fields_have_another_type_is_read_all_the_same(statement, tmp_path):
    ran, record = run_with_odd_second_try(tmp_path, statement)
    assert (ran.code, record["status"], record["attempts"]) == (0, "ok", 2), ran.output


@pytest.mark.parametrize(
    ("statement", "field", "expected"),
    [
        ('return Generation("B", tool_calls=None)', "tool_calls", None),
        ('return Generation("B", latency_s=numpy.float32(1.5))', "latency_s", 1.5),
        ('return Generation("B", latency_s="1.5")', "latency_s", 1.5),
        ('return Generation("B", reasoning=["a"])', "reasoning", "['a']"),
    ],
)
def test_a_generation_whose_fields_have_another_type_is_an_answer(
    statement, field, expected, tmp_path
):
    ran, record = run_with_odd_second_try(tmp_path, statement)
    assert (ran.code, record["status"], record.get(field)) == (0, "ok", expected), ran.output


def test_a_latency_that_is_no_finite_number_is_measured_by_the_program(tmp_path):
    ran, record = run_with_odd_second_try(
        tmp_path, 'return Generation("B", latency_s=float("nan"))'
    )
    assert ran.code == 0, ran.output
    assert 0 <= record["latency_s"] < 60


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            'raise CallError("http", "busy", "overloaded")',
            "status_code is 'overloaded'; expected a number",
        ),
        (
            'raise CallError("http", "busy", 429, retry_after_s="Wed, 21 Oct 2026 07:28:00 GMT")',
            "retry_after_s is 'Wed, 21 Oct 2026 07:28:00 GMT'; expected a number",
        ),
        ('return Generation("B", latency_s="fast")', "latency_s is 'fast'; expected a number"),
        ('return Generation("B", tool_calls=[5])', "tool_calls is [5]; expected"),
        ('return Generation("B", tool_calls=[{"id": "c"}])', "tool_calls is [{'id': 'c'}]"),
        (
            'return Generation("B", tool_calls=[{"id": "c", "name": "n", "arguments": {1, 2}}])',
            "expected a list of JSON objects with id, name and arguments",
        ),
    ],
)
def test_a_field_that_cannot_be_used_fails_its_sample_alone(statement, message, tmp_path):
    ran, record = run_with_odd_second_try(tmp_path, statement)
    assert (ran.code, record["status"], record["error"]["class"]) == (1, "failed", "model")
    assert message in record["error"]["message"]
    assert "internal error" not in ran.output


FAILING_ANNOUNCE = """
class Model:
    one_by_one = True

    def announce(self, dataset_name, sample_count, index):
        if {condition}:
            raise ValueError("no window")

    def generate(self, message, *, dataset_name):
        return "B"
"""


def test_a_sample_whose_announcement_fails_has_failed(tmp_path):
    stage = stage_of(tmp_path)
    stage.module(FAILING_ANNOUNCE.format(condition="index == 1"))
    ran = stage.run("--no-report")
    assert [record["status"] for record in stage.answers(L1)] == ["ok", "failed", "ok"]
    assert "announce function raised ValueError: no window (mymodel.py, line 7)" in ran.output


def test_ten_announcements_in_a_row_that_fail_stop_the_data_set(tmp_path):
    stage = Stage.make(tmp_path, NOBODY, pictures=5)
    stage.module(FAILING_ANNOUNCE.format(condition="True"))
    model = {"m": {"model_path": "mymodel.Model", "imp_type": "custom"}}
    ran = stage.evaluate(model, "--no-report", data={L1: {"mode": "all"}})
    assert ran.code == 1
    assert "the announce function failed 10 times in a row" in ran.stderr
    assert len(stage.answers(L1)) == 10


ABANDONED = """
from models.base import CallError

class Model:
    tries = 0

    def abandon(self):
        print("abandoned")
        self.socket.close()

    def generate(self, message, *, dataset_name):
        Model.tries += 1
        if Model.tries == {fails_at}:
            raise CallError("http", "the key has expired", 401)
        return "B"
"""


@pytest.mark.parametrize(("fails_at", "is_abandoned"), [(2, True), (9, False)])
def test_a_class_is_told_of_a_run_that_stops_and_may_fail_then(fails_at, is_abandoned, tmp_path):
    stage = stage_of(tmp_path)
    stage.module(ABANDONED.format(fails_at=fails_at))
    ran = stage.run("--no-report")
    assert (ran.code, "abandoned" in ran.output) == (int(is_abandoned), is_abandoned), ran.output
    assert ("the key has expired" in ran.stderr) is is_abandoned

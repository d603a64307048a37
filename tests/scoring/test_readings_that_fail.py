"""A reply that cannot be read is one sample's failure, whatever has failed, and never all scoring."""

import json
from pathlib import Path

import pytest

from benchmarks.l1_content_understanding import GUIContentUnderstanding
from benchmarks.l2_element_grounding import GUIElementGrounding
from tests.support.runs import evaluate, make_data, run_folder, write_config
from utils.contracts import Verdict
from utils.coordinates import parse_fractions
from utils.errors import StopRun
from utils.functions.signatures import parse_caller
from utils.misc import parser_answers_into_option
from utils.scoring.scorer import Scorer

L2 = "GUIElementGrounding"
DEPTH = 700  # of what a server may send and a log may hold, and Python cannot copy


def nested(make, depth=DEPTH):
    """Something in something, so many times."""
    value = 1
    for _ in range(depth):
        value = make(value)
    return value


DEEP = {
    "objects": nested(lambda inner: {"a": inner}),
    "lists": nested(lambda inner: [inner]),
    "lists of objects": nested(lambda inner: [{"a": inner}], DEPTH // 2),
    "beside others": {"x": 1, "y": [2, nested(lambda inner: {"b": 1, "a": inner})]},
    "at the end of a long list": [*range(100), nested(lambda inner: [0, inner])],
}


def l2_record(key="k", raw="(0.2, 0.15)", **fields):
    line = {
        "index": 0,
        "image_path": "os_web/pic.png",
        "image_size": [400, 300],
        "platform": "os_web",
        "instruction": "Click.",
        "bbox": [0.1, 0.1, 0.3, 0.2],
        "data_type": "text",
        "grounding_type": "basic",
    }
    return {
        "kind": "answer",
        "key": key,
        "status": "ok",
        "raw": raw,
        "line": line,
        "sizes": {"file": [400, 300]},
        **fields,
    }


def l1_record(**fields):
    line = {"question": "?", "options": {"A": "no", "B": "yes"}, "answer": "B"}
    line |= {"index": 0, "image_path": "p.png", "platform": "os_web", "difficulty": "easy"}
    return {**l2_record(raw="B"), "line": {**line, "image_size": [4, 3]}, **fields}


def scorer_of(benchmark, parse):
    folder = Path()
    return Scorer(benchmark(folder, folder), str, parse, {}, skip_errors=False)


def with_call(arguments):
    return [{"id": "c", "name": "click", "arguments": arguments}]


@pytest.mark.parametrize("arguments", DEEP.values(), ids=DEEP)
@pytest.mark.parametrize(
    ("benchmark", "parse", "record"),
    [
        (GUIElementGrounding, parse_fractions, l2_record),
        (GUIContentUnderstanding, lambda text, _: parser_answers_into_option(text), l1_record),
    ],
    ids=["L2", "L1"],
)
def test_a_tool_call_that_cannot_be_copied_fails_its_sample(benchmark, parse, record, arguments):
    scorer = scorer_of(benchmark, parse)
    scored = scorer.judge(record(tool_calls=with_call(arguments)))
    assert scored.judgement.verdict is Verdict.UNPARSED
    assert (scored.error.stage, "RecursionError" in scored.error.summary) == ("reading", True)
    assert scorer.judge(record()).judgement.verdict is Verdict.HIT
    assert scorer.counts["samples"] == 2 and scorer.has_failures


def test_readings_that_fail_stop_nothing_however_many_there_are():
    scorer = scorer_of(GUIElementGrounding, parse_fractions)
    for number in range(30):
        record = l2_record(f"k{number}", tool_calls=with_call(DEEP["lists"]))
        assert scorer.judge(record).error is not None
    assert scorer.counts["parse_errors"] == 30


class Odd(GUIElementGrounding):
    """Takes answers in a way that fails beside the user's functions."""

    def accept(self, parsed):
        return {}[parsed]


@pytest.mark.parametrize(
    ("benchmark", "parse", "what"),
    [
        (Odd, parse_fractions, "KeyError"),
        (GUIElementGrounding, lambda text, meta: 1 / 0, "ZeroDivisionError"),
        (GUIElementGrounding, lambda text, meta: text[999], "IndexError"),
        (GUIElementGrounding, lambda text, meta: meta["no such"], "KeyError"),
        (GUIElementGrounding, lambda text, meta: text.nothing, "AttributeError"),
        (GUIElementGrounding, lambda text, meta: nested(list)(), "TypeError"),
    ],
)
def test_whatever_reading_raises_is_the_samples_failure(benchmark, parse, what):
    scored = scorer_of(benchmark, parse).judge(l2_record())
    assert scored.judgement.verdict is Verdict.UNPARSED and what in scored.error.summary


def endless(text):
    return endless(text)  # with optional arguments Python 3.13.0 would never stop it


def test_a_function_of_the_users_without_an_end_still_stops_after_ten_samples():
    scorer = scorer_of(GUIElementGrounding, parse_caller(endless))
    for number in range(9):
        assert "RecursionError" in scorer.judge(l2_record(f"k{number}")).error.summary
    with pytest.raises(StopRun, match="failed 10 times in a row"):
        scorer.judge(l2_record("k9"))


CALLER = """
from models.base import Generation

class Caller:
    calls = 0

    def generate(self, message, *, dataset_name, **generate_cfg):
        Caller.calls += 1
        arguments = 1
        for _ in range(700 if Caller.calls == 2 else 1):
            arguments = {"a": arguments}
        call = {"id": "c", "name": "click", "arguments": arguments}
        return Generation("(0.2, 0.15)", tool_calls=[call])
"""


def test_a_log_with_such_a_reply_is_scored_whenever_one_asks(tmp_path):
    (tmp_path / "caller.py").write_text(CALLER)
    data = make_data(tmp_path / "data")
    model = {"m": {"imp_type": "custom", "model_path": "caller.Caller"}}
    sets = {L2: {"mode": "all", "parse_function": "utils.coordinates.parse_fractions"}}
    config = write_config(tmp_path / "c.json", model=model, data=sets)
    for more in ([], [], ["--mode", "eval"]):
        finished = evaluate(
            *["--config", config, "--work-dir", tmp_path / "out", *more],
            cwd=tmp_path,
            env={"LMUData": str(data), "PYTHONPATH": str(tmp_path)},
        )
        assert finished.code == 1, finished.output
        assert "1 x reading function raised RecursionError" in finished.output
        assert "Traceback" not in finished.output
        [score] = run_folder(tmp_path / "out", "m").glob("*_score.json")
        assert json.loads(score.read_text())["Average accuracy"] == pytest.approx(100 * 5 / 6)

"""Who has an answer writes it: whatever the calling thread does meanwhile, and not after the run."""

import threading
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.live import PATIENCE_S, Model, Shown
from utils.config.options import Options
from utils.contracts import CallError, Prompt, Sample
from utils.engine.engine import Engine
from utils.engine.jobs import Job
from utils.errors import StopRun
from utils.store.index import AnswerIndex
from utils.store.log import LoggedRun, RunLog, read_records


def prompt_of(sample):
    return Prompt([{"role": "user", "type": "text", "value": sample.key}])


@pytest.fixture
def log(tmp_path):
    with closing(RunLog(tmp_path / "log.jsonl")) as opened:
        yield opened


@pytest.fixture
def run(log):
    def ask(model, progress, make_prompt=prompt_of, samples=3):
        job = Job(
            dataset="Made",
            samples=[
                Sample(f"key{n}", {"index": n}, Path("none.png"), (40, 30)) for n in range(samples)
            ],
            prompt_of=make_prompt,
            answers=AnswerIndex([]),
            run=LoggedRun({"seq": 0, "asking": {}}, {}),
        )
        job.open(log)
        options = Options(Path("config.json"), api_nproc=samples, retry=0)
        Engine(model, options, progress).run([job])

    return ask


def keys(log):
    return [record["key"] for _, record in read_records(log.path)]


def test_an_answer_is_in_the_log_before_the_next_prompt_is_made(log, run):
    shown, keys_before = threading.Event(), []

    class Bar(Shown):
        def advance(self, status, *, reused):
            super().advance(status, reused=reused)
            shown.set()

    def make_prompt(sample):
        if sample.key != "key0":
            assert shown.wait(PATIENCE_S)
            shown.clear()
        keys_before.append(keys(log))
        return prompt_of(sample)

    run(Model(), Bar(), make_prompt)
    assert keys_before == [[], ["key0"], ["key0", "key1"]]


def test_what_comes_after_the_run_has_ended_is_not_written(log, run):
    released, threads_before = threading.Event(), set(threading.enumerate())

    def answer(text):
        if text == "key0":
            released.wait(PATIENCE_S)
        if text == "key1":
            raise CallError("http", "bad key", status_code=401)
        return "too late" if text == "key0" else "in time"

    with pytest.raises(StopRun):
        run(Model(answer), Shown())
    released.set()
    for worker in set(threading.enumerate()) - threads_before:
        worker.join(PATIENCE_S)
    assert "key0" not in keys(log)

"""`--log-to`: what trackers are sent of a run, and that they never cost it anything."""

import threading

import pytest

from tests.support.mock_server import MockServer, Reply
from tests.support.stage import KEY, L1, L2, Stage, some_right
from tests.support.trackers import read_record, write_packages
from utils.exchange.trackers import metric_name

ALL = ("wandb", "mlflow", "tensorboard")
PATIENCE_S = 120
OFFICIAL = ("basic", "advanced", "average")


@pytest.fixture
def tracked(tmp_path):
    """A stage whose runs find the stand-ins of all trackers; `record` has what they were sent."""
    with MockServer(some_right) as server:
        stage = Stage.make(tmp_path, server, 10)
        write_packages(stage.code)
        stage.env["TRACKER_RECORD"] = str(tmp_path / "record")
        yield stage


def calls(stage, call, tracker=None):
    record = read_record(stage.home / "record")
    return [one for one in record if one["call"] == call and tracker in (None, one["tracker"])]


def names(metrics, prefix):
    return {name.removeprefix(prefix) for name in metrics if name.startswith(prefix)}


def held_until_figures_were_sent(stage, trackers):
    """Answers thirty requests, and the others once so many trackers were sent figures."""
    places, pause = threading.Semaphore(30), threading.Event()

    def answer(request):
        if not places.acquire(blocking=False):
            for _ in range(PATIENCE_S * 20):
                if len(calls(stage, "log")) >= trackers:
                    break
                pause.wait(0.05)
        return some_right(request)

    return answer


def test_figures_go_to_all_trackers_while_a_run_goes_on_and_after_it(tracked):
    tracked.server.answer = held_until_figures_were_sent(tracked, len(ALL))
    result = tracked.run("--log-to", *ALL, "--data", L2, L1)
    assert (result.code, "warning: --log-to" in result.output) == (0, False), result.output
    for tracker in ALL:
        first, *_, last = calls(tracked, "log", tracker)
        assert first["step"] < 50
        # Of 30 replies, a few may not have been written down yet.
        assert 20 <= first["metrics"][f"so_far/{L1}/n"] <= 30
        assert f"so_far/{L1}/overall_low" in first["metrics"]
        assert last["step"] == 50
        assert names(last["metrics"], f"{L2}/") >= {*OFFICIAL, "n", "samples", "prompt_tokens"}
        assert (last["metrics"][f"{L2}/average"], last["metrics"][f"{L2}/n"]) == (50.0, 20)
        requests = last["metrics"]["run/samples_per_s"] * last["metrics"]["run/wall_s"]
        assert requests == pytest.approx(50)
        assert last["metrics"][f"{L2}/average_low"] < 50 < last["metrics"][f"{L2}/average_high"]
    assert [one["state"] for one in calls(tracked, "close")] == ["finished", "finished", ""]
    manifest = str(tracked.folder() / "manifest.json")
    assert [one["path"] for one in calls(tracked, "file")] == [manifest, manifest]
    text = (tracked.home / "record").read_text()
    assert (KEY in text, "generate_cfg.max_tokens" in text) == (False, True)
    assert tracked.folder().name in text


FAILING_LATE = """
    def parse(response, meta):
        if int(meta["index"]) >= 20:
            raise ValueError("too late")
        return response
"""


def test_the_last_step_is_no_smaller_than_that_of_figures_so_far(tracked):
    tracked.module(FAILING_LATE)
    data = {L2: {"mode": "all"}, L1: {"mode": "all", "parse_function": "mymodel.parse"}}
    tracked.server.answer = held_until_figures_were_sent(tracked, 1)
    result = tracked.evaluate(tracked.model, "--log-to", "wandb", data=data)
    assert "failed 10 times in a row" in result.output
    sent = calls(tracked, "log")
    steps = [one["step"] for one in sent]
    assert len(steps) > 1 and steps == sorted(steps)
    assert sent[-1]["metrics"][f"{L2}/average"] == 50.0


OWN = """
    from benchmarks.answers import AnswerBenchmark

    class Colours(AnswerBenchmark):
        folder, images = "MMBench-GUI", "offline_images"

        def read_rows(self):
            yield {"image_path": "os_web/pic0.png", "question": "Which colour?", "answer": "A"}

        def is_right(self, line, answer):
            return answer == line["answer"]
"""
DESKTOP, WEB = "\u684c\u9762", "\u7f51\u9875"


def test_names_of_data_sets_in_other_scripts_stay_apart(tracked):
    tracked.module(OWN)
    tracked.server.answer = lambda _: Reply("A")
    data = {name: {"benchmark": "mymodel.Colours", "mode": "all"} for name in (DESKTOP, WEB)}
    result = tracked.evaluate(tracked.model, "--log-to", "wandb", data=data)
    assert result.code == 0, result.output
    names = {metric_name(name) for name in (DESKTOP, WEB)}
    assert names == {"__-f48d3344", "__-005074b6"}
    metrics = calls(tracked, "log")[-1]["metrics"]
    assert {name: metrics[f"{name}/samples"] for name in names} == dict.fromkeys(names, 1)
    [opened] = calls(tracked, "open")
    assert {f"{name}.mode" for name in names} <= opened["told"]["config"].keys()


def test_figures_of_a_part_have_names_of_their_own(tracked):
    tracked.run("--log-to", "mlflow", "--limit", "4", "--data", L2)
    last = calls(tracked, "log")[-1]["metrics"]
    assert names(last, f"partial/{L2}/") >= {*OFFICIAL, "n"}
    assert not names(last, f"{L2}/")
    assert calls(tracked, "close")[0]["state"] == "partial"


def test_scoring_again_sends_the_figures_of_a_run_that_was_not_tracked(tracked):
    tracked.run("--data", L2)
    result = tracked.run("--mode", "eval", "--log-to", "wandb", "--data", L2)
    [sent] = calls(tracked, "log")
    assert (result.code, sent["metrics"][f"{L2}/average"], sent["step"]) == (0, 50.0, 20)
    assert "figures go to wandb: here" in result.stdout


def test_a_run_that_is_stopped_ends_as_stopped(tracked):
    tracked.server.answer = lambda _: Reply(status=401, body=b'{"error": {"message": "bad key"}}')
    result = tracked.run("--log-to", "wandb", "--data", L2)
    assert result.code == 1
    assert calls(tracked, "close")[0]["state"] == "stopped"


@pytest.mark.parametrize("fails", ["wandb open", "wandb log", "wandb close"])
def test_a_tracker_that_fails_costs_a_warning(tracked, fails):
    result = tracked.run("--log-to", "wandb", "mlflow", "--data", L2, env={"TRACKER_FAILS": fails})
    assert result.code == 0
    assert result.stderr.count("warning: --log-to wandb: ConnectionError: wandb is away") == 1
    assert calls(tracked, "log", "mlflow")[-1]["metrics"][f"{L2}/average"] == 50.0
    assert calls(tracked, "close", "mlflow")


def test_a_package_that_is_missing_is_named_before_anything_is_asked(tmp_path):
    with MockServer(some_right) as server:
        stage = Stage.make(tmp_path, server)
        result = stage.run("--log-to", "mlflow", "--check")
        assert result.code == 2
        assert "--log-to mlflow: the package mlflow is not installed; run: pip install mlflow" in (
            result.stderr
        )
        assert (result.requests, stage.work_dir.exists()) == ([], False)
        wrong = stage.run("--log-to", "excel")
        assert (wrong.code, "excel" in wrong.stderr) == (2, True)

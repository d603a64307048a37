"""Several vLLM servers of one checkpoint: `"replicas"` of a model entry."""

import json

import pytest

from models.wrappers.vllm.replicas import place
from tests.support.stage import L1, L2, read_log_lines
from tests.vllm.test_vllm_wrapper import (  # noqa: F401 - the fixture
    SAMPLES,
    acting,
    all_gone,
    answers,
    logs,
    stage,
    started,
)

GPUS = [str(number) for number in range(5)]


@pytest.mark.parametrize(
    ("replicas", "words", "gpus", "devices"),
    [
        ("auto", [], GPUS, ["0", "1", "2", "3", "4"]),
        ("auto", ["--tensor-parallel-size=2"], GPUS, ["0,1", "2,3"]),
        (2, ["--tp", "2"], GPUS, ["0,1", "2,3"]),
        (1, ["-tp=2", "--pipeline-parallel-size", "2"], GPUS, ["0,1,2,3"]),
        (3, [], [], [None, None, None]),
    ],
)
def test_each_replica_gets_gpus_of_its_own(replicas, words, gpus, devices):
    placement = place(replicas, words, gpus)
    assert (list(placement.devices), placement.problem) == (devices, "")
    spare = len(gpus) - sum(len(each.split(",")) for each in devices if each)
    assert bool(placement.note) is (spare > 0)


@pytest.mark.parametrize(
    ("replicas", "words", "gpus", "problem"),
    [
        ("auto", [], [], "this machine has no GPU"),
        ("auto", ["--tp=8"], GPUS, "5 GPUs, and one server takes 8"),
        (3, ["--tp=2"], GPUS, "3 of 2 GPUs each do not fit on the 5"),
        (3, ["--tp=two"], GPUS, "a parallel size is no number"),
    ],
)
def test_replicas_that_do_not_fit_are_a_problem_before_the_run(replicas, words, gpus, problem):
    assert problem in place(replicas, words, gpus).problem


def test_replicas_share_the_samples_and_what_one_of_them_dies_of_goes_elsewhere(stage):  # noqa: F811
    stage.model["m"]["replicas"] = 2
    ran = stage.run("--api-nproc", "2", "--retry", "0", env=acting("first_dies:2"))
    assert ran.code == 0, ran.output
    assert len(answers(stage)) == SAMPLES
    assert len({record["server"] for record in answers(stage)}) == 2
    assert all_gone(stage)
    end = [r for r in read_log_lines(stage.log(L1)) if r["kind"] == "end"][-1]
    assert sum(row["answers"] for row in end["servers"]) == SAMPLES
    manifest = json.loads((stage.folder() / "manifest.json").read_text())
    assert sum(manifest["datasets"][L2]["answered_by"].values()) == 6


def test_a_replica_that_dies_is_started_again_and_waited_for(stage):  # noqa: F811
    stage.model["m"]["replicas"] = 1
    ran = stage.run("--api-nproc", "1", "--retry", "0", env=acting("first_dies:2"))
    assert ran.code == 0, ran.output
    assert len(answers(stage)) == SAMPLES
    assert len(started(stage)) == 2
    assert all_gone(stage)


def test_a_replica_that_dies_again_and_again_is_left_out(stage):  # noqa: F811
    stage.model["m"]["replicas"] = 1
    ran = stage.run("--api-nproc", "2", "--retry", "0", env=acting("die:2"))
    assert ran.code == 1, ran.output
    assert len(started(stage)) == 3
    assert "replica 0 is left out: it was started 3 times" in ran.output
    assert "no server is left" in ran.output
    assert len([record for record in answers(stage) if record["status"] == "ok"]) == 6
    assert all_gone(stage)


def test_answers_of_replicas_and_of_one_server_count_for_each_other(stage):  # noqa: F811
    assert stage.run("--limit", "2").code == 0
    before = len(started(stage))
    stage.model["m"]["replicas"] = 2
    assert stage.run("--limit", "2").code == 0
    assert len(started(stage)) == before


def test_replicas_that_cannot_be_started_end_the_run_with_the_end_of_a_log(stage):  # noqa: F811
    stage.model["m"]["replicas"] = 2
    ran = stage.run(env=acting("fail"))
    assert ran.code == 1
    assert "ValueError: this architecture is not known" in ran.output
    assert answers(stage) == []
    assert all_gone(stage)
    assert logs(stage)

"""How the GPUs of a machine are shared among the vLLM servers of one checkpoint."""

import pytest

from models.wrappers.vllm.replicas import share_gpus

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
    shares = share_gpus(replicas, words, gpus)
    assert (list(shares.devices), shares.problem) == (devices, "")
    spare = len(gpus) - sum(len(each.split(",")) for each in devices if each)
    assert bool(shares.note) is (spare > 0)


@pytest.mark.parametrize(
    ("replicas", "words", "gpus", "problem"),
    [
        ("auto", [], [], "this machine has no GPU"),
        ("auto", ["--tp=8"], GPUS, "5 GPUs, and one server takes 8"),
        (3, ["--tp=2"], GPUS, "3 with 2 GPUs each need more than the 5"),
        (3, ["--tp=two"], GPUS, "a parallel size is no number"),
    ],
)
def test_replicas_that_do_not_fit_are_a_problem_before_the_run(replicas, words, gpus, problem):
    assert problem in share_gpus(replicas, words, gpus).problem

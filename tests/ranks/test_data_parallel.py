"""Several ranks of one run: every sample once; a rank that dies ends the run, which goes on."""

import os
import re
import shutil
import signal

import pytest

from tests.support import tiny_checkpoint
from tests.support.mock_server import MockServer
from tests.support.ranks import RankStage, gated, process_of_rank, rank_variables, wait_until
from tests.support.runs import api_model, finish
from tests.support.stage import L1, L2, right_answers, told

SAMPLES = 25


def asked(output):
    """How many samples a run says it has asked."""
    return sum(map(int, re.findall(r"queried (\d+)", output)))


def by_rank(stage):
    """How many answers the logs of rank 0, which is the run's, and of rank 1 have by now."""
    counts = [0, 0]
    for log in stage.work_dir.glob("m/T*/m_*.jsonl"):
        counts[".rank1-" in log.name] += log.read_bytes().count(b'"kind":"answer"')
    return counts


def most_of(rank_0, rank_1):
    """Variables that stop each of two ranks after so many samples, until the gate is open."""
    return {"MOST_OF_RANK_0": str(rank_0), "MOST_OF_RANK_1": str(rank_1)}


def run_shared(stage, rank_0, rank_1, env=()):
    """A run of two ranks, each of which answers so many samples at least."""
    launcher = stage.start(ranks=2, env=most_of(rank_0, rank_1) | dict(env))
    wait_until(lambda: by_rank(stage) == [rank_0, rank_1], launcher)
    stage.gate.touch()
    return finish(launcher)


def is_whole(stage, alone):
    """Every sample answered once, as by one process, and nothing left lying about."""
    counts = (len(stage.answered()), stage.answered().total())
    return counts == (SAMPLES, SAMPLES) and stage.rank_logs() == [] and stage.both_scores() == alone


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return tiny_checkpoint.build("qwen2_5_vl", tmp_path_factory.mktemp("checkpoint"))


@pytest.fixture(scope="module")
def server():
    with MockServer(right_answers) as running:
        yield running


@pytest.fixture
def stage(tmp_path, server, checkpoint):
    return RankStage.of(tmp_path / "stage", server, checkpoint)


@pytest.fixture(scope="module")
def alone(tmp_path_factory, server, checkpoint):
    """Score files of a run of one process."""
    stage = RankStage.of(tmp_path_factory.mktemp("alone"), server, checkpoint)
    ran = stage.run()
    assert (ran.code, asked(ran.output)) == (0, SAMPLES), ran.output
    return stage.both_scores()


def test_problems_of_a_config_are_told_once_and_by_rank_0(stage):
    stage.model["m"]["batch_size"] = 0
    ran = stage.run(ranks=2)
    problem_lines = [line for line in ran.stderr.splitlines() if "batch_size: must be" in line]
    assert len(problem_lines) == 1 and not problem_lines[0].startswith("rank 1"), ran.output
    assert ran.code == 1  # torchrun's own


def test_two_ranks_on_two_sides_of_midnight_ask_every_sample_once_and_score_as_one(stage, alone):
    ran = run_shared(stage, 6, 4, env={"DAYS_AHEAD_OF_RANK_1": "1"})
    assert (ran.code, asked(ran.output)) == (0, SAMPLES), ran.output
    others = re.search(r"m: 25/25 \(.*?(\d+) by other ranks", ran.output)
    assert others and 4 <= int(others[1]) <= SAMPLES - 6, ran.output
    assert ran.stdout.count("n = 15") == ran.stdout.count("n = 10") == 1  # only rank 0 prints
    assert is_whole(stage, alone)  # and there is one folder only


@pytest.fixture(scope="module")
def killed(tmp_path_factory, server, checkpoint):
    """After the SIGKILL of one of two ranks in the middle of a run."""
    stage = RankStage.of(tmp_path_factory.mktemp("killed"), server, checkpoint)
    launcher = stage.start(ranks=2, env=most_of(6, 4))
    wait_until(lambda: by_rank(stage) == [6, 4], launcher)
    os.kill(process_of_rank(launcher, 1), signal.SIGKILL)
    ran = finish(launcher)
    stage.gate.touch()
    return stage, ran


def test_a_killed_rank_ends_the_run_and_what_all_have_answered_can_be_scored(killed, tmp_path):
    stage, ran = killed[0].copy_to(tmp_path / "copy"), killed[1]
    assert (ran.code, len(stage.answered()), stage.rank_logs() != []) == (1, 10, True)
    assert "Interrupted. All answers are kept" in ran.stdout
    ran = stage.run("--mode", "eval")
    assert (ran.code, sum(told(ran.output, "have a reply"))) == (1, 10), ran.output
    assert (stage.answered().total(), stage.rank_logs()) == (10, [])


@pytest.mark.parametrize("ranks", [None, 3])
def test_another_number_of_ranks_asks_only_what_a_killed_group_has_not(
    ranks, killed, tmp_path, alone
):
    stage = killed[0].copy_to(tmp_path / "copy")
    ran = stage.run(ranks=ranks)
    assert (ran.code, asked(ran.output)) == (0, SAMPLES - 10), ran.output
    assert is_whole(stage, alone)


def test_a_rank_with_another_work_dir_says_so_and_sigterm_ends_the_one_that_waits(stage):
    stage.model["another"] = stage.model["m"]
    elsewhere = stage.home / "elsewhere"
    with rank_variables(2) as variables:
        first = stage.start(env=variables[0])
        second = finish(stage.start("--work-dir", elsewhere, env=variables[1]))
        first.terminate()
        first_result = finish(first)
    assert (second.code, "rank 1" in second.stderr) == (1, True)
    assert second.stderr.count("this rank and rank 0 see different work-dirs") == 1
    assert str(stage.work_dir) in second.stderr and str(elsewhere) in second.stderr
    assert "Traceback" not in second.output + first_result.output
    assert (first_result.code, stage.answered(), elsewhere.exists()) == (130, {}, False), (
        first_result.output
    )


def test_a_model_that_cannot_be_loaded_on_one_rank_ends_the_run_with_its_reason(
    stage, tmp_path, checkpoint, alone
):
    homes = [tmp_path / "home0", tmp_path / "home1"]
    homes[0].mkdir()
    (homes[0] / "checkpoint").symlink_to(checkpoint)
    broken = shutil.copytree(checkpoint, homes[1] / "checkpoint")  # nothing in it looks wrong
    [weights] = broken.glob("*.safetensors")
    weights.write_bytes((2).to_bytes(8, "little") + b"{}")  # whole, without a tensor
    stage.env = {"HOME": str(homes[0]), "HOME_OF_RANK_1": str(homes[1])}
    stage.model = {"m": gated("~/checkpoint")}
    ran = finish(stage.start(ranks=2, env=most_of(3, 0)))
    assert ran.code == 1, ran.output
    assert re.search(
        r"^rank 1 .*~/checkpoint: (the checkpoint cannot be|\d+ weights)", ran.stderr, re.M
    )
    assert ran.stderr.count("Traceback") == 1, ran.stderr  # torchrun's own
    answered = len(stage.answered())
    assert answered <= 3
    stage.env = {"HOME": str(homes[0])}
    again = stage.run()
    assert (again.code, asked(again.output)) == (0, SAMPLES - answered), again.output
    assert is_whole(stage, alone)


# Once the gate is open, the device of rank 1 fails in the middle of generating and is silent then.
LOSES_ITS_DEVICE = """
    import os, gated, torch

    def lost(*args, **kwargs):
        raise RuntimeError("CUDA error: unspecified launch failure")

    def preprocess(message, model, processor, **kwargs):
        inputs = gated.preprocess(message, model, processor, **kwargs)
        if os.environ.get("RANK") == "1" and os.path.exists(os.environ["GATE"]):
            torch.cuda.is_initialized, torch.cuda.synchronize = lambda: True, lost
            model.generate = lost
        return inputs
"""


def test_a_rank_that_loses_its_device_ends_the_run_with_its_reason(stage):
    stage.module(LOSES_ITS_DEVICE, "loses")
    stage.model["m"]["preprocess_function"] = "loses.preprocess"
    launcher = stage.start(ranks=2, env=most_of(6, 4))
    wait_until(lambda: by_rank(stage) == [6, 4], launcher)
    stage.gate.touch()
    ran = finish(launcher)
    assert ran.code == 1, ran.output
    assert re.search(
        r'^rank 1 .*model "m": the device \((?:cpu|cuda:\d)\) failed.* launch failure',
        ran.stderr,
        re.M,
    )
    assert ran.stderr.count("Traceback") == 1, ran.stderr  # torchrun's own
    assert len(stage.answered()) >= 10  # all that was answered before


def test_of_several_ranks_one_asks_a_server(stage):
    stage.model = {"m": api_model(stage.server.url)}
    ran = stage.run(ranks=2)
    texts = [request.text for request in stage.server.requests]
    assert (ran.code, len(texts), len(set(texts))) == (0, SAMPLES, SAMPLES), ran.output
    assert (set(stage.both_scores()), stage.rank_logs()) == ({L1, L2}, [])

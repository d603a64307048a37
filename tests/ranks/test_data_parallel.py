"""Several ranks of one run: every sample once, whatever becomes of a rank."""

import os
import re
import signal

import pytest

from tests.support import tiny_checkpoint
from tests.support.mock_server import MockServer
from tests.support.ranks import (
    RankBench,
    finish,
    process_of_rank,
    rank_variables,
    wait_until,
    without_its_weights,
)
from tests.support.runs import api_model
from tests.support.stage import L1, L2, right_answers, told

SAMPLES = 25


def asked(output):
    """How many samples a run says it has asked."""
    return sum(map(int, re.findall(r"queried (\d+)", output)))


def by_rank(bench, model="m"):
    """How many answers the logs of rank 0, which is the run's, and of rank 1 have by now."""
    counts = [0, 0]
    for log in bench.work_dir.glob(f"{model}/T*/{model}_*.jsonl"):
        counts[".rank1-" in log.name] += log.read_bytes().count(b'"kind":"answer"')
    return counts


def most_of(rank_0, rank_1):
    """Variables that stop each of two ranks after so many samples, until the gate is open."""
    return {"MOST_OF_RANK_0": str(rank_0), "MOST_OF_RANK_1": str(rank_1)}


def run_shared(bench, rank_0, rank_1, model="m", before=0, env=()):
    """A run of two ranks, each of which answers so many samples of a model at least.

    Rank 0 has answered others `before`.
    """
    launcher = bench.start(ranks=2, env=most_of(before + rank_0, rank_1) | dict(env))
    wait_until(lambda: by_rank(bench, model) == [rank_0, rank_1], launcher)
    bench.gate.touch()
    return finish(launcher)


def is_whole(bench, alone):
    """Every sample answered once, as by one process, and nothing left lying about."""
    counts = (len(bench.answered()), bench.answered().total())
    return counts == (SAMPLES, SAMPLES) and bench.rank_logs() == [] and bench.both_scores() == alone


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return tiny_checkpoint.build("qwen2_5_vl", tmp_path_factory.mktemp("checkpoint"))


@pytest.fixture
def bench(tmp_path, checkpoint):
    return RankBench.make(tmp_path / "bench", checkpoint)


@pytest.fixture(scope="module")
def alone(tmp_path_factory, checkpoint):
    """Score files of a run of one process."""
    bench = RankBench.make(tmp_path_factory.mktemp("alone") / "bench", checkpoint)
    ran = bench.run()
    assert (ran.code, asked(ran.output)) == (0, SAMPLES), ran.output
    return bench.both_scores()


def test_problems_of_a_config_are_told_once_and_by_rank_0(bench):
    bench.write_config({"m": {**bench.model(), "batch_size": 0}})
    ran = bench.run(ranks=2)
    told = [line for line in ran.stderr.splitlines() if "batch_size: must be" in line]
    assert len(told) == 1 and not told[0].startswith("rank 1"), ran.output
    assert ran.code == 1  # torchrun's own


def test_two_ranks_on_two_sides_of_midnight_ask_every_sample_once_and_score_as_one(bench, alone):
    ran = run_shared(bench, 6, 4, env={"DAYS_AHEAD_OF_RANK_1": "1"})
    assert (ran.code, asked(ran.output)) == (0, SAMPLES), ran.output
    others = re.search(r"m: 25/25 \(.*?(\d+) by other ranks", ran.output)
    assert others and 4 <= int(others[1]) <= SAMPLES - 6, ran.output
    assert ran.stdout.count("n = 15") == ran.stdout.count("n = 10") == 1  # only rank 0 prints
    assert is_whole(bench, alone)  # and there is one folder only


@pytest.fixture(scope="module")
def killed(tmp_path_factory, checkpoint):
    """After the SIGKILL of one of two ranks in the middle of a run."""
    bench = RankBench.make(tmp_path_factory.mktemp("killed") / "bench", checkpoint)
    launcher = bench.start(ranks=2, env=most_of(6, 4))
    wait_until(lambda: by_rank(bench) == [6, 4], launcher)
    os.kill(process_of_rank(launcher, 1), signal.SIGKILL)
    ran = finish(launcher)
    bench.gate.touch()
    return bench, ran


def test_a_killed_rank_ends_the_run_and_what_all_have_answered_can_be_scored(killed, tmp_path):
    bench, ran = killed[0].copy_to(tmp_path / "copy"), killed[1]
    assert (ran.code, len(bench.answered()), bench.rank_logs() != []) == (1, 10, True)
    assert "Interrupted. Nothing that was answered is lost" in ran.stdout
    ran = bench.run("--mode", "eval")
    assert (ran.code, sum(told(ran.output, "answered"))) == (1, 10), ran.output
    assert (bench.answered().total(), bench.rank_logs()) == (10, [])


@pytest.mark.parametrize("ranks", [None, 3])
def test_another_number_of_ranks_asks_only_what_a_killed_group_has_not(
    ranks, killed, tmp_path, alone
):
    bench = killed[0].copy_to(tmp_path / "copy")
    ran = bench.run(ranks=ranks)
    assert (ran.code, asked(ran.output)) == (0, SAMPLES - 10), ran.output
    assert is_whole(bench, alone)


def test_a_rank_with_another_work_dir_says_so_and_sigterm_ends_the_one_that_waits(bench):
    bench.write_config({"m": bench.model(), "another": bench.model()})
    elsewhere = bench.home / "elsewhere"
    with rank_variables(2) as variables:
        first = bench.start(env=variables[0])
        second = finish(bench.start(env=variables[1], work_dir=elsewhere))
        first.terminate()
        ended = finish(first)
    assert second.code == 1
    assert "rank 1" in second.stderr
    assert second.stderr.count("this rank sees another work-dir than rank 0") == 1
    assert str(bench.work_dir) in second.stderr and str(elsewhere) in second.stderr
    assert "Traceback" not in second.output + ended.output
    assert (ended.code, bench.answers(), elsewhere.exists()) == (130, [], False), ended.output


def test_a_silent_rank_is_given_up_and_the_others_ask_what_it_left(bench, alone):
    with rank_variables(2) as variables:
        bench.env = {"EVAL_RANK_SILENCE_S": "5", **most_of(1, 3)}
        first, second = (bench.start(env=variables[rank]) for rank in range(2))
        wait_until(lambda: by_rank(bench) == [1, 3], second)
        second.send_signal(signal.SIGSTOP)
        bench.gate.touch()
        ran = finish(first)
        kept = bench.answered()
        second.send_signal(signal.SIGCONT)
        late = finish(second)
    assert ran.code == 1  # or torchrun would wait for the silent one
    assert "rank 1 was silent for more than 5 s and was given up" in ran.stderr
    assert "25 of" not in ran.output and ran.output.count(" answered\n") == 2
    assert (len(kept), asked(ran.output)) == (SAMPLES, SAMPLES - 3), ran.output
    assert bench.both_scores() == alone
    assert late.code == 0  # or torchrun would end the others, too
    assert "was silent for too long, rank 0 goes on without it" in late.stderr
    again = bench.run()
    assert (again.code, asked(again.output), bench.rank_logs()) == (0, 0, []), again.output
    assert bench.both_scores() == alone


def test_a_model_that_fails_on_all_ranks_or_on_one_does_not_stop_the_others(
    bench, tmp_path, checkpoint
):
    homes = [tmp_path / "home0", tmp_path / "home1"]
    for home in homes:
        home.mkdir()
    (homes[0] / "checkpoint").symlink_to(checkpoint)
    broken = without_its_weights(checkpoint, homes[1] / "checkpoint")
    bench.env = {"HOME": str(homes[0]), "HOME_OF_RANK_1": str(homes[1])}
    models = {"nowhere": broken, "not_on_1": "~/checkpoint", "everywhere": checkpoint}
    bench.write_config({name: bench.model(path) for name, path in models.items()})
    ran = run_shared(bench, 1, 1, "everywhere", before=SAMPLES)  # all of "not_on_1"
    assert ran.code == 1, ran.output  # of each model there is something to say
    assert f"\n{broken}: the checkpoint cannot be loaded" in f"\n{ran.stderr}", ran.output
    assert re.search(r"^rank 1 .*~/checkpoint: the checkpoint cannot be", ran.stderr, re.M)
    assert "rank 1 has failed; rank 0 has queried what it left" in ran.stderr
    assert re.search(r"everywhere: 25/25 \(.*\d+ by other ranks", ran.stderr), ran.output
    assert bench.answered("nowhere") == {}
    for name in ("not_on_1", "everywhere"):
        assert (len(bench.answered(name)), bench.answered(name).total()) == (SAMPLES, SAMPLES)
    # Where rank 0 has failed, the next run merges.
    assert {log.parents[1].name for log in bench.rank_logs()} <= {"nowhere"}
    assert "Interrupted" not in ran.output and "terminate called" not in ran.output, ran.output
    assert ran.stderr.count("Traceback") == 1, ran.stderr  # torchrun's own


def test_of_several_ranks_one_asks_a_server(bench):
    with MockServer(right_answers) as server:
        bench.write_config({"m": api_model(server.url)})
        ran = bench.run(ranks=2)
        texts = [request.text for request in server.requests]
    assert (ran.code, len(texts), len(set(texts))) == (0, SAMPLES, SAMPLES), ran.output
    assert set(bench.both_scores()) == {L1, L2}
    assert bench.rank_logs() == []

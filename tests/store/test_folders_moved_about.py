"""Logs and folders that were joined, moved or renamed by hand are named, not guessed about."""

import shutil

import pytest

from tests.support.mock_server import MockServer
from tests.support.stage import L2, Stage, some_right
from utils.errors import UserError
from utils.store.load import load_run

EVAL = ("--mode", "eval", "--no-report")


@pytest.fixture
def stage(tmp_path):
    with MockServer(some_right) as server:
        stage = Stage.make(tmp_path, server, pictures=2)
        stage.data = {L2: {"mode": "all"}}
        assert stage.run("--no-report").code == 0
        yield stage


def warmer(stage):
    stage.model["m"]["generate_cfg"]["temperature"] = 1
    return stage


def test_a_log_that_was_put_together_from_two_is_not_scored(stage, tmp_path):
    other = stage.copy_to(tmp_path / "other")
    shutil.rmtree(other.work_dir)
    assert warmer(other).run("--no-report").code == 0
    log = stage.log(L2)
    log.write_bytes(log.read_bytes() + other.log(L2).read_bytes())
    before = stage.scores(L2)
    for arguments in (EVAL, ("--no-report",)):
        ran = warmer(stage).run(*arguments)
        assert (ran.code, ran.requests) == (1, [])
        assert "was put together from two logs: it holds two runs number 1, started " in ran.output
    assert stage.scores(L2) == before


def test_a_folder_that_was_away_is_not_taken_for_the_newest(stage, tmp_path):
    first = stage.folder()
    for _ in range(2):
        assert stage.run("--fresh", "--no-report").code == 0
    shutil.move(first, tmp_path / "away")
    assert warmer(stage).run("--no-report").code == 0
    second = first.rename(first.with_name("T20260101_Gabc"))
    shutil.move(tmp_path / "away", first)
    ran = stage.run(*EVAL)
    why = f"{first.name} holds run 3, but {second.name} was started later, and both hold a run 1"
    assert (ran.code, why in ran.output) == (1, True), ran.output
    with pytest.raises(UserError, match="name the folder of the run that you mean"):
        load_run(stage.work_dir / "m")
    assert load_run(second).folder == second
    assert stage.run("--no-report").code == 0  # it has the highest number now
    assert stage.run(*EVAL).code == 0
    assert load_run(stage.work_dir / "m").folder == second


def test_outputs_that_were_renamed_are_not_scored_under_the_new_name(stage):
    folder = stage.folder()
    log = stage.log(L2).rename(folder / f"n_{L2}.jsonl")
    (stage.work_dir / "m").rename(stage.work_dir / "n")
    stage.model = {"n": stage.model["m"]}
    ran = stage.run(*EVAL)
    assert (ran.code, 'holds results of model "m"' in ran.output) == (1, True), ran.output
    assert not (stage.work_dir / "n" / folder.name / log.name.replace(".jsonl", ".xlsx")).exists()

"""What an environment is made with: its number among the worlds, the config's arguments."""

import json

import pytest

from benchmarks.worlds.seeds import seeds_from
from tests.support.graded import Furnished
from tests.support.mock_server import MockServer
from tests.support.runs import api_model
from tests.support.stage import Stage, read_log_lines
from tests.support.standin import agent

L3 = "GUITaskAutomation"


@pytest.fixture
def stage(tmp_path, monkeypatch):
    """A stage whose environment is made with a machine."""
    monkeypatch.setattr(Furnished, "made_with", [])
    Furnished.made_counts.clear()
    with MockServer(agent) as server:
        entry = {
            "environment": "tests.support.graded.Furnished",
            "environment_args": {"machine": "vm", "most": 2},
        }
        yield Stage(tmp_path, server, {"m": api_model(server.url)}, {L3: entry})


def test_each_world_gets_its_number_and_the_arguments_of_the_config(stage):
    assert stage.run("--worlds", "2").code == 0
    assert len(set(Furnished.made_with)) == len(Furnished.made_with) <= 2
    assert {machine for _, machine in Furnished.made_with} == {"vm"}
    assert (0, "vm") in Furnished.made_with
    assert stage.scores(L3)["Total num"] == 2  # `most` went to `tasks`
    config = json.loads((stage.folder() / "manifest.json").read_text())["config"]
    assert config["data"][L3]["environment_args"] == {"machine": "vm", "most": 2}


def test_a_world_that_is_made_anew_keeps_its_number(stage, monkeypatch):
    monkeypatch.setattr(Furnished, "fails", lambda task, attempt: attempt == 1)
    assert stage.run("--worlds", "1").code == 0
    assert {number for number, _ in Furnished.made_with} == {0}
    assert len(Furnished.made_with) > 1


def test_arguments_and_version_decide_whether_stored_episodes_stand(stage, monkeypatch):
    assert "queried 2 (2 new)" in stage.run().output
    assert "reused 2" in stage.run().output
    stage.data[L3]["environment_args"]["machine"] = "another vm"
    assert "queried 2" in stage.run().output
    monkeypatch.setattr(Furnished, "version", "image 2")
    assert "queried 2" in stage.run().output


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            {"environment_args": {"machine": "vm", "bus": 1}},
            "is made as f(shots, machine=..., bus=...), by environment_args, but is defined as",
        ),
        ({"environment_args": {"machine": "vm", "mosts": 2}}, 'did you mean "most"?'),
        ({"environment_args": {}}, "argument: 'machine'"),
        (
            {"environment_args": ["vm"]},
            "must be an object { } with the arguments of the environment",
        ),
        ({"environment_args": {"machine": "none"}}, "there is no machine 'none'"),
        ({"environment": None}, 'environment_args: only with "environment"; leave it out'),
        ({"seeds_from": "a", "seeds": [0]}, 'seeds_from: cannot be combined with "seeds"'),
        ({"seeds_from": 3}, "must be a text from which four seeds follow, not 3"),
    ],
)
def test_what_cannot_be_is_said_by_a_check(stage, change, why):
    stage.data[L3] |= change
    checked = stage.run("--check")
    assert checked.code == 2
    assert why in checked.output and "Traceback" not in checked.output


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (
            "raise OSError('no disk')",
            "worlds.Odd.tasks raised OSError: no disk (worlds.py, line 7)",
        ),
        ("raise UserError('no folder')", "no folder\n1 problem"),
        ("yield 3; 1 / 0", "worlds.Odd.tasks raised ZeroDivisionError: division by zero"),
        ("return [3]", "worlds.Odd.tasks returned [3]; expected a list of dicts"),
        ("return 3", "worlds.Odd.tasks returned 3; expected a list of dicts"),
        ("return []", "worlds.Odd.tasks returned no tasks for L3"),
    ],
)
def test_a_world_whose_tasks_cannot_be_had_is_named(stage, body, why):
    source = f"""
    from tests.support.standin import Boxes
    from utils.errors import UserError
    class Odd(Boxes):
        @staticmethod
        def tasks(level, seeds):
            {body}
    """
    stage.code.mkdir()
    stage.module(source, "worlds")
    stage.data[L3] = {"environment": "worlds.Odd"}
    for options in ((), ("--check",)):
        ran = stage.run(*options)
        assert ran.code == 2
        assert why in ran.output and "Traceback" not in ran.output


# -- seeds that are announced afterwards -----------------------------------------------------------


def test_seeds_follow_from_a_text_and_show_all_four_looks():
    # By hand: printf 'round 1\n0' | sha256sum, as a number, mod 50, times 4, plus 0; and so on.
    assert seeds_from("round 1") == [160, 109, 134, 151]
    for text in ("", "a", "2026-12-01 ünïcode", "x" * 1000):
        seeds = seeds_from(text)
        assert [seed % 4 for seed in seeds] == [0, 1, 2, 3]
        assert all(0 <= seed < 200 for seed in seeds)


def test_seeds_of_a_text_are_played_recorded_and_the_same_as_if_they_were_named(stage):
    stage.data[L3]["seeds"] = [0]
    ran = stage.run("--seeds-from", "round 1")
    assert ran.code == 0 and "queried 8 (8 new)" in ran.output
    records = read_log_lines(stage.folder() / f"m_{L3}.jsonl")
    played = {record["line"]["seed"] for record in records if record["kind"] == "episode"}
    assert played == {160, 109, 134, 151}
    config = json.loads((stage.folder() / "manifest.json").read_text())["config"]["data"][L3]
    assert (config["seeds_from"], config["seeds"]) == ("round 1", [160, 109, 134, 151])
    stage.data[L3]["seeds"] = [160, 109, 134, 151]
    assert "reused 8" in stage.run().output
    del stage.data[L3]["seeds"]
    stage.data[L3]["seeds_from"] = "round 1"
    assert "reused 8" in stage.run().output


def test_an_option_that_finds_no_live_data_set_is_an_error(stage):
    stage.data = {"GUIElementGrounding": {}}
    ran = stage.run("--seeds-from", "round 1")
    assert ran.code == 2
    assert "--seeds-from: the config has no data set with seeds" in ran.output

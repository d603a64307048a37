"""Tiers, tasks that cannot be done, and partial credit: from the environment to the files."""

import contextlib
import json
import re
from dataclasses import asdict

import pytest

from benchmarks.worlds.environment import Outcome
from benchmarks.worlds.episode import EpisodeResult
from benchmarks.worlds.suites import suites_of, tasks_of
from evaluate import load_run
from tests.support.graded import ENVIRONMENT, Graded
from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model
from tests.support.stage import Stage, read_log_lines
from utils.comparing.pairing import compare
from utils.comparing.runs import read_runs
from utils.errors import UserError
from utils.pages.data_files import value_of
from utils.store.log import RunLog

L3 = "GUITaskAutomation"


def half_done(request):
    """Clicks the first box of a task and is done; what cannot be done, and a count, it fails."""
    goal = re.findall(r"Task: (.*)", request.text)[-1]
    if "purple" in goal or "How many" in goal:
        return Reply('Action: fail("no")')
    return Reply("Action: click(0.2, 0.2); done()")


@pytest.fixture
def stage(tmp_path):
    """Makes a stage whose model does half of what it is told; keys go to the data set."""
    with MockServer(half_done) as server:
        data = {L3: {"environment": ENVIRONMENT, "max_steps": 20}}
        yield Stage(tmp_path, server, {"m": api_model(server.url)}, data)


def samples_of(stage):
    """The facts of each sample, by its task."""
    path = stage.folder() / f"m_{L3}_samples.jsonl"
    _, *samples = [json.loads(line) for line in path.read_text("ascii").splitlines()]
    return {sample["task"].removeprefix("environment/"): sample for sample in samples}


def test_tier_feasibility_and_partial_credit_reach_the_files(stage):
    ran = stage.run()
    assert ran.code == 0, ran.output
    expected = {  # tier, feasible, partial, hit
        "one": ("basic", True, 1.0, 1),
        "two": ("long", True, 0.5, 0),
        "count": ("standard", True, 0.0, 0),
        "none": ("basic", False, 1.0, 1),
    }
    samples = samples_of(stage)
    assert {
        name: (sample["tier"], sample["feasible"], sample["partial"], sample["hit"])
        for name, sample in samples.items()
    } == expected
    rows = {row["task_id"].partition("/")[2]: row for row in stage.sheet(L3, "_result")}
    assert {
        name: (row["tier"], bool(row["feasible"]), row["partial"], row["success"])
        for name, row in rows.items()
    } == expected


def test_several_episodes_of_each_task_have_figures_by_tier(stage):
    stage.data[L3]["repeats"] = 2
    ran = stage.run()
    assert ran.code == 0, ran.output
    score = json.loads((stage.folder() / f"m_{L3}_score.json").read_text())
    figures = score["repeats"]["figures"]
    tiers = score["Max step 20"]["tier"]
    rates = {name: figures[f"tier {name}"]["pass@1"]["value"] for name in tiers}
    assert rates == {name: block["SR"] for name, block in tiers.items()}
    assert sum(figures[f"tier {name}"]["pass@1"]["samples"] for name in tiers) == 4
    assert "tier long" in ran.output


def test_a_model_is_told_a_tier_at_most_and_never_whether_a_task_can_be_done(stage):
    stage.run()
    assert not any("feasible" in request.text for request in stage.server.requests)
    lines = [
        record["line"]
        for record in read_log_lines(stage.folder() / f"m_{L3}.jsonl")
        if "line" in record
    ]
    assert all("tier" in line and not {"feasible", "boxes"} & set(line) for line in lines)


def test_records_of_earlier_versions_take_from_the_tasks_whether_they_can_be_done(stage):
    stage.run()
    before = stage.scores(L3)
    path = stage.folder() / f"m_{L3}.jsonl"
    old = []
    for record in read_log_lines(path):
        if record["kind"] == "episode":
            for name in ("requests", "usage", "latency_s", "wall_s"):
                del record[name]
            del record["returned"]["feasible"], record["returned"]["partial"]
        if "line" in record:
            del record["line"]["tier"]
        old.append({name: value for name, value in record.items() if name != "crc"})
    path.unlink()
    with contextlib.closing(RunLog(path)) as log:
        for record in old:
            log.append(record)
    ran = stage.run("--mode", "eval")
    assert ran.code == 0 and "SR 15" in ran.output
    scores = stage.scores(L3)
    for kind in ("Feasible tasks", "Infeasible tasks"):
        assert scores[kind] == before[kind]
    assert scores["Max step 20"]["SR"] == scores["Partial credit"] == 50
    assert scores["Max step 20"]["tier"] == {}
    assert scores["Cost"]["episode"]["steps"] == 1
    assert scores["Cost"]["episode"]["requests"] is None
    assert samples_of(stage)["none"]["feasible"] is False


def test_an_episode_has_its_cost_and_the_console_says_what_a_success_costs(stage):
    ran = stage.run()
    assert ran.code == 0
    costs = {name: sample["cost"] for name, sample in samples_of(stage).items()}
    assert {name: cost["requests"] for name, cost in costs.items()} == dict.fromkeys(costs, 1)
    tokens = sum(cost["prompt_tokens"] + cost["completion_tokens"] for cost in costs.values())
    usages = [
        record["usage"]
        for record in read_log_lines(stage.folder() / f"m_{L3}.jsonl")
        if record["kind"] == "answer"
    ]
    assert tokens == sum(usage["total_tokens"] for usage in usages) > 0
    assert "cost per episode: steps 1, actions 1.5, requests 1, " in ran.output
    assert "cost per success: steps 2, actions 3, requests 2, " in ran.output
    assert "partial credit" in ran.output and "SR long" in ran.output
    scores = stage.scores(L3)
    assert scores["Feasible tasks"]["SR"] == pytest.approx(100 / 3)
    assert scores["Infeasible tasks"]["Recall"] == 100
    assert scores["Partial credit"] == pytest.approx(62.5)


def test_an_environment_that_fails_too_often_leaves_no_headline(stage, monkeypatch):
    monkeypatch.setattr(Graded, "fails", lambda task, attempt: "two" in task)
    ran = stage.run()
    why = "1 of 4 episodes failed in their environment, more than 1 %"
    assert ran.code == 1
    assert f"no score: {why}" in ran.output and "SR 15" not in ran.output
    scores = stage.scores(L3)
    assert scores["Environment failures"] == {"Num": 1, "Rate": 25, "Headline": False}
    assert scores["Max step 20"]["SR"] == 50  # the numbers are all there
    assert samples_of(stage)["two"]["ended"] == "environment"
    assert samples_of(stage)["two"]["feasible"] is True
    assert why in (stage.work_dir / "index.html").read_text("utf-8")
    assert why in str(load_run(stage.folder()))
    summary = value_of((stage.folder() / "report" / "data" / "summary_0.js").read_text("ascii"))
    assert summary["datasets"][0]["no_score"]["text"] == why
    [run] = read_runs([stage.folder()])
    assert run.sets[L3].doubts == [f"no score: {why}"]
    # Played again by the same command.
    monkeypatch.setattr(Graded, "fails", lambda task, attempt: False)
    assert "SR 15" in stage.run().output


def test_a_comparison_has_groups_by_tier(stage):
    stage.model["n"] = stage.model["m"]
    assert stage.run().code == 0
    comparison = compare(read_runs([stage.folder(model="m"), stage.folder(model="n")]))
    [pair] = comparison.pairs
    assert [difference.group for difference in pair.subgroups][-3:] == ["basic", "standard", "long"]


def test_a_success_is_one_and_a_share_is_no_success():
    with pytest.raises(ValueError, match=r"partial must be a share, 0 to 1, or None, not 1\.5"):
        Outcome(False, partial=1.5)
    result = EpisodeResult(False, 3, "done", partial=0.5, feasible=True)
    assert EpisodeResult.from_json(result.to_json()) == result
    old = result.to_json()
    del old["partial"], old["feasible"]
    assert asdict(EpisodeResult.from_json(old)) == asdict(result) | {
        "partial": None,
        "feasible": None,
    }


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("tier", "lang", "unknown tier 'lang'; did you mean \"long\"?"),
        ("feasible", "no", "feasible must be true or false, not 'no'"),
    ],
)
def test_a_task_with_an_unknown_tier_is_an_error(monkeypatch, key, value, why):
    task = {**Graded.tasks("L3", [0])[0], key: value}
    monkeypatch.setattr(Graded, "tasks", staticmethod(lambda level, seeds: [task]))
    suite = suites_of("L3", Graded)["environment"]
    with pytest.raises(UserError, match=re.escape(why)):
        tasks_of("environment", suite, "L3", [0])


@pytest.mark.parametrize("is_constant", [True, False])
def test_an_agent_that_gives_up_every_task_at_once_is_warned_of(stage, monkeypatch, is_constant):
    four = Graded.tasks("L3", [0])
    twelve = [{**task, "id": f"{task['id']}-{number}"} for number in range(3) for task in four]
    monkeypatch.setattr(Graded, "tasks", staticmethod(lambda level, seeds: twelve))
    if is_constant:
        stage.server.answer = lambda _: Reply('Action: fail("no")')
    ran = stage.run("--quiet")
    text = f"warning: m, {L3}: constant ending: 12 of 12 episodes end by `fail` in step 1"
    assert (text in ran.output) is is_constant
    analysis = json.loads((stage.folder() / f"m_{L3}_analysis.json").read_text())
    check = analysis["constant_ending"]
    assert bool(check["findings"]) is is_constant
    summary = value_of((stage.folder() / "report" / "data" / "summary_0.js").read_text("ascii"))
    [shown] = [check for check in summary["checks"] if check["title"] == "Constant ending"]
    assert bool(shown["findings"]) is is_constant

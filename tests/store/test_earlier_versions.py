"""A work-dir that commit 41677fc has written goes on: nothing is queried again, nothing is lost.

`data/*work_dir_of_41677fc` are what `evaluate.py --no-report` of that commit left of an API model on
L1 in all rotations and L2, of a small checkpoint on L1 (easy) and L2, and of an API model that acts in
the boxes of `tests.support.standin` (L3) and in the office (L4); without spreadsheets, links and
empty lock files. The checkpoint has been taught one answer, so it gives it on every machine.
"""

import json
import shutil

import pytest

from tests.support.browser import need_browser
from tests.support.mock_server import MockServer, Reply
from tests.support.runs import PROJECT, api_model, environment, run_process
from tests.support.stage import L1, L2, NOBODY, Stage, some_right
from tests.support.standin import ENVIRONMENT, solve
from utils.store.load import load_run

DATA = PROJECT / "tests/store/data"
API, LOCAL, LIVE = (DATA / f"{kind}work_dir_of_41677fc" for kind in ("", "local_", "live_"))
L3, L4 = "GUITaskAutomation", "GUITaskCollaboration"


@pytest.fixture(scope="module")
def server():
    with MockServer(some_right) as running:
        yield running


@pytest.fixture
def stage(server, tmp_path):
    shutil.copytree(API, tmp_path, dirs_exist_ok=True)
    model = {"m": api_model(server.url, model_identity="mock weights")}
    stage = Stage(tmp_path, server, model)
    stage.data[L1]["circular"] = True
    return stage


def files_of(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def compare(stage, *arguments):
    compared = run_process("compare.py", *arguments, cwd=stage.home, env=environment())
    assert (compared.code, compared.stderr) == (0, ""), compared.output
    return compared.stdout


def test_its_results_are_read(stage):
    results = load_run(stage.work_dir / "m")
    assert (results.datasets, results.partial) == ((L1, L2), ())
    assert results.figures["L2"]["average"] == 50.0
    samples = results.samples
    assert samples.groupby("dataset", observed=True)["hit"].sum().to_dict() == {L1: 3, L2: 3}
    assert results.table(L1)["value"].unstack().loc["easy", "os_ios"] == 100.0


@pytest.mark.parametrize("options", [(), ("--mode", "eval"), ("--limit", "2")])
def test_it_goes_on_without_a_query(stage, options):
    scores, folder = stage.both_scores(), stage.folder()
    ran = stage.run(*options)
    assert (ran.code, ran.asked) == (0, {L1: 0, L2: 0}), ran.output
    assert stage.both_scores(folder) == scores


def test_its_prompts_are_those_of_today(stage):
    [log] = stage.folder().glob(f"*_{L2}.jsonl")
    address = json.loads(log.read_text().splitlines()[0])["config"]["model"]["m"]["model_path"]
    stage.model["m"]["model_path"] = address.replace("[secret]", "test-key-123456")
    assert "other settings" not in stage.run("--mode", "eval").output


def test_its_order_of_samples_decides_about_a_limit(stage):
    ran = stage.run("--mode", "eval", "--limit", "2")
    [log] = stage.folder().glob(f"*_{L2}.jsonl")
    record = json.loads(log.read_text().splitlines()[0])
    first = [key for key, rank in zip(record["samples"], record["turns"], strict=True) if rank < 2]
    [path] = stage.folder().glob(f"*_{L2}_samples_partial.jsonl")
    scored = [json.loads(line)["key"] for line in path.read_text().splitlines()[1:]]
    assert scored == first, ran.output


def test_it_compares_with_a_run_of_today(stage):
    stage.model["n"] = api_model(stage.server.url)
    assert stage.run("--model", "n").code == 0
    assert "nothing differs" in compare(stage, "out", "--why")


# -- a checkpoint ----------------------------------------------------------------------------------


@pytest.fixture
def local(tmp_path):
    shutil.copytree(LOCAL, tmp_path, dirs_exist_ok=True)
    shutil.copytree(API / "data", tmp_path / "data")
    entry = {
        "model_path": "checkpoint",
        "imp_type": "transformers",
        "device_map": "cpu",
        "generate_cfg": {"max_new_tokens": 16},
        "kwargs": {"max_pixels": 20000},
    }
    data = {L1: {"mode": "easy"}, L2: {"mode": "all"}}
    return Stage(tmp_path, NOBODY, {"local": entry}, data)


def test_results_of_a_checkpoint_are_read_and_scored_again(local):
    folder = local.folder("local")
    scores = [local.scores(dataset, "local") for dataset in (L1, L2)]
    assert load_run(folder).figures["L2"]["average"] == 100.0
    ran = local.run("--mode", "eval")
    assert (ran.code, "other settings" in ran.output) == (0, False), ran.output
    assert [local.scores(dataset, "local") for dataset in (L1, L2)] == scores
    assert f"{folder.name}/report/index.html" in (local.work_dir / "index.html").read_text("utf-8")


def test_a_checkpoint_goes_on_without_being_loaded(local):
    scores = [local.scores(dataset, "local") for dataset in (L1, L2)]
    before = files_of(local.folder("local"))
    ran = local.run()
    assert (ran.code, "load" in ran.output) == (0, False), ran.output
    assert "queried 0, reused 3" in ran.output and "queried 0, reused 6" in ran.output
    assert "are asked again" not in ran.output
    assert [local.scores(dataset, "local") for dataset in (L1, L2)] == scores
    assert before.items() <= files_of(local.work_dir).items()


def test_a_checkpoint_answers_today_as_it_did(local):
    pytest.importorskip("qwen_vl_utils")
    local.model["today"] = local.model["local"]
    ran = local.run("--model", "today")
    assert (ran.code, "queried 6 (6 new)" in ran.output) == (0, True), ran.output
    assert compare(local, "out", "--why").count("nothing differs") == 2


# -- episodes --------------------------------------------------------------------------------------


OFFICE = {
    "Who has written in #aurora": 'answer("+44 20 7946 3899")',
    "Cancel order 7306": 'fail("no such order")',
    "Hugo Novak asks by mail": 'answer("Lost")',
}


def act(request):
    """One answer to each task of the office; the boxes are clicked, and counted wrongly."""
    for goal, action in OFFICE.items():
        if goal in request.text:
            return Reply(f"Action: {action}")
    return Reply(solve(request.text).replace('"3"', '"4"'))


@pytest.fixture
def live(tmp_path):
    shutil.copytree(LIVE, tmp_path, dirs_exist_ok=True)
    names = ("chat_author_phone_question", "infeasible_cancel", "mail_order_question")
    data = {
        L3: {"environment": ENVIRONMENT, "max_steps": 5},
        L4: {"tasks": [f"office/{name}" for name in names], "max_steps": 5},
    }
    with MockServer(act) as running:
        model = {"m": api_model(running.url, model_identity="mock weights")}
        yield Stage(tmp_path, running, model, data)


def figures_of(stage, dataset):
    """The figures of all episodes."""
    figures = stage.scores(dataset)["Max step 5"]
    return {name: value for name, value in figures.items() if not isinstance(value, dict)}


def test_results_of_episodes_are_read_and_scored_again(live):
    figures = [figures_of(live, dataset) for dataset in (L3, L4)]
    assert [scores["SR"] for scores in figures] == [75.0, pytest.approx(200 / 3)]
    results = load_run(live.folder())
    assert results.samples.groupby("dataset", observed=True)["hit"].sum().to_dict() == {
        L3: 3,
        L4: 2,
    }
    ran = live.run("--mode", "eval")
    assert (ran.code, ran.requests) == (0, []), ran.output
    assert [figures_of(live, dataset) for dataset in (L3, L4)] == figures


def test_episodes_are_shown_with_their_screenshots(live):
    assert live.run("--mode", "eval").code == 0
    report = live.folder() / "report"
    names = {path.name for path in (live.folder() / "screenshots").iterdir()}
    texts = "".join(path.read_text("utf-8") for path in report.rglob("*.js"))
    assert names and all(name in texts for name in names)
    assert "report/index.html" in (live.work_dir / "index.html").read_text("utf-8")


def test_episodes_are_played_once_more_and_nothing_is_lost(live):
    need_browser()
    before = files_of(live.folder())
    ran = live.run("--worlds", "1")
    assert ran.code == 0, ran.output
    assert f"{L3}: queried 4 (4 settings changed)" in ran.output
    assert f"{L4}: queried 3 (3 settings changed)" in ran.output
    assert ran.output.count("are queried again, once") == 1
    assert before.items() <= files_of(live.work_dir).items()
    again = live.run()
    assert (again.requests, "are asked again" in again.output) == ([], False)
    compared = compare(live, *sorted((live.work_dir / "m").glob("T*")))
    assert compared.count("75.00") >= 2 and compared.count("66.67") >= 2

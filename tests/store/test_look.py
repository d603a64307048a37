"""`--look`: the figures of a run so far, without touching it."""

import json
import os
import re
import shutil
import threading
from contextlib import closing

import pytest

from tests.support.mock_server import MockServer, Reply
from tests.support.runs import PROJECT, evaluate, finish
from tests.support.stage import L1, L2, NOBODY, Stage, dataset_of, some_right
from utils.pages.all_runs import listed_runs
from utils.store.log import RunLog

PATIENCE_S = 120
TABLE = re.compile(r"^L\d .*?^official figure: .*?$", re.MULTILINE | re.DOTALL)


class HeldServer(MockServer):
    """Answers some requests, and holds all later ones until it is released."""

    def __init__(self, answered):
        super().__init__(self._answer)
        self._places, self._released = threading.Semaphore(answered), threading.Event()

    def _answer(self, request):
        if not self._places.acquire(blocking=False):
            assert self._released.wait(PATIENCE_S)
        return some_right(request)

    def release(self):
        self._released.set()

    def __exit__(self, *error):
        self.release()
        super().__exit__(*error)


def look(stage, *arguments, **env):
    return evaluate("--look", *arguments, cwd=stage.home, env={"LMUData": "/nowhere", **env})


def contents(folder):
    """Everything in a folder: names, sizes, content, and when it was last written."""
    return {
        str(path): (path.stat().st_mtime_ns, path.is_file() and path.read_bytes())
        for path in sorted(folder.rglob("*"))
    }


def wait_for_answers(stage, count):
    """Blocks until so many answers are in the logs of a run."""
    deadline = threading.Event()
    for _ in range(PATIENCE_S * 20):
        logs = stage.work_dir.glob("*/T*/*.jsonl")
        lines = [line for log in logs for line in log.read_bytes().splitlines(keepends=True)]
        if sum(line.startswith(b'{"kind":"answer"') for line in lines) >= count:
            return
        deadline.wait(0.05)
    raise AssertionError(f"{count} answers were not written")


def test_a_run_that_is_going_on_is_scored_so_far_and_left_as_it_is(tmp_path):
    with HeldServer(answered=50) as server:
        stage = Stage.make(tmp_path, server, 15)
        process = stage.start()
        try:
            wait_for_answers(stage, 50)
            before = contents(stage.work_dir)
            result = look(stage, EVAL_WORK_DIR=str(stage.work_dir))
            assert contents(stage.work_dir) == before
            assert (result.code, result.stderr) == (0, ""), result.output
            assert "45 of 45 samples (100.0 %)" in result.stdout
            assert "5 of 30 samples (16.7 %); running, last answer" in result.stdout
            assert "n = 5 (partial)" in result.stdout
            assert "not begun" not in result.stdout
            assert "25 samples of this run have not been queried yet\n" in result.stdout
            evaluate("--runs", "--work-dir", stage.work_dir, cwd=tmp_path)
            page = (stage.work_dir / "index.html").read_text("utf-8")
            assert "running</span> 50 of 75" in page
            assert ">40.00<" in page
        finally:
            server.release()
            finished = finish(process)
    assert finished.code == 0
    after = look(stage, stage.folder())
    assert "30 of 30 samples (100.0 %); ended " in after.stdout
    assert TABLE.findall(after.stdout) == TABLE.findall(finished.stdout)
    assert len(TABLE.findall(after.stdout)) == 2


def test_a_data_set_that_waits_its_turn_has_not_begun(tmp_path):
    with HeldServer(answered=2) as server:
        stage = Stage.make(tmp_path, server, 5)
        process = stage.start("--api-nproc", "1")
        try:
            wait_for_answers(stage, 2)
            result = look(stage, EVAL_WORK_DIR=str(stage.work_dir))
        finally:
            server.release()
            finish(process)
    assert re.search(r"^\w+: 2 of 15 samples \(13.3 %\); running", result.stdout, re.MULTILINE)
    assert f"{L2}: 0 of 10 samples (0.0 %); not begun: this run has no answer" in result.stdout


def test_a_run_that_has_lost_its_server_has_stopped(tmp_path):
    stage = Stage.make(tmp_path, NOBODY)
    assert stage.run("--data", L2, "--retry", "0", "--outage", "0").code == 1
    result = look(stage, stage.work_dir / "m")
    assert "samples (0.0 %); stopped, last answer " in result.stdout
    assert "running" not in result.stdout
    assert listed_runs(stage.work_dir)[0].state == "stopped"


def test_what_a_killed_run_left_behind_is_scored(tmp_path):
    with MockServer(some_right) as server:
        stage = Stage.make(tmp_path, server)
        stage.run("--data", L2)
    log = stage.log(L2)
    lines = log.read_bytes().splitlines(keepends=True)
    answers = [line for line in lines if line.startswith(b'{"kind":"answer"')]
    kept = [line for line in lines if line.startswith(b'{"kind":"run"')] + answers[:4]
    log.write_bytes(b"".join(kept) + answers[4][:200])
    before = contents(stage.work_dir)
    result = look(stage, stage.work_dir / "m")
    assert contents(stage.work_dir) == before
    assert "4 of 6 samples (66.7 %); stopped, last answer " in result.stdout
    assert " left" not in result.stdout.partition("\n\n")[0]
    assert "n = 4 (partial)" in result.stdout


def test_all_models_of_the_newest_command_are_shown(tmp_path):
    with MockServer(some_right) as server:
        stage = Stage.make(tmp_path, server)
        stage.model = {"m": stage.model["m"], "other": {**stage.model["m"]}}
        stage.run()
    result = look(stage, "--work-dir", stage.work_dir, "--data", "L2")
    assert re.findall(r'model "(\w+)"', result.stdout) == ["m", "other"]
    assert (result.stdout.count("6 of 6 samples"), L1 in result.stdout) == (2, False)


def test_a_folder_for_the_look_gets_the_report_and_is_replaced_by_the_next_look(tmp_path):
    with MockServer(some_right) as server:
        stage = Stage.make(tmp_path, server)
        stage.run("--data", L2)
    output = tmp_path / "so far"
    for _ in range(2):
        result = look(stage, stage.folder(), "--output", output)
        assert result.code == 0, result.output
    folder = output / "m" / stage.folder().name
    assert (folder / "report" / "index.html").is_file()
    score = json.loads((folder / f"m_{L2}_score.json").read_bytes())
    assert score == stage.scores(L2)


def test_nothing_is_written_over_by_a_look(tmp_path):
    with MockServer(some_right) as server:
        stage = Stage.make(tmp_path, server)
        stage.run("--data", L2)
    for output in (stage.work_dir, stage.folder() / "look"):
        result = look(stage, stage.folder(), "--output", output)
        assert result.code == 2
        assert "name a" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["nowhere"], "--look nowhere: there is no such folder"),
        (["."], "--look .: holds no log of a run"),
        (["--work-dir", "nowhere"], "there is no such folder, so no run"),
        (["--limit", "3"], "--limit cannot be combined with --look"),
    ],
)
def test_a_look_at_nothing_says_so(tmp_path, arguments, problem):
    stage = Stage(tmp_path, NOBODY, {})
    result = look(stage, *arguments)
    assert (result.code, problem in result.stderr) == (2, True), result.output


def test_the_users_own_parse_function_reads_the_replies(tmp_path):
    def right_but_odd(request):
        return Reply("B" if dataset_of(request) == L1 else "20 15")

    with MockServer(right_but_odd) as server:
        stage = Stage.make(tmp_path, server)
        stage.module("""
            def point(reply, meta):
                x, y = reply.split()
                return int(x) / 100, int(y) / 100
        """)
        stage.data = {L2: {"parse_function": "mymodel.point"}}
        ran = stage.run()
    result = look(stage, stage.folder(), PYTHONPATH=str(stage.code))
    assert TABLE.findall(result.stdout) == TABLE.findall(ran.stdout)
    assert "100.00" in result.stdout
    assert listed_runs(stage.work_dir)[0].progress == ""


def test_a_run_that_was_scored_in_another_way_is_shown_in_this_way(tmp_path):
    with MockServer(some_right) as server:
        stage = Stage.make(tmp_path, server, 5)
        stage.data = {L2: {"mode": "all"}}
        asked = stage.run()
        stage.data[L2]["parse_function"] = "utils.coordinates.parse_per_mille"
        scored = stage.run("--mode", "eval")
        shown = look(stage, stage.folder())
        assert TABLE.findall(asked.stdout) != TABLE.findall(scored.stdout)
        assert TABLE.findall(shown.stdout) == TABLE.findall(scored.stdout)
        del stage.data[L2]["parse_function"]
        assert stage.run("--fresh").code == 0
    assert TABLE.findall(look(stage, stage.folder()).stdout) == TABLE.findall(asked.stdout)


@pytest.fixture(scope="module")
def two_models(tmp_path_factory):
    """A run of two models on both levels, that nothing here may change."""
    home = tmp_path_factory.mktemp("looked at")
    with MockServer(some_right) as server:
        made = Stage.make(home, server, 1)
        made.model = {"m": made.model["m"], "other": {**made.model["m"]}}
        assert made.run().code == 0
    before = contents(made.work_dir)
    yield made
    assert contents(made.work_dir) == before


def newest(stage, model):
    """The folder of a model's only run."""
    [folder] = (stage.work_dir / model).glob("T*")
    return folder


def test_figures_so_far_of_all_models_are_one_json_list(two_models):
    result = look(two_models, "--work-dir", two_models.work_dir, "--json")
    assert result.code == 0, result.output
    runs = json.loads(result.stdout)
    folders = {run["model"]: run["folder"] for run in runs}
    assert folders == {name: str(newest(two_models, name)) for name in ("m", "other")}
    for run in runs:
        facts = run["datasets"][L2]
        assert (run["datasets"][L1]["samples"], facts["samples"], facts["missing"]) == (3, 2, 0)
        values = {name: figure["value"] for name, figure in facts["figures"].items()}
        assert values == {"basic": 100, "advanced": 0, "average": 50}


def test_a_look_at_a_model_or_a_run_shows_it_alone(two_models):
    for path in (two_models.work_dir / "other", newest(two_models, "other")):
        result = look(two_models, path, "--data", "L2")
        assert re.findall(r'model "(\w+)": (.*)', result.stdout) == [
            ("other", str(newest(two_models, "other")))
        ]
        assert f"{L2}: 2 of 2 samples (100.0 %); ended " in result.stdout
        assert f"{L1}: " not in result.stdout


def test_of_the_newest_command_the_models_that_are_wanted_are_shown(two_models):
    for wanted in (["m"], ["other"], ["m", "other"], ["another"]):
        arguments = ["--model", *wanted, "--work-dir", two_models.work_dir, "--data", "L2"]
        result = look(two_models, *arguments)
        shown = re.findall(r'model "(\w+)"', result.stdout)
        assert shown == [name for name in wanted if name != "another"], result.output


def test_a_model_that_another_command_asked_is_not_shown_with_the_newest(two_models, tmp_path):
    work_dir = tmp_path / "out"
    shutil.copytree(two_models.work_dir, work_dir)
    [log] = (work_dir / "other").glob(f"T*/*{L2}.jsonl")
    [begin] = [
        record
        for record in map(json.loads, log.read_text("utf-8").splitlines())
        if record["kind"] == "run"
    ]
    for path in log.parent.glob("*.jsonl"):
        path.unlink()
    with closing(RunLog(log)) as rewritten:
        del begin["crc"]
        rewritten.append({**begin, "arguments": ["--another", "command"]})
    os.utime(log, (1, 1))
    result = look(two_models, "--work-dir", work_dir, "--data", "L2")
    assert re.findall(r'model "(\w+)"', result.stdout) == ["m"]
    shutil.rmtree(work_dir / "other")
    result = look(two_models, "--work-dir", work_dir, "--data", "L2")
    assert re.findall(r'model "(\w+)"', result.stdout) == ["m"]


def test_a_folder_for_the_look_holds_looks_alone(two_models, tmp_path):
    folder = newest(two_models, "m")
    file, taken = tmp_path / "a.txt", tmp_path / "taken"
    file.write_text("mine")
    taken.mkdir()
    (taken / "mine.txt").write_text("mine")
    for output in (file, taken):
        result = look(two_models, folder, "--output", output)
        assert result.code == 2
        assert f"--output {output}: holds something else than an earlier look" in result.stderr
    result = look(two_models, folder, "--output", file / "below")
    assert result.code == 2 and f"--output {file / 'below'}: " in result.stderr
    assert (file.read_text(), [path.name for path in taken.iterdir()]) == ("mine", ["mine.txt"])
    result = look(two_models, folder, "--output", folder / "so far")
    assert result.code == 2 and "is in the folder of the run; name another one" in result.stderr


def test_a_look_into_a_folder_leaves_figures_there_that_the_next_look_replaces(
    two_models, tmp_path
):
    folder, output = newest(two_models, "m"), tmp_path / "so far"
    output.mkdir()
    for _ in range(2):
        result = look(two_models, folder, "--output", output, "--data", "L2")
        assert result.code == 0, result.output
        [score] = output.glob(f"m/{folder.name}/m_{L2}_score.json")
        assert score.read_bytes() == (folder / score.name).read_bytes()


def unreadable(request):
    return Reply("I cannot tell")


def settling(request):
    return Reply('{"choice": "B"}')


def test_a_run_with_a_judge_is_shown_with_its_readings(tmp_path):
    with MockServer(unreadable) as server, MockServer(settling) as judge:
        stage = Stage.make(tmp_path, server)
        judging = {"model_path": f"{judge.url}?model=reader", "max_requests": 5}
        stage.data = {L1: {"match_mode": "judge", "judge": judging}}
        ran = stage.run()
        requests = len(judge.requests)
        shown = look(stage, stage.folder())
        assert (shown.code, shown.stderr) == (0, ""), shown.output
        assert TABLE.findall(shown.stdout) == TABLE.findall(ran.stdout)
        assert len(judge.requests) == requests > 0
    so_far = look(stage, stage.folder(), "--json")
    assert L1 in json.loads(so_far.stdout)[0]["datasets"]


def test_data_sets_with_names_of_their_own_are_shown_before_they_are_scored(tmp_path):
    with MockServer(some_right) as server:
        stage = Stage.make(tmp_path, server)
        shutil.copytree(PROJECT / "sample_data" / "ScreenSpot", stage.root / "ScreenSpot")
        reading = "utils.coordinates.parse_per_mille"
        stage.model["m"]["parse_function"] = {"Mine": reading}
        stage.data = {L2: {}, "Mine": {"benchmark": "ScreenSpot"}}
        assert stage.run("--mode", "infer").code == 0
    result = look(stage, stage.folder())
    assert (result.code, result.stderr) == (0, ""), result.output
    assert re.findall(r"^\w+: \d+ of (\d+) samples", result.stdout, re.MULTILINE) == ["6", "12"]


def test_functions_beside_the_config_are_found_by_a_look_at_a_scored_run(tmp_path):
    point = "def point(reply, meta): return 0.2, 0.15\n"
    with MockServer(some_right) as server:
        stage = Stage.make(tmp_path, server)
        config = {"model": stage.model, "data": {L2: {}}}
        config["model"]["m"]["parse_function"] = {L2: "beside.point"}
        for folder in ("settings", "later"):
            (tmp_path / folder).mkdir()
            stage.config(config, f"{folder}/config.json")
        module = tmp_path / "settings" / "beside.py"
        module.write_text(point)
        command = ("--config", "settings/config.json", "--work-dir", stage.work_dir)
        ran = stage.run(*command)
        shown = look(stage, stage.folder())
        assert TABLE.findall(shown.stdout) == TABLE.findall(ran.stdout) != []
        module.unlink()
        (tmp_path / "later" / "beside.py").write_text(point.replace("0.2", "0.9"))
        scored = stage.run("--config", "later/config.json", *command[2:], "--mode", "eval")
    shown = look(stage, stage.folder())
    assert TABLE.findall(shown.stdout) == TABLE.findall(scored.stdout) != TABLE.findall(ran.stdout)


def test_a_part_that_was_asked_last_is_shown_as_a_part(tmp_path):
    with MockServer(some_right) as server:
        stage = Stage.make(tmp_path, server)
        stage.data = {L1: {}, L2: {}}
        assert stage.run().code == 0
        stage.data[L2]["mode"] = "basic"
        assert stage.run().code == 0
    shown = look(stage, stage.folder())
    assert f"{L2}: 3 of 3 samples" in shown.stdout
    assert "n = 3 · basic only (partial)" in shown.stdout


def test_a_model_may_be_called_like_the_log_of_a_rank(tmp_path):
    with MockServer(some_right) as server:
        stage = Stage.make(tmp_path, server)
        stage.model = {"lora.rank64-b2": stage.model["m"]}
        assert stage.run().code == 0
    shown = look(stage, "--work-dir", stage.work_dir)
    assert (shown.code, len(TABLE.findall(shown.stdout))) == (0, 2), shown.output
    [listed] = listed_runs(stage.work_dir)
    assert listed.state == "whole"
    stage.folder("lora.rank64-b2").joinpath("manifest.json").unlink()
    [listed] = listed_runs(stage.work_dir)
    assert set(listed.unscored) == {L1, L2}


@pytest.mark.parametrize("arguments", [["--data", "L3"], ["--model", "other"]])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_look_at_a_name_that_the_run_lacks_says_so(tmp_path, arguments, form):
    with MockServer(some_right) as server:
        stage = Stage.make(tmp_path, server)
        assert stage.run("--no-report").code == 0
    result = look(stage, stage.folder(), *arguments, *form)
    assert result.code == 2, result.output
    assert "not in the run; the run has " in result.stderr

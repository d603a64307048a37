"""L3 in JupyterLab through `evaluate.py`: from the config to the score."""

import json

from benchmarks.worlds.jupyterlab.suite import open_world
from benchmarks.worlds.jupyterlab.tasks import tasks
from tests.support.browser import need_browser
from tests.support.lab import need_lab
from tests.support.lab_oracle import LabOracle
from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model
from tests.support.stage import Stage, read_log_lines

L3 = "GUITaskAutomation"


def test_an_agent_that_does_a_task_scores_and_one_that_claims_it_does_not(tmp_path):
    need_lab()
    need_browser()
    [task] = tasks("L3", [0], ["file_rename"])
    world = open_world(tmp_path)
    try:
        world.reset(task)
        oracle = LabOracle(world)
        oracle.play(task["oracle"])
    finally:
        world.close()
    replies = iter([f"Action: {action}" for action in oracle.actions])

    def answer(request):
        if request.body["model"] == "claims":
            return Reply("Action: done()")
        return Reply(next(replies))

    with MockServer(answer) as server:
        paths = {name: f"{server.url}?api_key=k&model={name}" for name in ("does", "claims")}
        models = {
            name: {**api_model(server.url), "model_path": path} for name, path in paths.items()
        }
        data = {L3: {"tasks": ["jupyterlab/file_rename"], "max_steps": 10}}
        bench = Stage(tmp_path, server, models, data)
        ran = bench.run()
    assert ran.code == 0, ran.output
    scores = {}
    for name in models:
        [path] = bench.folder(name).glob(f"{name}_{L3}_score*.json")
        scores[name] = json.loads(path.read_text())["Max step 10"]["SR"]
    [episode] = [
        record
        for record in read_log_lines(bench.folder("does") / f"does_{L3}.jsonl")
        if record["kind"] == "episode"
    ]
    assert scores == {"does": 100, "claims": 0}, episode["returned"]["checks"]

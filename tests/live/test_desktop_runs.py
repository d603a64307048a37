"""L3 on the desktop through `evaluate.py`: from the config to the score."""

import json

from benchmarks.worlds.desktop.tasks import tasks
from tests.support.desktop import need_desktop
from tests.support.desktop_play import actions_of
from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model
from tests.support.stage import Stage, read_log_lines

L3 = "GUITaskAutomation"


def test_an_agent_that_does_a_task_scores_and_one_that_claims_it_does_not(tmp_path):
    need_desktop()
    [task] = tasks("L3", [0], ["calc_total"])
    actions = [action for step in task["ways"][0] for action in actions_of(step)]
    replies = iter([f"Action: {action}" for action in actions])

    def answer(request):
        if request.body["model"] == "claims":
            return Reply("Action: done()")
        return Reply(next(replies))

    with MockServer(answer) as server:
        paths = {name: f"{server.url}?api_key=k&model={name}" for name in ("does", "claims")}
        models = {
            name: {**api_model(server.url), "model_path": path} for name, path in paths.items()
        }
        data = {L3: {"tasks": ["desktop/calc_total"], "max_steps": 10}}
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

"""A cell of the score table of episodes leads to the episodes that it counts."""

import json

from tests.support.mock_server import MockServer
from tests.support.stage import Stage
from tests.support.standin import ENVIRONMENT, agent
from utils.pages.overview import Tally, scores_of

L3 = "GUITaskAutomation"
LAYOUT = "layout: Android"


def test_a_cell_leads_to_the_episodes_of_its_platform_or_layout(tmp_path):
    with MockServer(agent) as server:
        stage = Stage.make(tmp_path, server)
        stage.data = {L3: {"environment": ENVIRONMENT}}
        ran = stage.run()
        assert ran.code == 0, ran.output
    text = (stage.folder() / f"m_{L3}_analysis.json").read_text("utf-8")
    analysis = json.loads(text.replace("os_android", LAYOUT))
    tally = Tally(L3)
    _, *lines = (stage.folder() / f"m_{L3}_samples.jsonl").read_text("utf-8").splitlines()
    for number, facts in enumerate(map(json.loads, lines)):
        tally.add({**facts, "platform": facts["platform"].replace("os_android", LAYOUT)}, number)
    table = scores_of(tally, analysis, "L3", is_comparable=False)["table"]
    cells = dict(zip(table["columns"], table["rows"][0]["cells"], strict=True))
    platforms = {column: cell["link"].get("platform") for column, cell in cells.items()}
    assert platforms == {"Web": "os_web", "Layout: Android": LAYOUT, "Overall": None}

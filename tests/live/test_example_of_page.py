"""The environment and the agent of docs/environments.md, as one would save them."""

import json
import re

from tests.support.runs import PROJECT, evaluate, run_folder

PAGE = (PROJECT / "docs/environments.md").read_text("utf-8")
FILES = dict(re.findall(r"^```\w+ title=\"(\S+)\"\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))


def test_the_example_of_the_page_switches_its_lamp_on(tmp_path):
    assert set(FILES) >= {"my_lamp.py", "my_agent.py", "lamp.json"}
    for name, content in FILES.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    ran = evaluate("--config", "lamp.json", "--no-report", cwd=tmp_path)
    assert ran.code == 0, ran.output
    folder = run_folder(tmp_path / "outputs", "lamp-agent")
    _, line = (
        (folder / "lamp-agent_GUITaskAutomation_samples.jsonl").read_text("utf-8").splitlines()
    )
    episode = json.loads(line)
    assert (episode["task"], episode["hit"]) == ("environment/lamp_on", 1)
    assert (episode["ended"], episode["checks"]) == ("done", [[True, "the lamp is on"]])

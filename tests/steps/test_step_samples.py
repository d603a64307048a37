"""The samples of recorded steps: as the script writes them, known to reports, and runnable."""

import hashlib
import json
import subprocess
import sys

import pytest

from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model
from tests.support.stage import Stage
from tests.support.step_files import benchmark
from utils import PROJECT
from utils.protocol import SAMPLE_TABLES_MD5
from utils.store.run_facts import data_kind

SAMPLE_DATA = PROJECT / "sample_data"
NAMES = ("AndroidControl", "GUIOdyssey", "AITZ", "CAGUI", "AgentNetBench")
ROW_COUNTS = {name: 8 if name == "AndroidControl" else 4 for name in NAMES}


@pytest.mark.parametrize("script", ["steps.py", "tables.py"])
def test_samples_are_what_their_script_writes(script):
    command = [sys.executable, str(SAMPLE_DATA / script), "--check"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("settings", [{}, {"history": "own"}])
def test_reports_know_samples_by_their_checksums_whatever_the_settings(name, settings):
    """If not, update utils/protocol.py: the report says what scores are worth."""
    file, content = benchmark(name, SAMPLE_DATA, **settings).source()
    md5 = hashlib.md5(content).hexdigest()
    assert md5 == SAMPLE_TABLES_MD5[name]
    assert data_kind({"annotations": {"file": file, "md5": md5}}) == "sample"


def test_samples_of_android_control_have_every_action_and_doubtful_rows():
    rows = list(benchmark("AndroidControl", SAMPLE_DATA).read_rows())
    kinds = [row["recorded"]["action"] for row in rows]
    assert sorted(set(kinds)) == sorted(
        ("open", "click", "wait", "type", "swipe", "long_press", "system_button")
    )
    assert [row["doubts"] for row in rows if row["doubts"]] == [["repeats"], ["opposite"]]


def test_all_five_run_at_once_and_are_marked_as_samples(tmp_path):
    def answer(_):
        return Reply("Thought: it is there.\nAction: click(0.844, 0.828)")

    with MockServer(answer) as server:
        stage = Stage(tmp_path, server, {"m": api_model(server.url)})
        stage.code.mkdir()
        stage.data = {name: {} for name in NAMES}
        stage.data["AndroidControl"] = {"level": "low", "history": "own"}
        ran = stage.run(env={"LMUData": str(SAMPLE_DATA)})
        assert ran.code == 0, ran.output
        assert len(ran.requests) == sum(ROW_COUNTS.values())
        scores = {name: stage.scores(name) for name in NAMES}
        manifest = json.loads((stage.folder() / "manifest.json").read_text())
    assert {name: block["counts"]["answered"] for name, block in scores.items()} == ROW_COUNTS
    assert {name: block["Type"] for name, block in scores.items()} == {
        **dict.fromkeys(NAMES, 25),
        "AgentNetBench": 50,
    }
    assert scores["AndroidControl"]["apart"]["micro without doubtful rows"]["num_SR"] == 6
    assert scores["GUIOdyssey"]["official"]["macro AMS"] == 25
    kinds = {name: data_kind(manifest["datasets"][name]) for name in NAMES}
    assert kinds == dict.fromkeys(NAMES, "sample")

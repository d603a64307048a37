"""The model of the README is written as `make check` wants it, and reads its own replies."""

import subprocess
import sys

import pytest

from tests.support.mock_server import Reply
from tests.support.runs import PROJECT
from tests.support.stage import API, L2, l2_counts


@pytest.fixture(scope="module")
def source():
    readme = (PROJECT / "README.md").read_text("utf-8")
    return readme.partition("## Add a model")[2].partition("```python\n")[2].partition("```")[0]


def test_it_passes_the_checks_of_this_project(source):
    command = [sys.executable, "-m", "ruff", "check", "--stdin-filename", "models/acme.py", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, cwd=PROJECT)
    assert (done.returncode, done.stdout) == (0, "All checks passed!\n"), done.stdout + done.stderr


def test_its_prompt_is_sent_and_its_replies_are_read(staged, source):
    stage = staged(answer=lambda request: Reply("It is at <p>200,150</p>."))
    stage.module(source, name="acme")
    ran = stage.evaluate(
        {"m": {**API, "custom_prompt": {L2: "acme.build_prompt"}}},
        data={L2: {"mode": "all", "parse_function": "acme.parse_point"}},
    )
    assert ran.code == 0, ran.output
    assert {request.text.partition(": ")[0] for request in ran.requests} == {"Point at"}
    counts = l2_counts(stage.scores(L2))
    assert counts["Correct num"] == counts["Total num"] == 6

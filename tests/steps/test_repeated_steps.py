"""Recorded steps with `repeats`: an episode is whole in one answer to all of its steps, or in none."""

import json
import shutil
from collections import Counter

import pytest

from tests.steps.conftest import right, write_recorded
from tests.support.mock_server import Reply
from utils import PROJECT
from utils.session.compare import main as compare

ONE_BY_ONE = ("--api-nproc", "1")  # so that the answer of a number is the reply of that number
FIRST_STEPS, LAST_STEPS = ["open the shop", "scroll down"], ["type red shoe", "go back"]


def wrong_at(*steps_by_answer):
    """Answers each step as it was recorded, but in the n-th answer those of the n-th list wrongly."""
    counts = Counter()

    def answer(request):
        number = counts[request.text]
        counts[request.text] += 1
        if any(step in request.text for step in steps_by_answer[number % len(steps_by_answer)]):
            return Reply("Action: wait(3)")
        return right(request)

    return answer


def analysis_of(stage, model="m"):
    return json.loads(next(stage.folder(model).glob("*_analysis.json")).read_bytes())


@pytest.fixture
def repeated(recorded):
    """A stage that asks each step twice."""
    del recorded.model["m"]["generate_cfg"]["temperature"]
    recorded.data["Steps"] |= {"repeats": 2, "rule": "qwen"}
    return recorded


def test_figures_of_episodes_under_every_rule_are_those_of_the_score_file(repeated):
    repeated.server.answer = wrong_at(FIRST_STEPS, [])
    assert repeated.run("--no-report", *ONE_BY_ONE).code == 0
    scores, rules = repeated.scores("Steps"), analysis_of(repeated)["rules"]
    [row] = [row for row in rules["rows"] if row["name"] == "qwen (score)"]
    assert (scores["Episodes"], row["Episodes"]) == (50, 50)
    assert (scores["Progress"], row["Progress"]) == (50, 50)
    assert rules["figures"]["Episodes"]["qwen"] == 50
    assert rules["counts"]["first misses of episodes"] == 2


def test_the_authors_success_rate_of_gui_odyssey_counts_whole_episodes_of_each_answer(repeated):
    repeated.server.answer = lambda _: Reply("Action: wait(1)")
    repeated.data = {"GUIOdyssey": {"repeats": 2}}
    ran = repeated.run("--no-report", env={"LMUData": str(PROJECT / "sample_data")})
    assert ran.code == 0, ran.output
    rows = {row["name"]: row["value"] for row in analysis_of(repeated)["official"]["rows"]}
    assert rows["odyssey_official: macro SR"] == 0
    assert repeated.scores("GUIOdyssey")["official"]["macro SR"] == 0


def test_intervals_of_repeats_go_by_episode_as_those_of_the_score_table(repeated):
    shutil.rmtree(repeated.root / "AndroidControl")
    step = ("go back", {"action": "system_button", "button": "Back"})
    episodes = [
        {"episode_id": n, "goal": f"goal {n}.", "is_successful": True, "steps": [step] * 3}
        for n in range(12)
    ]
    write_recorded(repeated.root, episodes)
    repeated.data["Steps"]["level"] = "high"
    odd_goals = tuple(f"goal {n}." for n in range(1, 12, 2))
    repeated.server.answer = lambda request: Reply(
        "Action: back()" if request.text.endswith(odd_goals) else "Action: wait(3)"
    )
    ran = repeated.run("--no-report")
    assert ran.output.count("95 % intervals by episode") == 2
    analysis = analysis_of(repeated)
    [*_, success] = analysis["table"]["rows"]
    [*_, overall] = analysis["repeats"]["rows"]
    names = ("value", "low", "high", "pictures")
    of_table, of_repeats = (
        [cell[name] for name in names] for cell in (success["cells"][-1], overall["pass@1"])
    )
    assert of_repeats == of_table
    assert (overall["pass@2"]["pictures"], analysis["repeats"]["table"]["clusters"]) == (
        12,
        "episode",
    )


@pytest.mark.parametrize(
    ("wrong_steps", "percent"),
    [
        ((FIRST_STEPS, LAST_STEPS), "0.00"),  # each step is right once, but no answer in full
        ((FIRST_STEPS, []), "50.00"),
        ((["open the shop"], ["scroll down"]), "50.00"),  # of each episode one of two answers
    ],
)
def test_an_episode_is_whole_where_one_answer_has_all_of_its_steps_right(
    repeated, capsys, wrong_steps, percent
):
    repeated.model["n"] = repeated.model["m"]
    assert repeated.run("--no-report", "--model", "m").code == 0
    repeated.server.answer = wrong_at(*wrong_steps)
    assert repeated.run("--no-report", "--model", "n", *ONE_BY_ONE).code == 0
    folders = [str(repeated.folder(name)) for name in "mn"]
    assert compare([*folders, "--format", "text"]) == 0
    printed = capsys.readouterr().out.splitlines()
    [episodes_line] = [line for line in printed if line.startswith("whole episodes")]
    assert episodes_line.split()[2:6] == ["2", "2", "100.00", percent]
    assert repeated.scores("Steps", "n")["Episodes"] == float(percent)

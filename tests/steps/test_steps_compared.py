"""Two runs on recorded steps: compared step by step and by whole episodes, clustered by episode."""

import csv

import pytest

from tests.steps.conftest import right
from tests.support.browser import tabs_of
from tests.support.mock_server import Reply
from utils.comparing.runs import read_runs
from utils.session.compare import main as compare


@pytest.fixture
def compared(recorded, capsys):
    """What `compare.py` prints of a model that is right and one that drags another way."""
    recorded.model["n"] = recorded.model["m"]
    assert recorded.run("--no-report", "--model", "m").code == 0
    recorded.server.answer = lambda request: Reply(
        "Action: drag(0.5, 0.3, 0.5, 0.7)" if "scroll" in request.text else right(request).text
    )
    assert recorded.run("--no-report", "--model", "n").code == 0
    folders = [str(recorded.folder(name)) for name in "mn"]
    assert compare([*folders, "--output", str(recorded.home / "compared")]) == 0
    return capsys.readouterr().out


def test_the_answers_of_both_runs_stand_side_by_side_under_every_rule(compared):
    table = compared.partition("SR by every rule, in %")[2].partition("\n\n")[0]
    rows = {line.split()[0]: line.split()[1:] for line in table.splitlines()[3:]}
    assert rows["os_atlas"] == ["100.00", "0.00"]
    assert rows["qwen"] == ["100.00", "20.00"]  # any swipe is right
    assert len(rows) == 10


def test_every_rule_has_a_column_in_the_table_of_figures(compared, recorded):
    with (recorded.home / "compared" / "comparison.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["split"] == "Episodes by every rule"]
    values = {(row["run"], row["platform"]): float(row["value"]) for row in rows}
    assert values["m", "os_atlas"] == values["m", "qwen"] == 100
    assert values["n", "qwen"] == 0


def test_intervals_go_by_episode_and_whole_episodes_have_a_figure(compared):
    assert "episodes" in compared.partition("A: m (baseline), B: n")[2].splitlines()[1]
    [episodes_line] = [line for line in compared.splitlines() if line.startswith("whole episodes")]
    assert episodes_line.split()[2:6] == ["2", "2", "100.00", "0.00"]


def test_what_was_recorded_and_what_was_answered_stand_in_words(compared):
    assert 'right: scroll("down")' in compared
    assert "read as: drag(0.500, 0.300, 0.500, 0.700)" in compared


def test_runs_are_told_apart_by_the_rules_that_differ_alone(recorded):
    recorded.data["Others"] = {**recorded.data["Steps"], "rule": "qwen"}
    work_dirs = []
    for rule in ("os_atlas", "ui_s1"):
        recorded.data["Steps"]["rule"] = rule
        work_dirs.append(str(recorded.home / f"by_{rule}"))
        assert recorded.run("--no-report", "--work-dir", work_dirs[-1]).code == 0
    folders = [f"{work_dir}/m" for work_dir in work_dirs]
    assert [run.label for run in read_runs(folders)] == ["m (rule os_atlas)", "m (rule ui_s1)"]


def test_a_ping_shows_both_actions(recorded):
    run = recorded.run("--check", "--ping")
    assert run.code == 0
    assert "a unit of its own" not in run.output
    assert (
        'read as: open_app("Shoe Shop"), wanted: open_app("Shoe Shop"), verdict: hit' in run.output
    )


def test_two_runs_that_were_scored_by_different_rules_say_so(recorded, capsys):
    """The same replies, most of them right by one rule alone: in both directions."""
    answers = {"scroll down": 'Action: scroll("up")', "type red shoe": 'Action: type("red cat")'}
    recorded.server.answer = lambda request: Reply(
        next((text for words, text in answers.items() if words in request.text), None)
        or right(request).text
    )
    recorded.model["n"] = recorded.model["m"]
    for model, rule in (("m", "os_atlas"), ("n", "qwen")):
        next(iter(recorded.data.values()))["rule"] = rule
        assert recorded.run("--no-report", "--model", model).code == 0
    folders = [str(recorded.folder(name)) for name in "mn"]
    output = recorded.home / "compared"
    assert compare([*folders, "--why", "--output", str(output)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert (
        "the runs are scored by different rules, so equal replies may score differently: m by"
        in printed
    )
    assert "scored by: rule os_atlas;" in printed
    assert "1 x verdict: hit in m, miss in n" in printed
    assert "1 x verdict: miss in m, hit in n" in printed
    scripts = [path.read_text() for path in output.rglob("*.js")]
    assert any("Steps, scored by" in text for text in scripts), output


def test_runs_of_one_model_are_told_apart_by_their_rules_and_show_both_verdicts_of_each(
    recorded, capsys, browser
):
    recorded.server.answer = lambda request: Reply("Action: click(0.5, 0.62)")
    work_dirs = []
    for rule in ("os_atlas", "ui_s1"):
        recorded.data["Steps"]["rule"] = rule
        work_dirs.append(str(recorded.home / f"by_{rule}"))
        assert recorded.run("--no-report", "--work-dir", work_dirs[-1]).code == 0
    capsys.readouterr()
    assert compare([*work_dirs, "--output", str(recorded.home / "compared")]) == 0
    printed = capsys.readouterr().out
    assert "m (rule os_atlas)" in printed and "m (rule ui_s1)" in printed
    with tabs_of(browser) as open_tab:
        tab = open_tab(recorded.home / "compared" / "comparison.html")
        tab.go("#/sample/Steps/1")
        assert tab.text(".step .pairs").count("click(0.500, 0.620)") == 2
        assert "click(0.500, 0.500)" in tab.text(".step .pairs")
        rules = tab.page.locator(".rules details")
        texts = [" ".join(text.split()) for text in rules.locator("summary").all_inner_texts()]
        assert texts[0] == "os_atlas score of A A hit B hit"
        assert "ui_s1 score of B A miss B miss" in texts
        assert tab.texts("#legend .key") == [
            "accepted by os_atlas",
            "recorded",
            "A's action",
            "B's action",
        ]
        assert tab.texts("#canvas .point b") == ["R", "A", "B"]
        assert tab.findings() == []
        tab.go("#/samples?outcome=both-wrong-same-reply")
        assert tab.count == "4 of 5 samples"


COLOUR = "(host) => getComputedStyle(host, '::after').backgroundColor"  # of a point


def test_of_two_runs_a_rule_is_open_whose_verdicts_differ_and_colours_are_those_of_the_report(
    recorded, browser
):
    recorded.model["n"] = recorded.model["m"]
    assert recorded.run("--model", "m").code == 0
    recorded.server.answer = lambda request: Reply(
        'Action: type("red cat")' if "type red shoe" in request.text else right(request).text
    )
    assert recorded.run("--no-report", "--model", "n").code == 0
    folders = [str(recorded.folder(name)) for name in "mn"]
    assert compare([*folders, "--output", str(recorded.home / "compared")]) == 0
    with tabs_of(browser) as open_tab:
        tab = open_tab(recorded.home / "compared" / "comparison.html")
        tab.go("#/sample/Steps/2")
        rules = tab.page.locator(".rules details")
        texts = [" ".join(text.split()) for text in rules.locator("summary").all_inner_texts()]
        assert texts[0] == "os_atlas score of A and B A hit B hit"
        [summary] = tab.page.locator(".rules details[open] summary").all_inner_texts()
        assert "A hit B miss" in " ".join(summary.split())
        tab.go("#/sample/Steps/1")
        [summary] = tab.page.locator(".rules details[open] summary").all_inner_texts()
        assert summary.startswith("os_atlas")
        colours = [tab.page.locator(f"#canvas .point.of-{mark}").evaluate(COLOUR) for mark in "ra"]
        tab = open_tab(recorded.folder("m") / "report" / "index.html")
        tab.go("#/sample/Steps/1")
        assert colours == [
            tab.page.locator(f"#canvas .point.of-{mark}").evaluate(COLOUR) for mark in "ra"
        ]
        assert tab.texts(".rules .verdicts")[0] == "hit"

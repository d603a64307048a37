"""Audits of the user's: named in the config, shown where those of the program are."""

import json
import shutil

import pytest

from tests.support.mock_server import MockServer, Reply
from tests.support.runs import PROJECT
from tests.support.stage import L1, L2, TWELVE_L2_SAMPLES, Stage
from utils.pages.checks import checks_of
from utils.session.compare import main as compare

AUDITS = """
from utils.findings import note, warning

def long_replies(columns, settings):
    is_long = [len(reply or "") > 3 for reply in columns["prediction"]]
    text = f"{sum(is_long)} of {len(columns)} replies of {settings.model} to {settings.dataset}"
    finding = warning("long", text + " are long", fix="ask for less", topic="length", row="long")
    rows = [{"name": "long", "count": sum(is_long)}]
    return {"title": "Length: how much is said", "rows": rows, "findings": [finding],
            "at": {"long": columns.spans(is_long)}}

def silent(columns, settings):
    return None

def clear(columns, settings):
    return {"findings": [], "rows": [{"name": "all", "count": len(columns)}], "clear": "all is well"}

def only_a_table(columns, settings):
    return {"title": "Extra", "rows": [{"name": "all", "count": len(columns)}]}

def broken(columns, settings):
    return columns["nothing"]

def ends(columns, settings):
    raise SystemExit(1)

def wrong(columns, settings):
    return {"findings": ["it is long"]}

def not_json(columns, settings):
    return {"rows": [{"name": "a", "value": object()}]}

def a_text(columns, settings):
    return "long"

def typo(columns, settings):
    return {"row": []}

def no_spans(columns, settings):
    return {"at": {"long": "x y"}}

def elsewhere(columns, settings):
    return {"findings": [note("long", "they are long", row="short")], "at": {"long": "0-3 7"}}

def unlinked(columns, settings):
    return {"rows": [{"name": "long", "count": 3}], "at": {"lomg": "0-3 7"}}

def scribbles(columns, settings):
    columns["hit"].clear()

def one_argument(columns):
    return None

limit = 3
"""
LONG = "length: 12 of 12 replies of m to GUIElementGrounding are long. Ask for less"


@pytest.fixture
def staged(tmp_path):
    """Twelve samples of L2, and a module of audits in a folder of the user's."""
    with MockServer(lambda request: Reply("(0.2, 0.15)")) as server:
        stage = Stage.make(tmp_path, server, TWELVE_L2_SAMPLES)
        stage.module(AUDITS, "mine_too")
        stage.data = {L2: {}}
        yield stage


def analysis_of(stage, dataset=L2):
    return json.loads((stage.folder() / f"m_{dataset}_analysis.json").read_bytes())


def report_of(stage):
    """All that the report's data files say, as one text."""
    return "\n".join(
        path.read_text("utf-8") for path in sorted(stage.folder().rglob("*.js")) if path.is_file()
    )


def test_an_audit_is_told_wherever_the_programs_own_are(staged, capsys):
    staged.data[L2]["audits"] = ["mine_too.long_replies", "mine_too.silent", "mine_too.clear"]
    run = staged.run()
    assert run.code == 0
    assert LONG in run.output
    analysis = analysis_of(staged)
    section = analysis["mine_too.long_replies"]
    assert (section["rows"], section["at"]) == ([{"name": "long", "count": 12}], {"long": "0-11"})
    assert "mine_too.silent" not in analysis
    assert [name for name in analysis if name.endswith("audit") or "." in name] == [
        "coordinate_audit",
        "mine_too.long_replies",
        "mine_too.clear",
    ]
    report = report_of(staged)
    assert "12 of 12 replies of m to GUIElementGrounding are long" in report
    assert "all is well" in report
    staged.model["n"] = staged.model["m"]
    staged.run("--model", "n")
    folders = [str(staged.folder(name)) for name in "mn"]
    assert compare([*folders, "--output", str(staged.home / "compared")]) == 0
    assert "of m to GUIElementGrounding are long" in capsys.readouterr().out


def test_notes_stand_beside_the_tick_of_an_audit(staged):
    staged.module(
        "from utils.findings import note\n"
        "def few(columns, settings):\n"
        "    rows = [{'name': 'all', 'count': len(columns)}]\n"
        "    return {'title': 'Few', 'rows': rows, 'findings': [note('few', 'only two topics')]}\n",
        "mine_few",
    )
    staged.data[L2]["audits"] = ["mine_few.few"]
    assert staged.run().code == 0
    report = report_of(staged)
    assert "only two topics" in report and "nothing odd was found" not in report


def test_a_section_without_findings_is_a_table_and_no_check(staged):
    staged.data[L2]["audits"] = ["mine_too.only_a_table"]
    assert "Extra" not in staged.run().output
    assert analysis_of(staged)["mine_too.only_a_table"]["notes"] == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("broken", "mine_too.broken raised KeyError: 'nothing' (mine_too.py, line 22)"),
        ("ends", "mine_too.ends raised SystemExit: 1"),
        ("wrong", "mine_too.wrong returned findings that are not a list of utils.findings.Finding"),
        ("not_json", "mine_too.not_json returned what JSON cannot hold"),
        ("a_text", "mine_too.a_text returned str; expected a section (a dict) or None"),
        ("typo", "returned the unknown key 'row'; did you mean \"rows\"?"),
        ("no_spans", "returned an `at` that is not a dict of texts made by columns.spans"),
        ("elsewhere", "returned a finding whose row 'short' is not in `at`"),
        (
            "unlinked",
            "returned samples in `at` for 'lomg', which is no row; did you mean \"long\"?",
        ),
    ],
)
def test_an_audit_that_fails_costs_no_score(staged, name, expected):
    staged.run()
    score = staged.scores(L2)
    staged.data[L2]["audits"] = [f"mine_too.{name}", "mine_too.long_replies"]
    run = staged.run("--mode", "eval")
    assert run.code == 0
    assert run.output.count(expected) == 1
    assert LONG in run.output  # the next one runs all the same
    assert staged.scores(L2) == score
    checks = {check["title"]: check for check in checks_of(L2, "L2", analysis_of(staged))}
    failed = checks[f"mine_too.{name}"]
    assert failed["is_undecided"] and failed["clear"].removeprefix("it ") in run.output


def test_what_an_audit_does_to_its_columns_changes_no_figure(staged):
    staged.run()
    before = analysis_of(staged)
    staged.data[L2] |= {"audits": ["mine_too.scribbles"]}
    staged.run("--mode", "eval")
    assert analysis_of(staged) == before


@pytest.mark.parametrize(
    ("audits", "expected"),
    [
        (["mine_too.nothing"], 'data.GUIElementGrounding.audits[0]: mine_too has no "nothing"'),
        (["nowhere.x"], "data.GUIElementGrounding.audits[0]: "),
        (["mine_too.silent", "mine_too.limit"], "data.GUIElementGrounding.audits[1]: "),
        (
            ["mine_too.one_argument"],
            "mine_too.one_argument is called as f(columns, settings) but is defined as (columns)",
        ),
        (["long"], '"long" is not a dotted path of module and name'),
        ("mine_too.silent", 'audits: must be a list of dotted paths: ["my_module.my_audit"]'),
        ([7], "audits: must be a list of dotted paths"),
        ([""], "audits: must be a list of dotted paths"),
    ],
)
@pytest.mark.parametrize("arguments", [["--check"], []])
def test_an_audit_that_cannot_be_called_is_named_before_the_first_request(
    staged, audits, expected, arguments
):
    staged.data[L2]["audits"] = audits
    run = staged.run(*arguments)
    assert (run.code, run.requests) == (2, [])
    assert run.output.count(expected) == 1


def test_an_audit_of_the_benchmark_runs_once_however_often_it_is_named(staged):
    staged.run()
    before = analysis_of(staged)
    staged.data[L2]["audits"] = ["utils.analysis.anatomy.anatomy"] * 2
    staged.run("--mode", "eval")
    assert analysis_of(staged) == before


def test_an_audit_of_another_benchmark_says_that_it_has_nothing_to_look_at(staged):
    staged.data = {L1: {"audits": ["utils.analysis.anatomy.anatomy"]}}
    assert staged.run().code == 0
    assert analysis_of(staged, L1)["anatomy"]["notes"][0] == "No replies to look at."


def test_the_example_runs_from_a_folder_of_the_users(staged):
    shutil.copy(PROJECT / "examples/repeated_replies.py", staged.code / "own_audit.py")
    staged.data[L2]["audits"] = ["own_audit.repeated_replies"]
    run = staged.run("--no-report")
    assert "repeated replies: 12 of 12 replies of m are '(0.2, 0.15)'" in run.output
    section = analysis_of(staged)["own_audit.repeated_replies"]
    assert section["rows"][0]["share"] == 100


BENCHMARK = """
from benchmarks.grounding import GroundingBenchmark, Layout, box_target

class Screens(GroundingBenchmark):
    folder = "my-screens"
    layout = Layout(groupings={"app": ("mail",)}, columns="app", rows=None)
    audits = (*GroundingBenchmark.audits, "mine_too.NAME")

    def read_rows(self):
        yield {"id": 1, "image_path": "a.png", "instruction": "x", "app": "mail",
               "target": box_target([0, 0, 9, 9], "xyxy")[0]}
"""


def test_a_benchmark_of_the_users_brings_its_audits(staged):
    images = staged.root / "my-screens/images"
    images.mkdir(parents=True)
    shutil.copy(staged.picture(0), images / "a.png")
    staged.data = {"Mine": {"benchmark": "screens.Screens"}}
    staged.module(BENCHMARK.replace("NAME", "clear"), "screens")
    assert staged.run().code == 0
    assert "mine_too.clear" in analysis_of(staged, "Mine")
    staged.module(BENCHMARK.replace("NAME", "one_argument"), "screens2")
    staged.data = {"Mine": {"benchmark": "screens2.Screens"}}
    run = staged.run("--check")
    assert run.code == 2
    assert "screens2.Screens: audits: mine_too.one_argument is called as" in run.output

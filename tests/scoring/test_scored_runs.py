"""Which answers a score is made of: stopped, limited and narrower runs, copies, clocks."""

import json
import math
import re
import shutil
from types import SimpleNamespace

import pytest

from tests.support.mock_server import Reply
from tests.support.runs import api_model, make_data
from tests.support.stage import L1, L2, read_log_lines, right_answers, told
from utils.pages.data_files import value_of
from utils.store.derived import scored_files
from utils.store.log import RunLog, read_records


@pytest.fixture
def answers():
    """What the server does: it denies everything after so many requests; texts may get no answer."""
    return SimpleNamespace(denies_after=math.inf, broken=[])


@pytest.fixture
def stage(staged, answers):
    def answer(request):
        answers.denies_after -= 1
        if answers.denies_after < 0:
            return Reply(status=401, body=b'{"error": {"message": "no"}}')
        if any(text in request.text for text in answers.broken):
            return Reply(status=500, body=b"{}")
        return right_answers(request)

    new_stage = staged(answer=answer)
    new_stage.data = {L1: {"mode": "all"}}
    return new_stage


ONE_BY_ONE = ("--api-nproc", "1", "--retry", "0", "--no-report")
EVAL = ("--mode", "eval", "--no-report")
FROM_BEFORE = "answers are from earlier runs in this log, with the same requests"


def test_a_stopped_run_is_scored_with_the_answers_from_before_it(stage, answers):
    answers.broken = ["Question 0 easy"]
    stage.run(*ONE_BY_ONE)
    before = stage.scores(L1)
    answers.denies_after = 0
    stopped = stage.run(*ONE_BY_ONE)
    assert "kept: the same command continues from here; --mode eval scores them" in stopped.output
    ran = stage.run(*EVAL)
    assert (ran.code, told(ran.output, "have a reply")) == (1, [8]), ran.output
    assert (stage.scores(L1), ran.output.count(f"9 of 9 {FROM_BEFORE}")) == (before, 1)
    assert coverage(stage)["from_other_runs"] == 9
    assert "queried yet" not in ran.output


@pytest.mark.parametrize(
    ("stops", "expected"),
    [
        ([2], "7 samples of this run have not been queried yet"),
        ([1, 0], "nothing to score: the newest run has no answer yet"),
    ],
)
def test_a_stopped_fresh_run_is_scored_without_the_answers_from_before_it(
    stage, answers, stops, expected
):
    stage.run(*ONE_BY_ONE)
    before = stage.scores(L1)
    for answers.denies_after in stops:
        stopped = stage.run(*ONE_BY_ONE, "--fresh")
        assert "kept: the same command without --fresh continues from here" in stopped.output
    ran = stage.run(*EVAL)
    assert ran.code == 1 and expected in ran.output, ran.output
    assert FROM_BEFORE not in ran.output
    assert stage.scores(L1) == before  # the files of the whole run stay


MOODY = """
import os
from models.base import default_api_preprocess_function as chat
def pre(message, model, processor, **kwargs):
    if os.environ.get("MOOD"):
        raise KeyError("mood")
    return chat(message, model, processor, **kwargs)
"""


def test_a_run_that_a_users_function_has_stopped_is_no_finished_one(staged):
    stage = staged(pictures=4, preprocess_function="mymodel.pre")
    stage.data = {L1: {"mode": "all"}}
    stage.module(MOODY)
    assert stage.run(*ONE_BY_ONE).code == 0
    arguments, env = (*ONE_BY_ONE, "--fresh"), {"MOOD": "bad"}
    stopped = stage.evaluate(stage.model, *arguments, data=stage.data, env=env)
    scored = stage.run(*EVAL)
    failed = told(scored.output, "failed")[0]
    assert (stopped.code, 10 <= failed < 12) == (1, True)
    assert f"{12 - failed} samples of this run have not been queried yet" in scored.output


def coverage(stage):
    [analysis] = stage.folder().glob("*_analysis.json")
    return json.loads(analysis.read_text())["coverage"]


def test_answers_to_other_requests_are_not_mixed_in(stage, answers):
    stage.run(*ONE_BY_ONE)
    first, before = stage.folder(), stage.scores(L1)
    stage.model["m"]["kwargs"] = {"system_prompt": "Changed."}
    scored = []
    for answers.denies_after in (0, 2):
        stage.run(*ONE_BY_ONE)
        scored.append(stage.run(*EVAL))
    none, some = scored
    assert (none.code, some.code, told(some.output, "have a reply")) == (1, 1, [2]), some.output
    assert "nothing to score: the newest run has no answer yet" in none.output
    assert "accuracy in %" not in none.output and "(partial)" in some.output
    assert json.loads((first / f"m_{L1}_scores.json").read_text()) == before


def test_a_limit_counts_covered_samples_not_answers(stage):
    stage.run("--no-report")
    lines = stage.log(L1).read_bytes().splitlines(keepends=True)
    keys = json.loads(lines[0])["samples"]
    gone = [key.encode() for key in (keys[1], keys[3])]
    kept_lines = [
        lines[0],
        *(log_line for log_line in lines[1:] if not any(key in log_line for key in gone)),
    ]
    stage.log(L1).write_bytes(b"".join(kept_lines))
    ran = stage.run(*EVAL, "--limit", "4")
    assert (ran.code, [row["index"] for row in stage.sheet(L1, "_partial")]) == (1, [5, 8])
    assert "2 samples of this run have not been queried yet; the same command without" in ran.output


def test_a_trial_is_the_newest_log_and_the_whole_run_is_named_beside_it(stage):
    stage.run("--no-report")
    whole_folder, before = stage.folder(), stage.scores(L1)
    stage.run("--limit", "3", "--fresh", "--no-report")
    trial = stage.folder()
    as_many, fewer = (stage.run(*EVAL, "--limit", n) for n in ("3", "2"))
    all_of_it, more = stage.run(*EVAL), stage.run(*EVAL, "--limit", "5")
    back = stage.run("--no-report")
    assert [told(result.output, "have a reply") for result in (as_many, fewer)] == [[3], [2]]
    assert (as_many.code, fewer.code, "all of it" in as_many.output) == (0, 0, False)
    expected_text = (
        f"in {trial.name}, has only some of the samples. The log in {whole_folder.name} has all"
    )
    for ran in (all_of_it, more):
        assert (ran.code, told(ran.output, "have a reply")) == (1, [3]), ran.output
        assert expected_text in ran.output
    assert "the log has only 3 samples" in more.output
    assert (back.code, back.requests, stage.run(*EVAL).code) == (0, [], 0)
    assert json.loads((whole_folder / f"m_{L1}_scores.json").read_text()) == before


@pytest.mark.parametrize("arguments", [EVAL, ["--no-report"]], ids=["eval", "all"])
def test_one_mode_of_a_log_of_all_leaves_the_full_files_alone(stage, arguments):
    stage.data = {L2: {"mode": "all"}}
    stage.run("--no-report")
    before = stage.scores(L2)
    stage.data = {L2: {"mode": "basic"}}
    ran = stage.run(*arguments)
    assert (ran.code, "basic only (partial)" in ran.output) == (0, True), ran.output
    assert stage.scores(L2) == before
    head = read_log_lines(stage.folder() / f"m_{L2}_samples_partial.jsonl")[0]
    assert (head["mode"], head["partial"]) == ("basic", True)
    assert not scored_files(stage.folder())[L2].is_partial
    stage.data = {L2: {"mode": "all"}}
    assert (stage.run(*EVAL).code, stage.scores(L2)) == (0, before)


def test_a_mode_that_the_log_has_not_or_not_all_of_is_code_1(stage):
    def contents():  # the manifest says why there is no score
        files = (path for path in stage.folder().iterdir() if path.is_file())
        return {path.name: path.read_bytes() for path in files if path.name != "manifest.json"}

    stage.data[L1]["mode"] = "easy"
    stage.run("--no-report")
    before, stage.data[L1]["mode"] = contents(), "hard"
    none, after, stage.data[L1]["mode"] = stage.run("--mode", "eval"), contents(), "all"
    some = stage.run(*EVAL)
    assert (none.code, some.code, after == before) == (1, 1, True)
    nothing = "nothing to score: the log covers mode easy, the config wants mode hard"
    assert f'model "m", {L1}: {nothing}' in none.output
    assert "accuracy in %" not in none.output and "Report:" not in none.output
    assert f"{L1}: the log has only a part of the data set (mode easy)" in some.output


def test_bad_samples_stay_in_sight_and_rescoring_them_is_code_1_too(stage):
    [picture] = stage.annotations.rglob("pic1.png")
    picture.unlink()
    left_out = "3 samples left out because of bad data"
    line = f"{L1}: {left_out}: they were not queried and are not in the score; the log names them"
    for ran in (stage.run(), stage.run("--mode", "eval")):
        assert (ran.code, ran.output.count(line)) == (1, 1)
    assert coverage(stage)["left_out"] == 3
    assert left_out in (stage.folder() / "report" / "data" / "summary_0.js").read_text()


def test_after_a_failed_scoring_no_earlier_report_passes_for_this_ones(stage):
    make_data(stage.root, [("os_web", (40, 30))] * 6)  # ten failures in a row need ten samples
    stage.data = {L1: {"mode": "all"}, L2: {"mode": "all"}}
    stage.run("--api-nproc", "1")
    page = stage.folder() / "report" / "index.html"
    before = page.stat().st_mtime_ns
    stage.module("def parse(response): return 'no point'", "mine")
    stage.data[L2]["parse_function"] = "mine.parse"
    rescored = stage.run("--mode", "eval", "--data", L2)
    assert (rescored.code, "Report:" in rescored.output) == (1, False), rescored.output
    summary = (page.parent / "data" / "summary_0.js").read_text("ascii")
    [stopped] = value_of(summary)["stopped"]
    assert re.fullmatch(
        f"L2 {L2}: stopped: .*mine.parse failed 10 times in a row.*; "
        "the figures are from an earlier scoring",
        stopped,
    )
    alone, both_runs = stage.run("--data", L2), stage.run()
    assert (alone.code, "Report:" in alone.output) == (1, False), alone.output
    assert f"{L2}: not scored; its files are from an earlier scoring" in alone.output
    assert "Report:" in both_runs.output
    assert f"shows an earlier scoring of {L2}, which was not scored this time" in both_runs.output
    assert page.stat().st_mtime_ns > before


def test_a_score_by_another_parse_function_says_which_one_it_replaces(stage):
    stage.data = {L2: {"mode": "all"}}
    assert "these scores replace" not in stage.run("--no-report").output
    stage.data[L2]["parse_function"] = "utils.coordinates.parse_pixels"
    again = stage.run("--no-report")
    assert again.requests == []
    assert (
        f"{L2}: these scores replace those by the default parser; the parse function is "
        "utils.coordinates.parse_pixels now" in again.stdout
    )
    assert "these scores replace" not in stage.run("--mode", "eval", "--no-report").output


def test_copies_in_a_folder_that_sorts_behind_do_not_make_the_log_grow(stage):
    stage.run("--no-report")
    own_folder = stage.folder()
    shutil.copytree(own_folder, own_folder.with_name("T99990101_Gffffffff"))
    for _ in range(2):
        stage.run("--no-report")
    logs = (stage.work_dir / "m").glob(f"T*/m_{L1}.jsonl")
    assert [[r["kind"] for r in read_log_lines(log)].count("answer") for log in logs] == [9, 9]


def set_ahead(stage):
    """As if the clock had been years ahead when this log was written."""
    log = stage.log(L1)
    records = [record for _, record in read_records(log)]
    log.unlink()
    ahead = RunLog(log)
    for record in records:
        for name in {"started_at", "asked_at", "ended_at"} & record.keys():
            record[name] = record[name].replace("20", "21", 1)
        ahead.append(record)
    ahead.close()


def test_a_clock_that_was_ahead_gives_no_answer_precedence(stage, answers):
    answers.broken = ["Question"]
    stage.run(*ONE_BY_ONE)
    set_ahead(stage)
    answers.broken = []
    fresh, scored = stage.run(*ONE_BY_ONE, "--fresh"), stage.run(*EVAL)
    elsewhere = stage.run("--limit", "3", "--no-report")
    assert [told(result.output, "have a reply") for result in (fresh, scored, elsewhere)] == [
        [9],
        [9],
        [3],
    ]
    assert elsewhere.requests == []


def test_the_last_line_names_the_models_that_failed_if_there_are_any(stage):
    stage.model["n"] = stage.model["m"]
    well = stage.run("--no-report")
    stage.model["gone"] = api_model("http://127.0.0.1:9/v1")
    ran = stage.run(*ONE_BY_ONE)
    assert (ran.code, "models failed" in well.output) == (1, False)
    assert {"1 problem.", "1 of 3 models failed: gone"} <= set(ran.output.splitlines())
    del stage.model["n"]
    both_runs = stage.run(*ONE_BY_ONE)  # one is left, and nothing to compare
    assert "1 of 2 models failed: gone" in both_runs.stderr
    index = stage.work_dir / "index.html"
    assert both_runs.stdout.splitlines()[-1] == f"All runs: {index.as_uri()}" and index.exists()


def test_the_summary_says_what_this_command_does_with_failed_samples(stage, answers):
    answers.broken = ["Question 0 easy"]
    stage.run(*ONE_BY_ONE)
    for options, fate in (
        ([], "queried again by the same command"),
        (["--ignore"], "left as they are (--ignore)"),
        (["--mode", "eval"], "queried again without --mode eval"),
    ):
        ran = stage.run(*ONE_BY_ONE, *options)
        assert ran.code == 1
        assert f"1 (11.1 %) failed: counted as wrong, {fate}" in ran.output

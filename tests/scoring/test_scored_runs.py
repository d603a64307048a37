"""Which answers a score is made of: stopped, limited and narrower runs that share a log."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.support.bench import L1, L2, Bench, read_log_lines, told
from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model, make_data
from utils.runs.finished import scored_files
from utils.runs.log import AnswerIndex
from utils.runs.view import LogView

DENIED = Reply(status=401, body=b'{"error": {"message": "no"}}')


class Server:
    """Answers right, until it denies everything; some texts never get an answer."""

    def __init__(self):
        self.denies_after = None  # that many requests
        self.broken = []

    def __call__(self, request):
        if self.denies_after is not None:
            self.denies_after -= 1
            if self.denies_after < 0:
                return DENIED
        if any(text in request.text for text in self.broken):
            return Reply(status=500, body=b"{}")
        return Reply("B" if "Question" in request.text else "(0.2, 0.15)")


@pytest.fixture
def answers():
    return Server()


@pytest.fixture
def bench(tmp_path, answers):
    make_data(tmp_path / "data")
    (tmp_path / "code").mkdir()
    with MockServer(answers) as server:
        data = {L1: {"mode": "all"}}
        bench = Bench(tmp_path, server, {"m": api_model(server.url)}, data)
        yield bench


ONE_BY_ONE = ("--api-nproc", "1", "--retry", "0", "--no-report")


def asks_anew(bench):
    """The same requests with `--fresh`."""
    return ["--fresh"]


def asks_with_another_system_prompt(bench):
    bench.model["m"]["kwargs"] = {"system_prompt": "Changed."}
    return []


def asks_with_another_prompt_function(bench):
    file = bench.code / "mine.py"
    file.write_text(file.read_text().replace("Question", "Another Question"))
    shutil.rmtree(bench.code / "__pycache__", ignore_errors=True)
    return []


# ---- a second run that was stopped ---------------------------------------------------------------


def test_a_run_stopped_at_once_costs_no_stored_answer(bench, answers):
    answers.broken = ["Question 0 easy"]
    assert bench.run(*ONE_BY_ONE).code == 1
    before = bench.scores(L1)
    answers.denies_after = 0
    stopped = bench.run(*ONE_BY_ONE)
    assert "--mode eval scores them" in stopped.output
    ran = bench.run("--mode", "eval")

    assert told(ran.output, "answered") == [8], ran.output
    assert ran.output.count("the newest run was stopped before it came to these samples") == 1
    assert bench.scores(L1) == before
    assert "asked yet" not in ran.output


def test_a_stopped_run_keeps_its_own_answers_and_borrows_the_rest(bench, answers):
    bench.run(*ONE_BY_ONE)
    answers.denies_after = 2
    bench.run(*ONE_BY_ONE, "--fresh")
    ran = bench.run("--mode", "eval", "--no-report")

    assert (ran.code, told(ran.output, "answered")) == (0, [9])
    assert (
        "7 of 9 answers are those of other runs in this log, with the same settings" in ran.output
    )
    [section] = [json.loads(path.read_text())["coverage"]
                 for path in bench.folder().glob("*_analysis.json")]  # fmt: skip
    assert section["from_other_runs"] == 7
    own = [record["asked_at"] for record in bench.answers(L1)[9:]]
    view = LogView(bench.log(L1), "all")
    assert [record["asked_at"] for record in view.records()][:2] == own
    assert len(view.carried) == 7
    view.close()


def test_a_chain_of_stopped_runs_still_has_the_first_ones_answers(bench, answers):
    bench.run(*ONE_BY_ONE)
    before = bench.scores(L1)
    answers.denies_after = 1
    bench.run(*ONE_BY_ONE, "--fresh")
    answers.denies_after = 0
    bench.run(*ONE_BY_ONE, "--fresh")
    ran = bench.run("--mode", "eval", "--no-report")

    assert (ran.code, told(ran.output, "answered"), bench.scores(L1)) == (0, [9], before)


def test_with_other_settings_and_no_answer_there_is_nothing_to_score(bench, answers):
    bench.run(*ONE_BY_ONE)
    before = bench.scores(L1)
    asks_with_another_system_prompt(bench)
    answers.denies_after = 0
    bench.run(*ONE_BY_ONE)
    ran = bench.run("--mode", "eval")

    assert ran.code == 1
    assert "9 samples answered by runs that asked otherwise (kwargs)" in ran.output
    assert "accuracy in %" not in ran.output
    assert bench.scores(L1) == before


@pytest.mark.parametrize("change", [asks_with_another_system_prompt,
                                    asks_with_another_prompt_function])  # fmt: skip
def test_answers_to_other_requests_are_not_mixed_in(bench, answers, change):
    (bench.code / "mine.py").write_text(
        "def ask(line, dataset):\n"
        "    return [{'role': 'user', 'type': 'text', 'value': 'Question: ' + line['question']}]\n"
    )
    if change is asks_with_another_prompt_function:
        bench.model["m"]["custom_prompt"] = {L1: "mine.ask"}
    bench.run(*ONE_BY_ONE)
    before = bench.scores(L1)
    change(bench)
    answers.denies_after = 2
    bench.run(*ONE_BY_ONE)
    ran = bench.run("--mode", "eval", "--no-report")

    assert (ran.code, told(ran.output, "answered")) == (1, [2]), ran.output
    assert "7 samples answered by runs that asked otherwise" in ran.output
    assert "they are not mixed in" in ran.output
    assert bench.scores(L1) == before


def test_a_change_taken_back_finds_the_answers_from_before_it(bench, answers):
    bench.run(*ONE_BY_ONE)
    before = bench.scores(L1)
    model = json.loads(json.dumps(bench.model))
    asks_with_another_system_prompt(bench)
    bench.run(*ONE_BY_ONE)
    bench.model = model
    answers.denies_after = 0
    bench.run(*ONE_BY_ONE, "--fresh")
    ran = bench.run("--mode", "eval", "--no-report")

    assert (told(ran.output, "answered"), bench.scores(L1)) == ([9], before)


# ---- limits --------------------------------------------------------------------------------------


def test_after_a_limited_run_the_full_one_is_scored(bench, answers):
    bench.run("--no-report")
    before = bench.scores(L1)
    answers.broken = ["Question 0"]
    bench.run("--limit", "3", "--fresh", "--retry", "0", "--no-report")
    ran = bench.run("--mode", "eval", "--no-report")

    assert (ran.code, told(ran.output, "answered")) == (0, [9]), ran.output
    assert "(partial)" not in ran.output
    assert bench.scores(L1) == before


def test_with_a_limit_the_newest_run_of_so_many_is_scored(bench, answers):
    bench.run("--no-report")
    answers.broken = ["Question 0 easy"]
    bench.run("--limit", "3", "--fresh", "--retry", "0", "--no-report")
    as_many = bench.run("--mode", "eval", "--limit", "3", "--no-report")
    more = bench.run("--mode", "eval", "--limit", "4", "--no-report")

    assert (told(as_many.output, "answered"), told(more.output, "answered")) == ([2], [4])


def test_a_limit_counts_covered_samples_not_answers(bench):
    bench.run("--no-report")
    lines = bench.log(L1).read_bytes().splitlines(keepends=True)
    keys = json.loads(lines[0])["samples"]
    gone = [key.encode() for key in (keys[1], keys[3])]
    kept = [lines[0], *(each for each in lines[1:] if not any(key in each for key in gone))]
    bench.log(L1).write_bytes(b"".join(kept))
    ran = bench.run("--mode", "eval", "--limit", "4", "--no-report")

    rows = bench.sheet(L1, "_partial")
    assert (ran.code, [row["index"] for row in rows]) == (1, [0, 2])
    assert "2 samples of this run have not been asked yet" in ran.output


def test_more_than_a_limited_run_covers_is_told_and_code_1(bench):
    bench.run("--limit", "3", "--no-report")
    as_it_is = bench.run("--mode", "eval", "--no-report")
    ran = bench.run("--mode", "eval", "--limit", "5", "--no-report")

    assert (as_it_is.code, ran.code) == (0, 1)
    assert "the log covers the first 3 samples only" in ran.output


# ---- modes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [["--mode", "eval"], []])
def test_one_mode_of_a_log_of_all_leaves_the_full_files_alone(bench, arguments):
    bench.data = {L2: {"mode": "all"}}
    bench.run("--no-report")
    before = bench.scores(L2)
    bench.data = {L2: {"mode": "basic"}}
    ran = bench.run("--no-report", *arguments)

    assert (ran.code, "basic only (partial)" in ran.output) == (0, True), ran.output
    assert bench.scores(L2) == before
    part = bench.folder() / f"m_{L2}_samples_partial.jsonl"
    head = read_log_lines(part)[0]
    assert (head["mode"], head["partial"]) == ("basic", True)
    assert not scored_files(bench.folder())[L2].is_partial

    bench.data = {L2: {"mode": "all"}}
    again = bench.run("--mode", "eval", "--no-report")
    assert (again.code, bench.scores(L2)) == (0, before)


def test_one_mode_alone_has_the_names_that_researchers_know(bench):
    bench.data = {L2: {"mode": "basic"}}
    ran = bench.run("--no-report")

    assert (ran.code, "(partial)" in ran.output) == (0, False)
    assert list(json.loads(bench.scores(L2)))[-1] == "basic"
    files = scored_files(bench.folder())[L2]
    assert (files.is_partial, read_log_lines(files.samples)[0]["mode"]) == (False, "basic")


def test_a_mode_that_the_log_has_nothing_of_is_code_1_and_writes_nothing(bench):
    bench.data = {L1: {"mode": "easy"}}
    bench.run("--no-report")
    before = {path.name: path.read_bytes() for path in bench.folder().iterdir() if path.is_file()}
    bench.data = {L1: {"mode": "hard"}}
    ran = bench.run("--mode", "eval")

    assert ran.code == 1
    assert f'model "m", {L1}: nothing to score: the log covers mode easy, the config wants mode hard' \
        in ran.output  # fmt: skip
    assert "accuracy in %" not in ran.output and "Report:" not in ran.output
    assert {p.name: p.read_bytes() for p in bench.folder().iterdir() if p.is_file()} == before


def test_less_than_the_mode_that_is_asked_for_is_told_and_code_1(bench):
    bench.data = {L1: {"mode": "easy"}}
    bench.run("--no-report")
    bench.data = {L1: {"mode": "all"}}
    ran = bench.run("--mode", "eval", "--no-report")

    assert ran.code == 1
    assert f"{L1}: the log covers mode easy alone, not all of mode all" in ran.output


# ---- bad samples ---------------------------------------------------------------------------------


def test_bad_samples_stay_in_sight_and_rescoring_them_is_code_1_too(bench):
    [picture] = bench.annotations.rglob("pic1.png")
    picture.unlink()
    ran = bench.run()
    again = bench.run("--mode", "eval")

    line = f"{L1}: 3 samples left out, bad data: not asked and not in the score; the log names them"
    assert (ran.code, again.code) == (1, 1)
    assert (ran.output.count(line), again.output.count(line)) == (1, 1)
    analysis = json.loads((bench.folder() / f"m_{L1}_analysis.json").read_text())
    assert analysis["coverage"]["left_out"] == 3
    shown = (bench.folder() / "report" / "data" / "summary_0.js").read_text()
    assert "3 samples left out, bad data" in shown


# ---- a failed scoring ----------------------------------------------------------------------------


def test_after_a_failed_scoring_no_earlier_report_passes_for_this_ones(bench):
    bench.data = {L1: {"mode": "all"}, L2: {"mode": "all"}}
    bench.run("--api-nproc", "1")
    page = bench.folder() / "report" / "index.html"
    before = page.stat().st_mtime_ns
    (bench.code / "mine.py").write_text("def parse(response):\n    raise ValueError('no')\n")
    bench.data[L2]["parse_function"] = "mine.parse"
    make_data(bench.root, [("os_web", (40, 30))] * 6)  # ten failures in a row need ten samples
    code, alone = finished(bench.start("--data", L2))
    _, both = finished(bench.start())

    assert (code, "Report:" in alone) == (1, False), alone
    assert f"{L2}: not scored; its files are those of an earlier scoring" in alone
    assert "Report:" in both
    assert f"It shows an earlier scoring of {L2}, not scored now" in both
    assert page.stat().st_mtime_ns > before


def finished(process):
    """(exit code, everything printed), a traceback of the user's own function included."""
    stdout, stderr = process.communicate(timeout=120)
    return process.returncode, stdout + stderr


# ---- copies in other folders ---------------------------------------------------------------------


def test_copies_in_a_folder_that_sorts_behind_do_not_make_the_log_grow(bench):
    bench.run("--no-report")
    own = bench.folder()
    shutil.copytree(own, own.with_name("T99990101_Gffffffff"))
    bench.run("--no-report")
    log = own / f"m_{L1}.jsonl"
    answers_before = [r for r in read_log_lines(log) if r["kind"] == "answer"]
    bench.run("--no-report")

    assert len(answers_before) == 9
    assert [r for r in read_log_lines(log) if r["kind"] == "answer"] == answers_before


@pytest.mark.parametrize("own", ["a", "b"])
def test_of_copies_the_one_in_the_log_that_is_written_counts(tmp_path, own):
    record = {"kind": "answer", "key": "k", "trial": 0, "fingerprint": "f", "status": "ok",
              "asked_at": "2026-01-01T00:00:00"}  # fmt: skip
    for name in "ab":
        (tmp_path / name).write_text(json.dumps(record) + "\n")

    index = AnswerIndex.of_logs([tmp_path / "a", tmp_path / "b"], own=tmp_path / own)

    assert index.find("k", 0, "f").path == tmp_path / own


# ---- several models ------------------------------------------------------------------------------


def test_the_last_line_names_the_models_that_failed(bench, answers):
    bench.model["gone"] = api_model("http://127.0.0.1:9/v1")
    bench.model["n"] = bench.model["m"]
    ran = bench.run(*ONE_BY_ONE)

    assert ran.code == 1
    assert "1 of 3 models failed: gone" in ran.output.splitlines()


def test_models_that_all_went_well_need_no_line(bench):
    bench.model["n"] = bench.model["m"]

    assert "models failed" not in bench.run("--no-report").output


# ---- what becomes of failed samples --------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "fate"),
    [
        ([], "asked again by the same command"),
        (["--ignore"], "left as they are (--ignore)"),
        (["--mode", "eval"], "asked again without --mode eval"),
    ],
)
def test_the_summary_says_what_this_command_does_with_failed_samples(bench, answers, options, fate):
    answers.broken = ["Question 0 easy"]
    bench.run(*ONE_BY_ONE)
    ran = bench.run(*ONE_BY_ONE, *options)

    assert ran.code == 1
    assert f"1 (11.1 %) failed: wrong in the score, {fate}" in ran.output


# ---- a trial on another day ----------------------------------------------------------------------


@pytest.fixture
def tried_next_day(bench):
    """All samples in an older folder, two of them in a newer one."""
    bench.run(*ONE_BY_ONE)
    old = bench.folder()
    old = old.rename(old.with_name("T20200101_Gdeadbeef"))
    bench.run(*ONE_BY_ONE, "--limit", "2", "--fresh")
    return bench, old


def test_a_trial_on_another_day_is_scored_and_the_whole_run_named(tried_next_day):
    bench, old = tried_next_day
    new = bench.folder()
    assert new != old

    ran = bench.run("--mode", "eval", "--no-report")

    assert (ran.code, told(ran.output, "answered")) == (1, [2]), ran.output
    assert f"in {new.name}, holds a part of what is asked for, and {old.name} all" in ran.output


def test_the_whole_run_is_taken_over_by_the_command_that_is_named(tried_next_day):
    bench, old = tried_next_day
    before = (old / f"m_{L1}_scores.json").read_bytes()

    ran = bench.run("--no-report")

    assert (ran.code, ran.asked[L1], bench.scores(L1)) == (0, 0, before), ran.output


def test_as_many_samples_as_the_trial_had_are_those_of_the_trial(tried_next_day):
    bench, old = tried_next_day

    ran = bench.run("--mode", "eval", "--no-report", "--limit", "2")

    assert (ran.code, told(ran.output, "answered")) == (0, [2]), ran.output
    assert old.name not in ran.output

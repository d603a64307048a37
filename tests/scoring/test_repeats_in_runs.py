"""`repeats: k`: each question is asked k times, and each answer is kept, resumed and scored."""

import json
import re
import signal
from collections import Counter
from concurrent.futures import Future

import pytest

from tests.support.grounding_replay import PARSE_PLAIN, Replay
from tests.support.grounding_replay import run as run_replay
from tests.support.mock_server import Reply
from tests.support.runs import api_model
from tests.support.stage import L1, L2, answer_records, dataset_of, end_of
from utils.comparing.pairing import compare
from utils.comparing.runs import read_runs
from utils.comparing.words import as_text
from utils.contracts import question_of, repeat_of
from utils.pages.data_files import value_of
from utils.store.load import load_run

REPLIES = {L1: ("A", "B", "B", "no idea"), L2: ("(0.2, 0.15)", "(0.9, 0.9)", "(0.2, 0.15)")}
ONE_BY_ONE = ("--api-nproc", "1")  # so that the answer of a number is the reply of that number
QUESTIONS = {L1: 9, L2: 6}


class Varied:
    """Answers the n-th request of the same text with the n-th of some replies."""

    def __init__(self, replies=REPLIES):
        self.counts, self.replies = Counter(), replies

    def __call__(self, request):
        replies = self.replies[dataset_of(request)]
        reply = replies[self.counts[request.text] % len(replies)]
        self.counts[request.text] += 1
        return Reply(reply)


def asking(*counts):
    """The config's data with so many answers to L1 and L2."""
    return {
        dataset: {"mode": "all", **({"repeats": count} if count else {})}
        for dataset, count in zip((L1, L2), counts, strict=True)
        if count is not None
    }


@pytest.fixture
def repeated(staged):
    """A stage that asks each question of both levels three times; nothing has run yet."""
    stage = staged(answer=Varied())
    del stage.model["m"]["generate_cfg"]["temperature"]
    stage.data = asking(3, 3)
    return stage


def folder_with(stage, repeats):
    """The run folder whose log of L2 has so many answers to each question."""
    for log in stage.work_dir.glob(f"m/T*/m_{L2}.jsonl"):
        numbers = {repeat_of(record["key"]) for record in answer_records(log)}
        if not log.parent.is_symlink() and max(numbers) == repeats:
            return log.parent
    raise LookupError(repeats)


def samples_of(folder, dataset):
    lines = (folder / f"m_{dataset}_samples.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines[1:]]


# -- asking and reuse -----------------------------------------------------------------------------


def test_each_question_is_asked_three_times_under_keys_of_its_own(repeated):
    ran = repeated.run(*ONE_BY_ONE)
    assert (ran.code, ran.asked) == (0, {L1: 27, L2: 18}), ran.output
    assert "queried 27 (27 new), reused 0" in ran.output and "m: 45/45" in ran.output
    for dataset, count in QUESTIONS.items():
        keys = [record["key"] for record in answer_records(repeated.log(dataset))]
        assert [repeat_of(key) for key in keys] == [1, 2, 3] * count
        assert len({question_of(key) for key in keys}) == count
        records = answer_records(repeated.log(dataset))
        assert len({record["fingerprint"] for record in records}) == count
    again = repeated.run()
    assert (again.code, again.requests) == (0, [])


def test_the_stored_answers_of_one_are_the_first_of_three_and_the_other_way_round(repeated):
    repeated.data = asking(0, 0)
    once = repeated.run(*ONE_BY_ONE)
    plain = repeated.folder()
    files = {path.name: path.read_bytes() for path in plain.glob("m_*") if path.is_file()}
    repeated.data = asking(3, 3)
    thrice = repeated.run(*ONE_BY_ONE)
    assert (once.asked, thrice.asked) == ({L1: 9, L2: 6}, {L1: 18, L2: 12})
    assert f"({plain.name} holds a run with repeats 1)" in thrice.output
    assert repeated.folder() != plain
    for dataset in QUESTIONS:
        first = [facts for facts in samples_of(repeated.folder(), dataset) if facts["repeat"] == 1]
        assert [{**facts, "repeat": 1} for facts in samples_of(plain, dataset)] == first
    repeated.data = asking(2, 0)  # fewer of one, one of the other: all are there
    fewer = repeated.run()
    assert (fewer.code, fewer.requests) == (0, [])
    repeated.data = asking(0, 0)
    back = repeated.run()
    assert (back.code, back.requests) == (0, []) and str(plain) in back.output
    for name, content in files.items():
        if name.endswith((".json", "_samples.jsonl")):
            assert (plain / name).read_bytes() == content


def test_a_run_without_repeats_says_nothing_of_them_in_any_file(staged):
    stage = staged()
    stage.data = asking(0, 1)  # left out, and the default
    assert stage.run().code == 0
    paths = [path for path in stage.folder().rglob("*") if path.suffix in (".json", ".jsonl")]
    paths += (stage.folder() / "report" / "data").glob("*.js")
    assert len(paths) > 10
    for path in paths:
        assert b'"repeat' not in path.read_bytes(), path
    assert "repeat" not in stage.sheet(L2)[0] and "repeat" not in stage.sheet(L2, "_result")[0]


def test_prompts_are_made_once_for_a_question_and_in_file_order(repeated):
    repeated.module("""
        asked = []

        def prompt(line, dataset):
            asked.append(line["index"])
            text = f"Question {line['index']}, {len(asked)} made so far"
            return [{"role": "user", "type": "text", "value": text}]
    """)
    repeated.data = asking(3, None)
    repeated.model["m"]["custom_prompt"] = {L1: "mymodel.prompt"}
    repeated.server.answer = lambda request: Reply("B")
    texts = [request.text for request in repeated.run(*ONE_BY_ONE).requests]
    assert texts == [f"Question {n}, {n + 1} made so far" for n in range(9) for _ in range(3)]


def test_a_limit_counts_questions_and_each_comes_with_all_its_answers(repeated):
    ran = repeated.run("--limit", "2")
    assert (ran.code, ran.asked) == (0, {L1: 6, L2: 6}), ran.output
    assert "n = 6 (3 answers to each of 2 questions) (partial)" in ran.output
    more = repeated.run("--limit", "4")
    assert more.asked == {L1: 6, L2: 6}
    less = repeated.run("--limit", "3", "--mode", "eval")
    assert (less.code, less.requests) == (0, []) and "of 3 questions" in less.output
    manifest = json.loads((repeated.folder() / "manifest.json").read_text())
    assert (manifest["datasets"][L2]["samples"], manifest["datasets"][L2]["repeats"]) == (4, 3)


def test_the_check_counts_answers_and_makes_each_prompt_once(repeated):
    repeated.data = asking(0, 0)
    repeated.run()
    repeated.data = asking(3, 3)
    checked = repeated.run("--check")
    assert f"{L1}: 18 requests to send (18 new" in checked.output, checked.output
    assert "9 answers stored already" in checked.output
    assert checked.requests == []


def test_one_answer_that_failed_is_asked_again_alone(repeated):
    varied = repeated.server.answer

    def answer(request):
        is_second = varied.counts[request.text] == 1
        reply = varied(request)
        return Reply(status=400) if is_second and "basic target 1" in request.text else reply

    repeated.server.answer = answer
    ran = repeated.run(*ONE_BY_ONE, "--retry", "0")
    [failed] = [facts for facts in samples_of(repeated.folder(), L2) if facts["status"] != "ok"]
    assert (ran.code, failed["repeat"], failed["hit"]) == (1, 2, 0)
    again = repeated.run(*ONE_BY_ONE, "--retry-refused")
    assert (again.code, len(again.requests)) == (0, 1), again.output
    assert "basic target 1" in again.requests[0].text


def test_a_run_that_is_killed_goes_on_with_the_answers_that_are_missing(staged):
    victim = Future()

    def answer(request):
        if len(stage.server.requests) >= 20:
            victim.result().kill()
        return Reply("B" if dataset_of(request) == L1 else "(0.2, 0.15)")

    stage = staged(answer=answer)
    stage.data = asking(3, 3)
    victim.set_result(stage.start(*ONE_BY_ONE))
    code, _ = end_of(victim.result())
    stored_count = sum(len(answer_records(log)) for log in stage.work_dir.rglob("T*/*.jsonl"))
    stage.server.answer = lambda request: Reply("B" if dataset_of(request) == L1 else "(0, 0)")
    part = stage.run("--mode", "eval", "--data", L1)
    assert code == -signal.SIGKILL and stored_count % 3 != 0
    assert "of this run left out: some answers are still missing" in part.output
    assert part.code == 1 and f"n = {stored_count // 3 * 3} (3 answers to each of" in part.output
    ran = stage.run()
    assert (ran.code, len(ran.requests)) == (0, 45 - stored_count), ran.output
    assert len({record["key"] for record in answer_records(stage.log(L1))}) == 27
    assert len(list(stage.work_dir.glob("m/T*"))) == 1


# -- scores ---------------------------------------------------------------------------------------


def test_scores_are_the_means_of_the_single_runs(repeated):
    ran = repeated.run(*ONE_BY_ONE)
    l1, l2 = repeated.scores(L1), repeated.scores(L2)
    assert [run["overall"] for run in l1["repeats"]["single_runs"]] == [0, 100, 100]
    assert [run["average"] for run in l2["repeats"]["single_runs"]] == [100, 0, 100]
    assert l1["easy"]["level_score"] == pytest.approx(2 / 3)
    assert l2["Average accuracy"] == pytest.approx(200 / 3)
    block = l2["basic"]["os_web"]
    assert (block["Total num"], block["Correct num"], l1["total_sample_num"]) == (3, 2, 27)
    assert "single runs, average: 100.00, 0.00, 100.00 (standard deviation 57.74 points)" in (
        ran.output
    )
    cells = l2["repeats"]["figures"]["Overall"]
    figures = {name: cell["value"] for name, cell in cells.items() if isinstance(cell, dict)}
    assert figures == pytest.approx(
        {
            "pass@1": 200 / 3,
            "pass@2": 100,
            "pass@3": 100,
            "pass^2": 100 / 3,
            "pass^3": 0,
            "agreement": 100 / 3,
        },
        abs=1e-4,
    )
    analysis = json.loads((repeated.folder() / f"m_{L2}_analysis.json").read_text())
    assert analysis["table"]["rows"][-1]["cells"][-1]["value"] == l2["Average accuracy"]
    assert (l2["repeats"]["answers"], l2["repeats"]["questions"]) == (3, 6)


def test_every_answer_has_a_row_with_its_number(repeated):
    repeated.data = asking(2, 4)
    assert repeated.run(*ONE_BY_ONE).code == 0
    for dataset, count in ((L1, 2), (L2, 4)):
        numbers = list(range(1, count + 1)) * QUESTIONS[dataset]
        suffix = "_exact_matching_result" if dataset == L1 else "_result"
        for rows in (repeated.sheet(dataset), repeated.sheet(dataset, suffix)):
            assert [row["repeat"] for row in rows] == numbers
            assert list(rows[0])[-1] == "repeat"
        assert [facts["repeat"] for facts in samples_of(repeated.folder(), dataset)] == numbers
    frame = load_run(repeated.folder()).samples
    by_question = frame.groupby(["dataset", "question"])
    assert by_question["repeat"].apply(list).loc[L2].tolist() == [[1, 2, 3, 4]] * 6
    assert by_question["hit"].mean().loc[L1].tolist() == [0.5] * 9
    inferred = repeated.run("--mode", "infer")
    assert inferred.code == 0 and [row["repeat"] for row in repeated.sheet(L1)] == [1, 2] * 9


def test_scoring_alone_takes_what_the_log_has_and_says_so(repeated):
    repeated.data = asking(None, 3)
    repeated.run(*ONE_BY_ONE)
    scores = repeated.scores(L2)
    repeated.data = asking(None, 1)
    rescored = repeated.run("--mode", "eval")
    assert rescored.code == 0 and repeated.scores(L2) == scores
    assert (
        "the stored answers were made with other settings than this config has (repeats 3, not 1)"
        in (rescored.output)
    )
    repeated.data = asking(None, 5)
    short = repeated.run("--mode", "eval")
    assert (short.code, short.requests) == (1, []) and "(repeats 3, not 5)" in short.output


def test_the_report_shows_which_answer_a_sample_is(repeated):
    repeated.data = asking(0, 2)
    repeated.run(*ONE_BY_ONE)
    data = repeated.folder() / "report" / "data"
    rows = value_of((data / "rows_0.js").read_text("ascii"))
    assert rows["repeat"] == [None] * 9 + [1, 2] * 6
    summary = value_of((data / "summary_0.js").read_text("ascii"))
    assert "repeats" not in summary["datasets"][0]
    assert summary["datasets"][1]["repeats"]["title"].startswith("L2 GUIElementGrounding repeats")
    facts = {fact["name"]: fact["text"] for fact in summary["facts"]}
    assert facts["Samples"] == "21 answers to 15 samples on 3 images (L2: 2 times each)"
    assert ">×2<" in (repeated.work_dir / "index.html").read_text()


def test_a_run_of_three_answers_is_compared_by_the_means_of_questions(repeated):
    repeated.data = asking(None, 1)
    repeated.run(*ONE_BY_ONE)  # all right
    repeated.data = asking(None, 3)
    repeated.run(*ONE_BY_ONE)  # the first as before, the second wrong, the third right
    folders = [folder_with(repeated, 1), folder_with(repeated, 3)]
    comparison = compare(read_runs([str(folder) for folder in folders]))
    [pair] = comparison.pairs
    assert (pair.changed, len(pair.samples)) == (0, 6)
    assert (pair.main.baseline_pct, pair.main.run_pct) == pytest.approx((100, 200 / 3))
    assert pair.main.paired.only_second == 0
    assert {sample.outcome for sample in pair.samples} == {"both right"}  # by most answers
    assert any("3 answers to each question. Differences use" in n for n in comparison.notes)
    assert "-33.3" in as_text(comparison, flips=0).replace("−", "-")


def test_figures_count_a_flip_where_most_answers_flip(repeated):
    always_right, mostly_wrong = ("(0.2, 0.15)",), ("(0.9, 0.9)", "(0.2, 0.15)", "(0.9, 0.9)")
    for count, replies in ((1, always_right), (3, mostly_wrong), (2, mostly_wrong)):
        repeated.server.answer = Varied({L2: replies})
        repeated.data = asking(None, count)
        repeated.run("--fresh", *ONE_BY_ONE)
    right, mostly, half = (str(folder_with(repeated, count)) for count in (1, 3, 2))
    for others, flips in ((mostly, 6), (half, 6)):
        [pair] = compare(read_runs([right, others])).pairs
        flipped = [sample for sample in pair.samples if sample.outcome == "only A right"]
        assert pair.main.paired.only_second == len(flipped) == flips


# -- with what else there is ----------------------------------------------------------------------


def test_circular_evaluation_is_repeated_as_a_whole(repeated):
    repeated.data = {L1: {"mode": "all", "circular": True, "repeats": 2}}
    ran = repeated.run(*ONE_BY_ONE)
    assert (ran.code, len(ran.requests)) == (0, 9 * 3 * 2), ran.output
    keys = {record["key"] for record in answer_records(repeated.log(L1))}
    tails = Counter(re.sub(r"^\w+", "", key) for key in keys)
    assert tails == {"": 9, "~1": 9, "~2": 9, "+2": 9, "+2~1": 9, "+2~2": 9}
    assert "each question was asked 2 times in all its rotations" in ran.output
    repeated.data[L1] = {"mode": "all", "repeats": 3}
    assert len(repeated.run().requests) == 9  # two of three answers are rotations that were asked
    analysis = json.loads((repeated.folder() / f"m_{L1}_analysis.json").read_text())
    assert analysis["repeats"]["questions"] == 9


def test_a_second_look_follows_each_answer(repeated):
    repeated.data = asking(None, 2)
    repeated.model["m"]["zoom"] = {"ratio": 0.5}
    ran = repeated.run(*ONE_BY_ONE)
    assert (ran.code, len(ran.requests)) == (0, 6 * 2 * 2), ran.output
    tails = Counter(
        re.sub(r"^\w+", "", record["key"]) for record in answer_records(repeated.log(L2))
    )
    assert tails == {"": 6, "~1": 6, "+2": 6, "+2~1": 6}
    assert len(samples_of(repeated.folder(), L2)) == 12


def test_the_judge_reads_every_answer_that_the_official_reader_could_not(repeated):
    repeated.server.answer = Varied({L1: ("B", "yes it is")})
    model_answer = repeated.server.answer

    def answer(request):
        is_judged = "Somebody was asked" in request.text
        return Reply('{"choice": "B"}') if is_judged else model_answer(request)

    repeated.server.answer = answer
    judge = {"model_path": f"{repeated.server.url}?api_key=judge-key-98765&model=reader"}
    repeated.data = {L1: {"mode": "all", "repeats": 2, "match_mode": "judge", "judge": judge}}
    ran = repeated.run(*ONE_BY_ONE)
    assert ran.code == 0, ran.output
    assert "Overall with the judge: 100.00 %" in ran.output
    assert repeated.scores(L1)["repeats"]["figures"]["Overall"]["pass^2"]["value"] == 0


@pytest.mark.parametrize("value", [0, -1, 101, 2.0, "3", True, [3]])
def test_a_number_that_cannot_be_is_one_error(stage, value):
    stage.data = {L2: {"mode": "all", "repeats": value}}
    ran = stage.run()
    assert (ran.code, ran.requests) == (2, [])
    expected = f"data.{L2}.repeats: must be a whole number from 1 to 100: how often each question"
    assert ran.stderr.count(expected) == 1 and "1 problem" in ran.stderr


@pytest.mark.parametrize(
    ("generate_cfg", "setting"),
    [
        ({"temperature": 0}, "generate_cfg.temperature is 0"),
        ({"extra_body": {"seed": 5}}, "generate_cfg.seed is fixed"),
        ({"temperature": 0.7}, None),
        ({}, None),
    ],
)
def test_answers_that_may_well_be_equal_are_warned_about(stage, generate_cfg, setting):
    stage.model["m"] = api_model(stage.server.url, generate_cfg=generate_cfg)
    stage.data = asking(None, 2)
    checked = stage.run("--check")
    lines = [line for line in checked.output.splitlines() if "may be the same" in line]
    assert lines == (
        [
            f'warning: data.{L2}.repeats: model "m": {setting}, so all 2 answers to a question may '
            "be the same"
        ]
        if setting
        else []
    )
    stage.data = asking(None, 1)
    assert "may be the same" not in stage.run("--check").output


# -- the other grounding tables -------------------------------------------------------------------


def test_a_table_of_grounding_is_repeated_as_well(tmp_path):
    rows, replies = [], {}
    for number in range(4):
        rows.append(
            {
                "id": f"E{number}",
                "image_path": f"{number}.png",
                "image_size": [400, 300],
                "instruction": f"the button {number}",
                "box_type": "bbox",
                "box_coordinates": [100, 100, 50, 50],
                "GUI_types": ["Icon"],
            }
        )
        replies[f"{number}.png\nthe button {number}"] = "[120, 120]" if number < 3 else "no"
    files = {"OSWorld-G.json": rows}
    table = Replay("osworld", "OSWorldG", files, replies, settings={"repeats": 3})
    score, lines, analysis = run_replay(table, tmp_path, parser=PARSE_PLAIN)
    assert (score["accuracy"], score["counts"]["samples"], len(lines)) == (75, 12, 12)
    assert score["repeats"]["single_runs"] == [{"accuracy": 75}] * 3
    overall = analysis["repeats"]["rows"][-1]
    # The unparsed answers to the last question agree with none.
    values = [overall[name]["value"] for name in ("pass@3", "pass^3", "agreement")]
    assert values == [75, 75, 75]


# -- failures -------------------------------------------------------------------------------------

FAILS_ON_ONE = """
    def fails(line_or_reply, other):
        line = line_or_reply if isinstance(line_or_reply, dict) else other
        if line["index"] == 3:
            raise ValueError("this one cannot be done")
        if line is other:
            return line["answer"]
"""


@pytest.mark.parametrize("stage_of_failure", ["custom_prompt", "parse_function"])
def test_a_question_on_which_a_function_fails_is_one_failure_however_often_asked(
    repeated, stage_of_failure
):
    repeated.module(FAILS_ON_ONE)
    repeated.data = asking(12, None)
    repeated.model["m"][stage_of_failure] = {L1: "mymodel.fails"}
    repeated.server.answer = lambda request: Reply("B")
    ran = repeated.run(*ONE_BY_ONE)
    assert ran.code == 1 and "times in a row" not in ran.output, ran.output
    facts = samples_of(repeated.folder(), L1)
    assert [fact["index"] for fact in facts if fact["error"]] == [3] * 12
    assert len(facts) == 9 * 12


def test_a_refused_question_does_not_stop_the_run_however_often_asked(repeated):
    repeated.data = asking(None, 25)
    repeated.server.answer = lambda request: (
        Reply(status=400) if "basic target 0" in request.text else Reply("(0.2, 0.15)")
    )
    ran = repeated.run(*ONE_BY_ONE)
    assert (ran.code, len(ran.requests)) == (1, 6 * 25), ran.output
    assert "25 (16.7 %) refused by the server" in ran.output

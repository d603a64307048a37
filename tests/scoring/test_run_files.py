"""The files of a run: names, columns, contents, links, and what is printed."""

import json
import re

import pytest

from tests.support.mock_server import MockServer, Reply
from tests.support.runs import run_folder
from tests.support.stage import FAILED_TEXT, L1, L2, Stage, dataset_of, read_log_lines, told

OF_IMAGE = "index image_path image_size platform app_name"
L1_COLUMNS = f"{OF_IMAGE} question options answer explanation difficulty".split()
L2_COLUMNS = f"{OF_IMAGE} instruction bbox data_type grounding_type".split()
L1_RESULT = [*L1_COLUMNS, "prediction", "hit", "log", "parsed_prediction", "options_num"]
L2_RESULT = [
    "img_path",
    "instruction",
    "bbox",
    "parsed_bbox(format:x1,y1,x2,y2)",
    "type",
    "app_name",
    "platform",
    "match",
    "is_wrong_format",
    "pred_bbox",
    "grounding_type",
    "index",
]

FULL = {
    *(
        f"m_{L1}{suffix}"
        for suffix in (".xlsx", "_exact_matching_result.xlsx", "_scores.json", "_analysis.json")
    ),
    *(f"m_{L2}{suffix}" for suffix in (".xlsx", "_result.xlsx", "_score.json", "_analysis.json")),
}
PARTIAL = {name.replace(".", "_partial.") for name in FULL}

# Three pictures, so three questions of each difficulty and three targets of each grounding type.
REPLIES = {
    "Question 0 easy?": "B",
    "Question 0 medium?": "The answer is C.",
    "Question 0 hard?": "???",
    "Question 1": "Answer: B",
    "Question 2": "A",
    "basic target 0": "(0.2, 0.15)",
    "advanced target 0": "(128, 54)",  # pixels of 640 x 360
    "basic target 1": "x=0.9, y=0.9",
    "advanced target 1": "I cannot see it",
    "basic target 2": "[0.1, 0.2]",  # a corner of the box
    "advanced target 2": "(0.3001, 0.2)",
}


def reply(request):
    [text] = [text for start, text in REPLIES.items() if start in request.text]
    return Reply(text)


@pytest.fixture(scope="module")
def server():
    with MockServer(reply) as running:
        yield running


@pytest.fixture(scope="module")
def full(server, tmp_path_factory):
    """After a whole run: (stage, what it printed)."""
    stage = Stage.make(tmp_path_factory.mktemp("full"), server)
    ran = stage.run()
    assert ran.code == 0, ran.output
    return stage, ran.output


@pytest.fixture
def stage(full, tmp_path):
    """A copy of the whole run that a test may change."""
    return full[0].copy_to(tmp_path)


@pytest.fixture
def empty(server, tmp_path):
    """Data and config, nothing run yet."""
    return Stage.make(tmp_path, server)


def derived(folder):
    """Names of the files that scoring derives from the log; the manifests are about the run."""
    return {
        path.name
        for path in folder.iterdir()
        if path.suffix in (".xlsx", ".json") and not path.name.startswith("manifest")
    }


def links_of(stage):
    return {path.name: path for path in (stage.work_dir / "m").iterdir() if path.is_symlink()}


def test_the_files_have_the_names_that_researchers_know_and_the_log_tells_what_it_covers(full):
    stage, _ = full
    logs = {f"m_{dataset}{kind}.jsonl" for dataset in (L1, L2) for kind in ("", "_samples")}
    assert re.fullmatch(r"T20\d{6}_G([0-9a-f]{8}|unknown)", stage.folder().name)
    assert derived(stage.folder()) == FULL
    assert {path.name for path in stage.folder().glob("*.jsonl")} == logs
    assert not [path for path in stage.work_dir.rglob("*") if "tmp" in path.suffix]
    header = read_log_lines(stage.log(L2))[0]
    assert (header["kind"], header["model"], header["dataset"]) == ("run", "m", L2)
    assert header["samples"] == [record["key"] for record in stage.answers(L2)]
    assert "test-key-123456" not in stage.log(L2).read_text()


def test_the_model_folder_links_to_the_newest_files_and_follows_to_a_newer_run(stage):
    links = links_of(stage)
    samples = {f"m_{dataset}_samples.jsonl" for dataset in (L1, L2)}
    assert set(links) >= FULL | samples | {"manifest.json", "report"}
    assert (stage.work_dir / "m" / "report" / "index.html").is_file()
    assert not [link for link in links.values() if link.readlink().is_absolute()]
    targets = {name: (stage.folder() / name).resolve() for name in links}
    assert {name: link.resolve() for name, link in links.items()} == targets
    stage.model["m"]["generate_cfg"]["temperature"] = 1
    stage.run()
    newest = stage.folder()
    assert newest.name.endswith("_2")
    assert {link.resolve().parent for link in links_of(stage).values()} == {newest.resolve()}


def test_the_links_stay_with_a_run_that_has_all_samples_until_another_one_has(stage):
    whole_run_folder = stage.folder()
    stage.model["m"]["generate_cfg"]["temperature"] = 1
    trial = stage.run("--limit", "2", "--data", "L1")
    assert (
        f"m still lead to {whole_run_folder.name}, the newest run with all samples" in trial.output
    )
    scored_again = stage.run("--mode", "eval", "--limit", "2", "--data", "L1")
    assert f"log: {stage.folder()}\n" in scored_again.output
    links = links_of(stage)
    assert {link.resolve().parent for link in links.values()} == {whole_run_folder.resolve()}
    assert not any("partial" in name for name in links)
    again = stage.run()
    assert "compare.py use" not in again.output
    assert {link.resolve().parent for link in links_of(stage).values()} == {
        stage.folder().resolve()
    }


def config_of(stage):
    return stage.config({"model": stage.model, "data": stage.data})


def test_a_run_folder_that_is_named_is_scored_in_place_of_the_newest(stage):
    older, settings = stage.folder(), stage.model["m"]["generate_cfg"]
    stage.model["m"]["generate_cfg"] = {**settings, "temperature": 1}
    stage.run()
    newest = stage.folder()
    stage.model["m"]["generate_cfg"] = settings
    score_files = {folder: sorted(folder.glob("*_score.json")) for folder in (older, newest)}
    before = {file: file.stat().st_mtime_ns for files in score_files.values() for file in files}
    of_newest = stage.run("--mode", "eval")
    advice = "settings than this config has (generate_cfg.temperature); the scores belong to the"
    assert advice in of_newest.output
    assert f"To score a run with these settings, add --run-folder {older}" in of_newest.output
    changed = {file: file.stat().st_mtime_ns for file in before}
    assert {file.parent for file in before if before[file] != changed[file]} == {newest}
    links = {name: link.readlink() for name, link in links_of(stage).items()}
    named = stage.run("--config", config_of(stage), "--mode", "eval", "--run-folder", older)
    assert named.code == 0, named.output
    assert f"log: {older}\n" in named.output and "other settings" not in named.output
    assert f"The links in {older.parent} still lead to the newest run" in named.output
    assert {file.parent for file in changed if file.stat().st_mtime_ns != changed[file]} == {older}
    assert {name: link.readlink() for name, link in links_of(stage).items()} == links


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--run-folder", "out/m/T1"), "--run-folder works only with --mode eval"),
        (
            ("--mode", "eval", "--run-folder", "out/m/T1", "--work-dir", "out"),
            "--run-folder cannot be combined with --work-dir",
        ),
        (
            ("--mode", "eval", "--run-folder", "out/m"),
            'out/m: has no answers of "m" on "GUIContentUnderstanding", "GUIElementGrounding". '
            "Expected <work-dir>/<model>/T<date>_G<commit>",
        ),
    ],
)
def test_a_run_folder_must_fit_the_command(stage, options, problem):
    result = stage.run("--config", config_of(stage), *options)
    assert result.code == 2 and problem in result.output


def test_what_was_only_queried_has_the_links_to_what_there_is_of_it(stage):
    scored = stage.folder()
    stage.model["m"]["generate_cfg"]["temperature"] = 1
    assert stage.run("--mode", "infer").code == 0
    queried = {"manifest.json"} | {
        f"m_{name}{kind}" for name in (L1, L2) for kind in (".xlsx", ".jsonl")
    }
    folders = {name: link.resolve().parent for name, link in links_of(stage).items()}
    assert {name for name in folders if folders[name] == stage.folder().resolve()} == queried
    assert {folders[name] for name in folders.keys() - queried} == {scored.resolve()}


def test_the_l1_sheets_have_the_lines_of_the_file_and_what_was_read_in_each_reply(full):
    lines, rows = full[0].sheet(L1), full[0].sheet(L1, "_exact_matching_result")
    assert (len(lines), list(lines[0])) == (9, [*L1_COLUMNS, "prediction"])
    assert (len(rows), list(rows[0])) == (9, L1_RESULT)
    row = lines[4]
    assert {key: row[key] for key in L1_COLUMNS if key != "options"} == {
        "index": 4,
        "image_path": "os_ios/pic1.png",
        "image_size": "[295, 639]",
        "platform": "os_ios",
        "app_name": "App",
        "question": "Question 1 medium?",
        "answer": "B",
        "explanation": "because",
        "difficulty": "medium",
    }
    assert json.loads(row["options"]) == {"A": "no", "B": "yes", "C": "maybe"}
    names = ("index", "prediction", "parsed_prediction", "hit", "log")
    log = "Match Log: Parsed option is"
    assert [tuple(row[name] for name in names) for row in rows[:3]] == [
        (0, "B", "B", 1, f"{log} B and groundtruth option is B."),
        (1, "The answer is C.", "C", 0, f"{log} C while groundtruth option is B."),
        (2, "???", "None", 0, f"{log} None while groundtruth option is B."),
    ]
    assert {row["options_num"] for row in rows} == {3}


def test_the_l2_sheets_have_the_lines_of_the_file_and_tell_where_each_click_went(full):
    lines, rows = full[0].sheet(L2), full[0].sheet(L2, "_result")
    assert (len(lines), list(lines[0])) == (6, [*L2_COLUMNS, "prediction"])
    assert (len(rows), list(rows[0])) == (6, L2_RESULT)
    assert [(r["match"], r["is_wrong_format"], r["pred_bbox"]) for r in rows] == [
        (1, False, "[0.2, 0.15]"),
        (1, False, "[0.2, 0.15]"),
        (0, False, "[0.9, 0.9]"),
        (0, True, None),
        (1, False, "[0.1, 0.2]"),
        (0, False, "[0.3001, 0.2]"),
    ]
    first = rows[0]
    assert (first["img_path"], first["index"], first["type"], first["grounding_type"]) == (
        "os_windows/pic0.png",
        0,
        "text",
        "basic",
    )
    assert first["bbox"] == first["parsed_bbox(format:x1,y1,x2,y2)"] == "[0.1, 0.1, 0.3, 0.2]"


def l1_level(*scores):
    platforms = dict(zip(("os_windows", "os_ios", "os_web"), scores, strict=True))
    blocks = {name: {"score": score, "sample_num": 1} for name, score in platforms.items()}
    return {**blocks, "level_sample_num": 3, "level_score": pytest.approx(sum(scores) / 3)}


def l2_blocks(kind, *counted):
    """Of one sample on each platform: (correct, wrong, misread)."""
    other = "Icon" if kind == "Text" else "Text"
    return {
        platform: {
            "Total num": 1,
            f"{kind} num": 1,
            f"{other} num": 0,
            "Total accuracy": 100 * correct,
            f"{kind} accuracy": 100 * correct,
            f"{other} accuracy": None,
            "Correct num": correct,
            "Wrong num": wrong,
            "Error format num": misread,
        }
        for platform, (correct, wrong, misread) in zip(
            ("os_windows", "os_ios", "os_web"), counted, strict=True
        )
    }


def test_the_score_files_and_the_tables_in_the_layout_of_the_papers(full):
    _, output = full
    assert full[0].scores(L1) == {
        "easy": l1_level(1, 1, 0),
        "medium": l1_level(0, 1, 0),
        "hard": l1_level(0, 1, 0),
        "total_sample_num": 9,
    }
    assert full[0].scores(L2) == {
        "Average accuracy": pytest.approx(50),
        "Basic accuracy": pytest.approx(200 / 3),
        "Advanced accuracy": pytest.approx(100 / 3),
        "basic": l2_blocks("Text", (1, 0, 0), (0, 1, 0), (1, 0, 0)),
        "advanced": l2_blocks("Icon", (1, 0, 0), (0, 0, 1), (0, 1, 0)),
    }
    assert table_of(output, "L1 GUIContentUnderstanding · m · accuracy in % · n = 9") == [
        "Windows iOS Web Overall",
        "easy 100.00 100.00 0.00 66.67",
        "medium 0.00 100.00 0.00 33.33",
        "hard 0.00 100.00 0.00 33.33",
    ]
    assert table_of(output, "L2 GUIElementGrounding · m · accuracy in % · n = 6") == [
        "Windows iOS Web Overall",
        "basic 100.00 0.00 100.00 66.67",
        "advanced 100.00 0.00 0.00 33.33",
        "average 100.00 0.00 50.00 50.00",
    ]
    assert (told(output, "have a reply"), told(output, "unparsed")) == ([9, 6], [1, 1])


def table_of(output, title):
    """A printed table as text, a line for the heads and each row, without the intervals."""
    lines = output.split(title)[1].split("\n")
    heads, rows = lines[1].split(), []
    for cells in map(str.split, lines[3:]):
        if cells[:2] == ["95", "%"]:
            continue
        if len(cells) != len(heads) + 1:
            break
        rows.append(" ".join(cells))
    return [" ".join(heads), *rows]


def test_a_limited_run_writes_partial_files_of_its_samples_alone(empty):
    ran = empty.run("--limit", "2")
    limited = empty.folder()
    assert (ran.code, ran.asked) == (0, {L1: 2, L2: 2})
    assert "n = 2 (partial)" in ran.output
    assert [row["index"] for row in empty.sheet(L2, "_partial")] == [3, 4]
    assert empty.run().asked == {L1: 7, L2: 4}
    assert (derived(limited), derived(empty.folder())) == (PARTIAL, FULL)
    assert empty.run("--mode", "eval", "--limit", "2").code == 0
    assert derived(empty.folder()) == FULL | PARTIAL
    empty.run()
    assert derived(empty.folder()) == FULL


def test_one_grounding_type_has_null_for_the_other_and_an_average_over_what_is_there(empty):
    def refuse(constant):
        pytest.fail(f"{constant} is no JSON")

    empty.data = {L1: {"mode": "hard"}, L2: {"mode": "advanced"}}
    ran = empty.run(env={"L1_USE_WEIGHTED": "1"})
    l1, l2 = (json.loads(text, parse_constant=refuse) for text in empty.both_scores().values())
    assert ("(partial)" in ran.output, derived(empty.folder())) == (False, FULL)
    assert set(l1) == {"hard", "total_sample_num"}
    assert (l2["Basic accuracy"], l2["Average accuracy"]) == (None, pytest.approx(100 / 3))
    assert set(l2) == {"Average accuracy", "Basic accuracy", "Advanced accuracy", "advanced"}
    heads, *rows = table_of(ran.output, "L2 GUIElementGrounding · m · accuracy in % · n = 3")
    assert ([row.split()[0] for row in rows], len(heads.split())) == (["advanced", "average"], 4)


def test_infer_writes_predictions_and_eval_of_them_the_scores_without_a_model(empty, full):
    without = empty.run("--mode", "eval")
    assert without.code in (1, 2) and "leave out --mode eval" in without.output
    inferred = empty.run("--mode", "infer")
    assert (inferred.code, inferred.asked) == (0, {L1: 9, L2: 6})
    assert derived(empty.folder()) == {f"m_{L1}.xlsx", f"m_{L2}.xlsx"}
    assert "accuracy in %" not in inferred.output
    scored = empty.run("--mode", "eval")
    assert (scored.code, scored.requests, derived(empty.folder())) == (0, [], FULL)
    assert empty.both_scores() == full[0].both_scores()
    assert "accuracy in %" in scored.output


def test_eval_needs_no_data_root_and_weighs_a_hit_by_the_chance_of_a_blind_guess(stage):
    before = stage.both_scores()
    stage.root.rename(stage.home / "gone")
    assert (stage.run("--mode", "eval").code, stage.both_scores()) == (0, before)
    assert stage.run("--mode", "eval", env={"L1_USE_WEIGHTED": "true"}).code == 0
    easy = stage.scores(L1)["easy"]
    weighted = {"score": 1, "score_weighted": 2 / 3, "score_base": 2 / 3, "sample_num": 1}
    assert easy["os_windows"] == pytest.approx(weighted)
    assert easy["level_score"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("variable", [{"EVAL_WORK_DIR": "results"}, {}])
def test_where_results_go_without_work_dir(variable, empty, tmp_path):
    config = empty.config({"model": empty.model, "data": empty.data})
    ran = empty.run("--config", config, env=variable)
    assert ran.code == 0, ran.output
    assert derived(run_folder(tmp_path / variable.get("EVAL_WORK_DIR", "outputs"), "m")) == FULL
    assert not variable or not (tmp_path / "outputs").exists()


def test_a_failed_sample_shows_the_failure_text_in_no_log_and_is_wrong_in_the_score(staged):
    """One L1 question and one L2 target are not answered."""

    def answer(request):
        if "Question 1 easy?" in request.text or "basic target 1" in request.text:
            return Reply(status=500)
        return Reply("B" if dataset_of(request) == L1 else "(0.2, 0.15)")

    stage = staged(answer=answer)
    infer, ran = stage.run("--mode", "infer", "--retry", "0"), stage.run("--ignore")
    assert (infer.code, ran.code) == (1, 1), infer.output
    row = stage.sheet(L1, "_exact_matching_result")[3]
    assert (row["prediction"], row["parsed_prediction"], row["hit"]) == (FAILED_TEXT, "None", 0)
    assert stage.sheet(L2)[2]["prediction"] == FAILED_TEXT
    click = stage.sheet(L2, "_result")[2]
    assert (click["match"], click["is_wrong_format"], click["pred_bbox"]) == (0, True, None)
    ios = stage.scores(L2)["basic"]["os_ios"]
    assert (ios["Total num"], ios["Error format num"], ios["Correct num"]) == (1, 1, 0)
    assert (told(ran.output, "have a reply"), told(ran.output, "failed")) == ([8, 5], [1, 1])
    assert not [name for name in (L1, L2) if FAILED_TEXT in stage.log(name).read_text()]

"""A finished run is handed on in the forms of others; what comes back has the same verdicts."""

import csv
import json
import re
import shlex
import subprocess
import sys
import zipfile

import pytest
import yaml
from huggingface_hub import parse_eval_result_entries
from huggingface_hub.repocard_data import model_index_to_eval_results

from evaluate import load_run
from tests.exchange.answers_here import (
    RIGHT,
    WRONG,
    counts_of,
    import_folder,
    imported,
    make_screenspot_pro,
    plain_rows,
    screenspot_pro_replies,
    write_lines,
)
from tests.support import runs
from tests.support.mock_server import MockServer
from utils.exchange.export.run import open_run

MODEL = """
import re

REPLIES = {replies!r}


class Model:
    def generate(self, message, *, dataset_name):
        text = message[-1]["value"]
        number = int(re.search(r"(?:target|Question) (\\d+)", text)[1])
        reply = REPLIES[number]
        if reply is None:
            raise RuntimeError("no answer")
        return reply


def parse(reply):
    numbers = re.findall(r"[\\d.]+", reply)
    return [float(number) for number in numbers[:2]] if len(numbers) > 1 else None


def strip(outputs, model, processor, *, dataset_name):
    return outputs.strip()
"""
L2 = {"GUIElementGrounding": {"mode": "all"}}


def run_of(folder, root, replies, *, code=MODEL, data=None, options=(), **entry):
    """A scored run of a model that has one reply for each image; its folder."""
    (folder / "my_model.py").write_text(code.format(replies=list(replies)))
    model = {"m": {"imp_type": "custom", "model_path": "my_model.Model", **entry}}
    config = runs.write_config(folder / "config.json", model=model, data=data or L2)
    env = {"LMUData": str(root)}
    options = ("--no-report", "--retry", "0", "--work-dir", folder / "outputs", *options)
    result = runs.evaluate("--config", config, *options, cwd=folder, env=env)
    assert result.code in (0, 1), result.output
    return runs.run_folder(folder / "outputs", "m")


def export(form, folder, *options):
    return runs.evaluate("--export", form, folder, *options, cwd=folder.parents[2])


def verdicts(folder):
    samples = load_run(folder).samples
    columns = (samples["key"], samples["status"], samples["verdict"])
    return {key: (status, verdict) for key, status, verdict in zip(*columns, strict=True)}


def verdicts_after_import(folder, file, tmp_path, root):
    """The verdicts of what was exported, imported again elsewhere, with the config of a bundle."""
    other_folder = tmp_path / "there"
    other_folder.mkdir()
    (other_folder / "my_model.py").write_text((folder.parents[2] / "my_model.py").read_text())
    bundle = other_folder / "bundle.zip"
    assert export("bundle", folder, "--output", bundle, "--imported-too").code == 0
    with zipfile.ZipFile(bundle) as archive:
        archive.extract("config.json", other_folder)
    result = imported(other_folder, root, file, "--config", other_folder / "config.json")
    assert result.code in (0, 1), result.output
    return verdicts(next((other_folder / "outputs").glob("*/I*")))


# -- bundle and csv -------------------------------------------------------------------------------

READ_AGAIN = [
    ([RIGHT, WRONG, "nowhere"], {}),
    ([RIGHT, None, "=1"], {}),
    (["(128, 54)", "(10, 10)", "x"], {"parse_function": {"GUIElementGrounding": "my_model.parse"}}),
    (["(0.3, 0.3)", WRONG, "nowhere"], {"zoom": {"ratio": 0.5}}),
]


@pytest.mark.parametrize("form", ["bundle", "csv", "clawgui"])
@pytest.mark.parametrize(("replies", "entry"), READ_AGAIN)
def test_what_was_exported_has_the_same_verdicts_when_it_is_imported(
    tmp_path, root, form, replies, entry
):
    folder = run_of(tmp_path, root, replies, **entry)
    result = export(form, folder)
    if form == "clawgui" and "zoom" in entry:
        assert "cannot hold" in result.output  # a reply alone does not say where it clicks
        return
    assert result.code == 0, result.output
    (file,) = (folder / "export").iterdir()
    before, after = verdicts(folder), verdicts_after_import(folder, file, tmp_path, root)
    assert after == before
    assert {"hit", "miss"} <= {verdict for _, verdict in before.values()} or None in replies


@pytest.mark.parametrize("form", ["bundle", "csv"])
def test_points_outside_of_the_image_are_the_same_after_an_import(tmp_path, root, form):
    folder = run_of(tmp_path, root, ["(128, 54)", "(128, 5000)", "(5000, 0.5)"])
    assert export(form, folder).code == 0
    (file,) = (folder / "export").iterdir()
    result = imported(tmp_path, root, file, "--as", "back", "--data", "L2")
    assert "another point" not in result.output
    before, after = (load_run(path).samples["point_frac"] for path in (folder, back(tmp_path)))
    assert [*after] == [*before]


def back(tmp_path):
    return next((tmp_path / "outputs" / "back").glob("I*"))


POINTS = [  # columns of rows of the small table, in turns
    {"x": 200.0001234, "y": 150},
    {"x": 900, "y": 900},
    {"x": 200, "y": 150, "reply": "I see it."},
    {"x": -1, "y": -1},
]


@pytest.mark.parametrize("form", ["bundle", "csv"])
def test_imported_points_without_replies_come_back_as_points(tmp_path, root, form):
    rows = [
        {**row, "reply": None, **POINTS[number % 4]} for number, row in enumerate(plain_rows(root))
    ]
    file = write_lines(tmp_path / "points.jsonl", rows)
    options = ("--as", "points", "--frame", "per_mille")
    assert imported(tmp_path, root, file, *options).code == 0
    folder = import_folder(tmp_path)
    assert export(form, folder, "--imported-too").code == 0
    (exported_file,) = (folder / "export").iterdir()
    result = imported(tmp_path, root, exported_file, "--as", "back", "--data", "L2")
    assert result.code == 0, result.output
    before, after = (load_run(path).samples for path in (folder, back(tmp_path)))
    for column in ("verdict", "declined"):
        assert [*after[column]] == [*before[column]]
    are_points = [number % 4 < 3 for number in range(6)]
    assert [*after["point_frac"][are_points]] == [*before["point_frac"][are_points]]
    names = ("right", "points only", "unread beside a point")
    for path in (folder, back(tmp_path)):
        counts = counts_of(path)
        assert [counts[name] for name in names] == [3, 5, 1]


@pytest.mark.parametrize("form", ["clawgui", "inspect"])
def test_a_form_of_replies_alone_cannot_hold_imported_points(tmp_path, root, form):
    rows = [{**row, "reply": None, "point_frac": [0.2, 0.15]} for row in plain_rows(root)]
    file = write_lines(tmp_path / "points.jsonl", rows)
    assert imported(tmp_path, root, file).code == 0
    result = export(form, import_folder(tmp_path), "--imported-too")
    assert result.code == 2
    assert 'cannot hold "GUIElementGrounding"; forms that can: "bundle", "csv"' in result.output


LOOKING_AGAIN = """


def ask_again(line, responses):
    if len(responses) == 2:
        return None
    text = line.get("instruction") or line["question"]
    return [{{"role": "user", "type": "text", "value": f"{{text}} Sure?"}}]


def parse_first(reply, meta):
    return parse(meta["responses"][0]) if "responses" in meta else parse(reply)
"""


def run_that_asks_again(folder, root, data):
    """A run whose second replies say less than the parse function needs; its folder."""
    code = MODEL.replace(
        "reply = REPLIES[number]", "reply = REPLIES[number + 3 * ('Sure?' in text)]"
    )
    model = {"follow_up": dict.fromkeys(data, "my_model.ask_again")}
    if "GUIElementGrounding" in data:
        model["parse_function"] = {"GUIElementGrounding": "my_model.parse_first"}
    replies = [RIGHT, WRONG, "B", "yes", RIGHT, "A"]
    return run_of(folder, root, replies, code=code + LOOKING_AGAIN, data=data, **model)


@pytest.mark.parametrize("form", ["bundle", "csv"])
def test_clicks_of_a_run_that_asked_again_come_back_as_points(tmp_path, root, form):
    folder = run_that_asks_again(tmp_path, root, L2)
    before = verdicts(folder)
    assert {verdict for _, verdict in before.values()} == {"hit", "miss", "unparsed"}
    assert export(form, folder).code == 0
    (file,) = (folder / "export").iterdir()
    assert verdicts_after_import(folder, file, tmp_path, root) == before


@pytest.mark.parametrize("form", ["clawgui", "inspect"])
def test_a_form_of_replies_alone_cannot_hold_a_run_that_asked_again(tmp_path, root, form):
    folder = run_that_asks_again(tmp_path, root, L2)
    result = export(form, folder)
    assert result.code == 2
    assert 'cannot hold "GUIElementGrounding"; forms that can: "bundle", "csv"' in result.output


def test_a_bundle_cannot_hold_imported_episodes(tmp_path, root):
    task = tmp_path / "results" / "chrome" / "task_1"
    task.mkdir(parents=True)
    (task / "traj.jsonl").write_text('{"step_num": 1}\n')
    (task / "result.txt").write_text("1.0")
    assert imported(tmp_path, root, tmp_path / "results").code == 0
    result = export("bundle", import_folder(tmp_path), "--imported-too")
    assert result.code == 2
    assert 'cannot hold "OSWorld"; forms that can: "csv"' in result.output


def test_a_bundle_cannot_hold_letters_of_a_run_that_asked_again(tmp_path, root):
    folder = run_that_asks_again(tmp_path, root, {"GUIContentUnderstanding": {"mode": "all"}})
    result = export("bundle", folder)
    assert result.code == 2
    assert 'cannot hold "GUIContentUnderstanding"; forms that can: "csv"' in result.output
    assert export("csv", folder).code == 0


def test_a_bundle_keeps_the_sizes_of_images_whose_pixels_replies_count(tmp_path, root):
    folder = run_of(
        tmp_path,
        root,
        ["(64, 27)", "(300, 300)", "x"],
        kwargs={"img_size": 320},
        parse_function={"GUIElementGrounding": "utils.coordinates.parse_pixels_sent"},
    )
    assert export("bundle", folder).code == 0
    (file,) = (folder / "export").iterdir()
    assert verdicts_after_import(folder, file, tmp_path, root) == verdicts(folder)


def test_a_bundle_holds_questions_with_several_replies_each(tmp_path, root):
    data = {"GUIElementGrounding": {"mode": "all", "repeats": 2}}
    folder = run_of(tmp_path, root, [RIGHT, WRONG, "x"], data=data)
    assert export("bundle", folder).code == 0
    (file,) = (folder / "export").iterdir()
    after = verdicts_after_import(folder, file, tmp_path, root)
    assert after == verdicts(folder)
    assert len(after) == 12


def test_the_answers_of_a_bundle_are_imported_as_a_file_of_their_own(tmp_path, root):
    folder = run_of(tmp_path, root, [RIGHT, WRONG, "nowhere"])
    assert export("bundle", folder).code == 0
    with zipfile.ZipFile(folder / "export" / "m_bundle.zip") as archive:
        file = archive.extract("GUIElementGrounding_answers.jsonl", tmp_path)
    after = verdicts_after_import(folder, file, tmp_path, root)
    assert after == verdicts(folder)


def test_an_import_of_a_bundle_has_the_name_of_its_model(tmp_path, root):
    folder = run_of(tmp_path, root, [RIGHT, WRONG, "nowhere"])
    assert export("bundle", folder, "--output", tmp_path / "renamed.zip").code == 0
    result = imported(tmp_path, root, tmp_path / "renamed.zip")
    assert result.code == 0, result.output
    assert 'model "m", answers made elsewhere' in result.output
    assert verdicts(next((tmp_path / "outputs" / "m").glob("I*"))) == verdicts(folder)


def test_multiple_choice_comes_back_from_a_bundle(tmp_path, root):
    data = {"GUIContentUnderstanding": {"mode": "all"}}
    folder = run_of(tmp_path, root, ["B", "A", "no letter"], data=data)
    assert export("bundle", folder).code == 0
    (file,) = (folder / "export").iterdir()
    assert verdicts_after_import(folder, file, tmp_path, root) == verdicts(folder)


def test_no_secret_and_no_address_gets_into_a_bundle_but_the_settings_do(tmp_path, root):
    env = {"LMUData": str(root)}
    with MockServer() as server:
        entry = runs.api_model(server.url, key="very-secret-9876543")
        config = runs.write_config(tmp_path / "c.json", model={"m": entry}, data=L2)
        result = runs.evaluate("--config", config, "--no-report", cwd=tmp_path, env=env)
    assert result.code == 0, result.output
    folder = runs.run_folder(tmp_path / "outputs", "m")
    for form in ("bundle", "csv"):
        assert export(form, folder).code == 0
    with zipfile.ZipFile(folder / "export" / "m_bundle.zip") as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    assert not [name for name, text in texts.items() if "very-secret" in text]
    assert "127.0.0.1" not in texts["config.json"]
    manifest = json.loads(texts["manifest.json"])
    assert manifest["config"]["model"]["m"]["generate_cfg"] == {"max_tokens": 16, "temperature": 0}
    assert "--config m_bundle/config.json --import m_bundle.zip" in texts["HOW.md"]
    assert "very-secret" not in (folder / "export" / "m_samples.csv").read_text("utf-8-sig")


# -- data sets of two commands --------------------------------------------------------------------

L1_ALONE = {"GUIContentUnderstanding": {"mode": "all"}}
READ_BY_USER = {"GUIElementGrounding": {"mode": "all", "parse_function": "my_model.parse"}}
THREE = ["B (128, 54)", "B (10, 10)", "B x"]


def run_of_two_commands(folder, root, **entry_of_second):
    """The folder of two commands: the second has a config without the data set of the first."""
    first = run_of(folder, root, THREE, data=READ_BY_USER)
    second = run_of(folder, root, THREE, data=L1_ALONE, **entry_of_second)
    assert first == second
    return first


JUDGE = {"imp_type": "custom", "model_path": "my_model.Model", "max_requests": 5}


@pytest.mark.parametrize(
    ("data", "options", "remark", "line"),
    [
        (
            {"GUIContentUnderstanding": {"match_mode": "judge", "judge": JUDGE}},
            (),
            "the judge's readings are left out",
            "9 of 9 samples matched",
        ),
        (
            {"GUIContentUnderstanding": {"circular": True}},
            ("--limit", "4"),
            "the answers to the other orders of the options (circular evaluation) are left out",
            "scored as a part, like the exported run: --limit 4",
        ),
        (
            {"GUIElementGrounding": {"repeats": 3}},
            ("--limit", "2"),
            "a part of the data set, 6 samples",
            "6 rows, 2 of 2 samples matched",
        ),
    ],
)
def test_a_bundle_of_a_part_or_with_a_judge_comes_back_with_the_same_verdicts(
    tmp_path, root, data, options, remark, line
):
    folder = run_of(tmp_path, root, ["B", WRONG, RIGHT], data=data, options=options)
    result = export("bundle", folder)
    assert remark in result.output
    (file,) = (folder / "export").iterdir()
    there = verdicts_after_import(folder, file, tmp_path, root)
    assert there == verdicts(folder)
    checked = imported(tmp_path, root, file, "--check")
    assert line in checked.output and "missing" not in checked.output


def how_of(bundle):
    with zipfile.ZipFile(bundle) as archive:
        return archive.read("HOW.md").decode()


def test_a_bundle_of_two_commands_reads_each_data_set_as_it_was_scored(tmp_path, root):
    folder = run_of_two_commands(tmp_path, root)
    assert export("bundle", folder).code == 0
    (file,) = (folder / "export").iterdir()
    before = verdicts(folder)
    assert verdicts_after_import(folder, file, tmp_path, root) == before
    assert load_run(folder).figures["L2"]["average"] > 0
    assert "| GUIElementGrounding | `my_model.parse` | none |" in how_of(file)
    assert "| GUIContentUnderstanding | default of the data set | none |" in how_of(file)


def test_an_import_of_a_bundle_without_its_config_names_the_parse_function_of_the_scores(
    tmp_path, root
):
    folder = run_of_two_commands(tmp_path, root)
    assert export("bundle", folder).code == 0
    (file,) = (folder / "export").iterdir()
    advice = "was scored with my_model.parse. To score it in the same way, unpack its config.json"
    for options, is_told in [(["--check"], True), (["--check", "--frame", "per_mille"], False)]:
        result = imported(tmp_path, root, file, *options)
        assert (advice in result.output) == is_told, result.output
        assert result.output.count("was scored with") == int(is_told)


def test_the_hint_after_an_export_can_be_pasted_and_names_the_files_of_functions(tmp_path, root):
    folder = run_of_two_commands(tmp_path, root)
    result = export("bundle", folder)
    assert "in a folder with my_model.py:" in result.output
    unpack, score = [line for line in result.stdout.splitlines() if line.startswith("  python ")]
    python, *arguments = shlex.split(unpack)
    subprocess.run([sys.executable, *arguments], cwd=tmp_path, check=True)
    python, script, *arguments = shlex.split(score)
    assert (python, script) == ("python", "evaluate.py")
    env = {"LMUData": str(root)}
    again = runs.evaluate(*arguments, "--no-report", cwd=tmp_path, env=env)
    assert again.code == 0, again.output
    assert "not used" not in again.output
    assert verdicts(next((tmp_path / "outputs").glob("*/I*"))) == verdicts(folder)


def test_the_config_of_an_import_keeps_what_a_later_import_leaves_out(tmp_path, root):
    folder = run_of_two_commands(tmp_path, root)
    assert export("bundle", folder).code == 0
    (file,) = (folder / "export").iterdir()
    before = verdicts_after_import(folder, file, tmp_path, root)
    there = tmp_path / "there"
    one = ("--config", there / "config.json", "--data", "GUIContentUnderstanding")
    result = imported(there, root, file, *one)
    assert result.code == 0, result.output
    assert "GUIElementGrounding: left out, because --data or the config" in result.output
    (import_folder,) = (there / "outputs").glob("*/I*")
    assert imported(there, root, import_folder, "--mode", "eval").code == 0
    assert verdicts(import_folder) == before
    manifest = json.loads((import_folder / "manifest.json").read_text())
    scored = manifest["scoring"].get("config") or manifest["config"]
    assert set(scored["data"]) == {"GUIContentUnderstanding", "GUIElementGrounding"}


def test_a_bundle_holds_one_postprocess_function_or_says_how_to_export_the_sets(tmp_path, root):
    folder = run_of_two_commands(tmp_path, root, postprocess_function="my_model.strip")
    result = export("bundle", folder)
    assert result.code == 2
    assert "different values of postprocess_function" in result.output
    assert "--data NAME" in result.output
    result = export("bundle", folder, "--data", "GUIElementGrounding")
    assert result.code == 0, result.output
    assert "| GUIElementGrounding | `my_model.parse` | none |" in how_of(
        folder / "export" / "m_bundle.zip"
    )


def test_an_export_says_that_a_manifest_does_not_name_the_parse_function(tmp_path, root):
    folder = run_of_two_commands(tmp_path, root)
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    assert manifest["datasets"]["GUIElementGrounding"].pop("config")  # as earlier versions wrote it
    path.write_text(json.dumps(manifest))
    result = export("bundle", folder)
    assert result.code == 0
    assert "GUIElementGrounding: " in result.output
    assert "does not say with which config it was scored" in result.output
    assert "| GUIElementGrounding | unknown | unknown |" in how_of(
        folder / "export" / "m_bundle.zip"
    )


def test_a_cell_that_a_spreadsheet_would_run_is_a_text(tmp_path, root):
    folder = run_of(tmp_path, root, ["=HYPERLINK(1)", "@x", "-1"])
    assert export("csv", folder).code == 0
    with (folder / "export" / "m_samples.csv").open(encoding="utf-8-sig", newline="") as file:
        replies = {row["reply"] for row in csv.DictReader(file)}
    assert replies == {"'=HYPERLINK(1)", "'@x", "'-1"}


# -- what may be exported -------------------------------------------------------------------------


def test_an_import_is_exported_only_where_it_is_asked_for_and_is_marked(tmp_path, root):
    file = write_lines(tmp_path / "answers.jsonl", plain_rows(root))
    assert imported(tmp_path, root, file).code == 0
    folder = next((tmp_path / "outputs").glob("*/I*"))
    result = export("bundle", folder)
    assert result.code == 2
    assert "--imported-too" in result.output
    assert not (folder / "export").exists()
    result = export("bundle", folder, "--imported-too")
    assert result.code == 0, result.output
    (path,) = (folder / "export").iterdir()
    assert path.name == "answers_imported_bundle.zip"
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        how = archive.read("HOW.md").decode()
    assert manifest["imported"]["format"] == "plain"
    assert "Answers made elsewhere" in how
    assert export("csv", folder, "--imported-too").code == 0
    with (folder / "export" / "answers_imported_samples.csv").open(encoding="utf-8-sig") as table:
        assert {row["origin"] for row in csv.DictReader(table)} == {"imported"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--export", "bundel", "{run}"), 'did you mean "bundle"'),
        (("--export", "bundle", "{run}", "--data", "L9"), "--data L9"),
        (("--export", "bundle", "nowhere"), "nowhere: there is no such folder"),
        (("--export", "bundle", "{run}", "--fresh"), "--fresh cannot be combined with --export"),
        (("--export", "bundle", "{run}", "--output", "config.json"), "exists already"),
        (("--export", "bundle"), "--export"),
        (("--config", "config.json", "--task-id", "x"), "--task-id works only with --export"),
        (("--config", "config.json", "--anyway"), "--anyway works only with --import or --export"),
    ],
)
def test_what_cannot_be_exported_is_one_message(tmp_path_factory, one_run, arguments, expected):
    work_folder = one_run.parents[2]
    filled = [text.replace("{run}", str(one_run)) for text in arguments]
    result = runs.evaluate(*filled, cwd=work_folder)
    assert result.code == 2
    assert expected in result.output
    assert "Traceback" not in result.output
    assert not (one_run / "export").exists()


def test_a_file_goes_where_output_says(tmp_path, one_run):
    path = tmp_path / "new" / "answers.zip"
    result = runs.evaluate("--export", "bundle", one_run, "--output", path, cwd=tmp_path)
    assert result.code == 0, result.output
    assert zipfile.is_zipfile(path)
    assert not (one_run / "export").exists()


@pytest.fixture(scope="module")
def one_run(tmp_path_factory, root):
    """A run with a right answer, a wrong one, and one without a point to each second question."""
    return run_of(tmp_path_factory.mktemp("one"), root, [RIGHT, WRONG, "nowhere"])


FIGURES = ["screenspot_pro_leaderboard", "eval_results", "model_index", "lm_eval"]

# -- ScreenSpot-Pro -------------------------------------------------------------------------------

ROWS = 1581


@pytest.fixture(scope="module")
def pro_root(tmp_path_factory):
    """A data root with as many rows of ScreenSpot-Pro as were published."""
    return make_screenspot_pro(tmp_path_factory.mktemp("pro"), ROWS)


@pytest.fixture(scope="module")
def pro_import(tmp_path_factory, pro_root):
    """The folder of an import of answers to all of them."""
    work_folder = tmp_path_factory.mktemp("answers")
    file = write_lines(work_folder / "acme.jsonl", screenspot_pro_replies(ROWS))
    result = imported(work_folder, pro_root, file, "--data", "ScreenSpotPro")
    assert result.code == 1, result.output  # of the failed one
    return next((work_folder / "outputs").glob("*/I*"))


def exported(tmp_path, folder, form, name, *options):
    """The file that an export of this import has written."""
    path = tmp_path / name
    result = export(form, folder, "--imported-too", "--output", path, *options)
    assert result.code == 0, result.output
    return path, result.output


def test_the_result_file_has_the_metrics_of_the_score_file(tmp_path, pro_import):
    path, _ = exported(tmp_path, pro_import, "screenspot_pro", "acme.json")
    report = json.loads(path.read_text())
    scores = load_run(pro_import).scores["ScreenSpotPro"]
    rows = report["details"]
    assert report["notes"] == "answers made elsewhere: acme.jsonl"
    assert len(rows) == ROWS
    assert rows[0] == {
        "id": "android_studio_macos_0",
        "img_path": "ScreenSpot-Pro/images/android_studio_macos/0.png",
        "group": "Dev",
        "platform": "macos",
        "application": "android_studio",
        "lang": "en",
        "instruction_style": "instruction",
        "prompt_to_evaluate": "target 0",
        "gt_type": "positive",
        "ui_type": "text",
        "task_filename": "android_studio_macos",
        "pred": [200, 75],
        "raw_response": RIGHT,
        "bbox": [100, 50, 300, 100],
        "correctness": "correct",
    }
    for style, grouping in (("simple", "group"), ("detailed", "application")):
        blocks = report["metrics"][f"leaderboard_{style}_style"]
        block_by_label = {label.partition(":")[2]: block for label, block in blocks.items()}
        assert {label: counts_in(block) for label, block in block_by_label.items()} == {
            label: counts_in(block) for label, block in scores[grouping].items()
        }
    assert counts_in(report["metrics"]["overall"]) == counts_in(scores["overall"])
    assert len(report["metrics"]["fine_grained"]) == 26
    assert len(report["metrics"]["seeclick_style"]) == 3


def counts_in(block):
    """Counts and accuracies of a block, in percent, under either program's names."""
    if "num_correct_action" in block:
        shares = [100 * block[name] for name in ("action_acc", "text_acc", "icon_acc")]
        counts = [block[name] for name in ("num_correct_action", "num_total", "wrong_format_num")]
    else:
        shares = [block[name] for name in ("accuracy", "text_accuracy", "icon_accuracy")]
        counts = [block[name] for name in ("num_correct", "num_total", "num_wrong_format")]
    return [*counts, *(round(share or 0, 9) for share in shares)]


def test_a_result_file_comes_back_with_the_same_verdicts(tmp_path, pro_import, pro_root):
    path, _ = exported(tmp_path, pro_import, "screenspot_pro", "acme.json")
    result = imported(tmp_path, pro_root, path, "--as", "back")
    assert result.code == 1, result.output  # of the failed one
    after = verdicts(next((tmp_path / "outputs" / "back").glob("I*")))
    assert after == verdicts(pro_import)
    assert {status for status, _ in after.values()} == {"ok", "failed"}


def test_the_row_of_the_leaderboard_has_its_keys_and_says_how_it_was_made(tmp_path, pro_import):
    path, output = exported(tmp_path, pro_import, "screenspot_pro_leaderboard", "row.json")
    (row,) = json.loads(path.read_text()).values()
    results = row["results"]
    assert [*results] == ["group", "application", "overall"]
    assert [*results["group"]] == ["Dev", "Creative", "CAD", "Scientific", "Office", "OS"]
    assert len(results["application"]) == 26
    assert {tuple(cells) for cells in results["application"].values()} == {("icon", "text", "avg")}
    accuracy = load_run(pro_import).figures["ScreenSpotPro"]["average"]
    assert results["overall"]["avg"] == pytest.approx(accuracy / 100)
    for text in ("1,581 rows", "answers made elsewhere", "1 without an answer", "95 % interval"):
        assert text in row["description"]
    assert "by e-mail" in output


@pytest.mark.parametrize("form", FIGURES)
def test_figures_of_a_part_are_not_handed_on(tmp_path, form):
    root = make_screenspot_pro(tmp_path / "data", 52)
    file = write_lines(tmp_path / "acme.jsonl", screenspot_pro_replies(52))
    assert imported(tmp_path, root, file, "--data", "ScreenSpotPro").code == 1
    folder = next((tmp_path / "outputs").glob("*/I*"))
    result = export(form, folder, "--imported-too", "--anyway")
    assert result.code == 2
    assert "was not scored on the published data" in result.output
    assert 'Forms that take ScreenSpotPro: "bundle", "csv", "screenspot_pro"' in result.output
    assert export("screenspot_pro", folder, "--imported-too").code == 0
    assert [path.name for path in (folder / "export").iterdir()] == ["acme_imported.json"]


def test_a_result_file_of_sample_data_is_marked_and_not_for_the_leaderboard(tmp_path):
    sample_root = runs.PROJECT / "sample_data"
    files = (sample_root / "ScreenSpot-Pro" / "annotations").glob("*.json")
    rows = [row for path in files for row in json.loads(path.read_text("utf-8"))]
    replies = [{"id": row["id"], "reply": RIGHT} for row in rows]
    file = write_lines(tmp_path / "acme.jsonl", replies)
    assert imported(tmp_path, sample_root, file, "--data", "ScreenSpotPro").code == 0
    folder = next((tmp_path / "outputs").glob("*/I*"))
    path, output = exported(tmp_path, folder, "screenspot_pro", "acme.json")
    notes = json.loads(path.read_text("utf-8"))["notes"]
    for text in (notes, output):
        assert "ot for the leaderboard: ScreenSpotPro is the sample data of the program" in text
    assert "by e-mail" not in output
    assert export("bundle", folder, "--imported-too").code == 0
    with zipfile.ZipFile(folder / "export" / "acme_imported_bundle.zip") as archive:
        assert "\nexport LMUData=sample_data\n" in archive.read("HOW.md").decode()


def test_a_figure_that_an_audit_doubts_is_handed_on_only_with_its_doubt(tmp_path, pro_root):
    replies = [{**row, "reply": "(512, 512)"} for row in screenspot_pro_replies(ROWS)]
    file = write_lines(tmp_path / "acme.jsonl", replies)
    result = imported(tmp_path, pro_root, file, "--data", "ScreenSpotPro")
    folder = next((tmp_path / "outputs").glob("*/I*"))
    assert "warning:" in result.output
    result = export("screenspot_pro_leaderboard", folder, "--imported-too")
    assert result.code == 2
    assert "an audit doubts the figure" in result.output
    options = ("--imported-too", "--anyway")
    path, _ = exported(tmp_path, folder, "screenspot_pro_leaderboard", "row.json", *options[1:])
    assert "DOUBTED BY AN AUDIT" in path.read_text()


def test_a_form_of_one_table_has_no_place_for_another(one_run):
    result = export("screenspot_pro", one_run)
    assert result.code == 2
    assert 'cannot hold "GUIElementGrounding"; forms that can: "bundle", "csv"' in result.output
    assert "model_index" not in result.output  # the figure is one of other data


# -- ClawGUI --------------------------------------------------------------------------------------


def test_rows_of_clawgui_have_its_columns_and_pixels(one_run, tmp_path):
    path = tmp_path / "predictions.jsonl"
    result = export("clawgui", one_run, "--output", path)
    assert result.code == 0, result.output
    assert "as output/<experiment>/mmbench-gui-m/predictions.jsonl" in result.output
    row = json.loads(path.read_text().splitlines()[0])
    prompt = row.pop("system_prompt")
    assert len(prompt) == 1
    assert row == {
        "id": "mmbench-gui_0",
        "question": "Click basic target 0.",
        "answer": [64, 36, 192, 72],
        "image": "image/mmbench-gui/os_windows/pic0.png",
        "image_size": [640, 360],
        "platform": "windows",
        "ui_type": "text",
        "application": "App",
        "grounding_type": "basic",
        "m_infer": RIGHT,
    }


# -- the hub, and lm-eval -------------------------------------------------------------------------


def test_an_entry_for_the_hub_is_what_the_hub_reads(tmp_path, pro_import):
    options = ("--task-id", "1.0")
    path, output = exported(tmp_path, pro_import, "eval_results", "e.yaml", *options)
    content = yaml.safe_load(path.read_text())
    (entry,) = parse_eval_result_entries(content)
    accuracy = load_run(pro_import).figures["ScreenSpotPro"]["average"]
    assert (entry.dataset_id, entry.task_id) == ("likaixin/ScreenSpot-Pro", "1.0")
    assert entry.value == round(accuracy, 2)
    assert isinstance(entry.value, float)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", entry.date)
    assert "answers made elsewhere" in entry.notes
    assert "hf upload ORGANISATION/MODEL" in output
    assert "--create-pr" in output


def test_without_the_id_of_the_task_no_entry_for_the_hub_is_made(pro_import):
    result = export("eval_results", pro_import, "--imported-too")
    assert result.code == 2
    assert "--task-id ID" in result.output
    assert "eval.yaml" in result.output


def test_a_model_index_is_what_the_hub_reads_and_carries_the_mark(tmp_path, pro_import):
    path, _ = exported(tmp_path, pro_import, "model_index", "card.yaml")
    text = path.read_text()
    name, results = model_index_to_eval_results(yaml.safe_load(text)["model-index"])
    assert name == "acme"
    (result,) = results
    assert result.dataset_type == "likaixin/ScreenSpot-Pro"
    assert result.metric_value == round(load_run(pro_import).figures["ScreenSpotPro"]["average"], 2)
    assert result.metric_name.endswith("1,581 rows (answers made elsewhere)")
    assert text.startswith("# ScreenSpot-Pro: average (micro over all rows), 1,581 rows; answers")


def test_a_file_like_lm_evals_has_fractions_and_the_error_of_the_interval(tmp_path, pro_import):
    path, _ = exported(tmp_path, pro_import, "lm_eval", "results.json")
    report = json.loads(path.read_text())
    results = load_run(pro_import)
    cell = results.manifest["datasets"]["ScreenSpotPro"]["figures"]["average"]
    figures = report["results"]["screenspot_pro"]
    assert figures["acc,none"] == pytest.approx(cell["value"] / 100)
    half_width = (cell["high"] - cell["low"]) / 2
    assert figures["acc_stderr,none"] * 1.959964 == pytest.approx(half_width / 100)
    assert report["n-samples"] == {"screenspot_pro": {"original": ROWS, "effective": ROWS}}
    assert report["model_name"] == "acme"
    assert report["configs"]["screenspot_pro"]["metadata"]["imported"] is True


def test_the_second_level_has_two_headlines(one_run):
    (dataset,) = open_run(one_run).sets
    assert [*dataset.headlines] == [
        "average (the mean of basic and advanced)",
        "micro over all rows",
    ]
    assert "one look; prompt of the data set" in open_run(one_run).notes(dataset)


# -- inspect --------------------------------------------------------------------------------------


def test_without_its_package_no_inspect_log_is_made(one_run, monkeypatch):
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    result = export("inspect", one_run)
    assert result.code == 2
    assert "pip install inspect_ai" in result.output


@pytest.mark.parametrize("repeats", [1, 2])
def test_an_inspect_log_comes_back_with_the_same_verdicts(tmp_path, root, repeats):
    pytest.importorskip("inspect_ai")
    data = {"GUIElementGrounding": {"mode": "all", "repeats": repeats}}
    folder = run_of(tmp_path, root, [RIGHT, WRONG, None], data=data)
    result = export("inspect", folder)
    assert result.code == 0, result.output
    (file,) = (folder / "export").iterdir()
    assert verdicts_after_import(folder, file, tmp_path, root) == verdicts(folder)

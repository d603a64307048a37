"""A finished run is handed on in the forms of others; what comes back has the same verdicts."""

import csv
import json
import zipfile

import pytest

from evaluate import load_run
from tests.exchange.answers_here import RIGHT, WRONG, imported, plain_rows, write_lines
from tests.support import runs
from tests.support.mock_server import MockServer

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
"""
L2 = {"GUIElementGrounding": {"mode": "all"}}


def run_of(folder, root, replies, *, data=None, **entry):
    """A scored run of a model that has one reply for each image; its folder."""
    (folder / "my_model.py").write_text(MODEL.format(replies=list(replies)))
    model = {"m": {"imp_type": "custom", "model_path": "my_model.Model", **entry}}
    config = runs.write_config(folder / "config.json", model=model, data=data or L2)
    env = {"LMUData": str(root)}
    result = runs.evaluate("--config", config, "--no-report", "--retry", "0", cwd=folder, env=env)
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
    there = tmp_path / "there"
    there.mkdir()
    (there / "my_model.py").write_text((folder.parents[2] / "my_model.py").read_text())
    bundle = there / "bundle.zip"
    assert export("bundle", folder, "--output", bundle, "--imported-too").code == 0
    with zipfile.ZipFile(bundle) as archive:
        archive.extract("config.json", there)
    result = imported(there, root, file, "--config", there / "config.json")
    assert result.code in (0, 1), result.output
    return verdicts(next((there / "outputs").glob("*/I*")))


# -- bundle and csv -------------------------------------------------------------------------------

READ_AGAIN = [
    ([RIGHT, WRONG, "nowhere"], {}),
    ([RIGHT, None, "=1"], {}),
    (["(128, 54)", "(10, 10)", "x"], {"parse_function": {"GUIElementGrounding": "my_model.parse"}}),
    ([RIGHT, WRONG, "nowhere"], {"zoom": {"ratio": 0.5}}),
]


@pytest.mark.parametrize("form", ["bundle", "csv"])
@pytest.mark.parametrize(("replies", "entry"), READ_AGAIN)
def test_what_was_exported_has_the_same_verdicts_when_it_is_imported(
    tmp_path, root, form, replies, entry
):
    folder = run_of(tmp_path, root, replies, **entry)
    result = export(form, folder)
    assert result.code == 0, result.output
    (file,) = (folder / "export").iterdir()
    before, after = verdicts(folder), verdicts_after_import(folder, file, tmp_path, root)
    assert after == before
    assert len({verdict for _, verdict in before.values()}) > 1


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
    assert "evaluate.py --config config.json --import m_bundle.zip" in texts["HOW.md"]
    assert "very-secret" not in (folder / "export" / "m_samples.csv").read_text("utf-8-sig")


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
        (("--export", "bundle", "{run}", "--fresh"), "--fresh does not go with --export"),
        (("--export", "bundle", "{run}", "--output", "config.json"), "exists already"),
        (("--export", "bundle"), "--export"),
        (("--config", "config.json", "--task-id", "x"), "--task-id goes with --export alone"),
        (("--config", "config.json", "--anyway"), "--anyway goes with --import or --export alone"),
    ],
)
def test_what_cannot_be_exported_is_one_message(tmp_path_factory, one_run, arguments, expected):
    place = one_run.parents[2]
    filled = [text.replace("{run}", str(one_run)) for text in arguments]
    result = runs.evaluate(*filled, cwd=place)
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

"""Bad input of recorded steps: one message each, before any request."""

import json
import shutil
import sys

import pytest

import evaluate
from tests.support.step_files import write_json
from utils import PROJECT
from utils.errors import DONE, NOTHING_RUN, SOME_FAILED

SAMPLE_DATA = PROJECT / "sample_data"
OFFICIAL = "AndroidControl/android_control_test.jsonl"
FILES = {
    "AndroidControl": OFFICIAL,
    "GUIOdyssey": "GUIOdyssey/annotations/sample_0001.json",
    "AITZ": "AITZ/test/general/GENERAL-1/GENERAL-1.json",
    "CAGUI": "CAGUI/CAGUI_agent/domestic/sample_1/sample_1.json",
    "AgentNetBench": "AgentNetBench/single_data/sample_1.json",
}
IMAGES = {
    "AndroidControl": "images",
    "GUIOdyssey": "screenshots",
    "AgentNetBench": "single_data/images",
}


class Unused:
    """A model that nobody gets to ask."""

    def generate(self, message, *, dataset_name):
        raise AssertionError("a request was made")


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A copy of the samples, to be damaged."""
    root = tmp_path / "data"
    for name in FILES:
        shutil.copytree(SAMPLE_DATA / name, root / name)
    monkeypatch.setenv("LMUData", str(root))
    monkeypatch.delenv("IMAGE_ROOT_DIR", raising=False)
    return root


@pytest.fixture
def check(data, tmp_path, capsys):
    """Returns the lines that `--check` prints of a data set."""

    def run(name, **settings):
        model = {"m": {"imp_type": "custom", "model_path": f"{__name__}.Unused"}}
        path = write_json(tmp_path / "config.json", {"model": model, "data": {name: settings}})
        arguments = ["--config", str(path), "--work-dir", str(tmp_path / "outputs"), "--check"]
        assert evaluate.main(arguments) in (DONE, SOME_FAILED, NOTHING_RUN)
        output = capsys.readouterr()
        return [*output.out.splitlines(), *output.err.splitlines()]

    return run


def assert_one(lines, *fragments):
    """Exactly one line has all fragments, and it names what is wrong."""
    matching = [line for line in lines if all(fragment in line for fragment in fragments)]
    assert len(matching) == 1, lines


def change(data, name, edit):
    """Edit the content of a file; of JSON lines the first."""
    path = data / FILES[name]
    first, *others = (
        path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
    )
    content = json.loads(first)
    edit(content)
    path.write_text("\n".join([json.dumps(content), *others]))


def steps_of(content):
    return content["steps"] if isinstance(content, dict) else content


@pytest.mark.parametrize("name", FILES)
def test_the_samples_themselves_are_right(check, name):
    assert any("samples" in line for line in check(name))


@pytest.mark.parametrize("name", FILES)
def test_a_missing_data_set_is_one_message(check, data, name):
    shutil.rmtree(data / name)
    assert_one(check(name), str(data / name), "docs/steps.md says where")


@pytest.mark.parametrize("name", IMAGES)
def test_a_missing_image_folder_is_one_message(check, data, name):
    folder = data / name / IMAGES[name]
    shutil.rmtree(folder)
    assert_one(check(name), f"{folder}: no such folder; put the screenshots there")


@pytest.mark.parametrize("name", FILES)
def test_the_columns_of_another_file_are_named_with_those_expected(check, data, name):
    row = {"img_filename": "a.png", "bbox": [1, 2, 3, 4]}
    path = data / FILES[name]
    write_json(path, [row] if path.suffix == ".jsonl" or name in ("AITZ", "CAGUI") else row)
    assert_one(check(name), str(path), "has the columns img_filename, bbox", "expected ")


def test_a_file_of_no_known_form_of_android_control_is_named(check, data):
    (data / OFFICIAL).unlink()
    path = write_json(data / "AndroidControl" / "other.json", [{"a": 1, "b": 2}])
    lines = check("AndroidControl")
    assert_one(lines, f"{path}, row 0: has the columns a, b", "no known form", "(gui_r1)")


def test_several_files_that_could_be_meant_are_named(check, data):
    (data / OFFICIAL).unlink()
    row = {"episode_id": 1, "step": 0, "goal": "g", "step_instruction": "i", "action": {}}
    for name in ("a.json", "b.json"):
        write_json(data / "AndroidControl" / name, [row])
    assert_one(check("AndroidControl"), 'several files fit ("a.json", "b.json")', '"form"')


def test_parquet_without_its_library_says_what_to_do(check, data, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    (data / OFFICIAL).unlink()
    (data / "AndroidControl" / "androidcontrol_high_test.parquet").write_bytes(b"PAR1")
    assert_one(check("AndroidControl"), "reading Parquet needs pyarrow", "as JSON lines")


@pytest.mark.parametrize(
    ("settings", "fragments"),
    [
        ({"rule": "os_atlass"}, ('there is no rule "os_atlass"', 'did you mean "os_atlas"')),
        ({"rules": "one"}, ('must be "all" or "headline"',)),
        ({"rule": "aitz_agentcpm"}, ("does not fit these rows", "os_atlas, qwen")),
        ({"rule": "no_such_module.rule"}, ("no_such_module",)),
        ({"history": "replies"}, ("history", "must be one of", '"own"')),
        ({"rows": "agentcpm"}, ("rows", "must be one of", '"ui_r1"')),
        ({"form": "curated"}, ("form", "must be one of", '"gui_r1"')),
    ],
)
def test_an_unknown_setting_is_one_message(check, settings, fragments):
    assert_one(check("AndroidControl", **settings), *fragments)


@pytest.mark.parametrize("name", ["AndroidControl", "GUIOdyssey", "AITZ", "CAGUI"])
def test_an_episode_with_a_gap_is_one_message(check, data, name):
    change(data, name, lambda content: steps_of(content).pop(1))
    assert_one(check(name), str(data / FILES[name]), "has no step 1 before step 2")


def test_a_drag_without_an_end_is_left_out_by_name(check, data):
    def cut(content):
        steps_of(content)[2]["info"] = [[500, 700]]

    change(data, "GUIOdyssey", cut)
    lines = check("GUIOdyssey")
    assert_one(lines, "episode_sample_0001_screenshot_2", "a SCROLL needs its start and its end")


def test_a_touch_without_an_end_is_left_out_by_name(check, data):
    def cut(content):
        steps_of(content)[1]["result_lift_yx"] = ""

    change(data, "AITZ", cut)
    assert_one(check("AITZ"), "episode_GENERAL-1_screenshot_1", "a touch needs its end")


def test_an_action_that_does_not_exist_is_left_out_by_name(check, data):
    def rename(content):
        steps_of(content)[0]["check_options"] = {"action": "fly"}

    change(data, "AndroidControl", rename)
    assert_one(check("AndroidControl"), "episode_1_screenshot_0", "action 'fly' is none of")


def test_a_split_without_a_test_part_is_one_message(check, data):
    path = write_json(data / "GUIOdyssey" / "splits" / "random_split.json", {"all": []})
    assert_one(check("GUIOdyssey"), str(path), "has the columns all", "expected train, test")


@pytest.mark.parametrize("name", ["AITZ", "AgentNetBench"])
def test_a_level_that_the_file_does_not_have_is_one_message(check, data, name):
    column = {"AITZ": "coat_action_desc", "AgentNetBench": "inner_monologue"}[name]
    change(data, name, lambda content: [step.pop(column) for step in steps_of(content)])
    assert_one(check(name, level="low"), 'there is no level "low"')

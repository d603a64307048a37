"""AndroidControl as others publish it: 50 rows of each form, made from the official file."""

import random

import pytest

from benchmarks.steps.android_control import NOT_IN_OS_ATLAS
from benchmarks.steps.android_control_forms import find_steps
from tests.support import step_cases
from tests.support.step_files import (
    NAME,
    benchmark,
    gui_r1_row,
    infigui_r1_row,
    official_episodes,
    official_text,
    steps_of,
    uground_row,
    write_json,
)
from utils.errors import UserError

pytestmark = pytest.mark.skipif(
    not step_cases.FOLDER.is_dir(), reason=f"{step_cases.FOLDER} is not there"
)

COUNT = 50
BY_SIZE = (1000, 2000)


def os_atlas_episodes():
    return [
        episode for episode in official_episodes() if episode["episode_id"] not in NOT_IN_OS_ATLAS
    ]


def folder_of(root):
    return root / "AndroidControl"


def with_official(root):
    folder_of(root).mkdir(parents=True, exist_ok=True)
    (folder_of(root) / NAME).write_bytes(official_text())


def official_rows(root, **settings):
    """The rows of the official file by id."""
    with_official(root)
    return {row["id"]: row for row in benchmark("AndroidControl", root, **settings).read_rows()}


def without_action(row):
    return {name: value for name, value in row.items() if name not in ("recorded", "doubts")}


def test_episodes_of_infigui_r1_are_the_official_ones(tmp_path):
    episodes = os_atlas_episodes()[:COUNT]
    write_json(
        folder_of(tmp_path / "theirs") / "android_control_test.json",
        [infigui_r1_row(episode) for episode in episodes],
    )
    data_set = benchmark("AndroidControl", tmp_path / "theirs", history="actions")
    rows = list(data_set.read_rows())
    official = official_rows(tmp_path, history="actions")
    assert len({row["episode"] for row in rows}) == COUNT
    assert rows == [official[row["id"]] for row in rows]
    assert data_set.protocol.endswith("file of the form infigui_r1")


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
@pytest.mark.parametrize(("level", "count"), [("high", COUNT), ("low", COUNT - 4)])
def test_rows_of_gui_r1_are_found_by_instruction_history_and_action(tmp_path, level, count, suffix):
    """Some first steps of level low, "open the shop", are those of several episodes."""
    steps = random.Random(0).sample(steps_of(os_atlas_episodes()), COUNT)
    with_official(tmp_path)
    rows = [gui_r1_row(*step, level=level, has_history=True) for step in steps]
    write_json(folder_of(tmp_path) / f"androidcontrol_{level}_test{suffix}", rows)
    data_set = benchmark("AndroidControl", tmp_path, level=level, form="gui_r1")
    by_id = {row["id"]: row for row in data_set.read_rows()}
    expected = {f"episode_{episode['episode_id']}_screenshot_{n}" for episode, n in steps}
    notes = " ".join(data_set.notes(list(by_id), [], "all"))
    assert set(by_id) <= expected
    assert (len(by_id), notes.count("(several steps)")) == (count, COUNT - count)
    official = official_rows(tmp_path / "official", level=level)
    for name, row in by_id.items():
        assert without_action(row) == without_action(official[name])


def test_rows_of_gui_r1_keep_their_cut_texts_and_moved_points(tmp_path):
    steps = random.Random(1).sample(steps_of(os_atlas_episodes()), COUNT)
    with_official(tmp_path)
    rows = [gui_r1_row(*step, level="high", has_history=True) for step in steps]
    write_json(folder_of(tmp_path) / "androidcontrol_high_test.jsonl", rows)
    data_set = benchmark("AndroidControl", tmp_path, form="gui_r1")
    cut = {"texts": "first_word", "points": "per_mille"}
    official = benchmark("AndroidControl", tmp_path, form="official", **cut)
    expected = {row["id"]: row for row in official.read_rows()}
    for row in data_set.read_rows():
        size = (1080, 2400)
        truth, true = data_set.truth_of(row, size), official.truth_of(expected[row["id"]], size)
        assert (truth.action, truth.boxes_px) == (true.action, true.boxes_px)


def test_rows_of_curated_have_no_history_and_those_that_fit_several_steps_are_named(tmp_path):
    episodes = official_episodes()
    [news] = [episode for episode in episodes if episode["episode_id"] == 1464]
    [drive] = [episode for episode in episodes if episode["episode_id"] == 803]
    rows = [
        gui_r1_row(drive, 1, level="low", has_history=False),
        gui_r1_row(news, 4, level="low", has_history=False),  # one of several equal scrolls
    ]
    with_official(tmp_path)
    write_json(folder_of(tmp_path) / "android_control_low_point.json", rows)
    data_set = benchmark("AndroidControl", tmp_path, level="low", form="gui_r1")
    assert [row["id"] for row in data_set.read_rows()] == ["episode_803_screenshot_1"]
    [*_, note] = data_set.notes([1], [], "all")
    assert "1 row cannot be found" in note and "row 1 (several steps)" in note


@pytest.mark.parametrize(("level", "missing"), [("high", 2), ("low", 3)])
def test_of_a_whole_file_without_ids_nearly_all_rows_are_found_in_any_order(level, missing):
    episodes = os_atlas_episodes()
    steps = steps_of(episodes)
    rows = [
        (f"file, row {number}", gui_r1_row(*step, level=level, has_history=False))
        for number, step in enumerate(steps)
    ]
    random.Random(0).shuffle(rows)
    matches = find_steps(rows, episodes, level)
    assert (len(matches.recorded), len(matches.left_out)) == (7708 - missing, missing)


def test_steps_of_uground_are_asked_one_by_one_with_their_trees(tmp_path):
    steps = random.Random(2).sample(steps_of(os_atlas_episodes()), COUNT - 1)
    end = {**uground_row(*steps[0]), "step": 99}
    end["action"] = {"action_type": "status", "goal_status": "successful"}
    rows = [*(uground_row(*step) for step in steps), end]
    write_json(folder_of(tmp_path / "theirs") / "500_steps.json", rows)
    data_set = benchmark(
        "AndroidControl", tmp_path / "theirs", rule="uground", history="instructions"
    )
    by_id = {row["id"]: row for row in data_set.read_rows()}
    official = official_rows(tmp_path, rule="os_atlas", history="instructions")
    assert len(by_id) == COUNT
    for name, row in by_id.items():
        truth = data_set.truth_of(row, BY_SIZE)
        if row["step"] == 99:
            assert (truth.action.kind, truth.action.status) == ("finish", "success")
            continue
        same = ("goal", "step_instruction", "image_path", "episode", "step")
        assert [row[key] for key in same] == [official[name][key] for key in same]
        instructions = [step["instruction"] for step in row["history"]]
        assert instructions == [step["instruction"] for step in official[name]["history"]]
        true = benchmark("AndroidControl", tmp_path).truth_of(official[name], BY_SIZE)
        assert truth.action == true.action
        assert [node.box_px for node in truth.tree] == list(true.boxes_px)


def test_sampled_steps_have_no_history_of_own_replies(tmp_path):
    row = uground_row(official_episodes()[0], 1)
    write_json(folder_of(tmp_path) / "500_steps.json", [row])
    data_set = benchmark("AndroidControl", tmp_path, history="own")
    with pytest.raises(UserError, match='sampled, so they have no history "own"'):
        list(data_set.read_rows())


def test_rows_without_ids_need_the_official_file_beside_them(tmp_path):
    row = gui_r1_row(official_episodes()[0], 1, level="high", has_history=True)
    write_json(folder_of(tmp_path) / "androidcontrol_high_test.jsonl", [row])
    with pytest.raises(UserError, match=f"The program looks for them in {NAME}, which must be in"):
        list(benchmark("AndroidControl", tmp_path).read_rows())

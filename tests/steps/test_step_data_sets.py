"""GUI-Odyssey, AITZ, CAGUI and AgentNetBench: what their files say, and the authors' figures."""

import json
import shutil

import pytest

from benchmarks import BENCHMARK
from benchmarks.steps.rules.agentnetbench import DesktopAction
from benchmarks.steps.truth import truth_of_odyssey_step
from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model
from tests.support.stage import Stage
from tests.support.step_files import benchmark, write_json
from utils import PROJECT
from utils.contracts import Sizes

SAMPLE_DATA = PROJECT / "sample_data"
WH = (1000, 2000)
CLICK = {"kind": "click", "point": [0.844, 0.828]}


@pytest.fixture
def root(tmp_path):
    """The samples, in a folder where tests may change them."""
    for name in ("GUIOdyssey", "AITZ", "CAGUI", "AgentNetBench"):
        shutil.copytree(SAMPLE_DATA / name, tmp_path / name)
    return tmp_path


def rows_of(name, root, **settings):
    return list(benchmark(name, root, **settings).read_rows())


def judged(data_set, rows, answers):
    """The results of some answers, None for what cannot be read."""
    judgements = []
    for row, answer in zip(rows, answers, strict=True):
        parsed = data_set.answer_of(answer, WH)
        judgements.append(data_set.judge_parsed(row, Sizes(file_wh=WH), parsed, "reply"))
    return [judgement.counted for judgement in judgements]


# -- GUI-Odyssey --------------------------------------------------------------------------------


def odyssey_step(number, action="COMPLETE", info="", box=()):
    return {
        "step": number,
        "screenshot": "x.png",
        "action": action,
        "info": info,
        "sam2_bbox": list(box),
        "low_level_instruction": f"do step {number}",
    }


def write_odyssey(root, episodes, split="random"):
    """Episodes by name: category, recorded length, steps."""
    folder = root / "GUIOdyssey"
    for name, (category, length, steps) in episodes.items():
        annotation = {
            "episode_id": name,
            "task_info": {"category": category, "instruction": f"goal of {name}"},
            "step_length": length,
            "steps": steps,
        }
        write_json(folder / "annotations" / f"{name}.json", annotation)
    names = [f"{name}.json" for name in episodes]
    write_json(folder / "splits" / f"{split}_split.json", {"train": ["y.json"], "test": names})


@pytest.mark.parametrize("split", ["random", "task", "device", "app"])
def test_only_the_test_part_of_the_split_is_asked(tmp_path, split):
    write_odyssey(tmp_path, {"1": ("Shopping", 1, [odyssey_step(0)])}, split)
    write_json(tmp_path / "GUIOdyssey" / "annotations" / "y.json", {"not": "read"})
    [row] = rows_of("GUIOdyssey", tmp_path, split=split, level="low")
    assert (row["goal"], row["instruction"]) == ("goal of 1", "do step 0")
    assert row["labels"] == {"category": "Shopping", "step_length": 1}


@pytest.mark.parametrize(
    ("action", "info", "expected"),
    [
        ("CLICK", [[500, 250], [500, 250]], {"kind": "click", "point": [0.5, 0.25]}),
        ("LONG_PRESS", [[500, 250]], {"kind": "long_press", "point": [0.5, 0.25]}),
        ("CLICK", "KEY_APPSELECT", {"kind": "press", "button": "recent"}),
        ("CLICK", "KEY_BACK", {"kind": "press", "button": "back"}),
        (
            "SCROLL",
            [[500, 700], [500, 300]],
            {"kind": "swipe", "start": [0.5, 0.7], "end": [0.5, 0.3]},
        ),
        ("TEXT", "10:30", {"kind": "type", "text": "10:30"}),
        ("COMPLETE", "", {"kind": "finish", "status": "success"}),
        ("INCOMPLETE", "", {"kind": "finish", "status": "failure"}),
    ],
)
def test_actions_of_odyssey_are_per_mille(action, info, expected):
    step = {"action": action, "info": info, "sam2_bbox": [400, 200, 600, 300]}
    truth = truth_of_odyssey_step(step)
    assert truth.action.as_json() == expected
    assert truth.boxes_frac == ((0.4, 0.2, 0.6, 0.3),)


CATEGORIES = ("Multi_Apps", "Shopping", "Media", "Social", "Tool", "Web")


def odyssey_of_six_categories(root):
    """Six episodes of two steps; of the last one a step is missing at the end."""
    steps = [odyssey_step(0), odyssey_step(1, "TEXT", "hello")]
    lengths = [2] * 5 + [3]
    episodes = {
        str(number): (category, length, steps)
        for number, (category, length) in enumerate(zip(CATEGORIES, lengths, strict=True))
    }
    write_odyssey(root, episodes)


def test_the_authors_figures_stand_beside_ours_under_their_names(tmp_path):
    odyssey_of_six_categories(tmp_path)
    data_set = benchmark("GUIOdyssey", tmp_path)
    rows = list(data_set.read_rows())
    done, right_text = {"kind": "finish", "status": "success"}, {"kind": "type", "text": "hello"}
    answers = [done, right_text, *[done, {"kind": "type", "text": "x"}] * 5]
    results = judged(data_set, rows, answers)
    scores = data_set.summarise(results, {})
    assert scores["SR"] == pytest.approx(100 * 7 / 12)
    assert scores["Episodes"] == pytest.approx(100 / 6)
    assert scores["official"] == pytest.approx(
        {
            "macro AMS": 100 * 7 / 12,
            "macro SR": 100 / 5,  # the sixth episode has not all of its steps
            "micro AMS": (100 + 5 * 50) / 6,
            "micro SR": 100 / 5,
        }
    )


def test_other_splits_have_no_mean_of_categories(tmp_path):
    write_odyssey(tmp_path, {"1": ("Shopping", 1, [odyssey_step(0)])}, "app")
    data_set = benchmark("GUIOdyssey", tmp_path, split="app")
    results = judged(
        data_set, list(data_set.read_rows()), [{"kind": "finish", "status": "success"}]
    )
    official = data_set.summarise(results, {})["official"]
    assert (official["macro AMS"], official["micro AMS"]) == (100, None)


MY_RULE = """
def mine(action, truth, size):
    return True, None, action is not None
"""


@pytest.mark.parametrize("rule", ["odyssey_os_atlas", "my_rules.mine"])
def test_another_rule_alone_is_scored_without_the_authors_figures(tmp_path, rule):
    with MockServer(lambda _: Reply("Action: click(0.844, 0.828)")) as server:
        stage = Stage(tmp_path, server, {"m": api_model(server.url)})
        stage.code.mkdir()
        stage.module(MY_RULE, "my_rules")
        stage.data = {"GUIOdyssey": {"rule": rule, "rules": "headline"}}
        ran = stage.run(env={"LMUData": str(SAMPLE_DATA)})
    assert ran.code == 0, ran.output
    scores = stage.scores("GUIOdyssey")
    assert (scores["rule"], [*scores["by_rule"]]) == (rule, [rule])
    assert "official" not in scores and "odyssey_official" not in ran.output


# -- AITZ and CAGUI ------------------------------------------------------------------------------


def change_steps(root, name, change):
    [path] = (root / name).rglob("*.json")
    steps = json.loads(path.read_text())
    change(steps)
    path.write_text(json.dumps(steps))


def as_fractions(steps):
    """What the script of AgentCPM-GUI does to the boxes."""
    for step in steps:
        [[y, x, h, w]] = json.loads(step["ui_positions"])
        step["ui_positions"] = json.dumps([[y / 2400, x / 1080, h / 2400, w / 1080]])


def test_boxes_of_aitz_are_pixels_or_fractions(root):
    data_set = benchmark("AITZ", root)
    pixels = [data_set.truth_of(row, (1080, 2400)) for row in data_set.read_rows()]
    change_steps(root, "AITZ", as_fractions)
    fractions = [data_set.truth_of(row, (1080, 2400)) for row in data_set.read_rows()]
    for one, other in zip(pixels, fractions, strict=True):
        assert one.action == other.action
        assert one.boxes_frac[0] == pytest.approx(other.boxes_frac[0])


@pytest.mark.parametrize("name", ["AITZ", "CAGUI"])
def test_a_short_touch_is_a_click_and_a_long_one_a_swipe(root, name):
    data_set = benchmark(name, root)
    rows = list(data_set.read_rows())
    kinds = [data_set.truth_of(row, WH).action.kind for row in rows]
    assert kinds == ["click", "swipe", "type", "finish"]
    assert {row["labels"]["part"] for row in rows} <= {"general", "domestic"}


def test_aitz_is_judged_by_both_rules_and_the_broken_one_is_named_so(root):
    data_set = benchmark("AITZ", root)
    rows = list(data_set.read_rows())
    click, *_ = [data_set.truth_of(row, WH).action.as_json() for row in rows]
    swipe = {"kind": "swipe", "direction": "up", "convention": "finger"}
    text = {"kind": "type", "text": "06:30"}
    scores = data_set.summarise(judged(data_set, rows, [click, swipe, text, {"kind": "wait"}]), {})
    success = {name: block["SR"] for name, block in scores["by_rule"].items()}
    assert success == {"aitz_agentcpm": 100, "aitz_coat_broken": 50}  # waiting is an end


def test_the_low_level_of_aitz_is_the_description_and_cagui_has_none(root):
    low = rows_of("AITZ", root, level="low", history="instructions")
    assert low[1]["instruction"] == "scroll up"
    assert [step["instruction"] for step in low[1]["history"]] == ["click on the bedtime tab"]
    assert BENCHMARK["CAGUI"].options["level"] == ("high",)


@pytest.mark.parametrize("name", ["GUIOdyssey", "AITZ", "CAGUI", "AgentNetBench"])
def test_no_box_of_the_annotation_is_told_with_earlier_actions(root, name):
    history = json.dumps([row["history"] for row in rows_of(name, root, history="actions")])
    assert '"action"' in history
    assert not [word for word in ("bbox", "ui_positions", "judged", "ctrl") if word in history]


# -- AgentNetBench --------------------------------------------------------------------------------


def desktop(root, **settings):
    data_set = benchmark("AgentNetBench", root, **settings)
    return data_set, list(data_set.read_rows())


@pytest.mark.parametrize(
    ("number", "answer", "score"),
    [
        (0, [{"kind": "click", "point": [0.08, 0.09]}], 1),
        (0, {"kind": "click", "point": [0.9, 0.9]}, 0),
        (0, [{"kind": "key", "keys": "ctrl+f"}], 1),  # the alternative
        (0, [{"kind": "key", "keys": ["f", "ctrl"]}], 1),
        (0, [{"kind": "double", "point": [0.08, 0.09]}], 0),
        (1, [{"kind": "type", "text": "Hourglass"}, {"kind": "key", "keys": "enter"}], 1),
        (1, [{"kind": "type", "text": "hourglass\n"}], 1),
        (1, [{"kind": "type", "text": "hour"}], (4 / 9) / 0.8),
        (1, [{"kind": "key", "keys": "enter"}], 0),
        (3, [{"kind": "done"}], 1),
        (3, [{"kind": "fail", "text": "no"}], 0),
        (3, [DesktopAction("terminate", status="success")], 1),
        (3, None, 0),
    ],
)
def test_lists_of_actions_are_read_and_score_between_0_and_1(root, number, answer, score):
    data_set, rows = desktop(root)
    [result] = judged(data_set, rows[number : number + 1], [answer])
    assert result.worth[0][2] == pytest.approx(score, abs=1e-6)
    assert (result.verdict.value == "unparsed") == (answer is None)


def test_a_drag_is_two_actions_and_keys_have_many_names():
    benchmark_class = BENCHMARK["AgentNetBench"]
    read = benchmark_class.answer_of
    drag = {"kind": "drag", "point": [0.1, 0.1], "to_point": [0.2, 0.2]}
    assert [str(action) for action in read(benchmark_class, [drag], WH)] == [
        "moveto(0.100, 0.100)",
        "dragto(0.200, 0.200)",
    ]
    [action] = read(benchmark_class, [DesktopAction("press", keys=("Esc",))], WH)
    assert action.keys == ("escape",)


def test_the_authors_columns_stand_beside_the_average(root):
    data_set, rows = desktop(root)
    answers = [
        [{"kind": "click", "point": [0.08, 0.09]}],
        [{"kind": "type", "text": "hour"}],
        [{"kind": "click", "point": [0.9, 0.9]}],
        [{"kind": "done"}],
    ]
    scores = data_set.summarise(judged(data_set, rows, answers), {})
    text = 100 * (4 / 9) / 0.8
    expected = {"Average": (200 + text) / 4, "coordinate": 50, "content": text, "function": 100}
    assert scores["official"] == pytest.approx(expected)
    assert scores["SR"] == pytest.approx(expected["Average"])


def test_earlier_actions_are_told_as_calls_and_without_their_alternatives(root):
    data_set, rows = desktop(root, history="actions", level="low")
    text = data_set.user_text(rows[1])
    assert '1. ["click(0.081, 0.091)"]' in text
    assert "ctrl" not in text
    assert text.endswith("The next step: Search for hourglass.")

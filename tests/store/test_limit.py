"""`--limit`: few samples that show as much as they can, and the same ones each time."""

from collections import Counter

import pytest
from PIL import Image

from tests.support.mock_server import MockServer
from tests.support.runs import PROJECT
from tests.support.stage import API, L1, L2, Stage
from utils.protocol import PLATFORMS
from utils.sampling import limit_ranks

GROUPS = [
    (platform, split)
    for platform in PLATFORMS
    for split in ("easy", "medium", "hard")
    for _ in range(4)
]


def test_a_few_samples_show_every_platform_and_every_split():
    turns = limit_ranks(GROUPS, range(len(GROUPS)))
    first = [group for group, turn in zip(GROUPS, turns, strict=True) if turn < len(PLATFORMS)]
    assert Counter(platform for platform, _ in first) == dict.fromkeys(PLATFORMS, 1)
    assert Counter(split for _, split in first) == {"easy": 2, "medium": 2, "hard": 2}


@pytest.mark.parametrize(
    ("groups", "turns"),
    [
        ([], []),
        ([("b", "x")] * 3, [0, 1, 2]),
        ([("a", "x"), ("a", "x"), ("b", "x"), ("a", "y"), ("b", "y")], [0, 4, 3, 2, 1]),
        ([("a", "x"), ("b", "y"), ("a", "x"), ("c", "z")], [0, 1, 3, 2]),
    ],
)
def test_platforms_take_turns_and_so_do_the_splits_of_each(groups, turns):
    assert limit_ranks(groups, range(len(groups))) == turns


OWN = {
    "AnswerBenchmark": """
class Own(AnswerBenchmark):
    split = "topic"

    def is_right(self, line, answer):
        return False
""",
    "GroundingBenchmark": """
class Own(GroundingBenchmark):
    layout = Layout(groupings={"topic": ()}, columns="topic", rows=None)
""",
}


@pytest.mark.parametrize("base", OWN)
def test_a_few_samples_of_ones_own_benchmark_show_every_part_of_its_table(base, tmp_path, server):
    stage = Stage(tmp_path, server, {"m": API}, env={"LMUData": str(tmp_path)})
    images = tmp_path / "own" / "images"
    images.mkdir(parents=True)
    for number in range(5):
        Image.new("RGB", (20, 10), (number, 0, 0)).save(images / f"{number}.png")
    stage.code.mkdir(exist_ok=True)
    stage.module(
        "from benchmarks.answers import AnswerBenchmark\n"
        "from benchmarks.grounding import GroundingBenchmark, Layout\n"
        f"{OWN[base]}\n"
        "    folder = 'own'\n"
        "    def read_rows(self):\n"
        "        for number in range(15):\n"
        "            text = f'How many {number}?'\n"
        "            yield {'image_path': f'{number // 3}.png', 'topic': 'abc'[number % 3],\n"
        "                   'question': text, 'instruction': text,\n"
        "                   'target': {'boxes': [[1, 1, 9, 9]]}}\n",
        "own_rows",
    )
    stage.data = {"Own": {"benchmark": "own_rows.Own"}}
    assert stage.run("--limit", "6", "--no-report").code == 0
    topics = Counter(answer["line"]["topic"] for answer in stage.answers("Own"))
    assert topics == {"a": 2, "b": 2, "c": 2}


@pytest.fixture(scope="module")
def server():
    with MockServer() as running:
        yield running


@pytest.fixture
def demo(server, tmp_path):
    """The sample data, nothing run yet."""
    env = {"LMUData": str(PROJECT / "sample_data")}
    return Stage(tmp_path, server, {"m": API}, env=env)


def test_a_few_samples_are_on_as_many_images_as_they_can():
    groups = [("web", split) for _ in range(3) for split in ("easy", "medium", "hard")]
    images = [number // 3 for number in range(9)]  # three questions on each
    turns = limit_ranks(groups, images)
    assert {image for image, turn in zip(images, turns, strict=True) if turn < 3} == {0, 1, 2}


def test_a_limit_is_spread_asked_in_file_order_and_repeats_nothing_of_a_smaller_one(demo):
    three, six = (demo.run("--limit", n, "--no-report") for n in ("3", "6"))
    assert (three.code, len(three.requests), len(six.requests)) == (0, 6, 6)
    for dataset, column in ((L1, "difficulty"), (L2, "grounding_type")):
        rows = demo.sheet(dataset, "_partial")
        assert {row["platform"] for row in rows} == set(PLATFORMS)
        assert len({row[column] for row in rows}) > 1
        assert [row["index"] for row in rows] == sorted(row["index"] for row in rows)


def test_scoring_with_a_limit_takes_the_samples_that_a_run_with_it_would(demo):
    demo.run("--limit", "4", "--no-report")
    scored_indices = [row["index"] for row in demo.sheet(L2, "_partial")]
    demo.run("--no-report")
    demo.run("--mode", "eval", "--limit", "4", "--no-report")
    assert [row["index"] for row in demo.sheet(L2, "_partial")] == scored_indices


@pytest.mark.parametrize(
    "part",
    [
        ["--only", "platform=os_web"],
        ["--set", "data.L1.mode=hard", "--set", "data.L2.mode=advanced"],
    ],
)
def test_scoring_few_samples_of_a_part_takes_those_that_a_run_on_it_would(demo, part):
    def texts():
        rows = demo.sheet(L1, "_partial") + demo.sheet(L2, "_partial")
        return [(row["image_path"], row.get("question", row.get("instruction"))) for row in rows]

    assert demo.run("--no-report").code == 0
    limited = ["--limit", "4", "--no-report", *part]
    demo.run("--mode", "eval", *limited)
    scored = texts()
    demo.run(*limited)
    assert texts() == scored

"""Which sample a row answers, and what is said of rows that answer none, or several at once."""

import pytest

from tests.exchange.answers_here import (
    RIGHT,
    WRONG,
    counts_of,
    import_folder,
    imported,
    plain_rows,
    write_lines,
)
from utils.contracts import Sample
from utils.coordinates import Frame
from utils.exchange.answers import Answer
from utils.exchange.gathering import Gathered
from utils.exchange.matching import MatchedBy, Matcher

WH = (1000, 500)


def sample(key, image, text, box=(10, 10, 20, 20), **line):
    line = {"image_path": image, "instruction": text, "target": {"boxes": [list(box)]}, **line}
    return Sample(key, line, None, WH)


TABLE = [
    sample("a", "mac/one.png", "Open the menu", id="m_1"),
    sample("b", "mac/one.png", "Close it", (30, 10, 40, 20), id="m_2"),
    sample("c", "mac/two.png", "Open the menu", (50, 10, 60, 20), id="m_3"),
    sample("d", "mac/two.png", "Save", (50, 30, 60, 40), id="m_4"),
    sample("e", "mac/two.png", "Save", (50, 30, 60, 40), id="m_5"),
]


@pytest.mark.parametrize(
    ("answer", "key", "step"),
    [
        ({"ids": ("m_2",)}, "b", MatchedBy.ID),
        ({"ids": ("m_2",), "image": "x\\mac\\one.png"}, "b", MatchedBy.ID),
        ({"ids": ("m_2",), "image": "two.png"}, None, None),  # the image contradicts the id
        ({"image": "data/one.png", "instruction": " Close  it "}, "b", MatchedBy.IMAGE),
        ({"image": "one.png", "instruction": "Please do: Close it."}, "b", MatchedBy.IMAGE),
        ({"image": "one.png", "box": (30.4, 10, 40, 20)}, "b", MatchedBy.IMAGE_BOX),
        ({"image": "other.png", "instruction": "Save", "box": (50, 30, 60, 40)}, None, None),
        ({"instruction": "Close it"}, "b", MatchedBy.QUESTION),
        ({"instruction": "Open the menu"}, None, None),  # stands twice
        ({"instruction": "Open the menu", "box": (50, 10, 60, 21)}, "c", MatchedBy.QUESTION_BOX),
        ({"instruction": "Open the menu", "box": (50, 10, 60, 25)}, None, None),
        ({"prompt": "You see a screen.\nInstruction: Close it\nAnswer."}, "b", MatchedBy.QUESTION),
        ({"place": 1}, "c", MatchedBy.ORDER),
        ({"place": 7, "instruction": "Close it"}, "b", MatchedBy.QUESTION),
    ],
)
def test_a_row_finds_its_sample_by_the_first_key_that_nothing_contradicts(answer, key, step):
    match = Matcher(TABLE, order=["m_1", "m_3"]).find(Answer(line=1, **answer))
    assert (match and match.samples[0].key, match and match.step) == (key, step)


@pytest.mark.parametrize(
    ("answer", "key"),
    [
        (
            {"ids": ("m_7",), "image": "three.png", "instruction": "Set an alarm \u00b7 step 2: "},
            "g",
        ),
        ({"ids": ("m_7",), "instruction": "Set an alarm \u00b7 step 2: "}, "g"),
        ({"image": "three.png", "instruction": "Set an alarm"}, None),  # to which of the two?
    ],
)
def test_samples_without_an_instruction_are_known_by_their_ids(answer, key):
    table = [sample("f", "three.png", "", id="m_6"), sample("g", "three.png", "", id="m_7")]
    match = Matcher([*TABLE, *table]).find(Answer(line=1, **answer))
    assert (match and match.samples[0].key) == key
    assert match is None or not match.is_asked_otherwise


def test_equal_rows_of_a_table_take_one_answer_each_in_file_order():
    gathered = Gathered(Matcher(TABLE))
    rows = [Answer(line=n, image="two.png", instruction="Save", reply=str(n)) for n in (1, 2, 3)]
    gathered.add_all(rows)
    replies = {key: answer.reply for (key, _), answer in gathered.answers.items()}
    assert replies == {"d": "1", "e": "2"}
    assert gathered.counts["answered otherwise"] == 1


def test_an_error_gives_way_to_an_answer_whichever_comes_first():
    gathered = Gathered(Matcher(TABLE))
    failed = Answer(line=1, ids=("m_1",), reply="", error="timeout")
    answered = Answer(line=2, ids=("m_1",), reply="x")
    gathered.add_all([failed, answered])
    gathered.add_all(
        [Answer(line=3, ids=("m_2",), reply="y"), Answer(line=4, ids=("m_2",), reply="", error="e")]
    )
    assert [answer.reply for answer in gathered.answers.values()] == ["x", "y"]
    assert gathered.counts["failed beside an answer"] == 2
    assert gathered.counts["answered otherwise"] == 0


@pytest.mark.parametrize(
    ("place", "advice"), [(0, "Add --import-order FILE"), (None, "a row needs an id, or an image")]
)
def test_rows_that_fit_several_samples_are_left_out_and_the_line_says_what_is_missing(
    place, advice
):
    gathered = Gathered(Matcher(TABLE))
    gathered.add_all([Answer(line=1, place=place, instruction="Open the menu", reply="r")])
    gathered.finish()
    assert (gathered.counts["ambiguous"], gathered.counts["matched"]) == (1, 0)
    assert advice in "\n".join(gathered.lines())


@pytest.mark.parametrize(
    ("points", "frame", "has_frame", "are_fractions"),
    [
        ([(0.5, 0.25), (0.1, 1.0)], Frame.PIXELS, False, True),
        ([(0.5, 0.25), (0.0, 0.0), (-1.0, -1.0)], Frame.PIXELS, False, True),  # two mean "none"
        ([(0.5, 0.25)] * 39 + [(1.2, 0.5)], Frame.PIXELS, False, True),  # beyond the right edge
        ([(0.5, 0.25), (20.5, 40.0)], Frame.PIXELS, False, False),
        ([(1.0, 1.0), (0.0, 1.0)], Frame.PIXELS, False, False),
        ([(0.5, 0.25)], Frame.PIXELS, True, False),
        ([(0.5, 0.25)], None, False, False),  # that stops the import anyway
    ],
)
def test_points_between_0_and_1_of_a_format_with_pixels_count_as_fractions(
    points, frame, has_frame, are_fractions
):
    table = [sample(f"k{n}", f"{n}.png", "Save") for n in range(len(points))]
    gathered = Gathered(Matcher(table))
    gathered.add_all(
        Answer(line=n, image=f"{n}.png", instruction="Save", point=point, frame=frame)
        for n, point in enumerate(points)
    )
    gathered.finish(has_frame=has_frame)
    frames = {answer.frame for answer in gathered.answers.values() if sum(answer.point) > 0}
    assert frames == {Frame.FRACTIONS if are_fractions else frame}
    assert ("unit of the points" in "\n".join(gathered.lines())) == are_fractions


@pytest.mark.parametrize("check", [("--check",), ()])
def test_points_and_verdicts_of_the_file_are_compared_before_anything_is_written(
    tmp_path, root, check
):
    rows = plain_rows(root, point_px=[1, 1], correct=True)
    rows[0]["correct"] = False
    result = imported(tmp_path, root, write_lines(tmp_path / "a.jsonl", rows), *check)
    assert result.code == 0, result.output
    assert "6 of 6 replies are read as another point than in the file" in result.stdout
    assert "1 of 6 verdicts differ from the file, which has 5 right" in result.stdout
    assert (tmp_path / "outputs").exists() == (not check)


@pytest.mark.parametrize(
    ("body", "code", "line"),
    [
        ('return meta["no_such_key"]', 1, "6 x parse function raised KeyError: 'no_such_key'"),
        ("return None", 0, "6 of 6 replies are unparsed, so the score says little"),
    ],
)
def test_a_check_warns_of_a_parse_function_that_reads_nothing(tmp_path, root, body, code, line):
    (tmp_path / "mine.py").write_text(f"def parse(response, meta):\n    {body}\n")
    file = write_lines(tmp_path / "a.jsonl", plain_rows(root))
    parse = "data.GUIElementGrounding.parse_function=mine.parse"
    result = imported(tmp_path, root, file, "--data", "L2", "--check", "--set", parse)
    assert (result.code, f"warning: GUIElementGrounding: {line}" in result.stdout) == (code, True)


def test_each_finding_is_named_with_its_count(tmp_path, root):
    rows = plain_rows(root)
    rows[0] |= {"bbox": [1, 1, 2, 2], "image_size": [10, 10]}
    rows.append({**rows[1]})
    rows.append({"id": 99, "image": "no.png", "instruction": "nothing", "reply": RIGHT})
    del rows[5]
    rows[2]["reply"] = ""
    rows[3] |= {"reply": "", "error": "HTTP 413"}
    result = imported(tmp_path, root, write_lines(tmp_path / "a.jsonl", [*rows, '{"id": 4, "re']))
    assert result.code == 1
    for line in (
        "7 rows, 5 of 6 samples matched (5 by id)",
        "unknown: 1 row matches no sample, left out",
        "repeated: 1 row repeats another row with the same reply",
        "missing: 1 of 6 samples without a row",
        "other box: 1 row has another box",
        "other image size: 1 row names another size",
        "failed: 1 row has an error and no answer",
        "empty: 1 row has neither a reply nor a point",
        "torn: 1 line of",
        "(line 8), skipped",
    ):
        assert line in result.stdout
    counts = counts_of(import_folder(tmp_path))
    assert (counts["missing"], counts["error"], counts["torn"], counts["right"]) == (1, 1, 1, 3)


def test_two_replies_to_one_sample_stop_the_import_until_one_is_chosen(tmp_path, root):
    rows = plain_rows(root)
    file = write_lines(tmp_path / "a.jsonl", [*rows, {**rows[0], "reply": WRONG}])
    stopped = imported(tmp_path, root, file)
    assert stopped.code == 2
    assert "--duplicates first or --duplicates last" in stopped.stderr
    assert "hit and miss" in stopped.stderr
    assert not (tmp_path / "outputs").exists()
    for which, right in (("first", 6), ("last", 5)):
        name = ("--as", which, "--duplicates", which)
        assert imported(tmp_path, root, file, *name).code == 0
        (folder,) = (tmp_path / "outputs" / which).glob("I*")
        assert counts_of(folder)["right"] == right


def test_rows_that_ask_something_else_stop_the_import(tmp_path, root):
    rows = plain_rows(root)
    rows[0]["instruction"] = "Sing a song"
    file = write_lines(tmp_path / "a.jsonl", rows)
    stopped = imported(tmp_path, root, file)
    assert stopped.code == 2
    assert "1 of 6 rows have another instruction than their sample" in stopped.stderr
    assert imported(tmp_path, root, file, "--anyway").code == 0


def test_more_missing_rows_than_half_leave_no_figure(tmp_path, root):
    file = write_lines(tmp_path / "a.jsonl", plain_rows(root)[:2])
    result = imported(tmp_path, root, file)
    assert "no score: 4 of 6 samples have no answer" in result.stdout
    assert (
        "33.3 % of all samples are right, and 100.0 % of the samples with an answer"
        in result.stdout
    )


def test_a_table_is_told_by_its_rows_and_bare_ids_need_its_name(tmp_path, root):
    bare = [{"id": row["id"], "reply": row["reply"]} for row in plain_rows(root)]
    refused = imported(tmp_path, root, write_lines(tmp_path / "a.jsonl", bare))
    assert refused.code == 2
    assert "say which: --data NAME" in refused.stderr
    other = [{"image": "no.png", "instruction": "x", "reply": "r"}]
    unknown = imported(tmp_path, root, write_lines(tmp_path / "b.jsonl", other))
    assert "too few belong to one data set" in unknown.stderr


def test_nothing_is_written_by_a_check(tmp_path, root):
    file = write_lines(tmp_path / "a.jsonl", plain_rows(root))
    result = imported(tmp_path, root, file, "--check")
    assert result.code == 0
    assert "6 of 6 samples matched" in result.stdout
    assert not (tmp_path / "outputs").exists()


def test_rows_that_a_file_assigns_to_another_data_set_are_passed_over(tmp_path, root):
    rows = plain_rows(root, dataset="GUIElementGrounding")
    others = plain_rows(root, dataset="ScreenSpotPro", reply=WRONG)
    file = write_lines(tmp_path / "two.jsonl", [*others, *rows])
    result = imported(tmp_path, root, file, "--data", "GUIElementGrounding")
    assert result.code == 0, result.output
    counts = counts_of(import_folder(tmp_path))
    assert (counts["rows"], counts["right"]) == (6, 6)
    assert "repeated" not in counts


def test_a_name_of_a_data_set_that_nobody_here_knows_changes_nothing(tmp_path, root):
    file = write_lines(tmp_path / "one.jsonl", plain_rows(root, dataset="mmbench-gui"))
    assert imported(tmp_path, root, file, "--data", "GUIElementGrounding").code == 0
    assert counts_of(import_folder(tmp_path))["right"] == 6

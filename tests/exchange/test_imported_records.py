"""What the log of an import has of a row: reply, point, sizes, origin, and why there is no answer."""

from types import SimpleNamespace

import pytest

from utils.contracts import Sample
from utils.coordinates import Frame, point_as_fractions
from utils.exchange.answers import Answer, WorldEpisode
from utils.exchange.gathering import Gathered
from utils.exchange.worlds import WORLDS, WorldResults
from utils.session.imported_records import answer_records, episode_records, points_problem

CHECKSUM = "0123456789abcdef0123"
FILE_WH = (200, 100)
LINE = {"index": 3, "image_path": "a.png"}


def evaluation(frame="", samples=(), form="grounding"):
    """A data set, and what the command line says of its imported points."""
    return SimpleNamespace(
        dataset="Clicks",
        options=SimpleNamespace(frame=frame),
        data=SimpleNamespace(samples=samples),
        benchmark=SimpleNamespace(recipe_form=form),
    )


def sample(key="k", file_wh=FILE_WH):
    return Sample(key, LINE, None, file_wh)


def records(answers, *, frame="", file_wh=FILE_WH, differences=(), repeats=1):
    by_key = {("k", number): answer for number, answer in enumerate(answers, 1) if answer}
    samples = {"k": sample(file_wh=file_wh)}
    return [
        *answer_records(
            evaluation(frame), samples, by_key, dict(differences), CHECKSUM, repeats=repeats
        )
    ]


def record(frame_option="", file_wh=FILE_WH, **row):
    [one] = records([Answer(line=4, **row)], frame=frame_option, file_wh=file_wh)
    return one


def test_a_reply_is_kept_with_the_row_that_it_is_from():
    answer = Answer(line=4, reply="click(1, 2)")
    [one] = records([answer], differences={("k", 1): {"box_px": [1, 2, 3, 4]}})
    assert (one["status"], one["raw"], one["line"]) == ("ok", "click(1, 2)", LINE)
    assert one["origin"] == {"line": 4, "box_px": [1, 2, 3, 4]}
    assert one["fingerprint"] == "import:0123456789abcdef:4"
    assert one["sizes"] == {"file": [200, 100]} and "point" not in one


def test_of_several_files_the_origin_names_the_file_and_the_verdict_that_it_has():
    one = record(reply="x", file="b/c.jsonl", verdict=False)
    assert one["origin"] == {"line": 4, "file": "b/c.jsonl", "verdict": False}
    assert one["fingerprint"] == "import:0123456789abcdef:b/c.jsonl:4"


def test_a_sample_without_a_row_is_missing():
    [one] = records([None])
    assert (one["status"], one["raw"], one["origin"]) == ("missing", None, {})
    assert one["fingerprint"].endswith(":-")


def test_each_repeat_has_a_record_also_where_no_row_answers_it():
    three = records([Answer(line=1, reply="a"), None, Answer(line=2, reply="c")], repeats=3)
    assert [one["key"] for one in three] == ["k", "k+2", "k+3"]
    assert [one["raw"] for one in three] == ["a", None, "c"]
    assert [one["status"] for one in three] == ["ok", "missing", "ok"]


@pytest.mark.parametrize(
    ("row", "status", "raw"),
    [
        ({"error": "timed out"}, "failed", None),
        ({"error": "timed out", "reply": ""}, "failed", None),
        ({"error": "timed out", "reply": "x"}, "ok", "x"),
        ({"error": "timed out", "point": (20, 10)}, "ok", None),
        ({"reply": ""}, "ok", ""),  # the model said nothing
        ({}, "ok", ""),
    ],
)
def test_an_error_counts_where_there_is_no_answer_beside_it(row, status, raw):
    one = record(**row)
    assert (one["status"], one["raw"]) == (status, raw)
    if status == "failed":
        assert one["error"] == {"class": "import", "message": "timed out"}
    else:
        assert "error" not in one


@pytest.mark.parametrize(
    ("row_frame", "frame_option", "point", "stored"),
    [
        (Frame.PIXELS, "", (20, 50), [20, 50]),
        (Frame.PIXELS, "", (1, 1), [0.005, 0.01]),  # else they would be read as fractions
        (Frame.PIXELS, "", (260, 50), [260, 50]),
        (Frame.FRACTIONS, "", (0.5, 0.25), [0.5, 0.25]),
        (Frame.FRACTIONS, "", (1.25, 0.5), [250, 50]),  # beyond the right edge
        (Frame.FRACTIONS, "pixels", (0.5, 0.25), [0.5, 0.25]),  # the file knows better
        (None, "per_mille", (500, 250), [0.5, 0.25]),
        (None, "per_mille", (500, 1500), [100, 150]),
        (None, "fractions", (0.5, 0.25), [0.5, 0.25]),
        (None, "", (20, 50), [20, 50]),
        (Frame.PIXELS, "", (-1, -1), [-1, -1]),  # nothing was clicked
        (Frame.PER_MILLE, "", (-100, 500), [-100, 500]),
    ],
)
def test_a_point_is_stored_in_fractions_or_in_pixels_of_the_image(
    row_frame, frame_option, point, stored
):
    one = record(frame_option, point=point, frame=row_frame)
    assert one["point"] == pytest.approx(stored)
    assert one["raw"] is None


@pytest.mark.parametrize("row_frame", [Frame.PIXELS, None])
@pytest.mark.parametrize(
    ("image_wh", "point", "point_frac"),
    [
        ((100, 50), (50, 25), (0.5, 0.5)),
        ((100, 50), (125, 25), (1.25, 0.5)),  # beyond the right edge
        (None, (50, 25), (0.25, 0.25)),  # sent as it is
    ],
)
def test_pixels_of_the_image_that_was_sent_are_converted(row_frame, image_wh, point, point_frac):
    one = record("pixels_sent", point=point, frame=row_frame, image_wh=image_wh)
    assert point_as_fractions(one["point"], FILE_WH) == pytest.approx(point_frac)


def test_a_point_of_an_image_of_unknown_size_stays_as_it_is():
    one = record("per_mille", None, point=(500, 250), frame=None)
    assert one["point"] == [500, 250] and one["sizes"] == {"file": None}


def test_the_size_of_an_image_is_that_of_the_table_before_that_of_the_file():
    assert record(reply="x", image_wh=(4, 3))["sizes"] == {"file": [200, 100]}
    assert record(file_wh=None, reply="x", image_wh=(4, 3))["sizes"] == {"file": [4, 3]}


def test_a_point_beside_a_reply_is_kept_with_it():
    one = record(reply="click", point=(20, 50))
    assert (one["raw"], one["point"]) == ("click", [20, 50])


def test_what_a_row_says_of_its_request_is_kept():
    one = record(reply="x", usage={"prompt_tokens": 5}, finish_reason="length", seen_wh=(56, 28))
    assert (one["usage"], one["finish_reason"]) == ({"prompt_tokens": 5}, "length")
    assert one["sizes"] == {"file": [200, 100], "sent": None, "seen": [56, 28]}
    assert not {"usage", "finish_reason"} & record(reply="x").keys()


# -- what stands in the way ------------------------------------------------------------------------


def gathered(without_frame=0, **answers):
    by_key = {(key, 1): answer for key, answer in answers.items()}
    return Gathered(SimpleNamespace(), answers=by_key, without_frame=without_frame)


@pytest.mark.parametrize(("frame", "count"), [("", 1), ("pixels", 0)])
def test_points_in_an_unknown_unit_ask_for_it(frame, count):
    problems = points_problem(evaluation(frame), gathered(2), frame)
    assert len(problems) == count
    assert all("Clicks: 2 rows have x and y in an unknown unit" in text for text in problems)


@pytest.mark.parametrize(
    ("table_wh", "row_wh", "form", "is_problem"),
    [
        (None, None, "grounding", True),
        (FILE_WH, None, "grounding", False),
        (None, (4, 3), "grounding", False),
        (None, None, "multiple_choice", False),
    ],
)
def test_images_of_unknown_size_are_a_problem_where_points_are_judged(
    table_wh, row_wh, form, is_problem
):
    samples = [sample(file_wh=table_wh)]
    answer = Answer(line=1, point=(1, 2), image_wh=row_wh)
    problems = points_problem(evaluation(samples=samples, form=form), gathered(k=answer), "")
    assert len(problems) == is_problem
    assert all("size of 1 image is not known, such as a.png" in text for text in problems)


def test_a_sample_without_a_row_has_the_size_of_another_row_about_its_image():
    samples = {key: sample(key, file_wh=None) for key in ("k", "l")}
    answers = {("k", 1): Answer(line=1, reply="x", image_wh=(4, 3))}
    first, missing = answer_records(evaluation(), samples, answers, {}, CHECKSUM, repeats=1)
    assert (missing["status"], first["sizes"]) == ("missing", {"file": [4, 3]})
    assert missing["sizes"] == first["sizes"]
    data = evaluation(samples=[*samples.values()])
    assert points_problem(data, gathered(k=answers["k", 1]), "") == []


# -- episodes --------------------------------------------------------------------------------------


def test_episodes_of_a_world_are_samples_with_their_scores():
    results = WorldResults(
        WORLDS["osworld"],
        [
            WorldEpisode(task="t", domain="d", score="0.5", steps=7, file="d/t/result.txt"),
            WorldEpisode(task="t", domain="d", score=None, number=2, error="it crashed"),
            WorldEpisode(task="u", domain="d", score=None, instruction="Do u."),
        ],
    )
    samples, stored = episode_records(evaluation(), results, CHECKSUM)
    first, second, third = stored
    assert len({one.key for one in samples}) == 3
    assert [one.line["index"] for one in samples] == [0, 1, 2]
    assert (samples[0].line["task"], samples[0].line["steps"]) == ("t", 7)
    assert samples[2].line["instruction"] == "Do u."
    assert (first["status"], first["raw"], first["key"]) == ("ok", "0.5", samples[0].key)
    assert first["fingerprint"] == "import:0123456789abcdef:d/t/result.txt"
    assert (second["status"], second["error"]["message"]) == ("failed", "it crashed")
    assert third["error"] == {"class": "unfinished", "message": "the episode has no result"}
    again, _ = episode_records(evaluation(), results, "another file")
    assert [one.key for one in again] == [one.key for one in samples]

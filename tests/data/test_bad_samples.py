"""Samples that cannot be asked are named and left out; `--strict` stops, `--check` looks closer."""

import pytest
from PIL import Image

from tests.support.stage import API, L1, L2, l2_counts


def missing(stage):
    stage.picture(0).unlink()


def cut_header(stage):
    stage.picture(1).write_bytes(stage.picture(1).read_bytes()[:12])


def line_4(**changed):
    return lambda stage: stage.change_annotations("L2", lambda lines: lines[4].update(changed))


def answer_beyond(stage):
    stage.change_annotations("L1", lambda images: images[2]["groups"][1].update(answer="D"))


BY_LINE = f"{L2}: L2_annotations.json, index 4, os_web/"
box_outside = line_4(bbox=[10, 10, 700, 20])
BAD = [  # what is spoilt, what is said of it, how many samples are left
    (
        missing,
        [
            f"{L1}: os_windows/pic0.png (3 samples): image missing: ",
            f"{L2}: os_windows/pic0.png (2 samples): image missing: ",
            "/offline_images/os_windows/pic0.png\n",
        ],
        6,
        4,
    ),
    (
        cut_header,
        [
            f"{L1}: os_ios/pic1.png (3 samples): image unreadable: ",
            f"{L2}: os_ios/pic1.png (2 samples): image unreadable: ",
            "/offline_images/os_ios/pic1.png",
        ],
        6,
        4,
    ),
    (box_outside, [f"{BY_LINE}pic2.png: box: ", "outside the image of 400x300"], 9, 5),
    (line_4(data_type=["icon"]), [f"{BY_LINE}pic2.png: data_type: ['icon'] is not a string"], 9, 5),
    (
        answer_beyond,
        [
            f"{L1}: L1_annotations.json, question 7, os_web/pic2.png: the answer 'D' is not among "
            "the options A, B, C"
        ],
        8,
        6,
    ),
    (line_4(image_path="a\0b.png"), [f"{BY_LINE}a\\x00b.png: image unreadable: "], 9, 5),
]


@pytest.mark.parametrize(("spoil", "fragments", "l1_left", "l2_left"), BAD)
def test_a_bad_sample_stops_strict_runs_alone(spoil, fragments, l1_left, l2_left, stage):
    spoil(stage)
    problems = 2 if "os_web" not in fragments[0] else 1
    strict = stage.run("--strict")
    assert [fragment for fragment in fragments if fragment not in strict.stderr] == []
    count = f"{problems} problem{'s' * (problems > 1)}"
    assert strict.stderr.rstrip().endswith(f"{count}. Nothing was run.")
    assert (strict.code, strict.requests, stage.work_dir.exists()) == (2, [], False)
    result = stage.run()
    assert [fragment for fragment in fragments if fragment not in result.output] == []
    left_out = [line for line in result.stdout.splitlines() if line.startswith("left out: ")]
    assert [line.isprintable() for line in left_out] == [True] * problems
    assert (result.code, len(result.requests)) == (1, l1_left + l2_left)
    l1, l2 = scores = stage.scores(L1), stage.scores(L2)
    levels = [l1[difficulty] for difficulty in ("easy", "medium", "hard")]
    assert l1["total_sample_num"] == sum(level["level_sample_num"] for level in levels) == l1_left
    assert [level["level_score"] for level in levels] == [1.0, 1.0, 1.0]
    counts = l2_counts(l2)
    assert counts["Total num"] == counts["Correct num"] == l2_left
    assert l2["Average accuracy"] == 100.0
    stage.run("--mode", "eval", env={"LMUData": "/no/such/folder"})
    assert (stage.scores(L1), stage.scores(L2)) == scores


def test_all_bad_samples_of_a_run_are_listed_before_the_first_request(stage):
    for spoil in (missing, cut_header, box_outside, answer_beyond):
        spoil(stage)
    result = stage.run("--limit", "2")
    before_the_run = result.stdout.partition('model "m"')[0]
    assert before_the_run.count("left out: ") == 2 * (1 + 1) + 1 + 1
    assert before_the_run.count("(3 samples)") == before_the_run.count("(2 samples)") == 2
    # The limit counts what can be asked: two samples of each data set.
    assert (result.code, len(result.requests)) == (1, 2 + 1)


def test_a_sample_that_was_mended_is_asked_by_the_next_run_a_link_of_the_users_will_do(stage):
    path = stage.picture(0)
    elsewhere = path.replace(stage.home / "elsewhere.png")
    assert stage.run().code == 1
    path.symlink_to(elsewhere)
    mended = stage.run()
    assert (mended.code, len(mended.requests)) == (0, 3 + 2)
    assert stage.scores(L1)["total_sample_num"] == 9


def test_check_shows_prompts_and_counts_what_would_be_asked(stage):
    result, limited = stage.run("--check"), stage.run("--check", "--limit", "2")
    output_lines = result.stdout.splitlines()
    for what, times in (
        ("[user, image] pic0.png", 2),
        ("[system, text] You are a GUI agent.", 2),
        ("Question: Question 0 easy?", 1),
        ("Click basic target 0.", 1),
    ):
        assert sum(what in line for line in output_lines) == times
    assert ("base64" in result.output, len(result.stdout) < 5000) == (False, True)
    assert {f"{L1}: 9 samples, mode all", f"{L2}: 6 samples, mode all"} <= set(output_lines)
    l1_line = next(line for line in output_lines if line.startswith(f"{L1}: 9 requests to send"))
    assert "9 new" in l1_line and "MB" in l1_line and "0 answers stored already" in l1_line
    assert any(line.startswith(f"{L2}: 6 requests to send") for line in output_lines)
    for dataset in (L1, L2):
        assert f"{dataset}: 2 requests to send" in limited.stdout
    assert (result.code, limited.code, stage.server.requests) == (0, 0, [])
    assert not stage.work_dir.exists()


def test_check_counts_the_answers_that_are_there_and_says_why_others_are_asked_again(stage):
    stage.evaluate({"m": API}, data={L2: {"mode": "basic"}})
    before = {path: path.read_bytes() for path in stage.written()}
    result = stage.evaluate({"m": API}, "--check")
    for expected_text in (
        f"{L1}: 9 requests to send",
        f"{L2}: 3 requests to send (3 new",
        "3 answers stored already",
    ):
        assert expected_text in result.stdout
    assert (result.code, len(stage.server.requests)) == (0, 3)
    changed = {**API, "kwargs": {"system_prompt": "model_default"}}
    result = stage.evaluate({"m": changed}, "--check", data={L2: {"mode": "basic"}})
    assert f"{L2}: 3 requests to send (3 prompt changed" in result.stdout
    assert {path: path.read_bytes() for path in stage.written()} == before


def test_check_names_every_bad_sample_because_it_writes_no_log(stage):
    stage.change_annotations(
        "L2",
        lambda lines: lines.extend(
            {**lines[0], "index": 100 + n, "bbox": [1, 1, 1700, 2]} for n in range(30)
        ),
    )
    result = stage.run("--check")
    assert result.stdout.count("left out: ") == 30
    assert f"{L2}: 6 requests to send" in result.stdout
    assert "30 samples left out, no other problems. No request was sent." in result.stdout
    assert (result.code, "the log has them" in result.stdout, result.requests) == (1, False, [])


def damaged_pixels(stage):
    """Whole by its length, but the head of a block of pixels in its middle is not one."""
    Image.effect_noise((400, 300), 50).save(stage.picture(2))
    data = stage.picture(2).read_bytes()
    block = data.index(b"IDAT", len(data) // 2)
    stage.picture(2).write_bytes(data[:block] + b"\1\2\3\4" + data[block + 4 :])


def a_prompt_function_that_raises(stage):
    stage.module("""
        def prompt(line, dataset):
            if line["platform"] == "os_ios":
                raise KeyError("instruction")
    """)


@pytest.mark.parametrize(
    ("spoil", "entry", "problems", "counted"),
    [
        (damaged_pixels, {}, ["pic2.png: cannot be decoded: ", "1 problem. Nothing was run."], []),
        (
            lambda stage: Image.new("I;16", (400, 300), 700).save(
                stage.picture(1)
            ),  # no JPEG can hold it
            {"kwargs": {"wire_format": "reference"}},
            [f"{L1}, {L2}: 5 samples, the first index 3 on os_ios/pic1.png: "],
            [f"{L1}: 6 requests to send", f"{L2}: 4 requests to send"],
        ),
        (
            a_prompt_function_that_raises,
            {"custom_prompt": {L2: "mymodel.prompt"}},
            [
                f"{L2}: 2 samples, the first index 2 on os_ios/pic1.png: "
                "prompt function raised KeyError: 'instruction'"
            ],
            [f"{L2}: 4 requests to send", "0 answers stored already, 2 with a problem"],
        ),
        (
            lambda stage: (stage.annotations / "L1_annotations.json").unlink(),
            {},
            ["L1_annotations.json: no such annotation file"],
            [],
        ),
    ],
)
def test_check_finds_what_would_fail_samples_or_stop_a_run(spoil, entry, problems, counted, stage):
    spoil(stage)
    result = stage.evaluate({"m": {**API, **entry}}, "--check")
    assert [text for text in problems if result.stderr.count(text) != 1] == [], result.stderr
    assert [text for text in counted if text not in result.stdout] == []
    assert "Traceback" not in result.output
    assert "pic1.png: cannot be decoded" not in result.output  # it is another one's
    assert (result.code, stage.server.requests) == (2, [])


def test_a_damaged_picture_that_must_be_encoded_anew_is_its_samples_failure(stage):
    damaged_pixels(stage)
    result = stage.evaluate({"m": {**API, "kwargs": {"img_size": 100}}}, "--retry", "0")
    assert "Traceback" not in result.output and "internal error" not in result.output
    assert "pic2.png: cannot be sent as the settings ask: " in result.output
    assert len(stage.server.requests) == 6 + 4
    assert stage.scores(L1)["total_sample_num"] == 9
    assert result.code == 1

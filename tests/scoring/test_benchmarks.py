"""Loading a data set, its default prompts, judging a reply, and the table for people."""

from __future__ import annotations

import ast
import json
import os
from pathlib import Path

import pytest
from PIL import Image

from benchmarks import BENCHMARK, PLANNED
from benchmarks.base import grouped
from tests.support import runs
from utils.contracts import Generation, Prompt, Sizes, Verdict
from utils.errors import UserError
from utils.functions.signatures import parse_caller

L1, L2 = "GUIContentUnderstanding", "GUIElementGrounding"
WH = (200, 100)
PICTURE = "shot.png"


def question(difficulty="easy", text=None, **changed):
    return {"question": text or f"What is {difficulty}?", "options": {"A": "no", "B": "yes", "C": "so"},
            "answer": "B", "explanation": "because", "difficulty": difficulty, **changed}  # fmt: skip


def image(*groups, **changed):
    return {"index": 7, "image_path": PICTURE, "image_size": list(WH), "platform": "os_web",
            "app_name": "App", "groups": list(groups), **changed}  # fmt: skip


def instruction(**changed):
    return {"index": 0, "image_path": PICTURE, "instruction": "Click it.", "bbox": [0.1, 0.1, 0.5, 0.5],
            "image_size": list(WH), "data_type": "icon", "platform": "os_web", "app_name": "App",
            "grounding_type": "basic", **changed}  # fmt: skip


@pytest.fixture
def data_set(tmp_path):
    """A benchmark on these annotations, with one picture of 200x100 pixels in `os_web/`."""
    root = tmp_path / "offline_images"
    (root / "os_web").mkdir(parents=True)
    Image.new("RGB", WH, "teal").save(root / "os_web" / PICTURE)

    def make(name, *annotations):
        benchmark = BENCHMARK[name](tmp_path, root)
        benchmark.annotation_file.write_text(json.dumps(annotations))
        return benchmark

    return make


# -- loading: modes, rows, keys -------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "expected"), [
    ("all", ["easy", "medium", "hard"]),
    ("easy", ["easy"]),
    ("medium", ["medium"]),
    ("hard", ["hard"]),
])  # fmt: skip
def test_a_mode_of_l1_takes_its_difficulty(data_set, mode, expected):
    benchmark = data_set(L1, image(question("easy"), question("medium"), question("hard")))

    loaded = benchmark.load(mode)

    assert [sample.line["difficulty"] for sample in loaded.samples] == expected


@pytest.mark.parametrize(("mode", "expected"), [
    ("all", ["basic", "advanced", "basic"]),
    ("basic", ["basic", "basic"]),
    ("advanced", ["advanced"]),
])  # fmt: skip
def test_a_mode_of_l2_takes_its_grounding_type(data_set, mode, expected):
    kinds = ("basic", "advanced", "basic")
    benchmark = data_set(L2, *(instruction(grounding_type=kind) for kind in kinds))

    loaded = benchmark.load(mode)

    assert [sample.line["grounding_type"] for sample in loaded.samples] == expected


@pytest.mark.parametrize(("mode", "expected"), [("all", [0, 1, 2, 3]), ("hard", [40, 50])])
def test_mode_all_numbers_questions_through_and_a_difficulty_keeps_the_images_index(
    data_set, mode, expected
):
    two = (question("easy"), question("hard"))
    benchmark = data_set(L1, image(*two, index=40), image(*two, index=50))

    loaded = benchmark.load(mode)

    assert [sample.line["index"] for sample in loaded.samples] == expected


@pytest.mark.parametrize(
    ("mode", "expected"), [("all", "of the image"), ("easy", "of the question")]
)
def test_the_mode_decides_whether_image_or_question_wins_a_column(data_set, mode, expected):
    benchmark = data_set(L1, image(question(app_name="of the question"), app_name="of the image"))

    [sample] = benchmark.load(mode).samples

    assert sample.line["app_name"] == expected


@pytest.mark.parametrize("path", [PICTURE, f"os_web/{PICTURE}"])
def test_an_image_path_may_name_its_platform_or_not(data_set, path):
    [sample] = data_set(L2, instruction(image_path=path)).load("all").samples

    assert sample.line["image_path"] == f"os_web/{PICTURE}"


def test_every_row_has_all_columns(data_set):
    benchmark = data_set(L2, instruction(note="seen"), instruction(instruction="Click other."))

    samples = benchmark.load("all").samples

    assert [sample.line["note"] for sample in samples] == ["seen", None]


def test_a_mode_has_only_the_columns_of_its_own_rows(data_set):
    benchmark = data_set(L1, image(question("easy"), question("hard", hint="look up")))

    [sample] = benchmark.load("easy").samples

    assert "hint" not in sample.line


def test_a_line_keeps_the_types_of_the_data_set(data_set):
    [sample] = data_set(L1, image(question())).load("easy").samples

    assert (sample.line["image_size"], sample.line["options"]["A"]) == ([200, 100], "no")


def test_the_size_comes_from_the_image_file(data_set):
    [sample] = data_set(L2, instruction(image_size=[100, 50])).load("all").samples

    assert sample.file_wh == WH


@pytest.mark.parametrize("mode", ["easy", "medium", "hard"])
def test_the_key_of_a_question_does_not_depend_on_the_mode(data_set, mode):
    benchmark = data_set(L1, image(question("easy"), question("medium"), question("hard")))
    by_difficulty = {s.line["difficulty"]: s.key for s in benchmark.load("all").samples}

    [sample] = benchmark.load(mode).samples

    assert sample.key == by_difficulty[mode]


def test_the_key_of_an_instruction_does_not_depend_on_the_mode(data_set):
    benchmark = data_set(
        L2, instruction(), instruction(instruction="Other.", grounding_type="advanced")
    )
    whole = [sample.key for sample in benchmark.load("all").samples]

    apart = [
        sample.key for mode in ("basic", "advanced") for sample in benchmark.load(mode).samples
    ]

    assert apart == whole


def test_samples_with_the_same_text_and_picture_are_numbered(data_set):
    benchmark = data_set(L2, instruction(), instruction(), instruction())

    first, *others = [sample.key for sample in benchmark.load("all").samples]

    assert others == [f"{first}-2", f"{first}-3"]


def test_numbers_of_equal_samples_are_the_same_in_every_mode(data_set):
    benchmark = data_set(L2, instruction(), instruction(grounding_type="advanced"))
    _, second = benchmark.load("all").samples

    [alone] = benchmark.load("advanced").samples

    assert alone.key == second.key


def test_numbers_of_equal_samples_do_not_shift_when_one_is_bad(data_set):
    good = data_set(L2, instruction(), instruction()).load("all").samples

    bad_first = data_set(L2, instruction(bbox=[0, 0, 9, 999]), instruction()).load("all").samples

    assert [sample.key for sample in bad_first] == [good[1].key]


@pytest.mark.parametrize("changed", [{"image_path": "other.png"}, {"instruction": "Click other."}])
def test_another_picture_or_text_is_another_key(data_set, changed):
    benchmark = data_set(L2, instruction(), instruction(**changed))
    other = benchmark.image_root / "os_web" / "other.png"
    Image.new("RGB", WH).save(other)

    first, second = benchmark.load("all").samples

    assert first.key != second.key


def test_the_key_names_its_data_set(data_set):
    [grounding] = data_set(L2, instruction(instruction="Same?")).load("all").samples
    [understanding] = data_set(L1, image(question(text="Same?"))).load("easy").samples

    assert grounding.key != understanding.key


# -- loading: bad samples and bad files -----------------------------------------------------------


@pytest.mark.parametrize(("changed", "problem"), [
    ({"image_path": "gone.png"}, "image missing"),
    ({"image_path": None}, "image missing"),
    ({"bbox": [0, 0, 201, 100]}, "outside the image"),
    ({"bbox": [0.5, 0.5, -0.2, 1]}, "outside the image"),
    ({"bbox": [0, 0, 1]}, "expected four numbers"),
    ({"bbox": None}, "box is missing"),
    ({"bbox": "[0, 0, 1, 1]"}, "box is missing or no list"),
    ({"instruction": None}, "instruction is missing"),
    ({"grounding_type": "expert"}, "unknown grounding type"),
    ({"grounding_type": None}, "unknown grounding type"),
    ({"platform": None}, "image missing"),
])  # fmt: skip
def test_a_bad_instruction_is_named_and_left_out(data_set, changed, problem):
    benchmark = data_set(L2, instruction(), instruction(index=42, **changed))

    loaded = benchmark.load("all")

    assert [("index 42" in bad.where, problem in bad.problem) for bad in loaded.bad] == [
        (True, True)
    ]


def test_an_unknown_platform_is_named_even_if_its_folder_is_there(data_set):
    benchmark = data_set(L2, instruction(platform="os_beos"))
    (benchmark.image_root / "os_beos").mkdir()
    Image.new("RGB", WH).save(benchmark.image_root / "os_beos" / PICTURE)

    [bad] = benchmark.load("all").bad

    assert "unknown platform 'os_beos'" in bad.problem


@pytest.mark.parametrize(("changed", "problem"), [
    ({"answer": "D"}, "answer 'D' is not among the options A, B, C"),
    ({"answer": None}, "answer None is not among"),
    ({"answer": "b"}, "answer 'b' is not among"),
    ({"options": {"A": "no", "B": None}}, "answer 'B' is not among"),
    ({"options": {}}, "options are missing"),
    ({"options": None}, "options are missing"),
    ({"options": ["no", "yes"]}, "options are missing"),
    ({"options": {"A": "no", "B": "yes", "AB": "both"}}, "single letters A to Z"),
    ({"question": None}, "question is missing"),
    ({"difficulty": "extreme"}, "unknown difficulty"),
])  # fmt: skip
def test_a_bad_question_is_named_and_left_out(data_set, changed, problem):
    good, wrong = question("easy"), {**question("medium"), **changed}
    benchmark = data_set(L1, image(good, wrong))

    loaded = benchmark.load("all")

    assert [(bad.where, problem in bad.problem) for bad in loaded.bad] == [
        ("L1_annotations.json, question 1", True)
    ]


def test_in_a_single_difficulty_a_bad_question_is_named_by_the_index_of_its_image(data_set):
    first, second = image(question("easy")), image(question("easy", answer="D"), index=7)

    [bad] = data_set(L1, first, second).load("easy").bad

    assert str(bad).startswith(f"L1_annotations.json, index 7, os_web/{PICTURE}: the answer 'D'")


def test_samples_on_a_picture_that_is_to_blame_share_one_line_and_others_have_their_own(data_set):
    gone = [instruction(index=n, image_path="gone.png") for n in (1, 4)]
    benchmark = data_set(
        L2, instruction(index=0, bbox=None), gone[0], instruction(index=2, image_path="lost.png"),
        instruction(index=3, platform=None), gone[1], instruction(index=5, bbox=None),
    )  # fmt: skip

    lines = grouped(benchmark.load("all").bad)

    folder = benchmark.image_root / "os_web"
    name = "L2_annotations.json"
    assert lines == [
        f"{name}, index 0, os_web/{PICTURE}: the box is missing or no list: None",
        f"os_web/gone.png (2 samples): image missing: {folder / 'gone.png'}",
        f"{name}, index 2, os_web/lost.png: image missing: {folder / 'lost.png'}",
        f"{name}, index 3: image missing: image_path and platform must be texts",
        f"{name}, index 5, os_web/{PICTURE}: the box is missing or no list: None",
    ]


@pytest.mark.parametrize("name", ["a\0b.png", "a\nb.png", "a\x1b[31mb.png"])
def test_a_picture_name_with_control_characters_is_shown_in_one_harmless_line(data_set, name):
    [line] = grouped(data_set(L2, instruction(image_path=name)).load("all").bad)

    assert line.isprintable()
    assert repr(name)[1:-1] in line


def test_an_unreadable_picture_makes_its_samples_bad(data_set):
    benchmark = data_set(L2, instruction(index=3, image_path="torn.png"))
    (benchmark.image_root / "os_web" / "torn.png").write_bytes(b"\x89PNG\r\n\x1a\nnot a picture")

    [bad] = benchmark.load("all").bad

    assert "image unreadable" in str(bad)


def test_a_folder_in_the_place_of_a_picture_makes_its_samples_bad(data_set):
    benchmark = data_set(L2, instruction(image_path="folder.png"))
    (benchmark.image_root / "os_web" / "folder.png").mkdir()

    loaded = benchmark.load("all")

    assert (len(loaded.samples), len(loaded.bad)) == (0, 1)


def test_bad_samples_do_not_keep_the_good_ones_from_being_asked(data_set):
    benchmark = data_set(
        L2, instruction(bbox=[0, 0, 9, 999]), instruction(index=1), instruction(index=2)
    )

    loaded = benchmark.load("all")

    assert [sample.line["index"] for sample in loaded.samples] == [1, 2]


def test_bad_samples_of_another_mode_are_not_named(data_set):
    benchmark = data_set(L2, instruction(), instruction(grounding_type="advanced", bbox=None))

    assert benchmark.load("basic").bad == []


@pytest.mark.parametrize("bbox", [
    [0.3, 0.3, 0.3, 0.3],   # zero size
    [0.5, 0.5, 0.2, 0.2],   # crossed
    [-1, 0.2, 0.5, 0.5],    # -1 is 0
    [-1, -1, 200, 100],
    [0, 0, 200, 100],
])  # fmt: skip
def test_an_odd_but_legal_box_is_asked(data_set, bbox):
    loaded = data_set(L2, instruction(bbox=bbox)).load("all")

    assert (len(loaded.samples), loaded.bad) == (1, [])


def test_an_option_without_text_is_legal_if_it_is_not_the_answer(data_set):
    options = {"A": "no", "B": "yes", "C": None}

    loaded = data_set(L1, image(question(options=options))).load("all")

    assert (len(loaded.samples), loaded.bad) == (1, [])


@pytest.mark.parametrize(("content", "message"), [
    (None, "no such annotation file.*python utils/download.py"),
    (b"[{]", "broken JSON at line 1, column 3"),
    (b"[\n{},\n,", "broken JSON at line 3, column 1"),
    (b"[{},\n]", "broken JSON at line 2"),
    (b"[{}\n{}]", "broken JSON at line 2, column 1"),
    (b"[{},\n{}", "broken JSON at line 2"),
    (b"[{}]\n]", "broken JSON at line 2, column 1"),
    (b"{}", "expected a list"),
    (b"[]", "at least one"),
    (b"[{}, 5]", "entry 1 is no object"),
    (b"\xff\xfe[", "cannot be read"),
])  # fmt: skip
def test_a_broken_annotation_file_is_one_error_of_the_run(tmp_path, content, message):
    benchmark = BENCHMARK[L2](tmp_path, tmp_path)
    if content is not None:
        benchmark.annotation_file.write_bytes(content)

    with pytest.raises(UserError, match=message):
        benchmark.load("all")


@pytest.mark.parametrize(("name", "annotation"), [
    (L1, image(question(), groups="three")),
    (L1, image(question(), groups=[5])),
    (L1, image(question(), groups={"easy": question()})),
    (L2, instruction(image_size="big")),
    (L2, instruction(image_path=["a"])),
    (L2, instruction(platform=["os_web"])),
    (L2, instruction(grounding_type=["basic"])),
    (L1, image(question(), platform=["os_web"])),
    (L1, image(question(difficulty=["easy"]))),
    (L1, image(question(answer=["A"]))),
])  # fmt: skip
def test_an_annotation_of_another_shape_is_named_not_a_crash(data_set, name, annotation):
    benchmark = data_set(name, annotation)

    try:
        loaded = benchmark.load("all")
    except UserError:
        return  # a broken file as a whole
    assert len(loaded.samples) + len(loaded.bad) == 1


def test_levels_that_come_later_are_known_by_name():
    assert set(PLANNED) == {"GUITaskAutomation", "GUITaskCollaboration"}


# -- default prompts ------------------------------------------------------------------------------


def test_the_default_prompt_is_system_picture_question(data_set):
    benchmark = data_set(L2, instruction())
    [sample] = benchmark.load("all").samples

    messages = benchmark.build_prompt(sample.line)

    assert [(m["role"], m["type"]) for m in messages] == [
        ("system", "text"), ("user", "image"), ("user", "text"),
    ]  # fmt: skip


def test_a_question_is_asked_with_hint_and_the_options_that_have_a_text(data_set):
    options = {"B": "yes", "A": "no", "C": None}
    benchmark = data_set(L1, image(question(text="Is it?", options=options, hint="Look up.")))
    [sample] = benchmark.load("all").samples

    text = benchmark.build_prompt(sample.line)[-1]["value"]

    assert text == (
        "Hint: Look up.\nQuestion: Is it?\nOptions:\nA. no\nB. yes\n"
        "Please select the correct answer from the options above. \n"
    )


def test_a_template_from_the_environment_replaces_only_the_instruction(data_set, monkeypatch):
    benchmark = data_set(L2, instruction(instruction="Press {x}"))
    monkeypatch.setenv("L2_USER_PROMPT", "{a} {instruction} {{}}")
    [sample] = benchmark.load("all").samples

    text = benchmark.build_prompt(sample.line)[-1]["value"]

    assert text == "{a} Press {x} {{}}"


@pytest.mark.parametrize(
    ("template", "warned"), [("Where?", True), ("Where is {instruction}?", False)]
)
def test_a_template_that_lacks_the_instruction_is_used_with_a_warning(tmp_path, template, warned):
    env = {"LMUData": str(runs.make_data(tmp_path / "data")), "L2_USER_PROMPT": template}
    model = {"m": runs.api_model("http://127.0.0.1:9/v1")}
    config = runs.write_config(tmp_path / "c.json", model=model)

    checked = runs.evaluate("--config", config, "--check", cwd=tmp_path, env=env)

    warnings = [line for line in checked.output.splitlines() if line.lower().startswith("warning")]
    assert any("L2_USER_PROMPT" in line for line in warnings) is warned


def test_an_episode_of_l1_and_l2_asks_once(data_set):
    benchmark = data_set(L2, instruction())
    [sample] = benchmark.load("all").samples
    episode = benchmark.episode(sample, lambda line: Prompt(benchmark.build_prompt(line)))
    next(episode)

    with pytest.raises(StopIteration):
        episode.send(Generation(text="(0.5, 0.5)"))


# -- judging --------------------------------------------------------------------------------------


def outcomes(judgements):
    return [judgement.counted for judgement in judgements]


def judge(benchmark, reply, parse=None, *, sizes=None, extra=None, **changed):
    line = {**(instruction(image_path=f"os_web/{PICTURE}") if benchmark.level == "L2" else
               {**image(), **question(), "image_path": f"os_web/{PICTURE}"}), **changed}  # fmt: skip
    caller = parse_caller(parse) if parse else benchmark.default_parse
    return benchmark.judge(line, sizes or Sizes(file_wh=WH), reply, caller, extra or {})


@pytest.fixture
def l1():
    return BENCHMARK[L1](Path("unused"), Path("unused"))


@pytest.fixture
def l2():
    return BENCHMARK[L2](Path("unused"), Path("unused"))


@pytest.mark.parametrize(("reply", "verdict"), [
    ("B.", Verdict.HIT),
    ("A.", Verdict.MISS),
    ("F.", Verdict.MISS),      # a letter beyond the options is a miss, not a format error
    ("???", Verdict.UNPARSED),
    ("", Verdict.UNPARSED),
    (None, None),              # no answer: no verdict
])  # fmt: skip
def test_a_reply_to_a_question_is_judged(l1, reply, verdict):
    assert judge(l1, reply).verdict is verdict


@pytest.mark.parametrize(("reply", "log"), [
    ("B", "Match Log: Parsed option is B and groundtruth option is B."),
    ("C", "Match Log: Parsed option is C while groundtruth option is B."),
    ("?", "Match Log: Parsed option is None while groundtruth option is B."),
])  # fmt: skip
def test_a_judged_question_says_what_was_matched(l1, reply, log):
    assert judge(l1, reply).columns["log"] == log


def test_options_without_text_count_in_the_number_of_options(l1):
    options = {"A": "no", "B": "yes", "C": None}

    assert judge(l1, "B", options=options).columns["options_num"] == 3


@pytest.mark.parametrize(("reply", "verdict"), [
    ("(0.3, 0.3)", Verdict.HIT),      # fractions
    ("(60, 30)", Verdict.HIT),        # pixels of the image file
    ("(300, 300)", Verdict.MISS),     # per mille is not guessed
    ("nothing", Verdict.UNPARSED),
    (None, None),
])  # fmt: skip
def test_a_click_is_judged_in_the_frame_that_its_numbers_declare(l2, reply, verdict):
    assert judge(l2, reply).verdict is verdict


def test_pixels_are_those_of_the_image_file_not_of_the_annotated_or_the_sent_size(l2):
    sizes = Sizes(file_wh=(2000, 1000), sent_wh=(20, 10), seen_wh=(28, 28))

    judged = judge(l2, "(600, 300)", sizes=sizes, image_size=[200, 100])

    assert judged.columns["pred_bbox"] == [0.3, 0.3]


def test_a_crossed_box_is_never_hit(l2):
    assert judge(l2, "(0.3, 0.3)", bbox=[0.5, 0.5, 0.1, 0.1]).verdict is Verdict.MISS


def test_a_judged_click_has_the_documented_columns(l2):
    assert list(judge(l2, "(0.3, 0.3)").columns) == [
        "img_path", "instruction", "bbox", "parsed_bbox(format:x1,y1,x2,y2)", "type", "app_name",
        "platform", "match", "is_wrong_format", "pred_bbox", "grounding_type", "index",
    ]  # fmt: skip


@pytest.mark.parametrize(("level", "nonsense"), [
    ("l2", 5), ("l2", "0.5"), ("l2", "ab"), ("l2", (0.5,)), ("l2", (0.1, 0.2, 0.3)), ("l2", (None, 1)),
    ("l2", (float("nan"), 0.5)), ("l2", {"x": 1, "y": 2}), ("l2", "12"), ("l2", {0.1, 0.2}), ("l2", (10**400, 1)),
    ("l1", 5), ("l1", ["B"]), ("l1", float("nan")), ("l1", True),
])  # fmt: skip
def test_a_parse_function_that_returns_nonsense_is_a_format_error(request, level, nonsense):
    judged = judge(request.getfixturevalue(level), "reply", lambda response, meta: nonsense)

    assert (judged.verdict, judged.error is not None) == (Verdict.UNPARSED, True)


@pytest.mark.parametrize("level", ["l1", "l2"])
@pytest.mark.parametrize(
    "raised", [ValueError("bad"), KeyError("x"), SystemExit(3), RecursionError()]
)
def test_a_parse_function_that_raises_is_a_format_error(request, level, raised):
    def parse(response, meta):
        raise raised

    judged = judge(request.getfixturevalue(level), "reply", parse)

    assert (judged.verdict, judged.error.stage) == (Verdict.UNPARSED, "parse")


def test_the_error_of_a_parse_function_shows_where_it_was_raised(l2):
    def parse_badly(response, meta):
        return meta["no such column"]

    assert "parse_badly" in judge(l2, "reply", parse_badly).error.trace


def test_an_unanswered_sample_is_never_parsed(l2):
    asked = []

    judge(l2, None, lambda response, meta: asked.append(response))

    assert asked == []


@pytest.mark.parametrize(("level", "column", "value"), [
    ("l2", "image_size", [200, 100]),
    ("l1", "image_size", [200, 100]),
    ("l1", "options", {"A": "no", "B": "yes", "C": "so"}),
])  # fmt: skip
def test_meta_has_sizes_and_options_as_text(request, level, column, value):
    seen = []
    judge(request.getfixturevalue(level), "reply", lambda response, meta: seen.append(meta[column]))

    [text] = seen

    assert (type(text), ast.literal_eval(text)) == (str, value)


@pytest.mark.parametrize("column", ["sent_size", "seen_size"])
@pytest.mark.parametrize("size", [[56, 28], (56, 28)])
def test_meta_has_the_sizes_that_are_known_as_text(l2, column, size):
    seen = []

    judge(l2, "reply", lambda response, meta: seen.append(meta[column]), extra={column: size})

    assert seen == ["[56, 28]"]


@pytest.mark.parametrize("column", ["sent_size", "seen_size"])
def test_meta_lacks_sizes_that_are_not_known(l2, column):
    seen = []

    judge(l2, "reply", lambda response, meta: seen.append(meta.get(column)))

    assert seen == [None]


def test_meta_has_the_pixel_limits_as_they_are(l2):
    seen = []

    judge(
        l2, "reply", lambda response, meta: seen.append(meta["max_pixels"]), extra={"max_pixels": 9}
    )

    assert seen == [9]


def test_a_parse_function_that_scribbles_on_meta_changes_no_sample(l2):
    line = instruction(image_path=f"os_web/{PICTURE}")

    def scribble(response, meta):
        meta["bbox"][:] = [0, 0, 1, 1]
        return 0.9, 0.9

    judged = l2.judge(line, Sizes(file_wh=WH), "reply", scribble, {})

    assert judged.verdict is Verdict.MISS


@pytest.mark.parametrize("parse", [
    lambda response: (0.3, 0.3),
    lambda response, meta: (0.3, 0.3),
    lambda response, meta=None: [0.3, 0.3],
    lambda text, *, meta: (0.3, 0.3),
])  # fmt: skip
def test_a_parse_function_may_take_the_reply_alone_or_meta_too(l2, parse):
    assert judge(l2, "reply", parse).verdict is Verdict.HIT


@pytest.mark.parametrize("point", [(float("inf"), 0.3), (-float("inf"), 0.3), (1e308, 1e308)])
def test_a_point_beyond_all_pictures_is_a_miss(l2, point):
    assert judge(l2, "reply", lambda response, meta: point).verdict is Verdict.MISS


# -- scores and tables ----------------------------------------------------------------------------


def test_a_failed_request_counts_as_a_format_error_of_l2(l2):
    scores = l2.summarise(outcomes([judge(l2, None), judge(l2, "(0.3, 0.3)")]), {})

    block = scores["basic"]["os_web"]
    assert (block["Total num"], block["Error format num"], block["Total accuracy"]) == (2, 1, 50.0)


def test_a_failed_request_counts_as_a_miss_of_l1(l1):
    scores = l1.summarise(outcomes([judge(l1, None), judge(l1, "B")]), {})

    assert scores["easy"]["os_web"] == {"score": 0.5, "sample_num": 2}


@pytest.mark.parametrize(("setting", "weighted"), [
    ("1", True), ("true", True), ("True", True), (" TRUE ", True),
    ("", False), ("0", False), ("false", False), ("no", False),
])  # fmt: skip
def test_l1_is_weighted_only_where_the_setting_says_so(l1, setting, weighted):
    scores = l1.summarise(outcomes([judge(l1, "B")]), {"L1_USE_WEIGHTED": setting})

    assert ("score_weighted" in scores["easy"]["os_web"]) is weighted


def test_the_weighting_is_not_read_from_the_process_environment(l1, monkeypatch):
    monkeypatch.setitem(os.environ, "L1_USE_WEIGHTED", "1")

    scores = l1.summarise(outcomes([judge(l1, "B")]), {})

    assert "score_weighted" not in scores["easy"]["os_web"]


def test_one_mode_of_l2_leaves_the_other_accuracy_null(l2):
    scores = l2.summarise(outcomes([judge(l2, "(0.3, 0.3)", grounding_type="advanced")]), {})

    assert [scores["Basic accuracy"], scores["Average accuracy"]] == [None, 100.0]

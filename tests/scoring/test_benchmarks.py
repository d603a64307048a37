"""Loading a data set, its default prompts, judging a reply, and the scores."""

import ast
import json
from pathlib import Path

import pytest
from PIL import Image

from benchmarks import BENCHMARK, LEVELS
from benchmarks.base import fill, grouped
from benchmarks.circular import Circular
from tests.support.stage import L1, L2, NOBODY, Stage
from utils import coordinates
from utils.contracts import DataSet, Sizes, Verdict
from utils.errors import UserError
from utils.functions.signatures import parse_caller
from utils.geometry.targets import DECLINED

WH = (200, 100)
PICTURE = "shot.png"


def question(difficulty="easy", text=None, **changed):
    return {
        "question": text or f"What is {difficulty}?",
        "options": {"A": "no", "B": "yes", "C": "so"},
        "answer": "B",
        "explanation": "because",
        "difficulty": difficulty,
        **changed,
    }


def image(*groups, **changed):
    return {
        "index": 7,
        "image_path": PICTURE,
        "image_size": list(WH),
        "platform": "os_web",
        "app_name": "App",
        "groups": list(groups),
        **changed,
    }


def instruction(**changed):
    return {
        "index": 0,
        "image_path": PICTURE,
        "instruction": "Click it.",
        "bbox": [0.1, 0.1, 0.5, 0.5],
        "image_size": list(WH),
        "data_type": "icon",
        "platform": "os_web",
        "app_name": "App",
        "grounding_type": "basic",
        **changed,
    }


def test_each_benchmark_stands_in_the_table_under_its_own_name():
    assert {name: benchmark.name for name, benchmark in BENCHMARK.items()} == {
        name: name for name in BENCHMARK
    }
    short = {BENCHMARK[name].level: name for name in LEVELS.values()}
    assert short == LEVELS


THREE = image(question("easy"), question("medium"), question("hard"))


@pytest.fixture
def annotated(tmp_path):
    """A benchmark on these annotations, with images of 200x100 pixels, and things that are none."""
    root = tmp_path / "offline_images"
    for path in (f"os_web/{PICTURE}", "os_web/other.png", f"os_beos/{PICTURE}"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", WH, "teal").save(root / path)
    (root / "os_web" / "torn.png").write_bytes(b"\x89PNG\r\n\x1a\nnot an image")
    (root / "os_web" / "folder.png").mkdir()

    def make(name, *annotations):
        benchmark = BENCHMARK[name](tmp_path, root)
        benchmark.annotation_file.write_text(json.dumps(annotations))
        return benchmark

    return make


@pytest.mark.parametrize(
    ("name", "annotation", "mode", "column", "expected"),
    [
        (L2, instruction(image_path=PICTURE), "all", "image_path", f"os_web/{PICTURE}"),
        (L2, instruction(image_path=f"os_web/{PICTURE}"), "all", "image_path", f"os_web/{PICTURE}"),
        # all columns of the rows of its own mode, not of others
        (L1, image(question("easy"), question("hard", hint="look up")), "easy", "hint", "absent"),
    ],
)
def test_the_columns_of_a_sample(annotated, name, annotation, mode, column, expected):
    """`tests/conformance` has the rows of all modes."""
    [sample], _ = annotated(name, annotation).load(mode)
    assert sample.line.get(column, "absent") == expected


@pytest.mark.parametrize(
    ("name", "annotations", "modes"),
    [
        (L1, [THREE], ["easy", "medium", "hard"]),
        (
            L2,
            [instruction(), instruction(instruction="Other.", grounding_type="advanced")],
            ["basic", "advanced"],
        ),
        (
            L2,
            [instruction(), instruction(grounding_type="advanced")],
            ["basic", "advanced"],
        ),  # equal ones
    ],
)
def test_the_key_of_a_sample_does_not_depend_on_the_mode(annotated, name, annotations, modes):
    benchmark = annotated(name, *annotations)
    keys_of_all = [sample.key for sample in benchmark.load("all")[0]]
    assert [sample.key for mode in modes for sample in benchmark.load(mode)[0]] == keys_of_all


def test_keys_are_of_image_text_and_data_set_and_equal_ones_are_numbered(annotated):
    def keys(name, *annotations):
        return [sample.key for sample in annotated(name, *annotations).load("all")[0]]

    same = instruction()
    [first, *others] = keys(L2, same, same, same)
    assert others == [f"{first}-2", f"{first}-3"]
    assert keys(L2, instruction(bbox=None), same) == [f"{first}-2"]  # after a bad one
    others = instruction(image_path="other.png"), instruction(instruction="Click other.")
    different = keys(L2, *others) + keys(L1, image(question(text="Click it.")))
    assert len({first, *different}) == 4


@pytest.mark.parametrize(
    ("name", "changed", "problem"),
    [
        *(
            (L2, *row)
            for row in [
                *(({"image_path": path}, "image missing") for path in ("gone.png", None, ["a"])),
                ({"image_path": "../../secret.png"}, "image_path points outside the image folder"),
                (
                    {"platform": "", "image_path": "/etc/hostname"},
                    "image_path points outside the image folder",
                ),
                *(
                    ({"image_path": path}, "image unreadable")
                    for path in ("torn.png", "folder.png")
                ),
                *(
                    ({"bbox": box}, "outside the image")
                    for box in ([0, 0, 201, 100], [0.5, 0.5, -0.2, 1])
                ),
                *(
                    ({"bbox": box}, "expected four numbers")
                    for box in ([0, 0, 1], [0, 0, 1, 10**400])
                ),
                ({"bbox": None}, "box is missing"),
                ({"bbox": "[0, 0, 1, 1]"}, "box is missing or not a list"),
                ({"instruction": None}, "instruction is missing"),
                *(
                    ({"grounding_type": odd_value}, "unknown grounding type")
                    for odd_value in ("expert", None, ["basic"])
                ),
                *(({"platform": odd_value}, "image missing") for odd_value in (None, ["os_web"])),
                (
                    {"platform": "os_beos"},
                    "unknown platform 'os_beos'",
                ),  # even if its folder is there
            ]
        ),
        *(
            (L1, *row)
            for row in [
                ({"answer": "D"}, "answer 'D' is not among the options A, B, C"),
                *(
                    ({"answer": odd_value}, f"answer {odd_value!r} is not among")
                    for odd_value in (None, "b", ["A"])
                ),
                ({"options": {"A": "no", "B": None}}, "answer 'B' is not among"),
                *(
                    ({"options": odd_value}, "options are missing")
                    for odd_value in ({}, None, ["no", "yes"])
                ),
                ({"options": {"A": "no", "B": "yes", "AB": "both"}}, "single letters A to Z"),
                *(
                    (
                        {"options": {"A": odd_value, "B": "yes"}},
                        f"option A is not a string: {odd_value!r}",
                    )
                    for odd_value in (["no"], 5)
                ),
                (
                    {"options": {"A": "no", "B": {"text": "yes"}}},
                    "option B is not a string: {'text': 'yes'}",
                ),
                ({"question": None}, "question is missing"),
                *(
                    ({"difficulty": odd_value}, "unknown difficulty")
                    for odd_value in ("extreme", ["easy"])
                ),
            ]
        ),
    ],
)
def test_a_bad_sample_is_named_and_left_out(annotated, name, changed, problem):
    annotations = {
        L1: [image(question("easy"), {**question("medium"), **changed})],
        L2: [instruction(), instruction(index=42, **changed)],
    }
    samples, [bad] = annotated(name, *annotations[name]).load("all")
    location = {L1: "L1_annotations.json, question 1", L2: "L2_annotations.json, index 42"}
    assert (len(samples), bad.position, problem in bad.problem) == (1, location[name], True), bad


def test_in_one_mode_bad_samples_are_named_by_their_images_index_and_those_of_others_not(annotated):
    first, second = image(question("easy")), image(question("easy", answer="D"), index=7)
    _, [bad] = annotated(L1, first, second).load("easy")
    assert str(bad).startswith(f"L1_annotations.json, index 7, os_web/{PICTURE}: the answer 'D'")
    other = instruction(grounding_type="advanced", bbox=None)
    assert annotated(L2, instruction(), other).load("basic")[1] == []


def test_samples_on_an_image_that_is_to_blame_share_one_line_and_others_have_their_own(annotated):
    gone = [instruction(index=n, image_path="gone.png") for n in (1, 4)]
    benchmark = annotated(
        L2,
        instruction(index=0, bbox=None),
        gone[0],
        instruction(index=2, image_path="lost.png"),
        instruction(index=3, platform=None),
        gone[1],
        instruction(index=5, bbox=None),
    )
    folder, name = benchmark.image_root / "os_web", "L2_annotations.json"
    assert grouped(benchmark.load("all")[1]) == [
        f"{name}, index 0, os_web/{PICTURE}: the box is missing or not a list: None",
        f"os_web/gone.png (2 samples): image missing: {folder / 'gone.png'}",
        f"{name}, index 2, os_web/lost.png: image missing: {folder / 'lost.png'}",
        f"{name}, index 3: image missing: image_path and platform must be strings",
        f"{name}, index 5, os_web/{PICTURE}: the box is missing or not a list: None",
    ]


@pytest.mark.parametrize("name", ["a\0b.png", "a\nb.png", "a\x1b[31mb.png"])
def test_an_image_name_with_control_characters_is_shown_in_one_harmless_line(annotated, name):
    [line] = grouped(annotated(L2, instruction(image_path=name)).load("all")[1])
    assert line.isprintable() and repr(name)[1:-1] in line


@pytest.mark.parametrize(
    ("name", "annotation"),
    [
        *(
            (L2, instruction(bbox=box))
            for box in (
                [0.3, 0.3, 0.3, 0.3],
                [0.5, 0.5, 0.2, 0.2],  # zero size, crossed
                [-1, 0.2, 0.5, 0.5],
                [-1, -1, 200, 100],
                [0, 0, 200, 100],
            )
        ),  # -1 is 0
        (L2, instruction(image_size="big")),
        (L1, image(question(options={"A": "no", "B": "yes", "C": None}))),
    ],
)
def test_what_is_odd_but_legal_is_asked(annotated, name, annotation):
    samples, bad = annotated(name, annotation).load("all")
    assert (len(samples), bad) == (1, [])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        *(
            (L2, *row)
            for row in [
                (None, "no such annotation file.*python utils/download.py"),
                (b"[{]", "line 1 column 3"),
                (b"[\n{},\n,", "line 3 column 1"),
                (b"[{},\n]", "line [12]"),
                (b"[{}\n{}]", "line 2 column 1"),
                (b"[{},\n{}", "line 2"),
                (b"[{}]\n]", "line 2 column 1"),
                (b"{}", "expected a list"),
                (b"[]", "at least one"),
                (b"[{}, 5]", "a list of annotations"),
                (b"\xff\xfe[", "cannot be read"),
                (b"[" * 100_000, "recursion depth"),
                (b'[{"index": ' + b"7" * 5_000 + b"}]", "4300 digits"),
            ]
        ),
        *(
            (
                L1,
                json.dumps([image(groups=groups)]).encode(),
                "entry 0: groups must be a list of questions",
            )
            for groups in (None, "three", [5], {"easy": question()})
        ),
    ],
    ids=repr,
)
def test_a_broken_annotation_file_is_one_error_of_the_run(tmp_path, name, content, message):
    benchmark = BENCHMARK[name](tmp_path, tmp_path)
    if content is not None:
        benchmark.annotation_file.write_bytes(content)
    with pytest.raises(UserError, match=message):
        benchmark.load("all")


def test_options_beyond_f_are_named_where_the_protocols_parser_reads_and_are_not_rotated(annotated):
    seven = {letter: f"text {letter}" for letter in "ABCDEFG"}
    benchmark = annotated(L1, image(question("easy"), question("hard", options=seven)))
    default = DataSet(benchmark, "all", benchmark.default_parse, Circular())
    own_parser = DataSet(benchmark, "all", parse_caller(lambda response: "G"), Circular(True))
    [note] = fill(default, benchmark)
    assert note.startswith("1 questions (index 1) have options beyond F")
    assert fill(own_parser, benchmark) == []
    assert [len(data_set.requested(None)) for data_set in (default, own_parser)] == [3 + 1, 3 + 7]


def test_a_sample_has_the_size_of_its_file_and_a_prompt_of_three_parts(annotated):
    benchmark = annotated(L2, instruction(image_size=[100, 50]))
    [sample], _ = benchmark.load("all")
    messages = benchmark.build_prompt(sample.line)
    assert sample.file_wh == WH
    assert [(m["role"], m["type"]) for m in messages] == [
        ("system", "text"),
        ("user", "image"),
        ("user", "text"),
    ]


def test_a_template_that_lacks_the_instruction_is_used_with_a_warning(tmp_path):
    stage = Stage.make(tmp_path, NOBODY)
    for template, warned in (("Where?", True), ("Where is {instruction}?", False)):
        checked = stage.run("--check", env={"L2_USER_PROMPT": template})
        warnings = [
            line for line in checked.output.lower().splitlines() if line.startswith("warning")
        ]
        assert any("l2_user_prompt" in line for line in warnings) is warned


def judge(name, reply, parse=None, *, sizes=None, extra=None, **changed):
    benchmark = BENCHMARK[name](Path("unused"), Path("unused"))
    line = instruction() if name == L2 else {**image(), **question()}
    caller = parse_caller(parse) if parse else benchmark.default_parse
    line = {**line, "image_path": f"os_web/{PICTURE}", **changed}
    return benchmark.judge(line, sizes or Sizes(file_wh=WH), reply, caller, extra or {})


def scores(name, *judgements, **settings):
    benchmark = BENCHMARK[name](Path("unused"), Path("unused"))
    return benchmark.summarise([judgement.counted for judgement in judgements], settings)


@pytest.mark.parametrize(
    ("name", "reply", "verdict"),
    [
        (L1, "B.", Verdict.HIT),
        (L1, "A.", Verdict.MISS),
        (L1, "F.", Verdict.MISS),  # a letter beyond the options is a miss, not a format error
        (L1, "???", Verdict.UNPARSED),
        (L1, "", Verdict.UNPARSED),
        (L1, None, None),  # no answer: no verdict
        (L2, "(0.3, 0.3)", Verdict.HIT),
        (L2, "(60, 30)", Verdict.HIT),  # fractions, pixels of the file
        (L2, "(300, 300)", Verdict.MISS),  # per mille is not guessed
        (L2, "nothing", Verdict.UNPARSED),
        (L2, None, None),
    ],
)
def test_a_reply_is_judged(name, reply, verdict):
    judged = judge(name, reply)
    assert (judged.verdict, judged.facts["hit"]) == (verdict, int(verdict is Verdict.HIT))


LOG = "Match Log: Parsed option is"
SMALLER = {"bbox": [0.6, 0.4, 0.7, 0.6], "image_size": [100, 50]}
BEYOND = {"pred_bbox": pytest.approx([1.25, 0.5]), "match": 0}


@pytest.mark.parametrize(
    ("name", "reply", "changed", "columns"),
    [
        (L1, "B", {}, {"log": f"{LOG} B and groundtruth option is B."}),
        (L1, "C", {}, {"log": f"{LOG} C while groundtruth option is B."}),
        (L1, "?", {}, {"log": f"{LOG} None while groundtruth option is B."}),
        (
            L1,
            "B",
            {"options": {"A": "no", "B": "yes", "C": None}},
            {"options_num": 3},
        ),  # without text, too
        # pixels are those of the file, not of the annotated, the sent or the seen size
        (
            L2,
            "(600, 300)",
            {
                "sizes": Sizes(file_wh=(2000, 1000), sent_wh=(20, 10), seen_wh=(28, 28)),
                "image_size": [200, 100],
            },
            {"pred_bbox": [0.3, 0.3], "match": 1},
        ),
        # a ready-made function goes by the file's size: by the annotated one the point would be inside
        (L2, "(250, 50)", {"parse": coordinates.parse_pixels, **SMALLER}, BEYOND),
        (L2, "(1250, 500)", {"parse": coordinates.parse_per_mille, **SMALLER}, BEYOND),
        (L2, "(1250, 500)", {"parse": coordinates.parse_letterboxed, **SMALLER}, BEYOND),
    ],
)
def test_columns_of_a_judged_reply(name, reply, changed, columns):
    judged = judge(name, reply, **changed)
    assert {column: judged.columns[column] for column in columns} == columns


def test_a_hit_on_another_kind_than_icon_and_text_counts_nowhere():
    judged = judge(L2, "(0.3, 0.3)", data_type="widget")
    assert (judged.verdict, judged.facts["hit"]) == (Verdict.HIT, 0)
    assert scores(L2, judged)["basic"]["os_web"]["Correct num"] == 0


def scribble(response, meta):
    meta["bbox"][:] = [0, 0, 1, 1]  # of its own copy
    return 0.9, 0.9


@pytest.mark.parametrize(
    ("name", "parse", "verdict"),
    [
        # it may take the reply alone or meta, too
        (L2, lambda response: (0.3, 0.3), Verdict.HIT),
        (L2, lambda response, meta: (0.3, 0.3), Verdict.HIT),
        (L2, lambda response, meta=None: [0.3, 0.3], Verdict.HIT),
        (L2, lambda text, *, meta: (0.3, 0.3), Verdict.HIT),
        (L2, scribble, Verdict.MISS),
        *(
            (L2, lambda response, meta, point=point: point, Verdict.MISS)  # beyond all images
            for point in ((float("inf"), 0.3), (-float("inf"), 0.3), (1e308, 1e308))
        ),
        *(
            (name, lambda response, meta, nonsense=nonsense: nonsense, Verdict.UNPARSED)
            for name, nonsense in [
                (L2, 5),
                (L2, "0.5"),
                (L2, "ab"),
                (L2, (0.5,)),
                (L2, (0.1, 0.2, 0.3)),
                (L2, (None, 1)),
                (L2, (float("nan"), 0.5)),
                (L2, {"x": 1, "y": 2}),
                (L2, "12"),
                (L2, {0.1, 0.2}),
                (L2, (10**400, 1)),
                (L1, 5),
                (L1, ["B"]),
                (L1, float("nan")),
                (L1, True),
            ]
        ),
    ],
)
def test_what_a_parse_function_returns_is_judged_or_a_format_error(name, parse, verdict):
    judged = judge(name, "reply", parse)
    assert (judged.verdict, judged.error is not None) == (verdict, verdict is Verdict.UNPARSED)


@pytest.mark.parametrize(
    ("answer", "is_format_error"), [(DECLINED, True), ((-1, -1), False), ((-0.001, -0.002), False)]
)
def test_that_an_element_is_not_there_is_a_miss_of_l2_and_not_unparsed(answer, is_format_error):
    judged = judge(L2, "reply", lambda response: answer)
    assert (judged.verdict, judged.facts["hit"]) == (Verdict.MISS, 0)
    assert judged.facts["declined"]
    assert judged.columns["is_wrong_format"] is is_format_error
    official = scores(L2, judged)["basic"]["os_web"]
    assert official["Error format num"] == int(is_format_error)
    assert not judge(L2, "reply", lambda response: (0, 0)).facts["declined"]
    assert not judge(L2, "reply", lambda response: None).facts["declined"]


@pytest.mark.parametrize("name", [L1, L2])
@pytest.mark.parametrize(
    "raised", [ValueError("bad"), KeyError("x"), SystemExit(3), RecursionError()]
)
def test_a_parse_function_that_raises_is_a_format_error(name, raised):
    def parse_badly(response, meta):
        raise raised

    judged = judge(name, "reply", parse_badly)
    assert (judged.verdict, judged.error.stage) == (Verdict.UNPARSED, "parse")
    assert "parse_badly" in judged.error.trace


@pytest.mark.parametrize(
    ("name", "extra", "column", "value"),
    [
        (L2, {}, "image_size", "[200, 100]"),
        (L1, {}, "image_size", "[200, 100]"),
        (L1, {}, "options", "{'A': 'no', 'B': 'yes', 'C': 'so'}"),
        (L2, {}, "file_size", "[200, 100]"),
        (L2, {"sent_size": [56, 28]}, "sent_size", "[56, 28]"),
        (L2, {"seen_size": (56, 28)}, "seen_size", "[56, 28]"),
        (L2, {}, "sent_size", None),
        (L2, {}, "seen_size", None),
        (L2, {"max_pixels": 9}, "max_pixels", 9),
    ],
)
def test_meta_has_sizes_and_options_as_text_for_replies_alone(name, extra, column, value):
    metas = []
    for reply in ("reply", None):  # an unanswered sample is never parsed
        judge(name, reply, lambda response, meta: metas.append(meta.get(column)), extra=extra)
    assert metas == [value]
    assert not isinstance(value, str) or ast.literal_eval(value)


@pytest.mark.parametrize(
    ("setting", "weighted"),
    [
        ("1", True),
        ("true", True),
        ("True", True),
        (" TRUE ", True),
        ("", False),
        ("0", False),
        ("false", False),
        ("no", False),
    ],
)
def test_l1_is_weighted_only_where_the_setting_says_so(setting, weighted, monkeypatch):
    monkeypatch.setenv("L1_USE_WEIGHTED", "1")  # not what counts
    weighted_scores = scores(L1, judge(L1, "B"), L1_USE_WEIGHTED=setting)
    assert ("score_weighted" in weighted_scores["easy"]["os_web"]) is weighted


EQUAL_TEXTS = {"A": "Save", "B": "Save ", "C": "Open"}


@pytest.mark.parametrize(
    ("name", "row", "doubt"),
    [
        (L1, {"options": {"A": "no", "B": "yes"}}, None),
        (L1, {"options": {"B": "yes", "C": None}}, "1 question with a single option (index 0)"),
        (L1, {"options": EQUAL_TEXTS}, "1 question with two options of the same text (index 0)"),
        (L1, {"options": {"A": "x", "B": ""}}, "1 question with an empty text as answer (index 0)"),
        (L2, {"bbox": [10, 10, 90, 30]}, None),
        (L2, {"bbox": [-1, 0.5, 90, 30]}, None),
        (L2, {"bbox": [0.5, 0.0, 90, 30]}, None),
        (L2, {"bbox": [0.1, 0.1, 1.0, 1.0]}, None),
        (L2, {"bbox": [0.9, 0.9, 0.1, 0.1]}, "1 box with corners in the wrong order"),
        (L2, {"bbox": [90, 10, 10, 30]}, "1 box with corners in the wrong order"),
        (L2, {"bbox": [0, 0, 1.2, 1.2]}, "1 box with values of fractions beside a value above 1"),
        (L2, {"bbox": [0.1, 0.1, 90, 30]}, "1 box with values of fractions beside a value above 1"),
    ],
)
def test_annotations_that_look_like_mistakes_are_named_and_asked(name, row, doubt, annotated):
    one = image(question("easy", **row)) if name == L1 else instruction(**row)
    benchmark = annotated(name, one)
    data = DataSet(benchmark, "all", benchmark.default_parse)
    notes = [note for note in fill(data, benchmark) if "queried and scored nevertheless" in note]
    assert len(data.samples) == 1
    assert [note.startswith(doubt) for note in notes] == ([True] if doubt else [])

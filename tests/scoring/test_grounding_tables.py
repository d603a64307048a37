"""The tables of grounding beside L2: formats, official rules, and what must not be mixed up."""

import json
from pathlib import Path

import pytest

from benchmarks import BENCHMARK, build_data_set, load_samples
from tests.support import grounding_replay
from tests.support.grounding_replay import PARSE_PLAIN, Replay, replays, run
from utils import PROJECT
from utils.analysis.columns import SampleColumns
from utils.config.read import ConfigSource, read_config
from utils.contracts import Sizes, Verdict
from utils.errors import UserError
from utils.geometry.targets import Target
from utils.store.strict_json import to_json

SAMPLE_DATA = PROJECT / "sample_data"
OFFICIAL = PROJECT.parent / "shared" / "grounding" / "official"
TABLES = (
    "ScreenSpot",
    "ScreenSpotV2",
    "ScreenSpotPro",
    "OSWorldG",
    "UIVision",
    "VenusBenchGD",
    "UII2E",
)
WH = (1000, 500)


def settings_of(**settings):
    return {"mode": "all", "circular": False, **settings}


def data_set(name, **settings):
    return build_data_set(name, settings_of(**settings), parse=None, has_own_parser=False)


def loaded(name, monkeypatch, root=SAMPLE_DATA, **settings):
    """The samples of a data set below a data root."""
    monkeypatch.setenv("LMUData", str(root))
    data = data_set(name, **settings)
    _, problems = load_samples(data)
    assert problems == []
    return data


def judged(benchmark, line, answer, reply="?"):
    """What an answer of the parse function comes to."""
    return benchmark.judge_parsed(line, Sizes(file_wh=WH), benchmark.accept(answer), reply)


def line_of(benchmark, **fields):
    """A line as `read_rows` yields it, by default without a target."""
    labels = dict.fromkeys(benchmark.layout.groupings, "x")
    return (
        {"image_path": "a.png", "instruction": "there", "target": {}, "index": 0} | labels | fields
    )


def write(root, folder, name, rows):
    path = Path(root) / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(rows if isinstance(rows, str) else json.dumps(rows))
    return path


def blank(root, path, wh=WH):
    from PIL import Image

    file = Path(root) / path
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", wh, 255).save(file)


# -- what a target is, by each table's convention ---------------------------------------------


def test_screenspot_boxes_are_corner_width_height(tmp_path, monkeypatch):
    row = {"img_filename": "a.png", "instruction": "i", "data_type": "icon"}
    for platform in ("mobile", "desktop", "web"):
        rows = [{**row, "bbox": [400, 100, 50, 30], "data_source": "shop"}]
        write(tmp_path, "ScreenSpot-v2", f"screenspot_{platform}_v2.json", rows)
    blank(tmp_path, "ScreenSpot-v2/screenspotv2_image/a.png")
    data = loaded("ScreenSpotV2", monkeypatch, tmp_path)
    targets = [sample.line["target"] for sample in data.samples]
    assert targets == [{"boxes": [[400, 100, 450, 130]]}] * 3
    platforms = [sample.line["platform"] for sample in data.samples]
    assert platforms == ["mobile", "desktop", "web"]  # by file, whatever data_source says


def test_ui_vision_swaps_corners_and_screenspot_pro_does_not(tmp_path, monkeypatch):
    inverted = [50, 40, 10, 20]
    pro_row = {"img_filename": "a.png", "bbox": inverted, "instruction": "i", "ui_type": "icon"}
    pro_row |= {"group": "Dev", "application": "a", "platform": "linux", "img_size": WH}
    vision_row = {"image_path": "a.png", "bbox": inverted, "prompt_to_evaluate": "i"}
    vision_row |= {"element_type": "icon", "platform": "GIMP", "image_size": WH}
    write(tmp_path, "ScreenSpot-Pro", "annotations/a_linux.json", [pro_row])
    for split in ("basic", "functional", "spatial"):
        name = f"annotations/element_grounding/element_grounding_{split}.json"
        write(tmp_path, "ui-vision", name, [vision_row])
    blank(tmp_path, "ScreenSpot-Pro/images/a.png")
    blank(tmp_path, "ui-vision/images/a.png")
    verdicts = {}
    for name in ("UIVision", "ScreenSpotPro"):
        data = loaded(name, monkeypatch, tmp_path)
        verdicts[name] = judged(data.benchmark, data.samples[0].line, (30, 30)).verdict
    assert verdicts == {"UIVision": Verdict.HIT, "ScreenSpotPro": Verdict.MISS}


def test_rows_that_stick_out_of_the_image_and_empty_boxes_are_asked(tmp_path, monkeypatch):
    row = {"image_path": "a.png", "image_size": WH, "box_type": "bbox", "GUI_types": ["Icon"]}
    boxes = ([-3, -1, 20, 10], [990, 490, 50, 50], [10, 10, 0, 0])
    rows = [
        {**row, "instruction": str(number), "box_coordinates": box}
        for number, box in enumerate(boxes)
    ]
    write(tmp_path, "OSWorld-G", "OSWorld-G.json", rows)
    blank(tmp_path, "OSWorld-G/images/a.png")
    data = loaded("OSWorldG", monkeypatch, tmp_path)
    assert data.bad == []
    points = [(0, 0), (1005, 505), (10, 10)]
    verdicts = [
        judged(data.benchmark, sample.line, point).verdict
        for sample, point in zip(data.samples, points, strict=True)
    ]
    assert verdicts == [Verdict.HIT] * 3


def test_osworld_boxes_are_corner_width_height_and_its_refusals_are_asked(tmp_path, monkeypatch):
    box = {"box_type": "bbox", "box_coordinates": [400, 100, 50, 30]}
    absent = {"box_type": "refusal", "box_coordinates": [0, 0, 0, 0]}
    row = {"image_path": "a.png", "image_size": WH, "GUI_types": ["Icon"]}
    rows = [{**row, "instruction": "i", **box}, {**row, "instruction": "j", **absent}]
    write(tmp_path, "OSWorld-G", "OSWorld-G.json", rows)
    blank(tmp_path, "OSWorld-G/images/a.png")
    data = loaded("OSWorldG", monkeypatch, tmp_path)
    assert [sample.line["target"] for sample in data.samples] == [
        {"boxes": [[400, 100, 450, 130]]},
        {},
    ]
    assert [sample.line["category"] for sample in data.samples] == [
        ["element_recognition"],
        ["refusal"],
    ]


def test_a_polygon_is_not_its_first_four_numbers(monkeypatch):
    data = loaded("OSWorldG", monkeypatch)
    [sample] = [sample for sample in data.samples if sample.line["box_type"] == "polygon"]
    assert len(sample.line["target"]["polygons"][0]) == 12
    facts = judged(data.benchmark, sample.line, (0.8827, 0.2435)).facts
    assert facts["target"]["polygons"]
    assert facts["box_frac"] is not None


# -- declined, unparsed and failed are three things ---------------------------------------------


@pytest.mark.parametrize(
    ("answer", "target", "verdict", "is_declined"),
    [
        ((-1, -1), {}, Verdict.HIT, True),
        ((-0.5, -2), {}, Verdict.HIT, True),
        ((0, 0), {}, Verdict.MISS, False),
        ((-1, 5), {}, Verdict.MISS, False),
        (None, {}, Verdict.UNPARSED, False),
        ((-1, -1), {"boxes": [[0, 0, 10, 10]]}, Verdict.MISS, True),
        ((0, 0), {"boxes": [[0, 0, 10, 10]]}, Verdict.HIT, False),
    ],
)
def test_only_two_negative_coordinates_decline(answer, target, verdict, is_declined, monkeypatch):
    benchmark = loaded("OSWorldG", monkeypatch).benchmark
    line = line_of(benchmark, target=target, category=["refusal"], box_type="refusal")
    judgement = judged(benchmark, line, answer)
    assert judgement.verdict is verdict
    assert judgement.facts["declined"] == is_declined


def test_a_failed_request_is_neither_unparsed_nor_declined(monkeypatch):
    benchmark = loaded("OSWorldG", monkeypatch).benchmark
    line = line_of(benchmark, category=["refusal"], box_type="refusal")
    judgement = judged(benchmark, line, None, reply=None)
    assert judgement.verdict is None
    scores = benchmark.summarise([judgement.counted], {})
    assert scores["counts"] == {
        "expected": 564,
        "samples": 1,
        "answered": 0,
        "declined": 0,
        "unparsed": 0,
        "failed": 1,
    }


def test_words_of_the_config_decline(monkeypatch):
    benchmark = loaded("OSWorldG", monkeypatch, declined=["Not there"]).benchmark
    line = line_of(benchmark, category=["refusal"], box_type="refusal")
    assert judged(benchmark, line, None, "It is not there.").verdict is Verdict.HIT
    assert judged(benchmark, line, None, "It is nowhere.").verdict is Verdict.UNPARSED


def test_refusals_count_in_the_official_figure_and_are_left_out_beside_it(monkeypatch):
    benchmark = loaded("OSWorldG", monkeypatch).benchmark
    refusal = line_of(benchmark, category=["refusal"], box_type="refusal")
    box = {"boxes": [[0, 0, 10, 10]]}
    hit = line_of(benchmark, target=box, category=["text_matching"], box_type="bbox")
    results = [
        judged(benchmark, refusal, (5, 5)).counted,
        judged(benchmark, hit, (5, 5)).counted,
        judged(benchmark, hit, (500, 400)).counted,
        judged(benchmark, refusal, (-1, -1)).counted,
    ]
    scores = benchmark.summarise(results, {})
    assert scores["accuracy"] == 50
    assert scores["averages"]["without refusals"] == 50
    assert scores["category"]["refusal"]["num_total"] == 2


@pytest.mark.parametrize("name", TABLES)
def test_points_are_not_rounded_and_frames_are_not_guessed(name, monkeypatch):
    benchmark = loaded(name, monkeypatch).benchmark
    box = {"boxes": [[100.25, 100.25, 100.75, 100.75]]}
    line = line_of(benchmark, target=box, category=["text_matching"], box_type="bbox")
    assert judged(benchmark, line, (100.5, 100.5)).verdict is Verdict.HIT
    assert judged(benchmark, line, (100.2, 100.5)).verdict is Verdict.MISS
    thousandths = {"boxes": [[400, 200, 600, 300]]}  # (500, 500) of thousand is its centre
    line = line_of(benchmark, target=thousandths, category=["text_matching"], box_type="bbox")
    assert judged(benchmark, line, (500, 500)).verdict is Verdict.MISS
    assert judged(benchmark, line, (500, 250)).verdict is Verdict.HIT
    assert judged(benchmark, line, (0.5, 0.5)).verdict is Verdict.HIT


# -- averages -----------------------------------------------------------------------------------


def results_of(benchmark, cells, **fields):
    """Results by (row, column): hits and misses."""
    results = []
    box = {"boxes": [[0, 0, 10, 10]]}
    for labels, (hits, misses) in cells.items():
        line = line_of(benchmark, target=box, **dict(zip(fields["names"], labels, strict=True)))
        results += [judged(benchmark, line, (5, 5)).counted] * hits
        results += [judged(benchmark, line, (500, 400)).counted] * misses
    return results


CELLS = {("text", "mobile"): (3, 1), ("icon", "mobile"): (1, 1), ("text", "web"): (0, 4)}


def test_the_figure_of_screenspot_is_the_mean_of_cells_and_that_of_v2_the_micro_average(
    monkeypatch,
):
    names = ("kind", "platform")
    figures = {}
    for name in ("ScreenSpot", "ScreenSpotV2"):
        benchmark = loaded(name, monkeypatch).benchmark
        results = results_of(benchmark, CELLS, names=names)
        figures[name] = benchmark.summarise(results, {})["accuracy"]
    assert figures["ScreenSpot"] == pytest.approx((75 + 50 + 0) / 3)
    assert figures["ScreenSpotV2"] == pytest.approx(40)


def test_a_row_of_osworld_counts_in_each_of_its_categories(monkeypatch):
    benchmark = loaded("OSWorldG", monkeypatch).benchmark
    box = {"boxes": [[0, 0, 10, 10]]}
    categories = ["text_matching", "layout_understanding"]
    line = line_of(benchmark, target=box, category=categories, box_type="bbox")
    other = line_of(benchmark, target=box, category=categories[:1], box_type="bbox")
    results = [judged(benchmark, line, (5, 5)).counted, judged(benchmark, other, (99, 99)).counted]
    scores = benchmark.summarise(results, {})
    counts = {
        name: (block["num_correct"], block["num_total"])
        for name, block in scores["category"].items()
    }
    assert counts == {"text_matching": (1, 2), "layout_understanding": (1, 1)}


@pytest.mark.parametrize("name", TABLES)
def test_the_table_with_intervals_has_the_figures_of_the_score_file(name, monkeypatch):
    data = loaded(name, monkeypatch)
    columns = SampleColumns()
    results = []
    for number, sample in enumerate(data.samples):
        bounds = Target.from_json(sample.line["target"]).bounds
        is_right = number % 3 == 0 or number % 7 == 0
        point = (-1, -1) if bounds is None else bounds[:2]
        judgement = data.benchmark.judge_parsed(
            sample.line,
            Sizes(file_wh=sample.file_wh),
            data.benchmark.accept(point if is_right else (3, 3)),
            "?",
        )
        results.append(judgement.counted)
        facts = {
            "image": sample.line["image_path"],
            "platform": sample.line["platform"],
            "verdict": judgement.verdict,
            "prediction": str(point),
            "file_wh": sample.file_wh,
        }
        columns.add({**judgement.facts, **facts})
    scores = data.benchmark.summarise(results, {})
    sections = data.benchmark.sections(columns, {})
    averages = {name: cell["value"] for name, cell in sections["averages"].items()}
    assert averages == pytest.approx(scores["averages"], abs=1e-5)
    table = sections["table"]
    assert table["rows"][-1]["cells"][-1]["value"] == pytest.approx(scores["accuracy"], abs=1e-5)
    for column, cell in zip(table["columns"], table["rows"][-1]["cells"], strict=True):
        if name not in ("ScreenSpot", "UIVision") and column != "Overall":
            block = scores[data.benchmark.layout.columns][column]
            assert cell["value"] == pytest.approx(block["accuracy"], abs=1e-5)


def test_the_figure_of_ui_vision_is_the_mean_of_its_splits(monkeypatch):
    benchmark = loaded("UIVision", monkeypatch).benchmark
    cells = {("basic",): (3, 1), ("functional",): (1, 1), ("spatial",): (0, 10)}
    scores = benchmark.summarise(results_of(benchmark, cells, names=("split",)), {})
    assert scores["accuracy"] == pytest.approx((75 + 50 + 0) / 3)
    assert scores["averages"]["micro over all rows"] == pytest.approx(25)


def test_rows_that_stand_there_twice_count_twice_and_are_named(tmp_path, monkeypatch):
    row = {"id": "a", "image_path": "a.png", "image_size": WH, "instruction": "i"}
    rows = [{**row, "box_type": "bbox", "box_coordinates": [1, 2, 3, 4], "GUI_types": ["Icon"]}] * 2
    write(tmp_path, "OSWorld-G", "OSWorld-G.json", rows)
    blank(tmp_path, "OSWorld-G/images/a.png")
    monkeypatch.setenv("LMUData", str(tmp_path))
    data = data_set("OSWorldG")
    notes, _ = load_samples(data)
    assert len(data.samples) == 2
    assert any(note.startswith("1 row repeats image and instruction") for note in notes)
    assert any(note.endswith("row 1 (a)") for note in notes)
    parts = "(bbox 2 of 470, polygon 0 of 40, refusal 0 of 54)"
    assert f"2 rows; the published files have 564 {parts}" in notes
    assert any("approximation" in note for note in notes)


# -- bad input: one message each, before any request ----------------------------------------------

ROW = {"image_path": "a.png", "image_size": list(WH), "instruction": "i", "id": "a"}
BOX = {"box_type": "bbox", "box_coordinates": [10, 20, 30, 40], "GUI_types": ["Icon"]}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (None, "no such annotation file. Set LMUData to the folder that holds OSWorld-G/"),
        ('[{"id": ', "cannot be read"),
        ([{**ROW, "box_type": "bbox"}], "the box must be four numbers, not None"),
        ([{**ROW, **BOX, "box_type": "circle"}], "unknown box_type 'circle'"),
        ([{**ROW, **BOX, "image_path": "b.png"}], "image missing"),
        ([{**ROW, **BOX, "image_size": [7, 7]}], "the row names an image of 7x7 pixels"),
        ([{**ROW, **BOX, "instruction": None}], "the instruction is missing"),
        (
            [{**ROW, **BOX, "box_type": "polygon", "box_coordinates": [1, 2, 3, 4]}],
            "a polygon must be x0, y0, x1, y1",
        ),
        (
            [{**ROW, **BOX, "box_coordinates": [0.1, 0.2, 0.3, 0.4]}] * 5,
            "its boxes are fractions of the image, the published file has x, y, width, height",
        ),
    ],
)
def test_bad_rows_have_one_message(rows, message, tmp_path, monkeypatch):
    if rows is not None:
        write(tmp_path, "OSWorld-G", "OSWorld-G.json", rows)
    blank(tmp_path, "OSWorld-G/images/a.png")
    monkeypatch.setenv("LMUData", str(tmp_path))
    _, problems = load_samples(data_set("OSWorldG"))
    assert len(problems) == 1
    assert message in problems[0]


def test_corner_width_height_in_a_file_of_two_corners_is_refused(tmp_path, monkeypatch):
    row = {"img_filename": "a.png", "instruction": "i", "ui_type": "icon", "group": "Dev"}
    rows = [{**row, "bbox": [400 + n, 300, 30, 20]} for n in range(6)]
    write(tmp_path, "ScreenSpot-Pro", "annotations/a_linux.json", rows)
    blank(tmp_path, "ScreenSpot-Pro/images/a.png")
    monkeypatch.setenv("LMUData", str(tmp_path))
    _, [problem] = load_samples(data_set("ScreenSpotPro"))
    assert "its boxes are x, y, width, height in pixels" in problem


def test_a_broken_classification_is_named(tmp_path, monkeypatch):
    write(tmp_path, "OSWorld-G", "OSWorld-G.json", [{**ROW, **BOX}])
    path = write(tmp_path, "OSWorld-G", "classification_result.json", "[]")
    blank(tmp_path, "OSWorld-G/images/a.png")
    monkeypatch.setenv("LMUData", str(tmp_path))
    _, [problem] = load_samples(data_set("OSWorldG"))
    assert problem.startswith(f"{path}: cannot be read")


# -- whole runs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLES)
def test_sample_data_has_rows_of_every_table(name, monkeypatch):
    data = loaded(name, monkeypatch)
    assert len(data.samples) >= 8
    assert data.bad == []
    to_json(data.samples[0].line)


def test_chinese_instructions_of_screenspot_pro(monkeypatch):
    texts = [s.line["instruction"] for s in loaded("ScreenSpotPro", monkeypatch).samples]
    others = [
        s.line["instruction"] for s in loaded("ScreenSpotPro", monkeypatch, language="cn").samples
    ]
    assert "标题栏左侧的放大镜" in others
    assert not {*texts} & {*others}


# -- VenusBench-GD: refusals, languages, names of files ---------------------------------------------


def venusbench_rows(tmp_path, refusals, **files):
    """A data root whose file of refusals has these boxes, and the others one row each."""
    row = {"img_filename": "web/shop/a.png", "instruction": "there", "instruction_zh": "那里"}
    for task in ("element", "spatial", "visual", "reasoning", "functional"):
        name = files.get(task, f"{task}_grounding.json")
        write(tmp_path, "VenusBench-GD/instruction", name, [{**row, "bbox": [0, 0, 10, 10]}])
    rows = [
        {**row, "instruction": f"not {number}", "bbox": box} for number, box in enumerate(refusals)
    ]
    name = files.get("refusal", "refusal_spatial.json")
    write(tmp_path, "VenusBench-GD/instruction", name, rows)
    blank(tmp_path, "VenusBench-GD/images/web/shop/a.png")


@pytest.mark.parametrize(
    ("rule", "box", "answer", "verdict"),
    [
        ("box", [-1, -1, -1, -1], (-1, -1), Verdict.HIT),
        ("box", [-1, -1, -1, -1], (-0.001, -0.001), Verdict.HIT),
        ("box", [-1, -1, -1, -1], (0, 0), Verdict.MISS),
        ("box", [-1, -1, -1, -1], (-1, 5), Verdict.MISS),
        ("box", [-1, -1, -1, -1], None, Verdict.UNPARSED),
        ("box", [0, 0, 0, 0], (0, 0), Verdict.MISS),
        ("box", None, (-1, -1), Verdict.HIT),
        ("box", [5, 5, 20, 20], (10, 10), Verdict.HIT),
        ("box", [5, 5, 20, 20], (-1, -1), Verdict.MISS),
        ("file", [5, 5, 20, 20], (-1, -1), Verdict.HIT),
        ("file", [5, 5, 20, 20], (10, 10), Verdict.MISS),
    ],
)
def test_a_refusal_of_venusbench_is_right_by_the_rule_that_is_named(
    rule, box, answer, verdict, tmp_path, monkeypatch
):
    venusbench_rows(tmp_path, [box])
    data = loaded("VenusBenchGD", monkeypatch, tmp_path, refusals=rule)
    [refusal] = [sample for sample in data.samples if sample.line["task"] == "refusal"]
    assert judged(data.benchmark, refusal.line, answer).verdict is verdict


def test_boxes_in_the_file_of_refusals_are_named_with_the_other_rule(tmp_path, monkeypatch):
    venusbench_rows(tmp_path, [[5, 5, 20, 20], [-1, -1, -1, -1]])
    monkeypatch.setenv("LMUData", str(tmp_path))
    notes, _ = load_samples(data_set("VenusBenchGD"))
    assert any("1 of 2 rows in the file of refusals have a box" in note for note in notes)
    notes, _ = load_samples(data_set("VenusBenchGD", refusals="file"))
    assert not any("file of refusals" in note for note in notes)


def test_a_row_without_a_box_elsewhere_asks_for_no_refusal(tmp_path, monkeypatch):
    venusbench_rows(tmp_path, [[-1, -1, -1, -1]])
    row = {"img_filename": "web/shop/a.png", "instruction": "lost"}
    rows = [{**row, "bbox": None}, {**row, "instruction": "here", "bbox": [1, 1, 5, 5]}]
    write(tmp_path, "VenusBench-GD/instruction", "element_grounding.json", rows)
    data = loaded("VenusBenchGD", monkeypatch, tmp_path)
    assert ["the box must be four numbers, not None" in bad for bad in data.bad] == [True]


def test_files_of_venusbench_are_found_under_both_of_their_names(tmp_path, monkeypatch):
    names = {"reasoning": "reason_grounding.json", "refusal": "refusal_grounding.json"}
    venusbench_rows(tmp_path, [[-1, -1, -1, -1]], **names)
    data = loaded("VenusBenchGD", monkeypatch, tmp_path)
    tasks = [sample.line["task"] for sample in data.samples]
    assert tasks == ["element", "spatial", "visual", "reasoning", "functional", "refusal"]
    places = {(s.line["platform"], s.line["application"]) for s in data.samples}
    assert places == {("web", "shop")}


def test_both_languages_of_venusbench_ask_for_the_same_elements(monkeypatch):
    by_language = {}
    for language in ("en", "cn"):
        data = loaded("VenusBenchGD", monkeypatch, language=language)
        by_language[language] = {
            sample.line["element_id"]: (sample.line["instruction"], sample.line["target"])
            for sample in data.samples
        }
    english, chinese = by_language["en"], by_language["cn"]
    assert [*english] == [*chinese]
    assert all(english[row][1] == chinese[row][1] for row in english)
    assert all(english[row][0].isascii() and not chinese[row][0].isascii() for row in english)


# -- UI-I2E-Bench -----------------------------------------------------------------------------------


def test_the_figures_of_ui_i2e_are_those_of_its_rule_on_300_rows(tmp_path):
    rows, answers = [], {}
    hits = {"explicit": 0, "implicit": 0}
    counts = {"explicit": 0, "implicit": 0}
    for number in range(300):
        kind = "implicit" if number % 5 in (1, 3, 4) else "explicit"
        x, y = 10 + number, 10 + number % 150
        box = [x, y, x + 20, y + 12]
        row = {"image": "screenshot/a.png", "instruction": f"element {number}"}
        row |= {"bounding_box": box, "annotations": {"instr_type": kind, "el_type": "icon"}}
        rows.append({**row, "source": ("web", "desktop", "mobile")[number % 3]})
        outcomes = {
            0: ([x, y], True),  # a corner belongs to the closed box
            1: ([x + 20, y + 12], True),
            2: ([x + 21, y], False),
            3: ([x + 5, y - 1], False),
            4: ([x + 5, y + 5], True),
            5: (None, False),
            6: ([0, 0], False),
        }
        answer, is_right = outcomes[number % 7]
        answers[f"a.png\nelement {number}"] = "?" if answer is None else json.dumps(answer)
        counts[kind] += 1
        hits[kind] += is_right
    files = {"I2E-bench-annotation.jsonl": rows}
    replay = Replay("own", "UII2E", files, answers, PARSE_PLAIN, sizes={"screenshot/a.png": WH})
    score, lines, _ = run(replay, tmp_path, parser=PARSE_PLAIN)
    assert len(lines) == 300
    assert score["accuracy"] == pytest.approx(100 * sum(hits.values()) / 300)
    for kind in counts:
        block = score["instr_type"][kind]
        assert (block["num_correct"], block["num_total"]) == (hits[kind], counts[kind])
    assert score["counts"]["unparsed"] == sum(number % 7 == 5 for number in range(300))


def test_a_score_file_says_what_its_table_says(tmp_path):
    rows = [
        {**ROW, **BOX, "id": str(number), "instruction": f"element {number}"} for number in range(6)
    ]
    answers = {f"a.png\nelement {number}": "[20, 30]" for number in range(4)}
    answers |= {"a.png\nelement 4": "[-1, -1]", "a.png\nelement 5": "?"}
    replay = Replay("own", "OSWorldG", {"OSWorld-G.json": rows}, answers, PARSE_PLAIN)
    score, lines, analysis = run(replay, tmp_path, parser=PARSE_PLAIN)
    assert score["accuracy"] == pytest.approx(400 / 6)
    assert analysis["table"]["rows"][-1]["cells"][-1]["value"] == pytest.approx(400 / 6)
    assert [line["declined"] for line in lines] == [False] * 4 + [True, False]
    assert [line["verdict"] for line in lines] == ["hit"] * 4 + ["miss", "unparsed"]


def test_audits_say_how_many_samples_they_leave_out(tmp_path):
    corners = [10, 10, 60, 10, 60, 60, 10, 60]
    polygon = {"box_type": "polygon", "box_coordinates": corners}
    shapes = [BOX, polygon, polygon]
    rows = [
        {**ROW, **shape, "id": str(number), "instruction": f"element {number}"}
        for number, shape in enumerate(shapes)
    ]
    answers = {f"a.png\nelement {number}": "[20, 30]" for number in range(len(shapes))}
    replay = Replay("own", "OSWorldG", {"OSWorld-G.json": rows}, answers, PARSE_PLAIN)
    _, _, analysis = run(replay, tmp_path, parser=PARSE_PLAIN)
    left_out = [note for note in analysis["coordinate_audit"]["notes"] if "are left out" in note]
    assert [note.partition(" samples ")[0] for note in left_out] == ["2"]
    assert left_out[0] in analysis["anatomy"]["notes"]


def test_recorded_answers_come_to_what_the_official_scorers_made_of_them(tmp_path):
    if not OFFICIAL.is_dir():
        pytest.skip("the official scorers' results are not here")
    names = []
    for replay in replays(OFFICIAL):
        folder = tmp_path / replay.name
        folder.mkdir()
        comparison = grounding_replay.compared(replay, folder)
        assert comparison.different == []
        assert comparison.equal > 100
        names.append(replay.dataset)
    assert sorted(names) == ["OSWorldG", "ScreenSpotPro", "UIVision", "VenusBenchGD"]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"ScreenSpotPro": {"language": "de"}}, 'language: must be one of "en", "cn", not "de"'),
        ({"ScreenSpotPro": {"langauge": "cn"}}, 'langauge: unknown key; did you mean "language"?'),
        ({"Mine": {"benchmark": "OSWorld"}}, 'did you mean "OSWorldG"?'),
        ({"OSWorldG": {"mode": "refusals"}}, 'unknown mode "refusals"; did you mean "refusal"?'),
        ({"UIVision": {"circular": True}}, "circular: only for GUIContentUnderstanding"),
        ({"UIVision": {"benchmark": "a.B"}}, "give this one another name"),
        ({"UIVision": {"benchmark": "OSWorldG"}}, "give this one another name"),
    ],
)
def test_a_wrong_key_is_named(entry, problem, tmp_path):
    path = tmp_path / "c.json"
    path.write_text(json.dumps({"model": {"m": {"model_path": "a.B"}}, "data": entry}))
    reading = read_config(ConfigSource(path, {}), BENCHMARK)
    assert any(problem in line for line in reading.problems), reading.problems


def test_every_table_is_known_by_its_name():
    assert {*TABLES} <= {*BENCHMARK}
    with pytest.raises(UserError):
        BENCHMARK["UIVision"].make("UIVision", {}).read_file("no.json")

"""A second look at a crop, and users' own questions after a reply."""

import base64
import io
import json
import re
import zlib

import pytest
from PIL import Image

from tests.support.browser import Tab, need_browser
from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model, evaluate, make_data, run_folder, write_config

L1, L2 = "GUIContentUnderstanding", "GUIElementGrounding"
WH = (400, 300)
ZOOM = {"ratio": 0.5, "resize_to": [800, 600]}
PER_MILLE = {L2: "models.recipes.gemini.parse_point"}


def sent_wh(request):
    """The size of the only image of a request."""
    [url] = request.pictures
    return Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).size


class Eyes:
    """A server that sees the whole image first and a crop then, and says what it is told to."""

    def __init__(self, first="(200,150)", second="(500,500)"):
        self.first, self.second = first, second

    def __call__(self, request):
        return Reply(self.first if sent_wh(request) == WH else self.second)


class Lab:
    def __init__(self, folder, server):
        self.folder, self.server = folder, server
        self.data = make_data(folder / "data", [("os_web", WH)])
        self.model = {"zoom": ZOOM, "parse_function": PER_MILLE}
        self.sets = {L2: {"mode": "basic"}}

    def run(self, *arguments, code=0):
        model = {"m": api_model(self.server.url, **self.model)}
        config = write_config(self.folder / "c.json", model=model, data=self.sets)
        command = [
            "--config",
            config,
            "--work-dir",
            self.folder / "out",
            "--retry",
            "0",
            *arguments,
        ]
        env = {"LMUData": str(self.data), "PYTHONPATH": str(self.folder)}
        finished = evaluate(*command, cwd=self.folder, env=env)
        assert finished.code == code, finished.output
        return finished

    def lines(self, suffix):
        path = next(run_folder(self.folder / "out", "m").glob(f"*{suffix}"))
        return [json.loads(line) for line in path.read_text().splitlines()]

    @property
    def sample(self):
        _, facts = self.lines("_samples.jsonl")
        return facts

    @property
    def answers(self):
        return [line for line in self.lines(f"{L2}.jsonl") if line["kind"] == "answer"]

    @property
    def manifest(self):
        return json.loads((run_folder(self.folder / "out", "m") / "manifest.json").read_text())


@pytest.fixture
def lab(tmp_path):
    with MockServer(Eyes()) as server:
        yield Lab(tmp_path, server)


def test_the_point_of_the_crop_counts_in_the_whole_image(lab):
    lab.run()
    assert [sent_wh(request) for request in lab.server.requests] == [WH, (800, 600)]
    facts = lab.sample
    # Around (0.2, 0.15) half the image is its upper left quarter, whose middle is (0.25, 0.25).
    assert facts["point_frac"] == pytest.approx([0.25, 0.25])
    assert facts["zoom"] == {
        "first_reply": "(200,150)",
        "first_point_frac": [0.2, 0.15],
        "crop_frac": [0, 0, 0.5, 0.5],
    }
    assert facts["prediction"] == "(500,500)"
    assert facts["usage"]["prompt_tokens"] == 14


def test_both_stages_are_in_the_log_and_neither_is_asked_twice(lab):
    lab.run()
    first, second = lab.answers
    assert second["key"] == f"{first['key']}~1"
    assert first["more"] is True and "more" not in second
    lab.run()
    lab.run("--mode", "eval")
    assert len(lab.server.requests) == 2


def test_what_was_stopped_between_the_stages_asks_the_second_one_alone(lab):
    lab.server.answer = lambda request: (
        Reply("(200,150)") if sent_wh(request) == WH else Reply(status=500)
    )
    lab.run("--outage", "0", code=1)
    assert lab.sample["status"] == "failed"
    request_count = len(lab.server.requests)
    lab.server.answer = Eyes()
    lab.run()
    assert [sent_wh(request) for request in lab.server.requests[request_count:]] == [(800, 600)]
    assert lab.sample["hit"] == 0 and lab.sample["point_frac"] == pytest.approx([0.25, 0.25])


def test_a_log_that_ends_between_the_stages_has_no_answer_to_the_sample(lab):
    lab.run()
    log = next(run_folder(lab.folder / "out", "m").glob(f"*{L2}.jsonl"))
    lines = [line for line in log.read_text().splitlines() if "~1" not in line]
    log.write_text("\n".join(lines) + "\n")
    assert "nothing to score" in lab.run("--mode", "eval", code=1).output
    lab.run()
    assert len(lab.server.requests) == 3


@pytest.mark.parametrize("first", ["I see nothing", "(-1, -1)"])
def test_without_a_first_point_there_is_no_second_look(lab, first):
    lab.server.answer = Eyes(first)
    lab.run()
    assert len(lab.server.requests) == 1
    assert lab.sample["verdict"] == "unparsed" and "zoom" not in lab.sample


def test_a_crop_without_a_point_leaves_the_first_one(lab):
    lab.server.answer = Eyes(second="nothing here")
    lab.run()
    assert lab.sample["point_frac"] == pytest.approx([0.2, 0.15])
    assert lab.sample["hit"] == 1


def test_answers_of_a_single_look_are_the_first_stage_and_the_other_way_round(lab):
    lab.model = {"parse_function": PER_MILLE}
    lab.run()
    lab.model = {"zoom": ZOOM, "parse_function": PER_MILLE}
    lab.run()
    assert [sent_wh(request) for request in lab.server.requests] == [WH, (800, 600)]
    lab.model = {"parse_function": PER_MILLE}
    lab.run("--mode", "all")
    assert len(lab.server.requests) == 2
    assert len({path for path in (lab.folder / "out" / "m").glob("T*") if path.is_dir()}) == 2


def test_results_carry_the_protocol_and_no_published_figure_is_beside_them(lab):
    output = lab.run().stdout
    assert lab.manifest["datasets"][L2]["protocol"] == "zoom"
    assert "n = 1 · basic only · zoom" in output
    page = (lab.folder / "out" / "index.html").read_text()
    assert '<small class="odd">zoom</small>' in page


def test_the_report_draws_the_crop_and_both_points(lab):
    lab.run()
    page = run_folder(lab.folder / "out", "m") / "report" / "index.html"
    with need_browser().open_browser() as browser:
        tab = Tab(browser, page, address=f"#/sample/{L2}/0")
        style = "[...document.querySelectorAll('#canvas .crop, #canvas .point')].map((e) => "
        drawn = tab.run(style + "[e.title, e.style.left, e.style.top, e.style.width])")
        assert drawn == [
            ["second look", "0%", "0%", "50%"],
            ["first look", "20%", "15%", ""],
            ["click", "25%", "25%", ""],
        ]
        assert tab.troubles == []
        tab.context.close()


def test_other_data_sets_of_the_model_are_asked_once(lab):
    lab.sets = {L1: {"mode": "easy"}, L2: {"mode": "basic"}}
    lab.run()
    assert len(lab.server.requests) == 3


def test_a_recipe_knows_its_second_look(lab):
    lab.model = {"recipe": "gemini", "zoom": True, "imp_type": None}
    lab.model["generate_cfg"] = None
    lab.run()
    assert [sent_wh(request) for request in lab.server.requests] == [WH, (1920, 1080)]
    # 0.2 of 400 pixels is 80; a quarter of the width begins at 30: (30 + 50) / 400 = 0.2.
    assert lab.sample["point_frac"] == pytest.approx([0.2, 0.15])


@pytest.mark.parametrize(
    ("zoom", "problem"),
    [
        (True, 'zoom: must be an object { "ratio": 0.25 }, or true where the recipe has one'),
        ({}, "zoom: is missing; it must be an object"),
        ({"ratio": 0}, "zoom: must be an object"),
    ],
)
def test_a_wrong_zoom_is_named(lab, zoom, problem):
    lab.model = {"zoom": zoom}
    assert problem in lab.run(code=2).output


def test_circular_evaluation_does_not_go_with_follow_ups(lab):
    lab.model = {"follow_up": {L1: "mine.ask_again"}}
    lab.sets = {L1: {"circular": True}}
    assert (
        "follow_up.GUIContentUnderstanding: cannot be used for episodes or in circular"
        in lab.run(code=2).output
    )


USERS = """
import re

def ask_again(line, responses):
    if len(responses) == 3 or "sure" in responses[-1]:
        return None
    text = f"{line['instruction']} You said {responses[-1]}. Are you sure?"
    return [
        {"role": "user", "type": "image", "value": line["image_path"]},
        {"role": "user", "type": "text", "value": text},
    ]

def for_ever(line, responses):
    return [{"role": "user", "type": "text", "value": f"again {len(responses)}"}]

def read_first(response, meta):
    numbers = re.findall(r"[0-9.]+", meta["responses"][0])
    return float(numbers[0]), float(numbers[1])
"""


def test_a_users_function_asks_until_it_has_enough(lab):
    (lab.folder / "mine.py").write_text(USERS)
    lab.model = {"follow_up": {L2: "mine.ask_again"}}
    replies = iter(["(0.9, 0.9)", "(0.8, 0.8)", "(0.2, 0.15)"])
    lab.server.answer = lambda _: Reply(next(replies))
    lab.run()
    assert len(lab.server.requests) == 3
    assert re.search(r"You said \(0.8, 0.8\)", lab.server.requests[2].text)
    assert lab.sample["hit"] == 1, "the last reply counts"
    assert lab.manifest["datasets"][L2]["protocol"] == "follow-up"


def test_a_parse_function_sees_all_replies(lab):
    (lab.folder / "mine.py").write_text(USERS)
    lab.model = {"follow_up": {L2: "mine.ask_again"}, "parse_function": {L2: "mine.read_first"}}
    replies = iter(["(0.2, 0.15)", "I am sure"])
    lab.server.answer = lambda _: Reply(next(replies))
    lab.run()
    assert lab.sample["hit"] == 1


def test_a_function_that_never_ends_fails_its_sample(lab):
    (lab.folder / "mine.py").write_text(USERS)
    lab.model = {"follow_up": {L2: "mine.for_ever"}}
    lab.server.answer = lambda _: Reply("(0.2, 0.15)")
    assert "asks for more than 8 stages" in lab.run(code=1).stdout
    assert len(lab.server.requests) == 8


# -- scored again with another config ---------------------------------------------------------------

PER_999 = """
import re

def parse(response, meta):
    numbers = re.findall(r"[0-9]+", response)
    return float(numbers[0]) / 999, float(numbers[1]) / 999

def y_first(response, meta):
    numbers = re.findall(r"[0-9]+", response)
    return float(numbers[1]) / 1000, float(numbers[0]) / 1000

def blind(response, meta):
    return None if response == "(600,300)" else (0.9, 0.9)

def ask_again(line, responses):
    return None
"""


def without_crops(lab):
    """Write the log anew as earlier versions have left it."""
    log = next(run_folder(lab.folder / "out", "m").glob(f"*{L2}.jsonl"))
    lines = []
    for line in log.read_text().splitlines():
        record = json.loads(line)
        del record["crc"]
        record.pop("crop", None)
        text = json.dumps(record, separators=(",", ":"))
        lines.append(f'{text[:-1]},"crc":"{zlib.crc32(text.encode()):08x}"}}\n')
    log.write_text("".join(lines))


OTHER_ZOOMS = [
    ({"zoom": {**ZOOM, "ratio": 0.3}}, "zoom.ratio"),
    ({"zoom": {**ZOOM, "ratio": 1}}, "zoom.ratio"),
    ({"zoom": {**ZOOM, "resize_to": [64, 48]}}, "zoom.resize_to"),
    ({"zoom": {"ratio": 0.5}}, "zoom.resize_to"),
    ({"zoom": {**ZOOM, "whole_per_mille": True}}, "zoom.whole_per_mille"),
    ({}, "zoom"),
    ({"follow_up": {L2: "mine.ask_again"}}, f"zoom, follow_up.{L2}"),
]


@pytest.mark.parametrize("is_older", [False, True])
@pytest.mark.parametrize(("settings", "setting_names"), OTHER_ZOOMS)
def test_scored_again_a_zoom_is_the_one_that_was_asked(lab, settings, setting_names, is_older):
    (lab.folder / "mine.py").write_text(PER_999)
    lab.server.answer = Eyes(second="(301,777)")
    lab.run()
    before = lab.sample
    if is_older:
        without_crops(lab)
    lab.model = {"parse_function": PER_MILLE, **settings}
    finished = lab.run("--mode", "eval")
    assert lab.sample["point_frac"] == before["point_frac"]
    assert lab.sample["zoom"] == before["zoom"]
    assert f"made with other settings than this config has ({setting_names})" in finished.output
    assert len(lab.server.requests) == 2


def test_the_record_of_a_second_look_holds_its_crop(lab):
    lab.run()
    first, second = lab.answers
    assert "crop" not in first
    assert second["crop"] == {**ZOOM, "edges_px": [0, 0, 200, 150], "sent_wh": [800, 600]}


AWAY = "(600,300)"  # far from the edges, at which crops around different points are one


@pytest.mark.parametrize("is_older", [False, True])
@pytest.mark.parametrize(
    ("parser", "point"),
    [
        ("mine.y_first", [0.3, 0.6]),
        ("utils.coordinates.parse_pixels", [1.5, 1]),
        ("utils.coordinates.parse_longest_1024", [600 / 1024, 300 / 768]),
        ("utils.coordinates.parse_per_cent", [6, 3]),
        ("mine.blind", None),
    ],
)
def test_a_second_look_at_another_part_gives_way_to_the_first_look(lab, parser, point, is_older):
    (lab.folder / "mine.py").write_text(PER_999)
    lab.server.answer = Eyes(AWAY)
    lab.run()
    if is_older:
        without_crops(lab)
    lab.model = {"zoom": ZOOM, "parse_function": {L2: parser}}
    finished = lab.run("--mode", "eval")
    assert lab.sample["point_frac"] == (point and pytest.approx(point)), finished.output
    assert lab.sample["zoom"]["is_elsewhere"]
    crop = None if is_older else pytest.approx([0.35, 0.05, 0.85, 0.55])
    assert lab.sample["zoom"].get("crop_frac") == crop
    assert "other settings than this config has (parse_function)" in finished.output
    assert "1 second looks show another part of the image" in finished.output


@pytest.mark.parametrize(
    ("parser", "first", "second"),
    [
        ("mine.parse", AWAY, 999),  # a rounding apart: the crop would be the same but for a pixel
        ("mine.parse", "(200,150)", 999),
        ("mine.parse", "(999,999)", 999),
        ("mine.y_first", "(200,150)", 1000),  # both in the corner, whose crop is one
        ("utils.coordinates.parse_per_mille", AWAY, 1000),
    ],
)
def test_a_second_look_at_the_same_part_counts_whatever_reads_it(lab, parser, first, second):
    (lab.folder / "mine.py").write_text(PER_999)
    lab.server.answer = Eyes(first, second=f"({second // 2},{second // 2})")
    lab.run()
    left, top, right, bottom = lab.sample["zoom"]["crop_frac"]
    lab.model = {"zoom": ZOOM, "parse_function": {L2: parser}}
    finished = lab.run("--mode", "eval")
    middle = [(left + right) / 2, (top + bottom) / 2]
    assert lab.sample["point_frac"] == pytest.approx(middle, abs=1e-3)
    assert "is_elsewhere" not in lab.sample["zoom"] and "second looks" not in finished.output


def test_another_parse_function_asks_for_its_own_second_look(lab):
    (lab.folder / "mine.py").write_text(PER_999)
    lab.server.answer = Eyes("(300,100)")
    lab.run()
    lab.model = {"zoom": ZOOM, "parse_function": {L2: "mine.y_first"}}
    lab.run()
    assert [sent_wh(request) for request in lab.server.requests] == [WH, (800, 600), (800, 600)]
    assert lab.sample["point_frac"] == pytest.approx([0.25, 0.3])
    assert "is_elsewhere" not in lab.sample["zoom"]


def test_a_run_over_a_log_of_an_earlier_version_writes_the_crops_and_asks_nothing(lab):
    lab.run()
    crops = [record.get("crop") for record in lab.answers]
    without_crops(lab)
    assert not any("crop" in record for record in lab.answers)
    lab.run()
    assert len(lab.server.requests) == 2
    assert [record["crop"] for record in lab.answers if "crop" in record] == crops[1:]


def test_a_users_questions_stay_theirs_when_the_config_has_a_zoom_now(lab):
    (lab.folder / "mine.py").write_text(USERS)
    lab.model = {"follow_up": {L2: "mine.ask_again"}}
    replies = iter(["(0.9, 0.9)", "I am sure: (0.2, 0.15)"])
    lab.server.answer = lambda _: Reply(next(replies))
    lab.run()
    lab.model = {"zoom": ZOOM}
    finished = lab.run("--mode", "eval")
    assert lab.sample["point_frac"] == [0.2, 0.15] and "zoom" not in lab.sample
    assert f"(zoom, follow_up.{L2})" in finished.output


# -- what --check counts ----------------------------------------------------------------------------


def requests_line(lab, *arguments):
    """What --check says of the requests to L2."""
    output = lab.run("--check", *arguments).stdout
    [line] = [line for line in output.splitlines() if line.startswith(L2) and "to send" in line]
    return re.sub(r", [0-9.]+ MB", "", line.removeprefix(f"{L2}: "))


NOTHING = "0 requests to send, 1 answers stored already"
SECOND_ALONE = "at least 0 requests to send; 1 with the second look, 1 answers stored"
BOTH = "at least 1 request to send (1 new); 2 with the second look, 0 answers stored already"


def test_check_counts_the_second_look(lab):
    assert requests_line(lab) == BOTH
    lab.sets = {L2: {"mode": "all"}}
    assert requests_line(lab).startswith(
        "at least 2 requests to send (2 new); 4 with the second look"
    )
    assert requests_line(lab, "--limit", "1") == BOTH
    lab.model = {"parse_function": PER_MILLE}
    assert requests_line(lab).startswith("2 requests to send (2 new), 0 answers")


@pytest.mark.parametrize(
    ("first", "then", "expected"),
    [
        ({"zoom": ZOOM}, {"zoom": ZOOM}, NOTHING),
        ({}, {"zoom": ZOOM}, SECOND_ALONE),
        ({"zoom": ZOOM}, {"zoom": {"ratio": 0.3}}, SECOND_ALONE),
        ({"zoom": ZOOM}, {}, NOTHING),
        ({"zoom": ZOOM}, {"zoom": ZOOM, "parse_function": {}}, SECOND_ALONE),
    ],
)
def test_check_counts_second_looks_that_are_not_stored(lab, first, then, expected):
    lab.model = {"parse_function": PER_MILLE, **first}
    lab.run()
    lab.model = {"parse_function": PER_MILLE, **then}
    assert requests_line(lab).startswith(expected)


def test_check_counts_a_second_look_that_failed_and_none_after_a_reply_without_a_point(lab):
    lab.server.answer = lambda request: (
        Reply("(200,150)") if sent_wh(request) == WH else Reply(status=500)
    )
    lab.run("--outage", "0", code=1)
    assert requests_line(lab).startswith(SECOND_ALONE)
    assert requests_line(lab, "--ignore").startswith(NOTHING)
    lab.server.answer = Eyes("I see nothing")
    lab.run("--fresh")
    assert requests_line(lab).startswith(NOTHING)
    assert requests_line(lab, "--fresh").startswith(
        "at least 1 request to send (1 because of --fresh); 2"
    )


def test_check_counts_a_second_look_after_the_answer_of_another_run_to_what_was_refused(lab):
    eyes = Eyes()
    refusal = Reply(status=400, body=b'{"error": {"message": "content policy"}}')
    lab.sets = {L2: {"mode": "all"}}
    lab.server.answer = lambda request: refusal if "basic" in request.text else eyes(request)
    assert "1 refused" in lab.run(code=1).output
    zooming, lab.model = lab.model, {"parse_function": PER_MILLE}
    lab.server.answer = eyes
    lab.run("--retry-refused")
    lab.model = zooming
    expected = "at least 0 requests to send; 1 with the second look, 2 answers stored"
    assert requests_line(lab).startswith(expected)
    before = len(lab.server.requests)
    lab.run()
    assert len(lab.server.requests) == before + 1


def test_check_says_how_often_a_function_of_the_users_may_ask(lab):
    (lab.folder / "mine.py").write_text(USERS)
    lab.model = {"follow_up": {L2: "mine.ask_again"}}
    text = (
        "at least 1 request to send (1 new); follow_up may send up to 7 more for each of 1 sample"
    )
    assert requests_line(lab).startswith(text)
    replies = iter(["(0.9, 0.9)", "I am sure"])
    lab.server.answer = lambda _: Reply(next(replies))
    lab.run()
    assert requests_line(lab).startswith(NOTHING)

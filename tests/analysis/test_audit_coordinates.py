"""The coordinate audit: it names the frame a model answers in, and keeps quiet without need."""

import dataclasses
import json
import random
import re

import pytest

from tests.support.clicks import SETTINGS, Model, columns_of, simulated, texts_of
from tests.support.mock_server import Reply
from tests.support.stage import L1, L2
from utils import coordinates
from utils.analysis.coordinate_audit import INTERPRETATIONS, Interpretation, coordinate_audit
from utils.coordinates import Frame
from utils.findings import as_json
from utils.misc import parser_response_into_coordinates as default_parser
from utils.pages.checks import checks_of

CASES = [(reading, is_box) for reading in INTERPRETATIONS for is_box in (False, True)]
FULL_HD = ((1920, 1080),)
FRACTIONS, PER_MILLE = (
    Model(Interpretation(Frame.FRACTIONS)),
    Model(Interpretation(Frame.PER_MILLE)),
)


def audited(facts):
    section = coordinate_audit(columns_of(facts), SETTINGS)
    json.dumps(as_json(section), allow_nan=False)
    return section


def audit_of(seed, model, parse=default_parser, **run):
    """The audit of a simulated run whose config names `parse`."""
    return audited(simulated(random.Random(seed), model, parse, **run))


def named(section):
    """The parse functions that the warnings name."""
    return [text.split('parse_function: "')[1].split('"')[0] for text in texts_of(section)]


def codes_of(section):
    return [finding.code.partition(".")[2] for finding in section["findings"]]


def function_of(reading):
    return getattr(coordinates, reading.parse_function.rpartition(".")[2])


@pytest.mark.parametrize(("reading", "is_box"), CASES)
@pytest.mark.parametrize("accuracy", [1.0, 0.6])
def test_replies_in_each_frame_are_recognised(reading, is_box, accuracy):
    model = Model(reading, accuracy=accuracy, spread=0.1, correlation=0.3, is_box=is_box)
    shrinks = reading.frame is not Frame.MILLION_PIXELS  # that is the grid of a shrunk one, too
    section = audit_of(1, model, pictures=60, shrinks=shrinks)
    assert reading.name in section["best"]
    configured = {*section["configured"]} & {*section["best"]}
    assert named(section) == ([] if configured else [reading.parse_function])


@pytest.mark.parametrize(("reading", "is_box"), CASES)
def test_with_the_function_that_it_names_nothing_is_left_to_warn_of(reading, is_box):
    section = audit_of(2, Model(reading, is_box=is_box), function_of(reading), pictures=40)
    assert section["findings"] == []
    assert reading.name in section["configured"] and reading.name in section["best"]
    assert section["rows"][0]["value"] == 100
    assert section["counts"]["known frame"] == section["counts"]["answered"]


@pytest.mark.parametrize("accuracy", [1.0, 0.6])
@pytest.mark.parametrize(
    "says",
    [
        "<think>The window is at (0.1, 0.2).</think>\n{}",
        "<thinking>Somewhere at x=0.1, y=0.2?</thinking>{}",
        "The menu is at (0.1, 0.2).\n</think>\n\n{}",  # the chat template has opened it
        "◁think▷[0.1, 0.2] is the menu◁/think▷ {}",
    ],
)
@pytest.mark.parametrize("frame", [Frame.FRACTIONS, Frame.PER_MILLE])
def test_a_model_whose_thoughts_are_read_for_its_answers_is_recognised(frame, says, accuracy):
    reading = Interpretation(frame)
    run = {"pictures": 40, "wrap": lambda dice, reply: says.format(reply)}
    parsers = default_parser, function_of(reading)
    section, after = (audit_of(1, Model(reading, accuracy), parse, **run) for parse in parsers)
    assert named(section) == [reading.parse_function]
    assert (
        f"{section['counts']['answered']} of these replies begin with thinking"
        in texts_of(section)[0]
    )
    assert section["counts"]["unknown frame"] == section["counts"]["answered"]
    assert after["findings"] == []
    assert f" {after['rows'][0]['value']:.2f} %; as configured (" in texts_of(section)[0]
    assert re.search(
        r"they score [0-9.]+ %\. \d+ images decide \(p = ",
        texts_of(section)[0],
    )


def test_replies_that_the_parser_cannot_read_are_read_in_every_frame():
    def wrap(dice, reply):
        return "({}%, {}%)".format(*coordinates.numbers_of_reply(reply))

    section = audit_of(1, Model(Interpretation(Frame.PER_CENT), spread=0.1), pictures=40, wrap=wrap)
    assert section["counts"]["no point read"] == section["counts"]["answered"]
    assert (section["rows"][0]["value"], section["best"]) == (0, ["per cent"])
    assert named(section) == ["utils.coordinates.parse_per_cent"]
    assert "no point in " in texts_of(section)[0]


def test_numbers_with_names_are_read_in_the_same_order_as_the_parse_function_reads_them():
    """Half of the replies name x and y; the others have y before x."""
    reading = Interpretation(Frame.PER_MILLE, y_first=True)

    def wrap(dice, reply):
        y, x = coordinates.numbers_of_reply(reply)
        return f"x={x}, y={y}" if dice.random() < 0.5 else reply

    section = audit_of(1, Model(reading), function_of(reading), pictures=60, wrap=wrap)
    assert (section["configured"], section["best"]) == ([reading.name], [reading.name])
    assert section["findings"] == []


@pytest.mark.parametrize("unread", [0.02, 0.4])
def test_some_replies_that_are_not_read_are_worth_a_warning_where_they_are_many(unread):
    """The lead is over all replies, so it is what the score would gain."""

    def wrap(dice, reply):
        return f"<think>(0.001, 0.001)?</think>{reply}" if dice.random() < unread else reply

    section = audit_of(1, FRACTIONS, pictures=100, wrap=wrap)
    assert bool(section["findings"]) is (unread > 0.05)
    assert section["best"] == ["fractions"]


def moved(facts):
    """The same samples on images of their own."""
    return [{**sample, "image": f"more/{sample['image']}"} for sample in facts]


def from_words(reply, meta):
    return (0.5, 0.5) if "centre" in reply else default_parser(reply, meta)


def test_points_that_no_ready_made_function_finds_count_against_it():
    """Half of the replies are words that only this run's parser knows; the rest are per mille."""
    words = simulated(
        random.Random(1),
        FRACTIONS,
        from_words,
        pictures=30,
        wrap=lambda dice, reply: "the centre",
        target_side=(0.5, 0.9),
    )
    words = [facts for facts in moved(words) if facts["hit"]]
    numbers = list(
        simulated(
            random.Random(1),
            dataclasses.replace(PER_MILLE, accuracy=0.4),
            from_words,
            pictures=15,
            target_side=(0.01, 0.05),
        )
    )
    assert len(words) > sum(facts["hit"] for facts in numbers)
    [finding] = audited([*words, *numbers])["findings"]
    assert (finding.code, finding.severity) == ("coordinate_audit.unread", "note")


def test_a_lead_of_less_than_five_points_is_not_warned_of():
    """4 % of the replies are per mille, the others as configured: they alone could be better read."""
    one_each = {"per_picture": (1, 1), "screens": FULL_HD}
    knows_nothing = dataclasses.replace(FRACTIONS, accuracy=0.0)
    right = simulated(random.Random(4), knows_nothing, default_parser, pictures=480, **one_each)
    wrong = simulated(random.Random(5), PER_MILLE, default_parser, pictures=20, **one_each)
    section = audited([*right, *moved(wrong)])
    assert section["best"] == ["per mille"]
    assert section["rows"][1]["discordant pictures"] >= 10
    assert section["findings"] == []


THOUGHTS = (
    lambda dice, reply: reply,
    lambda dice, reply: f"<think>Probably {reply}.</think>\n{reply}",
    lambda dice, reply: f"<think>There is a menu, and below it a list.</think>\n{reply}",
    lambda dice, reply: f"I would say {reply}\n</think>\n{reply}",
    # cut off: the parser reads a thought, and there is nothing to read instead
    lambda dice, reply: reply if dice.random() < 0.7 else f"<think>Perhaps {reply}, or",
    # no answer, but numbers
    lambda dice, reply: (
        reply if dice.random() < 0.7 else f"Rows, columns: {dice.randint(0, 20)}%, 7%"
    ),
)


def thinks_of_elsewhere(dice, reply):
    return f"<think>({dice.random():.3f}, {dice.random():.3f})?</think>{reply}"


SIDES = ((0.005, 0.03), (0.01, 0.15), (0.05, 0.4))


def of_models_that_think(dice, number):
    """Their answers are read, or a thought that names the same place; some know very little."""
    accuracy = (0.0, 0.1, 0.6, dice.uniform(0.2, 0.95))[number % 4]
    reading = dice.choice(INTERPRETATIONS)
    model = Model(
        reading,
        accuracy,
        spread=dice.uniform(0, 0.6),
        correlation=dice.random(),
        bias=dice.gauss(0, 0.1),
    )
    wrap, parse = dice.choice(THOUGHTS), function_of(reading)
    if number % 3 == 0:  # its answers are all that is read, whatever it thinks of
        wrap = thinks_of_elsewhere
    elif number % 3 == 1:
        parse = default_parser
        model = dataclasses.replace(model, reading=Interpretation(Frame.FRACTIONS))
    return simulated(
        dice,
        model,
        parse,
        wrap=wrap,
        pictures=dice.choice((12, 30, 60)),
        per_picture=dice.choice(((1, 1), (1, 3))),
        target_side=dice.choice(SIDES),
    )


def in_the_configured_frame(dice, number):
    reading = dice.choice(INTERPRETATIONS)
    accuracy = dice.choice((0.0, *[dice.uniform(0.2, 0.9)] * 4))  # some know nothing
    model = Model(
        reading,
        accuracy,
        spread=dice.uniform(0, 0.6),
        correlation=dice.random(),
        is_box=dice.random() < 0.3,
        bias=dice.gauss(0, 0.1),
    )
    return simulated(
        dice,
        model,
        function_of(reading),
        pictures=dice.choice((12, 30, 60, 120)),
        per_picture=dice.choice(((1, 1), (1, 3), (1, 8))),
        target_side=dice.choice(SIDES),
        shrinks=dice.random() < 0.5,
    )


@pytest.mark.parametrize(
    ("make_clicks", "seed", "max_alarms"),
    [(of_models_that_think, 20_260_101, 0), (in_the_configured_frame, 20_250_726, 10)],
)
def test_a_thousand_runs_give_hardly_a_false_alarm(make_clicks, seed, max_alarms):
    dice = random.Random(seed)
    findings = [audited(make_clicks(dice, number))["findings"] for number in range(1000)]
    warnings = [
        finding for several in findings for finding in several if finding.severity != "note"
    ]
    assert len(warnings) <= max_alarms, warnings


def resized(side, measured):
    return lambda wh: (0, 0, wh[0] * side / measured(wh), wh[1] * side / measured(wh))


def letterboxed(side):
    def place(wh):
        wide, high = (edge * side / max(wh) for edge in wh)
        return (side - wide) / 2, (side - high) / 2, wide, high

    return place


def of_pixels(count):
    return resized(count**0.5, lambda wh: (wh[0] * wh[1]) ** 0.5)


# Units that no ready-made parse function reads: what the audit calls them, with what numbers.
SIZES = [
    ("on a scale from 0 to about # on both axes", (512,), lambda wh: (0, 0, 512, 512)),
    ("on a scale from 0 to about # on both axes", (10_000,), lambda wh: (0, 0, 10_000, 10_000)),
    ("pixels of an image of about # x #, whatever", (1280, 720), lambda wh: (0, 0, 1280, 720)),
    ("pixels of an image whose longest side is about #;", (896,), resized(896, max)),
    ("pixels of an image whose longest side is about #;", (1280,), resized(1280, max)),
    ("pixels of an image whose shortest side is about #;", (768,), resized(768, min)),
    ("pixels of an image of # times the", (0.5,), lambda wh: (0, 0, wh[0] / 2, wh[1] / 2)),
    ("pixels of an image of # times the", (2,), lambda wh: (0, 0, wh[0] * 2, wh[1] * 2)),
    ("pixels of an image with a width of about #;", (640,), resized(640, lambda wh: wh[0])),
    ("pixels of an image of about # pixels", (501_000,), of_pixels(501_000)),
]
UNKNOWN = {
    "height 1000": resized(1000, lambda wh: wh[1]),
    "square of 336": letterboxed(336),
    "square of 1024": letterboxed(1024),
    "from the bottom": lambda wh: (0, wh[1], wh[0], -wh[1]),
}


@pytest.mark.parametrize("accuracy", [1.0, 0.4])
@pytest.mark.parametrize(("words", "sizes", "place_point"), SIZES)
def test_an_image_size_that_no_parse_function_knows_is_named(words, sizes, place_point, accuracy):
    model = Model(Interpretation(Frame.PIXELS), accuracy, 0.1, 0.3, place_click=place_point)
    section = audit_of(1, model, pictures=150, screens=((1920, 1080), (2560, 1440), (1179, 2556)))
    [text] = texts_of(section)
    form = f"seem to be {words}".replace("#", r"([\d,.]+)")
    named_sizes = [float(number.replace(",", "")) for number in re.search(form, text).groups()]
    assert named_sizes == pytest.approx(sizes, rel=0.03)
    fitted = section["rows"][1]
    assert fitted["value"] > 100 * accuracy - 8 and fitted["name"] in section["at"]


def test_a_size_of_which_y_comes_first_is_named():
    model = Model(Interpretation(Frame.PIXELS, y_first=True), 0.8, place_click=resized(896, max))
    [text] = texts_of(audit_of(6, model, pictures=80))
    assert "longest side is about 896 (y before x)" in text.replace("897", "896")


def test_points_of_a_square_with_the_image_in_its_corner_are_of_an_image_with_its_longest_side():
    model = Model(Interpretation(Frame.PIXELS), 0.84, 0.2, place_click=resized(1000, max))
    [text] = texts_of(audit_of(7, model, function_of(PER_MILLE.reading), pictures=60))
    assert re.search(r"longest side is about (99\d|1,000|1,010)", text)


def test_replies_that_only_the_parse_function_can_read_are_said_not_to_be_audited():
    def wrap(dice, reply):
        x, y = coordinates.numbers_of_reply(reply)
        return f"tap {x:.0f}/{y:.0f}"

    def parse(reply, meta):
        x, y = map(float, re.findall(r"\d+", reply))
        return x / 1000, y / 1000

    section = audit_of(8, PER_MILLE, parse, pictures=20, wrap=wrap)
    [finding] = section["findings"]
    assert (finding.code, finding.severity) == ("coordinate_audit.unread", "note")
    assert section["is_undecided"]
    [check] = checks_of("data", "L2", {"coordinate_audit": as_json(section)})
    assert check["is_undecided"] and "found no coordinates" in check["clear"]


def test_json_that_no_known_frame_fits_is_said_without_a_parse_function():
    def wrap(dice, reply):
        x, y = coordinates.numbers_of_reply(reply)
        return json.dumps({"x": x, "y": y})

    model = Model(Interpretation(Frame.PIXELS), 0.0, place_click=resized(896, max))
    [text] = texts_of(audit_of(5, model, pictures=40, wrap=wrap))
    assert "replies in JSON" in text and "No ready-made parse function fits" in text


def test_who_reads_a_size_of_its_own_rightly_is_not_warned():
    def parse(reply, meta):
        x, y = coordinates.numbers_of_reply(reply)
        scale = 896 / max(meta["image_size"])
        return tuple(n / scale / side for n, side in zip((x, y), meta["image_size"], strict=True))

    model = Model(Interpretation(Frame.PIXELS), 0.7, 0.1, place_click=resized(896, max))
    assert audit_of(4, model, parse, pictures=60)["findings"] == []


@pytest.mark.parametrize("place_point", UNKNOWN.values(), ids=UNKNOWN)
def test_no_frame_is_advised_where_none_is_known(place_point):
    model = Model(Interpretation(Frame.PIXELS), 0.8, 0.1, 0.3, place_click=place_point)
    section = audit_of(1, model, pictures=150, screens=((1920, 1080), (2560, 1440), (1179, 2556)))
    assert section["best"] == [] or not section["findings"]
    sayings = ("no known frame fits", "the numbers seem to be pixels of")
    assert all(any(saying in text for saying in sayings) for text in texts_of(section))
    assert bool(section["findings"]) or place_point is not UNKNOWN["square of 1024"]


@pytest.mark.parametrize(
    ("pictures", "per_picture", "codes"),
    [
        (9, (8, 8), ["few_images"]),  # many samples on few pictures are few pictures
        (9, (1, 1), ["few_images"]),
        (4, (2, 2), []),
        (40, (1, 1), ["other_frame"]),
    ],
)
def test_too_few_pictures_are_no_evidence_for_a_warning(pictures, per_picture, codes):
    run = {"pictures": pictures, "per_picture": per_picture, "screens": FULL_HD}
    section = audit_of(3, PER_MILLE, **run)
    assert codes_of(section) == codes
    assert section.get("is_undecided", False) is (codes == ["few_images"])
    assert section["best"] == ["per mille"]


def test_on_few_pictures_a_note_says_how_another_reading_would_score():
    section = audit_of(3, PER_MILLE, pictures=9, per_picture=(2, 2), screens=FULL_HD)
    [finding] = section["findings"]
    assert finding.severity == "note"
    assert finding.text.startswith(
        "read as per mille, the 18 replies with coordinates score 100.00 %, and 0.00 % as"
    )
    assert "the two frames differ on 9 of 9 images, too few to be sure" in section["clear"]


@pytest.mark.parametrize(
    ("configured", "codes"),
    [(Frame.WIDTH_1000, ["few_images"]), (Frame.PER_MILLE, ["unknown_size"])],
)
def test_where_only_upright_images_tell_two_sizes_apart_the_better_one_is_noted(configured, codes):
    """A model that counts pixels at a longest side of 1,000; wide images are read alike."""
    model = Model(Interpretation(Frame.PIXELS), 0.9, place_click=resized(1000, max))
    parse = function_of(Interpretation(configured))
    screens = (*[(1920, 1080)] * 3, (1179, 2556))
    section = audit_of(3, model, parse, pictures=21, screens=screens)
    assert codes_of(section) == codes
    assert "longest side is about" in section["findings"][-1].summary


def test_as_many_pictures_as_the_sample_data_has_are_evidence_for_a_model_that_is_half_right():
    half_right = dataclasses.replace(PER_MILLE, accuracy=0.55)
    for seed in range(5):
        section = audit_of(seed, half_right, pictures=18, per_picture=(8, 8), screens=FULL_HD)
        assert named(section) == ["utils.coordinates.parse_per_mille"], seed


def test_replies_whose_numbers_the_parser_did_not_use_are_counted_and_compared():
    section = audit_of(6, PER_MILLE, lambda reply, meta: (0.123, 0.456), pictures=50)
    counts = section["counts"]
    assert (counts["unknown frame"], counts["known frame"]) == (counts["answered"], 0)
    assert named(section) == ["utils.coordinates.parse_per_mille"]
    assert "as configured (unknown frame)" in texts_of(section)[0]
    assert any("Unknown frame" in note for note in section["notes"])


def test_a_parser_that_takes_numbers_of_the_thinking_is_told_from_one_with_another_frame():
    rng = random.Random(4)
    model = Model(Interpretation(Frame.PIXELS), 0.9, place_click=resized(896, max))

    def sample_of(sample, *, with_thought):
        width, height = sample["file_wh"]
        x, y = rng.randint(1, 500), rng.randint(1, 500)
        scale = max(width, height) / 896  # the unit of the function is right
        thought = f"<think>Rather [{x}, {y}]?</think>" if with_thought else ""
        point = [x * scale / width, y * scale / height]
        return {**sample, "prediction": thought + sample["prediction"], "point_frac": point}

    for with_thought, name in ((True, "other numbers of the reply"), (False, "unknown frame")):
        facts = simulated(rng, model, default_parser, pictures=30)
        missing = [{**sample_of(sample, with_thought=with_thought), "hit": 0} for sample in facts]
        [text] = texts_of(audited(missing))
        assert f"as configured ({name})" in text
        advice = "takes the last coordinates of the reply, after any thinking" in text
        assert advice is with_thought


def test_a_reply_that_fits_a_frame_by_chance_names_no_frame_of_the_parser():
    def parse(reply, meta):
        x, y = coordinates.numbers_of_reply(reply)
        return (x / 1000, y / 1000) if x % 50 < 1 else (0.123, 0.456)

    section = audit_of(6, PER_MILLE, parse, pictures=50)
    assert 0 < section["counts"]["known frame"] < section["counts"]["unknown frame"]
    assert section["configured"] == []
    assert re.search(r"as configured \(unknown frame in \d+ replies\)", texts_of(section)[0])


@pytest.mark.parametrize(
    ("change", "count"),
    [
        ({"prediction": "I see nothing."}, "no numbers"),
        ({"point_frac": None, "verdict": "unparsed"}, "no point read"),
        *(
            ({"point_frac": point}, "unknown frame")
            for point in ([0.5, 0.5], [float("inf"), 0.5], [0.5, -1e308])
        ),
    ],
)
def test_each_reply_that_is_not_read_alike_is_counted_by_its_reason(change, count):
    one = {"pictures": 1, "per_picture": (1, 1)}
    [sample] = simulated(random.Random(7), FRACTIONS, default_parser, **one)
    section = audited([sample, {**sample, **change}, {**sample, "verdict": None}])
    assert section["counts"][count] == 1
    assert (section["counts"]["answered"], section["counts"]["known frame"]) == (2, 1)


def rounded_to_pixels(reply, meta):
    x, y = coordinates.parse_per_mille(reply, meta)
    width, height = meta["image_size"]
    return round(x * width), round(y * height)


def clipped(reply, meta):
    x, y = default_parser(reply, meta)
    width, height = meta["image_size"]
    return min(x / width, 1.0), min(y / height, 1.0)


@pytest.mark.parametrize("parse", [rounded_to_pixels, clipped])
def test_a_parser_that_rounds_or_clips_used_the_same_numbers(parse):
    run = {"pictures": 40, "screens": ((640, 360), (1920, 1080)), "shrinks": False}
    section = audit_of(8, PER_MILLE, parse, **run)
    assert (section["counts"]["unknown frame"], section["best"]) == (0, ["per mille"])


def test_without_a_known_grid_its_reading_is_left_out_and_named_and_without_a_sample_all_is_well():
    facts = simulated(
        random.Random(9), Model(Interpretation(Frame.PIXELS)), default_parser, pictures=20
    )
    section = audited([{**sample, "grid_wh": None} for sample in facts])
    assert not any("grid" in row["name"] for row in section["rows"])
    assert any(note.startswith("Left out: pixels of the grid") for note in section["notes"])
    assert audited([])["findings"] == []


WIDE, SMALL = [("os_windows", (640, 360))], [("os_web", (40, 30))]
READ_AS = "coordinate audit: read as"
JSON_AS = "coordinate audit: the parse function found no point in 2 replies in JSON, such as"


@pytest.mark.parametrize(
    ("dataset", "reply", "function", "pictures", "kwargs", "expected_text"),
    [
        (
            L1,
            "<think>Option A? The first one looks plausible.</think>\nB",
            "thinking.parse_option",
            SMALL * 12,
            {},
            "parse audit: 36 of 36 letters are doubtful",
        ),
        (
            L2,
            "<p>250,150</p>",
            "coordinates.parse_per_mille",
            [*WIDE, ("os_ios", (295, 639))] * 8,
            {},
            f"{READ_AS} per mille",
        ),
        (
            L2,
            "<think>The window is at (0.9, 0.9).</think>\n(0.25, 0.15)",
            "coordinates.parse_fractions",
            WIDE * 12,
            {},
            "coordinate audit: ",
        ),
        (L2, "(25.0%, 15.0%)", "coordinates.parse_per_cent", WIDE * 12, {}, f"{READ_AS} per cent"),
        # a server has resized the image and says nothing of it
        (
            L2,
            "(199, 119)",
            "coordinates.parse_million_pixels",
            [("os_web", (2000, 2000))] * 12,
            {},
            f"{READ_AS} pixels of the image at 1,003,520 pixels",
        ),
        # the grid follows from the limits in the config: pixels of it, read as pixels of the file
        (
            L2,
            "(70, 42)",
            "coordinates.parse_grid_pixels",
            [("os_web", (1000, 1000))] * 12,
            {"min_pixels": 3136, "max_pixels": 280 * 280},
            f"{READ_AS} pixels of the grid seen",
        ),
        # JSON, of which the protocol's parser reads nothing: said of the smallest run
        (
            L2,
            '{"x": 0.25, "y": 0.15}',
            "coordinates.parse_fractions",
            WIDE,
            {},
            JSON_AS + ' {"x": 0.25, "y": 0.15}',
        ),
        (
            L2,
            '```json\n{"x": 250, "y": 150}\n```',
            "coordinates.parse_per_mille",
            WIDE,
            {},
            f"{JSON_AS} ```json",
        ),
    ],
)
def test_a_run_read_wrongly_prints_a_fix(
    staged, dataset, reply, function, pictures, kwargs, expected_text
):
    def score():
        scores = stage.scores(dataset)
        return scores["Average accuracy"] if dataset == L2 else 100 * scores["easy"]["level_score"]

    stage = staged(answer=lambda request: Reply(reply), pictures=pictures, kwargs=kwargs)
    stage.data = {dataset: {"mode": "all"}}
    before, wrong = stage.run(), score()
    stage.data[dataset]["parse_function"] = f"utils.{function}"
    after = stage.run("--mode", "eval")
    [warning] = [line for line in before.stdout.splitlines() if expected_text.split(":")[0] in line]
    assert warning.startswith(f"warning: m, {dataset}: {expected_text}")
    assert f'data.{dataset}.parse_function: "utils.{function}"' in warning
    assert (wrong, score(), after.requests) == (0, 100, [])
    assert expected_text.split(":")[0] not in after.output
    sections = json.loads((stage.folder() / f"m_{dataset}_analysis.json").read_text("utf-8"))
    assert dataset == L2 or {"parse_audit", "letter_bias"} <= sections.keys()


def test_a_fix_beside_other_models_names_the_key_of_this_one_alone(staged):
    pictures = [*WIDE, ("os_ios", (295, 639))] * 8
    stage = staged(
        answer=lambda request: Reply(
            "<p>250,150</p>" if request.body["model"] == "mock" else "(0.25, 0.15)"
        ),
        pictures=pictures,
    )
    stage.data = {L2: {"mode": "all"}}
    assert f'set data.{L2}.parse_function: "' in stage.run().output
    other = stage.model["m"]["model_path"].replace("mock", "other")
    stage.model["other"] = stage.model["m"] | {"model_path": other}
    advice = f'set model."m".parse_function.{L2}: "utils.coordinates.parse_per_mille"'
    assert advice in stage.run().output
    stage.model["m"]["parse_function"] = {L2: "utils.coordinates.parse_fractions"}
    assert advice in stage.run().output
    stage.model["m"]["parse_function"] = {L2: "utils.coordinates.parse_per_mille"}
    again = stage.run()
    assert (again.requests, "coordinate audit" in again.output) == ([], False)
    assert [stage.scores(L2, model)["Average accuracy"] for model in stage.model] == [100, 100]

"""Circular evaluation: every rotation is asked, rotation 0 is shared with plain runs, all is told.

Rotations by hand are annotation files of their own, made here without the program's own rotation,
and asked by plain runs.
"""

import hashlib
import itertools
import json
import shutil
import signal
import threading
import zlib
from dataclasses import replace

import pytest

from benchmarks.circular import Circular, names_other_options, rotated
from tests.support.clicks import columns_of
from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model
from tests.support.stage import API, L1, Stage, read_log_lines
from utils.scoring.console import render_table
from utils.text import format_interval

PLAIN, CIRCULAR = {L1: {"mode": "all"}}, {L1: {"mode": "all", "circular": True}}
QUESTIONS, ROTATIONS = 9, 32  # of the stage: 9 questions; 2, 3, 4 and 5 options
OPTIONS = [
    ({"A": "no", "B": "yes", "C": "maybe"}, "B"),
    ({"A": "red", "B": "blue", "C": "green", "D": "grey", "E": "pink"}, "D"),
    ({"A": "up", "B": None, "C": "down", "D": "left", "E": "right"}, "E"),
    ({"A": "on", "B": "off"}, "A"),
    ({"A": "tea", "B": "coffee", "C": "A and B", "D": "none of the above"}, "C"),
]


@pytest.mark.parametrize(
    ("options", "answer", "rotation", "texts", "right"),
    [
        ({"A": "x", "B": "y", "C": "z"}, "B", 0, {"A": "x", "B": "y", "C": "z"}, "B"),
        ({"A": "x", "B": "y", "C": "z"}, "B", 1, {"A": "y", "B": "z", "C": "x"}, "A"),
        ({"A": "x", "B": "y", "C": "z"}, "B", 2, {"A": "z", "B": "x", "C": "y"}, "C"),
        ({"A": "x", "B": None, "C": "z"}, "C", 1, {"A": "z", "B": None, "C": "x"}, "A"),
        ({"C": "z", "A": "x"}, "A", 1, {"C": "x", "A": "z"}, "C"),  # annotated out of order
        ({"A": "x"}, "A", 0, {"A": "x"}, "A"),
    ],
)
def test_a_rotation_moves_texts_and_the_right_letter(options, answer, rotation, texts, right):
    line = {"options": options, "answer": answer, "question": "Which?"}
    before = json.dumps(line)
    rotated_line = rotated(line, rotation)
    assert list(rotated_line["options"].items()) == list(texts.items())
    assert (rotated_line["answer"], rotated_line["question"], json.dumps(line)) == (
        right,
        "Which?",
        before,
    )


SPEAK_OF_OTHERS = [
    "A and B",
    "Both A and C",
    "Neither A nor B",
    "A, B, and C",
    "A/B",
    "(A) and (C)",
    "Option D",
    "Only C",
    "Options A and B are right",
    "A only",
    "Everything except B",
    "All of the above",
    "none of the above.",
    "Both of the above are correct",
    "None of the options above",
    "The above two options",
]
SPEAK_OF_THE_IMAGE = [
    "A and F",  # F is no option here
    "Drive C",
    "Plan B",
    "Columns A and B",
    "A tab and a window",
    "Section A.png",
    "None of these",
    "It opens the folder above",
    "It is the sum of the cells above it",
    "None of the buttons above it",
    "All above the line",
    "The first option in the menu",
]


@pytest.mark.parametrize("text", SPEAK_OF_OTHERS + SPEAK_OF_THE_IMAGE)
def test_options_that_speak_of_other_options_are_told_from_the_rest(text):
    options = {"A": "x", "B": "y", "C": "z", "D": text, "E": None}
    assert names_other_options(options) == ([text] if text in SPEAK_OF_OTHERS else [])


XYZ = ("x", "y", "z")


def turns(number, chosen, *, split="easy", texts=XYZ, requested=None, **more):
    """The lines of a question whose rotations were answered with the letters `chosen`."""
    line = {"options": dict(zip("ABCDEFG", texts, strict=False)), "answer": "A"}
    answers = []
    for rotation in range(len(texts) if requested is None else requested):
        turn, letter = rotated(line, rotation), chosen[rotation]
        answers.append(
            {
                "question": f"q{number}",
                "key": f"q{number}~{rotation}",
                "rotation": rotation,
                "rotations": len(texts),
                "index": number,
                "image": f"p{number}.png",
                "split": split,
                "options": turn["options"],
                "chosen": letter,
                "answer": turn["answer"],
                "hit": int(letter == turn["answer"]),
                "status": "ok" if letter else "failed",
                "fingerprint": f"f{number}.{rotation}",
                **more,
            }
        )
    return answers


def section(*questions):
    return Circular().section(columns_of(itertools.chain(*questions)))


def values(row, *names):
    return [round(row[name]["value"], 2) for name in names]


def test_a_question_counts_when_all_its_rotations_are_right():
    circular = section(
        turns(0, "ACB"),  # right throughout
        turns(1, "BAC"),  # y throughout: consistent, never right
        turns(2, "AAA"),  # right once, by its letter
        turns(3, "ACA", split="hard"),  # right but for the last
        turns(4, "AB", split="hard", texts=("x", "y")),
    )
    assert [
        (row["name"], row["questions"], *values(row, "plain", "circular", "consistent"))
        for row in circular["rows"]
    ] == [("easy", 3, 66.67, 33.33, 66.67), ("hard", 2, 100, 50, 50), ("Overall", 5, 80, 40, 60)]


def test_a_blind_guess_is_right_in_all_n_rotations_once_in_n_to_the_nth():
    [*_, overall] = section(turns(0, "AAA"), turns(1, "AA", texts=("x", "y")))["rows"]
    assert overall["blind_plain"] == pytest.approx(100 * (1 / 3 + 1 / 2) / 2, abs=1e-4)
    assert overall["blind_circular"] == pytest.approx(100 * (1 / 27 + 1 / 4) / 2, abs=1e-4)


@pytest.mark.parametrize(
    ("chosen", "plain", "consistent"),
    [
        (["A", None, "B"], 100, 0),  # one without a letter
        ([None, None, None], 0, 0),  # the same nothing thrice is no consistency
        (["F", "F", "F"], 0, 0),  # no option at all
    ],
)
def test_what_chooses_no_text_is_neither_right_nor_consistent(chosen, plain, consistent):
    [_, overall] = section(turns(0, chosen))["rows"]
    assert values(overall, "plain", "circular", "consistent") == [plain, 0, consistent]


def test_the_printed_table_has_intervals_from_ten_images_on_but_none_of_a_worked_out_chance():
    ten = [turns(number, "ACB" if number else "AAA") for number in range(10)]
    circular = section(*ten)["rows"][-1]["circular"]
    assert (circular["samples"], circular["pictures"], circular["value"]) == (10, 10, 90)
    assert 0 < circular["low"] < 90 < circular["high"] <= 100
    flagged = section(*ten, turns(12, "AA", texts=("x", "A and B")))
    lines, overall = render_table(flagged["table"], "m", 11).splitlines(), flagged["rows"][-1]
    ranges = [
        format_interval(overall[name])
        for name in ("plain", "circular", "circular_unflagged", "consistent")
    ]
    [below] = [under for line, under in itertools.pairwise(lines) if line.startswith("Overall ")]
    assert below.split() == ["95", "%", *ranges] and all(ranges)
    printed_table = render_table(section(*ten[1:])["table"], "m", 9)
    assert "no 95 % intervals in the table: fewer than 10 images per cell" in printed_table
    assert "  95 %" not in printed_table.replace("no 95 %", "")


SEVEN = {**turns(7, "A", texts="stuvwxy", requested=1)[0], "rotations": 1}  # G: beyond the parser


@pytest.mark.parametrize(
    ("questions", "counted", "field_name", "expected_text"),
    [
        (
            [turns(0, "ACB"), turns(1, "AA", requested=2)],
            [1, 1],
            "findings",
            "rotations not queried yet: 1;",
        ),
        (
            [turns(0, "ACB"), [SEVEN]],
            [1, 1],
            "notes",
            "knows only the options A to F: 1 questions, index 7",
        ),
        (
            [turns(0, "ACB", fingerprint="f")],
            [1, 1],
            "findings",
            "in the same words in several rotations: 1;",
        ),
        ([turns(0, "ACB"), turns(1, "AAA", fingerprint="")], [2, 2], "findings", None),
        ([], [], "findings", None),
        (
            [turns(0, ["A", None, "B"], status="ok")],
            [1, 1],
            "findings",
            "replies without a letter that could be read: 1 of 3 in all rotations; one such",
        ),
        (
            [turns(0, "ACB"), turns(1, "AAA")],
            [2, 2],
            "notes",
            "(in brackets: how often each is right): A 4 (2), B 1 (2), C 1 (2)",
        ),
    ],
)
def test_what_is_left_out_or_odd_is_said(questions, counted, field_name, expected_text):
    circular = section(*questions)
    assert [row["questions"] for row in circular["rows"]] == counted
    assert len(circular["table"]["rows"]) == len(counted)
    texts = [str(text) for text in circular[field_name]]
    assert any(expected_text in text for text in texts) if expected_text else texts == []


@pytest.mark.parametrize(
    ("last", "flagged", "without_them"),
    [("all of the above", 1, "without them: 100.00 %"), ("z", 0, None)],
)
def test_flagged_questions_are_named_and_the_accuracy_given_without(last, flagged, without_them):
    circular = section(turns(0, "ACB"), turns(7, "AAA", texts=("x", "y", last)))
    overall, [_, _, *notes] = circular["rows"][-1], circular["notes"]
    assert (overall["flagged"], overall["circular"]["value"]) == (flagged, 50)
    assert (overall["circular_unflagged"] or {"value": None})["value"] == (100 if flagged else None)
    assert len(notes) == flagged
    assert all("1 of 2 questions, index 7; " in n and n.endswith(without_them) for n in notes)


def twice(number, chosen, **more):
    """The lines of a question that was asked twice in all its rotations, with the same answers."""
    first = turns(number, chosen, repeat=1, **more)
    second = turns(number, chosen, repeat=2, **{**more, "question": f"q{number}+2"})
    return [*first, *second]


def test_questions_that_were_asked_several_times_are_counted_once_in_notes():
    flagged = twice(7, "AAA", texts=("x", "y", "all of the above"), fingerprint="f")
    unsupported = [
        {**SEVEN, "index": 3, "repeat": repeat, "question": question}
        for repeat, question in ((1, "q3"), (2, "q3+2"))
    ]
    incomplete = twice(1, "AA", requested=2)
    circular = section(twice(0, "ACB"), flagged, unsupported, incomplete)
    texts = [*circular["notes"], *map(str, circular["findings"])]
    for expected in (
        "knows only the options A to F: 1 questions, index 3",
        "1 of 2 questions, index 7; circular accuracy without them: 100.00 %",
        "rotations not queried yet: 1;",
        "in the same words in several rotations: 1;",
        "each question was asked 2 times in all its rotations, and counts 2 times",
    ):
        assert any(expected in text for text in texts), expected


def letter_for(text):
    """A letter that depends on the request alone, among those that it lists."""
    listed = [line[0] for line in text.splitlines() if line[1:3] == ". "]
    return listed[hashlib.sha256(text.encode()).digest()[0] % len(listed)]


def by_text(text):
    """Chooses by what the options say, so that it is consistent; by letter where blue is not."""
    options = {line[3:]: line[0] for line in text.splitlines() if line[1:3] == ". "}
    return next((options[word] for word in ("yes", "grey", "right") if word in options), "A")


@pytest.fixture(scope="module")
def server():
    with MockServer(lambda request: Reply(letter_for(request.text))) as running:
        yield running


def stage_in(home, server, **model):
    """A stage whose nine questions have two to five options, one of them without a text."""

    def change(annotations):
        groups = [group for image in annotations for group in image["groups"]]
        for number, group in enumerate(groups):
            group["options"], group["answer"] = OPTIONS[number % len(OPTIONS)]

    stage = Stage.make(home, server, **model)
    stage.change_annotations("L1", change)
    stage.data = dict(CIRCULAR)
    return stage


@pytest.fixture(scope="module")
def base(server, tmp_path_factory):
    """After a circular run."""
    stage = stage_in(tmp_path_factory.mktemp("circular"), server)
    ran = stage.run()
    assert (ran.code, len(ran.requests)) == (0, ROTATIONS), ran.output
    return stage


@pytest.fixture
def stage(server, tmp_path):
    """Before any run."""
    return stage_in(tmp_path / "stage", server)


def contents(stage, *suffixes):
    return [(stage.folder() / f"m_{L1}{suffix}").read_bytes() for suffix in suffixes]


def lines_of(stage, suffix, *, partial=False):
    """The lines of a derived file, without its head."""
    path = stage.folder() / f"m_{L1}{suffix}{'_partial' if partial else ''}.jsonl"
    return read_log_lines(path)[1:]


def analysis(stage, *, partial=False):
    [content] = contents(stage, f"_analysis{'_partial' if partial else ''}.json")
    return json.loads(content)


def overall(stage):
    return analysis(stage)["circular"]["rows"][-1]


def rotate_by_hand(annotations):
    """One entry for each picture and rotation, holding the questions that have so many."""
    rotated_images = []
    for image in annotations:
        max_options = max(len(group["options"]) for group in image["groups"])
        for rotation in range(max_options):
            groups = []
            for group in image["groups"]:
                letters = sorted(x for x, text in group["options"].items() if text is not None)
                if rotation < len(letters):  # each text goes up by so many, the first ones to last
                    sources = letters[rotation:] + letters[:rotation]
                    texts = {x: group["options"][y] for x, y in zip(letters, sources, strict=True)}
                    answer = letters[letters.index(group["answer"]) - rotation]
                    groups.append({**group, "options": group["options"] | texts, "answer": answer})
            rotated_images.append({**image, "groups": groups})
    annotations[:] = rotated_images


def in_one_order(rows):
    """What two runs of the same rotated questions must agree about."""
    names = (
        "image",
        "text",
        "options",
        "answer",
        "prompt",
        "prediction",
        "chosen",
        "verdict",
        "hit",
    )
    questions = [{name: row[name] for name in names} for row in rows]
    return sorted(questions, key=lambda row: json.dumps(row, sort_keys=True))


def test_a_circular_run_is_what_asking_each_rotation_by_hand_gives(base, tmp_path):
    by_hand = base.copy_to(tmp_path / "by hand")
    shutil.rmtree(by_hand.work_dir)
    by_hand.change_annotations("L1", rotate_by_hand)
    by_hand.data = dict(PLAIN)
    ran = by_hand.run()
    plainly = lines_of(by_hand, "_samples")
    assert (ran.code, len(plainly)) == (0, ROTATIONS)
    assert in_one_order(plainly) == in_one_order(lines_of(base, "_rotations"))
    hits = {}
    for row in plainly:
        hits.setdefault((row["image"], row["text"]), []).append(row["hit"])
    right_throughout = 100 * sum(map(min, hits.values())) / len(hits)
    assert overall(base)["circular"]["value"] == pytest.approx(right_throughout, abs=0.01)


def test_after_a_plain_run_only_further_rotations_are_asked_and_its_files_stay(stage):
    def files():
        sheets = [stage.sheet(L1), stage.sheet(L1, "_exact_matching_result")]
        return contents(stage, "_scores.json", "_samples.jsonl"), sheets

    stage.data = dict(PLAIN)
    plain, before = stage.run(), files()
    stage.data = dict(CIRCULAR)
    scored, scores = stage.run("--mode", "eval"), stage.scores(L1)
    circular, again = stage.run(), stage.run()
    assert (scored.code, scored.requests, scores) == (1, [], json.loads(before[0][0]))
    assert f"rotations not queried yet: {QUESTIONS};" in scored.output
    request_counts = [len(ran.requests) for ran in (plain, circular, again)]
    assert request_counts == [QUESTIONS, ROTATIONS - QUESTIONS, 0]
    assert not {r.text for r in plain.requests} & {r.text for r in circular.requests}
    assert files() == before
    assert f"queried {ROTATIONS - QUESTIONS}" in circular.output
    assert f"reused {ROTATIONS}" in again.output


def test_a_plain_run_after_a_circular_one_asks_nothing_in_a_folder_of_its_own(base, stage):
    stage = base.copy_to(stage.home)
    circular = stage.folder()
    before = {path.name: path.read_bytes() for path in circular.glob("m_*.json*")}
    scores = contents(stage, "_scores.json")
    stage.data = dict(PLAIN)
    ran = stage.run()
    assert (ran.code, ran.requests) == (0, [])
    assert f"{circular.name}_2 ({circular.name} holds a run with circular eval" in ran.output
    assert {path.name: path.read_bytes() for path in circular.glob("m_*.json*")} == before
    assert stage.folder().name == f"{circular.name}_2"
    assert contents(stage, "_scores.json") == scores
    assert "circular" not in analysis(stage)
    assert not list(stage.folder().glob("*_rotations*"))
    stage.data = dict(CIRCULAR)
    assert f"→ {circular}\n" in stage.run().output


def test_scoring_a_circular_log_with_a_plain_config_keeps_the_rotations(base, stage):
    stage = base.copy_to(stage.home)
    kinds = ["_rotations.jsonl", "_samples.jsonl", "_scores.json"]
    before, section_before = contents(stage, *kinds), analysis(stage)["circular"]
    stage.data = dict(PLAIN)
    ran = stage.run("--mode", "eval")
    assert (ran.code, contents(stage, *kinds)) == (0, before), ran.output
    assert analysis(stage)["circular"] == section_before
    assert "other settings than this config has (circular evaluation)" in ran.output


def test_a_plain_run_spares_the_rotations_of_an_older_versions_log(base, stage):
    stage = base.copy_to(stage.home)
    log = stage.log(L1)
    first, *others = log.read_bytes().splitlines(keepends=True)
    record = json.loads(first)
    del record["crc"], record["circular"]
    text = json.dumps(record, separators=(",", ":")).encode()
    log.write_bytes(b"".join([text[:-1], b',"crc":"%08x"}\n' % zlib.crc32(text), *others]))
    circular = stage.folder()
    stage.data = dict(PLAIN)
    assert stage.run().requests == []
    assert stage.folder() != circular
    assert list(circular.glob("*_rotations.jsonl"))


def test_a_log_alone_gives_the_same_rotations_and_both_accuracies_side_by_side(base, tmp_path):
    moved = base.copy_to(tmp_path / "moved")
    shutil.rmtree(moved.root)
    derived = ["_rotations.jsonl", "_samples.jsonl", "_analysis.json", "_scores.json"]
    before = contents(moved, *derived)
    for name in derived:
        (moved.folder() / f"m_{L1}{name}").unlink()
    ran = moved.run("--mode", "eval")
    assert (ran.code, ran.requests, contents(moved, *derived)) == (0, [], before)
    [head] = [line for line in ran.output.splitlines() if " circular · m · " in line]
    [row] = [line for line in ran.output.splitlines() if line.startswith("Overall ")]
    figures = overall(moved)
    assert f"n = {QUESTIONS}" in head
    assert [float(cell) for cell in row.split()[1:3]] == values(figures, "plain", "circular")
    assert f"{figures['flagged']} of {QUESTIONS} questions, index " in ran.output


def test_a_run_killed_between_two_rotations_of_a_question_goes_on_from_there(stage):
    arrived, held_requests = [], threading.Event()

    def answer(request):
        arrived.append(request.text)
        if len(arrived) == 5:  # the second rotation of the second question
            held_requests.wait()
        return Reply(letter_for(request.text))

    with MockServer(answer) as slow:
        stage.model = {"m": api_model(slow.url, model_identity="the same")}
        process = stage.start("--api-nproc", "1")
        slow.wait_for(5)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        held_requests.set()
        scored = stage.run("--mode", "eval")
        partial = [row["rotation"] for row in lines_of(stage, "_rotations", partial=True)]
        left_out = analysis(stage, partial=True)["circular"]
        resumed = replace(stage, server=slow).run("--api-nproc", "1")
    assert (scored.code, partial) == (1, [0, 1, 2, 0])
    assert [row["questions"] for row in left_out["rows"]] == [1, 1]
    assert "rotations not queried yet: 1;" in scored.output
    assert resumed.code == 0
    assert arrived[5] == arrived[4]  # the one that was on its way
    assert [r.text for r in resumed.requests] == arrived[5:]
    assert len(set(arrived)) == ROTATIONS == len(resumed.requests) + 4
    assert [row["question"] for row in lines_of(stage, "_rotations")] == [
        row["key"]
        for row in lines_of(stage, "_samples")
        for text in row["options"].values()
        if text is not None
    ]


@pytest.mark.parametrize(
    ("broken", "status", "answered"),
    [
        ("A. no\n", 500, QUESTIONS - 2),  # rotation 0
        ("A. yes\n", 500, QUESTIONS),
        ("A. yes\n", 400, QUESTIONS),  # rotation 1: the score is well
    ],
)
def test_a_failed_rotation_holds_up_no_other_and_is_asked_again(stage, broken, status, answered):
    """Unless the request was refused."""
    is_well, refused = threading.Event(), status == 400

    def answer(request):
        fails = broken in request.text and not is_well.is_set()
        return Reply(status=status, body=b"{}") if fails else Reply(by_text(request.text))

    with MockServer(answer) as shaky:
        stage = replace(stage, server=shaky, model={"m": API})
        failing, figures = stage.run("--retry", "0", "--api-nproc", "1"), overall(stage)
        inferred = stage.run("--retry", "0", "--mode", "infer")
        is_well.set()
        mended = stage.run()
        stored = stage.run("--mode", "infer")
    assert (failing.code, len(failing.requests), figures["questions"]) == (1, ROTATIONS, QUESTIONS)
    assert f"{answered} of {QUESTIONS} have a reply" in failing.output
    warning = f"note: m, {L1}: rotations refused, not counting the questions themselves: 2;"
    assert (warning in failing.output) is refused
    assert f"2 x http: HTTP {status}: {{}}" in failing.output
    assert (inferred.code, mended.code, stored.code) == (1, int(refused), int(refused))
    assert [broken in r.text for r in mended.requests] == ([] if refused else [True, True])
    gained = overall(stage)["circular"]["value"] - figures["circular"]["value"]
    assert gained == pytest.approx(0 if refused else 200 / 9, abs=0.02)


@pytest.mark.parametrize(
    ("arguments", "requests"), [([], ROTATIONS), (["--limit", "4"], 12), (["--limit", "1"], 2)]
)
def test_check_and_limit_count_questions_and_tell_requests(stage, arguments, requests):
    checked, ran = stage.run("--check", *arguments), stage.run(*arguments)
    partial = bool(arguments)
    [record] = [r for r in read_log_lines(stage.log(L1)) if r["kind"] == "run"]
    assert (checked.code, checked.requests) == (0, [])
    assert f"{requests} requests to send" in checked.output
    assert (ran.code, len(ran.requests)) == (0, requests)
    assert len(record["samples"]) == (int(arguments[1]) if partial else QUESTIONS)
    assert len(lines_of(stage, "_rotations", partial=partial)) == requests
    assert f"{requests}/{requests}" in ran.output


USERS = '''
    import ast

    def ask(line, dataset):
        right = line["options"][line["answer"]]
        listed = "".join(f"{x}. {t}\\n" for x, t in line["options"].items() if t)
        return [{"role": "user", "type": "image", "value": line["image_path"]},
                {"role": "user", "type": "text", "value": f"Question {right}?\\n{listed}"}]

    def read(response, meta):
        """Whatever was said, the first letter that the question lists."""
        return next(x for x, t in ast.literal_eval(meta["options"]).items() if t)
'''


def test_the_users_functions_see_the_options_as_they_are_asked(server, tmp_path):
    stage = stage_in(tmp_path, server, custom_prompt={L1: "mine.ask"})
    stage.data = {L1: {**CIRCULAR[L1], "parse_function": "mine.read"}}
    stage.module(USERS, "mine")
    ran = stage.run()
    rows = lines_of(stage, "_rotations")
    asked_for = {(r["question"], r["prompt"][-1]["value"].split("\n")[0]) for r in rows}
    assert (ran.code, len(ran.requests)) == (0, ROTATIONS)
    assert len(asked_for) == QUESTIONS  # one right text, whatever its letter
    assert all(
        f"{r['answer']}. {r['options'][r['answer']]}\n" in r["prompt"][-1]["value"] for r in rows
    )
    assert sum(row["hit"] for row in rows) == QUESTIONS  # each text is first in one rotation
    assert overall(stage)["circular"]["value"] == 0

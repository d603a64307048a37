"""The embedded default model: what it reads out of prompts, which text it picks, what it needs."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from models.ocr_baseline import (
    NO_OPTION,
    NO_TARGET,
    OCRBaseline,
    answer_grounding,
    answer_question,
    read_instruction,
    read_question,
)
from models.ocr_baseline.text import TextLine, quoted_phrases, split_words
from utils.errors import UserError
from utils.misc import parser_answers_into_option, parser_response_into_coordinates

REPOSITORY = Path(__file__).resolve().parents[2]
GROUNDING = "GUIElementGrounding"
QUESTION = "GUIContentUnderstanding"
L2_LEAD = (
    "Output only the coordinate (x,y) of one point in your response. "
    "What element matches the following task: "
)


def is_installed(*modules):
    return all(importlib.util.find_spec(module) for module in modules)


needs_rapidfuzz = pytest.mark.skipif(
    not is_installed("rapidfuzz"), reason="rapidfuzz is not installed (requirements/demo.txt)"
)
needs_ocr = pytest.mark.skipif(
    not is_installed("rapidocr", "onnxruntime", "rapidfuzz", "numpy", "PIL"),
    reason="text recognition is not installed (requirements/demo.txt)",
)


def line(text, x1=0.1, y1=0.1, x2=0.2, y2=0.14):
    return TextLine(text, (x1, y1, x2, y2))


MAIL = [
    line("File Edit View Help", 0.0, 0.0, 0.19, 0.04),
    line("New message", 0.0, 0.1, 0.1, 0.14),
    line("Delete", 0.2, 0.1, 0.3, 0.14),
    line("Inbox 12", 0.0, 0.3, 0.1, 0.34),
    line("Drafts 3", 0.0, 0.4, 0.1, 0.44),
    line("The nightly build of branch main has failed; delete the cache", 0.4, 0.5, 0.9, 0.54),
    line("Edit", 0.8, 0.7, 0.9, 0.74),
    line("Edit", 0.8, 0.9, 0.9, 0.94),
]


# What is read out of a prompt


@pytest.mark.parametrize(("prompt", "instruction"), [
    (L2_LEAD + "Open the {name} menu", "Open the {name} menu"),
    (L2_LEAD + "  two\nlines ", "two\nlines"),
    ("Where is Save?", "Where is Save?"),  # a template of the user's own
    ("", ""),
])  # fmt: skip
def test_the_instruction_is_what_follows_the_default_template_else_the_whole_text(
    prompt, instruction
):
    assert read_instruction(prompt) == instruction


@pytest.mark.parametrize(("prompt", "question", "options"), [
    (
        "Question: Q?\nOptions:\nA. one\nB. two\nPlease select the correct answer from the options above. \n",
        "Q?", {"A": "one", "B": "two"},
    ),
    (  # options of several lines; a line that looks like an earlier option belongs to the later one
        "Question: Q?\nOptions:\nA. one\nmore\nB. two\nA. not an option\nD. four\n",
        "Q?", {"A": "one\nmore", "B": "two\nA. not an option", "D": "four"},
    ),
    ("Question: Use the options.\nA. Smith?\nOptions:\nA. x\nB. \n", "Use the options.\nA. Smith?", {"A": "x", "B": ""}),
    ("Which one?\nA. x\nB. y", "Which one?", {"A": "x", "B": "y"}),
    ("Question: Q?\n", "Q?", {}),
    ("", "", {}),
])  # fmt: skip
def test_question_and_options_are_read_from_the_default_format_and_near_it(
    prompt, question, options
):
    assert read_question(prompt) == (question, options)


@pytest.mark.parametrize(("text", "phrases"), [
    ("Click the \"Save as\u2026\" button, then the 'OK' button", ["Save as\u2026", "OK"]),
    ("the user's and the users' mail", []),
    ("\u2018It\u2019s new\u2019 and \u201cB\u201d", ["It\u2019s new", "B"]),
    ('the "+" sign', []),  # no word to compare
])  # fmt: skip
def test_quoted_phrases_are_found_and_apostrophes_are_not_quotes(text, phrases):
    assert quoted_phrases(text) == phrases


def test_words_keep_numbers_whole_and_come_apart_where_recognition_lost_a_space():
    forms = [word.form for word in split_words("CancelApply at 12:30, 4.99 \u8bbe\u7f6e")]

    assert forms == ["cancel", "apply", "at", "12:30", "4.99", "\u8bbe", "\u7f6e"]


# L2: which text is meant


@needs_rapidfuzz
@pytest.mark.parametrize(("instruction", "reply"), [
    ("Compose a new message", "(0.0500, 0.1200)"),
    ("Remove the mail by deleting it", "(0.2500, 0.1200)"),  # the label, not the sentence
    ('The "Drafts" folder holds unsent mail', "(0.0375, 0.4200)"),
    ("'Help' explains how to edit a message", "(0.1700, 0.0200)"),  # what is quoted is meant
    ("The 'Edit' button at the bottom right", "(0.8500, 0.9200)"),
    ("The first 'Edit' button of the list on the right", "(0.8500, 0.7200)"),
])  # fmt: skip
def test_the_point_is_the_centre_of_the_words_that_fit_best(instruction, reply):
    assert answer_grounding(L2_LEAD + instruction, MAIL) == reply


@needs_rapidfuzz
def test_a_point_inside_a_long_line_is_interpolated_at_the_matching_words():
    reply = answer_grounding(L2_LEAD + "Which cache is meant?", MAIL)

    x_frac, y_frac = parser_response_into_coordinates(reply)
    assert 0.85 < x_frac < 0.9
    assert y_frac == 0.52


@needs_rapidfuzz
def test_of_several_equal_labels_the_one_is_meant_that_stands_by_what_else_is_named():
    rows = [("Wool scarf", 0.2), ("Linen apron", 0.4), ("Oak stool", 0.6)]
    lines = [line(text, 0.1, y, 0.2, y + 0.04) for text, y in rows]
    lines += [line("Reorder", 0.8, y, 0.9, y + 0.04) for _, y in rows]

    for instruction in (
        "The 'Reorder' button in the row 'Linen apron'",
        'Click "Reorder" to get a new apron of linen',
    ):
        assert answer_grounding(L2_LEAD + instruction, lines) == "(0.8500, 0.4200)"


@needs_rapidfuzz
def test_similar_numbers_are_not_the_same_number():
    lines = [line("Chapter 15", y1=0.1, y2=0.2), line("Chapter 16", y1=0.3, y2=0.4)]

    assert answer_grounding("Open 'Chapter 16'", lines) == "(0.1500, 0.3500)"


@needs_rapidfuzz
@pytest.mark.parametrize("instruction", ["Turn on 3, 4", "", "the of and", '"'])
@pytest.mark.parametrize("lines", [[], [line("")], [line("Help")], [line("\u2026")]])
def test_where_nothing_fits_the_reply_holds_no_point(instruction, lines):
    reply = answer_grounding(L2_LEAD + instruction, lines)

    assert reply == NO_TARGET
    assert parser_response_into_coordinates(reply) is None


@needs_rapidfuzz
def test_a_point_never_lies_outside_the_picture():
    assert answer_grounding("Save", [line("Save", 0.99, -0.2, 1.2, 0.1)]) == "(1.0000, 0.0000)"


# L1: which option is meant


def ask(question, *options):
    listed = "".join(f"{letter}. {o}\n" for letter, o in zip("ABCDEF", options, strict=False))
    return (
        f"Question: {question}\nOptions:\n{listed}"
        "Please select the correct answer from the options above. \n"
    )


@needs_rapidfuzz
@pytest.mark.parametrize(("prompt", "letter"), [
    (ask("What has failed?", "The daily test", "The nightly build", "Nothing"), "B"),
    (ask("How many drafts are there?", "12", "3", "13"), "B"),  # both are there; 3 is nearer
    (ask("How many mails are in the inbox?", "3", "12", "13"), "B"),
    (ask("Which folder is NOT shown?", "Inbox", "Archive", "Drafts"), "B"),
    (ask("Which menu is shown?", "The Tools menu", "The View menu"), "B"),
])  # fmt: skip
def test_the_option_is_chosen_whose_own_words_are_on_the_screen(prompt, letter):
    assert answer_question(prompt, MAIL) == letter


@needs_rapidfuzz
@pytest.mark.parametrize(("prompt", "lines"), [
    (ask("Q?", "zebra", "giraffe"), MAIL),
    (ask("Which is not there?", "zebra", "giraffe"), MAIL),
    (ask("Q?", "", " "), MAIL),
    (ask("Q?", "Inbox", "Drafts"), []),
    ("Question: Q?\n", MAIL),
])  # fmt: skip
def test_where_no_option_is_supported_the_reply_holds_no_letter(prompt, lines):
    reply = answer_question(prompt, lines)

    assert reply == NO_OPTION
    assert parser_answers_into_option(reply) is None


# The model: contract, cache, requirements


def message(image_path, text):
    return [
        {"role": "system", "type": "text", "value": "You are a GUI agent. Delete nothing."},
        {"role": "user", "type": "image", "value": str(image_path)},
        {"role": "user", "type": "text", "value": text},
    ]


@pytest.fixture
def counting_model(monkeypatch):
    """A model that takes notes instead of recognising text."""
    monkeypatch.setattr("models.ocr_baseline._check_packages", lambda: None)
    model = OCRBaseline(cached_pictures=2)
    model.passes = []

    def recognise(image_path):
        model.passes.append(Path(image_path).name)
        return tuple(MAIL)

    monkeypatch.setattr(model, "_recognise", recognise)
    return model


@needs_rapidfuzz
def test_each_picture_is_read_once_and_again_only_when_the_file_changed(tmp_path, counting_model):
    picture = tmp_path / "screen.png"
    picture.write_bytes(b"one")

    for text in (L2_LEAD + "Delete", L2_LEAD + "Compose a new message"):
        counting_model.generate(message(picture, text), dataset_name=GROUNDING)
    counting_model.generate(message(picture, ask("Q?", "x", "y")), dataset_name=QUESTION)
    assert counting_model.passes == ["screen.png"]

    picture.write_bytes(b"another")
    counting_model.generate(message(picture, L2_LEAD + "Delete"), dataset_name=GROUNDING)
    assert counting_model.passes == ["screen.png", "screen.png"]


@needs_rapidfuzz
def test_the_cache_forgets_the_picture_that_was_not_asked_for_longest(tmp_path, counting_model):
    for name in ("a", "b", "c"):
        (tmp_path / name).write_bytes(b"x")

    for name in ("a", "b", "a", "c", "a", "b"):
        counting_model.generate(message(tmp_path / name, "Delete"), dataset_name=GROUNDING)

    assert counting_model.passes == ["a", "b", "c", "b"]


@needs_rapidfuzz
def test_only_the_users_words_count_and_sampling_settings_have_no_effect(tmp_path, counting_model):
    picture = tmp_path / "screen.png"
    picture.write_bytes(b"x")

    reply = counting_model.generate(
        message(picture, L2_LEAD + "Sing"), dataset_name=GROUNDING, temperature=0.7
    )

    assert reply == NO_TARGET


def test_an_unknown_data_set_is_an_error_that_names_the_known_ones(tmp_path, counting_model):
    with pytest.raises(ValueError, match=r"GUITaskAutomation.*GUIElementGrounding"):
        counting_model.generate(message(tmp_path, "x"), dataset_name="GUITaskAutomation")


@pytest.mark.parametrize("kept", [slice(0, 1), slice(1, 2), slice(2, 3)])
def test_a_message_without_picture_or_without_user_text_is_an_error(tmp_path, counting_model, kept):
    with pytest.raises(ValueError, match="picture"):
        counting_model.generate(message(tmp_path, "x")[kept], dataset_name=GROUNDING)


@pytest.mark.parametrize("settings", [
    {"det_limit_side_len": 0}, {"threads": "2"}, {"threads": True}, {"cached_pictures": 1.5},
])  # fmt: skip
def test_a_setting_out_of_range_is_named(settings):
    with pytest.raises(UserError, match=rf"kwargs\.{next(iter(settings))}"):
        OCRBaseline(**settings)


def test_an_unknown_setting_is_refused_and_a_system_prompt_is_not(monkeypatch):
    monkeypatch.setattr("models.ocr_baseline._check_packages", lambda: None)

    OCRBaseline(system_prompt="benchmark_default")
    with pytest.raises(TypeError, match="det_limit_sidelen"):
        OCRBaseline(det_limit_sidelen=960)


def test_missing_packages_are_named_with_what_to_install(monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name: None if name in ("rapidocr", "PIL") else find_spec(name),
    )

    with pytest.raises(UserError, match=r"rapidocr.*pillow.*requirements/demo\.txt"):
        OCRBaseline()


def test_importing_the_model_loads_none_of_its_heavy_packages():
    code = (
        "import sys, models.ocr_baseline\n"
        "heavy = {'onnxruntime', 'rapidocr', 'numpy', 'PIL', 'rapidfuzz', 'cv2', 'torch'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"


@needs_ocr
@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L"])
def test_text_on_a_real_picture_is_found_where_it_was_drawn(tmp_path, mode):
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.load_default(size=28)
    picture = Image.new("RGB", (640, 320), "white")
    draw = ImageDraw.Draw(picture)
    draw.text((40, 40), "Network", font=font, fill="black")
    draw.text((400, 220), "Cancel", font=font, fill="black")
    box_px = draw.textbbox((400, 220), "Cancel", font=font)
    picture.convert(mode).save(tmp_path / "screen.png")

    reply = OCRBaseline().generate(
        message(tmp_path / "screen.png", L2_LEAD + "The 'Cancel' button"), dataset_name=GROUNDING
    )

    x_frac, y_frac = parser_response_into_coordinates(reply)
    assert box_px[0] <= x_frac * 640 <= box_px[2]
    assert box_px[1] <= y_frac * 320 <= box_px[3]


@needs_ocr
def test_a_picture_without_text_gets_the_honest_reply(tmp_path):
    from PIL import Image

    Image.new("RGB", (320, 200), "navy").save(tmp_path / "empty.png")

    reply = OCRBaseline().generate(
        message(tmp_path / "empty.png", L2_LEAD + "Save"), dataset_name=GROUNDING
    )

    assert reply == NO_TARGET

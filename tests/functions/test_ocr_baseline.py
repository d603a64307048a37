"""The embedded default model: what it reads out of prompts, which text it picks, what it needs."""

import importlib.util
import re

import pytest

pytest.importorskip("rapidocr")
pytest.importorskip("onnxruntime")

from PIL import Image, ImageDraw, ImageFont

from models import ocr_baseline
from models.ocr_baseline import NO_OPTION, NO_TARGET, OCRBaseline, answer_grounding, answer_question
from models.ocr_baseline.agent import answer_task
from models.ocr_baseline.matching import TextLine, split_words
from utils.errors import UserError
from utils.misc import parser_answers_into_option, parser_response_into_coordinates

GROUNDING, QUESTION = "GUIElementGrounding", "GUIContentUnderstanding"
L2_LEAD = (
    "Output only the coordinate (x,y) of one point in your response. "
    "What element matches the following task: "
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
ASKED = "Please select the correct answer from the options above. \n"


def ask(question, *options):
    listed = "".join(f"{letter}. {o}\n" for letter, o in zip("ABCDEF", options, strict=False))
    return f"Question: {question}\nOptions:\n{listed}{ASKED}"


@pytest.mark.parametrize(
    ("prompt", "question", "options"),
    [
        (ask("Q?", "one", "two"), "Q?", {"A": "one", "B": "two"}),
        ("Hint: H\n" + ask("Q?", "one"), "Hint: H\nQuestion: Q?", {"A": "one"}),
        (
            "Question: Use the options.\nA. Smith?\nOptions:\nA. x\nB. \n",
            "Use the options.\nA. Smith?",
            {"A": "x", "B": ""},
        ),
        ("Question: Q?\n", "Q?", {}),
        ("", "", {}),
    ],
)
def test_question_and_options_are_read_from_the_default_format(prompt, question, options):
    assert ocr_baseline.read_question(prompt) == (question, options)


def test_words_keep_numbers_whole_and_come_apart_where_recognition_lost_a_space():
    words = [word.form for word in split_words("CancelApply at 12:30, 4.99")]
    assert words == ["cancel", "apply", "at", "12:30", "4.99"]


@pytest.mark.parametrize(
    ("instruction", "reply"),
    [
        ("Compose a new message", "(0.0500, 0.1200)"),
        ("Remove the mail: delete it", "(0.2500, 0.1200)"),  # the label, not the sentence
        ('The "Drafts" folder holds unsent mail', "(0.0500, 0.4200)"),
        ("'Help' explains how to edit a message", "(0.1700, 0.0200)"),  # what is quoted is meant
        ("The \u2018Edit\u2019 button at the bottom right", "(0.8500, 0.9200)"),
        ("The upper one of the 'Edit' buttons on the right", "(0.8500, 0.7200)"),
        ("the user's draft and the users' drafts", "(0.0375, 0.4200)"),  # apostrophes quote nothing
    ],
)
@pytest.mark.parametrize("lead", [L2_LEAD, ""])  # the default template, or a user's own
def test_the_point_is_the_centre_of_the_words_that_fit_best(lead, instruction, reply):
    assert answer_grounding(lead + instruction, MAIL) == reply


SHOP = [
    entry
    for text, y in (("Wool scarf", 0.2), ("Linen apron", 0.4), ("Oak stool", 0.6))
    for entry in (line(text, 0.1, y, 0.2, y + 0.04), line("Reorder", 0.8, y, 0.9, y + 0.04))
]
CHAPTERS = [line("Chapter 15", y1=0.1, y2=0.2), line("Chapter 16", y1=0.3, y2=0.4)]


@pytest.mark.parametrize(
    ("instruction", "lines", "reply"),
    [
        # Of several equal labels the one is meant that stands by what else is named.
        ("The 'Reorder' button in the row 'Linen apron'", SHOP, "(0.8500, 0.4200)"),
        ('Click "Reorder" to get a new apron of linen', SHOP, "(0.8500, 0.4200)"),
        # Similar numbers are not the same number; no point lies outside the image.
        ("Open 'Chapter 16'", CHAPTERS, "(0.1500, 0.3500)"),
        ("Save", [line("Save", 0.99, -0.2, 1.2, 0.1)], "(1.0000, 0.0000)"),
        # In a long line the point is interpolated at the matching words.
        ("Which cache is meant?", MAIL, "(0.8795, 0.5200)"),
    ],
    ids=["in-its-row", "in-its-row-unquoted", "numbers", "outside", "long-line"],
)
def test_the_point_of_texts_that_are_hard_to_tell_apart_cut_off_or_long(instruction, lines, reply):
    assert answer_grounding(L2_LEAD + instruction, lines) == reply


@pytest.mark.parametrize("instruction", ["Turn on 3, 4", "", "the of and", '"', 'the "+" sign'])
@pytest.mark.parametrize("lines", [[], [line("")], [line("Help")], [line("\u2026")]])
def test_where_nothing_fits_the_reply_holds_no_point(instruction, lines):
    reply = answer_grounding(L2_LEAD + instruction, lines)
    assert reply == NO_TARGET
    assert parser_response_into_coordinates(reply) is None


@pytest.mark.parametrize(
    ("prompt", "lines", "letter"),
    [
        # The option is chosen whose own words are on the screen.
        (ask("What has failed?", "The daily test", "The nightly build", "Nothing"), MAIL, "B"),
        (
            ask("How many drafts are there?", "12", "3", "13"),
            MAIL,
            "B",
        ),  # both are there; 3 is nearer
        (ask("How many mails are in the inbox?", "3", "12", "13"), MAIL, "B"),
        (ask("Which menu is shown?", "The Tools menu", "The View menu"), MAIL, "B"),
        # Where no option is supported the reply holds no letter.
        (ask("Q?", "zebra", "giraffe"), MAIL, None),
        (ask("Which is not there?", "zebra", "giraffe"), MAIL, None),
        (ask("Q?", "", " "), MAIL, None),
        (ask("Q?", "Inbox", "Drafts"), [], None),
        ("Question: Q?\n", MAIL, None),
    ],
)
def test_the_option_is_the_one_that_the_screen_supports_if_any(prompt, lines, letter):
    reply = answer_question(prompt, lines)
    assert reply == (letter or NO_OPTION)
    assert parser_answers_into_option(reply) == letter


def message(image_path, text):
    parts = (
        ("system", "text", "You are a GUI agent. Delete nothing."),
        ("user", "image", str(image_path)),
        ("user", "text", text),
    )
    return [{"role": role, "type": kind, "value": value} for role, kind, value in parts]


class Counting(OCRBaseline):
    """Takes notes instead of recognising text."""

    passes = ()

    def read_screen(self, image):
        self.passes += (image.name,)
        return tuple(MAIL)


def test_of_options_with_the_same_words_the_first_is_taken_in_every_process():
    words = re.findall(
        r"\w+", "about seven small files were moved to another folder by the user today"
    )
    for turn in range(
        1, len(words)
    ):  # sums of floats depend on their order, which sets do not keep
        turned = " ".join(words[turn:] + words[:turn])
        prompt = f"What happened?\nOptions:\nA. {' '.join(words)}\nB. {turned}"
        assert answer_question(prompt, [line("seven smal files moved by the usr")]) == "A"


def test_each_image_is_read_once_and_again_only_when_the_file_changed(tmp_path):
    model, image = Counting(), tmp_path / "screen.png"
    image.write_bytes(b"one")
    for text in ("Delete", "Compose a new message"):
        model.generate(message(image, L2_LEAD + text), dataset_name=GROUNDING)
    model.generate(message(image, ask("Q?", "x", "y")), dataset_name=QUESTION)
    assert model.passes == ("screen.png",)
    image.write_bytes(b"another")
    model.generate(message(image, L2_LEAD + "Delete"), dataset_name=GROUNDING)
    assert model.passes == ("screen.png", "screen.png")


def test_only_the_users_words_count_and_what_cannot_be_answered_is_an_error(tmp_path):
    (tmp_path / "screen.png").write_bytes(b"x")
    request = message(tmp_path / "screen.png", L2_LEAD + "Sing")
    assert Counting().generate(request, dataset_name=GROUNDING, temperature=0.7) == NO_TARGET
    with pytest.raises(ValueError, match=r"GUIElementGrounding.*not GUISurfing"):
        Counting().generate(request, dataset_name="GUISurfing")
    for part in request:
        with pytest.raises(ValueError, match="needs one image and a user's text"):
            Counting().generate([part], dataset_name=GROUNDING)


def test_missing_packages_are_named_with_what_to_install(monkeypatch):
    find, missing = importlib.util.find_spec, ("rapidocr", "numpy")
    monkeypatch.setattr("importlib.util.find_spec", lambda n: None if n in missing else find(n))
    with pytest.raises(UserError, match=r"rapidocr, numpy.*requirements/demo\.txt"):
        OCRBaseline()


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L"])
def test_text_on_a_real_image_is_found_where_it_was_drawn(tmp_path, mode):
    font, image = ImageFont.load_default(size=28), Image.new("RGB", (640, 320), "white")
    draw = ImageDraw.Draw(image)
    draw.text((40, 40), "Network", font=font, fill="black")
    draw.text((400, 220), "Cancel", font=font, fill="black")
    box_px = draw.textbbox((400, 220), "Cancel", font=font)
    image.convert(mode).save(tmp_path / "screen.png")
    Image.new("RGB", (320, 200), "navy").save(tmp_path / "empty.png")
    model, request = (
        OCRBaseline(),
        message(tmp_path / "screen.png", L2_LEAD + "The 'Cancel' button"),
    )
    reply = model.generate(request, dataset_name=GROUNDING)
    x_frac, y_frac = parser_response_into_coordinates(reply)
    assert box_px[0] <= x_frac * 640 <= box_px[2] and box_px[1] <= y_frac * 320 <= box_px[3]
    empty = message(tmp_path / "empty.png", "Save")
    assert model.generate(empty, dataset_name=GROUNDING) == NO_TARGET


FORM = [
    line("To", 0.2, 0.1, 0.24, 0.14),
    line("Subject", 0.2, 0.2, 0.26, 0.24),
    line("Send", 0.8, 0.9, 0.86, 0.94),
    line("Ines Vega", 0.5, 0.5, 0.6, 0.54),
]
LETTER = "Write a mail to Ines Vega with the subject “Keys”."


@pytest.mark.parametrize(
    ("lines", "so_far", "action"),
    [
        (
            [*FORM, line("Compose", 0.0, 0.0, 0.1, 0.04)],
            [],
            "click(0.050, 0.020)",
        ),  # it is begun first
        (FORM, [], "click(0.550, 0.520)"),
        (FORM, ["click(0.050, 0.020)", "click(0.550, 0.520)"], 'click(0.350, 0.220); type("Keys")'),
        (FORM, ["click(0.1, 0.1)"] * 3, "click(0.830, 0.920)"),
        (FORM, ["click(0.1, 0.1)"] * 3 + ["click(0.830, 0.920)"], "done()"),
    ],
)
def test_a_task_is_gone_through_name_by_name(lines, so_far, action):
    history = "".join(f"Thought: a name.\nAction: {entry}\n" for entry in so_far)
    reply = answer_task(f"Task: {LETTER}\n{history}", lines)
    assert reply.endswith(f"\nAction: {action}")

"""A person's question: a prompt taken apart into the parts that a page shows.

The default prompts also describe the form of a model's reply. A person does not see that part: the
page makes the reply. The constants below are the words of the default prompts. A prompt with other
words is shown in full.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from models.base import Message
from utils.contracts import WH
from utils.geometry.images import image_file, read_header

LETTER, POINT, ACTIONS = "letter", "point", "actions"
KINDS = {
    "GUIContentUnderstanding": LETTER,
    "GUITaskAutomation": ACTIONS,
    "GUITaskCollaboration": ACTIONS,
}
"""The kind of answer by data set; in all others, the grounding tables, it is a point."""

LETTERS = "ABCDEF"  # where a prompt lists no options
OPTIONS_BEGIN = "Options:\n"
OPTIONS_END = "Please select the correct answer from the options above."
INSTRUCTION_BEGIN = "What element matches the following task: "
REFUSAL_BEGIN = "\nIf there is no such element on the screenshot, output (-1,-1)"
OMITTED = "(The screenshot of this step is no longer shown.)"
APPLICATIONS = re.compile(r"^The applications: (.+)\.$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Picture:
    """An image of a prompt."""

    path: Path
    wh: WH  # as stored; an orientation tag is not obeyed


@dataclass(frozen=True, slots=True)
class PastStep:
    """A reply of before, and what came of it."""

    reply: str
    note: str


@dataclass(frozen=True, slots=True)
class Question:
    """One thing to answer. The last picture is the one that it is about."""

    kind: str
    dataset: str
    text: str
    pictures: tuple[Picture, ...]
    options: tuple[tuple[str, str], ...] = ()  # letter and text
    may_be_absent: bool = False  # models are told how to say that it is not there
    system: str = ""  # what models are told before
    remark: str = ""  # what stands behind the last picture of a conversation
    steps: tuple[PastStep, ...] = ()
    applications: tuple[str, ...] = ()  # that a task may open


def question_of(messages: Sequence[Message], dataset: str) -> Question:
    """Return the question that a prompt asks.

    Raises:
        ValueError: it shows no image, or one that is no file.
    """
    kind = KINDS.get(dataset, POINT)
    pictures = tuple(
        _picture(message["value"]) for message in messages if message["type"] == "image"
    )
    if not pictures:
        raise ValueError("the prompt has no image; a person is asked about an image")
    system = "\n\n".join(_texts(messages, "system"))
    if kind == ACTIONS:
        return _task(messages, dataset, pictures, system)
    text = "\n\n".join(_texts(messages, "user")).strip()
    if kind == LETTER:
        text, options = _options_apart(text)
        return Question(kind, dataset, text, pictures, options, system=system)
    instruction, refusal, _ = text.partition(REFUSAL_BEGIN)
    instruction = instruction.partition(INSTRUCTION_BEGIN)[2] or instruction
    return Question(
        kind, dataset, instruction, pictures, may_be_absent=bool(refusal), system=system
    )


def _texts(messages: Sequence[Message], role: str) -> list[str]:
    return [
        str(message["value"])
        for message in messages
        if message["role"] == role and message["type"] == "text"
    ]


def _picture(value: str) -> Picture:
    path = image_file(value)
    if path is None:
        raise ValueError(f"the image {value[:60]!r} is no file; a person is shown files")
    return Picture(path, read_header(path).wh)


def _options_apart(text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the question and its options; those of a prompt in other words are bare letters."""
    question, _, listed = text.partition(OPTIONS_BEGIN)
    listed = listed.rpartition(OPTIONS_END)[0]
    parts = re.split(r"^([A-Z])\. ", listed, flags=re.MULTILINE)
    options = tuple(
        (letter, option.strip()) for letter, option in zip(parts[1::2], parts[2::2], strict=True)
    )
    if not options:
        return text, tuple((letter, "") for letter in LETTERS)
    return question.strip(), options


def _task(
    messages: Sequence[Message], dataset: str, pictures: tuple[Picture, ...], system: str
) -> Question:
    """Return the next step of a task: the conversation so far, as the default prompt has it."""
    last_image = max(index for index, message in enumerate(messages) if message["type"] == "image")
    task: list[str] = []
    remarks: list[str] = []
    steps: list[PastStep] = []
    for index, message in enumerate(messages):
        text = str(message["value"])
        if message["role"] == "assistant":
            steps.append(PastStep(text, ""))
        elif message["type"] != "text" or message["role"] == "system" or text == OMITTED:
            continue
        elif index > last_image:
            remarks.append(text)
        elif steps:
            note = "\n".join(filter(None, (steps[-1].note, text)))
            steps[-1] = PastStep(steps[-1].reply, note)
        else:
            task.append(text)
    match = APPLICATIONS.search(system)
    return Question(
        ACTIONS,
        dataset,
        "\n\n".join(task).removeprefix("Task: "),
        pictures,
        system=system,
        remark="\n".join(remarks),
        steps=tuple(steps),
        applications=tuple(match[1].split(", ")) if match else (),
    )

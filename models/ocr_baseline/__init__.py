"""The embedded default model: reads the text on a screenshot and compares it with the prompt.

A weak baseline that needs no download, no GPU and no key (`configs/config_demo.json`), so that the
tool can be tried at once. It reads text (RapidOCR, one pass per image) and picks what is most like
the words of the instruction or of an option. It does not see icons, colours or layout, and it does
not reason: it finds "Save" because the prompt says "save". Where nothing on the screen has to do
with the prompt it says so, in words that the default parsers read no answer from: a guess would
score by luck what this model cannot know.
"""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from models.base import UserError
from models.ocr_baseline.agent import answer_task
from models.ocr_baseline.matching import TextLine, choose_option, find_target

# Without a number, and without a letter at the start of a line or on its own: nothing to parse.
NO_TARGET = "Nothing on the screen reads like this instruction."
NO_OPTION = "Nothing on the screen supports one of the options."

ENGINE = {
    "Global.use_cls": False,  # screens are not photographed upside down
    "Global.log_level": "error",
    "Global.max_side_len": 4000,
    "Det.limit_type": "max",
    "Det.limit_side_len": 960,  # more finds smaller text and takes longer
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,  # more were slower on a busy machine
}


class OCRBaseline:
    """Answers prompts from the text on the screenshot."""

    def __init__(self) -> None:
        packages = ("rapidocr", "onnxruntime", "rapidfuzz", "numpy")
        missing = [name for name in packages if importlib.util.find_spec(name) is None]
        if missing:
            raise UserError(
                f"OCRBaseline needs {', '.join(missing)}, not installed here; install "
                "with: pip install -r requirements/demo.txt"
            )
        self._engine: Any = None
        # Samples come several per image.
        self._read = functools.lru_cache(64)(lambda path, *_: self.read_screen(path))

    def generate(
        self, message: Sequence[Mapping[str, str]], *, dataset_name: str, **generate_cfg: object
    ) -> str:
        """Return a point in fractions of the image, or a letter; nothing is sampled here."""
        texts = [m["value"] for m in message if m["type"] == "text" and m["role"] != "system"]
        images = [Path(m["value"]).resolve() for m in message if m["type"] == "image"]
        if dataset_name not in ANSWERS:
            raise ValueError(f"OCRBaseline knows {', '.join(ANSWERS)}, not {dataset_name}")
        if not texts or not images:
            raise ValueError("OCRBaseline needs one image and a user's text in the message")
        stat = images[-1].stat()  # a file that has changed is read again
        lines = self._read(images[-1], stat.st_size, stat.st_mtime_ns)
        return ANSWERS[dataset_name]("\n".join(texts), lines)

    def read_screen(self, image: Path) -> tuple[TextLine, ...]:
        """Return the lines of text on an image, by one pass of text recognition."""
        import numpy as np
        from PIL import Image
        from rapidocr import RapidOCR

        self._engine = self._engine or RapidOCR(params=ENGINE)
        # Not turned by its EXIF orientation: truth and score use the image as it is stored.
        with Image.open(image) as screenshot:
            rgb = np.asarray(screenshot.convert("RGB"))
        result = self._engine(np.ascontiguousarray(rgb[:, :, ::-1]))
        if result.boxes is None:
            return ()
        corners = np.asarray(result.boxes, dtype=float) / (rgb.shape[1], rgb.shape[0])
        boxes_frac = np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1).tolist()
        return tuple(map(TextLine, result.txts, boxes_frac))


def answer_grounding(text: str, lines: Sequence[TextLine]) -> str:
    """Reply to an L2 prompt: a point in fractions of the image, or `NO_TARGET`."""
    instruction = text.rpartition("matches the following task:")[2]
    point = find_target(instruction, lines)
    if point is None:
        return NO_TARGET
    x, y = (min(max(coordinate, 0.0), 1.0) for coordinate in point)
    return f"({x:.4f}, {y:.4f})"


def answer_question(text: str, lines: Sequence[TextLine]) -> str:
    """Reply to an L1 prompt: the letter of an option, or `NO_OPTION`."""
    question, options = read_question(text)
    return choose_option(question, options, lines) or NO_OPTION


def read_question(text: str) -> tuple[str, dict[str, str]]:
    """Return the question (with its hint, if any) and the lettered options of an L1 prompt."""
    question, heading, option_lines = text.rpartition("Options:\n")
    options = dict(re.findall(r"^[ \t]*([A-Z])\.(?:[ \t]+|$)(.*)$", option_lines, re.MULTILINE))
    if not heading:
        question = text
    return question.strip().removeprefix("Question:").strip(), options


ANSWERS = {
    "GUIElementGrounding": answer_grounding,
    "GUIContentUnderstanding": answer_question,
    "GUITaskAutomation": answer_task,
    "GUITaskCollaboration": answer_task,
}

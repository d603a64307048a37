"""The embedded default model: reads the text on a screenshot and compares it with the prompt.

A weak baseline that needs no download, no GPU and no key, so that the tool can be tried at once.
It reads text (RapidOCR, one pass per picture) and picks what is most like the words of the
instruction or of an option. It does not see icons, colours or layout, and it does not reason: it
finds "Save" because the prompt says "save". A vision-language model should beat it by far.

Config: `"imp_type": "custom", "model_path": "models.ocr_baseline.OCRBaseline"`.
Needs: `pip install -r requirements/demo.txt`.

Where nothing on the screen has to do with the prompt it says so, in words that the default parsers
read no answer from. That counts as a format error, not as a miss: a guess would score by luck what
this model cannot know, and the report would not show how often it had nothing to go by.
"""

from __future__ import annotations

import importlib.util
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from models.ocr_baseline.matching import choose_option, find_target
from models.ocr_baseline.text import TextLine
from utils.errors import UserError

DATA_SETS = ("GUIElementGrounding", "GUIContentUnderstanding")

# Without a number, and without a letter at the start of a line or on its own: nothing to parse.
NO_TARGET = "Nothing on the screen reads like this instruction."
NO_OPTION = "Nothing on the screen supports one of the options."

_INSTALL = "pip install -r requirements/demo.txt"
_PACKAGES = {
    "rapidocr": "rapidocr",
    "onnxruntime": "onnxruntime",
    "rapidfuzz": "rapidfuzz",
    "numpy": "numpy",
    "PIL": "pillow",
}
_INSTRUCTION_LEAD = "matches the following task:"
_OPTIONS_LEAD = re.compile(r"^[ \t]*Options:[ \t]*\n", re.MULTILINE)
_OPTIONS_END = re.compile(r"\n[ \t]*Please select the correct answer\b[^\n]*\s*\Z")
_OPTION_START = re.compile(r"^[ \t]*([A-Z])\.(?=\s|\Z)", re.MULTILINE)


class OCRBaseline:
    """Answers L1 and L2 prompts from the text on the screenshot. See the module's docstring.

    Args:
        det_limit_side_len: length in pixels that a picture's longer side is shrunk to where text is
            looked for; more finds smaller text and takes longer.
        threads: CPU threads of the text recognition; more than one was slower on a busy machine.
        cached_pictures: number of pictures whose text is kept in memory; samples come several per
            picture.
        system_prompt: stands in the `kwargs` block of every model; this one has no use for it.

    Raises:
        UserError: a setting is out of range, or a needed package is not installed.
    """

    max_concurrency = 1

    def __init__(
        self,
        *,
        det_limit_side_len: int = 960,
        threads: int = 1,
        cached_pictures: int = 64,
        system_prompt: str | None = None,
    ) -> None:
        _check_settings(
            det_limit_side_len=(det_limit_side_len, 64),
            threads=(threads, 1),
            cached_pictures=(cached_pictures, 1),
        )
        _check_packages()
        self._det_limit_side_len = det_limit_side_len
        self._threads = threads
        self._cached_pictures = cached_pictures
        self._engine: Any = None
        self._cache: OrderedDict[tuple[str, int, int], tuple[TextLine, ...]] = OrderedDict()

    def generate(
        self, message: Sequence[Mapping[str, str]], *, dataset_name: str, **generate_cfg: object
    ) -> str:
        """Answers one prompt.

        Args:
            message: parts with `role`, `type` and `value`; the value of an image is its path.
            dataset_name: `GUIElementGrounding` or `GUIContentUnderstanding`.
            generate_cfg: without effect, since nothing is sampled here.

        Returns:
            A point in fractions of the picture, `(0.4312, 0.0875)`, or a letter; `NO_TARGET` or
            `NO_OPTION` where there is nothing to go by.

        Raises:
            ValueError: another data set, or a message without a picture or without a user's text.
            OSError: the picture cannot be read.
        """
        if dataset_name not in DATA_SETS:
            raise ValueError(
                f"OCRBaseline cannot answer {dataset_name!r}; it knows {', '.join(DATA_SETS)}"
            )
        texts = [m["value"] for m in message if m["type"] == "text" and m["role"] != "system"]
        image_paths = [m["value"] for m in message if m["type"] == "image"]
        if not texts or not image_paths:
            raise ValueError("OCRBaseline needs one picture and a user's text in the message")
        text, lines = "\n".join(texts), self._read_screen(image_paths[0])
        # Called by name, not through a table: fingerprints follow names into the code.
        if dataset_name == "GUIElementGrounding":
            return answer_grounding(text, lines)
        return answer_question(text, lines)

    def _read_screen(self, image_path: str) -> tuple[TextLine, ...]:
        """The text on a picture, from memory where the same file was read before."""
        path = Path(image_path).resolve()
        stat = path.stat()
        key = (str(path), stat.st_size, stat.st_mtime_ns)
        if key not in self._cache:
            self._cache[key] = self._recognise(image_path)
            if len(self._cache) > self._cached_pictures:
                self._cache.popitem(last=False)
        self._cache.move_to_end(key)
        return self._cache[key]

    def _recognise(self, image_path: str) -> tuple[TextLine, ...]:
        """One pass of text recognition over a picture."""
        import numpy as np
        from PIL import Image

        if self._engine is None:
            self._engine = _load_engine(self._det_limit_side_len, self._threads)
        # Not turned by its EXIF orientation: truth and score use the picture as it is stored.
        with Image.open(image_path) as picture:
            rgb = np.asarray(picture.convert("RGB"))
        height_px, width_px = rgb.shape[:2]
        result = self._engine(np.ascontiguousarray(rgb[:, :, ::-1]))
        if result.boxes is None:
            return ()
        lines = []
        for corners_px, text in zip(result.boxes, result.txts, strict=True):
            xs_px, ys_px = corners_px[:, 0], corners_px[:, 1]
            box_frac = (
                float(xs_px.min()) / width_px,
                float(ys_px.min()) / height_px,
                float(xs_px.max()) / width_px,
                float(ys_px.max()) / height_px,
            )
            lines.append(TextLine(text, box_frac))
        return tuple(lines)


def answer_grounding(text: str, lines: Sequence[TextLine]) -> str:
    """Reply to an L2 prompt: a point in fractions of the picture, or `NO_TARGET`."""
    match = find_target(read_instruction(text), lines)
    if match is None:
        return NO_TARGET
    x_frac, y_frac = (min(max(value, 0.0), 1.0) for value in match.point_frac)
    return f"({x_frac:.4f}, {y_frac:.4f})"


def answer_question(text: str, lines: Sequence[TextLine]) -> str:
    """Reply to an L1 prompt: the letter of an option, or `NO_OPTION`."""
    question, options = read_question(text)
    return choose_option(question, options, lines) or NO_OPTION


def read_instruction(text: str) -> str:
    """The instruction in an L2 prompt; the whole text where the default template is not used."""
    _, lead, instruction = text.partition(_INSTRUCTION_LEAD)
    return (instruction if lead else text).strip()


def read_question(text: str) -> tuple[str, dict[str, str]]:
    """The question (with its hint, if any) and the lettered options of an L1 prompt.

    Options may span lines, and letters may be missing, but they come in alphabetical order: a line
    within an option that happens to begin with "A. " does not start another one.
    """
    text = _OPTIONS_END.sub("", text)
    head = _OPTIONS_LEAD.search(text)
    starts: list[re.Match[str]] = []
    for start in _OPTION_START.finditer(text, head.end() if head else 0):
        if not starts or start[1] > starts[-1][1]:
            starts.append(start)
    ends = [*(start.start() for start in starts), len(text)][1:]
    question_end = head.start() if head else starts[0].start() if starts else len(text)
    options = {
        start[1]: text[start.end() : end].strip() for start, end in zip(starts, ends, strict=True)
    }
    return text[:question_end].strip().removeprefix("Question:").strip(), options


def _load_engine(det_limit_side_len: int, threads: int) -> Any:
    try:
        from rapidocr import RapidOCR
    except ImportError as error:
        raise UserError(
            f"models.ocr_baseline.OCRBaseline: rapidocr cannot be loaded ({error}); "
            f"install its packages anew: {_INSTALL}"
        ) from error
    return RapidOCR(
        params={
            "Global.use_cls": False,  # screens are not photographed upside down
            "Global.log_level": "error",
            "Global.max_side_len": 4000,
            "Det.limit_type": "max",
            "Det.limit_side_len": det_limit_side_len,
            "EngineConfig.onnxruntime.intra_op_num_threads": threads,
        }
    )


def _check_settings(**value_and_least: tuple[object, int]) -> None:
    problems = [
        f"models.ocr_baseline.OCRBaseline: kwargs.{name} is {value!r}; "
        f"expected a whole number from {least} up"
        for name, (value, least) in value_and_least.items()
        if not isinstance(value, int) or isinstance(value, bool) or value < least
    ]
    if problems:
        raise UserError(problems)


def _check_packages() -> None:
    """Asks before the first picture, without importing any of them."""
    missing = [
        package for module, package in _PACKAGES.items() if importlib.util.find_spec(module) is None
    ]
    if missing:
        raise UserError(
            f"models.ocr_baseline.OCRBaseline needs {', '.join(missing)}, not installed here; "
            f"install with: {_INSTALL}"
        )

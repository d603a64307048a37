"""Finds the sample that an answer is to: by id, image and instruction, question and box, order.

The samples of the table are the truth. A step counts only if what a row says besides does not
contradict it: a row that names an image is never an answer about another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from utils.contracts import WH, Sample
from utils.exchange.answers import Answer
from utils.geometry.targets import Bounds

BOX_TOLERANCE_PX = 1.0
TEXTS = ("instruction", "question", "step_instruction")  # columns of a line


class MatchedBy(StrEnum):
    """The step that found the sample of a row."""

    ORDER = "place in the order that was given"
    ID = "id"
    IMAGE = "image and instruction"
    IMAGE_BOX = "image and box"
    QUESTION = "instruction alone, which stands once in the table"
    QUESTION_BOX = "instruction and box"


@dataclass(frozen=True, slots=True)
class Match:
    """The samples that a row may be to, equal to each other; and how they were found."""

    samples: Sequence[Sample]
    step: MatchedBy
    is_asked_otherwise: bool = False  # the row has another instruction


@dataclass(frozen=True, slots=True)
class Known:
    """The values of a sample that are compared with a row."""

    sample: Sample
    image: str
    text: str
    box_px: Bounds | None  # None: it has none, or several, or its size is not known
    image_wh: WH | None


def folded(text: str | None) -> str:
    """A text with its white space folded."""
    return " ".join((text or "").split())


def image_name(image: str | None) -> str:
    """The last part of the name of an image, in whatever notation."""
    return (image or "").replace("\\", "/").rpartition("/")[2]


def ids_of(line: Mapping[str, Any]) -> str:
    """The id of a sample; of tables without ids the number of its row."""
    value = line.get("id", line.get("index"))
    return "" if value is None else str(value)


def text_of(line: Mapping[str, Any]) -> str:
    """The instruction or question of a sample."""
    return next((str(line[name]) for name in TEXTS if isinstance(line.get(name), str)), "")


def box_px_of(line: Mapping[str, Any], image_wh: WH | None) -> Bounds | None:
    """The one box of a sample in pixels; None of other targets, or where the size is not known."""
    target = line.get("target")
    box = line.get("bbox")
    if isinstance(target, Mapping):
        boxes: Any = target.get("boxes") or ()
        box = boxes[0] if len(boxes) == 1 and not target.get("polygons") else None
    corners = [*box] if isinstance(box, (list, tuple)) else []
    if len(corners) != 4:
        return None
    x1, y1, x2, y2 = corners
    return in_pixels((x1, y1, x2, y2), image_wh)


def in_pixels(box: Bounds, image_wh: WH | None) -> Bounds | None:
    """A box in pixels; one in fractions only where the size of the image is known."""
    if max(box) > 1:
        return box
    if image_wh is None:
        return None
    (width, height), (x1, y1, x2, y2) = image_wh, box
    return x1 * width, y1 * height, x2 * width, y2 * height


def is_same_box(box: Bounds, other: Bounds) -> bool:
    """Whether two boxes differ by rounding at most."""
    return all(abs(a - b) <= BOX_TOLERANCE_PX for a, b in zip(box, other, strict=True))


class Matcher:
    """Finds samples.

    Args:
        samples: of the table, in its order.
        order: ids of samples by their place in somebody else's order; empty: there is none.
    """

    def __init__(self, samples: Iterable[Sample], order: Sequence[str] = ()) -> None:
        self._order = order
        self._by_id: dict[str, list[Known]] = {}
        self._by_image: dict[str, list[Known]] = {}
        self._by_text: dict[str, list[Known]] = {}
        self._by_both: dict[tuple[str, str], list[Known]] = {}
        self.by_key: dict[str, Known] = {}
        for sample in samples:
            line = sample.line
            candidate = Known(
                sample,
                image_name(line.get("image_path")),
                folded(text_of(line)),
                box_px_of(line, sample.file_wh),
                sample.file_wh,
            )
            self.by_key[sample.key] = candidate
            self._by_id.setdefault(ids_of(line), []).append(candidate)
            self._by_image.setdefault(candidate.image, []).append(candidate)
            self._by_text.setdefault(candidate.text, []).append(candidate)
            self._by_both.setdefault((candidate.image, candidate.text), []).append(candidate)

    def find(self, answer: Answer) -> Match | None:
        """The sample of a row; None: it is to none, or nothing says to which of several."""
        image, text = image_name(answer.image), folded(answer.instruction)
        return (
            self._by_place(answer, text)
            or self._by_ids(answer, image, text)
            or self._by_names(answer, image, text)
            or self._by_question(answer, image, text)
        )

    def _by_place(self, answer: Answer, text: str) -> Match | None:
        if answer.place is None or answer.place >= len(self._order):
            return None
        candidates = self._by_id.get(self._order[answer.place], [])
        candidates = [
            sample for sample in candidates if _says_the_same(text, sample.text)
        ] or candidates[:1]
        return _match(candidates, MatchedBy.ORDER, answer)

    def _by_ids(self, answer: Answer, image: str, text: str) -> Match | None:
        for name in answer.ids:
            candidates = self._by_id.get(name, [])
            if image:
                candidates = [candidate for candidate in candidates if candidate.image == image]
            same = [candidate for candidate in candidates if _says_the_same(text, candidate.text)]
            if not same and not image:  # the id may be a number of the file's own
                same = [candidate for candidate in candidates if self._has_box(candidate, answer)]
            if candidates := same or (candidates if image else []):
                return _match(candidates[:1], MatchedBy.ID, answer)
        return None

    def _by_names(self, answer: Answer, image: str, text: str) -> Match | None:
        if not image:
            return None
        candidates = self._by_both.get((image, text), [])
        if not candidates:
            on_image = self._by_image.get(image, [])
            candidates = [
                candidate
                for candidate in on_image
                if text and candidate.text and _says_the_same(text, candidate.text)
            ]
            longest = max((len(candidate.text) for candidate in candidates), default=0)
            candidates = [candidate for candidate in candidates if len(candidate.text) == longest]
            if not candidates and (not text or len(on_image) == 1):
                with_box = [candidate for candidate in on_image if self._has_box(candidate, answer)]
                return _match(
                    with_box or _only(on_image, answer, text), MatchedBy.IMAGE_BOX, answer
                )
        options = answer.options
        if options:
            candidates = [k for k in candidates if k.sample.line.get("options") == options]
        with_box = [candidate for candidate in candidates if self._has_box(candidate, answer)]
        return _match(with_box or candidates, MatchedBy.IMAGE, answer)

    def _by_question(self, answer: Answer, image: str, text: str) -> Match | None:
        if image:
            return None
        candidates = self._by_text.get(text, []) if text else self._in_prompt(answer.prompt)
        if answer.box is None:
            return _match(candidates, MatchedBy.QUESTION, answer) if len(candidates) == 1 else None
        with_box = [candidate for candidate in candidates if self._has_box(candidate, answer)]
        return _match(with_box, MatchedBy.QUESTION_BOX, answer)

    def _in_prompt(self, prompt: str | None) -> list[Known]:
        """The samples whose instruction is a line of a prompt, or what follows a colon in one."""
        for line in (prompt or "").splitlines():
            text = folded(line)
            for part in (text, text.partition(": ")[2]):
                if part and part in self._by_text:
                    return self._by_text[part]
        return []

    def may_be_several(self, answer: Answer) -> bool:
        """Whether an unmatched row fits several samples; only an order or ids could decide."""
        text = folded(answer.instruction)
        candidates = self._by_text.get(text, []) if text else self._in_prompt(answer.prompt)
        return not answer.image and len(candidates) > 1

    @staticmethod
    def _has_box(candidate: Known, answer: Answer) -> bool:
        if answer.box is None or candidate.box_px is None:
            return False
        box_px = in_pixels(answer.box, candidate.image_wh or answer.image_wh)
        return box_px is not None and is_same_box(box_px, candidate.box_px)


def _says_the_same(text: str, instruction: str) -> bool:
    """Whether a text and an instruction of the table are the same, or one contains the other.

    A sample without an instruction contradicts no text: steps may have a goal alone.
    """
    return not text or not instruction or instruction in text or text in instruction


def _only(on_image: Sequence[Known], answer: Answer, text: str) -> Sequence[Known]:
    """The one sample on an image, where a row says nothing else about it."""
    is_alone = len(on_image) == 1 and answer.box is None and not text
    return on_image if is_alone else ()


def _match(candidates: Sequence[Known], step: MatchedBy, answer: Answer) -> Match | None:
    if not candidates:
        return None
    is_asked_otherwise = not _says_the_same(folded(answer.instruction), candidates[0].text)
    if answer.prompt and not answer.instruction:
        is_asked_otherwise = candidates[0].text not in folded(answer.prompt)
    return Match([candidate.sample for candidate in candidates], step, is_asked_otherwise)

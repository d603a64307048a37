"""Gathers the answers to a table from the rows of files, and counts what it meets on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from utils.contracts import Point, Sample
from utils.coordinates import Frame
from utils.exchange.answers import Answer
from utils.exchange.matching import MatchedBy, Matcher, in_pixels, is_same_box
from utils.text import counted

MOST_NAMED = 5  # rows that a message names
MOST_NUMBERS = 10  # of lines, likewise
MOST_ASKED_OTHERWISE = 0.01  # of the matched rows
NEARLY_ALL = 0.95  # of the points
FIRST, LAST = "first", "last"
BY_ORDER = (
    "Add --import-order FILE, a file with the sample ids in the order of lmms-eval's data set"
)
BY_COLUMNS = "To tell them apart, a row needs an id, or an image and an instruction"


@dataclass(frozen=True, slots=True)
class Twice:
    """Two rows with different answers to one sample."""

    sample: Sample
    first: Answer
    second: Answer


@dataclass
class Gathered:
    """The answers to the samples of a table.

    Attributes:
        answers: by the key of the sample and the number of the repeat.
        differences: what the log keeps of its row besides, by the same keys.
        counts: of all findings, by name.
        steps: how many rows were matched in which way.
    """

    matcher: Matcher
    answers: dict[tuple[str, int], Answer] = field(default_factory=dict)
    differences: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    steps: Counter[MatchedBy] = field(default_factory=Counter)
    unknown: list[Answer] = field(default_factory=list)  # the first few
    ambiguous: list[Answer] = field(default_factory=list)
    asked_otherwise: list[tuple[Answer, Sample]] = field(default_factory=list)
    other_boxes: list[Answer] = field(default_factory=list)
    other_sizes: list[Answer] = field(default_factory=list)
    twice: list[Twice] = field(default_factory=list)
    damaged: dict[str, list[Answer]] = field(default_factory=dict)
    verdicts_alone: list[bool] = field(default_factory=list)  # of rows with nothing else
    without_frame: int = 0  # points of which nobody has said what they count
    taken_for_fractions: int = 0  # points, in a format that usually has pixels

    @property
    def repeats(self) -> int:
        """The largest number of answers to one question."""
        return max((number for _, number in self.answers), default=1)

    def add_all(self, answers: Iterable[Answer], *, keep: str = FIRST) -> None:
        """Add rows in the order of their files; `keep`: which of two different answers counts."""
        for answer in answers:
            self._add(answer, keep)

    def _add(self, answer: Answer, keep: str) -> None:
        self.counts["rows"] += 1
        match = self.matcher.find(answer)
        if match is None:
            is_ambiguous = self.matcher.may_be_several(answer)
            self.counts["ambiguous" if is_ambiguous else "unknown"] += 1
            examples = self.ambiguous if is_ambiguous else self.unknown
            if len(examples) < MOST_NAMED:
                examples.append(answer)
            return
        keys = [(sample.key, answer.repeat) for sample in match.samples]
        free = [key for key in keys if key not in self.answers]
        if not free:
            self._add_again(answer, keys, keep)
            return
        key = free[0]
        sample = self.matcher.by_key[key[0]].sample
        self.steps[match.step] += 1
        if match.is_asked_otherwise:
            self.counts["asked otherwise"] += 1
            if len(self.asked_otherwise) < MOST_NAMED:
                self.asked_otherwise.append((answer, sample))
        self._put(key, answer)

    def _add_again(self, answer: Answer, keys: Sequence[tuple[str, int]], keep: str) -> None:
        """Add another row for samples that all have one."""
        for key in keys:
            if _is_same_answer(self.answers[key], answer):
                self.counts["repeated"] += 1
                if self.answers[key].verdict is None and answer.verdict is not None:
                    self._put(key, replace(self.answers[key], verdict=answer.verdict))
                return
        key = keys[-1]
        earlier = self.answers[key]
        if answer.error and answer.is_empty:
            self.counts["failed beside an answer"] += 1
        elif earlier.error and earlier.is_empty:
            self.counts["failed beside an answer"] += 1
            self._put(key, answer)
        else:
            self.counts["answered otherwise"] += 1
            if len(self.twice) < MOST_NAMED:
                sample = self.matcher.by_key[key[0]].sample
                self.twice.append(Twice(sample, earlier, answer))
            if keep == LAST:
                self._put(key, answer)

    def _put(self, key: tuple[str, int], answer: Answer) -> None:
        self.answers[key] = answer
        self.differences[key] = self._differences(key[0], answer)

    def _differences(self, key: str, answer: Answer) -> dict[str, Any]:
        """The image size and target of a row, where they differ from the table."""
        table_sample = self.matcher.by_key[key]
        differences: dict[str, Any] = {}
        if answer.image_wh and table_sample.image_wh and answer.image_wh != table_sample.image_wh:
            differences["image_wh"] = list(answer.image_wh)
        if answer.box is not None and table_sample.box_px is not None:
            box_px = in_pixels(answer.box, table_sample.image_wh or answer.image_wh)
            if box_px is not None and not is_same_box(box_px, table_sample.box_px):
                differences["box_px"] = list(box_px)
        return differences

    def finish(self, *, has_frame: bool = False) -> None:
        """Count what is known once all rows were added; `has_frame`: the user has named a unit."""
        if not has_frame:
            self._find_fractions()
        keys = {key for key, _ in self.answers}
        self.counts["samples"] = len(self.matcher.by_key)
        self.counts["matched"] = len(self.answers)
        self.counts["missing"] = len(self.matcher.by_key.keys() - keys)
        for key, answer in self.answers.items():
            self.counts["no answer"] += answer.is_empty
            self.counts["error"] += bool(answer.error) and answer.is_empty
            if answer.is_verdict_only:
                self.verdicts_alone.append(bool(answer.verdict))
            for name, examples in (("image_wh", self.other_sizes), ("box_px", self.other_boxes)):
                if name in self.differences[key]:
                    self.counts[f"other {name}"] += 1
                    if len(examples) < MOST_NAMED:
                        examples.append(answer)
            if answer.damage:
                self.damaged.setdefault(answer.damage, []).append(answer)
            self.without_frame += answer.point is not None and answer.frame is None

    def _find_fractions(self) -> None:
        """Take the points of a format with pixels for fractions, if nearly all look like that."""
        in_pixels = {
            key: answer
            for key, answer in self.answers.items()
            if answer.frame is Frame.PIXELS and _is_somewhere(answer.point)
        }
        alike = [answer for answer in in_pixels.values() if _is_fraction(answer.point)]
        if alike and len(alike) >= NEARLY_ALL * len(in_pixels):
            self.taken_for_fractions = len(in_pixels)
            for key, answer in in_pixels.items():
                self.answers[key] = replace(answer, frame=Frame.FRACTIONS)

    # -- words ----

    def lines(self) -> list[str]:
        """The numbers of matched rows by step, and every finding that has a count, one a line."""
        counts = self.counts
        ways = [f"{count:,} by {step}" for step, count in sorted(self.steps.items())]
        found = counts["samples"] - counts["missing"]
        matched = f"{found:,} of {counts['samples']:,} samples matched"
        lines = [f"{counted(counts['rows'], 'row')}, {matched}{_in_brackets(ways)}"]
        if counts["unknown"]:
            lines.append(
                f"unknown: {_rows(counts['unknown'], 'match')} no sample, left out:"
                f"{_named(self.unknown, counts['unknown'])}"
            )
        if counts["ambiguous"]:
            has_places = any(answer.place is not None for answer in self.ambiguous)
            lines.append(
                f"ambiguous: {_rows(counts['ambiguous'], 'fit')} several samples, left out. "
                f"{BY_ORDER if has_places else BY_COLUMNS}:"
                f"{_named(self.ambiguous, counts['ambiguous'])}"
            )
        if counts["repeated"]:
            lines.append(
                f"repeated: {_rows(counts['repeated'], 'repeat')} another row with the same reply; "
                "each counts once"
            )
        if counts["failed beside an answer"]:
            lines.append(
                f"failed beside an answer: {_rows(counts['failed beside an answer'])} an error "
                "where another row has an answer; the answer counts"
            )
        if counts["answered otherwise"]:
            lines.append(
                f"answered otherwise: {_rows(counts['answered otherwise'])} another reply "
                "than an earlier row for the same sample"
            )
        if counts["missing"]:
            lines.append(
                f"missing: {counts['missing']:,} of {counts['samples']:,} samples without a row "
                "in this import; each counts as wrong"
            )
        return lines + self._lines_on_content()

    def _lines_on_content(self) -> list[str]:
        counts, lines = self.counts, []
        if counts["asked otherwise"]:
            lines.append(
                f"other instruction: {_rows(counts['asked otherwise'])} another instruction "
                f"than the sample:{self._examples_of_wording()}"
            )
        if counts["other box_px"]:
            lines.append(
                f"other box: {_rows(counts['other box_px'])} another box than the sample "
                f"(more than 1 px); the box of the data set counts:"
                f"{_named(self.other_boxes, counts['other box_px'])}"
            )
        if counts["other image_wh"]:
            lines.append(
                f"other image size: {_rows(counts['other image_wh'], 'name')} another size than "
                "the data set. The size of the data set counts, unless the images were sent in "
                "the other size (--frame pixels_sent):"
                f"{_named(self.other_sizes, counts['other image_wh'])}"
            )
        if counts["error"]:
            lines.append(f"failed: {_rows(counts['error'])} an error and no answer")
        if alone := self.verdicts_alone:
            lines.append(
                f"verdict alone: {_rows(len(alone))} neither a reply nor a point. Without them "
                f"nothing can be judged again, and each counts as wrong (as the file says, "
                f"{sum(alone):,} are right)"
            )
        if empty := counts["no answer"] - counts["error"] - len(alone):
            lines.append(f"empty: {_rows(empty)} neither a reply nor a point")
        if count := self.taken_for_fractions:
            lines.append(
                f"unit of the points: nearly all of the {counted(count, 'point')} of the file have "
                "numbers between 0 and 1, so they count as fractions of the image. This format "
                "usually has pixels; to count them as pixels, use --frame pixels"
            )
        for damage, answers in self.damaged.items():
            replies = "1 reply" if len(answers) == 1 else f"{len(answers):,} replies"
            lines.append(
                f"damaged by the spreadsheet: {replies} {damage}:"
                f"{_named(answers[:MOST_NAMED], len(answers))}"
            )
        return lines

    def _examples_of_wording(self) -> str:
        texts = [
            f"\n    {answer.text()}; the sample asks: {_question(sample)!r:.80}"
            for answer, sample in self.asked_otherwise
        ]
        return "".join(texts)


def _rows(count: int, verb: str = "have") -> str:
    """The number of rows with a verb: `1 row has`, `2 rows have`."""
    if count != 1:
        return f"{count:,} rows {verb}"
    of_one = {"have": "has", "match": "matches"}
    return f"1 row {of_one.get(verb, f'{verb}s')}"


def _question(sample: Sample) -> str:
    line = sample.line
    return str(line.get("instruction") or line.get("question") or "")


def _is_same_answer(one: Answer, other: Answer) -> bool:
    return one.reply == other.reply and one.point == other.point


def _is_somewhere(point: Point | None) -> bool:
    """Whether a point is on an image; (0, 0) and negative numbers often stand for none."""
    return point is not None and min(point) >= 0 and max(point) > 0


def _is_fraction(point: Point | None) -> bool:
    """Whether the numbers of a point can hardly be pixels."""
    return point is not None and max(point) <= 1 and any(number % 1 for number in point)


def _named(answers: Sequence[Answer], count: int) -> str:
    more = f"\n    and {count - len(answers):,} more" if count > len(answers) else ""
    return "".join(f"\n    {answer.text()}" for answer in answers) + more


def _in_brackets(texts: Sequence[str]) -> str:
    return f" ({', '.join(texts)})" if texts else ""


def _in_words(numbers: Sequence[int]) -> str:
    text = ", ".join(map(str, numbers[:MOST_NUMBERS]))
    more = len(numbers) - MOST_NUMBERS
    return f"{text} and {more} more" if more > 0 else text


def torn_lines(torn: Mapping[str, Sequence[int]]) -> list[str]:
    """Lines of files that are no rows, in words."""
    return [
        f"torn: {counted(len(numbers), 'line')} of {name} without a whole JSON object in UTF-8 "
        f"({'line' if len(numbers) == 1 else 'lines'} {_in_words(numbers)}), skipped"
        for name, numbers in torn.items()
        if numbers
    ]

"""What every benchmark offers: load samples, ask, judge a reply, sum up, show a table.

A benchmark never waits for a model: `episode` yields messages and is sent what the model said, so
that whoever drives it can batch, overlap and resume all levels alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.matrics import Scores
from utils.annotations import read_annotations
from utils.contracts import (
    WH,
    Collector,
    Episode,
    Judgement,
    Line,
    Message,
    ParseFunction,
    PromptOf,
    Sample,
    Sizes,
    UserFunctionError,
    World,
)
from utils.errors import printable
from utils.functions.calling import call_user_function, private_copy
from utils.functions.fingerprints import digest
from utils.images import read_header


@dataclass(frozen=True, slots=True)
class BadSample:
    """A sample that cannot be asked or scored, and why.

    Attributes:
        where: the place in the annotation file.
        picture: as the annotation names it; "" if it names none.
        is_picture: the picture is to blame, so that all samples on it share the problem.
    """

    where: str
    picture: str
    problem: str
    is_picture: bool = False

    def __str__(self) -> str:
        place = f"{self.where}, {self.picture}" if self.picture else self.where
        return f"{place}: {self.problem}"


@dataclass(frozen=True, slots=True)
class Loaded:
    """The samples of one data set in file order, and those that were left out."""

    samples: list[Sample]
    bad: list[BadSample]


class Benchmark(ABC):
    """One data set of the evaluator.

    Args:
        annotation_dir: the folder of the annotation files, `<LMUData>/MMBench-GUI`.
        image_root: the folder that the lines' `image_path` is relative to.
    """

    name: ClassVar[str]
    level: ClassVar[str]
    modes: ClassVar[tuple[str, ...]]
    text_key: ClassVar[str]  # the column that, with the picture, tells one sample from another
    result_suffix: ClassVar[str]  # of the per-sample file
    score_suffix: ClassVar[str]  # of the score file
    result_columns: ClassVar[tuple[str, ...]]  # of the per-sample file
    result_has_line: ClassVar[bool]  # whether it has the line's own columns in front of them
    system_prompt: ClassVar[str]
    replays: ClassVar[bool] = True  # the answer to one prompt can be reused by itself
    worlds: ClassVar[int] = 0  # how many its episodes can use at once

    def __init__(self, annotation_dir: Path, image_root: Path) -> None:
        self.annotation_dir, self.image_root = annotation_dir, image_root

    @property
    def title(self) -> str:
        """Of its table."""
        return f"{self.level} {self.name}"

    @property
    def annotation_file(self) -> Path:
        """Where the questions are."""
        return self.annotation_dir / f"{self.level}_annotations.json"

    def load(self, mode: str) -> Loaded:
        """The samples of `mode` in file order; bad ones are named and left out.

        Raises:
            UserError: the file is missing or broken as a whole.
        """
        numbers: Counter[str] = Counter()
        asked: list[tuple[str, Line]] = []
        columns: dict[str, None] = {}
        for row in self.rows(read_annotations(self.annotation_file), mode):
            key = _numbered(self.key_text(row), numbers)  # of all rows: the same in any mode
            if self.in_mode(row, mode):
                columns.update(dict.fromkeys(row))
                asked.append((key, row))
        samples: list[Sample] = []
        bad: list[BadSample] = []
        for key, row in asked:
            found = self._measured(key, {column: row.get(column) for column in columns}, mode)
            if isinstance(found, Sample):
                samples.append(found)
            else:
                bad.append(found)
        return Loaded(samples, bad)

    def _measured(self, key: str, row: Line, mode: str) -> Sample | BadSample:
        """The sample with the size of its picture, or what is wrong with it."""
        where = f"{self.annotation_file.name}, {self.place_of(row, mode)}"
        if row["image_path"] is None:
            return BadSample(where, "", "picture missing: image_path and platform must be texts")
        picture, image = printable(row["image_path"]), self.image_root / str(row["image_path"])
        try:
            file_wh = read_header(image).wh
        except FileNotFoundError:
            missing = f"picture missing: {printable(str(image))}"
            return BadSample(where, picture, missing, is_picture=True)
        except (OSError, ValueError) as error:  # ValueError: a name that no file can have
            return BadSample(where, picture, f"picture unreadable: {error}", is_picture=True)
        problem = self.problem_of(row, file_wh)
        if problem:
            return BadSample(where, picture, problem)
        return Sample(key, row, image, file_wh)

    def place_of(self, row: Line, mode: str) -> str:
        """Where a row stands in the annotation file, for people."""
        return f"index {row.get('index')}"

    def key_text(self, row: Line) -> str:
        """Hash that names a sample whatever the mode."""
        return digest([self.name, row.get("image_path"), row.get(self.text_key)])[:16]

    @abstractmethod
    def rows(self, annotations: Iterable[Mapping[str, Any]], mode: str) -> Iterator[Line]:
        """The annotation file flattened: all its questions, numbered as the mode has it.

        Raises:
            UserError: an annotation of another shape.
        """

    @abstractmethod
    def in_mode(self, row: Line, mode: str) -> bool:
        """Whether a row belongs to `mode`."""

    @abstractmethod
    def problem_of(self, row: Line, file_wh: WH) -> str | None:
        """What makes a row unusable, or None."""

    @abstractmethod
    def user_text(self, line: Line) -> str:
        """The default prompt's text part."""

    def build_prompt(
        self, line: Line, use_system: bool = True, custom_system_prompt: str | None = None
    ) -> list[Message]:
        """The default prompt: system text, picture, question.

        Args:
            use_system: False leaves the system message out ("model_default").
            custom_system_prompt: replaces the benchmark's own text; None or "" keeps it.
        """
        messages = []
        if use_system:
            text = custom_system_prompt or self.system_prompt
            messages.append({"role": "system", "type": "text", "value": text})
        picture = str(self.image_root / line["image_path"])
        messages.append({"role": "user", "type": "image", "value": picture})
        messages.append({"role": "user", "type": "text", "value": self.user_text(line)})
        return messages

    def episode(
        self,
        sample: Sample,
        prompt_of: PromptOf,
        world: World | None = None,
    ) -> Episode:
        """The questions that one sample asks, one after the other; here a single one."""
        yield prompt_of(sample.line)

    def open_world(self) -> World:
        """A new world for episodes to act in."""
        raise NotImplementedError(f"{self.name} acts in no world")

    @abstractmethod
    def default_parse(self, response: str, meta: Mapping[str, Any]) -> Any:
        """The benchmark's own parser."""

    @abstractmethod
    def accept(self, parsed: Any) -> Any:
        """A parse function's result in one form; None where it found nothing.

        Raises:
            ValueError: it is neither an answer nor None.
        """

    @abstractmethod
    def judge_parsed(self, line: Line, sizes: Sizes, parsed: Any, reply: str | None) -> Judgement:
        """The verdict on what the parse function found; `reply` None: there was no answer."""

    def judge(
        self, line: Line, sizes: Sizes, reply: str | None, parse: ParseFunction, meta_extra: Line
    ) -> Judgement:
        """Parses and judges one reply.

        A parse function that raises, or returns something that is no answer, is a format error of
        this sample; it is handed on in `Judgement.error`.

        Args:
            reply: the text after postprocessing; None if the request failed for good.
            meta_extra: `sent_size`, `seen_size`, `min_pixels`, `max_pixels` where known.
        """
        if reply is None:
            return self.judge_parsed(line, sizes, None, None)
        error = None
        try:
            parsed = self.accept(call_user_function("parse", parse, reply, _meta(line, meta_extra)))
        except UserFunctionError as raised:
            parsed, error = None, raised
        except ValueError as nonsense:
            parsed, error = None, UserFunctionError("parse", str(nonsense), str(nonsense))
        judged = self.judge_parsed(line, sizes, parsed, reply)
        return replace(judged, error=error)

    @abstractmethod
    def summarise(self, counted: Iterable[Any], settings: Mapping[str, str]) -> Scores:
        """The score object of the score file.

        Args:
            counted: `Judgement.counted` of every sample.
            settings: environment variables.
        """

    def collectors(self, settings: Mapping[str, str]) -> dict[str, Collector]:
        """What is worked out beyond the scores, by the name of its section in the analysis.

        Args:
            settings: environment variables.
        """
        return {}


def grouped(bad: Sequence[BadSample]) -> list[str]:
    """One line for each bad sample; one for all samples on a picture that is to blame."""
    sharing = Counter((b.picture, b.problem) for b in bad if b.is_picture)
    lines: list[str] = []
    told: set[tuple[str, str]] = set()
    for sample in bad:
        blamed = (sample.picture, sample.problem)
        if not sample.is_picture or sharing[blamed] == 1:
            lines.append(str(sample))
        elif blamed not in told:
            told.add(blamed)
            lines.append(f"{sample.picture} ({sharing[blamed]} samples): {sample.problem}")
    return lines


def platform_path(row: Mapping[str, Any]) -> str | None:
    """`<platform>/<file>`, whether the annotation names the folder already or not."""
    path, platform = row.get("image_path"), row.get("platform")
    if not isinstance(path, str) or not isinstance(platform, str):
        return None
    return path if path.startswith(f"{platform}/") else f"{platform}/{path}"


def _numbered(key: str, seen: Counter[str]) -> str:
    """Tells equal samples of one file apart: the second gets "-2", in file order, in every mode."""
    seen[key] += 1
    return key if seen[key] == 1 else f"{key}-{seen[key]}"


def _meta(line: Line, extra: Line) -> dict[str, Any]:
    """The line for a parse function; documented ones `literal_eval(meta["image_size"])`."""
    meta: dict[str, Any] = private_copy({**line, **extra})
    for column in ("image_size", "options", "sent_size", "seen_size"):
        value = meta.get(column)
        if value is not None:
            meta[column] = str(list(value) if isinstance(value, tuple) else value)
    return meta

"""What every benchmark offers: load samples, ask, judge a reply, sum up. It waits for no model."""

from __future__ import annotations

import json
import sys
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from utils import PROJECT, contracts
from utils.contracts import (
    WH,
    DataSet,
    Episode,
    Judgement,
    Line,
    Message,
    ParseFunction,
    PromptOf,
    ReplyParsing,
    Sample,
    Sizes,
    UserFunctionError,
    World,
)
from utils.errors import UserError
from utils.functions.calling import private_copy
from utils.functions.fingerprints import digest
from utils.images import data_root, image_root, read_header
from utils.protocol import PLATFORMS
from utils.text import printable


@dataclass(frozen=True, slots=True)
class BadSample:
    """A sample that cannot be asked or scored, and why."""

    position: str  # in the annotation file
    picture: str  # as the annotation names it; "" if it names none
    problem: str
    is_picture: bool = False  # the image is to blame: all samples on it share the problem

    def __str__(self) -> str:
        return f"{', '.join(filter(None, (self.position, self.picture)))}: {self.problem}"


class Benchmark(contracts.Benchmark):
    """One data set of the evaluator; what a run needs of it stands in `utils.contracts`."""

    text_key: ClassVar[str]  # the column that, with the image, tells one sample from another
    system_prompt: ClassVar[str]

    def __init__(self, annotation_dir: Path, image_root: Path) -> None:
        self.image_root = image_root
        self._image = cache(image_root.joinpath)  # samples on one image share its path
        self.annotation_file = annotation_dir / f"{self.level}_annotations.json"
        self.title = f"{self.level} {self.name}"

    @classmethod
    def make(cls, name: str, settings: Mapping[str, Any]) -> Benchmark:
        """Return the benchmark of an entry of the config."""
        return cls(data_root() / "MMBench-GUI", image_root())

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Take what the config says of the data set alone."""

    def problems(self) -> list[str]:
        """What it misses on this machine, one line each."""
        return []

    def source(self) -> tuple[str, bytes]:
        """What its samples are read from: a name and the content."""
        return self.annotation_file.name, self.annotation_file.read_bytes()

    def load(self, mode: str) -> tuple[list[Sample], list[BadSample]]:
        """The samples of `mode` in file order, and bad ones; a `UserError` for a broken file."""
        numbers: Counter[str] = Counter()
        rows: list[tuple[str, Line]] = []
        for row in self.annotated_rows(mode):
            key = digest([self.name, *self.identity_of(row)])[:16]
            numbers[key] += 1  # of all rows: the second of equal ones gets "-2" in any mode
            if self.in_mode(row, mode):
                rows.append((key if numbers[key] == 1 else f"{key}-{numbers[key]}", row))
        columns = dict.fromkeys(column for _, row in rows for column in row)
        samples: list[Sample] = []
        bad: list[BadSample] = []
        for key, row in rows:
            sample = self._measured(key, {column: row.get(column) for column in columns}, mode)
            if isinstance(sample, Sample):
                samples.append(sample)
            else:
                bad.append(sample)
        return samples, bad

    def identity_of(self, row: Line) -> list[Any]:
        """What tells a row from others."""
        return [row.get("image_path"), row.get(self.text_key)]

    def annotated_rows(self, mode: str) -> Iterator[Line]:
        """The rows of the annotation file."""
        return self.rows(read_annotations(self.annotation_file), mode)

    def _measured(self, key: str, row: Line, mode: str) -> Sample | BadSample:
        """The sample with the size of its image, or what is wrong with it."""
        position = f"{self.annotation_file.name}, {self.place_of(row, mode)}"
        if not isinstance(row.get("image_path"), (str, type(None))):
            return BadSample(position, "", f"image_path must be a text, not {row['image_path']!r}")
        if row["image_path"] is None:
            return BadSample(position, "", "image missing: image_path and platform must be strings")
        picture, image = printable(row["image_path"]), self._image(row["image_path"])
        if Path(row["image_path"]).is_absolute() or ".." in Path(row["image_path"]).parts:
            return BadSample(position, picture, "image_path points outside the image folder")
        try:
            file_wh = read_header(image).wh
        except FileNotFoundError:
            return BadSample(position, picture, f"image missing: {printable(str(image))}", True)
        except (OSError, ValueError) as error:  # ValueError: a name that no file can have
            return BadSample(position, picture, f"image unreadable: {error}", True)
        problem = self.problem_of(row, file_wh)
        return (
            BadSample(position, picture, problem) if problem else Sample(key, row, image, file_wh)
        )

    def place_of(self, row: Line, mode: str) -> str:
        """Where a row stands in the annotation file, for people."""
        return f"index {row.get('index')}"

    @abstractmethod
    def rows(self, annotations: Iterable[Mapping[str, Any]], mode: str) -> Iterator[Line]:
        """The annotation file flattened: all its questions, numbered as the mode has it."""

    def in_mode(self, row: Line, mode: str) -> bool:
        """Whether a row belongs to `mode`."""
        return mode in ("all", row.get(self.mode_column))

    def problem_of(self, row: Line, file_wh: WH) -> str | None:
        """What makes a row unusable, or None; each benchmark adds what it needs."""
        if not isinstance(row.get(self.text_key), str):
            return f"the {self.text_key} is missing"
        for column, known_values in ((self.mode_column, self.modes[1:]), ("platform", PLATFORMS)):
            if row.get(column) not in known_values:
                return f"unknown {column.replace('_', ' ')} {row.get(column)!r}"
        return None

    @abstractmethod
    def user_text(self, line: Line) -> str:
        """The default prompt's text part."""

    def build_prompt(
        self, line: Line, use_system: bool = True, custom_system_prompt: str | None = None
    ) -> list[Message]:
        """The default prompt: system text (unless it is "model_default"), image, question.

        A `custom_system_prompt` replaces the benchmark's own text; None or "" keeps it.
        """
        system = custom_system_prompt or self.system_prompt
        image = str(self.image_root / line["image_path"])
        return [
            *([{"role": "system", "type": "text", "value": system}] if use_system else []),
            {"role": "user", "type": "image", "value": image},
            {"role": "user", "type": "text", "value": self.user_text(line)},
        ]

    def episode(
        self,
        sample: Sample,
        prompt_of: PromptOf,
        world: World | None = None,
        reading: ReplyParsing | None = None,
    ) -> Episode:
        """The questions that one sample asks, one after the other; here a single one."""
        yield replace(prompt_of(sample.line), image=sample.image)

    @staticmethod
    @abstractmethod
    def default_parse(response: str, meta: Mapping[str, Any], /) -> Any:
        """The protocol's own parser."""

    @abstractmethod
    def accept(self, parsed: Any) -> Any:
        """A parse function's result in one form, None as it is; a `ValueError` for nonsense."""

    @abstractmethod
    def judge_parsed(self, line: Line, sizes: Sizes, parsed: Any, reply: str | None) -> Judgement:
        """The verdict on what the parse function found; no reply: there was no answer."""

    def judge(
        self, line: Line, sizes: Sizes, reply: str | None, parse: ParseFunction, meta_extra: Line
    ) -> Judgement:
        """Parses and judges one reply, None if the request failed for good.

        A parse function that raises, or returns something that is no answer, is a format error of
        this sample; it is handed on in `Judgement.error`. `meta_extra` has `sent_size`,
        `seen_size`, `min_pixels`, `max_pixels` where known.
        """
        if reply is None:
            return self.judge_parsed(line, sizes, None, None)
        parsed, error = self.read(line, sizes, reply, parse, meta_extra)
        return replace(self.judge_parsed(line, sizes, parsed, reply), error=error)

    def read(
        self, line: Line, sizes: Sizes, reply: str, parse: ParseFunction, meta_extra: Line
    ) -> tuple[Any, UserFunctionError | None]:
        """What a parse function makes of a reply, and why that is nothing usable, if so."""
        meta = meta_of({**line, "file_size": sizes.file_wh, **meta_extra})
        try:
            return self.accept(parse(reply, meta)), None
        except UserFunctionError as raised:
            return None, raised
        except ValueError as nonsense:
            return None, UserFunctionError("parse", str(nonsense), str(nonsense))

    def unreadable(self, samples: Sequence[Sample]) -> list[str]:
        """What the default parser cannot read of any reply to these samples, one line each."""
        return []

    def annotation_doubts(self, samples: Sequence[Sample]) -> list[str]:
        """Name samples that are scored as the reference scores them, but look like mistakes."""
        return []

    def row_notes(
        self,
        samples: Sequence[Sample],
        bad: Sequence[BadSample],
        mode: str,
    ) -> list[str]:
        """Say where there are other rows than the published ones."""
        return []


def fill(data: DataSet, benchmark: Benchmark) -> list[str]:
    """Loads the samples of a data set; returns what a user should know, one line each.

    Raises:
        UserError: the annotation file is broken, or not one of its samples can be used.
    """
    (data.samples, bad), name = benchmark.load(data.mode), benchmark.name
    data.bad = [str(sample) for sample in bad]
    data.bad_grouped = [f"{name}: {line}" for line in grouped(bad)]
    if not data.samples:
        first = f"{name}: none of its samples can be used, for instance"
        why = data.bad_grouped[:3] or [f"no sample has mode {data.mode}"]
        if any(sample.is_picture for sample in bad):
            why.append("Do LMUData and IMAGE_ROOT_DIR point to the data set?")
        raise UserError("\n  ".join([first, *why]))
    notes = benchmark.row_notes(data.samples, bad, data.mode)
    notes += benchmark.annotation_doubts(data.samples)
    if data.parse == benchmark.default_parse:
        notes += benchmark.unreadable(data.samples)
    return notes


def index_list(samples: Sequence[Sample], limit: int = 10) -> str:
    """Return the indices of the first few samples, for people: `index 3, 7, ...`."""
    indices = [str(sample.line.get("index")) for sample in samples[:limit]]
    if len(samples) > limit:
        indices.append("...")
    return f"index {', '.join(indices)}"


def read_annotations(
    path: Path, folder: str = "MMBench-GUI", fetch: str | None = "python utils/download.py"
) -> list[dict[str, Any]]:
    """Return the objects of an annotation file.

    Args:
        folder: of the data set, in the data root.
        fetch: the command that fetches it; None: there is none.

    Raises:
        UserError: the file is missing or something else.
    """
    path = path.absolute()  # messages: a relative LMUData counts from where one happens to be
    try:
        entries = json.loads(path.read_text(encoding="utf-8"), object_hook=_interned)
        if isinstance(entries, list) and entries and all(isinstance(row, dict) for row in entries):
            return entries
        problem = "expected a list of annotations, and at least one"
    except FileNotFoundError:
        holder = f"the folder that holds {folder}/"
        trial = f"to try the program without it, set LMUData={PROJECT / 'sample_data'}"
        problem = f"no such annotation file. Set LMUData to {holder}"
        if fetch is not None:
            problem += f", or fetch the data set: {fetch}; {trial}"
        root = path.parents[1]
        if root.name == path.parent.name and (root / path.name).is_file():
            problem = (
                f"LMUData is that folder itself. Set LMUData to its parent folder, {root.parent}"
            )
    except (OSError, ValueError, RecursionError) as error:
        problem = f"cannot be read: {error}. Is it complete?"
        if fetch is not None:
            problem += f" To replace it, fetch the data set: {fetch}"
    raise UserError(f"{path}: {problem}") from None


def _interned(item: dict[str, Any]) -> dict[str, Any]:
    """An object of which equal texts, of which there are many, are kept once."""
    return {key: sys.intern(value) if type(value) is str else value for key, value in item.items()}


def grouped(bad: Sequence[BadSample]) -> list[str]:
    """One line for each bad sample; one for all samples on an image that is to blame."""
    sharing = Counter((sample.picture, sample.problem) for sample in bad if sample.is_picture)
    lines: dict[str, None] = {}
    for sample in bad:
        count = sharing[sample.picture, sample.problem] if sample.is_picture else 0
        shared = f"{sample.picture} ({count} samples): {sample.problem}"
        lines[shared if count > 1 else str(sample)] = None
    return list(lines)


def platform_path(row: Mapping[str, Any]) -> str | None:
    """`<platform>/<file>`, whether the annotation names the folder already or not."""
    path, platform = row.get("image_path"), row.get("platform")
    if not isinstance(path, str) or not isinstance(platform, str):
        return None
    return sys.intern(path if path.startswith(f"{platform}/") else f"{platform}/{path}")


def meta_of(fields: Line) -> dict[str, Any]:
    """A line for a parse function; documented ones `literal_eval(meta["image_size"])`."""
    meta: dict[str, Any] = private_copy(fields)
    for column in ("image_size", "options", "file_size", "sent_size", "seen_size"):
        if (value := meta.get(column)) is not None:
            meta[column] = str(list(value) if isinstance(value, tuple) else value)
    return meta

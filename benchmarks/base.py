"""The base of every benchmark: loads samples, builds prompts, judges replies and sums up."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from utils import contracts
from utils.contracts import (
    WH,
    DataSet,
    Judgement,
    Line,
    Message,
    ParseFunction,
    Sample,
    Sizes,
    UserFunctionError,
)
from utils.data_files import is_pointer, nearly_right, read_csv, read_json, read_json_lines
from utils.errors import UserError
from utils.functions.calling import (
    READING,
    as_scorer_error,
    as_user_error,
    call_user_function,
    private_copy,
)
from utils.functions.fingerprints import digest
from utils.functions.names import is_own
from utils.geometry.images import data_root, image_root, read_header
from utils.program import DOWNLOAD, SHARED
from utils.protocol import PLATFORMS
from utils.subsets import Label, Only, base_mode, check_only, is_chosen, is_subset
from utils.text import counted, is_blank, printable

SIZES_NAME = "image_sizes.json"
UNKNOWN_WH = (0, 0)  # for checks of a row whose image is not there


@dataclass(frozen=True, slots=True)
class BadSample:
    """A sample that cannot be asked or scored, and why."""

    position: str  # in the annotation file
    picture: str  # as the annotation names it; "" if it names none
    problem: str
    is_picture: bool = False  # the image is to blame: all samples on it share the problem
    is_missing: bool = False  # there is no such image

    def __str__(self) -> str:
        return f"{', '.join(filter(None, (self.position, self.picture)))}: {self.problem}"


class Benchmark(contracts.Benchmark):
    """One data set of the evaluator; `utils.contracts` has the interface that a run needs."""

    text_key: ClassVar[str]  # the column that, with the image, tells one sample from another
    system_prompt: ClassVar[str]
    subset_columns: ClassVar[Mapping[str, str]] = {
        "platform": "platform",
        "application": "app_name",
    }
    """Columns of a row by the grouping that `only` of a config chooses rows by."""

    only: Only = MappingProxyType({})
    passed_over: Collection[Label] = ()  # labels of `only` that its rows need not have

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
        """Take the config's settings of this data set."""

    def problems(self) -> list[str]:
        """Problems on this machine, such as missing files, one line each."""
        return []

    def source(self) -> tuple[str, bytes]:
        """Return the name and the content of the file with the samples."""
        return self.annotation_file.name, self.annotation_file.read_bytes()

    def load(self, mode: str, *, needs_images: bool = True) -> tuple[list[Sample], list[BadSample]]:
        """Return the samples of `mode` in file order, and the bad ones.

        Args:
            mode: the part of the data set.
            needs_images: open each image. Otherwise the size comes from the first of these that
                exists: the annotation, `image_sizes.json` beside it, the image; else it is None.

        Raises:
            UserError: the file is broken, or no row has a label that is asked for.
        """
        numbers: Counter[str] = Counter()
        rows: list[tuple[str, Line]] = []
        all_rows = list(self.rows(base_mode(mode)))
        self.check_labels(all_rows)
        for row in all_rows:
            key = digest([self.name, *self.identity_of(row)])[:16]
            numbers[key] += 1  # of all rows: the second of equal ones gets "-2" in any mode
            if self.in_mode(row, mode):
                rows.append((key if numbers[key] == 1 else f"{key}-{numbers[key]}", row))
        columns = dict.fromkeys(column for _, row in rows for column in row)
        size_of = self._size_of_image if needs_images else self._known_size()
        measured = [
            self._measured(
                key, {column: row.get(column) for column in columns}, base_mode(mode), size_of
            )
            for key, row in rows
        ]
        samples = [sample for sample in measured if isinstance(sample, Sample)]
        return samples, [sample for sample in measured if isinstance(sample, BadSample)]

    def check_labels(self, rows: Iterable[Line]) -> None:
        """Check that some row has each label of `only`.

        Raises:
            UnknownLabels: no row has one of them.
        """
        if not self.only:
            return
        labels: dict[str, set[str]] = {}
        for row in rows:
            for grouping, labels_of_row in self.subset_labels(row).items():
                if labels_of_row:
                    labels.setdefault(grouping, set()).update(labels_of_row)
        check_only(self.only, labels, self.name, self.passed_over)

    def identity_of(self, row: Line) -> list[Any]:
        """The identity of a row, which tells it from others."""
        return [row.get("image_path"), row.get(self.text_key)]

    def _size_of_image(self, row: Line) -> WH:
        """The width and height of the image of a row, which is opened."""
        return read_header(self._image(row["image_path"])).wh

    def _known_size(self) -> Callable[[Line], WH | None]:
        """A function that gives the size of a row's image without needing the image."""
        try:
            sizes = read_json(self.sizes_file)
        except (OSError, ValueError, RecursionError):
            sizes = {}

        def size_of(row: Line) -> WH | None:
            for size in (row.get("image_size"), sizes.get(row["image_path"])):
                if size is not None and is_size(size):
                    return size[0], size[1]
            try:
                return self._size_of_image(row)
            except (OSError, ValueError):
                return None

        return size_of

    @property
    def sizes_file(self) -> Path:
        """The optional file of image sizes, by image name: `{"a.png": [1920, 1080]}`."""
        return self.annotation_file.parent / SIZES_NAME

    def _measured(
        self, key: str, row: Line, mode: str, size_of: Callable[[Line], WH | None]
    ) -> Sample | BadSample:
        """Return the sample with the size of its image, or what is wrong with it."""
        position = f"{self.annotation_file.name}, {self.position_of(row, mode)}"
        if not isinstance(row.get("image_path"), (str, type(None))):
            return BadSample(position, "", f"image_path must be a text, not {row['image_path']!r}")
        if row.get("image_path") is None:
            of_level = "image_path and platform must be strings"
            why = of_level if "image_path" in row else "the row has no image_path"
            return BadSample(position, "", f"image missing: {why}")
        picture, image = printable(row["image_path"]), self._image(row["image_path"])
        path = Path(row["image_path"])
        if path.is_absolute() or ".." in path.parts:
            return BadSample(position, picture, "image_path points outside the image folder")
        try:
            file_wh = size_of(row)
        except FileNotFoundError:
            missing = f"image missing: {printable(str(image))}"
            return BadSample(position, picture, missing, is_picture=True, is_missing=True)
        except (OSError, ValueError) as error:  # ValueError: a name that no file can have
            return BadSample(position, picture, f"image unreadable: {error}", is_picture=True)
        problem = self.problem_of(row, file_wh or UNKNOWN_WH)
        return (
            BadSample(position, picture, problem) if problem else Sample(key, row, image, file_wh)
        )

    def position_of(self, row: Line, mode: str) -> str:
        """Say where a row stands in the annotation file."""
        return f"index {row.get('index')}"

    @abstractmethod
    def rows(self, mode: str) -> Iterator[Line]:
        """Yield the rows of its annotation files, numbered as the mode has it."""

    def in_mode(self, row: Line, mode: str) -> bool:
        """Whether a row belongs to `mode`, and to its subset where it is one."""
        if base_mode(mode) not in ("all", row.get(self.mode_column)):
            return False
        return not is_subset(mode) or is_chosen(self.only, self.subset_labels(row))

    def subset_labels(self, row: Line) -> dict[str, list[str]]:
        """The labels of a row in each grouping by which a config may choose rows."""
        columns = dict(self.subset_columns)
        if self.mode_column:
            columns.setdefault(self.mode_column, self.mode_column)
        values = {grouping: row.get(column) for grouping, column in columns.items()}
        return {name: [] if value is None else [str(value)] for name, value in values.items()}

    def problem_of(self, row: Line, file_wh: WH) -> str | None:
        """Return the reason why a row is unusable, if any; each benchmark adds its own checks."""
        if problem := text_problem(row, self.text_key):
            return problem
        for column, known_values in ((self.mode_column, self.modes[1:]), ("platform", PLATFORMS)):
            if row.get(column) not in known_values:
                return f"unknown {column.replace('_', ' ')} {row.get(column)!r}"
        return None

    @abstractmethod
    def user_text(self, line: Line) -> str:
        """Return the text of the default prompt."""

    def build_prompt(
        self, line: Line, use_system: bool = True, custom_system_prompt: str | None = None
    ) -> list[Message]:
        """Return the default prompt: system text, image, question.

        Args:
            line: the sample.
            use_system: False where the config's system prompt is "model_default".
            custom_system_prompt: in place of the benchmark's own text; None or "" keeps that.
        """
        system = custom_system_prompt or self.system_prompt
        image = str(self.image_root / line["image_path"])
        return [
            *([{"role": "system", "type": "text", "value": system}] if use_system else []),
            {"role": "user", "type": "image", "value": image},
            {"role": "user", "type": "text", "value": self.user_text(line)},
        ]

    @staticmethod
    @abstractmethod
    def default_parse(response: str, meta: Mapping[str, Any], /) -> Any:
        """Read a reply as the protocol does."""

    def accept(self, parsed: Any) -> Any:
        """Return a parse function's result in one form, None as it is.

        Raises:
            ValueError: it is nonsense.
        """
        return parsed

    @abstractmethod
    def judge_parsed(self, line: Line, sizes: Sizes, parsed: Any, reply: str | None) -> Judgement:
        """Judge what the parse function returned; `reply` is None where there was no answer."""

    def judge(
        self, line: Line, sizes: Sizes, reply: str | None, parse: ParseFunction, meta_extra: Line
    ) -> Judgement:
        """Parse and judge one reply, which is None if the request failed for good.

        A parse function that raises, or returns something that is no answer, is a format error of
        this sample; it is handed on in `Judgement.error`. `meta_extra` has `sent_size`,
        `seen_size`, `min_pixels`, `max_pixels` where known.
        """
        parsed, error = None, None
        if reply is not None:
            parsed, error = self.read(line, sizes, reply, parse, meta_extra)
        try:
            judgement = self.judge_parsed(line, sizes, parsed, reply)
        except Exception as failure:  # noqa: BLE001 - it is raised again, as the user's or as ours
            where = f" at row {line.get('index')}, image {line.get('image_path')}"
            raise as_scorer_error(self, "judge_parsed", failure, where) from None
        return replace(judgement, error=error)

    def read(
        self, line: Line, sizes: Sizes, reply: str, parse: ParseFunction, meta_extra: Line
    ) -> tuple[Any, UserFunctionError | None]:
        """The result of a parse function for a reply, and why that is not usable, if so."""
        # Functions of a config are wrapped, so that they raise UserFunctionErrors alone. The
        # default of a benchmark of the user's is not.
        is_of_user = parse == self.default_parse and not is_own(parse.__module__)
        try:
            meta = meta_of({**line, "file_size": sizes.file_wh, **meta_extra})
            if is_of_user:
                return self.accept(call_user_function("parse", parse, reply, meta)), None
            return self.accept(parse(reply, meta)), None
        except UserFunctionError as raised:
            return None, raised
        except ValueError as nonsense:
            return None, UserFunctionError("parse", str(nonsense), str(nonsense))
        except Exception as failure:  # noqa: BLE001 - of this sample, never of all scoring
            return None, as_user_error(READING, failure)

    def unreadable(self, samples: Sequence[Sample]) -> list[str]:
        """Name samples whose replies the default parser cannot read, one line each."""
        return []

    def notes(self, samples: Sequence[Sample], bad: Sequence[BadSample], mode: str) -> list[str]:
        """Name samples that look like mistakes, and say where rows are not the published ones."""
        return []


def text_problem(row: Line, column: str) -> str | None:
    """Say that a row has no text in a column, or a blank one."""
    text = row.get(column)
    if not isinstance(text, str):
        return f"the {column} is missing"
    return f"the {column} is blank" if is_blank(text) else None


def is_size(size: Any) -> bool:
    """Whether a value is a width and a height."""
    return (
        isinstance(size, (list, tuple))
        and len(size) == 2
        and all(type(side) in (int, float) for side in size)
    )


def fill(data: DataSet, benchmark: Benchmark, *, needs_images: bool = True) -> list[str]:
    """Load the samples of a data set; return notes for the user, one line each.

    Raises:
        UserError: the annotation file is broken, or not one of its samples can be used.
    """
    data.samples, bad = benchmark.load(data.mode, needs_images=needs_images)
    data.bad = [str(sample) for sample in bad]
    data.bad_grouped = [f"{benchmark.name}: {line}" for line in grouped(bad)]
    where_images_are = elsewhere(benchmark.image_root, bad)
    if not data.samples:
        first = f"{benchmark.name}: none of its samples can be used, for instance"
        why = data.bad_grouped[:3] or [f"no sample has mode {data.mode}"]
        if any(sample.is_picture for sample in bad):
            why += where_images_are or ["Do LMUData and IMAGE_ROOT_DIR point to the data set?"]
        raise UserError("\n  ".join([first, *why]))
    notes = [*benchmark.notes(data.samples, bad, data.mode), *where_images_are]
    if data.parse == benchmark.default_parse:
        notes += benchmark.unreadable(data.samples)
    return notes


def elsewhere(images: Path, bad: Sequence[BadSample]) -> list[str]:
    """Say where images seem to be that are missing, if a folder is nearly right.

    Args:
        images: the folder where they must be.
        bad: samples that are left out.
    """
    missing = next((sample for sample in bad if sample.is_missing), None)
    if missing is None:
        return []
    for root in (images, data_root().absolute()):
        file = nearly_right(root, missing.picture)
        if file is None:
            continue
        folder = file.parents[len(Path(missing.picture).parts) - 1]
        if folder == images:
            return [
                f"there is {file}, but the annotations name {missing.picture}; capital and small "
                "letters must match"
            ]
        way = (
            f"Set IMAGE_ROOT_DIR={folder}, or move them" if images == image_root() else "Move them"
        )
        return [f"the images seem to be in {folder}, not in {images}. {way}"]
    return []


def index_list(indices: Sequence[Any], limit: int = 10) -> str:
    """Return the first indices of samples for people: `index 3, 7 and 5 more`."""
    text = f"index {', '.join(map(str, indices[:limit]))}"
    more = len(indices) - limit
    return f"{text} and {more} more" if more > 0 else text


def doubts(
    samples_by_problem: Mapping[str, Sequence[Sample]], noun: str, plural: str = ""
) -> list[str]:
    """Name samples that look like mistakes and are scored as the reference scores them.

    Args:
        samples_by_problem: samples by their problem, in words.
        noun: name of one odd item, such as "question".
        plural: plural of the noun, as for `counted`.
    """
    return [
        f"{counted(len(samples), noun, plural)} {problem} "
        f"({index_list([sample.line.get('index') for sample in samples])}), "
        "queried and scored nevertheless"
        for problem, samples in samples_by_problem.items()
        if samples
    ]


def read_annotations(
    path: Path, folder: str = "MMBench-GUI", fetch: str | None = DOWNLOAD
) -> list[dict[str, Any]]:
    """The rows of an annotation file: JSON Lines in `.jsonl`, CSV in `.csv`, else a list in JSON.

    Args:
        folder: of the data set, in the data root.
        fetch: the command that fetches it; None: there is none.

    Raises:
        UserError: the file is missing or something else.
    """
    path = path.absolute()  # messages: a relative LMUData counts from where one happens to be
    try:
        entries: Any
        if path.suffix == ".csv":
            entries = [_interned(row) for row in read_csv(path)]
        else:
            read = read_json_lines if path.suffix == ".jsonl" else read_json
            entries = read(path, _interned)
        if isinstance(entries, list) and entries and all(isinstance(row, dict) for row in entries):
            return entries
        problem = "expected a list of annotations, and at least one"
    except FileNotFoundError:
        problem = _why_missing(path, folder, fetch)
    except (OSError, ValueError, RecursionError) as error:
        problem = f"cannot be read: {error}"
        if "Extra data" in str(error):
            problem += (
                ". The file holds more than one value. If it is JSON Lines, rename it to .jsonl"
            )
        elif not is_pointer(path):
            problem += ". Is it complete?"
            if fetch is not None:
                problem += f" To replace it, fetch the data set: {fetch}"
    raise UserError(f"{path}: {problem}") from None


def _why_missing(path: Path, folder: str, fetch: str | None) -> str:
    """Say what to do about an annotation file that is not there; arguments of its reader."""
    root = path.parents[1]
    if root.name == path.parent.name and (root / path.name).is_file():
        return f"LMUData names this folder itself. Set LMUData to its parent folder, {root.parent}"
    near = nearly_right(data_root().absolute(), path.name)
    if near is not None:
        below = str(path).rpartition(f"/{folder}/")[2]
        if str(near).endswith(f"/{folder}/{below}"):
            root = Path(str(near).removesuffix(f"/{folder}/{below}"))
            return f"no such annotation file, but there is {near}. Set LMUData={root}"
        return f"no such annotation file, but there is {near}. Move or rename it"
    problem = f"no such annotation file. Set LMUData to the folder that holds {folder}/"
    if fetch is not None:
        trial = f"to try the program without it, set LMUData={SHARED / 'sample_data'}"
        problem += f", or fetch the data set: {fetch}; {trial}"
    return problem


def _interned(item: dict[str, Any]) -> dict[str, Any]:
    """Return an object of JSON whose texts, many of them equal, are kept once."""
    return {key: sys.intern(value) if type(value) is str else value for key, value in item.items()}


def grouped(bad: Sequence[BadSample]) -> list[str]:
    """Return a line for each bad sample, and one for all samples on an image that is to blame."""
    sharing = Counter((sample.picture, sample.problem) for sample in bad if sample.is_picture)
    lines: dict[str, None] = {}
    for sample in bad:
        count = sharing[sample.picture, sample.problem] if sample.is_picture else 0
        shared = f"{sample.picture} ({count} samples): {sample.problem}"
        lines[shared if count > 1 else str(sample)] = None
    return list(lines)


def platform_path(row: Mapping[str, Any]) -> str | None:
    """Return `<platform>/<file>`, whether or not the annotation names the folder already."""
    path, platform = row.get("image_path"), row.get("platform")
    if not isinstance(path, str) or not isinstance(platform, str):
        return None
    return sys.intern(path if path.startswith(f"{platform}/") else f"{platform}/{path}")


def meta_of(fields: Line) -> dict[str, Any]:
    """Return a line for a parse function: sizes are texts, since users `literal_eval` them."""
    meta: dict[str, Any] = private_copy(fields)
    for column in ("image_size", "options", "file_size", "sent_size", "seen_size"):
        if (value := meta.get(column)) is not None:
            meta[column] = str(list(value) if isinstance(value, tuple) else value)
    return meta

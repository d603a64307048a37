"""Tables of rows with images: the base of all data sets but MMBench-GUI's own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.base import (
    SIZES_NAME,
    UNKNOWN_WH,
    BadSample,
    Benchmark,
    is_size,
    read_annotations,
    text_problem,
)
from utils.contracts import WH, Line, Sample, UserFunctionError
from utils.errors import UserError
from utils.functions.calling import call_user_function
from utils.functions.names import dotted_name, is_own
from utils.geometry.images import data_root
from utils.program import DOWNLOAD
from utils.sections import OpenSection


class TableBenchmark(Benchmark):
    """A data set that yields its rows in `read_rows`; a config may give it any name.

    A row is a dict of JSON values with `image_path` (below `images`) and the text that is asked
    (`text_key`).
    """

    name = level = "table"
    folder: ClassVar[str]  # below LMUData, named as on the hub
    images: ClassVar[str] = "images"  # below the folder
    config_section = OpenSection
    options: ClassVar[Mapping[str, tuple[str, ...]]] = {}  # keys of the config; first: default
    modes: ClassVar[tuple[str, ...]] = ("all",)
    mode_column, text_key = "", "instruction"

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__(folder, folder / self.images)
        self.root = folder
        self.annotation_file = folder
        self.name = self.level = self.title = name  # type: ignore[misc]
        self.settings: Mapping[str, Any] = {
            option: known_values[0] for option, known_values in self.options.items()
        }
        self._files_read: dict[Path, None] = {}  # by `read_file`, in their order

    @classmethod
    def make(cls, name: str, settings: Mapping[str, Any]) -> TableBenchmark:
        """Return the benchmark of an entry of the config."""
        return cls(data_root().absolute() / cls.folder, name)

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Take the benchmark's own keys."""
        self.settings = {
            option: settings.get(option) or known_values[0]
            for option, known_values in self.options.items()
        }

    @property
    def sizes_file(self) -> Path:
        """The optional file of image sizes, in the folder of the data set."""
        return self.root / SIZES_NAME

    # -- rows ----

    @abstractmethod
    def read_rows(self) -> Iterator[Line]:
        """Yield the rows of all files, in their order."""

    def files(self) -> Sequence[Path]:
        """The annotation files that are read; the manifest has their checksum.

        By default the files of the folder in JSON, else in JSON Lines, and those that `read_file`
        has read; without any, the files in CSV.
        """
        in_json = sorted(self.root.rglob("*.json")) or sorted(self.root.rglob("*.jsonl"))
        others = [path for path in self._files_read if path not in in_json]
        return [*in_json, *others] or sorted(self.root.rglob("*.csv"))

    def read_file(self, path: str) -> list[dict[str, Any]]:
        """Return the rows of an annotation file of the folder: JSON, JSON Lines or CSV."""
        self._files_read[self.root / path] = None
        is_ours = is_own(type(self).__module__)
        fetch = f"{DOWNLOAD} {type(self).__name__}" if is_ours else None
        return read_annotations(self.root / path, self.folder, fetch)

    def source(self) -> tuple[str, bytes]:
        """Return all annotation files as one; the name has settings that are not the default."""
        other = [
            f"{option} {value}"
            for option, value in self.settings.items()
            if value != self.options[option][0]
        ]
        content = b"".join(path.read_bytes() for path in self.files())
        return ", ".join([self.folder, *other]), content

    def rows(self, mode: str) -> Iterator[Line]:
        """Number the rows of all files.

        Raises:
            UserError: `read_rows` raised an error, or yields something else than rows.
        """
        reader = f"{dotted_name(type(self))}.read_rows"
        rows: list[Any] = []
        try:
            yielded = call_user_function("read_rows", self.read_rows)
            if not isinstance(yielded, Iterable):
                raise UserError(
                    f"{reader} returned {yielded!r:.100}; it must yield a dict for each row"
                )
            call_user_function("read_rows", rows.extend, yielded)
        except UserFunctionError as failure:
            if isinstance(failure.__cause__, UserError):
                raise failure.__cause__ from None
            raise UserError(f"{reader} {failure.summary} at row {len(rows)}") from None
        files = self.files()
        if not all(isinstance(path, Path) for path in files):
            raise UserError(
                f"{dotted_name(type(self))}.files gives {files!r:.100}; "
                "expected the paths of the files that read_rows reads (default: the .json, .jsonl "
                "or .csv files of the folder). The manifest gets their checksums"
            )
        if len(files) == 1:  # bad rows are named by it
            self.annotation_file = files[0]
        for number, row in enumerate(rows):
            if not isinstance(row, Mapping):
                raise UserError(f"{reader} yields {row!r:.100}; expected a dict for each row")
            yield {"index": number, **row}

    def notes(self, samples: Sequence[Sample], bad: Sequence[BadSample], mode: str) -> list[str]:
        """Say that no data file is known of a class of the user's without a method `files`."""
        if type(self).files is not TableBenchmark.files or self.files():
            return []
        name = dotted_name(type(self))
        return [
            f"{name} reads a data file that the program does not know. After a change of its right "
            "answers, the scores replace those in the same folder. Add the file to the class:\n"
            "      def files(self):\n"
            '          return [self.root / "rows.tsv"]'
        ]

    def position_of(self, row: Line, mode: str) -> str:
        """Name a row by its number among all rows, and its id where it has one."""
        return f"row {row['index']}" + (f" ({row['id']})" if row.get("id") is not None else "")

    def problem_of(self, row: Line, file_wh: WH) -> str | None:
        """Say whether the text or the size of the image are wrong."""
        if problem := row.get("problem") or text_problem(row, self.text_key):
            return str(problem)
        size = row.get("image_size")
        if size is not None and not is_size(size):
            return f"image_size must be [width, height], not {size!r:.60}"
        if size is not None and file_wh != UNKNOWN_WH and tuple(size) != file_wh:
            return (
                f"the row names an image of {size[0]}x{size[1]} pixels, the file has "
                f"{file_wh[0]}x{file_wh[1]}"
            )
        return None

    def identity_of(self, row: Line) -> list[Any]:
        """Return image and text, and the part of the table that the row belongs to."""
        return [row.get("image_path"), row.get(self.text_key), row.get(self.mode_column)]

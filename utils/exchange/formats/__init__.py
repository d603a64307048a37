"""The formats that are known, and which of them a file is in.

A format is a module here: `NAME`, `TITLE`, `NEEDS` (the columns of its rows, as messages name
them), `HAS_PARTS` (whether a file holds one part of a table, as a subset of it), `recognise` and
`rows`.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from typing import Protocol

from utils.errors import UserError
from utils.exchange.answers import Answer, verdicts_problem
from utils.exchange.files import Row, RowFile
from utils.exchange.formats import (
    agentnetbench,
    bundle,
    clawgui,
    evalscope,
    gui_agent_harness,
    inspect_log,
    lmms_eval,
    mai_ui,
    mmbench_gui,
    plain,
    sspro_json,
    uivision_json,
    vlmevalkit,
)
from utils.text import did_you_mean, listed


class Format(Protocol):
    """A module of this package."""

    @property
    def NAME(self) -> str:
        """As `--format` has it."""

    @property
    def TITLE(self) -> str:
        """As people read it."""

    @property
    def NEEDS(self) -> tuple[str, ...]:
        """The columns of a row."""

    @property
    def HAS_PARTS(self) -> bool:
        """Whether a file holds one part of a table."""

    def recognise(self, first_rows: Sequence[Row], /) -> bool:
        """Whether rows are of this format."""

    def rows(self, file: RowFile, /) -> Iterator[Answer]:
        """Yield an answer for each row."""


FORMATS: tuple[Format, ...] = (
    sspro_json,
    uivision_json,
    mai_ui,
    clawgui,
    gui_agent_harness,
    vlmevalkit,
    mmbench_gui,
    lmms_eval,
    evalscope,
    inspect_log,
    agentnetbench,
    bundle,
    plain,
)
WORLDS = ("osworld", "android_world", "mobile_world")
"""Formats of folders with the episodes of live worlds: `utils.exchange.worlds`."""


def format_named(name: str) -> Format:
    """The format of a name.

    Raises:
        UserError: there is none.
    """
    by_name = {file_format.NAME: file_format for file_format in FORMATS}
    if name in by_name:
        return by_name[name]
    known_names = [*by_name, *WORLDS]
    raise UserError(
        f"--format {name}: no such format{did_you_mean(name, known_names)}; known are "
        f"{listed(known_names, 20)}, or the dotted path of a function of yours (docs/exchange.md)"
    )


def format_of(file: RowFile) -> Format:
    """The format of a file by its first rows; plain rows are what no other format fits.

    Raises:
        UserError: none fits, or several do.
    """
    if file.kind == "zip":
        return _format_of_archive(file)
    first_rows = file.first_rows()
    if not first_rows:
        raise UserError(f"{file.name}: has no rows")
    fitting = [
        file_format
        for file_format in FORMATS
        if file_format is not plain and file_format.recognise(first_rows)
    ]
    if not fitting and plain.recognise(first_rows):
        return plain
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = listed([file_format.NAME for file_format in fitting])
        raise UserError(f"{file.name}: fits {names}; choose one with --format NAME")
    if plain.has_verdicts_alone(first_rows):
        verdicts = [bool(answer.verdict) for answer in plain.rows(file)]
        raise UserError(f"{file.name}: {verdicts_problem(verdicts)}")
    raise UserError([_no_format(file, first_rows[0]), *map(_needs, FORMATS)])


def _no_format(file: RowFile, row: Row) -> str:
    columns = listed([str(name) for name in row], 12) or "none"
    return f"{file.name}: is not in a known format. Its first row has {columns}. The formats need:"


def _needs(file_format: Format) -> str:
    return f"  {file_format.NAME}: {', '.join(file_format.NEEDS)}"


def _format_of_archive(file: RowFile) -> Format:
    with zipfile.ZipFile(file.path) as archive:
        names = archive.namelist()
    if bundle.recognise_archive(names):
        return bundle
    if inspect_log.recognise_archive(names):
        return inspect_log
    raise UserError(
        f"{file.name}: is an archive, but no spreadsheet, bundle or inspect log. Unpack it and "
        "name the file or folder with the answers"
    )

"""The table that a file of answers belongs to, and the part of the table that its rows cover."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from utils.contracts import DataSet, Sample
from utils.errors import UserError
from utils.exchange.answers import Answer
from utils.exchange.matching import MatchedBy, Matcher
from utils.exchange.sources import AnswerFile
from utils.program import DOWNLOAD
from utils.protocol import ACTING
from utils.session.prepare import BenchmarkRoom
from utils.text import counted, did_you_mean, listed

ENOUGH = 0.3  # of the first rows must be those of a table
NAMES_OF_FILES = ("results", "predictions", "predictions_judge", "samples")


@dataclass
class Table:
    """A data set that answers may be to."""

    name: str
    data: DataSet
    entry: Mapping[str, Any] = field(default_factory=dict)  # in a config
    _matcher: Matcher | None = None

    def matcher(self, order: Sequence[str] = ()) -> Matcher:
        """The matcher for its samples, which are loaded."""
        if self._matcher is None or order:
            self._matcher = Matcher(self.data.samples, order)
        return self._matcher

    def part_of(self, keys: Collection[str]) -> str:
        """The one part of a table that some samples are of; "": they are of several."""
        benchmark = self.data.benchmark
        if self.data.mode != "all" or not benchmark.mode_column or not keys:
            return ""
        chosen = set(keys)
        parts = {
            str(sample.line.get(benchmark.mode_column))
            for sample in self.data.samples
            if sample.key in chosen
        }
        part = parts.pop()
        return part if not parts and part in benchmark.modes else ""

    def samples_of(self, part: str) -> list[Sample]:
        """The samples of a part."""
        in_mode = self.data.benchmark.in_mode
        return [sample for sample in self.data.samples if in_mode(sample.line, part)]


def tables_here(requested: Sequence[str], benchmarks: BenchmarkRoom) -> dict[str, Table]:
    """The known tables, each with every value of its options, by the name of its data set.

    Args:
        requested: names of data sets or levels; empty: all that answers may be to.
        benchmarks: the room of the known ones.

    Raises:
        UserError: a name is not known.
    """
    tables: dict[str, Table] = {}
    for name, kind in benchmarks.BENCHMARK.items():
        if kind.level in ACTING:
            continue
        for dataset, entry in _variants(
            name, kind.options if kind.recipe_form == "grounding" else {}
        ):
            settings = {"mode": "all", **entry}
            data = benchmarks.build_data_set(dataset, settings, parse=None, has_own_parser=False)
            tables[dataset] = Table(dataset, data, entry)
    chosen: dict[str, Table] = {}
    for name in requested:
        fitting = [
            dataset
            for dataset, table in tables.items()
            if name.casefold() in (dataset.casefold(), table.data.benchmark.level.casefold())
        ]
        if not fitting:
            suggestion = did_you_mean(name, tables)
            raise UserError(
                f"--data {name}: no such table{suggestion}; known are {listed([*tables], 30)}"
            )
        chosen[fitting[0]] = tables[fitting[0]]
    return chosen or tables


def _variants(name: str, options: Mapping[str, Sequence[str]]) -> list[tuple[str, dict[str, Any]]]:
    """The data sets of a benchmark: with its defaults, and with each other value of an option."""
    variants: list[tuple[str, dict[str, Any]]] = [(name, {})]
    for option, values in options.items():
        for value in values[1:]:
            variants.append((f"{name} {value}", {"benchmark": name, option: value}))
    return variants


@dataclass
class Fit:
    """The fit of a file's rows to a table."""

    rows: int
    matched: int = 0  # rows that ask what a sample asks
    by_id: set[int] = field(default_factory=set)  # which of them have its id

    def order(self) -> tuple[int, int]:
        """Compares tables: ids decide if most rows have one, else all that matches."""
        ids = len(self.by_id)
        return ids if 2 * ids > self.rows else 0, self.matched


def table_of(
    source: AnswerFile,
    tables: Mapping[str, Table],
    benchmarks: BenchmarkRoom,
    *,
    is_named: bool,
) -> str:
    """The table whose samples a file has answers to.

    Args:
        source: the file.
        tables: those that it may be.
        benchmarks: the room of the known ones.
        is_named: the user has named the tables: all rows are looked at, not the first ones.

    Raises:
        UserError: none fits, nothing tells which of several, or it has rows of two.
    """
    if len(tables) == 1:
        return next(iter(tables))
    answers = [*source.answers()] if is_named else source.first_answers()
    if not answers:
        raise UserError(f"{source.path}: has no row that can be read")
    if not any(map(_tells, answers)):
        raise UserError(
            f"{source.path}: its rows have neither image nor instruction, so they may be of any "
            f"data set; say which: --data NAME ({listed([*tables], 30)})"
        )
    fits: dict[str, Fit] = {}
    missing: list[str] = []
    for name, table in tables.items():
        if _load(table, benchmarks):
            fits[name] = _fit(table.matcher(), answers)
        else:
            missing.append(name)
    most_matched = max((fit.matched for fit in fits.values()), default=0)
    if most_matched < ENOUGH * len(answers):
        counts = {name: fit.matched for name, fit in fits.items()}
        raise UserError(_no_table(source, counts, missing, len(answers)))
    best = max(fits.values(), key=Fit.order)
    fitting = [name for name, fit in fits.items() if fit.order() == best.order()]
    if len(fitting) > 1:
        raise UserError(
            f"{source.path}: its rows fit each of {listed(fitting)}; say which: --data NAME"
        )
    name = fitting[0]
    _refuse_a_second_table(source, name, fits)
    return name


def _fit(matcher: Matcher, answers: Sequence[Answer]) -> Fit:
    """Return the fit of a file's rows to a table."""
    fit = Fit(len(answers))
    for number, answer in enumerate(answers):
        match = matcher.find(answer)
        if match is None or match.is_asked_otherwise:
            continue
        fit.matched += 1
        if match.step is MatchedBy.ID:
            fit.by_id.add(number)
    return fit


def _refuse_a_second_table(source: AnswerFile, name: str, fits: Mapping[str, Fit]) -> None:
    """Refuse a file that has rows with ids of another table, too.

    A few ids may be numbers of the file's own that fit by chance: most rows must have one.

    Raises:
        UserError: names both tables and their counts of rows.
    """
    own_ids = fits[name].by_id
    for other, fit in fits.items():
        foreign = fit.by_id - own_ids
        if own_ids and foreign and 2 * len(own_ids | foreign) > fit.rows:
            raise UserError(
                f"{source.path}: has rows of two data sets, by their ids: {name} "
                f"({counted(len(own_ids), 'row')}) and {other} ({counted(len(foreign), 'row')}). "
                "Write the rows of each data set into a file of its own, or name one of them: "
                "--data NAME"
            )


def left_out_line(table: Table, benchmarks: BenchmarkRoom) -> str:
    """Say of a table that was named why nothing of it is imported."""
    if _load(table, benchmarks):
        return f"{table.name}: no row of this import; it is left out"
    return (
        f"{table.name}: its files are not in LMUData, so no row was compared with it; it is left "
        f"out. To fetch them: {DOWNLOAD}"
    )


def _load(table: Table, benchmarks: BenchmarkRoom) -> bool:
    """Load the samples of a table; False where its files are not here."""
    if table.data.samples:
        return True
    try:
        _, problems = benchmarks.load_samples(table.data, needs_images=False)
    except UserError:
        return False
    return not problems and bool(table.data.samples)


def _no_table(
    source: AnswerFile, counts: Mapping[str, int], missing: Sequence[str], rows: int
) -> str:
    best = sorted(((count, name) for name, count in counts.items() if count), reverse=True)[:3]
    tables = ", ".join(f"{name} {count}" for count, name in best) or "none"
    text = (
        f"{source.path}: of its first {counted(rows, 'row')} too few belong to one data set "
        f"(found: {tables})"
    )
    if missing:
        text += f"; not in LMUData, so not compared: {listed(missing, 30)}"
    return f"{text}. Name the data set: --data NAME, or fetch its files: {DOWNLOAD}"


def _tells(answer: Answer) -> bool:
    """Whether a row has more than a numeric id, which may belong to any table."""
    has_named_id = any(not name.isdecimal() for name in answer.ids)
    return bool(answer.image or answer.instruction or answer.prompt or has_named_id)


def model_name(path: Path) -> str:
    """The name of the model that answers are of, by their file or folder.

    Files of many programs have the same name; their folder is that of the model then.
    """
    name = path.name.removesuffix(".gz")
    stem = name.rpartition(".")[0] or name if path.is_file() else name
    if stem in NAMES_OF_FILES and path.absolute().parent.name:
        return path.absolute().parent.name
    return stem

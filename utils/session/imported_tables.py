"""Which table a file of answers is to, and what of it its rows cover."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from utils.contracts import DataSet, Sample
from utils.errors import UserError
from utils.exchange.answers import Answer
from utils.exchange.matching import Matcher
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
        """What finds its samples, which are loaded."""
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
            known = did_you_mean(name, tables)
            raise UserError(
                f"--data {name}: no such table{known}; known are {listed([*tables], 30)}"
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


def table_of(source: AnswerFile, tables: Mapping[str, Table], benchmarks: BenchmarkRoom) -> str:
    """The table whose samples a file has answers to.

    Raises:
        UserError: none fits, or nothing tells which of several.
    """
    if len(tables) == 1:
        return next(iter(tables))
    answers = source.first_answers()
    if not answers:
        raise UserError(f"{source.path}: has no row that can be read")
    if not any(map(_tells, answers)):
        raise UserError(
            f"{source.path}: its rows have neither image nor instruction, so they may be of any "
            f"table; say which: --data NAME ({listed([*tables], 30)})"
        )
    counts: dict[str, int] = {}
    missing: list[str] = []
    for name, table in tables.items():
        if not _load(table, benchmarks):
            missing.append(name)
            continue
        matcher = table.matcher()
        matches = [matcher.find(answer) for answer in answers]
        counts[name] = sum(match is not None and not match.is_asked_otherwise for match in matches)
    most = max(counts.values(), default=0)
    if most < ENOUGH * len(answers):
        raise UserError(_no_table(source, counts, missing, len(answers)))
    fitting = [name for name, count in counts.items() if count == most]
    if len(fitting) > 1:
        raise UserError(
            f"{source.path}: its rows fit each of {listed(fitting)}; say which: --data NAME"
        )
    return fitting[0]


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
    found = ", ".join(f"{name} {count}" for count, name in best) or "none"
    text = (
        f"{source.path}: of its first {counted(rows, 'row')} too few belong to one table (found: "
        f"{found})"
    )
    if missing:
        text += f"; not in LMUData, so not compared: {listed(missing, 30)}"
    return f"{text}. Name the data set: --data NAME, or fetch its files: {DOWNLOAD}"


def _tells(answer: Answer) -> bool:
    """Whether a row says more than an id, which may be that of any table."""
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

"""The scores of several runs in the layout of the paper's tables, published figures beside them.

L1: one table per difficulty, platforms as columns. L2: one table, basic and advanced per platform.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from utils.comparing.published import Published, is_published_data
from utils.comparing.runs import ComparedRun, ScoredSet
from utils.protocol import DIFFICULTIES, GROUNDING_TYPES, PLATFORM_LABELS

L1, L2 = "GUIContentUnderstanding", "GUIElementGrounding"
OVERALL = "overall"
PUBLISHED_MARK = "†"
PARTIAL_MARK = "‡"


@dataclass(frozen=True, slots=True)
class Column:
    """One column: the platform or "overall", and for L2 the grounding type below it.

    Attributes:
        key: platform as the data names it, or "overall".
        label: the same for people.
        split: "basic" or "advanced"; "" where the column is not divided.
    """

    key: str
    label: str
    split: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """An accuracy in percent; `low` and `high` of its 95 % interval where there is one."""

    value: float
    low: float | None = None
    high: float | None = None
    samples: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One model; None for a cell in which nothing was counted.

    Attributes:
        mark: "", or what the name is followed by: "‡" or "† published, not comparable".
    """

    name: str
    cells: Sequence[Cell | None]
    mark: str = ""
    is_published: bool = False

    @property
    def title(self) -> str:
        """The name with its mark."""
        return f"{self.name} {self.mark}".rstrip()


@dataclass(frozen=True, slots=True)
class Board:
    """One table of a data set; `split` is the difficulty for L1, "" for L2."""

    dataset: str
    split: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Row]


def boards_of(runs: Sequence[ComparedRun], published: Published | None) -> list[Board]:
    """The tables of every data set that some run was scored on."""
    having = [dataset for dataset in (L1, L2) if any(dataset in run.sets for run in runs)]
    tables = [
        (dataset, split)
        for dataset in having
        for split in (DIFFICULTIES if dataset == L1 else ("",))
    ]
    return [
        board
        for dataset, split in tables
        if (board := _board(runs, dataset, split, published)) is not None
    ]


def notes_of(runs: Sequence[ComparedRun], published: Published | None) -> list[str]:
    """What stands below the tables: marks, sources, what cannot be compared."""
    notes = []
    if any(scored.files.is_partial for run in runs for scored in run.sets.values()):
        notes.append(f"{PARTIAL_MARK} partial run: not all samples of its data set were scored")
    for run in runs:
        if any(scored.is_weighted for scored in run.sets.values()):
            notes.append(f"{run.label}: L1 weighted by number of options (L1_USE_WEIGHTED)")
    if published is None:
        return notes
    notes.append(f"{PUBLISHED_MARK} published figure, from: {published.source}")
    for dataset in (L1, L2):
        other = [
            run.label for run in runs if dataset in run.sets and not _is_comparable(run, dataset)
        ]
        if other:
            notes.append(
                f"{PUBLISHED_MARK} {dataset}: NOT COMPARABLE with {', '.join(other)}: not known to "
                "be the whole published data set (see manifest.json)"
            )
    return notes


def _is_comparable(run: ComparedRun, dataset: str) -> bool:
    return not run.sets[dataset].files.is_partial and is_published_data(run.manifest, dataset)


def _board(
    runs: Sequence[ComparedRun], dataset: str, split: str, published: Published | None
) -> Board | None:
    found = [
        (run.label, PARTIAL_MARK if scored.files.is_partial else "",
         _l1_cells(scored, split) if dataset == L1 else _l2_cells(scored))
        for run in runs if (scored := run.sets.get(dataset)) is not None
    ]  # fmt: skip
    shown = published.figures(dataset, split) if published else {}
    platforms = _platforms(
        [key for _, _, cells in found for key, _ in cells]
        + [key for cells in shown.values() for key, _ in cells]
    )
    if not platforms:
        return None
    columns = _columns(dataset, platforms)
    where = [(column.key, column.split) for column in columns]
    rows = [Row(name, [cells.get(place) for place in where], mark) for name, mark, cells in found]
    not_comparable = any(dataset in run.sets and not _is_comparable(run, dataset) for run in runs)
    mark = f"{PUBLISHED_MARK} published" + (", not comparable" if not_comparable else "")
    rows += [
        Row(
            name,
            [Cell(cells[place]) if place in cells else None for place in where],
            mark,
            is_published=True,
        )
        for name, cells in shown.items()
    ]
    title = f"L1 {dataset} · {split}" if dataset == L1 else f"L2 {dataset}"
    return Board(dataset, split, title, columns, rows)


def _columns(dataset: str, platforms: Sequence[str]) -> list[Column]:
    named = [(platform, PLATFORM_LABELS.get(platform, platform)) for platform in platforms]
    if dataset == L1:
        return [*(Column(key, label) for key, label in named), Column(OVERALL, "Overall")]
    divided = [Column(key, label, split) for key, label in named for split in GROUNDING_TYPES]
    return [*divided, Column(OVERALL, "Average")]


def _platforms(keys: Iterable[str]) -> list[str]:
    found = set(keys) - {OVERALL}
    known = [platform for platform in PLATFORM_LABELS if platform in found]
    return [*known, *sorted(found - set(known))]


Cells = dict[tuple[str, str], Cell]


def _l1_cells(scored: ScoredSet, difficulty: str) -> Cells:
    level = scored.scores.get(difficulty) or {}
    cells: Cells = {}
    for platform, block in level.items():
        if isinstance(block, dict) and block.get("score") is not None:
            cells[platform, ""] = _cell(
                100 * block["score"], scored, difficulty, platform, block.get("sample_num")
            )
    if level.get("level_score") is not None:
        number = level.get("level_sample_num")
        cells[OVERALL, ""] = _cell(
            100 * level["level_score"], scored, difficulty, "Overall", number
        )
    return cells


def _l2_cells(scored: ScoredSet) -> Cells:
    cells: Cells = {}
    for split in GROUNDING_TYPES:
        for platform, block in (scored.scores.get(split) or {}).items():
            if block.get("Total accuracy") is not None:
                cells[platform, split] = _cell(
                    block["Total accuracy"], scored, split, platform, block.get("Total num")
                )
    average = scored.scores.get("Average accuracy")
    if average is not None and {split for _, split in cells} == set(GROUNDING_TYPES):
        number = len(scored.outcomes)
        cells[OVERALL, ""] = _cell(average, scored, "average", "Overall", number)
    return cells


def _cell(value: float, scored: ScoredSet, row: str, column: str, samples: int | None) -> Cell:
    """The score file's figure with the interval that the analysis has for it."""
    found = _analysed(scored.analysis.get("table"), row, column)
    return Cell(value, found.get("low"), found.get("high"), samples)


def _analysed(table: Any, row: str, column: str) -> Mapping[str, Any]:
    if not isinstance(table, dict) or column not in table.get("columns", ()):
        return {}
    position = table["columns"].index(column)
    for each in table.get("rows", ()):
        if each.get("name") == row:
            return each["cells"][position] or {}
    return {}

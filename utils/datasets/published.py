"""The results that others published: with the benchmark, and of the models of a recipe."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, Literal, TypedDict, Unpack, cast
from urllib.parse import parse_qs, urlsplit

from utils.protocol import AVERAGE, L2_NAME
from utils.text import format_number, format_percent

Published = Mapping[str, Any]
"""Data set → row of its table → model → column → percent; and "source" by data set."""

PROTOCOLS = "protocols"
"""Key of `Published`: data set → model → how it was evaluated, where that is not the usual way."""
REMARKS = "remarks"
"""Key of `Published`: data set → model → what to know of its figures, which are compared."""
SOURCES = "sources"
"""Key of `Published`: data set → model of a newer paper → its source."""
NEWER = "published_2026.json"
"""Rows of newer papers: each has data set, model, source, cells, and where it differs `average`,
`run_by`, `refined`, `zoom`, `protocol` (why it is not compared) and `remark`."""
TABLE_FILES = {
    "GUIElementGrounding": L2_NAME,
    "ScreenSpotV2": "ScreenSpot-v2",
    "ScreenSpotPro": "ScreenSpot-Pro",
    "OSWorldG": "OSWorld-G",
    "UIVision": "ui-vision",
    "VenusBenchGD": "VenusBench-GD",
    "UII2E": "I2E-Bench",
}
"""The names that a manifest gives to the annotations of a data set."""
Average = Literal["micro", "mean", "without refusals", ""]
"""Over all rows; the mean of a table's halves or splits; over what is there; "": not known."""
RULE_NOT_STATED = "rule of the average not stated"  # a remark; a figure's `average` says it
IS_DOUBTED = "is_doubted"  # of a row: one's own score is not to be compared
HALF_WIDTH = 1.959964  # of a 95 % interval, in standard errors


@cache
def read_published() -> Published:
    """Return the published results of other models, as the files beside this module have them."""
    levels, tables = (_read(f"published_{name}.json") for name in ("results", "tables"))
    published: dict[str, Any] = {
        REMARKS: {},
        SOURCES: {},
        **tables,
        **levels,
        "source": {
            dataset: content["source"]
            for content in (tables, levels)
            for dataset, rows in content.items()
            if isinstance(rows, dict)
        },
    }
    newer = _read(NEWER)
    for row in newer["rows"]:
        source = newer["sources"][row["source"]]
        facts = {
            PROTOCOLS: row.get("protocol") or ("refined instructions" if "refined" in row else ""),
            REMARKS: row.get("remark"),
            SOURCES: f"{source['full']} ({source['date']})",
        }
        dataset, name = row["dataset"], _row_name(row)
        for table_row, cells in row["cells"].items():
            published.setdefault(dataset, {}).setdefault(table_row, {})[name] = cells
        for key, text in facts.items():
            if text:
                published[key].setdefault(dataset, {})[name] = text
    return published


def _read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((Path(__file__).parent / name).read_text("utf-8"))
    return content


def _row_name(row: Mapping[str, Any]) -> str:
    """The name of a row: its model, who has run it, and which instructions and looks it had."""
    facts = [
        f"{row['run_by']}'s run" if "run_by" in row else "",
        "refined" if row.get("refined") else "",
        "Zoom In" if row.get("zoom") else "",
    ]
    text = ", ".join(filter(None, facts))
    return f"{row['model']} ({text})" if text else str(row["model"])


def sources_of(published: Published, dataset: str, models: Iterable[str]) -> list[str]:
    """The sources of some rows of a table: each newer one with its models, that of others last."""
    newer_sources = published.get(SOURCES, {}).get(dataset, {})
    models_by_source: dict[str, list[str]] = {}
    is_older_shown = False
    for model in models:
        if model in newer_sources:
            models_by_source.setdefault(newer_sources[model], []).append(model)
        else:
            is_older_shown = True
    texts = [f"{source}: {', '.join(names)}" for source, names in models_by_source.items()]
    return [*texts, published["source"][dataset]] if is_older_shown else texts


# -- figures of one checkpoint --------------------------------------------------------------------

TABLES = {
    "l2": L2_NAME,
    "screenspot_v2": "ScreenSpot-v2",
    "screenspot_pro": "ScreenSpot-Pro",
    "ui_vision": "ui-vision",
    "osworld_g": "OSWorld-G",
    "osworld_g_refined": "OSWorld-G, instructions refined",
}
"""Names that manifests give to their annotations, by the keyword that `Source.of` has for them."""


class TableFigures(TypedDict, total=False):
    """Figures in percent, by table; see `TABLES`."""

    l2: float
    screenspot_v2: float
    screenspot_pro: float
    ui_vision: float
    osworld_g: float
    osworld_g_refined: float


@dataclass(frozen=True, slots=True)
class Figure:
    """A published result, in percent."""

    model: str
    """The last part of the checkpoint's hub id, or less where the source does not say which."""
    table: str
    """The name that a manifest gives to its annotations."""
    value: float
    source: str
    average: Average = ""
    note: str = ""
    """The known differences from the recipe; "" for none."""
    protocol: Literal["single", "zoom"] = "single"
    """One look at an image, or two; results of different protocols are never shown together."""


@dataclass(frozen=True, slots=True)
class Source:
    """A source of figures, with the protocol and average that they were made with."""

    name: str
    average: Average = ""
    note: str = ""
    protocol: Literal["single", "zoom"] = "single"

    def of(
        self,
        model: str,
        others: Mapping[str, float] | None = None,
        **figures: Unpack[TableFigures],
    ) -> tuple[Figure, ...]:
        """Return the figures of a model.

        Args:
            model: the last part of the checkpoint's hub id.
            others: percent by the name of a table's annotations, for those not in `TABLES`.
            **figures: percent by keyword, such as `l2=81.5`.

        Raises:
            TypeError: no table has such a keyword.
        """
        unknown = figures.keys() - TABLES.keys()
        if unknown:
            raise TypeError(
                f"{', '.join(sorted(unknown))}: no such table; {', '.join(TABLES)} are known, "
                'others go by name: {"my-table": 61.5}'
            )
        values = dict(others or {})
        for keyword, value in cast("Mapping[str, float]", figures).items():
            values[TABLES[keyword]] = value
        return tuple(
            Figure(model, table, value, self.name, self.average, self.note, self.protocol)
            for table, value in values.items()
        )


def newer_figures(hub_ids: Iterable[str]) -> tuple[Figure, ...]:
    """The figures of a family in newer papers.

    Args:
        hub_ids: of its checkpoints. A row is of the family where it names one of them, or one
            without its ending: "Qwen3-VL-8B" of "Qwen3-VL-8B-Instruct".
    """
    names = [_last_part(hub_id).casefold() for hub_id in hub_ids]
    newer = _read(NEWER)
    figures: list[Figure] = []
    for row in newer["rows"]:
        model = row["model"].casefold()
        if not any(name == model or name.startswith(f"{model}-") for name in names):
            continue
        cells = row["cells"]
        table = TABLE_FILES[row["dataset"]]
        if row.get("refined"):
            table += ", instructions refined"
        run_by = f"{row['run_by']}'s run" if "run_by" in row else ""
        protocol = "" if row.get("zoom") else row.get("protocol", "")
        remarks = [text for text in row.get("remark", "").split("; ") if text != RULE_NOT_STATED]
        figures.append(
            Figure(
                row["model"],
                table,
                cells.get("average", cells.get("accuracy"))["Overall"],
                newer["sources"][row["source"]]["name"],
                row.get("average", ""),
                "; ".join(filter(None, (run_by, protocol, *remarks))),
                "zoom" if row.get("zoom") else "single",
            )
        )
    return tuple(figures)


def with_newer(figures: Sequence[Figure], hub_ids: Iterable[str]) -> tuple[Figure, ...]:
    """The figures of a recipe and those of its family in newer papers that it does not have."""
    covered = {_what_of(figure) for figure in figures}
    newer = [figure for figure in newer_figures(hub_ids) if _what_of(figure) not in covered]
    return (*figures, *newer)


def _what_of(figure: Figure) -> tuple[str, str, float, str]:
    return figure.model.casefold(), figure.table, figure.value, figure.protocol


def checkpoint_names(entry: Mapping[str, Any]) -> list[str]:
    """Return the names of the checkpoint that a model entry gives, the one of its path first.

    They are the last parts of a path or hub id, of an endpoint's `model=`, and of `model_identity`.
    """
    path = str(entry.get("model_path") or "")
    if entry.get("imp_type") == "openai":
        path = parse_qs(urlsplit(path).query).get("model", [""])[0]
    paths = [entry.get("model_identity")]
    if entry.get("imp_type") != "custom":  # of a class it is no checkpoint
        paths.insert(0, path)
    return [_last_part(path) for path in paths if path]


def _last_part(path: str) -> str:
    parts = PurePosixPath(path.replace("\\", "/")).parts
    for part in parts:
        if part.startswith("models--"):  # of the hub's cache
            return part.rpartition("--")[2]
    return parts[-1] if parts else ""


def figures_beside(
    figures: Sequence[Figure],
    names: Sequence[str],
    table: str,
    analysis: Mapping[str, Any],
    protocol: str = "single",
    doubt: str = "",
) -> dict[str, Any] | None:
    """Return the published figures of a checkpoint beside one's own; None where there are none.

    Args:
        figures: of a recipe.
        names: of the checkpoint; figures that have none of them are "family", not compared.
        table: the name of the annotations that the result is of.
        analysis: of the result.
        protocol: of the result; figures of others are left out.
        doubt: what an audit says against the result, which is then not compared.

    Returns:
        `{checkpoint, protocol, doubt, rows, spread, family}`: a row has model, source, average,
        note, value, text; those of the checkpoint also `own` {name, text}, difference,
        standard_errors and is_same_rule, or, with a doubt, is_doubted. `spread` is how far the
        sources are apart, in points.
    """
    fitting = [
        figure for figure in figures if figure.table == table and figure.protocol == protocol
    ]
    if not fitting:
        return None
    own_cells, own_names = _own_cells(analysis), _own_names(analysis)
    rows: list[dict[str, Any]] = []
    family: list[dict[str, Any]] = []
    for figure in fitting:
        if figure.model.casefold() in (name.casefold() for name in names):
            beside = _beside(figure, own_cells, own_names) if not doubt else {IS_DOUBTED: True}
            rows.append({**_row(figure), **beside})
        else:
            family.append(_row(figure))
    values = [row["value"] for row in rows] or [0.0]
    return {
        "checkpoint": rows[0]["model"] if rows else ", ".join(names),
        "protocol": protocol,
        "doubt": doubt,
        "rows": rows,
        "spread": round(max(values) - min(values), 2),
        "family": family,
    }


def _row(figure: Figure) -> dict[str, Any]:
    return {
        "model": figure.model,
        "source": figure.source,
        "average": figure.average or "average not stated",
        "note": figure.note,
        "value": figure.value,
        "text": format_percent(figure.value),
    }


def _own_cells(analysis: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return one's own figures by the average that they are."""
    averages = analysis.get("averages") or {}
    headline = str((analysis.get("table") or {}).get("headline") or "")
    cells = {
        "micro": averages.get("micro") or averages.get("micro over all rows"),
        "mean": averages.get("Average accuracy"),
        "without refusals": averages.get("without refusals"),
    }
    if headline.startswith("mean"):
        cells["mean"] = averages.get(headline)
    return {name: cell for name, cell in cells.items() if cell}


def _own_names(analysis: Mapping[str, Any]) -> dict[str, str]:
    """The names of an average in one's own score table, where that is its last row."""
    table = analysis.get("table") or {}
    headline = str(table.get("headline") or "")
    average = "mean" if headline.startswith("mean") else "micro"
    return {average: table["rows"][-1]["name"]} if headline else {"mean": AVERAGE}


def _beside(
    figure: Figure, own_cells: Mapping[str, Mapping[str, Any]], own_names: Mapping[str, str]
) -> dict[str, Any]:
    """Return one's own figure of the same average, and how far away it is.

    The standard error is that of one's own figure, by images; the other one's is not known.
    """
    name = figure.average or "micro"
    cell = own_cells.get(name)
    if cell is None:
        return {}
    difference = cell["value"] - figure.value
    errors = None
    if cell.get("low") is not None:
        error = (cell["high"] - cell["low"]) / 2 / HALF_WIDTH
        errors = format_number(abs(difference) / error, 1) if error else None
    return {
        "own": {"name": own_names.get(name, name), "text": format_percent(cell["value"])},
        "difference": format_number(difference, 2, signed=True),
        "standard_errors": errors,
        "is_same_rule": bool(figure.average) and not figure.note,
    }


def lines_of(section: Mapping[str, Any]) -> list[str]:
    """Return the figures beside one's own as lines of text."""
    checkpoint = section["checkpoint"] or "the model"
    if not section["rows"]:
        lines = [f"published for the model family, as context; no source names {checkpoint}:"]
        width = max(len(row["model"]) for row in section["family"])
        for row in section["family"]:
            facts = filter(None, (row["source"], row["average"], row["note"]))
            lines.append(f"  {row['text']:>6}  {row['model']:{width}}  {', '.join(facts)}")
        return lines
    replies = "" if section["protocol"] == "single" else f", {section['protocol']}"
    lines = [f"published for {checkpoint}{replies}:"]
    if section.get("doubt"):
        lines.append(f"  not compared, because an audit doubts your score: {section['doubt']}")
    if section.get("own_settings"):
        lines.append(f"  your config overrides the recipe: {', '.join(section['own_settings'])}")
    width = max(len(row["source"]) for row in section["rows"])
    for row in section["rows"]:
        lines.append(f"  {row['text']:>6}  {row['source']:{width}}  {distance_of(row)}".rstrip())
    if section["spread"]:
        lines.append(f"  the published figures differ by up to {section['spread']:g} points")
    return lines


def distance_of(row: Mapping[str, Any]) -> str:
    """The distance of one's own figure from a published one, in words."""
    if row.get(IS_DOUBTED):
        return "not compared: an audit doubts your score"
    if "own" not in row:
        return f"{row['average']}: you have no such figure"
    text = f"yours {row['own']['text']} {row['own']['name']}: {row['difference']}"
    if row["standard_errors"] is not None:
        text += f", {row['standard_errors']} standard errors"
    rule = "same rule" if row["is_same_rule"] else row["note"] or row["average"]
    return f"{text}; {rule}"

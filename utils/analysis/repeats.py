"""Several answers to each question: how often a model is right once it may try again, or always.

Of the n answers to a question, c are right. pass@k, right in at least one of k answers, and pass^k,
right in all of k, are estimated without bias as the share of the choices of k among the n answers
of which that holds. Answers agree if they come to the same; see `answer_labels`.

Source: Chen et al. (2021), Evaluating Large Language Models Trained on Code, section 2.1 (pass@k);
Yao et al. (2024), tau-bench, section 3 (pass^k).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from math import comb
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from utils.analysis.columns import FIELDS, Row, SampleColumns, share
from utils.contracts import Verdict
from utils.protocol import AVERAGE, OVERALL, TIERS, official_figures, official_order
from utils.text import format_number, format_percent

if TYPE_CHECKING:
    from utils.analysis.intervals import Labels

SECTION = "repeats"  # of an analysis and of a score file
SHOWN = (1, 2, 4)  # of the k, and the last one: the table has these, the files have all
MEANING = (
    "pass@k: right in at least one of k answers; pass^k: right in all of k; agreement: the share "
    "of pairs of answers that agree; an unparsed reply agrees with no other. Each question counts "
    "once"
)


def pass_at(k: int, right: int, answers: int) -> float:
    """Return the chance that at least one of k answers is right, drawn among those that exist."""
    return 1 - comb(answers - right, k) / comb(answers, k)


def pass_all(k: int, right: int, answers: int) -> float:
    """Return the chance that all of k answers are right, drawn among those that exist."""
    return comb(right, k) / comb(answers, k)


def agreement_of(labels: Sequence[Hashable | None]) -> float:
    """Return the share of pairs of answers that have one label; None is like no other answer."""
    counts = Counter(label for label in labels if label is not None)
    alike = sum(comb(count, 2) for count in counts.values())
    return alike / comb(len(labels), 2)


def answer_labels(columns: SampleColumns) -> list[Hashable | None]:
    """The result of each answer: its letter, else hit, miss or declined.

    An answer that failed or could not be read comes to nothing, and is None.
    """
    labels: list[Hashable | None] = []
    for verdict, declined, options, chosen in zip(
        columns["verdict"],
        columns["declined"],
        columns["options"],
        columns["chosen"],
        strict=True,
    ):
        if verdict in (None, Verdict.UNPARSED):
            labels.append(None)
        elif options is not None:
            labels.append(chosen)
        else:
            labels.append("declined" if declined else str(verdict))
    return labels


def repeats_section(
    columns: SampleColumns, title: str, single_runs: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the section "repeats" of an analysis.

    Args:
        columns: of all answers, those to one question in a row. Questions with an answer that the
            score leaves out are in no row.
        title: of the data set.
        single_runs: the sections of the first answers alone, of the second ones, and so on.
    """
    answers = len(single_runs)
    credits = columns["credit"]
    is_counted = [
        None not in credits[start : start + answers] for start in range(0, len(credits), answers)
    ]
    columns = columns.where([is_kept for is_kept in is_counted for _ in range(answers)])
    clusters = (single_runs[0].get("table") or {}).get("clusters")

    def row(name: str, keep: Sequence[bool]) -> Row:
        selected = columns.where([is_kept for is_kept in keep for _ in range(answers)])
        return _row(name, selected, answers, _units(selected, clusters))

    splits = columns["split"][::answers]
    tiers = columns["tier"][::answers]
    names = sorted({str(split) for split in splits if split is not None}, key=official_order)
    rows = [row(name, [split == name for split in splits]) for name in names]
    rows += [
        row(f"tier {name}", [tier == name for tier in tiers]) for name in TIERS if name in tiers
    ]
    rows.append(row("Overall", [True] * len(splits)))
    figures = [
        {name: cell["value"] for name, cell in official_figures(sections).items()}
        for sections in single_runs
    ]
    deviations = _deviations(figures)
    shown_counts = [k for k in SHOWN if k < answers] + [answers]
    heads = [
        *(f"pass@{k}" for k in shown_counts),
        *(f"pass^{k}" for k in shown_counts[1:]),
        "agreement",
    ]
    table = {
        "title": f"{title} repeats",
        "columns": heads,
        "rows": [
            {"name": cells["name"], "cells": [cells[head] for head in heads]} for cells in rows
        ],
        "unit": "in % of the questions",
    }
    if clusters is not None:
        table["clusters"] = clusters
    return {
        "title": f"{title} repeats",
        "answers": answers,
        "questions": len(is_counted),
        "rows": rows,
        "single_runs": figures,
        "deviations": deviations,
        "notes": [MEANING, *_notes(figures, deviations)],
        "table": table,
    }


def _units(columns: SampleColumns, clusters: str | None) -> Labels:
    """What intervals go by, for each answer: the field that the score table names, or the image."""
    if clusters is not None and clusters in FIELDS:
        return columns[clusters]
    return columns.pictures()


def _row(name: str, columns: SampleColumns, answers: int, units: Labels) -> Row:
    """Return the cells of some questions; `samples` in them are questions.

    Args:
        columns: of the answers to these questions.
        units: one for each answer, which its interval goes by.
    """
    hits = columns.hits().reshape(-1, answers)
    # The plain accuracy is a mean over answers; an interval by image takes none as independent.
    row: Row = {"name": name, "pass@1": {**share(columns["credit"], units), "samples": len(hits)}}
    rights = hits.sum(axis=1).astype(int).tolist()
    of_questions = units[::answers]
    for k in range(2, answers + 1):
        row[f"pass@{k}"] = share([pass_at(k, right, answers) for right in rights], of_questions)
    for k in range(2, answers + 1):
        row[f"pass^{k}"] = share([pass_all(k, right, answers) for right in rights], of_questions)
    labels = answer_labels(columns)
    groups = [labels[start : start + answers] for start in range(0, len(labels), answers)]
    row["agreement"] = share([agreement_of(group) for group in groups], of_questions)
    return row


def _deviations(figures: Sequence[Mapping[str, float | None]]) -> dict[str, float]:
    """Return the standard deviation of each figure over the single runs, in points."""
    deviations: dict[str, float] = {}
    for name in figures[0]:
        values = [of_run.get(name) for of_run in figures]
        present = [value for value in values if value is not None]
        if len(present) == len(values):
            deviations[name] = round(stdev(present), 6)
    return deviations


def _notes(
    figures: Sequence[Mapping[str, float | None]], deviations: Mapping[str, float]
) -> list[str]:
    """Return the main figure of the single runs in a sentence; none where there is no figure."""
    rates = [name for name in deviations if name.startswith("SR ")]
    averages = [name for name in (OVERALL, AVERAGE) if name in deviations]
    name = next(iter([*averages, *rates[-1:], *reversed([*deviations])]), None)
    if name is None:
        return []
    values = ", ".join(format_percent(of_run[name]) for of_run in figures)
    deviation = format_number(deviations[name], 2)
    return [f"single runs, {name}: {values} (standard deviation {deviation} points)"]


def with_means(pooled: Any, singles: Sequence[Any]) -> Any:
    """Return a score object in which each figure is the mean of those of the single runs.

    Whole numbers (counts), and figures that some single run does not have, stay as they are. A
    figure of whole episodes may be None over all answers, of which an episode has too many.

    Args:
        pooled: of all answers.
        singles: of the first answers, the second ones, and so on, in the same form.
    """
    if isinstance(pooled, Mapping) and all(isinstance(single, Mapping) for single in singles):
        return {
            name: with_means(value, [single.get(name) for single in singles])
            for name, value in pooled.items()
        }
    is_figure = pooled is None or type(pooled) is float
    have_figures = all(type(value) is float for value in singles)
    return mean(singles) if is_figure and have_figures else pooled


def table_with_means(pooled: Mapping[str, Any], singles: Sequence[Mapping[str, Any]]) -> Row:
    """Return a score table whose values are the means of those of the single runs.

    Of most figures they are those of all answers together anyway; the intervals are of those.
    """
    values_of_runs = [_values_of(table) for table in singles]
    rows: list[Row] = []
    for row in pooled["rows"]:
        cells: list[Row | None] = []
        for column, cell in zip(pooled["columns"], row["cells"], strict=True):
            values = [values.get((row["name"], column)) for values in values_of_runs]
            present = [value for value in values if value is not None]
            if cell is not None and len(present) == len(values):
                cell = {**cell, "value": mean(present)}
            cells.append(cell)
        rows.append({**row, "cells": cells})
    return {**pooled, "rows": rows}


def _values_of(table: Mapping[str, Any]) -> dict[tuple[str, str], float | None]:
    return {
        (row["name"], column): cell and cell["value"]
        for row in table["rows"]
        for column, cell in zip(table["columns"], row["cells"], strict=True)
    }

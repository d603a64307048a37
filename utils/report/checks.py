"""The audits of an analysis as checks of one line each, and the samples behind each of their rows.

A row leads to its samples by the name of a check that they carry: `Parse audit: doubtful in all`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from utils.analysis.columns import in_spans
from utils.findings import Severity, capitalised, findings_of, is_check, is_warning
from utils.runs.view import COVERAGE
from utils.text import format_interval, format_number, format_percent

Section = Mapping[str, Any]
Json = dict[str, Any]

CLEAR = {  # what is said of a section that found nothing
    "coordinate_audit": "no other way to read these replies is clearly better",
    "parse_audit": "letters are read as they were meant",
    "letter_bias": "no letter is favoured",
    "constant_answer": "points differ from sample to sample",
}
CIRCULAR = "circular"  # its rows are no table of a check; the overview shows them
NO_AUDITS = ("table", COVERAGE, CIRCULAR)
LAST = "letter_bias"  # of the checks: it doubts no score
SIGNED, COUNTED = ("lead", "difference"), ("on target", "count", "samples")
HIDDEN = {"name", "group", "unit", "low", "high", "pictures"}
HEADS = {"share": "share %", "discordant pictures": "discordant images", "count": "samples"}


def tag(section: Section, name: str) -> str:
    """The name of a check that the samples of a row carry."""
    return f"{_short_title(section)}: {name}"


def _short_title(section: Section) -> str:
    return str(section.get("title", "")).partition(":")[0]


def tables_of(dataset: str, level: str, analysis: Mapping[str, Any]) -> list[Json]:
    """Return the sections that look for nothing, with their rows."""
    return [
        details(dataset, level, section)
        for section in _sections(analysis).values()
        if not is_check(section) and section.get("rows")
    ]


def notices_of(analysis: Mapping[str, Any]) -> list[str]:
    """Return what a reader of the scores should know, one line each."""
    return [
        finding.text
        for name, section in analysis.items()
        if isinstance(section, Mapping)
        for finding in findings_of(name, section)
        if finding.severity is Severity.NOTE
    ]


def _sections(analysis: Mapping[str, Any]) -> dict[str, Section]:
    return {
        name: section
        for name, section in analysis.items()
        if name not in NO_AUDITS and isinstance(section, Mapping)
    }


def tags_by_sample(analysis: Mapping[str, Any]) -> dict[int, list[str]]:
    """For each sample, by its number in file order, the checks that name it."""
    found: dict[int, list[str]] = defaultdict(list)
    named = {
        tag(section, name): spans
        for section in analysis.values()
        if isinstance(section, Mapping)
        for name, spans in (section.get("at") or {}).items()
    }
    named |= {
        f"{group}: {name}": cell["at"]
        for group, cells in (analysis.get("groups") or {}).items()
        for name, cell in cells.items()
        if cell and "at" in cell
    }
    for name, spans in named.items():
        for number in in_spans(spans):
            found[number].append(name)
    return found


def checks_of(dataset: str, level: str, analysis: Mapping[str, Any]) -> list[Json]:
    """Return the checks of a data set, each with what it found."""
    checks = []
    for name, section in _sections(analysis).items():
        findings = _findings(name, dataset, section)
        if is_check(section) and (findings or section.get("rows")):
            check = {
                **details(dataset, level, section),
                "clear": section.get("clear") or CLEAR.get(name, "nothing odd was found"),
                "findings": findings,
                "is_last": name == LAST,
            }
            checks.append(check)
    circular = analysis.get(CIRCULAR) or {}
    findings = _findings(CIRCULAR, dataset, circular)
    if findings:
        checks.append(
            {
                "level": level,
                "title": "Circular evaluation",
                "tables": [],
                "notes": [],
                "clear": "",
                "findings": findings,
                "is_last": False,
            }
        )
    return checks


def details(dataset: str, level: str, section: Section) -> Json:
    """What is behind a section: its tables and notes."""
    parts: dict[tuple[str, str | None], list[Section]] = defaultdict(list)
    for row in section.get("rows") or ():  # of one group and unit in one table
        parts[row.get("group") or "", row.get("unit")].append(row)
    tables = [_table(dataset, section, group, rows) for (group, _), rows in parts.items()]
    is_short = sum(len(table["rows"]) for table in tables) < sum(map(len, parts.values()))
    counted = [
        {"name": name, "count": count}
        for name, count in section.get("counts", {}).items()
        if count and name in (section.get("at") or {})
    ]
    if any(row["name"] != "audited" for row in counted):
        tables.append(_table(dataset, section, "replies", counted))
    return {
        "level": level,
        "title": _short_title(section),
        "tables": [table for table in tables if table["rows"]],
        "notes": [
            *(section.get("notes") or ()),
            *["Rows without samples are left out."] * is_short,
        ],
    }


def _findings(name: str, dataset: str, section: Section) -> list[Json]:
    """Return the warnings of a section, each with the link to the samples that it is about."""
    spans = section.get("at") or {}
    findings = []
    for finding in filter(is_warning, findings_of(name, section)):
        link = None
        if spans.get(finding.row):
            link = {"dataset": dataset, "check": tag(section, finding.row)}
        findings.append({"text": capitalised(finding.text), "link": link, "is_warning": True})
    return findings


def _table(dataset: str, section: Section, caption: str, rows: Sequence[Section]) -> Json:
    """Heads and texts of a table: no columns and no rows of zeros, and each count with its link."""
    at = section.get("at") or {}

    def link(name: str) -> Json | None:
        return {"dataset": dataset, "check": tag(section, name)} if at.get(name) else None

    keys = list(dict.fromkeys(key for row in rows for key in row))
    counted = next((key for key in COUNTED if key in keys), "")
    common = {(row.get("samples"), row.get("pictures")) for row in rows}
    first, basis, hidden = rows[0], None, HIDDEN
    if counted != "samples":
        hidden = HIDDEN | {"samples"}
        if len(common) == 1 and first.get("samples") and first.get("pictures"):
            text = "of {:,} samples on {:,} images".format(*common.pop())
            basis = {"text": text, "link": link(first.get("group", "compared"))}
    columns = [key for key in keys if key not in hidden and any(row.get(key) for row in rows)]
    of_range = "difference"
    if "value" in columns:
        of_range = "value"
        columns.sort(key=lambda key: key != counted)  # of how many, beside the share
    heads = {**HEADS, "value": first.get("unit") or ("right %" if "share" in first else "%")}
    return {
        "caption": caption,
        "basis": basis,
        "columns": [heads.get(key, key) for key in columns],
        "rows": [
            {
                "name": str(row.get("name", "")),
                "cells": [
                    {
                        "text": _text(row, key),
                        "range": format_interval(row) if key == of_range else "",
                        "link": link(
                            str(row["name"]) if key == counted else f"{row['name']} {key}"
                        ),
                    }
                    for key in columns
                ],
            }
            for row in rows
            if row.get(counted) != 0 or (row is first and "lead" in row)
        ],
    }


def _text(row: Section, key: str) -> str:
    value = row.get(key)
    if value is None or value == "":
        return "–"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if key.startswith("p "):
        return f"{value:.2g}"
    if key in SIGNED:
        return format_number(value, signed=True)
    return f"{value:,}" if isinstance(value, int) else format_percent(value)

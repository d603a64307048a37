"""Shows the audits of an analysis as checks of one line each, with the samples behind each row.

A row leads to its samples by the name of a check that they carry: `Parse audit: doubtful in all`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from utils.analysis.columns import in_spans
from utils.analysis.repeats import SECTION as REPEATS
from utils.findings import Severity, capitalised, findings_in, findings_of, is_check, is_warning
from utils.scoring.servers import SECTION as SERVERS
from utils.store.view import COVERAGE
from utils.text import counted, format_amount, format_interval, format_number, format_percent

Section = Mapping[str, Any]
Json = dict[str, Any]

CLEAR = {  # what is said of a section that found nothing
    "coordinate_audit": "no other way to read these replies is clearly better",
    "parse_audit": "the letters are read correctly",
    "letter_bias": "no letter is favoured",
    "constant_answer": "points differ from sample to sample",
    "image_tokens": "prompts have at least the tokens of their images",
    "server_audit": "no server answers clearly differently from the others",
    "constant_ending": "episodes end in different ways",
}
CIRCULAR = "circular"  # its rows are no table of a check; the overview shows them
NO_AUDITS = ("table", COVERAGE, CIRCULAR, REPEATS, SERVERS)
LOST = ("down", "excluded")  # states of servers at the end of a run
LAST = "letter_bias"  # of the checks: it doubts no score
SIGNED, COUNTED = ("lead", "difference"), ("on target", "count", "samples")
AMOUNTS = {  # means that are no percentages
    "mean steps",
    "steps",
    "actions",
    "requests",
    "prompt tokens",
    "completion tokens",
    "seconds",
    "model seconds",
    "answers/s",
    "tokens in/s",
    "tokens out/s",
}
HIDDEN = {"name", "group", "unit", "low", "high", "pictures"}
HEADS = {
    "moved": "sent elsewhere",
    "share": "share %",
    "discordant pictures": "deciding images",
    "count": "samples",
}


def tag(section: Section, name: str) -> str:
    """Return the name of a check that the samples of a row carry."""
    return f"{_short_title(section)}: {name}"


def group_tag(group: str, label: str) -> str:
    """Return the name of a check that the samples of a group carry."""
    return f"{group}: {label}"


def _short_title(section: Section) -> str:
    return str(section.get("title", "")).partition(":")[0]


def tables_of(dataset: str, level: str, analysis: Mapping[str, Any]) -> list[Json]:
    """Return the sections that look for nothing, with their rows."""
    return [
        details(dataset, level, section)
        for section in _sections(analysis).values()
        if not is_check(section) and section.get("rows")
    ]


def servers_of(
    analyses: Sequence[tuple[str, Mapping[str, Any]]],
) -> tuple[list[Json], list[str]]:
    """The tables of servers of a report, each once, and a line for each that lost some.

    Args:
        analyses: each with the level of its data set. Those that were asked in one run share one
            table.
    """
    shared: list[tuple[Section, list[str]]] = []
    for level, analysis in analyses:
        section = analysis.get(SERVERS)
        if section is None:
            continue
        alike = [levels for other, levels in shared if other["rows"] == section["rows"]]
        if alike:
            alike[0].append(level)
        else:
            shared.append((section, [level]))
    tables: list[Json] = []
    lines: list[str] = []
    for section, levels in shared:
        title = f"Servers ({', '.join(levels)})"
        tables.append({**details("", "", section), "title": title})
        if line := _lost(section["rows"]):
            lines.append(line)
    return tables, lines


def _lost(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say how many servers were lost, away or never there, and what became of their requests."""
    lost = [row for row in rows if row["state"] in LOST]
    counts = {
        "stopped serving": sum(1 for row in lost if row["joined"]),
        "never served": sum(1 for row in lost if not row["joined"]),
        "came back after an outage": sum(1 for row in rows if row.get("outages")),
    }
    parts = [f"{count} {what}" for what, count in counts.items() if count]
    if not parts:
        return ""
    text = f"Of {counted(len(rows), 'server')}, {' and '.join(parts)}"
    moved = sum(row["moved"] or 0 for row in rows)
    return f"{text}; {counted(moved, 'request')} went to another server" if moved else text


def notices_of(analysis: Mapping[str, Any]) -> list[str]:
    """Notices for a reader of the scores, one line each."""
    return [
        finding.text for _, finding in findings_in(analysis) if finding.severity is Severity.NOTE
    ]


def _sections(analysis: Mapping[str, Any]) -> dict[str, Section]:
    return {
        name: section
        for name, section in analysis.items()
        if name not in NO_AUDITS and isinstance(section, Mapping)
    }


def tags_by_sample(analysis: Mapping[str, Any]) -> dict[int, list[str]]:
    """Return the checks that name a sample, by the sample's number in file order."""
    spans_by_tag: dict[str, str] = {}
    for section in analysis.values():
        if isinstance(section, Mapping):
            for name, spans in (section.get("at") or {}).items():
                spans_by_tag[tag(section, name)] = spans
    for group, cells in (analysis.get("groups") or {}).items():
        for name, cell in cells.items():
            if cell and "at" in cell:
                spans_by_tag[group_tag(group, name)] = cell["at"]
    tags: dict[int, list[str]] = defaultdict(list)
    for name, spans in spans_by_tag.items():
        for number in in_spans(spans):
            tags[number].append(name)
    return tags


def checks_of(dataset: str, level: str, analysis: Mapping[str, Any]) -> list[Json]:
    """Return the checks of a data set, each with what it found."""
    checks = []
    for name, section in _sections(analysis).items():
        findings = _findings(name, dataset, section)
        has_content = findings or section.get("rows") or section.get("is_undecided")
        if is_check(section) and has_content:
            check = {
                **details(dataset, level, section),
                "clear": section.get("clear") or CLEAR.get(name) or _without_warning(name, section),
                "findings": findings,
                "is_undecided": bool(section.get("is_undecided")),
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


def _without_warning(name: str, section: Section) -> str:
    """The text beside the tick of an audit of the user's that has none: its notes, if any."""
    notes = [finding.summary for finding in findings_of(name, section)]
    return "; ".join(notes) or "nothing odd was found"


def details(dataset: str, level: str, section: Section) -> Json:
    """The details of a section: its tables and notes."""
    rows = section.get("rows") or ()
    groups: dict[tuple[str, str | None], list[Section]] = defaultdict(list)
    for row in rows:  # of one group and unit in one table
        groups[row.get("group") or "", row.get("unit")].append(row)
    tables = [_table(dataset, section, group, members) for (group, _), members in groups.items()]
    notes = list(section.get("notes") or ())
    if sum(len(table["rows"]) for table in tables) < len(rows):
        notes.append("Rows without samples are not shown.")
    count_rows = [
        {"name": name, "count": count}
        for name, count in section.get("counts", {}).items()
        if count and name in (section.get("at") or {})
    ]
    if any(row["name"] != "known frame" for row in count_rows):
        tables.append(_table(dataset, section, "replies", count_rows))
    return {
        "level": level,
        "title": _short_title(section),
        "tables": [table for table in tables if table["rows"]],
        "notes": notes,
        "is_folded": bool(section.get("is_folded")),
    }


def _findings(name: str, dataset: str, section: Section) -> list[Json]:
    """Return the warnings of a section, each with the link to the samples that it is about."""
    return [
        {
            "text": capitalised(finding.text),
            "summary": capitalised(finding.summary),
            "link": _link(dataset, section, finding.row),
            "is_warning": True,
        }
        for finding in findings_of(name, section)
        if is_warning(finding)
    ]


def _table(dataset: str, section: Section, caption: str, rows: Sequence[Section]) -> Json:
    """Return a table as texts: no column without values, no row without samples, counts linked."""
    first = rows[0]
    keys = dict.fromkeys(key for row in rows for key in row)
    count_key = next((key for key in COUNTED if key in keys), "")
    hidden = HIDDEN if count_key == "samples" else HIDDEN | {"samples"}
    columns = [
        key
        for key in keys
        if key not in hidden and any(row.get(key) not in (None, "") for row in rows)
    ]
    if "value" in columns:
        columns.sort(key=lambda key: key != count_key)  # of how many, beside the share
    heads = {**HEADS, "value": first.get("unit") or ("right %" if "share" in first else "%")}
    words = section.get("words_of_rows") or {}
    lines: list[Json] = []
    for row in rows:
        is_reference = row is first and "lead" in row  # what the others are compared with
        if row.get(count_key) == 0 and not is_reference:
            continue
        cells: list[Json] = []
        for key in columns:
            name = str(row["name"]) if key == count_key else f"{row['name']} {key}"
            has_range = key == ("value" if "value" in columns else "difference")
            cells.append(
                {
                    "text": _text(row, key),
                    "range": format_interval(row) if has_range else "",
                    "link": _link(dataset, section, name),
                }
            )
        name = str(row.get("name", ""))
        lines.append({"name": name, "cells": cells, "words": words.get(name)})
    return {
        "caption": caption,
        "basis": None if count_key == "samples" else _basis(dataset, section, rows),
        "columns": [heads.get(key, key) for key in columns],
        "rows": lines,
    }


def _basis(dataset: str, section: Section, rows: Sequence[Section]) -> Json | None:
    """The basis that all rows of a table share, with its link; None where they differ."""
    counts = {(row.get("samples"), row.get("pictures")) for row in rows}
    samples, images = rows[0].get("samples"), rows[0].get("pictures")
    if len(counts) > 1 or not samples or not images:
        return None
    return {
        "text": f"{samples:,} samples on {images:,} images",
        "link": _link(dataset, section, rows[0].get("group", "compared")),
    }


def _link(dataset: str, section: Section, name: str) -> Json | None:
    """Return the filter of the samples behind a row; None where the section names none."""
    if not (section.get("at") or {}).get(name):
        return None
    return {"dataset": dataset, "check": tag(section, name)}


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
    if isinstance(value, int):
        return f"{value:,}"
    return format_amount(value) if key in AMOUNTS else format_percent(value)

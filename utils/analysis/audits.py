"""Audits by dotted path: functions that look at scored samples and say what is odd about them.

An audit is a function of two arguments,

    def my_audit(columns: SampleColumns, settings: AuditSettings) -> Section | None

which returns what it has to say, or None. With `findings` (an empty list, too) reports show its
section as a check, without as a table. The modules beside this one are examples.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from utils.analysis.columns import AuditSettings, SampleColumns, Section
from utils.contracts import UserFunctionError
from utils.errors import UserError
from utils.findings import FINDINGS, Finding, as_json, note
from utils.functions.calling import call_user_function
from utils.functions.names import dotted_name
from utils.functions.signatures import FunctionRef
from utils.import_utils import check_reference, resolve
from utils.text import did_you_mean

OWN = "utils.analysis."  # begins the paths of the program's own audits
STAGE = "audit"
FAILED = "audit.failed"
KEYS = ("title", "rows", "notes", FINDINGS, "at", "clear", "is_undecided")
"""Keys of the section that an audit of the user's may return."""
SPANS = re.compile(r"(\d+(-\d+)?( \d+(-\d+)?)*)?")  # as `SampleColumns.spans` writes them


Audit = Callable[[SampleColumns, AuditSettings], Section | None]


def audits_of(
    benchmark: type, paths: Sequence[str], of_config: Mapping[str, Audit]
) -> dict[str, Audit | None]:
    """Return the audits of a benchmark and those of the config by path, each of them once.

    None stands for one of the program's own, which is loaded when it runs: it may load numpy.

    Args:
        benchmark: the class that names the `paths`.
        paths: of its audits.
        of_config: audits of the user's that the config adds.

    Raises:
        UserError: one that the class names cannot be called.
    """
    source = dotted_name(benchmark)
    if not isinstance(paths, (list, tuple)):
        raise UserError(f'{source}: audits must be a tuple or list: ("my_module.my_audit",)')
    audits: dict[str, Audit | None] = {}
    problems: list[str] = []
    for path in paths:
        audits[path] = None
        if not path.startswith(OWN):
            reference = FunctionRef(source, "audits", path, "audit")
            audits[path], problems_of_audit = check_reference(reference)
            problems += problems_of_audit
    if problems:
        raise UserError(problems)
    return {**audits, **{path: of_config[path] for path in of_config if path not in audits}}


def audit_sections(
    audits: Mapping[str, Audit | None], columns: SampleColumns, settings: AuditSettings
) -> dict[str, Any]:
    """Return the sections of audits by name: the program's own have short names.

    One of the user's that fails costs no score: its section says why it has nothing to say.
    """
    sections: dict[str, Any] = {}
    for path, audit in audits.items():
        section: Mapping[str, Any] | None
        name = path
        if path.startswith(OWN):
            name = path.rpartition(".")[2]
            section = (audit or resolve(path, role="audits"))(columns, settings)
        else:
            assert audit is not None, path
            section = _section_of_user(path, audit, columns, settings)
        if section is not None:
            sections[name] = section
    return sections


def _section_of_user(
    path: str, audit: Audit, columns: SampleColumns, settings: AuditSettings
) -> Mapping[str, Any] | None:
    try:
        section = call_user_function(STAGE, audit, columns, settings)
        return None if section is None else _checked(path, section)
    except UserFunctionError as error:
        summary = f"the audit {path} {error.summary}"
        failure = note(FAILED, summary, detail="the scores do not need it")
        return {
            "title": path,
            "rows": [],
            "notes": [],
            FINDINGS: [failure],
            "clear": f"it {error.summary}",
            "is_undecided": True,  # the report must not count it among what is clear
        }


def _checked(path: str, section: Any) -> dict[str, Any]:
    """Return a section with all that readers of one expect.

    Raises:
        UserFunctionError: it is something else.
    """
    if not isinstance(section, Mapping):
        raise _unusable(f"returned {type(section).__name__}; expected a section (a dict) or None")
    for key in section:
        if key not in KEYS:
            raise _unusable(f"returned the unknown key {key!r}{did_you_mean(str(key), KEYS)}")
    checked = {"title": path, "rows": [], "notes": [], **section}
    _check_texts(checked)
    _check_findings(checked)
    try:
        json.dumps(as_json(checked))
    except (TypeError, ValueError, RecursionError) as error:
        raise _unusable(f"returned what JSON cannot hold: {error}") from error
    return checked


def _check_texts(section: Mapping[str, Any]) -> None:
    """Raise a UserFunctionError where title, rows or notes have another form."""
    rows, notes = section["rows"], section["notes"]
    if not isinstance(section["title"], str):
        raise _unusable("returned a title that is not a text")
    if not _is_list_of(rows, Mapping) or not all(isinstance(row.get("name"), str) for row in rows):
        raise _unusable("returned rows that are not a list of dicts, each with a name")
    if not _is_list_of(notes, str):
        raise _unusable("returned notes that are not a list of texts")


def _check_findings(section: Mapping[str, Any]) -> None:
    """Raise a UserFunctionError where findings, or the samples behind rows, have another form."""
    findings, spans = section.get(FINDINGS, []), section.get("at", {})
    if not _is_list_of(findings, Finding):
        raise _unusable("returned findings that are not a list of utils.findings.Finding")
    if not _is_at(spans):
        raise _unusable("returned an `at` that is not a dict of texts made by columns.spans")
    for finding in findings:
        if finding.row and finding.row not in spans:
            raise _unusable(f"returned a finding whose row {finding.row!r} is not in `at`")
    rows = {row["name"]: row for row in section["rows"]}
    cells = {f"{name} {key}" for name, row in rows.items() for key in row}
    linked = rows.keys() | cells | {finding.row for finding in findings}
    for name in spans:
        if name not in linked:
            raise _unusable(
                f"returned samples in `at` for {name!r}, which is no row"
                f"{did_you_mean(str(name), [*rows])}"
            )


def _is_list_of(values: Any, kind: type) -> bool:
    return isinstance(values, list) and all(isinstance(value, kind) for value in values)


def _is_at(spans: Any) -> bool:
    return isinstance(spans, Mapping) and all(
        isinstance(span, str) and SPANS.fullmatch(span) for span in spans.values()
    )


def _unusable(problem: str) -> UserFunctionError:
    return UserFunctionError(STAGE, problem, problem)

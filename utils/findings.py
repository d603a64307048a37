"""Findings of audits, checks and early warnings: fields for programs, sentences for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any


class Severity(StrEnum):
    """The weight of a finding."""

    PROBLEM = "problem"  # something does not work
    WARNING = "warning"  # a score or an answer may not mean what it seems to
    NOTE = "note"  # what a score leaves out or rests on


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of an audit, a check or an early warning.

    Programs decide by `code`, `severity`, `setting` and `row`; the texts are only for people. They
    have no full stop at their end.
    """

    code: str  # what kind of finding it is; never changes with its wording
    severity: Severity
    summary: str  # one clause, which can stand alone
    detail: str = ""  # goes on behind a semicolon
    fix: str = ""  # what to do: sentences of their own
    topic: str = ""  # stands before the summary where no heading says it: "parse audit"
    setting: str = ""  # key path of the config that the fix changes
    row: str = ""  # of the samples that it is about: their name in the section's `at`

    @property
    def text(self) -> str:
        """Everything but the topic."""
        text = self.summary
        if self.detail:
            text += f"; {self.detail}"
        if self.fix:
            text += f". {capitalised(self.fix)}"
        return text

    @property
    def headline(self) -> str:
        """The topic and the summary."""
        return f"{self.topic}: {self.summary}" if self.topic else self.summary

    def __str__(self) -> str:
        return f"{self.topic}: {self.text}" if self.topic else self.text


def warning(code: str, summary: str, **texts: str) -> Finding:
    """Return a finding that makes a score or an answer doubtful.

    Args:
        code: what kind of finding it is, for programs.
        summary: one clause, without a full stop.
        texts: the other fields of a `Finding`: `detail`, `fix`, `topic`, `setting`, `row`.
    """
    return Finding(code, Severity.WARNING, summary, **texts)


def note(code: str, summary: str, **texts: str) -> Finding:
    """Return a finding about the basis of a score, such as samples that it leaves out.

    Args:
        code: what kind of finding it is, for programs.
        summary: one clause, without a full stop.
        texts: the other fields of a `Finding`: `detail`, `fix`, `topic`, `setting`, `row`.
    """
    return Finding(code, Severity.NOTE, summary, **texts)


def capitalised(text: str) -> str:
    """Return a text as it begins a sentence; a name such as `my-model` stays as it is."""
    word = text.partition(" ")[0].rstrip(",:;")
    return text[:1].upper() + text[1:] if word.isalpha() else text


# -- in the analysis of a run ---------------------------------------------------------------------

FINDINGS = "findings"  # of a section
BESIDE_THE_SCORE = ("letter_bias", "judge", "circular")  # sections that doubt no official figure
OLD_WARNINGS = "warnings"  # plain texts, in analyses of before
_OLD_NOTES = ("coverage", "circular")  # sections of before whose warnings said what is missing


def as_json(section: Mapping[str, Any]) -> dict[str, Any]:
    """Return a section as it is on disk: findings as objects, without empty fields."""
    plain = dict(section)
    if FINDINGS in section:
        plain[FINDINGS] = [
            {name: str(value) for name, value in asdict(finding).items() if value}
            for finding in section[FINDINGS]
        ]
    return plain


def is_check(section: Mapping[str, Any]) -> bool:
    """Whether a section of an analysis is a check, with findings or without."""
    return FINDINGS in section or OLD_WARNINGS in section


def findings_in(analysis: Mapping[str, Any]) -> Iterator[tuple[str, Finding]]:
    """Yield the findings of an analysis as it is on disk, each with the name of its section."""
    for name, section in analysis.items():
        if isinstance(section, Mapping):
            for finding in findings_of(name, section):
                yield name, finding


def findings_of(name: str, section: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the findings of one section of an analysis as it is on disk."""
    known_fields = {field.name for field in fields(Finding)}
    for values in section.get(FINDINGS) or ():
        texts = {field: value for field, value in values.items() if field in known_fields}
        yield Finding(**{**texts, "severity": Severity(values["severity"])})
    topic = name.replace("_", " ")
    severity = Severity.NOTE if name in _OLD_NOTES else Severity.WARNING
    for text in map(str, section.get(OLD_WARNINGS) or ()):
        summary = text.removeprefix(f"{topic}: ")
        yield Finding(name, severity, summary, topic=topic if summary != text else "")


def warnings_in(analysis: Mapping[str, Any]) -> list[Finding]:
    """The findings that make the scores of an analysis doubtful: all that count as warnings."""
    return [finding for _, finding in findings_in(analysis) if is_warning(finding)]


def doubt_about(analysis: Mapping[str, Any]) -> str:
    """The first finding against the score of an analysis; "" where there is none."""
    for name, finding in findings_in(analysis):
        if is_warning(finding) and name not in BESIDE_THE_SCORE:
            return finding.headline
    return ""


def is_warning(finding: Finding) -> bool:
    """Whether a finding counts as a warning."""
    return finding.severity is Severity.WARNING

"""Findings: what they say, and how the analysis of a run holds them."""

import json

import pytest

from utils.findings import Severity, as_json, findings_in, findings_of, note, warning, warnings_in

FULL = warning(
    "parse_audit.doubtful",
    "10 letters are doubtful",
    detail="a strict parser scores 5 %",
    fix="ask for the letter alone",
    topic="parse audit",
    setting="data.X.parse_function",
    row="doubtful in all",
)


@pytest.mark.parametrize(
    ("finding", "text", "headline"),
    [
        (
            FULL,
            "parse audit: 10 letters are doubtful; a strict parser scores 5 %. "
            "Ask for the letter alone",
            "parse audit: 10 letters are doubtful",
        ),
        (note("x", "1 sample left out"), "1 sample left out", "1 sample left out"),
        (warning("x", "a", fix="b"), "a. B", "a"),
    ],
)
def test_a_finding_reads_as_one_text(finding, text, headline):
    assert (str(finding), finding.headline) == (text, headline)


def test_an_analysis_gives_its_findings_back_as_they_were():
    notice = note("coverage.limit", "the log covers 3 samples only")
    analysis = {
        "head": {"kind": "head"},
        "parse_audit": as_json({"title": "T", "findings": [FULL]}),
        "coverage": as_json({"findings": [notice]}),
        "table": as_json({"title": "T", "rows": []}),
    }
    stored = json.loads(json.dumps(analysis))
    assert list(findings_in(stored)) == [("parse_audit", FULL), ("coverage", notice)]
    assert warnings_in(stored) == [FULL]


def test_fields_of_a_later_version_are_passed_over():
    stored = {"code": "x", "severity": "warning", "summary": "a", "colour": "red"}
    assert list(findings_of("x", {"findings": [stored]})) == [warning("x", "a")]


def test_texts_in_an_analysis_of_before_are_findings_too():
    analysis = {
        "parse_audit": {"warnings": ["parse audit: 10 of 16 letters are doubtful"]},
        "replies": {"warnings": ["6 of 6 replies are unparsed"]},
        "coverage": {"warnings": ["1 sample left out"]},
        "circular": {"warnings": ["rotations refused: 2"]},
        "letter_bias": {"warnings": []},
    }
    findings = [finding for _, finding in findings_in(analysis)]
    assert [str(finding) for finding in findings] == [
        text for section in analysis.values() for text in section["warnings"]
    ]
    assert [finding.severity for finding in findings] == [Severity.WARNING] * 2 + [
        Severity.NOTE
    ] * 2
    assert warnings_in(analysis) == findings[:2]

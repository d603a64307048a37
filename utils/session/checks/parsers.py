"""The user's parse functions, tried on replies that nobody has given."""

from __future__ import annotations

from utils.contracts import ActingBenchmark, DataSet, ParseFunction, Sizes, UserFunctionError
from utils.findings import Finding, Severity
from utils.geometry.images import read_header
from utils.session.plan import Plan

MADE_UP = ("A", "(0.4, 0.3)", "I cannot see that.")  # replies


def parser_findings(plan: Plan) -> list[Finding]:
    """The findings on the user's parse functions, each tried once per data set."""
    parsers = {
        (evaluation.dataset, evaluation.dotted["parse"]): evaluation.parse
        for evaluations in plan.evaluations.values()
        for evaluation in evaluations
        if "parse" in evaluation.dotted and not isinstance(evaluation.benchmark, ActingBenchmark)
    }
    findings = []
    for (dataset, _), parse in parsers.items():
        findings += try_parsing(plan.data[dataset], parse)
    return findings


def try_parsing(data: DataSet, parse: ParseFunction) -> list[Finding]:
    """Call a parse function of the user's with replies that nobody has given.

    One that raises may be meant for another form of reply: a warning. A name that does not exist,
    and something returned that is never an answer, are mistakes.
    """
    sample = data.samples[0]
    assert sample.image is not None
    sizes = Sizes(*[read_header(sample.image).wh] * 3)
    meta = {"sent_size": sizes.sent_wh, "seen_size": sizes.seen_wh}
    failures: list[tuple[str, UserFunctionError]] = []
    for reply in MADE_UP:
        _, error = data.benchmark.read(sample.line, sizes, reply, parse, meta)
        if error is not None:
            failures.append((f"{error} for the made-up reply {reply!r}", error))
    if not failures:
        return []

    def finding(severity: Severity, summary: str, detail: str = "") -> list[Finding]:
        return [Finding("check.parse", severity, summary, detail=detail, topic=data.benchmark.name)]

    for text, error in failures:
        if isinstance(error.__cause__, NameError | ImportError):
            return finding(Severity.PROBLEM, text)
    first_text = failures[0][0]
    raised_nothing = all(error.__cause__ is None for _, error in failures)
    if len(failures) == len(MADE_UP) and raised_nothing:
        return finding(Severity.PROBLEM, first_text)
    return finding(Severity.WARNING, first_text, "where there is no answer it should return None")

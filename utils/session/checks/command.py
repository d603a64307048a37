"""The output of `--check`, and its exit code."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from utils.errors import DONE, NOTHING_RUN, SOME_FAILED, problem_report
from utils.findings import Finding, Severity, is_warning
from utils.judging.check import check_judge
from utils.scoring import console
from utils.session.checks.entries import entry_lines
from utils.session.checks.images import check_images
from utils.session.checks.parsers import parser_findings
from utils.session.checks.ping import ping
from utils.session.checks.requests import Origin, SampleProblem, check_requests, problem_lines
from utils.session.evaluation import Evaluation
from utils.session.jobs import folder_of, make_job, new_runs_of
from utils.session.plan import Plan
from utils.session.score import judge_requests
from utils.text import counted


def check(plan: Plan) -> int:
    """Report what a run would do and everything that would go wrong (`--check`)."""
    for data in plan.data.values():
        print(f"{data.benchmark.name}: {counted(len(data.samples), 'sample')}, mode {data.mode}")
    images = check_images([sample for data in plan.data.values() for sample in data.samples])
    print(images.summary)
    problems = images.problems
    warnings, own_problems = _sorted_findings(parser_findings(plan))
    warnings += plan.warnings
    problems += own_problems
    is_pinged = False
    replies = misses = 0
    for name, evaluations in plan.evaluations.items():
        result = _check_model(evaluations)
        is_pinged = is_pinged or result.replies > 0
        replies += result.replies
        misses += result.misses
        warnings += result.warnings
        problems += [f'model "{name}": {problem}' for problem in result.problems]
    for dataset, judge in plan.judges.items():
        requests = _judge_requests(plan, dataset)
        problems += check_judge(dataset, judge, requests, is_pinged=plan.options.ping)
        is_pinged = is_pinged or plan.options.ping
    console.show_left_out(plan.bad_samples, None)
    if problems:
        print(problem_report(problems, ran=is_pinged, warnings=warnings), file=sys.stderr)
        return NOTHING_RUN
    count = f", {counted(warnings, 'warning')}" if warnings else ""
    sent = _misses_text(misses, replies) if is_pinged else " No request was sent."
    bad_count = sum(len(data.bad) for data in plan.data.values())
    if bad_count:  # as a run ends that leaves them out
        left_out = f"{counted(bad_count, 'sample')} left out, no other problems"
        print(f"\n{left_out}{count}.{sent} With --strict, such a run would not start.")
        return SOME_FAILED
    print(f"\nNo problems{count}.{sent}")
    return DONE


@dataclass
class ModelCheck:
    """The result of checking one model."""

    warnings: int = 0
    problems: list[str] = field(default_factory=list)
    replies: int = 0  # how often the model was queried
    misses: int = 0  # and how many of the replies are wrong


def _check_model(evaluations: Sequence[Evaluation]) -> ModelCheck:
    """Print what a run would ask of one model; close it."""
    first = evaluations[0]
    model = first.model
    check_of_model = ModelCheck()
    print(f'\nmodel "{model.name}"')
    for line in entry_lines(first):
        print(line)
    for line in model.notes_before():
        print(line)
    new_runs = new_runs_of(evaluations)
    folder, _ = folder_of(evaluations, new_runs)
    sample_problems: dict[str, dict[Origin, SampleProblem]] = {}
    shown_before: dict[str, str] = {}
    with contextlib.closing(model), TemporaryDirectory() as screenshots:
        for evaluation in evaluations:
            dataset = evaluation.dataset
            job = make_job(evaluation, folder, new_runs[dataset], Path(screenshots))
            result, sample_problems[dataset] = check_requests(evaluation, job, shown_before)
            results = [result]
            if first.options.ping and not sample_problems[dataset]:
                check_of_model.replies += 1
                results.append(ping(evaluation, job))
            for result in results:
                for line in result.lines:
                    print(line)
                warnings, problems = _sorted_findings(result.findings)
                check_of_model.warnings += warnings
                check_of_model.misses += result.is_miss
                check_of_model.problems += problems
    check_of_model.problems += problem_lines(sample_problems)
    return check_of_model


def _judge_requests(plan: Plan, dataset: str) -> dict[str, int]:
    """By model, the requests that a judge would get for the replies that are stored now."""
    requests: dict[str, int] = {}
    for name, evaluations in plan.evaluations.items():
        folder, _ = folder_of(evaluations, new_runs_of(evaluations))
        for evaluation in evaluations:
            if evaluation.dataset == dataset and folder.log(dataset).is_file():
                requests[name] = judge_requests(evaluation, folder)
    return requests


def _misses_text(misses: int, replies: int) -> str:
    if not misses:
        return ""
    count = "The one reply" if replies == 1 else f"{misses} of {replies} replies"
    if misses == 1:
        return f" {count} is a miss. One miss is normal."
    return f" {count} are misses. Single misses are normal."


def _sorted_findings(findings: Iterable[Finding]) -> tuple[int, list[str]]:
    """Print the warnings; return how many there are, and the problems."""
    problems = []
    warnings = 0
    for finding in findings:
        if finding.severity is Severity.PROBLEM:
            problems.append(str(finding))
        else:
            print(f"{finding.severity}: {finding}")
            warnings += is_warning(finding)
    return warnings, problems

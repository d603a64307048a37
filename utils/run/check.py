"""`--check`: everything short of a model call; `--ping` makes one."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from utils.config.options import Options
from utils.config.recipes import values_in
from utils.config.text import key_path
from utils.contracts import (
    CallError,
    DataSet,
    Generation,
    Line,
    Message,
    ModelWrapper,
    ParseFunction,
    Prepared,
    Prompt,
    ReadReply,
    Record,
    Sample,
    Sizes,
    Status,
    UserFunctionError,
    Verdict,
    WorldError,
)
from utils.coordinates import PIXEL_LIMITS, format_size
from utils.engine.asking import ADVICE, NOT_THERE, presentable
from utils.engine.early_warnings import NO_IMAGE
from utils.engine.jobs import Questions
from utils.engine.retry_policy import is_away
from utils.errors import DONE, NOTHING_RUN, SOME_FAILED, UserError, problem_report
from utils.findings import Finding, Severity, is_warning, warning
from utils.images import read_header
from utils.judging.check import check_judge
from utils.resizing import steps_of
from utils.run.image_check import RequestSizes, check_images
from utils.run.later_stages import open_samples, requests_text
from utils.run.plan import Plan
from utils.run.requests import folder_of, questions_of, run_specs
from utils.runs.log import StoredAnswer
from utils.runs.records import SIZES, answer_fields, new_record
from utils.scoring import console
from utils.scoring.samples import facts_of
from utils.scoring.scorer import ScoredSample, Scorer
from utils.text import counted

LONGEST_SHOWN_TEXT = 2000  # characters
LONGEST_REPEATED_TEXT = 200  # characters; longer ones are shown for the first data set alone
MADE_UP = ("A", "(0.4, 0.3)", "I cannot see that.")  # replies, to try parse functions
Origin = tuple[tuple[type[BaseException], str, int], ...]
"""Where in the code an error was raised, and each of its causes: class, file, line."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a check has to print, and what it found."""

    lines: list[str]
    findings: list[Finding] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SampleProblem:
    """One mistake that makes samples fail."""

    message: str  # of the first of them
    samples: list[Sample]


def check_questions(
    model: ModelWrapper,
    questions: Questions,
    options: Options,
    shown_before: dict[str, str],
    request_hashes: Mapping[str, str],
) -> tuple[CheckResult, dict[Origin, SampleProblem]]:
    """Build the first request of every sample without sending any.

    `shown_before` is `shown_prompt`'s, for all data sets of a model; `request_hashes` say what the
    run depends on.

    Returns what to print, and what makes samples fail.
    """
    first: Prompt | None = None
    without_image: list[Sample] = []
    reasons: Counter[str] = Counter()
    stored: Counter[Status] = Counter()
    first_answers: list[tuple[str, StoredAnswer | str]] = []
    problems: dict[Origin, SampleProblem] = {}
    sizes = RequestSizes(model, questions)
    line: Line | None = None  # that the request was made of; repeats of a sample share it
    for sample in questions.samples:
        of_episode = None if questions.fingerprint is None else questions.fingerprint(sample)
        try:
            # Of whole episodes one is begun.
            if sample is questions.samples[0] or (of_episode is None and sample.line is not line):
                prompt, prepared = _first_request(model, questions, sample)
                line = sample.line
                first = first or prompt
                if not any(message["type"] == "image" for message in prompt.messages):
                    without_image.append(sample)
                sizes.image_changes.update(prepared.image_changes)
            looked_up = (
                (prepared.fingerprint, prepared.parts)
                if of_episode is None
                else (of_episode, {"settings": of_episode})
            )
            answer = questions.answers.look_up(sample.key, *looked_up, options)
            first_answers.append((sample.key, answer))
            if isinstance(answer, StoredAnswer):
                stored[answer.status] += 1
            else:
                if of_episode is None:  # of an episode the first one alone is known
                    sizes.add(prepared)
                reasons[answer] += 1
        except (UserFunctionError, UserError, WorldError) as error:
            problem = problems.setdefault(_origin(error), SampleProblem(str(error), []))
            problem.samples.append(sample)
    report = []
    if first is not None:
        report = [
            f"{questions.dataset}: the first prompt, images by file name:",
            *shown_prompt(first.messages, questions.dataset, shown_before),
        ]
    more = open_samples(questions, first_answers, request_hashes, options)
    requests = requests_text(questions, reasons, str(sizes), more)
    report.append(f"{questions.dataset}: {requests}, {_available(stored, problems)}")
    report += [f"{questions.dataset}: {note}" for note in console.image_notes(sizes.image_changes)]
    findings = []
    if without_image:
        findings.append(
            warning(
                "check.no_image",
                f"{_samples_text(without_image)}: {NO_IMAGE}",
                topic=questions.dataset,
            )
        )
    return CheckResult(report, findings), problems


def _available(stored: Mapping[Status, int], problems: Mapping[Origin, SampleProblem]) -> str:
    """Return how many samples are not asked, and why."""
    text = f"{stored[Status.OK]} answers stored already"
    more = {
        "failed before": stored[Status.FAILED],
        "with a problem": sum(len(problem.samples) for problem in problems.values()),
        "refused before (--retry-refused)": stored[Status.REFUSED],
    }
    return text + "".join(f", {count} {what}" for what, count in more.items() if count)


def _origin(error: BaseException | None) -> Origin:
    """Return what is equal for the errors that one mistake causes in several samples."""
    origin = []
    while error is not None:
        frame = error.__traceback__
        while frame is not None and frame.tb_next is not None:
            frame = frame.tb_next
        if frame is None:
            origin.append((type(error), "", 0))
        else:
            origin.append((type(error), frame.tb_frame.f_code.co_filename, frame.tb_lineno))
        error = error.__cause__
    return tuple(origin)


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
        error = data.benchmark.judge(sample.line, sizes, reply, parse, meta).error
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


def problem_lines(problems: Mapping[str, Mapping[Origin, SampleProblem]]) -> list[str]:
    """Return the problems of samples as few lines: what was raised at one place is one mistake.

    Args:
        problems: by data set.
    """
    datasets: dict[Origin, list[str]] = {}
    merged: dict[Origin, SampleProblem] = {}
    for dataset, by_origin in problems.items():
        for origin, problem in by_origin.items():
            datasets.setdefault(origin, []).append(dataset)
            joint = merged.setdefault(origin, SampleProblem(problem.message, []))
            joint.samples.extend(problem.samples)
    return [
        f"{', '.join(datasets[origin])}: {_samples_text(problem.samples)}: {problem.message}"
        for origin, problem in merged.items()
    ]


def _samples_text(samples: Sequence[Sample]) -> str:
    line = samples[0].line
    one = f"index {line.get('index')} on {line.get('image_path') or line.get('task_id')}"
    return f"{len(samples)} samples, the first {one}" if len(samples) > 1 else one


def ping(
    model: ModelWrapper, questions: Questions, scorer: Scorer, clean: Callable[[str], str]
) -> CheckResult:
    """Query the first sample, once; return what went out, what came back, and how it is read."""
    topic = f"{questions.dataset}: ping"
    failed = partial(_failed_ping, topic)
    sample = questions.samples[0]
    began_s = time.monotonic()
    try:
        prompt, prepared = _first_request(model, questions, sample)
        generation = model.generate(prepared)
    except CallError as error:
        return _no_answer(error, clean, failed)
    except (UserFunctionError, UserError) as error:
        return CheckResult([], [failed("request", str(error))])
    reply_line = f"  reply: {_shortened(repr(generation.response))}"
    if generation.postprocess_error:
        return CheckResult([reply_line], [failed("postprocess", str(generation.postprocess_error))])
    record = new_record(sample, sample.key, prompt, prepared, Status.OK)
    record |= answer_fields(generation, prompt, record["sizes"])
    lines = [
        (
            f"{questions.dataset}: queried {model.name} once ({time.monotonic() - began_s:.2f} s, "
            f"finish reason {generation.finish_reason})"
        ),
        *_answer_lines(record, generation),
        reply_line,
    ]
    findings = []
    is_spent = generation.finish_reason == "length" and not generation.response
    if is_spent:
        findings.append(
            warning(
                "ping.empty",
                "the model used all its tokens before it answered",
                detail=f"raise {scorer.token_limit}",
                topic=topic,
                setting=scorer.token_limit,
            )
        )
    findings += _shrunk_findings(record, generation.usage, scorer.kwargs, topic)
    if questions.read_reply is not None:  # an episode is judged by what became of its world
        read = questions.read_reply(sample, prompt, generation)
        if read.actions:
            lines.append(f"  read as: {'; '.join(read.actions)}")
        elif not is_spent:
            findings.append(failed("no_action", _unread(read, scorer)))
        return CheckResult(lines, findings)
    scored = scorer.judge(record)  # as the run will judge it
    lines.append(_judgement_line(sample, scored))
    summary = "; ".join(_reading_hints(record, scored, scorer, is_spent=is_spent))
    if summary:
        findings.append(warning("ping.read", summary, topic=topic, setting=scorer.parser_setting))
    findings += [failed("function", kind) for kind in scorer.errors]
    return CheckResult(lines, findings)


def _shrunk_findings(
    record: Record, usage: Mapping[str, Any], kwargs: Mapping[str, Any], topic: str
) -> list[Finding]:
    """Warn where a server counts fewer tokens than the image has that was made for its grid."""
    steps = steps_of(kwargs)
    sent_wh = record["sizes"].get("sent")
    tokens = usage.get("prompt_tokens")
    factor = steps[-1].factor if steps else None
    if factor is None or sent_wh is None or not isinstance(tokens, int):
        return []
    expected = sent_wh[0] // factor * (sent_wh[1] // factor)
    if tokens >= expected:
        return []
    summary = (
        f"the server counts {tokens} prompt tokens, the image of {format_size(sent_wh)} alone has "
        f"{expected} of {factor}x{factor} pixels: the server shrinks it, so that details are lost "
        "and replies in pixels are off"
    )
    return [
        warning(
            "ping.shrunk",
            summary,
            fix="raise the server's limits (vLLM: --mm-processor-kwargs), or lower "
            "kwargs.max_pixels",
            topic=topic,
        )
    ]


def _failed_ping(topic: str, code: str, summary: str, fix: str = "") -> Finding:
    return Finding(f"ping.{code}", Severity.PROBLEM, summary, fix=fix, topic=topic)


def _no_answer(
    error: CallError, clean: Callable[[str], str], failed: Callable[..., Finding]
) -> CheckResult:
    """Return why there was no answer, and what came back in its place."""
    lines = [f"  what came back: {_shortened(clean(error.reply))}"] if error.reply else []
    text = str(presentable(error, clean))
    if is_away(error):
        return CheckResult(lines, [failed("away", text.rstrip("."), error.advice or NOT_THERE)])
    if error.status_code == 404:
        return CheckResult(lines, [failed("not_found", text.rstrip("."), ADVICE[404])])
    return CheckResult(lines, [failed("call", text.rstrip("."), error.advice)])


def _answer_lines(record: Record, generation: Generation) -> list[str]:
    """Return what was sent and what the answer took."""
    sizes = [format_size(record["sizes"][stage]) for stage in SIZES]
    lines = [
        "  image: file {}, sent {}, seen by the model {}".format(*sizes),
        f"  tokens: {_tokens_text(generation.usage)}",
    ]
    if generation.reasoning:
        lines.append(f"  reasoning: {_shortened(repr(generation.reasoning))}")
    return lines


def _judgement_line(sample: Sample, scored: ScoredSample) -> str:
    """Return how a reply was read, and what was expected."""
    columns = scored.judgement.columns
    parsed = columns.get("parsed_prediction", columns.get("pred_bbox"))
    if "predicted_point" in columns:  # a grounding table beside L2
        parsed = columns["predicted_point"]
    if scored.judgement.facts.get("declined"):
        parsed = "not there"
    if isinstance(parsed, list):
        parsed = [round(number, 4) for number in parsed]
    expected = sample.line.get("answer", columns.get("parsed_bbox(format:x1,y1,x2,y2)"))
    if expected is None:
        expected = (
            "there is no such element" if columns.get("target") == "{}" else columns["target"]
        )
    verdict = scored.judgement.verdict or "postprocessing failed"
    return f"  read as: {parsed}, wanted: {expected}, verdict: {verdict}"


def _reading_hints(
    record: Record, scored: ScoredSample, scorer: Scorer, *, is_spent: bool
) -> list[str]:
    """Return what is odd about how a reply was read."""
    hints = []
    verdict = scored.judgement.verdict
    if verdict == Verdict.UNPARSED and not scorer.errors and not is_spent:
        hints.append(
            f"the reply could not be read by {scorer.functions.get('parse', 'the default parser')}"
        )
    if verdict in (Verdict.MISS, Verdict.UNPARSED) and "box_frac" in scored.judgement.facts:
        hints += _frame_hints(record, scored, scorer)
    return hints


def _unread(read: ReadReply, scorer: Scorer) -> str:
    """Say that no action could be read in a reply, why, and what to do."""
    by = scorer.functions.get("parse", "the default parser")
    why = f": {read.problem}" if read.problem else ""
    if read.better_parser:
        scorer.better_parsers[read.better_parser] += 1
    return f"no action could be read by {by}{why}; {scorer.parser_advice()}"


def _frame_hints(record: Record, scored: ScoredSample, scorer: Scorer) -> list[str]:
    """Return what is odd about a click that missed: outside the image, or in another frame."""
    from utils.analysis.coordinate_audit import interpretations_on_target  # numpy, for few

    hints = []
    point_frac = scored.judgement.facts["point_frac"]
    if point_frac and not all(0 <= coordinate <= 1 for coordinate in point_frac):
        hints.append("the point lies outside the image (both are in fractions of it)")
    interpretations = interpretations_on_target(facts_of(record, scored))
    if interpretations:
        names = " or ".join(interpretation.name for interpretation in interpretations[:3])
        function = interpretations[0].parse_function
        hint = f'read as {names}, this reply would hit: set {scorer.parser_setting}: "{function}"'
        if "parse" in scorer.functions:
            hint += f" in place of {scorer.functions['parse']}"
        hints.append(hint)
    return hints


def _tokens_text(usage: Mapping[str, Any]) -> str:
    """Return token counts as a server names them; details within details are left out."""
    counts = {name.removesuffix("_tokens"): n for name, n in usage.items() if isinstance(n, int)}
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "unknown"


def shown_prompt(
    messages: Sequence[Message], dataset: str, shown_before: dict[str, str]
) -> list[str]:
    """A prompt for people; images by their file name only.

    Args:
        messages: of the prompt.
        dataset: that it asks about.
        shown_before: the data set for which a text was shown first, by text; grows. A long text
            is shown once.
    """
    lines = []
    for message in messages:
        value, kind = message["value"], message["type"]
        if kind == "image":
            text = Path(value).name
        else:
            text = _shortened(value if isinstance(value, str) else json.dumps(value))
            first_dataset = shown_before.setdefault(text, dataset)
            if len(text) > LONGEST_REPEATED_TEXT and first_dataset != dataset:
                text = f"as for {first_dataset}"
        lines.append(f"  [{message['role']}, {kind}] " + text.replace("\n", "\n      "))
    return lines


def _first_request(
    model: ModelWrapper, questions: Questions, sample: Sample
) -> tuple[Prompt, Prepared]:
    with contextlib.ExitStack() as stack:
        world = None
        if questions.worlds is not None:
            stack.callback(questions.worlds.close)
            world = questions.worlds.borrow()
        prompt = next(
            stack.enter_context(contextlib.closing(questions.episode(sample, world=world)))
        )
    is_custom = prompt.is_custom
    return prompt, model.request(prompt.messages, questions.dataset, is_custom_prompt=is_custom)


def _shortened(text: str) -> str:
    rest = f"… ({len(text)} characters)" if len(text) > LONGEST_SHOWN_TEXT else ""
    return text[:LONGEST_SHOWN_TEXT] + rest


def check(plan: Plan) -> int:
    """Report what a run would do and everything that would go wrong (`--check`)."""
    for data in plan.data.values():
        print(f"{data.benchmark.name}: {len(data.samples)} samples, mode {data.mode}")
    images = check_images([sample for data in plan.data.values() for sample in data.samples])
    print(images.summary)
    problems = images.problems
    warnings, parser_problems = _sorted_findings(_parser_findings(plan))
    warnings += plan.warnings
    problems += parser_problems
    is_pinged = False
    for name in plan.models:
        result = _check_model(plan, name)
        is_pinged = is_pinged or result.is_pinged
        warnings += result.warnings
        problems += [f'model "{name}": {problem}' for problem in result.problems]
    for dataset, judge in plan.judges.items():
        problems += check_judge(dataset, judge, is_pinged=plan.options.ping)
        is_pinged = is_pinged or plan.options.ping
    console.show_left_out(plan.bad_samples, None)
    if problems:
        print(problem_report(problems, ran=is_pinged, warnings=warnings), file=sys.stderr)
        return NOTHING_RUN
    count = f", {counted(warnings, 'warning')}" if warnings else ""
    sent = "" if is_pinged else " No request was sent."
    bad_count = sum(len(data.bad) for data in plan.data.values())
    if bad_count:  # as a run ends that leaves them out
        left_out = f"{counted(bad_count, 'sample')} left out, no other problems"
        print(f"\n{left_out}{count}.{sent} --strict stops a run before it starts.")
        return SOME_FAILED
    print(f"\nNo problems{count}.{sent}")
    return DONE


def _parser_findings(plan: Plan) -> list[Finding]:
    """Try each parse function of the user's once, however many models share it."""
    parsers = {
        (dataset, *plan.config.parser_of(name, dataset)): plan.parse(name, dataset)
        for name in plan.models
        for dataset in plan.data
    }
    findings = []
    for (dataset, dotted, _), parse in parsers.items():
        data = plan.data[dataset]
        if dotted and not data.benchmark.acts:
            findings += try_parsing(data, parse)
    return findings


@dataclass
class ModelCheck:
    """What the check of one model came to."""

    warnings: int = 0
    problems: list[str] = field(default_factory=list)
    is_pinged: bool = False


def _check_model(plan: Plan, name: str) -> ModelCheck:
    """Print what a run would ask of one model; close it."""
    model = plan.models[name]
    check_of_model = ModelCheck()
    print(f'\nmodel "{name}"')
    for line in _entry_lines(plan, name):
        print(line)
    for note in model.notes_before():
        print(note)
    specs = run_specs(plan, name)
    folder, _ = folder_of(plan, name, specs)
    sample_problems: dict[str, dict[Origin, SampleProblem]] = {}
    shown_before: dict[str, str] = {}
    with contextlib.closing(model), TemporaryDirectory() as screenshots:
        for dataset in plan.data:
            questions = questions_of(plan, name, dataset, folder, Path(screenshots))
            result, sample_problems[dataset] = check_questions(
                model, questions, plan.options, shown_before, specs[dataset].request_hashes
            )
            results = [result]
            if plan.options.ping and not sample_problems[dataset]:
                scorer = plan.scorer(name, dataset, skip_errors=True)
                check_of_model.is_pinged = True
                results.append(ping(model, questions, scorer, plan.secrets.clean))
            for result in results:
                for line in result.lines:
                    print(line)
                warnings, problems = _sorted_findings(result.findings)
                check_of_model.warnings += warnings
                check_of_model.problems += problems
    check_of_model.problems += problem_lines(sample_problems)
    return check_of_model


def _entry_lines(plan: Plan, name: str) -> list[str]:
    """Return the whole entry of a model with a recipe, and where each of its values came from."""
    filled_in = plan.config.recipes.get(name)
    if filled_in is None:
        return []
    recipe = filled_in.recipe
    entry = plan.dump["model"][name]
    rows = []
    for path, value in values_in(entry):
        if path in filled_in.from_recipe:
            rows.append((key_path(*path), json.dumps(value, ensure_ascii=False), "recipe"))
        elif _has(filled_in.entry, path):
            rows.append((key_path(*path), json.dumps(value, ensure_ascii=False), "config"))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    verified = f"; agrees with its authors: {recipe.verified}" if recipe.verified else ""
    lines = [f"recipe {entry['recipe']}: {recipe.family}{verified}"]
    for key, value, source in rows:
        lines.append(f"  {key:{widths[0]}}  {value:{widths[1]}}  {source}")
    kwargs = entry["kwargs"]
    if entry["imp_type"] == "openai" and kwargs.get("max_pixels"):
        limits = json.dumps({key: kwargs[key] for key in PIXEL_LIMITS if kwargs.get(key)})
        lines.append(
            "  a server resizes images within limits of its own, which cannot be seen from here; "
            f"start vLLM with --mm-processor-kwargs '{limits}'"
        )
    return [*lines, f"  {recipe.note}"] if recipe.note else lines


def _has(entry: Mapping[str, Any], path: Sequence[str]) -> bool:
    """Return whether an entry sets the value at a key path; what is left out has a default."""
    inner: Any = entry
    for key in path:
        if not isinstance(inner, Mapping) or key not in inner:
            return False
        inner = inner[key]
    return True


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

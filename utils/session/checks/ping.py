"""`--ping`: one query of a model, what came back, and how it is read."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from utils.analysis.image_tokens import EFFECT, FIX, shrunk_text, tokens_of
from utils.contracts import (
    WH,
    CallError,
    Generation,
    Point,
    ReadReply,
    Record,
    Sample,
    Status,
    UserFunctionError,
    Verdict,
)
from utils.coordinates import PIXEL_LIMITS, Frame, format_size, frac_to_px, known_grid_wh
from utils.engine.asking import ADVICE, NOT_THERE, presentable
from utils.engine.jobs import Job
from utils.engine.retry_policy import is_away
from utils.errors import ScorerError, UserError
from utils.findings import Finding, Severity, warning
from utils.functions.names import is_own
from utils.geometry.resizing import ResizeStep
from utils.reply_numbers import numbers_of_reply
from utils.scoring.samples import facts_of
from utils.scoring.scorer import ScoredSample, Scorer, meta_of_record
from utils.session.checks.requests import CheckResult, first_request, shortened
from utils.session.evaluation import Evaluation
from utils.store.records import SIZES, answer_fields, new_record, sizes_of
from utils.text import change_text, listed

FEWEST_LIKELY_PX = 10  # a point nearer to the corner is rather one whose fractions came out wrong


def ping(evaluation: Evaluation, job: Job) -> CheckResult:
    """Query the first sample, once; return what went out, what came back, and how it is read."""
    model, clean = evaluation.model, evaluation.secrets.clean
    scorer = evaluation.scorer(skip_errors=True)
    topic = f"{job.dataset}: ping"
    failed = partial(_failed_ping, topic)
    sample = job.samples[0]
    try:
        prompt, prepared = first_request(model, job, sample)
        model.warm_up()  # the time of the reply is told, not that of loading or of looking around
        began_s = time.monotonic()
        generation = model.generate(prepared)
    except CallError as error:
        return _no_answer(error, clean, failed)
    except (UserFunctionError, UserError) as error:
        return CheckResult([], [failed("request", str(error))])
    reply_line = f"  reply: {shortened(repr(generation.response))}"
    if generation.postprocess_error:
        return CheckResult([reply_line], [failed("postprocess", str(generation.postprocess_error))])
    record = new_record(sample, sample.key, prompt, prepared, Status.OK)
    record |= answer_fields(generation, prompt, record["sizes"])
    lines = [
        (
            f"{job.dataset}: queried {model.name} once ({time.monotonic() - began_s:.2f} s, "
            f"finish reason {generation.finish_reason})"
        ),
        *_answer_lines(record, generation, scorer.kwargs),
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
    findings += _shrunk_findings(record, generation.usage, scorer.image_rule, topic)
    if job.episodes is not None:  # an episode is judged by what became of its world
        read = job.episodes.read_reply(sample, prompt, generation)
        if read.actions:
            lines.append(f"  read as: {'; '.join(read.actions)}")
        elif not is_spent:
            findings.append(failed("no_action", _unread(read, scorer)))
        return CheckResult(lines, findings)
    try:
        scored = scorer.judge(record)  # as the run will judge it
    except ScorerError as error:
        return CheckResult(lines, [*findings, failed("scorer", str(error))])
    lines += _postprocess_lines(generation, scored)
    lines += [_judgement_line(sample, scored), *_point_lines(record, scored, scorer)]
    summary = "; ".join(_reading_hints(record, scored, scorer, is_spent=is_spent))
    if summary:
        findings.append(warning("ping.read", summary, topic=topic, setting=scorer.parser_setting))
    findings += [failed("function", kind) for kind in scorer.errors]
    return CheckResult(lines, findings, is_miss=scored.judgement.verdict == Verdict.MISS)


def _shrunk_findings(
    record: Record, usage: Mapping[str, Any], rule: ResizeStep | None, topic: str
) -> list[Finding]:
    """Warn where a server counts fewer tokens than the image has by the rule of the family."""
    sent_wh = record["sizes"].get("sent")
    tokens = usage.get("prompt_tokens")
    if rule is None or sent_wh is None or not isinstance(tokens, int):
        return []
    if tokens >= tokens_of(rule, sent_wh):
        return []
    summary = f"the server shrinks the image: {shrunk_text(rule, sent_wh, tokens)}, {EFFECT}"
    fix = FIX.format(tokens * (rule.factor or 1) ** 2)
    return [warning("ping.shrunk", summary, fix=fix, topic=topic)]


def _failed_ping(topic: str, code: str, summary: str, fix: str = "") -> Finding:
    return Finding(f"ping.{code}", Severity.PROBLEM, summary, fix=fix, topic=topic)


def _no_answer(
    error: CallError, clean: Callable[[str], str], failed: Callable[..., Finding]
) -> CheckResult:
    """The reason why there was no answer, and what came back in its place."""
    lines = [f"  what came back: {shortened(clean(error.reply))}"] if error.reply else []
    text = str(presentable(error, clean))
    if is_away(error):
        return CheckResult(lines, [failed("away", text.rstrip("."), error.advice or NOT_THERE)])
    if error.status_code == 404:
        return CheckResult(lines, [failed("not_found", text.rstrip("."), ADVICE[404])])
    return CheckResult(lines, [failed("call", text.rstrip("."), error.advice)])


def _answer_lines(record: Record, generation: Generation, kwargs: Mapping[str, Any]) -> list[str]:
    """The sizes of the image that was sent, and the cost of the answer."""
    file, sent, seen = (format_size(record["sizes"][stage]) for stage in SIZES)
    if record["sizes"]["seen"] is None:  # then as the audit of the run has it
        meta = meta_of_record(record, sizes_of(record), kwargs)
        grid_wh = known_grid_wh({"image_size": record["sizes"]["file"], **meta})
        if grid_wh is not None:
            limits = " and ".join(key for key in PIXEL_LIMITS if key in kwargs)
            seen = f"{format_size(grid_wh)} (by {limits} of kwargs)"
    lines = [
        f"  image: file {file}, sent {sent}, seen by the model {seen}",
        f"  tokens: {_tokens_text(generation.usage)}",
    ]
    if generation.reasoning:
        lines.append(f"  reasoning: {shortened(repr(generation.reasoning))}")
    return lines


def _postprocess_lines(generation: Generation, scored: ScoredSample) -> list[str]:
    """The reply as the parse function gets it, if a postprocess function has changed it."""
    if scored.prediction in (None, generation.response):
        return []
    return [f"  postprocessed: {shortened(repr(scored.prediction))}"]


def _judgement_line(sample: Sample, scored: ScoredSample) -> str:
    """The reading of a reply beside what was expected."""
    columns = scored.judgement.columns
    verdict = scored.judgement.verdict or "postprocessing failed"
    if step := scored.judgement.facts.get("step"):  # a recorded one
        return f"  read as: {step['answer']}, wanted: {step['recorded']}, verdict: {verdict}"
    facts = scored.judgement.facts
    if "expected" in facts:  # a free answer
        expected_text = "" if facts["expected"] is None else f", wanted: {facts['expected']}"
        return f"  read as: {facts['answered']}{expected_text}, verdict: {verdict}"
    parsed = columns.get("parsed_prediction", columns.get("pred_bbox"))
    if "predicted_point" in columns:  # of a grounding table
        parsed = columns["predicted_point"]
    if scored.judgement.facts.get("declined"):
        parsed = "not there"
    if isinstance(parsed, list):
        parsed = [round(number, 4) for number in parsed]
    if facts.get("box_frac"):  # which follows in pixels
        return f"  read as: {parsed}, verdict: {verdict}"
    expected = sample.line.get("answer", "there is no such element")
    return f"  read as: {parsed}, wanted: {expected}, verdict: {verdict}"


def _point_lines(record: Record, scored: ScoredSample, scorer: Scorer) -> list[str]:
    """A point and its target in pixels of the file, and what its numbers were taken for."""
    facts = scored.judgement.facts
    point_frac, box_frac = facts.get("point_frac"), facts.get("box_frac")
    file_wh = sizes_of(record).file_wh
    if box_frac is None or file_wh is None:
        return []
    heading = f"  in pixels of the file ({format_size(file_wh)}):"
    target = f"wanted {_px_text(box_frac[:2], file_wh)} to {_px_text(box_frac[2:], file_wh)}"
    if point_frac is None:
        return [f"{heading} {target}"]
    frame = _frame_taken(record, scored, scorer, file_wh)
    parse = scorer.functions.get("parse")
    if not frame and parse is not None and is_own(parse):  # it has a known unit, and its own form
        return [f"{heading} point {_px_text(point_frac, file_wh)}; {target}"]
    if not frame:
        taken = _other_numbers(scored, scorer)
    elif parse is None or parse in scorer.benchmark.parse_functions:
        taken = f"the numbers were taken as {frame}"
    else:  # a frame of its own may give the same point on this image
        taken = f"on this image, {frame} gives the same point"
    return [f"{heading} point {_px_text(point_frac, file_wh)}; {target}; {taken}"]


def _other_numbers(scored: ScoredSample, scorer: Scorer) -> str:
    """What is known of numbers that were taken in no known frame."""
    numbers = numbers_of_reply(scored.prediction or "")
    if numbers is None:
        return "the unit is not known, because only the parse function finds the numbers"
    if "parse" in scorer.functions:
        return "the parse function has a unit of its own, or reads other numbers of the reply"
    if len(numbers) == 4:
        return (
            "the default parser took the first corner of a box; a ready-made one takes its centre"
        )
    return "the default parser took the first two numbers"


def _px_text(pair_frac: Point, file_wh: WH) -> str:
    return "{:.0f}, {:.0f}".format(*frac_to_px(pair_frac, file_wh))


def _frame_taken(record: Record, scored: ScoredSample, scorer: Scorer, file_wh: WH) -> str:
    """The plainest known frame in which the reply has the point that was read; "": none."""
    from utils.analysis.coordinate_audit import INTERPRETATIONS, SAME_PX  # numpy, for few

    facts, sizes = scored.judgement.facts, sizes_of(record)
    parsed_px = frac_to_px(facts["point_frac"], file_wh)
    extra = meta_of_record(record, sizes, scorer.kwargs)
    for interpretation in INTERPRETATIONS:
        parse = scorer.benchmark.parse_functions.get(interpretation.parse_function)
        is_guess = interpretation.frame is Frame.GRID_PIXELS and facts.get("grid_wh") is None
        if parse is None or is_guess:
            continue
        judged = scorer.benchmark.judge(record["line"], sizes, scored.prediction, parse, extra)
        point_frac = judged.facts["point_frac"]
        if point_frac and math.dist(parsed_px, frac_to_px(point_frac, file_wh)) <= SAME_PX:
            return interpretation.name
    return ""


def _reading_hints(
    record: Record, scored: ScoredSample, scorer: Scorer, *, is_spent: bool
) -> list[str]:
    """Oddities of how a reply was read."""
    hints = []
    verdict = scored.judgement.verdict
    if verdict == Verdict.UNPARSED and not scorer.errors and not is_spent:
        hints.append(
            f"the reply could not be read by {scorer.functions.get('parse', 'the default parser')}"
        )
    if verdict in (Verdict.MISS, Verdict.UNPARSED) and "box_frac" in scored.judgement.facts:
        hints += _frame_hints(record, scored, scorer)
    if len(hints) == 1 and verdict == Verdict.UNPARSED and scorer.better_parsers:
        readers = listed([*scorer.better_parsers], 3)
        hints.append(
            f"ready-made functions that read it: {readers}; a run with --limit 20 shows which one "
            "fits"
        )
    return hints


def _unread(read: ReadReply, scorer: Scorer) -> str:
    """Say that no action could be read in a reply, why, and what to do."""
    by = scorer.functions.get("parse", "the default parser")
    why = f": {read.problem}" if read.problem else ""
    if read.better_parser:
        scorer.better_parsers[read.better_parser] += 1
    return f"no action could be read by {by}{why}; {scorer.parser_advice()}"


def _frame_hints(record: Record, scored: ScoredSample, scorer: Scorer) -> list[str]:
    """Oddities of a click that missed: outside the image, or in another frame."""
    from utils.analysis.coordinate_audit import interpretations_on_target  # numpy, for few

    hints = []
    point_frac = scored.judgement.facts["point_frac"]
    if point_frac and not all(0 <= coordinate <= 1 for coordinate in point_frac):
        hints.append("the point lies outside the image (coordinates are fractions of the image)")
    file_wh = sizes_of(record).file_wh
    if point_frac and file_wh and "parse" in scorer.functions:
        point_px = frac_to_px(point_frac, file_wh)
        if 1 < max(point_px) < FEWEST_LIKELY_PX:
            numbers = ", ".join(f"{number:.4g}" for number in point_px)
            hints.append(
                f"{scorer.functions['parse']} returned {numbers}: a coordinate above 1 counts as "
                "pixels of the file, so these are not fractions"
            )
    interpretations = interpretations_on_target(facts_of(record, scored))
    if interpretations:
        frame = interpretations[0].name
        function = interpretations[0].parse_function
        change = change_text(scorer.parser_setting, function, scorer.as_option)
        if "parse" in scorer.functions:
            change += f" in place of {scorer.functions['parse']}"
        hints.append(
            f"this one reply would hit if it were read as {frame}. It may be chance: run with "
            f"--limit 20. If the coordinate audit names this frame, too, {change}"
        )
    return hints


def _tokens_text(usage: Mapping[str, Any]) -> str:
    """Return token counts as a server names them; details within details are left out."""
    counts = {name.removesuffix("_tokens"): n for name, n in usage.items() if isinstance(n, int)}
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "unknown"

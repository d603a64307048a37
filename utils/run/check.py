"""`--check`: everything short of a model call; `--ping` makes one."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from utils.config.options import Options
from utils.contracts import (
    CallError,
    DataSet,
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
from utils.coordinates import format_size
from utils.engine.asking import ADVICE, NOT_THERE, presentable
from utils.engine.jobs import Questions
from utils.engine.retry_policy import is_away
from utils.errors import DONE, NOTHING_RUN, UserError, problem_report
from utils.images import open_image, read_header
from utils.run.plan import Plan
from utils.run.requests import folder_of, questions_of, run_specs
from utils.runs.log import StoredAnswer
from utils.runs.records import SIZES, answer_fields, new_record
from utils.scoring import console
from utils.scoring.samples import facts_of
from utils.scoring.scorer import ScoredSample, Scorer
from utils.text import counted

LONGEST_SHOWN_TEXT = 2000
MADE_UP = ("A", "(0.4, 0.3)", "I cannot see that.")  # replies, to try parse functions
_VARYING = re.compile(r"""'[^']*'|"[^"]*"|\d+""")  # of one message about several samples


def unreadable_images(samples: Sequence[Sample]) -> list[str]:
    """Images whose pixels cannot all be decoded, with the reason."""
    from tqdm import tqdm

    def problem(image: Path) -> str | None:
        try:
            with open_image(image) as picture:
                picture.load()
        except OSError as error:
            return f"{image}: cannot be decoded: {error}"
        return None

    images = {sample.image: None for sample in samples if sample.image is not None}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        found = tqdm(
            threads.map(problem, images),
            "decoding images",
            len(images),
            leave=False,
            disable=not sys.stderr.isatty(),
        )
        return [each for each in found if each is not None]


def check_questions(
    model: ModelWrapper, asked: Questions, options: Options
) -> tuple[list[str], dict[str, list[Sample]]]:
    """Builds the first request of every sample without sending any.

    Returns what to print, and the samples of each problem.
    """
    first: Prompt | None = None
    without_image: list[Sample] = []
    reasons: Counter[str] = Counter()
    kept: Counter[Status] = Counter()
    errors: dict[str, list[Sample]] = {}
    bytes_out = 0
    for sample in asked.samples:
        whole = None if asked.fingerprint is None else asked.fingerprint(sample)
        try:
            if whole is None or sample is asked.samples[0]:  # of whole episodes one is begun
                prompt, prepared = _first_request(model, asked, sample)
                first = first or prompt
                if not any(message["type"] == "image" for message in prompt.messages):
                    without_image.append(sample)
            looked_up = (
                (prepared.fingerprint, prepared.parts)
                if whole is None
                else (whole, {"settings": whole})
            )
            found = asked.answers.look_up(sample.key, *looked_up, options)
            if isinstance(found, StoredAnswer):
                kept[found.status] += 1
            else:
                bytes_out += model.wire_size(prepared) if whole is None else 0
                reasons[found] += 1
        except (UserFunctionError, UserError, WorldError) as error:
            errors.setdefault(str(error), []).append(sample)
    report = []
    if first is not None:
        report.append(f"{asked.dataset}: the first prompt, images by file name:")
        report += shown_prompt(first.messages)
    to_ask = ", ".join(f"{count} {reason}" for reason, count in reasons.items()) or "none"
    to_ask += f", {bytes_out / 1e6:.1f} MB" if bytes_out else ""
    there = f"{kept[Status.OK]} answers stored already"
    more = {
        "failed before": kept[Status.FAILED],
        "with a problem": sum(map(len, errors.values())),
        "refused before (--retry-refused)": kept[Status.REFUSED],
    }
    there += "".join(f", {count} {what}" for what, count in more.items() if count)
    what = "requests to send" if asked.fingerprint is None else "episodes to play"
    report.append(f"{asked.dataset}: {reasons.total()} {what} ({to_ask}), {there}")
    if without_image:
        what = "the prompt has no image, so the model answers without having seen any"
        report.append(f"warning: {asked.dataset}: {_some(without_image)}: {what}")
    return report, errors


def try_parsing(data: DataSet, parse: ParseFunction) -> tuple[list[str], list[str]]:
    """Calls a parse function of the user's with replies that nobody has given; warnings, problems.

    One that raises may be meant for another form of reply; a name that does not exist, and
    something returned that is never an answer, are mistakes.
    """
    sample = data.samples[0]
    assert sample.image is not None
    sizes = Sizes(*[read_header(sample.image).wh] * 3)
    meta = {"sent_size": sizes.sent_wh, "seen_size": sizes.seen_wh}
    errors = [
        data.benchmark.judge(sample.line, sizes, reply, parse, meta).error for reply in MADE_UP
    ]
    found = [(reply, error) for reply, error in zip(MADE_UP, errors, strict=True) if error]
    said = [f"{error} for the made-up reply {reply!r}" for reply, error in found]
    for line, (_, error) in zip(said, found, strict=True):
        if isinstance(error.__cause__, NameError | ImportError):
            return [], [line]
    if len(found) == len(MADE_UP) and not any(error.__cause__ for _, error in found):
        return [], said[:1]
    return [f"{line}; where there is no answer it should return None" for line in said[:1]], []


def together(errors: Mapping[str, Mapping[str, Sequence[Sample]]]) -> list[str]:
    """Problems of samples as few lines: what differs in a number or a quoted text is one mistake.

    Args:
        errors: the samples of each message, by data set.
    """
    found: dict[str, tuple[str, dict[str, list[Sample]]]] = {}
    for dataset, of_dataset in errors.items():
        for message, samples in of_dataset.items():
            _, groups = found.setdefault(_VARYING.sub("…", message), (message, {}))
            groups.setdefault(dataset, []).extend(samples)
    return [
        f"{', '.join(groups)}: {_some([*chain(*groups.values())])}: {message}"
        for message, groups in found.values()
    ]


def _some(samples: Sequence[Sample]) -> str:
    line = samples[0].line
    one = f"index {line.get('index')} on {line.get('image_path') or line.get('task_id')}"
    return f"{len(samples)} samples, the first {one}" if len(samples) > 1 else one


def ping(
    model: ModelWrapper, asked: Questions, scorer: Scorer, clean: Callable[[str], str]
) -> tuple[list[str], list[str]]:
    """Queries the first sample, once; what went out, what came back, how it is read; problems."""
    where = f"{asked.dataset}: ping"
    sample, began_s = asked.samples[0], time.monotonic()
    try:
        prompt, prepared = _first_request(model, asked, sample)
        generation = model.generate(prepared)
    except CallError as error:
        reply = [f"  what came back: {_shortened(clean(error.reply))}"] if error.reply else []
        advice = NOT_THERE if is_away(error) else ADVICE[404] * (error.status_code == 404)
        said = str(presentable(error, clean))
        return reply, [f"{where}: " + (f"{said.rstrip('.')}. {advice}" if advice else said)]
    except (UserFunctionError, UserError) as error:
        return [], [f"{where}: {error}"]
    shown = f"  reply: {_shortened(repr(generation.text))}"
    if generation.postprocess_error:
        return [shown], [f"{where}: {generation.postprocess_error}"]
    record = new_record(sample, sample.key, prompt, prepared, Status.OK)
    record |= answer_fields(generation, prompt, record["sizes"])
    took = f"{time.monotonic() - began_s:.2f} s, finish reason {generation.finish_reason}"
    sizes = [format_size(record["sizes"][stage]) for stage in SIZES]
    report = [
        f"{asked.dataset}: queried {model.name} once ({took})",
        "  image: file {}, sent {}, seen by the model {}".format(*sizes),
        f"  tokens: {_tokens_text(generation.usage)}",
    ]
    if generation.reasoning:
        report.append(f"  reasoning: {_shortened(repr(generation.reasoning))}")
    is_spent = generation.finish_reason == "length" and not generation.text
    if is_spent:
        why = "the model used all its tokens before it answered"
        report.append(f"warning: {where}: {why}; raise {scorer.token_limit}")
    report.append(shown)
    if asked.read_reply is not None:  # an episode is judged by what became of its world
        read = asked.read_reply(sample, prompt, generation)
        if read.actions:
            return [*report, f"  read as: {'; '.join(read.actions)}"], []
        return report, [] if is_spent else [f"{where}: {_unread(read, scorer)}"]
    scored = scorer.judge(record)  # as the run will judge it
    columns = scored.judgement.columns
    read_as = columns.get("parsed_prediction", columns.get("pred_bbox"))
    if isinstance(read_as, list):
        read_as = [round(number, 4) for number in read_as]
    expected = sample.line.get("answer", columns.get("parsed_bbox(format:x1,y1,x2,y2)"))
    verdict = scored.judgement.verdict or "postprocessing failed"
    report.append(f"  read as: {read_as}, wanted: {expected}, verdict: {verdict}")
    hints = []
    if verdict == Verdict.UNPARSED and not scorer.errors and not is_spent:
        by = scorer.functions.get("parse", "the default parser")
        hints.append(f"the reply could not be read by {by}")
    if verdict in (Verdict.MISS, Verdict.UNPARSED) and "box_frac" in scored.judgement.facts:
        hints += _frame_hints(record, scored, asked)
    if hints:
        report.append(f"warning: {where}: {'; '.join(hints)}")
    return report, [f"{where}: {kind}" for kind in scorer.errors]


def _unread(read: ReadReply, scorer: Scorer) -> str:
    """Say that no action could be read in a reply, why, and what to do."""
    by = scorer.functions.get("parse", "the default parser")
    why = f": {read.problem}" if read.problem else ""
    if read.better_parser:
        scorer.better_parsers[read.better_parser] += 1
    return f"no action could be read by {by}{why}; {scorer.parser_advice()}"


def _frame_hints(record: Record, scored: ScoredSample, asked: Questions) -> list[str]:
    """Return what is odd about a click that missed: outside the image, or in another frame."""
    from utils.analysis.coordinate_audit import readings_on_target  # numpy, for few

    hints = []
    point_frac = scored.judgement.facts["point_frac"]
    if point_frac and not all(0 <= coordinate <= 1 for coordinate in point_frac):
        hints.append("the point lies outside the image (both are in fractions of it)")
    readings = readings_on_target(facts_of(record, scored))
    if readings:
        names = " or ".join(reading.name for reading in readings[:3])
        key = f"data.{asked.dataset}.parse_function"
        function = readings[0].parse_function
        hints.append(f'read as {names}, this reply would hit: set {key}: "{function}"')
    return hints


def _tokens_text(usage: Mapping[str, Any]) -> str:
    """Counts as a server names them, e.g. `prompt_tokens`; details within details are left out."""
    counts = {name.removesuffix("_tokens"): n for name, n in usage.items() if isinstance(n, int)}
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "unknown"


def shown_prompt(messages: Sequence[Message]) -> list[str]:
    """A prompt for people; images by their file name only."""
    lines = []
    for message in messages:
        value, kind = message["value"], message["type"]
        shown = Path(value).name if kind == "image" else _shortened(value)
        lines.append(f"  [{message['role']}, {kind}] " + shown.replace("\n", "\n      "))
    return lines


def _first_request(
    model: ModelWrapper, asked: Questions, sample: Sample
) -> tuple[Prompt, Prepared]:
    with contextlib.ExitStack() as held:
        world = None
        if asked.worlds is not None:
            held.callback(asked.worlds.close)
            world = asked.worlds.borrow()
        prompt = next(held.enter_context(contextlib.closing(asked.episode(sample, world=world))))
    is_custom = prompt.is_custom
    return prompt, model.request(prompt.messages, asked.dataset, is_custom_prompt=is_custom)


def _shortened(text: str) -> str:
    rest = f"… ({len(text)} characters)" if len(text) > LONGEST_SHOWN_TEXT else ""
    return text[:LONGEST_SHOWN_TEXT] + rest


def check(plan: Plan) -> int:
    """`--check`: reports what a run would do and everything that would go wrong."""
    for data in plan.data.values():
        print(f"{data.benchmark.name}: {len(data.samples)} samples, mode {data.mode}")
    samples = [sample for data in plan.data.values() for sample in data.samples]
    problems = unreadable_images(samples)
    pinged, warnings = False, plan.warnings
    functions = {
        (dataset, *plan.config.parser_of(name, dataset)): plan.parse(name, dataset)
        for name in plan.models
        for dataset in plan.data
    }
    for (dataset, dotted, _), parse in functions.items():
        data = plan.data[dataset]
        if dotted and not data.benchmark.acts:
            odd, wrong = try_parsing(data, parse)
            print("".join(f"warning: {dataset}: {each}\n" for each in odd), end="")
            warnings += len(odd)
            problems += [f"{dataset}: {each}" for each in wrong]
    for name, model in plan.models.items():
        print(f'\nmodel "{name}"')
        print("".join(f"{note}\n" for note in model.notes_before()), end="")
        folder, _ = folder_of(plan, name, run_specs(plan, name))
        of_samples: dict[str, dict[str, list[Sample]]] = {}
        found: list[str] = []
        with contextlib.closing(model), TemporaryDirectory() as shots:
            for dataset in plan.data:
                asked = questions_of(plan, name, dataset, folder, Path(shots))
                report, of_samples[dataset] = check_questions(model, asked, plan.options)
                if plan.options.ping and not of_samples[dataset]:
                    scorer = plan.scorer(name, dataset, skip_errors=True)
                    pinged = True
                    told, failed = ping(model, asked, scorer, plan.secrets.clean)
                    report += told
                    found += failed
                print("\n".join(report))
                warnings += sum(line.startswith("warning: ") for line in report)
        found += together(of_samples)
        problems += [f'model "{name}": {problem}' for problem in found]
    console.show_left_out(plan.bad_samples, None)
    if problems:
        print(problem_report(problems, ran=pinged, warnings=warnings), file=sys.stderr)
        return NOTHING_RUN
    warned, sent = counted(warnings, "warning"), "" if pinged else " No request was sent."
    print(f"\nNo problems{f', {warned}' if warnings else ''}.{sent}")
    return DONE

"""`--check`: everything short of a model call."""

from __future__ import annotations

import concurrent.futures
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from utils.contracts import (
    CallError,
    Message,
    ModelWrapper,
    Prepared,
    Prompt,
    Status,
    UserFunctionError,
)
from utils.coordinates import shown_wh
from utils.engine.jobs import Questions
from utils.engine.retry_policy import may_reuse
from utils.errors import UserError
from utils.images import decode_fully
from utils.runs.records import answer_fields, new_record
from utils.scoring.scorer import Scorer

THREAD_TRIAL = 4  # samples, and threads
LONGEST_SHOWN_TEXT = 2000


def unreadable_pictures(samples: Sequence[Any]) -> dict[Path, str]:
    """Pictures whose pixels cannot all be decoded, with the reason."""
    from tqdm import tqdm

    images = list(dict.fromkeys(sample.image for sample in samples))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        reasons = tqdm(
            threads.map(_why_unreadable, images), desc="decoding pictures", total=len(images),
            unit="picture", leave=False, disable=not sys.stderr.isatty(),
        )  # fmt: skip
        return {image: why for image, why in zip(images, reasons, strict=True) if why is not None}


def _why_unreadable(image: Path) -> str | None:
    try:
        decode_fully(image)
    except OSError as error:
        return str(error)
    return None


def check_questions(
    model: ModelWrapper,
    asked: Questions,
    *,
    fresh: bool = False,
    keep_failed: bool = False,
    retry_refused: bool = False,
) -> tuple[list[str], list[str]]:
    """Builds every request of a data set without sending any.

    Args:
        fresh, keep_failed, retry_refused: what of earlier runs would be asked again.

    Returns:
        What to tell the user, and the problems found.
    """
    report: list[str] = []
    problems: list[str] = []
    prompts: list[Prompt] = []
    counts: Counter[str] = Counter()
    kept: Counter[Status] = Counter()
    bytes_out = 0
    errors: Counter[str] = Counter()
    for sample in asked.samples:
        try:
            prompt = next(asked.episode(sample))
            prepared = model.request(
                prompt.messages, asked.dataset, is_custom_prompt=prompt.is_custom
            )
        except (UserFunctionError, UserError) as error:
            errors[str(error)] += 1
            continue
        if len(prompts) < THREAD_TRIAL:
            prompts.append(prompt)
        stored = asked.answers.find(sample.key, asked.trial, prepared.fingerprint)
        if stored is not None and may_reuse(
            stored.status, fresh=fresh, keep_failed=keep_failed, retry_refused=retry_refused
        ):
            kept[stored.status] += 1
            continue
        reason = "--fresh" if fresh else asked.answers.reason_to_ask(
            sample.key, asked.trial, prepared.fingerprint, prepared.parts
        )  # fmt: skip
        try:
            bytes_out += model.wire_size(prepared)
        except UserError as error:  # the picture, in the form that the settings ask for
            errors[str(error)] += 1
            continue
        counts[reason] += 1
    problems += [f"{asked.dataset}: {count} samples: {error}" for error, count in errors.items()]
    if prompts:
        report.append(f"{asked.dataset}: the first prompt, pictures elided:")
        report += [f"  {line}" for line in shown_prompt(prompts[0].messages)]
        problems += _thread_trial(model, asked, prompts)
    to_ask = ", ".join(f"{count} {reason}" for reason, count in counts.items()) or "none"
    megabytes = f", {bytes_out / 1e6:.1f} MB" if bytes_out else ""
    report.append(
        f"{asked.dataset}: {counts.total()} requests to send ({to_ask}{megabytes}), "
        f"{kept[Status.OK]} answers there already"
        + (f", {kept[Status.FAILED]} failed before" if kept[Status.FAILED] else "")
        + (f", {kept[Status.REFUSED]} refused before (--retry-refused)"
           if kept[Status.REFUSED] else "")
    )  # fmt: skip
    return report, problems


def ping(
    model: ModelWrapper, asked: Questions, scorer: Scorer, clean: Callable[[str], str]
) -> tuple[list[str], list[str]]:
    """Asks the first sample, once, and shows what went out, what came back and how it is read.

    Args:
        clean: removes secrets from what a server says of itself.

    Returns:
        What to tell the user, and the problems found.
    """
    if not asked.samples:
        return [], [f"{asked.dataset}: there is no sample to ask"]
    sample = asked.samples[0]
    began_s = time.monotonic()
    try:
        prompt = next(asked.episode(sample))
        prepared = model.request(prompt.messages, asked.dataset, is_custom_prompt=prompt.is_custom)
        generation = model.generate(prepared)
    except CallError as error:
        came = [f"  what came back: {_shortened(clean(error.reply))}"] if error.reply else []
        return came, [f"{asked.dataset}: ping: {_shortened(clean(str(error)))}"]
    except (UserFunctionError, UserError) as error:
        return [], [f"{asked.dataset}: ping: {error}"]
    if generation.postprocess_error:
        came = [f"  reply: {_shortened(repr(generation.text))}"]
        return came, [f"{asked.dataset}: ping: {generation.postprocess_error}"]
    record = new_record(sample, sample.key, asked.trial, prepared, Status.OK)
    record |= answer_fields(generation, record["sizes"])
    scored = scorer.judge(record)  # as the run will judge it
    columns, sizes = scored.judgement.columns, record["sizes"]
    read_as = columns.get("parsed_prediction", columns.get("pred_bbox"))
    wanted = sample.line.get("answer", columns.get("parsed_bbox(format:x1,y1,x2,y2)"))
    took = f"{time.monotonic() - began_s:.2f} s, finish reason {generation.finish_reason}"
    report = [
        f"{asked.dataset}: asked {model.name} one question ({took})",
        f"  picture: file {shown_wh(sizes['file'])}, sent {shown_wh(sizes['sent'])}, "
        f"seen by the model {shown_wh(sizes['seen'])}",
        f"  tokens: {dict(generation.usage) or 'unknown'}",
        *([f"  reasoning: {_shortened(repr(generation.reasoning))}"]
          if generation.reasoning else []),
        f"  reply: {_shortened(repr(generation.text))}",
        f"  read as: {read_as}, wanted: {wanted}, verdict: {scored.judgement.verdict or 'spoilt'}",
    ]  # fmt: skip
    if scorer.counts["spent"]:
        report.append("  the model used all its tokens before it answered; raise max_tokens")
    return report + [f"  {kind}" for kind in scorer.errors], []


def shown_prompt(messages: Sequence[Message]) -> list[str]:
    """A prompt for people; pictures by their file name only."""
    lines = []
    for message in messages:
        if message["type"] == "image":
            lines.append(f"[{message['role']}, picture] {Path(message['value']).name}")
            continue
        first, *rest = _shortened(message["value"]).split("\n")
        lines.append(f"[{message['role']}, {message['type']}] {first}")
        lines += [f"    {line}" for line in rest]
    return lines


def _shortened(text: str) -> str:
    if len(text) <= LONGEST_SHOWN_TEXT:
        return text
    return text[:LONGEST_SHOWN_TEXT] + f"… ({len(text)} characters)"


def _thread_trial(model: ModelWrapper, asked: Questions, prompts: Sequence[Prompt]) -> list[str]:
    """The user's functions one by one and in threads: the requests must be equal."""

    def prepared(prompt: Prompt) -> Prepared:
        return model.request(prompt.messages, asked.dataset, is_custom_prompt=prompt.is_custom)

    try:
        one_by_one = [prepared(prompt).fingerprint for prompt in prompts]
        with concurrent.futures.ThreadPoolExecutor(THREAD_TRIAL) as pool:
            together = [request.fingerprint for request in pool.map(prepared, prompts)]
    except (UserFunctionError, UserError) as error:
        return [f"{asked.dataset}: a function that worked once failed the second time: {error}"]
    if one_by_one == together:
        return []
    return [
        f"{asked.dataset}: the preprocess function builds other requests when it runs in several "
        "threads; it must not keep state between calls"
    ]

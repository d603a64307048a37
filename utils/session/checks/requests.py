"""The first request of every sample, built without sending any."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from utils.contracts import (
    Answered,
    Line,
    Message,
    ModelWrapper,
    Prepared,
    Prompt,
    Sample,
    Status,
    UserFunctionError,
    WorldError,
)
from utils.engine.early_warnings import NO_IMAGE
from utils.engine.jobs import Job
from utils.errors import UserError
from utils.findings import Finding, warning
from utils.scoring import console
from utils.session.checks.images import RequestSizes
from utils.session.checks.later_stages import open_samples, requests_text
from utils.session.evaluation import Evaluation
from utils.store.index import StoredAnswer

LONGEST_SHOWN_TEXT = 2000  # characters
LONGEST_REPEATED_TEXT = 200  # characters; longer ones are shown for the first data set alone
Origin = tuple[tuple[type[BaseException], str, int], ...]
"""The place in the code of an error and of each of its causes: class, file, line."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The lines that a check prints, and its findings."""

    lines: list[str]
    findings: list[Finding] = field(default_factory=list)
    is_miss: bool = False  # a model was queried, and its reply is wrong


@dataclass(frozen=True, slots=True)
class SampleProblem:
    """One mistake that makes samples fail."""

    message: str  # of the first of them
    samples: list[Sample]


class _FirstRequests:
    """The first request of every sample of a job, and what is stored of it."""

    def __init__(self, evaluation: Evaluation, job: Job) -> None:
        self.prompt: Prompt | None = None  # of the first sample
        self.without_image: list[Sample] = []
        # The stored answer of each sample by its key, or why the model is asked.
        self.answers: list[tuple[str, StoredAnswer | str]] = []
        self.sizes = RequestSizes(evaluation.model, job)
        self._model, self._options, self._job = evaluation.model, evaluation.options, job
        self._last: tuple[Line, Prepared] | None = None  # a request, and what it was made of
        # The samples of each chain so far, with their stored replies.
        self._answered: dict[tuple[str, int], list[tuple[Line, str | None]]] = {}

    def build(self, sample: Sample) -> None:
        """Build the request of one sample; of whole episodes the first one alone is begun.

        Raises:
            UserFunctionError, UserError, WorldError: there is none.
        """
        episodes = self._job.episodes
        if episodes is None:
            before = self._before(sample)
            request = self._request(sample, before)
            answer = self._stored(
                sample, request.fingerprint, request.parts, request.earlier_fingerprints
            )
            if self._job.chains is not None:
                reply = answer.read().get("raw") if isinstance(answer, StoredAnswer) else None
                before.append((sample.line, reply))
            if not isinstance(answer, StoredAnswer):
                self.sizes.add(request)
        else:
            if sample is self._job.samples[0]:
                self._request(sample, [])
            fingerprint = episodes.fingerprint(sample)
            answer = self._stored(sample, fingerprint, {"settings": fingerprint})
        self.answers.append((sample.key, answer))

    def _before(self, sample: Sample) -> list[tuple[Line, str | None]]:
        """The samples before one in its chain with their stored replies; the list is to grow."""
        chains = self._job.chains
        if chains is None:
            return []
        return self._answered.setdefault(chains.key_of(sample), [])

    def _request(self, sample: Sample, answered: Answered) -> Prepared:
        """The request of a sample, which repeats of it share with it outside of chains."""
        is_known = self._last is not None and self._last[0] is sample.line
        if self._last is not None and is_known and self._job.chains is None:
            return self._last[1]
        prompt, request = first_request(self._model, self._job, sample, answered)
        self._last = sample.line, request
        self.prompt = self.prompt or prompt
        if not any(message["type"] == "image" for message in prompt.messages):
            self.without_image.append(sample)
        self.sizes.image_changes.update(request.image_changes)
        return request

    def _stored(
        self,
        sample: Sample,
        fingerprint: str,
        parts: Mapping[str, str],
        earlier_fingerprints: Sequence[str] = (),
    ) -> StoredAnswer | str:
        return self._job.answers.look_up(
            sample.key, fingerprint, parts, self._options, earlier_fingerprints
        )


def check_requests(
    evaluation: Evaluation, job: Job, shown_before: dict[str, str]
) -> tuple[CheckResult, dict[Origin, SampleProblem]]:
    """Build the first request of every sample without sending any.

    Args:
        evaluation: whose requests they are.
        job: of the evaluation.
        shown_before: that of `shown_prompt`, for all data sets of a model.

    Returns:
        What to print, and what makes samples fail.
    """
    requests = _FirstRequests(evaluation, job)
    problems: dict[Origin, SampleProblem] = {}
    for sample in job.samples:
        try:
            requests.build(sample)
        except (UserFunctionError, UserError, WorldError) as error:
            problem = problems.setdefault(_origin(error), SampleProblem(str(error), []))
            problem.samples.append(sample)
    report = []
    if requests.prompt is not None:
        report = [
            f"{job.dataset}: the first prompt, images by file name:",
            *shown_prompt(requests.prompt.messages, job.dataset, shown_before),
        ]
    answers = [answer for _, answer in requests.answers]
    reasons = Counter(answer for answer in answers if not isinstance(answer, StoredAnswer))
    stored = Counter(answer.status for answer in answers if isinstance(answer, StoredAnswer))
    more = open_samples(job, requests.answers, evaluation.options)
    count = requests_text(job, reasons, str(requests.sizes), more)
    report.append(f"{job.dataset}: {count}, {_available(stored, problems)}")
    notes = console.image_notes(requests.sizes.image_changes)
    report += [f"{job.dataset}: {note}" for note in notes]
    findings = []
    if requests.without_image:
        summary = f"{_samples_text(requests.without_image)}: {NO_IMAGE}"
        findings.append(warning("check.no_image", summary, topic=job.dataset))
    return CheckResult(report, findings), problems


def _available(stored: Mapping[Status, int], problems: Mapping[Origin, SampleProblem]) -> str:
    """The number of samples that are not asked, and why."""
    text = f"{stored[Status.OK]} answers stored already"
    more = {
        "failed before": stored[Status.FAILED],
        "with a problem": sum(len(problem.samples) for problem in problems.values()),
        "refused before (--retry-refused)": stored[Status.REFUSED],
    }
    return text + "".join(f", {count} {what}" for what, count in more.items() if count)


def _origin(error: BaseException | None) -> Origin:
    """The places in the code that errors share which one mistake causes in several samples."""
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
            text = shortened(value if isinstance(value, str) else json.dumps(value))
            first_dataset = shown_before.setdefault(text, dataset)
            if len(text) > LONGEST_REPEATED_TEXT and first_dataset != dataset:
                text = f"as for {first_dataset}"
        lines.append(f"  [{message['role']}, {kind}] " + text.replace("\n", "\n      "))
    return lines


def first_request(
    model: ModelWrapper, job: Job, sample: Sample, answered: Answered = ()
) -> tuple[Prompt, Prepared]:
    """The first prompt of a sample, and its request.

    Args:
        answered: the samples before it in its chain, if it is in one.
    """
    prompt = _first_prompt(job, sample, answered)
    is_custom = prompt.is_custom
    return prompt, model.request(prompt.messages, job.dataset, is_custom_prompt=is_custom)


def _first_prompt(job: Job, sample: Sample, answered: Answered) -> Prompt:
    if job.chains is not None:
        return job.chains.prompt_after(sample, answered)
    if job.episodes is None:
        assert job.prompt_of is not None
        return job.prompt_of(sample)
    with contextlib.ExitStack() as stack:
        stack.callback(job.episodes.worlds.close)
        episode = job.episodes.play(sample, job.episodes.worlds.borrow())
        return next(stack.enter_context(contextlib.closing(episode)))


def shortened(text: str) -> str:
    """A text for people, cut off where it is long, with its length."""
    rest = f"… ({len(text)} characters)" if len(text) > LONGEST_SHOWN_TEXT else ""
    return text[:LONGEST_SHOWN_TEXT] + rest

"""Notices early that going on is of little use: one watcher sees what becomes of every sample.

A wrong parameter, parse function or token limit should be seen after twenty samples, not after
eight thousand:

- the first 20 requests are all refused, or the first 10 in the same words: the run stops, and
  these samples count as failed;
- the server answers none of the first 20 samples, whatever it says instead: the run stops;
- 403, 404 or a redirect 10 times in a row, or nobody was ever there: the run stops;
- native tool calls in place of text: a warning at the first, and the run stops after 5 in a row,
  or 10 where there were answers;
- one of the user's functions, or the model's own, fails 10 times in a row: its data set stops;
- the first 20 answers are unreadable, empty or cut off, or the first 20 fail alike, or there is
  no image in the first prompt: a warning;
- a benchmark's own scorer fails at one of the first 20 answers: a warning.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from utils.contracts import Record, Status, Verdict, repeat_of
from utils.engine.asking import KEPT
from utils.engine.jobs import Job
from utils.engine.retry_policy import (
    AWAY_KINDS,
    AWAY_STATUS,
    MISPLACED_KINDS,
    MISPLACED_STATUS,
    REFUSED_STATUS,
)
from utils.errors import ScorerError, StopRun
from utils.findings import Finding, warning
from utils.functions.calling import FAILURES_IN_A_ROW
from utils.scoring.scorer import ScoredSample, Scorer, keeps_failing
from utils.store.index import Reason

ENOUGH = 20
NO_IMAGE = "the prompt has no image, so the model answers without seeing one"
OF_FIRST = f"of the first {ENOUGH} answers"
NEVER_THERE = 5  # samples that failed on 502, 503 or a time-out before there was any answer
SERVER_KINDS = ("http", "bad_body", "connection")


class Watcher:
    """Watches the samples of one model, in the order of the log; one thread at a time.

    With `skip_errors` it goes on however often a function fails.
    """

    def __init__(self, model: str, to_go_on: str, *, skip_errors: bool) -> None:
        self._model = model
        self._to_go_on = to_go_on
        self._skip_errors = skip_errors
        self.all_refused = True  # whatever was queried so far
        self._refused = 0
        self._refusals: set[str] = set()  # in the server's words, without ids
        self._unanswered = 0  # samples that the server failed on, while it has answered none
        self._has_answers = False
        self._general_failures = 0  # in a row: they are about the server, not about single samples
        self._first: dict[str, tuple[list[Record], list[Record]]] = {}  # answers, failures
        self._to_judge: list[tuple[Job, Scorer, Sequence[Record]]] = []  # first answers

    def doubts_refusal(self, record: Record, reason: str | None) -> bool:
        """Whether a refusal may be about the settings rather than about its sample.

        Every refusal is doubtful until the server has answered a request. A sample that is retried
        after a refusal is to blame itself.
        """
        code = (record.get("error") or {}).get("status_code")
        return self.all_refused and code in REFUSED_STATUS and reason != Reason.REFUSED_BEFORE

    def see(self, job: Job, record: Record, reason: str | None, *, reused: bool) -> None:
        """Look at one finished sample, and at why it was queried, unless it was `reused`.

        Raises:
            StopRun: no sample can be answered. Where only this data set cannot, it is `stopped`.
        """
        error = record.get("error") or {}
        kind = error.get("class", "")
        if kind == "model" or kind.endswith(" function"):
            stage = "generate" if kind == "model" else kind.removesuffix(" function")
            if repeat_of(record["key"]) == 1:  # a question that is asked often is still one
                self._count(job, stage, error)
        else:
            _reset_failure_counts(job, record, reused=reused)
        if reused:
            return
        if record["status"] == Status.OK:
            self._has_answers = True
            self._general_failures = 0
            self.all_refused = False
        else:
            self._see_failure(job, record, error, reason)
        if job.first_look is not None:
            self._look_at_first(job, job.first_look, record)

    def _count(self, job: Job, stage: str, error: Mapping[str, Any]) -> None:
        job.failures_in_a_row[stage] += 1
        if job.failures_in_a_row[stage] >= FAILURES_IN_A_ROW and not self._skip_errors:
            last = error.get("trace") or error["message"]
            why = keeps_failing(stage, job.functions, "this data set was stopped", last)
            job.stopped = StopRun(f"{job.dataset}: {why}", summary=why.summary)

    def _see_failure(
        self, job: Job, record: Record, error: Mapping[str, Any], reason: str | None
    ) -> None:
        """Detect failures that the server or the settings cause, not single samples."""
        code = error.get("status_code")
        kind = error.get("class")
        if record.get("raw") is not None or record.get("turns"):
            self._has_answers = True
        is_away = code in AWAY_STATUS or kind in AWAY_KINDS or kind == "timeout"
        is_misplaced = code in MISPLACED_STATUS or kind in MISPLACED_KINDS
        is_general = is_misplaced or (is_away and not self._has_answers)
        if not is_general:
            self._general_failures = 0
        elif is_misplaced or not _may_be_sample(job, reason):
            self._general_failures += 1
        if self._general_failures >= (FAILURES_IN_A_ROW if self._has_answers else NEVER_THERE):
            what = f"{self._general_failures} samples in a row got {error['message']}"
            is_kept = self._has_answers or job.answers.has_any
            raise StopRun(
                f'model "{self._model}": {what}.{self._advice_to_go_on(is_kept)}', summary=what
            )
        if self.all_refused and code in REFUSED_STATUS:
            self._see_refusal(record, error, reason)
        else:
            self.all_refused = False
            self._see_unanswered(job, error, reason)

    def _see_refusal(self, record: Record, error: Mapping[str, Any], reason: str | None) -> None:
        if reason != Reason.REFUSED_BEFORE and repeat_of(record["key"]) == 1:
            self._refused += 1
            self._refusals.add(_without_ids(error["message"]))
        # Of 413 it is the images that are too large, and later ones may be smaller.
        is_same = len(self._refusals) == 1 and error.get("status_code") != 413
        enough = FAILURES_IN_A_ROW if is_same else ENOUGH
        if self._refused >= enough:
            refused = f"the first {self._refused} requests were all refused"
            raise StopRun(
                f'model "{self._model}": {refused}, so the request itself is probably wrong. The '
                f"server said: {error['message']}",
                summary=refused,
            )

    def _see_unanswered(self, job: Job, error: Mapping[str, Any], reason: str | None) -> None:
        """Stop the run where the server answers nothing at all."""
        is_servers = error.get("status_code") is not None or error.get("class") in SERVER_KINDS
        if self._has_answers or not is_servers or _may_be_sample(job, reason):
            return
        self._unanswered += 1
        if self._unanswered >= ENOUGH:
            none = f"the server answered none of the first {ENOUGH} samples"
            advice = self._advice_to_go_on(is_kept=job.answers.has_any)
            raise StopRun(
                f'model "{self._model}": {none}. The last one got: {error["message"]}.{advice}',
                summary=none,
            )

    def _advice_to_go_on(self, is_kept: bool) -> str:
        return KEPT.format(self._to_go_on) if is_kept else ""

    def _look_at_first(self, job: Job, scorer: Scorer, record: Record) -> None:
        # A record that says nothing of its prompt is given the benefit of the doubt.
        prompt = record.get("prompt") or [{"type": "image"}]
        has_image = any(message["type"] == "image" for message in prompt)
        if job.dataset not in self._first and not has_image:
            self._warn(job, warning("early.no_image", NO_IMAGE))
        answers, failures = self._first.setdefault(job.dataset, ([], []))
        if record["status"] == Status.OK:
            answers.append(record)
            if len(answers) == ENOUGH:  # a smaller data set is over before anyone could stop it
                job.first_look = None
                self._to_judge.append((job, scorer, answers))
        elif not answers and len(failures) < ENOUGH:
            failures.append(record)
            errors = [failure["error"] for failure in failures]
            kinds = {(error["class"], error.get("status_code")) for error in errors}
            if len(failures) == ENOUGH and len(kinds) == 1:
                summary = (
                    f"none of the first {ENOUGH} samples has an answer, "
                    f"all {record['status']} in the same way"
                )
                self._warn(
                    job,
                    warning(
                        "early.no_answer", summary, detail=f"the last one: {errors[-1]['message']}"
                    ),
                )

    def judge_first_answers(self) -> None:
        """Judge the first answers of a data set once there are enough, and warn.

        Parse functions are called: not by workers, because they are promised one thread.
        """
        while self._to_judge:
            self._judge(*self._to_judge.pop())

    def _judge(self, job: Job, scorer: Scorer, answers: Sequence[Record]) -> None:
        by_key = {record["key"]: record for record in answers}
        in_file_order = [by_key[sample.key] for sample in job.samples if sample.key in by_key]
        try:  # parse functions see samples in that order
            samples = [scorer.judge(record) for record in in_file_order]
        except StopRun as error:
            when = f"after the first {ENOUGH} answers"
            summary = f"{when} {error.summary}"
            job.stopped = StopRun(f"{job.dataset}: {when} {error}", summary=summary)
            return
        except ScorerError as error:  # a later scoring of the same replies costs no request
            fix = (
                "The run goes on and keeps all replies. The last lines of its output say how to "
                "score them"
            )
            self._warn(job, warning("early.scorer", str(error), fix=fix))
            return
        counts = scorer.counts
        if counts["spent"] == ENOUGH:
            summary = (
                f"all {OF_FIRST} are empty: the model used all its tokens before it answered "
                "(reasoning)"
            )
            self._warn(
                job,
                warning(
                    "early.empty",
                    summary,
                    detail=f"raise {scorer.token_limit}",
                    setting=scorer.token_limit,
                ),
            )
            return
        if counts["empty"] > ENOUGH / 2:
            self._warn(job, scorer.empty_finding("early.empty_text", f"the first {ENOUGH} answers"))
            return
        if counts["cut_off"] == ENOUGH:
            summary = f"all {OF_FIRST} were cut off at the token limit ({scorer.token_limit})"
            self._warn(job, warning("early.cut_off", summary, setting=scorer.token_limit))
        if counts["spoilt"] > ENOUGH / 2:
            summary = f"the postprocess function failed on {counts['spoilt']} {OF_FIRST}"
            detail = _example(samples, None)
            self._warn(job, warning("early.postprocess", summary, detail=detail))
        if counts["unparsed"] > ENOUGH / 2:
            summary = f"{counts['unparsed']} {OF_FIRST} are unparsed"
            detail = _example(samples, Verdict.UNPARSED)
            if scorer.best_parser() is not None:
                detail += f"; {scorer.parser_advice()}"
            self._warn(
                job,
                warning("early.unparsed", summary, detail=detail, setting=scorer.parser_setting),
            )

    def _warn(self, job: Job, finding: Finding) -> None:
        print(f"{finding.severity}: {self._model}, {job.dataset}: {finding}", flush=True)


def _may_be_sample(job: Job, reason: str | None) -> bool:
    """Whether a failure may be about its sample: it failed before, when others were answered."""
    return reason == Reason.FAILED_BEFORE and job.answers.has_any


def _reset_failure_counts(job: Job, record: Record, *, reused: bool) -> None:
    """Reset the failure counts of the functions that have worked for a sample."""
    failures = job.failures_in_a_row
    failures["announce"] = 0
    failures["preprocess"] = 0
    failures["postprocess"] = 0
    if not reused:  # a stored answer says nothing about the model itself
        failures["generate"] = 0
    is_stored_episode = reused and job.episodes is not None  # no function was called for it
    if record["status"] != Status.OK or is_stored_episode:
        return
    failures["follow_up"] = 0
    if job.chains is not None or job.episodes is not None:  # other prompts are made ahead
        failures["prompt"] = 0


def _example(samples: Sequence[ScoredSample], verdict: Verdict | None) -> str:
    """Return the beginning of the first reply that came to a verdict."""
    replies = [sample.prediction for sample in samples if sample.judgement.verdict == verdict]
    return f"one of them: {replies[0][:200]!r}"


def _without_ids(text: str) -> str:
    """Return a server's words without the ids of requests; sizes of images stay."""
    return re.sub(r"\b(?=[\w-]*\d)[\w-]{8,}", "#", text)

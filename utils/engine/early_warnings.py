"""Notices early that going on is of little use: one watcher sees what becomes of every sample.

A wrong parameter, parse function or token limit should be seen after twenty samples, not after
eight thousand:

- the first 20 requests are all refused: the run stops, and these samples count as failed;
- the server answers none of the first 20 samples, whatever it says instead: the run stops;
- 403, 404 or a redirect 10 times in a row, or nobody was ever there: the run stops;
- native tool calls in place of text: a warning at the first, and the run stops after 5 in a row,
  or 10 where there were answers;
- one of the user's functions, or the model's own, fails 10 times in a row: its data set stops;
- the first 20 answers are unreadable, empty or cut off, or the first 20 fail alike, or there is
  no image in the first prompt: a warning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from utils.contracts import Record, Status
from utils.engine.asking import KEPT
from utils.engine.jobs import Job
from utils.engine.retry_policy import AWAY_KINDS, AWAY_STATUS, MISPLACED_STATUS, REFUSED_STATUS
from utils.errors import StopRun
from utils.functions.calling import FAILURES_IN_A_ROW
from utils.scoring.scorer import Scorer, keeps_failing

ENOUGH = 20
NEVER_THERE = 5  # samples that failed on 502, 503 or a time-out before there was any answer
SERVER_KINDS = ("http", "bad_body", "connection")
FAILED_AGAIN = f"{Status.FAILED} last time"
REFUSED_AGAIN = f"{Status.REFUSED} last time"  # as `AnswerIndex.look_up` has it


class Watcher:
    """Watches the samples of one model, in the order of the log.

    With `skip_errors` it goes on however often a function fails.
    """

    def __init__(self, model: str, to_go_on: str, *, skip_errors: bool) -> None:
        self._model, self._to_go_on, self._skip_errors = model, to_go_on, skip_errors
        self._refused: list[tuple[Job, Record]] | None = []  # None once one was not
        self._unanswered = 0  # samples that the server failed on, while it has answered none
        self._has_answers, self._for_no_sample = False, 0  # failures in a row that are no sample's
        self._has_seen_tool_calls = False
        self._first: dict[str, tuple[list[Record], list[Record]]] = {}  # answers, failures

    def see(self, job: Job, record: Record, reason: str | None, *, reused: bool) -> None:
        """What became of one sample, and why it was asked, unless it was `reused`.

        Raises:
            StopRun: no sample can be answered. Where only this data set cannot, it is `stopped`.
        """
        error = record.get("error") or {}
        kind = error.get("class", "")
        if kind == "model" or kind.endswith(" function"):  # the model's own is "generate"
            stage = "generate" if kind == "model" else kind.removesuffix(" function")
            self._count(job, stage, error)
        else:
            for succeeded in ("preprocess", "postprocess", "generate")[: 2 if reused else 3]:
                job.failures_in_a_row[succeeded] = 0
        if reused:
            return
        if record["status"] == Status.OK:
            self._has_answers, self._for_no_sample, self._refused = True, 0, None
        else:
            self._see_failure(job, record, error, reason)
        if job.first_look is not None:
            self._look_at_first(job, job.first_look, record)

    def take_back(self) -> int:
        """Once the run is over: if all was refused, that says nothing about the samples.

        They failed, and are asked again when the server or the settings were mended.
        Returns how many.
        """
        refused, self._refused = self._refused or [], None
        for job, record in refused:
            job.log.append({**record, "status": Status.FAILED})
        return len(refused)

    def _count(self, job: Job, stage: str, error: Mapping[str, Any]) -> None:
        job.failures_in_a_row[stage] += 1
        if job.failures_in_a_row[stage] >= FAILURES_IN_A_ROW and not self._skip_errors:
            last = error.get("trace") or error["message"]
            why = keeps_failing(stage, job.functions, "this data set was stopped", last)
            job.stopped = StopRun(f"{job.dataset}: {why}")

    def _see_failure(
        self, job: Job, record: Record, error: Mapping[str, Any], reason: str | None
    ) -> None:
        """Sample after sample may fail for a reason that is no sample's."""
        code, kind = error.get("status_code"), error.get("class")
        self._has_answers |= record.get("raw") is not None or bool(record.get("turns"))
        is_away = code in AWAY_STATUS or kind in AWAY_KINDS or kind == "timeout"
        is_tool_calls = kind == "tool_calls"
        if is_tool_calls and not self._has_seen_tool_calls:
            self._has_seen_tool_calls = True
            self._warn(job, error["message"])
        is_misplaced = code in MISPLACED_STATUS or is_tool_calls
        is_for_no_sample = is_misplaced or (is_away and not self._has_answers)
        self._for_no_sample = self._for_no_sample + 1 if is_for_no_sample else 0
        if self._for_no_sample >= (FAILURES_IN_A_ROW if self._has_answers else NEVER_THERE):
            what = f"{self._for_no_sample} samples in a row got {error['message']}"
            kept = KEPT.format(self._to_go_on) * (self._has_answers or job.answers.has_any)
            raise StopRun(f'model "{self._model}": {what}.{kept}')
        if self._refused is None or code not in REFUSED_STATUS:
            self._refused = None
            self._see_unanswered(job, error, reason)
            return
        if reason != REFUSED_AGAIN:  # the second time, and on demand: then it is the sample
            self._refused.append((job, record))
        if len(self._refused) >= ENOUGH:
            refused = f'model "{self._model}": the first {ENOUGH} requests were all refused'
            why = f"so the request itself must be wrong. The server said: {error['message']}"
            raise StopRun(f"{refused}, {why}")

    def _see_unanswered(self, job: Job, error: Mapping[str, Any], reason: str | None) -> None:
        """A server that answers nothing at all will not answer the next thousand samples either."""
        is_servers = error.get("status_code") is not None or error.get("class") in SERVER_KINDS
        is_again = reason == FAILED_AGAIN and job.answers.has_any  # then it may be the sample
        if self._has_answers or not is_servers or is_again:
            return
        self._unanswered += 1
        if self._unanswered >= ENOUGH:
            none = f'model "{self._model}": the server answered none of the first {ENOUGH} samples'
            kept = KEPT.format(self._to_go_on) if job.answers.has_any else ""
            raise StopRun(f"{none}. The last one got: {error['message']}.{kept}")

    def _look_at_first(self, job: Job, scorer: Scorer, record: Record) -> None:
        # A record that says nothing of its prompt is given the benefit of the doubt.
        prompt = record.get("prompt") or [{"type": "image"}]
        if job.dataset not in self._first and all(each["type"] != "image" for each in prompt):
            self._warn(job, "the prompt has no image, so the model answers without having seen any")
        answers, failures = self._first.setdefault(job.dataset, ([], []))
        if record["status"] == Status.OK:
            answers.append(record)
            if len(answers) == ENOUGH:  # a smaller data set is over before anyone could stop it
                job.first_look = None
                self._judge(job, scorer, answers)
        elif not answers and len(failures) < ENOUGH:
            failures.append(record)
            errors = [failure["error"] for failure in failures]
            kinds = {(each["class"], each.get("status_code")) for each in errors}
            if len(failures) == ENOUGH and len(kinds) == 1:
                what = f"none of the first {ENOUGH} samples has an answer, all {record['status']}"
                self._warn(job, f"{what} in the same way; the last one: {errors[-1]['message']}")

    def _judge(self, job: Job, scorer: Scorer, answers: Sequence[Record]) -> None:
        by_key = {record["key"]: record for record in answers}
        in_file_order = [by_key[sample.key] for sample in job.samples if sample.key in by_key]
        try:  # parse functions see samples in that order
            samples = [scorer.judge(record) for record in in_file_order]
        except StopRun as why:
            job.stopped = StopRun(f"{job.dataset}: after the first {ENOUGH} answers {why}")
            return
        counts, of = scorer.counts, f"of the first {ENOUGH} answers"
        if counts["spent"] == ENOUGH:
            self._warn(
                job,
                f"all {of} are empty: the model used all its tokens before it answered "
                f"(reasoning); raise {scorer.token_limit}",
            )
            return
        if counts["cut_off"] == ENOUGH:
            self._warn(job, f"all {of} were cut off at the token limit ({scorer.token_limit})")
        spoilt, unparsed = f"{counts['spoilt']} {of}", f"{counts['unparsed']} {of}"
        for count, verdict, what in (
            (counts["spoilt"], "None", f"the postprocess function failed on {spoilt}"),
            (counts["unparsed"], "unparsed", f"{unparsed} are unparsed"),
        ):
            odd = [each.prediction for each in samples if str(each.judgement.verdict) == verdict]
            if count > ENOUGH / 2:
                advice = ""
                if verdict == "unparsed" and scorer.better_parsers:
                    advice = f"; {scorer.parser_advice()}"
                self._warn(job, f"{what}; one of them: {odd[0][:200]!r}{advice}")

    def _warn(self, job: Job, text: str) -> None:
        print(f"warning: {self._model}, {job.dataset}: {text}", flush=True)

"""Notices early that going on is of little use: one watcher sees what becomes of every sample.

A wrong parameter, parse function or token limit should be seen after twenty samples, not after
eight thousand:

- the first 20 requests are all refused: the run stops, and these samples count as failed;
- 403, 404 or a redirect 10 times in a row, or nobody was ever there: the run stops;
- one of the user's functions, or the model's own, fails 10 times in a row: its data set stops;
- the first 20 answers are unreadable, empty or cut off, or the first 20 fail alike: a warning.
"""

from __future__ import annotations

from collections.abc import Sequence

from utils.contracts import Record, Status
from utils.engine.jobs import Job
from utils.engine.retry_policy import AWAY_KINDS, AWAY_STATUS, MISPLACED_STATUS, REFUSED_STATUS
from utils.errors import StopRun
from utils.functions.calling import FAILURES_IN_A_ROW
from utils.scoring.scorer import ScoredSample, Scorer

ENOUGH = 20
NEVER_THERE = 5  # samples that failed on 502, 503 or a time-out before there was any answer
REFUSED_AGAIN = f"{Status.REFUSED} last time"  # as `AnswerIndex.reason_to_ask` has it


class Watcher:
    """Watches the samples of one model, in the order of the log.

    Args:
        model: its name.
        skip_errors: go on however often a function fails.
    """

    def __init__(self, model: str, *, skip_errors: bool) -> None:
        self._model, self._skip_errors = model, skip_errors
        self._refused: list[tuple[Job, Record]] | None = []  # None once one was not
        self._has_answers = False
        self._misplaced = self._never_there = 0
        self._first_looks: dict[str, _FirstLook] = {}  # by data set

    def see(self, job: Job, record: Record, reason: str | None, *, reused: bool) -> None:
        """What became of one sample.

        Args:
            reason: why it was asked.
            reused: it was not; there is an answer from before.

        Raises:
            StopRun: no sample can be answered. Where only this data set cannot, it is `stopped`.
        """
        self._count_failures(job, record, reused=reused)
        if reused:
            return
        if self._refused is not None:
            self._see_refusal(job, record, reason)
        self._see_status(record)
        if job.first_look is not None:
            if job.dataset not in self._first_looks:
                self._first_looks[job.dataset] = _FirstLook(job, job.first_look, self._model)
            self._first_looks[job.dataset].see(record)

    def see_late(self, job: Job, record: Record) -> None:
        """What became of a sample that was under way when the run stopped."""
        if self._refused is not None and _status_code(record) in REFUSED_STATUS:
            self._refused.append((job, record))

    def taken_back(self) -> list[tuple[Job, Record]]:
        """Records that replace others once the run is over.

        If all was refused, that says nothing about the samples: they failed, and are asked again
        when the server or the settings were mended.
        """
        refused, self._refused = self._refused or [], None
        return [(job, {**record, "status": Status.FAILED}) for job, record in refused]

    def _see_refusal(self, job: Job, record: Record, reason: str | None) -> None:
        assert self._refused is not None
        if _status_code(record) not in REFUSED_STATUS:
            self._refused = None
            return
        if reason != REFUSED_AGAIN:  # the second time, and on demand: then it is the sample
            self._refused.append((job, record))
        if len(self._refused) >= ENOUGH:
            raise StopRun(
                f'model "{self._model}": the first {ENOUGH} requests were all refused, so '
                f"the request itself must be wrong. The server said: {record['error']['message']}"
            )

    def _see_status(self, record: Record) -> None:
        """Sample after sample fails for a reason that is no sample's."""
        code, kind = _status_code(record), (record.get("error") or {}).get("class")
        if record["status"] == Status.OK or record.get("raw") is not None or record.get("turns"):
            self._has_answers = True
        self._misplaced = self._misplaced + 1 if code in MISPLACED_STATUS else 0
        never_there = not self._has_answers and (
            code in AWAY_STATUS or kind in AWAY_KINDS or kind == "timeout"
        )
        self._never_there += never_there
        if self._misplaced >= FAILURES_IN_A_ROW or (
            never_there and self._never_there >= NEVER_THERE
        ):
            raise StopRun(
                f'model "{self._model}": {max(self._misplaced, self._never_there)} samples in a '
                f"row got {record['error']['message']}. Answers so far are kept; --mode eval "
                "scores them."
            )

    def _count_failures(self, job: Job, record: Record, *, reused: bool) -> None:
        stage, failures = _failed_function(record), job.failures_in_a_row
        if stage is None:
            for succeeded in ("preprocess", "postprocess", "generate")[: 2 if reused else 3]:
                failures[succeeded] = 0
            return
        failures[stage] += 1
        if failures[stage] >= FAILURES_IN_A_ROW and not self._skip_errors:
            job.stopped = StopRun(
                f"{job.dataset}: the {stage} function failed {FAILURES_IN_A_ROW} times in a row; "
                "this data set was stopped (set SKIP_ERR=1 to go on in spite of failures). The "
                f"last failure:\n{record['error'].get('trace') or record['error']['message']}"
            )


class _FirstLook:
    """Looks once at what first came of one data set."""

    def __init__(self, job: Job, scorer: Scorer, model: str) -> None:
        self._job, self._scorer, self._model = job, scorer, model
        self._answers: dict[str, Record] | None = {}
        self._failures: list[Record] | None = []  # None once something was answered

    def see(self, record: Record) -> None:
        """One more sample that was asked."""
        if record["status"] != Status.OK:
            self._see_failure(record)
            return
        self._failures = None
        if self._answers is None:
            return
        self._answers[record["key"]] = record
        if len(self._answers) >= ENOUGH:  # a smaller data set is over before anyone could stop it
            answers, self._answers = self._answers, None
            try:  # parse functions see samples in file order
                self._look([answers[s.key] for s in self._job.samples if s.key in answers])
            except StopRun as why:
                dataset = self._job.dataset
                self._job.stopped = StopRun(
                    f"{dataset}: stopped after the first {ENOUGH} answers: {why}"
                )

    def _see_failure(self, record: Record) -> None:
        if self._failures is None:
            return
        self._failures.append(record)
        if len(self._failures) < ENOUGH:
            return
        if len({_kind_of(failure) for failure in self._failures}) == 1:
            self._warn(
                f"none of the first {ENOUGH} samples has an answer, all {record['status']} alike; "
                f"the last one: {(record.get('error') or {}).get('message')}"
            )
        self._failures = None

    def _look(self, records: Sequence[Record]) -> None:
        samples = [self._scorer.judge(record) for record in records]
        counts, of = self._scorer.counts, f"of the first {ENOUGH} answers"
        if counts["spent"] == ENOUGH:
            self._warn(
                f"all {of} are empty: the model used all its tokens before it answered "
                "(reasoning); raise max_tokens"
            )
            return
        if counts["cut_off"] == ENOUGH:
            self._warn(f"all {of} were cut off at the token limit")
        if counts["spoilt"] > ENOUGH / 2:
            self._warn(f"the postprocess function failed on {counts['spoilt']} {of}; "
                       f"{_one_of(samples, 'None')}")  # fmt: skip
        if counts["unparsed"] > ENOUGH / 2:
            self._warn(f"{counts['unparsed']} {of} could not be read by the parse "
                       f"function; {_one_of(samples, 'unparsed')}")  # fmt: skip

    def _warn(self, text: str) -> None:
        print(f"warning: {self._model}, {self._job.dataset}: {text}", flush=True)


def _one_of(samples: Sequence[ScoredSample], verdict: str) -> str:
    odd = next(sample for sample in samples if str(sample.judgement.verdict) == verdict)
    return f"one of them: {odd.prediction[:200]!r}"


def _kind_of(record: Record) -> tuple[object, ...]:
    error = record.get("error") or {}
    return record["status"], error.get("class"), error.get("status_code")


def _status_code(record: Record) -> int | None:
    code: int | None = (record.get("error") or {}).get("status_code")
    return code


def _failed_function(record: Record) -> str | None:
    """Which function failed: one of the user's, or "generate", the model's own."""
    kind: str = (record.get("error") or {}).get("class", "")
    if kind == "model":
        return "generate"
    return kind.removesuffix(" function") if kind.endswith(" function") else None

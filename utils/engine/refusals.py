"""A server that refuses everything: then it is the request, and no sample is to blame."""

from __future__ import annotations

from collections.abc import Callable

from utils.contracts import Record, Status
from utils.engine.jobs import Job
from utils.engine.retry_policy import REFUSED_STATUS
from utils.errors import StopRun

FIRST_REFUSALS = 20
REFUSED_AGAIN = f"{Status.REFUSED} last time"  # as `AnswerIndex.reason_to_ask` says it


class Refusals:
    """Watches what comes of a run's requests until one is not refused.

    As long as there is none, refused samples count as failed once the run is over, be it because
    there are so many that it stops or because nothing is left to ask: they are asked again when the
    server or the settings were mended.

    Args:
        clean: removes secrets from a record.
    """

    def __init__(self, model: str, clean: Callable[[Record], Record]) -> None:
        self._model, self._clean = model, clean
        self._all: list[tuple[Job, Record]] | None = []  # None once something was not refused

    def see(self, job: Job, record: Record, reason: str | None) -> None:
        """What came of one request.

        Args:
            reason: why it was asked.

        Raises:
            StopRun: the first ones were all refused.
        """
        if self._all is None:
            return
        if not _was_refused(record):
            self._all = None
            return
        if reason != REFUSED_AGAIN:  # the second time, and on demand: then it is the sample
            self._all.append((job, record))
        if len(self._all) >= FIRST_REFUSALS:
            raise StopRun(
                f'model "{self._model}": the first {FIRST_REFUSALS} requests were all refused, so '
                f"the request itself must be wrong. The server said: {record['error']['message']}"
            )

    def see_late(self, job: Job, record: Record) -> None:
        """What came of a request that was under way when the run stopped."""
        if self._all is not None and _was_refused(record):
            self._all.append((job, record))

    def take_back(self) -> None:
        """The run is over: if all was refused, it says nothing about the samples."""
        for job, refused in self._all or ():
            job.log.append(self._clean({**refused, "status": Status.FAILED}))
        self._all = None


def _was_refused(record: Record) -> bool:
    return (record.get("error") or {}).get("status_code") in REFUSED_STATUS

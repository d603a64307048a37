"""The exchange between run and page: one question at a time, its answer, and the time taken.

The run's thread waits in `ask`; threads of the page's server call everything else.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from models.base import Abandoned, CallError
from models.human.questions import Question

FAREWELL_S = 1.5  # for an open page to hear that the run is over


class _Clock:
    """Counts seconds while it runs."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._since: float | None = None
        self.seconds: float | None = None  # None: it never ran

    def set_running(self, is_running: bool) -> None:
        if self._since is not None:
            self.seconds = (self.seconds or 0.0) + self._now() - self._since
        self._since = self._now() if is_running else None


class Desk:
    """One question at a time for a page that may come, go and be loaded again."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._changed = threading.Condition()
        self._version = 1
        self._number = 0  # of the question, among all of this object's
        self._question: Question | None = None
        self._position: dict[str, Any] | None = None  # of the sample, in its data set
        self._clock = _Clock(now)
        self._outcome: tuple[str | None, float | None] | None = None  # reply (None: skipped), time
        self._is_over = False
        self._was_asking = False  # when the run stopped
        self._page_version = 0  # of the state that a page got last

    # -- the run ----------------------------------------------------------------------------------

    def announce(self, dataset: str, index: int, count: int) -> None:
        """Note that the next question is of sample `index` of `count` in a data set."""
        with self._changed:
            self._position = {"dataset": dataset, "index": index, "count": count}

    def ask(self, question: Question) -> tuple[str, float | None]:
        """Wait for the answer; return it with the seconds that the person has seen the image.

        Raises:
            CallError: the person skips the question.
            Abandoned: the run has stopped.
        """
        with self._changed:
            self._number += 1
            self._question = question
            self._outcome = None
            self._clock = _Clock(self._now)
            self._publish()
            self._changed.wait_for(lambda: self._outcome is not None or self._is_over)
            self._question = None
            if self._outcome is None:
                raise Abandoned
            self._publish()
            reply, seconds = self._outcome
        if reply is None:
            raise CallError("skipped", "skipped by the person")
        return reply, seconds

    def stop(self) -> None:
        """Note that the run has stopped: nobody waits for an answer any more."""
        with self._changed:
            if not self._is_over:
                self._is_over = True
                self._was_asking = self._question is not None
                self._publish()

    def say_goodbye(self) -> None:
        """Stop, and give an open page the time to note_version of it."""
        self.stop()
        with self._changed:
            if self._page_version:
                self._changed.wait_for(lambda: self._page_version == self._version, FAREWELL_S)

    # -- the page ---------------------------------------------------------------------------------

    def state(self, known_version: int, patience_s: float) -> dict[str, Any]:
        """The state to show, once a page does not know it yet, or after a while."""
        with self._changed:
            self._changed.wait_for(lambda: self._version != known_version, patience_s)
            state: dict[str, Any] = {"version": self._version, "is_over": self._is_over}
            if self._is_over:
                state["was_asking"] = self._was_asking
            if self._position is not None:
                state["place"] = self._position
            if self._question is not None and not self._is_over:
                state["question"] = {"number": self._number, **_as_json(self._question)}
            return state

    def note_version(self, version: int) -> None:
        """Note that a page has got the state of this version."""
        with self._changed:
            self._page_version = version
            self._changed.notify_all()

    def question(self, number: int) -> Question | None:
        """Return the question of this number if it is still open."""
        with self._changed:
            return self._question if self._is_open(number) else None

    def set_clock(self, number: int, is_running: bool) -> None:
        """Count the time while the person sees the image of a question, if that is still open."""
        with self._changed:
            if self._is_open(number):
                self._clock.set_running(is_running)

    def answer(self, number: int, reply: str | None) -> bool:
        """Take the reply to a question, None to skip it; return whether it was still open."""
        with self._changed:
            is_open = self._is_open(number)
            if is_open:
                self._clock.set_running(False)
                self._outcome = reply, self._clock.seconds
                self._changed.notify_all()
            return is_open

    def _is_open(self, number: int) -> bool:
        return number == self._number and self._question is not None and self._outcome is None

    def _publish(self) -> None:
        self._version += 1
        self._changed.notify_all()


def _as_json(question: Question) -> Mapping[str, Any]:
    """Return a question as the page gets it; its images are asked for by their number."""
    return {
        "kind": question.kind,
        "dataset": question.dataset,
        "text": question.text,
        "options": [list(option) for option in question.options],
        "may_be_absent": question.may_be_absent,
        "system": question.system,
        "remark": question.remark,
        "steps": [{"reply": step.reply, "note": step.note} for step in question.steps],
        "applications": list(question.applications),
        "pictures": [{"width": image.wh[0], "height": image.wh[1]} for image in question.pictures],
    }

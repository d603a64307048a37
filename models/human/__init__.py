"""A person as a model: a local page asks, and the answers are stored as any model's replies.

    python evaluate.py --config configs/config_human.json

docs/human.md says how to measure people with it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from models.base import CallError, Generation, Message
from models.human.desk import Desk
from models.human.opening import OpenedPage, has_display
from models.human.questions import question_of
from models.human.server import PageServer


class Human:
    """Asks one person one question at a time, on a page that opens with the first one."""

    one_by_one = True  # one question, one task, one data set after the other
    answers_version = "1"  # what people have answered stays, however the page changes

    def __init__(self) -> None:
        self._desk = Desk()
        self._server: PageServer | None = None
        self._opened: OpenedPage | None = None

    def announce(self, dataset_name: str, sample_count: int, index: int) -> None:
        """Note which sample of a data set the next question is of."""
        self._desk.announce(dataset_name, index, sample_count)

    def generate(self, message: Sequence[Message], *, dataset_name: str) -> Generation:
        """The person's answer, with the time from seeing the image to confirming it.

        Raises:
            CallError: the person skips the question, or it cannot be shown.
            Abandoned: the run has stopped.
        """
        try:
            question = question_of(message, dataset_name)
        except (OSError, ValueError) as error:
            raise CallError("model", str(error)) from error
        if self._server is None:
            self._server = PageServer(self._desk)
            address = self._server.address
            print(f"\nThe questions are at {address}", file=sys.stderr, flush=True)
            if has_display():
                self._opened = OpenedPage(address)
        reply, seconds = self._desk.ask(question)
        return Generation(reply, latency_s=seconds)

    def abandon(self) -> None:
        """Wait no longer: the run has stopped."""
        self._desk.stop()

    def close(self) -> None:
        """Close the page: the run is over."""
        if self._server is not None:
            self._server.close()
            self._server = None
        if self._opened is not None:
            self._opened.close()
            self._opened = None

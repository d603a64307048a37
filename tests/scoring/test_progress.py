"""What a run says of its pace where no bar can be drawn."""

import os
import pty
import re
import sys
import termios
import time

import pytest

from tests.support.mock_server import Reply
from tests.support.stage import L2
from utils.scoring.console import ConsoleProgress, pace


@pytest.mark.parametrize(
    ("done", "took_s", "samples_left", "expected_text"),
    [
        (0, 60, 100, ""),
        (50, 0.5, 50, ""),  # nothing was queried; it was over at once
        (100, 10, 900, ", 10.0 a second, about 2 min left"),
        (100, 10, 20, ", 10.0 a second, about 2 s left"),
        (10, 125, 1000, ", 12.5 s each, about 3 h 28 min left"),
        (100, 50, 0, ", 2.0 a second"),
        (10, 10, 40, ", 1.0 a second, about 40 s left"),
        (10, 10, 60, ", 1.0 a second, about 1 min left"),
        # the first answers contain the start of a browser, of a checkpoint, of a server
        (1, 12, 197, ", 12.0 s each"),
        (2, 50, 18, ", 25.0 s each"),
        (2, 2, 1, ", 1.0 a second"),
        (2, 60, 0, ", 30.0 s each"),
        (9, 8, 279, ", 1.1 a second"),
        (30, 4, 258, ", 7.5 a second"),
        (10, 5, 278, ", 2.0 a second, about 2 min left"),
        # nobody waits for the tenth of answers that take half a minute
        (3, 59, 18, ", 19.7 s each"),
        (3, 60, 18, ", 20.0 s each, about 6 min left"),
    ],
)
def test_pace_is_told_by_what_was_queried(done, took_s, samples_left, expected_text):
    assert pace(done, took_s, samples_left) == expected_text


def test_a_piped_run_ends_with_what_became_of_all_samples(capsys):
    progress = ConsoleProgress(3, "m")
    for status, reused in (("ok", True), ("ok", False), ("failed", False)):
        progress.advance(status, reused=reused)
    progress.close()
    assert capsys.readouterr().err == "m: 3/3 (1 answered, 1 failed, 1 reused)\n"


def test_a_piped_run_that_was_interrupted_says_how_far_it_came(capsys):
    progress = ConsoleProgress(9, "m")
    for status in ("ok", "ok", "failed"):
        progress.advance(status, reused=False)
    progress.close()
    expected_line = "m: stopped after 3 of 9 samples; 2 of these have a reply\n"
    assert capsys.readouterr().err == expected_line
    ConsoleProgress(9, "m").close()
    assert capsys.readouterr().err == ""


def test_three_replies_without_an_answer_are_shown_each_once(staged):
    stage = staged(answer=lambda request: Reply(f"I see target {request.text[-2]}" + "!" * 99))
    ran = stage.run("--no-report", "--data", L2)
    assert ran.output.count("    such as 'I see target") == 3
    assert len(set(re.findall("such as .*", ran.output))) == 3
    assert max(len(line) for line in ran.output.splitlines() if "such as" in line) <= 104


class Terminal:
    """A pseudo-terminal of so many columns in the place of stderr; `shown` is what it was sent."""

    def __init__(self, columns):
        self._reader, writer = pty.openpty()
        termios.tcsetwinsize(writer, (24, columns))
        self.stream = os.fdopen(writer, "w", encoding="utf-8")

    def shown(self):
        """The states of the bar, one after the other."""
        print("THE END", file=self.stream, flush=True)
        text = b""
        while b"THE END" not in text:
            text += os.read(self._reader, 1 << 20)
        states = re.split(r"[\r\n]+", text.decode().partition("THE END")[0])
        return [state for state in states if state.strip()]


@pytest.mark.parametrize(
    ("reused", "answered", "took_s", "has_estimate"),
    [
        (0, 0, 9, False),
        (0, 9, 9, False),
        (30, 9, 9, False),
        (0, 10, 4, False),
        (0, 10, 5, True),
        (30, 10, 5, True),
        (0, 2, 99, False),
        (0, 3, 99, True),
    ],
)
def test_a_bar_estimates_nothing_before_there_are_enough_answers(
    reused, answered, took_s, has_estimate, monkeypatch
):
    terminal = Terminal(120)
    monkeypatch.setattr(sys, "stderr", terminal.stream)
    now_s = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    progress = ConsoleProgress(54, "m")
    now_s += took_s
    for number in range(reused + answered):
        progress.advance("ok", reused=number < reused)
    progress.close()
    *_, last = terminal.shown()
    assert f"{reused + answered}/54 [" in last
    assert ("<" in last) == has_estimate


@pytest.mark.parametrize(
    ("columns", "label", "has_counts"),
    [(0, "m", True), (120, "m", True), (60, "m", False), (80, "a-very-long-name" * 4, False)],
)
def test_a_bar_fits_its_terminal_and_cuts_no_number(columns, label, has_counts, monkeypatch):
    terminal = Terminal(columns)
    monkeypatch.setattr(sys, "stderr", terminal.stream)
    now_s = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    progress = ConsoleProgress(54, label)
    now_s += 60  # the bar has its estimate, too
    for number in range(54):
        progress.advance("ok" if number % 2 else "failed", reused=False)
    progress.close()
    states = terminal.shown()
    assert max(map(len, states)) <= (columns or 80)
    assert "54/54" in states[-1]
    counts = re.findall("answered=.*|failed=.*", states[-1])
    assert counts == (["answered=27, failed=27]"] if has_counts else [])

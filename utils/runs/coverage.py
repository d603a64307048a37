"""What a score leaves out, or takes from elsewhere: told after the run and in the analysis.

Whoever reads a score takes it for all that was asked for, answered in one go. Where that is not so,
a line says it, and nothing here is ever guessed at.
"""

from __future__ import annotations

from typing import Any

from utils.contracts import is_later_turn
from utils.runs.view import LogView
from utils.scoring.scorer import Selection

SECTION = "coverage"


def nothing_there(log: LogView, mode: str) -> str:
    """Why not one sample of a mode can be scored, and what to do."""
    if log.has(mode):
        others = f"; {_others(log)}" if log.apart else ""
        return (
            f"the newest run has no answer yet{others}. The same command without --mode eval asks"
        )
    return (
        f"the log covers mode {log.mode}, the config wants mode {mode}. The same command without "
        "--mode eval asks it"
    )


class Told:
    """What there is to say of one scoring.

    Args:
        log: open, so that what it has borrowed can be counted.
        records: the selection that is scored; looked at once it has been gone through.
        mode: the config's.
        circular: rotations are scored, too.
    """

    def __init__(self, log: LogView, records: Selection, mode: str, *, circular: bool) -> None:
        self._log, self._records, self._mode = log, records, mode
        self._rotations = sum(map(is_later_turn, log.carried)) if circular else 0

    def section(self) -> dict[str, dict[str, Any]]:
        """The section of the analysis, by its name; none where there is nothing to know."""
        warnings = self._warnings()
        if not warnings:
            return {}
        return {SECTION: {
            "title": "What the score rests on",
            "left_out": len(self._log.left_out),
            "from_other_runs": self._records.borrowed,
            "warnings": warnings,
        }}  # fmt: skip

    def lines(self, dataset: str, limit: int | None) -> list[str]:
        """For the console, each whole in itself."""
        found = [f"{dataset}: {warning}" for warning in self._warnings()]
        if self._is_short_of(limit):
            found.append(
                f"{dataset}: the log covers the first {self._log.limit} samples only; the same "
                "command without --mode eval asks the others"
            )
        return found

    def is_all(self, limit: int | None) -> bool:
        """Whether all was scored that was asked for, bad samples included."""
        log = self._log
        return log.has(self._mode) and not log.left_out and not self._is_short_of(limit)

    def _is_short_of(self, limit: int | None) -> bool:
        return limit is not None and self._log.limit is not None and self._log.limit < limit

    def _warnings(self) -> list[str]:
        log, found = self._log, []
        if log.left_out:
            of_which = "" if log.mode in (self._mode, None) else f" of mode {log.mode}"
            found.append(
                f"{_samples(len(log.left_out))}{of_which} left out, bad data: not asked and not in "
                "the score; the log names them"
            )
        if not log.has(self._mode):
            found.append(f"the log covers mode {log.mode} alone, not all of mode {self._mode}")
        if self._records.borrowed or self._rotations:
            what = f"{self._records.borrowed} of {self._records.taken} answers"
            what += f" and {self._rotations} rotations" if self._rotations else ""
            began = ", ".join(_shown_time(each) for each in log.lenders)
            found.append(
                f"{what} are those of other runs in this log, with the same settings (begun "
                f"{began}): the newest run was stopped before it came to these samples"
            )
        if log.apart:
            found.append(f"{_others(log)}; they are not mixed in")
        return found


def _others(log: LogView) -> str:
    differences = ", ".join(log.differences)
    return f"{_samples(log.apart)} answered by runs that asked otherwise ({differences})"


def _samples(count: int) -> str:
    return "1 sample" if count == 1 else f"{count} samples"


def _shown_time(text: str) -> str:
    return text[:16].replace("T", " ") + " UTC" if text else "at an unknown time"

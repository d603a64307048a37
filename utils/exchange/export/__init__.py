"""The forms in which results are handed on.

A form is a module here: `NAME`, `TITLE`, `IS_FIGURE` (it gives figures that others set beside
theirs, so it wants whole runs on published data), `IS_OF_ONE` (a file is about one data set),
`takes`, `file_name`, `content` and `next_steps`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from utils.errors import UserError
from utils.exchange.export import (
    bundle,
    clawgui,
    eval_results,
    inspect_log,
    lm_eval,
    model_index,
    samples_csv,
    screenspot_pro,
    screenspot_pro_leaderboard,
)
from utils.exchange.export.run import ExportedRun, ExportedSet
from utils.text import did_you_mean, listed


class Form(Protocol):
    """A module of this package."""

    @property
    def NAME(self) -> str:
        """As `--export` has it."""

    @property
    def TITLE(self) -> str:
        """As people read it."""

    @property
    def IS_FIGURE(self) -> bool:
        """Whether others set its figures beside theirs."""

    @property
    def IS_OF_ONE(self) -> bool:
        """Whether a file is about one data set."""

    def takes(self, dataset: ExportedSet, /) -> bool:
        """Whether the form can hold a data set."""

    def file_name(self, run: ExportedRun, /) -> str:
        """The name of the file, below the folder for exports."""

    def content(self, run: ExportedRun, /) -> bytes:
        """The content of the file."""

    def next_steps(self, run: ExportedRun, path: str, /) -> Sequence[str]:
        """The user's next steps with the file; this program sends nothing."""


FORMS: tuple[Form, ...] = (
    bundle,
    samples_csv,
    screenspot_pro,
    screenspot_pro_leaderboard,
    clawgui,
    eval_results,
    model_index,
    lm_eval,
    inspect_log,
)


def form_named(name: str) -> Form:
    """The form of a name.

    Raises:
        UserError: there is none.
    """
    by_name = {form.NAME: form for form in FORMS}
    if name in by_name:
        return by_name[name]
    raise UserError(
        f"--export {name}: no such form{did_you_mean(name, by_name)}; the forms are "
        f"{listed([*by_name], 20)} (docs/exporting.md)"
    )

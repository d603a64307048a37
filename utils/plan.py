"""Everything that was found in order before the first model call."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from utils.config.options import Options
from utils.config.read import RunConfig
from utils.config.secret_filter import SecretFilter
from utils.contracts import ModelWrapper
from utils.errors import problem_report
from utils.runs.folder import RunFolder


class DataSet(Protocol):
    """One data set as a run sees it; `benchmarks.data_set.DataSet` is the real one."""

    @property
    def benchmark(self) -> Any: ...
    @property
    def mode(self) -> str: ...
    @property
    def parse(self) -> Any: ...
    @property
    def loaded(self) -> Any: ...
    @property
    def bad_samples(self) -> list[str]: ...
    @property
    def circular(self) -> Any: ...
    def asked(self, limit: int | None) -> Any: ...


@dataclass
class Plan:
    """What will be run: one model after the other, each on every data set.

    Attributes:
        written: the folders that this run has worked in, each with the data sets it covered there.
        scored: of those, what was scored; the rest could not be.
        stopped: what ended a combination of model and data set early, one line each.
        shows_problems: print those; False where the caller gets them as an error.
    """

    options: Options
    config: RunConfig
    dump: Mapping[str, Any]
    models: dict[str, ModelWrapper]
    data: Mapping[str, DataSet]
    secrets: SecretFilter
    written: dict[RunFolder, list[str]] = field(default_factory=dict)
    scored: dict[RunFolder, list[str]] = field(default_factory=dict)
    stopped: list[str] = field(default_factory=list)
    shows_problems: bool = True

    def stop(self, problems: Sequence[str]) -> None:
        """Notes why a combination of model and data set cannot go on; the others do."""
        self.stopped += problems
        if self.shows_problems:
            print(problem_report(problems, ran=True), file=sys.stderr)

    @property
    def bad_samples(self) -> list[str]:
        """All samples that are left out."""
        return [line for data in self.data.values() for line in data.bad_samples]

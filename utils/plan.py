"""Everything that was found in order before the first model call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from utils.cli import Options
from utils.config import RunConfig
from utils.contracts import ModelWrapper
from utils.secrets import SecretFilter


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


@dataclass
class Plan:
    """What will be run: one model after the other, each on every data set."""

    options: Options
    config: RunConfig
    dump: Mapping[str, Any]
    models: dict[str, ModelWrapper]
    data: Mapping[str, DataSet]
    secrets: SecretFilter

    @property
    def bad_samples(self) -> list[str]:
        """All samples that are left out."""
        return [line for data in self.data.values() for line in data.bad_samples]

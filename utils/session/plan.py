"""What a run will do: every model on every data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from utils.config.options import Options
from utils.config.secret_filter import SecretFilter
from utils.contracts import DataSet, ModelWrapper
from utils.judging.judge import Judge
from utils.session.evaluation import Evaluation


@dataclass(frozen=True)
class Plan:
    """What will be run, found in order before the first query."""

    options: Options
    models: Mapping[str, ModelWrapper]
    data: Mapping[str, DataSet]
    evaluations: Mapping[str, Sequence[Evaluation]]  # of each model, in the order of the data sets
    secrets: SecretFilter
    judges: Mapping[str, Judge] = field(default_factory=dict)  # by data set
    warnings: int = 0  # printed while this was made

    @property
    def bad_samples(self) -> list[str]:
        """All samples that are left out."""
        return [line for data in self.data.values() for line in data.bad_grouped]

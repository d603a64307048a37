"""The plan of a run: every model on every data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from utils.config.options import Options
from utils.config.schema import ModelEntry
from utils.config.secret_filter import SecretFilter
from utils.contracts import DataSet, ModelWrapper
from utils.engine.ranks.group import SHARED_TYPES, Rank
from utils.judging.judge import Judge
from utils.session.evaluation import Evaluation


def has_replicas(entry: ModelEntry | None) -> bool:
    """Whether a run starts several servers of a model."""
    return getattr(entry, "replicas", None) is not None


@dataclass(frozen=True)
class Plan:
    """The models, data sets and evaluations of a run, prepared before the first query."""

    options: Options
    models: Mapping[str, ModelWrapper]
    data: Mapping[str, DataSet]
    evaluations: Mapping[str, Sequence[Evaluation]]  # of each model, in the order of the data sets
    secrets: SecretFilter
    judges: Mapping[str, Judge] = field(default_factory=dict)  # by data set
    warnings: int = 0  # printed while this was made
    rank: Rank | None = None  # of this process, where several work on the plan

    @property
    def shared_models(self) -> list[str]:
        """The models whose samples the ranks of torchrun share."""
        return [
            name
            for name, evaluations in self.evaluations.items()
            if evaluations[0].entry.imp_type in SHARED_TYPES
        ]

    @property
    def spread_models(self) -> list[str]:
        """The models of which every machine of the ranks starts servers."""
        if self.rank is None or self.rank.machines == 1:
            return []
        return [
            name
            for name, evaluations in self.evaluations.items()
            if has_replicas(evaluations[0].entry)
        ]

    @property
    def bad_samples(self) -> list[str]:
        """All samples that are left out."""
        return [line for data in self.data.values() for line in data.bad_grouped]

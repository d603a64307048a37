"""What a run will do: every model on every data set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from utils.config.environment import is_set
from utils.config.options import Options
from utils.config.schema import RunConfig, token_limit_key
from utils.config.secret_filter import SecretFilter
from utils.contracts import DataSet, ModelWrapper, ParseFunction
from utils.functions.signatures import parse_caller
from utils.import_utils import resolve
from utils.judging.judge import Judge
from utils.scoring.scorer import Scorer
from utils.zooming import Zoom


@dataclass(frozen=True)
class Plan:
    """What will be run, found in order before the first query: every model on every data set."""

    options: Options
    config: RunConfig
    dump: Mapping[str, Any]  # the config without secrets
    models: dict[str, ModelWrapper]
    data: Mapping[str, DataSet]
    secrets: SecretFilter
    judges: Mapping[str, Judge] = field(default_factory=dict)  # by data set
    warnings: int = 0  # printed while this was made
    # what stops a model or data set is not printed: the caller gets it as an error
    is_quiet: bool = False

    @property
    def bad_samples(self) -> list[str]:
        """All samples that are left out."""
        return [line for data in self.data.values() for line in data.bad_grouped]

    def parse(self, name: str, dataset: str) -> ParseFunction:
        """Return what reads the replies of one model to one data set."""
        if dataset not in self.config.model[name].parse_function:
            return self.data[dataset].parse
        dotted, key = self.config.parser_of(name, dataset)
        return parse_caller(resolve(str(dotted), role=key))

    def zoom(self, name: str, dataset: str) -> Zoom | None:
        """Return how a model looks again at the samples of a data set; None: it does not."""
        entry = self.config.model[name]
        is_asked_otherwise = dataset in entry.follow_up
        if (
            entry.zoom is None
            or is_asked_otherwise
            or not self.data[dataset].benchmark.is_grounding
        ):
            return None
        return Zoom.of(entry.zoom.model_dump())

    def protocol(self, name: str, dataset: str) -> str:
        """Return how often a sample is asked: "single", "zoom" or "follow-up"."""
        if dataset in self.config.model[name].follow_up:
            return "follow-up"
        return "single" if self.zoom(name, dataset) is None else "zoom"

    def scorer(self, name: str, dataset: str, *, skip_errors: bool = False) -> Scorer:
        """Return what judges the replies of one model to one data set."""
        entry, data = self.config.model[name], self.data[dataset]
        parser, parser_setting = self.config.parser_of(name, dataset)
        functions = {
            "prompt": entry.custom_prompt.get(dataset),
            "preprocess": entry.preprocess_function,
            "postprocess": entry.postprocess_function,
            "parse": parser,
            "follow_up": entry.follow_up.get(dataset),
        }
        return Scorer(
            data.benchmark,
            postprocess=self.models[name].postprocess(dataset),
            parse=self.parse(name, dataset),
            kwargs=entry.kwargs,
            skip_errors=skip_errors or is_set("SKIP_ERR"),
            functions={stage: dotted for stage, dotted in functions.items() if dotted},
            token_limit=token_limit_key(self.dump["model"][name]),
            parser_setting=parser_setting,
            zoom=self.zoom(name, dataset),
        )

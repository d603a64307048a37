"""What a run will do: every model on every data set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from utils.config.environment import is_set
from utils.config.options import Options
from utils.config.schema import RunConfig, token_limit_key
from utils.config.secret_filter import SecretFilter
from utils.config.text import key_path
from utils.contracts import DataSet, ModelWrapper, ParseFunction, Record
from utils.coordinates import Frame, parse_function_name
from utils.functions.signatures import parse_caller
from utils.import_utils import resolve
from utils.judging.judge import Judge
from utils.protocol import FOLLOW_UP, SINGLE, ZOOM
from utils.scoring.scorer import Scorer
from utils.thinking import PARSE_OPTION
from utils.zooming import Zoom

GROUNDING_PARSERS = [
    parse_function_name(frame, y_first=y_first) for y_first in (False, True) for frame in Frame
]


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
            return FOLLOW_UP
        return SINGLE if self.zoom(name, dataset) is None else ZOOM

    def parser_setting(self, name: str, dataset: str) -> str:
        """Return the key path that sets what reads the replies of one model, and of no other."""
        if len(self.config.model) > 1:
            return key_path("model", name, "parse_function", dataset)
        _, key = self.config.parser_of(name, dataset)
        return key

    def _other_parsers(
        self, name: str, dataset: str, configured: str | None
    ) -> dict[str, ParseFunction]:
        """Return what could read replies in place of what does: of the model's recipe, and ours."""
        benchmark = self.data[dataset].benchmark
        if benchmark.acts:
            return {}  # the benchmark tries its own
        parsers: dict[str, ParseFunction] = {}
        filled_in = self.config.recipes.get(name)
        if filled_in is not None and benchmark.is_grounding:
            parsers |= filled_in.recipe.parse_functions(filled_in.module)
        for dotted in GROUNDING_PARSERS if benchmark.is_grounding else (PARSE_OPTION,):
            parsers[dotted] = resolve(dotted, role=dotted)
        return {
            dotted: parse_caller(parse) for dotted, parse in parsers.items() if dotted != configured
        }

    def scorer(
        self,
        name: str,
        dataset: str,
        *,
        skip_errors: bool = False,
        run: Record | None = None,
    ) -> Scorer:
        """Return what judges the replies of one model to one data set.

        Args:
            name: of the model.
            dataset: of the data set.
            skip_errors: go on however often a user's function fails.
            run: the record of the run that has asked, if it is another one.
        """
        entry, data = self.config.model[name], self.data[dataset]
        parser, _ = self.config.parser_of(name, dataset)
        zoom, is_other_parser = self.zoom(name, dataset), False
        if run and run.get("config"):
            zoom = zoom_of_run(run, name)
            is_other_parser = parser_of_run(run, name, dataset) != parser
        others = {} if zoom is not None else self._other_parsers(name, dataset, parser)
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
            parser_setting=self.parser_setting(name, dataset),
            other_parsers=others,
            zoom=zoom,
            is_other_parser=is_other_parser,
        )


def entry_of_run(run: Record, name: str) -> Mapping[str, Any]:
    """Return a model's entry in the config of a logged run."""
    models = (run.get("config") or {}).get("model") or {}
    entry: Mapping[str, Any] = models.get(name) or {}
    return entry


def zoom_of_run(run: Record, name: str) -> Zoom | None:
    """Return how a logged run looked again at samples; None: it did not."""
    settings = entry_of_run(run, name).get("zoom")
    if run.get("protocol") != ZOOM or not settings:
        return None
    return Zoom.of(settings)


def parser_of_run(run: Record, name: str, dataset: str) -> str | None:
    """Return the dotted path of what read replies in a logged run; None: the default."""
    of_model: str | None = (entry_of_run(run, name).get("parse_function") or {}).get(dataset)
    if of_model:
        return of_model
    data = (run.get("config") or {}).get("data") or {}
    of_data: str | None = (data.get(dataset) or {}).get("parse_function")
    return of_data or None

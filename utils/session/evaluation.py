"""An evaluation: one model on one data set, made once from the config."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from utils.config.environment import is_set
from utils.config.options import Options
from utils.config.recipes import EntryWithRecipe
from utils.config.schema import ModelEntry, token_limit_key
from utils.config.secret_filter import SecretFilter
from utils.contracts import (
    KWARGS_WITHOUT_EFFECT,
    Benchmark,
    DataSet,
    ModelWrapper,
    ParseFunction,
    Record,
)
from utils.coordinates import PIXEL_LIMITS
from utils.functions.fingerprints import code_digest
from utils.functions.prompting import Prompting
from utils.functions.signatures import parse_caller, takes_settings
from utils.geometry.resizing import TOKEN_SIDES, ResizeStep, steps_of
from utils.geometry.zooming import Zoom
from utils.judging.judge import Judge
from utils.protocol import FOLLOW_UP, SINGLE, ZOOM
from utils.scoring.doubtful import DoubtfulRows
from utils.scoring.scorer import Scorer
from utils.store.logged_config import entry_of_run, parser_of_run, zoom_of_run
from utils.text import resized_by


@dataclass(frozen=True, slots=True)
class UserFunction:
    """A function, or a class, that the config names."""

    dotted: str
    function: Callable[..., Any]


@dataclass(kw_only=True, eq=False)
class Evaluation:
    """One model on one data set, with the user's functions resolved.

    All that asks, resumes, scores or describes takes it.
    """

    options: Options
    config: Mapping[str, Any]  # the whole config, without secrets
    secrets: SecretFilter
    entry: ModelEntry  # of the model
    model: ModelWrapper
    data: DataSet
    # The user's, by stage: "prompt", "preprocess", "postprocess", "parse", "follow_up".
    functions: Mapping[str, UserFunction]
    parser_setting: str  # the key path that sets what reads the replies of this model alone
    recipe: EntryWithRecipe | None = None
    judge: Judge | None = None
    doubtful: DoubtfulRows | None = None  # that a second figure leaves out

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.model.name

    @property
    def benchmark(self) -> Benchmark:
        """The benchmark of the data set."""
        return self.data.benchmark

    @property
    def dataset(self) -> str:
        """The name of the data set."""
        return self.benchmark.name

    @property
    def shown_entry(self) -> Mapping[str, Any]:
        """The model's entry in the config, without secrets."""
        entry: Mapping[str, Any] = self.config["model"][self.name]
        return entry

    @property
    def by_recipe(self) -> list[str]:
        """The key paths of the settings of images that the recipe has set."""
        return self.recipe.image_settings if self.recipe is not None else []

    def by_recipe_in(self, run: Record) -> list[str]:
        """The same, as far as a logged run had the values that the recipe has set now."""
        then = entry_of_run(run, self.name).get("kwargs") or {}
        now = self.shown_entry.get("kwargs") or {}
        names = {path: path.removeprefix("kwargs.") for path in self.by_recipe}
        return [path for path, name in names.items() if then.get(name) == now.get(name)]

    def function(self, stage: str) -> Callable[..., Any] | None:
        """The user's function for a stage; None: there is none."""
        user_function = self.functions.get(stage)
        return user_function.function if user_function else None

    @property
    def dotted(self) -> dict[str, str]:
        """The dotted paths of the user's functions, by stage."""
        return {stage: user_function.dotted for stage, user_function in self.functions.items()}

    def judged_by(self) -> list[Callable[..., Any]]:
        """The classes and functions whose code decides the verdicts on replies."""
        functions = [self.function(stage) for stage in ("parse", "postprocess")]
        return [*self.benchmark.judged_by(), *filter(None, functions)]

    def function_code(self) -> dict[str, str]:
        """The hashes of the code of the functions that decide what is asked, by stage."""
        stages = ["prompt", "preprocess", "follow_up"]
        if self.entry.imp_type == "transformers":  # whose log has what that returned
            stages.append("postprocess")
        functions = {stage: self.function(stage) for stage in stages}
        return {
            stage: code_digest(function)[:16] for stage, function in functions.items() if function
        }

    @cached_property
    def parse(self) -> ParseFunction:
        """The function that parses the replies, in one calling form."""
        function = self.function("parse")
        return parse_caller(function) if function else self.data.parse

    @property
    def postprocess(self) -> Callable[[str], str]:
        """The function that makes the text to parse from a raw reply."""
        return self.model.postprocess(self.dataset)

    @cached_property
    def zoom(self) -> Zoom | None:
        """The model's second look at each sample; None: there is none."""
        settings = self.entry.zoom
        is_asked_otherwise = "follow_up" in self.functions
        if settings is None or is_asked_otherwise or self.benchmark.recipe_form != "grounding":
            return None
        return Zoom.of(settings.model_dump())

    @property
    def image_rule(self) -> ResizeStep | None:
        """The resizing rule of the processor of the model's family; None: it is not known."""
        limits = self.recipe.recipe.limits if self.recipe is not None else None
        if limits is not None:
            of_config = {key: self.entry.kwargs.get(key) for key in PIXEL_LIMITS}
            return ResizeStep(
                factor=limits.factor,
                min_pixels=of_config["min_pixels"] or limits.min_pixels,
                max_pixels=of_config["max_pixels"] or limits.max_pixels,
            )
        steps = steps_of(self.entry.kwargs)
        return steps[-1] if steps and steps[-1].factor in TOKEN_SIDES else None

    @property
    def protocol(self) -> str:
        """The protocol of the requests for a sample: "single", "zoom" or "follow-up"."""
        if "follow_up" in self.functions:
            return FOLLOW_UP
        return SINGLE if self.zoom is None else ZOOM

    @cached_property
    def prompting(self) -> Prompting:
        """The functions and settings that make its prompts."""
        function = self.function("prompt")
        kwargs = self.entry.kwargs
        settings: Mapping[str, Any] = {}
        if function and takes_settings(function):
            settings = {key: kwargs[key] for key in kwargs if key not in KWARGS_WITHOUT_EFFECT}
        return Prompting(self.benchmark, kwargs.get("system_prompt"), function, settings)

    def scorer(self, *, skip_errors: bool = False, run: Record | None = None) -> Scorer:
        """A new judge of its replies.

        Args:
            skip_errors: go on however often a user's function fails.
            run: the record of the run that has asked, if it is another one.
        """
        zoom, by_recipe, is_other_parser = self.zoom, self.by_recipe, False
        dotted = self.dotted.get("parse")
        if run and run.get("config"):
            zoom = zoom_of_run(run, self.name)
            by_recipe = self.by_recipe_in(run)
            is_other_parser = parser_of_run(run, self.name, self.dataset) != dotted
        return Scorer(
            self.benchmark,
            postprocess=self.postprocess,
            parse=self.parse,
            kwargs=self.entry.kwargs,
            skip_errors=skip_errors or is_set("SKIP_ERR"),
            functions=self.dotted,
            token_limit=token_limit_key(self.shown_entry),
            parser_setting=self.parser_setting,
            as_option=self.options.is_typed or self.options.import_path is not None,
            resized_by=resized_by(self.entry.kwargs, by_recipe),
            image_rule=self.image_rule,
            other_parsers=self._other_parsers(dotted) if zoom is None else {},
            recipe_parsers=[*self._parsers_of_recipe()],
            zoom=zoom,
            is_other_parser=is_other_parser,
        )

    def _parsers_of_recipe(self) -> Mapping[str, ParseFunction]:
        """The functions by dotted path that read points as the recipe's authors do."""
        if self.recipe is None or self.benchmark.recipe_form != "grounding":
            return {}
        return self.recipe.recipe.parse_functions(self.recipe.module)

    def _other_parsers(self, configured: str | None) -> dict[str, ParseFunction]:
        """Other functions that could parse the replies: the recipe's, and the program's own."""
        functions = {**self._parsers_of_recipe(), **self.benchmark.parse_functions}
        return {
            dotted: parse_caller(function)
            for dotted, function in functions.items()
            if dotted != configured
        }

"""The config key `recipe`: what a model entry leaves out comes from the recipe of its family.

A recipe is a module with a record `RECIPE` and the functions that it names: one of the program's
("qwen3_vl") or, by its path, one of the user's own ("acme", "my_recipes.acme").
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, cast

from utils.config.text import key_path
from utils.contracts import ParseFunction
from utils.datasets.published import Figure
from utils.errors import UserError
from utils.import_utils import file_beside, module_at
from utils.program import EVALUATE
from utils.text import as_json_text, likeness, listed

PACKAGE = "models.recipes"
SHARED = ("base", "reading", "sources", "agents", "steps")  # of the package: no recipes
STEPS, DESKTOP_STEPS = "steps", "desktop_steps"  # forms of recorded steps
DESKTOP_PARSERS = (
    "benchmarks.actions.dialects.parse_computer_use",
    "benchmarks.actions.dialects.parse_uitars",
    "benchmarks.actions.dialects.parse_pyautogui",
)
NO_STEPS: Mapping[str, str] = MappingProxyType({})
NEAR = 3  # names that are shown for one that is not known
_WHOLE = ("resize",)  # objects that are one value: never half the config's, half the recipe's
TOKEN_LIMITS = (
    "max_completion_tokens",
    "max_tokens",
    "max_new_tokens",
    "max_output_tokens",
    "max_length",
)
_OF_IMAGES = (
    ("kwargs", "min_pixels"),
    ("kwargs", "max_pixels"),
    ("kwargs", "resize"),
    ("kwargs", "img_size"),
)
_SAMPLING = ("do_sample", "temperature", "top_p", "top_k")


class PixelLimits(Protocol):
    """The areas in pixels within which a processor resizes an image, to multiples of a factor."""

    factor: int
    min_pixels: int
    max_pixels: int


class RecipeRecord(Protocol):
    """The part of a recipe's record that a config needs."""

    family: str
    hub_ids: Sequence[str]
    limits: PixelLimits | None
    verified: str
    note: str
    figures: Sequence[Figure]

    def entry(
        self, imp_type: str, module: str, benchmarks: Mapping[str, str], steps: Mapping[str, str]
    ) -> dict[str, Any]:
        """Return a whole model entry but for its path.

        Args:
            imp_type: kind of the model.
            module: dotted path of the recipe, in which its functions are.
            benchmarks: benchmark by data set of the config.
            steps: the form that those of the data sets ask for that are recorded steps.
        """

    def without_form(self, benchmarks: Mapping[str, str], steps: Mapping[str, str]) -> list[str]:
        """Return the data sets that the recipe has no form for."""

    def other_data_sets(self, benchmarks: Mapping[str, str], steps: Mapping[str, str]) -> list[str]:
        """Return the data sets that the generation settings are not made for."""

    def parse_functions(self, module: str) -> Mapping[str, ParseFunction]:
        """Return all that read replies as the authors' code does, by dotted path.

        Args:
            module: dotted path of the recipe, in which they are.
        """

    def second_look(self, module: str, parsers: Mapping[str, str]) -> dict[str, Any] | None:
        """The zoom that `"zoom": true` stands for; None: the family has no zoom.

        Args:
            parsers: the entry's parse functions by data set.
        """


@dataclass(frozen=True, slots=True)
class EntryWithRecipe:
    """A model entry with what its recipe has added, and which values those are."""

    entry: dict[str, Any]
    recipe: RecipeRecord
    from_recipe: frozenset[tuple[str, ...]]  # key paths within the entry
    recipe_values: Mapping[tuple[str, ...], Any]  # by key path, also where the entry has another
    module: str  # dotted path of the recipe

    @property
    def image_settings(self) -> list[str]:
        """The key paths of the settings of images that the recipe has set."""
        return [".".join(path) for path in _OF_IMAGES if path in self.from_recipe]

    def own_settings(self, dataset: str) -> list[str]:
        """The settings of the config in the recipe's place for a data set, beside its value.

        `generate_cfg.temperature 0.7 (recipe: 0)`
        """
        return [
            f"{'.'.join(path)} {as_json_text(value)} "
            f"(recipe: {as_json_text(self.recipe_values.get(path, 'none'))})"
            for path, value in values_in(self.entry)
            if path not in self.from_recipe
            and (path[0] == "generate_cfg" or path in _OF_IMAGES or path[1:] == (dataset,))
        ]


def recipe_names() -> list[str]:
    """Return the names of the program's own recipes."""
    return sorted(
        module.name
        for module in pkgutil.iter_modules(module_at(PACKAGE).__path__)
        if module.name not in SHARED
    )


def unknown_recipe(name: str, known_names: Sequence[str]) -> str:
    """The message about a recipe that is not there, with the nearest names."""
    near = sorted(known_names, key=lambda known_name: -likeness(name, known_name))[:NEAR]
    return (
        f'there is no recipe "{name}"; the nearest are {listed(near)} ({EVALUATE} '
        "--recipes lists all)"
    )


def fill_in(
    entry: Mapping[str, Any],
    imp_type: str,
    benchmarks: Mapping[str, str],
    steps: Mapping[str, str] = NO_STEPS,
) -> EntryWithRecipe:
    """Return a model entry with all that it leaves out as its recipe has it; what it says wins.

    Args:
        entry: the model entry.
        imp_type: kind of the model.
        benchmarks: benchmark by data set of the config.
        steps: the form that those of the data sets ask for that are recorded steps.

    Raises:
        UserError: there is no such recipe, or it cannot be used.
    """
    path, recipe = recipe_at(entry["recipe"])
    own_prompts = entry.get("custom_prompt")
    try:
        lacking = [
            dataset
            for dataset in recipe.without_form(benchmarks, steps)
            if not isinstance(own_prompts, Mapping) or dataset not in own_prompts
        ]
        if lacking:
            raise UserError(_no_form(recipe.family, lacking[0], steps.get(lacking[0], "")))
        defaults = recipe.entry(imp_type, path, benchmarks, steps)
    except (AttributeError, TypeError, ValueError) as error:  # a field of another type
        expected = "models/recipes/base.py describes the fields of a Recipe"
        raise UserError(f"{path}.RECIPE cannot be used: {error} ({expected})") from None
    if entry.get("zoom") is True:
        second_look = recipe.second_look(path, defaults["parse_function"])
        if second_look is None:
            raise UserError(f'{recipe.family} has no zoom; set "zoom": {{"ratio": 0.25}} instead')
        entry = {key: value for key, value in entry.items() if key != "zoom"}
        defaults |= second_look
    recipe_values = dict(values_in(defaults))
    _leave_out_alternatives(defaults, entry)
    merged, paths = _merged(entry, defaults)
    return EntryWithRecipe(merged, recipe, frozenset(paths), recipe_values, path)


def recipe_at(name: str) -> tuple[str, RecipeRecord]:
    """Return the path of a recipe's module, and its record.

    Args:
        name: of one of the program's, or the dotted path of one of the user's.

    Raises:
        UserError: there is none.
    """
    known_names = recipe_names()
    path = name
    if name.endswith(".py") or "/" in name or "\\" in name:
        dotted = re.sub(r"[/\\]+", ".", name.removesuffix(".py")).strip(".")
        raise UserError(
            f'recipe "{name}" is a file path; write the name of its module instead, "{dotted}". '
            "Python looks for it in the current folder and beside the config"
        )
    if name in known_names:
        path = f"{PACKAGE}.{name}"
        own_file = file_beside(name)
        if own_file is not None and own_file != Path(str(module_at(path).__file__)):
            raise UserError(
                f'there are two recipes "{name}": a built-in one and {own_file}. For the built-in '
                f'one, write "{path}"; for yours, rename the file and write its new name'
            )
    if path.isidentifier() and find_spec(path) is None:
        raise UserError(unknown_recipe(name, known_names))
    recipe = cast("RecipeRecord | None", getattr(module_at(path), "RECIPE", None))
    if recipe is None:
        raise UserError(f"{path} is no recipe: it has no RECIPE")
    if not hasattr(recipe, "entry"):
        kind = type(recipe).__name__
        raise UserError(f"{path}.RECIPE is of type {kind}; expected models.recipes.base.Recipe")
    return path, recipe


def _no_form(family: str, dataset: str, form: str) -> str:
    """The message about a data set that a recipe is not made for."""
    data, prompt = key_path("data", dataset), key_path("custom_prompt", dataset)
    if form == DESKTOP_STEPS:
        parser = key_path("parse_function", dataset)
        return (
            f"{family} has no form for recorded steps of a desktop, which {data} needs: recipes "
            "cover recorded steps of phones only. Add a model entry without a recipe (it uses the "
            f"default prompt), or set your own function in {prompt} and one of "
            f"{listed(DESKTOP_PARSERS)} in {parser}"
        )
    what = "recorded steps" if form else "questions for a point"
    return (
        f"{family} has no form for {what}, which {data} needs. Name a recipe that has one "
        f"({EVALUATE} --recipes lists the forms), or set your own function in {prompt}"
    )


def _leave_out_alternatives(defaults: dict[str, Any], entry: Mapping[str, Any]) -> None:
    """Remove generation settings of a recipe that the entry sets under another name."""
    generate_cfg = entry.get("generate_cfg")
    settings = defaults.get("generate_cfg", {})
    if not isinstance(generate_cfg, Mapping):
        return
    extra_body = generate_cfg.get("extra_body")
    names = {*generate_cfg, *(extra_body if isinstance(extra_body, Mapping) else ())}
    groups: list[tuple[str, ...]] = [TOKEN_LIMITS]
    if "do_sample" in settings:  # of a checkpoint, where it turns the others on and off
        groups.append(_SAMPLING)
    for alternatives in groups:
        if not names.isdisjoint(alternatives):
            for name in alternatives:
                settings.pop(name, None)


def _merged(
    entry: Mapping[str, Any], defaults: Mapping[str, Any]
) -> tuple[dict[str, Any], list[tuple[str, ...]]]:
    """Return an object filled up with defaults at every depth, and the key paths of those."""
    merged = dict(entry)
    paths: list[tuple[str, ...]] = []
    for key, value in defaults.items():
        own_value = merged.get(key)
        is_object = isinstance(value, Mapping) and key not in _WHOLE
        if is_object and (key not in merged or isinstance(own_value, Mapping)):
            merged[key], inner = _merged(own_value or {}, value)
            paths += [(key, *path) for path in inner]
        elif key not in merged:
            merged[key] = value
            paths.append((key,))
    return merged, paths


def values_in(entry: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield key path and value of all that an entry sets, objects taken apart."""
    for key, value in entry.items():
        if isinstance(value, Mapping) and key not in _WHOLE:
            yield from values_in(value, (*path, key))
        elif value is not None and value != []:
            yield (*path, key), value

"""A run without a config file: the two lines that `--endpoint` or `--checkpoint` stand for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from utils.config.endpoint import parse_endpoint
from utils.config.options import Options, names_of_levels
from utils.datasets.published import checkpoint_names
from utils.errors import UserError
from utils.text import listed

COMMAND = Path("command line")  # stands for the file in messages
HIDDEN = r"\1${API_KEY}"
_KEY = re.compile(r"([?&]api_key=)[^&]*")


class KnownModels(Protocol):
    """What a run without a config asks the package `models`."""

    def served_models(self, model_path: str) -> list[str]:
        """The names of the models that an endpoint offers; none where it does not say."""

    def recipes_for(self, names: Sequence[str]) -> list[str]:
        """The recipes whose family a checkpoint of these names is of."""

    def names_in_checkpoint(self, model_path: str) -> list[str]:
        """The names that a checkpoint's own config gives it."""


def with_typed_config(
    options: Options, levels: Iterable[tuple[str, str]], models: KnownModels
) -> tuple[Options, list[str]]:
    """The options with the config that their `--endpoint` or `--checkpoint` stands for.

    What was not typed but found out, the model or its recipe, is said in a note.

    Args:
        options: of the command line.
        levels: level and name of each known data set.
        models: the package.

    Raises:
        UserError: it is not clear which model, or which recipe, is meant.
    """
    if options.endpoint is not None:
        entry, notes = _of_endpoint(options.endpoint, options.name, models)
    else:
        assert options.checkpoint is not None
        kind = "vllm" if options.vllm else "transformers"
        entry, notes = {"imp_type": kind, "model_path": options.checkpoint}, []
    names = checkpoint_names({"imp_type": "openai", **entry})
    recipe = options.recipe
    if recipe is None:
        recipe = _recipe_of(_all_names(names, options.checkpoint, models), models)
        notes.append(f"recipe: {recipe}, as the model is called {names[0]}")
    data = names_of_levels(options.data, levels)
    config = {
        "model": {names[0]: {"recipe": recipe, **entry}},
        "data": {name: {} for name in data},
    }
    return replace(options, config=COMMAND, content=json.dumps(config), data=data), notes


def config_to_print(content: str) -> str:
    """A config as a file would have it; a key that was typed is replaced by a variable."""
    config: dict[str, Any] = json.loads(content)
    for entry in config["model"].values():
        entry["model_path"] = _KEY.sub(HIDDEN, entry["model_path"])
    return json.dumps(config, indent=2, ensure_ascii=False)


def _of_endpoint(
    url: str, name: str | None, models: KnownModels
) -> tuple[dict[str, str], list[str]]:
    """The model entry of an endpoint, whose model is named or the only one that it serves."""
    endpoint = parse_endpoint(url)
    is_named = "model=" in url.partition("?")[2]
    if is_named and name is not None:
        raise UserError("--endpoint names a model, and so does --name; leave one of them out")
    if is_named:
        return {"model_path": url}, []
    notes: list[str] = []
    if name is None:
        served = models.served_models(url)
        if len(served) != 1:
            offer = f"it offers {listed(served)}" if served else "it does not say what it offers"
            raise UserError(f"--endpoint {endpoint.base_url}: {offer}; name the model with --name")
        [name] = served
        notes.append(f"model: {name}, the only one that the server offers")
    mark = "&" if "?" in url else "?"
    return {"model_path": f"{url}{mark}model={quote(name, safe='/:@')}"}, notes


def _all_names(names: Sequence[str], checkpoint: str | None, models: KnownModels) -> Sequence[str]:
    """The names of a model, with those in its checkpoint's config.

    That of a hub id may have to be fetched, so it is read only if the id does not say enough.
    """
    if checkpoint is None:
        return names
    is_folder = Path(checkpoint).expanduser().is_dir()
    if not is_folder and len(models.recipes_for(names)) == 1:
        return names
    return [*names, *models.names_in_checkpoint(checkpoint)]


def _recipe_of(names: Sequence[str], models: KnownModels) -> str:
    """The one recipe that fits a checkpoint by its names."""
    recipes = models.recipes_for(names)
    if len(recipes) == 1:
        return recipes[0]
    fitting = f"fits {listed(recipes)}" if recipes else "fits no recipe"
    raise UserError(
        f"{names[0]}: the name {fitting}; name one with --recipe (python evaluate.py --recipes "
        "lists all)"
    )

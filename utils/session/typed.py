"""A run without a config file: the two lines that `--endpoint` or `--checkpoint` stand for."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from utils.config.changes import apply_changes
from utils.config.endpoint import Endpoint, parse_endpoint
from utils.config.options import Options, names_of_levels
from utils.config.secret_filter import mask_config
from utils.datasets.published import checkpoint_names
from utils.errors import UserError
from utils.program import EVALUATE
from utils.text import listed

COMMAND = Path("command line")  # stands for the file in messages
HIDDEN = r"\1${API_KEY}"
_KEY = re.compile(r"([?&]api_key=)[^&]*")


class KnownModels(Protocol):
    """The part of the package `models` that a run without a config uses."""

    def served_models(self, model_path: str) -> list[str]:
        """The names of the models that an endpoint offers; none where it does not say."""

    def recipes_for(self, names: Sequence[str]) -> list[str]:
        """The recipes whose family a checkpoint of these names is of."""

    def names_in_checkpoint(self, model_path: str) -> list[str]:
        """The names that a checkpoint's own config gives it."""

    def checkpoint_problems(self, model_path: str) -> list[str]:
        """The reasons why a path is no checkpoint's folder, one line each."""

    def near_recipes(self, name: str) -> list[str]:
        """The recipes for checkpoints whose names are like this one."""


def with_typed_config(
    options: Options, levels: Mapping[str, str], models: KnownModels
) -> tuple[Options, list[str]]:
    """The options with the config that their `--endpoint` or `--checkpoint` stands for.

    What was not typed but found out, the model or its recipe, is said in a note.

    Args:
        options: of the command line.
        levels: full names of data sets by their levels.
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
        recipe, reason = _recipe_of(names, options, notes, models)
        notes.append(f"recipe: {recipe}, as {reason}")
    notes.append(f"notes of the recipe: {EVALUATE} --recipes {recipe}")
    data = names_of_levels(options.data, levels)
    config = {
        "model": {names[0]: {"recipe": recipe, **entry}},
        "data": {name: {} for name in data},
    }
    return replace(options, config=COMMAND, content=json.dumps(config), data=data), notes


def config_to_print(options: Options, levels: Mapping[str, str]) -> str:
    """The config of a command as a file would have it, with what `--set` changes.

    An API key is replaced by a variable, another secret by `[secret]`.

    Raises:
        UserError: a change is wrong.
    """
    config: dict[str, Any] = json.loads(options.content or "{}")
    if problems := apply_changes(config, options.set, levels):
        raise UserError(problems)
    masked: dict[str, Any] = mask_config(config)
    for name, entry in config["model"].items():
        masked["model"][name]["model_path"] = _KEY.sub(HIDDEN, entry["model_path"])
    return json.dumps(masked, indent=2, ensure_ascii=False)


def _of_endpoint(
    url: str, name: str | None, models: KnownModels
) -> tuple[dict[str, str], list[str]]:
    """The model entry of an endpoint, whose model is named or the only one that it serves."""
    if ",http" in url.replace(" ", ""):
        raise UserError(
            "--endpoint takes one address; to use several servers of one model, write a config "
            "(docs/many_gpus.md)"
        )
    try:
        endpoint = parse_endpoint(url)
    except UserError as error:
        raise UserError(f"--endpoint: {error}") from None
    is_named = "model=" in url.partition("?")[2]
    if is_named and name is not None:
        raise UserError("--endpoint and --name both name a model; leave one of them out")
    if is_named:
        return {"model_path": url}, []
    notes: list[str] = []
    try:
        served = models.served_models(url)
    except UserError as error:
        if name is None:
            raise UserError(_not_asked(endpoint, str(error))) from None
        served = []
    if name is None:
        if len(served) != 1:
            offer = (
                f"the server offers {listed(served)}" if served else "the server lists no models"
            )
            raise UserError(f"--endpoint {endpoint.base_url}: {offer}; name the model with --name")
        [name] = served
        notes.append(f"model: {name}, the only one on the server")
    elif served and name not in served:
        notes.append(f"model: {name}; the server does not list it. It offers {listed(served)}")
    mark = "&" if "?" in url else "?"
    return {"model_path": f"{url}{mark}model={quote(name, safe='/:@')}"}, notes


def _not_asked(endpoint: Endpoint, reason: str) -> str:
    """The message about a server whose models cannot be listed."""
    return (
        f"--endpoint {endpoint.base_url}: the server's models cannot be listed: {reason}. Is it "
        "running, and is the address right? With --name NAME the program needs no list "
        "(--wait-for-server S then waits for a server that is still loading)"
    )


def _recipe_of(
    names: Sequence[str], options: Options, notes: Sequence[str], models: KnownModels
) -> tuple[str, str]:
    """The one recipe that fits a checkpoint by its names, and why it does.

    Raises:
        UserError: none does, or several do, or there is no such checkpoint.
    """
    checkpoint = options.checkpoint
    recipes = by_name = models.recipes_for(names)
    config_names: Sequence[str] = []
    # The config of a hub id may have to be fetched, so it is read only if the id says too little.
    if checkpoint is not None and (len(by_name) != 1 or Path(checkpoint).expanduser().is_dir()):
        config_names = models.names_in_checkpoint(checkpoint)
        recipes = models.recipes_for([*names, *config_names])
    if len(recipes) == 1:
        if recipes == by_name:
            return recipes[0], f"the model is called {names[0]}"
        return recipes[0], f"its config.json names {config_names[-1]}"
    if checkpoint is not None and (problems := models.checkpoint_problems(checkpoint)):
        raise UserError([f"--checkpoint {problem}" for problem in problems])
    fitting = f"fits {listed(recipes)}" if recipes else "fits no recipe"
    near = [] if recipes else models.near_recipes(names[0])
    hint = f", near: {listed(near)}" if near else ""
    advice = f"name one with --recipe ({EVALUATE} --recipes lists all)"
    raise UserError(". ".join([f"{names[0]}: the name {fitting}{hint}; {advice}", *notes]))

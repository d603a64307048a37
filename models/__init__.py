"""WHO answers: config entry → model wrapper."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from models.wrappers.vllm.arguments import serve_problems
from utils.config.text import KeyProblem
from utils.contracts import CallError, ModelWrapper
from utils.errors import UserError

if TYPE_CHECKING:
    from utils.config.schema import ModelEntry

NEAR = 0.65  # likeness of a name to those of a recipe that is named as a near one
MOST_NEAR = 3  # such recipes in a message


def argument_problems(imp_type: str, entry: Mapping[str, Any]) -> Iterator[KeyProblem]:
    """Yield what is wrong with the arguments of a config's model entry, with key paths in it."""
    generate_cfg = entry.get("generate_cfg")
    if not isinstance(generate_cfg, Mapping):
        generate_cfg = {}
    if imp_type in ("openai", "vllm"):
        from models.wrappers.api.arguments import generate_problems

        if find_spec("openai") is None:
            yield ("imp_type",), "API models need the package openai: pip install openai"
        api = entry.get("api") if imp_type == "openai" else None
        yield from generate_problems(generate_cfg, "responses" if api == "responses" else "chat")
    if imp_type == "vllm" and isinstance(entry.get("serve_args"), (dict, list)):
        for problem in serve_problems(entry["serve_args"]):
            yield ("serve_args",), problem
    if imp_type == "transformers" and entry.get("generate_function") in (None, "", "generate"):
        from models.wrappers.local.settings import generate_problems as local_problems

        yield from local_problems(generate_cfg)
    if imp_type == "custom":
        for name in {"message", "dataset_name"} & set(generate_cfg):
            yield ("generate_cfg", name), "the program sets this itself; leave it out"


def recipe_lines(names: Sequence[str]) -> list[str]:
    """The text of `--recipes`: a table of all recipes, or all about those that are named.

    Raises:
        UserError: there is no recipe of that name.
    """
    from models.recipes import shown, table

    return shown(names) if names else table()


def recipes_for(names: Sequence[str]) -> list[str]:
    """The recipes whose family a checkpoint is of, by its names: a hub id's last part.

    Names that a recipe has to the letter count before those that begin or end otherwise
    ("MAI-UI-8B-AWQ", "Qwen3-VL-8B"), and these before names with a hub id's in the middle
    ("my-Qwen3.5-9B-sft").
    """
    folded = [name.rstrip("/").rpartition("/")[2].casefold() for name in names]
    known_names = _hub_names()
    for fits in (str.__eq__, _is_beginning, _is_part):
        recipes = [
            recipe
            for recipe, hub_names in known_names.items()
            if any(fits(hub_name, name) for hub_name in hub_names for name in folded)
        ]
        if recipes:
            return recipes
    return []


def near_recipes(name: str) -> list[str]:
    """Recipes for checkpoints whose names are like this one, the likest first; [] if none is."""
    from utils.text import likeness

    likeness_of = {
        recipe: max((likeness(name, candidate) for candidate in [recipe, *hub_names]), default=0)
        for recipe, hub_names in _hub_names().items()
    }
    near = [recipe for recipe, value in likeness_of.items() if value >= NEAR]
    return sorted(near, key=lambda recipe: -likeness_of[recipe])[:MOST_NEAR]


def _hub_names() -> dict[str, list[str]]:
    """The last parts of hub ids by recipe, in lower case."""
    from models.recipes import all_recipes

    return {
        recipe: [hub_id.rpartition("/")[2].casefold() for hub_id in record.hub_ids]
        for recipe, record in all_recipes().items()
    }


def _is_beginning(hub_name: str, name: str) -> bool:
    return name.startswith(f"{hub_name}-") or hub_name.startswith(f"{name}-")


def _is_part(hub_name: str, name: str) -> bool:
    """Whether a name holds a hub id's, or what comes before its -Instruct, between other marks."""
    stem = re.sub("-(instruct|thinking|think)$", "", hub_name)
    return re.search(rf"(?<![^\W_]){re.escape(stem)}(?![^\W_])", name) is not None


def names_in_checkpoint(model_path: str) -> list[str]:
    """The name that a checkpoint's config.json gives it; [] without one."""
    from models.wrappers.local.checkpoint import read_config

    name = read_config(model_path).get("_name_or_path")
    return [name] if isinstance(name, str) and name else []


def checkpoint_problems(model_path: str) -> list[str]:
    """The problems of a path as a checkpoint's folder, one line each; a hub id has none."""
    from models.wrappers.local.checkpoint import checkpoint_problems as problems_of

    return problems_of(model_path)


def served_models(model_path: str) -> list[str]:
    """The names of the models that an endpoint offers; [] where it does not say.

    Raises:
        UserError: the endpoint is wrong, or its server cannot be asked.
    """
    from models.wrappers.api.connection import LISTING_TIMEOUT_S, Connection
    from utils.config.endpoint import parse_endpoint

    endpoint = parse_endpoint(model_path)
    connection = Connection(endpoint, 1, uses_proxies=True)
    try:
        body = connection.request("get", "/models", {"timeout": LISTING_TIMEOUT_S})
        return [str(model["id"]) for model in json.loads(body)["data"]]
    except CallError as error:
        if error.status_code == 404 and not re.search(r"/v\d", endpoint.base_url):
            hint = f"; most servers are at {endpoint.base_url.rstrip('/')}/v1"
            raise UserError(f"GET /models: {error.message}{hint}") from None
        if error.kind == "http" and error.status_code not in (401, 403):
            return []
        raise UserError(f"GET /models: {error.message}") from None
    except (ValueError, KeyError, TypeError):  # an answer in another form
        return []
    finally:
        connection.close()


def build_model(
    name: str,
    entry: ModelEntry,
    function_at: Callable[[str], Callable[..., Any] | None] = lambda key: None,
    *,
    connections: int,
) -> ModelWrapper:
    """Return the wrapper of one model entry; loads no weights and opens no connection.

    Args:
        name: of the model in the config.
        entry: its entry there.
        function_at: gives the function, or the class, that a key of the entry names.
        connections: how many requests may be in flight.

    Raises:
        UserError: the endpoint is wrong.
    """
    functions: dict[str, Any] = {
        key: function_at(key) for key in ("preprocess_function", "postprocess_function")
    }
    if entry.imp_type == "transformers":
        from models.wrappers.local.wrapper import LocalModelWrapper

        return LocalModelWrapper(name, entry, **functions)
    if entry.imp_type == "custom":
        from models.wrappers.custom import CustomModelWrapper

        model_class = function_at("model_path")
        assert model_class is not None
        return CustomModelWrapper(name, entry, model_class, functions["postprocess_function"])
    if entry.imp_type == "vllm":
        from models.wrappers.vllm.wrapper import VllmModelWrapper

        return VllmModelWrapper(name, entry, connections=connections, **functions)
    from models.wrappers.api.wrapper import APIModelWrapper

    return APIModelWrapper(name, entry, connections=connections, **functions)

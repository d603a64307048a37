"""WHO answers: config entry → model wrapper."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from models.wrappers.vllm.arguments import serve_problems
from utils.config.text import KeyProblem
from utils.contracts import ModelWrapper

if TYPE_CHECKING:
    from utils.config.schema import ModelEntry


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

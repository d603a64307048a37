"""WHO answers: config entry → model wrapper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from models.wrappers.vllm.arguments import serve_problems
from utils.config.text import KeyProblem
from utils.contracts import ModelWrapper
from utils.import_utils import resolve

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


def build_model(name: str, entry: ModelEntry, *, connections: int) -> ModelWrapper:
    """Return the wrapper of one model entry; loads no weights and opens no connection.

    Args:
        name: of the model in the config.
        entry: its entry there.
        connections: how many requests may be in flight.

    Raises:
        UserError: a dotted path or the endpoint is wrong.
    """

    def function(key: str) -> Any:
        dotted_path = getattr(entry, key)
        return resolve(dotted_path, role=f'model."{name}".{key}') if dotted_path else None

    functions = {key: function(key) for key in ("preprocess_function", "postprocess_function")}
    if entry.imp_type == "transformers":
        from models.wrappers.local.wrapper import LocalModelWrapper

        return LocalModelWrapper(name, entry, **functions)
    if entry.imp_type == "custom":
        from models.wrappers.custom import CustomModelWrapper

        model_class = resolve(entry.model_path, role=f'model."{name}".model_path')
        return CustomModelWrapper(name, entry, model_class, functions["postprocess_function"])
    if entry.imp_type == "vllm":
        from models.wrappers.vllm.wrapper import VllmModelWrapper

        return VllmModelWrapper(name, entry, connections=connections, **functions)
    from models.wrappers.api.wrapper import APIModelWrapper

    return APIModelWrapper(name, entry, connections=connections, **functions)

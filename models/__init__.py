"""WHO answers: config entry → model wrapper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from utils.contracts import ModelWrapper
from utils.import_utils import resolve

if TYPE_CHECKING:
    from utils.config.read import ModelEntry


def build_model(name: str, entry: ModelEntry, *, connections: int) -> ModelWrapper:
    """The wrapper of one model entry; loads no weights and opens no connection.

    Args:
        connections: requests in flight at most, for models behind a server.

    Raises:
        UserError: a dotted path leads nowhere, or the endpoint is no URL.
    """
    where = f'model."{name}"'

    def function(key: str) -> object:
        dotted = getattr(entry, key)
        return resolve(dotted, role=f"{where}.{key}") if dotted else None

    common: dict[str, object] = {
        "generate_cfg": entry.generate_cfg,
        "kwargs": entry.kwargs,
        "model_identity": entry.model_identity,
        "postprocess_function": function("postprocess_function"),
    }
    if entry.imp_type == "custom":
        from models.wrappers.custom import CustomModelWrapper

        model_class = resolve(entry.model_path, role=f"{where}.model_path")
        return CustomModelWrapper(name, model_class=model_class, **common)  # type: ignore[arg-type]
    common |= {
        "model_path": entry.model_path,
        "preprocess_function": function("preprocess_function"),
    }
    if entry.imp_type == "transformers":
        from models.wrappers.local.wrapper import LocalModelWrapper

        return LocalModelWrapper(
            name,
            generate_function=entry.generate_function or "generate",
            device_map=entry.device_map,
            dtype=entry.dtype,
            attn_implementation=entry.attn_implementation,
            batch_size=entry.batch_size or 1,
            **common,  # type: ignore[arg-type]
        )
    common["connections"] = connections
    if entry.imp_type == "vllm":
        from models.wrappers.vllm.wrapper import VllmModelWrapper

        return VllmModelWrapper(name, serve_args=entry.serve_args, **common)  # type: ignore[arg-type]
    from models.wrappers.api.wrapper import APIModelWrapper

    return APIModelWrapper(name, **common)  # type: ignore[arg-type]

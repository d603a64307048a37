"""The two model wrappers and their default functions, in one place for people who write models.

`APIModelWrapper` asks an OpenAI-style server, `LocalModelWrapper` a transformers checkpoint in this
process. To add a model, copy one of the example files beside this one; the wrappers stay as they
are.
"""

from models.wrappers.api.wrapper import APIModelWrapper
from models.wrappers.api.wrapper import (
    default_postprocess_function as default_api_postprocess_function,
)
from models.wrappers.api.wrapper import (
    default_preprocess_function as default_api_preprocess_function,
)
from models.wrappers.local.wrapper import LocalModelWrapper
from models.wrappers.local.wrapper import (
    default_postprocess_function as default_local_postprocess_function,
)
from models.wrappers.local.wrapper import (
    default_preprocess_function as default_local_preprocess_function,
)

__all__ = [
    "APIModelWrapper",
    "LocalModelWrapper",
    "default_api_postprocess_function",
    "default_api_preprocess_function",
    "default_local_postprocess_function",
    "default_local_preprocess_function",
]

"""The names that a model file needs; the examples beside this file import only from here.

To add a model, copy the example that is nearest to yours and keep the parts that differ from the
defaults. The machinery in `wrappers/` needs no change. Nothing here imports torch or openai.
"""

from models.wrappers.api.wrapper import APIModelWrapper
from models.wrappers.api.wrapper import (
    default_postprocess_function as default_api_postprocess_function,
)
from models.wrappers.api.wrapper import (
    default_preprocess_function as default_api_preprocess_function,
)
from models.wrappers.custom import CustomModelWrapper
from models.wrappers.local.defaults import (
    default_postprocess_function,
    default_preprocess_function,
    model_inputs,
    turns_of,
)
from models.wrappers.local.wrapper import LocalModelWrapper
from models.wrappers.reply_cutting import cut_reply
from models.wrappers.tool_results import tool_results
from models.wrappers.vllm.wrapper import VllmModelWrapper
from utils.contracts import Abandoned, CallError, Generation, Line, Message, Point, Sizes
from utils.coordinates import (
    UITARS_MAX_PIXELS,
    UITARS_MIN_PIXELS,
    frac_to_px,
    model_grid_wh,
    px_to_frac,
    read_size,
    smart_resize,
)
from utils.errors import UserError
from utils.geometry.images import image_path_of
from utils.misc import parser_answers_into_option, parser_response_into_coordinates
from utils.thinking import after_thinking

__all__ = [
    "UITARS_MAX_PIXELS",
    "UITARS_MIN_PIXELS",
    "APIModelWrapper",
    "Abandoned",
    "CallError",
    "CustomModelWrapper",
    "Generation",
    "Line",
    "LocalModelWrapper",
    "Message",
    "Point",
    "Sizes",
    "UserError",
    "VllmModelWrapper",
    "after_thinking",
    "cut_reply",
    "default_api_postprocess_function",
    "default_api_preprocess_function",
    "default_postprocess_function",
    "default_preprocess_function",
    "frac_to_px",
    "image_path_of",
    "model_grid_wh",
    "model_inputs",
    "parser_answers_into_option",
    "parser_response_into_coordinates",
    "px_to_frac",
    "read_size",
    "smart_resize",
    "tool_results",
    "turns_of",
]

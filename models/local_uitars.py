"""UI-TARS-1.5-7B from a checkpoint on this machine. Config: `configs/config_local_uitars.json`.

Start here when you add a local model: copy this file, rename it, keep the functions that your model
needs, name them in a config, delete the rest. Everything left out falls back to a default.

The model (a Qwen2.5-VL) answers a grounding task with

    Action: click(point='<point>735 512</point>')

in absolute pixels, not of the screenshot but of the image as it was resized to multiples of 28.
So four things differ from the defaults: the grounding prompt it was trained with, the limits of the
resizing, the reply's beginning, and how a point is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from models.base import (
    UITARS_MAX_PIXELS,
    UITARS_MIN_PIXELS,
    Line,
    Message,
    Point,
    UserError,
    default_postprocess_function,
    default_preprocess_function,
    image_path_of,
    model_grid_wh,
    parser_answers_into_option,
    px_to_frac,
)


def build_custom_prompt(line: Line, dataset: str) -> list[Message] | None:
    """1. The prompt: what is asked about one line of the data set.

    Args:
        line: the sample, e.g. `line["instruction"]`, `line["image_path"]`, `line["image_size"]`.
        dataset: "GUIElementGrounding" (L2) or "GUIContentUnderstanding" (L1).

    Returns:
        Messages in the order in which the model reads them; the value of an image is its path.
        None asks for the benchmark's default prompt, here for everything but L2.
    """
    if dataset != "GUIElementGrounding":
        return None
    try:
        from ui_tars.prompt import GROUNDING_DOUBAO  # the text it was trained with
    except ImportError as error:
        raise UserError(
            "the UI-TARS prompt comes from its authors' package: pip install ui-tars"
        ) from error
    text = GROUNDING_DOUBAO.replace("{instruction}", line["instruction"])
    return [
        {"role": "user", "type": "image", "value": image_path_of(line)},
        {"role": "user", "type": "text", "value": text},
    ]


def preprocess_uitars(
    message: list[Message], model: Any, processor: Any, **kwargs: Any
) -> Mapping[str, Any]:
    """2. Messages → inputs of `model.generate`. The default, with this model's pixel limits.

    Args:
        message: what the prompt function returned, or the benchmark's default prompt.
        model: the loaded transformers model. Tensors may stay on the CPU: they are moved.
        processor: the checkpoint's processor.
        **kwargs: the `kwargs` block of the config and `dataset_name`. `min_pixels` and
            `max_pixels` there win over the limits below.
    """
    limits = {"min_pixels": UITARS_MIN_PIXELS, "max_pixels": UITARS_MAX_PIXELS}
    return default_preprocess_function(message, model, processor, **{**limits, **kwargs})


def postprocess_uitars(outputs: Any, model: Any, processor: Any, **kwargs: Any) -> str:
    """3. What `model.generate` returned, prompt included → reply.

    Args:
        outputs: token ids of shape (1, prompt + completion).
        model: the loaded transformers model.
        processor: the checkpoint's processor.
        **kwargs: as above, and `input_length`: the number of prompt tokens.
    """
    reply = default_postprocess_function(outputs, model, processor, **kwargs)
    return reply.rpartition("assistant\n")[2]


def parse_grounding_response(response: str, meta: Mapping[str, Any]) -> Point | None:
    """4. Reply → the point clicked, as fractions of the image, or None if there is none.

    Exactly two runs of digits make a point; anything else is a format error, not a guess.

    Args:
        response: what postprocess returned.
        meta: the line's fields; sizes are texts such as "[2560, 1440]". `seen_size` is the grid
            that the model worked on, so its pixels are pixels of that grid.
    """
    digits = re.findall(r"\d+", response)
    if len(digits) != 2:
        return None
    return px_to_frac((int(digits[0]), int(digits[1])), model_grid_wh(meta))


parse_understanding_response = parser_answers_into_option  # the default parser will do


# Nothing above keeps state, so several threads may run these at once.
preprocess_uitars.thread_safe = True  # type: ignore[attr-defined]
postprocess_uitars.thread_safe = True  # type: ignore[attr-defined]

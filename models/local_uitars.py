"""UI-TARS-1.5-7B from a checkpoint on this machine. Config: `configs/config_local_uitars.json`.

Start here to add a local model: copy this file and rename it. Keep the functions that your model
needs, name them in a config, and delete the rest. Each function that is left out has a default.

The model (a Qwen2.5-VL) answers a grounding task with

    Action: click(point='<point>735 512</point>')

in absolute pixels of the image after resizing to multiples of 28, not of the screenshot. Four parts
differ from the defaults: the grounding prompt of its training, the limits of the resizing, the
beginning of the reply, and the parse function for points.
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
    """1. The prompt for one line of the data set.

    Args:
        line: the sample, e.g. `line["instruction"]`, `line["image_path"]`, `line["image_size"]`.
        dataset: "GUIElementGrounding" (L2) or "GUIContentUnderstanding" (L1).

    Returns:
        Messages in the order in which the model reads them; the value of an image is its path.
        None stands for the benchmark's default prompt, here for all data sets but L2.
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
        message: the result of the prompt function, or the benchmark's default prompt.
        model: the loaded transformers model. Tensors may stay on the CPU; the program moves them.
        processor: the checkpoint's processor.
        **kwargs: the `kwargs` block of the config and `dataset_name`. `min_pixels` and
            `max_pixels` there win over the limits below.
    """
    limits = {"min_pixels": UITARS_MIN_PIXELS, "max_pixels": UITARS_MAX_PIXELS}
    return default_preprocess_function(message, model, processor, **{**limits, **kwargs})


def postprocess_uitars(outputs: Any, model: Any, processor: Any, **kwargs: Any) -> str:
    """3. Outputs of `model.generate`, prompt included → reply.

    Args:
        outputs: token ids of shape (1, prompt + completion).
        model: the loaded transformers model.
        processor: the checkpoint's processor.
        **kwargs: as above, and `input_length`: the number of prompt tokens.
    """
    reply = default_postprocess_function(outputs, model, processor, **kwargs)
    return reply.rpartition("assistant\n")[2]


def parse_grounding_response(response: str, meta: Mapping[str, Any]) -> Point | None:
    """4. Reply → the clicked point in fractions of the image; None if there is none.

    Exactly two runs of digits make a point; any other reply is a format error, not a guess.

    Args:
        response: the result of the postprocess function.
        meta: the line's fields; sizes are texts such as "[2560, 1440]". `seen_size` is the pixel
            grid that the model worked on; its coordinates are pixels of this grid.
    """
    digits = re.findall(r"\d+", response)
    if len(digits) != 2:
        return None
    return px_to_frac((int(digits[0]), int(digits[1])), model_grid_wh(meta))


parse_understanding_response = parser_answers_into_option  # the default parser will do


# Nothing above keeps state, so several threads may run these at once.
preprocess_uitars.thread_safe = True  # type: ignore[attr-defined]
postprocess_uitars.thread_safe = True  # type: ignore[attr-defined]

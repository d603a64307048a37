"""Aguvis-7B-720P from a checkpoint on this machine. Config: `configs/config_local_aguvis.json`.

This is an example of a model that needs another prompt *text* than its chat template writes. In its
training, each turn of the agent names a recipient: `os` carries out an action, `all` reads an
answer. The prompt therefore does not end in the usual `<|im_start|>assistant`, but names the
recipient of the reply. It also leaves out the system message that the template would add. The model
answers a grounding task with

    pyautogui.click(x=0.25, y=0.75)

in fractions of the image. It gets the benchmark's own prompts, so there is no prompt function.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from models.base import (
    Message,
    Point,
    cut_reply,
    default_postprocess_function,
    model_inputs,
    parser_answers_into_option,
    parser_response_into_coordinates,
    turns_of,
)

MIN_PIXELS = 200704
MAX_PIXELS = 937664  # "720P"
RECIPIENTS = {"GUIElementGrounding": "os\n", "GUIContentUnderstanding": "all\n"}
PICTURE = "<|vision_start|><|image_pad|><|vision_end|>"


def preprocess_aguvis(
    message: list[Message], model: Any, processor: Any, **kwargs: Any
) -> Mapping[str, Any]:
    """Messages → inputs of `model.generate`, in the form of this model's training.

    Args:
        message: the benchmark's prompt.
        model: the loaded transformers model.
        processor: the checkpoint's processor.
        **kwargs: the `kwargs` block of the config and `dataset_name`. `min_pixels` and
            `max_pixels` there win over the limits above.
    """
    limits = {"min_pixels": MIN_PIXELS, "max_pixels": MAX_PIXELS}
    turns = turns_of(message)
    text = chat_text(turns, kwargs["dataset_name"])
    return model_inputs(text, turns, model, processor, **{**limits, **kwargs})


def chat_text(turns: list[dict[str, Any]], dataset: str) -> str:
    """Return the text of the conversation: its turns, then the start of the model's reply."""
    text = ""
    for turn in turns:
        content = turn["content"]
        if not isinstance(content, str):
            content = "".join(PICTURE if p["type"] == "image" else p["text"] for p in content)
        text += f"<|im_start|>{turn['role']}\n{content}<|im_end|>\n"
    return text + "<|im_start|>assistant<|recipient|>" + RECIPIENTS.get(dataset, "")


def postprocess_aguvis(outputs: Any, model: Any, processor: Any, **kwargs: Any) -> str:
    """Output ids → reply, without the end of the prompt before it and the debris behind it."""
    text = default_postprocess_function(outputs, model, processor, **kwargs)
    return cut_reply(text, kwargs["dataset_name"])


def parse_gui_bbox_aguvis(response: str, meta: Mapping[str, Any] | None = None) -> Point | None:
    """Reply → the clicked point in fractions of the image; None if there is none."""
    match = re.search(r"x=([\d.]+), y=([\d.]+)", response)
    if match:
        try:
            return float(match.group(1)), float(match.group(2))
        except ValueError:  # "x=1.2.3": dots and digits, but no number
            pass
    return parser_response_into_coordinates(response, meta)


parse_gui_qa_aguvis = parser_answers_into_option  # the default parser will do


# Nothing above keeps state, so several threads may run these at once.
preprocess_aguvis.thread_safe = True  # type: ignore[attr-defined]
postprocess_aguvis.thread_safe = True  # type: ignore[attr-defined]

"""UI-TARS-1.5 behind an OpenAI-style server (vLLM, say). Config: `configs/config_api_uitars.json`.

Start here to add a model behind a server: copy this file, rename it, and keep the parts that you
need. The server resizes and decodes. This file has the rest: the prompt, and the parse function for
a reply. The model answers a grounding task with

    Action: click(point='<point>735 512</point>')

in pixels of the image as the *server* resized it. No server reports that size. The program computes
it from the sent image and the limits `min_pixels` and `max_pixels` of the config. Start the server
with the same limits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from models.base import (
    Line,
    Message,
    Point,
    UserError,
    image_path_of,
    model_grid_wh,
    parser_answers_into_option,
    px_to_frac,
)

CALL_USER = "call_user() # End the task here if it cannot be completed."
"""What the authors' prompts for agents have no word for; some tasks can only be ended so."""
EARLIER_IMAGES = 4  # with the screen now the model sees five, as many as it was trained with


def build_custom_prompt(line: Line, dataset: str) -> list[Message] | None:
    """1. The prompt: the model's own for L2, and None (the default prompt) for the rest.

    Args:
        line: the sample, e.g. `line["instruction"]`, `line["image_path"]`, `line["image_size"]`.
        dataset: "GUIElementGrounding" (L2) or "GUIContentUnderstanding" (L1).

    Returns:
        Messages in the order in which the model reads them; the value of an image is its path.
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


def parse_grounding_response(response: str, meta: Mapping[str, Any]) -> Point | None:
    """2. Reply → the clicked point in fractions of the image; None if there is none.

    Args:
        response: the text of the server's answer.
        meta: the line's fields; sizes are texts such as "[2560, 1440]". `sent_size` is the size of
            the sent image; `min_pixels` and `max_pixels` come from the config's `kwargs`.
    """
    digits = re.findall(r"\d+", response)
    if len(digits) != 2:  # a drag has four, a wait() none: no click
        return None
    return px_to_frac((int(digits[0]), int(digits[1])), model_grid_wh(meta))


def build_agent_prompt(line: Line, dataset: str) -> list[Message]:
    """3. L3 and L4: the model's own prompt for agents, then the episode so far as a conversation.

    The prompt gets one more line: the action for a task that cannot be done (`CALL_USER`). A
    ready-made function reads the replies: `benchmarks.actions.dialects.parse_uitars`.

    Args:
        line: the task, e.g. `line["instruction"]`, `line["platform"]`. `image_path` is the current
            screen. `history` is a list of the earlier steps, each with `image_path`, `reply`,
            `actions`, `note`.
        dataset: "GUITaskAutomation" (L3) or "GUITaskCollaboration" (L4).
    """
    try:
        from ui_tars.prompt import COMPUTER_USE_DOUBAO, MOBILE_USE_DOUBAO
    except ImportError as error:
        raise UserError(
            "the UI-TARS prompt comes from its authors' package: pip install ui-tars"
        ) from error
    is_phone = line["platform"] in ("os_android", "os_ios")
    text = _with_call_user(MOBILE_USE_DOUBAO if is_phone else COMPUTER_USE_DOUBAO)
    text = text.replace("{language}", "English")
    text = text.replace("{instruction}", line["instruction"])
    messages = [{"role": "user", "type": "text", "value": text}]
    for index, step in enumerate(line["history"]):
        if index >= len(line["history"]) - EARLIER_IMAGES:
            messages.append({"role": "user", "type": "image", "value": step["image_path"]})
        messages.append({"role": "assistant", "type": "text", "value": step["reply"]})
        if step["note"]:  # what went wrong; the model knows no words for it, but reads them
            messages.append({"role": "user", "type": "text", "value": step["note"]})
    return [*messages, {"role": "user", "type": "image", "value": image_path_of(line)}]


def _with_call_user(prompt: str) -> str:
    """Return the prompt with one action more, after the one that ends a task as completed."""
    if "call_user(" in prompt:
        return prompt
    return re.sub(r"^finished\(.*$", lambda match: f"{match[0]}\n{CALL_USER}", prompt, flags=re.M)


parse_understanding_response = parser_answers_into_option  # the default parser will do

"""GPT-4o and kin behind the OpenAI API. Config: `configs/config_api_gpt.json`.

This is a general chat model that follows instructions. The prompt asks for a point in one form, and
the parser looks for that form. The model answers a grounding task with

    x=0.412, y=0.087

in fractions of the image. Fractions do not depend on the size that the service resizes to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from models.base import (
    Line,
    Message,
    Point,
    image_path_of,
    parser_answers_into_option,
    parser_response_into_coordinates,
)

GROUNDING_PROMPT = """\
Find one element in this screenshot: the one to click for the following task.

Task: {instruction}

Give the centre of the element as fractions of the picture: x from 0 at the left edge to 1 at the \
right edge, y from 0 at the top edge to 1 at the bottom edge, three decimals each.
Reply with this one line and nothing else:
x=<fraction>, y=<fraction>"""


def build_custom_prompt(line: Line, dataset: str) -> list[Message] | None:
    """Return the prompt above for L2, and None (the default prompt) for all other data sets.

    Args:
        line: the sample, e.g. `line["instruction"]`, `line["image_path"]`.
        dataset: "GUIElementGrounding" (L2) or "GUIContentUnderstanding" (L1).
    """
    if dataset != "GUIElementGrounding":
        return None
    # replace, not format: an instruction or a prompt may contain braces of its own
    text = GROUNDING_PROMPT.replace("{instruction}", line["instruction"])
    return [
        {"role": "user", "type": "image", "value": image_path_of(line)},
        {"role": "user", "type": "text", "value": text},
    ]


def parse_grounding_response(response: str, meta: Mapping[str, Any] | None = None) -> Point | None:
    """Reply → point: the form of the prompt if present, else any pair of numbers, else None."""
    match = re.search(r"x=([\d.]+), y=([\d.]+)", response)
    if match:
        try:
            return float(match.group(1)), float(match.group(2))
        except ValueError:  # "x=1.2.3": dots and digits, but no number
            pass
    return parser_response_into_coordinates(response, meta)


parse_understanding_response = parser_answers_into_option  # the default parser will do

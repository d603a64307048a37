"""Phi-Ground: `<point>x, y</point>` per mille of a canvas of 1008x672."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from models.recipes.base import ChatMessage, Parser, PromptForm, Recipe, prompt_function
from models.recipes.reading import file_wh, from_pixels, numbers_or_none
from utils.contracts import WH, Point
from utils.geometry.resizing import canvas_ratio

CANVAS_WH = (1008, 672)
RAW = "raw_prompt_text"  # a role of no chat template
TEXT = (
    "<|user|> \n\nThe description of the element: \n{instruction}\n\n\nLocate the above described "
    "element in the image. The output should be bounding box using relative coordinates "
    "multiplying 1000.\n<|image_1|> \n<|end|> \n<|assistant|>"
)


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the authors' prompt, which is the whole text with the model's own tags."""
    return [{"role": RAW, "content": TEXT.replace("{instruction}", instruction)}]


@numbers_or_none
def read_point(response: str) -> Any:
    """Return the first point's two numbers, which a comma and a blank divide."""
    x, y = response.split("<point>")[1].split("</point>")[0].split(", ")
    return float(x), float(y)


def parse_point(response: str, meta: Mapping[str, Any]) -> Point | None:
    """Return the point of a reply, mapped from the canvas to the file."""
    numbers = read_point(response)
    if numbers is None:
        return None
    image_wh = file_wh(meta)
    ratio = canvas_ratio(image_wh, CANVAS_WH)
    x_px = numbers[0] / 1000 * CANVAS_WH[0] / ratio
    y_px = numbers[1] / 1000 * CANVAS_WH[1] / ratio
    return from_pixels((x_px, y_px), image_wh, meta)


OFFICIAL = PromptForm(messages)
build_prompt = prompt_function(OFFICIAL)

RECIPE = Recipe(
    family="Phi-Ground",
    hub_ids=("microsoft/Phi-Ground",),
    frame="per mille of a canvas of 1008x672, the image in its top left corner",
    source="microsoft/Phi-Ground @ 39564083",
    prompts={"official_eval": OFFICIAL},
    parsers={"official_point": Parser(parse_point)},
    generate_cfg={"temperature": 0, "max_tokens": 64},
    needs_class=True,
    verified="prompt text, canvas and parser",
    note="its prompt is raw text with the model's own tags, the image lies on a canvas.",
)

"""Claude: a tool `point_at` with pixels of the image as it was sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from models.recipes import sources
from models.recipes.base import (
    ChatMessage,
    Parser,
    PromptForm,
    Recipe,
    image_and_text,
    prompt_function,
)
from models.recipes.reading import file_wh, from_pixels, numbers_or_none
from utils.contracts import WH, Point
from utils.coordinates import UNKNOWN, read_size
from utils.geometry.resizing import within_tiles

TEXT = """\
Point at: {label}

Give the pixel coordinates of its centre. The image is {sent_w}x{sent_h} pixels."""
LONG_EDGE = 1568
MAX_TILES = 1568
POINT_AT = {
    "name": "point_at",
    "description": "Point at the requested element by giving its pixel coordinates.",
    "input_schema": {
        "type": "object",
        "properties": {
            "x": {"type": "integer", "description": "pixels from the left edge"},
            "y": {"type": "integer", "description": "pixels from the top edge"},
        },
        "required": ["x", "y"],
    },
}


def target_wh(image_wh: WH) -> WH:
    """Return the largest size of the same aspect that the API leaves as it is."""
    return within_tiles(image_wh, LONG_EDGE, MAX_TILES)


def messages(instruction: str, sent_wh: WH) -> list[ChatMessage]:
    """Return the messages of Anthropic's localization demo; they name the size sent."""
    text = TEXT.replace("{sent_w}", str(sent_wh[0])).replace("{sent_h}", str(sent_wh[1]))
    return [image_and_text(text.replace("{label}", instruction))]


@numbers_or_none
def read_input(response: str) -> Any:
    """Return x and y of the tool's input as JSON; they must be whole numbers."""
    arguments = json.loads(response)
    x, y = arguments["x"], arguments["y"]
    return (x, y) if isinstance(x, int) and isinstance(y, int) else None


def parse_point(response: str, meta: Mapping[str, Any]) -> Point | None:
    """Return the point of a tool's input, rounded to whole pixels of the file."""
    calls = meta.get("tool_calls")
    numbers = read_input(json.dumps(calls[0]["arguments"]) if calls else response)
    if numbers is None:
        return None
    width, height = file_wh(meta)
    sent = meta.get("sent_size")
    sent_w, sent_h = target_wh((width, height) if sent in UNKNOWN else read_size(sent))
    point_px = (round(numbers[0] * width / sent_w), round(numbers[1] * height / sent_h))
    return from_pixels(point_px, (width, height), meta)


POINT_AT_FORM = PromptForm(
    messages,
    size=target_wh,
    tools=(POINT_AT,),
    tool_choice={"type": "tool", "name": "point_at"},
)
build_prompt = prompt_function(POINT_AT_FORM)

RECIPE = Recipe(
    family="Claude",
    hub_ids=(),
    frame="pixels of the image sent",
    source="anthropics/claude-quickstarts @ 370e18d4 (localization demo); "
    "platform.claude.com, vision coordinates",
    prompts={"anthropic_point_at": POINT_AT_FORM},
    parsers={"anthropic_point_at": Parser(parse_point)},
    resize=({"tiles": MAX_TILES, "longest": LONG_EDGE},),
    generate_cfg={
        "max_tokens": 1024,
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": POINT_AT["name"],
                    "description": POINT_AT["description"],
                    "parameters": POINT_AT["input_schema"],
                },
            }
        ],
        "tool_choice": {"type": "function", "function": {"name": POINT_AT["name"]}},
    },
    kwargs={"image_format": "jpeg", "jpeg_quality": 75},
    figures=(
        *sources.MMBENCH_GUI_PAPER.of("Claude-3.7", l2=4.66),
        *sources.UI_VISION_README.of("Claude-3.7-Sonnet", ui_vision=8.27),
        *sources.UI_VISION_README.of("Claude-3.5-Sonnet", ui_vision=4.47),
        *sources.LEADERBOARD.of("Claude (Computer Use)", screenspot_pro=17.1),
    ),
    verified="messages, tool, size sent and parser",
    note="An API. The tool goes out in the form of an OpenAI-style server; the authors' own API "
    "needs a class. From Opus 4.7 on: 2576 pixels, 4784 tiles.",
)

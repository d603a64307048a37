"""Holo3, Holo3.1 and Holo4: `{"x": 1, "y": 2}` per mille, written to a schema, without thinking."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, Field

from models.recipes.base import ChatMessage, Parser, PromptForm, Recipe, image_and_text
from models.recipes.reading import NOT_READ, file_pixel_parser, whole_parser
from utils.contracts import WH
from utils.geometry.targets import DECLINED, Declined

TEXT = """\
Localize an element on the GUI image according to the provided target and output a click position.
 * You must output a valid JSON following the format: {schema}
 Your target is:
{element}"""
NOT_THERE = (
    " * If no element on the image corresponds to the target, output null for both x and y.\n"
)
TARGET = " Your target is:"


class Click(BaseModel):
    """A place as the prompt's schema has it."""

    x: int = Field(ge=0, le=1000)
    y: int = Field(ge=0, le=1000)


def schema_of(kind: str | list[str]) -> dict[str, Any]:
    """Return the schema of a reply whose x and y are of this kind."""
    number = {"type": kind, "minimum": 0, "maximum": 1000}
    return {
        "type": "object",
        "properties": {"x": number, "y": number},
        "required": ["x", "y"],
        "additionalProperties": False,
    }


SCHEMA = schema_of("integer")
SCHEMA_WITH_REFUSAL = schema_of(["integer", "null"])


def _messages(text: str, schema: dict[str, Any], element: str) -> list[ChatMessage]:
    text = text.replace("{schema}", json.dumps(schema))
    return [image_and_text(text.replace("{element}", element))]


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the documented message."""
    return _messages(TEXT, SCHEMA, instruction)


def messages_with_refusal(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the message of others that lets the model say that there is no such element."""
    return _messages(TEXT.replace(TARGET, NOT_THERE + TARGET), SCHEMA_WITH_REFUSAL, instruction)


def read_click(response: str) -> Any:
    """Return x and y of a reply that is the JSON of a place and nothing else."""
    click = Click.model_validate_json(response)
    return click.x, click.y


def object_of(response: str) -> Any:
    """Return the JSON between the first brace and the last."""
    return json.loads(response[response.index("{") : response.rindex("}") + 1])


def read_object(response: str) -> Any:
    """Return x and y of a JSON object, whatever stands around it."""
    place = object_of(response)
    return float(place["x"]), float(place["y"])


def declined(response: str) -> Declined | None:
    """Return DECLINED for null in place of a number."""
    try:
        place = object_of(response)
        return DECLINED if None in (place["x"], place["y"]) else None
    except NOT_READ:
        return None


parse_point = file_pixel_parser(read_click, 1000, int)
parse_or_refusal = whole_parser(read_object, declined=declined)
build_prompt = PromptForm(messages)
build_prompt_with_refusal = PromptForm(messages_with_refusal)

RECIPE = Recipe(
    family="Holo3, Holo3.1, Holo4",
    hub_ids=(
        "Hcompany/Holo3-35B-A3B",
        "Hcompany/Holo-3.1-0.8B",
        "Hcompany/Holo-3.1-4B",
        "Hcompany/Holo-3.1-9B",
        "Hcompany/Holo-3.1-35B-A3B",
        "Hcompany/Holo4-27B",
        "Hcompany/Holo4-35B-A3B",
    ),
    frame="per mille",
    source="hub.hcompany.ai/models-api/element-localization, as a reader quotes it; "
    "Onifin/Holo3.1-OSWorld-G @ 0fbdd890 evaluation/holo_osworld_g.py",
    prompts={"docs": build_prompt, "third_party_refusal": build_prompt_with_refusal},
    parsers={
        "docs": Parser(parse_point),
        "third_party_osworld_g": Parser(parse_or_refusal, nothing_found="(0, 0) or (-1, -1)"),
    },
    generate_cfg={
        "temperature": 0,
        "max_tokens": 128,
        "extra_body": {"structured_outputs": {"json": SCHEMA}},
    },
    chat_template={"enable_thinking": False},
    verified="both parsers and the refusal prompt (of others); the documented prompt as quoted, its "
    "schema as others print it",
    note="The byte-exact schema of the documentation was not to be had, nor a token limit: 128 is "
    "ours. vLLM before 0.12 calls structured_outputs guided_json. With `build_prompt_with_refusal` "
    "send SCHEMA_WITH_REFUSAL and read by `parse_or_refusal`.",
)

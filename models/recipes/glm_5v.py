"""GLM-4.6V and GLM-5V: boxes per mille, x first, in brackets or as `bbox_2d`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from models.recipes.base import KEEP_TOKENS, KEEP_TOKENS_LOCALLY, Parser, PromptForm, Recipe
from models.recipes.glm_4_5v import messages
from models.recipes.reading import centre, file_wh, four_or_none, from_pixels
from utils.contracts import Point

CONTEXT = 2000  # characters at the end in which brackets are looked for
NUMBER = r"\s*((?:0|[1-9]\d*)(?:\.\d+)?)\s*"
FOUR = ",".join([NUMBER] * 4)
BRACKETS = {"[": "]", "{": "}", "<": ">", "(": ")", "<bbox>": "</bbox>"}
BOXES = [
    re.compile(re.escape(opening) + FOUR + re.escape(end)) for opening, end in BRACKETS.items()
]
NAMES = ("bbox_2d", "bbox_3d")
LONG = r"\s*(\d\d+|\d+\.\d+)\s*"  # of two digits or more, as theirs
NAMED = re.compile(rf"""['"]bbox_2d['"]\s*:\s*\[{",".join([LONG] * 4)}\]""")


@four_or_none
def read_box(response: str) -> Any:
    """Return the first named box; where none is named, the first box in brackets."""
    if any(name in response for name in NAMES):
        return [int(float(number)) for number in NAMED.findall(response)[0]]
    end = response[-CONTEXT:]
    matches = [match for match in (box.search(end) for box in BOXES) if match is not None]
    first = min(matches, key=re.Match.start)
    return [float(number) for number in first.groups()]


def parse_point(response: str, meta: Mapping[str, Any]) -> Point | None:
    """Return the centre of a box whose sides are cut to 0..999 and rounded to hundredths of a pixel."""
    box = read_box(response)
    if box is None:
        return None
    width, height = file_wh(meta)
    sides_px = [
        round(min(max(number, 0), 999) / 1000 * side, 2)
        for number, side in zip(box, (width, height) * 2, strict=True)
    ]
    return from_pixels(centre(sides_px), (width, height), meta)


def parse_of_cli(response: str, meta: Mapping[str, Any]) -> Point | None:
    """Return the point as the authors' command line finds it: none of a box that has a name."""
    if any(name in response for name in NAMES):
        return None
    return parse_point(json.dumps(response, ensure_ascii=False), meta)


build_prompt = PromptForm(messages)

RECIPE = Recipe(
    family="GLM-4.6V, GLM-5V",
    hub_ids=("zai-org/GLM-4.6V", "zai-org/GLM-4.6V-Flash"),
    frame="box per mille",
    source="zai-org/GLM-V @ 6a660983 README.md; zai-org/GLM-skills @ 2ecd31c skills/glmv-grounding",
    prompts={"readme": build_prompt},
    parsers={"glm_skills_text": Parser(parse_point), "glm_skills_cli": Parser(parse_of_cli)},
    generate_cfg={"max_tokens": 8192, **KEEP_TOKENS},
    checkpoint=KEEP_TOKENS_LOCALLY,
    verified="both parsers",
    note="GLM-5V-Turbo is an API. The authors leave the temperature to the server; the token limit "
    "is that of GLM-4.5V. Thoughts are not cut: a box in them wins. A number of one digit in a named "
    "box is not read, as in the authors' code.",
)

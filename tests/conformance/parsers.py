"""Replays of the files that go from a text to a value: parsers, reply cutter, resizing, endpoint."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from models import api_gpt, api_uitars, local_uitars
from models.wrappers.reply_cutting import cut_reply
from tests.conformance.support import Case, Departs, Replay, World, equal
from utils.config.endpoint import parse_endpoint
from utils.coordinates import smart_resize
from utils.misc import parser_answers_into_option, parser_response_into_coordinates

OPTION_PARSERS: dict[str, Callable[[str], str | None]] = {
    "l1_default": parser_answers_into_option,
    "gpt": api_gpt.parse_understanding_response,
    "uitars": api_uitars.parse_understanding_response,
}

# Where the reference takes (0, 0) because the form "x=..., y=..." is absent, or raises because what
# stands there is no number, this project asks the default point parser. Read off by hand from its
# documented pattern: a pair of numbers with a comma, semicolon or blank between them.
GPT_DEPARTURES: dict[str, tuple[float, float] | None] = {
    # from gpt_point_parser.json
    "x=-.5, y=.1": (-0.5, 0.1),
    "X=007, Y=0": (7.0, 0.0),
    "x=.5,y=0.25": (0.5, 0.25),
    "x=812%, y=9.%": None,
    "x=1.0%, y=0.25%": None,
    "x=-.5, y=9.": (-0.5, 9.0),
    "x=0.123,y=0.9": (0.123, 0.9),
    '{"x": 007, "y": 0.9}': None,
    "x=1.0, y=-0.25": (1.0, -0.25),
    "(0.5, 0.5)": (0.5, 0.5),
    "x=5.,  y=9.": None,
    '{"x": 1.0, "y": 455}': None,
    "X=5., Y=0.25": None,
    "x: .5, y: 9.": (0.5, 9.0),
    "x=812,  y=0.9": (812.0, 0.9),
    "X=0.123, Y=0.25": (0.123, 0.25),
    "x=5.%, y=455%": None,
    "x = 5., y = 0": None,
    "x=5.%, y=.1%": None,
    "x: 0.5, y: 0.9": (0.5, 0.9),
    "x=5.,  y=.1": None,
    "x=…, y=1": None,
    # from the eval files
    '{"x": 0.77, "y": 0.213}': None,
    "x=-0.0001, y=0.0002": (-0.0001, 0.0002),
    '{"x": 0.671, "y": 0.39}': None,
    "I cannot find it.": None,
    "x=0.439,y=0.71": (0.439, 0.71),
    "x=0.34,y=0.36": (0.34, 0.36),
    '{"x": 0.8398, "y": 0.45}': None,
    "x=0.529,y=0.249": (0.529, 0.249),
    "x=0.48,y=0.01": (0.48, 0.01),
    "x=., y=.": None,
    "x=1.2.3, y=4": (2.3, 4.0),
}


def gpt_departure(text: str) -> Departs | None:
    """What a reply means here, where the reference finds no number in the form `x=..., y=...`."""
    number = r"(?:\d+\.?\d*|\.\d+)(?![\d.])"
    match = re.search(r"x=[\d.]+, y=[\d.]+", text)
    is_read = match and re.match(f"x={number}, y={number}", match.group())
    return None if is_read else Departs(GPT_DEPARTURES[text])


def _uitars_point(case: Case, world: World) -> Any:
    """Both example files hold a copy of this parser; they must agree to be reproduced."""
    meta = {"image_size": case.input["image_size"]}
    text = case.input["text"]
    points = [m.parse_grounding_response(text, meta) for m in (api_uitars, local_uitars)]
    return points[0] if equal(*points) else points


def _endpoint(case: Case, world: World) -> Any:
    endpoint = parse_endpoint(case.input)
    return {"base_url": endpoint.base_url, "api_key": endpoint.api_key, "model": endpoint.model}


def _of_input(function: Callable[[Any], Any], **how: Any) -> Replay:
    """For files whose input is a function's only argument."""
    return Replay(lambda case, world: function(case.input), **how)


REPLAYS = {
    "option_parser.json": _of_input(parser_answers_into_option),
    "option_parser_wrappers.json": _of_input(lambda x: OPTION_PARSERS[x["parser"]](x["text"])),
    "point_parser.json": _of_input(parser_response_into_coordinates),
    "gpt_point_parser.json": _of_input(
        api_gpt.parse_grounding_response, departs=lambda case: gpt_departure(case.input)
    ),
    "uitars_point_parser.json": Replay(_uitars_point),
    "uitars_resize.json": _of_input(lambda x: smart_resize(**x)),
    "reply_cutter.json": _of_input(lambda x: cut_reply(x["text"], x["dataset"])),
    "endpoint_url.json": Replay(_endpoint),
}

"""Two models that look twice each; the model with the surer second look answers. A class to copy.

    "model": {
      "router": {
        "imp_type": "custom",
        "model_path": "examples.two_models.Router",
        "kwargs": {
          "servers": [
            "http://127.0.0.1:8000/v1?model=vocaela/KV-Ground-8B-BaseGuiOwl1.5-0315",
            "http://127.0.0.1:8001/v1?model=cyankiwi/Qwen3.5-27B-AWQ-4bit"
          ]
        },
        "custom_prompt": { "ScreenSpotPro": "examples.two_models.build_prompt" },
        "parse_function": { "ScreenSpotPro": "examples.two_models.parse_point" }
      }
    }

Each model gives a point, and then a second point in the half of the image around the first. A right
point lies in the middle of this crop: the model with the second point nearer to the middle wins.
Each sample takes four requests; the report counts the tokens of all four.

Source: ScreenSpot-Pro @ 1934d40 models/zoom_consistency_router.py. Its figure is 80.9 on
ScreenSpot-Pro. It was tested only against a scripted server.
"""

from __future__ import annotations

import base64
import math
import mimetypes
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from models.base import CallError, Generation, Message
from models.recipes.base import PromptForm, image_and_text, system_turn
from models.recipes.qwen3_5 import SYSTEM, parse_first_call
from models.recipes.reading import whole_parser
from utils.contracts import WH, Point
from utils.geometry.zooming import Crop

MIDDLE = 0.5, 0.5
TOOL_START, TOOL_END = '{"type": "function"', "\n</tools>"


def router_system() -> str:
    """Return the router's text: that of Qwen3.5's recipe with a tool in valid JSON."""
    before, _, rest = SYSTEM.partition(TOOL_START)
    tool, _, after = (TOOL_START + rest).partition(TOOL_END)
    tool = tool.replace("\n", r"\n")
    return before + tool + "}" + TOOL_END + after


SYSTEM_TEXT = router_system()
build_prompt = PromptForm(lambda text, _: [system_turn(SYSTEM_TEXT), image_and_text(text)])


def read_fractions(response: str) -> list[float]:
    """Return the two numbers of the class's own reply."""
    return [float(number) for number in response.split()]


parse_point = whole_parser(read_fractions, 1)


@dataclass(frozen=True)
class Look:
    """The final answer of one model."""

    point_frac: Point
    distance: float
    """Of its second point to the middle of the crop, in fractions of its sides."""


class Router:
    """Asks all servers and replies with the surer model's point, in fractions of the image."""

    max_concurrency = 8

    def __init__(self, servers: list[str], api_key: str = "none", timeout_s: float = 600) -> None:
        import openai

        self._models = []
        for server in servers:
            url, _, query = server.partition("?")
            client = openai.OpenAI(base_url=url, api_key=api_key, timeout=timeout_s, max_retries=0)
            self._models.append((client, parse_qs(query)["model"][0]))

    def generate(
        self, message: list[Message], *, dataset_name: str, **generate_cfg: Any
    ) -> Generation:
        """Return the point of the model with the second point nearest to the middle."""
        looks, usage = [], {"prompt_tokens": 0, "completion_tokens": 0}
        for client, model in self._models:
            ask = _Asking(client, model, generate_cfg, usage)
            looks.append(look_twice(ask, message))
        sure = [look for look in looks if look is not None]
        if not sure:
            return Generation("no point", usage=usage)
        best = min(sure, key=lambda look: look.distance)
        return Generation("{} {}".format(*best.point_frac), usage=usage)


@dataclass(frozen=True)
class _Asking:
    """One server, asked with the settings of a sample; `usage` sums the tokens of all requests."""

    client: Any
    model: str
    settings: Mapping[str, Any]
    usage: dict[str, int]

    def __call__(self, message: list[Message]) -> str:
        """Return the text of a reply.

        Raises:
            CallError: the request failed.
        """
        import openai

        request = {"temperature": 0, "max_tokens": 512, **self.settings}
        try:
            reply = self.client.chat.completions.create(
                model=self.model, messages=_as_chat(message), **request
            )
        except openai.APIStatusError as error:
            text = f"HTTP {error.status_code}: {error.message}"
            raise CallError("http", text, status_code=error.status_code) from error
        except openai.APITimeoutError as error:
            raise CallError("timeout", str(error)) from error
        except openai.APIConnectionError as error:
            raise CallError("connection", str(error)) from error
        if reply.usage is not None:
            for name in self.usage:
                self.usage[name] += getattr(reply.usage, name)
        return reply.choices[0].message.content or ""


def _as_chat(message: list[Message]) -> list[dict[str, Any]]:
    """Return messages as an OpenAI-style server takes them."""
    chat: list[dict[str, Any]] = []
    for part in message:
        content: dict[str, Any] = {"type": "text", "text": part["value"]}
        if part["type"] == "image":
            data = base64.b64encode(Path(part["value"]).read_bytes()).decode("ascii")
            kind = mimetypes.guess_type(part["value"])[0] or "image/png"
            content = {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}
        if not chat or chat[-1]["role"] != part["role"]:
            chat.append({"role": part["role"], "content": []})
        chat[-1]["content"].append(content)
    return chat


def look_twice(ask: Callable[[list[Message]], str], message: list[Message]) -> Look | None:
    """Return the point of a model after its second look; None where the first has none.

    A second look without a point leaves the first one, which any other model beats.
    """
    from PIL import Image

    path = next(part["value"] for part in message if part["type"] == "image")
    with Image.open(path) as image:
        first = point_of(ask(message), image.size)
        if first is None:
            return None
        crop = crop_around(image.size, first)
        part = image.convert("RGB").crop(crop.box_px)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "crop.png"
        part.resize(crop.sent_wh, Image.Resampling.LANCZOS).save(file, compress_level=1)
        of_crop = [
            {**turn, "value": str(file)} if turn["type"] == "image" else turn for turn in message
        ]
        second = point_of(ask(of_crop), crop.sent_wh)
    if second is None:
        return Look(first, math.inf)
    return Look(crop.in_image(second), math.dist(second, MIDDLE))


def point_of(response: str, image_wh: WH) -> Point | None:
    """Return the point of a reply in fractions of the image that was shown."""
    meta = {"image_size": str(list(image_wh))}
    point = parse_first_call(response, meta)
    return point if isinstance(point, tuple) and max(point) <= 1 else None


def crop_around(image_wh: WH, point_frac: Point) -> Crop:
    """Return half of each side around a point, in whole pixels, moved to stay within the image."""
    spans = []
    for side, fraction in zip(image_wh, point_frac, strict=True):
        length = side // 2
        start = min(max(int(fraction * side) - length // 2, 0), side - length)
        spans.append((start, start + length))
    (left_px, right_px), (top_px, bottom_px) = spans
    return Crop(image_wh, (left_px, top_px, right_px, bottom_px), image_wh)

"""A zoom of more than two looks, as a follow-up function and a parse function. An example to copy.

    "model": {
      "kv": {
        "recipe": "kv_ground",
        "model_path": "http://127.0.0.1:8000/v1?model=vocaela/KV-Ground-8B-BaseGuiOwl1.5-0315",
        "follow_up": { "ScreenSpotPro": "examples.more_looks.ask_again" },
        "parse_function": { "ScreenSpotPro": "examples.more_looks.parse_point" }
      }
    }

Each look shows half of the last part, around the point of the last reply. Change two functions:
`point_of` reads one reply, and `build_prompt` makes the next question. The report has the cost of
the looks beside the accuracy: requests and tokens of a sample.

Source: none; only the second look is KV-Ground's. It was tested only against a scripted server.
"""

from __future__ import annotations

import atexit
import hashlib
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from models.base import Line, Message, image_path_of
from models.recipes.kv_ground import build_prompt
from models.recipes.kv_ground import parse_point as parse_one
from utils.contracts import WH, Point
from utils.coordinates import read_size
from utils.geometry.images import read_header
from utils.geometry.zooming import Crop, Zoom

LOOKS = 3
ZOOM = Zoom(ratio=0.5)


def point_of(response: str, image_wh: WH) -> Point | None:
    """Return the point of a reply in fractions of the shown part; None: it has none there."""
    point = parse_one(response, {"image_size": str(list(image_wh))})
    return point if isinstance(point, tuple) and max(point) <= 1 else None


def crops_after(responses: Sequence[str], image_wh: WH) -> list[Crop]:
    """Return the part that each reply leads to, the first in the image, the next in that part."""
    crops: list[Crop] = []
    shown_wh = image_wh
    for response in responses:
        point = point_of(response, shown_wh)
        if point is None:
            break
        crops.append(ZOOM.crop(shown_wh, point))
        shown_wh = crops[-1].sent_wh
    return crops


def ask_again(line: Line, responses: Sequence[str]) -> list[Message] | None:
    """Return the question about the next part; None after `LOOKS` and where no point is."""
    path = Path(image_path_of(line))
    crops = crops_after(responses, read_header(path).wh)
    if len(responses) == LOOKS or len(crops) < len(responses):
        return None
    file = cut_out(path, crops)
    return build_prompt({**line, "image_path": str(file)}, "")


def cut_out(path: Path, crops: Sequence[Crop]) -> Path:
    """Write the last of some nested parts of an image as a file."""
    from PIL import Image

    edges = repr([path, [crop.box_px for crop in crops]]).encode()
    file = crop_folder() / f"{hashlib.sha256(edges).hexdigest()[:32]}.png"
    if not file.exists():
        with Image.open(path) as image:
            part = image.convert("RGB")
        for crop in crops:
            part = part.crop(crop.box_px)
        part.save(file, compress_level=1)
    return file


@cache
def crop_folder() -> Path:
    """Return the folder of the parts, which is removed with the process."""
    folder = Path(tempfile.mkdtemp(prefix="more_looks_"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def parse_point(response: str, meta: Mapping[str, Any]) -> Point | None:
    """Return the point of the last look that has one, in fractions of the image."""
    responses = meta.get("responses") or [response]
    image_wh = read_size(meta.get("file_size") or meta["image_size"])
    crops = crops_after(responses, image_wh)
    if not crops:
        return None
    looked_at = [image_wh, *(crop.sent_wh for crop in crops)]
    last = len(crops) - 1
    point = point_of(responses[last], looked_at[last])
    for crop in reversed(crops[:last]):
        point = crop.in_image(point) if point else None
    return point

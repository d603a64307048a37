"""Simulated L2 runs: models that answer in a known frame, well or badly, as facts for the audits."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.matrics import Box, score_click
from utils.analysis.columns import AuditSettings, SampleColumns, Section
from utils.analysis.coordinate_audit import Interpretation
from utils.coordinates import (
    OF_THE_IMAGE_SENT,
    Frame,
    known_grid_wh,
    place_in_frame,
    point_as_fractions,
    smart_resize,
)
from utils.protocol import ELEMENT_KINDS

# Sizes that people's screens have; a few are larger than what is sent or seen.
SCREENS = ((1920, 1080), (2560, 1440), (3840, 2160), (1366, 768), (1179, 2556), (1080, 2400))
SENT_SIDE = 1600
SEEN_PIXELS = 1_003_520
SETTINGS = AuditSettings(
    "GUIElementGrounding",
    parser_setting="data.GUIElementGrounding.parse_function",
    scored_kinds=ELEMENT_KINDS,
)

Sizes = dict[str, Any]
Parse = Callable[[str, Sizes], Any]
Wrap = Callable[[random.Random, str], str]


@dataclass(frozen=True)
class Model:
    """A simulated model.

    Attributes:
        reading: the meaning of its numbers.
        accuracy: share of samples on which it knows the element.
        spread: standard deviation of a known click, in target sizes.
        correlation: 0: pictures are alike; 1: it knows all of a picture or nothing.
        is_box: it answers with a box.
        bias: constant offset of each click, in target sizes.
        place_click: for a model in no known frame: returns left, top, width and height that an
            image of a size has in its numbers.
    """

    reading: Interpretation
    accuracy: float = 1.0
    spread: float = 0.0
    correlation: float = 0.0
    is_box: bool = False
    bias: float = 0.0
    place_click: Callable[[tuple[int, int]], tuple[float, float, float, float]] | None = None


def columns_of(facts: Iterable[dict[str, Any]]) -> SampleColumns:
    """Samples as figures and audits get them."""
    columns = SampleColumns()
    for sample in facts:
        columns.add(sample)
    return columns


def texts_of(section: Section) -> list[str]:
    """The texts of a section's findings."""
    return [str(finding) for finding in section["findings"]]


def simulated(
    dice: random.Random,
    model: Model,
    parse: Parse,
    *,
    pictures: int,
    per_picture: Sequence[int] = (1, 6),
    target_side: Sequence[float] = (0.01, 0.15),
    screens: Sequence[tuple[int, int]] = SCREENS,
    shrinks: bool = True,
    wrap: Wrap | None = None,
) -> Iterator[dict[str, Any]]:
    """The facts of a run whose config names `parse`.

    Args:
        per_picture: least and greatest number of samples on one picture.
        target_side: least and greatest side of a target, as fractions of the picture.
        shrinks: pictures are sent and seen smaller than their files.
        wrap: what else a reply says around its numbers, thinking perhaps.
    """
    for number in range(pictures):
        file_wh = sent_wh = dice.choice(screens)
        if shrinks:
            scale = min(1.0, SENT_SIDE / max(file_wh))
            sent_wh = round(file_wh[0] * scale), round(file_wh[1] * scale)
        max_pixels = SEEN_PIXELS if shrinks else 12_845_056
        grid_h, grid_w = smart_resize(sent_wh[1], sent_wh[0], max_pixels=max_pixels)
        sizes = {"sent_size": sent_wh, "seen_size": (grid_w, grid_h), "image_size": file_wh}
        known_picture = dice.random() < model.accuracy
        for _ in range(dice.randint(*per_picture)):
            box = _target(dice, target_side)
            of_picture = dice.random() < model.correlation
            is_known = known_picture if of_picture else dice.random() < model.accuracy
            elsewhere = None if is_known else (dice.uniform(0.01, 0.99), dice.uniform(0.01, 0.99))
            reply = _said(dice, elsewhere or _click(dice, box, model), model, sizes)
            reply = wrap(dice, reply) if wrap else reply
            yield _facts(reply, box, parse(reply, sizes), sizes, number)


def _target(dice: random.Random, sides: Sequence[float]) -> Box:
    width, height = (math.exp(dice.uniform(*map(math.log, sides))) for _ in range(2))
    x, y = dice.uniform(0, 1 - width), dice.uniform(0, 1 - height)
    return Box(x, y, x + width, y + height)


def _click(dice: random.Random, box: Box, model: Model) -> tuple[float, float]:
    def along(low: float, high: float) -> float:
        noise = (dice.gauss(0, model.spread) + model.bias) * (high - low)
        return min(max((low + high) / 2 + noise, 0.001), 0.999)

    return along(box.x1, box.x2), along(box.y1, box.y2)


def _said(dice: random.Random, click: tuple[float, float], model: Model, sizes: Sizes) -> str:
    frame, file_wh = model.reading.frame, sizes["image_size"]
    counted = {Frame.GRID_PIXELS: sizes["seen_size"]}
    counted |= dict.fromkeys(OF_THE_IMAGE_SENT, sizes["sent_size"])
    frame_area = place_in_frame(frame, counted.get(frame, file_wh))
    area_x, top, wide, high = model.place_click(file_wh) if model.place_click else frame_area
    x, y = area_x + click[0] * wide, top + click[1] * high
    numbers = [x, y]
    if model.is_box:
        numbers = [x - 0.02 * wide, y - 0.02 * high, x + 0.02 * wide, y + 0.02 * high]
    digits = {Frame.FRACTIONS: 4, Frame.PER_CENT: 1}.get(frame, 0)
    if model.reading.y_first:
        numbers = [numbers[index] for index in ((1, 0) if len(numbers) == 2 else (1, 0, 3, 2))]
    texts = [f"{value:.{digits}f}" for value in numbers]
    if len(texts) == 4:
        return dice.choice(("[{}]", '{{"bbox_2d": [{}]}}')).format(", ".join(texts))
    point = "<point>{} {}</point>"
    forms = ("({}, {})", "[{}, {}]", point, f"Action: click(point='{point}')")
    return dice.choice(forms).format(*texts)


def _facts(reply: str, box: Box, parsed: Any, sizes: Sizes, picture: int) -> dict[str, Any]:
    file_wh = sizes["image_size"]
    point = None if parsed is None else point_as_fractions(parsed, file_wh)
    verdict = score_click(box, point)
    return {
        "key": "k",
        "image": f"os_web/{picture}.png",
        "kind": "icon",
        "status": "ok",
        "verdict": str(verdict),
        "hit": int(verdict == "hit"),
        "prediction": reply,
        "box_frac": [box.x1, box.y1, box.x2, box.y2],
        "point_frac": None if point is None else list(point),
        "file_wh": list(file_wh),
        "sent_wh": list(sizes["sent_size"]),
        "seen_wh": list(sizes["seen_size"]),
        "grid_wh": known_grid_wh(sizes),
    }

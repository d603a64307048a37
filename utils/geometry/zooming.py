"""A second look: a crop around the first point, and the way back from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from utils.contracts import WH, Point

SAME_PART = 0.01  # of a crop's sides: another reading of the first point may be off by a rounding


@dataclass(frozen=True, slots=True)
class Crop:
    """The part of an image that a second look shows; `edges` as they were computed."""

    image_wh: WH
    edges: tuple[float, float, float, float]  # left, top, right, bottom in pixels of the file
    resize_to: WH | None

    @property
    def box_px(self) -> tuple[int, int, int, int]:
        """Return left, top, right and bottom in whole pixels of the file."""
        left_px, top_px, right_px, bottom_px = (int(edge) for edge in self.edges)
        return left_px, top_px, right_px, bottom_px

    @property
    def box_frac(self) -> tuple[float, float, float, float]:
        """Return left, top, right and bottom as fractions of the image."""
        left_px, top_px, right_px, bottom_px = self.edges
        width, height = self.image_wh
        return left_px / width, top_px / height, right_px / width, bottom_px / height

    def is_near(self, other: Crop) -> bool:
        """Whether another crop shows the same part, to `SAME_PART` of this one's sides."""
        left_px, top_px, right_px, bottom_px = self.edges
        sides = (right_px - left_px, bottom_px - top_px) * 2
        moved = zip(self.edges, other.edges, sides, strict=True)
        return all(abs(edge - other_edge) <= SAME_PART * side for edge, other_edge, side in moved)

    @property
    def sent_wh(self) -> WH:
        """Return the size in which the part is sent."""
        left_px, top_px, right_px, bottom_px = self.box_px
        return self.resize_to or (right_px - left_px, bottom_px - top_px)

    def in_image(self, point_frac: Point) -> Point:
        """Return a point of the part as a point of the image, both in fractions."""
        left_px, top_px, right_px, bottom_px = self.edges
        x = (point_frac[0] * (right_px - left_px) + left_px) / self.image_wh[0]
        y = (point_frac[1] * (bottom_px - top_px) + top_px) / self.image_wh[1]
        return min(max(x, 0.0), 1.0), min(max(y, 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class Zoom:
    """A second look at the part of the image around the first point; `zoom` of a model entry."""

    ratio: float
    """Of the part's width and height to the image's."""
    resize_to: WH | None = None
    """The size in pixels in which the part is sent; None: as it is."""
    whole_per_mille: bool = False
    """Whether the final point is rounded to whole thousandths, as ClawGUI-Eval writes it down."""
    keep_size: bool = False
    """Whether the part is sent in the size of the image."""
    cut_at_edge: bool = False
    """Whether a part that would reach beyond the image is cut there, not moved, as KV-Ground does.

    Its middle is a whole pixel; around a point beyond the image all of the image is shown again.
    """

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Zoom:
        """Return the zoom of a config's block."""
        size = settings.get("resize_to")
        return cls(
            float(settings["ratio"]),
            (int(size[0]), int(size[1])) if size else None,
            bool(settings.get("whole_per_mille")),
            bool(settings.get("keep_size")),
            bool(settings.get("cut_at_edge")),
        )

    def as_settings(self) -> dict[str, Any]:
        """Return the block of a config."""
        size = list(self.resize_to) if self.resize_to else None
        return {key: value for key, value in {**asdict(self), "resize_to": size}.items() if value}

    def crop(self, image_wh: WH, point_frac: Point) -> Crop:
        """Return the part around a point, moved or cut to stay within the image."""
        (left_px, right_px), (top_px, bottom_px) = (
            self._cut_spans(image_wh, point_frac)
            if self.cut_at_edge
            else self._moved_spans(image_wh, point_frac)
        )
        edges = (left_px, top_px, right_px, bottom_px)
        return Crop(image_wh, edges, self.sent_wh(image_wh))

    def sent_wh(self, image_wh: WH) -> WH | None:
        """Return the size in which a part of an image is sent; None: as it is."""
        return image_wh if self.keep_size else self.resize_to

    def _cut_spans(self, image_wh: WH, point_frac: Point) -> list[tuple[float, float]]:
        middle_px = [
            round(fraction * side) for side, fraction in zip(image_wh, point_frac, strict=True)
        ]
        if not all(0 <= px <= side for side, px in zip(image_wh, middle_px, strict=True)):
            return [(0, side) for side in image_wh]
        return [
            (max(0, px - int(side * self.ratio) // 2), min(side, px + int(side * self.ratio) // 2))
            for side, px in zip(image_wh, middle_px, strict=True)
        ]

    def _moved_spans(self, image_wh: WH, point_frac: Point) -> list[tuple[float, float]]:
        spans: list[tuple[float, float]] = []
        for side, fraction in zip(image_wh, point_frac, strict=True):
            middle = fraction * side
            length = side * self.ratio
            start = middle - length / 2
            end = middle + length / 2
            if start < 0:
                end -= start
                start = 0
            if end > side:
                start -= end - side
                end = side
            spans.append((max(0, start), min(side, end)))
        return spans

    def as_record(self, crop: Crop) -> dict[str, Any]:
        """The entry on its crop in the record of the second stage."""
        return {
            **self.as_settings(),
            "edges_px": list(crop.edges),
            "sent_wh": list(crop.sent_wh),
        }

    def answer(self, crop: Crop, point_frac: Point) -> Point:
        """Return the final point, in fractions of the image, for a point of the part."""
        x, y = crop.in_image(point_frac)
        if not self.whole_per_mille:
            return x, y
        return round(1000 * x) / 1000, round(1000 * y) / 1000


@dataclass(frozen=True, slots=True)
class SecondLook:
    """The second look at a sample, as far as the log knows it."""

    zoom: Zoom
    crop: Mapping[str, Any] | None = None
    """As the record of the second stage has it; logs of earlier versions have none."""
    is_around_first: bool = True
    """Without a stored crop: whether the first point is read as when the crop was made."""

    @classmethod
    def of(cls, crop: Mapping[str, Any]) -> SecondLook:
        """Return the second look of a record that holds its crop."""
        return cls(Zoom.of(crop), crop)

    def shown(self, image_wh: WH, first_frac: Point | None) -> Crop | None:
        """Return the part that was shown; None where that is not known.

        Args:
            image_wh: size of the whole image.
            first_frac: the first point as it is read now.
        """
        if self.crop is not None:
            left_px, top_px, right_px, bottom_px = map(float, self.crop["edges_px"])
            edges = (left_px, top_px, right_px, bottom_px)
            return Crop(image_wh, edges, self.zoom.sent_wh(image_wh))
        if first_frac is None or not self.is_around_first:
            return None
        return self.zoom.crop(image_wh, first_frac)

    def around(self, image_wh: WH, first_frac: Point) -> Crop | None:
        """Return the part that was shown if it is the one around this first point."""
        crop = self.shown(image_wh, first_frac)
        if crop is None or not crop.is_near(self.zoom.crop(image_wh, first_frac)):
            return None
        return crop

"""A second look: a crop around the first point, and the way back from it."""

from __future__ import annotations

from dataclasses import dataclass

from utils.contracts import WH, Point


@dataclass(frozen=True, slots=True)
class Crop:
    """The part of an image that a second look shows; `edges` before they are cut to whole pixels."""

    image_wh: WH
    edges: tuple[float, float, float, float]  # left, top, right, bottom in pixels of the file
    resize_to: WH | None

    @property
    def box_px(self) -> tuple[int, int, int, int]:
        """Return left, top, right and bottom in whole pixels of the file."""
        left_px, top_px, right_px, bottom_px = (int(edge) for edge in self.edges)
        return left_px, top_px, right_px, bottom_px

    @property
    def sent_wh(self) -> WH:
        """Return the size in which the part is sent."""
        left_px, top_px, right_px, bottom_px = self.box_px
        return self.resize_to or (right_px - left_px, bottom_px - top_px)

    def in_image(self, point_per_mille: Point) -> Point:
        """Return a point of the part, per mille, as a point of the image, per mille."""
        left_px, top_px, right_px, bottom_px = self.edges
        x = (point_per_mille[0] / 1000 * (right_px - left_px) + left_px) / self.image_wh[0] * 1000
        y = (point_per_mille[1] / 1000 * (bottom_px - top_px) + top_px) / self.image_wh[1] * 1000
        return min(max(x, 0.0), 1000.0), min(max(y, 0.0), 1000.0)


@dataclass(frozen=True, slots=True)
class Zoom:
    """A second look at the part of the image around the first point."""

    ratio: float
    """Of the part's width and height to the image's."""
    resize_to: WH | None = None

    def crop(self, image_wh: WH, point_per_mille: Point) -> Crop:
        """Return the part around a point, moved (not cut) to stay within the image."""
        spans = []
        for side, per_mille in zip(image_wh, point_per_mille, strict=True):
            middle = per_mille / 1000 * side
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
        (left_px, right_px), (top_px, bottom_px) = spans
        return Crop(image_wh, (left_px, top_px, right_px, bottom_px), self.resize_to)

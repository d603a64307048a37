"""Ways to read two or four numbers as a place on the picture, for many replies at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from utils.coordinates import FULL_SCALE, Frame, parse_function_name

if TYPE_CHECKING:
    from utils.analysis.columns import Floats, Mask

LABELS = {
    Frame.FRACTIONS: "fractions",
    Frame.PIXELS: "pixels of the file",
    Frame.PIXELS_SENT: "pixels of the picture sent",
    Frame.GRID_PIXELS: "pixels of the grid seen",
    Frame.PER_MILLE: "per mille",
    Frame.PER_CENT: "per cent",
}


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read.

    Attributes:
        frame: what the numbers count.
        y_first: y stands before x.
        corner: of a box its first corner is meant, not its centre.
    """

    frame: Frame
    y_first: bool = False
    corner: bool = False

    @property
    def name(self) -> str:
        """For people."""
        words = [LABELS[self.frame]]
        words += ["y before x"] if self.y_first else []
        words += ["first corner of a box"] if self.corner else []
        return ", ".join(words)

    @property
    def parse_function(self) -> str:
        """What a config's `parse_function` has to say for this reading."""
        return parse_function_name(self.frame, y_first=self.y_first, corner=self.corner)


READINGS = tuple(
    Reading(frame, y_first, corner)
    for corner in (False, True)
    for y_first in (False, True)
    for frame in Frame
)
"""All of them, the plainest first: where two do the same, the first one names both."""


@dataclass(frozen=True, slots=True, eq=False)
class Replies:
    """The numbers of many replies, and what their pictures count.

    Attributes:
        numbers: shape (samples, 4); the last two NaN where a reply has a point only.
        file_wh: shape (samples, 2), in pixels, like the next two.
        sent_wh: the file's where nothing else was sent.
        grid_wh: NaN where it is not known what the model saw.
    """

    numbers: Floats
    file_wh: Floats
    sent_wh: Floats
    grid_wh: Floats

    @property
    def is_box(self) -> Mask:
        """Which replies have four numbers, shape (samples,)."""
        import numpy as np

        return ~np.isnan(self.numbers[:, 2])

    def pairs(self, reading: Reading) -> Floats:
        """x and y in the reply's own frame, shape (samples, 2)."""
        import numpy as np

        pairs = self.numbers[:, :2]
        if not reading.corner:
            centres = (pairs + self.numbers[:, 2:]) / 2
            pairs = np.where(self.is_box[:, None], centres, pairs)
        return pairs[:, ::-1] if reading.y_first else pairs

    def points(self, reading: Reading) -> Floats:
        """Fractions of the picture, shape (samples, 2); NaN where the frame is not known."""
        return self.pairs(reading) / self.frame_wh(reading.frame)

    def frame_wh(self, frame: Frame) -> Floats | int:
        """What the right and lower edges count as."""
        if frame in FULL_SCALE:
            return FULL_SCALE[frame]
        if frame is Frame.PIXELS:
            return self.file_wh
        return self.sent_wh if frame is Frame.PIXELS_SENT else self.grid_wh


def hits_of(points_frac: Floats, boxes_frac: Floats) -> Mask:
    """Which points lie in their boxes, bounds included; NaN lies nowhere. Shape (samples,)."""
    inside: Mask = (
        (boxes_frac[:, 0] <= points_frac[:, 0])
        & (points_frac[:, 0] <= boxes_frac[:, 2])
        & (boxes_frac[:, 1] <= points_frac[:, 1])
        & (points_frac[:, 1] <= boxes_frac[:, 3])
    )
    return inside

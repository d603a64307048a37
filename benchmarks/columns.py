"""What figures need of each sample, 17 bytes each, and which samples belong together."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from utils.contracts import Facts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.intp]

GROUPINGS = ("platform", "split", "kind", "target size")
SIZE_CLASSES = ((0.015, "under 1.5 %"), (0.03, "1.5 to 3 %"), (0.06, "3 to 6 %"))
LARGEST_SIZES = "6 % and more"
NO_LABEL = "none"


class Columns:
    """Keeps the columns of all samples; arrays, because a run may have 50,000 samples."""

    def __init__(self) -> None:
        self._hits, self._options = array("B"), array("B")
        self._pictures = array("Q")
        self._numbers = {name: array("H") for name in GROUPINGS}
        self._labels: dict[str, dict[str, int]] = {name: {} for name in GROUPINGS}

    def add(self, facts: Facts) -> None:
        """One more sample."""
        self._hits.append(facts["hit"])
        self._options.append(len(facts.get("options") or ()))
        picture = blake2b(str(facts["image"]).encode("utf-8", "surrogatepass"), digest_size=8)
        self._pictures.append(int.from_bytes(picture.digest(), "big"))
        for name in GROUPINGS:
            label = size_class(facts) if name == "target size" else facts.get(name)
            labels = self._labels[name]
            text = NO_LABEL if label is None else str(label)
            self._numbers[name].append(labels.setdefault(text, len(labels)))

    def answers(self) -> Answers:
        """All that was added, ready for arithmetic."""
        import numpy as np

        pictures = np.frombuffer(self._pictures, dtype=np.uint64)
        return Answers(
            hits=np.frombuffer(self._hits, dtype=np.uint8).astype(np.float64),
            options=np.frombuffer(self._options, dtype=np.uint8).astype(np.float64),
            pictures=np.unique(pictures, return_inverse=True)[1],
            groups={
                name: {
                    label: np.frombuffer(self._numbers[name], dtype=np.uint16) == number
                    for label, number in self._labels[name].items()
                }
                for name in GROUPINGS
            },
        )


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """The samples of a run by column.

    Attributes:
        hits: 1 or 0, shape (samples,).
        options: how many each question has, 0 where there are none, shape (samples,).
        pictures: number of each sample's picture, shape (samples,).
        groups: grouping → label → which samples carry it, shape (samples,) each.
    """

    hits: Floats
    options: Floats
    pictures: Ints
    groups: dict[str, dict[str, Mask]]

    @property
    def all(self) -> Mask:
        """Every sample."""
        import numpy as np

        return np.ones(len(self.hits), dtype=bool)


def size_class(facts: Facts) -> str | None:
    """How large a target is: the side of a square of its area, against that of the picture's.

    At 1920x1080, 1.5 % are 22 pixels, 3 % 43 and 6 % 86.
    """
    box = facts.get("box_frac")
    if box is None:
        return None
    area = max(box[2] - box[0], 0.0) * max(box[3] - box[1], 0.0)
    side = math.sqrt(area)
    return next((label for limit, label in SIZE_CLASSES if side < limit), LARGEST_SIZES)

"""How the samples of a data set are shared among ranks: claimed piece by piece, large ones first.

No rank has a fixed share, so that a fast one takes more and one that never starts takes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from utils.contracts import Sample

LARGEST_PIECE = 64  # samples


def pieces(samples: int, ranks: int, least: int = 1) -> list[range]:
    """Consecutive pieces of a data set that shrink towards its end.

    Large ones cost few requests and keep questions about one picture together; small ones at the
    end let all ranks finish at about the same time.

    Args:
        samples: how many there are.
        ranks: how many share them.
        least: no piece but the last is smaller; a batch should not be cut.
    """
    found = []
    begin = 0
    while begin < samples:
        fair = -(-(samples - begin) // (2 * ranks))
        size = min(max(least, min(fair, LARGEST_PIECE)), samples - begin)
        found.append(range(begin, begin + size))
        begin += size
    return found


@dataclass(frozen=True, slots=True)
class Share:
    """The samples of a data set that one rank comes to ask.

    Attributes:
        samples: of the whole group.
        pieces: as `pieces` cuts them, alike on all ranks.
        claim: number of the next piece that nobody has; beyond the last when there is none.
        claimed: how many pieces are gone, as far as this can be known.
    """

    samples: Sequence[Sample]
    pieces: Sequence[range]
    claim: Callable[[], int]
    claimed: Callable[[], int]

    @property
    def has_more(self) -> bool:
        """Whether there is something left to claim."""
        return self.claimed() < len(self.pieces)

    def take(self, under_way: Callable[[], int]) -> Iterator[Sample | None]:
        """Claims and gives samples; None: not now, ask again when less is under way.

        Requests are prepared far ahead; a rank that claimed so far ahead would leave the others
        nothing of a small data set.
        """
        last_size = 0
        while True:
            while under_way() > last_size:
                yield None
            number = self.claim()
            if number >= len(self.pieces):
                return
            last_size = len(self.pieces[number])
            for index in self.pieces[number]:
                yield self.samples[index]

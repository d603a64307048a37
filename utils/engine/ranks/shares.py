"""How the samples of a data set are shared among ranks: claimed piece by piece, large ones first.

No rank has a fixed share, so that a fast one takes more and one that never starts takes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from utils.contracts import Sample
from utils.engine.ranks.group import Group

LARGEST_PIECE = 64  # samples


def pieces(samples: int, ranks: int, least: int = 1) -> list[range]:
    """Consecutive pieces of a data set that shrink towards its end; only the last is below `least`.

    Large ones cost few requests and keep questions about one image together; small ones at the
    end let all ranks finish at about the same time.
    """
    pieces_of_all = []
    begin = 0
    while begin < samples:
        fair = -(-(samples - begin) // (2 * ranks))
        size = min(max(least, min(fair, LARGEST_PIECE)), samples - begin)
        pieces_of_all.append(range(begin, begin + size))
        begin += size
    return pieces_of_all


class Share:
    """The samples of a data set that one rank comes to ask.

    Args:
        model: a note `<model>/start` that is false ends the claiming on all ranks.
        samples: of the whole group.
        batch: no fewer samples are claimed at once, but at the end.
    """

    def __init__(
        self, group: Group, model: str, dataset: str, samples: Sequence[Sample], batch: int
    ) -> None:
        self._group = group
        self._samples = samples
        self._start = f"{model}/start"
        self._claims = f"{model}/claims/{dataset}"
        self._pieces = pieces(len(samples), group.rank.count, batch)

    def take(self, under_way: Callable[[], int]) -> Iterator[Sample | None]:
        """Claims and gives samples; None: not now, ask again when less is under way.

        Requests are prepared far ahead; a rank that claimed so far ahead would leave the others
        nothing of a small data set.
        """
        last_size = 0
        while self._group.find(self._start) is not False:
            while under_way() > last_size:
                yield None
            position = self._group.count_up(self._claims)
            if position >= len(self._pieces):
                return
            piece = self._pieces[position]
            last_size = len(piece)
            for index in piece:
                yield self._samples[index]

"""The number of samples of a length that fit on the device, learned from batches."""

from __future__ import annotations

import sys

CLASSES = 32  # of lengths: number n holds those above 2 ** (n - 1) up to 2 ** n tokens
PATIENCE = 8  # full batches after which a limit is tried again, with half as much again


def length_class(tokens: int) -> int:
    """Return the class of a length, 0 for a single token."""
    return min(CLASSES - 1, (tokens - 1).bit_length())


class Room:
    """The padded tokens (samples times the longest) that fit at once in each class of lengths.

    Memory grows somewhere between linearly and with the square of a length: the attention mask of
    a padded batch has two sides of that length. If a batch has fitted, as many tokens fit in
    shorter samples, and half as many in samples of twice the length. If a batch has not fitted, no
    more tokens fit in longer samples, but twice as many may fit in samples of half the length.

    If the share of the memory that a batch took is known, the next batch has as many samples as fit
    by that share: memory is proportional to the number of samples of a length. Otherwise batches
    double.

    Not thread-safe.

    Args:
        grows: start with one sample; otherwise begin without a limit.
    """

    def __init__(self, *, grows: bool) -> None:
        self._grows = grows
        self._fitted = [0] * CLASSES
        self._expected = [0] * CLASSES  # to fit, by the share of memory that batches took
        self._limits = [sys.maxsize] * CLASSES
        self._full_batches = [0] * CLASSES  # since a limit was set or raised
        self._patience = [PATIENCE] * CLASSES
        self._is_raised = [False] * CLASSES  # and has not failed since

    def tokens_for(self, length: int) -> int:
        """The number of padded tokens that a batch may have whose longest sample has `length`."""
        number = length_class(length)
        if self._grows:
            grown = self._expected[number] or 2 * self._fitted[number]
            return min(grown, self._limits[number])
        return self._limits[number]

    def note_fit(self, count: int, length: int, share: float | None = None) -> None:
        """Learn from a batch that was generated.

        Args:
            count: its samples.
            length: to which they were padded.
            share: of the memory beside the weights that it took, above 0 and up to 1; None: that is
                not known.
        """
        padded = count * length
        number = length_class(length)
        if share is not None and share > 0:
            self._expected[number] = max(self._expected[number], int(padded / share))
        for shorter in range(number + 1):
            self._fitted[shorter] = max(self._fitted[shorter], padded)
        for longer in range(number + 1, CLASSES):
            self._fitted[longer] = max(self._fitted[longer], padded >> (longer - number))
        if padded + length <= self._limits[number]:
            return  # the limit did not hold it back
        self._full_batches[number] += 1
        if self._full_batches[number] >= self._patience[number]:
            # What was short of memory then may have gone: another process, fragments.
            self._full_batches[number] = 0
            self._limits[number] = max(self._limits[number] * 3 // 2, padded + length)
            self._is_raised[number] = True

    def note_overflow(self, count: int, length: int) -> int:
        """Learn from a batch that ran out of memory; return the new limit for such lengths."""
        padded = count * length
        number = length_class(length)
        limit = padded // 2
        if self._expected[number]:  # it was only just too much
            limit = padded * 9 // 10
            self._expected[number] = limit
        elif limit < self._fitted[number] < padded:
            limit = self._fitted[number]
        for longer in range(number, CLASSES):
            self._limits[longer] = min(self._limits[longer], limit)
            self._fitted[longer] = min(self._fitted[longer], limit)
        for shorter in range(number):
            possible = max(self._fitted[shorter], limit << (number - shorter))
            self._limits[shorter] = min(self._limits[shorter], possible)
        self._full_batches[number] = 0
        if self._is_raised[number]:
            self._patience[number] *= 2
            self._is_raised[number] = False
        return limit

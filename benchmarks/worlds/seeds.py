"""Seeds that follow from a text: nobody can have tried them before the text was announced."""

from __future__ import annotations

import hashlib

SEED_COUNT = 4
STEPS = 50


def seeds_from(text: str) -> list[int]:
    """Return the four seeds of a text, in 0 to 199.

    The i-th one, i from 0 to 3, is 4 * (h mod 50) + i, where h is the SHA-256 of the text, a line
    feed and the digit i, in UTF-8, as a number. Their remainders by 4 are 0, 1, 2 and 3, so that
    they show each task of the office in all of its looks, as the seeds 0 to 3 do.
    """
    seeds = []
    for number in range(SEED_COUNT):
        digest = hashlib.sha256(f"{text}\n{number}".encode()).hexdigest()
        seeds.append(SEED_COUNT * (int(digest, 16) % STEPS) + number)
    return seeds

"""How batches of `"batch_size": "auto"` grow, beside the best fixed size; by a model of their cost."""

import math

import pytest

from models.wrappers.local.batches import LARGEST_AUTO
from models.wrappers.local.room import Room

SAMPLES = 100
TOKENS = 1000  # of each sample
# Of a 3B model on an H200, which took 13.5 s for 32 samples in batches of 8, and 15.4 s in batches
# of 1, 2, 4, 8, 16 and 1.
BATCH_S = 0.95
SAMPLE_S = 0.30


def seconds(batches, samples=SAMPLES):
    return BATCH_S * batches + SAMPLE_S * samples


def grown(memory, *, is_known=True, overhead=0.0):
    """The seconds that batches take which grow, and their sizes; those that fail are negative.

    Args:
        memory: how many samples it has room for.
        is_known: which share of it a batch takes.
        overhead: how many samples' memory any batch takes besides.
    """
    room = Room(grows=True)
    left, spent_s, sizes = SAMPLES, 0.0, []
    while left:
        count = max(1, min(left, LARGEST_AUTO, room.tokens_for(TOKENS) // TOKENS))
        if count + overhead > memory:
            assert count > 1
            room.note_overflow(count, TOKENS)
            spent_s += BATCH_S + SAMPLE_S * memory  # until it was full
            sizes.append(-count)
            continue
        share = (count + overhead) / memory
        room.note_fit(count, TOKENS, share if is_known else None)
        spent_s += seconds(1, count)
        sizes.append(count)
        left -= count
    return spent_s, sizes


def best_fixed(memory):
    largest = min(LARGEST_AUTO, math.floor(memory))
    return min(seconds(math.ceil(SAMPLES / size)) for size in range(1, largest + 1))


@pytest.mark.parametrize("memory", [1, 2, 3.3, 4.02, 6, 8, 8.5, 12, 17, 24.9, 33, 50, 64, 200])
def test_after_100_samples_auto_is_at_most_5_percent_behind_the_best_fixed_size(memory):
    spent_s, sizes = grown(memory)
    assert spent_s <= 1.05 * best_fixed(memory), sizes
    assert min(sizes) > 0


@pytest.mark.parametrize("memory", [3, 8, 20, 70])
def test_memory_that_any_batch_takes_is_found_out_by_larger_ones(memory):
    spent_s, sizes = grown(memory, overhead=0.5)
    assert spent_s <= 1.08 * best_fixed(memory - 0.5), sizes
    assert min(sizes) > 0


def test_where_shares_are_not_known_batches_double():
    _, sizes = grown(20, is_known=False)
    assert sizes[:5] == [1, 2, 4, 8, 16]
    assert sizes[5] == -32


def test_what_was_expected_to_fit_and_did_not_costs_a_tenth_and_no_half():
    room = Room(grows=True)
    room.note_fit(1, TOKENS, 1 / 40)
    assert room.tokens_for(TOKENS) == 40 * TOKENS
    room.note_overflow(40, TOKENS)
    assert room.tokens_for(TOKENS) == 36 * TOKENS

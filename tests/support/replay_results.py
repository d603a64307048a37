"""Output and exit status of replays of official cases."""

from __future__ import annotations

from collections.abc import Sequence

from tests.support.grounding_compare import Comparison

SHOWN = 10  # different cells of a comparison


def show(comparison: Comparison) -> None:
    """Print what is equal and what differs."""
    counts = f"{comparison.equal} cells equal, {len(comparison.different)} different"
    print(f"{comparison.name}: {counts}", flush=True)
    for line in comparison.remarks:
        print(f"  {line}")
    for line in comparison.different[:SHOWN]:
        print(f"  DIFFERENT {line}")
    if len(comparison.different) > SHOWN:
        print(f"  and {len(comparison.different) - SHOWN} more")


def exit_status(results: Sequence[Comparison], noun: str) -> int:
    """Print the sum of all comparisons; return 0 where all is equal, 2 where there are none."""
    different = sum(len(comparison.different) for comparison in results)
    equal = sum(comparison.equal for comparison in results)
    print(f"{len(results)} {noun}: {equal} cells equal, {different} different")
    return 2 if not results else int(different > 0)

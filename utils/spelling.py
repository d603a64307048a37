"""Near misses: which known word was probably meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def edits(left: str, right: str) -> int:
    """Insertions, deletions, replacements and swaps of neighbours between two words.

    The optimal string alignment distance; a few lines here spare API runs a compiled package.
    """
    before_last: list[int] = []
    last = list(range(len(right) + 1))
    for row, here in enumerate(left, start=1):
        current = [row]
        for column, there in enumerate(right, start=1):
            cost = min(
                last[column] + 1,
                current[column - 1] + 1,
                last[column - 1] + (here != there),
            )
            swapped = row > 1 and column > 1 and (here, left[row - 2]) == (right[column - 2], there)
            if swapped:
                cost = min(cost, before_last[column - 2] + 1)
            current.append(cost)
        before_last, last = last, current
    return last[-1]


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word closest to `word`, or None where none is close enough to be meant."""
    scored = [(edits(_plain(word), _plain(other)), other) for other in known]
    if not scored:
        return None
    distance, best = min(scored, key=lambda pair: pair[0])
    shorter = min(len(word), len(best))
    # A third of the letters: "systemprompt" is meant as "system_prompt", "x" not as "n".
    return best if distance <= max(1, shorter // 3) and distance < shorter else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean "x"?`, or nothing."""
    best = nearest(word, known)
    return f'; did you mean "{best}"?' if best is not None else ""


def listed(names: Sequence[str], limit: int = 12) -> str:
    """`"a", "b", "c"`, cut after `limit` names with the number of those left out."""
    shown = ", ".join(f'"{name}"' for name in names[:limit])
    return f"{shown} and {len(names) - limit} more" if len(names) > limit else shown


def _plain(word: str) -> str:
    return word.lower().replace("-", "_")

"""Figures of judged steps, each with its numerator and denominator."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.steps.rules.rule import HasVerdict, Share


def figures(rows: Sequence[HasVerdict]) -> dict[str, Share]:
    """Type, Grounding and SR over the rows that a rule counts, and the figures of whole episodes.

    Rows without a readable answer stay in the denominators of Type and SR. `Episodes` are those
    without a miss; `Progress` is the mean over episodes of the steps before the first miss by all
    steps. A row that has no success in the rule belongs to no episode.
    """
    grounded = [row for row in rows if row.verdict.grounding is not None]
    typed = [row for row in rows if row.verdict.type is not None]
    counted = [row for row in rows if row.verdict.success is not None]
    episodes = _successes_by_episode(counted)
    progress = [_steps_before_miss(successes) / len(successes) for successes in episodes]
    return {
        "Type": Share(sum(bool(row.verdict.type) for row in typed), len(typed)),
        "Grounding": Share(sum(bool(row.verdict.grounding) for row in grounded), len(grounded)),
        "SR": Share(sum(float(row.verdict.success or 0) for row in counted), len(counted)),
        "Episodes": Share(sum(all(successes) for successes in episodes), len(episodes)),
        "Progress": Share(sum(progress), len(progress)),
    }


def _successes_by_episode(rows: Sequence[HasVerdict]) -> list[list[bool]]:
    by_episode: dict[str, list[HasVerdict]] = {}
    for row in rows:
        by_episode.setdefault(row.episode, []).append(row)
    return [
        [row.verdict.success == 1 for row in sorted(part, key=lambda row: row.step)]
        for part in by_episode.values()
    ]


def _steps_before_miss(successes: Sequence[bool]) -> int:
    return successes.index(False) if False in successes else len(successes)

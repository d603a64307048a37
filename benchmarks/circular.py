"""Circular evaluation of L1: each question is asked once for every rotation of its options.

A model that picks letters by habit, or guesses, is right now and then; it is hardly ever right in
all rotations. Rotation 0 is the question itself, under the same key, so that a plain run and a
circular one share its answer; rotation k (see `benchmarks.rotation`) has the key `<key>~k`.

Source: Liu et al. (2023), MMBench: Is Your Multi-modal Model an All-around Player?, section 4.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.circular_section import CircularCollector
from benchmarks.rotation import rotated, rotation_count
from utils.contracts import Sample, turn_key


class Circular:
    """Asks every rotation of every question."""

    def asked(self, samples: Sequence[Sample]) -> list[Sample]:
        """Each sample in all its rotations, rotation 0 being the sample itself.

        They are samples of their own to whoever asks them: none depends on what the model said to
        another, so they can be asked at once, and one that fails holds up no other.
        """
        every: list[Sample] = []
        for sample in samples:
            count = rotation_count(sample.line["options"])
            every.append(sample)
            every += [
                replace(
                    sample,
                    key=turn_key(sample.key, rotation),
                    line=rotated(sample.line, rotation),
                )
                for rotation in range(1, count)
            ]
        return every

    def count(self, line: Mapping[str, Any]) -> int:
        """How many rotations a line has, whichever of them it is."""
        return rotation_count(line["options"])

    def collector(self) -> CircularCollector:
        """Makes the section "circular" of an analysis."""
        return CircularCollector()

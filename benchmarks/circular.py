"""Circular evaluation of L1: each question is asked once for every rotation of its options.

A model that picks letters by habit, or guesses, is right now and then; it is hardly ever right in
all rotations. Rotation 0 is the question itself, under the same key, so that a plain run and a
circular one share its answer; rotation k (see `benchmarks.rotation`) has the key `<key>~k`.

Source: Liu et al. (2023), MMBench: Is Your Multi-modal Model an All-around Player?, section 4.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.base import Sample, Table
from benchmarks.circular_section import CircularCollector, circular_figures, circular_table
from benchmarks.rotation import rotated, rotation_count
from utils.contracts import WH, Line
from utils.runs.log import turn_key


@dataclass(frozen=True, slots=True)
class RotatedSample:
    """A question in one of its rotations; looks like a `Sample`, and holds little more than it."""

    sample: Sample
    rotation: int

    @property
    def key(self) -> str:
        """Of its answers."""
        return turn_key(self.sample.key, self.rotation)

    @property
    def line(self) -> Line:
        """The row with its options rotated; a new object."""
        return rotated(self.sample.line, self.rotation)

    @property
    def file_wh(self) -> WH:
        """Width and height of the picture in pixels."""
        return self.sample.file_wh

    @property
    def image(self) -> Path:
        """The picture's file."""
        return self.sample.image


class Circular:
    """Asks every rotation of every question."""

    def asked(self, samples: Sequence[Sample]) -> list[Sample | RotatedSample]:
        """Each sample in all its rotations, rotation 0 being the sample itself.

        They are samples of their own to whoever asks them: none depends on what the model said to
        another, so they can be asked at once, and one that fails holds up no other.
        """
        every: list[Sample | RotatedSample] = []
        for sample in samples:
            count = rotation_count(sample.line["options"])
            every.append(sample)
            every += [RotatedSample(sample, rotation) for rotation in range(1, count)]
        return every

    def count(self, line: Mapping[str, Any]) -> int:
        """How many rotations a line has, whichever of them it is."""
        return rotation_count(line["options"])

    def collector(self) -> CircularCollector:
        """Makes the section "circular" of an analysis."""
        return CircularCollector()

    def table(self, section: Mapping[str, Any]) -> Table:
        """The section for people."""
        return circular_table(section)

    def figures(self, section: Mapping[str, Any]) -> dict[str, Any]:
        """The same with intervals."""
        return circular_figures(section)

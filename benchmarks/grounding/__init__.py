"""Grounding tables: what a benchmark of one's own builds on, and a module for each table.

docs/own_benchmark.md shows a class on `GroundingBenchmark`.
"""

from benchmarks.grounding.base import GroundingBenchmark, PointBenchmark
from benchmarks.grounding.figures import Layout
from benchmarks.grounding.rows import box_target

__all__ = ["GroundingBenchmark", "Layout", "PointBenchmark", "box_target"]

"""WHAT is asked and how an answer becomes a number."""

from __future__ import annotations

from benchmarks.base import Benchmark
from benchmarks.l1_content_understanding import GUIContentUnderstanding
from benchmarks.l2_element_grounding import GUIElementGrounding

BENCHMARK: dict[str, type[Benchmark]] = {
    benchmark.name: benchmark for benchmark in (GUIContentUnderstanding, GUIElementGrounding)
}

PLANNED = {
    name: f"{level} runs an agent in a live environment; this version does not do that yet. "
    f"Available: {', '.join(f'{known} ({each.level})' for known, each in BENCHMARK.items())}"
    for name, level in (("GUITaskAutomation", "L3"), ("GUITaskCollaboration", "L4"))
}
"""Names of the paper that are known, but cannot be run yet."""

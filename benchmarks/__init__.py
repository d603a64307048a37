"""WHAT is asked and how an answer becomes a number."""

from __future__ import annotations

from benchmarks.base import Benchmark
from benchmarks.l1_content_understanding import GUIContentUnderstanding
from benchmarks.l2_element_grounding import GUIElementGrounding
from benchmarks.l3_task_automation import GUITaskAutomation
from benchmarks.l4_task_collaboration import GUITaskCollaboration

BENCHMARK: dict[str, type[Benchmark]] = {
    benchmark.name: benchmark
    for benchmark in (
        GUIContentUnderstanding,
        GUIElementGrounding,
        GUITaskAutomation,
        GUITaskCollaboration,
    )
}

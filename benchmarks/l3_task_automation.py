"""L3, GUITaskAutomation: does an agent get a task done in one application?"""

from __future__ import annotations

from benchmarks.worlds.live import LiveBenchmark


class GUITaskAutomation(LiveBenchmark):
    """Tasks within one application: our office's, and MiniWoB++."""

    name = "GUITaskAutomation"
    level = "L3"

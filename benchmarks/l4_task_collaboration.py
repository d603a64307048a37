"""L4, GUITaskCollaboration: does an agent get a task done across several applications?"""

from __future__ import annotations

from benchmarks.worlds.live import LiveBenchmark


class GUITaskCollaboration(LiveBenchmark):
    """Tasks that take what one application holds to another."""

    name = "GUITaskCollaboration"
    level = "L4"

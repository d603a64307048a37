"""The base world: one person's working week, generated from a seed."""

from __future__ import annotations

from benchmarks.worlds.office.store import World


def base_world(seed: int) -> World:
    """Rows by table; the same seed makes the same world."""
    del seed
    return {"files": [{"id": 0, "parent": None, "name": "Home", "kind": "folder"}]}

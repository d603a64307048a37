"""`benchmarks.grounding.Layout` under the path that it had before."""

from benchmarks.grounding.figures import Layout  # noqa: F401

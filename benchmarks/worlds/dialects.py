"""The parse functions of `benchmarks.actions.dialects` under the path that they had before."""

from benchmarks.actions.dialects import *  # noqa: F403

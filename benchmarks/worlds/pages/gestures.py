"""The names of `benchmarks.worlds.browser.gestures` under the path that they had before."""

from benchmarks.worlds.browser.gestures import *  # noqa: F403

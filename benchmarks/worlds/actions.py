"""The names of `benchmarks.actions` and of worlds under the path that they had before."""

from benchmarks.actions.action import *  # noqa: F403
from benchmarks.actions.reading import *  # noqa: F403
from benchmarks.worlds.environment import Observation, Outcome  # noqa: F401

"""The documented door to the engine, which lives in `utils.engine`."""

from utils.engine.engine import Engine, Interrupted
from utils.engine.jobs import Progress

__all__ = ["Engine", "Interrupted", "Progress"]

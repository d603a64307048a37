"""The names of `utils.geometry.resizing` under the path that users' functions know."""

from utils.geometry.resizing import *  # noqa: F403

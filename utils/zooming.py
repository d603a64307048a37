"""The names of `utils.geometry.zooming` under the path that users' functions know."""

from utils.geometry.zooming import *  # noqa: F403

"""The names of `utils.geometry.images` under the path that users' functions know."""

from utils.geometry.images import *  # noqa: F403

"""The names of `utils.geometry.targets` under the path that users' functions know."""

from utils.geometry.targets import *  # noqa: F403

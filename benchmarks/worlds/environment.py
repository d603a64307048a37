"""The door for other environments: what a class has that a config names as `environment`."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from benchmarks.worlds.actions import Action, Observation, Outcome
from utils.contracts import WH

Task = dict[str, Any]


class Environment(Protocol):
    """An environment with its tasks.

    An object of the class serves one episode at a time, and is only called from one thread; there
    are as many objects as episodes side by side. Whatever a method raises costs the try of that
    episode and is reported as a failure of the environment; the next try gets a new object. If it
    has a method `rest()`, that is called when nobody waits for the object, as while the model is
    queried: to make ready what will be of use later.
    """

    def __init__(self, shots: Path) -> None:
        """Begins; screenshots are saved in the folder `shots`."""

    @staticmethod
    def tasks(level: str, seeds: Sequence[int]) -> Sequence[Task]:
        """The tasks of "L3" or "L4" (see `suites`), without starting anything."""

    def reset(self, task: Task) -> Observation:
        """Begins a task; what there is to see."""

    def step(self, action: Action) -> Observation:
        """Does one action, "answer", "done" and "fail" among them; what there is to see then."""

    def evaluate(self) -> Outcome:
        """What the task has come to."""

    def close(self) -> None:
        """Releases everything, from whatever state."""


def save_screenshot(shots: Path, png: bytes) -> Path:
    """The file of a screenshot, named by its content; equal ones share it."""
    path = shots / f"{hashlib.blake2b(png, digest_size=12).hexdigest()}.png"
    if not path.exists():
        part = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.part")
        part.write_bytes(png)
        part.replace(path)
    return path


def save_pixels(shots: Path, pixels: Any) -> Path:
    """The same of an array of height, width and RGB."""
    import io

    from PIL import Image

    png = io.BytesIO()
    Image.fromarray(pixels).save(png, "PNG")
    return save_screenshot(shots, png.getvalue())


def in_pixels(action: Action, screen_wh: WH) -> tuple[int, int, int, int]:
    """Where an action is and where its drag ends: x, y, x, y; the middle where it does not say."""
    points = (point or (0.5, 0.5) for point in (action.point, action.to_point))
    x, y, to_x, to_y = (
        round(share * size)
        for point in points
        for share, size in zip(point, screen_wh, strict=True)
    )
    return x, y, to_x, to_y


def scored(score: float) -> Outcome:
    """The outcome where an environment says no more than a number; 1 is success."""
    return Outcome(score >= 1, [(score >= 1, f"score {score:g}")])

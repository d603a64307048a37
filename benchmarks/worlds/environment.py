"""The interface of other environments: the methods of a class that a config names."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from benchmarks.actions.action import Action
from utils.contracts import WH

Task = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Observation:
    """The screen, once it is quiet."""

    image: Path  # a PNG whose name is a hash of its content
    note: str = ""  # what the model is told of its last action: "There is no application ..."
    app: str = ""  # which application is in front, or a URL; for people
    state_ok: bool = True  # False: the screen did not become quiet in time
    has_ended: bool = False  # the world takes no further action


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an episode by the state of the world: success or not.

    Raises:
        ValueError: `partial` is no share.
    """

    success: bool
    lines: Sequence[tuple[bool, str]] = field(default=())  # what was expected, and what else is
    # The share of what was expected that is there, 0..1, and 0 where something else has changed; it
    # makes no success. None: the world gives none.
    partial: float | None = None

    def __post_init__(self) -> None:
        if self.partial is not None and not 0 <= self.partial <= 1:
            raise ValueError(f"partial must be a share, 0 to 1, or None, not {self.partial!r}")


class Environment(Protocol):
    """An environment with its tasks.

    One object of the class serves one episode at a time, and one thread calls it. The program makes
    as many objects as there are parallel episodes. An exception of any method ends the try of the
    episode and is reported as a failure of the environment; the next try gets a new object.

    The class may have:

    - `version`: a class attribute for facts that the code does not show, such as the image of a
      virtual machine or the release of a package. Stored episodes of another version are not
      reused.
    - `rest()`: called when nobody waits for the object, such as while the model is queried. The
      object can prepare later work there.
    """

    def __init__(self, shots: Path, **arguments: Any) -> None:
        """Start; screenshots are saved in the folder `shots`.

        `arguments` are the config's `environment_args`. If there is a parameter `world_number`, it
        gets 0, 1, ... for the parallel objects; each can use its own port, virtual machine or
        account. An object that replaces a failed one gets the same number.
        """

    @staticmethod
    def tasks(level: str, seeds: Sequence[int]) -> Sequence[Task]:
        """Return the tasks of "L3" or "L4" (see `suites`), without starting anything.

        It gets the `environment_args` for its parameters; `problems()` does, too.
        """

    def reset(self, task: Task) -> Observation:
        """Begin a task; return the first observation."""

    def step(self, action: Action) -> Observation:
        """Do one action, also "answer", "done" or "fail"; return the next observation."""

    def evaluate(self) -> Outcome:
        """Return the outcome of the task, with the checks."""

    def close(self) -> None:
        """Release everything, from any state."""


def save_screenshot(shots: Path, png: bytes) -> Path:
    """Save a screenshot under a name made of its content; equal ones share a file."""
    path = shots / f"{hashlib.blake2b(png, digest_size=12).hexdigest()}.png"
    if not path.exists():
        part = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.part")
        part.write_bytes(png)
        part.replace(path)
    return path


def save_pixels(shots: Path, pixels: Any) -> Path:
    """Save a screenshot that is an array of height, width and RGB."""
    import io

    from PIL import Image

    png = io.BytesIO()
    Image.fromarray(pixels).save(png, "PNG")
    return save_screenshot(shots, png.getvalue())


def in_pixels(action: Action, screen_wh: WH) -> tuple[int, int, int, int]:
    """Return the point of an action and the end of its drag: x, y, x, y; default: the middle."""
    width, height = screen_wh
    x, y = action.point or (0.5, 0.5)
    to_x, to_y = action.to_point or (0.5, 0.5)
    return round(x * width), round(y * height), round(to_x * width), round(to_y * height)


def not_typed(text: str) -> str:
    """Return the note on a text that a keyboard of ASCII alone would type with gaps; else ""."""
    others = "".join(dict.fromkeys(char for char in text if not char.isascii()))
    return f"Nothing was typed: {others!r} cannot be typed here." if others else ""


def scored(score: float) -> Outcome:
    """Return the outcome of an environment that gives only a number; 1 is success."""
    return Outcome(score >= 1, [(score >= 1, f"score {score:g}")], min(max(score, 0.0), 1.0))

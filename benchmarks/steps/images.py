"""The screenshots of recorded steps, whoever has published them: found by episode and step."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path

NAME = re.compile(
    r"(?:episode_)?(?P<episode>\d+)(?:_|-|/|_screenshot_|-screenshot_|/screenshot_)(?P<step>\d+)"
    r"\.(?:png|jpe?g|webp)",
    re.IGNORECASE,
)
"""`8193_0.png`, `episode_8193_screenshot_0.png`, `episode_8193-screenshot_0.png`, or
`8193/screenshot_0.png`, below any folders."""


def step_of(name: str) -> int | None:
    """The step in the name of a screenshot; None: it is named otherwise."""
    match = _match(name)
    return int(match["step"]) if match else None


def _match(name: str) -> re.Match[str] | None:
    """The episode and the step in the name of a screenshot, below any folders."""
    parts = name.split("/")
    return NAME.fullmatch("/".join(parts[-2:])) or NAME.fullmatch(parts[-1])


class StepImages:
    """The images below a folder by episode and step."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @cached_property
    def _paths(self) -> dict[tuple[int, int], str]:
        paths: dict[tuple[int, int], str] = {}
        for path in sorted(self._root.rglob("*.*")) if self._root.is_dir() else ():
            name = path.relative_to(self._root).as_posix()
            if match := _match(name):
                paths.setdefault((int(match["episode"]), int(match["step"])), name)
        return paths

    def path_of(self, episode: int, step: int) -> str:
        """The path of a step's image below the folder; of one that is missing, its usual name."""
        return self._paths.get((episode, step), f"{episode}_{step}.png")

"""Tasks in GIMP, on the pixels of a picture."""

# Tasks of a benchmark, not to be trained on. Canary: 6f4f12ab-1b3f-45ea-bbe2-8e94ed0444e4

from __future__ import annotations

import random

from benchmarks.worlds.desktop.tasks.calc import Row, Steps
from benchmarks.worlds.desktop.tasks.registry import task

PATH = "Pictures/photo.png"
OVERWRITE: Steps = [["menu", "alt+f", "w"], ["wait", 1.0], ["done"]]
EXPORT: Steps = [
    ["key", "ctrl+shift+e"],
    ["key", "enter"],
    ["key", "alt+r"],
    ["key", "enter"],
    ["wait", 1.0],
    ["done"],
]


def photo(rng: random.Random) -> Row:
    """Return what all tasks with a photo begin with."""
    picture = {
        "seed": rng.randrange(10**6),
        "size": [rng.randrange(240, 360), rng.randrange(140, 220)],
    }
    return {"files": {PATH: {"picture": picture}}, "open": [f"gimp:{PATH}"]}


@task("gimp", category="update", tier="standard")
def gimp_rotate(rng: random.Random) -> Row:
    """A picture turned by a right angle."""
    angle = rng.choice([90, 270])
    words = "clockwise" if angle == 90 else "counter-clockwise"
    place, other = (3, 4) if angle == 90 else (4, 3)
    turn: Steps = [["menu", "alt+i", "t", f"down {place - 1}", "enter"]]
    wrong: Steps = [["menu", "alt+i", "t", f"down {other - 1}", "enter"]]
    return {
        "goal": [
            f"Turn photo.png by 90 degrees {words}, in the file itself.",
            f"photo.png lies on its side: turn it by 90 degrees {words}. The turned picture should "
            "be in photo.png.",
        ],
        **photo(rng),
        "edits": [["picture", PATH, [["rotate", angle]]]],
        "ways": [[*turn, *OVERWRITE], [*turn, *EXPORT]],
        "wrong_ways": [
            [*wrong, *OVERWRITE],
            [*turn, ["key", "ctrl+s"], ["key", "enter"], ["wait", 1.0], ["done"]],
        ],
    }


@task("gimp", category="update", tier="standard")
def gimp_flip(rng: random.Random) -> Row:
    """A picture mirrored."""
    axis = rng.choice(["h", "v"])
    words = "horizontally" if axis == "h" else "vertically"
    down = {"h": "down 0", "v": "down 1"}
    flip: Steps = [["menu", "alt+i", "t", *([down[axis]] if axis == "v" else []), "enter"]]
    wrong: Steps = [["menu", "alt+i", "t", *([down["v"]] if axis == "h" else []), "enter"]]
    return {
        "goal": [
            f"Mirror photo.png {words}, in the file itself.",
            f"Flip the picture photo.png {words}, and have the result in photo.png.",
        ],
        **photo(rng),
        "edits": [["picture", PATH, [["flip", axis]]]],
        "ways": [[*flip, *OVERWRITE], [*flip, *EXPORT]],
        "wrong_ways": [[*wrong, *OVERWRITE], [*flip, ["done"]]],
    }


@task("gimp", category="update", tier="standard")
def gimp_invert(rng: random.Random) -> Row:
    """A picture in inverted colours."""
    invert: Steps = [["menu", "alt+c", "down 10", "enter"]]
    return {
        "goal": [
            "Invert the colours of photo.png (as in a negative), in the file itself.",
            "Make photo.png its own negative: every colour inverted, saved in the same file.",
        ],
        **photo(rng),
        "edits": [["picture", PATH, [["invert"]]]],
        "ways": [[*invert, *OVERWRITE], [*invert, *EXPORT]],
        "wrong_ways": [[*invert, *invert, *OVERWRITE], [*invert, ["done"]]],
    }

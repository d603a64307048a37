"""Tasks in GIMP, on the pixels of a picture."""

# Tasks of a benchmark, not to be trained on. Canary: 6f4f12ab-1b3f-45ea-bbe2-8e94ed0444e4

from __future__ import annotations

import random

from benchmarks.worlds.desktop.home import HOME
from benchmarks.worlds.desktop.tasks.calc import Row, Steps
from benchmarks.worlds.desktop.tasks.registry import task

PATH = "Pictures/photo.png"
OVERWRITE: Steps = [["menu", "alt+f", "w"], ["wait", 1.0], ["done"]]
EXPORT: Steps = [
    ["key", "ctrl+shift+e"],
    ["key", "enter"],
    ["key", "alt+r"],
    ["wait", 0.8],
    ["key", "enter"],
    ["wait", 1.0],
    ["done"],
]


def photo(rng: random.Random) -> Row:
    """Return the initial state of all tasks with a photo."""
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


@task("gimp", category="update", tier="standard")
def gimp_grey(rng: random.Random) -> Row:
    """A picture in the mode for greys."""
    grey: Steps = [["menu", "alt+i", "m", "down 1", "enter"], ["wait", 0.5]]
    return {
        "goal": [
            "Turn photo.png into a greyscale image (its mode, too), in the file itself.",
            "photo.png should be a greyscale image without any colour. Change its mode, and have "
            "the result in photo.png.",
        ],
        **photo(rng),
        "edits": [["picture", PATH, [["grey"]]]],
        "ways": [[*grey, *OVERWRITE], [*grey, *EXPORT]],
        "wrong_ways": [
            [*grey, ["done"]],
            [["menu", "alt+c", "down 10", "enter"], *grey, *OVERWRITE],
        ],
    }


@task("gimp", category="update", tier="standard")
def gimp_half_turn(rng: random.Random) -> Row:
    """A picture on its head."""
    turn: Steps = [["menu", "alt+i", "t", "down 4", "enter"]]
    quarter: Steps = [["menu", "alt+i", "t", "down 2", "enter"]]
    return {
        "goal": [
            "Turn photo.png by 180 degrees, in the file itself.",
            "photo.png is upside down. Turn it by 180 degrees, and have the result in photo.png.",
        ],
        **photo(rng),
        "edits": [["picture", PATH, [["rotate", 180]]]],
        "ways": [[*turn, *OVERWRITE], [*turn, *EXPORT]],
        "wrong_ways": [
            [["menu", "alt+i", "t", "down 1", "enter"], *OVERWRITE],
            [*quarter, *OVERWRITE],
        ],
    }


@task("gimp", category="update", tier="standard")
def gimp_frame(rng: random.Random) -> Row:
    """A picture without its frame."""
    task_of_photo = photo(rng)
    picture = task_of_photo["files"][PATH]["picture"]
    frame = rng.randrange(12, 40)
    picture["frame"] = frame
    width, height = picture["size"]
    box = [frame, frame, frame + width, frame + height]
    crop: Steps = [["menu", "alt+i", "down 9", "enter"], ["wait", 0.5]]
    return {
        "goal": [
            "Crop the white frame off photo.png, all of it and nothing else, in the file itself.",
            "photo.png has a white frame around the picture. Cut it off exactly, and have the "
            "result in photo.png.",
        ],
        **task_of_photo,
        "edits": [["picture", PATH, [["crop", box]]]],
        "ways": [[*crop, *OVERWRITE], [*crop, *EXPORT]],
        "wrong_ways": [
            [*crop, ["done"]],
            [*crop, ["key", "ctrl+s"], ["key", "enter"], ["wait", 1.0], ["done"]],
        ],
    }


@task("gimp", category="update", tier="standard")
def gimp_scale(rng: random.Random) -> Row:
    """A picture in another size."""
    task_of_photo = photo(rng)
    picture = task_of_photo["files"][PATH]["picture"]
    width, height = 2 * (picture["size"][0] // 2), 2 * (picture["size"][1] // 2)
    picture["size"] = [width, height]
    factor = rng.choice([0.5, 1.5, 2])
    size = [round(width * factor), round(height * factor)]
    dialog: Steps = [["menu", "alt+i", "s"], ["wait", 0.5]]
    accept: Steps = [["key", "alt+s"], ["wait", 0.5]]
    return {
        "goal": [
            f"Scale photo.png to {size[0]} x {size[1]} pixels, in the file itself.",
            f"photo.png should be {size[0]} pixels wide and {size[1]} pixels high: scale the whole "
            "picture, and have the result in photo.png.",
        ],
        **task_of_photo,
        "edits": [["picture", PATH, [["scale", size]]]],
        "ways": [
            [*dialog, ["type", f"{size[0]}\t"], *accept, *OVERWRITE],
            [*dialog, ["type", f"{size[0]}\t"], *accept, *EXPORT],
        ],
        "wrong_ways": [
            [*dialog, ["type", f"{size[0] - 10}\t"], *accept, *OVERWRITE],
            [*dialog, ["type", f"{size[0]}\t"], *accept, ["done"]],
        ],
    }


@task("gimp", category="create", tier="standard")
def gimp_export(rng: random.Random) -> Row:
    """A picture in another form, in a second file."""
    ending, form = rng.choice([("jpg", "JPEG"), ("bmp", "BMP")])
    other = {"jpg": "bmp", "bmp": "jpg"}[ending]
    name = rng.choice(["copy", "holiday", "garden"])

    def export(path: str) -> Steps:
        enter: Steps = [["key", "enter"], ["wait", 0.8]]
        return [["key", "ctrl+shift+e"], ["key", "ctrl+a"], ["type", path], *enter, *enter]

    return {
        "goal": [
            f"Export photo.png as {name}.{ending} into the same folder; photo.png stays.",
            f"I need the picture photo.png as a {form} file, too: {name}.{ending} in Pictures. "
            "photo.png itself stays as it is.",
        ],
        **photo(rng),
        "edits": [["picture", PATH, [], f"Pictures/{name}.{ending}", form]],
        "ways": [
            [*export(f"{name}.{ending}"), ["done"]],
            [*export(f"/{HOME}/Pictures/{name}.{ending}"), ["done"]],
        ],
        "wrong_ways": [
            [*export(f"{name}.{other}"), ["done"]],
            [
                ["menu", "alt+i", "t", "down 4", "enter"],
                *export(f"{name}.{ending}"),
                ["done"],
            ],
        ],
    }

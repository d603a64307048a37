"""Tasks in LibreOffice Impress."""

# Tasks of a benchmark, not to be trained on. Canary: 6f4f12ab-1b3f-45ea-bbe2-8e94ed0444e4

from __future__ import annotations

import random
from typing import Any

from benchmarks.worlds.desktop.tasks.calc import SAVE, Row, Steps
from benchmarks.worlds.desktop.tasks.registry import task

TOPICS = ("Rooms", "Costs", "Staff", "Visitors", "Garden", "Repairs", "Tickets", "Heating")
POINTS = ("Three offers", "Two quotes", "A list", "By Monday", "Ask Ada", "See the plan")
FIRST_SLIDE_Y, SLIDE_STEP_Y = 235, 93  # where the slides stand in the list at the left
LIST_X = 95


def talk(rng: random.Random, count: int = 4) -> list[dict[str, Any]]:
    """Return slides with different titles."""
    titles = rng.sample(TOPICS, count)
    return [{"title": title, "body": rng.sample(POINTS, 2)} for title in titles]


def slide_at(number: int) -> list[Any]:
    """Return the point to click for a slide in the list; slides are counted from 1."""
    return [LIST_X, FIRST_SLIDE_Y + SLIDE_STEP_Y * (number - 1)]


def title(text: str) -> Steps:
    """Return the steps that write a title into the slide that is shown."""
    return [["double", 640, 240], ["type", text], ["key", "escape"], ["key", "escape"]]


@task("impress", category="create", tier="standard")
def impress_insert(rng: random.Random) -> Row:
    """A slide before the last one."""
    slides = talk(rng)
    path = "Documents/talk.odp"
    new = rng.choice(["Questions", "Summary", "Thanks"])
    last = slides[-1]["title"]
    return {
        "goal": [
            f"In talk.odp, add a slide with the title “{new}” and no other text right before the "
            f"slide “{last}”, and save the file.",
            f"talk.odp needs a slide more, before its last one: “{new}”, nothing but that title. "
            "Save the file.",
        ],
        "files": {path: {"slides": slides}},
        "open": [path],
        "edits": [["insert", path, ["slides", 3], {"title": new, "body": []}]],
        "ways": [
            [["click", *slide_at(3)], ["key", "ctrl+m"], *title(new), *SAVE],
            [
                ["click", *slide_at(3)],
                ["menu", "alt+l", "enter"],
                *title(new),
                *SAVE,
            ],
        ],
        "wrong_ways": [
            [["click", *slide_at(2)], ["key", "ctrl+m"], *title(new), *SAVE],
            [["click", *slide_at(3)], ["key", "ctrl+m"], *SAVE],
        ],
    }


@task("impress", category="update")
def impress_delete(rng: random.Random) -> Row:
    """A slide that goes."""
    slides = talk(rng)
    place = rng.choice([1, 2])
    path = "Documents/talk.odp"
    gone = slides[place]["title"]
    return {
        "goal": [
            f"Delete the slide “{gone}” from talk.odp and save the file.",
            f"talk.odp should do without the slide “{gone}”. Take it out and save the file.",
        ],
        "files": {path: {"slides": slides}},
        "open": [path],
        "edits": [["remove", path, ["slides", place]]],
        "ways": [
            [["click", *slide_at(place + 1)], ["key", "delete"], *SAVE],
            [["click", *slide_at(place + 1)], ["menu", "alt+l", "down 4", "enter"], *SAVE],
        ],
        "wrong_ways": [
            [["click", *slide_at(place + 2)], ["key", "delete"], *SAVE],
            [["click", *slide_at(place + 1)], ["menu", "alt+l", "up 8", "enter"], *SAVE],
        ],
    }


@task("impress", category="update", tier="standard")
def impress_move(rng: random.Random) -> Row:
    """A slide that comes first."""
    slides = talk(rng)
    place = rng.choice([2, 3])
    path = "Documents/talk.odp"
    first = slides[place]["title"]
    to_start: Steps = [
        ["click", *slide_at(place + 1)],
        ["menu", "alt+l", "up 5", "right", "enter"],
    ]
    return {
        "goal": [
            f"Make “{first}” the first slide of talk.odp. The others keep their order. Save the "
            "file.",
            f"In talk.odp the slide “{first}” should come first, before all others. Move it there "
            "and save the file.",
        ],
        "files": {path: {"slides": slides}},
        "open": [path],
        "edits": [["move", path, ["slides", place], 0]],
        "ways": [
            [
                ["click", *slide_at(place + 1)],
                ["key", "ctrl+x"],
                ["click", *slide_at(1)],
                ["key", "ctrl+v"],
                ["click", *slide_at(1)],
                ["key", "ctrl+x"],
                ["click", *slide_at(1)],
                ["key", "ctrl+v"],
                *SAVE,
            ],
            [*to_start, *SAVE],
        ],
        "wrong_ways": [
            [to_start[0], ["menu", "alt+l", "up 5", "right", "down 1", "enter"], *SAVE],
            [*to_start, ["done"]],
        ],
    }


@task("impress", category="update")
def impress_title(rng: random.Random) -> Row:
    """A title that is written anew."""
    slides = talk(rng)
    place = rng.choice([0, 1, 2])
    old, new = slides[place]["title"], rng.choice(["Overview", "Next steps", "Open points"])
    path = "Documents/talk.odp"
    show: Steps = [["click", *slide_at(place + 1)]]
    enter: Steps = [["click", 700, 560], ["key", "tab"], ["key", "f2"]]
    enter += [["key", "ctrl+a"], ["type", new]]
    leave: Steps = [["key", "escape"], ["key", "escape"]]
    return {
        "goal": [
            f"Change the title of the slide “{old}” in talk.odp to “{new}” and save the file.",
            f"In talk.odp, the slide “{old}” should have the title “{new}”. Its text stays. Save "
            "the file.",
        ],
        "files": {path: {"slides": slides}},
        "open": [path],
        "edits": [["update", path, ["slides", place], {"title": new}]],
        "ways": [
            [
                *show,
                ["double", 290, 263],
                ["key", "ctrl+a"],
                ["type", new],
                *leave,
                *SAVE,
            ],
            [*show, *enter, *leave, *SAVE],
        ],
        "wrong_ways": [
            [["click", *slide_at(place + 2)], *enter, *leave, *SAVE],
            [*show, ["double", 290, 263], ["key", "end"], ["type", new], *leave, *SAVE],
        ],
    }

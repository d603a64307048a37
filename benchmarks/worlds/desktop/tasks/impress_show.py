"""Tasks in LibreOffice Impress: what slides have besides titles, and how they are shown."""

# Tasks of a benchmark, not to be trained on. Canary: 6f4f12ab-1b3f-45ea-bbe2-8e94ed0444e4

from __future__ import annotations

import random
from typing import Any

from benchmarks.worlds.desktop.tasks.calc import SAVE, Row, Steps
from benchmarks.worlds.desktop.tasks.impress import POINTS, slide_at, talk
from benchmarks.worlds.desktop.tasks.registry import task

TALK = "Documents/talk.odp"
LEAVE: Steps = [["key", "escape"], ["key", "escape"]]


@task("impress", category="create", tier="standard")
def impress_notes(rng: random.Random) -> Row:
    """Notes for the speaker."""
    slides = talk(rng)
    place = rng.choice([1, 2])
    text = rng.choice(["Thank the team", "Show the plan", "Pause for questions"])
    view: Steps = [["menu", "alt+v", "down 2", "enter"], ["wait", 0.6]]
    by_mouse: Steps = [["double", 573, 514], ["wait", 0.4], ["type", text], *LEAVE]
    by_keys: Steps = [["key", "tab"], ["key", "tab"], ["key", "f2"], ["type", text], *LEAVE]
    return {
        "goal": [
            f"Add the speaker notes “{text}” to the slide “{slides[place]['title']}” of talk.odp. "
            "Save the file.",
            f"In talk.odp, the notes of the slide “{slides[place]['title']}” should say “{text}”. "
            "They are not on the slide itself. Save the file.",
        ],
        "files": {TALK: {"slides": slides}},
        "open": [TALK],
        "edits": [["update", TALK, ["slides", place], {"notes": text}]],
        "ways": [
            [["click", *slide_at(place + 1)], *view, *by_mouse, *SAVE],
            [["click", *slide_at(place + 1)], *view, *by_keys, *SAVE],
        ],
        "wrong_ways": [
            [["click", *slide_at(place)], *view, *by_keys, *SAVE],
            [["click", *slide_at(place + 1)], *view, *by_mouse, ["done"]],
        ],
    }


@task("impress", category="update")
def impress_hide(rng: random.Random) -> Row:
    """A slide that is left out of the show."""
    slides = talk(rng)
    place = rng.choice([1, 2, 3])
    name = slides[place]["title"]
    hide: Steps = [["menu", "alt+l", "h"]]
    return {
        "goal": [
            f"Hide the slide “{name}” of talk.odp, so that the show leaves it out. It is not "
            "deleted. Save the file.",
            f"The slide “{name}” should stay in talk.odp, but not be shown in the slide show. Save "
            "the file.",
        ],
        "files": {TALK: {"slides": slides}},
        "open": [TALK],
        "edits": [["update", TALK, ["slides", place], {"hidden": True}]],
        "ways": [
            [["click", *slide_at(place + 1)], *hide, *SAVE],
            [["click", *slide_at(place + 1)], ["menu", "alt+l", "down 13", "enter"], *SAVE],
        ],
        "wrong_ways": [
            [["click", *slide_at(place)], *hide, *SAVE],
            [["click", *slide_at(place + 1)], ["key", "delete"], *SAVE],
        ],
    }


@task("impress", category="update", tier="standard")
def impress_transition(rng: random.Random) -> Row:
    """The transition of a slide."""
    slides = talk(rng)
    place = rng.choice([1, 2, 3])
    name = slides[place]["title"]
    by_slide: Steps = [["menu", "alt+l", "up 1", "enter"], ["wait", 0.6]]
    by_view: Steps = [["menu", "alt+v", "down 19", "enter"], ["wait", 0.6]]
    wipe: Steps = [["click", 1034, 216], ["wait", 2.0]]
    to_all: Steps = [["click", 1060, 635], ["wait", 0.5]]
    return {
        "goal": [
            f"Give the slide “{name}” of talk.odp, and no other, the transition “Wipe”. Save the "
            "file.",
            f"In talk.odp, the slide “{name}” should come in with the slide transition “Wipe”. "
            "Save the file.",
        ],
        "files": {TALK: {"slides": slides}},
        "open": [TALK],
        "edits": [["update", TALK, ["slides", place], {"transition": "barWipe"}]],
        "ways": [
            [["click", *slide_at(place + 1)], *by_slide, *wipe, *SAVE],
            [["click", *slide_at(place + 1)], *by_view, *wipe, *SAVE],
        ],
        "wrong_ways": [
            [["click", *slide_at(place)], *by_slide, *wipe, *SAVE],
            [["click", *slide_at(place + 1)], *by_slide, *wipe, *to_all, *SAVE],
        ],
    }


@task("impress", category="create")
def impress_duplicate(rng: random.Random) -> Row:
    """A slide a second time."""
    slides = talk(rng)
    place = rng.choice([0, 1, 2])
    name = slides[place]["title"]
    duplicate: Steps = [["menu", "alt+l", "down 1", "enter"], ["wait", 0.5]]
    return {
        "goal": [
            f"Duplicate the slide “{name}” of talk.odp: the copy comes right after it. Save the "
            "file.",
            f"talk.odp should have the slide “{name}” twice, one right after the other. Save the "
            "file.",
        ],
        "files": {TALK: {"slides": slides}},
        "open": [TALK],
        "edits": [["insert", TALK, ["slides", place], dict(slides[place])]],
        "ways": [
            [["click", *slide_at(place + 1)], *duplicate, *SAVE],
            [["click", *slide_at(place + 1)], ["key", "ctrl+c"], ["key", "ctrl+v"], *SAVE],
        ],
        "wrong_ways": [
            [["click", *slide_at(place + 2)], *duplicate, *SAVE],
            [["click", *slide_at(place + 1)], *duplicate, *duplicate, *SAVE],
        ],
    }


@task("impress", category="update", tier="standard")
def impress_point(rng: random.Random) -> Row:
    """A point more on a slide."""
    slides = talk(rng)
    place = rng.choice([0, 1, 2])
    name, body = slides[place]["title"], slides[place]["body"]
    new = rng.choice([point for point in POINTS if point not in body])
    show: Steps = [["click", *slide_at(place + 1)]]
    write: Steps = [["key", "ctrl+end"], ["type", f"\n{new}"], *LEAVE]
    by_mouse: Steps = [["double", 400, 430], ["wait", 0.4]]
    by_keys: Steps = [["click", 700, 560], ["key", "tab"], ["key", "tab"], ["key", "f2"]]
    return {
        "goal": [
            f"Add “{new}” as the last point of the slide “{name}” in talk.odp. Save the file.",
            f"The slide “{name}” of talk.odp lacks a point: “{new}”, below the others. Add it and "
            "save the file.",
        ],
        "files": {TALK: {"slides": slides}},
        "open": [TALK],
        "edits": [["update", TALK, ["slides", place], {"body": [*body, new]}]],
        "ways": [[*show, *by_mouse, *write, *SAVE], [*show, *by_keys, *write, *SAVE]],
        "wrong_ways": [
            [["click", *slide_at(place + 2)], *by_keys, *write, *SAVE],
            [*show, *by_keys, ["key", "ctrl+home"], ["type", f"{new}\n"], *LEAVE, *SAVE],
        ],
    }


@task("impress", category="create", tier="standard")
def impress_pdf(rng: random.Random) -> Row:
    """Slides as a PDF file."""
    slides = talk(rng, rng.choice([3, 4]))
    export: list[Any] = ["menu", "alt+f", "up 8", "right"]
    accept: Steps = [["wait", 1.0], ["key", "enter"], ["wait", 1.5], ["done"]]
    other: Steps = [["wait", 1.0], ["key", "ctrl+a"], ["type", "slides"]]
    return {
        "goal": [
            "Export talk.odp as talk.pdf, into the same folder.",
            "Make a PDF file of talk.odp: talk.pdf, beside it in Documents.",
        ],
        "files": {TALK: {"slides": slides}},
        "open": [TALK],
        "edits": [["write", "Documents/talk.pdf", {"pages": len(slides)}]],
        "ways": [
            [[*export, "down 1", "enter"], *accept],
            [[*export, "enter"], ["wait", 1.0], ["key", "enter"], *accept],
        ],
        "wrong_ways": [
            [[*export, "down 1", "enter"], *other, *accept],
            [["click", *slide_at(3)], ["key", "delete"], [*export, "down 1", "enter"], *accept],
        ],
    }

"""Tasks in several applications whose result is the title of a slide."""

# Tasks of a benchmark, not to be trained on. Canary: 6f4f12ab-1b3f-45ea-bbe2-8e94ed0444e4

from __future__ import annotations

import random
from typing import Any

from benchmarks.worlds.desktop.tasks.calc import CITIES, SAVE, Row, Steps, visitors
from benchmarks.worlds.desktop.tasks.impress import slide_at, talk
from benchmarks.worlds.desktop.tasks.registry import task
from benchmarks.worlds.desktop.tasks.several_texts import LOOK
from benchmarks.worlds.desktop.tasks.writer import sentences

TALK = "Documents/talk.odp"


def new_title(slides: list[Any], place: int, title: str, wrong: str) -> Row:
    """Return files, edits, ways and wrong ways for the title of a slide of the talk in front."""
    leave: Steps = [["key", "escape"], ["key", "escape"]]

    def by_keys(number: int, text: str) -> Steps:
        enter: Steps = [["key", "tab"], ["key", "f2"], ["key", "ctrl+a"], ["type", text]]
        return [["click", *slide_at(number)], ["click", 700, 560], *enter, *leave, *SAVE]

    by_mouse: Steps = [["click", *slide_at(place + 1)], ["double", 290, 263], ["key", "ctrl+a"]]
    return {
        "files": {TALK: {"slides": slides}},
        "edits": [["update", TALK, ["slides", place], {"title": title}]],
        "ways": [
            by_keys(place + 1, title),
            [*LOOK, *by_mouse, ["type", title], *leave, *SAVE],
        ],
        "wrong_ways": [by_keys(place + 1, wrong), by_keys(place + 2, title)],
    }


def with_source(path: str, content: Any, row: Row) -> Row:
    """Return a task whose presentation is in front of another document."""
    return {
        **row,
        "files": {path: content, **row["files"]},
        "open": [path, TALK],
    }


@task("editor", "impress", category="transfer", tier="standard")
def text_to_slide(rng: random.Random) -> Row:
    """A title that a note asks for."""
    slides = talk(rng)
    place = rng.choice([0, 1, 2])
    one, other = rng.sample(["Overview", "Next steps", "Open points", "Our offer"], 2)
    note = f"{slides[place]['title']} -> {one}\n{slides[place - 1]['title']} stays\n"
    return {
        "goal": [
            "note.txt in Documents says which slide of talk.odp gets which title. Do what it says, "
            "and save talk.odp.",
            "Change the title of a slide of talk.odp as note.txt in Documents has it (OLD -> NEW). "
            "Save talk.odp.",
        ],
        **with_source("Documents/note.txt", note, new_title(slides, place, one, other)),
    }


@task("calc", "impress", category="transfer", tier="standard")
def sheet_to_slide(rng: random.Random) -> Row:
    """The highest of a table, as a title."""
    rows = visitors(rng, 7)
    ordered = sorted(rows[1:], key=lambda row: -row[1])
    slides = talk(rng)
    sheets = {"sheets": {"Visitors": rows}}
    row = new_title(slides, 0, ordered[0][0], ordered[1][0])
    return {
        "goal": [
            "Give the first slide of talk.odp the name of the city with the most visitors in "
            "cities.ods as its title. Save talk.odp.",
            "Which city of cities.ods has the most visitors? Its name, and nothing else, should be "
            "the title of the first slide of talk.odp. Save it.",
        ],
        **with_source("Documents/cities.ods", sheets, row),
    }


@task("writer", "impress", category="transfer", tier="standard")
def heading_to_slide(rng: random.Random) -> Row:
    """The heading of a text, as a title."""
    heading, other = rng.sample(["Our new house", "The long way", "A year of rain"], 2)
    blocks: list[Any] = [{"text": heading, "style": "Heading 1"}, *sentences(rng, 3)]
    row = new_title(talk(rng), 0, heading, other)
    return {
        "goal": [
            "Make the heading of report.odt the title of the first slide of talk.odp. Save "
            "talk.odp.",
            "The first slide of talk.odp should have as its title what report.odt has as its "
            "heading. Save talk.odp.",
        ],
        **with_source("Documents/report.odt", {"blocks": blocks}, row),
    }


@task("pdf", "impress", category="transfer", tier="standard")
def pdf_to_slide(rng: random.Random) -> Row:
    """The title of a page, as a title of a slide."""
    names = rng.sample(CITIES, 4)
    pages = [[f"Report on {name}", "It is written by the office."] for name in names]
    row = new_title(talk(rng), 1, names[3], names[0])
    return {
        "goal": [
            "Which city is the last page of reports.pdf about? Its name, and nothing else, should "
            "be the title of the second slide of talk.odp. Save talk.odp.",
            "Change the title of the second slide of talk.odp to the name of the city on the last "
            "page of reports.pdf. Save talk.odp.",
        ],
        **with_source("Documents/reports.pdf", {"pages": pages}, row),
    }

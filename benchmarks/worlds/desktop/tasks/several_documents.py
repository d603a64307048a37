"""Tasks in several applications whose result is in a letter or a sheet, or an answer."""

# Tasks of a benchmark, not to be trained on. Canary: 6f4f12ab-1b3f-45ea-bbe2-8e94ed0444e4

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from benchmarks.worlds.desktop.tasks.calc import CITIES, ITEMS, SAVE, Row, Steps, costs
from benchmarks.worlds.desktop.tasks.impress import talk
from benchmarks.worlds.desktop.tasks.registry import task
from benchmarks.worlds.desktop.tasks.several_texts import LOOK, MONTHS
from benchmarks.worlds.desktop.tasks.writer import NAMES, replace_all, sentences

LETTER, COSTS, TALK = "Documents/letter.odt", "Documents/costs.ods", "Documents/talk.odp"


# -- into a letter ---------------------------------------------------------------------------------


def letter(rng: random.Random, sentence: str) -> list[str]:
    """Return the lines of a letter with a sentence that has something left open."""
    return [f"Dear {rng.choice(NAMES)},", *sentences(rng, 2), sentence, "Best wishes"]


def replaced(old: str, new: str, wrong: str) -> Row:
    """Return the edits, ways and wrong ways for replacing a word of the letter in front."""
    find: Steps = [["key", "ctrl+f"], ["key", "ctrl+a"], ["type", f"{old}\n"], ["key", "escape"]]
    return {
        "edits": [["replace", LETTER, old, new]],
        "ways": [[*replace_all(old, new), *SAVE], [*LOOK, *find, ["type", new], *SAVE]],
        "wrong_ways": [
            [*find, ["type", wrong], *SAVE],
            [*find, ["type", new], ["done"]],
        ],
    }


@task("editor", "writer", category="transfer", tier="standard")
def text_to_letter(rng: random.Random) -> Row:
    """A day of a note, put into a letter."""
    one, other = (f"{rng.randrange(2, 29)} {month}" for month in rng.sample(MONTHS, 2))
    note = f"Talk: {one}\nDinner: {other}\n"
    return {
        "goal": [
            "In letter.odt, put the day of the dinner in place of DAY; note.txt in Documents has "
            "it. Save letter.odt.",
            "letter.odt has DAY where the day of the dinner belongs. Take it from note.txt, "
            "written as it is there, and save the letter.",
        ],
        "files": {
            LETTER: {"blocks": letter(rng, "We invite you to dinner on DAY.")},
            "Documents/note.txt": note,
        },
        "open": ["Documents/note.txt", LETTER],
        **replaced("DAY", other, one),
    }


@task("calc", "writer", category="transfer", tier="standard")
def sheet_to_letter(rng: random.Random) -> Row:
    """An amount of a table, put into a letter."""
    rows = costs(rng, 8)
    item, cost = rng.choice(rows[2:])
    return {
        "goal": [
            f"In letter.odt, put the cost of {item} from costs.ods in place of AMOUNT. Save "
            "letter.odt.",
            f"letter.odt has AMOUNT where the cost of {item} belongs. Look it up in costs.ods, "
            "write the plain number, and save the letter.",
        ],
        "files": {
            COSTS: {"sheets": {"Costs": rows}},
            LETTER: {"blocks": letter(rng, f"We have paid AMOUNT euros for {item}.")},
        },
        "open": [COSTS, LETTER],
        **replaced("AMOUNT", f"{cost}", f"{rows[1][1]}"),
    }


@task("pdf", "writer", category="transfer", tier="standard")
def pdf_to_letter(rng: random.Random) -> Row:
    """A number of a document, put into a letter."""
    rooms = rng.sample(["Aurora", "Birch", "Cedar", "Delta", "Elm"], 4)
    numbers = rng.sample(range(100, 999), 4)
    pages = [
        [f"Room {room}", f"Its key has the number {number}."]
        for room, number in zip(rooms, numbers, strict=True)
    ]
    place = rng.choice([2, 3])
    return {
        "goal": [
            f"rooms.pdf says which number the key of room {rooms[place]} has. Put it in place of "
            "NUMBER in letter.odt, and save the letter.",
            f"In letter.odt, write the number of the key of room {rooms[place]} (see rooms.pdf) "
            "where NUMBER stands now. Save the letter.",
        ],
        "files": {
            "Documents/rooms.pdf": {"pages": pages},
            LETTER: {"blocks": letter(rng, f"Room {rooms[place]} opens with key NUMBER.")},
        },
        "open": ["Documents/rooms.pdf", LETTER],
        **replaced("NUMBER", f"{numbers[place]}", f"{numbers[0]}"),
    }


@task("impress", "writer", category="transfer", tier="standard")
def slide_to_letter(rng: random.Random) -> Row:
    """The title of a slide, put into a letter."""
    slides = talk(rng)
    titles = [slide["title"] for slide in slides]
    return {
        "goal": [
            "In letter.odt, put the title of the last slide of talk.odp in place of TOPIC. Save "
            "letter.odt.",
            "letter.odt has TOPIC where the title of the last slide of talk.odp belongs. Write it "
            "there, and save the letter.",
        ],
        "files": {
            TALK: {"slides": slides},
            LETTER: {"blocks": letter(rng, "At the end we speak about TOPIC.")},
        },
        "open": [TALK, LETTER],
        **replaced("TOPIC", titles[-1], titles[0]),
    }


# -- into a sheet ----------------------------------------------------------------------------------


def filled(rows: list[list[Any]], rng: random.Random) -> tuple[dict[str, int], dict[str, int]]:
    """Take two costs out of a table; return them by item, and by cell."""
    numbers = rng.sample(range(2, len(rows) + 1), 2)
    by_item = {rows[number - 1][0]: rows[number - 1][1] for number in numbers}
    by_cell = {f"B{number}": rows[number - 1][1] for number in numbers}
    for number in numbers:
        rows[number - 1][1] = ""
    return by_item, by_cell


def fill_in(cells: Mapping[str, int]) -> Row:
    """Return the edits, ways and wrong ways for numbers in cells of the sheet in front."""

    def fill(numbers: Mapping[str, int]) -> Steps:
        return [step for cell in numbers for step in _fill_cell(cell, numbers[cell])]

    swapped = dict(zip(cells, reversed([*cells.values()]), strict=True))
    return {
        "edits": [["cells", COSTS, "Costs", {cell: float(cost) for cell, cost in cells.items()}]],
        "ways": [[*fill(cells), *SAVE], [*LOOK, *fill(cells), *SAVE]],
        "wrong_ways": [[*fill(swapped), *SAVE], [*fill(cells)[:2], *SAVE]],
    }


def _fill_cell(cell: str, number: int) -> Steps:
    return [["cell", cell], ["type", f"{number}\n"]]


@task("writer", "calc", category="transfer", tier="standard")
def letter_to_sheet(rng: random.Random) -> Row:
    """Amounts that a letter names, in a table."""
    rows = costs(rng, 6)
    by_item, by_cell = filled(rows, rng)
    lines = [f"{item} will be {cost} euros." for item, cost in by_item.items()]
    return {
        "goal": [
            "Two costs are missing in costs.ods; letter.odt names them. Fill them in as plain "
            "numbers, and save costs.ods.",
            "Take the two amounts of letter.odt over into costs.ods, each beside its item. Save "
            "costs.ods.",
        ],
        "files": {
            LETTER: {"blocks": [*sentences(rng, 2), *lines, "Best wishes"]},
            COSTS: {"sheets": {"Costs": rows}},
        },
        "open": [LETTER, COSTS],
        **fill_in(by_cell),
    }


@task("pdf", "calc", category="transfer", tier="standard")
def pdf_to_sheet(rng: random.Random) -> Row:
    """Amounts of two bills, in a table."""
    rows = costs(rng, 6)
    by_item, by_cell = filled(rows, rng)
    pages = [[f"Bill: {item}", f"To be paid: {cost} EUR"] for item, cost in by_item.items()]
    return {
        "goal": [
            "Two costs are missing in costs.ods; the bills in bills.pdf say them. Fill them in as "
            "plain numbers, and save costs.ods.",
            "Enter the amounts of the two bills in bills.pdf into costs.ods, each beside its item. "
            "Save costs.ods.",
        ],
        "files": {
            "Documents/bills.pdf": {"pages": pages},
            COSTS: {"sheets": {"Costs": rows}},
        },
        "open": ["Documents/bills.pdf", COSTS],
        **fill_in(by_cell),
    }


@task("impress", "calc", category="transfer", tier="standard")
def slides_to_sheet(rng: random.Random) -> Row:
    """Amounts of slides, in a table."""
    rows = costs(rng, 6)
    by_item, by_cell = filled(rows, rng)
    slides: list[Any] = [
        {"title": item, "body": [f"Cost: {cost}", "Two offers"]} for item, cost in by_item.items()
    ]
    slides.insert(0, {"title": "New costs", "body": ["For the next year"]})
    return {
        "goal": [
            "Two costs are missing in costs.ods; the slides of talk.odp say them. Fill them in as "
            "plain numbers, and save costs.ods.",
            "Take the costs on the slides of talk.odp over into costs.ods, each beside its item. "
            "Save costs.ods.",
        ],
        "files": {TALK: {"slides": slides}, COSTS: {"sheets": {"Costs": rows}}},
        "open": [TALK, COSTS],
        **fill_in(by_cell),
    }


@task("editor", "calc", category="feasibility", tier="standard", twins=(0, 3))
def note_to_sheet(rng: random.Random, feasible: bool) -> Row:
    """A new cost of an item that the table may not have."""
    rows = costs(rng, 6)
    number = rng.randrange(3, 7)
    item = rows[number - 1][0]
    if not feasible:
        rows[number - 1][0] = next(name for name in ITEMS if name not in [row[0] for row in rows])
    new = rng.randrange(20, 990)
    enter: Steps = [*_fill_cell(f"B{number}", new), *SAVE]
    fail: Steps = [["fail", f"there is no {item} in costs.ods"]]
    return {
        "goal": [
            "note.txt in Documents says which cost of costs.ods has changed. Change it there, and "
            "save costs.ods. No row may be added.",
            "Carry the change that note.txt in Documents tells of over into costs.ods, whose rows "
            "stay the same ones. Save costs.ods.",
        ],
        "files": {
            "Documents/note.txt": f"New cost!\n{item}: {new}\n",
            COSTS: {"sheets": {"Costs": rows}},
        },
        "open": ["Documents/note.txt", COSTS],
        "edits": [["cells", COSTS, "Costs", {f"B{number}": float(new)}]] if feasible else [],
        "ways": [enter, [*LOOK, *enter]] if feasible else [fail, [*LOOK, *fail]],
        "wrong_ways": (
            [[*_fill_cell(f"B{number - 1}", new), *SAVE], fail] if feasible else [enter, [["done"]]]
        ),
    }


# -- from two documents ----------------------------------------------------------------------------


@task("calc", "pdf", "writer", category="transfer", tier="standard")
def two_to_letter(rng: random.Random) -> Row:
    """An amount and a code, put into a letter."""
    rows = costs(rng, 6)
    item, cost = rng.choice(rows[2:])
    city = rng.choice(CITIES)
    code = f"K{rng.randrange(1000, 9999)}"
    ticket, tables = "Documents/ticket.pdf", {COSTS: {"sheets": {"Costs": rows}}}
    sentence = f"We have paid AMOUNT euros for {item}, and the ticket is CODE."
    amount, codes = replace_all("AMOUNT", f"{cost}"), replace_all("CODE", code)
    return {
        "goal": [
            f"In letter.odt, put the cost of {item} from costs.ods in place of AMOUNT, and the "
            "code from ticket.pdf in place of CODE. Save letter.odt.",
            f"letter.odt lacks two things: AMOUNT is the cost of {item} in costs.ods, CODE stands "
            "in ticket.pdf. Write both, and save the letter.",
        ],
        "files": {
            **tables,
            ticket: {"pages": [[f"Ticket to {city}", f"Code: {code}"]]},
            LETTER: {"blocks": letter(rng, sentence)},
        },
        "open": [COSTS, ticket, LETTER],
        "edits": [
            ["replace", LETTER, "AMOUNT", f"{cost}"],
            ["replace", LETTER, "CODE", code],
        ],
        "ways": [[*amount, *codes, *SAVE], [*codes, *amount, *SAVE]],
        "wrong_ways": [[*amount, *SAVE], [*LOOK, *codes, *SAVE]],
    }


@task("calc", "pdf", category="question", tier="standard")
def bill_and_sheet(rng: random.Random) -> Row:
    """By how much a bill is above the cost of a table."""
    rows = costs(rng, 6)
    item, cost = rng.choice(rows[1:])
    more = rng.randrange(11, 99)
    page = [f"Bill: {item}", f"To be paid: {cost + more} EUR"]
    return {
        "goal": [
            f"By how many euros is the bill in bill.pdf higher than the cost of {item} in "
            "costs.ods? Nothing may be changed.",
            f"bill.pdf is about {item}. How much more is it than what costs.ods has for it? Leave "
            "both files as they are.",
        ],
        "files": {COSTS: {"sheets": {"Costs": rows}}, "Documents/bill.pdf": {"pages": [page]}},
        "open": [COSTS, "Documents/bill.pdf"],
        "edits": [],
        "answer": {"number": more},
        "ways": [[["answer", f"{more}"]], [*LOOK, ["answer", f"It is {more} euros higher."]]],
        "wrong_ways": [[["answer", f"{cost + more}"]], [*LOOK, ["done"]]],
    }


@task("writer", "calc", category="question", tier="standard")
def guest_and_sheet(rng: random.Random) -> Row:
    """Who of a text is not in a table."""
    names = rng.sample(NAMES, 5)
    missing = rng.choice(names)
    present = [name for name in names if name != missing]
    rng.shuffle(present)
    rows = [["Name", "Seats"], *([name, rng.randrange(1, 5)] for name in present)]
    blocks = ["Guests", *(f"{name} will come." for name in names)]
    return {
        "goal": [
            "Which guest of guests.odt has no row in seats.ods? Nothing may be changed.",
            "Compare guests.odt with seats.ods: who is named in the text but not in the table? "
            "Leave both files as they are.",
        ],
        "files": {
            "Documents/guests.odt": {"blocks": blocks},
            "Documents/seats.ods": {"sheets": {"Seats": rows}},
        },
        "open": ["Documents/guests.odt", "Documents/seats.ods"],
        "edits": [],
        "answer": missing,
        "ways": [[["answer", missing]], [*LOOK, ["answer", f"{missing}."]]],
        "wrong_ways": [
            [["answer", present[0]]],
            [["cell", "A6"], ["type", f"{missing}\n"], ["key", "ctrl+s"], ["answer", missing]],
        ],
    }

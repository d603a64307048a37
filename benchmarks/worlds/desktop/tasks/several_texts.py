"""Tasks in several applications whose result is a line or two of a text."""

# Tasks of a benchmark, not to be trained on. Canary: 6f4f12ab-1b3f-45ea-bbe2-8e94ed0444e4

from __future__ import annotations

import random
from typing import Any

from benchmarks.worlds.desktop.tasks.calc import CITIES, SAVE, Row, Steps, costs
from benchmarks.worlds.desktop.tasks.files import WORDS
from benchmarks.worlds.desktop.tasks.impress import talk
from benchmarks.worlds.desktop.tasks.registry import task
from benchmarks.worlds.desktop.tasks.writer import sentences

TODO = "Documents/todo.txt"
TEXT = "To do\n- call Ada\n- water the plants\n"
MONTHS = ("April", "May", "June", "September", "October")
OTHER_WINDOW: Steps = [["key", "alt+tab"], ["wait", 0.5]]
LOOK: Steps = [*OTHER_WINDOW, *OTHER_WINDOW]
"""Look at the window behind, and come back to the one in front."""


def lines_at_end(path: str, text: str, lines: str, wrong: str) -> Row:
    """Return the edits, ways and wrong ways for adding lines at the end of the text in front.

    Args:
        path: path of the text.
        text: its content, with a line break at the end.
        lines: the lines to add.
        wrong: plausible wrong lines.
    """

    def write(added: str) -> Steps:
        return [["key", "ctrl+end"], ["type", added]]

    return {
        "edits": [["write", path, text + lines]],
        "ways": [[*write(lines), *SAVE], [*LOOK, *write(f"{lines}\n"), *SAVE]],
        "wrong_ways": [[*write(wrong), *SAVE], [*write(lines), ["done"]]],
    }


@task("writer", "editor", category="transfer", tier="standard")
def letter_to_text(rng: random.Random) -> Row:
    """A day that a letter names."""
    first, second = rng.sample(range(2, 29), 2)
    month = rng.choice(MONTHS)
    blocks = [
        "Dear Ada,",
        sentences(rng, 1)[0],
        f"The offer is valid until {first} {month}. We meet on {second} {month} at ten.",
        "Best wishes",
    ]
    path = "Documents/letter.odt"
    return {
        "goal": [
            "On which day does letter.odt say that we meet? Add the line “Meeting: DAY” (as in "
            "“Meeting: 1 March”) at the end of todo.txt, and save it.",
            "todo.txt should end with a line “Meeting: ” and the day of the meeting from "
            "letter.odt, written as it is there (like 1 March). Save it.",
        ],
        "files": {path: {"blocks": blocks}, TODO: TEXT},
        "open": [path, TODO],
        **lines_at_end(TODO, TEXT, f"Meeting: {second} {month}", f"Meeting: {first} {month}"),
    }


@task("impress", "editor", category="transfer", tier="standard")
def titles_to_text(rng: random.Random) -> Row:
    """The titles of slides as an outline."""
    slides = talk(rng, 4)
    titles = [slide["title"] for slide in slides]
    path, outline = "Documents/talk.odp", "Documents/outline.txt"
    return {
        "goal": [
            "Write the titles of the slides of talk.odp at the end of outline.txt, in their order, "
            "one in each line. Save outline.txt.",
            "outline.txt should list all titles of talk.odp below its first line: in the order of "
            "the slides, each in a line of its own. Save it.",
        ],
        "files": {path: {"slides": slides}, outline: "Outline of the talk\n"},
        "open": [path, outline],
        **lines_at_end(
            outline, "Outline of the talk\n", "\n".join(titles), "\n".join(sorted(titles[:3]))
        ),
    }


@task("calc", "editor", category="transfer", tier="standard")
def total_to_text(rng: random.Random) -> Row:
    """The sum of a column, in a text."""
    rows = costs(rng, 6)
    total = sum(row[1] for row in rows[1:])
    path = "Documents/costs.ods"
    return {
        "goal": [
            "Add up the costs in costs.ods and write the sum at the end of todo.txt, in a line "
            "“Total: SUM”. Save todo.txt; costs.ods stays as it is.",
            "todo.txt should end with a line “Total: ” and the sum of all costs in costs.ods, "
            "which is not to be changed. Save todo.txt.",
        ],
        "files": {path: {"sheets": {"Costs": rows}}, TODO: TEXT},
        "open": [path, TODO],
        **lines_at_end(TODO, TEXT, f"Total: {total}", f"Total: {total - rows[-1][1]}"),
    }


@task("calc", "editor", category="transfer", tier="standard")
def dear_items_to_text(rng: random.Random) -> Row:
    """The items of a table that cost more than a limit."""
    rows = costs(rng, 8)
    numbers = sorted(row[1] for row in rows[1:])
    limit = (numbers[4] + numbers[5]) // 2
    dear = [item for item, cost in rows[1:] if cost > limit]
    cheap = [item for item, cost in rows[1:] if cost <= limit]
    path = "Documents/costs.ods"
    return {
        "goal": [
            f"Which items of costs.ods cost more than {limit}? Write them at the end of todo.txt, "
            "one in each line, in the order of the table. Save todo.txt.",
            f"List the items of costs.ods with a cost above {limit} at the end of todo.txt: only "
            "their names, a line each, in the table's order. Save it.",
        ],
        "files": {path: {"sheets": {"Costs": rows}}, TODO: TEXT},
        "open": [path, TODO],
        **lines_at_end(TODO, TEXT, "\n".join(dear), "\n".join(cheap)),
    }


@task("pdf", "editor", category="transfer", tier="standard")
def page_to_text(rng: random.Random) -> Row:
    """On which page something stands."""
    names = rng.sample(CITIES, 5)
    page = rng.choice([3, 4, 5])
    pages = [[f"Report on {name}", "It is written by the office."] for name in names]
    path = "Documents/reports.pdf"
    city = names[page - 1]
    return {
        "goal": [
            f"On which page of reports.pdf is the report on {city}? Add the line “{city}: page "
            "NUMBER” at the end of todo.txt, and save it.",
            f"todo.txt should end with the line “{city}: page ” and the number of the page of "
            f"reports.pdf that is about {city}. Save it.",
        ],
        "files": {path: {"pages": pages}, TODO: TEXT},
        "open": [path, TODO],
        **lines_at_end(TODO, TEXT, f"{city}: page {page}", f"{city}: page {page - 1}"),
    }


@task("calculator", "editor", category="compute", tier="standard")
def product_to_text(rng: random.Random) -> Row:
    """A product that a calculator works out."""
    one, other = rng.randrange(213, 987), rng.randrange(213, 987)
    result = one * other
    return {
        "goal": [
            f"How much is {one} times {other}? Add the line “Result: NUMBER” at the end of "
            "todo.txt, without separators in the number. Save it.",
            f"Multiply {one} by {other} and write the product at the end of todo.txt, as a line "
            "“Result: ” with the plain number. Save it.",
        ],
        "files": {TODO: TEXT + f"- ask for {one} chairs\n"},
        "open": ["calculator", TODO],
        **lines_at_end(
            TODO, TEXT + f"- ask for {one} chairs\n", f"Result: {result}", f"Result: {one + other}"
        ),
    }


def letters(rng: random.Random) -> tuple[list[str], dict[str, str]]:
    """Return names of texts in a folder, in order, and files with others of another kind."""
    words = rng.sample(WORDS, 7)
    names = sorted(f"{word}.txt" for word in words[:4])
    others = [f"{word}.csv" for word in words[4:]]
    files = {f"Documents/Letters/{name}": f"About {name}.\n" for name in [*names, *others]}
    return names, files


@task("files", "editor", category="transfer", tier="standard")
def names_to_text(rng: random.Random) -> Row:
    """The names of files, in a text."""
    names, files = letters(rng)
    return {
        "goal": [
            "Write the names of the files in Documents/Letters that end in .txt at the end of "
            "todo.txt, in alphabetical order, one in each line. Save todo.txt.",
            "todo.txt should end with the names of all .txt files of the folder Documents/Letters, "
            "with their endings, from A to Z, a line each. Save it.",
        ],
        "files": {**files, TODO: TEXT},
        "open": ["Documents/Letters/", TODO],
        **lines_at_end(TODO, TEXT, "\n".join(names), "\n".join(names[::-1])),
    }


@task("files", "editor", category="transfer", tier="standard")
def count_to_text(rng: random.Random) -> Row:
    """The number of files, in a text."""
    names, files = letters(rng)
    for name in rng.sample(names, rng.choice([0, 1, 2])):
        del files[f"Documents/Letters/{name}"]
    count = sum(path.endswith(".txt") for path in files)
    return {
        "goal": [
            "How many files in Documents/Letters end in .txt? Add the line “Letters: NUMBER” at "
            "the end of todo.txt, and save it.",
            "Count the .txt files of the folder Documents/Letters, and have todo.txt end with a "
            "line “Letters: ” and their number in digits. Save it.",
        ],
        "files": {**files, TODO: TEXT},
        "open": ["Documents/Letters/", TODO],
        **lines_at_end(TODO, TEXT, f"Letters: {count}", f"Letters: {len(files)}"),
    }


@task("pdf", "editor", category="feasibility", tier="standard", twins=(1, 2))
def missing_code_to_text(rng: random.Random, feasible: bool) -> Row:
    """A code of a document that may not be there."""
    names = rng.sample(CITIES, 4)
    codes = {name: f"{rng.choice('KLMN')}{rng.randrange(1000, 9999)}" for name in names}
    wanted = names[2]
    shown = [name for name in names if feasible or name != wanted]
    pages = [[f"Ticket to {name}", f"Code: {codes[name]}"] for name in shown]
    path = "Documents/tickets.pdf"
    line = f"{wanted}: {codes[wanted]}"
    other = f"{wanted}: {codes[names[1]]}"
    row: dict[str, Any] = lines_at_end(TODO, TEXT, line, other)
    if not feasible:
        fail: Steps = [["fail", f"there is no ticket to {wanted}"]]
        row = {
            "edits": [],
            "ways": [fail, [*LOOK, *fail]],
            "wrong_ways": [row["wrong_ways"][0], [["done"]]],
        }
    return {
        "goal": [
            f"Add a line “{wanted}: CODE” at the end of todo.txt, with the code of the ticket to "
            f"{wanted} from tickets.pdf. Save it.",
            f"todo.txt should end with the line “{wanted}: ” and the code that tickets.pdf gives "
            f"for {wanted}. Save it.",
        ],
        "files": {path: {"pages": pages}, TODO: TEXT},
        "open": [path, TODO],
        **row,
    }

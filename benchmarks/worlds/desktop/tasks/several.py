"""Tasks in several applications."""

# Tasks of a benchmark, not to be trained on. Canary: 6f4f12ab-1b3f-45ea-bbe2-8e94ed0444e4

from __future__ import annotations

import random

from benchmarks.worlds.desktop.home import HOME
from benchmarks.worlds.desktop.tasks.calc import CITIES, SAVE, Row, Steps, costs, visitors
from benchmarks.worlds.desktop.tasks.registry import task

TASKBAR_XY = ((180, 14), (400, 14))  # the first and the second window in the panel


def open_in_editor(path: str) -> Steps:
    """Return the steps that open a file in the text editor by its dialog."""
    return [
        ["open_app", "Text Editor"],
        ["key", "ctrl+o"],
        ["wait", 0.5],
        ["key", "ctrl+l"],
        ["key", "ctrl+a"],
        ["type", f"/{HOME}/{path}"],
        ["wait", 0.5],
        ["key", "enter"],
        ["wait", 0.5],
    ]


@task("calc", "editor", category="transfer", tier="standard")
def sheet_to_text(rng: random.Random) -> Row:
    """The highest of a table, written into a text."""
    rows = visitors(rng, 8)
    ordered = sorted(rows[1:], key=lambda row: -row[1])
    path = "Desktop/todo.txt"
    text = "To do\n- call Ada\n- water the plants\n"
    line = f"Most visitors: {ordered[0][0]}"
    write: Steps = [*open_in_editor(path), ["key", "ctrl+end"], ["type", line], *SAVE]
    return {
        "goal": [
            "Which city of cities.ods has the most visitors? Add the line “Most visitors: CITY” "
            "(with its name in place of CITY) at the end of todo.txt on the desktop, and save it.",
            "todo.txt on the desktop should end with a line “Most visitors: ” and the name of the "
            "city that has the most of them in cities.ods. Save it; cities.ods stays as it is.",
        ],
        "files": {"Documents/cities.ods": {"sheets": {"Visitors": rows}}, path: text},
        "open": ["Documents/cities.ods"],
        "edits": [["write", path, text + line]],
        "ways": [
            write,
            [["open_app", "Files"], *open_by_files("Desktop", "todo.txt"), *write[9:]],
        ],
        "wrong_ways": [
            [
                *open_in_editor(path),
                ["key", "ctrl+end"],
                ["type", f"Most visitors: {ordered[1][0]}"],
                *SAVE,
            ],
            [["cell", "B2"], ["menu", "alt+d", "down 2", "enter"], ["key", "ctrl+s"], *write],
        ],
    }


def open_by_files(folder: str, name: str) -> Steps:
    """Return the steps that open a file in the file manager."""
    return [
        ["key", "ctrl+l"],
        ["key", "ctrl+a"],
        ["type", f"/{HOME}/{folder}"],
        ["key", "enter"],
        ["wait", 0.5],
        ["key", "ctrl+s"],
        ["type", name],
        ["key", "enter"],
        ["wait", 0.5],
        ["key", "enter"],
        ["wait", 1.0],
    ]


@task("calc", "editor", category="transfer", tier="standard")
def text_to_sheet(rng: random.Random) -> Row:
    """Numbers of a text, written into a table."""
    rows = costs(rng, 5)
    missing = rng.sample(range(2, 7), 2)
    amounts = {rows[number - 1][0]: rng.randrange(20, 900) for number in missing}
    for number in missing:
        rows[number - 1][1] = ""
    bill = "".join(f"{item}: {amount} EUR\n" for item, amount in amounts.items())
    cells = {f"B{number}": float(amounts[rows[number - 1][0]]) for number in missing}
    path = "Documents/costs.ods"
    fill: Steps = []
    for cell, amount in cells.items():
        fill += [["cell", cell], ["type", f"{amount:g}\n"]]
    swapped: Steps = []
    for cell, amount in zip(cells, reversed([*cells.values()]), strict=True):
        swapped += [["cell", cell], ["type", f"{amount:g}\n"]]
    return {
        "goal": [
            "Two costs are missing in costs.ods; bill.txt in Documents says them. Fill them in and "
            "save the file.",
            "Take the two amounts of bill.txt in Documents over into costs.ods, each beside its "
            "item, as plain numbers. Save the file.",
        ],
        "files": {path: {"sheets": {"Costs": rows}}, "Documents/bill.txt": bill},
        "open": ["Documents/bill.txt", path],
        "edits": [["cells", path, "Costs", cells]],
        "ways": [
            [*fill, *SAVE],
            [["click", *TASKBAR_XY[1]], ["click", *TASKBAR_XY[0]], *fill, *SAVE],
        ],
        "wrong_ways": [[*swapped, *SAVE], [*fill[:2], *SAVE]],
    }


@task("pdf", "editor", category="transfer", tier="standard")
def pdf_to_text(rng: random.Random) -> Row:
    """A line of a document, written into a text."""
    names = rng.sample(CITIES, 3)
    codes = [f"{rng.choice('KLMN')}{rng.randrange(1000, 9999)}" for _ in names]
    pages = [
        [f"Ticket to {name}", f"Code: {code}", "Please keep this page."]
        for name, code in zip(names, codes, strict=True)
    ]
    path = "Documents/codes.txt"
    text = "Codes of the tickets\n"
    line = f"{names[2]}: {codes[2]}"
    write: Steps = [["key", "ctrl+end"], ["type", line], *SAVE]
    return {
        "goal": [
            f"tickets.pdf has the code of the ticket to {names[2]}. Add it as a line “{names[2]}: "
            "CODE” to codes.txt in Documents, and save the file.",
            f"codes.txt in Documents should say “{names[2]}: ” and the code that tickets.pdf gives "
            "for it, in a line of its own at the end. Save the file.",
        ],
        "files": {"Documents/tickets.pdf": {"pages": pages}, path: text},
        "open": ["Documents/tickets.pdf"],
        "edits": [["write", path, text + line]],
        "ways": [
            [["key", "ctrl+end"], *open_in_editor(path), *write],
            [["open_app", "Files"], *open_by_files("Documents", "codes.txt"), *write],
        ],
        "wrong_ways": [
            [
                *open_in_editor(path),
                ["key", "ctrl+end"],
                ["type", f"{names[2]}: {codes[0]}"],
                *SAVE,
            ],
            [*open_in_editor(path), *write[:-2], ["done"]],
        ],
    }

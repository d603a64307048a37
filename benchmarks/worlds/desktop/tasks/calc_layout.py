"""Tasks in LibreOffice Calc: how sheets are laid out, and what is in their cells besides values."""

# Tasks of a benchmark, not to be trained on. Canary: 6f4f12ab-1b3f-45ea-bbe2-8e94ed0444e4

from __future__ import annotations

import random

from benchmarks.worlds.desktop.tasks.calc import SAVE, Row, Steps, costs, table, visitors
from benchmarks.worlds.desktop.tasks.registry import task

COSTS = "Documents/costs.ods"


@task("calc", category="update")
def calc_merge(rng: random.Random) -> Row:
    """A title over two columns."""
    title = rng.choice(["Costs of the office", "Costs of the house", "Costs of the club"])
    rows = [[title], *costs(rng, 6)]
    select: Steps = [["cell", "A1:B1"]]
    merged = {"merged": "2x1", "*": ["align"]}
    return {
        "goal": [
            "In costs.ods, merge the cells A1 and B1 into one. Save the file.",
            f"The title “{title}” in costs.ods should have one cell that is as wide as both "
            "columns: merge A1 and B1, and save the file.",
        ],
        "files": {COSTS: {"sheets": {"Costs": rows}}},
        "open": [COSTS],
        "edits": [["cells", COSTS, "Costs", {"A1": merged}]],
        "ways": [
            [*select, ["menu", "alt+o", "down 8", "right", "enter"], *SAVE],
            [*select, ["menu", "alt+o", "down 8", "right", "down 1", "enter"], *SAVE],
        ],
        "wrong_ways": [
            [["cell", "A1:C1"], ["menu", "alt+o", "down 8", "right", "enter"], *SAVE],
            [*select, ["key", "ctrl+e"], *SAVE],
        ],
    }


@task("calc", category="update", tier="standard")
def calc_hide_column(rng: random.Random) -> Row:
    """A column that is not shown."""
    header, *rows = visitors(rng, 6)
    hidden, column = "Code", rng.choice(["B", "C"])
    codes = [f"K{rng.randrange(100, 999)}" for _ in rows]
    if column == "B":
        lines = [[city, code, count] for (city, count), code in zip(rows, codes, strict=True)]
        names = ["City", hidden, "Visitors"]
    else:
        lines = [[city, count, code] for (city, count), code in zip(rows, codes, strict=True)]
        names = [*header, hidden]
    path = "Documents/cities.ods"
    x = {"B": 164, "C": 252}[column]
    hide: Steps = [["menu", "alt+o", "down 7", "right", "down 2", "enter"]]
    return {
        "goal": [
            f"Hide the column “{hidden}” of cities.ods; nothing is deleted. Save the file.",
            f"The column “{hidden}” of cities.ods should not be shown any more, but must not get "
            "lost. Save the file.",
        ],
        "files": {path: {"sheets": {"Visitors": [names, *lines]}}},
        "open": [path],
        "edits": [["update", path, ["sheet Visitors"], {"hidden columns": [column]}]],
        "ways": [
            [["cell", f"{column}2"], *hide, *SAVE],
            [["click", x, 203], *hide, *SAVE],
        ],
        "wrong_ways": [
            [["cell", "A2"], *hide, *SAVE],
            [["click", x, 203], ["key", "ctrl+-"], *SAVE],
        ],
    }


@task("calc", category="create")
def calc_comment(rng: random.Random) -> Row:
    """A comment on a cell."""
    rows = costs(rng)
    number = rng.randrange(3, 8)
    item = rows[number - 1][0]
    text = rng.choice(["Ask for an offer", "Paid in advance", "To be checked"])
    leave: Steps = [["type", text], ["key", "escape"]]
    return {
        "goal": [
            f"Put a comment “{text}” on the cell with the cost of {item} in costs.ods. The cell "
            "itself stays as it is. Save the file.",
            f"In costs.ods, the cost of {item} needs a comment that says “{text}”, on its own "
            "cell. Save the file.",
        ],
        "files": {COSTS: {"sheets": {"Costs": rows}}},
        "open": [COSTS],
        "edits": [["cells", COSTS, "Costs", {f"B{number}": {"note": text}}]],
        "ways": [
            [["cell", f"B{number}"], ["key", "ctrl+alt+c"], ["wait", 0.5], *leave, *SAVE],
            [["cell", f"B{number}"], ["menu", "alt+i", "down 10", "enter"], *leave, *SAVE],
        ],
        "wrong_ways": [
            [["cell", f"C{number}"], ["type", f"{text}\n"], *SAVE],
            [["cell", f"A{number}"], ["key", "ctrl+alt+c"], ["wait", 0.5], *leave, *SAVE],
        ],
    }


@task("calc", category="update", tier="standard")
def calc_landscape(rng: random.Random) -> Row:
    """Pages that lie."""
    rows = visitors(rng, 8)
    path = "Documents/cities.ods"
    dialog: Steps = [["menu", "alt+o", "p"], ["wait", 0.6], ["click", 438, 158]]
    landscape: Steps = [["click", 422, 336], ["key", "enter"], ["wait", 0.5]]
    by_button: Steps = [["click", 422, 336], ["click", 931, 662], ["wait", 0.5]]
    return {
        "goal": [
            "Have cities.ods printed on pages in landscape format. Save the file.",
            "The pages of cities.ods should be wider than high when they are printed: set their "
            "orientation to landscape, and save the file.",
        ],
        "files": {path: {"sheets": {"Visitors": rows}}},
        "open": [path],
        "edits": [["set", path, ["orientation"], "landscape"]],
        "ways": [[*dialog, *landscape, *SAVE], [*dialog, *by_button, *SAVE]],
        "wrong_ways": [
            [*dialog, ["click", 422, 336], ["key", "escape"], *SAVE],
            [*dialog, *landscape, ["done"]],
        ],
    }


@task("calc", category="create", tier="standard")
def calc_copy_sheet(rng: random.Random) -> Row:
    """A copy of a sheet under another name."""
    rows = costs(rng, 5)
    year = rng.choice([2027, 2028, 2029])
    old, new = "Costs", f"Costs {year}"
    duplicate: Steps = [["menu", "alt+s", "up 4", "enter"], ["wait", 0.5]]
    rename: Steps = [["menu", "alt+s", "up 7", "enter"], ["wait", 0.5]]
    name: Steps = [["key", "ctrl+a"], ["type", f"{new}\n"]]
    return {
        "goal": [
            f"Add a copy of the sheet “{old}” to costs.ods, with the name “{new}”. Save the file.",
            f"costs.ods should have the sheet “{old}” a second time, as “{new}”, with the same "
            "cells. Save the file.",
        ],
        "files": {COSTS: {"sheets": {old: rows}}},
        "open": [COSTS],
        "edits": [
            [
                "any_of",
                [["sheet.insert", COSTS, 1, new, table(rows)]],
                [["sheet.insert", COSTS, 0, new, table(rows)]],
            ]
        ],
        "ways": [
            [*duplicate, *rename, *name, *SAVE],
            [*duplicate, ["double", 220, 686], ["wait", 0.5], *name, *SAVE],
        ],
        "wrong_ways": [[*duplicate, *SAVE], [*rename, *name, *SAVE]],
    }


@task("calc", category="update", tier="standard")
def calc_replace(rng: random.Random) -> Row:
    """A word that is replaced in all cells."""
    old, new = rng.sample(["open", "closed", "planned", "late", "done"], 2)
    items = [row[0] for row in costs(rng, 8)[1:]]
    states = [old, "sent", old, "lost", "sent", old, "lost", "sent"]
    rng.shuffle(states)
    rows = [["Item", "State"], *map(list, zip(items, states, strict=True))]
    path = "Documents/orders.ods"
    places = [number for number, row in enumerate(rows, 1) if row[1] == old]
    one_by_one: Steps = []
    for number in places:
        one_by_one += [["cell", f"B{number}"], ["type", f"{new}"], ["key", "enter"]]
    dialog: Steps = [
        ["key", "ctrl+h"],
        ["wait", 0.5],
        ["type", old],
        ["click", 672, 295],
        ["type", new],
        ["click", 857, 344],
        ["wait", 0.5],
        ["key", "escape"],
        ["key", "escape"],
    ]
    return {
        "goal": [
            f"Replace “{old}” by “{new}” everywhere in orders.ods, and save the file.",
            f"All that is “{old}” in orders.ods is “{new}” now. Change it in each row, and save "
            "the file.",
        ],
        "files": {path: {"sheets": {"Orders": rows}}},
        "open": [path],
        "edits": [["replace", path, old, new]],
        "ways": [[*dialog, *SAVE], [*one_by_one, *SAVE]],
        "wrong_ways": [[*one_by_one[:-3], *SAVE], [*dialog, ["done"]]],
    }

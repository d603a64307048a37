"""Tasks in LibreOffice Calc that work with data: filters, charts, conditions, pivot tables."""

# Tasks of a benchmark, not to be trained on. Canary: 6f4f12ab-1b3f-45ea-bbe2-8e94ed0444e4

from __future__ import annotations

import random
from typing import Any

from benchmarks.worlds.desktop.tasks.calc import CITIES, SAVE, Row, Steps, costs, table
from benchmarks.worlds.desktop.tasks.registry import task

COSTS, CITIES_PATH = "Documents/costs.ods", "Documents/cities.ods"
REGIONS = ("East", "North", "South")
SHEET = "Visitors"


def regions(rng: random.Random, count: int = 7) -> list[list[Any]]:
    """Return a header and rows of cities, their regions and visitors; each region has some."""
    places = [*REGIONS, *rng.choices(REGIONS, k=count - 3)]
    rng.shuffle(places)
    numbers = rng.sample(range(120, 980), count)
    rows = zip(rng.sample(CITIES, count), places, numbers, strict=True)
    return [["City", "Region", "Visitors"], *map(list, rows)]


@task("calc", category="compute")
def calc_average(rng: random.Random) -> Row:
    """The mean of some rows of a table, by a formula."""
    rows = regions(rng, 8)
    region = rng.choice(REGIONS)
    numbers = [count for _, place, count in rows[1:] if place == region]
    mean = sum(numbers) / len(numbers)
    cell = {"value": mean, "formula": {"uses": "B2:C9"}, "*": ["format"]}
    condition = f'B2:B9;"{region}"'
    by_sum = f"=SUMIF({condition};C2:C9)/COUNTIF({condition})\n"
    return {
        "goal": [
            f"Let cell E2 of cities.ods work out by a formula how many visitors a city in the "
            f"region {region} has on average. Save the file.",
            f"What is the average of the visitors in the region {region}? Have a formula in E2 of "
            "cities.ods say it, and save the file.",
        ],
        "files": {CITIES_PATH: {"sheets": {SHEET: rows}}},
        "open": [CITIES_PATH],
        "edits": [["cells", CITIES_PATH, SHEET, {"E2": cell}]],
        "ways": [
            [["cell", "E2"], ["type", f"=AVERAGEIF({condition};C2:C9)\n"], *SAVE],
            [["cell", "E2"], ["type", by_sum], *SAVE],
        ],
        "wrong_ways": [
            [["cell", "E2"], ["type", "=AVERAGE(C2:C9)\n"], *SAVE],
            [["cell", "E2"], ["type", f"{mean:.2f}\n"], *SAVE],
        ],
    }


@task("calc", category="update", tier="standard")
def calc_filter(rng: random.Random) -> Row:
    """Only some rows of a table, by a filter."""
    rows = regions(rng)
    region = rng.choice(REGIONS)
    hidden = [number for number, row in enumerate(rows[1:], 2) if row[1] != region]
    area = [f"{SHEET}.A1:{SHEET}.C8"]
    hide: list[Any] = ["update", CITIES_PATH, [f"sheet {SHEET}"], {"hidden rows": hidden}]
    item: Steps = [["click", 140, 418 + 23 * REGIONS.index(region)]]
    popup: Steps = [
        ["cell", "B1"],
        ["key", "ctrl+shift+l"],
        ["wait", 0.5],
        ["key", "alt+down"],
        ["wait", 0.5],
        ["click", 145, 388],
    ]
    dialog: Steps = [
        ["cell", "A1"],
        ["menu", "alt+d", "down 4", "right", "enter"],
        ["wait", 0.5],
        ["click", 493, 343],
        ["menu", "down 1", "enter"],
        ["click", 812, 343],
    ]
    accept: Steps = [["click", 283, 646], ["wait", 0.5]]
    one_by_one: Steps = []
    for number in reversed(hidden):
        one_by_one += [["cell", f"A{number}"], ["menu", "alt+s", "down 5", "enter"]]
    return {
        "goal": [
            f"Filter the table in cities.ods, so that it shows the cities of the region {region} "
            "only. No row may be deleted. Save the file.",
            f"By a filter, have only the rows of the region {region} shown in cities.ods, below "
            "the header. Save the file.",
        ],
        "files": {CITIES_PATH: {"sheets": {SHEET: rows}}},
        "open": [CITIES_PATH],
        "edits": [["any_of", [hide, ["set", CITIES_PATH, ["filters"], area]], [hide]]],
        "ways": [
            [*popup, *item, *accept, *SAVE],
            [*dialog, ["type", region], ["click", 910, 530], ["wait", 0.5], *SAVE],
        ],
        "wrong_ways": [[*popup[:-1], ["key", "escape"], *SAVE], [*one_by_one, *SAVE]],
    }


@task("calc", category="create", tier="standard")
def calc_chart(rng: random.Random) -> Row:
    """A chart of a table."""
    count = rng.choice([5, 6, 7])
    rows = costs(rng, count)
    kind, words, downs = rng.choice([("circle", "pie chart", 2), ("line", "line chart", 4)])
    cells = sorted(f"{column}{number}" for column in "AB" for number in range(1, count + 2))
    chart = {"kind": kind, "title": "", "cells": cells}
    select: Steps = [["cell", f"A1:B{count + 1}"], ["menu", "alt+i", "c"], ["wait", 0.6]]
    type_by_mouse: Steps = [["click", 400, {"circle": 242, "line": 288}[kind]]]
    finish: Steps = [["click", 1065, 550], ["wait", 0.5]]
    leave: Steps = [["key", "escape"], ["key", "escape"], *SAVE]
    return {
        "goal": [
            f"Insert a {words} of the whole table (A1 to B{count + 1}) into the sheet of "
            "costs.ods, without a title. Save the file.",
            f"costs.ods should show its table as a {words}, too: items and costs, with the header "
            "as labels, no title. Save the file.",
        ],
        "files": {COSTS: {"sheets": {"Costs": rows}}},
        "open": [COSTS],
        "edits": [["update", COSTS, ["sheet Costs"], {"charts": [chart]}]],
        "ways": [
            [*select, ["menu", f"down {downs}"], ["wait", 0.5], *finish, *leave],
            [*select, *type_by_mouse, ["wait", 0.5], *finish, *leave],
        ],
        "wrong_ways": [
            [*select, *finish, *leave],
            [
                ["cell", f"A1:B{count}"],
                *select[1:],
                ["menu", f"down {downs}"],
                ["wait", 0.5],
                *finish,
                *leave,
            ],
        ],
    }


@task("calc", category="update", tier="standard")
def calc_condition(rng: random.Random) -> Row:
    """A style that cells have under a condition."""
    rows = costs(rng)
    limit = rng.randrange(200, 700, 50)
    words, sign, downs = rng.choice([("more", ">", 2), ("less", "<", 1)])
    style, style_downs = ("Bad", 4) if words == "more" else ("Good", 8)
    condition = {"cells": "Costs.B2:Costs.B8", "condition": f"{sign}{limit}", "style": style}
    dialog: Steps = [["menu", "alt+o", "down 11", "right", "enter"], ["wait", 0.6]]
    fill: Steps = [
        ["click", 639, 186],
        ["menu", f"down {downs}", "enter"],
        ["click", 639, 221],
        ["menu", f"down {style_downs}", "enter"],
        ["click", 868, 186],
        ["type", f"{limit}"],
    ]
    accept: Steps = [["click", 947, 686], ["wait", 0.5], *SAVE]
    return {
        "goal": [
            f"In costs.ods, let costs of {words} than {limit} (in B2 to B8) have the cell style "
            f"“{style}” by a conditional format. Save the file.",
            f"Set up a conditional format for B2 to B8 of costs.ods: whatever is {words} than "
            f"{limit} looks “{style}” (the cell style). Save the file.",
        ],
        "files": {COSTS: {"sheets": {"Costs": rows}}},
        "open": [COSTS],
        "edits": [["set", COSTS, ["conditions"], [condition]]],
        "ways": [
            [["cell", "B2:B8"], *dialog, *fill, *accept],
            [["drag", 164, 237, 164, 339], *dialog, *fill[4:], *fill[:4], *accept],
        ],
        "wrong_ways": [
            [["cell", "B2:B7"], *dialog, *fill, *accept],
            [["cell", "B2:B8"], *dialog, *fill[2:], *accept],
        ],
    }


@task("calc", category="update", tier="standard")
def calc_validity(rng: random.Random) -> Row:
    """Cells that take some numbers only."""
    items = [row[0] for row in costs(rng, 6)[1:]]
    rows = [["Item", "Grade"], *([item, rng.randrange(1, 5)] for item in items)]
    highest = rng.choice([5, 6, 8])
    path = "Documents/grades.ods"
    texts = [
        f"cell-content-is-whole-number() and cell-content-is-between(1,{highest})",
        f"cell-content-is-between(1,{highest})",
    ]
    rule = {"one_of": [f"of:{texts[0]}", texts[0]]}
    dialog: Steps = [["menu", "alt+d", "v"], ["wait", 0.5]]
    fill: Steps = [
        ["click", 667, 241],
        ["menu", "down 1", "enter"],
        ["click", 667, 303],
        ["menu", "down 6", "enter"],
        ["key", "tab"],
        ["type", f"1\t{highest}"],
    ]
    accept: Steps = [["key", "enter"], ["wait", 0.5], *SAVE]
    cells = {f"B{number}": {"rule": rule} for number in range(2, 8)}
    return {
        "goal": [
            f"In grades.ods, B2 to B7 should take whole numbers from 1 to {highest} only: set up "
            "that validity. Save the file.",
            f"Make sure that nobody can enter anything but whole numbers from 1 to {highest} in B2 "
            "to B7 of grades.ods (Data, Validity). Save the file.",
        ],
        "files": {path: {"sheets": {"Grades": rows}}},
        "open": [path],
        "edits": [["cells", path, "Grades", cells]],
        "ways": [
            [["cell", "B2:B7"], *dialog, *fill, *accept],
            [["drag", 164, 237, 164, 322], *dialog, *fill, ["click", 797, 613], *accept[1:]],
        ],
        "wrong_ways": [
            [["cell", "B2"], *dialog, *fill, *accept],
            [["cell", "B2:B7"], *dialog, *fill[:-1], ["type", f"1\t{highest - 1}"], *accept],
        ],
    }


@task("calc", category="compute", tier="standard")
def calc_pivot(rng: random.Random) -> Row:
    """A pivot table: the sum for each region."""
    rows = regions(rng, 8)
    pivot = {
        "cells": f"{SHEET}.A1:{SHEET}.C9",
        "row": ["Region", "auto"],
        "data": ["Visitors", "sum"],
    }
    sums = {place: sum(row[2] for row in rows[1:] if row[1] == place) for place in REGIONS}
    lines = [["Region", "Sum - Visitors"], *([place, total] for place, total in sums.items())]
    lines.append(["Total Result", sum(sums.values())])
    cells = table(lines, **{"*": ["bold", "italic", "align", "format", "background"]})
    dialog: Steps = [
        ["cell", "A1:C9"],
        ["menu", "alt+i", "down 3", "enter"],
        ["wait", 0.5],
        ["key", "enter"],
        ["wait", 0.6],
    ]
    region: Steps = [["drag", 810, 277, 422, 430], ["wait", 0.3]]
    numbers: Steps = [["drag", 810, 299, 649, 430], ["wait", 0.3]]
    accept: Steps = [["click", 914, 591], ["wait", 0.6], *SAVE]
    return {
        "goal": [
            "Make a pivot table of the table in cities.ods (A1 to C9), on a new sheet: a row for "
            "each region, and the sum of its visitors. Save the file.",
            "I need a pivot table of cities.ods with Region as row field and the sum of Visitors "
            "as data field, on a sheet of its own. Save the file.",
        ],
        "files": {CITIES_PATH: {"sheets": {SHEET: rows}}},
        "open": [CITIES_PATH],
        "edits": [
            ["set", CITIES_PATH, ["pivots"], [pivot]],
            ["sheet.insert", CITIES_PATH, 1, f"Pivot Table_{SHEET}_1", cells],
        ],
        "ways": [[*dialog, *region, *numbers, *accept], [*dialog, *numbers, *region, *accept]],
        "wrong_ways": [
            [*dialog, ["drag", 810, 255, 422, 430], ["wait", 0.3], *numbers, *accept],
            [*dialog, *region, *accept],
        ],
    }

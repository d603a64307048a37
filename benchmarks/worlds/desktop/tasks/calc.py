"""Tasks in LibreOffice Calc."""

# Tasks of a benchmark, not to be trained on. Canary: 6f4f12ab-1b3f-45ea-bbe2-8e94ed0444e4

from __future__ import annotations

import random
from typing import Any

from benchmarks.worlds.desktop.tasks.registry import task

Row = dict[str, Any]
Steps = list[list[Any]]
SAVE: Steps = [["key", "ctrl+s"], ["done"]]
ITEMS = ("Paper", "Ink", "Chairs", "Lamps", "Plants", "Rent", "Coffee", "Cables", "Desks", "Tea")


def costs(rng: random.Random, count: int = 7) -> list[list[Any]]:
    """Return a header and rows of items with what each costs."""
    items = rng.sample(ITEMS, count)
    return [["Item", "Cost"], *([item, rng.randrange(20, 990)] for item in items)]


@task("calc", category="compute")
def calc_total(rng: random.Random) -> Row:
    """A sum that is worked out, below a column."""
    rows = costs(rng)
    total = sum(row[1] for row in rows[1:])
    path = "Documents/costs.ods"
    cell = {"value": float(total), "formula": {"uses": "B2:B8"}}
    return {
        "goal": [
            "In costs.ods, let cell B9 work out the sum of all costs by a formula. Save the file.",
            "Cell B9 of costs.ods should add up the costs above it, and keep doing so when they "
            "change. Save the file.",
        ],
        "files": {path: {"sheets": {"Costs": rows}}},
        "open": [path],
        "edits": [["cells", path, "Costs", {"B9": cell}]],
        "ways": [
            [["cell", "B9"], ["type", "=SUM(B2:B8)\n"], *SAVE],
            [["cell", "B9"], ["key", "alt+="], ["key", "enter"], *SAVE],
        ],
        "wrong_ways": [
            [["cell", "B9"], ["type", f"{total}\n"], *SAVE],
            [["cell", "B9"], ["type", "=SUM(B2:B8)\n"], ["cell", "A9"], ["type", "Total\n"], *SAVE],
        ],
    }


CITIES = ("Oslo", "Porto", "Ghent", "Turin", "Graz", "Bergen", "Malaga", "Lille", "Basel", "Cork")


def visitors(rng: random.Random, count: int = 6) -> list[list[Any]]:
    """Return a header and rows of cities with their visitors; no two have as many."""
    numbers = rng.sample(range(120, 980), count)
    pairs = zip(rng.sample(CITIES, count), numbers, strict=True)
    return [["City", "Visitors"], *map(list, pairs)]


def table(rows: list[list[Any]], **marks: Any) -> Row:
    """Return the cells of rows from A1 on, each with the same marks."""
    return {
        f"{'ABCDEFGH'[column]}{number}": {
            "value": float(value) if isinstance(value, int) else value,
            **marks,
        }
        for number, row in enumerate(rows, 1)
        for column, value in enumerate(row)
    }


@task("calc", category="update")
def calc_sort(rng: random.Random) -> Row:
    """A table sorted by a column, downwards."""
    header, *rows = visitors(rng)
    path = "Documents/cities.ods"
    ordered = sorted(rows, key=lambda row: -row[1])
    if rows == ordered:
        rows.reverse()
    return {
        "goal": [
            "Sort the cities in cities.ods by their visitors, the most visited one first. The "
            "header stays on top. Save the file.",
            "In cities.ods the city with the most visitors should come first, right below the "
            "header, and the others after it in order. Save the file.",
        ],
        "files": {path: {"sheets": {"Visitors": [header, *rows]}}},
        "open": [path],
        "edits": [["cells", path, "Visitors", table([header, *ordered])]],
        "ways": [
            [["cell", "B2"], ["menu", "alt+d", "down 2", "enter"], *SAVE],
            [["click", 164, 237], ["click", 787, 97], *SAVE],
        ],
        "wrong_ways": [
            [["cell", "B2"], ["menu", "alt+d", "down 1", "enter"], *SAVE],
            [["cell", "A2"], ["menu", "alt+d", "down 2", "enter"], *SAVE],
        ],
    }


@task("calc", category="update", tier="standard")
def calc_header(rng: random.Random) -> Row:
    """The name of a sheet, and a bold header."""
    rows = costs(rng)
    year = rng.choice([2026, 2027, 2028])
    path = "Documents/costs.ods"
    name = f"Costs {year}"
    bold_header: Steps = [["cell", "A1:B1"], ["key", "ctrl+b"]]
    rename: Steps = [["double", 160, 686], ["key", "ctrl+a"], ["type", f"{name}\n"]]
    return {
        "goal": [
            f"In costs.ods, name the sheet “{name}” and make its header row bold, nothing else. "
            "Save the file.",
            f"The sheet of costs.ods should be called “{name}”, and the words in its first row "
            "should be bold. Save the file.",
        ],
        "files": {path: {"sheets": {"Sheet1": rows}}},
        "open": [path],
        "edits": [
            ["cells", path, "Sheet1", {"A1": {"bold": "bold"}, "B1": {"bold": "bold"}}],
            ["sheet.rename", path, "Sheet1", name],
        ],
        "ways": [
            [*bold_header, *rename, *SAVE],
            [
                ["click", 20, 220],
                ["click", 328, 136],
                ["right", 160, 686],
                ["menu", "down 2", "enter"],
                ["key", "ctrl+a"],
                ["type", f"{name}\n"],
                *SAVE,
            ],
        ],
        "wrong_ways": [
            [["key", "ctrl+a"], ["key", "ctrl+b"], *rename, *SAVE],
            [*bold_header, ["double", 160, 686], ["key", "ctrl+a"], ["type", "Costs\n"], *SAVE],
        ],
    }


@task("calc", category="create", tier="standard")
def calc_insert_row(rng: random.Random) -> Row:
    """A row between others."""
    header, *rows = costs(rng)
    item, cost, place = "Printer", rng.randrange(200, 900), rng.choice([3, 4, 5])
    before = rows[place - 2][0]
    path = "Documents/costs.ods"
    new_rows = [*rows[: place - 2], [item, cost], *rows[place - 2 :]]
    fill: Steps = [["cell", f"A{place}"], ["type", f"{item}\t{cost}\n"]]
    return {
        "goal": [
            f"In costs.ods, add a row for {item}, which costs {cost}, right above the row of "
            f"{before}. No other row may get lost. Save the file.",
            f"costs.ods lacks a line: {item}, {cost}. It belongs directly above {before}. Put it "
            "there and save the file.",
        ],
        "files": {path: {"sheets": {"Costs": [header, *rows]}}},
        "open": [path],
        "edits": [["cells", path, "Costs", table([header, *new_rows])]],
        "ways": [
            [["click", 20, 203 + 17 * place], ["key", "ctrl++"], *fill, *SAVE],
            [["cell", f"A{place}"], ["menu", "alt+s", "down 1", "right", "enter"], *fill, *SAVE],
        ],
        "wrong_ways": [
            [*fill, *SAVE],
            [["cell", "A9"], ["type", f"{item}\t{cost}\n"], *SAVE],
        ],
    }


@task("calc", category="compute", tier="standard")
def calc_products(rng: random.Random) -> Row:
    """A formula in each row."""
    items = rng.sample(ITEMS, 5)
    rows: list[Any] = [[item, rng.randrange(2, 30), rng.randrange(3, 90)] for item in items]
    path = "Documents/order.ods"
    header = ["Item", "Pieces", "Price", "Amount"]
    amounts = {
        f"D{number}": {
            "value": float(pieces * price),
            "formula": {"uses": f"B{number}:C{number}"},
        }
        for number, (_, pieces, price) in enumerate(rows, 2)
    }
    return {
        "goal": [
            "In order.ods, fill the column Amount (D2 to D6): in each row, a formula multiplies "
            "pieces by price. Save the file.",
            "Each row of order.ods needs its amount in column D, worked out by a formula from "
            "pieces and price. Save the file.",
        ],
        "files": {path: {"sheets": {"Order": [header, *rows]}}},
        "open": [path],
        "edits": [["cells", path, "Order", amounts]],
        "ways": [
            [["cell", "D2:D6"], ["type", "=B2*C2"], ["key", "alt+enter"], *SAVE],
            [["cell", "D2"], ["type", "=B2*C2\n"], ["cell", "D2:D6"], ["key", "ctrl+d"], *SAVE],
        ],
        "wrong_ways": [
            [
                ["cell", "D2"],
                ["type", "".join(f"{pieces * price}\n" for _, pieces, price in rows)],
                *SAVE,
            ],
            [["cell", "D2:D6"], ["type", "=$B$2*$C$2"], ["key", "alt+enter"], *SAVE],
        ],
    }


@task("calc", category="compute", tier="standard")
def calc_count_above(rng: random.Random) -> Row:
    """The count of numbers above a limit in a column, by a formula."""
    rows = costs(rng, 8)
    numbers = sorted(row[1] for row in rows[1:])
    limit = (numbers[2] + numbers[3]) // 2
    count = sum(number > limit for number in numbers)
    path = "Documents/costs.ods"
    cell = {"value": float(count), "formula": {"uses": "B2:B9"}}
    return {
        "goal": [
            f"Let cell D2 of costs.ods work out by a formula how many of the items cost more than "
            f"{limit}. Save the file.",
            f"How many costs in costs.ods are above {limit}? A formula in D2 should say it. Save "
            "the file.",
        ],
        "files": {path: {"sheets": {"Costs": rows}}},
        "open": [path],
        "edits": [["cells", path, "Costs", {"D2": cell}]],
        "ways": [
            [["cell", "D2"], ["type", f'=COUNTIF(B2:B9;">{limit}")\n'], *SAVE],
            [["cell", "D2"], ["type", f"=SUMPRODUCT(B2:B9>{limit})\n"], *SAVE],
        ],
        "wrong_ways": [
            [["cell", "D2"], ["type", f"{count}\n"], *SAVE],
            [["cell", "D2"], ["type", f'=COUNTIF(B2:B9;"<{limit}")\n'], *SAVE],
        ],
    }


@task("calc", category="update")
def calc_freeze(rng: random.Random) -> Row:
    """A header that stays in view."""
    rows = visitors(rng, 9)
    path = "Documents/cities.ods"
    return {
        "goal": [
            "Make the header row of cities.ods stay in view when one scrolls down. Save the file.",
            "When I scroll down in cities.ods, row 1 should remain visible. Set that up and save "
            "the file.",
        ],
        "files": {path: {"sheets": {"Visitors": rows}}},
        "open": [path],
        "edits": [["set", path, ["frozen"], [[0, 1]]]],
        "ways": [
            [["cell", "A2"], ["menu", "alt+v", "up 9", "enter"], *SAVE],
            [["menu", "alt+v", "up 8", "right", "down 1", "enter"], *SAVE],
        ],
        "wrong_ways": [
            [["cell", "B2"], ["menu", "alt+v", "up 9", "enter"], *SAVE],
            [["cell", "A3"], ["menu", "alt+v", "up 9", "enter"], *SAVE],
        ],
    }


@task("calc", category="update")
def calc_percent(rng: random.Random) -> Row:
    """A number format."""
    names = rng.sample(CITIES, 5)
    rows = [["City", "Share"], *([name, rng.randrange(11, 97) / 100] for name in names)]
    path = "Documents/shares.ods"
    cells = {f"B{number}": {"format": "percent 2"} for number in range(2, 7)}
    return {
        "goal": [
            "Show the shares in column B of shares.ods as percentages with two decimals (0.25 as "
            "25.00%). The numbers stay what they are. Save the file.",
            "In shares.ods, 0.25 should read 25.00%, and likewise all of B2 to B6. Change the "
            "format only, and save the file.",
        ],
        "files": {path: {"sheets": {"Shares": rows}}},
        "open": [path],
        "edits": [["cells", path, "Shares", cells]],
        "ways": [
            [["cell", "B2:B6"], ["key", "ctrl+shift+5"], *SAVE],
            [["drag", 164, 237, 164, 305], ["click", 949, 136], *SAVE],
        ],
        "wrong_ways": [
            [["cell", "B2"], ["key", "ctrl+shift+5"], *SAVE],
            [["cell", "B2:B6"], ["key", "ctrl+shift+4"], *SAVE],
        ],
    }


@task("calc", category="update", tier="standard")
def calc_delete_column(rng: random.Random) -> Row:
    """A column that goes, with what is right of it moving up."""
    items = rng.sample(ITEMS, 5)
    rows: list[list[Any]] = [["Item", "Old price", "Price", "Shelf"]]
    for item in items:
        price = rng.randrange(20, 400)
        shelf = f"{rng.choice('ABC')}{rng.randrange(1, 9)}"
        rows.append([item, price - rng.randrange(1, 15), price, shelf])
    path = "Documents/stock.ods"
    left = table([[item, price, shelf] for item, _, price, shelf in rows])
    gone = {f"D{number}": None for number in range(1, 7)}
    return {
        "goal": [
            "Take the column “Old price” out of stock.ods, so that Price is column B. Save it.",
            "Nobody needs the column “Old price” of stock.ods any more: delete the whole column, "
            "without a gap, and save the file.",
        ],
        "files": {path: {"sheets": {"Stock": rows}}},
        "open": [path],
        "edits": [["cells", path, "Stock", {**left, **gone}]],
        "ways": [
            [["click", 164, 203], ["key", "ctrl+-"], *SAVE],
            [["cell", "B1"], ["menu", "alt+s", "down 6", "enter"], *SAVE],
        ],
        "wrong_ways": [
            [["cell", "B1:B6"], ["key", "delete"], *SAVE],
            [["cell", "C1"], ["menu", "alt+s", "down 6", "enter"], *SAVE],
        ],
    }


@task("calc", category="question")
def calc_highest(rng: random.Random) -> Row:
    """A question that a table answers."""
    rows = visitors(rng, 10)
    city = max(rows[1:], key=lambda row: row[1])[0]
    second = sorted(rows[1:], key=lambda row: -row[1])[1][0]
    path = "Documents/cities.ods"
    return {
        "goal": [
            "Which city of cities.ods has the most visitors? Leave the file as it is.",
            "Tell me the city with the most visitors in cities.ods. Nothing may be changed.",
        ],
        "files": {path: {"sheets": {"Visitors": rows}}},
        "open": [path],
        "edits": [],
        "answer": city,
        "ways": [[["answer", city]], [["answer", f"{city}."]]],
        "wrong_ways": [
            [["answer", second]],
            [
                ["cell", "B2"],
                ["menu", "alt+d", "down 2", "enter"],
                ["key", "ctrl+s"],
                ["answer", city],
            ],
        ],
    }


@task("calc", category="feasibility", twins=(0, 1))
def calc_delete_sheet(rng: random.Random, feasible: bool) -> Row:
    """A sheet to delete that may not be there."""
    name = rng.choice(["Draft", "Old", "Test"])
    others = rng.sample(["North", "South", "East", "West"], 2)
    names = [others[0], name, others[1]] if feasible else others
    path = "Documents/regions.ods"
    sheets = {sheet: visitors(rng, 4) for sheet in names}
    delete: Steps = [["menu", "alt+s", "down 12", "enter"], ["key", "enter"]]
    task: Row = {
        "goal": [
            f"Delete the sheet “{name}” of regions.ods and save the file.",
            f"regions.ods must not have a sheet “{name}” any more; delete it and save the file.",
        ],
        "files": {path: {"sheets": sheets}},
        "open": [path],
        "edits": [["sheet.remove", path, name]] if feasible else [],
    }
    if feasible:
        task["ways"] = [
            [["key", "ctrl+pagedown"], *delete, *SAVE],
            [["right", 203, 686], ["click", 275, 441], ["key", "enter"], *SAVE],
        ]
        task["wrong_ways"] = [[*delete, *SAVE], [["fail", f"there is no sheet {name}"]]]
    else:
        task["ways"] = [
            [["fail", f"there is no sheet {name}"]],
            [["key", "ctrl+pagedown"], ["fail", f"there is no sheet {name}"]],
        ]
        task["wrong_ways"] = [[*delete, *SAVE], [["done"]]]
    return task

"""Whatever a task demands can be read in its goal or its world, or follows by a rule named here.

Of the end that a task expects this looks at every text: each of its words, and each of its numbers,
dates, times and telephone numbers, must stand in the goal, in the office or the files at the start,
or in what others write meanwhile. Regular expressions and formulas are not looked at.
"""

import functools
import json
import re

import pytest

from benchmarks.worlds.jupyterlab import tasks as jupyterlab
from benchmarks.worlds.office import tasks as office
from benchmarks.worlds.office.store import Store
from benchmarks.worlds.office.tasks.quantities import quantities
from benchmarks.worlds.office.week import base_store
from tests.support.office_tasks import tasks_of

SUITES = pytest.mark.parametrize("suite", [office, jupyterlab], ids=["office", "jupyterlab"])
WORD = re.compile(r"[^\W\d_]+")
CENTS = {("products", "price"), ("orders", "total"), ("order_items", "price")}
NO_TEXT = {"attachments", "deleted", "done", "edited", "id", "is_read", "kind", "parent", "pinned"}
NO_TEXT |= {"starred", "without", "pattern", "any", "formula", "where"}
NO_TEXT |= {"add", "change", "remove"}  # names of tables
"""Keys of an expected effect whose values nobody has to write, or that are no plain text."""
WORKED_OUT = {
    "calendar_lengthen": "half an hour later",
    "calendar_hours_to_mail": "from a beginning and an end to minutes",
    "calendar_open_day": "later by the hours of a change",
    "chat_moves_event": "a beginning and the length that the event had",
    "chat_open_questions": "an hour later; signed up, joined and gone",
    "contacts_count_company": "a count",
    "files_compute_budget": "a sum",
    "files_receipts_sum_to_sheet": "a sum",
    "live_needs_of_the_teams": "a sum of pieces",
    "live_payments_ticked_off": "a sum of what is open",
    "live_stock_runs_out": "the total of an order",
    "live_total_allowed": "the total of an order",
    "live_visit_delayed": "later by the hours of a change",
    "long_chair_offers": "the total of an offer",
    "long_first_aid_course": "the first day that a plan allows",
    "long_open_invoices": "the day after today",
    "long_renewals": "an end and a period of notice",
    "long_sales_figures": "corrected figures and their sum",
    "long_stale_todos": "a day and a delay",
    "long_team_dinner": "a beginning and the length that the event had",
    "long_travel_allowance": "a sum of allowances",
    "mail_kettles_for_all": "pieces for each room, and a spare one",
    "mail_lower_quote": "the total of a quote",
    "mail_meeting_to_calendar": "an hour after the beginning",
    "mail_new_colleague_four_apps": "the day before a first day",
    "mail_visit_three_apps": "the day before a visit",
    "mail_team_day_questions": "minutes before a train; a price less a share",
    "sheet_unpaid_sum": "a sum",
    "sheets_corrections": "a figure and a correction; a year later",
    "shop_count_category": "a count",
    "shop_total_to_chat": "the total of an order",
    "todo_fair_moved": "days before a day that has moved",
    "todo_rules_of_the_list": "the day after today; the end of a month",
}
"""By task, how its numbers, dates and times follow from what can be read. Words never do."""


def texts_in(value):
    """Every text and number of a value, as text."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return [] if value is None else [str(value)]
    return [text for item in value for text in texts_in(item)]


@functools.cache
def content_of(text):
    """The quantities and the words of a text; most rows are the same in all tasks of a seed."""
    return quantities(text), WORD.findall(text.casefold())


def readable(task):
    """The quantities and the words that an agent can come across in a task."""
    texts = [task["goal"]]
    for happening in [*task.get("events", ()), *task.get("replies", ())]:
        texts += texts_in([happening.get(name) for name in ("text", "add", "set")])
    for path, content in task.get("files", {}).items():
        texts += [path, content]
    for table, rows in Store(base_store(task["seed"]), task["setup"]).dump().items():
        for row in rows.values():
            for column, value in row.items():
                if column == "attachments":
                    texts += texts_in(json.loads(value))
                elif (table, column) in CENTS:
                    texts.append(f"{value / 100:.2f}")
                elif column not in ("id", "parent"):
                    texts.append(str(value))
    known_quantities, known_words = set(), set()
    for text in texts:
        quantities_of_text, words = content_of(text)
        known_quantities.update(quantities_of_text)
        known_words.update(words)
    return known_quantities, known_words


def demanded(value):
    """What an expected effect or answer demands: texts, and lists of alternatives for `any_of`."""
    if isinstance(value, dict):
        if "any_of" in value:
            return [[demanded(choice) for choice in value["any_of"]]]
        parts = [item for name, item in value.items() if name not in NO_TEXT]
        return [text for part in parts for text in demanded(part)]
    if isinstance(value, (list, tuple)):
        return [text for item in value for text in demanded(item)]
    return [] if value is None or isinstance(value, bool) else [str(value)]


def demands_of(task):
    """All texts that the end of a task demands."""
    demands = demanded(task.get("answer"))
    for effect in task["expect"]:
        parts = [effect.get(name) for name in ("row", "to")]
        demands += demanded([*parts, {"any_of": effect["any_of"]} if "any_of" in effect else None])
    for name, *arguments in task.get("edits", ()):
        if name == "setting":  # a menu names it otherwise
            arguments = arguments[2:]
        demands += demanded({"any_of": arguments[0]} if name == "any_of" else arguments)
    return demands


def unreadable(demand, task_id, known_quantities, known_words):
    """What of a demand stands nowhere and is not worked out; of alternatives, of the best one."""
    if isinstance(demand, list):
        choices = [
            [
                gap
                for part in choice
                for gap in unreadable(part, task_id, known_quantities, known_words)
            ]
            for choice in demand
        ]
        return min(choices, key=len)
    demanded_quantities, words = content_of(demand)
    gaps = [word for word in words if word not in known_words]
    for quantity in demanded_quantities:
        is_worked_out = task_id in WORKED_OUT and quantity.kind != "phone"
        if not is_worked_out and not any(quantity.is_same(known) for known in known_quantities):
            gaps.append(str(quantity.value))
    return gaps


def gaps_of(task):
    content = readable(task)
    return [gap for text in demands_of(task) for gap in unreadable(text, task["id"], *content)]


@SUITES
@pytest.mark.parametrize("level", ["L3", "L4"])
def test_what_a_task_demands_can_be_read_or_worked_out(suite, level, whole):
    seeds = [0, 1] if whole else [0]
    gaps = {
        f"{task['id']}, seed {seed}": gaps_of(task)
        for seed in seeds
        for task in tasks_of(level, seed, suite)
    }
    assert {name: missing for name, missing in gaps.items() if missing} == {}


def test_every_rule_is_of_a_task_that_there_is():
    names = {
        name
        for suite in (office, jupyterlab)
        for level in ("L3", "L4")
        for name in suite.names(level)
    }
    assert WORKED_OUT.keys() <= names


@pytest.mark.parametrize(
    ("effect", "missing"),
    [
        ({"row": {"phone": "+44 117 555 0199"}}, ["441175550199"]),
        ({"to": {"phone": {"any_of": ["+44 117 555 0199", "Xylophon"]}}}, ["441175550199"]),
        ({"to": {"title": "Xylophone 2077"}}, ["xylophone", "2077"]),
        ({"row": {"note": {"contains": ["6543.21"], "without": ["Xylophone"]}}}, ["6543.21"]),
        ({"any_of": [[{"row": {"title": "Xylophone"}}], [{"row": {"title": "Mail"}}]]}, []),
    ],
)
def test_what_stands_nowhere_is_found(effect, missing):
    [task] = office.tasks("L3", [0], ["mail_archive_subject"])
    assert gaps_of({**task, "expect": [effect]}) == missing

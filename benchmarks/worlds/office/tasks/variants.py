"""Make the variant of a task for a seed.

A task is an entry of a file in `l3/` or `l4/`:

    id, apps, category
    tier     its length: "basic", "standard" or "long" (see `utils.protocol.TIERS`)
    look     in which it is seen under seed 0 (see `look_of`)
    goal     a text; or two phrasings of it, one of which the seed picks (see `phrasing_of`)
    draw     variables that the seed chooses, in this order: from a list of values, or from the rows
             of a query of the base world. A row of one column is the variable itself; of several
             columns, `draw.p = "SELECT name, email ..."` makes `p_name` and `p_email`.
             {all = "SELECT ..."} makes a list of all rows, for `each`; it may be empty.
             {list = "SELECT ..."} makes a list of the values of the only column.
    setup    changes to the base world (see `Setup`); `each` repeats a row that is added, and
             ["each", "list", change] one that is set or dropped
    events   what others do while the agent is at it, and replies: what they answer in Chat (see
             `office.events`); written as the setup is, with `each` for one per row of a list
    facts    like `draw`, of the world after the changes; a query has exactly one row
    expect   effects (see `checks`); one with `each = "list"` stands for one per row of the list
    tolerates  names of effects that do no harm (see `checks`)
    answer   the right answer to a question
    can, cannot  twins: more entries of the variants that can be done, and of those that cannot, in
             which only `fail` is right (see `with_side`). The goal is the same
    can_under  [0, 1] or [2, 3]: the seeds, modulo 4, under which such a task can be done
    oracle   steps that solve it, as `tests/support/office_oracle.py` plays them;
             ["each", "list", step] repeats one
    ways     a list of other solutions, each by another way to the same end

Texts name variables as `{name}`, queries as `:name`; `{name|day}` is formatted by `FORMATS`. A
text that is one variable and nothing else becomes its value. Queries may use the `VIEWS`, too, and
lists as JSON: `SELECT value->>'name' AS name FROM json_each(:people)`.
"""

from __future__ import annotations

import datetime
import functools
import hashlib
import json
import random
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from benchmarks.worlds.office.store import NOW, Row, Setup, Store
from benchmarks.worlds.office.week import base_store
from utils.errors import UserError

VIEWS = (
    """people AS SELECT id, name, email, phone, company, note,
    substr(name, 1, instr(name, ' ') - 1) AS first FROM contacts""",
    "colleagues AS SELECT * FROM people WHERE company = 'Northwind'",
    "partners AS SELECT * FROM people WHERE company NOT IN ('Northwind', '')",
    """days AS WITH RECURSIVE d(date) AS (SELECT '2026-03-10' UNION ALL
    SELECT date(date, '+1 day') FROM d WHERE date < '2026-04-24')
    SELECT date FROM d WHERE strftime('%w', date) BETWEEN '1' AND '5'""",
    """slots AS SELECT date, column1 AS start, column2 AS "end" FROM days, (VALUES
    ('08:00', '09:00'), ('10:00', '11:00'), ('11:00', '12:00'), ('13:00', '14:00'),
    ('14:00', '15:00'), ('15:00', '16:00'), ('16:00', '17:00'), ('17:00', '18:00'))""",
    """free AS SELECT * FROM slots WHERE NOT EXISTS (SELECT 1 FROM events e
    WHERE e.date = slots.date AND e.start < slots."end" AND e."end" > slots.start)""",
    """paths AS WITH RECURSIVE p(id, path, kind, content) AS (
    SELECT id, name, kind, content FROM files WHERE parent = 0 UNION ALL
    SELECT f.id, p.path || '/' || f.name, f.kind, f.content FROM files f, p WHERE f.parent = p.id)
    SELECT * FROM p""",
    """lines AS SELECT sheet, CAST(substr(cell, 2) AS INT) AS y,
    max(CASE substr(cell, 1, 1) WHEN 'A' THEN value END) AS a,
    max(CASE substr(cell, 1, 1) WHEN 'B' THEN value END) AS b,
    max(CASE substr(cell, 1, 1) WHEN 'C' THEN value END) AS c,
    max(CASE substr(cell, 1, 1) WHEN 'D' THEN value END) AS d,
    max(CASE substr(cell, 1, 1) WHEN 'E' THEN value END) AS e,
    max(CASE substr(cell, 1, 1) WHEN 'F' THEN value END) AS f FROM cells GROUP BY sheet, y""",
)
"""Views for queries: people with first names, free hours, whole paths, lines of sheets."""
VARIABLE = re.compile(r"\{([a-z]\w*)(?:\|(\w+))?\}")
SQL_VARIABLE = re.compile(r"(?<![:\w]):(\w+)")
RECENT = "2026-03-09 08:57"  # when a task's mail or message was sent, unless it names a time


def _date(value: Any) -> datetime.date:
    return datetime.date.fromisoformat(str(value))


FORMATS: Mapping[str, Callable[[Any], str]] = {
    "day": lambda value: f"{_date(value).day} {_date(value):%B}",
    "weekday": lambda value: f"{_date(value):%A}",
    "money": lambda cents: f"{cents / 100:.2f}",
    "lower": lambda text: str(text).lower(),
    "upper": lambda text: str(text).upper(),
    "joined": lambda text: "".join(str(text).split()),
    "grouped": lambda number: f"{float(number):,.2f}" if "." in str(number) else f"{int(number):,}",
}


@functools.cache
def written(level: str) -> tuple[Row, ...]:
    """Return the tasks of a level as they are written down, file by file."""
    tasks: list[Row] = []
    for file in sorted((Path(__file__).parent / level.lower()).glob("*.toml")):
        tasks += tomllib.loads(file.read_text(encoding="utf-8"))["task"]
    return tuple(tasks)


def variant(task: Mapping[str, Any], seed: int, also: Sequence[str] = ()) -> Row:
    """Return the variant of a task for a seed.

    Args:
        task: as it is written down.
        seed: of the week, and of what the task draws.
        also: names of further entries of the task, in which variables are replaced.

    Raises:
        UserError: there is none: a query has no row, or a fact several, a change of the world
            matches no row, or a text names an unknown variable.
    """
    try:
        return _variant(task, seed, also)
    except (KeyError, ValueError, TypeError) as error:
        why = f"it cannot be made from this week of the office: {error}. Take another seed"
        raise UserError(f"task office/{task.get('id')}, seed {seed}: {why}") from error


def phrasing_of(task_id: str, seed: int) -> int:
    """Return the phrasing of a task's goal under a seed: 0 or 1.

    Each phrasing has two of the seeds 0 to 3. Looks repeat every four seeds, each time with the
    other phrasing, so that seeds 0 to 7 show every look with both phrasings.
    """
    first = hashlib.sha256(f"{task_id} goal".encode()).digest()[0]
    return (first + seed + seed // 4) % 2


def look_of(task: Mapping[str, Any], seed: int, looks: Sequence[str]) -> str:
    """Return the look of a task under a seed: its `look` under seed 0, then the others in turn.

    So four seeds in a row show a task in all four; and under each seed the tasks of a tier are
    spread evenly over the looks, since their `look` is.
    """
    first = looks.index(task.get("look", looks[0]))
    return looks[(first + seed) % len(looks)]


def with_side(task: Mapping[str, Any], seed: int) -> Mapping[str, Any]:
    """Return a task with the entries of its side under a seed, and `feasible`; without sides as is.

    Entries of a side are added to the task's own: tables key by key, lists at the end. What the
    side draws is drawn first. Of four seeds that are 0, 1, 2 and 3 modulo 4 a task can be done
    under two, and each of two phrasings of its goal is seen on both sides.
    """
    if "can" not in task:
        return task
    feasible = seed % 4 in task["can_under"]
    side = task["can" if feasible else "cannot"]
    draw = {**side.get("draw", {}), **task.get("draw", {})}
    return {**_joined(task, side), "draw": draw, "feasible": feasible}


def _joined(one: Any, other: Any) -> Any:
    """Return two tables with their tables joined, or two lists one after the other."""
    if isinstance(one, Mapping):
        both = {name: _joined(one[name], other[name]) for name in one if name in other}
        return {**one, **other, **both}
    return [*one, *other]


def _variant(task: Mapping[str, Any], seed: int, also: Sequence[str]) -> Row:
    task = with_side(task, seed)
    rng = random.Random(f"{task['id']} {seed}")
    variables: Row = {}
    _draw(task.get("draw", {}), variables, _drawing_store(seed), rng)
    setup = _with_dates(_repeated_changes(task.get("setup", {}), variables))
    store = _with_views(Store(base_store(seed), setup))
    _add_facts(task.get("facts", {}), variables, store)
    result = {name: task[name] for name in ("id", "apps", "category", "tier") if name in task}
    result["seed"] = seed
    result["setup"] = setup
    goal = task["goal"]
    phrasings = [goal] if isinstance(goal, str) else goal
    result["goal"] = _filled(phrasings[phrasing_of(task["id"], seed) % len(phrasings)], variables)
    for name in ("answer", "feasible", "tolerates", *also):
        if name in task:
            result[name] = _filled(task[name], variables)
    for name in ("events", "replies"):
        if name in task:
            result[name] = _happenings(task[name], variables)
            _try_out(result[name], store)
    result["expect"] = _repeated(task.get("expect", []), variables)
    for effect in result["expect"]:
        _set_folder_ids(effect, store)
    result["oracle"] = _repeated(task["oracle"], variables)
    result["ways"] = [_repeated(steps, variables) for steps in task.get("ways", ())]
    return result


@functools.lru_cache(maxsize=4)
def _drawing_store(seed: int) -> Store:
    return _with_views(Store(base_store(seed)))


def _with_views(store: Store) -> Store:
    for view in VIEWS:
        store.run(f"CREATE TEMP VIEW {view}")
    return store


def _draw(sources: Row, variables: Row, store: Store, rng: random.Random) -> None:
    """Add variables, each drawn from a list or from the rows of a query."""
    for name, source in sources.items():
        values = _values(source, store, variables)
        if isinstance(source, Mapping):
            variables[name] = _as_list(source, values)
        elif values:
            _set_variable(variables, name, rng.choice(values))
        else:
            raise ValueError(f"{name}: 0 rows")


def _add_facts(sources: Row, variables: Row, store: Store) -> None:
    """Add variables from queries with one row each."""
    for name, source in sources.items():
        values = _values(source, store, variables)
        if isinstance(source, Mapping):
            variables[name] = _as_list(source, values)
        elif len(values) == 1:
            _set_variable(variables, name, values[0])
        else:
            raise ValueError(f"{name}: {len(values)} rows")


def _values(source: Any, store: Store, variables: Row) -> Sequence[Any]:
    """Return a list of values as it is, or the rows of a query in an order of their own."""
    if isinstance(source, list):
        return source
    query: str = next(iter(source.values())) if isinstance(source, Mapping) else source
    values = [_as_parameter(variables[name]) for name in SQL_VARIABLE.findall(query)]
    rows = store.rows(SQL_VARIABLE.sub("?", query), *values)
    return rows if "ORDER BY" in query else sorted(rows, key=repr)


def _as_list(source: Mapping[str, str], rows: Sequence[Row]) -> list[Any]:
    """Return all rows of a query or, of a source `list`, the values of their only column."""
    if "list" not in source:
        return list(rows)
    return [value for row in rows for value in row.values()]


def _as_parameter(value: Any) -> Any:
    """Return a variable as a query takes it: a list as JSON."""
    return json.dumps(value) if isinstance(value, list) else value


def _set_variable(variables: Row, name: str, value: Any) -> None:
    """Set a variable to a value or to a row's only column, or several to a row's columns."""
    if not isinstance(value, Mapping):
        variables[name] = _filled(value, variables)
    elif len(value) == 1:
        variables[name] = next(iter(value.values()))
    else:
        for column, column_value in value.items():
            variables[f"{name}_{column}"] = column_value


def _filled(value: Any, variables: Row) -> Any:
    """Return a value in which all variables are replaced."""
    if isinstance(value, Mapping):
        return {
            _filled(name, variables): _filled_item(name, item, variables)
            for name, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_filled(item, variables) for item in value]
    if not isinstance(value, str):
        return value
    match = VARIABLE.fullmatch(value)
    if match and not match[2]:
        return variables[match[1]]
    return VARIABLE.sub(lambda match: _text(match, variables), value)


def _filled_item(name: str, item: Any, variables: Row) -> Any:
    if name == "pattern":  # a regular expression, in which a variable stands for its text
        return VARIABLE.sub(lambda match: re.escape(_text(match, variables)), item)
    return _filled(item, variables)


def _text(match: re.Match[str], variables: Row) -> str:
    name, format_name = match.groups()
    value = variables[name]
    return FORMATS[format_name](value) if format_name else str(value)


def _repeated(items: Sequence[Any], variables: Row) -> list[Any]:
    """Return effects or steps with their variables replaced; those with `each`, once per row."""
    result = []
    for item in items:
        if isinstance(item, Mapping) and "each" in item:
            rows = variables[item["each"]]
            repeated = {name: value for name, value in item.items() if name != "each"}
        elif isinstance(item, list) and item[0] == "each":
            _, list_name, repeated = item
            rows = variables[list_name]
        else:
            rows = [{}]
            repeated = item
        result += [_filled(repeated, {**variables, **row}) for row in rows]
    return result


def _repeated_changes(setup: Row, variables: Row) -> Row:
    """Return changes of the world with variables replaced; those with `each`, once per row."""
    changes: Row = {}
    for name, items in setup.items():
        if name == "add":
            changes[name] = {table: _repeated(rows, variables) for table, rows in items.items()}
        else:
            changes[name] = _repeated(items, variables)
    return changes


def _happenings(parts: Sequence[Row], variables: Row) -> list[Row]:
    """Return events or replies with variables replaced; those with `each`, once per row."""
    happenings = []
    for part in parts:
        changes: Row = {name: part[name] for name in ("add", "set", "drop") if name in part}
        others = {name: value for name, value in part.items() if name not in (*changes, "each")}
        for row in variables[part["each"]] if "each" in part else [{}]:
            all_variables = {**variables, **row}
            filled = _with_dates(_repeated_changes(changes, all_variables), NOW)
            happenings.append({**_filled(others, all_variables), **filled})
    return happenings


def _try_out(parts: Sequence[Row], store: Store) -> None:
    """Raise ValueError where an event or a reply changes a row that is not there."""
    for part in parts:
        changes: Any = {name: part[name] for name in ("add", "set", "drop") if name in part}
        Store(store, changes).close()


def _set_folder_ids(effect: Row, store: Store) -> None:
    """Replace the paths of folders by their ids in an effect on files."""
    for effects in effect.get("any_of", []):
        for alternative in effects:
            _set_folder_ids(alternative, store)
    for values in (effect.get("row", {}), effect.get("to", {})):
        if isinstance(values.get("parent"), str):
            values["parent"] = store.folder(values["parent"])


def _with_dates(setup: Any, moment: str = RECENT) -> Setup:
    """Return the changes with a date for mails and messages that have none."""
    changes = cast(Setup, setup)
    for table in ("mail", "messages"):
        for row in changes.get("add", {}).get(table, []):
            row.setdefault("sent_at", moment)
    return changes

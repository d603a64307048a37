"""From a task as it is written down to the variant that a seed makes of it.

A task is an entry of a file in `l3/` or `l4/`:

    id, apps, category, goal
    draw     what the seed chooses, in this order: a list of values, or a query of the base world,
             of whose rows one is drawn. A row of one column is the variable itself; of several
             columns, `draw.p = "SELECT name, email ..."` makes `p_name` and `p_email`. With
             {all = "SELECT ..."}, every row counts: a list for `each`, perhaps an empty one.
    setup    changes to the base world (see `Store`)
    facts    like `draw`, of the world after the changes; a query has exactly one row
    expect   effects (see `checks`); one with `each = "list"` stands for as many as the list has
    tolerates  names of steps that do no harm (see `checks`)
    answer   what must be answered, where something is asked; `feasible = false`: only `fail` is
             right
    oracle   steps that solve it, as `tests/support/office_oracle.py` plays them;
             ["each", "list", step] repeats one
    ways     a list of other solutions, each by another way to the same end

Texts name variables as `{name}`, queries as `:name`; `{name|day}` is written by `FORMS`. A text
that is one variable and nothing else becomes its value. Queries know the views below, too.
"""

from __future__ import annotations

import datetime
import functools
import random
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.worlds.office.store import Row, Store
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
"""What queries can ask: people with first names, free hours, whole paths, lines of sheets."""
VARIABLE = r"\{([a-z]\w*)(?:\|(\w+))?\}"
RECENT = "2026-03-09 08:57"  # when a mail or a message of a task came, unless it says so


def _date(value: Any) -> datetime.date:
    return datetime.date.fromisoformat(str(value))


FORMS: Mapping[str, Callable[[Any], str]] = {
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
    """The tasks of a level as they are written down, file by file."""
    files = sorted((Path(__file__).parent / level.lower()).glob("*.toml"))
    return tuple(
        task for file in files for task in tomllib.loads(file.read_text(encoding="utf-8"))["task"]
    )


def variant(task: Mapping[str, Any], seed: int) -> Row:
    """What a seed makes of a task.

    Raises:
        UserError: it makes none: a query finds nothing, or more than one fact, a change of the
            world meets no row, or a text names no variable.
    """
    try:
        luck = random.Random(f"{task['id']} {seed}")
        known: Row = {}
        _learn(known, task.get("draw", {}), _drawing_store(seed), luck)
        setup = _prepared(_filled(task.get("setup", {}), known))
        store = _with_views(Store(base_store(seed), setup))
        _learn(known, task.get("facts", {}), store, None)
        rest = {
            name: task[name] for name in ("goal", "answer", "feasible", "tolerates") if name in task
        }
        return {
            **{name: task[name] for name in ("id", "apps", "category")},
            "seed": seed,
            "setup": setup,
            **_filled(rest, known),
            "expect": [
                _with_folder(effect, store) for effect in _repeated(task.get("expect", []), known)
            ],
            "oracle": _repeated(task["oracle"], known),
            "ways": [_repeated(steps, known) for steps in task.get("ways", ())],
        }
    except (KeyError, ValueError, TypeError) as error:
        why = f"it cannot be made from this week of the office: {error}. Take another seed"
        raise UserError(f"task office/{task.get('id')}, seed {seed}: {why}") from error


@functools.lru_cache(maxsize=4)
def _drawing_store(seed: int) -> Store:
    return _with_views(Store(base_store(seed)))


def _with_views(store: Store) -> Store:
    for view in VIEWS:
        store.run(f"CREATE TEMP VIEW {view}")
    return store


def _learn(known: Row, wanted: Row, store: Store, luck: random.Random | None) -> None:
    """Adds variables to those that are known; without luck, there must be no choice."""
    for name, source in wanted.items():
        if isinstance(source, Mapping):
            known[name] = _asked(store, source["all"], known)
            continue
        found = source if isinstance(source, list) else _asked(store, source, known)
        if not found or (luck is None and len(found) != 1):
            raise ValueError(f"{name}: {len(found)} rows")
        chosen = luck.choice(found) if luck else found[0]
        if not isinstance(chosen, Mapping):
            known[name] = _filled(chosen, known)
        elif len(chosen) == 1:
            known[name] = next(iter(chosen.values()))
        else:
            known.update({f"{name}_{column}": value for column, value in chosen.items()})


def _asked(store: Store, query: str, known: Row) -> list[Row]:
    """Rows of a query, in an order that does not depend on how they were found."""
    names = re.findall(r"(?<![:\w]):(\w+)", query)
    sql = re.sub(r"(?<![:\w]):\w+", "?", query)
    rows = store.rows(sql, *(known[name] for name in names))
    return rows if "ORDER BY" in query else sorted(rows, key=repr)


def _filled(value: Any, known: Row) -> Any:
    """A value with its variables filled in."""
    if isinstance(value, Mapping):
        return {
            _filled(name, known): _in_pattern(each, known)
            if name == "pattern"
            else _filled(each, known)
            for name, each in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_filled(each, known) for each in value]
    if not isinstance(value, str):
        return value
    if whole := re.fullmatch(r"\{([a-z]\w*)\}", value):
        return known[whole[1]]
    return re.sub(VARIABLE, lambda found: _text(found, known), value)


def _in_pattern(pattern: str, known: Row) -> str:
    """A regular expression with its variables filled in, as the texts that they are."""
    return re.sub(VARIABLE, lambda found: re.escape(_text(found, known)), pattern)


def _text(found: re.Match[str], known: Row) -> str:
    value = known[found[1]]
    return FORMS[found[2]](value) if found[2] else str(value)


def _repeated(items: list[Any], known: Row) -> list[Any]:
    """Effects or steps, those with `each` as often as their list has rows."""
    result = []
    for item in items:
        if isinstance(item, Mapping) and "each" in item:
            name, item = item["each"], {key: item[key] for key in item if key != "each"}
        elif isinstance(item, list) and item[0] == "each":
            name, item = item[1], item[2]
        else:
            result.append(_filled(item, known))
            continue
        result += [_filled(item, {**known, **row}) for row in known[name]]
    return result


def _with_folder(effect: Row, store: Store) -> Row:
    """A file's effect that names a folder by its path gets its id."""
    for way in effect.get("any_of", []):
        for each in way:
            _with_folder(each, store)
    for values in (effect.get("row", {}), effect.get("to", {})):
        if isinstance(values.get("parent"), str):
            values["parent"] = store.folder(values["parent"])
    return effect


def _prepared(setup: Row) -> Row:
    for table in ("mail", "messages"):
        for row in setup.get("add", {}).get(table, []):
            row.setdefault("sent_at", RECENT)
    return setup

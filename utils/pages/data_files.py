"""Writes data for a page that is opened from disk: scripts that hand a value to the page.

A page at `file:` may fetch nothing, but it may add script tags. Each file is one call,
`Report.take("rows", 3, JSON.parse('...'))`; it is ASCII and holds no `<`, so nothing in a reply can
end a script or a string, and `JSON.parse` (unlike a literal) gives `__proto__` no meaning.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MOST_CHARS = 1_000_000
ToJson = Callable[[Any], str]
"""Makes ASCII JSON of plain data, without this machine's paths."""


def write_script(folder: Path, name: str, number: int, json_text: str) -> None:
    """Write the script that hands a value to the page under a name and a number."""
    safe = json_text.replace("<", "\\u003c").replace(">", "\\u003e")
    quoted = safe.replace("\\", "\\\\").replace("'", "\\'")
    script = f"Report.take(\"{name}\",{number},JSON.parse('{quoted}'));\n"
    (folder / f"{name}_{number}.js").write_text(script, encoding="ascii")


@contextmanager
def replaced_folder(target: Path) -> Iterator[Path]:
    """Give a fresh folder beside `target`, which it replaces when all went well."""
    fresh = target.with_name(f".{target.name}.tmp")
    shutil.rmtree(fresh, ignore_errors=True)  # what a kill left behind
    try:
        (fresh / "data").mkdir(parents=True)
        yield fresh
        shutil.rmtree(target, ignore_errors=True)
        fresh.rename(target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def value_of(script: str) -> Any:
    """Return the value that `write_script` has written."""
    quoted = script[script.index("'") + 1 : script.rindex("'")]
    return json.loads(re.sub(r"\\(.)", r"\1", quoted))


def columns(items: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return items with the same fields as one list for each field."""
    return {name: [item[name] for item in items] for name in items[0]}


@dataclass
class Chunks:
    """Writes items to scripts `<name>_<number>.js`, of which the page loads those it needs."""

    folder: Path
    name: str
    to_json: ToJson
    pack: Callable[[list[Any]], Any]  # makes the value of a file from its items
    most_items: int  # a file is closed when it has so many, or `MOST_CHARS`
    firsts: list[int] = field(default_factory=list)  # number of the first item of each file
    _items: list[Any] = field(default_factory=list)
    _chars: int = 0
    _count: int = 0

    def add(self, item: Any) -> None:
        """Add an item; a full file is written."""
        self._items.append(item)
        self._chars += len(str(item))
        self._count += 1
        if len(self._items) >= self.most_items or self._chars >= MOST_CHARS:
            self.close()

    def close(self) -> None:
        """Write the items that are in no file yet."""
        if not self._items:
            return
        json_text = self.to_json(self.pack(self._items))
        write_script(self.folder, self.name, len(self.firsts), json_text)
        self.firsts.append(self._count - len(self._items))
        self._items = []
        self._chars = 0


class SampleFiles:
    """Writes the samples of a page: rows for its list first, then what one sample's view needs.

    Columns in which few values occur are facets: rows have their numbers, the page the values.
    """

    def __init__(self, facets: Sequence[str], *chunks: Chunks) -> None:
        self.count = 0
        self._numbers: dict[str, dict[str, int]] = {name: {} for name in facets}
        self._chunks = chunks

    def number(self, facet: str, value: Any) -> int | None:
        """Return the number of a facet's value; None has none."""
        numbers = self._numbers[facet]
        return None if value is None else numbers.setdefault(str(value), len(numbers))

    def add(self, facts: Mapping[str, Any], row: Mapping[str, Any], *others: Any) -> None:
        """Add a sample.

        Args:
            facts: have the values of its facets.
            row: what else the list has of it.
            others: an item for each of the other chunks.
        """
        numbers = {name: self.number(name, facts.get(name)) for name in self._numbers}
        for chunks, item in zip(self._chunks, ({**numbers, **row}, *others), strict=True):
            chunks.add(item)
        self.count += 1

    def close(self) -> list[list[int]]:
        """Write what is left; return the number of the first item of each file, by chunks."""
        for chunks in self._chunks:
            chunks.close()
        return [chunks.firsts for chunks in self._chunks]

    def facets(self) -> dict[str, list[str]]:
        """Return for each facet the values in the order of their numbers."""
        return {name: list(numbers) for name, numbers in self._numbers.items()}

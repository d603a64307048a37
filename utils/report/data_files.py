"""Data for a page that is opened from disk: scripts that hand a value to the page.

A page at `file:` may fetch nothing, but it may add script tags. Each file is one call,
`Report.take("rows", 3, JSON.parse('...'))`; it is ASCII and holds no `<`, so nothing in a reply can
end a script or a string, and `JSON.parse` (unlike a literal) gives `__proto__` no meaning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MOST_CHARS = 1_000_000
ToJson = Callable[[Any], str]
"""Makes ASCII JSON of plain data, without this machine's paths."""


def as_script(name: str, number: int, json_text: str) -> str:
    """The script that hands a value to the page under a name and a number."""
    safe = json_text.replace("<", "\\u003c").replace(">", "\\u003e")
    quoted = safe.replace("\\", "\\\\").replace("'", "\\'")
    return f"Report.take(\"{name}\",{number},JSON.parse('{quoted}'));\n"


def value_of(script: str) -> Any:
    """The value that `as_script` has written."""
    quoted = script[script.index("'") + 1 : script.rindex("'")]
    return json.loads(re.sub(r"\\(.)", r"\1", quoted))


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
        """One more item."""
        self._items.append(item)
        self._chars += len(str(item))
        self._count += 1
        if len(self._items) >= self.most_items or self._chars >= MOST_CHARS:
            self.close()

    def close(self) -> None:
        """Writes what has gathered."""
        if not self._items:
            return
        script = as_script(self.name, len(self.firsts), self.to_json(self.pack(self._items)))
        path = self.folder / f"{self.name}_{len(self.firsts)}.js"
        path.write_text(script, encoding="ascii")
        self.firsts.append(self._count - len(self._items))
        self._items, self._chars = [], 0

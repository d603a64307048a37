"""Files."""

from __future__ import annotations

from typing import Any

from benchmarks.worlds.office.rules import named, need, pattern
from benchmarks.worlds.office.store import Row, Store

ROWS = """SELECT f.id, f.name, f.kind, length(CAST(f.content AS BLOB)) AS size, f.parent,
    p.name AS folder, (SELECT count(*) FROM files c WHERE c.parent = f.id) AS items
    FROM files f JOIN files p ON p.id = f.parent"""


def list_(store: Store, parent: int = 0) -> Row:
    """A folder: where it lies and what lies in it."""
    rows = store.rows(f"{ROWS} WHERE f.parent = ? ORDER BY f.kind, f.name COLLATE NOCASE", parent)
    return {"path": path(store, parent), "rows": rows}


def path(store: Store, folder: int) -> list[Row]:
    """The folders that lead to one, outermost first."""
    found: list[Row] = []
    at: int | None = folder
    while at is not None:
        row = store.one("SELECT id, parent, name FROM files WHERE id = ?", at)
        found.insert(0, row)
        at = row["parent"]
    return found


def find(store: Store, q: str) -> list[Row]:
    """Files and folders by name, wherever they are."""
    return store.rows(
        f"{ROWS} WHERE f.name LIKE ? ESCAPE '!' ORDER BY f.name COLLATE NOCASE, f.id", pattern(q)
    )


def folders(store: Store) -> list[Row]:
    """Every folder with its whole path."""
    ids = store.rows("SELECT id FROM files WHERE kind = 'folder'")
    named_ = [
        {"id": row["id"], "path": " › ".join(each["name"] for each in path(store, row["id"]))}
        for row in ids
    ]
    return sorted(named_, key=lambda each: each["path"])


def get(store: Store, id: int) -> Row:
    """A text with its content."""
    return store.one("SELECT * FROM files WHERE id = ? AND kind = 'text'", id)


def write(store: Store, id: int, content: str) -> None:
    """Stores the content of a text."""
    get(store, id)
    store.run("UPDATE files SET content = ? WHERE id = ?", content.rstrip(), id)


def _free(store: Store, parent: int, name: str, but: int | None = None) -> str:
    """A name that can be given in a folder."""
    name = named(name, "Enter a name.", "name")
    need("/" not in name, "A name cannot contain “/”.", "name")
    taken = store.rows("SELECT id FROM files WHERE parent = ? AND name = ?", parent, name)
    need(all(row["id"] == but for row in taken), f"There is already an item “{name}” here.", "name")
    return name


def create(store: Store, parent: int, name: str, kind: str) -> Row:
    """A new text or folder."""
    row = {"parent": parent, "name": _free(store, parent, name), "kind": kind}
    return {"id": store.insert("files", row)}


def rename(store: Store, id: int, name: str) -> None:
    """Gives another name."""
    row = store.one("SELECT parent FROM files WHERE id = ?", id)
    name = _free(store, row["parent"], name, id)
    store.run("UPDATE files SET name = ? WHERE id = ?", name, id)


def move(store: Store, id: int, parent: int) -> None:
    """Moves to another folder."""
    row = store.one("SELECT name, parent FROM files WHERE id = ?", id)
    need(row["parent"] != parent, "It is already in this folder.")
    within = [each["id"] for each in path(store, parent)]
    need(id not in within, "A folder cannot be moved into itself.")
    _free(store, parent, row["name"])
    store.run("UPDATE files SET parent = ? WHERE id = ?", parent, id)


def copy(store: Store, id: int, parent: int) -> Row:
    """Copies a text to a folder; beside the original it is called "... copy"."""
    row = get(store, id)
    name = row["name"]
    if row["parent"] == parent:
        stem, dot, ending = name.rpartition(".")
        name = f"{stem} copy.{ending}" if dot else f"{name} copy"
    copied = {"parent": parent, "name": _free(store, parent, name), "content": row["content"]}
    return {"id": store.insert("files", copied)}


def delete(store: Store, id: int) -> None:
    """Deletes a text or an empty folder."""
    inside = store.rows("SELECT 1 FROM files WHERE parent = ?", id)
    need(not inside, "This folder is not empty.")
    store.run("DELETE FROM files WHERE id = ? AND id <> 0", id)


VERBS: dict[str, Any] = {
    "list": list_,
    "find": find,
    "folders": folders,
    "get": get,
    "write": write,
    "create": create,
    "rename": rename,
    "move": move,
    "copy": copy,
    "delete": delete,
}

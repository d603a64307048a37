"""Files."""

from __future__ import annotations

from typing import Any

from benchmarks.worlds.office.rules import need, pattern, required
from benchmarks.worlds.office.store import Row, Store

ROWS = """SELECT f.id, f.name, f.kind, length(CAST(f.content AS BLOB)) AS size, f.parent,
    p.name AS folder, (SELECT count(*) FROM files c WHERE c.parent = f.id) AS items
    FROM files f JOIN files p ON p.id = f.parent"""


def list_(store: Store, parent: int = 0) -> Row:
    """Return the path of a folder and what lies in it."""
    rows = store.rows(f"{ROWS} WHERE f.parent = ? ORDER BY f.kind, f.name COLLATE NOCASE", parent)
    return {"path": path(store, parent), "rows": rows}


def path(store: Store, folder: int) -> list[Row]:
    """Return the folders that lead to one, outermost first."""
    folders: list[Row] = []
    id: int | None = folder
    while id is not None:
        row = store.one("SELECT id, parent, name FROM files WHERE id = ?", id)
        folders.insert(0, row)
        id = row["parent"]
    return folders


def find(store: Store, q: str) -> list[Row]:
    """Return files and folders of all folders whose names contain a text."""
    return store.rows(
        f"{ROWS} WHERE f.name LIKE ? ESCAPE '!' ORDER BY f.name COLLATE NOCASE, f.id", pattern(q)
    )


def folders(store: Store) -> list[Row]:
    """Return every folder with its whole path."""
    rows = []
    for row in store.rows("SELECT id FROM files WHERE kind = 'folder'"):
        names = [folder["name"] for folder in path(store, row["id"])]
        rows.append({"id": row["id"], "path": " › ".join(names)})
    return sorted(rows, key=lambda row: row["path"])


def get(store: Store, id: int) -> Row:
    """Return a text with its content."""
    return store.one("SELECT * FROM files WHERE id = ? AND kind = 'text'", id)


def write(store: Store, id: int, content: str) -> None:
    """Store the content of a text."""
    get(store, id)
    store.run("UPDATE files SET content = ? WHERE id = ?", content.rstrip(), id)


def _free_name(store: Store, parent: int, name: str, id: int | None = None) -> str:
    """Return a name without spaces around it; Refused: another item of the folder has it."""
    name = required(name, "Enter a name.", "name")
    need("/" not in name, "A name cannot contain “/”.", "name")
    others = store.rows(
        "SELECT 1 FROM files WHERE parent = ? AND name = ? AND id IS NOT ?", parent, name, id
    )
    need(not others, f"There is already an item “{name}” here.", "name")
    return name


def create(store: Store, parent: int, name: str, kind: str) -> Row:
    """Add an empty text or folder."""
    row = {"parent": parent, "name": _free_name(store, parent, name), "kind": kind}
    return {"id": store.insert("files", row)}


def rename(store: Store, id: int, name: str) -> None:
    """Change the name of a text or folder."""
    row = store.one("SELECT parent FROM files WHERE id = ?", id)
    name = _free_name(store, row["parent"], name, id)
    store.run("UPDATE files SET name = ? WHERE id = ?", name, id)


def move(store: Store, id: int, parent: int) -> None:
    """Move a text or folder to another folder."""
    row = store.one("SELECT name, parent FROM files WHERE id = ?", id)
    need(row["parent"] != parent, "It is already in this folder.")
    parents = [folder["id"] for folder in path(store, parent)]
    need(id not in parents, "A folder cannot be moved into itself.")
    _free_name(store, parent, row["name"])
    store.run("UPDATE files SET parent = ? WHERE id = ?", parent, id)


def copy(store: Store, id: int, parent: int) -> Row:
    """Copy a text to a folder; beside the original its name is "... copy"."""
    row = get(store, id)
    name = row["name"]
    if row["parent"] == parent:
        stem, dot, ending = name.rpartition(".")
        name = f"{stem} copy.{ending}" if dot else f"{name} copy"
    copied = {"parent": parent, "name": _free_name(store, parent, name), "content": row["content"]}
    return {"id": store.insert("files", copied)}


def delete(store: Store, id: int) -> None:
    """Delete a text or an empty folder."""
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

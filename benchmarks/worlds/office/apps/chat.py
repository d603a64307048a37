"""Chat."""

from __future__ import annotations

from typing import Any

from benchmarks.worlds.office.rules import named, need, pattern
from benchmarks.worlds.office.store import NAME, NOW, Row, Store

PAGE = 20  # messages that are shown at first, and with each "Earlier messages"


def channels(store: Store) -> list[Row]:
    """Where one can write; what was written last in each."""
    return store.rows(
        """SELECT c.name, c.kind, (SELECT text FROM messages WHERE channel = c.name AND deleted = 0
        ORDER BY sent_at DESC, id DESC LIMIT 1) AS last FROM channels c ORDER BY c.kind, c.name"""
    )


def messages(store: Store, channel: str, most: int = PAGE) -> Row:
    """The newest messages of a conversation, oldest first, and all that are pinned."""
    rows = store.rows("SELECT * FROM messages WHERE channel = ? ORDER BY sent_at, id", channel)
    pinned = [row for row in rows if row["pinned"] and not row["deleted"]]
    return {"rows": rows[-most:], "earlier": max(0, len(rows) - most), "pinned": pinned}


def find(store: Store, q: str) -> list[Row]:
    """Messages of all conversations by text or author."""
    return store.rows(
        """SELECT * FROM messages WHERE deleted = 0 AND author || ' ' || text LIKE ? ESCAPE '!'
        ORDER BY sent_at DESC, id DESC LIMIT 40""",
        pattern(q),
    )


def post(store: Store, channel: str, text: str) -> Row:
    """Writes a message."""
    text = named(text, "Write a message first.")
    row = {"channel": channel, "author": NAME, "text": text, "sent_at": NOW}
    return {"id": store.insert("messages", row)}


def pin(store: Store, id: int, on: bool) -> None:
    """Pins a message for all who read the conversation, or takes the pin away."""
    if store.rows("SELECT 1 FROM messages WHERE id = ? AND pinned <> ?", id, int(on)):
        store.insert("notices", {"kind": "pinned" if on else "unpinned", "message": id})
    store.run("UPDATE messages SET pinned = ? WHERE id = ?", int(on), id)


def _own(store: Store, id: int) -> None:
    row = store.one("SELECT author FROM messages WHERE id = ? AND deleted = 0", id)
    need(row["author"] == NAME, "This message is not yours.")


def edit(store: Store, id: int, text: str) -> None:
    """Changes an own message."""
    _own(store, id)
    text = named(text, "A message cannot be empty.")
    store.run("UPDATE messages SET text = ?, edited = 1 WHERE id = ? AND text <> ?", text, id, text)


def delete(store: Store, id: int) -> None:
    """Deletes an own message; that it was there can be seen."""
    _own(store, id)
    store.run("UPDATE messages SET deleted = 1, pinned = 0 WHERE id = ?", id)


VERBS: dict[str, Any] = {
    "channels": channels,
    "messages": messages,
    "find": find,
    "post": post,
    "pin": pin,
    "edit": edit,
    "delete": delete,
}

"""Chat."""

from __future__ import annotations

from typing import Any

from benchmarks.worlds.office.rules import need, pattern, required
from benchmarks.worlds.office.store import NAME, NOW, Row, Store

PAGE = 20  # messages at first, and more with each press of "Earlier messages"


def channels(store: Store) -> list[Row]:
    """Return all conversations with their last messages."""
    return store.rows(
        """SELECT c.name, c.kind, (SELECT text FROM messages WHERE channel = c.name AND deleted = 0
        ORDER BY sent_at DESC, id DESC LIMIT 1) AS last FROM channels c ORDER BY c.kind, c.name"""
    )


def messages(store: Store, channel: str, limit: int = PAGE) -> Row:
    """Return the newest messages of a conversation, oldest first, and all pinned ones."""
    rows = store.rows("SELECT * FROM messages WHERE channel = ? ORDER BY sent_at, id", channel)
    pinned = [row for row in rows if row["pinned"] and not row["deleted"]]
    return {"rows": rows[-limit:], "earlier": max(0, len(rows) - limit), "pinned": pinned}


def find(store: Store, q: str) -> list[Row]:
    """Return messages of all conversations whose text or author contains a text."""
    return store.rows(
        """SELECT * FROM messages WHERE deleted = 0 AND author || ' ' || text LIKE ? ESCAPE '!'
        ORDER BY sent_at DESC, id DESC LIMIT 40""",
        pattern(q),
    )


def post(store: Store, channel: str, text: str) -> Row:
    """Add a message."""
    text = required(text, "Write a message first.")
    row = {"channel": channel, "author": NAME, "text": text, "sent_at": NOW}
    return {"id": store.insert("messages", row)}


def pin(store: Store, id: int, on: bool) -> None:
    """Pin a message for all who read the conversation, or unpin it."""
    if store.rows("SELECT 1 FROM messages WHERE id = ? AND pinned <> ?", id, int(on)):
        store.insert("notices", {"kind": "pinned" if on else "unpinned", "message": id})
    store.run("UPDATE messages SET pinned = ? WHERE id = ?", int(on), id)


def _need_author(store: Store, id: int) -> None:
    """Refused: somebody else has written the message."""
    row = store.one("SELECT author FROM messages WHERE id = ? AND deleted = 0", id)
    need(row["author"] == NAME, "This message is not yours.")


def edit(store: Store, id: int, text: str) -> None:
    """Change the text of a message."""
    _need_author(store, id)
    text = required(text, "A message cannot be empty.")
    store.run("UPDATE messages SET text = ?, edited = 1 WHERE id = ? AND text <> ?", text, id, text)


def delete(store: Store, id: int) -> None:
    """Delete a message; the page goes on showing that there was one."""
    _need_author(store, id)
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

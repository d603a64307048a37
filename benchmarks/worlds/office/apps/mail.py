"""Mail."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from benchmarks.worlds.office.rules import addresses, need, pattern, required
from benchmarks.worlds.office.store import ADDRESS, NAME, NOW, Row, Store

PAGE = 15
CONDITIONS = {  # of the rows of a folder
    "Inbox": "folder = 'Inbox'",
    "Sent": "folder = 'Sent'",
    "Archive": "folder = 'Archive'",
    "Trash": "folder = 'Trash'",
    "Starred": "starred = 1 AND folder NOT IN ('Trash', 'Deleted')",
}
EVERYWHERE = "folder <> 'Deleted'"
FILTERS = {
    "all": "1",
    "unread": "is_read = 0",
    "starred": "starred = 1",
    "files": "attachments <> '[]'",
}
SEARCHED = (
    "subject || char(10) || body || char(10) || sender || char(10) || sender_addr"
    " || char(10) || recipients"
)
HEAD = """SELECT id, folder, sender, recipients, subject, substr(body, 1, 141) AS head, sent_at,
    is_read, starred, attachments <> '[]' AS attached FROM mail"""


def list_(store: Store, folder: str, q: str = "", show: str = "all", page: int = 0) -> Row:
    """Return one page of a folder, or of a search in all of them; and what the side bar shows."""
    unread = store.one("SELECT count(*) n FROM mail WHERE folder = 'Inbox' AND is_read = 0")["n"]
    drafts = store.rows(
        """SELECT id, recipients, subject, substr(body, 1, 141) AS head, ? AS sent_at, 1 AS is_read,
        0 AS starred, attachments <> '[]' AS attached FROM drafts ORDER BY id DESC""",
        NOW,
    )
    side = {"unread": unread, "drafts": len(drafts), "size": PAGE}
    if folder == "Drafts" and not q:
        return {**side, "rows": drafts, "count": len(drafts), "page": 0, "pages": 1}
    condition = EVERYWHERE if q else CONDITIONS[folder]
    select = f"{HEAD} WHERE {condition} AND {FILTERS[show]}"
    values = []
    for word in q.split():  # all of them, in any order
        select += f" AND ({SEARCHED}) LIKE ? ESCAPE '!'"
        values.append(pattern(word))
    select += " ORDER BY sent_at DESC, id DESC"
    return {**side, **store.page(select, values, size=PAGE, page=page)}


def get(store: Store, id: int) -> Row:
    """Return one message and mark it as read."""
    store.run("UPDATE mail SET is_read = 1 WHERE id = ?", id)
    mail = store.one("SELECT * FROM mail WHERE id = ? AND folder <> 'Deleted'", id)
    return {**mail, "attachments": json.loads(mail["attachments"])}


def get_draft(store: Store, id: int) -> Row:
    """Return a draft with the names of its files."""
    draft = store.one("SELECT * FROM drafts WHERE id = ?", id)
    ids = json.loads(draft["attachments"])
    return {**draft, "attachments": [file for file in files(store) if file["id"] in ids]}


# The parameters are the fields of a request; stored episodes rest on this code.
def send(  # noqa: PLR0913
    store: Store,
    to: str,
    subject: str,
    body: str,
    cc: str = "",
    attachments: Sequence[int] = (),
    draft: int | None = None,
) -> Row:
    """Send a message and discard the draft that it was."""
    need(to.strip(" ,;"), "Enter at least one recipient.", "to")
    recipients = addresses(to, "to")
    copies = addresses(cc, "cc")
    subject = required(subject, "Enter a subject.", "subject")
    texts = [
        store.one("SELECT name, content AS text FROM files WHERE id = ? AND kind = 'text'", id)
        for id in attachments
    ]
    discard(store, draft)
    sent = store.insert(
        "mail",
        {
            "folder": "Sent",
            "sender": NAME,
            "sender_addr": ADDRESS,
            "recipients": recipients,
            "cc": copies,
            "subject": subject,
            "body": body.strip(),
            "sent_at": NOW,
            "is_read": 1,
            "attachments": json.dumps(texts, ensure_ascii=False),
        },
    )
    return {"id": sent}


# The parameters are the fields of a request; stored episodes rest on this code.
def keep(  # noqa: PLR0913
    store: Store,
    to: str,
    subject: str,
    body: str,
    cc: str = "",
    attachments: Sequence[int] = (),
    draft: int | None = None,
) -> Row:
    """Save an unfinished message as a draft."""
    discard(store, draft)
    row = {
        "recipients": to,
        "cc": cc,
        "subject": subject,
        "body": body,
        "attachments": json.dumps(list(attachments)),
    }
    return {"id": store.insert("drafts", row)}


def discard(store: Store, draft: int | None) -> None:
    """Delete a draft."""
    store.run("DELETE FROM drafts WHERE id = ?", draft)


def move(store: Store, ids: Sequence[int], folder: str) -> None:
    """Move messages; from the trash they are deleted for good ("Deleted")."""
    need(folder in ("Inbox", "Sent", "Archive", "Trash", "Deleted"), "There is no such folder.")
    for id in ids:
        row = store.one("SELECT folder, sender_addr FROM mail WHERE id = ?", id)
        need(row["folder"] != "Deleted", "This message does not exist any more.")
        need(folder != "Deleted" or row["folder"] == "Trash", "Only from the trash.")
        need(folder != "Sent" or row["sender_addr"] == ADDRESS, "You have not sent this message.")
        store.run("UPDATE mail SET folder = ? WHERE id = ?", folder, id)


def mark(store: Store, ids: Sequence[int], column: str, on: bool) -> None:
    """Set or clear the star of messages, or their mark as read."""
    need(column in ("starred", "is_read"), "There is no such mark.")
    for id in ids:
        store.run(f"UPDATE mail SET {column} = ? WHERE id = ?", int(on), id)


def save(store: Store, id: int, index: int) -> None:
    """Save an attachment to Downloads."""
    stored = store.one("SELECT attachments FROM mail WHERE id = ?", id)["attachments"]
    attachment = json.loads(stored)[index]
    downloads = store.one("SELECT id FROM files WHERE parent = 0 AND name = 'Downloads'")["id"]
    name = attachment["name"]
    existing = store.rows("SELECT 1 FROM files WHERE parent = ? AND name = ?", downloads, name)
    need(not existing, f"Downloads already has a file “{name}”.")
    store.insert("files", {"parent": downloads, "name": name, "content": attachment["text"]})


def people(store: Store, q: str) -> list[Row]:
    """Return people to suggest: their names contain a text, or their addresses begin with it."""
    return store.rows(
        """SELECT name, email FROM contacts WHERE email <> '' AND (name LIKE ? ESCAPE '!'
        OR email LIKE ? ESCAPE '!') ORDER BY name LIMIT 5""",
        pattern(q),
        pattern(q)[1:],
    )


def files(store: Store) -> list[Row]:
    """Return the files that can be attached."""
    return store.rows(
        """SELECT f.id, f.name, p.name AS folder FROM files f JOIN files p ON p.id = f.parent
        WHERE f.kind = 'text' ORDER BY f.name, p.name"""
    )


VERBS: dict[str, Any] = {
    "list": list_,
    "get": get,
    "draft": get_draft,
    "send": send,
    "keep": keep,
    "discard": discard,
    "move": move,
    "mark": mark,
    "save": save,
    "people": people,
    "files": files,
}

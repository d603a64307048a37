"""Mail."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from benchmarks.worlds.office.rules import addresses, named, need, pattern
from benchmarks.worlds.office.store import ADDRESS, NAME, NOW, Row, Store

PAGE = 15
WHERE = {
    **{name: f"folder = '{name}'" for name in ("Inbox", "Sent", "Archive", "Trash")},
    "Starred": "starred = 1 AND folder NOT IN ('Trash', 'Deleted')",
}
EVERYWHERE = "folder <> 'Deleted'"
FILTERS = {
    "all": "1",
    "unread": "is_read = 0",
    "starred": "starred = 1",
    "files": "attachments <> '[]'",
}
SEARCHED = ("subject", "body", "sender", "sender_addr", "recipients")
HEAD = """SELECT id, folder, sender, recipients, subject, substr(body, 1, 140) AS head, sent_at,
    is_read, starred, attachments <> '[]' AS attached FROM mail"""


def list_(store: Store, folder: str, q: str = "", show: str = "all", page: int = 0) -> Row:
    """One page of a folder, or of what a search finds in all; and what the side bar says."""
    unread = store.one("SELECT count(*) n FROM mail WHERE folder = 'Inbox' AND is_read = 0")["n"]
    drafts = store.rows(
        """SELECT id, recipients, subject, substr(body, 1, 140) AS head, ? AS sent_at, 1 AS is_read,
        0 AS starred, attachments <> '[]' AS attached FROM drafts ORDER BY id DESC""",
        NOW,
    )
    side = {"unread": unread, "drafts": len(drafts), "size": PAGE}
    if folder == "Drafts" and not q:
        return {**side, "rows": drafts, "count": len(drafts), "page": 0, "pages": 1}
    where, values = f"{EVERYWHERE if q else WHERE[folder]} AND {FILTERS[show]}", []
    for word in q.split():  # all of them, in whatever order and place
        where += f" AND ({' || char(10) || '.join(SEARCHED)}) LIKE ? ESCAPE '!'"
        values.append(pattern(word))
    found = store.page(HEAD, "mail", where, values, "sent_at DESC, id DESC", size=PAGE, page=page)
    return {**side, **found}


def get(store: Store, id: int) -> Row:
    """One message; it has been read now."""
    store.run("UPDATE mail SET is_read = 1 WHERE id = ?", id)
    mail = store.one("SELECT * FROM mail WHERE id = ? AND folder <> 'Deleted'", id)
    return {**mail, "attachments": json.loads(mail["attachments"])}


def get_draft(store: Store, id: int) -> Row:
    """A draft, with its files' names."""
    draft = store.one("SELECT * FROM drafts WHERE id = ?", id)
    ids = json.loads(draft["attachments"])
    return {**draft, "attachments": [file for file in files(store) if file["id"] in ids]}


def send(
    store: Store,
    to: str,
    subject: str,
    body: str,
    cc: str = "",
    attachments: Sequence[int] = (),
    draft: int | None = None,
) -> Row:
    """Sends a message; the draft that it comes from is gone."""
    need(to.strip(" ,;"), "Enter at least one recipient.", "to")
    recipients, copies = addresses(to, "to"), addresses(cc, "cc")
    subject = named(subject, "Enter a subject.", "subject")
    found = [
        store.one("SELECT name, content AS text FROM files WHERE id = ? AND kind = 'text'", file)
        for file in attachments
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
            "attachments": json.dumps(found, ensure_ascii=False),
        },
    )
    return {"id": sent}


def keep(
    store: Store,
    to: str,
    subject: str,
    body: str,
    cc: str = "",
    attachments: Sequence[int] = (),
    draft: int | None = None,
) -> Row:
    """Keeps what is written so far as a draft."""
    discard(store, draft)
    row = {"recipients": to, "cc": cc, "subject": subject, "body": body}
    return {"id": store.insert("drafts", {**row, "attachments": json.dumps(list(attachments))})}


def discard(store: Store, draft: int | None) -> None:
    """Throws a draft away."""
    store.run("DELETE FROM drafts WHERE id = ?", draft)


def move(store: Store, ids: Sequence[int], folder: str) -> None:
    """Moves messages; from the trash they are deleted for good ("Deleted")."""
    need(folder in ("Inbox", "Sent", "Archive", "Trash", "Deleted"), "There is no such folder.")
    for id in ids:
        row = store.one("SELECT folder, sender_addr FROM mail WHERE id = ?", id)
        need(row["folder"] != "Deleted", "This message does not exist any more.")
        need(folder != "Deleted" or row["folder"] == "Trash", "Only from the trash.")
        need(folder != "Sent" or row["sender_addr"] == ADDRESS, "You have not sent this message.")
        store.run("UPDATE mail SET folder = ? WHERE id = ?", folder, id)


def mark(store: Store, ids: Sequence[int], column: str, on: bool) -> None:
    """Stars messages, or says that they have been read."""
    need(column in ("starred", "is_read"), "There is no such mark.")
    for id in ids:
        store.run(f"UPDATE mail SET {column} = ? WHERE id = ?", int(on), id)


def save(store: Store, id: int, index: int) -> None:
    """Saves an attachment to Downloads."""
    stored = store.one("SELECT attachments FROM mail WHERE id = ?", id)["attachments"]
    attachment = json.loads(stored)[index]
    downloads = store.one("SELECT id FROM files WHERE parent = 0 AND name = 'Downloads'")["id"]
    name = attachment["name"]
    taken = store.rows("SELECT 1 FROM files WHERE parent = ? AND name = ?", downloads, name)
    need(not taken, f"Downloads already has a file “{name}”.")
    store.insert("files", {"parent": downloads, "name": name, "content": attachment["text"]})


def people(store: Store, q: str) -> list[Row]:
    """Who may be meant by the beginning of a name or an address."""
    return store.rows(
        """SELECT name, email FROM contacts WHERE email <> '' AND (name LIKE ? ESCAPE '!'
        OR email LIKE ? ESCAPE '!') ORDER BY name LIMIT 5""",
        pattern(q),
        pattern(q)[1:],
    )


def files(store: Store) -> list[Row]:
    """What can be attached."""
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

"""The server side of the applications: what a page may request, checked before it is stored."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.worlds.office.apps import (
    calendar,
    chat,
    contacts,
    files,
    mail,
    sheets,
    shop,
    todo,
)
from benchmarks.worlds.office.store import Verb

APPS: dict[str, Mapping[str, Verb]] = {
    "mail": mail.VERBS,
    "calendar": calendar.VERBS,
    "contacts": contacts.VERBS,
    "chat": chat.VERBS,
    "files": files.VERBS,
    "sheets": sheets.VERBS,
    "shop": shop.VERBS,
    "todo": todo.VERBS,
}
"""Verbs by application; `/api/mail/send` calls `APPS["mail"]["send"]`."""

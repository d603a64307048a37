"""The applications' server side: what a page may ask for, validated before it is stored."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.worlds.office.store import Verb

APPS: dict[str, Mapping[str, Verb]] = {
    name: {} for name in ("mail", "calendar", "contacts", "chat", "files", "sheets", "shop", "todo")
}
"""Verbs by application; `/api/mail/send` calls `APPS["mail"]["send"]`."""

"""Checks of what is written into fields, shared by several applications."""

from __future__ import annotations

import datetime
import re

from benchmarks.worlds.office.store import Refused

ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(\.[\w-]+)+")
TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d")


def need(condition: object, message: str, field: str = "") -> None:
    """Raise Refused with a message about a field of the form, unless the condition holds."""
    if not condition:
        raise Refused(message, field)


def required(text: str, message: str, field: str = "") -> str:
    """Return a text without spaces around it; Refused with the message: it is empty."""
    need(text.strip(), message, field)
    return text.strip()


def addresses(text: str, field: str) -> str:
    """Return mail addresses as the store has them: sorted, without repeats, joined by ", "."""
    parts = sorted({part.strip() for part in re.split(r"[,;]", text)} - {""})
    for part in parts:
        need(ADDRESS.fullmatch(part), f"“{part}” is not a mail address.", field)
    return ", ".join(parts)


def date(text: str, field: str) -> str:
    """Return a date in ISO form; Refused: there is no such day."""
    try:
        return datetime.datetime.strptime(text.strip(), "%Y-%m-%d").date().isoformat()
    except ValueError:
        raise Refused("Enter the date as YYYY-MM-DD.", field) from None


def time(text: str, field: str) -> str:
    """Return a time of day as HH:MM; "9:30" is read as well."""
    padded = text.strip().zfill(5)
    need(TIME.fullmatch(padded), "Enter the time as HH:MM.", field)
    return padded


def pattern(text: str) -> str:
    """Return a pattern for LIKE ... ESCAPE '!' that matches what contains the text."""
    return "%" + re.sub(r"([%_!])", r"!\1", text.strip()) + "%"

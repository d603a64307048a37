"""What several applications ask of what is written into their fields."""

from __future__ import annotations

import datetime
import re

from benchmarks.worlds.office.store import Refused

ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(\.[\w-]+)+")
TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d")


def need(condition: object, text: str, field: str = "") -> None:
    """Refused with `text`, about a field of the form, unless the condition holds."""
    if not condition:
        raise Refused(text, field)


def named(text: str, what: str, field: str = "") -> str:
    """A text that may not be empty, without spaces around it."""
    need(text.strip(), what, field)
    return text.strip()


def addresses(text: str, field: str) -> str:
    """Mail addresses as the store keeps them: sorted, each once, separated by ", "."""
    found = {part.strip() for part in re.split(r"[,;]", text) if part.strip()}
    for part in sorted(found):
        need(ADDRESS.fullmatch(part), f"“{part}” is not a mail address.", field)
    return ", ".join(sorted(found))


def date(text: str, field: str) -> str:
    """A day that there is."""
    try:
        return datetime.datetime.strptime(text.strip(), "%Y-%m-%d").date().isoformat()
    except ValueError:
        raise Refused("Enter the date as YYYY-MM-DD.", field) from None


def time(text: str, field: str) -> str:
    """A time of day; "9:30" is taken as well."""
    padded = text.strip().zfill(5)
    need(TIME.fullmatch(padded), "Enter the time as HH:MM.", field)
    return padded


def pattern(text: str) -> str:
    """For LIKE ... ESCAPE '!': what contains the text as it stands."""
    return "%" + re.sub(r"([%_!])", r"!\1", text.strip()) + "%"

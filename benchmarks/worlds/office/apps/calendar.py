"""Calendar."""

from __future__ import annotations

from typing import Any

from benchmarks.worlds.office.rules import addresses, date, need, pattern, required, time
from benchmarks.worlds.office.store import Row, Store


def between(store: Store, first: str, last: str) -> list[Row]:
    """Return the events from one day to another, both included."""
    return store.rows(
        "SELECT * FROM events WHERE date BETWEEN ? AND ? ORDER BY date, start, id", first, last
    )


def find(store: Store, q: str) -> list[Row]:
    """Return events whose title, place, guests or note contain a text."""
    return store.rows(
        """SELECT * FROM events WHERE title || char(10) || place || char(10) || guests || char(10)
        || note LIKE ? ESCAPE '!' ORDER BY date, start, id LIMIT 60""",
        pattern(q),
    )


def save(store: Store, event: Row, id: int | None = None) -> Row:
    """Add an event or change one, and notify its guests."""
    row = {
        "title": required(event["title"], "Enter a title.", "title"),
        "date": date(event["date"], "date"),
        "start": time(event["start"], "start"),
        "end": time(event["end"], "end"),
        "place": event["place"].strip(),
        "guests": addresses(event["guests"], "guests"),
        "note": event["note"].strip(),
    }
    need(row["start"] < row["end"], "The event must end after it starts.", "end")
    before = _find_event(store, id)
    saved = store.save("events", row, id)
    _notify(store, saved["id"], before, row)
    return saved


def delete(store: Store, id: int) -> None:
    """Remove an event and notify its guests."""
    _notify(store, id, _find_event(store, id), None)
    store.run("DELETE FROM events WHERE id = ?", id)


def _find_event(store: Store, id: int | None) -> Row | None:
    rows = store.rows("SELECT * FROM events WHERE id = ?", id)
    return rows[0] if rows else None


def _notify(store: Store, id: int, before: Row | None, after: Row | None) -> None:
    """Store a notice for each guest of an event that is made, changed or removed."""
    guests_before = _guests(before)
    guests_after = _guests(after)
    guests_by_notice = {
        "invited": guests_after - guests_before,
        "uninvited": guests_before - guests_after,
    }
    if before and after and any(after[name] != before[name] for name in after if name != "guests"):
        guests_by_notice["changed"] = guests_after & guests_before
    for kind, guests in guests_by_notice.items():
        for guest in sorted(guests):
            store.insert("notices", {"kind": kind, "event": id, "guest": guest})


def _guests(event: Row | None) -> set[str]:
    if event is None:
        return set()
    return set(event["guests"].casefold().split(", ")) - {""}


VERBS: dict[str, Any] = {"between": between, "find": find, "save": save, "delete": delete}

"""The work of each of several servers in a run, as a table of the analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from utils.store.view import LogView
from utils.text import counted

SECTION = "servers"
FACTS = {
    "prompt_tokens": "prompt tokens of a test with an image",
    "picture_tokens": "tokens of the test image",
}
"""Names for people of what a server tells of its model."""


def servers_section(view: LogView) -> dict[str, Any]:
    """Return the section on the servers of the newest run that asked, by its name.

    There is none where a single server was asked.

    Its rows are over all data sets of that run.
    """
    servers: Sequence[Mapping[str, Any]] = view.end_of_answers.get("servers") or ()
    if not servers:
        return {}
    served = view.end_of_answers.get("served") or {}
    notes = [
        "Numbers of the last command that sent requests for this data set. They are totals over "
        "all data sets of the command. Replies that earlier commands got are not counted."
    ]
    if served:
        facts = "; ".join(f"{FACTS.get(name, name)}: {value}" for name, value in served.items())
        notes.append(
            f"Values of the first server: {facts}. Other servers must have the same values, unless "
            "the config sets servers_may_differ."
        )
    rows = [_row(server) for server in servers]
    return {SECTION: {"title": "Servers", "rows": rows, "notes": notes}}


def _row(server: Mapping[str, Any]) -> dict[str, Any]:
    seconds = max(server["serving_s"], 0.1)
    return {
        "name": server["server"],
        "answers": server["answers"],
        "answers/s": server["answers"] / seconds,
        "tokens in/s": server["prompt_tokens"] / seconds,
        "tokens out/s": server["completion_tokens"] / seconds,
        "median s": server.get("latency_median_s"),
        "95 % within s": server.get("latency_p95_s"),
        "moved": server["moved"],
        "joined": _time(server["joined_at"]),
        "left": _time(server["left_at"]),
        "outages": outages_text(server),
        "state": server["state"],
        "why": server["reason"],
        "version": server.get("version"),
    }


def outages_text(server: Mapping[str, Any]) -> str:
    """The outages of a server that has come back: `2 outages, 24 s`; else ""."""
    if not server.get("outages"):
        return ""
    return f"{counted(server['outages'], 'outage')}, {server['outages_s']:.0f} s"


def _time(text: str) -> str:
    """The date and time of a moment, in UTC as it is written."""
    return text[:19].replace("T", " ")

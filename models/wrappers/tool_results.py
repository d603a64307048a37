"""Results of native tool calls, for the model's next turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from utils.contracts import Message

DONE = "Done."


def tool_results(step: Mapping[str, Any], screenshot: str | None = None) -> list[Message]:
    """Return the results of the tool calls of an earlier step of an episode.

    Args:
        step: of the `history` that a prompt function gets.
        screenshot: path of the screen after the step, to show with the last result; None: the API
            takes no images in results, or there are too many already.
    """
    calls, notes = step["tool_calls"], step["notes"]
    if len(notes) != len(calls):  # several actions in a call, or none that could be read
        notes = [""] * (len(calls) - 1) + [step["note"]]
    results = [
        {"role": "tool", "type": "text", "value": note or DONE, "call_id": call["id"]}
        for call, note in zip(calls, notes, strict=True)
    ]
    if screenshot is not None and calls:
        call_id = calls[-1]["id"]
        results.append({"role": "tool", "type": "image", "value": screenshot, "call_id": call_id})
    return results

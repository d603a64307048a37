"""Cuts a reply out of what a checkpoint has written around it."""

from __future__ import annotations

REPLY_MARKERS = {
    "GUIElementGrounding": "assistantos\n",
    "GUIContentUnderstanding": "assistantall\n",
}
"""Role and recipient with which a turn of the model begins, by data set."""


def cut_reply(text: str, dataset: str) -> str:
    """Cut a model's reply out of a text that may hold the prompt before it and debris behind it.

    parity: keeps what follows the last marker of the data set and ends before the first closing
    brace that was never opened; a text with nothing behind its marker comes back whole.

    Args:
        text: decoded without special tokens, so a turn of the model starts with `assistantos` or
            `assistantall` (role and recipient) or plainly `assistant`.
        dataset: name of the benchmark, e.g. "GUIElementGrounding".
    """
    reply = text.rpartition(REPLY_MARKERS.get(dataset, "assistant"))[2] or text
    open_braces = 0
    for position, sign in enumerate(reply):
        if sign == "{":
            open_braces += 1
        elif sign == "}":
            open_braces -= 1
        if open_braces < 0:
            return reply[:position]
    return reply

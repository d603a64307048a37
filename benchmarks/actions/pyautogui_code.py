"""Actions in code for pyautogui, in a block of three backticks or on lines of their own."""

from __future__ import annotations

from benchmarks.actions.action import NoAction
from benchmarks.actions.values import Actions, ToPoint
from utils.pyautogui_code import CodeError, actions_of_code, code_blocks

LINE_BEGINS = ("pyautogui.", "computer.")


def read_pyautogui(reply: str, to_point: ToPoint) -> Actions:
    """Return the actions of the last block of code; without a block, those of lines with a call."""
    blocks = code_blocks(reply)
    lines = [line.strip() for line in reply.splitlines()]
    calls = [line for line in lines if line.startswith(LINE_BEGINS)]
    code = blocks[-1] if blocks else "\n".join(calls)
    try:
        return actions_of_code(code, to_point) or None
    except CodeError as error:
        raise NoAction(str(error)) from None

"""An action in its one form, whatever a model called it; `dialects` reads the models' own forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from utils.contracts import Point

CLICKS = ("click", "double", "triple", "right", "middle", "long")
POINTING = (*CLICKS, "move", "drag", "scroll")
NEEDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys((*CLICKS, "move"), ("point",)),
    "drag": ("point", "to_point"),
    "scroll": (),
    "type": ("text",),
    "key": ("keys",),
    "wait": (),
    "back": (),
    "home": (),
    "open_app": ("app",),
    "answer": ("text",),
    "done": (),
    "fail": (),
}
"""Every kind of action, with the fields that it cannot do without."""
ENDS = ("answer", "done", "fail")
"""With these an episode is over."""
DIRECTIONS = ("up", "down", "left", "right")
NOTCHES = 5.0  # of the wheel, where a model does not say how far

MODIFIERS = ("ctrl", "alt", "shift", "meta")
KEYS = (
    *MODIFIERS,
    "enter",
    "tab",
    "escape",
    "backspace",
    "delete",
    "insert",
    "space",
    "up",
    "down",
    "left",
    "right",
    "home",
    "end",
    "pageup",
    "pagedown",
    *(f"f{number}" for number in range(1, 13)),
)
"""Names of keys; a key with a character is named by it."""

AT_POINTER = "pointer"
"""In place of a point: where the mouse is."""


class NoAction(ValueError):
    """The action in a reply cannot be done. The message is written for the model."""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that an agent does; which fields count depends on the kind (`NEEDS`)."""

    kind: str
    point: Point | None = None  # fractions of the screenshot, 0..1
    to_point: Point | None = None  # where a drag ends
    text: str = ""  # to type (a line feed is Enter), the answer, or why it fails
    keys: tuple[str, ...] = ()  # held together: ("ctrl", "a")
    modifiers: tuple[str, ...] = ()  # keys held while the mouse acts: ("ctrl",)
    direction: str = "down"  # in which a scroll moves what is seen
    amount: float = NOTCHES  # notches of the wheel
    seconds: float = 1.0  # to wait
    app: str = ""  # name of an application
    remark: str = field(default="", compare=False)  # what the model is told of how it was taken

    def __str__(self) -> str:
        """Write the action as the default prompt does: `click(0.412, 0.090)`."""
        numbers = [f"{value:.3f}" for point in (self.point, self.to_point) for value in point or ()]
        values_by_kind = {
            **dict.fromkeys(POINTING, numbers),
            "scroll": [*numbers[:2], f'"{self.direction}"', f"{self.amount:g}"],
            "type": [_quoted(self.text)],
            "answer": [_quoted(self.text)],
            "fail": [_quoted(self.text)] if self.text else [],
            "key": [_quoted("+".join(self.keys))],
            "wait": [f"{self.seconds:g}"],
            "open_app": [_quoted(self.app)],
        }
        values = values_by_kind.get(self.kind, [])
        if self.modifiers:
            values = [*values, f"modifiers={_quoted('+'.join(self.modifiers))}"]
        return f"{CALLS[self.kind]}({', '.join(values)})"


CALLS = {kind: kind for kind in NEEDS} | {
    "double": "double_click",
    "triple": "triple_click",
    "right": "right_click",
    "middle": "middle_click",
    "long": "long_press",
    "key": "press",
}
"""What each kind is called in the default prompt."""


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


quoted = _quoted  # the private name is part of the digest of stored episodes
"""A text as the default prompt writes it: in double quotes, with a line feed as `\\n`."""

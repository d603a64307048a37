"""Conversion of the result of a parse function into `Action` objects."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.actions.action import (
    AT_POINTER,
    CALLS,
    DIRECTIONS,
    KEYS,
    MODIFIERS,
    NEEDS,
    NOTCHES,
    POINTING,
    Action,
    NoAction,
)
from utils.contracts import WH, Point
from utils.text import did_you_mean

MOST_ACTIONS = 8  # of one reply
MOST_KEYS = 4  # held together
MOST_NOTCHES = 100
LONGEST_TEXT = 5000
LONGEST_WAIT_S = 5.0
MOST_LINES = 200  # to type; pressing Enter takes its time

_OTHER_NAMES = {
    "control": "ctrl",
    "control_l": "ctrl",
    "ctrlleft": "ctrl",
    "ctrlright": "ctrl",
    "cmd": "meta",
    "command": "meta",
    "super": "meta",
    "super_l": "meta",
    "win": "meta",
    "windows": "meta",
    "winleft": "meta",
    "winright": "meta",
    "option": "alt",
    "alt_l": "alt",
    "altleft": "alt",
    "shift_l": "shift",
    "shiftleft": "shift",
    "shiftright": "shift",
    "return": "enter",
    "kp_enter": "enter",
    "esc": "escape",
    "del": "delete",
    "back_space": "backspace",
    "arrowup": "up",
    "arrowdown": "down",
    "arrowleft": "left",
    "arrowright": "right",
    "page_up": "pageup",
    "pgup": "pageup",
    "prior": "pageup",
    "page_down": "pagedown",
    "pgdn": "pagedown",
    "next": "pagedown",
    "spacebar": "space",
    "plus": "+",
    "minus": "-",
}
_CONTROL_CHARACTERS = {
    "\b": "backspace",
    "\t": "tab",
    "\n": "enter",
    "\r": "enter",
    "\x1b": "escape",
    "\x7f": "delete",
}
_LONE_CONTROL_CHARACTER = re.compile(r"(?<![^+])[\b\t\n\r\x1b\x7f](?![^+])")


def read_actions(
    parsed: Any, screen_wh: WH, pointer: Point | None = None, *, stay_on_screen: bool = True
) -> tuple[Action, ...] | None:
    """The actions in the result of a parse function, in one form; None: there are none.

    Args:
        parsed: an `Action`, a mapping with its fields, or a list of them; None or an empty list if
            there is none. A coordinate above 1 declares pixels of the screenshot. `AT_POINTER` may
            stand for a point.
        screen_wh: size of the screenshot.
        pointer: where the mouse is, in fractions; None: it has not been moved yet.
        stay_on_screen: take the nearest point on the screen for one that is off it.

    Raises:
        NoAction: nonsense.
    """
    if parsed is None:
        return None
    written = [parsed] if isinstance(parsed, (Action, Mapping)) else parsed
    if isinstance(written, (str, bytes)) or not isinstance(written, Sequence):
        raise NoAction(f"{parsed!r:.200} is no action")
    if len(written) > MOST_ACTIONS:
        raise NoAction(f"{len(written)} actions in one reply; at most {MOST_ACTIONS} are allowed")
    actions = []
    for fields in map(_fields_of, written):
        action = _action_of(_at_pointer(fields, pointer), screen_wh, stay_on_screen)
        pointer = pointer_after(action) or pointer
        actions.append(action)
    return tuple(actions) or None


def pointer_after(action: Action) -> Point | None:
    """Return the position of the mouse after an action; None: the action does not move it."""
    return action.to_point or action.point


def _at_pointer(fields: dict[str, Any], pointer: Point | None) -> dict[str, Any]:
    """Return the fields of an action, with the place of the mouse where they name it."""
    if fields.get("point") != AT_POINTER:
        return fields
    if pointer is not None:
        return {**fields, "point": pointer}
    kind = fields["kind"]
    if "point" in NEEDS[kind]:
        raise NoAction(f"{kind} without point, and the mouse has not been moved to any yet")
    return {name: value for name, value in fields.items() if name != "point"}


def _fields_of(action: Any) -> dict[str, Any]:
    """Return the fields that are given, of which each exists and none that is needed is missing."""
    names = [name for name in Action.__dataclass_fields__ if name != "remark"]
    if isinstance(action, Action):
        action = {name: getattr(action, name) for name in names}
    if not isinstance(action, Mapping):
        raise NoAction(f"{action!r:.200} is no action")
    fields = {name: value for name, value in action.items() if value is not None}
    kind = str(fields.get("kind"))
    if kind not in NEEDS:
        hint = did_you_mean(kind, NEEDS) or f"; known are {', '.join(NEEDS)}"
        raise NoAction(f"unknown action {kind!r:.60}{hint}")
    unknown = sorted(set(fields) - set(names))
    if unknown:
        raise NoAction(f"{kind}: unknown field {unknown[0]!r:.60}; known are {', '.join(names)}")
    missing = [name for name in NEEDS[kind] if name not in fields]
    if missing:
        raise NoAction(f"{kind} without {missing[0]}")
    return {**fields, "kind": kind}


def _action_of(fields: dict[str, Any], screen_wh: WH, stay_on_screen: bool) -> Action:
    kind = fields["kind"]
    direction = str(fields.get("direction", "down")).lower()
    if direction not in DIRECTIONS:
        raise NoAction(f"scroll {direction!r:.60}; known are {', '.join(DIRECTIONS)}")
    text = str(fields.get("text", ""))[:LONGEST_TEXT]
    line_count = text.count("\n") + 1
    if kind == "type" and line_count > MOST_LINES:
        raise NoAction(f"type: {line_count} lines; at most {MOST_LINES} are allowed")
    points = {
        name: _point_of(fields[name], screen_wh, kind)
        for name in ("point", "to_point")
        if name in fields
    }
    if kind == "scroll":
        points.setdefault("point", (0.5, 0.5))
    remarks = [_off_screen(point, screen_wh) for point in points.values()]
    if stay_on_screen:
        points = {name: _on_screen(point) for name, point in points.items()}
    return Action(
        kind,
        **points,
        remark=" ".join(filter(None, remarks)),
        text=text,
        keys=read_keys(fields["keys"]) if kind == "key" else (),
        modifiers=_read_modifiers(fields.get("modifiers"), kind),
        direction=direction,
        amount=_notches(fields.get("amount", NOTCHES), kind),
        seconds=_number(fields.get("seconds", 1.0), kind, LONGEST_WAIT_S),
        app=str(fields.get("app", ""))[:LONGEST_TEXT],
    )


def _number(value: Any, kind: str, limit: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if math.isnan(number):
        raise NoAction(f"{kind}: {value!r:.60} is no number")
    return min(max(number, 0.0), limit)


def _notches(value: Any, kind: str) -> float:
    amount = _number(value, kind, MOST_NOTCHES)
    if float(value) < 0:  # it contradicts the direction
        raise NoAction(f"{kind} by {float(value):g}; the amount must not be negative")
    return amount


def _point_of(value: Any, screen_wh: WH, kind: str) -> Point:
    """Return a point in fractions of the screen, on it or off it."""
    try:
        x, y = map(float, () if isinstance(value, (str, bytes)) else value)
    except (TypeError, ValueError, OverflowError):
        x = y = math.nan
    if not (math.isfinite(x) and math.isfinite(y)):
        raise NoAction(f"{kind}: {value!r:.60} is no point")
    if max(x, y) > 1:
        x, y = x / screen_wh[0], y / screen_wh[1]
    return x, y


def _on_screen(point: Point) -> Point:
    """Return the nearest point on the screen."""
    x, y = point
    return min(max(x, 0.0), 0.9999), min(max(y, 0.0), 0.9999)


def _off_screen(point: Point, screen_wh: WH) -> str:
    """The note to a model on a point off the screen; "" for one on it."""
    if min(point) >= 0 and max(point) <= 1:
        return ""
    (x, y), (width, height) = point, screen_wh
    return (
        f"The point ({x * width:.0f}, {y * height:.0f}) is off the screen of {width}x{height} "
        "pixels; the nearest point on it was taken."
    )


def read_keys(keys: Any) -> tuple[str, ...]:
    r"""Return the names of keys held together, of a list or of a text like `ctrl+a` or `ctrl a`.

    A control character is the key that makes it: "\b" is backspace.

    Raises:
        NoAction: there is no such key, none at all, or too many.
    """
    parts = keys
    if isinstance(keys, str):
        text = _LONE_CONTROL_CHARACTER.sub(lambda match: _CONTROL_CHARACTERS[match[0]], keys)
        parts = re.split(r"(?<=.)[+\s]+(?=.)", text.strip() or text[:1])
    if not isinstance(parts, Sequence):
        raise NoAction(f"{keys!r:.60} are no keys")
    names = [_key_name(part) for part in parts]
    if not 0 < len(names) <= MOST_KEYS:
        raise NoAction(f"{len(names)} keys at once; 1 to {MOST_KEYS} are allowed")
    return tuple(names)


def _key_name(part: Any) -> str:
    text = str(part)
    stripped = text.strip().lower().replace(" ", "")
    if not stripped and text:
        stripped = _CONTROL_CHARACTERS.get(text, "space" if text.isprintable() else "")
    name = _OTHER_NAMES.get(stripped, _CONTROL_CHARACTERS.get(stripped, stripped))
    is_character = len(name) == 1 and name.isprintable()
    if name not in KEYS and not is_character:
        raise NoAction(f"there is no key {text!r:.60}{did_you_mean(stripped, KEYS)}")
    return name


def _read_modifiers(modifiers: Any, kind: str) -> tuple[str, ...]:
    if not modifiers:
        return ()
    names = read_keys(modifiers)
    if kind not in POINTING:
        raise NoAction(f"{kind} takes no modifiers")
    for name in names:
        if name not in MODIFIERS:
            names_text = ", ".join(MODIFIERS)
            raise NoAction(f"{CALLS[kind]} with {name!r:.60} held; only {names_text} can be held")
    return names

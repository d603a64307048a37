"""Random well-formed replies of each form that the readers know, with what they say.

`reply_of(form, dice)` makes a reply and what it says: numbers, a letter, or an action as the
default prompt writes it. All depends on the dice alone.
"""

from __future__ import annotations

import json

LETTERS = "ABCD"
THOUGHTS = ("", "<think>First (3, 4), or A.</think>\n", "◁think▷Option B?◁/think▷", "A?</think>")
WORDS = ("the button", "Save", "menu", "in the corner", "icon")


def _pair(dice):
    kind = dice.randrange(3)
    if kind == 0:
        return dice.randint(0, 4000), dice.randint(0, 3000)
    if kind == 1:
        return round(dice.random(), 4), round(dice.random(), 4)
    return round(dice.uniform(0, 1000), 1), round(dice.uniform(0, 1000), 1)


def _box(dice):
    x, y = dice.randint(0, 3000), dice.randint(0, 2000)
    return x, y, x + dice.randint(1, 500), y + dice.randint(1, 500)


def _pair_in(text):
    return lambda dice: _filled(text, _pair(dice))


def _box_in(text):
    return lambda dice: _filled(text, _box(dice))


def _filled(text, numbers):
    return text.format(*map(str, numbers)), tuple(map(float, numbers))


POINT_FORMS = {
    "round": _pair_in("({}, {})"),
    "tight": _pair_in("({},{})"),
    "square": _pair_in("[{}, {}]"),
    "tag": _pair_in("<point>{} {}</point>"),
    "bare": _pair_in("{}, {}"),
    "label": _pair_in("**Answer:** {}, {}"),
    "named": _pair_in("x={}, y={}"),
    "json": _pair_in('{{"x": {}, "y": {}}}'),
    "point_2d": _pair_in('```json\n[{{"point_2d": [{}, {}], "label": "x"}}]\n```'),
    "attributes": _pair_in('<point x="{}" y="{}" alt="q">q</point>'),
    "pyautogui": _pair_in("pyautogui.click(x={}, y={})"),
    "start_box": _pair_in("Action: click(start_box='({},{})')"),
    "box": _box_in("[{}, {}, {}, {}]"),
    "tight box": _box_in("[{},{},{},{}]"),
    "bbox_2d": _box_in('{{"bbox_2d": [{}, {}, {}, {}], "label": "x"}}'),
    "two points": _box_in("<|box_start|>({},{}),({},{})<|box_end|>"),
    "named box": _box_in('{{"x1": {}, "y1": {}, "x2": {}, "y2": {}}}'),
}


def _letter_in(text):
    def make(dice):
        letter = dice.choice(LETTERS)
        return text.format(letter), letter

    return make


LETTER_FORMS = {
    "alone": _letter_in("{}"),
    "bold": _letter_in("**{}**"),
    "round": _letter_in("({})"),
    "answer": _letter_in("Answer: {}"),
    "sentence": _letter_in("The correct answer is {}."),
    "item": _letter_in("{}. Settings"),
    "choice": _letter_in("I would choose option {}."),
    "boxed": _letter_in("\\boxed{{{}}}"),
    "answer tag": _letter_in("<answer>{}</answer>"),
}


def _call(name, arguments):
    call = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
    return f"<tool_call>\n{call}\n</tool_call>"


def _pixel(dice):
    return dice.randint(0, 999), dice.randint(0, 999)


def _text(dice):
    return dice.choice(("hello", "it's 5", "a (b), c", "你好，世界", "“so” – he said", "x\ny"))


def _default_click(dice):
    x, y = _pixel(dice)
    return (
        f"Thought: a\nAction: click({x / 1000}, {y / 1000})",
        f"click({x / 1000:.3f}, {y / 1000:.3f})",
    )


def _default_type(dice):
    text = _text(dice).replace("\n", "\\n")
    return f'Action: type("{text}")', f'type("{text}")'


def _uitars_click(dice):
    x, y = _pixel(dice)
    reply = f"Thought: a\nAction: click(point='<point>{x} {y}</point>')"
    return reply, f"click({x / 1000:.3f}, {y / 1000:.3f})"


def _uitars_type(dice):
    text = _text(dice).replace("\n", "\\n")
    return f"Action: type(content='{text}')", f'type("{text}")'


def _json_click(dice):
    x, y = _pixel(dice)
    reply = _call("computer_use", {"action": "left_click", "coordinate": [x, y]})
    return reply, f"click({x / 1000:.3f}, {y / 1000:.3f})"


def _json_type(dice):
    text = _text(dice)
    written = text.replace("\n", "\\n")
    return _call("computer_use", {"action": "type", "text": text}), f'type("{written}")'


def _openai_click(dice):
    x, y = _pixel(dice)
    action = {"type": "click", "button": "left", "x": x, "y": y}
    return json.dumps({"type": "computer_call", "action": action}), (
        f"click({x / 1000:.3f}, {y / 1000:.3f})"
    )


ACTION_FORMS = {
    "actions click": _default_click,
    "actions type": _default_type,
    "uitars click": _uitars_click,
    "uitars type": _uitars_type,
    "computer_use click": _json_click,
    "computer_use type": _json_type,
    "computer_use openai": _openai_click,
}
FORMS = {
    **POINT_FORMS,
    **{f"letter {name}": form for name, form in LETTER_FORMS.items()},
    **ACTION_FORMS,
}


def reply_of(form, dice):
    """A reply of a form, maybe behind thinking or with words around it, and what it says."""
    reply, content = FORMS[form](dice)
    before = dice.choice(THOUGHTS)
    if form in POINT_FORMS and form not in ("bare", "label"):
        before += dice.choice(("", "", f"Click {dice.choice(WORDS)}: "))
    after = dice.choice(("", "", "\n")) if form in POINT_FORMS else ""
    return before + reply + after, content

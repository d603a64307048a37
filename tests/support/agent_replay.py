"""Replays of replies and first prompts of the authors' own agents, for `recipe_replay`.

A case has what the authors' code made of a reply: `code` (lines for pyautogui, or DONE, FAIL, WAIT),
or the name of an `action`, and `point_px`, the first point of it (of a drag its end); `raises` is the
exception that it ends with. Equal is: the same actions at the same points, in order.
"""

import re
from importlib import import_module, util
from itertools import groupby

from models.recipes.agents import qwen3_5
from tests.support.recipe_replay import (
    DIFFERENT,
    EQUAL,
    FALLBACK,
    is_same,
    meta_of,
    point_px,
    sent_messages,
    sent_prompt,
)
from utils.functions.signatures import takes_settings
from utils.import_utils import resolve
from utils.pyautogui_code import AT_POINTER, CodeError, actions_of_code

PACKAGE = "models.recipes.agents"
MODULES = {"gemini_3_5": "gemini", "kimi_k2_6": "kimi"}
"""Agents whose module has another name than the family of a case."""
KINDS = {
    "click": ("Click", "click", "left_click", "click_at"),
    "double": ("DoubleClick", "double_click"),
    "triple": ("TripleClick", "triple_click"),
    "right": ("RightClick", "right_click"),
    "middle": ("MiddleClick", "middle_click"),
    "move": ("Hover", "mouse_move", "move", "hover", "hover_at"),
    "drag": ("Drag", "left_click_drag", "drag_and_drop"),
    "scroll": ("Swipe", "scroll", "hscroll", "scroll_at", "scroll_document"),
    "type": ("Type", "type", "input_text", "type_text_at"),
    "key": ("Hotkey", "key", "keypress", "hotkey", "press_key", "key_combination", "refresh"),
    "key_down": ("KeyDown", "key_down"),
    "key_up": ("KeyUp", "key_up"),
    "mouse_down": ("MouseDown", "mouse_down"),
    "mouse_up": ("MouseUp", "mouse_up"),
    "wait": (
        "Wait",
        "wait",
        "wait_5_seconds",
        "sleep",
        "take_screenshot",
        "open_web_browser",
        "pause_and_memorize_fact",
    ),
    "open_app": ("visit_url", "navigate"),
    "back": ("history_back", "go_back"),
    "end": ("CallUser", "Finished", "terminate", "stop", "ask_user_question"),
}
KIND_OF = {name: kind for kind, names in KINDS.items() for name in names}
ENDS = ("done", "fail", "answer")
HELD = set(qwen3_5.HELD)
"""Keys that count where they are held; pyautogui holds others too, and none that it does not know."""
OSWORLD_RESIZE = "OSWorld's own; kwargs.resize differs over 8192 and under 16 pixels a side"
REASONS = {
    "qwen3_5 osworld_agent_absolute": "the family's prompt names 1000x1000, not the image's pixels",
    "resize evocua_s1": OSWORLD_RESIZE,
    "resize evocua_s2": OSWORLD_RESIZE,
    "resize qwen3_5_agent": OSWORLD_RESIZE,
    "resize ui_venus_2": "of a picture that the authors' code hands back, and never sends",
}
"""Reasons for not following the authors' code."""


def agent_of(family):
    """The record of the agent that cases of a family are about; None: there is none."""
    name = f"{PACKAGE}.{MODULES.get(family, family)}"
    return getattr(import_module(name), "AGENT", None) if util.find_spec(name) else None


# -- replies --------------------------------------------------------------------------------------


def canonical(actions, image_wh):
    """Actions as (kind, point in pixels, what else counts), whoever wrote them."""
    forms = []
    for action in actions or []:
        is_drag = action["kind"] == "drag" and "to_point" in action
        point = action.get("to_point" if is_drag else "point")
        point = None if point == AT_POINTER else point_px(point, image_wh)
        value = tuple(sorted(set(action.get("modifiers") or ()) & HELD))
        if action["kind"] in ("key", "key_down", "key_up"):
            keys = action["keys"]
            value = keys if isinstance(keys, str) else "+".join(keys)
        elif action["kind"] == "scroll":
            value = (action["direction"], action["amount"]) if action["amount"] else ()
        elif action["kind"] in ("type", "answer"):
            value = action.get("text")
        forms.append((action["kind"], point, value))
    return as_typed(forms)


def as_typed(forms):
    """The same with single keys that follow each other as a text, as some authors type one."""

    def typed(form):
        is_sign = form[0] == "key" and (len(form[2]) == 1 or form[2] == "enter")
        return form[2].replace("enter", "\n") if is_sign else form[2] if form[0] == "type" else None

    joined = []
    for is_text, group in groupby(forms, key=lambda form: typed(form) is not None):
        group = list(group)
        joined += [("type", None, "".join(map(typed, group)))] if is_text else group
    return joined


def expected_of(case):
    """The authors' actions for a reply, in the same form; None: their code does not run."""
    if case.get("raises"):
        return []
    try:
        return canonical(actions_of_code("\n".join(case["code"]), lambda x, y: (x, y)), (1, 1))
    except (SyntaxError, CodeError):
        return None


def are_same(forms, expected):
    """Whether two lists of actions are the same but for rounding."""
    return len(forms) == len(expected) and all(
        one[0] == other[0] and one[2] == other[2] and is_same(one[1], other[1])
        for one, other in zip(forms, expected, strict=True)
    )


def is_documented(forms, expected, reply):
    """Whether ours differs as the documents say.

    The authors' code says FAIL where it finds nothing, where ours has no action; it ends as DONE
    what has failed, and what is an answer, which some code does not know at all; Kimi's takes a
    success whose answer has the word "fail" for a failure. Of code that waits or ends the task too,
    nothing else is done there. Keys and texts that are put into quotes as they are, and a scroll
    whose notches are lost, make code that does not run.
    """
    kinds = [form[0] for form in forms]
    if expected is None:
        return kinds in (["key"], ["type"], ["scroll"])
    expected_kinds = [form[0] for form in expected]
    if expected_kinds in (["wait"], ["done"], ["fail"]) and kinds[-1:] == expected_kinds:
        return True
    if expected_kinds == ["fail"]:
        return not kinds or ("success" in reply and kinds in (["answer"], ["done"]))
    is_answer = kinds == ["answer"]
    if expected_kinds == ["done"]:
        return is_answer or (kinds == ["fail"] and "failure" in reply)
    return is_answer and not expected_kinds


def first_point(forms):
    """The first point of actions; None: they have none."""
    return next((point for _, point, _ in forms if point), None)


def outcome_of_named(case, actions):
    """Whether the first point, and the kind of some action, are those of an action with a name.

    Of a sequence that begins with something held, ours has what it is held for.
    """
    forms = canonical(actions, case["image_wh"])
    kinds = {"end" if kind in ENDS else kind for kind, _, _ in forms}
    expected = tuple(case["point_px"]) if case["point_px"] is not None else None
    expected_kind = KIND_OF.get(case["action"], case["action"])
    if expected_kind in kinds and is_same(first_point(forms), expected):
        return EQUAL
    is_held = expected_kind in ("key_down", "mouse_down") and "Sequence" in case["reply"]
    return FALLBACK if is_held and forms else DIFFERENT


def outcome_of_reply(case, dotted):
    """The outcome of a reply that the parse function at a dotted path reads, and what it read."""
    actions = resolve(dotted, role="parse_function")(case["reply"], meta_of(case))
    actions = [actions] if isinstance(actions, dict) else actions
    if "action" in case:
        return outcome_of_named(case, actions), actions
    forms, expected = canonical(actions, case["image_wh"]), expected_of(case)
    is_told = expected is None or case["point_px"] is None or first_point(expected)
    if is_told and are_same(forms, expected or []):
        return EQUAL, actions
    return (FALLBACK if is_documented(forms, expected, case["reply"]) else DIFFERENT), actions


# -- prompts --------------------------------------------------------------------------------------


def without_date(chat):
    """Messages without the day of the run, in whose place ours has a day of its own."""
    return [
        (role, [re.sub(r"The current date is [^\"]*", "", part or "") for part in parts])
        for role, parts in chat
    ]


def outcome_of_prompt(case, dotted):
    """Whether the prompt of a task's first step is the authors' but for the date of the run."""
    line = {
        "instruction": case["instruction"],
        "image_path": "a.png",
        "image_size": case["image_wh"],
        "platform": "os_web",
        "history": [],
    }
    function = resolve(dotted, role="custom_prompt")
    settings = {key: case.get(key) for key in ("min_pixels", "max_pixels")}
    prompt = function(line, "", **(settings if takes_settings(function) else {}))
    expected = sent_messages(case["messages"])
    is_equal = without_date(sent_prompt(prompt)) == without_date(expected)
    return EQUAL if is_equal else DIFFERENT

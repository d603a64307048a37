"""UI-Venus-2's own agent for computers: one call between action tags, points of 999.

Its phone agent is UI-Venus-1.5's in another prompt; `ui_venus.py` has that one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from models.recipes.agents import image, screen, text
from models.recipes.agents.replies import from_file_px
from models.recipes.base import Agent
from models.recipes.reading import NOT_READ, file_wh
from utils.contracts import Line, Message, Point
from utils.pyautogui_code import AT_POINTER, MOST_REPEATS, with_held_input

SYSTEM = """\
**You are a GUI Agent.**
Your role is to analyze the user's task, provide clear and accurate answers to their questions, and execute the task with precise actions on a desktop operating system. The password of the computer is {sudo_password}.

### Available Actions
You may execute one of the following functions. Coordinates range from the top-left corner (0, 0) to the bottom-right corner (999, 999).
- Click(box=(x1, y1)), or Click()
> Perform a left-click at `box`, or at the current cursor position when `box` is omitted.
- DoubleClick(box=(x1, y1)), or DoubleClick()
> Perform a double-click (selects a word in text). Use `box` to move first, or omit it to act at the current cursor position.
- TripleClick(box=(x1, y1)), or TripleClick()
> Perform a triple-click (selects a line or the content of a single-line input). Use `box` to move first, or omit it to act at the current cursor position.
- RightClick(box=(x1, y1)), or RightClick()
> Perform a right-click to open a context menu. Use `box` to move first, or omit it to act at the current cursor position.
- MiddleClick(box=(x1, y1)), or MiddleClick()
> Perform a middle-click (for example, open a link in a new tab). Use `box` to move first, or omit it to act at the current cursor position.
- Hover(box=(x1, y1))
> Move the cursor immediately to the coordinate WITHOUT clicking.
- Drag(end=(x2, y2), start=(x1, y1))
> Drag to `end` using a fixed 0.5-second drag. `start` is optional; omit it to begin from the current cursor position.
- Swipe(amount=-5, axis='vertical')
> Scroll at the current cursor position. `amount` is an integer from -4096 to 4096 and controls magnitude and direction: vertical positive scrolls up and negative scrolls down; horizontal positive scrolls right and negative scrolls left.
- Type(content='')
> Type the provided text into the focused field. Each `\\n` presses Enter.
- Hotkey(keys=['ctrl', 'c'], repeat=1)
> Press 1 to 128 listed keys as a keyboard shortcut. Use `repeat=N` from 1 to 128 to press the shortcut N times.
- KeyDown(keys=['shift'])
> Press 1 to 128 listed keys in order and keep them held across later actions and model turns until a matching `KeyUp`.
- KeyUp(keys=['shift'])
> Release 1 to 128 listed keys in order.
- MouseDown(box=(x1, y1)), or MouseDown()
> Optionally move to `box`, then press and hold the left mouse button across later actions and model turns.
- MouseUp(box=(x1, y1)), or MouseUp()
> Optionally move to `box`, then release the left mouse button.
- Sequence(actions=[Click(box=(x1, y1)), Hotkey(keys=['ctrl', 's'])])
> Execute 2 to 32 actions in order as one open-loop model turn. Nested `Sequence` is not allowed, and `CallUser` or `Finished` may appear only as the final action.
- Wait()
> Wait for the current page, animation, or content to finish loading.
- CallUser(content='')
> Request user takeover or report failure when the task cannot be completed or additional information is required.
- Finished(content='')
> Mark the task as completed successfully and optionally report details in `content`.

### Instructions
- Make sure you understand the task goal to avoid wrong actions.
- Prefer one atomic action per turn. Use `Sequence` only when every child action is already known and no intermediate screenshot is needed; its children execute open-loop.
- `KeyDown`, `KeyUp`, `MouseDown`, and `MouseUp` preserve input state across turns. Release held input explicitly when it is no longer needed.
- Any `keys` list may contain at most 128 non-empty key names; each key name is limited to 1,024 characters.
- `Swipe` is the only scrolling action and always scrolls at the current cursor position.
- Make sure you carefully examine the current screenshot. Sometimes the summarized history might not be reliable, over-claiming some effects.
- To submit/search after typing into a field, end the text with a newline — `Type(content='query\\n')` — which types the text and presses Enter in one action.
- To replace the existing content of an input field, use `TripleClick` to select it, then `Type` the new content.
- To open a submenu/dropdown, use `Hover` over the parent item to reveal it, then `Click` the desired entry.
- To use a context menu, `RightClick` the target to open it, then `Click` the desired entry.
- To hold a modifier during another action, use `KeyDown`, the target action, and `KeyUp`. Put them in one `Sequence` only when no intermediate screenshot is needed.
- After launching an app, running a command, downloading, or any slow operation, use `Wait()` to let it finish before continuing.
- To press a key or shortcut several times, use `repeat`, e.g. `Hotkey(keys=['down'], repeat=5)` or `Hotkey(keys=['ctrl', 'z'], repeat=3)`, instead of repeating the action.
- Consider exploring the screen by using the `Swipe` action to scroll and reveal additional content.
- Use `Hotkey` for keyboard shortcuts: copy (`ctrl+c`), paste (`ctrl+v`), save (`ctrl+s`), undo (`ctrl+z`), find (`ctrl+f`), etc.
- If the task cannot be completed or additional information is needed, use `CallUser`. Use `Finished` only after successful completion.

### Output Format
<think> your thinking process </think>
<action> the next action </action>

### User Task
{user_task}"""
PASSWORD = "password"  # what the authors' code says where it is told none
NOW = "Current Screenshot:\n"
EARLIER = "History Screenshot:\n"
EARLIER_IMAGES = 2  # three with the screen now
FULL_SCALE = 999
MOST_IN_SEQUENCE = 32
TAG = re.compile(r"<(/?)action>", re.IGNORECASE)
POINTS = ("box", "start", "end")
ARGUMENTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    **dict.fromkeys(
        ("Click", "DoubleClick", "TripleClick", "RightClick", "MiddleClick"), ((), ("box",))
    ),
    **dict.fromkeys(("MouseDown", "MouseUp"), ((), ("box",))),
    "Hover": (("box",), ()),
    "Drag": (("end",), ("start",)),
    "Swipe": (("amount", "axis"), ()),
    "Type": ((), ("content",)),
    "Hotkey": (("keys",), ("repeat",)),
    **dict.fromkeys(("KeyDown", "KeyUp"), (("keys",), ())),
    "Wait": ((), ()),
    **dict.fromkeys(("CallUser", "Finished"), ((), ("content",))),
}
"""What each call has to have, and what it may have."""
ENDS = ("CallUser", "Finished")
KINDS = {
    "Click": "click",
    "DoubleClick": "double",
    "TripleClick": "triple",
    "RightClick": "right",
    "MiddleClick": "middle",
    "MouseDown": "mouse_down",
    "MouseUp": "mouse_up",
    "Hover": "move",
    "KeyDown": "key_down",
    "KeyUp": "key_up",
}
Call = tuple[str, dict[str, Any]]


def build_agent_prompt(line: Line, dataset: str) -> list[Message]:
    """Return the system text with the task, all replies, the last screenshots, the screen now."""
    system = SYSTEM.replace("{sudo_password}", PASSWORD).replace("{user_task}", line["instruction"])
    messages = [text(system, "system")]
    first_with_image = len(line["history"]) - EARLIER_IMAGES
    note = ""
    for number, step in enumerate(line["history"]):
        shown = [text(EARLIER), image(step["image_path"])] if number >= first_with_image else []
        messages += [*_note(note), *shown] or [text("")]
        messages.append(text(accepted(step["reply"]), "assistant"))
        note = step["note"]
    return [*messages, *_note(note), text(NOW), screen(line)]


def _note(note: str) -> list[Message]:
    """Return the note on the previous action; the authors' code does not send one."""
    return [text(f"{note}\n")] if note else []


def accepted(reply: str) -> str:
    """Return an earlier reply as the authors repeat it: the thoughts and the action in tags.

    One whose action cannot be read, which they ask for again, stays as it came.
    """
    try:
        action = action_text(reply)
        calls_of(action)
    except NOT_READ:
        return reply
    thoughts = reply.partition("<think>")[2].partition("</think>")[0].strip()
    return (
        f"<think>{thoughts}</think>\n<action>{action}</action>"
        if thoughts
        else (f"<action>{action}</action>")
    )


def parse_actions(response: str, meta: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the actions of the reply's call, such as `Click(box=(512, 87))`; of a sequence all."""
    try:
        calls = calls_of(action_text(response))
        return with_held_input([action for call in calls for action in _actions(call, meta)])
    except NOT_READ:
        return None


def action_text(response: str) -> str:
    """Return the text between the tags of the only action; without a tag, the whole reply.

    Raises:
        ValueError: there are several actions, or a tag without its partner.
    """
    actions: list[str] = []
    start = None
    for tag in TAG.finditer(response):
        if tag[1] and start is not None:
            actions.append(response[start : tag.start()].strip())
            start = None
        elif not tag[1] and start is None:
            start = tag.end()
    lowered = response.lower()
    has_tag = "<action" in lowered or "</action>" in lowered
    if len(actions) > 1 or (has_tag and not actions):
        raise ValueError("expected one action between tags")
    return actions[0] if actions else response.strip()


def calls_of(action: str) -> list[Call]:
    """Return the calls of an action, of which a sequence has several.

    Raises:
        One of `models.recipes.reading.NOT_READ`: it is none of those that the prompt names.
    """
    call = ast.parse(action, mode="eval").body
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise ValueError("an action is a call")
    if call.func.id != "Sequence":
        return [_call(call)]
    [argument] = call.keywords
    if call.args or argument.arg != "actions" or not isinstance(argument.value, ast.List):
        raise ValueError("a sequence has a list of actions")
    calls = [_call(element) for element in argument.value.elts]
    if not 2 <= len(calls) <= MOST_IN_SEQUENCE:
        raise ValueError("a sequence has 2 to 32 actions")
    if any(name in ENDS for name, _ in calls[:-1]):
        raise ValueError("what ends the task comes last")
    return calls


def _call(node: ast.expr) -> Call:
    """Return the name of a call and its values, all by keyword and of the right type."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.args:
        raise ValueError("a call has keywords only")
    values = {str(word.arg): ast.literal_eval(word.value) for word in node.keywords}
    required, optional = ARGUMENTS[node.func.id]
    if not set(required) <= set(values) <= {*required, *optional}:
        raise ValueError(f"{node.func.id} with {list(values)}")
    if len(values) != len(node.keywords) or not all(map(_fits, values, values.values())):
        raise ValueError(f"{node.func.id} with {list(values.values())}")
    return node.func.id, values


def _fits(name: str, value: Any) -> bool:
    """Whether a value has the type that the authors' code takes."""
    if name in POINTS:
        is_pair = isinstance(value, tuple) and len(value) == 2
        return is_pair and all(_is_number(side) and 0 <= side <= FULL_SCALE for side in value)
    if name == "keys":
        is_list = isinstance(value, list) and bool(value)
        return is_list and all(isinstance(key, str) and key.strip() for key in value)
    if name in ("repeat", "amount"):
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        return is_whole and (name == "amount" or value >= 1)
    if name == "axis":
        return value in ("vertical", "horizontal")
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _actions(call: Call, meta: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the actions of a call; without a point, they happen at the mouse pointer."""
    name, values = call
    points = {key: _point(values[key], meta) for key in POINTS if key in values}
    if name == "Drag":
        start = points.get("start", AT_POINTER)
        return [{"kind": "drag", "point": start, "to_point": points["end"]}]
    if name == "Swipe":
        return [_scroll(values["amount"], values["axis"])]
    if name == "Type":
        return [{"kind": "type", "text": values.get("content", "")}]
    if name == "Hotkey":
        repeats = min(values.get("repeat", 1), MOST_REPEATS)
        return [{"kind": "key", "keys": values["keys"]}] * repeats
    if name in ("KeyDown", "KeyUp"):
        return [{"kind": KINDS[name], "keys": values["keys"]}]
    if name == "Wait":
        return [{"kind": "wait"}]
    content = values.get("content", "")
    if name == "CallUser":
        return [{"kind": "fail", "text": content}]
    if name == "Finished":
        return [{"kind": "answer", "text": content} if content else {"kind": "done"}]
    return [{"kind": KINDS[name], "point": points.get("box", AT_POINTER)}]


def _point(numbers: Sequence[float], meta: Mapping[str, Any]) -> Point:
    """Return the whole pixel on the screenshot that the authors' code clicks."""
    wh = file_wh(meta)
    x_px, y_px = (
        max(0, min(side - 1, int(number * side / FULL_SCALE)))
        for number, side in zip(numbers, wh, strict=True)
    )
    return from_file_px((x_px, y_px), meta)


def _scroll(amount: int, axis: str) -> dict[str, Any]:
    ways = ("up", "down") if axis == "vertical" else ("right", "left")
    way = ways[0] if amount > 0 else ways[1]
    return {"kind": "scroll", "point": AT_POINTER, "direction": way, "amount": abs(amount)}


AGENT = Agent(
    prompt=f"{__name__}.build_agent_prompt",
    parse=f"{__name__}.parse_actions",
    source="inclusionAI/UI-Venus @ 81945ac7 models/computer/computer_example.py",
    generate_cfg={"temperature": 0, "top_p": 0.7, "max_tokens": 4096},
    prompts={"computer_agent_first_turn": f"{__name__}.build_agent_prompt"},
    parsers={"computer_agent": f"{__name__}.parse_actions"},
    verified="first prompt and replies",
    note="computers only; keys and buttons cannot be held from one reply to the next; a swipe counts "
    "notches of the wheel; CallUser is read as a task that cannot be done",
)

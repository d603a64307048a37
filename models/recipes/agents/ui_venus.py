"""UI-Venus-1.5's own agent: one call between action tags, points per mille, history as text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from models.recipes.agents import is_phone, screen, text, whole_point
from models.recipes.reading import NOT_READ, between, last_between
from utils.contracts import Line, Message

COMPUTER = """\
**You are a GUI Agent.**
Your task is to analyze a given user task, review current screenshot and previous actions, and determine the next action to complete the task.

### Available Actions
You may execute one of the following functions:
- Click(box=(x1,y1))
- Drag(start=(x1,y1), end=(x2,y2))
- Scroll(direction='down or up')
- Type(content='')
- Launch(app='' or url='')
- Wait()
- Finished(content='')
- CallUser(content='')
- LongPress(box=(x1,y1))
- PressBack()
- PressHome()
- PressEnter()
- PressRecent()
- Hover(box=(x1,y1))
- DoubleClick(box=(x1,y1))
- Hotkey(keys=['ctrl', 'c']) # Split keys with comma and wrap each key in single quotes. Do not use more than 3 keys in one Hotkey action.

### User Task
{user_task}

### Previous Actions
{previous_actions}

### Output Format
<think> your thinking process </think>
<action> the next action </action>
<conclusion> the conclusion about the next action </conclusion>

### Instruction
- Make sure you understand the task goal to avoid wrong actions.
- Make sure you carefully examine the the current screenshot. Sometimes the summarized history might not be reliable, over-claiming some effects.
- For complex information-retrieval tasks, use `CallUser(content='...')` to reply only at the very end, after gathering all required info. Combine web evidence with your reasoning.
- To input text: first `Click(box=...)` on the textbox, then `Type(content='...')`. The system automatically presses `ENTER` afterward. If search filters are needed, click the search button after typing.
- Try to use simple language when searching.
- Distinguish textbox from button: never `Type` into a button. If no textbox is visible, try clicking the search icon first — the input field may appear afterward.
- Execute only one action per step.
- Strictly avoid repeating the same action when the webpage remains unchanged — you may have executed the wrong action. Continuous use of `Wait()` is also NOT allowed."""
PHONE = """\
**You are a GUI Agent.**\x20
Your task is to analyze a given user task, review current screenshot and previous actions, and determine the next action to complete the task.

### Available Actions
You may execute one of the following functions:
- Click(box=(x1,y1))
- Drag(start=(x1,y1), end=(x2,y2))
- Scroll(start=(x1,y1), end=(x2,y2))
- Type(content='')
- Launch(app='')
- Wait()
- Finished(content='')
- CallUser(content='')
- LongPress(box=(x1,y1))
- PressBack()
- PressHome()
- PressEnter()
- PressRecent()

### User Task
{user_task}

### Previous Actions
{previous_actions}

### Output Format
<think> your thinking process </think>
<action> the next action </action>
<conclusion> the conclusion about the next action </conclusion>

### Instruction
- Make sure you understand the task goal to avoid wrong actions.
- Make sure you carefully examine the the current screenshot. Sometimes the summarized history might not be reliable, over-claiming some effects.
- For requests that are questions (or chat messages), remember to use the `CallUser` action to reply to user explicitly before finishing! Then, after you have replied, use the Finished action if the goal is achieved.
- Consider exploring the screen by using the `scroll` action with different directions to reveal additional content.
- To copy some text: first select the exact text you want to copy, which usually also brings up the text selection bar, then click the `copy` button in bar.
- To paste text into a text box, first long press the text box, then usually the text selection bar will appear with a `paste` button in it."""
CALL = re.compile(r"^(\w+)\((.*)\)$", re.DOTALL)
POINTS = ("box", "start", "end")
NAMES = "box|start|end|direction|content|app|url|keys"
NAME = re.compile(rf"\b({NAMES})\s*+=\s*+")
NEXT_NAME = re.compile(rf",\s*+(?:{NAMES})\s*+=")
KINDS = {
    "Click": "click",
    "DoubleClick": "double",
    "LongPress": "long",
    "Hover": "move",
    "Drag": "drag",
    "Scroll": "scroll",
    "Type": "type",
    "Hotkey": "key",
    "PressEnter": "key",
    "Launch": "open_app",
    "Wait": "wait",
    "PressBack": "back",
    "PressHome": "home",
    "Finished": "done",
    "CallUser": "answer",
}


def build_agent_prompt(line: Line, dataset: str) -> list[Message]:
    """Return the screen now, and the prompt with a line for each earlier step."""
    prompt = PHONE if is_phone(line) else COMPUTER
    lines = []
    for number, step in enumerate(line["history"]):
        think, action = (part.strip("\n") for part in parts_of(step["reply"]))
        lines.append(f"Step {number}: <think>{think}</think><action>{action}</action>")
    prompt = prompt.replace("{user_task}", line["instruction"])
    return [screen(line), text(prompt.replace("{previous_actions}", "\n".join(lines)))]


def parts_of(reply: str) -> tuple[str, str]:
    """Return the thoughts and the action of an earlier reply; without both, all is action."""
    with suppress(ValueError):
        think = between(reply, "<think>", "</think>")
        behind = reply.partition("<think>")[2].partition("</think>")[2]
        return think, between(behind, "<action>", "</action>")
    return "", reply


def parse_actions(response: str, meta: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the action of the reply's call, such as `Click(box=(512,87))`."""
    try:
        name, values = call_of(response)
        return _action(name, values, is_on_phone=is_phone({"platform": "", **meta}))
    except NOT_READ:
        return None


def call_of(response: str) -> tuple[str, dict[str, Any]]:
    """The name of the call in a reply's last action, and its values.

    Raises:
        One of `models.recipes.reading.NOT_READ`: there is none.
    """
    action = last_between(response, "<action>", "</action>").strip()
    return _call(action) or _loose_call(action)


def _call(action: str) -> tuple[str, dict[str, Any]] | None:
    """Return the name of a call and its values where it is one in Python too."""
    try:
        call = ast.parse(action, mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            return None
        values = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except NOT_READ:
        return None
    is_text_of_point = any(isinstance(values.get(key), str) for key in POINTS)
    return None if is_text_of_point else (call.func.id, values)


def _loose_call(action: str) -> tuple[str, dict[str, Any]]:
    """Return the same of a call with texts whose quotes are bare, unescaped or around a point."""
    [(name, inner)] = CALL.findall(action)
    values: dict[str, Any] = {}
    for key, written in _written_values(inner):
        value = written.removeprefix("'").removesuffix("'")
        values[key] = ast.literal_eval(value) if key in (*POINTS, "keys") else value
    return name, values


def _written_values(inner: str) -> Iterator[tuple[str, str]]:
    """Yield each name of a call with what stands behind it, up to the next name."""
    position = 0
    while name := NAME.search(inner, position):
        following = NEXT_NAME.search(inner, name.end())
        position = len(inner) if following is None else following.start()
        yield name[1], inner[name.end() : position].rstrip()


def _action(name: str, values: Mapping[str, Any], *, is_on_phone: bool) -> dict[str, Any]:
    kind = KINDS[name]
    action: dict[str, Any] = {"kind": kind}
    if "box" in values:
        action["point"] = whole_point(values["box"])
    if "start" in values:
        action |= {"kind": "drag", "point": whole_point(values["start"])}
        action["to_point"] = whole_point(values["end"])
    if kind == "scroll" and "direction" in values:
        action["direction"] = values["direction"]
    if kind in ("type", "answer"):
        # On the web the authors' system presses Enter behind each text, as the prompt says.
        is_entered = kind == "type" and not is_on_phone
        action["text"] = values["content"] + ("\n" if is_entered else "")
    if kind == "done" and values.get("content"):
        action = {"kind": "answer", "text": values["content"]}
    if kind == "key":
        action["keys"] = values.get("keys", ["enter"])
    if kind == "open_app":
        action["app"] = values.get("app") or values["url"]
    return action

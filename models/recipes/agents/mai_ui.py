"""MAI-UI's own agent for phones: calls of `mobile_use`, points of 999."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from models.recipes.agents import OTHER_WAY, conversation, text, whole_point
from models.recipes.reading import NOT_READ, braced_call, centre
from utils.contracts import Line, Message, Point

SYSTEM = """\
You are a GUI agent. You are given a task and your action history, with screenshots. You need to perform the next action to complete the task.

## Output Format
For each function call, return the thinking process in <thinking> </thinking> tags, and a json object with function name and arguments within <tool_call></tool_call> XML tags:
```
<thinking>
...
</thinking>
<tool_call>
{"name": "mobile_use", "arguments": <args-json-object>}
</tool_call>
```

## Action Space

{"action": "click", "coordinate": [x, y]}
{"action": "long_press", "coordinate": [x, y]}
{"action": "type", "text": ""}
{"action": "swipe", "direction": "up or down or left or right", "coordinate": [x, y]} # "coordinate" is optional. Use the "coordinate" if you want to swipe a specific UI element.
{"action": "open", "text": "app_name"}
{"action": "drag", "start_coordinate": [x1, y1], "end_coordinate": [x2, y2]}
{"action": "system_button", "button": "button_name"} # Options: back, home, menu, enter
{"action": "wait"}
{"action": "terminate", "status": "success or fail"}
{"action": "answer", "text": "xxx"} # Use escape characters \\', \\", and \\n in text part to ensure we can parse the text in normal python string format.


## Note
- Write a small plan and finally summarize your next action (with its target element) in one sentence in <thinking></thinking> part.
- Available Apps: `["Camera","Chrome","Clock","Contacts","Dialer","Files","Settings","Markor","Tasks","Simple Draw Pro","Simple Gallery Pro","Simple SMS Messenger","Audio Recorder","Pro Expense","Broccoli APP","OSMand","VLC","Joplin","Retro Music","OpenTracks","Simple Calendar Pro"]`.
You should use the `open` action to open the app as possible as you can, because it is the fast way to open the app.
- You must follow the Action Space strictly, and return the correct json object within <thinking> </thinking> and <tool_call></tool_call> XML tags."""
EARLIER_IMAGES = 2  # three with the screen now
FULL_SCALE = 999


def build_agent_prompt(line: Line, dataset: str) -> list[Message]:
    """Return the system text, the task, all replies with the last screenshots, the screen now."""
    first, *others = conversation(line, EARLIER_IMAGES)
    if first["role"] == "user":
        first["turn"] = "new"
    return [text(SYSTEM, "system"), text(line["instruction"]), first, *others]


def parse_actions(response: str, meta: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the action of the reply's call; a swipe is named by the way of the finger."""
    try:
        answer = response.partition("</thinking>")[2] or response
        call = json.loads(braced_call(answer, 0))["arguments"]
        return _action(call)
    except NOT_READ:
        return None


def _point(numbers: Sequence[float]) -> Point:
    """Return a point, or the centre of a box, as fractions of the screenshot."""
    return whole_point(centre(numbers) if len(numbers) == 4 else numbers, FULL_SCALE)


def _action(call: Mapping[str, Any]) -> dict[str, Any] | None:
    name = call["action"]
    if name in ("click", "long_press"):
        kind = "click" if name == "click" else "long"
        return {"kind": kind, "point": _point(call["coordinate"])}
    if name == "drag":
        start, end = (_point(call[key]) for key in ("start_coordinate", "end_coordinate"))
        return {"kind": "drag", "point": start, "to_point": end}
    if name == "swipe":
        action: dict[str, Any] = {"kind": "scroll", "direction": OTHER_WAY[call["direction"]]}
        if call.get("coordinate"):
            action["point"] = _point(call["coordinate"])
        return action
    if name == "system_button":
        button = call["button"].lower()
        return {"kind": "key", "keys": ["enter"]} if button == "enter" else {"kind": button}
    if name == "terminate":
        return {"kind": "done" if call["status"] == "success" else "fail"}
    if name == "open":
        return {"kind": "open_app", "app": call["text"]}
    if name in ("type", "answer", "wait"):
        return {"kind": name, "text": call.get("text", "")}
    return None

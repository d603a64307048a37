"""EvoCUA's own agents: S2 calls `computer_use` in points of 999, S1 writes code for pyautogui."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from models.recipes.agents import image, screen, text
from models.recipes.agents.replies import actions_or_end, from_file_px, section, summary
from models.recipes.base import Agent, Limits
from models.recipes.reading import NOT_READ, file_wh, seen_wh
from utils.contracts import Line, Message, Point
from utils.pyautogui_code import AT_POINTER, code_blocks, with_held_input

S2 = """\
# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{"type": "function", "function": {"name_for_human": "computer_use", "name": "computer_use", "description": "Use a mouse and keyboard to interact with a computer, and take screenshots.\\n* This is an interface to a desktop GUI. You must click on desktop icons to start applications.\\n* Some applications may take time to start or process actions, so you may need to wait and take successive screenshots to see the results of your actions. E.g. if you click on Firefox and a window doesn't open, try wait and taking another screenshot.\\n* The screen's resolution is 1000x1000.\\n* Whenever you intend to move the cursor to click on an element like an icon, you should consult a screenshot to determine the coordinates of the element before moving the cursor.\\n* If you tried clicking on a program or link but it failed to load even after waiting, try adjusting your cursor position so that the tip of the cursor visually falls on the element that you want to click.\\n* Make sure to click any buttons, links, icons, etc with the cursor tip in the center of the element. Don't click boxes on their edges unless asked.", "parameters": {"properties": {"action": {"description": "\\n* `key`: Performs key down presses on the arguments passed in order, then performs key releases in reverse order.\\n* `key_down`: Press and HOLD the specified key(s) down in order (no release). Use this for stateful holds like holding Shift while clicking.\\n* `key_up`: Release the specified key(s) in reverse order.\\n* `type`: Type a string of text on the keyboard.\\n* `mouse_move`: Move the cursor to a specified (x, y) pixel coordinate on the screen.\\n* `left_click`: Click the left mouse button at a specified (x, y) pixel coordinate on the screen.\\n* `left_click_drag`: Click and drag the cursor to a specified (x, y) pixel coordinate on the screen.\\n* `right_click`: Click the right mouse button at a specified (x, y) pixel coordinate on the screen.\\n* `middle_click`: Click the middle mouse button at a specified (x, y) pixel coordinate on the screen.\\n* `double_click`: Double-click the left mouse button at a specified (x, y) pixel coordinate on the screen.\\n* `triple_click`: Triple-click the left mouse button at a specified (x, y) pixel coordinate on the screen.\\n* `scroll`: Performs a scroll of the mouse scroll wheel.\\n* `hscroll`: Performs a horizontal scroll (mapped to regular scroll).\\n* `wait`: Wait specified seconds for the change to happen.\\n* `terminate`: Terminate the current task and report its completion status.\\n* `answer`: Answer a question.\\n", "enum": ["key", "type", "mouse_move", "left_click", "left_click_drag", "right_click", "middle_click", "double_click", "triple_click", "scroll", "wait", "terminate", "key_down", "key_up"], "type": "string"}, "keys": {"description": "Required only by `action=key`.", "type": "array"}, "text": {"description": "Required only by `action=type`.", "type": "string"}, "coordinate": {"description": "The x,y coordinates for mouse actions.", "type": "array"}, "pixels": {"description": "The amount of scrolling.", "type": "number"}, "time": {"description": "The seconds to wait.", "type": "number"}, "status": {"description": "The status of the task.", "type": "string", "enum": ["success", "failure"]}}, "required": ["action"], "type": "object"}, "args_format": "Format the arguments as a JSON object."}}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>

# Response format

Response format for every step:
1) Action: a short imperative describing what to do in the UI.
2) A single <tool_call>...</tool_call> block containing only the JSON: {"name": <function-name>, "arguments": <args-json-object>}.

Rules:
- Output exactly in the order: Action, <tool_call>.
- Be brief: one sentence for Action.
- Do not output anything else outside those parts.
- If finishing, use action=terminate in the tool call."""
S2_TASK = """\

Please generate the next move according to the UI screenshot, instruction and previous actions.

Instruction: {instruction}

Previous actions:
{previous_actions or None}"""
S1 = """\
You are a GUI agent. You are given a task, a screenshot of the screen and your previous interactions with the computer. You need to perform a series of actions to complete the task. The password of the computer is "{password}", use it when you need sudo rights. You need to **wait** explicitly for installation, waiting website loading or running commands to finish. Don't terminate the task unless you are sure the task is finished. If you find that you can't finish the task, or the task is not finished exactly as the instruction indicates (you have made progress but not finished the task completely), or the task is impossible to complete, you must report **failure**.

For each step, provide your response in this format:
# Step: {step number}
## Thought:
{thought}
## Action:
{action}
## Code:
{code}

For the Thought section, you should include the following parts:
- Reflection on the task when there is previous action:
    - Consider the correnctness of previous action and its outcomes
    - If the previous action was correct, describe the change in the state of the computer and reason
    - If the previous action was incorrect, reflect on what went wrong and why
- Step by Step Progress Assessment:
    - Add necessary information according to the history screenshots, former actions and current screenshot.
    - Analyze what parts of the task have already been completed and how they contribute to the overall goal.
    - Make a plan on how to complete the task based on the history and currect screenshot.
- Next Action Prediction:
    - Propose the most possible next action and state the reason
- For Text Input Actions:
    - Note current cursor position
    - Consolidate repetitive actions (specify count for multiple keypresses)
    - Describe expected final text outcome
- Use first-person perspective in reasoning

For the action section, you should provide clear, concise, and actionable instructions in one sentence.
- If the action involves interacting with a specific target:
    - Describe target explicitly (if multiple elements share that name, you should distinguish the target) without using coordinates
    - Specify element names when possible (use original language if non-English)
    - Describe features (shape, color, position) if name unavailable
- If the action involves keyboard actions like 'press', 'write', 'hotkey':
    - Consolidate repetitive keypresses with count
    - Specify expected text outcome for typing actions

For the code section, you should output the corresponding code for the action. The code should be either PyAutoGUI code or one of the following functions warped in the code block:
- {"name": "computer.wait", "description": "Make the computer wait for 20 seconds for installation, running code, etc.", "parameters": {"type": "object", "properties": {}, "required": []}}
- {"name": "computer.terminate", "description": "Terminate the current task and report its completion status", "parameters": {"type": "object", "properties": {"status": {"type": "string", "enum": ["success", "failure"], "description": "The status of the task"}, {"answer": {"type": "string", "description": "The answer of the task"}}, "required": ["status"]}}
Examples for the code section:
```python
pyautogui.click(x=123, y=456)
```
```code
computer.terminate(status="success")
```
```code
computer.terminate(status="success", answer='''text''')
```"""
S1_TASK = """\
# Task Instruction:
{instruction}

Please generate the next move according to the screenshot, task instruction and previous steps (if provided).
"""
S1_STEP = "# Step {step_num}:\n## Action:\n{action}\n"
PASSWORD = "osworld-public-evaluation"  # what the authors' code says where it is told none
S2_TURNS = 4  # earlier ones that are repeated whole
S1_IMAGES = 4  # with the screen now
FULL_SCALE = 999
S1_LIMITS = Limits(factor=28, min_pixels=3136, max_pixels=12845056)
CLICKS = {
    "left_click": "click",
    "click": "click",
    "right_click": "right",
    "middle_click": "middle",
    "double_click": "double",
    "triple_click": "triple",
}


# -- S2 -------------------------------------------------------------------------------------------


def build_agent_prompt(line: Line, dataset: str) -> list[Message]:
    """Return the tool, the last four steps as turns, the screen now; the task is in the first turn.

    Of older steps the task has the line that says what was done.
    """
    older, turns = line["history"][:-S2_TURNS], line["history"][-S2_TURNS:]
    lines = [f"Step {number}: {summary(step)}" for number, step in enumerate(older, 1)]
    task = S2_TASK.replace("{instruction}", line["instruction"])
    task = task.replace("{previous_actions or None}", "\n".join(lines) or "None")
    messages = [text(S2, "system")]
    for step in turns:
        messages += [image(step["image_path"]), text(step["reply"], "assistant")]
        if step["note"]:  # the authors' code tells nothing
            messages.append(text(step["note"]))
    messages.append(screen(line))
    messages.insert(2, text(task))
    return messages


def parse_actions(response: str, meta: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the actions of all calls, whose tags stand at the beginning of lines of their own."""
    try:
        actions = [action for call in calls_of(response) for action in _actions(call, meta)]
        return with_held_input(actions) or None
    except NOT_READ:
        return None


def calls_of(response: str) -> list[Any]:
    """Return the JSON values between the tags, and those on lines of their own elsewhere.

    Invalid JSON is left out.
    """
    written: list[str] = []
    inside: list[str] | None = None
    for line in filter(None, map(str.strip, response.split("\n"))):
        if line.lower().startswith("action:"):
            continue
        if line.startswith("<tool_call>"):
            inside = inside or []
        elif line.startswith("</tool_call>"):
            written.append("\n".join(inside or []))
            inside = None
        elif inside is not None:
            inside.append(line)
        elif line.startswith("{") and line.endswith("}"):
            written.append(line)
    written.append("\n".join(inside or []))
    calls = []
    for call in written:
        with suppress(json.JSONDecodeError):
            calls.append(json.loads(call))
    return calls


def _actions(call: Any, meta: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the actions of a call; a list in place of an object fails the whole reply."""
    arguments = call.get("arguments") if call.get("name") == "computer_use" else None
    if arguments is None or "action" not in arguments:
        return []
    name = arguments["action"]
    if name in CLICKS:
        return [{"kind": CLICKS[name], "point": _point(arguments, meta, AT_POINTER)}]
    if name in ("mouse_move", "left_click_drag"):
        point = _point(arguments, meta, (0.0, 0.0))
        drag = {"kind": "drag", "point": AT_POINTER, "to_point": point}
        return [{"kind": "move", "point": point} if name == "mouse_move" else drag]
    return _without_point(name, arguments)


def _without_point(name: str, arguments: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the actions of a call without a point; none for an unknown action."""
    if name in ("key", "key_down", "key_up"):
        return [{"kind": name, "keys": _keys(arguments.get("keys", []))}]
    if name == "type":
        return [{"kind": "type", "text": _unescaped(arguments.get("text", ""))}]
    if name == "scroll":
        notches = float(arguments.get("pixels", 0))
        way = "up" if notches > 0 else "down"
        return [{"kind": "scroll", "point": AT_POINTER, "direction": way, "amount": abs(notches)}]
    if name == "wait":
        return [{"kind": "wait", "seconds": arguments.get("time")}]
    if name == "answer":
        return [{"kind": "answer", "text": arguments.get("text", "")}]
    if name == "terminate":
        is_failure = str(arguments.get("status", "success")).lower() == "failure"
        return [{"kind": "fail" if is_failure else "done"}]
    return []


def _point(arguments: Mapping[str, Any], meta: Mapping[str, Any], otherwise: Any) -> Any:
    """Return the whole pixel that the authors' code clicks; `otherwise` without a coordinate."""
    if "coordinate" not in arguments:
        return otherwise
    x, y = arguments["coordinate"]
    width, height = file_wh(meta)
    point_px = (int(x * (width / FULL_SCALE)), int(y * (height / FULL_SCALE)))
    return from_file_px(point_px, meta)


def _keys(keys: Any) -> list[str]:
    """Return the names of keys, cleaned of what models write around them: `keys=['ctrl']`."""
    names = keys if isinstance(keys, list) else [keys]
    return [str(key).removeprefix("keys=").strip("[]'\" ") or str(key) for key in names]


def _unescaped(written: str) -> str:
    """Return a text with its escapes read once more, as the authors' code types it."""
    with suppress(UnicodeError):
        return written.encode("latin-1", "backslashreplace").decode("unicode_escape")
    return written


# -- S1 -------------------------------------------------------------------------------------------


def build_agent_prompt_s1(line: Line, dataset: str) -> list[Message]:
    """Return the system text, earlier steps as turns, the screen now with the task behind it."""
    history = line["history"]
    messages = [text(S1.replace("{password}", PASSWORD), "system")]
    told = [
        S1_STEP.replace("{step_num}", str(number)).replace("{action}", _told(step))
        for number, step in enumerate(history, 1)
    ]
    first_with_image = len(history) - S1_IMAGES + 1
    if first_with_image > 0:
        messages.append(text("\n".join(told[:first_with_image]), "assistant"))
    for number in range(max(first_with_image, 0), len(history)):
        messages.append(image(history[number]["image_path"]))
        messages.append(text(told[number], "assistant"))
        if history[number]["note"]:  # the authors' code tells nothing
            messages.append(text(history[number]["note"]))
    return [*messages, screen(line), text(S1_TASK.replace("{instruction}", line["instruction"]))]


def _told(step: Mapping[str, Any]) -> str:
    return section(step["reply"], "Action")


def parse_actions_s1(response: str, meta: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the actions of the last code in a reply, in whole pixels of the screenshot."""
    blocks = code_blocks(response)
    if not blocks:
        return None

    def to_point(x: float, y: float) -> Point:
        (width, height), (seen_w, seen_h) = file_wh(meta), seen_wh(meta, S1_LIMITS)
        if 0 <= x <= 1 and 0 <= y <= 1:
            # The authors' code takes fractions of the resized image for pixels of the screen.
            return from_file_px((round(x * seen_w), round(y * seen_h)), meta)
        return from_file_px((int(x / seen_w * width), int(y / seen_h * height)), meta)

    return actions_or_end(blocks[-1], to_point)


AGENT = Agent(
    prompt=f"{__name__}.build_agent_prompt",
    parse=f"{__name__}.parse_actions",
    source="meituan/EvoCUA @ 4a0ad5f mm_agents/evocua",
    generate_cfg={"temperature": 0.01, "top_p": 0.9, "max_tokens": 32768},
    prompts={
        "s2_first_turn": f"{__name__}.build_agent_prompt",
        "s1_first_turn": f"{__name__}.build_agent_prompt_s1",
    },
    parsers={
        "s2": f"{__name__}.parse_actions",
        "s1_qwen25": f"{__name__}.parse_actions_s1",
    },
    verified="first prompt and replies",
    note="computers only; keys cannot be held from one reply to the next; the action answer, which the "
    "authors' code does not know, is read",
)
AGENT_S1 = replace(
    AGENT,
    prompt=f"{__name__}.build_agent_prompt_s1",
    parse=f"{__name__}.parse_actions_s1",
    note="computers only; the status and the answer of computer.terminate are read as they stand",
)

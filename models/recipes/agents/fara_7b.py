"""Fara-7B's own agent for the web: calls of `computer_use`, pixels of the resized image."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from typing import Any

from models.recipes.agents import image, screen, text
from models.recipes.base import Agent, Limits
from models.recipes.reading import NOT_READ, from_grid
from utils.contracts import Line, Message

SYSTEM = """\
You are a helpful assistant.

You are a web automation agent that performs actions on websites to fulfill user requests by calling various tools.
* You should stop execution at Critical Points. A Critical Point would be encountered in tasks like 'Checkout', 'Book', 'Purchase', 'Call', 'Email', 'Order', etc where a binding transaction/agreement would require the user's permission/personal or sensitive information (name, email, credit card, address, payment information, resume, etc) in order to complete a transaction (purchase, reservation, sign-up etc), or to communicate in a way that a human would be expected to do (call, email, apply to a job, etc).
* Solve the task as far as you can up until a Critical Point:
    - For example, if the task is to "call a restaurant to make a reservation", you should not actually make the call but should navigate to the restaurant's page and find the phone number.
    - Similarly, if the task is to "order new size 12 running shoes" you should not actually place the order but should instead search for the right shoes that meet the criteria and add them to the cart.
    - Some tasks, like answering questions, may not encounter a Critical Point at all.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{"type": "function", "function": {"name": "computer_use", "description": "Use a mouse and keyboard to interact with a computer, and take screenshots.\\n* This is an interface to a desktop GUI. You do not have access to a terminal or applications menu. You must click on desktop icons to start applications.\\n* Some applications may take time to start or process actions, so you may need to wait and take successive screenshots to see the results of your actions. E.g. if you click on Firefox and a window doesn't open, try wait and taking another screenshot.\\n* The screen's resolution is {W}x{H}.\\n* Whenever you intend to move the cursor to click on an element like an icon, you should consult a screenshot to determine the coordinates of the element before moving the cursor.\\n* If you tried clicking on a program or link but it failed to load, even after waiting, try adjusting your cursor position so that the tip of the cursor visually falls on the element that you want to click.\\n* Make sure to click any buttons, links, icons, etc with the cursor tip in the center of the element. Don't click boxes on their edges unless asked.\\n* When a separate scrollable container prominently overlays the webpage, if you want to scroll within it, you typically need to mouse_move() over it first and then scroll().\\n* If a popup window appears that you want to close, if left_click() on the 'X' or close button doesn't work, try key(keys=['Escape']) to close it.\\n* On some search bars, when you type(), you may need to press_enter=False and instead separately call left_click() on the search button to submit the search query. This is especially true of search bars that have auto-suggest popups for e.g. locations\\n* For calendar widgets, you usually need to left_click() on arrows to move between months and left_click() on dates to select them; type() is not typically used to input dates there.", "parameters": {"properties": {"action": {"description": "The action to perform. The available actions are:\\n* `key`: Performs key down presses on the arguments passed in order, then performs key releases in reverse order. Includes \\"Enter\\", \\"Alt\\", \\"Shift\\", \\"Tab\\", \\"Control\\", \\"Backspace\\", \\"Delete\\", \\"Escape\\", \\"ArrowUp\\", \\"ArrowDown\\", \\"ArrowLeft\\", \\"ArrowRight\\", \\"PageDown\\", \\"PageUp\\", \\"Shift\\", etc.\\n* `type`: Type a string of text on the keyboard.\\n* `mouse_move`: Move the cursor to a specified (x, y) pixel coordinate on the screen.\\n* `left_click`: Click the left mouse button.\\n* `scroll`: Performs a scroll of the mouse scroll wheel.\\n* `visit_url`: Visit a specified URL.\\n* `web_search`: Perform a web search with a specified query.\\n* `history_back`: Go back to the previous page in the browser history.\\n* `pause_and_memorize_fact`: Pause and memorize a fact for future reference.\\n* `wait`: Wait specified seconds for the change to happen.\\n* `terminate`: Terminate the current task and report its completion status.", "enum": ["key", "type", "mouse_move", "left_click", "scroll", "visit_url", "web_search", "history_back", "pause_and_memorize_fact", "wait", "terminate"], "type": "string"}, "keys": {"description": "Required only by `action=key`.", "type": "array"}, "text": {"description": "Required only by `action=type`.", "type": "string"}, "press_enter": {"description": "Whether to press the Enter key after typing. Required only by `action=type`.", "type": "boolean"}, "delete_existing_text": {"description": "Whether to delete existing text before typing. Required only by `action=type`.", "type": "boolean"}, "coordinate": {"description": "(x, y): The x (pixels from the left edge) and y (pixels from the top edge) coordinates to move the mouse to. Required only by `action=left_click`, `action=mouse_move`, and `action=type`.", "type": "array"}, "pixels": {"description": "The amount of scrolling to perform. Positive values scroll up, negative values scroll down. Required only by `action=scroll`.", "type": "number"}, "url": {"description": "The URL to visit. Required only by `action=visit_url`.", "type": "string"}, "query": {"description": "The query to search for. Required only by `action=web_search`.", "type": "string"}, "fact": {"description": "The fact to remember for the future. Required only by `action=pause_and_memorize_fact`.", "type": "string"}, "time": {"description": "The seconds to wait. Required only by `action=wait`.", "type": "number"}, "status": {"description": "The status of the task. Required only by `action=terminate`.", "type": "string", "enum": ["success", "failure"]}}, "required": ["action"], "type": "object"}}}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>"""
NEXT = "Here is the next screenshot. Think about what to do next."
LIMITS = Limits(factor=28, min_pixels=3136, max_pixels=12845056)
MOST_IMAGES = 3  # with the screen now
PAGE_NOTCHES = 8.5  # of the wheel: it scrolls by a page, a viewport of 900 px less 50
WAIT_S = 3.0  # where a call does not say how long
CLEARED = ({"kind": "key", "keys": ["ctrl", "a"]}, {"kind": "key", "keys": ["backspace"]})
CLICKS = {"left_click": "click", "click": "click", "mouse_move": "move", "hover": "move"}


def build_agent_prompt(line: Line, dataset: str, **settings: Any) -> list[Message]:
    """Return the tool with the size of the resized image, all replies, the last screenshots.

    Args:
        line: the task and the state of its episode.
        dataset: its name.
        settings: limits of the image, where the config has others.
    """
    width, height = LIMITS.with_settings(settings).grid_wh(tuple(line["image_size"]))
    system = SYSTEM.replace("{W}", str(width)).replace("{H}", str(height))
    return [text(system, "system"), *turns(line)]


def turns(line: Line) -> list[Message]:
    """Return the task with the first screen, all replies, and what was shown before the last ones.

    Of what is no longer shown, only the task stays. The authors' later turns begin with the page's
    address, which the worlds do not tell.
    """
    history = line["history"]
    shown_count = MOST_IMAGES - 1
    task = text(line["instruction"])
    if not history:
        return [screen(line), task]
    messages = [task]
    if len(history) <= shown_count:
        messages.insert(0, image(history[0]["image_path"]))
    for number, step in enumerate(history):
        if number > 0 and number >= len(history) - shown_count:
            messages += _later(image(step["image_path"]), history[number - 1]["note"])
        messages.append(text(step["reply"], "assistant"))
        if messages[-2]["role"] == "assistant":
            messages[-1]["turn"] = "new"
    return [*messages, *_later(screen(line), history[-1]["note"])]


def _later(screenshot: Message, note: str) -> list[Message]:
    """Return a later turn of the user, with what came of the action before."""
    return [screenshot, text(f"{note}\n{NEXT}" if note else NEXT)]


def parse_actions(response: str, meta: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the actions of the reply's call; to type somewhere is a click and a text."""
    try:
        thoughts, call = call_of(response)
        arguments = arguments_of(call)
        return _actions(arguments, _points(arguments, meta), thoughts)
    except NOT_READ:
        return None


def call_of(response: str) -> tuple[str, Any]:
    """Return the text before the first call, and the call, whose tags stand on lines of their own.

    Raises:
        One of `models.recipes.reading.NOT_READ`: there is none, or it is neither JSON nor Python.
    """
    parts = response.split("<tool_call>\n")
    written = parts[1].split("\n</tool_call>")[0]
    try:
        return parts[0].strip(), json.loads(written)
    except json.JSONDecodeError:
        return parts[0].strip(), ast.literal_eval(written)


def arguments_of(call: Any) -> Mapping[str, Any]:
    """Return the arguments of a call that has a name and arguments, and nothing else.

    Raises:
        TypeError: it is something else.
    """
    if call.keys() != {"name", "arguments"} or not isinstance(call["arguments"], dict):
        raise TypeError("a call has a name and arguments")
    return call["arguments"]


def _points(arguments: Mapping[str, Any], meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the point of a call, none where it has no coordinate or an empty one."""
    if not arguments.get("coordinate"):
        return {}
    x, y = arguments["coordinate"]
    return {"point": from_grid((x / 1, y / 1), meta, LIMITS)}


def _actions(
    arguments: Mapping[str, Any], point: Mapping[str, Any], thoughts: str
) -> list[dict[str, Any]]:
    name = arguments["action"]
    if name in CLICKS:
        return [{"kind": CLICKS[name], **point}]
    if name in ("type", "input_text"):
        typed = str(arguments.get("text", arguments.get("text_value")))
        enter = "\n" if arguments.get("press_enter", True) else ""
        cleared = CLEARED if arguments.get("delete_existing_text", False) else ()
        click = [{"kind": "click", **point}] if point else []
        return [*click, *cleared, {"kind": "type", "text": f"{typed}{enter}"}]
    if name == "scroll":
        way = "up" if int(arguments.get("pixels", 0)) > 0 else "down"
        return [{"kind": "scroll", "direction": way, "amount": PAGE_NOTCHES}]
    if name in ("terminate", "stop"):
        return [end_of(arguments, thoughts)]
    if name in ("refresh", "reload"):
        return [{"kind": "key", "keys": ["f5"]}]
    return [other_action(arguments, {"keypress": "key", "sleep": "wait"}.get(name, name))]


def end_of(arguments: Mapping[str, Any], thoughts: str) -> dict[str, Any]:
    """Return the end of the task: its answer is the call's, else what stands before the call."""
    if arguments.get("status") == "failure":
        return {"kind": "fail", "text": thoughts}
    answer = arguments.get("answer", thoughts)
    return {"kind": "answer", "text": str(answer)} if answer else {"kind": "done"}


def other_action(arguments: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return an action of the family's agents that has no point.

    Raises:
        ValueError: there is no such action.
    """
    if name == "key":
        return {"kind": "key", "keys": arguments.get("keys", [])}
    if name == "wait":
        return {"kind": "wait", "seconds": arguments.get("time", arguments.get("duration", WAIT_S))}
    if name == "history_back":
        return {"kind": "back"}
    if name == "visit_url":
        return {"kind": "open_app", "app": str(arguments.get("url", ""))}
    if name == "pause_and_memorize_fact":  # the reply itself is what is remembered
        return {"kind": "wait", "seconds": 0.0}
    if name == "web_search":  # there is no web; the model is told so
        return {"kind": name}
    raise ValueError(f"there is no action {name!r}")


AGENT = Agent(
    prompt=f"{__name__}.build_agent_prompt",
    parse=f"{__name__}.parse_actions",
    source="microsoft/fara @ 3f3f1fd src/fara/fara_agent.py, src/fara/_prompts.py",
    generate_cfg={"temperature": 0},
    prompts={"official_first_turn": f"{__name__}.build_agent_prompt"},
    parsers={"official": f"{__name__}.parse_actions"},
    verified="first prompt, resizing and replies",
    note="made for the web; later turns lack the page's address, which the worlds do not tell; its "
    "answer is the text before the last call",
)

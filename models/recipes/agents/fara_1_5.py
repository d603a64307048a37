"""Fara-1.5's own agent for the web: calls of `computer_use`, points per mille."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from typing import Any

from models.recipes.agents import text
from models.recipes.agents.fara_7b import arguments_of, call_of, end_of, other_action, turns
from models.recipes.base import Agent
from models.recipes.reading import NOT_READ, file_wh, from_whole
from utils.contracts import Line, Message
from utils.pyautogui_code import AT_POINTER

SYSTEM = """\
You are Fara, a computer use agent (CUA) specialized for web browsers. You are developed by Microsoft AI Frontiers. You assist users with completing and automating tasks that require the use of a web browser.

The model was trained in the timeframe of January - April 2026. You can effectively perform tasks even beyond this range by accessing the web browser and using the latest information on the live web. But your knowledge cutoff is limited to early 2026, so you may not be aware of events or developments that occurred after that time, without explicitly browsing and searching for latest information on the web.

This edition of the model was trained using SFT on top of Qwen3.5-9B, using a synthetic data mixture generated and developed by Microsoft AI Frontiers.

A critical point is a situation where we must pause and request information or confirmation from the user before proceeding. There are three types:

Case 1: Missing User Information — The task requires personal information that the user has not provided (e.g., email, phone number, address, payment details). Never fabricate or assume personal information. Fill in only what the user has explicitly provided, then pause and ask for any missing required fields. (e.g., form requires phone number but user only gave name and email -> fill name and email, then ask for phone number.) If the user has provided all required information, proceed without stopping.

Case 2: Underspecified Task — The task description is ambiguous or missing details needed to make a decision at the current step. Pause and ask for clarification. (e.g., user asks to book a flight but doesn't specify destination -> ask for destination.) If the user's instructions contain all information needed for the current decision, proceed without stopping.

Case 3: Irreversible Action — We are about to perform an action that cannot be undone (e.g., submitting a form, completing a purchase, sending a message, deleting data). If the user explicitly authorized the action (e.g., "submit the form", "complete the purchase", "you have my permission to submit") -> proceed without stopping. If the user did NOT explicitly authorize the action -> stop and ask for confirmation. (e.g., "fill out a form" with no mention of submitting -> fill the form, then ask before submitting; "fill out and submit a form" -> fill and submit without stopping.)

Only stop at a critical point if (1) required information is missing, (2) the task is ambiguous, OR (3) an irreversible action lacks explicit user authorization. If the user has provided all necessary information AND explicitly authorized the action, proceed without interruption.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{"type": "function", "function": {"name": "computer_use", "description": "Use a mouse and keyboard to interact with a computer, and take screenshots.\\n* This is an interface to a desktop GUI. You do not have access to a terminal or applications menu. You must click on desktop icons to start applications.\\n* Some applications may take time to start or process actions, so you may need to wait and take successive screenshots to see the results of your actions. E.g. if you click on Firefox and a window doesn't open, try wait and taking another screenshot.\\n* The screen's resolution is 1000x1000.\\n* Whenever you intend to move the cursor to click on an element like an icon, you should consult a screenshot to determine the coordinates of the element before moving the cursor.\\n* If you tried clicking on a program or link but it failed to load, even after waiting, try adjusting your cursor position so that the tip of the cursor visually falls on the element that you want to click.\\n* Make sure to click any buttons, links, icons, etc with the cursor tip in the center of the element. Don't click boxes on their edges.", "parameters": {"properties": {"action": {"description": "The action to perform. The available actions are:\\n* `key`: Performs key down presses on the arguments passed in order, then performs key releases in reverse order. Includes \\"Enter\\", \\"Alt\\", \\"Shift\\", \\"Tab\\", \\"Control\\", \\"Backspace\\", \\"Delete\\", \\"Escape\\", \\"ArrowUp\\", \\"ArrowDown\\", \\"ArrowLeft\\", \\"ArrowRight\\", \\"PageDown\\", \\"PageUp\\", \\"Shift\\", etc.\\n* `type`: Type a string of text on the keyboard.\\n* `mouse_move`: Move the cursor to a specified (x, y) pixel coordinate on the screen.\\n* `left_click`: Click the left mouse button.\\n* `double_click`: Double-click the left mouse button.\\n* `right_click`: Click the right mouse button.\\n* `triple_click`: Triple-click the left mouse button (e.g. to select a line of text).\\n* `left_click_drag`: Click and drag the cursor to a specified (x, y) pixel coordinate on the screen.\\n* `scroll`: Performs a scroll of the mouse scroll wheel.\\n* `hscroll`: Performs a horizontal scroll (mapped to regular scroll).\\n* `visit_url`: Visit a specified URL.\\n* `history_back`: Go back to the previous page in the browser history.\\n* `web_search`: Perform a web search with a specified query.\\n* `read_page_answer_question`: Read the current page content and answer a question about it.\\n* `pause_and_memorize_fact`: Pause and memorize a fact for future reference.\\n* `ask_user_question`: Ask the user a clarifying question and wait for a response.\\n* `wait`: Wait specified seconds for the change to happen.\\n* `terminate`: Terminate the current task and provide the final answer.", "enum": ["key", "type", "mouse_move", "left_click", "left_click_drag", "right_click", "double_click", "triple_click", "scroll", "hscroll", "visit_url", "history_back", "web_search", "read_page_answer_question", "pause_and_memorize_fact", "ask_user_question", "wait", "terminate"], "type": "string"}, "keys": {"description": "Required only by `action=key`.", "type": "array"}, "text": {"description": "Required only by `action=type`.", "type": "string"}, "coordinate": {"description": "(x, y): The x (pixels from the left edge) and y (pixels from the top edge) coordinates to move the mouse to. Required by `action=left_click`, `action=double_click`, `action=right_click`, `action=triple_click`, `action=left_click_drag`, and `action=mouse_move`.", "type": "array"}, "pixels": {"description": "The amount of scrolling to perform. Positive values scroll up, negative values scroll down. Required only by `action=scroll` and `action=hscroll`.", "type": "number"}, "url": {"description": "The URL to visit. Required only by `action=visit_url`.", "type": "string"}, "query": {"description": "The query to search for. Required only by `action=web_search`.", "type": "string"}, "fact": {"description": "The fact to remember for the future. Required only by `action=pause_and_memorize_fact`.", "type": "string"}, "question": {"description": "The question to ask. Required by `action=read_page_answer_question` and `action=ask_user_question`.", "type": "string"}, "time": {"description": "The seconds to wait. Required only by `action=wait`.", "type": "number"}, "answer": {"description": "The final answer for the task. Required only by `action=terminate`.", "type": "string"}}, "required": ["action"], "type": "object"}}}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>"""
FULL_SCALE = 1000
NOTCH_PX = 100  # of the page
OPENING = re.compile(r"<tool_call\b[^>]*+>", re.IGNORECASE)
CLOSING = re.compile(r"</tool_call\s*+>", re.IGNORECASE)
FENCE = re.compile(r"```(?:json|python)?\s*", re.IGNORECASE)
CLICKS = {
    "left_click": "click",
    "double_click": "double",
    "right_click": "right",
    "triple_click": "triple",
    "mouse_move": "move",
}


def build_agent_prompt(line: Line, dataset: str) -> list[Message]:
    """Return the tool, the task, all replies and the last screenshots."""
    return [text(SYSTEM, "system"), *turns(line)]


def parse_actions(response: str, meta: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the actions of the reply's call, with or without tags and fences around its JSON."""
    return _read(response, meta, is_strict=False)


def parse_actions_strict(response: str, meta: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the actions of a call whose tags stand on lines of their own, as the first code did."""
    return _read(response, meta, is_strict=True)


def _read(
    response: str, meta: Mapping[str, Any], *, is_strict: bool
) -> list[dict[str, Any]] | None:
    try:
        thoughts, call = call_of(response) if is_strict else loose_call_of(response)
        arguments = arguments_of(call)
        return _actions(arguments, _points(arguments, meta), thoughts, meta)
    except NOT_READ:
        return None


def loose_call_of(response: str) -> tuple[str, Any]:
    """Return the text before the call, and the first object behind the tag, or in the reply.

    Raises:
        One of `models.recipes.reading.NOT_READ`: there is none, or it lacks name or action.
    """
    opening = OPENING.search(response)
    if opening:
        thoughts, written = response[: opening.start()], response[opening.end() :]
        closing = CLOSING.search(written)
        written = written[: closing.start()] if closing else written
    else:
        thoughts, brace, behind = response.partition("{")
        written = brace + behind
    written = written.strip()
    if fence := FENCE.match(written):
        written = written[fence.end() :].rstrip().removesuffix("```").rstrip()
    try:
        call, _ = json.JSONDecoder().raw_decode(written)
    except json.JSONDecodeError:
        call = ast.literal_eval(written)
    if not (isinstance(call["name"], str) and call["name"]):
        raise TypeError("a call has a name")
    if not isinstance(call["arguments"]["action"], str):
        raise TypeError("a call has an action")
    return thoughts.strip(), call


def _points(arguments: Mapping[str, Any], meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the point of a call, none where it has no coordinate or an empty one."""
    if not arguments.get("coordinate"):
        return {}
    x, y = arguments["coordinate"]
    return {"point": from_whole((x / 1, y / 1), meta, FULL_SCALE)}


def _actions(
    arguments: Mapping[str, Any], point: Mapping[str, Any], thoughts: str, meta: Mapping[str, Any]
) -> list[dict[str, Any]]:
    name = arguments["action"]
    if name in CLICKS:
        return [{"kind": CLICKS[name], **point}]
    if name == "left_click_drag":
        return [{"kind": "drag", "point": AT_POINTER, "to_point": point.get("point")}]
    if name == "type":
        click = [{"kind": "click", **point}] if point else []
        typed = str(arguments.get("text", arguments.get("text_value", "")))
        return [*click, {"kind": "type", "text": typed}]
    if name in ("scroll", "hscroll"):
        return [_scroll(name, int(arguments.get("pixels", 0)), meta)]
    if name == "ask_user_question":
        return [{"kind": "fail", "text": str(arguments.get("question", ""))}]
    if name == "read_page_answer_question":  # the worlds show pages, and no text of them
        return [{"kind": name}]
    if name == "terminate":
        return [end_of({"answer": "", **arguments}, thoughts)]
    return [other_action(arguments, name)]


def _scroll(name: str, per_mille: int, meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return a scroll, which a call measures in thousandths of the screen: positive is up, right."""
    is_across = name == "hscroll"
    side_px = file_wh(meta)[0 if is_across else 1]
    ways = ("right", "left") if is_across else ("up", "down")
    notches = abs(int(per_mille * side_px / FULL_SCALE)) / NOTCH_PX
    direction = ways[0] if per_mille > 0 else ways[1]
    return {"kind": "scroll", "point": AT_POINTER, "direction": direction, "amount": notches}


AGENT = Agent(
    prompt=f"{__name__}.build_agent_prompt",
    parse=f"{__name__}.parse_actions",
    source="microsoft/fara @ 8904727 src/fara/agents/fara/fara15_agent.py; @ cf7cd7e src/fara/_prompts.py",
    generate_cfg={"temperature": 0},
    prompts={"official_first_turn": f"{__name__}.build_agent_prompt"},
    parsers={
        "official_8904727": f"{__name__}.parse_actions",
        "official_6505fef": f"{__name__}.parse_actions_strict",
    },
    verified="first prompt, resizing and replies",
    note="made for the web; later turns lack the page's address, which the worlds do not tell; a "
    "question to the user is read as a task that cannot be done; a reply without a call is told so "
    "in the next step, not asked again",
)

"""AgentCPM-GUI's own agent for phones: one compact JSON object, points per mille, no history."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from models.recipes.agents import OTHER_WAY, screen, text, whole_point
from models.recipes.reading import NOT_READ
from utils.contracts import Line, Message

SCHEMA = """{"type":"object","description":"执行操作并决定当前任务状态","additionalProperties":false,"required":["thought"],"properties":{"thought":{"type":"string","description":"智能体的思维过程"},"POINT":{"$ref":"#/$defs/Location","description":"点击屏幕上的指定位置"},"to":{"description":"移动，组合手势参数","oneOf":[{"enum":["up","down","left","right"],"description":"从当前点（POINT）出发，执行滑动手势操作，方向包括向上、向下、向左、向右"},{"$ref":"#/$defs/Location","description":"移动到某个位置"}]},"duration":{"type":"integer","description":"动作执行的时间或等待时间，毫秒","minimum":0,"default":200},"PRESS":{"type":"string","description":"触发特殊按键，HOME为回到主页按钮，BACK为返回按钮，ENTER为回车按钮","enum":["HOME","BACK","ENTER"]},"TYPE":{"type":"string","description":"输入文本"},"STATUS":{"type":"string","description":"当前任务的状态。特殊情况：satisfied，无需操作；impossible，任务无法完成；interrupt，任务中断；need_feedback，需要用户反馈；","enum":["continue","finish","satisfied","impossible","interrupt","need_feedback"],"default":"continue"}},"$defs":{"Location":{"type":"array","description":"坐标为相对于屏幕左上角位原点的相对位置，并且按照宽高比例缩放到0～1000，数组第一个元素为横坐标x，第二个元素为纵坐标y","items":{"type":"integer","minimum":0,"maximum":1000},"minItems":2,"maxItems":2}}}"""
SYSTEM = f"""\
# Role
你是一名熟悉安卓系统触屏GUI操作的智能体，将根据用户的问题，分析当前界面的GUI元素和布局，生成相应的操作。

# Task
针对用户问题，根据输入的当前屏幕截图，输出下一步的操作。

# Rule
- 以紧凑JSON格式输出
- 输出操作必须遵循Schema约束

# Schema
{SCHEMA}"""
TASK = "<Question>{task}</Question>\n当前屏幕截图："
LONG_MS = 1000
"""A touch that lasts longer is a long press; the schema's default is 200."""
ENDS = {"finish": "done", "satisfied": "done", "impossible": "fail"}


def build_agent_prompt(line: Line, dataset: str) -> list[Message]:
    """Return the system text, the task, and the screen now."""
    task = TASK.replace("{task}", line["instruction"])
    return [text(SYSTEM, "system"), text(task), screen(line)]


def parse_actions(response: str, meta: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the actions of a reply, the end of the task behind what is done."""
    try:
        reply = json.loads(response[response.index("{") :])
        actions = _touches(reply)
    except NOT_READ:
        return None
    if reply.get("PRESS"):
        key = reply["PRESS"].lower()
        actions.append({"kind": "key", "keys": ["enter"]} if key == "enter" else {"kind": key})
    if reply.get("TYPE"):
        actions.append({"kind": "type", "text": reply["TYPE"]})
    if reply.get("STATUS") in ENDS:
        actions.append({"kind": ENDS[reply["STATUS"]]})
    elif not actions and "duration" in reply:
        actions.append({"kind": "wait", "seconds": reply["duration"] / 1000})
    return actions or None


def _touches(reply: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The gesture at a point: a touch, a swipe to a side, or a drag to another point."""
    if "POINT" not in reply:
        return []
    point, to = whole_point(reply["POINT"]), reply.get("to")
    if isinstance(to, str):
        return [{"kind": "scroll", "point": point, "direction": OTHER_WAY[to]}]
    if to is not None:
        return [{"kind": "drag", "point": point, "to_point": whole_point(to)}]
    is_long = reply.get("duration", 0) >= LONG_MS
    return [{"kind": "long" if is_long else "click", "point": point}]

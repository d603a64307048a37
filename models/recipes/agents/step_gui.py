"""StepGUI's own agent for phones: fields that tabs divide, points per mille, history as a summary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from models.recipes.agents import screen, text, whole_point
from models.recipes.reading import NOT_READ
from models.recipes.step_gui import behind_thoughts
from utils.contracts import Line, Message

TASK = """\
你是一个手机 GUI-Agent 操作专家，你需要根据用户下发的任务、手机屏幕截图和交互操作的历史记录，借助既定的动作空间与手机进行交互，从而完成用户的任务。
请牢记，手机屏幕坐标系以左上角为原点，x轴向右，y轴向下，取值范围均为 0-1000。

在 Android 手机的场景下，你的动作空间包含以下9类操作，所有输出都必须遵守对应的参数要求：
1. CLICK：点击手机屏幕坐标，需包含点击的坐标位置 point。
例如：action:CLICK\tpoint:x,y
2. TYPE：在手机输入框中输入文字，需包含输入内容 value、输入框的位置 point。
例如：action:TYPE\tvalue:输入内容\tpoint:x,y
3. COMPLETE：任务完成后向用户报告结果，需包含报告的内容 value。
例如：action:COMPLETE\treturn:完成任务后向用户报告的内容
4. WAIT：等待指定时长，需包含等待时间 value（秒）。
例如：action:WAIT\tvalue:等待时间
5. AWAKE：唤醒指定应用，需包含唤醒的应用名称 value。
例如：action:AWAKE\tvalue:应用名称
6. INFO：询问用户问题或详细信息，需包含提问内容 value。
例如：action:INFO\tvalue:提问内容
7. ABORT：终止当前任务，仅在当前任务无法继续执行时使用，需包含 value 说明原因。
例如：action:ABORT\tvalue:终止任务的原因
8. SLIDE：在手机屏幕上滑动，滑动的方向不限，需包含起点 point1 和终点 point2。
例如：action:SLIDE\tpoint1:x1,y1\tpoint2:x2,y2
9. LONGPRESS：长按手机屏幕坐标，需包含长按的坐标位置 point。
例如：action:LONGPRESS\tpoint:x,y"""
BEFORE_IMAGE = """\

已知用户任务为：{task}
已知已经执行过的历史动作如下：{history_display}
当前手机屏幕截图如下：
"""
AFTER_IMAGE = """\

在执行操作之前，请务必回顾你的历史操作记录和限定的动作空间，先进行思考和解释然后输出动作空间和对应的参数：
1. 思考（THINK）：在 <THINK> 和 </THINK> 标签之间。
2. 解释（explain）：在动作格式中，使用 explain: 开头，简要说明当前动作的目的和执行方式。
在执行完操作后，请输出执行完当前步骤后的新历史总结。
输出格式示例：
<THINK> 思考的内容 </THINK>
explain:解释的内容\taction:动作空间和对应的参数\tsummary:执行完当前步骤后的新历史总结"""
NO_HISTORY = "暂无历史操作"


def build_agent_prompt(line: Line, dataset: str) -> list[Message]:
    """Return the task with the summary of the last reply, the screen now, and what to answer."""
    summary = ""
    for step in line["history"]:
        summary = fields_of(step["reply"]).get("summary") or summary
    before = BEFORE_IMAGE.replace("{task}", line["instruction"])
    before = before.replace("{history_display}", summary or NO_HISTORY)
    return [text(TASK + before), screen(line), text(AFTER_IMAGE)]


def fields_of(response: str) -> dict[str, str]:
    """Return the fields of a reply behind its thoughts."""
    fields = {}
    for part in behind_thoughts(response).split("\t"):
        name, _, value = part.strip().partition(":")
        fields[name.strip()] = value.strip()
    return fields


def parse_actions(response: str, meta: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the actions of a reply: to type somewhere is a click and a text."""
    fields = fields_of(response)
    try:
        return _actions(fields.get("action", ""), fields)
    except NOT_READ:
        return None


def _actions(name: str, fields: Mapping[str, str]) -> list[dict[str, Any]] | None:
    points = {
        key: whole_point(fields[key].replace(",", " ").split())
        for key in ("point", "point1", "point2")
        if key in fields
    }
    if name in ("CLICK", "LONGPRESS"):
        return [{"kind": "click" if name == "CLICK" else "long", "point": points["point"]}]
    if name == "TYPE":
        click = [{"kind": "click", "point": points["point"]}] if "point" in points else []
        return [*click, {"kind": "type", "text": fields["value"]}]
    if name == "SLIDE":
        return [{"kind": "drag", "point": points["point1"], "to_point": points["point2"]}]
    if name == "WAIT":
        return [{"kind": "wait", "seconds": float(fields["value"])}]
    if name == "AWAKE":
        return [{"kind": "open_app", "app": fields["value"]}]
    if name == "COMPLETE":
        return [{"kind": "answer", "text": fields.get("return", "")}]
    return [{"kind": "fail", "text": fields.get("value", "")}] if name == "ABORT" else None

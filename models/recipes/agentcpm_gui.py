"""AgentCPM-GUI: `{"POINT":[x,y]}` per mille, asked for in Chinese."""

from __future__ import annotations

import json
from typing import Any

from models.recipes.base import (
    Agent,
    ChatMessage,
    Parser,
    PromptForm,
    Recipe,
    Steps,
    image_and_text,
    prompt_function,
)
from models.recipes.reading import whole_parser
from utils.contracts import WH

SYSTEM = """\
你是一个GUI组件定位的专家，擅长根据组件的功能描述输出对应的坐标。你的下一步操作是根据给定的GUI截图和图中某个组件的功能描述点击组件的中心位置。坐标为相对于屏幕左上角位原点的相对位置，并且按照宽高比例缩放到0～1000
    输入：屏幕截图，功能描述
    输出：点击操作，以{"POINT":[...,...]}为格式，其中不能存在任何非坐标字符"""
LONGEST = 1120


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the authors' messages for elements that are described by their function."""
    text = f"屏幕上某一组件的功能描述：{instruction}"
    return [{"role": "system", "content": SYSTEM}, image_and_text(text)]


def read_point(response: str) -> Any:
    """Return POINT of a reply that is JSON and nothing else; blanks are removed first."""
    point = json.loads(response.replace(" ", ""))["POINT"]
    return point[0], point[1]


parse_point = whole_parser(read_point)
OFFICIAL = PromptForm(messages)
build_prompt = prompt_function(OFFICIAL)

RECIPE = Recipe(
    family="AgentCPM-GUI",
    hub_ids=("openbmb/AgentCPM-GUI",),
    frame="per mille",
    source="OpenBMB/AgentCPM-GUI @ acbaf509 eval/grounding_eval",
    prompts={"official_fun2bbox": OFFICIAL},
    parsers={"official_grounding_eval": Parser(parse_point)},
    generate_cfg={"temperature": 0.1, "top_p": 0.3},
    resize=({"longest": LONGEST, "filter": "lanczos"},),
    kwargs={"image_format": "jpeg", "jpeg_quality": 75},
    agent=Agent(
        prompt="models.recipes.agents.agentcpm.build_agent_prompt",
        parse="models.recipes.agents.agentcpm.parse_actions",
        source="OpenBMB/AgentCPM-GUI @ acbaf509 README, schema.json",
        generate_cfg={"temperature": 0.1, "top_p": 0.3, "max_tokens": 2048},
        note="phones only, as its authors made it; the tasks of other platforms are played with touches",
    ),
    steps=Steps(
        source="OpenBMB/AgentCPM-GUI @ acbaf509 eval/run_predict_minicpm.py, eval/utils",
        history="none",
        prompt="models.recipes.steps.agentcpm.build_step_prompt",
        parse="models.recipes.steps.agentcpm.parse_step",
        generate_cfg={"temperature": 0.1, "top_p": 0.3, "max_tokens": 2048},
        note="level low asks with the instruction alone; no place for a history",
    ),
    verified="prompt, size sent and parser",
    note="A checkpoint needs a class of your own (remote code, model.chat).",
)

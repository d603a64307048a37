"""EvoCUA, S2: its own agent for computers, points of 999."""

from models.recipes.agents.evocua import AGENT
from models.recipes.base import Recipe

RECIPE = Recipe(
    family="EvoCUA",
    hub_ids=("meituan/EvoCUA-8B-20260105", "meituan/EvoCUA-32B-20260105"),
    frame="0 to 999",
    source="meituan/EvoCUA @ 4a0ad5f mm_agents/evocua",
    resize=({"factor": 32, "min_pixels": 3136, "max_pixels": 13107200},),
    agent=AGENT,
    verified=f"agent alone: {AGENT.verified}",
    note="Its authors' images have other sizes than here where a side is over 8192 pixels, or under "
    "16. They used vLLM 0.11.0 and transformers 4.57.3.",
)

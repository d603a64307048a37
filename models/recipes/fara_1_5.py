"""Fara-1.5: its own agent for the web, points per mille."""

from models.recipes.agents.fara_1_5 import AGENT
from models.recipes.base import Recipe

RECIPE = Recipe(
    family="Fara-1.5",
    hub_ids=tuple(f"microsoft/Fara1.5-{size}" for size in ("4B", "9B", "27B")),
    frame="per mille",
    source="microsoft/fara @ 8904727 src/fara/agents/fara",
    resize=({"factor": 32, "min_pixels": 3136, "max_pixels": 12845056},),
    agent=AGENT,
    verified=f"agent alone: {AGENT.verified}",
    note="Its prompt names the 9B for every size. Its authors publish figures of web agents only, and "
    "no form for grounding.",
)

"""Fara-7B: its own agent for the web, pixels of the resized image."""

from models.recipes.agents.fara_7b import AGENT, LIMITS
from models.recipes.base import GRID, Recipe

RECIPE = Recipe(
    family="Fara-7B",
    hub_ids=("microsoft/Fara-7B",),
    frame=GRID,
    source="microsoft/fara @ 3f3f1fd src/fara",
    limits=LIMITS,
    agent=AGENT,
    verified=f"agent alone: {AGENT.verified}",
    note="Its authors publish figures of web agents only, and no form for grounding.",
)

"""EvoCUA, S1: the form of OpenCUA, code for pyautogui in pixels of the resized image."""

from models.recipes.agents.evocua import AGENT_S1, S1_LIMITS
from models.recipes.base import GRID, Recipe

RECIPE = Recipe(
    family="EvoCUA S1",
    hub_ids=("meituan/EvoCUA-OpenCUA-72B",),
    frame=GRID,
    source="meituan/EvoCUA @ 4a0ad5f mm_agents/evocua",
    limits=S1_LIMITS,
    agent=AGENT_S1,
    verified=f"agent alone: {AGENT_S1.verified}",
    note="The authors name the checkpoint, and have not published it. It would need a server that "
    "supports OpenCUA. Fractions, which the model is not trained to write, are read as their code "
    "does: of the resized image, as pixels of the screen.",
)

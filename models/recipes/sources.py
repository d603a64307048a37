"""The sources of the recipes' published figures; see `utils.datasets.published`.

The average is named where the source says it, or where only it gives the printed number.
"""

from __future__ import annotations

from dataclasses import replace

from utils.datasets.published import TABLES
from utils.datasets.published import Source as Source

L2, SCREENSPOT_V2, SCREENSPOT_PRO, UI_VISION, OSWORLD_G, OSWORLD_G_REFINED = TABLES.values()

AUTHORS = Source("authors' report")
AUTHORS_MICRO = replace(AUTHORS, average="micro")
AUTHORS_ZOOM = replace(AUTHORS_MICRO, protocol="zoom")
HUB_CARD = Source("authors' hub card")
README_TRANSFORMERS = Source("authors' README, transformers", "micro")
README_VLLM = Source("authors' README, vLLM", "micro")
MMBENCH_GUI_PAPER = Source("MMBench-GUI paper", "mean")
LEADERBOARD = Source("grounding-leaderboard ef17af0", "micro")
LEADERBOARD_ZOOM = replace(LEADERBOARD, protocol="zoom")
UI_VISION_README = Source("UI-Vision README 2b79355", "mean")
OSWORLD_G_PAGE = Source("OSWorld-G page")
OPENCUA_README = Source("OpenCUA README")
UI_VENUS_README = Source("UI-Venus README 81945ac")
UI_VENUS_2_PAGE = Source("UI-Venus-2.0 page")
CLAWGUI = Source("ClawGUI-Eval d990d3e", "micro")
CLAWGUI_ZOOM = replace(CLAWGUI, protocol="zoom")
CLAWGUI_OTHER_PROMPT = replace(CLAWGUI, note="another prompt than this recipe's")
CLAWGUI_510 = replace(CLAWGUI, average="without refusals")
CLAWGUI_563 = replace(CLAWGUI, note="of 563 of the 564 rows")

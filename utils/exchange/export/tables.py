"""Names of published tables, for forms that hold figures of several tables."""

from __future__ import annotations

from dataclasses import dataclass

from utils.protocol import L1_NAME, L2_NAME


@dataclass(frozen=True)
class PublishedTable:
    """The names of a table.

    Attributes:
        task: in lm-eval's way.
        title: for people.
        hub_id: of the data set on the hub.
    """

    task: str
    title: str
    hub_id: str


MMBENCH_GUI = "OpenGVLab/MMBench-GUI"
TABLES = {
    L1_NAME: PublishedTable("mmbench_gui_l1", "MMBench-GUI L1", MMBENCH_GUI),
    L2_NAME: PublishedTable("mmbench_gui_l2", "MMBench-GUI L2", MMBENCH_GUI),
    "ScreenSpot-v2": PublishedTable("screenspot_v2", "ScreenSpot-v2", "OS-Copilot/ScreenSpot-v2"),
    "ScreenSpot-Pro": PublishedTable("screenspot_pro", "ScreenSpot-Pro", "likaixin/ScreenSpot-Pro"),
    "ui-vision": PublishedTable("ui_vision", "UI-Vision", "ServiceNow/ui-vision"),
    "OSWorld-G": PublishedTable("osworld_g", "OSWorld-G", "MMInstruction/OSWorld-G"),
    "OSWorld-G, instructions refined": PublishedTable(
        "osworld_g_refined", "OSWorld-G, refined instructions", "MMInstruction/OSWorld-G"
    ),
    "VenusBench-GD": PublishedTable("venusbench_gd", "VenusBench-GD", "inclusionAI/VenusBench-GD"),
}
"""By the name of the annotations."""

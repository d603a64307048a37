"""What the data sets divide their samples into, in the order in which people see it."""

from __future__ import annotations

PLATFORM_LABELS = {
    "os_windows": "Windows", "os_mac": "macOS", "os_linux": "Linux",
    "os_ios": "iOS", "os_android": "Android", "os_web": "Web",
}  # fmt: skip
"""Platforms as the data names them (folders of pictures, too) and as people read them."""

PLATFORMS = tuple(PLATFORM_LABELS)
DIFFICULTIES = ("easy", "medium", "hard")
GROUNDING_TYPES = ("basic", "advanced")

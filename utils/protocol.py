"""The published data set: its files, and what its samples are divided into (in shown order)."""

from __future__ import annotations

PLATFORM_LABELS = {
    "os_windows": "Windows", "os_mac": "macOS", "os_linux": "Linux",
    "os_ios": "iOS", "os_android": "Android", "os_web": "Web",
}  # fmt: skip
"""Platforms as the data names them (folders of pictures, too) and as people read them."""

PLATFORMS = tuple(PLATFORM_LABELS)
DIFFICULTIES = ("easy", "medium", "hard")
GROUNDING_TYPES = ("basic", "advanced")

L1_NAME, L2_NAME = "L1_annotations.json", "L2_annotations.json"
ZIP_NAME = "MMBench-GUI-OfflineImages.zip"
PUBLISHED_MD5 = {
    ZIP_NAME: "8a34d69f0e9c0c450a48bfc1c90b65d5",
    L1_NAME: "a9a4fd9eb1e4ae0355fee057bd55cbec",
    L2_NAME: "a2e042302ac389299873a857b7370a35",
}

SAMPLE_MD5 = {
    L1_NAME: "7ba6d8848168c9bafc612fa4a151ad12",
    L2_NAME: "4260530debb6c5ef9331c8d56695cfdc",
}
"""Of the sample data that comes with the program; a page says what its scores are worth."""

ELEMENT_KINDS = ("icon", "text")
"""Kinds of elements whose hits the score of L2 counts; others count in the divisor alone."""

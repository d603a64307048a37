"""Where the data set lies. The environment is read at each call, never at import.

`LMUData` names the data root (default `~/LMUData`); `IMAGE_ROOT_DIR` moves the pictures alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from utils.config.environment import at_home, chosen_folder


def data_root() -> Path:
    """The folder that holds `MMBench-GUI/`.

    Raises:
        UserError: it lies in the home of nobody.
    """
    return chosen_folder(os.environ.get("LMUData") or "~/LMUData", by="LMUData")  # noqa: SIM112


def image_root() -> Path:
    """The folder that holds `os_windows/`, `os_mac/`, ...; `IMAGE_ROOT_DIR` only if it exists.

    Raises:
        UserError: the data root lies in the home of nobody.
    """
    moved = os.environ.get("IMAGE_ROOT_DIR")
    if moved and at_home(moved).is_dir():
        return at_home(moved)
    return data_root() / "MMBench-GUI" / "offline_images"


def image_path_of(line: Mapping[str, Any]) -> str:
    """Full path of a line's picture, as an image message needs it; an absolute one stays.

    Raises:
        KeyError: the line has no `image_path`.
    """
    return str(image_root() / line["image_path"])

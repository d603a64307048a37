"""Environment variables that steer a run, `.env` included; read when asked for, never at import."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent


def load_dotenv_files() -> None:
    """`.env` beside `evaluate.py`, then in the current folder; what is set already wins."""
    from dotenv import load_dotenv

    for folder in (PROJECT, Path.cwd()):
        load_dotenv(folder / ".env", override=False)


def is_set(name: str) -> bool:
    """Whether a switch is on: `1` or `true`."""
    return os.environ.get(name, "").strip().lower() in ("1", "true")


def odd_settings() -> list[str]:
    """What is legal and probably not meant, one line each."""
    found = []
    template, moved = os.environ.get("L2_USER_PROMPT"), os.environ.get("IMAGE_ROOT_DIR")
    if template and "{instruction}" not in template:
        found.append("L2_USER_PROMPT has no {instruction}; every sample gets the same text")
    if moved and not Path(moved).expanduser().is_dir():
        found.append(f"IMAGE_ROOT_DIR {moved}: no such folder; pictures are looked for in LMUData")
    return found


class WithStandIns(dict[str, str]):
    """The environment with a stand-in for every name that is not set.

    Scoring a log asks no server, so whoever was sent one needs no key either.
    """

    def get(self, name: str, default: Any = None) -> Any:
        """The value, or the stand-in; never the default."""
        return super().get(name) or "not-set"

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> str:
        return "not-set"

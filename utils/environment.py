"""Environment variables that steer a run, `.env` included; read when asked for, never at import."""

from __future__ import annotations

import os
from pathlib import Path

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
    template = os.environ.get("L2_USER_PROMPT")
    if template and "{instruction}" not in template:
        return ["L2_USER_PROMPT has no {instruction}; every sample gets the same text"]
    return []

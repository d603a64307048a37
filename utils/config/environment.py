"""Environment variables that steer a run, `.env` included; read when asked for, never at import."""

from __future__ import annotations

import os
from pathlib import Path

from utils import PROJECT
from utils.errors import UserError
from utils.images import at_home

TEMPLATE = "L2_USER_PROMPT"


def load_dotenv_files() -> None:
    """`.env` beside `evaluate.py`, then in the current folder; what is set already wins.

    Raises:
        UserError: one of them cannot be read as text. It is not quoted: it may hold a key.
    """
    from dotenv import load_dotenv

    for folder in (PROJECT, Path.cwd()):
        file = folder / ".env"
        try:
            _take_template(file)
            load_dotenv(file, override=False)
        except UnicodeDecodeError:
            raise UserError(f"{file}: is not UTF-8 text{_line(file)}; save it as UTF-8") from None
        except OSError as error:
            raise UserError(f"{file}: cannot be read: {error.strerror or error}") from None


def _take_template(file: Path) -> None:
    """The prompt of a `.env` as it stands there: its dollars name no other variables."""
    from dotenv import dotenv_values

    if TEMPLATE in os.environ or not file.is_file() or TEMPLATE not in file.read_text("utf-8"):
        return
    template = dotenv_values(file, interpolate=False).get(TEMPLATE)
    if template is not None:
        os.environ[TEMPLATE] = template


def _line(file: Path) -> str:
    """Where a file stops being UTF-8; the decoder of a stream knows the place in a block only."""
    try:
        file.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        return f" (line {line})"
    return ""


def is_set(name: str) -> bool:
    """Whether a switch is on: `1` or `true`."""
    return os.environ.get(name, "").strip().lower() in ("1", "true")


def odd_settings() -> list[str]:
    """What is legal and probably not meant, one line each."""
    found = []
    template, moved = os.environ.get(TEMPLATE), os.environ.get("IMAGE_ROOT_DIR")
    if template and "{instruction}" not in template:
        found.append("L2_USER_PROMPT has no {instruction}; every sample gets the same text")
    if moved and not at_home(moved).is_dir():
        found.append(f"IMAGE_ROOT_DIR {moved}: no such folder; pictures are looked for in LMUData")
    return found

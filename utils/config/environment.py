"""Environment variables that steer a run, `.env` included; read when asked for, never at import."""

from __future__ import annotations

import io
import os
from contextlib import suppress
from pathlib import Path

from utils import PROJECT
from utils.errors import UserError
from utils.geometry.images import expand_home


def read_text(file: Path) -> str:
    """Return the text of a file.

    Raises:
        UserError: it cannot be read as text; the message does not quote it.
        FileNotFoundError: there is no such file.
    """
    try:
        return file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise UserError(f"{file}: is not UTF-8 text (line {line}); save it as UTF-8") from None
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror}") from None


FOLDERS = ("LMUData", "IMAGE_ROOT_DIR", "EVAL_WORK_DIR")
"""Variables whose relative paths count from the `.env` that sets them."""


def load_dotenv_files() -> None:
    """Set variables from `.env` beside `evaluate.py`, then from that in the current folder.

    What is set already wins. Relative paths of `FOLDERS` count from the folder of their `.env`.
    """
    from dotenv import load_dotenv

    for file in (PROJECT / ".env", Path.cwd() / ".env"):
        set_before = {*os.environ}
        with suppress(FileNotFoundError):
            if not file.is_dir():  # many a virtual environment is called so
                load_dotenv(stream=io.StringIO(read_text(file)), override=False)
        for name in FOLDERS:
            value = os.environ.get(name)
            if value and name not in set_before:
                os.environ[name] = str(file.parent / expand_home(value))


def is_set(name: str) -> bool:
    """Whether a switch is on: `1` or `true`."""
    return os.environ.get(name, "").strip().lower() in ("1", "true")


def odd_settings() -> list[str]:
    """Settings that are legal and probably not meant, one line each."""
    warnings = []
    template = os.environ.get("L2_USER_PROMPT")
    moved = os.environ.get("IMAGE_ROOT_DIR")
    if template and "{instruction}" not in template:
        warnings.append("L2_USER_PROMPT has no {instruction}; every sample gets the same text")
    if moved and not expand_home(moved).is_dir():
        warnings.append(f"IMAGE_ROOT_DIR {moved}: no such folder; images are looked for in LMUData")
    return warnings

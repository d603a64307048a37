"""Environment variables that steer a run, `.env` included; read when asked for, never at import."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from utils import PROJECT
from utils.errors import UserError

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


def at_home(path: str | Path) -> Path:
    """A path with `~` and `~user` as the folders they stand for.

    Without such a user it stays as it is, and there is no such folder: for what is only read.
    """
    return Path(os.path.expanduser(path))  # noqa: PTH111 (Path's own raises a RuntimeError)


def chosen_folder(given: str | Path, *, by: str) -> Path:
    """The same for a folder that may be made, which must not end up as one named `~user`.

    Args:
        by: the option or variable that names the folder.

    Raises:
        UserError: there is no such user.
    """
    folder = at_home(given)
    first = folder.parts[0] if folder.parts else ""
    if not first.startswith("~"):
        return folder
    whose = f"no user {first[1:]}" if first[1:] else "no home folder of yours known"
    raise UserError(f"{by} {given}: there is {whose}; write the folder in full")


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

"""How to run a run again: commands, and the inputs that must be the same."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from utils.surroundings import SCORE_VARIABLES


def command_line(arguments: Sequence[str]) -> str:
    """The command as it can be pasted."""
    return shlex.join(["python", "evaluate.py", *map(str, arguments)])


def reproduce(manifest: Mapping[str, Any], config: Path) -> dict[str, Any]:
    """What a second run needs.

    Args:
        manifest: without this section.
        config: the config file, as it was named.

    Returns:
        `{"commands": [...], "inputs": [...], "notes": [...]}`, each entry a line for people.
    """
    asking = manifest["asking"]
    values = asking.get("environment") or {}
    git = asking.get("git") or {}
    return {
        "commands": [
            f"git checkout {git.get('commit', 'unknown')}",
            "python3.11 -m venv .venv && . .venv/bin/activate",
            "pip install -r requirements.txt -c requirements/dev_env.txt",
            *(
                f"export {name}={shlex.quote(values[name])}"
                for name in SCORE_VARIABLES
                if values.get(name)
            ),
            "export LMUData=...  # the folder that holds MMBench-GUI/",
            "export EVAL_WORK_DIR=...  # any folder; results go there",
            asking["command"],
        ],
        "inputs": [_config_line(config), *_data_lines(manifest), *_model_lines(manifest)],
        "notes": _notes(asking),
    }


def _config_line(config: Path) -> str:
    try:
        checksum = f"sha256 {hashlib.sha256(config.read_bytes()).hexdigest()}"
    except OSError:
        checksum = "no longer there"
    return f"config {config.name}: {checksum}"


def _data_lines(manifest: Mapping[str, Any]) -> list[str]:
    lines = []
    for name, data in manifest["datasets"].items():
        annotations, pictures = data.get("annotations"), data.get("pictures")
        if annotations:
            lines.append(f"{name}: {annotations['file']}, sha256 {annotations['sha256']}")
        if pictures:
            lines.append(f"{name}: {pictures['count']} pictures, digest {pictures['digest']}")
        for role, function in (data.get("functions") or {}).items():
            lines.append(f"{name}: {role} function {function['path']}, code {function['code']}")
    return lines


def _model_lines(manifest: Mapping[str, Any]) -> list[str]:
    entry = (manifest["config"].get("model") or {}).get(manifest["model"]) or {}
    lines = [f"model {manifest['model']}: {entry.get('imp_type')}, {entry.get('model_path')}"]
    environment = manifest["asking"].get("environment") or {}
    needed = [name for name, value in environment.items() if value is True]
    return lines + ([f"set in the environment: {', '.join(needed)}"] if needed else [])


def _notes(asking: Mapping[str, Any]) -> list[str]:
    notes = ["the exact versions are listed in asking.versions; other ones can change answers"]
    git = asking.get("git") or {}
    if git.get("dirty"):
        notes.append(
            "the project's files had uncommitted changes (asking.git.diff_sha256 is the hash of "
            "`git diff HEAD`); the commit alone is not what ran"
        )
    if asking.get("from") == "log":
        notes.append("the run did not live to write this file; the facts are those of its log")
    return notes

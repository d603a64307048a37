"""How to run a run again: commands, and the inputs that must be the same."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from utils.runs.surroundings import SCORE_VARIABLES


def command_line(arguments: Sequence[str]) -> str:
    """The command as it can be pasted."""
    return shlex.join(["python", "evaluate.py", *map(str, arguments)])


def reproduce(manifest: Mapping[str, Any], config_name: str) -> dict[str, Any]:
    """What a second run needs.

    Args:
        manifest: without this section.
        config_name: of the config file, for an asking that has not noted its own.

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
        "inputs": [
            _config_line(asking, config_name),
            *_data_lines(manifest),
            *_model_lines(manifest),
        ],
        "notes": _notes(asking),
    }


def _config_line(asking: Mapping[str, Any], name: str) -> str:
    known = asking.get("config_file") or {}
    if known.get("sha256"):
        return f"config {known['name']}: sha256 {known['sha256']}"
    return f"config {known.get('name', name)}: as it was then, see config in this file"


def _data_lines(manifest: Mapping[str, Any]) -> list[str]:
    lines = []
    for name, data in manifest["datasets"].items():
        annotations, pictures = data.get("annotations"), data.get("pictures")
        if annotations and "sha256" in annotations:
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
    if git.get("not_in_commit"):
        notes.append(
            f"not in the commit: {', '.join(git['not_in_commit'])}; keep these files with the "
            "results, their checksums are among the inputs"
        )
    if asking.get("from") == "log":
        notes.append("the run did not live to write this file; the facts are those of its log")
    return notes

"""`--model-glob '/ckpts/step-*'`: a model entry for each checkpoint that a pattern finds."""

from __future__ import annotations

import glob
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from utils.geometry.images import expand_home

OPTION = "--model-glob"
ENDPOINTS = ("openai", "api", "custom")  # types of models that are no checkpoints


def natural_key(text: str) -> list[tuple[int, str]]:
    """Sorts texts with their numbers as numbers: step-900 before step-1000."""
    parts = re.split(r"(\d+)", text)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def enter_checkpoints(config: Any, pattern: str, selected: Sequence[str]) -> list[str]:
    """Put an entry for each checkpoint in the place of the model entry; return what is wrong.

    Args:
        config: the plain config, changed in place.
        pattern: of the folders of checkpoints, as a shell reads it; `**` is any number of folders.
        selected: the names of `--model`; of several entries, the one whose settings all share.
    """
    entries = config.get("model") if isinstance(config, dict) else None
    if not isinstance(entries, dict) or not entries:
        return []  # reported when the config is read
    names = [name for name in entries if name in selected] if selected else [*entries]
    if len(names) != 1:
        what = f"--model names {', '.join(selected)}" if selected else "the config has several"
        return [
            f"{OPTION} needs one model entry, because all checkpoints share its settings, but "
            f"{what}. Name one of {', '.join(entries)}, as in --model {next(iter(entries))}"
        ]
    [name] = names
    entry = entries[name]
    if isinstance(entry, Mapping) and entry.get("imp_type") in ENDPOINTS:
        return [
            f'{OPTION} is about checkpoints, but model "{name}" has "imp_type": '
            f'"{entry["imp_type"]}"; expected "transformers" or "vllm"'
        ]
    folders = _folders(pattern)
    if not folders:
        return [f"{OPTION} {pattern}: no folder has such a name"]
    config["model"] = {
        f"{name}-{label}": {**entry, "model_path": folder} if isinstance(entry, dict) else entry
        for label, folder in folders.items()
    }
    return []


def _folders(pattern: str) -> dict[str, str]:
    """The folders that a pattern finds, in natural order, by what sets their paths apart."""
    full_pattern = str(expand_home(pattern))
    matches = glob.glob(full_pattern, recursive=True)  # noqa: PTH207 (Path's takes no whole path)
    paths = sorted((path for path in matches if Path(path).is_dir()), key=natural_key)
    start = re.split(r"[*?[]", full_pattern)[0].rpartition("/")[0]  # what all paths begin with
    return {path.removeprefix(start).strip("/").replace("/", "-"): path for path in paths}

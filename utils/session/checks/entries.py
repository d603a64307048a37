"""The whole entry of a model with a recipe, and where each of its values came from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from utils.config.recipes import values_in
from utils.config.text import key_path
from utils.coordinates import PIXEL_LIMITS
from utils.session.evaluation import Evaluation


def entry_lines(evaluation: Evaluation) -> list[str]:
    """The entry of the model, line by line; none where it has no recipe."""
    filled_in = evaluation.recipe
    if filled_in is None:
        return []
    recipe = filled_in.recipe
    entry = evaluation.shown_entry
    rows = []
    for path, value in values_in(entry):
        if path in filled_in.from_recipe:
            rows.append((key_path(*path), json.dumps(value, ensure_ascii=False), "recipe"))
        elif _has(filled_in.entry, path):
            rows.append((key_path(*path), json.dumps(value, ensure_ascii=False), "config"))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    verified = f"; agrees with its authors: {recipe.verified}" if recipe.verified else ""
    lines = [f"recipe {entry['recipe']}: {recipe.family}{verified}"]
    for key, value, source in rows:
        lines.append(f"  {key:{widths[0]}}  {value:{widths[1]}}  {source}")
    kwargs = entry["kwargs"]
    if entry["imp_type"] == "openai" and kwargs.get("max_pixels"):
        limits = json.dumps({key: kwargs[key] for key in PIXEL_LIMITS if kwargs.get(key)})
        lines.append(
            "  the server may resize images to its own limits, which the program cannot see; "
            f"start vLLM with --mm-processor-kwargs '{limits}'"
        )
    return [*lines, f"  {recipe.note}"] if recipe.note else lines


def _has(entry: Mapping[str, Any], path: Sequence[str]) -> bool:
    """Whether an entry sets the value at a key path; a key that is left out has a default."""
    inner: Any = entry
    for key in path:
        if not isinstance(inner, Mapping) or key not in inner:
            return False
        inner = inner[key]
    return True

"""Recipes: models ready to run, one small file each; `docs/recipes.md` has the table."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from models.recipes.base import Recipe


def all_recipes() -> dict[str, Recipe]:
    """Return every recipe by the name of its module, in alphabetical order."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return {name: import_module(f"{__name__}.{name}").RECIPE for name in names if name != "base"}

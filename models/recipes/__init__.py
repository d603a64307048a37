"""Recipes: models ready to run, one small file each; `docs/recipes.md` has the table."""

from __future__ import annotations

from importlib import import_module

from models.recipes.base import Recipe
from utils.config.recipes import recipe_names


def all_recipes() -> dict[str, Recipe]:
    """Return every recipe by the name of its module, in alphabetical order."""
    return {name: import_module(f"{__name__}.{name}").RECIPE for name in recipe_names()}


def table() -> list[str]:
    """Return every recipe for people: family, hub ids, frame, levels, what was verified."""
    lines = []
    for name, recipe in all_recipes().items():
        condition = ", with a class of yours" if recipe.needs_class else ""
        agent = "; L3, L4" if recipe.agent else ""
        facts = {
            "hub": ", ".join(recipe.hub_ids) or "an API",
            "numbers": recipe.frame,
            "levels": f"L2 and other grounding data sets{agent}{condition}",
            "verified": recipe.verified,
        }
        lines += [f"{name}: {recipe.family}"]
        lines += [f"    {label:9} {text}" for label, text in facts.items()]
    use = '"my-model": {"recipe": "NAME", "model_path": "http://127.0.0.1:8000/v1?model=..."}'
    return [*lines, "", f"In a config: {use}", "More of each: docs/recipes.md"]

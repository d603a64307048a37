"""Recipes: models ready to run, one small file each; `docs/recipes.md` has the table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import cast

from models.recipes.base import Agent, PromptForm, Recipe, as_path, as_prompt
from utils.config.recipes import recipe_at, recipe_names
from utils.coordinates import format_size
from utils.datasets.published import with_newer
from utils.import_utils import search_beside
from utils.program import EVALUATE
from utils.protocol import L2_NAME
from utils.text import format_percent

EXAMPLE_WH = (1920, 1080)
_TYPED = f"{EVALUATE} --recipe NAME --endpoint http://127.0.0.1:8000/v1 --data L2"
_USE = '"my-model": {"recipe": "NAME", "model_path": "http://127.0.0.1:8000/v1?model=..."}'


def all_recipes() -> dict[str, Recipe]:
    """Every recipe by the name of its module, in alphabetical order."""
    return {name: import_module(f"{__name__}.{name}").RECIPE for name in recipe_names()}


def table() -> list[str]:
    """All recipes for people: family, hub ids, frame, levels, what was verified."""
    lines = []
    for name, recipe in all_recipes().items():
        lines += _head(name, recipe)
    more = f"All about one of them: {EVALUATE} --recipes NAME"
    return [*lines, "", f"In a config: {_USE}", f"Without one: {_TYPED}", more]


def shown(names: Sequence[str]) -> list[str]:
    """All about some recipes for people: prompts, settings, parse functions, published figures.

    Raises:
        UserError: there is no recipe of that name.
    """
    search_beside(Path("config.json"))  # as a run from the current folder does
    recipes = [(name, *recipe_at(name)) for name in names]
    lines = []
    for name, module, record in recipes:
        recipe = cast("Recipe", record)
        lines += [*_head(name, recipe), *_facts(module, recipe), *_figures(recipe)]
        for variant, form in recipe.prompts.items():
            lines += [f"    prompt    {variant}, of an image of {format_size(EXAMPLE_WH)}:"]
            lines += [f"      {line}" for line in _prompt_lines(form)]
        lines.append("")
    return [*lines, f"In a config: {_USE}", f"Without one: {_TYPED}"]


def _head(name: str, recipe: Recipe) -> list[str]:
    condition = ", with a class of yours" if recipe.needs_class else ""
    forms = [
        "L2 and other grounding data sets" if recipe.has_grounding else "",
        "L3, L4" if recipe.agent else "",
        "recorded steps" if recipe.steps else "",
    ]
    facts = {
        "hub": ", ".join(recipe.hub_ids) or "an API",
        "numbers": recipe.frame,
        "levels": "; ".join(filter(None, forms)) + condition,
        "verified": recipe.verified,
    }
    return [f"{name}: {recipe.family}", *(_fact(label, text) for label, text in facts.items())]


def _fact(label: str, text: str) -> str:
    return f"    {label:9} {text}".rstrip()


def _facts(module: str, recipe: Recipe) -> Iterator[str]:
    """Yield what decides the answers besides the prompt."""
    yield _fact("source", recipe.source)
    if recipe.note:
        yield _fact("note", recipe.note)
    if recipe.limits:
        low, high, factor = recipe.limits.min_pixels, recipe.limits.max_pixels, recipe.limits.factor
        yield _fact("images", f"{low:,} to {high:,} pixels, sides in steps of {factor}")
    if recipe.resize:
        yield _fact("resize", json.dumps([dict(step) for step in recipe.resize]))
    settings = {**recipe.generate_cfg}
    if recipe.chat_template:
        settings["chat_template"] = dict(recipe.chat_template)
    yield _fact("settings", json.dumps(settings))
    if recipe.parsers:
        yield _fact("read by", f"{module}.{recipe.grounding_parser}")
    names = {id(value): name for name, value in vars(import_module(module)).items()}
    for code, parser in recipe.parsers.items():
        yield _fact("", f"{code}: {module}.{names.get(id(parser.parse), '?')}")
    if recipe.zoom:
        yield _fact(
            "zoom", f"{json.dumps(recipe.zoom.as_settings())}, {module}.{recipe.zoom_parser}"
        )
    if recipe.agent:
        yield from _facts_of_agent(recipe.agent)
    if recipe.steps:
        steps = recipe.steps
        note = f" ({steps.note})" if steps.note else ""
        functions = (as_path(module, name) for name in (steps.prompt, steps.parse))
        yield _fact("steps", f"{', '.join(functions)}; history: {steps.history}{note}")
        own_settings = dict(steps.generate_cfg or recipe.generate_cfg)
        yield _fact("", f"{json.dumps(own_settings)}; {steps.source}")


def _facts_of_agent(agent: Agent) -> Iterator[str]:
    note = f" ({agent.note})" if agent.note else ""
    yield _fact("agent", f"{agent.prompt}, {agent.parse}{note}")
    yield _fact("", f"{json.dumps(dict(agent.generate_cfg))}; {agent.source}")
    for code, dotted in {**agent.prompts, **agent.parsers}.items():
        if dotted not in (agent.prompt, agent.parse):
            yield _fact("", f"{code}: {dotted}")
    if agent.verified:
        yield _fact("", f"verified: {agent.verified}")


def _figures(recipe: Recipe) -> Iterator[str]:
    """Yield the published figures, each with its source."""
    figures = with_newer(recipe.figures, recipe.hub_ids)
    if not figures:
        return
    yield "    published figures, in percent:"
    tables = {L2_NAME: "MMBench-GUI L2"}
    names = [f"{figure.model}, {tables.get(figure.table, figure.table)}" for figure in figures]
    width = max(map(len, names))
    for name, figure in zip(names, figures, strict=True):
        facts = [figure.source, figure.average or "average not stated", figure.note]
        facts.append("" if figure.protocol == "single" else figure.protocol)
        yield f"      {name:{width}}  {format_percent(figure.value):>6}  " + ", ".join(
            filter(None, facts)
        )


def _prompt_lines(form: PromptForm) -> Iterator[str]:
    """Yield a prompt as `--check` shows it, with INSTRUCTION for that of a sample."""
    named_wh = form.named_wh(EXAMPLE_WH, {})
    for message in as_prompt(form.messages("INSTRUCTION", named_wh), "IMAGE"):
        text = "" if message["type"] == "image" else message["value"]
        yield f"[{message['role']}, {message['type']}] {text}".rstrip().replace(
            "\n", "\n          "
        )
    if form.prefix:
        yield f"[assistant, text] {form.prefix}"
    if form.tools:
        yield f"tools: {json.dumps([dict(tool) for tool in form.tools])}"

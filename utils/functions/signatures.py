"""How the user's functions are called, and whether a given one can be called that way.

prompt                     f(line, dataset)
preprocess, postprocess    f(x, model, processor, **kwargs)
parse                      f(response, meta), see `parse_caller`
custom class               Class() or Class(**kwargs), then
                           .generate(message, dataset_name=..., **generate_cfg)
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from utils.contracts import ParseFunction
from utils.errors import UserError

Kind = Literal["prompt", "preprocess", "postprocess", "parse", "custom-class"]
POSITIONAL: Mapping[str, tuple[str, ...]] = {
    "prompt": ("line", "dataset"),
    "preprocess": ("message", "model", "processor"),
    "postprocess": ("outputs", "model", "processor"),
}
KWARGS_READ = (
    "system_prompt", "img_size", "img_detail", "image_format", "wire_format", "min_pixels",
    "max_pixels", "timeout_s", "serve_timeout_s",
)  # fmt: skip
"""Keys of the config's `kwargs` block that the program itself reads."""


@dataclass(frozen=True, slots=True)
class FunctionRef:
    """A place in a config that names a function or a class.

    Attributes:
        source: the config file, as the user gave it.
        key_path: the key in it, e.g. `data.GUIElementGrounding.parse_function`.
        keywords: names of the keyword arguments it will get.
        init_keywords: of a custom class, the names in its `kwargs` block.
    """

    source: str
    key_path: str
    dotted: str
    kind: Kind
    local: bool = False
    keywords: tuple[str, ...] = ()
    init_keywords: tuple[str, ...] = ()


FORMS: dict[str, Callable[..., Any]] = {
    "by position": lambda target, response, meta: target(response, meta),
    "by keyword": lambda target, response, meta: target(response, meta=meta),
    "alone": lambda target, response, meta: target(response),
}
"""How a parse function may take `meta`."""


def parse_caller(function: Callable[..., Any]) -> ParseFunction:
    """Decides once how a parse function is called.

    `meta` goes by keyword where a parameter has that name, else by position; a function of one
    parameter gets the response alone.

    Raises:
        UserError: the function can be called in none of these ways.
    """
    signature = _signature(function)
    parameters = list(signature.parameters.values()) if signature else []
    meta = next((p for p in parameters if p.name == "meta"), None)
    forms = list(FORMS)
    if len(parameters) == 1 and "*" not in str(parameters[0]):
        forms = ["alone"]
    elif meta and meta.kind not in (meta.POSITIONAL_ONLY, meta.VAR_POSITIONAL):
        forms = ["by keyword"]
    for form in forms:
        try:
            FORMS[form](signature.bind if signature else print, "", "")
        except TypeError:
            continue
        return functools.partial(FORMS[form], function)
    reason = _mismatch(signature, ("", ""), ())
    if meta and parameters[0] is meta:
        reason = f"is defined as {_short(signature)}: the reply comes first, meta second"
    raise UserError(f"{_name_of(function)} is called as f(response, meta) but {reason}")


def custom_arguments(cls: Callable[..., Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """What a custom class is built with: the `kwargs` block, or nothing if it takes nothing.

    Keys that the program itself reads (`system_prompt`, ...) are left out where the class does not
    ask for them; any other key that it does not take is an error.

    Raises:
        UserError: it cannot be built with that.
    """
    signature = _signature(cls)
    taken = dict(kwargs)
    if signature and not any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
        taken = {
            name: value
            for name, value in (kwargs if signature.parameters else {}).items()
            if name in signature.parameters or name not in KWARGS_READ
        }
    if reason := _mismatch(signature, (), taken):
        raise UserError(f"{_name_of(cls)} is built with the kwargs block, but {reason}")
    return taken


def signature_problem(ref: FunctionRef, target: Callable[..., Any]) -> str | None:
    """Why what a config names cannot be called as it will be; None if it can."""
    if ref.kind == "custom-class":
        return _class_problem(ref, target)
    if inspect.isclass(target):
        return f"{ref.dotted} is a class; name a function, or a static method of the class"
    inner = target.func if isinstance(target, functools.partial) else target
    body = inner if inspect.isroutine(inner) else type(inner).__call__
    if inspect.iscoroutinefunction(body) or inspect.isasyncgenfunction(body):
        return f"{ref.dotted} is an async function; it is called without await, write a plain def"
    if inspect.isgeneratorfunction(body):
        return f"{ref.dotted} is a generator; it must return its result, not yield"
    if ref.kind == "parse":
        try:
            parse_caller(target)
        except UserError as error:
            return str(error)
        return None
    positional = POSITIONAL[ref.kind]
    reason = _mismatch(_signature(target), positional, ref.keywords)
    form = ", ".join((*positional, "**kwargs") if ref.kind != "prompt" else positional)
    return f"{ref.dotted} is called as f({form}) but {reason}" if reason else None


def _class_problem(ref: FunctionRef, target: Callable[..., Any]) -> str | None:
    if not inspect.isclass(target):
        return f"{ref.dotted} is no class; imp_type custom needs a class with a generate method"
    if inspect.isabstract(target):
        lacking = ", ".join(sorted(getattr(target, "__abstractmethods__", ())))
        return f"{ref.dotted} is abstract; it lacks {lacking}"
    try:
        custom_arguments(target, dict.fromkeys(ref.init_keywords))
    except UserError as error:
        return str(error)
    generate = getattr(target, "generate", None)
    if not callable(generate):
        return f"{ref.dotted} has no method generate(message, *, dataset_name, **generate_cfg)"
    if inspect.iscoroutinefunction(generate):
        return f"{ref.dotted}.generate is async; it is called without await, write a plain def"
    is_bound = isinstance(inspect.getattr_static(target, "generate"), (staticmethod, classmethod))
    positional = ("message",) if is_bound else ("self", "message")
    keywords = ("dataset_name", *ref.keywords)
    reason = _mismatch(_signature(generate), positional, keywords)
    form = ", ".join(("message", *(f"{keyword}=..." for keyword in keywords)))
    return f"{ref.dotted}.generate is called as generate({form}) but {reason}" if reason else None


def _signature(target: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(target)
    except (TypeError, ValueError):  # builtins do not tell; calling them will
        return None


def _mismatch(
    signature: inspect.Signature | None, positional: Iterable[str], keywords: Iterable[str]
) -> str:
    """`is defined as (line): too many ...` where a call does not fit; nothing where it does."""
    try:
        if signature is not None:
            signature.bind(*positional, **dict.fromkeys(keywords))
        return ""
    except TypeError as error:
        advice = ""
        if "unexpected keyword" in str(error):
            advice = "; add **kwargs to its parameters"
        elif "multiple values" in str(error):
            advice = "; the config has a key of that name, too: rename one of them"
        return f"is defined as {_short(signature)}: {error}{advice}"


def _short(signature: inspect.Signature | None) -> str:
    """`(line, dataset, *, limit)`: without annotations and defaults, which can be long."""
    shown = [
        parameter.replace(annotation=parameter.empty, default=parameter.empty)
        for parameter in (signature.parameters.values() if signature else ())
    ]
    return str(inspect.Signature(shown))


def _name_of(function: Callable[..., Any]) -> str:
    inner = function.func if isinstance(function, functools.partial) else function
    name = getattr(inner, "__qualname__", type(inner).__name__)
    return f"{inner.__module__}.{name}"

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

from utils.config.rules import KWARGS_READ
from utils.errors import UserError, listed

Kind = Literal["prompt", "preprocess", "postprocess", "parse", "custom-class"]
ParseCall = Callable[[str, Mapping[str, Any]], Any]

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_FORMS: dict[str, tuple[str, ...]] = {
    "prompt": ("line", "dataset"),
    "preprocess": ("message", "model", "processor"),
    "postprocess": ("outputs", "model", "processor"),
}


@dataclass(frozen=True, slots=True)
class FunctionRef:
    """A place in a config that names a function or a class.

    Attributes:
        source: the config file, as the user gave it.
        key_path: the key in it, e.g. `data.GUIElementGrounding.parse_function`.
        dotted: the dotted path.
        kind: how the function is called.
        local: whether it works beside a model in this process rather than for a server.
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


def parse_caller(function: Callable[..., Any]) -> ParseCall:
    """Decides once how a parse function is called.

    `meta` goes by keyword where a parameter has that name, else by position; a function of one
    parameter gets the response alone.

    Raises:
        UserError: the function can be called in none of these ways.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a builtin without a signature
        return lambda response, meta: function(response, meta)
    parameters = list(signature.parameters.values())
    if len(parameters) == 1 and parameters[0].kind in _POSITIONAL:
        return lambda response, meta: function(response)
    named = signature.parameters.get("meta")
    by_keyword = named is not None and named.kind not in (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.VAR_POSITIONAL,
    )
    if by_keyword and _binds(signature, ("",), ("meta",)):
        return lambda response, meta: function(response, meta=meta)
    if not by_keyword and _binds(signature, ("", ""), ()):
        return lambda response, meta: function(response, meta)
    if _binds(signature, ("",), ("meta",)):  # f(response, **kwargs)
        return lambda response, meta: function(response, meta=meta)
    if not by_keyword and _binds(signature, ("",), ()):  # f(response, *, strict=False)
        return lambda response, meta: function(response)
    reason = _bind_error(signature, ("", ""), ())
    if by_keyword and parameters[0].name == "meta":
        reason = "the reply comes first, meta second"
    raise UserError(
        f"{_name_of(function)} is called as f(response, meta) but is defined as "
        f"{_short(signature)}: {reason}"
    )


def call_parse(function: Callable[..., Any], response: str, meta: Mapping[str, Any]) -> Any:
    """Calls a parse function in the form it wants; for loops, keep `parse_caller(function)`."""
    return parse_caller(function)(response, meta)


def custom_arguments(cls: Callable[..., Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """What a custom class is built with: the `kwargs` block, or nothing if it takes nothing.

    Keys that the program itself reads (`system_prompt`, ...) are left out where the class does not
    ask for them; any other key that it does not take is an error.

    Raises:
        UserError: it cannot be built with that.
    """
    taken = _init_names(cls, tuple(kwargs))
    if problem := _init_problem(cls, taken):
        raise UserError(f"{_name_of(cls)} {problem}")
    return {name: kwargs[name] for name in taken}


def signature_problem(ref: FunctionRef, target: Callable[..., Any]) -> str | None:
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
    return _call_problem(ref.dotted, target, _FORMS[ref.kind], ref.keywords)


def _call_problem(
    name: str, function: Callable[..., Any], positional: tuple[str, ...], keywords: tuple[str, ...]
) -> str | None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a builtin that does not tell; the call itself will
        return None
    form = ", ".join(positional)
    if not _binds(signature, positional, keywords):
        open_ended = bool(keywords) or positional is not _FORMS["prompt"]
        shown = f"f({form}, **kwargs)" if open_ended else f"f({form})"
        called = f"{name} is called as {shown} but is defined as {_short(signature)}"
        for keyword in keywords:
            taken = signature.parameters.get(keyword)
            if (
                taken is not None
                and taken in list(signature.parameters.values())[: len(positional)]
            ):
                return f'{called}: "{keyword}" is a key of the config too; rename one of them'
        without = tuple(word for word in keywords if word not in signature.parameters)
        if _binds(signature, positional, tuple(set(keywords) - set(without))):
            return f'{called}: it does not take "{without[0]}"; add **kwargs to its parameters'
        return f"{called}: {_bind_error(signature, positional, keywords)}"
    return None


def _class_problem(ref: FunctionRef, target: Callable[..., Any]) -> str | None:
    if not inspect.isclass(target):
        return f"{ref.dotted} is no class; imp_type custom needs a class with a generate method"
    if inspect.isabstract(target):
        lacking = sorted(getattr(target, "__abstractmethods__", ()))
        return f"{ref.dotted} is abstract; it lacks {listed(lacking)}"
    if problem := _init_problem(target, _init_names(target, ref.init_keywords)):
        return f"{ref.dotted} {problem}"
    generate = getattr(target, "generate", None)
    if not callable(generate):
        return f"{ref.dotted} has no method generate(message, *, dataset_name, **generate_cfg)"
    if inspect.iscoroutinefunction(generate):
        return f"{ref.dotted}.generate is async; it is called without await, write a plain def"
    is_bound = isinstance(inspect.getattr_static(target, "generate"), (staticmethod, classmethod))
    positional = ("message",) if is_bound else ("self", "message")
    try:
        signature = inspect.signature(generate)
    except (TypeError, ValueError):
        return None
    keywords = ("dataset_name", *ref.keywords)
    if _binds(signature, positional, keywords):
        return None
    form = ", ".join(("message", *(f"{keyword}=..." for keyword in keywords)))
    return (
        f"{ref.dotted}.generate is called as generate({form}) "
        f"but is defined as {_short(signature)}: {_bind_error(signature, positional, keywords)}"
    )


def _init_names(cls: Callable[..., Any], keywords: tuple[str, ...]) -> tuple[str, ...]:
    """The keys of the `kwargs` block that go to the constructor."""
    try:
        parameters = inspect.signature(cls).parameters
    except (TypeError, ValueError):  # builtins and C classes do not tell
        return keywords
    if not parameters:
        return ()
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()):
        return keywords
    return tuple(word for word in keywords if word in parameters or word not in KWARGS_READ)


def _init_problem(cls: Callable[..., Any], keywords: tuple[str, ...]) -> str | None:
    try:
        signature = inspect.signature(cls)
    except (TypeError, ValueError):
        return None
    if reason := _bind_error(signature, (), keywords):
        return f"is built with the kwargs block, but takes {_short(signature)}: {reason}"
    return None


def _binds(
    signature: inspect.Signature, positional: Iterable[str], keywords: Iterable[str]
) -> bool:
    return not _bind_error(signature, positional, keywords)


def _bind_error(
    signature: inspect.Signature, positional: Iterable[str], keywords: Iterable[str]
) -> str:
    try:
        signature.bind(*positional, **dict.fromkeys(keywords))
    except TypeError as error:
        return str(error)
    return ""


def _short(signature: inspect.Signature) -> str:
    """`(line, dataset, *, limit=...)`: no annotations, and no defaults, which can be long."""
    shown = [
        parameter.replace(annotation=parameter.empty, default=parameter.empty)
        if parameter.default is parameter.empty
        else parameter.replace(annotation=parameter.empty, default=...)
        for parameter in signature.parameters.values()
    ]
    bare = signature.replace(parameters=shown, return_annotation=signature.empty)
    return str(bare).replace("=Ellipsis", "=...")


def _name_of(function: Callable[..., Any]) -> str:
    inner = function.func if isinstance(function, functools.partial) else function
    module, name = getattr(inner, "__module__", ""), getattr(inner, "__qualname__", "")
    return f"{module}.{name}" if module and name else type(function).__name__

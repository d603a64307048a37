"""The calling forms of the user's functions, and the check of a given function.

prompt                     f(line, dataset), or f(line, dataset, **settings): see `takes_settings`
preprocess, postprocess    f(x, model, processor, **kwargs)
parse                      f(response, meta), see `parse_caller`
audit                      f(columns, settings), see `utils.analysis.audits`
custom class               Class() or Class(**kwargs), then
                           .generate(message, dataset_name=..., **generate_cfg)
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from utils.contracts import KWARGS_READ, ParseFunction
from utils.errors import UserError
from utils.functions.calling import call_user_function
from utils.functions.names import dotted_name
from utils.text import did_you_mean

Kind = Literal[
    "prompt",
    "preprocess",
    "postprocess",
    "parse",
    "follow_up",
    "audit",
    "rule",
    "custom-class",
    "environment",
    "benchmark",
]
POSITIONAL: Mapping[str, tuple[str, ...]] = {
    "prompt": ("line", "dataset"),
    "follow_up": ("line", "responses"),
    "audit": ("columns", "settings"),
    "rule": ("action", "truth", "size"),
    "preprocess": ("message", "model", "processor"),
    "postprocess": ("outputs", "model", "processor"),
    "custom-class": ("message",),
}
ENVIRONMENT = {
    "tasks": "level, seeds",
    "reset": "self, task",
    "step": "self, action",
    "evaluate": "self",
    "close": "self",
}
"""Methods of a class in which tasks are done."""


@dataclass(frozen=True, slots=True)
class FunctionRef:
    """A place in a config that names a function or a class."""

    source: str  # the config file, as the user gave it
    key_path: str  # `data.<name>.parse_function`
    dotted: str
    kind: Kind
    keywords: tuple[str, ...] = ()  # names of the keyword arguments that it will get
    init_keywords: tuple[str, ...] = ()  # of a custom class: the names in its `kwargs` block


def parse_caller(function: Callable[..., Any]) -> ParseFunction:
    """Return a user's parse function in one calling form; UserError where it has none.

    `meta` goes by keyword where a parameter has that name; a lone parameter is the response.
    """
    signature = _signature(function)
    forms: list[tuple[ParseFunction, list[str], list[str]]] = [
        (lambda response, meta: function(response, meta), ["", ""], []),
        (lambda response, meta: function(response, meta=meta), [""], ["meta"]),
        (lambda response, meta: function(response), [""], []),
    ]
    if signature and "meta" in signature.parameters:
        del forms[0]
    reasons = [_mismatch(signature, *form) for _, *form in forms]
    if all(reasons):
        raise UserError(f"{dotted_name(function)} is called as f(response, meta) but {reasons[0]}")
    return functools.partial(call_user_function, "parse", forms[reasons.index("")][0])


def takes_settings(function: Callable[..., Any]) -> bool:
    """Whether a function has `**settings`; a prompt function then gets the `kwargs` as settings."""
    signature = _signature(function)
    parameters = signature.parameters.values() if signature else ()
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)


def custom_arguments(cls: Callable[..., Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a custom class: the `kwargs` block, or nothing if it takes nothing.

    Keys that the program itself reads (`system_prompt`, ...) are left out where the class does not
    ask for them; any other key that it does not take is a UserError.
    """
    signature = _signature(cls)
    taken = dict(kwargs)
    if signature and not takes_settings(cls):
        parameters = signature.parameters
        left_out = {*KWARGS_READ} - parameters.keys() if parameters else kwargs.keys()
        taken = {name: value for name, value in kwargs.items() if name not in left_out}
    if reason := _mismatch(signature, (), taken):
        raise UserError(f"{dotted_name(cls)} is built with the kwargs block, but {reason}")
    return taken


def takes(function: Callable[..., Any], name: str) -> bool:
    """Whether a function has a parameter of this name."""
    signature = _signature(function)
    return signature is not None and name in signature.parameters


def taken_of(function: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of some keyword arguments that a function takes."""
    if takes_settings(function):
        return dict(arguments)
    return {name: value for name, value in arguments.items() if takes(function, name)}


def _environment_problem(ref: FunctionRef, target: Callable[..., Any]) -> str | None:
    """The problem of a class for worlds: what it lacks, or an argument that it does not take."""
    missing = [name for name in ENVIRONMENT if not callable(getattr(target, name, None))]
    if missing:
        return f"{ref.dotted} has no {missing[0]}({ENVIRONMENT[missing[0]]})"
    reason = _mismatch(_signature(target), ("shots",), ref.init_keywords)
    if not reason:
        return None
    form = ", ".join(("shots", *(f"{name}=..." for name in ref.init_keywords)))
    return f"{ref.dotted} is made as f({form}), by environment_args, but {reason}"


def signature_problem(ref: FunctionRef, target: Callable[..., Any]) -> str | None:
    """The reason why what a config names cannot be called as it will be; None if it can."""
    name, keywords = ref.dotted, ref.keywords
    try:
        if ref.kind == "custom-class":
            target = _generate_of(name, target, ref.init_keywords)
            name, keywords = f"{name}.generate", ("dataset_name", *keywords)
        elif ref.kind == "environment":
            return _environment_problem(ref, target)
        elif ref.kind == "benchmark":
            return _benchmark_problem(name, target)
        elif inspect.isclass(target):
            return f"{name} is a class; name a function, or a static method of the class"
        if ref.kind == "parse":
            parse_caller(target)
            return None
    except UserError as error:
        return str(error)
    positional = POSITIONAL[ref.kind]
    reason = _mismatch(_signature(target), positional, keywords)
    form = ", ".join((*positional, *(f"{keyword}=..." for keyword in keywords)))
    return f"{name} is called as f({form}) but {reason}" if reason else None


def _benchmark_problem(name: str, target: Any) -> str | None:
    """The members that a benchmark of the user's needs and a class lacks."""
    if not inspect.isclass(target) or not hasattr(target, "judge_parsed"):
        return f"{name} is no class on benchmarks.tables.TableBenchmark (docs/own_benchmark.md)"
    needed = ["folder", "text_key", "system_prompt", "result_columns"]
    if hasattr(target, "labels_of"):
        needed.append("layout")
    missing = [attribute for attribute in needed if not hasattr(target, attribute)]
    missing += sorted(getattr(target, "__abstractmethods__", ()))
    if missing:
        return f"{name} does not define {', '.join(missing)} (docs/own_benchmark.md)"
    return _method_problem(name, target)


def _method_problem(name: str, cls: type) -> str | None:
    """The first method of a class that cannot be called like the method that it replaces."""
    for method_name, method in inspect.getmembers(cls, inspect.isfunction):
        replaced = next(
            vars(base)[method_name] for base in reversed(cls.__mro__) if method_name in vars(base)
        )
        replaced = getattr(replaced, "__func__", replaced)  # of a static method
        if method_name.startswith("_") or replaced is method or not inspect.isfunction(replaced):
            continue
        parameters = inspect.signature(replaced).parameters.values()
        positional = [
            parameter.name
            for parameter in parameters
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
            and parameter.default is parameter.empty
        ]
        if reason := _mismatch(_signature(method), positional, ()):
            form = ", ".join(parameter for parameter in positional if parameter != "self")
            return f"{name}.{method_name} is called as {method_name}({form}) but {reason}"
    return None


def _generate_of(name: str, cls: Any, init_keywords: tuple[str, ...]) -> Callable[..., Any]:
    """Return the method of a custom class, as an object of it has it."""
    if not inspect.isclass(cls):
        raise UserError(f"{name} is not a class; imp_type custom needs one with a generate method")
    custom_arguments(cls, dict.fromkeys(init_keywords))
    generate = getattr(cls, "generate", None)
    if not callable(generate):
        raise UserError(f"{name} has no method generate(message, *, dataset_name, **generate_cfg)")
    is_bound = isinstance(inspect.getattr_static(cls, "generate"), (staticmethod, classmethod))
    return generate if is_bound else functools.partial(generate, None)


def _signature(target: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(target)
    except (TypeError, ValueError):  # builtins do not tell; calling them will
        return None


def _mismatch(
    signature: inspect.Signature | None, positional: Iterable[str], keywords: Iterable[str]
) -> str:
    """Return `is defined as (line): too many ...` where a call does not fit; "" where it does."""
    if signature is None:
        return ""
    try:
        signature.bind(*positional, **dict.fromkeys(keywords))
        return ""
    except TypeError as error:
        reason = str(error)
    if "unexpected keyword" in reason:
        unknown = set(keywords) - set(signature.parameters)
        hints = (did_you_mean(word, signature.parameters) for word in sorted(unknown))
        reason += next(filter(None, hints), "; add **kwargs to its parameters")
    short = [  # annotations and defaults can be long
        parameter.replace(annotation=parameter.empty, default=parameter.empty)
        for parameter in signature.parameters.values()
    ]
    return f"is defined as {inspect.Signature(short)}: {reason}"

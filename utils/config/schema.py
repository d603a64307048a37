"""The typed sections of a config, and what pydantic finds wrong with them in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from utils.config import rules, serve_args
from utils.config.rules import Finding, is_whole, kind_of
from utils.contracts import DTYPES
from utils.errors import did_you_mean, listed

IMP_TYPES = ("openai", "api", "transformers", "custom", "vllm")

ImpType = Literal["openai", "transformers", "custom", "vllm"]


def _wrong(what: str) -> PydanticCustomError:
    return PydanticCustomError("plain", "{what}", {"what": what})


def _imp_type(value: Any) -> str:
    if problem := rules.choice_problem(value, IMP_TYPES):
        raise _wrong(problem)
    return "openai" if value == "api" else str(value)


def _batch_size(value: Any) -> int | str:
    if value == "auto" or (is_whole(value) and value >= 1):
        return value  # type: ignore[no-any-return]
    raise _wrong('must be a whole number of at least 1, or "auto"')


def _dtype(value: Any) -> str:
    name = value.removeprefix("torch.") if isinstance(value, str) else value
    if problem := rules.choice_problem(name, DTYPES):
        raise _wrong(problem)
    return str(name)


def _device_map(value: Any) -> str | int | dict[str, Any]:
    places = value.values() if isinstance(value, dict) else [value]
    if all(isinstance(place, str) or is_whole(place) for place in places):
        return value  # type: ignore[no-any-return]
    raise _wrong('must be a device like "auto", "cpu" or "cuda:0", or an object module → device')


def _serve_args(value: Any) -> list[str]:
    try:
        return serve_args.serve_words(value)
    except ValueError as error:
        raise _wrong(str(error)) from None


def _match_mode(value: Any) -> str:
    if value in ("exact_match", "exact_matching"):
        return "exact_matching"
    raise _wrong('must be "exact_match" (replies are compared as letters; there is no judge model)')


def _without_empty(value: Any) -> Any:
    """`""` and `null` stand for the benchmark's default prompt, as a whole or per data set."""
    if value == "":
        return {}
    if isinstance(value, dict):
        return {name: path for name, path in value.items() if path not in ("", None)}
    return value


FunctionPath = Annotated[str | None, BeforeValidator(lambda value: None if value == "" else value)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


SectionT = TypeVar("SectionT", bound=_Section)


class ModelEntry(_Section):
    """One model of the config. Absent functions are None: the default applies.

    Attributes:
        model_path: checkpoint folder or hub name; endpoint with its key; dotted path of a class.
        imp_type: "api" has become "openai", and so has any model whose path is a URL.
        custom_prompt: data set → dotted path, without the entries that stand for the default.
        kwargs: free; keys that the program reads are checked.
    """

    # What may hold a key stays out of repr(), which ends in tracebacks and logs.
    model_path: str = Field(repr=False)
    imp_type: Annotated[ImpType, PlainValidator(_imp_type)]
    generate_cfg: dict[str, Any] = Field(default_factory=dict, repr=False)
    generate_function: Annotated[
        str, BeforeValidator(lambda value: "generate" if value == "" else value)
    ] = "generate"
    preprocess_function: FunctionPath = None
    postprocess_function: FunctionPath = None
    custom_prompt: Annotated[dict[str, str], BeforeValidator(_without_empty)] = Field(
        default_factory=dict
    )
    kwargs: dict[str, Any] = Field(default_factory=dict, repr=False)
    device_map: Annotated[str | int | dict[str, Any] | None, PlainValidator(_device_map)] = None
    dtype: Annotated[str | None, PlainValidator(_dtype)] = None
    attn_implementation: str | None = None
    batch_size: Annotated[int | Literal["auto"], PlainValidator(_batch_size)] = 1
    serve_args: Annotated[list[str], PlainValidator(_serve_args)] = Field(
        default_factory=list, repr=False
    )
    model_identity: str | None = None


class DataEntry(_Section):
    """One data set of the config.

    Attributes:
        circular: L1 only: every rotation of a question's options is asked.
    """

    mode: str = "all"
    parse_function: FunctionPath = None
    match_mode: Annotated[Literal["exact_matching"], PlainValidator(_match_mode)] = "exact_matching"
    circular: bool = False


class RunConfig(_Section):
    """A config without problems.

    Attributes:
        path: the file, as it was given.
        model: by name, in file order.
        data: by data set name, in file order.
        warnings: what was odd but not wrong, one line each.
    """

    path: Path
    model: dict[str, ModelEntry]
    data: dict[str, DataEntry]
    warnings: tuple[str, ...] = ()


def validate(
    section: type[SectionT], entry: Mapping[str, Any]
) -> tuple[SectionT | None, list[Finding]]:
    """The typed section, or None and what is wrong with it, with key paths inside the section."""
    try:
        return section.model_validate(entry), []
    except ValidationError as error:
        known = tuple(section.model_fields)
        details = error.errors(include_url=False)
        return None, [(tuple(detail["loc"]), _in_words(detail, known)) for detail in details]


def _in_words(detail: ErrorDetails, known: tuple[str, ...]) -> str:
    """One finding of pydantic in the words of this program."""
    kind, place = detail["type"], detail["loc"]
    expected = {"string_type": "a text", "dict_type": "an object { }", "list_type": "a list",
                "bool_type": "true or false"}  # fmt: skip
    if kind in expected:
        return f"must be {expected[kind]}, not {kind_of(detail['input'])}"
    if kind == "extra_forbidden":
        if "model_path" in known:
            return rules.unknown_key(str(place[-1]), known)
        return f"unknown key{did_you_mean(str(place[-1]), known) or f'; known are {listed(known)}'}"
    if kind == "missing" and place == ("imp_type",):
        return f"is missing; it must be one of {listed(IMP_TYPES)}"
    if kind == "missing":
        return "is missing"
    return detail["msg"] if kind == "plain" else "has a value that does not fit"

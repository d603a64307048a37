"""The sections of a config as types, one class for each kind of model, and their errors in words.

A field's description is what its value "must be".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from utils.config.recipes import TOKEN_LIMITS, EntryWithRecipe
from utils.config.text import KeyProblem, brief, key_path
from utils.contracts import KWARGS_READ
from utils.geometry.resizing import steps_of
from utils.sections import ConfigSection, DataSection, S
from utils.text import did_you_mean, listed, nearest

RESERVED_KWARGS = ("dataset_name", "input_length")

_COUNT = "a whole number"
SECRETS = 'a list of texts that are shown nowhere: ["${MY_KEY}"]'
PER_DATA_SET = ("custom_prompt", "parse_function", "follow_up")  # keys of a model entry
_TYPES = {
    "string_type": "a string",
    "string_unicode": "a string of valid characters",
    "dict_type": "an object { }",
    "bool_type": "true or false",
}
_ELSEWHERE = {
    **dict.fromkeys(KWARGS_READ, '"kwargs"'),
    **dict.fromkeys(("max_tokens", "max_new_tokens", "temperature", "top_p"), '"generate_cfg"'),
    **dict.fromkeys(("api_key", "base_url"), '"model_path": "base_url?api_key=...&model=..."'),
}
_OTHER_NAMES = {"prompt": "custom_prompt", "prompt_function": "custom_prompt"}  # people's, ours

Seconds = Annotated[float, Field(gt=0, description="a number of seconds greater than 0")]
Pixels = Annotated[
    int, Field(gt=0, description="a whole number of pixels (width times height) greater than 0")
]


class Kwargs(BaseModel):
    """The keys of the free `kwargs` block that the program reads; all others are the user's."""

    model_config = ConfigDict(strict=True, extra="ignore", defer_build=True)
    system_prompt: str | None = Field(
        None, description='"model_default", "benchmark_default" or a text of your own'
    )
    img_size: int = Field(
        -1,
        ge=-1,
        description="a whole number of pixels for the longer side, or -1 for the original size",
    )
    img_detail: Literal["auto", "low", "high", "original"] = "auto"
    image_format: Literal["original", "png", "jpeg"] = "original"
    jpeg_quality: int = Field(95, ge=1, le=100, description="a whole number from 1 to 100")
    wire_format: Literal["documented", "reference"] = "documented"
    min_pixels: Pixels = 1
    max_pixels: Pixels = 1
    resize: Any = None  # see utils.geometry.resizing
    timeout_s: Seconds = 1
    serve_timeout_s: Seconds = 1
    load: dict[str, Any] = {}  # of a checkpoint: arguments of from_pretrained
    chat_template: dict[str, Any] = {}  # likewise variables of the chat template


class ZoomEntry(ConfigSection):
    """A second look at a crop around the first point: `utils.geometry.zooming`."""

    ratio: Annotated[float, Field(gt=0, le=1)] = Field(
        description="the part of the width and height that is looked at again: 0.25"
    )
    resize_to: (
        Annotated[list[Annotated[int, Field(ge=1)]], Field(min_length=2, max_length=2)] | None
    ) = Field(None, description="width and height in pixels: [1920, 1080]")
    whole_per_mille: bool = False
    keep_size: bool = False
    cut_at_edge: bool = False


class _Model(ConfigSection):
    """Keys of every kind of model; those that may hold a secret stay out of repr()."""

    model_path: str = Field(repr=False)  # checkpoint; endpoint with its key; path of a class
    recipe: str | None = None  # by it the rest was filled in
    generate_cfg: dict[str, Any] = Field({}, repr=False)
    preprocess_function: str | None = None
    postprocess_function: str | None = None
    custom_prompt: dict[str, str] = Field({})
    parse_function: dict[str, str] = Field({})  # by data set, in place of the data set's
    follow_up: dict[str, str] = Field({})  # by data set: what is asked after a reply
    zoom: ZoomEntry | None = Field(
        None, description='an object { "ratio": 0.25 }, or true where the recipe has one'
    )
    kwargs: dict[str, Any] = Field({}, repr=False)
    secrets: list[str] = Field([], repr=False, description=SECRETS)  # read by `secrets_in`
    model_identity: str | None = None


class Api(_Model):
    """A model behind an OpenAI-style server; any model whose path is a URL."""

    imp_type: Literal["openai"]
    api: Literal["chat", "responses"] | None = Field(  # None: "chat"
        None, description='"chat" (/chat/completions) or "responses" (/responses)'
    )
    servers: str | list[str] | None = Field(  # a list: that of model_path
        None, repr=False, description="a file or folder with the addresses of servers"
    )
    servers_may_differ: bool = False


class Local(_Model):
    """A checkpoint that transformers runs in this process."""

    imp_type: Literal["transformers"]
    generate_function: str = "generate"
    device_map: str | int | Annotated[dict[str, str | int], Field(min_length=1)] | None = Field(
        None, description='a device like "auto", "cpu" or "cuda:0", or an object module → device'
    )
    dtype: Literal["auto", "float32", "bfloat16", "float16"] | None = None
    attn_implementation: str | None = None
    batch_size: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        1, description='a whole number of at least 1, or "auto"'
    )
    trust_remote_code: bool = False


class Vllm(_Model):
    """A checkpoint behind a vLLM server that the run starts."""

    imp_type: Literal["vllm"]
    serve_args: dict[str, Any] | list[Any] = Field(
        {},
        repr=False,
        description='an object {"max-num-seqs": 8, ...} or a list ["--max-num-seqs", "8", ...]',
    )
    replicas: Annotated[int, Field(ge=1)] | Literal["auto"] | None = Field(
        None, description='a number of servers of at least 1, or "auto": as many as GPUs allow'
    )
    trust_remote_code: bool = False


class Custom(_Model):
    """A class of the user's."""

    imp_type: Literal["custom"]
    preprocess_function: None = Field(None, description="left out: the class gets the messages")


class _AnyKind(Local, Vllm):
    """An entry whose kind is not known: its other mistakes are reported all the same."""

    imp_type: Literal["?"] = Field(  # type: ignore[assignment]
        description='one of "openai", "api", "transformers", "custom", "vllm" (or model_path '
        "http://...)"
    )


ModelEntry = Api | Local | Vllm | Custom
KINDS: dict[str, type[BaseModel]] = {
    "openai": Api,
    "transformers": Local,
    "vllm": Vllm,
    "custom": Custom,
    "": _AnyKind,
}


class JudgeEntry(ConfigSection):
    """The model that reads replies in which the parse function found no letter.

    `max_requests`: new requests of one run; `audit_samples`: replies with a letter that the judge
    reads as well, to see how far the two agree.
    """

    model: ModelEntry
    max_requests: Annotated[int, Field(ge=1)] = Field(1000, description=_COUNT)
    audit_samples: Annotated[int, Field(ge=0)] = Field(100, description=_COUNT)


@dataclass(frozen=True)
class RunConfig:
    """A config without problems: the file as it was given, models and data sets in its order."""

    path: Path
    model: Mapping[str, ModelEntry]
    data: Mapping[str, DataSection]
    recipes: Mapping[str, EntryWithRecipe] = field(default_factory=dict)  # by model

    def dump(self) -> dict[str, Any]:
        """Return all of it, defaults included, as in JSON."""
        sections = {"model": self.model, "data": self.data}
        return {"path": str(self.path)} | {
            key: {name: _without_secrets(entry) for name, entry in entries.items()}
            for key, entries in sections.items()
        }

    def parser_of(self, model: str, dataset: str) -> tuple[str | None, str]:
        """Return the dotted path of what reads replies (None: the default), and the key with it."""
        of_model = self.model[model].parse_function.get(dataset)
        if of_model:
            return of_model, key_path("model", model, "parse_function", dataset)
        return self.data[dataset].parse_function, key_path("data", dataset, "parse_function")


def name_problem(name: str) -> str:
    """Say why the name of a data set cannot be a part of file names; "" if it can."""
    if wrong := re.search(r"[/\\\x00-\x1f\x7f]", name):
        return f"the name has {wrong[0]!r}, but it is a part of file names; choose another name"
    if ending := re.search(r"_(samples|rotations|partial)$", name):
        return f'the name ends in "{ending[0]}", as other files of a run do; choose another name'
    return ""


def judge_of(entry: DataSection | None) -> JudgeEntry | None:
    """Return the model that reads replies to a data set, if it has one."""
    return getattr(entry, "judge", None)


def _without_secrets(entry: BaseModel) -> dict[str, Any]:
    """Return an entry as JSON; judge, repeats, labels, audits are left out where there are none."""
    dump = entry.model_dump(
        mode="json", exclude={"secrets": True, "judge": {"model": {"secrets": True}}}
    )
    if dump.get("judge", ...) is None:
        del dump["judge"]
    for key in ("servers", "servers_may_differ", "replicas"):
        if not dump.get(key, True):
            del dump[key]
    if dump.get("repeats") == 1:
        del dump["repeats"]
    if dump.get("only") == {}:
        del dump["only"]
    if dump.get("audits") == []:
        del dump["audits"]
    return dump


def model_entry(imp_type: str | None, raw: Mapping[str, Any]) -> tuple[Any, list[KeyProblem]]:
    """Return the typed entry of a model (None where it is wrong), and what is wrong with it."""
    entry = without_defaults(raw) | ({"imp_type": imp_type} if imp_type else {})
    for key in PER_DATA_SET:
        functions = entry.get(key)
        if isinstance(functions, dict):
            entry[key] = {k: v for k, v in functions.items() if v is not None and v != ""}
    typed, problems = section(KINDS[imp_type or ""], entry)
    if isinstance(entry.get("kwargs"), dict):
        problems += _kwargs_problems(entry["kwargs"])
        if imp_type in ("openai", "vllm"):
            problems += _of_checkpoints(entry["kwargs"])
    return typed if imp_type else None, problems


def token_limit_key(entry: Mapping[str, Any]) -> str:
    """Return the key path of the limit on a reply's tokens in a model entry, set or not."""
    generate_cfg = entry.get("generate_cfg") or {}
    blocks = {
        "generate_cfg": generate_cfg,
        "generate_cfg.extra_body": generate_cfg.get("extra_body"),
    }
    for path, block in blocks.items():
        if not isinstance(block, Mapping):
            continue
        for name in TOKEN_LIMITS:
            if name in block:
                return f"{path}.{name}"
    name = "max_new_tokens" if entry.get("imp_type") == "transformers" else "max_tokens"
    return f"generate_cfg.{name}"


def without_defaults(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return a section without what stands for a default: null, empty text for a function."""
    empty_too = ("_function", "custom_prompt")
    return {
        k: v for k, v in raw.items() if v is not None and (v != "" or not k.endswith(empty_too))
    }


def section(kind: type[S], entry: Mapping[str, Any]) -> tuple[S | None, list[KeyProblem]]:
    """Return the typed form of a section, None with what is wrong with it."""
    try:
        return kind.model_validate(entry), []
    except ValidationError as error:
        problems: dict[Any, str] = {}
        for detail in error.errors(include_url=False):
            # A value that may be of several types has an error for each; the key counts.
            depth = 2 if detail["loc"][0] in PER_DATA_SET else 1
            problems.setdefault(detail["loc"][:depth], _in_words(detail, kind, entry))
        return None, list(problems.items())


def _of_checkpoints(kwargs: Mapping[str, Any]) -> Iterator[KeyProblem]:
    """Yield keys of `kwargs` that have no effect on a server."""
    only = 'only for imp_type "transformers"'
    if "load" in kwargs:
        yield ("kwargs", "load"), f"{only}; leave it out (of vLLM: serve_args)"
    if "chat_template" in kwargs:
        yield (
            ("kwargs", "chat_template"),
            f"{only}; servers take generate_cfg.extra_body.chat_template_kwargs",
        )


def _kwargs_problems(kwargs: Mapping[str, Any]) -> Iterator[KeyProblem]:
    """Yield what is wrong with `kwargs`: what the program reads must fit, and be spelt right."""
    typed, problems = section(Kwargs, kwargs)
    for path, problem in problems:
        yield ("kwargs", *path), problem
    read_names = (*KWARGS_READ, *RESERVED_KWARGS)
    for name in kwargs:
        alike = [key for key in read_names if key[0] == name[:1].lower()]
        if name in RESERVED_KWARGS:
            yield ("kwargs", name), "the program sets this itself; leave it out"
        elif name not in read_names and (suggestion := nearest(name, alike, 0.85)):
            yield ("kwargs", name), f'unknown key; did you mean "{suggestion}"?'
    try:
        has_steps = bool(steps_of(kwargs))
    except ValueError as error:
        yield ("kwargs", "resize"), str(error)
    else:
        if has_steps and (kwargs.get("img_size") or 0) > 0:
            yield ("kwargs", "img_size"), "cannot be combined with resize; keep one of them"
    if typed and "max_pixels" in kwargs and typed.min_pixels > typed.max_pixels:
        yield ("kwargs", "min_pixels"), f"is more than max_pixels, which is {typed.max_pixels}"


def _in_words(detail: ErrorDetails, kind: type[BaseModel], entry: Mapping[str, Any]) -> str:
    what, name = detail["type"], str(detail["loc"][0])
    if what == "extra_forbidden":
        return _unknown_key(name, kind)
    if what == "value_error":  # of a validator of this module: its message is for the user
        return str(detail["ctx"]["error"])
    described = kind.model_fields[name].description
    if what == "missing":
        return f"is missing; it must be {described}" if described else "is missing"
    value = entry[name] if described else detail["input"]
    is_wrong = f"not {brief(value)}"
    if isinstance(value, list) and len(detail["loc"]) == 2 and isinstance(detail["loc"][1], int):
        is_wrong = f"but item {detail['loc'][1] + 1} is {brief(detail['input'])}"
    if what == "literal_error":
        choices = re.findall(r"'(.*?)'", detail["ctx"]["expected"])
        is_wrong += did_you_mean(str(detail["input"]), choices)
        described = described or f"one of {listed(choices)}"
    return f"must be {described or _TYPES[what]}, {is_wrong}"


def _unknown_key(name: str, kind: type[BaseModel]) -> str:
    if issubclass(kind, _Model):
        if owners := [key for key, owner in KINDS.items() if key and name in owner.model_fields]:
            return f"only for imp_type {listed(owners).replace(',', ' or')}; leave it out"
        if name in _ELSEWHERE:
            return f"unknown key; it belongs in {_ELSEWHERE[name]}"
        name = _OTHER_NAMES.get(name, name)
    elif name == "prompt_function":
        return 'unknown key; it belongs in the model\'s entry, as "custom_prompt"'
    valid = tuple(kind.model_fields)
    return "unknown key" + (did_you_mean(name, valid) or f"; known are {listed(valid, 20)}")

"""What a config may say beyond types: keys that exclude each other, near misses, values that fit.

Each rule looks at plain values and returns findings (key path inside the entry, what is wrong), so
that all of them apply even where other parts of the entry are broken.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from utils.config import serve_args
from utils.errors import did_you_mean, listed, nearest

Path = tuple[str | int, ...]
Finding = tuple[Path, str]

RESERVED_KWARGS = ("dataset_name", "input_length")
_LOCAL_ONLY = ("generate_function", "device_map", "dtype", "attn_implementation", "batch_size")

_ANOTHER_NAME = {
    "max_new_tokens": "max_tokens",
    "max_length": "max_tokens",
    "max_output_tokens": "max_tokens",
    "stop_strings": "stop",
    "stop_sequences": "stop",
}
_SERVER_EXTRAS = {
    "best_of", "chat_template", "chat_template_kwargs", "guided_choice", "guided_json",
    "guided_regex", "ignore_eos", "include_stop_str_in_output", "length_penalty", "min_p",
    "min_tokens", "mm_processor_kwargs", "repetition_penalty", "skip_special_tokens",
    "spaces_between_special_tokens", "stop_token_ids", "structured_outputs", "top_k",
    "truncate_prompt_tokens", "typical_p", "use_beam_search",
}  # fmt: skip
_NO_TOOLS = "tool calls are not supported, a reply must be text; leave it out"
_NOT_YOURS = {
    "messages": "the messages come from the prompt; leave it out",
    "model": "the model name stands in model_path (?model=...); leave it out",
    "tools": _NO_TOOLS,
    "tool_choice": _NO_TOOLS,
    "parallel_tool_calls": _NO_TOOLS,
    "functions": _NO_TOOLS,
    "function_call": _NO_TOOLS,
    "stream_options": "replies are not streamed; leave it out",
}


def kind_of(value: object) -> str:
    """A JSON value's type in plain words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    names = {str: "a text", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return names.get(type(value), type(value).__name__)


def is_whole(value: object) -> bool:
    """An int, and not one of Python's two booleans."""
    return isinstance(value, int) and not isinstance(value, bool)


# ---- kwargs --------------------------------------------------------------------------------------


def choice_problem(value: object, choices: Sequence[str]) -> str | None:
    """What to say of a value that is none of the choices; None if it is one."""
    if isinstance(value, str):
        if value in choices:
            return None
        return (
            f"must be one of {listed(choices)}, not {_shown(value)}{did_you_mean(value, choices)}"
        )
    return f"must be one of {listed(choices)}, not {_shown(value)}"


def _one_of(*choices: str) -> Callable[[Any], str | None]:
    return lambda value: choice_problem(value, choices)


def _img_size(value: Any) -> str | None:
    if is_whole(value) and value >= -1:
        return None
    expected = "a whole number of pixels for the longer side, or -1 for the original size"
    return f"must be {expected}, not {_shown(value)}"


def _pixels(value: Any) -> str | None:
    if is_whole(value) and value > 0:
        return None
    expected = "a whole number of pixels (width times height) greater than 0"
    return f"must be {expected}, not {_shown(value)}"


def _timeout(value: Any) -> str | None:
    if _is_number(value) and value > 0:
        return None
    return f"must be a number of seconds greater than 0, not {_shown(value)}"


def _system_prompt(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return None
    expected = '"model_default", "benchmark_default" or a text of your own'
    return f"must be {expected}, not {_shown(value)}"


_KWARGS: dict[str, Callable[[Any], str | None]] = {
    "system_prompt": _system_prompt,
    "img_size": _img_size,
    "img_detail": _one_of("auto", "low", "high"),
    "image_format": _one_of("original", "png", "jpeg"),
    "wire_format": _one_of("documented", "reference"),
    "min_pixels": _pixels,
    "max_pixels": _pixels,
    "timeout_s": _timeout,
    "serve_timeout_s": _timeout,
}


def kwargs_findings(kwargs: Mapping[str, Any]) -> Iterator[Finding]:
    """`kwargs` is free, but what the program reads must fit and must not be nearly spelt."""
    for name, value in kwargs.items():
        if name in RESERVED_KWARGS:
            yield ("kwargs", name), "the program sets this itself; leave it out"
        elif name in _KWARGS:
            if problem := _KWARGS[name](value):
                yield ("kwargs", name), problem
        elif meant := _nearly(name):
            yield ("kwargs", name), f'unknown key; did you mean "{meant}"?'
    low, high = kwargs.get("min_pixels"), kwargs.get("max_pixels")
    if is_whole(low) and is_whole(high) and low > high:  # type: ignore[operator]
        yield ("kwargs", "min_pixels"), f"{low} is more than max_pixels, which is {high}"


def _nearly(name: str) -> str | None:
    """The key of ours that `name` is a typing error of; other keys belong to the user."""
    alike = (key for key in (*_KWARGS, *RESERVED_KWARGS) if key[0] == name[:1].lower())
    return nearest(name, alike, 0.85)


# ---- generate_cfg --------------------------------------------------------------------------------


@functools.cache
def api_parameters() -> frozenset[str] | None:
    """What `chat.completions.create` takes, or None where the openai package is missing."""
    try:
        from openai.resources.chat.completions import Completions
    except ImportError:
        return None
    return frozenset(inspect.signature(Completions.create).parameters) - {"self"}


# Of every release that the requirements allow. Importing the client to ask it takes three times as
# long as everything else before the first request, so that is left for parameters not listed here.
_EVERYDAY_PARAMETERS = frozenset({
    "max_tokens", "max_completion_tokens", "temperature", "top_p", "seed", "stop", "timeout",
    "frequency_penalty", "presence_penalty", "logprobs", "top_logprobs", "response_format",
    "extra_body", "extra_headers", "extra_query", "reasoning_effort", "n", "stream",
})  # fmt: skip


def api_generate_findings(generate_cfg: Mapping[str, Any]) -> Iterator[Finding]:
    """Parameters that the client would refuse, or that would change what a reply is."""
    unusual = set(generate_cfg) - _EVERYDAY_PARAMETERS - set(_NOT_YOURS)
    known = api_parameters() if unusual else _EVERYDAY_PARAMETERS
    for name, value in generate_cfg.items():
        place: Path = ("generate_cfg", name)
        if problem := _changes_the_reply(name, value):
            yield place, problem
        elif known is not None and name not in known:
            yield place, _unknown_parameter(name, known)
    for inner, problem in envelope_findings(generate_cfg):
        yield ("generate_cfg", *inner), problem


def envelope_findings(parameters: Mapping[str, Any]) -> Iterator[Finding]:
    """How a request is sent: of `generate_cfg`, and of what a preprocess function returns."""
    if parameters.get("timeout") is not None and (problem := _timeout(parameters["timeout"])):
        yield ("timeout",), problem
    for name in ("extra_body", "extra_headers", "extra_query"):
        value = parameters.get(name, {})
        if not isinstance(value, Mapping):
            yield (name,), f"must be an object {{ }}, not {kind_of(value)}"
            continue
        for inner, item in value.items():
            problem = None
            if not isinstance(inner, str):
                problem = "is no name, names are texts"
            elif name == "extra_body":
                problem = _changes_the_reply(inner, item)
            elif name == "extra_headers":
                problem = _header(inner, item)
            if problem:
                yield (name, inner), problem


def _header(name: str, value: Any) -> str | None:
    """What is wrong with a header; values are not quoted, they may be keys."""
    if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", str(name)):
        return "is no name of a header"
    if not isinstance(value, str):
        return f"must be a text, not {kind_of(value)}"
    if not re.fullmatch(r"[\x20-\x7e\t]*", value):
        return "must be a text of one line and of ASCII signs alone"
    return None


def _changes_the_reply(name: str, value: Any) -> str | None:
    if name in _NOT_YOURS:
        return _NOT_YOURS[name]
    if name == "stream" and value not in (False, None):
        return "replies are not streamed; leave it out"
    if name == "n" and value is not None and not (is_whole(value) and value == 1):
        return "each sample is asked once, so n must be 1; leave it out"
    return None


def _unknown_parameter(name: str, known: frozenset[str]) -> str:
    refused = "chat.completions.create does not know this parameter"
    if name in _ANOTHER_NAME:
        return f'{refused}; API models call it "{_ANOTHER_NAME[name]}"'
    if name == "do_sample":
        return f'{refused}; greedy decoding is "temperature": 0'
    if name in _SERVER_EXTRAS:
        return f'{refused}; what only some servers know goes into "extra_body": {{"{name}": ...}}'
    if name in _KWARGS:
        return f'{refused}; it belongs in "kwargs"'
    if name in ("api_key", "base_url"):
        return f'{refused}; it belongs in "model_path"'
    hint = did_you_mean(name, sorted(known))
    return refused + (hint or '; what only some servers know goes into "extra_body"')


def local_generate_findings(entry: Mapping[str, Any]) -> Iterator[Finding]:
    """Names of the API side, which `generate` refuses, but only after the model was loaded."""
    if entry.get("generate_function") not in (None, "", "generate"):
        return  # a model's own method may take anything
    for name in entry["generate_cfg"]:
        if name in ("max_tokens", "max_completion_tokens"):
            yield ("generate_cfg", name), 'local models call it "max_new_tokens"'
        elif name in ("extra_body", "extra_headers", "extra_query"):
            yield ("generate_cfg", name), "only for API models; leave it out"


def custom_generate_findings(generate_cfg: Mapping[str, Any]) -> Iterator[Finding]:
    """Names that a custom class gets anyway."""
    for name in generate_cfg:
        if name in ("message", "dataset_name"):
            yield ("generate_cfg", name), "the program sets this itself; leave it out"


# ---- the entry as a whole ------------------------------------------------------------------------


def misplaced_findings(entry: Mapping[str, Any], imp_type: str) -> Iterator[Finding]:
    """Keys that have no effect for this kind of model, and where they belong."""
    for name in _LOCAL_ONLY:
        if name in entry and imp_type != "transformers" and entry[name] != "":
            yield (name,), f'only for local models (imp_type "transformers"); {_instead(imp_type)}'
    if "serve_args" in entry and imp_type != "vllm":
        yield ("serve_args",), 'only for imp_type "vllm"; leave it out'
    elif "serve_args" in entry:
        with contextlib.suppress(ValueError):  # told as a wrong value, see config_types
            for problem in serve_args.problems(serve_args.serve_words(entry["serve_args"])):
                yield ("serve_args",), problem
    if imp_type == "custom" and entry.get("preprocess_function"):
        yield ("preprocess_function",), "a custom class gets the messages themselves; leave it out"


def _instead(imp_type: str) -> str:
    if imp_type == "vllm":
        return 'arguments of the vLLM server go into "serve_args"'
    if imp_type == "custom":
        return 'settings of a custom class go into "kwargs"'
    return "a server has its own settings, leave it out"


def unknown_key(name: str, known: tuple[str, ...]) -> str:
    """An unknown key of a model entry: where it belongs, or which key it is nearly."""
    if name in _KWARGS:
        return 'unknown key; it belongs in "kwargs"'
    if name in ("max_tokens", "max_new_tokens", "temperature", "top_p", "do_sample", "extra_body"):
        return 'unknown key; it belongs in "generate_cfg"'
    if name in ("api_key", "base_url"):
        return 'unknown key; it belongs in "model_path": "base_url?api_key=...&model=..."'
    return f"unknown key{did_you_mean(name, known) or f'; known are {listed(known, 20)}'}"


def _shown(value: Any) -> str:
    if isinstance(value, str) and len(value) <= 40:
        return f'"{value}"'
    return str(value) if _is_number(value) else kind_of(value)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)

"""What a request may carry: parameters of `chat.completions.create`, and the envelope around it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from utils.config.text import Finding, shown
from utils.contracts import KWARGS_READ
from utils.errors import did_you_mean

ENVELOPE = ("extra_body", "extra_headers", "extra_query")

# Not read from the client, whose import takes longer than all else before the first request.
PARAMETERS = frozenset(
    {
        "audio",
        "frequency_penalty",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_tokens",
        "metadata",
        "modalities",
        "moderation",
        "n",
        "prediction",
        "presence_penalty",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "reasoning_effort",
        "response_format",
        "safety_identifier",
        "seed",
        "service_tier",
        "stop",
        "store",
        "stream",
        "temperature",
        "timeout",
        "top_logprobs",
        "top_p",
        "user",
        "verbosity",
        "web_search_options",
        *ENVELOPE,
    }
)

_WHOLE, _NUMBER = ((int,), "a whole number"), ((int, float), "a number")
_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(("max_completion_tokens", "max_tokens", "seed", "top_logprobs"), _WHOLE),
    **dict.fromkeys(("frequency_penalty", "presence_penalty", "temperature", "top_p"), _NUMBER),
    "logprobs": ((bool,), "true or false"),
    "stop": ((str, list), "a string or a list of strings"),
}
NOT_YOURS = {
    "messages": "the messages come from the prompt; leave it out",
    "model": "the model name comes from model_path (?model=...); leave it out",
    "stream_options": "replies are not streamed; leave it out",
    **dict.fromkeys(
        ("tools", "tool_choice", "parallel_tool_calls", "functions", "function_call"),
        "tool calls are not supported, a reply must be text; leave it out",
    ),
}
_UNKNOWN = "chat.completions.create does not know this parameter"
_ELSEWHERE = {
    "max_new_tokens": 'API models call it "max_tokens"',
    **dict.fromkeys(("api_key", "base_url"), 'it belongs in "model_path"'),
    **dict.fromkeys(KWARGS_READ, 'it belongs in "kwargs"'),
    "do_sample": 'greedy decoding is "temperature": 0',
}


def generate_findings(generate_cfg: Mapping[str, Any]) -> Iterator[Finding]:
    """Parameters that the client would refuse, or that would change what a reply is."""
    for name, value in generate_cfg.items():
        if problem := _changes_the_reply(name, value):
            yield ("generate_cfg", name), problem
        elif name not in PARAMETERS:
            known = () if name in ("top_k", "min_tokens") else sorted(PARAMETERS)  # of servers
            hint = _ELSEWHERE.get(name) or did_you_mean(name, known).removeprefix("; ")
            extra = f'server-specific parameters go into "extra_body": {{"{name}": ...}}'
            yield ("generate_cfg", name), f"{_UNKNOWN}; {hint or extra}"
        elif problem := _of_wrong_type(name, value):
            yield ("generate_cfg", name), problem
    for place, problem in envelope_findings(generate_cfg):
        yield ("generate_cfg", *place), problem


def envelope_findings(parameters: Mapping[str, Any]) -> Iterator[Finding]:
    """How a request is sent: of `generate_cfg`, and of what a preprocess function returns."""
    timeout = parameters.get("timeout")
    if timeout is not None and not (type(timeout) in (int, float) and timeout > 0):
        yield ("timeout",), f"must be a number of seconds greater than 0, not {shown(timeout)}"
    for name in ENVELOPE:
        value = parameters.get(name, {})
        if not isinstance(value, Mapping):
            yield (name,), "must be an object { }"
            continue
        check = {"extra_headers": _header, "extra_body": _changes_the_reply}.get(name)
        for inner, item in value.items():
            if not isinstance(inner, str):
                yield (name, inner), "is not a valid name; names are strings"
            elif check is not None and (problem := check(inner, item)):
                yield (name, inner), problem


def _header(name: str, value: Any) -> str | None:
    """What is wrong with a header; values are not quoted, they may be keys."""
    if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
        return "is not a valid header name"
    is_sent = isinstance(value, str) and re.fullmatch(r"(?!\s)[\x20-\x7e\t]*(?<!\s)", value)
    what = "must be one line of ASCII characters, with no white space at either end"
    return None if is_sent else what


def _of_wrong_type(name: str, value: Any) -> str | None:
    if name not in _TYPES or value is None:
        return None
    types, described = _TYPES[name]
    parts = value if isinstance(value, list) else ()
    if type(value) in types and all(isinstance(part, str) for part in parts):
        return None
    return f"must be {described}, not {shown(value)}"


def _changes_the_reply(name: str, value: Any) -> str | None:
    if name in NOT_YOURS:
        return NOT_YOURS[name]
    if name == "stream" and value not in (False, None):
        return "replies are not streamed; leave it out"
    if name == "n" and value is not None and (value != 1 or isinstance(value, bool)):
        return "each sample is queried once, so n must be 1; leave it out"
    return None

"""Allowed arguments of a request: parameters of the client's `create`, and the envelope."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from utils.config.text import KeyProblem, brief
from utils.contracts import KWARGS_READ
from utils.text import did_you_mean

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
        "parallel_tool_calls",
        "stream",
        "temperature",
        "timeout",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "user",
        "verbosity",
        "web_search_options",
        *ENVELOPE,
    }
)
RESPONSES_PARAMETERS = frozenset(
    {
        "context_management",
        "include",
        "instructions",
        "max_output_tokens",
        "max_tool_calls",
        "metadata",
        "moderation",
        "parallel_tool_calls",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "reasoning",
        "safety_identifier",
        "service_tier",
        "store",
        "stream",
        "temperature",
        "text",
        "timeout",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "truncation",
        "user",
        *ENVELOPE,
    }
)

_WHOLE = ((int,), "a whole number")
_NUMBER = ((int, float), "a number")
_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(
        ("max_completion_tokens", "max_output_tokens", "max_tokens", "seed", "top_logprobs"), _WHOLE
    ),
    **dict.fromkeys(("frequency_penalty", "presence_penalty", "temperature", "top_p"), _NUMBER),
    **dict.fromkeys(("logprobs", "parallel_tool_calls", "stream"), ((bool,), "true or false")),
    "tools": ((list,), 'a list of tools: [{"type": "function", "function": {...}}]'),
    "stop": ((str, list), "a string or a list of strings"),
}
NOT_YOURS = {
    "messages": "the messages come from the prompt; leave it out",
    "model": "the model name comes from model_path (?model=...); leave it out",
    "stream_options": "the program asks for the token counts of a stream; leave it out",
    "functions": 'the API calls it "tools" now',
    "function_call": 'the API calls it "tool_choice" now',
}
NOT_YOURS_OF_RESPONSES = {
    **{name: NOT_YOURS[name] for name in ("model", "stream_options")},
    "input": "the input comes from the prompt; leave it out",
    **dict.fromkeys(
        ("previous_response_id", "conversation", "prompt", "background"),
        "every request is complete in itself, so a run can be continued; leave it out",
    ),
}
_APIS = {  # the client's function, what it takes, what is refused
    "chat": ("chat.completions.create", PARAMETERS, NOT_YOURS),
    "responses": ("responses.create", RESPONSES_PARAMETERS, NOT_YOURS_OF_RESPONSES),
}
_ELSEWHERE = {
    "max_new_tokens": 'API models call it "max_tokens"',
    **dict.fromkeys(("api_key", "base_url"), 'it belongs in "model_path"'),
    **dict.fromkeys(KWARGS_READ, 'it belongs in "kwargs"'),
    "do_sample": 'greedy decoding is "temperature": 0',
}
_ELSEWHERE_OF_RESPONSES = {
    **_ELSEWHERE,
    **dict.fromkeys(
        ("max_tokens", "max_completion_tokens", "max_new_tokens"),
        'this API calls it "max_output_tokens"',
    ),
    "reasoning_effort": 'this API calls it "reasoning": {"effort": ...}',
    "response_format": 'this API calls it "text": {"format": ...}',
}


def generate_problems(generate_cfg: Mapping[str, Any], api: str = "chat") -> Iterator[KeyProblem]:
    """Yield parameters that the client would refuse, or that would change what a reply is."""
    for name, value in generate_cfg.items():
        problem = _parameter_problem(name, value, api)
        if problem:
            yield ("generate_cfg", name), problem
    for path, problem in envelope_problems(generate_cfg):
        yield ("generate_cfg", *path), problem


def _parameter_problem(name: str, value: Any, api: str) -> str | None:
    function, parameters, not_yours = _APIS[api]
    if name in parameters:
        return _reply_problem(name, value) or _type_problem(name, value)
    if name in not_yours:
        return not_yours[name]
    candidates = () if name in ("top_k", "min_tokens") else sorted(parameters)  # of servers
    elsewhere = _ELSEWHERE if api == "chat" else _ELSEWHERE_OF_RESPONSES
    hint = elsewhere.get(name) or did_you_mean(name, candidates).removeprefix("; ")
    extra_body = f'server-specific parameters go into "extra_body": {{"{name}": ...}}'
    return f"{function} does not know this parameter; {hint or extra_body}"


def envelope_problems(parameters: Mapping[str, Any]) -> Iterator[KeyProblem]:
    """Yield what is wrong with the envelope in `generate_cfg` or in a payload of the user's."""
    timeout = parameters.get("timeout")
    if timeout is not None and not (type(timeout) in (int, float) and timeout > 0):
        yield ("timeout",), f"must be a number of seconds greater than 0, not {brief(timeout)}"
    for name in ENVELOPE:
        fields = parameters.get(name, {})
        if not isinstance(fields, Mapping):
            yield (name,), "must be an object { }"
            continue
        for field, value in fields.items():
            problem = _field_problem(name, field, value)
            if problem:
                yield (name, field), problem


def _field_problem(envelope: str, field: Any, value: Any) -> str | None:
    if not isinstance(field, str):
        return "is not a valid name; names are strings"
    if envelope == "extra_headers":
        return _header_problem(field, value)
    if envelope == "extra_body":
        return _reply_problem(field, value)
    return None


def _header_problem(name: str, value: Any) -> str | None:
    """The problem of a header; values are not quoted, they may be keys."""
    if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
        return "is not a valid header name"
    if isinstance(value, str) and re.fullmatch(r"(?!\s)[\x20-\x7e\t]*(?<!\s)", value):
        return None
    return "must be one line of ASCII characters, with no white space at either end"


def _type_problem(name: str, value: Any) -> str | None:
    if name not in _TYPES or value is None:
        return None
    types, description = _TYPES[name]
    items = value if isinstance(value, list) else ()
    item_type = Mapping if name == "tools" else str
    if type(value) in types and all(isinstance(item, item_type) for item in items):
        return None
    return f"must be {description}, not {brief(value)}"


def _reply_problem(name: str, value: Any) -> str | None:
    """The reason why a parameter would change what a reply is."""
    if name in NOT_YOURS:
        return NOT_YOURS[name]
    if name == "n" and value is not None and (value != 1 or isinstance(value, bool)):
        return "each sample is queried once, so n must be 1; leave it out"
    return None

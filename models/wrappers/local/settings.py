"""Settings of a local model: what cannot work, what will be used. Nothing here imports torch."""

from __future__ import annotations

import copy
import importlib.util
import os
from collections.abc import Iterator, Mapping
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from utils.config.text import KeyProblem
from utils.text import nearest

if TYPE_CHECKING:
    from utils.config.schema import Local

LIBRARY_LIMIT = 20  # new tokens where neither config nor checkpoint sets a limit (transformers 5)
_SAMPLING = ("temperature", "top_p", "top_k", "min_p")
_LIMITS = {"max_length": "tokens, prompt and image included", "max_new_tokens": "new tokens"}
_PENALTIES = ("repetition_penalty", "no_repeat_ngram_size", "encoder_repetition_penalty")
_FLOATS = ("temperature", "repetition_penalty", "encoder_repetition_penalty", "length_penalty")

GENERATION_SETTINGS = frozenset(
    {
        "max_new_tokens",
        "max_length",
        "min_new_tokens",
        "min_length",
        "max_time",
        "stop_strings",
        "do_sample",
        "temperature",
        "top_k",
        "top_p",
        "min_p",
        "typical_p",
        "repetition_penalty",
        "encoder_repetition_penalty",
        "length_penalty",
        "no_repeat_ngram_size",
        "bad_words_ids",
        "num_beams",
        "num_return_sequences",
        "early_stopping",
        "guidance_scale",
        "suppress_tokens",
        "eos_token_id",
        "pad_token_id",
        "bos_token_id",
        "use_cache",
        "cache_implementation",
        "output_scores",
        "return_dict_in_generate",
    }
)
"""The usual settings; the library knows more, and refuses unknown ones."""

_OF_APIS = {
    **dict.fromkeys(("max_tokens", "max_completion_tokens"), 'here it is "max_new_tokens"'),
    **dict.fromkeys(("extra_body", "extra_headers", "extra_query", "seed"), "only for API models"),
}


def ranks_here() -> int:
    """The number of processes that torchrun has started on this machine."""
    count = os.environ.get("LOCAL_WORLD_SIZE") or os.environ.get("WORLD_SIZE", "1")
    return int(count) if count.isdigit() else 1


class _Rule(NamedTuple):
    """The allowed values of a generation setting."""

    types: tuple[type, ...]
    smallest: float
    largest: float
    expected: str


_AT_LEAST_1 = _Rule((int,), 1, inf, "a whole number of at least 1")
_AT_LEAST_0 = _Rule((int,), 0, inf, "a whole number of at least 0")
_SHARE = _Rule((int, float), 0, 1, "a number from 0 to 1")
_POSITIVE = _Rule((int, float), 1e-9, inf, "a number greater than 0")
# The common ones, so that `--check` finds them without torch; the library checks the rest.
_RULES = {
    **dict.fromkeys(("max_new_tokens", "max_length", "num_beams"), _AT_LEAST_1),
    **dict.fromkeys(("min_new_tokens", "min_length", "top_k", "no_repeat_ngram_size"), _AT_LEAST_0),
    **dict.fromkeys(("top_p", "min_p"), _SHARE),
    **dict.fromkeys(("repetition_penalty", "max_time"), _POSITIVE),
    "temperature": _Rule((int, float), 0, inf, "a number of at least 0"),
    "do_sample": _Rule((bool,), 0, 1, "true or false"),
}


def generate_problems(generate_cfg: Mapping[str, Any]) -> Iterator[KeyProblem]:
    """Yield arguments that transformers' `generate` cannot take; null is a default."""
    for name, value in generate_cfg.items():
        problem = _argument_problem(name, value)
        if problem:
            yield ("generate_cfg", str(name)), problem


def _argument_problem(name: str, value: Any) -> str | None:
    if name in _OF_APIS:
        return _OF_APIS[name]
    if name not in GENERATION_SETTINGS:
        # A name less like one of these is the model's own.
        similar = nearest(name, sorted(GENERATION_SETTINGS), 0.85)
        return f'generate has no such argument; did you mean "{similar}"?' if similar else None
    rule = _RULES.get(name)
    if rule is None or value is None:
        return None
    if type(value) in rule.types and rule.smallest <= value <= rule.largest:
        return None
    return f"must be {rule.expected}, not {value!r}"


def generation_problems(generate_cfg: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[str]:
    """Return arguments that do not go together; `defaults` is the checkpoint's configuration."""
    settings = {**defaults, **generate_cfg}
    if settings.get("do_sample") is not True or settings.get("temperature") != 0:
        return []
    source = _source("do_sample", generate_cfg)
    problem = f"generate_cfg: temperature 0 cannot be combined with do_sample true{source}"
    return [f'{problem}; for greedy decoding set "do_sample": false']


def _source(name: str, generate_cfg: Mapping[str, Any]) -> str:
    return "" if generate_cfg.get(name) is not None else " (from the checkpoint)"


def generation_notes(
    generate_cfg: Mapping[str, Any], defaults: Mapping[str, Any], batch_size: int | str = 1
) -> list[str]:
    """Notes on what `generate` will really use, and what of it no config asks for.

    Args:
        generate_cfg: the config's.
        defaults: the checkpoint's generation_config.json.
        batch_size: the config's.
    """
    settings = {**defaults, **generate_cfg}
    is_sampling = bool(settings.get("do_sample"))
    penalties = [name for name in _PENALTIES if settings.get(name) not in (None, 0, 1)]
    limit = f"at most {LIBRARY_LIMIT} new tokens (the library's own limit)"
    for name, unit in _LIMITS.items():
        if settings.get(name) is not None:
            limit = f"at most {settings[name]} {unit}{_source(name, generate_cfg)}"
    method = _method(settings)
    used = [name for name in _SAMPLING if is_sampling and settings.get(name) is not None]
    values = [f"{name} {settings[name]}{_source(name, generate_cfg)}" for name in used + penalties]
    notes = [f"generation: {', '.join([method, *values, limit])}"]
    checkpoint = "warning: the checkpoint's generation_config"
    if is_sampling and "do_sample" not in generate_cfg:
        notes.append(
            f"{checkpoint} turns sampling on, so two runs differ. Set do_sample to false to stop "
            "that"
        )
    for name in penalties:
        if name not in generate_cfg:
            notes.append(
                f"{checkpoint} sets {name} {defaults[name]}, which servers may ignore. Set it in "
                "generate_cfg"
            )
    if settings.get("max_new_tokens") is None:
        notes.append(f"warning: max_new_tokens is not set, so replies are cut off: {limit}")
    names = not_for_batches(settings)
    if names and batch_size != 1:
        notes.append(
            f"warning: {' and '.join(names)} would count a batch's padding or time, so samples are "
            "generated one at a time"
        )
    return notes


def _method(settings: Mapping[str, Any]) -> str:
    if settings.get("do_sample"):
        return "sampling"
    beams = settings.get("num_beams") or 1
    return f"{beams} beams" if beams != 1 else "greedy"


def not_for_batches(settings: Mapping[str, Any]) -> list[str]:
    """Return arguments in force with which a prompt does not answer in a batch as it does alone.

    Their effect depends on the prompt's length, padding included, or on the time of all.
    """
    has_new_limit = settings.get("max_new_tokens") is not None
    has_new_minimum = settings.get("min_new_tokens") is not None
    is_in_force = {
        "max_time": settings.get("max_time") is not None,
        "max_length": settings.get("max_length") is not None and not has_new_limit,
        "min_length": bool(settings.get("min_length")) and not has_new_minimum,
        "no_repeat_ngram_size": bool(settings.get("no_repeat_ngram_size")),  # padding repeats
        "encoder_repetition_penalty": settings.get("encoder_repetition_penalty") not in (None, 1),
    }
    return [name for name, counts in is_in_force.items() if counts]


_SET_BESIDE = "it belongs beside kwargs, in the model's entry; move it there"
_OF_THE_PROGRAM = "the program sets this itself; leave it out"
NOT_TO_LOAD = {
    **dict.fromkeys(("dtype", "torch_dtype"), 'set "dtype" beside kwargs, in the model\'s entry'),
    **dict.fromkeys(("device_map", "trust_remote_code"), _SET_BESIDE),
    **dict.fromkeys(("config", "output_loading_info", "state_dict"), _OF_THE_PROGRAM),
    **dict.fromkeys(("token", "use_auth_token"), "set HF_TOKEN in the environment instead"),
}
NOT_TO_TEMPLATE = dict.fromkeys(
    ("conversation", "tokenize", "add_generation_prompt", "return_dict", "return_tensors"),
    _OF_THE_PROGRAM,
)


def load_settings(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of `kwargs.load` as `from_pretrained` takes it: devices are numbers."""
    settings = copy.deepcopy(kwargs.get("load") or {})
    if isinstance(settings.get("max_memory"), Mapping):
        settings["max_memory"] = {
            int(device) if str(device).isdigit() else device: limit
            for device, limit in settings["max_memory"].items()
        }
    return settings


def load_problems(entry: Local, *, is_on_hub: bool) -> list[str]:
    """Say what of `kwargs.load` and `kwargs.chat_template` cannot be used, one line each."""
    settings = load_settings(entry.kwargs)
    problems = [
        f"kwargs.load.{name}: {NOT_TO_LOAD[name]}" for name in settings if name in NOT_TO_LOAD
    ]
    problems += [
        f"kwargs.chat_template.{name}: {NOT_TO_TEMPLATE[name]}"
        for name in entry.kwargs.get("chat_template") or {}
        if name in NOT_TO_TEMPLATE
    ]
    if "attn_implementation" in settings and entry.attn_implementation:
        problems.append(
            "kwargs.load.attn_implementation: is also set beside kwargs; keep one of them"
        )
    if "revision" in settings and not is_on_hub:
        problems.append("kwargs.load.revision: only for a name on the Hugging Face hub")
    adapter = settings.get("adapter")
    if adapter is None:
        return problems
    if not isinstance(adapter, str):
        problems.append(
            f"kwargs.load.adapter: must be a folder or a name on the hub, not {adapter!r}"
        )
    elif importlib.util.find_spec("peft") is None:
        cure = "pip install peft, or merge the adapter into the checkpoint"
        problems.append(f"kwargs.load.adapter: needs the package peft, which is missing; {cure}")
    return problems


def img_size_of(entry: Local) -> int:
    """Return the side of the square that images are shrunk to fit; 0: they stay as they are."""
    return max(0, entry.kwargs.get("img_size") or 0)


def with_floats(generate_cfg: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy in which 2 is 2.0 where transformers insists on a float, as JSON does not."""
    return {
        name: float(value) if name in _FLOATS and type(value) is int else copy.deepcopy(value)
        for name, value in generate_cfg.items()
    }

"""Settings of a local model: what cannot work, what will be used. Nothing here imports torch."""

from __future__ import annotations

import copy
import importlib.util
import os
from collections.abc import Iterator, Mapping
from math import inf
from typing import TYPE_CHECKING, Any

from utils.config.text import Finding
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
"""What people set; the library knows more, and refuses what nobody knows."""

_OF_APIS = {
    **dict.fromkeys(("max_tokens", "max_completion_tokens"), 'here it is "max_new_tokens"'),
    **dict.fromkeys(("extra_body", "extra_headers", "extra_query", "seed"), "only for API models"),
}


def ranks_here() -> int:
    """How many processes torchrun has started on this machine."""
    count = os.environ.get("LOCAL_WORLD_SIZE") or os.environ.get("WORLD_SIZE", "1")
    return int(count) if count.isdigit() else 1


# The common ones, so that `--check` finds them without torch; the library checks the rest.
_RULES = (
    (("max_new_tokens", "max_length", "num_beams"), (int,), 1, inf, "a whole number of at least 1"),
    (
        ("min_new_tokens", "min_length", "top_k", "no_repeat_ngram_size"),
        (int,),
        0,
        inf,
        "a whole number of at least 0",
    ),
    (("top_p", "min_p"), (int, float), 0, 1, "a number from 0 to 1"),
    (("temperature",), (int, float), 0, inf, "a number of at least 0"),
    (("repetition_penalty", "max_time"), (int, float), 1e-9, inf, "a number greater than 0"),
    (("do_sample",), (bool,), 0, 1, "true or false"),
)


def generate_findings(generate_cfg: Mapping[str, Any]) -> Iterator[Finding]:
    """Arguments that transformers' `generate` cannot take; null is a default."""
    for name, value in generate_cfg.items():
        place = ("generate_cfg", str(name))
        if name in _OF_APIS:
            yield place, _OF_APIS[name]
        elif name not in GENERATION_SETTINGS:
            # A name less like a known one is the model's own.
            if meant := nearest(name, sorted(GENERATION_SETTINGS), 0.85):
                yield place, f'generate has no such argument; did you mean "{meant}"?'
        elif value is not None:
            for names, kinds, least, most, expected in _RULES:
                if name in names and not (type(value) in kinds and least <= value <= most):
                    yield place, f"must be {expected}, not {value!r}"


def generation_problems(generate_cfg: Mapping[str, Any], brought: Mapping[str, Any]) -> list[str]:
    """Arguments that do not go together; `brought` is the checkpoint's generation_config.json."""
    used, source = {**brought, **generate_cfg}, _source("do_sample", generate_cfg)
    if used.get("do_sample") is not True or used.get("temperature") != 0:
        return []
    problem = f"generate_cfg: temperature 0 does not go with do_sample true{source}"
    return [f'{problem}; for greedy decoding set "do_sample": false']


def _source(name: str, generate_cfg: Mapping[str, Any]) -> str:
    return "" if generate_cfg.get(name) is not None else " (from the checkpoint)"


def generation_notes(
    generate_cfg: Mapping[str, Any], brought: Mapping[str, Any], batch_size: int | str = 1
) -> list[str]:
    """What `generate` will really use, and which of it nobody asked for in the config."""
    used = {**brought, **generate_cfg}
    samples, beams = bool(used.get("do_sample")), used.get("num_beams") or 1
    shown = ["sampling" if samples else f"{beams} beams" if beams != 1 else "greedy"]
    chosen = [name for name in (_SAMPLING if samples else ()) if used.get(name) is not None]
    penalties = [name for name in _PENALTIES if used.get(name) not in (None, 0, 1)]
    shown += [f"{name} {used[name]}{_source(name, generate_cfg)}" for name in chosen + penalties]
    limit = f"at most {LIBRARY_LIMIT} new tokens (the library's own limit)"
    for name, what in _LIMITS.items():
        if used.get(name) is not None:
            limit = f"at most {used[name]} {what}{_source(name, generate_cfg)}"
    notes = [f"generation: {', '.join([*shown, limit])}"]
    if samples and "do_sample" not in generate_cfg:
        why = "turns sampling on, so two runs differ"
        notes.append(f"warning: the checkpoint's generation_config {why}; do_sample false stops it")
    for name in [name for name in penalties if name not in generate_cfg]:
        why = f"sets {name} {brought[name]}, which servers may not apply"
        notes.append(f"warning: the checkpoint's generation_config {why}; set it in generate_cfg")
    if used.get("max_new_tokens") is None:
        notes.append(f"warning: max_new_tokens is not set, so replies are cut off: {limit}")
    if batch_size != 1 and (names := not_for_batches(used)):
        why = f"{' and '.join(names)} would count a batch's padding or time"
        notes.append(f"warning: {why}, so samples are generated one at a time")
    return notes


def not_for_batches(used: Mapping[str, Any]) -> list[str]:
    """Arguments in force with which a prompt does not answer in a batch as it does alone.

    Their effect depends on the prompt's length, padding included, or on the time of all.
    """
    in_force = {
        "max_time": used.get("max_time") is not None,
        "max_length": used.get("max_new_tokens") is None and used.get("max_length") is not None,
        "min_length": used.get("min_new_tokens") is None and used.get("min_length"),
        "no_repeat_ngram_size": used.get("no_repeat_ngram_size"),  # padding repeats itself
        "encoder_repetition_penalty": used.get("encoder_repetition_penalty") not in (None, 1),
    }
    return [name for name, is_so in in_force.items() if is_so]


_SET_BESIDE = "it stands beside kwargs, in the model's entry; move it there"
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
        problems.append("kwargs.load.attn_implementation: is set beside kwargs, too; keep one")
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
    """Side of the square that images are shrunk to fit; 0 leaves them as they are."""
    return max(0, entry.kwargs.get("img_size") or 0)


def with_floats(generate_cfg: Mapping[str, Any]) -> dict[str, Any]:
    """A copy in which 2 is 2.0 where transformers insists on a float, as JSON does not."""
    return {
        name: float(value) if name in _FLOATS and type(value) is int else copy.deepcopy(value)
        for name, value in generate_cfg.items()
    }

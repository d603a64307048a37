"""Arguments of transformers' `generate`: which there are, what values they take, what they hang on.

Plain tables, so that `--check` finds a wrong one without importing torch.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from utils.errors import did_you_mean, nearest

Rule = tuple[Callable[[Any], bool], str]

LIBRARY_LIMIT = 20
"""New tokens where neither the config nor the checkpoint sets a limit (transformers 5)."""

_FLOATS = ("temperature", "repetition_penalty", "encoder_repetition_penalty", "length_penalty")
_CLOSE = 0.85  # an unknown name less like a known one is the model's own


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_ids(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(_is_whole(each) for each in value)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


_FROM_1: Rule = (lambda v: _is_whole(v) and v >= 1, "a whole number from 1")
_FROM_0: Rule = (lambda v: _is_whole(v) and v >= 0, "a whole number from 0")
_SHARE: Rule = (lambda v: _is_number(v) and 0 <= v <= 1, "a number from 0 to 1")
_NOT_NEGATIVE: Rule = (lambda v: _is_number(v) and v >= 0, "a number from 0")
_POSITIVE: Rule = (lambda v: _is_number(v) and v > 0, "a number greater than 0")
_NUMBER: Rule = (_is_number, "a number")
_SWITCH: Rule = (lambda v: isinstance(v, bool), "true or false")
_ID: Rule = (_is_whole, "a token id (a whole number)")
_END_IDS: Rule = (lambda v: _is_whole(v) or _is_ids(v), "a token id or a list of token ids")
_ID_LIST: Rule = (_is_ids, "a list of token ids")
_TEXTS: Rule = (lambda v: isinstance(v, str) or _is_texts(v), "a text or a list of texts")
_ID_LISTS: Rule = (
    lambda v: isinstance(v, list) and all(_is_ids(each) for each in v),
    "a list of lists of token ids",
)
_EARLY: Rule = (lambda v: isinstance(v, bool) or v == "never", 'true, false or "never"')

_RULES: dict[str, Rule] = {
    **dict.fromkeys(
        ("max_new_tokens", "max_length", "num_beams", "num_return_sequences", "num_beam_groups"),
        _FROM_1,
    ),
    **dict.fromkeys(
        ("min_new_tokens", "min_length", "top_k", "no_repeat_ngram_size",
         "encoder_no_repeat_ngram_size"),
        _FROM_0,
    ),
    **dict.fromkeys(("top_p", "min_p", "top_h", "typical_p"), _SHARE),
    **dict.fromkeys(("epsilon_cutoff", "eta_cutoff"), _SHARE),
    "temperature": _NOT_NEGATIVE,
    **dict.fromkeys(("repetition_penalty", "encoder_repetition_penalty", "max_time"), _POSITIVE),
    **dict.fromkeys(("length_penalty", "diversity_penalty", "guidance_scale"), _NUMBER),
    **dict.fromkeys(
        ("do_sample", "use_cache", "output_attentions", "output_hidden_states", "output_logits",
         "output_scores", "remove_invalid_values", "renormalize_logits",
         "return_dict_in_generate", "token_healing", "disable_compile"),
        _SWITCH,
    ),
    **dict.fromkeys(("pad_token_id", "bos_token_id", "decoder_start_token_id"), _ID),
    **dict.fromkeys(("eos_token_id", "forced_eos_token_id"), _END_IDS),
    "forced_bos_token_id": _ID,
    **dict.fromkeys(("suppress_tokens", "begin_suppress_tokens"), _ID_LIST),
    "bad_words_ids": _ID_LISTS,
    "stop_strings": _TEXTS,
    "early_stopping": _EARLY,
}  # fmt: skip

GENERATION_SETTINGS = frozenset(_RULES) | {
    "assistant_confidence_threshold", "assistant_early_exit", "assistant_ensemble_weight",
    "assistant_lookbehind", "cache_config", "cache_implementation", "compile_config",
    "constraints", "continuous_batching_config", "dola_layers",
    "exponential_decay_length_penalty", "force_words_ids", "is_assistant", "low_memory",
    "max_cache_len", "max_matching_ngram_size", "num_assistant_tokens",
    "num_assistant_tokens_schedule", "penalty_alpha", "prefill_chunk_size",
    "prompt_lookup_num_tokens", "sequence_bias", "speculation_type", "target_lookbehind",
    "use_mtp", "watermarking_config",
}  # fmt: skip
"""What a GenerationConfig holds."""

_NOT_FROM_A_CONFIG = {
    **dict.fromkeys(
        ("inputs", "input_ids", "inputs_embeds", "attention_mask", "pixel_values",
         "image_grid_thw", "position_ids"),
        "the inputs come from the preprocess function; leave it out",
    ),
    **dict.fromkeys(
        ("logits_processor", "stopping_criteria", "prefix_allowed_tokens_fn", "assistant_model",
         "streamer", "tokenizer", "assistant_tokenizer"),
        "an object of Python, which a config cannot hold; leave it out",
    ),
    "generation_config": "write its settings into generate_cfg themselves",
    "seed": "generate has no seed; leave it out",
}  # fmt: skip


def argument_problems(generate_cfg: Mapping[str, Any]) -> list[str]:
    """What `generate` would refuse, or take for something else, one line each; null is a default.

    A name that is unknown here may be one that the model's own forward method takes; it is
    refused only where it is a typing error of a known one. `unknown_arguments` knows the rest.
    """
    found = []
    for name, value in generate_cfg.items():
        place = f"generate_cfg.{name}"
        if name in _NOT_FROM_A_CONFIG:
            found.append(f"{place}: {_NOT_FROM_A_CONFIG[name]}")
        elif name in _RULES:
            fits, expected = _RULES[name]
            if value is not None and not fits(value):
                found.append(f"{place}: must be {expected}, not {value!r}")
        elif name not in GENERATION_SETTINGS and (meant := _typing_error_of(name)):
            found.append(f'{place}: generate has no such argument; did you mean "{meant}"?')
    return found


def _typing_error_of(name: str) -> str | None:
    return nearest(name, sorted(GENERATION_SETTINGS), _CLOSE)


def unknown_arguments(
    model_class: type,
    function_name: str,
    generate_cfg: Mapping[str, Any],
    own_settings: Mapping[str, Any],
) -> list[str]:
    """Arguments that the generate method of a model's class does not take, one line each.

    Args:
        function_name: of the method; one of the class's own that takes `**kwargs` may use any.
        generate_cfg: the config's arguments.
        own_settings: those that the checkpoint brings along count as known.
    """
    named, takes_any = _parameters(getattr(model_class, function_name))
    if function_name == "generate":
        from transformers.utils import TransformersKwargs

        named |= GENERATION_SETTINGS | frozenset(TransformersKwargs.__annotations__)
        for other in ("forward", "prepare_inputs_for_generation"):
            named |= _parameters(getattr(model_class, other, None))[0]
        named |= frozenset(own_settings)
    elif takes_any:
        return []
    return [
        f"generate_cfg.{name}: {model_class.__name__}.{function_name} has no such argument"
        + did_you_mean(name, sorted(named - {"self"}))
        for name, value in generate_cfg.items()
        if name not in named and value is not None
    ]


def _parameters(function: Any) -> tuple[frozenset[str], bool]:
    """Names of a function's parameters, and whether it takes any other by name too."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return frozenset(), True
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    names = frozenset(parameter.name for parameter in found if parameter.kind not in kinds)
    return names, any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in found)


def counts_the_prompt(used: Mapping[str, Any]) -> list[str]:
    """Arguments whose effect hangs on the prompt's length, padding included.

    Where one is in force, only prompts of one length answer in a batch as they do alone.

    Args:
        used: the checkpoint's own settings under those of the config.
    """
    found = []
    if used.get("max_new_tokens") is None and used.get("max_length") is not None:
        found.append("max_length")
    if used.get("min_new_tokens") is None and used.get("min_length"):
        found.append("min_length")
    if used.get("no_repeat_ngram_size"):  # repeated padding is a repeated n-gram
        found.append("no_repeat_ngram_size")
    if used.get("encoder_repetition_penalty") not in (None, 1):  # and raises what it is made of
        found.append("encoder_repetition_penalty")
    return found


def with_floats(generate_cfg: Mapping[str, Any]) -> dict[str, Any]:
    """A copy in which 2 is 2.0 where transformers insists on a float, as JSON does not."""
    return {
        name: float(value) if name in _FLOATS and _is_whole(value) else copy.deepcopy(value)
        for name, value in generate_cfg.items()
    }

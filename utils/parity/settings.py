"""What decides how text is generated, under one name for servers and for transformers alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

UNSET = "unset"

_NAMES = {
    "max_new_tokens": "max_tokens", "max_completion_tokens": "max_tokens",
    "min_new_tokens": "min_tokens", "stop_strings": "stop",
}  # fmt: skip
"""Names of transformers and of newer servers, and what they are called here."""

_NEUTRAL = {
    "repetition_penalty": 1, "encoder_repetition_penalty": 1, "no_repeat_ngram_size": 0,
    "encoder_no_repeat_ngram_size": 0, "presence_penalty": 0, "frequency_penalty": 0,
    "num_beams": 1, "num_beam_groups": 1, "diversity_penalty": 0, "length_penalty": 1,
    "min_tokens": 0, "min_length": 0, "min_p": 0, "typical_p": 1, "epsilon_cutoff": 0,
    "eta_cutoff": 0, "use_beam_search": False, "ignore_eos": False, "guidance_scale": 1,
    "remove_invalid_values": False, "renormalize_logits": False,
}  # fmt: skip
"""Values that change nothing."""

_ONLY_SAMPLING = (
    "top_p", "top_k", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff", "top_h", "seed",
)  # fmt: skip
_ONLY_BEAMS = ("length_penalty", "early_stopping", "diversity_penalty", "num_beam_groups")
_DECIDES_NOTHING = frozenset({
    "do_sample", "extra_body", "extra_headers", "extra_query", "timeout", "user", "store",
    "metadata", "mm_processor_kwargs", "chat_template_kwargs", "logprobs", "top_logprobs", "n",
    "stream", "service_tier", "transformers_version", "use_cache", "cache_implementation",
    "cache_config", "output_scores", "output_logits", "output_attentions", "output_hidden_states",
    "return_dict_in_generate", "num_return_sequences", "safety_identifier", "prompt_cache_key",
})  # fmt: skip
"""Or is compared elsewhere: pictures, templates."""

_TOKEN_IDS = ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id")


def local_settings(generate_cfg: Mapping[str, Any], brought: Mapping[str, Any]) -> dict[str, Any]:
    """Of transformers' `generate`; `brought` are the checkpoint's own settings."""
    used = {**_without_ids(brought), **generate_cfg}
    if used.get("do_sample"):
        return {"temperature": used.get("temperature", 1.0), **_deciding(used, samples=True)}
    return {"temperature": 0, **_deciding(used, samples=False)}


def server_settings(generate_cfg: Mapping[str, Any], brought: Mapping[str, Any]) -> dict[str, Any]:
    """Of a request; `brought` are the checkpoint's own settings where the server heeds them."""
    used = {
        **_without_ids(brought), **generate_cfg, **(generate_cfg.get("extra_body") or {})
    }  # fmt: skip
    samples = used.get("temperature") != 0
    return {"temperature": used.get("temperature", UNSET), **_deciding(used, samples=samples)}


def _without_ids(brought: Mapping[str, Any]) -> dict[str, Any]:
    """Both sides have the checkpoint's token ids; only a config can change them."""
    return {
        key: value
        for key, value in brought.items()
        if key not in _TOKEN_IDS and not key.startswith("_")
    }


def _deciding(used: Mapping[str, Any], *, samples: bool) -> dict[str, Any]:
    named = {_NAMES.get(key, key): value for key, value in used.items()}
    left_out = {"temperature", *_DECIDES_NOTHING}
    if not samples:
        left_out.update(_ONLY_SAMPLING)
    if named.get("num_beams") in (None, 1) and not named.get("use_beam_search"):
        left_out.update(_ONLY_BEAMS)
    if named.get("max_tokens") is not None:
        left_out.add("max_length")
    if isinstance(named.get("stop"), str):
        named["stop"] = [named["stop"]]
    return {
        name: value
        for name, value in named.items()
        if name not in left_out and value not in (None, [], {}) and value != _NEUTRAL.get(name)
    }


def differences(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Name, value on this side, value on the other side, of settings that are not the same."""
    names = dict.fromkeys([*ours, *theirs])
    pairs = ((name, ours.get(name, UNSET), theirs.get(name, UNSET)) for name in names)
    return [(name, a, b) for name, a, b in pairs if a != b]

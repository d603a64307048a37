"""Settings of a local model that cannot work, found before anything is loaded."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from models.wrappers.local.checkpoint import cuda_present, cuda_wanted
from models.wrappers.local.generate_arguments import (
    LIBRARY_LIMIT,
    argument_problems,
    counts_the_prompt,
)
from utils.contracts import DTYPES

SPREADING = ("auto", "balanced", "balanced_low_0", "sequential")
_SAMPLING = ("temperature", "top_p", "top_k", "min_p")
_PENALTIES = ("repetition_penalty", "no_repeat_ngram_size", "encoder_repetition_penalty")


def placement_problems(device_map: Any, dtype: str | None, batch_size: Any) -> list[str]:
    """Problems of where and how the model runs, one line each."""
    found = []
    if cuda_wanted(device_map) and not cuda_present():
        found.append(
            f"device_map {device_map!r} asks for CUDA, and this machine has no usable CUDA device; "
            "leave device_map out to run on what is there"
        )
    copies = ranks_here()
    if isinstance(device_map, str) and device_map in SPREADING and copies > 1:
        found.append(
            f"device_map {device_map!r} spreads the model over all GPUs, and torchrun starts "
            f"{copies} copies of it; leave device_map out, or start without torchrun"
        )
    if dtype and dtype not in DTYPES:
        found.append(f"dtype {dtype!r} is unknown; known: {', '.join(DTYPES)}")
    if batch_size != "auto" and not (isinstance(batch_size, int) and batch_size >= 1):
        found.append(f'batch_size {batch_size!r} is neither a number from 1 nor "auto"')
    return found


def ranks_here() -> int:
    """How many processes torchrun has started on this machine."""
    count = os.environ.get("LOCAL_WORLD_SIZE") or os.environ.get("WORLD_SIZE", "1")
    return int(count) if count.isdigit() else 1


def pixel_problems(kwargs: Mapping[str, Any], vision: Mapping[str, int]) -> list[str]:
    """Problems of the area limits on a checkpoint's grid, one line each.

    Args:
        kwargs: the config's block.
        vision: what `checkpoint.vision_settings` says of the checkpoint.
    """
    most, side = kwargs.get("max_pixels"), vision.get("patch_size", 0) * vision.get("merge_size", 0)
    if not isinstance(most, int) or most <= 0 or most >= side * side:
        return []
    return [
        f"kwargs.max_pixels {most} is less than one cell of the model's grid, {side} x {side} "
        f"pixels; the least value is {side * side}"
    ]


def generation_problems(
    generate_cfg: Mapping[str, Any],
    checkpoint_settings: Mapping[str, Any],
    batch_size: int | str = 1,
) -> list[str]:
    """Problems of the arguments of transformers' `generate`, one line each.

    Args:
        generate_cfg: the config's arguments.
        checkpoint_settings: what the checkpoint's generation_config.json brings along; sampling
            often comes from there, so temperature 0 alone can be the contradiction.
        batch_size: how many requests go to the model at once.
    """
    found = argument_problems(generate_cfg)
    used = {**checkpoint_settings, **generate_cfg}
    temperature = used.get("temperature")
    is_zero = isinstance(temperature, (int, float)) and temperature == 0
    if used.get("do_sample") is True and is_zero:
        source = "" if "do_sample" in generate_cfg else " (which the checkpoint brings along)"
        found.append(
            f"generate_cfg: temperature {temperature} does not go with do_sample true{source}; "
            'for greedy decoding set "do_sample": false'
        )
    if used.get("max_time") is not None and batch_size != 1:
        source = "" if "max_time" in generate_cfg else " (which the checkpoint brings along)"
        found.append(
            f"generate_cfg: max_time {used['max_time']}{source} is the time of a whole batch, so "
            "where a reply ends would hang on the others in it; set batch_size to 1, or max_time "
            "to null"
        )
    return found


def generation_notes(
    generate_cfg: Mapping[str, Any],
    checkpoint_settings: Mapping[str, Any],
    batch_size: int | str = 1,
) -> list[str]:
    """What `generate` will really use, and which of it nobody asked for in the config.

    Args:
        generate_cfg: the config's arguments.
        checkpoint_settings: what the checkpoint's generation_config.json brings along.
        batch_size: how many requests go to the model at once.
    """
    used = {**checkpoint_settings, **generate_cfg}
    samples = bool(used.get("do_sample"))
    beams = used.get("num_beams")
    is_search = isinstance(beams, int) and beams > 1
    told = ["sampling" if samples else f"{beams} beams" if is_search else "greedy"]
    shown = [*(_SAMPLING if samples else ()), *_PENALTIES]
    for name in shown:
        value = used.get(name)
        if value is not None and not (name in _PENALTIES and value in (1, 1.0, 0)):
            told.append(f"{name} {value}{_source(name, generate_cfg)}")
    limit, warning = _limit(used, generate_cfg)
    notes = [f"generation: {', '.join([*told, limit])}"]
    if samples and "do_sample" not in generate_cfg:
        notes.append(
            "warning: the checkpoint's generation_config turns sampling on, so two runs differ; "
            '"do_sample": false in generate_cfg makes it greedy'
        )
    penalties = [name for name in _PENALTIES if name not in generate_cfg
                 and checkpoint_settings.get(name) not in (None, 1, 1.0, 0)]  # fmt: skip
    for name in penalties:
        notes.append(
            f"warning: the checkpoint's generation_config sets {name} "
            f"{checkpoint_settings[name]}, which changes answers without sampling too; servers "
            f"may not apply it. Set it in generate_cfg to say what is meant"
        )
    if warning:
        notes.append(warning)
    if batch_size != 1 and (names := counts_the_prompt(used)):
        notes.append(
            f"warning: {' and '.join(names)} would count a batch's padding too, so only prompts of "
            "one length are generated together"
        )
    return notes


def _source(name: str, generate_cfg: Mapping[str, Any]) -> str:
    return "" if generate_cfg.get(name) is not None else " (from the checkpoint)"


def _limit(used: Mapping[str, Any], generate_cfg: Mapping[str, Any]) -> tuple[str, str]:
    """What ends a reply that does not end by itself; and a warning where nobody asked for it."""
    if (new := used.get("max_new_tokens")) is not None:
        return f"at most {new} new tokens{_source('max_new_tokens', generate_cfg)}", ""
    if (whole := used.get("max_length")) is not None:
        source = _source("max_length", generate_cfg)
        return (
            f"at most {whole} tokens, prompt and picture included{source}",
            f"warning: max_new_tokens is not set, so max_length {whole}{source} cuts replies, the "
            "shorter the longer their prompt is",
        )
    return (
        f"at most {LIBRARY_LIMIT} new tokens (the library's own limit)",
        "warning: without max_new_tokens in generate_cfg the library's own limit of "
        f"{LIBRARY_LIMIT} new tokens cuts replies",
    )


def whole_pixels(value: Any) -> int:
    """`img_size` as pixels, 0 for "as it is"; nonsense is for `problems` to report."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return max(value, 0) if is_whole else 0

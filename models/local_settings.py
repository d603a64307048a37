"""Settings of a local model that cannot work, found before anything is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from models.checkpoint import DTYPES, cuda_present, cuda_wanted

PIXEL_LIMITS = ("min_pixels", "max_pixels")


def placement_problems(device_map: Any, dtype: str | None, batch_size: Any) -> list[str]:
    """Problems of where and how the model runs, one line each."""
    found = []
    if cuda_wanted(device_map) and not cuda_present():
        found.append(
            f"device_map {device_map!r} asks for CUDA, and this machine has no usable CUDA device; "
            "leave device_map out to run on what is there"
        )
    if dtype and dtype not in DTYPES:
        found.append(f"dtype {dtype!r} is unknown; known: {', '.join(DTYPES)}")
    if batch_size != "auto" and not (isinstance(batch_size, int) and batch_size >= 1):
        found.append(f'batch_size {batch_size!r} is neither a number from 1 nor "auto"')
    return found


def generation_problems(
    generate_cfg: Mapping[str, Any], checkpoint_settings: Mapping[str, Any]
) -> list[str]:
    """Problems of the arguments of transformers' `generate`, one line each.

    Args:
        generate_cfg: the config's arguments.
        checkpoint_settings: what the checkpoint's generation_config.json brings along; sampling
            often comes from there, so temperature 0 alone can be the contradiction.
    """
    found = []
    used = {**checkpoint_settings, **generate_cfg}
    temperature = used.get("temperature")
    is_zero = isinstance(temperature, (int, float)) and temperature <= 0
    if used.get("do_sample") and is_zero:
        source = "" if "do_sample" in generate_cfg else " (which the checkpoint brings along)"
        found.append(
            f"generate_cfg: temperature {temperature} does not go with do_sample true{source}; "
            'for greedy decoding set "do_sample": false'
        )
    return found


def whole_pixels(value: Any) -> int:
    """`img_size` as pixels, 0 for "as it is"; nonsense is for `problems` to report."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return max(value, 0) if is_whole else 0

"""What is known of one of the two ways to a model: how it generates, how it resizes."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from utils.config.serve_args import options, serve_words
from utils.contracts import WH
from utils.coordinates import PIXEL_LIMITS, smart_resize
from utils.parity.settings import differences, local_settings, server_settings

SERVERS = ("openai", "vllm")
_DTYPES: Mapping[str | None, str] = {"half": "float16", "float": "float32"}  # vLLM's other names
PROCESSOR_KEY = "mm_processor_kwargs"  # how vLLM takes settings of the image processor


@dataclass(frozen=True, slots=True)
class PixelLimits:
    """Least and greatest area in pixels of a resized picture, and where they come from."""

    least: int
    most: int
    source: str

    def __str__(self) -> str:
        return f"{self.least} to {self.most} pixels ({self.source})"


@dataclass(frozen=True, slots=True)
class Side:
    """One model entry as far as it decides about answers.

    Attributes:
        name: in its config.
        kind: `imp_type`.
        sampling: generation settings by name, as far as config or checkpoint has any.
        factor: multiple in pixels that the checkpoint's pictures are resized to; None: unknown.
        limits: candidates for its resize, the likeliest first.
        precision: "dtype" and "attn_implementation" of the entry, None where it leaves them to the
            machine; without those that are a server's own business.
    """

    name: str
    kind: str
    sampling: Mapping[str, Any]
    factor: int | None = None
    limits: tuple[PixelLimits, ...] = field(default_factory=tuple)
    precision: Mapping[str, str | None] = field(default_factory=dict)

    def picture_tokens(self, file_wh: WH, limits: PixelLimits) -> int:
        """Tokens of a picture of this size after a resize within `limits`."""
        assert self.factor is not None
        height, width = smart_resize(file_wh[1], file_wh[0], self.factor, limits.least, limits.most)
        return (height // self.factor) * (width // self.factor)


def side_of(
    name: str,
    *,
    kind: str,
    generate_cfg: Mapping[str, Any],
    kwargs: Mapping[str, Any],
    checkpoint_settings: Mapping[str, Any],
    vision: Mapping[str, Any],
    serve_args: Any = None,
    precision: Mapping[str, str | None] | None = None,
) -> Side:
    """A model entry as a side.

    Args:
        kind: `imp_type`.
        generate_cfg, kwargs: of the entry.
        checkpoint_settings: generation_config.json of its checkpoint; {} where that is not here.
        vision: "patch_size", "merge_size", "shortest_edge", "longest_edge" of its checkpoint's
            image processor, as far as known.
        serve_args: of an entry whose server the program starts.
        precision: "dtype" and "attn_implementation" of an entry that runs in this process.
    """
    words = serve_words(serve_args) if kind == "vllm" and serve_args else []
    given = {name: " ".join(values) for name, values in options(words)[1]}
    if kind in SERVERS:
        takes_defaults = kind == "vllm" and given.get("generation-config") != "vllm"
        sampling = server_settings(generate_cfg, checkpoint_settings if takes_defaults else {})
    else:
        sampling = local_settings(generate_cfg, checkpoint_settings)
    factor = None
    if vision.get("patch_size"):
        factor = int(vision["patch_size"]) * int(vision.get("merge_size") or 1)
    return Side(
        name,
        kind,
        sampling,
        factor,
        tuple(_limits(_asked_limits(kind, kwargs, generate_cfg, given), vision)),
        {"dtype": given.get("dtype")} if kind == "vllm" else precision or {},
    )


def _asked_limits(
    kind: str, kwargs: Mapping[str, Any], generate_cfg: Mapping[str, Any], given: Mapping[str, str]
) -> Mapping[str, Any]:
    """`min_pixels` and `max_pixels` as the entry asks for them, whatever the way."""
    if kind == "openai":
        return (generate_cfg.get("extra_body") or {}).get(PROCESSOR_KEY) or {}
    option = PROCESSOR_KEY.replace("_", "-")
    if kind != "vllm" or not any(name.partition(".")[0] == option for name in given):
        return kwargs
    found = {
        limit: int(value)
        for limit in PIXEL_LIMITS
        if (value := given.get(f"{option}.{limit}", "")).isdigit()
    }
    with contextlib.suppress(ValueError):  # the server has said what is wrong with it
        whole = json.loads(given.get(option, "{}"))
        found |= {limit: whole[limit] for limit in PIXEL_LIMITS if limit in whole}
    return found


def _limits(asked: Mapping[str, Any], vision: Mapping[str, Any]) -> list[PixelLimits]:
    own = (vision.get("shortest_edge"), vision.get("longest_edge"))
    found = []
    if asked.get("min_pixels") or asked.get("max_pixels"):
        least = int(asked.get("min_pixels") or own[0] or 1)
        most = int(asked.get("max_pixels") or own[1] or least)
        found.append(PixelLimits(min(least, most), most, "the config's"))
    if own[0] and own[1]:
        found.append(PixelLimits(int(own[0]), int(own[1]), "the checkpoint's own"))
    return found


def setting_differences(a: Side, b: Side) -> list[str]:
    """Generation settings that are not the same on both sides, one text each."""
    return [
        f"{name} {ours} in {a.name}, {theirs} in {b.name}"
        for name, ours, theirs in differences(a.sampling, b.sampling)
    ]


def precision_differences(a: Side, b: Side) -> list[str]:
    """In what numbers the two compute, where both entries say it and not the same."""
    found = []
    for name in sorted(a.precision.keys() & b.precision.keys()):
        ours, theirs = a.precision[name], b.precision[name]
        is_said = not {ours, theirs} & {None, "", "auto"}  # else the machine decides
        if is_said and _DTYPES.get(ours, ours) != _DTYPES.get(theirs, theirs):
            found.append(f"{name} {ours} in {a.name}, {theirs} in {b.name}")
    return found

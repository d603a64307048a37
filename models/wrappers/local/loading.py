"""Loading a checkpoint into memory: architecture, device, dtype and attention."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from models.wrappers.local.checkpoint import is_hub_id, read_config
from models.wrappers.local.defaults import frames_of_image, pixel_limits, resizes_by_area
from models.wrappers.local.placement import (
    Placement,
    flash_problem,
    float32_note,
    model_class_of,
    placement_of,
    requested_attention,
)
from models.wrappers.local.settings import load_settings
from utils.coordinates import PIXEL_LIMITS
from utils.errors import UserError
from utils.geometry.images import expand_home

if TYPE_CHECKING:
    from utils.config.schema import Local


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint in memory."""

    model: Any  # the transformers model, in eval mode
    processor: Any  # pads on the left
    patch_size: int | None = None  # side of a vision patch in pixels; None where there is none
    context_tokens: int | None = None  # that a prompt may have; None where the config does not say
    # settings of its own that its generate method works with
    generation: Mapping[str, Any] = field(default_factory=dict)
    # all that hold a part of it, CUDA's first; inputs go to the first one
    devices: tuple[str, ...] = ("cpu",)
    # "device" ("cuda:1 (NVIDIA H100 80GB HBM3)"), "dtype" and "attention"
    runs_with: Mapping[str, str] = field(default_factory=dict)

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of the processor, or the processor where it is one."""
        return getattr(self.processor, "tokenizer", self.processor)


def load(
    entry: Local, *, commit: str | None = None, adapter_commit: str | None = None
) -> Checkpoint:
    """Load the checkpoint of a config's model entry, on what this machine has.

    Without settings: the first CUDA device if there is one (under torchrun the one with the number
    of the local rank), else the CPU; the checkpoint's dtype on CUDA, float32 on the CPU, where half
    precision is slow; flash attention only on CUDA, in half precision, where it is installed.
    The processor gets the limits of `kwargs`, so that preprocess functions that know nothing of
    them obey them too.

    Args:
        entry: the model's entry in the config; its `kwargs.load` goes to `from_pretrained`.
        commit: of a checkpoint on the hub; None: its main branch.
        adapter_commit: likewise of its adapter.

    Raises:
        UserError: it cannot be loaded, or lacks weights, which would be made up.
    """
    import torch

    placement = placement_of(entry, read_config(entry.model_path, commit))
    on_cuda = placement.device == "cuda"
    if on_cuda and not torch.cuda.is_available():
        raise UserError(
            "torch cannot use the CUDA device of this machine: the driver is too old for this "
            "torch, "
            'or this torch was built without CUDA. Fix that, or set device_map to "cpu"'
        )
    attention = requested_attention(entry)
    if attention is None and placement.attention != "sdpa":
        attention = placement.attention
    config, processor, model = _from_pretrained(entry, placement, attention, commit, adapter_commit)
    if isinstance(attention, Mapping):
        attention = placement.attention
    else:
        attention = str(getattr(model.config, "_attn_implementation", None) or attention)
    vision = getattr(config, "vision_config", None)
    if on_cuda and attention == "sdpa" and getattr(vision, "window_size", None):
        print("note: with flash-attn installed, the images of this model are processed much faster")
    _prepare(processor, entry.kwargs)
    generation_config = getattr(model, "generation_config", None)
    generation: dict[str, Any] = {}
    if generation_config is not None:
        _mend_generation_config(generation_config, processor, entry.generate_cfg)
        generation = {k: v for k, v in generation_config.to_dict().items() if v is not None}
    dtype = str(model.dtype).removeprefix("torch.")
    note = float32_note(entry, dtype, placement.device)
    if note and placement.dtype != dtype:  # else the run has said so before
        print(note)
    devices = _devices_of(model)
    patch_size = getattr(getattr(processor, "image_processor", None), "patch_size", None)
    return Checkpoint(
        model.eval(),
        processor,
        patch_size if isinstance(patch_size, int) else None,
        _context_tokens(config),
        generation,
        devices,
        {
            "device": ", ".join(map(_device_name, devices)),
            "dtype": dtype,
            "attention": attention,
        },
    )


def _from_pretrained(
    entry: Local,
    placement: Placement,
    attention: Any,
    commit: str | None,
    adapter_commit: str | None,
) -> tuple[Any, Any, Any]:
    """Return config, processor and model as the library loads them."""
    import transformers

    model_path = entry.model_path
    source = model_path if is_hub_id(model_path) else str(expand_home(model_path))
    options: dict[str, Any] = {"trust_remote_code": entry.trust_remote_code}
    if commit is not None:
        options["revision"] = commit
    settings = load_settings(entry.kwargs)
    adapter = settings.pop("adapter", None)
    settings.pop("revision", None)
    settings.pop("attn_implementation", None)
    device_map = _device_map(entry, placement)
    try:
        config = transformers.AutoConfig.from_pretrained(source, **options)
        processor = transformers.AutoProcessor.from_pretrained(source, **options)
        model_class = model_class_of(
            read_config(model_path, commit), trust_remote_code=entry.trust_remote_code
        )
        problem = flash_problem(placement)
        if problem:
            raise ValueError(problem)
        options |= {"dtype": placement.dtype, "attn_implementation": attention, **settings}
        if isinstance(settings.get("quantization_config"), Mapping):
            options["quantization_config"] = _quantization(settings["quantization_config"])
        model, report = model_class.from_pretrained(
            source, device_map=device_map, output_loading_info=True, **options
        )
        if adapter is not None:
            model.load_adapter(adapter, adapter_kwargs={"revision": adapter_commit})
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise UserError(f"{model_path}: the checkpoint cannot be loaded: {reason}") from error
    _refuse_made_up_weights(model_path, model, sorted(report["missing_keys"]))
    return config, processor, model


def _device_map(entry: Local, placement: Placement) -> Any:
    """Return the config's, or this rank's own CUDA device, which is then the current one."""
    import torch

    device_map = None if entry.device_map == "" else entry.device_map
    if placement.device != "cuda" or device_map not in (None, "cuda"):
        return device_map
    # One for each process that torchrun starts here, or of those that each has been shown.
    rank = int(os.environ.get("LOCAL_RANK") or 0)
    device = f"cuda:{rank % torch.cuda.device_count()}"
    torch.cuda.set_device(device)
    return device


def _devices_of(model: Any) -> tuple[str, ...]:
    """Return the devices that hold a part of the model, CUDA's first."""
    parts = (getattr(model, "hf_device_map", None) or {}).values()
    devices = {f"cuda:{part}" if isinstance(part, int) else str(part) for part in parts}
    if len(devices) < 2:
        return (str(model.device),)
    return tuple(sorted(devices, key=lambda name: (not name.startswith("cuda"), name)))


def _device_name(device: str) -> str:
    import torch

    return f"{device} ({torch.cuda.get_device_name(device)})" if "cuda" in device else device


def _quantization(config: Mapping[str, Any]) -> Any:
    from transformers.quantizers import AutoQuantizationConfig

    return AutoQuantizationConfig.from_dict(dict(config))


def _context_tokens(config: Any) -> int | None:
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    positions = getattr(text, "max_position_embeddings", None)
    if type(positions) is not int or positions < 1:
        return None
    rope = getattr(text, "rope_parameters", None) or {}
    factor = rope.get("factor") if isinstance(rope, Mapping) else None
    if isinstance(factor, int | float) and factor > 1:  # may be counted in already: a lax limit
        return int(positions * factor)
    return positions


def _prepare(processor: Any, kwargs: Mapping[str, Any]) -> None:
    """Let a processor pad on the left, find its template, and resize within `kwargs`' limits."""
    tokenizer = getattr(processor, "tokenizer", processor)
    tokenizer.padding_side = "left"  # on the right the reply would follow the padding
    if getattr(tokenizer, "pad_token", None) is None:
        # Asked to pad, it would refuse a single text too; what pads is masked out.
        tokenizer.pad_token = getattr(tokenizer, "eos_token", None)
    template = getattr(tokenizer, "chat_template", None)
    if template and getattr(processor, "chat_template", None) is None:  # servers take it, too
        processor.chat_template = template
    image_processor = getattr(processor, "image_processor", None)
    limits = {name: kwargs[name] for name in PIXEL_LIMITS if kwargs.get(name)}
    if limits and image_processor is not None and resizes_by_area(image_processor):
        frames = frames_of_image(image_processor)
        smallest, largest = pixel_limits(image_processor, limits)
        image_processor.size = {
            "shortest_edge": smallest * frames,
            "longest_edge": largest * frames,
        }
    elif limits:
        reason = "the image processor does not resize by area"
        print(f"warning: {', '.join(limits)} has no effect: {reason}", file=sys.stderr)


def _mend_generation_config(
    generation_config: Any, processor: Any, generate_cfg: Mapping[str, Any]
) -> None:
    """Take out of a checkpoint's generation settings what its training left there, and say so."""
    end_id = getattr(getattr(processor, "tokenizer", processor), "eos_token_id", None)
    if generation_config.eos_token_id is None and end_id is not None:
        generation_config.eos_token_id = end_id  # replies would go on to the token limit
        print(
            "note: the checkpoint's generation_config names no end token, so the program uses the "
            "tokenizer's"
        )
    if generate_cfg.get("max_new_tokens") or generation_config.max_new_tokens:
        # It has no effect then, of which the library tells at each sample.
        generation_config.max_length = None
    if generation_config.use_cache is False:  # every token would take as long as the whole prompt
        generation_config.use_cache = None
        print("note: the checkpoint's use_cache false is ignored, because it only slows generation")


def _refuse_made_up_weights(model_path: str, model: Any, missing: list[str]) -> None:
    """Raise a UserError where the library filled weights with random numbers.

    Weights that are tied to others, and those that an architecture can do without, are not among
    the missing. Quantised layers list biases that no checkpoint has; they are zero, as they should.
    """
    if not missing:
        return
    names = ", ".join(missing[:3])
    if len(missing) > 3:
        names += ", ..."
    problem = f"{model_path}: {len(missing)} weights of the checkpoint are missing ({names})"
    if getattr(model, "hf_quantizer", None) is None:
        raise UserError(f"{problem}. Is the checkpoint complete?")
    print(f"warning: {problem}; quantised layers may do without them", file=sys.stderr)

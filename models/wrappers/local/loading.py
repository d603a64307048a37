"""Loading a checkpoint into memory: architecture, device, dtype and attention."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.wrappers.local.checkpoint import cuda_present, cuda_wanted, hub_commit, is_hub_id
from models.wrappers.local.pictures import pixel_limits, resizes_by_area
from models.wrappers.local.settings import SPREADING, ranks_here
from utils.errors import UserError
from utils.images import at_home


@dataclass(frozen=True, slots=True)
class Loaded:
    """A checkpoint in memory.

    Attributes:
        model: the transformers model, in eval mode.
        processor: its processor; pads on the left.
        patch_size: side of a vision patch in pixels; None where the model has no such thing.
        end_ids: token ids that end a reply.
        attention: what is really used: "sdpa", "flash_attention_2", ...
        generation: settings of its own that its generate method works with.
    """

    model: Any
    processor: Any
    patch_size: int | None
    end_ids: frozenset[int]
    attention: str
    generation: Mapping[str, Any]


def load(
    model_path: str,
    *,
    dtype: str | None,
    attn_implementation: str | None,
    device_map: Any,
    limits: Mapping[str, int],
) -> Loaded:
    """Loads a checkpoint as its config names it, on what this machine has.

    Without settings: the first CUDA device if there is one (under torchrun the one with the number
    of the local rank), else the CPU; the checkpoint's dtype
    on CUDA, float32 on the CPU (half precision is slow there and no model was published with it);
    flash attention only on CUDA, in half precision, where the package is installed.

    Args:
        model_path: a folder, or an `org/name` of the hub.
        dtype: name of a torch dtype, "auto" (the checkpoint's), or None.
        attn_implementation: as transformers names them, or None.
        device_map: as transformers takes it, or None.
        limits: `min_pixels` and `max_pixels` as far as they are configured; the processor gets
            them, so that preprocess functions that know nothing of them obey them too.

    Raises:
        UserError: the checkpoint cannot be loaded, with the library's reason; or weights are
            missing in it, which the library would make up.
    """
    import torch
    import transformers

    on_cuda = _is_for_cuda(torch, device_map)
    source = model_path
    options: dict[str, Any] = {"trust_remote_code": False}
    if is_hub_id(model_path):
        options["revision"] = hub_commit(model_path)
    else:
        source = str(at_home(model_path))
    try:
        config = transformers.AutoConfig.from_pretrained(source, **options)
        processor = transformers.AutoProcessor.from_pretrained(source, **options)
        torch_dtype = dtype or ("auto" if on_cuda else "float32")
        model_class = _model_class(transformers, config)
        attention = _attention(attn_implementation, model_class, config, torch_dtype, on_cuda)
        placement = device_map
        if placement is None and on_cuda:
            placement = device_of_this_rank(torch)
        model, report = model_class.from_pretrained(
            source,
            dtype=torch_dtype if torch_dtype == "auto" else getattr(torch, torch_dtype),
            attn_implementation=attention,
            device_map=placement,
            output_loading_info=True,
            **options,
        )
        model = model.eval()
    except Exception as error:
        raise _not_loadable(model_path, error) from error
    if problem := _made_up_weights(report):
        raise UserError(f"{model_path}: {problem}")
    tokenizer = getattr(processor, "tokenizer", processor)
    # Right padding ruins batches: the reply would follow the padding.
    tokenizer.padding_side = "left"
    if getattr(tokenizer, "pad_token", None) is None:
        # Asked to pad, as the default and the documented preprocess functions do, it would refuse
        # a single text too; what pads is masked out.
        tokenizer.pad_token = getattr(tokenizer, "eos_token", None)
    image_processor = getattr(processor, "image_processor", None)
    if image_processor is not None and limits and resizes_by_area(image_processor):
        least, most = pixel_limits(image_processor, limits)
        image_processor.size = {"shortest_edge": least, "longest_edge": most}
    patch_size = getattr(image_processor, "patch_size", None)
    return Loaded(
        model=model,
        processor=processor,
        patch_size=patch_size if isinstance(patch_size, int) else None,
        end_ids=frozenset(_end_ids(model, tokenizer)),
        attention=str(getattr(model.config, "_attn_implementation", attention)),
        generation=_own_settings(model),
    )


def _not_loadable(model_path: str | Path, error: Exception) -> UserError:
    return UserError(
        f"{model_path}: the checkpoint cannot be loaded: {type(error).__name__}: {error}"
    )


def _made_up_weights(report: Mapping[str, Any]) -> str:
    """What to say where the library filled weights with random numbers; nothing if it did not.

    Weights that are tied to others, and those that an architecture can do without, are not in the
    report.
    """
    missing = sorted(report["missing_keys"])
    mismatched = sorted(name for name, *_ in report["mismatched_keys"])
    told = [
        f"{len(names)} weights of the checkpoint {what} ({_first(names)})"
        for names, what in ((missing, "are missing"), (mismatched, "have another shape"))
        if names
    ]
    return f"{' and '.join(told)}; is it complete?" if told else ""


def _first(names: Sequence[str], limit: int = 3) -> str:
    return ", ".join(names[:limit]) + (", ..." if len(names) > limit else "")


def _own_settings(model: Any) -> dict[str, Any]:
    held = getattr(model, "generation_config", None)
    settings = held.to_dict() if held is not None else {}
    return {key: value for key, value in settings.items() if value is not None}


def _is_for_cuda(torch: Any, device_map: Any) -> bool:
    """Whether the model goes to a CUDA device.

    Raises:
        UserError: there is one that torch cannot use, or several ranks would share the same ones
            for no reason; the config says otherwise, or a slow rank would hold up the others.
    """
    if _is_elsewhere(device_map):
        return False
    ranks = ranks_here()
    if torch.cuda.is_available():
        fixed = device_map is not None and device_map != "cuda" and cuda_wanted(device_map)
        if fixed and ranks > 1 and torch.cuda.device_count() > 1:
            raise UserError(
                f"device_map {device_map!r} puts all {ranks} copies that torchrun starts onto the "
                "same devices; leave device_map out, then each takes one of its own"
            )
        return True
    if not cuda_present():
        return False
    why = (
        "this machine has a CUDA device that torch cannot use: the driver is too old for this "
        "torch, or this torch was built without CUDA"
    )
    if cuda_wanted(device_map) or ranks > 1:
        raise UserError(f'{why}; mend that, or set device_map to "cpu"')
    print(f"warning: {why}. The model runs on the CPU", file=sys.stderr)
    return False


def _is_elsewhere(device_map: Any) -> bool:
    """Whether all of the model is put onto something that is not CUDA, "cpu" or "xpu:0"."""
    devices = device_map.values() if isinstance(device_map, Mapping) else [device_map]
    return all(
        isinstance(each, str) and each not in SPREADING and not cuda_wanted(each)
        for each in devices
    )


def device_of_this_rank(torch: Any) -> str:
    """The CUDA device of this process: under torchrun each has one of its own.

    It becomes the current one too, because users' functions say `.to("cuda")`.
    """
    local_rank, devices = int(os.environ.get("LOCAL_RANK") or 0), torch.cuda.device_count()
    if 1 < devices < ranks_here():  # with one each rank may have been shown its own
        print(
            f"warning: {ranks_here()} ranks share {devices} CUDA devices, so some hold more than "
            "one copy",
            file=sys.stderr,
        )
    device = f"cuda:{local_rank % devices}"
    torch.cuda.set_device(device)
    return device


def placement_of(loaded: Loaded) -> str:
    """Where and how a model runs: "cuda:1 (NVIDIA H100 80GB HBM3), bfloat16, sdpa"."""
    import torch

    spread = getattr(loaded.model, "hf_device_map", None) or {}
    names = {f"cuda:{each}" if isinstance(each, int) else str(each) for each in spread.values()}
    devices = sorted(names) or [str(loaded.model.device)]
    if len(devices) == 1 and loaded.model.device.type == "cuda":
        devices = [f"{loaded.model.device} ({torch.cuda.get_device_name(loaded.model.device)})"]
    return f"{', '.join(devices)}, {str(loaded.model.dtype).removeprefix('torch.')}, " + (
        loaded.attention
    )


def class_of(folder: Path) -> tuple[Any, type | None]:
    """The configuration and class of a checkpoint, without its weights.

    Returns:
        The class is None where the library finds it only as it loads the checkpoint.

    Raises:
        UserError: the library does not understand the configuration.
    """
    import transformers

    try:
        config = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=False)
    except Exception as error:
        raise _not_loadable(folder, error) from error
    found = _model_class(transformers, config)
    return config, None if found is transformers.AutoModelForImageTextToText else found


def _model_class(transformers: Any, config: Any) -> Any:
    names = getattr(config, "architectures", None) or [""]
    return getattr(transformers, names[0], None) or transformers.AutoModelForImageTextToText


def _attention(
    wanted: str | None, model_class: Any, config: Any, dtype: str, on_cuda: bool
) -> str | None:
    """What to ask transformers for; None leaves it to choose (sdpa wherever a model has it)."""
    from transformers.utils import is_flash_attn_2_available

    if wanted and wanted != "flash_attention_2":
        return wanted
    flash_works = on_cuda and is_flash_attn_2_available()
    if wanted:
        if flash_works:
            return wanted
        print(
            "warning: attn_implementation flash_attention_2 is not usable here "
            f"({'flash-attn is not installed' if on_cuda else 'no CUDA device'}); sdpa is used",
            file=sys.stderr,
        )
        return "sdpa"
    stored = str(getattr(config, "dtype", None)) if dtype == "auto" else dtype
    is_half = stored.removeprefix("torch.") in ("float16", "bfloat16")
    supported = getattr(model_class, "_supports_flash_attn", False) is True
    return "flash_attention_2" if flash_works and is_half and supported else None


def _end_ids(model: Any, tokenizer: Any) -> Iterator[int]:
    """What `generate` stops at; the tokenizer's where the checkpoint's settings name none."""
    generation_config = getattr(model, "generation_config", None)
    for holder in (generation_config, tokenizer):
        ids = getattr(holder, "eos_token_id", None)
        if ids is not None:
            yield from [ids] if isinstance(ids, int) else list(ids)
            return

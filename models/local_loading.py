"""Loading a checkpoint into memory: architecture, device, dtype and attention."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.checkpoint import hub_commit, is_hub_id
from models.local_pictures import pixel_limits, resizes_by_area
from utils.errors import UserError


@dataclass(frozen=True, slots=True)
class Loaded:
    """A checkpoint in memory.

    Attributes:
        model: the transformers model, in eval mode.
        processor: its processor; pads on the left.
        patch_size: side of a vision patch in pixels; None where the model has no such thing.
        end_ids: token ids that end a reply.
        attention: what is really used: "sdpa", "flash_attention_2", ...
    """

    model: Any
    processor: Any
    patch_size: int | None
    end_ids: frozenset[int]
    attention: str


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
        UserError: the checkpoint cannot be loaded, with the library's reason.
    """
    import torch
    import transformers

    source = model_path
    options: dict[str, Any] = {"trust_remote_code": False}
    if is_hub_id(model_path):
        options["revision"] = hub_commit(model_path)
    else:
        source = str(Path(model_path).expanduser())
    try:
        config = transformers.AutoConfig.from_pretrained(source, **options)
        processor = transformers.AutoProcessor.from_pretrained(source, **options)
        on_cuda = torch.cuda.is_available() and device_map != "cpu"
        torch_dtype = dtype or ("auto" if on_cuda else "float32")
        model_class = _model_class(transformers, config)
        attention = _attention(attn_implementation, model_class, config, torch_dtype, on_cuda)
        device = device_of_this_rank(torch) if on_cuda else None
        placement = device_map if device_map is not None else device
        model = model_class.from_pretrained(
            source,
            dtype=torch_dtype if torch_dtype == "auto" else getattr(torch, torch_dtype),
            attn_implementation=attention,
            device_map=placement,
            **options,
        ).eval()
    except Exception as error:
        raise UserError(
            f"{model_path}: the checkpoint cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    tokenizer = getattr(processor, "tokenizer", processor)
    # Right padding ruins batches: the reply would follow the padding.
    tokenizer.padding_side = "left"
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
    )


def device_of_this_rank(torch: Any) -> str:
    """The CUDA device of this process: under torchrun each has one of its own.

    It becomes the current one too, because users' functions say `.to("cuda")`.
    """
    local_rank = int(os.environ.get("LOCAL_RANK") or 0)
    device = f"cuda:{local_rank % torch.cuda.device_count()}"
    torch.cuda.set_device(device)
    return device


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


def check_default_preprocessing(model_name: str, processor: Any, limits: Mapping[str, int]) -> None:
    """Whether the default preprocess function can work with a checkpoint's processor.

    Raises:
        UserError: the checkpoint has no chat template.
    """
    has_template = getattr(processor, "chat_template", None) or getattr(
        getattr(processor, "tokenizer", None), "chat_template", None
    )
    if not has_template or not hasattr(processor, "apply_chat_template"):
        raise UserError(
            f"model {model_name!r}: the checkpoint's {type(processor).__name__} has no chat "
            "template, so a preprocess_function of your own must write the prompt"
        )
    if limits and not resizes_by_area(getattr(processor, "image_processor", None)):
        print(
            f"warning: model {model_name!r}: {', '.join(limits)} in kwargs has no effect, its "
            "image processor does not resize by area",
            file=sys.stderr,
        )

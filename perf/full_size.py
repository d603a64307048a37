"""Checkpoints with random weights that have the sizes of published ones: as slow and as large.

What they say is rubbish. Their tokenizer is that of the tiny checkpoints, a token for each byte.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support import tiny_checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROPE = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [16, 24, 24]}
VISION = {
    "depth": 32,
    "num_heads": 16,
    "hidden_size": 1280,
    "intermediate_size": 3420,
    "fullatt_block_indexes": [7, 15, 23, 31],
}
VOCABULARY = 152_064


@dataclass(frozen=True)
class Sizes:
    """What the config of a Qwen2.5-VL says of its two parts."""

    text: Mapping[str, Any]
    vision: Mapping[str, Any]


def _sizes(hidden: int, intermediate: int, layers: int, heads: int, key_heads: int) -> Sizes:
    text = {
        "vocab_size": VOCABULARY,
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": key_heads,
        "head_dim": 128,
        "rope_parameters": ROPE,
    }
    return Sizes(text, {**VISION, "out_hidden_size": hidden})


# As config.json of the published Qwen2.5-VL checkpoints has them.
SIZES = {
    "3b": _sizes(2048, 11008, 36, 16, 2),
    "7b": _sizes(3584, 18944, 28, 28, 4),
    "tiny": Sizes({}, {}),
}


def device() -> str:
    """Return the device that torch would choose here."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


@contextmanager
def _made_in_bfloat16() -> Iterator[None]:
    import torch

    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device(device()):
            yield
    finally:
        torch.set_default_dtype(before)


def _model(like: str) -> tuple[Any, Any]:
    """Return a model and its processor."""
    import torch
    import transformers

    torch.manual_seed(0)
    tokenizer = tiny_checkpoint.byte_tokenizer()
    sizes = SIZES[like]
    config, model_class, processor_class, images, videos = tiny_checkpoint.classes(
        "qwen2_5_vl", tokenizer, sizes.text, sizes.vision
    )
    with _made_in_bfloat16():
        model = model_class(config).eval()
    model.generation_config = transformers.GenerationConfig(
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id, do_sample=False
    )
    processor = processor_class(
        image_processor=images,
        tokenizer=tokenizer,
        video_processor=videos,
        chat_template=tiny_checkpoint.CHAT_TEMPLATE,
    )
    return model, processor


def model(like: str) -> Any:
    """Return a random model of that size, in bfloat16, on the GPU if there is one."""
    return _model(like)[0]


def build(like: str, folder: Path) -> Path:
    """Write a checkpoint of that size to `folder`, which is returned; 7.5 GB for "3b"."""
    import gc

    import torch

    made, processor = _model(like)
    made.save_pretrained(folder)
    processor.save_pretrained(folder)
    del made
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return folder

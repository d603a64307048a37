"""Checkpoints with random weights that have the sizes of published ones: as slow and as large.

What they say is rubbish. Their tokenizer is that of the tiny checkpoints, a token for each byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models.wrappers.local.generating import free_memory
from tests.support import tiny_checkpoint

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    """The config of the two parts of a Qwen2.5-VL."""

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


def _model(like: str) -> tuple[Any, Any]:
    """Return a model in bfloat16, on the GPU if there is one, and its processor."""
    import torch

    sizes = SIZES[like]
    dtype_before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
            return tiny_checkpoint.random_model("qwen2_5_vl", sizes.text, sizes.vision)
    finally:
        torch.set_default_dtype(dtype_before)


def model(like: str) -> Any:
    """Return a random model of that size, in bfloat16, on the GPU if there is one."""
    return _model(like)[0]


def build(like: str, folder: Path) -> Path:
    """Write a checkpoint of that size to `folder`, which is returned; 7.5 GB for "3b"."""
    made, processor = _model(like)
    made.save_pretrained(folder)
    processor.save_pretrained(folder)
    del made
    free_memory()  # other processes load it
    return folder

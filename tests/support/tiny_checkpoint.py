"""Tiny checkpoints of the Qwen-VL families, built from their config classes without a download.

They are real models: AutoConfig, AutoProcessor and `from_pretrained` load them, they take any picture
and text, and `teach` makes one say a fixed answer. About 0.4 MB on disk and 2 s to build.
Nothing heavy is imported before a function is called.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from PIL import Image

Family = Literal["qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_5"]
FAMILIES: tuple[Family, ...] = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_5")

END_OF_TEXT, END_OF_TURN = "<|endoftext|>", "<|im_end|>"
SPECIAL_TOKENS = (
    END_OF_TEXT,
    "<|im_start|>",
    END_OF_TURN,
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
)

# What the families' own templates do: a default system message, ChatML turns, picture tokens.
CHAT_TEMPLATE = (
    "{%- for turn in messages -%}{%- if loop.first and turn['role'] != 'system' -%}"
    "{{ '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' }}{%- endif -%}"
    "{{ '<|im_start|>' + turn['role'] + '\n' }}"
    "{%- if turn['content'] is string -%}{{ turn['content'] }}"
    "{%- else -%}{%- for part in turn['content'] -%}"
    "{%- if part['type'] == 'image' -%}{{ '<|vision_start|><|image_pad|><|vision_end|>' }}"
    "{%- elif part['type'] == 'text' -%}{{ part['text'] }}{%- endif -%}"
    "{%- endfor -%}{%- endif -%}{{ '<|im_end|>\n' }}{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\n' }}{%- endif -%}"
)


def build(family: Family, folder: Path, *, dtype: str = "bfloat16", spread: float = 1.0) -> Path:
    """Writes a checkpoint with random weights, times `spread`, to `folder`, which it returns."""
    import torch

    model, processor = random_model(family)
    model.to(getattr(torch, dtype))
    _spread(model, spread)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def random_model(
    family: Family,
    text_sizes: Mapping[str, Any] | None = None,
    vision_sizes: Mapping[str, Any] | None = None,
) -> tuple[Any, Any]:
    """A model and its processor; the sizes take the place of the tiny ones."""
    import torch
    import transformers

    torch.manual_seed(0)
    tokenizer = _tokenizer()
    config, model_class, processor_class, images, videos = _classes(
        family, tokenizer, text_sizes or {}, vision_sizes or {}
    )
    model = model_class(config).eval()
    ends = tokenizer.convert_tokens_to_ids([END_OF_TURN, END_OF_TEXT])
    model.generation_config = transformers.GenerationConfig(
        eos_token_id=ends, pad_token_id=ends[1], do_sample=False
    )
    parts = {"image_processor": images, "tokenizer": tokenizer, "video_processor": videos}
    return model, processor_class(**parts, chat_template=CHAT_TEMPLATE)


def _spread(model: Any, factor: float) -> None:
    """Larger weights: as they are initialised, they hardly react to a prompt."""
    import torch

    with torch.no_grad():
        for weights in model.parameters():
            if weights.ndim > 1:
                weights.mul_(factor)


def build_llava(folder: Path) -> Path:
    """Writes a random checkpoint of a family whose pictures are squares, cut to one size."""
    import torch
    import transformers as t

    torch.manual_seed(0)
    tokenizer = _tokenizer()
    ids = {token: tokenizer.convert_tokens_to_ids(token) for token in SPECIAL_TOKENS}
    ends = {"bos_token_id": ids[END_OF_TEXT], "eos_token_id": ids[END_OF_TURN]}
    text = t.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=32,
        **ends,
    )
    vision = t.CLIPVisionConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=56,
        patch_size=14,
    )
    config = t.LlavaConfig(
        vision_config=vision,
        text_config=text,
        image_token_id=ids["<|image_pad|>"],
        vision_feature_layer=-1,
    )
    model = t.LlavaForConditionalGeneration(config).eval()
    _spread(model, 6)
    model.generation_config = t.GenerationConfig(**ends, pad_token_id=ids[END_OF_TEXT])
    model.save_pretrained(folder)
    square = {"height": 56, "width": 56}
    t.LlavaProcessor(
        image_processor=t.CLIPImageProcessor(size={"shortest_edge": 56}, crop_size=square),
        tokenizer=tokenizer,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        image_token="<|image_pad|>",
        chat_template=CHAT_TEMPLATE,
    ).save_pretrained(folder)
    return folder


def teach(source: Path, folder: Path, answer: str, *, steps: int = 220) -> Path:
    """Trains a copy of a checkpoint until it gives one answer to any picture and text.

    220 steps are enough for some thirty characters; about 6 s on one thread.
    """
    import torch
    import transformers

    torch.manual_seed(0)
    processor = transformers.AutoProcessor.from_pretrained(source)
    architecture = transformers.AutoConfig.from_pretrained(source).architectures[0]
    model = getattr(transformers, architecture).from_pretrained(source, dtype=torch.float32).train()
    target = answer + END_OF_TURN
    target_length = len(processor.tokenizer(target)["input_ids"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(steps):
        turns, picture = _random_question(step)
        text = processor.apply_chat_template([turns], tokenize=False, add_generation_prompt=True)[0]
        inputs = processor(text=[text + target], images=[picture], return_tensors="pt")
        labels = inputs["input_ids"].clone()
        labels[:, :-target_length] = -100  # the loss looks at the answer alone
        optimizer.zero_grad()
        model(**inputs, labels=labels).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    model.eval().to(torch.bfloat16).save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def _random_question(seed: int) -> tuple[list[dict[str, Any]], Image.Image]:
    """One user turn of random characters with a plain picture; every other one has a system turn."""
    dice = random.Random(seed)
    size = (28 * dice.randrange(2, 12), 28 * dice.randrange(2, 12))
    picture = Image.new("RGB", size, tuple(dice.randrange(255) for _ in range(3)))
    words = "".join(chr(dice.randrange(32, 127)) for _ in range(dice.randrange(1, 120)))
    system = [{"role": "system", "content": words[::-1]}] if seed % 2 else []
    content = [{"type": "image"}, {"type": "text", "text": words}]
    return [*system, {"role": "user", "content": content}], picture


def _tokenizer() -> Any:
    """A byte-level tokenizer: 256 bytes and the special tokens, no merges."""
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner = Tokenizer(models.BPE(vocab={sign: i for i, sign in enumerate(letters)}, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        eos_token=END_OF_TURN,
        pad_token=END_OF_TEXT,
        additional_special_tokens=list(SPECIAL_TOKENS[1:]),
        model_max_length=131072,
        padding_side="right",  # as many published checkpoints have it; the wrapper must turn it
        clean_up_tokenization_spaces=False,
    )


def _classes(
    family: Family,
    tokenizer: Any,
    text_sizes: Mapping[str, Any],
    vision_sizes: Mapping[str, Any],
) -> tuple[Any, Any, Any, Any, Any]:
    """(config, model class, processor class, image processor, video processor) of a family."""
    import transformers as t

    ids = {token: tokenizer.convert_tokens_to_ids(token) for token in SPECIAL_TOKENS}
    text = {
        "vocab_size": len(tokenizer),
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 32,  # vLLM on a CPU takes no 16
        "max_position_embeddings": 131072,
        "bos_token_id": ids[END_OF_TEXT],
        "eos_token_id": ids[END_OF_TURN],
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [4, 6, 6]},
    }
    tokens = {
        f"{name}_token_id": ids[f"<|{token}|>"]
        for name, token in (
            ("image", "image_pad"),
            ("video", "video_pad"),
            ("vision_start", "vision_start"),
            ("vision_end", "vision_end"),
        )
    }
    vision = {"depth": 2, "num_heads": 2}
    merged = {"hidden_size": 32, "out_hidden_size": 64, "intermediate_size": 64}
    if family == "qwen2_vl":
        name = "Qwen2VL"
        vision |= {"embed_dim": 32, "hidden_size": 64, "mlp_ratio": 2}
    elif family == "qwen2_5_vl":
        name = "Qwen2_5_VL"
        vision |= {**merged, "fullatt_block_indexes": [1], "window_size": 112}
    elif family == "qwen3_vl":
        name = "Qwen3VL"
        text["rope_parameters"]["mrope_interleaved"] = True  # as published; vLLM goes by it
        vision |= {**merged, "num_position_embeddings": 256, "deepstack_visual_indexes": [0]}
    else:
        name = "Qwen3_5"
        text["rope_parameters"] |= {"mrope_interleaved": True, "partial_rotary_factor": 1.0}
        text |= {
            "layer_types": ["linear_attention", "full_attention"],
            **{f"linear_{part}_head_dim": 16 for part in ("key", "value")},
            **{f"linear_num_{part}_heads": 2 for part in ("key", "value")},
        }
        vision |= {**merged, "num_position_embeddings": 256}
    config, model = (getattr(t, name + part) for part in ("Config", "ForConditionalGeneration"))
    processor = getattr(t, ("Qwen3VL" if name == "Qwen3_5" else name) + "Processor")
    text |= text_sizes
    vision |= vision_sizes
    config = config(text_config=text, vision_config=vision, **tokens)
    if name not in ("Qwen3VL", "Qwen3_5"):
        return config, model, processor, t.Qwen2VLImageProcessor(), t.Qwen2VLVideoProcessor()
    halves = [0.5] * 3
    images = t.Qwen2VLImageProcessor(patch_size=16, image_mean=halves, image_std=halves)
    return config, model, processor, images, t.Qwen3VLVideoProcessor()

"""The default functions for a local model's messages and outputs.

Both functions have the form of a user's function, so a model file can call them and change one
part. `turns_of` and `model_inputs` are the two halves of the default preprocessing. Use them for a
model that needs another prompt text than its chat template writes (see `models/local_aguvis.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from pathlib import Path
from typing import Any

from utils.contracts import Message
from utils.geometry.images import cached_by_file, decoded_image, image_file, on_white

CACHED_BYTES = 256 * 1024**2  # of decoded and resized images; one has three bytes a pixel
DEFAULTS_VERSION = 4
"""Raise it when the functions below make other inputs or replies: older answers count no more."""
FINGERPRINT_VERSION = 3
"""Of checkpoints, raised with it. Version 4 makes other inputs of transparent images alone."""


def default_preprocess_function(
    message: list[Message], model: Any, processor: Any, **kwargs: Any
) -> Mapping[str, Any]:
    """Return the inputs of `model.generate` for messages, by the checkpoint's own chat template.

    Args:
        message: `{"role", "type", "value"}` each; the value of an image is a path.
        model: as loaded.
        processor: as loaded.
        **kwargs: the config's `kwargs`; `min_pixels` and `max_pixels` are read, the areas in
            pixels within which images are resized, once, and `chat_template`, the variables of
            the chat template.

    Raises:
        ValueError: a message is neither text nor image, a system message is no text, or the chat
            template leaves out what a message says.
    """
    turns = turns_of(message)
    text = _prompt_text(turns, processor, kwargs.get("chat_template") or {})
    return model_inputs(text, turns, model, processor, **kwargs)


def default_postprocess_function(outputs: Any, model: Any, processor: Any, **kwargs: Any) -> str:
    """Return the text of the completion, without the prompt and without special tokens.

    Args:
        outputs: shape (1, prompt + completion) of token ids; or a tuple that starts with it, or
            an object that has it as `sequences`.
        model: as loaded; not used.
        processor: as loaded.
        **kwargs: `input_length`, the number of prompt tokens in front of the completion.
    """
    predicted = sequences_of(outputs)[:, kwargs["input_length"] :]
    return str(processor.batch_decode(predicted, skip_special_tokens=True)[0])


def sequences_of(outputs: Any) -> Any:
    """Return the token ids, shape (batch, tokens), of whatever a generate method returned."""
    if hasattr(outputs, "sequences"):
        return outputs.sequences
    return outputs[0] if isinstance(outputs, tuple) else outputs


def turns_of(message: list[Message]) -> list[dict[str, Any]]:
    """Return messages as turns of a chat template; neighbours of one role become one turn.

    Replies stay apart: they are of different turns of an episode.

    parity: the content of a system turn is a plain text, that of other turns a list of parts.

    Raises:
        ValueError: a message is neither text nor image, or a system message is no text.
    """
    turns: list[dict[str, Any]] = []
    for part in message:
        role = part["role"]
        types = ("text",) if role == "system" else ("text", "image")
        if part["type"] not in types:
            raise ValueError(f"a {role} message cannot be of type {part['type']}")
        is_new = role == "assistant" or part.get("turn") == "new"
        if is_new or not turns or turns[-1]["role"] != role:
            turns.append({"role": role, "content": []})
        turns[-1]["content"].append({"type": part["type"], part["type"]: part["value"]})
    for turn in turns:
        if turn["role"] == "system":
            turn["content"] = "\n".join(part["text"] for part in turn["content"])
    return turns


def _prompt_text(turns: list[dict[str, Any]], processor: Any, settings: Mapping[str, Any]) -> str:
    """The text that the checkpoint's chat template makes of the turns.

    Raises:
        ValueError: it leaves out what a turn says.
    """
    from jinja2 import TemplateError

    beginning = ""
    if turns[-1]["role"] == "assistant":  # the reply's
        beginning = "".join(part["text"] for part in turns[-1]["content"])
        turns = turns[:-1]
    # Templates that go through the parts of every turn find none in a plain text.
    in_parts = [{**turn, "content": _text_parts(turn["content"])} for turn in turns]
    lost_role = None
    for conversation in (turns, in_parts):
        options = {"tokenize": False, "add_generation_prompt": True, **settings}
        try:
            text = str(processor.apply_chat_template([conversation], **options)[0])
        except (TemplateError, TypeError):  # of a template that adds lists of parts
            if conversation is in_parts:
                raise
            continue
        lost_role = _lost_role(turns, text)
        if lost_role is None:
            return text + beginning
    hint = 'set kwargs.system_prompt to "model_default" or ' if lost_role == "system" else ""
    raise ValueError(
        f"the checkpoint's chat template leaves out the text of the {lost_role} message; {hint}"
        "write a preprocess_function"
    )


def _text_parts(content: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _lost_role(turns: list[dict[str, Any]], prompt: str) -> str | None:
    """Return the role of a turn whose text is not in the prompt; blanks, which are trimmed, aside.

    Earlier replies may be left out: templates rid them of their thinking.
    """
    compact_prompt = "".join(prompt.split())
    for turn in turns:
        if turn["role"] == "assistant":
            continue
        for part in _text_parts(turn["content"]):
            if "".join(part.get("text", "").split()) not in compact_prompt:
                return str(turn["role"])
    return None


def model_inputs(
    text: str | list[str], turns: list[dict[str, Any]], model: Any, processor: Any, **kwargs: Any
) -> Mapping[str, Any]:
    """Return prompt text and the images of its turns as tensors, which stay on the CPU.

    Args:
        text: the prompt as the model reads it, with a placeholder for each image.
        turns: what `turns_of` returned; supplies the images.
        model: as loaded.
        processor: as loaded.
        **kwargs: the config's `kwargs`; `min_pixels` and `max_pixels` are read.

    Returns:
        Batch size 1: input_ids and attention_mask of shape (1, tokens), pixel_values,
        image_grid_thw of shape (images, 3) and what else the processor makes.
    """
    parts = [part for turn in turns if turn["role"] != "system" for part in turn["content"]]
    values = [part["image"] for part in parts if part["type"] == "image"]
    options: dict[str, Any] = {"padding": True, "return_tensors": "pt"}
    if values and resizes_by_area(processor.image_processor):
        images = _resized(values, processor.image_processor, kwargs)
        # They lie on the model's grid now. The processor would resize them again, to limits of
        # its own: other pixels and another frame for coordinates.
        options["do_resize"] = False
    else:
        images = [_decoded(Path(value.removeprefix("file://"))) for value in values]
    texts = [text] if isinstance(text, str) else text
    first_token = getattr(getattr(processor, "tokenizer", processor), "bos_token", None)
    if first_token and texts[0].startswith(first_token):  # the tokenizer would add another one
        options["add_special_tokens"] = False
    inputs = processor(text=texts, images=images or None, **options)
    # Images come in float32, and not every vision tower casts them to its own precision.
    return inputs.to(model.dtype) if images else inputs  # type: ignore[no-any-return]


def resizes_by_area(image_processor: Any) -> bool:
    """Whether images become multiples of two patches within areas, as with Qwen-VL."""
    edges = [_edge(image_processor, name) for name in ("shortest_edge", "longest_edge")]
    is_int = isinstance(getattr(image_processor, "patch_size", None), int)
    return getattr(image_processor, "merge_size", None) == 2 and is_int and all(edges)


def pixel_limits(image_processor: Any, settings: Mapping[str, Any]) -> tuple[int, int]:
    """Return smallest and largest area in pixels: as configured, else the processor's."""
    frames = frames_of_image(image_processor)
    smallest = int(settings.get("min_pixels") or _edge(image_processor, "shortest_edge") // frames)
    largest = int(settings.get("max_pixels") or _edge(image_processor, "longest_edge") // frames)
    if settings.get("max_pixels"):  # the checkpoint's own limit gives way
        return min(smallest, largest), largest
    return smallest, max(smallest, largest)


def frames_of_image(image_processor: Any) -> int:
    """The times that an image counts in its processor's limits: GLM-V's are of a video."""
    resize = getattr(image_processor, "resize", None)
    is_video = resize is not None and "temporal_factor" in signature(resize).parameters
    return int(image_processor.temporal_patch_size) if is_video else 1


def _edge(image_processor: Any, name: str) -> Any:
    size = getattr(image_processor, "size", None)
    return size.get(name) if isinstance(size, Mapping) else getattr(size, name, None)


def _resized(values: list[str], image_processor: Any, settings: Mapping[str, Any]) -> list[Any]:
    smallest, largest = pixel_limits(image_processor, settings)
    patch_size = image_processor.patch_size
    images = []
    for value in values:
        file = image_file(value)
        if file is None:
            images.append(_fitted(value, patch_size, smallest, largest))
        else:
            images.append(_fitted_file(file, patch_size, smallest, largest))
    return images


def _bytes_of(image: Any) -> int:
    return 3 * int(image.width) * int(image.height)


@cached_by_file(CACHED_BYTES, weigh=_bytes_of)
def _fitted_file(file: Path, patch_size: int, smallest: int, largest: int) -> Any:
    """Return the image of a file on the model's grid; one with several questions is made once."""
    return _fitted(_on_white(file), patch_size, smallest, largest)


@cached_by_file(CACHED_BYTES, weigh=_bytes_of)
def _decoded(file: Path) -> Any:
    return _on_white(file)


def _fitted(image: Any, patch_size: int, smallest: int, largest: int) -> Any:
    """Return an image, or that of a URL, resized to multiples of two patches within areas."""
    from qwen_vl_utils import process_vision_info

    part = {"type": "image", "image": image, "min_pixels": smallest, "max_pixels": largest}
    # The default of the patch size is 14; the grid of Qwen3-VL would be missed.
    images, _ = process_vision_info(
        [{"role": "user", "content": [part]}], image_patch_size=patch_size
    )
    return images[0]


def _on_white(file: Path) -> Any:
    """Return a file as RGB; what is transparent shows white, as a viewer has it."""
    with decoded_image(file) as image:
        return on_white(image)


# Neither keeps state, so several threads may run them at once.
default_preprocess_function.thread_safe = True  # type: ignore[attr-defined]
default_postprocess_function.thread_safe = True  # type: ignore[attr-defined]

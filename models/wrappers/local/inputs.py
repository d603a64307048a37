"""Shrunk copies of images, inputs of requests put into one batch, outputs split into rows."""

from __future__ import annotations

import itertools
import json
import tempfile
import weakref
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from models.wrappers.defaults import aligned
from models.wrappers.local.loading import Checkpoint
from utils.contracts import WH, Message, Prepared, Sizes
from utils.coordinates import seen_wh, thumbnail_wh
from utils.geometry.images import (
    Header,
    cached_by_file,
    decoded_image,
    encode,
    image_file,
    on_white,
    read_header,
    shrink,
)
from utils.geometry.orientation import as_stored
from utils.geometry.pixels import in_8_bits
from utils.geometry.resizing import ResizeStep, resized, resized_wh

COPIES_BYTES = 512 * 1024**2  # of files that nobody is using


class CannotCollate(Exception):
    """These inputs cannot be put together; says which and why. Others of the model may."""


class CannotSplit(Exception):
    """The model's output for a batch cannot be split by sample; no batch of this model can."""


class ShrunkCopy:
    """A file that exists as long as somebody holds this."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.nbytes = path.stat().st_size
        weakref.finalize(self, path.unlink, missing_ok=True)


class ShrunkImages:
    """Replaces the images of messages by copies; usable from many threads.

    Images are resized where the settings ask for it. Others are copied where libraries that open
    them would turn them (orientation tags) or cut their values (more than 8 bits).

    The copies are files, because preprocess functions take paths; PNG, so that nothing else about
    the pixels changes. An image with several questions is shrunk once, as long as its copy is
    among the last ones used; several images are shrunk at once. All go with `folder`.
    """

    def __init__(
        self, img_size: int, steps: Sequence[ResizeStep] = (), idle_bytes: int = COPIES_BYTES
    ) -> None:
        """Make the folder of the copies.

        Args:
            img_size: side in pixels of a square that they fit; 0: any size.
            steps: what is done to an image before.
            idle_bytes: of copies that nobody is using.
        """
        self._img_size = img_size
        self._steps = steps
        self._numbers = itertools.count()
        self.folder = tempfile.TemporaryDirectory(prefix="mmbench_gui_")
        self._copy_of = cached_by_file(idle_bytes, weigh=lambda copy: copy.nbytes)(self._shrunk)

    def apply(self, messages: list[Message]) -> list[ShrunkCopy]:
        """Change the image values of `messages` in place; return what to hold while they are used.

        Raises:
            OSError: an image cannot be read.
        """
        copies = []
        for message in messages:
            file = image_file(message["value"]) if message["type"] == "image" else None
            if file is None or self._is_kept(read_header(file)):
                continue
            copy = self._copy_of(file)
            copies.append(copy)
            message["value"] = str(copy.path)
        return copies

    def _is_kept(self, header: Header) -> bool:
        return self._has_size(header.wh) and not header.is_turned and not header.is_wide

    def _has_size(self, file_wh: WH) -> bool:
        return thumbnail_wh(resized_wh(self._steps, file_wh), self._img_size) == file_wh

    def _shrunk(self, file: Path) -> ShrunkCopy:
        header = read_header(file)
        target = Path(self.folder.name) / f"{next(self._numbers)}.png"
        if self._has_size(header.wh) and not header.is_wide:
            target = target.with_suffix(file.suffix)
            target.write_bytes(as_stored(file.read_bytes()))
            return ShrunkCopy(target)
        with decoded_image(file) as picture:
            image = resized(self._steps, on_white(picture)) if self._steps else in_8_bits(picture)
            target.write_bytes(encode(shrink(image, self._img_size), "PNG"))
        return ShrunkCopy(target)


@dataclass(frozen=True, slots=True)
class Encoded:
    """Inputs of one request, ready for the model."""

    prepared: Prepared
    inputs: Mapping[str, Any]  # arguments of the generate method; tensors with batch size 1
    input_length: int  # prompt tokens, 0 where the inputs have no `input_ids`
    image_sizes: Sequence[Sizes]  # of its images, now with the grids that the model works on
    nbytes: int  # memory of the inputs
    form: Hashable  # equal for requests whose inputs can be put together, see `form_of`
    copies: Sequence[ShrunkCopy] = ()  # files that the generate method may want to read


def encoded_of(returned: Any, prepared: Prepared, checkpoint: Checkpoint) -> Encoded:
    """Check what a preprocess function returned, and complete it.

    Raises:
        TypeError: it is nothing that a generate method takes.
    """
    if not isinstance(returned, Mapping):
        kind = type(returned).__name__
        raise TypeError(f"it returned {kind}; expected a dict or BatchFeature of model inputs")
    inputs = dict(returned)
    ids = inputs.get("input_ids")
    _check_ids(ids)
    image_sizes = list(prepared.image_sizes)
    grid = inputs.get("image_grid_thw")
    if grid is not None and len(grid) and checkpoint.patch_size:
        grids_wh = [seen_wh([row], checkpoint.patch_size) for row in grid]
        image_sizes = image_sizes or [Sizes()] * len(grids_wh)
        image_sizes = [
            replace(sizes, seen_wh=grid_wh)
            for sizes, grid_wh in zip(image_sizes, aligned(grids_wh, len(image_sizes)), strict=True)
        ]
        input_names = getattr(checkpoint.processor, "model_input_names", ())
        lacks_types = "mm_token_type_ids" in input_names and "mm_token_type_ids" not in inputs
        if lacks_types and ids is not None:
            # Without it transformers places image tokens like words, silently, and points are off.
            token_types = checkpoint.processor.create_mm_token_type_ids(ids.tolist())
            inputs["mm_token_type_ids"] = ids.new_tensor(token_types)
    input_length = 0 if ids is None else int(ids.shape[1])
    nbytes = sum(int(getattr(value, "nbytes", 0)) for value in inputs.values())
    return Encoded(prepared, inputs, input_length, image_sizes, nbytes, form_of(inputs))


def _check_ids(ids: Any) -> None:
    import torch

    if ids is None:
        return
    shape = tuple(ids.shape) if isinstance(ids, torch.Tensor) else type(ids).__name__
    if isinstance(shape, str) or len(shape) != 2 or shape[0] != 1 or not shape[1]:
        raise TypeError(f"input_ids must be a tensor of shape (1, n) with n > 0, not {shape}")


def form_of(inputs: Mapping[str, Any]) -> Hashable:
    """The form that inputs of batch size 1 must share to be put together by `collate`.

    Names, shapes but for their first dimension, types, and values of what is no tensor, as far as
    they are plain data. `collate` may still refuse inputs of one form.
    """
    import torch

    ids = inputs.get("input_ids")
    ids_shape = tuple(ids.shape) if isinstance(ids, torch.Tensor) else None
    form: list[Hashable] = []
    for name, value in sorted(inputs.items()):
        if not isinstance(value, torch.Tensor):
            plain = json.dumps(value, sort_keys=True, skipkeys=True, default=_type_name)
            form.append((name, _type_name(value), plain))
        elif tuple(value.shape) == ids_shape:
            form.append((name, "row", str(value.dtype)))
        else:
            form.append((name, *value.shape[1:], str(value.dtype), str(value.layout)))
    return tuple(form)


def _type_name(value: Any) -> str:
    return type(value).__name__


def collate(requests: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Put inputs of batch size 1 together.

    Token ids, and every tensor of shape (1, tokens) beside them, are padded on the left; other
    tensors (images as flat rows of patches, their grids) are joined along their first dimension,
    in order; everything else must be equal in all requests. What pads is masked out; as ids it is
    the last one of the same prompt, because penalties for repeated ids look at masked ones, too.

    Raises:
        CannotCollate: an input fits none of these forms; it is named.
    """
    import torch

    names = set(requests[0])
    not_in_all = set().union(*(names ^ set(inputs) for inputs in requests))
    if not_in_all:
        raise CannotCollate(f"inputs {', '.join(sorted(not_in_all))} exist for only some samples")
    if not isinstance(requests[0].get("input_ids"), torch.Tensor):
        raise CannotCollate("inputs without a tensor input_ids cannot be put into a batch")
    # What is padded must be told from what is not.
    masked = [
        {"attention_mask": torch.ones_like(inputs["input_ids"]), **inputs} for inputs in requests
    ]
    lengths = [int(inputs["input_ids"].shape[1]) for inputs in masked]
    batch = {}
    for name in masked[0]:
        fills = [0] * len(masked)
        if name == "input_ids":
            fills = [int(inputs["input_ids"][0, -1]) for inputs in masked]
        batch[name] = _join(name, [inputs[name] for inputs in masked], lengths, fills)
    return batch


def _join(name: str, values: list[Any], lengths: list[int], fills: list[int]) -> Any:
    import torch

    if not all(isinstance(value, torch.Tensor) for value in values):
        return _common_value(name, values)
    shapes = [tuple(value.shape) for value in values]
    if shapes == [(1, length) for length in lengths]:
        longest = max(lengths)
        padded = [
            torch.nn.functional.pad(value, (longest - length, 0), value=fill)
            for value, length, fill in zip(values, lengths, fills, strict=True)
        ]
        return torch.cat(padded)
    if shapes[0] and len({(v.shape[1:], v.dtype, v.layout) for v in values}) == 1:
        return torch.cat(values)
    different = ", ".join(str(list(shape)) for shape in dict.fromkeys(shapes))
    raise CannotCollate(f"input {name} has shapes or types that do not match: {different}")


def _common_value(name: str, values: list[Any]) -> Any:
    first = values[0]
    with suppress(Exception):  # arrays, and lists of tensors, cannot be compared with ==
        if all(type(value) is type(first) and bool(value == first) for value in values):
            return first
    kind = type(first).__name__
    raise CannotCollate(f"input {name} ({kind}) differs between samples, or cannot be compared")


def starts_with(ids: Any, prompt: Any) -> bool:
    """Whether outputs begin with the prompt; some generate methods leave it out."""
    if prompt is None or ids.shape[1] < prompt.shape[1]:
        return False
    return bool((ids[:, : prompt.shape[1]] == prompt.to(ids.device)).all())


def rows_of(
    ids: Any, prompt: Any, lengths: Sequence[int], ends: frozenset[int], pad_id: int
) -> Iterator[Any]:
    """Yield what generate returned for a batch, a tensor of shape (1, tokens) for each request.

    Args:
        ids: shape (batch, tokens).
        prompt: the padded prompts, shape (batch, longest prompt).
        lengths: of the prompts without padding.
        ends: tokens that end a reply; what follows the first one is filling.
        pad_id: what generate methods fill up with.

    Raises:
        CannotSplit: it is not one row for each request.
    """
    if getattr(ids, "ndim", 0) != 2 or len(ids) != len(lengths):
        kind = type(ids).__name__
        raise CannotSplit(f"the generate method returned {kind}, not a row for each sample")
    longest = prompt.shape[1] if starts_with(ids, prompt) else 0
    for row, length in zip(ids, lengths, strict=True):
        completion = row[longest:].tolist()
        end, _ = completion_end(completion, ends, None)
        if not ends & set(completion):  # a stop string ended it, or the limit did
            while end and completion[end - 1] == pad_id:
                end -= 1
        start = longest - length if longest else 0
        yield row[None, start : longest + end]


def completion_end(completion: Sequence[int], ends: frozenset[int], limit: Any) -> tuple[int, str]:
    """Return the number of tokens up to and with the first end token, and the finish reason."""
    for position, token in enumerate(completion, 1):
        if token in ends:
            return position, "stop"
    is_short = isinstance(limit, int) and len(completion) < limit  # a stop string, a criterion
    return len(completion), "stop" if is_short else "length"

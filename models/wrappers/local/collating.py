"""Inputs of single requests → inputs of one batch, and outputs back to single ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from models.wrappers.local.batching import CannotCollate
from models.wrappers.local.memory import is_out_of_memory


def collate(requests: Sequence[Mapping[str, Any]], pad_id: int) -> dict[str, Any]:
    """Puts inputs of batch size 1 together.

    Token ids, and every tensor of shape (1, tokens) beside them, are padded on the left; other
    tensors (pictures as flat rows of patches, their grids) are joined along their first dimension,
    in order; everything else must be equal in all requests.

    Args:
        requests: arguments of the generate method, each with `input_ids` of shape (1, tokens).
        pad_id: token to pad with; masked out, so its value decides about nothing.

    Raises:
        CannotCollate: an input that fits none of these forms; the message names it.
    """
    import torch

    names = set(requests[0])
    for inputs in requests:
        if set(inputs) != names:
            odd = ", ".join(sorted(set(inputs) ^ names))
            raise CannotCollate(f"inputs {odd} are there for some samples and not for others")
    if not isinstance(requests[0].get("input_ids"), torch.Tensor):
        raise CannotCollate("inputs without a tensor input_ids cannot be put into a batch")
    lengths = [int(inputs["input_ids"].shape[1]) for inputs in requests]
    with_masks = [dict(inputs) for inputs in requests]
    if "attention_mask" not in names:  # what is padded must be told from what is not
        for inputs in with_masks:
            inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
    return {
        name: _joined(name, [inputs[name] for inputs in with_masks], lengths, pad_id)
        for name in with_masks[0]
    }


def _joined(name: str, values: list[Any], lengths: list[int], pad_id: int) -> Any:
    import torch

    if not all(isinstance(value, torch.Tensor) for value in values):
        first = values[0]
        if all(type(value) is type(first) and _is_equal(value, first) for value in values[1:]):
            return first
        raise CannotCollate(
            f"input {name} ({type(first).__name__}) differs between samples, or cannot be compared"
        )
    shapes = [tuple(value.shape) for value in values]
    if all(shape == (1, length) for shape, length in zip(shapes, lengths, strict=True)):
        longest = max(lengths)
        fill = pad_id if name == "input_ids" else 0
        return torch.cat(
            [torch.nn.functional.pad(value, (longest - value.shape[1], 0), value=fill)
             for value in values]
        )  # fmt: skip
    if all(shape and shape[1:] == shapes[0][1:] for shape in shapes):
        try:
            return torch.cat(values)
        except RuntimeError as error:
            if is_out_of_memory(error):
                raise
            raise CannotCollate(f"input {name} cannot be joined: {error}") from error
    listed = ", ".join(str(list(shape)) for shape in dict.fromkeys(shapes))
    raise CannotCollate(f"input {name} has shapes that do not go together: {listed}")


def _is_equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:  # noqa: BLE001 - arrays, and lists of tensors, have no one answer
        return False


def split(outputs: Any, batch_ids: Any, lengths: Sequence[int]) -> list[Any]:
    """What a generate method returned for a batch, as it would have returned it for each request.

    Padding at both ends goes: on the left that of the prompt, on the right what fills up the rows
    of shorter replies is left to `trimmed`.

    Args:
        outputs: shape (batch, tokens) of token ids.
        batch_ids: the padded prompts, shape (batch, longest prompt).
        lengths: of the prompts without padding.

    Returns:
        One tensor of shape (1, tokens) for each request.

    Raises:
        CannotCollate: the outputs are no such tensor.
    """
    if getattr(outputs, "ndim", 0) != 2 or len(outputs) != len(lengths):
        raise CannotCollate(
            f"the generate method returned {type(outputs).__name__} for a batch, which cannot be "
            "handed back sample by sample"
        )
    longest = batch_ids.shape[1]
    starts_with_prompt = outputs.shape[1] >= longest and bool(
        (outputs[:, :longest] == batch_ids.to(outputs.device)).all()
    )
    skipped = [longest - length if starts_with_prompt else 0 for length in lengths]
    return [outputs[row : row + 1, skip:] for row, skip in enumerate(skipped)]


def trimmed(row: Any, prompt_length: int, end_ids: frozenset[int], pad_id: int) -> Any:
    """A row of `split` without what fills it up behind its reply.

    Args:
        row: shape (1, tokens).
        prompt_length: prompt tokens in front of the completion.
        end_ids: tokens that end a reply; what follows the first one is filling.
        pad_id: what generate methods fill up with.
    """
    completion = row[0, prompt_length:].tolist()
    used = next((n for n, token in enumerate(completion, 1) if token in end_ids), None)
    if used is None:  # a stop string ended it, or the limit did
        used = len(completion)
        while used and completion[used - 1] == pad_id:
            used -= 1
    return row[:, : prompt_length + used]

"""Around the generate method: inputs of one request; where its completion begins and ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from models.wrappers.local.memory import is_out_of_memory
from utils.contracts import Prepared, Sizes


@dataclass(frozen=True, slots=True)
class Encoded:
    """Inputs of one request, ready for the model.

    Attributes:
        prepared: the request.
        inputs: arguments of the generate method; tensors with batch size 1 on the model's device.
        input_length: prompt tokens, 0 where the inputs have no `input_ids`.
        sizes: of the first picture, now with the grid that the model works on.
    """

    prepared: Prepared
    inputs: Mapping[str, Any]
    input_length: int
    sizes: Sizes

    @property
    def nbytes(self) -> int:
        """Memory of the inputs."""
        return sum(int(getattr(value, "nbytes", 0)) for value in self.inputs.values())


def prompt_length(encoded: Encoded, ids: Any) -> int:
    """Prompt tokens in front of the completion; some generate methods leave the prompt out."""
    prompt = encoded.inputs.get("input_ids")
    if prompt is None:
        return 0
    starts_with_prompt = ids.shape[1] >= prompt.shape[1] and bool(
        (ids[:1, : prompt.shape[1]] == prompt.to(ids.device)).all()
    )
    return int(prompt.shape[1]) if starts_with_prompt else 0


def ends_of(end_ids: frozenset[int], generate_cfg: Mapping[str, Any]) -> frozenset[int]:
    """Token ids that end a reply: `eos_token_id` of the config, else the checkpoint's."""
    configured = generate_cfg.get("eos_token_id")
    if configured is None:
        return end_ids
    return frozenset([configured] if isinstance(configured, int) else configured)


def completion_end(
    completion: Sequence[int], end_ids: frozenset[int], generate_cfg: Mapping[str, Any]
) -> tuple[int, str | None]:
    """(tokens up to and with the first end token, finish reason) of a completion.

    Args:
        completion: token ids after the prompt, padding included.
        end_ids: what the checkpoint ends a reply with; `eos_token_id` of `generate_cfg` wins.
    """
    ends = ends_of(end_ids, generate_cfg)
    for position, token in enumerate(completion):
        if token in ends:
            return position + 1, "stop"
    limit = generate_cfg.get("max_new_tokens")
    if isinstance(limit, int) and len(completion) < limit:
        return len(completion), "stop"  # a stop string, a stopping criterion
    return len(completion), "length"


def model_failure(error: BaseException) -> str:
    """An exception of the generate method in one line, with advice where memory ran out."""
    text = f"{type(error).__name__}: {error}"
    if is_out_of_memory(error):
        text += " - lower kwargs.max_pixels or generate_cfg.max_new_tokens, or use a smaller dtype"
    return text

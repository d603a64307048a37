"""From ready inputs to replies: generate method for one batch, then the postprocess function."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from models.local_batching import CannotCollate, OutOfMemory
from models.local_collating import collate, split, trimmed
from models.local_completions import (
    Encoded,
    completion_end,
    ends_of,
    model_failure,
    prompt_length,
)
from models.local_defaults import default_postprocess_function, sequences_of
from models.local_loading import Loaded
from utils.contracts import CallError, Generation, Prepared, UserFunctionError
from utils.user_functions import call_user_function, private_copy


def wrong_return(stage: str, value: Any, expected: str) -> UserFunctionError:
    """The failure of a sample whose user function returned something of another kind."""
    summary = f"TypeError: it returned {type(value).__name__}; expected {expected}"
    return UserFunctionError(stage, summary, summary)


class ReplyMaker:
    """Generates for batches and makes a `Generation` of each row.

    Args:
        loaded: the checkpoint.
        generate_function: name of the generate method.
        generate_cfg: its arguments beside the inputs.
        postprocess: the user's function (serialised where it must be), or None for the default.
        function_kwargs: what user functions get beside their arguments.
    """

    def __init__(
        self,
        loaded: Loaded,
        *,
        generate_function: str,
        generate_cfg: Mapping[str, Any],
        postprocess: Callable[..., Any] | None,
        function_kwargs: Callable[[Prepared], dict[str, Any]],
    ) -> None:
        self._loaded, self._generate_cfg = loaded, generate_cfg
        self._function_name = generate_function
        self._postprocess, self._function_kwargs = postprocess, function_kwargs

    def run(self, batch: Sequence[Encoded]) -> list[Generation]:
        """Generates once for all of `batch`.

        Raises:
            CallError: the generate method raised (kind "model").
            OutOfMemory: the device had no room for so many.
            CannotCollate: the inputs cannot be put together.
        """
        began_s = time.monotonic()
        if len(batch) == 1:
            outputs = self._generate(batch[0].inputs)
            latency_s = time.monotonic() - began_s
            return [replace(self._reply(batch[0], outputs), latency_s=latency_s)]
        inputs = collate([encoded.inputs for encoded in batch], self._pad_id())
        outputs = self._generate(inputs)
        latency_s = time.monotonic() - began_s
        lengths = [encoded.input_length for encoded in batch]
        rows = split(self._ids_alone(outputs), inputs["input_ids"], lengths)
        return [
            replace(self._reply(encoded, self._trimmed(encoded, row)), latency_s=latency_s)
            for encoded, row in zip(batch, rows, strict=True)
        ]

    def _generate(self, inputs: Mapping[str, Any]) -> Any:
        import torch

        method = getattr(self._loaded.model, self._function_name)
        failure: CallError
        try:
            with torch.inference_mode():
                return method(**inputs, **private_copy(dict(self._generate_cfg)))
        except Exception as error:
            failure = CallError("model", model_failure(error))
            if not _is_out_of_memory(error):
                raise failure from error
        # Outside the handler: the traceback held the tensors that are to be freed.
        gc.collect()
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            torch.cuda.empty_cache()
        raise OutOfMemory(str(failure))

    def _pad_id(self) -> int:
        tokenizer = getattr(self._loaded.processor, "tokenizer", self._loaded.processor)
        known = (
            getattr(tokenizer, "pad_token_id", None),
            getattr(getattr(self._loaded.model, "generation_config", None), "pad_token_id", None),
            *sorted(self._loaded.end_ids),
        )
        return next((int(value) for value in known if value is not None), 0)

    def _ids_alone(self, outputs: Any) -> Any:
        """The ids of a batch; a user's function would miss what else the outputs hold."""
        ids = sequences_of(outputs)
        if ids is not outputs and self._postprocess is not None:
            raise CannotCollate(
                f"{self._function_name} returns more than token ids ({type(outputs).__name__}), "
                "which cannot be handed to the postprocess function sample by sample"
            )
        return ids

    def _trimmed(self, encoded: Encoded, row: Any) -> Any:
        ends = ends_of(self._loaded.end_ids, self._generate_cfg)
        return trimmed(row, prompt_length(encoded, row), ends, self._pad_id())

    def _reply(self, encoded: Encoded, outputs: Any) -> Generation:
        usage: dict[str, Any] = {"prompt_tokens": encoded.input_length}
        finish_reason: str | None = None
        loaded, ids = self._loaded, sequences_of(outputs)
        text: str | None = None
        if isinstance(ids, str):  # a generate method of the model's own, chat() say
            text = ids
        elif getattr(ids, "ndim", 0) == 2:
            encoded = replace(encoded, input_length=prompt_length(encoded, ids))
            completion = ids[0][encoded.input_length :].tolist()
            usage["completion_tokens"], finish_reason = completion_end(
                completion, loaded.end_ids, self._generate_cfg
            )
            text = default_postprocess_function(
                outputs, loaded.model, loaded.processor, input_length=encoded.input_length
            )
        elif self._postprocess is None:
            raise CallError(
                "model",
                f"{self._function_name} returned {type(outputs).__name__}; the default "
                "postprocess function takes token ids of shape (1, n) or a text",
            )
        reply, problem = text, None
        if self._postprocess is not None:
            try:
                reply = self._postprocessed(self._postprocess, encoded, outputs)
            except UserFunctionError as error:
                reply = None
                problem = (
                    error.trace if error.summary in error.trace else error.trace + error.summary
                )
        return Generation(
            text=(reply or "") if text is None else text,
            reply=reply,
            finish_reason=finish_reason,
            usage=usage,
            sizes=encoded.sizes,
            postprocess_error=problem,
        )

    def _postprocessed(self, function: Callable[..., Any], encoded: Encoded, outputs: Any) -> str:
        reply = call_user_function(
            "postprocess",
            function,
            outputs,
            self._loaded.model,
            self._loaded.processor,
            **self._function_kwargs(encoded.prepared),
            input_length=encoded.input_length,
        )
        if not isinstance(reply, str):
            raise wrong_return("postprocess", reply, "the reply as text")
        return reply


def _is_out_of_memory(error: BaseException) -> bool:
    torch = sys.modules["torch"]
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or (
        isinstance(error, RuntimeError) and "out of memory" in str(error).lower()
    )

"""From ready inputs to replies: generate method for one batch, then the postprocess function."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from models.wrappers.local.batching import CannotCollate, OutOfMemory
from models.wrappers.local.collating import collate, split, trimmed
from models.wrappers.local.completions import (
    Encoded,
    completion_end,
    ends_of,
    model_failure,
    prompt_length,
)
from models.wrappers.local.defaults import default_postprocess_function, sequences_of
from models.wrappers.local.devices import on_device_of, stop_if_lost
from models.wrappers.local.generate_arguments import counts_the_prompt, with_floats
from models.wrappers.local.inputs import wrong_return
from models.wrappers.local.loading import Loaded
from models.wrappers.local.memory import free_memory, is_out_of_memory
from utils.contracts import CallError, Generation, Prepared, UserFunctionError
from utils.errors import StopRun
from utils.functions.calling import call_user_function


class ReplyMaker:
    """Generates for batches and makes a `Generation` of each row.

    Args:
        name: of the model entry, for messages.
        loaded: the checkpoint.
        generate_function: name of the generate method.
        generate_cfg: its arguments beside the inputs.
        postprocess: the user's function (serialised where it must be), or None for the default.
        function_kwargs: what user functions get beside their arguments.
    """

    def __init__(
        self,
        name: str,
        loaded: Loaded,
        *,
        generate_function: str,
        generate_cfg: Mapping[str, Any],
        postprocess: Callable[..., Any] | None,
        function_kwargs: Callable[[Prepared], dict[str, Any]],
    ) -> None:
        self._name, self._loaded, self._generate_cfg = name, loaded, generate_cfg
        self._function_name = generate_function
        self._postprocess, self._function_kwargs = postprocess, function_kwargs
        self._used = {**loaded.generation, **generate_cfg}

    def run(self, batch: Sequence[Encoded]) -> list[Generation]:
        """Generates for all of `batch`, at once unless that would change an answer.

        Raises:
            CallError: the generate method raised (kind "model").
            OutOfMemory: the device had no room for so many.
            CannotCollate: the inputs cannot be put together.
            StopRun: the device can be used no more.
        """
        problem = ""
        try:
            with on_device_of(self._loaded.model):
                if not counts_the_prompt(self._used):
                    return self._run_at_once(batch)
                return self._run_by_length(batch)
        except StopRun:
            raise
        except Exception as error:
            stop_if_lost(error, self._name, self._loaded.model)
            if not is_out_of_memory(error.__cause__ or error):
                raise
            problem = model_failure(error.__cause__ or error)
        free_memory()  # outside the handler: the traceback held the tensors
        raise OutOfMemory(problem)

    def _run_by_length(self, batch: Sequence[Encoded]) -> list[Generation]:
        places: dict[int, list[int]] = {}
        for place, encoded in enumerate(batch):
            places.setdefault(encoded.input_length, []).append(place)
        made: dict[int, Generation] = {}
        for group in places.values():
            replies = self._run_at_once([batch[place] for place in group])
            made.update(zip(group, replies, strict=True))
        return [made[place] for place in range(len(batch))]

    def _run_at_once(self, batch: Sequence[Encoded]) -> list[Generation]:
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
        arguments = with_floats(self._generate_cfg)
        if self._function_name == "generate" and self._used.get("stop_strings"):
            arguments["tokenizer"] = self._tokenizer  # to find them in ids
        try:
            with torch.inference_mode():
                return method(**inputs, **arguments)
        except Exception as error:
            raise CallError("model", model_failure(error)) from error

    @property
    def _tokenizer(self) -> Any:
        return getattr(self._loaded.processor, "tokenizer", self._loaded.processor)

    def _pad_id(self) -> int:
        known = (
            getattr(self._tokenizer, "pad_token_id", None),
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
        ends = ends_of(self._loaded.end_ids, self._used)
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
                completion, loaded.end_ids, self._used
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
                stop_if_lost(error, self._name, loaded.model)  # else a failure of each sample's
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

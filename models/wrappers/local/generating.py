"""Messages to replies: preprocess function, generate method for one batch, postprocess function.

All of it works beside the model, on its device, whose memory may run out and which may be lost.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from models.wrappers.local.batches import CannotSplit, OutOfMemory
from models.wrappers.local.defaults import default_postprocess_function, sequences_of
from models.wrappers.local.inputs import (
    Encoded,
    ShrunkCopy,
    ShrunkPictures,
    collate,
    completion_end,
    encoded_of,
    rows_of,
    starts_with,
)
from models.wrappers.local.loading import Checkpoint
from models.wrappers.local.settings import img_size_of, not_for_batches, with_floats
from utils.contracts import CallError, Generation, Prepared, UserFunctionError
from utils.errors import StopRun
from utils.functions.calling import call_user_function, check_reply, private_copy

if TYPE_CHECKING:
    from utils.config.schema import Local

# Libraries that get no memory for their own workspace have names of their own for it. What may as
# well mean something else (CUDNN_STATUS_INTERNAL_ERROR) is not among them.
_NO_ROOM = (
    "out of memory",
    "can't allocate memory",
    "cublas_status_alloc_failed",
    "cublas_status_not_initialized",
    "cudnn_status_alloc_failed",
    "std::bad_alloc",
    "unable to find an engine to execute this computation",
)
_ADVICE = "lower kwargs.max_pixels or generate_cfg.max_new_tokens, or use a smaller dtype"


class LoadedModel:
    """A loaded checkpoint with the config's functions around it; no postprocess: the default."""

    def __init__(
        self,
        name: str,
        entry: Local,
        checkpoint: Checkpoint,
        preprocess: Callable[..., Any],
        postprocess: Callable[..., Any] | None,
    ) -> None:
        self._name, self._entry, self.checkpoint = name, entry, checkpoint
        self._preprocess, self._postprocess = preprocess, postprocess
        self._used, img_size = {**checkpoint.generation, **entry.generate_cfg}, img_size_of(entry)
        self.pictures = ShrunkPictures(img_size) if img_size else None
        self._pad_id = int(getattr(checkpoint.tokenizer, "pad_token_id", None) or 0)
        own_end = getattr(checkpoint.tokenizer, "eos_token_id", None)
        named = (held.get("eos_token_id") for held in (entry.generate_cfg, checkpoint.generation))
        ends = next((end for end in (*named, own_end) if end is not None), ())
        self._ends = frozenset([ends] if isinstance(ends, int) else ends)
        limit = self._used.get("max_new_tokens")
        self.reply_tokens = limit if isinstance(limit, int) else 0
        self.must_be_alone = bool(not_for_batches(self._used))

    def _call(
        self, stage: str, function: Callable[..., Any], given: Any, prepared: Prepared, **more: Any
    ) -> Any:
        model, processor = self.checkpoint.model, self.checkpoint.processor
        kwargs = {**private_copy(self._entry.kwargs), "dataset_name": prepared.dataset, **more}
        try:
            return call_user_function(stage, function, given, model, processor, **kwargs)
        except UserFunctionError:
            stop_if_lost(self._name, self.checkpoint)
            raise

    def encode(self, prepared: Prepared) -> Encoded:
        """Runs the preprocess function; may be called from a thread beside `answer`."""
        messages = private_copy(prepared.payload)
        copies: Sequence[ShrunkCopy] = ()
        try:
            if self.pictures is not None:
                copies = self.pictures.apply(messages)
        except OSError as error:  # it was readable when the request was made
            raise CallError("model", f"image: {error}") from error

        def encoded(*args: Any, **kwargs: Any) -> Encoded:
            return encoded_of(self._preprocess(*args, **kwargs), prepared, self.checkpoint)

        with on_device_of(self.checkpoint):
            request = cast("Encoded", self._call("preprocess", encoded, messages, prepared))
        self._refuse_too_long(request)
        return replace(request, copies=copies)

    def _refuse_too_long(self, request: Encoded) -> None:
        """CallError where a prompt exceeds the context: the library would answer, with rubbish."""
        context = self.checkpoint.context_tokens
        if context is not None and request.input_length > context:
            what = (
                f"the prompt has {request.input_length:,} tokens, and the model takes {context:,}"
            )
            cure = "lower kwargs.max_pixels, or send fewer images or less text"
            raise CallError("model", f"{what}; {cure}")

    def answer(self, batch: Sequence[Encoded]) -> list[Generation]:
        """Generates for all of `batch` at once; OutOfMemory, CannotCollate, or what is final."""
        try:
            with on_device_of(self.checkpoint):
                return self._answer(batch)
        except (CallError, RuntimeError, MemoryError) as error:
            stop_if_lost(self._name, self.checkpoint)
            cause = error.__cause__ or error
            if not is_out_of_memory(cause):
                raise
            problem = model_failure(cause)
        free_memory()  # outside the handler: the traceback held the tensors
        raise OutOfMemory(problem)

    def _answer(self, batch: Sequence[Encoded]) -> list[Generation]:
        began_s, inputs = time.monotonic(), batch[0].inputs
        if len(batch) > 1:
            inputs = collate([encoded.inputs for encoded in batch])
        outputs = self._generate(inputs)
        latency_s = time.monotonic() - began_s
        rows = [outputs] if len(batch) == 1 else self._rows(batch, inputs["input_ids"], outputs)
        return [self._reply(*each, latency_s) for each in zip(batch, rows, strict=True)]

    def _generate(self, inputs: Mapping[str, Any]) -> Any:
        import torch

        function, arguments = self._entry.generate_function, with_floats(self._entry.generate_cfg)
        if function == "generate" and self._used.get("stop_strings"):
            arguments["tokenizer"] = self.checkpoint.tokenizer  # to find them in ids
        try:
            # Strings, None and lists pass untouched.
            device = self.checkpoint.devices[0]
            there = {k: v.to(device) if hasattr(v, "to") else v for k, v in inputs.items()}
            with torch.inference_mode():
                return getattr(self.checkpoint.model, function)(**there, **arguments)
        except Exception as error:
            trace = "".join(traceback.format_exception(error))
            raise CallError("model", model_failure(error), trace=trace) from error

    def _rows(self, batch: Sequence[Encoded], prompt: Any, outputs: Any) -> list[Any]:
        ids = sequences_of(outputs)
        if ids is not outputs and self._postprocess is not None:
            # A user's function would miss what else the outputs hold.
            kind = type(outputs).__name__
            raise CannotSplit(f"the postprocess function wants each {kind} of {self._name} whole")
        lengths = [encoded.input_length for encoded in batch]
        return list(rows_of(ids, prompt, lengths, self._ends, self._pad_id))

    def _reply(self, encoded: Encoded, outputs: Any, latency_s: float) -> Generation:
        held, ids, length = self.checkpoint, sequences_of(outputs), encoded.input_length
        usage: dict[str, Any] = {"prompt_tokens": length}
        text = ids if isinstance(ids, str) else None  # of a method of the model's own, chat() say
        finish_reason: str | None = None
        problem: UserFunctionError | None = None
        if getattr(ids, "ndim", 0) == 2:
            length = length if starts_with(ids, encoded.inputs.get("input_ids")) else 0
            usage["completion_tokens"], finish_reason = completion_end(
                ids[0][length:].tolist(), self._ends, self._used.get("max_new_tokens")
            )
            text = default_postprocess_function(ids, None, held.processor, input_length=length)
        reply = text
        if (function := self._postprocess) is not None:
            given = (function, outputs, encoded.prepared)
            try:
                reply = self._call("postprocess", *given, input_length=length)
                check_reply(reply)
            except UserFunctionError as error:
                reply, problem = None, error
        elif text is None:
            made = f"{self._entry.generate_function} returned {type(outputs).__name__}"
            wanted = "the default postprocess function takes token ids of shape (1, n) or a text"
            raise CallError("model", f"{made}; {wanted}", trace=made)
        return Generation(
            text=(reply or "") if text is None else text,
            reply=reply,
            finish_reason=finish_reason,
            usage=usage,
            image_sizes=encoded.image_sizes,
            postprocess_error=problem,
            latency_s=latency_s,
            runs_with=held.runs_with,
        )


def on_device_of(checkpoint: Checkpoint) -> AbstractContextManager[Any]:
    """Around what works with a model, users' functions above all: they say `.to("cuda")`.

    The current device belongs to a thread. In every new one it is the first of the machine, and
    that is another rank's where several run.
    """
    import torch

    device = checkpoint.devices[0]
    return torch.cuda.device(device) if device.startswith("cuda") else contextlib.nullcontext()


def stop_if_lost(name: str, checkpoint: Checkpoint) -> None:
    """Ends the run of a model whose device can be used no more: all other samples would fail too.

    Most errors leave a device as it was, and some that do not say nothing of it: so it is asked.
    """
    torch, devices = sys.modules.get("torch"), checkpoint.devices
    if torch is None or not torch.cuda.is_initialized():
        return
    try:
        for device in [name for name in devices if name.startswith("cuda")] or [""]:
            torch.cuda.synchronize(device or None)
    except RuntimeError as failure:
        reason = (str(failure).strip().splitlines() or ["?"])[0].rstrip(".")
        raise StopRun(
            f'model "{name}": the device ({", ".join(devices)}) failed, and this process cannot '
            f"use it any more: {reason}. All answers so far are kept; the same command "
            "continues (if it fails again, CUDA_LAUNCH_BLOCKING=1 shows why)"
        ) from None


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception of torch, or of code that calls it, means that memory ran out."""
    said = str(error).lower() if isinstance(error, RuntimeError) else ""
    return isinstance(error, MemoryError) or any(words in said for words in _NO_ROOM)


def model_failure(error: BaseException) -> str:
    """An exception of the generate method in one line, with advice where memory ran out."""
    text = f"{type(error).__name__}: {error}"
    return f"{text} - {_ADVICE}" if is_out_of_memory(error) else text


def free_memory() -> None:
    """Gives back what nobody uses any more; never raises, on a device that has failed either."""
    gc.unfreeze()  # what `no_collecting` passes over was in use then, and may be garbage now
    gc.collect()
    torch = sys.modules.get("torch")
    with contextlib.suppress(Exception):  # it is called to clean up, after errors above all
        if torch is not None and torch.cuda.is_initialized():
            torch.cuda.empty_cache()

"""Messages to replies: preprocess function, generate method for one batch, postprocess function.

All of it works beside the model, on its device, whose memory may run out and which may be lost.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from models.wrappers.local.batches import OutOfMemory
from models.wrappers.local.defaults import default_postprocess_function, sequences_of
from models.wrappers.local.inputs import (
    CannotSplit,
    Encoded,
    ShrunkImages,
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
from utils.geometry.resizing import steps_of

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
    """A loaded checkpoint with the config's functions around it.

    Args:
        name: of the model in the config.
        entry: the model entry of the config.
        checkpoint: in memory.
        preprocess: the user's function or the default one.
        postprocess: the user's function; None: the default one.
    """

    def __init__(
        self,
        name: str,
        entry: Local,
        checkpoint: Checkpoint,
        preprocess: Callable[..., Any],
        postprocess: Callable[..., Any] | None,
    ) -> None:
        self.memory_share: float | None = None  # of what is beside the weights, that a batch took
        self._name = name
        self._entry = entry
        self.checkpoint = checkpoint
        self._preprocess = preprocess
        self._postprocess = postprocess
        self._settings = {**checkpoint.generation, **entry.generate_cfg}  # of the generate method
        img_size = img_size_of(entry)
        steps = steps_of(entry.kwargs)
        self.images = ShrunkImages(img_size, steps)
        self._pad_id = int(getattr(checkpoint.tokenizer, "pad_token_id", None) or 0)
        self._end_ids = _end_ids(entry, checkpoint)
        limit = self._settings.get("max_new_tokens")
        self.reply_tokens = limit if isinstance(limit, int) else 0
        self.must_be_alone = bool(not_for_batches(self._settings))

    def _call(
        self,
        stage: str,
        function: Callable[..., Any],
        argument: Any,
        prepared: Prepared,
        **more: Any,
    ) -> Any:
        """Call a function of the user's with what all of them get."""
        kwargs = {**private_copy(self._entry.kwargs), "dataset_name": prepared.dataset, **more}
        model = self.checkpoint.model
        try:
            return call_user_function(
                stage, function, argument, model, self.checkpoint.processor, **kwargs
            )
        except UserFunctionError:
            stop_if_lost(self._name, self.checkpoint)
            raise

    def encode(self, prepared: Prepared) -> Encoded:
        """Run the preprocess function; may be called from a thread beside `answer`.

        Raises:
            UserFunctionError: it raised, or returned no inputs of a model.
            CallError: an image cannot be read any more, or the prompt exceeds the context.
        """
        messages = private_copy(prepared.payload)
        try:
            copies = self.images.apply(messages)
        except OSError as error:  # it was readable when the request was made
            raise CallError("model", f"image: {error}") from error

        def encoded(*args: Any, **kwargs: Any) -> Encoded:
            return encoded_of(self._preprocess(*args, **kwargs), prepared, self.checkpoint)

        with on_device_of(self.checkpoint):
            request = cast("Encoded", self._call("preprocess", encoded, messages, prepared))
        self._refuse_too_long(request)
        return replace(request, copies=copies)

    def _refuse_too_long(self, request: Encoded) -> None:
        """Raise a CallError for a prompt beyond the context: the library would answer rubbish."""
        context = self.checkpoint.context_tokens
        if context is not None and request.input_length > context:
            raise CallError(
                "model",
                f"the prompt has {request.input_length:,} tokens, and the model takes {context:,}; "
                "lower kwargs.max_pixels, or send fewer images or less text",
            )

    def answer(self, batch: Sequence[Encoded]) -> list[Generation]:
        """Generate for all of `batch` at once.

        Raises:
            OutOfMemory: the device has no room for it.
            CannotCollate: the inputs cannot be put together.
            CannotSplit: the outputs cannot be told apart.
            CallError: the generate method failed.
            StopRun: the device cannot be used any more.
        """
        try:
            with on_device_of(self.checkpoint), self._memory_measured():
                return self._answer(batch)
        except (CallError, RuntimeError, MemoryError) as error:
            stop_if_lost(self._name, self.checkpoint)
            cause = error.__cause__ or error
            if not is_out_of_memory(cause):
                raise
            problem = model_failure(cause)
        free_memory()  # outside the handler: the traceback held the tensors
        raise OutOfMemory(problem)

    @contextlib.contextmanager
    def _memory_measured(self) -> Iterator[None]:
        """Set `memory_share` to what a batch takes, where one GPU has the whole model."""
        import torch

        [device, *others] = self.checkpoint.devices
        if others or not device.startswith("cuda"):
            yield
            return
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        unused, _ = torch.cuda.mem_get_info(device)
        beside = unused + torch.cuda.memory_reserved(device) - before
        yield
        taken = torch.cuda.max_memory_allocated(device) - before
        self.memory_share = min(1.0, taken / max(1, beside))

    def _answer(self, batch: Sequence[Encoded]) -> list[Generation]:
        began_s = time.monotonic()
        if len(batch) == 1:
            rows = [self._generate(batch[0].inputs)]
        else:
            inputs = collate([encoded.inputs for encoded in batch])
            rows = self._rows(batch, inputs["input_ids"], self._generate(inputs))
        latency_s = time.monotonic() - began_s
        return [
            self._generation(encoded, outputs, latency_s)
            for encoded, outputs in zip(batch, rows, strict=True)
        ]

    def _generate(self, inputs: Mapping[str, Any]) -> Any:
        import torch

        function = self._entry.generate_function
        arguments = with_floats(self._entry.generate_cfg)
        if function == "generate" and self._settings.get("stop_strings"):
            arguments["tokenizer"] = self.checkpoint.tokenizer  # to find them in ids
        device = self.checkpoint.devices[0]
        try:
            # Strings, None and lists pass untouched.
            on_device = {k: v.to(device) if hasattr(v, "to") else v for k, v in inputs.items()}
            with torch.inference_mode():
                return getattr(self.checkpoint.model, function)(**on_device, **arguments)
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
        return list(rows_of(ids, prompt, lengths, self._end_ids, self._pad_id))

    def _generation(self, encoded: Encoded, outputs: Any, latency_s: float) -> Generation:
        """The generation of one request's outputs."""
        ids = sequences_of(outputs)
        usage: dict[str, Any] = {"prompt_tokens": encoded.input_length}
        text = ids if isinstance(ids, str) else None  # of a method of the model's own, chat() say
        prompt_length = encoded.input_length
        finish_reason: str | None = None
        if getattr(ids, "ndim", 0) == 2:
            if not starts_with(ids, encoded.inputs.get("input_ids")):
                prompt_length = 0
            usage["completion_tokens"], finish_reason = completion_end(
                ids[0][prompt_length:].tolist(),
                self._end_ids,
                self._settings.get("max_new_tokens"),
            )
            text = default_postprocess_function(
                ids, None, self.checkpoint.processor, input_length=prompt_length
            )
        reply = text
        problem: UserFunctionError | None = None
        if self._postprocess is not None:
            reply, problem = self._postprocessed(outputs, encoded.prepared, prompt_length)
        elif text is None:
            returned = f"{self._entry.generate_function} returned {type(outputs).__name__}"
            expected = "the default postprocess function takes token ids of shape (1, n) or a text"
            raise CallError("model", f"{returned}; {expected}", trace=returned)
        return Generation(
            text=(reply or "") if text is None else text,
            reply=reply,
            finish_reason=finish_reason,
            usage=usage,
            image_sizes=encoded.image_sizes,
            postprocess_error=problem,
            latency_s=latency_s,
            runs_with=self.checkpoint.runs_with,
        )

    def _postprocessed(
        self, outputs: Any, prepared: Prepared, prompt_length: int
    ) -> tuple[str | None, UserFunctionError | None]:
        """Return the reply that the user's function makes, or why it makes none."""
        assert self._postprocess is not None
        try:
            reply = self._call(
                "postprocess", self._postprocess, outputs, prepared, input_length=prompt_length
            )
            check_reply(reply)
        except UserFunctionError as error:
            return None, error
        return reply, None


def _end_ids(entry: Local, checkpoint: Checkpoint) -> frozenset[int]:
    """Return the tokens that end a reply: of the config, the checkpoint, or the tokenizer."""
    for ids in (
        entry.generate_cfg.get("eos_token_id"),
        checkpoint.generation.get("eos_token_id"),
        getattr(checkpoint.tokenizer, "eos_token_id", None),
    ):
        if ids is not None:
            return frozenset([ids] if isinstance(ids, int) else ids)
    return frozenset()


def on_device_of(checkpoint: Checkpoint) -> AbstractContextManager[Any]:
    """Return a context for what works with a model, users' functions above all: `.to("cuda")`.

    The current device belongs to a thread. In every new one it is the first of the machine, and
    that is another rank's where several run.
    """
    import torch

    device = checkpoint.devices[0]
    return torch.cuda.device(device) if device.startswith("cuda") else contextlib.nullcontext()


def stop_if_lost(name: str, checkpoint: Checkpoint) -> None:
    """End the run of a model whose device can be used no more: all other samples would fail too.

    Most errors leave a device as it was, and some that do not say nothing of it: so it is probed.

    Raises:
        StopRun: it cannot be used.
    """
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return
    devices = checkpoint.devices
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
    """Whether an exception of torch, or of code that calls it, means lack of memory."""
    if isinstance(error, RuntimeError):
        message = str(error).lower()
        return any(words in message for words in _NO_ROOM)
    return isinstance(error, MemoryError)


def model_failure(error: BaseException) -> str:
    """Return an exception of the generate method in one line, with advice if memory ran out."""
    text = f"{type(error).__name__}: {error}"
    return f"{text} - {_ADVICE}" if is_out_of_memory(error) else text


def free_memory() -> None:
    """Give back what nobody uses any more; never raises, on a device that has failed either."""
    gc.unfreeze()  # what `no_collecting` passes over was in use then, and may be garbage now
    gc.collect()
    torch = sys.modules.get("torch")
    with contextlib.suppress(Exception):  # it is called to clean up, after errors above all
        if torch is not None and torch.cuda.is_initialized():
            torch.cuda.empty_cache()

"""A transformers checkpoint in this process, as a model wrapper (`imp_type: "transformers"`).

    request    cheap: hashes what decides about the answer; imports neither torch nor transformers
    encode     preprocess function: messages → tensors; may run in a background thread
    generate   generate method of the model, then the postprocess function

The checkpoint is loaded by the first `encode`: where all answers are stored, nothing is loaded.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from models import checkpoint
from models.local_completions import Encoded, completion_end, model_failure, prompt_length
from models.local_defaults import (
    DEFAULTS_VERSION,
    default_postprocess_function,
    default_preprocess_function,
    model_inputs,
    sequences_of,
    turns_of,
)
from models.local_loading import Loaded, check_default_preprocessing, load
from models.local_pictures import ShrunkPictures, local_file
from models.local_settings import (
    PIXEL_LIMITS,
    generation_problems,
    placement_problems,
    whole_pixels,
)
from utils.contracts import CallError, Generation, Message, Prepared, Sizes, UserFunctionError
from utils.coordinates import seen_wh, thumbnail_wh
from utils.errors import StopRun, UserError
from utils.fingerprints import code_digest, code_text, digest
from utils.images import content_digest, read_header
from utils.prompting import shown
from utils.user_functions import SerialUnlessThreadSafe, call_user_function, private_copy

__all__ = [
    "Encoded", "LocalModelWrapper", "default_postprocess_function", "default_preprocess_function",
    "model_inputs", "turns_of",
]  # fmt: skip

TRANSPORT_KEYS = frozenset({"timeout_s"})
"""Keys of `kwargs` that say how to reach a model, not what it answers."""

_PICTURE = "<picture>"


class LocalModelWrapper:
    """Asks a transformers model in this process, one request at a time.

    Args:
        name: of the model entry, for messages.
        model_path: a checkpoint folder, or `org/name` on the Hugging Face hub.
        generate_cfg: arguments of the generate method.
        generate_function: its name; documented models have "generate".
        preprocess_function: `f(message, model, processor, **kwargs)`, or None for the default.
        postprocess_function: `f(outputs, model, processor, **kwargs)`, or None for the default.
        kwargs: the config's free block; user functions get it, with `dataset_name`.
        device_map: as transformers takes it; None chooses. Where a model runs is no part of the
            fingerprint.
        dtype: "float32", "float16", "bfloat16", "auto" or None (chosen). Part of the fingerprint:
            rounding changes answers. So is `attn_implementation`.
        attn_implementation: "sdpa", "eager", "flash_attention_2" or None (chosen).
        batch_size: how many requests the engine may put together; no part of the fingerprint,
            because it is not meant to change an answer.
        model_identity: stands for the checkpoint's files in the fingerprint, if given.
    """

    max_concurrency: int | None = 1

    def __init__(
        self,
        name: str,
        *,
        model_path: str,
        generate_cfg: Mapping[str, Any] | None = None,
        generate_function: str = "generate",
        preprocess_function: Callable[..., Any] | None = None,
        postprocess_function: Callable[..., Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        device_map: Any = None,
        dtype: str | None = None,
        attn_implementation: str | None = None,
        batch_size: int | str = 1,
        model_identity: str | None = None,
    ) -> None:
        self.name = name
        self.model_path = model_path
        self.generate_cfg = dict(generate_cfg or {})
        self.generate_function = generate_function or "generate"
        self.kwargs = dict(kwargs or {})
        self.device_map = None if device_map == "" else device_map
        self.dtype = dtype or None
        self.attn_implementation = attn_implementation or None
        self.batch_size = batch_size
        self.model_identity = model_identity or None
        self._user_preprocess = preprocess_function
        self._user_postprocess = postprocess_function
        # Two locks: the postprocessing of one answer must not wait until the next picture is read.
        self._preprocess = SerialUnlessThreadSafe(
            preprocess_function or default_preprocess_function, threading.Lock()
        )
        self._postprocess = SerialUnlessThreadSafe(
            postprocess_function or default_postprocess_function, threading.Lock()
        )
        self._load_lock = threading.Lock()
        self._loaded: Loaded | None = None
        self._load_error: StopRun | None = None
        self._settings_lock = threading.Lock()
        self._settings: dict[str, str] = {}
        self._identity: Any = None
        self._img_size = whole_pixels(self.kwargs.get("img_size"))
        self._shrunk_pictures = ShrunkPictures(self._img_size)

    # ---------------------------------------------------------------- before the run

    def problems(self) -> list[str]:
        """What stands in the way of running, one line each; loads nothing."""
        found = checkpoint.missing_packages()
        found += checkpoint.checkpoint_problems(self.model_path)
        found += placement_problems(self.device_map, self.dtype, self.batch_size)
        if self.generate_function == "generate":  # another method knows its arguments itself
            brought = checkpoint.read_generation_config(self.model_path)
            found += generation_problems(self.generate_cfg, brought)
        return found

    def warm_up(self) -> None:
        """Loads the checkpoint."""
        self._load()

    def request(
        self,
        messages: list[Message],
        dataset: str,
        *,
        is_custom_prompt: bool = False,
    ) -> Prepared:
        """Messages → request with its fingerprint; reads picture headers and hashes, no pixels.

        Args:
            messages: of one sample; copied.
            is_custom_prompt: makes no difference here; wire formats of servers need it.

        Raises:
            UserError: a picture or the checkpoint cannot be read.
        """
        pictures, sizes = [], Sizes()
        for message in messages:
            if message["type"] != "image":
                continue
            file = local_file(message["value"])
            if file is None:
                self._refuse_shrinking(message["value"])
                pictures.append(message["value"])
                continue
            try:
                pictures.append(content_digest(file))
                if sizes.file_wh is None:
                    wh = read_header(file).wh
                    sizes = Sizes(file_wh=wh, sent_wh=thumbnail_wh(wh, self._img_size))
            except OSError as error:
                raise UserError(f"{file}: the picture cannot be read: {error}") from error
        # Without paths: a data root that moved costs nothing.
        texts = [{**m, "value": _PICTURE} if m["type"] == "image" else m for m in messages]
        parts = {
            "prompt": digest(texts),
            "picture": digest(pictures),
            "settings": self._settings_digest(dataset),
        }
        return Prepared(
            dataset, digest(parts), parts, private_copy(messages), sizes, shown(messages)
        )

    def _refuse_shrinking(self, value: str) -> None:
        if self._img_size > 0:
            raise UserError(
                f"kwargs.img_size {self._img_size} needs a picture file, not {value[:80]!r}"
            )

    def _settings_digest(self, dataset: str) -> str:
        with self._settings_lock:
            if dataset not in self._settings:
                if self._identity is None:
                    self._identity = self.model_identity or checkpoint.checkpoint_identity(
                        self.model_path
                    )
                self._settings[dataset] = digest(
                    {
                        "checkpoint": self._identity,
                        "dataset": dataset,
                        "kwargs": self._deciding_kwargs(),
                        "generate_cfg": self.generate_cfg,
                        "generate_function": self.generate_function,
                        "dtype": self.dtype,
                        "attn_implementation": self.attn_implementation,
                        "preprocess": code_digest(self._user_preprocess),
                        "postprocess": code_digest(self._user_postprocess),
                        "defaults": DEFAULTS_VERSION,
                    }
                )
            return self._settings[dataset]

    def _deciding_kwargs(self) -> dict[str, Any]:
        """The part of `kwargs` that can change an answer."""
        functions = [f for f in (self._user_preprocess, self._user_postprocess) if f is not None]
        if not functions:
            # all that the default functions read
            kept = {key: self.kwargs.get(key) for key in PIXEL_LIMITS}
        else:
            kept = {k: v for k, v in self.kwargs.items() if k not in TRANSPORT_KEYS}
            # The program puts it into the messages, so it counts there; unless a function reads it.
            if not any("system_prompt" in code_text(function) for function in functions):
                kept.pop("system_prompt", None)
        return {**kept, "img_size": self._img_size}

    # ---------------------------------------------------------------- asking

    def generate(self, prepared: Prepared) -> Generation:
        """Asks once: `generate_encoded(encode(prepared))`.

        Raises:
            CallError: the generate method raised (kind "model").
            UserFunctionError: the preprocess function raised.
            StopRun: the checkpoint cannot be loaded.
        """
        return self.generate_encoded(self.encode(prepared))

    def encode(self, prepared: Prepared) -> Encoded:
        """Runs the preprocess function; may be called from a thread beside `generate_encoded`.

        Raises:
            UserFunctionError: the preprocess function raised, or returned no inputs.
            CallError: a picture that `img_size` shrinks can no longer be read.
            StopRun: the checkpoint cannot be loaded.
        """
        loaded = self._load()
        messages = private_copy(prepared.payload)
        try:
            self._shrunk_pictures.apply(messages)
        except OSError as error:  # it was readable when the request was made
            raise CallError("model", f"picture: {error}") from error
        inputs = call_user_function(
            "preprocess",
            self._preprocess,
            messages,
            loaded.model,
            loaded.processor,
            **self._function_kwargs(prepared),
        )
        if not isinstance(inputs, Mapping):
            raise _wrong_return("preprocess", inputs, "a dict or BatchFeature of model inputs")
        ids = inputs.get("input_ids")
        if ids is not None and (ids.ndim != 2 or len(ids) != 1):
            raise _wrong_return(
                "preprocess", ids, f"input_ids of shape (1, n), not {list(ids.shape)}"
            )
        on_device = {
            # A user's function may leave them on the CPU; strings, None and lists pass untouched.
            key: value.to(loaded.model.device) if hasattr(value, "to") else value
            for key, value in inputs.items()
        }
        sizes, grid = prepared.sizes, inputs.get("image_grid_thw")
        if grid is not None and len(grid) and loaded.patch_size:
            sizes = replace(sizes, seen_wh=seen_wh(grid, loaded.patch_size))
        return Encoded(prepared, on_device, 0 if ids is None else int(ids.shape[1]), sizes)

    def generate_encoded(self, encoded: Encoded) -> Generation:
        """Runs the generate method on prepared inputs, then the postprocess function.

        Raises:
            CallError: the generate method raised (kind "model").
        """
        import torch

        loaded = self._load()
        method = getattr(loaded.model, self.generate_function)
        start = time.monotonic()
        try:
            with torch.inference_mode():
                outputs = method(**encoded.inputs, **private_copy(self.generate_cfg))
        except Exception as error:
            raise CallError(
                "model", model_failure(error), latency_s=time.monotonic() - start
            ) from error
        return self._as_generation(encoded, outputs, loaded)

    def _as_generation(self, encoded: Encoded, outputs: Any, loaded: Loaded) -> Generation:
        usage: dict[str, Any] = {"prompt_tokens": encoded.input_length}
        finish_reason: str | None = None
        ids = sequences_of(outputs)
        text: str | None = None
        if isinstance(ids, str):  # a generate method of the model's own, chat() say
            text = ids
        elif getattr(ids, "ndim", 0) == 2:
            encoded = replace(encoded, input_length=prompt_length(encoded, ids))
            completion = ids[0][encoded.input_length :].tolist()
            usage["completion_tokens"], finish_reason = completion_end(
                completion, loaded.end_ids, self.generate_cfg
            )
            text = default_postprocess_function(
                outputs, loaded.model, loaded.processor, input_length=encoded.input_length
            )
        elif self._user_postprocess is None:
            raise CallError(
                "model",
                f"{self.generate_function} returned {type(outputs).__name__}; the default "
                "postprocess function takes token ids of shape (1, n) or a text",
            )
        reply, problem = text, None
        if self._user_postprocess is not None:
            try:
                reply = self._call_postprocess(encoded, outputs, loaded)
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

    def _call_postprocess(self, encoded: Encoded, outputs: Any, loaded: Loaded) -> str:
        reply = call_user_function(
            "postprocess",
            self._postprocess,
            outputs,
            loaded.model,
            loaded.processor,
            **self._function_kwargs(encoded.prepared),
            input_length=encoded.input_length,
        )
        if not isinstance(reply, str):
            raise _wrong_return("postprocess", reply, "the reply as text")
        return reply

    def _function_kwargs(self, prepared: Prepared) -> dict[str, Any]:
        return {**private_copy(self.kwargs), "dataset_name": prepared.dataset}

    def wire_size(self, prepared: Prepared) -> int:
        """0: nothing leaves this process."""
        return 0

    def postprocess(self, text: str, dataset: str) -> str:
        """The text unchanged: a local reply was postprocessed beside the model, from its ids."""
        return text

    # ---------------------------------------------------------------- what is held

    def _load(self) -> Loaded:
        with self._load_lock:
            if self._load_error is not None:  # a broken checkpoint is not read once per sample
                raise self._load_error
            if self._loaded is None:
                try:
                    self._loaded = self._load_now()
                except UserError as error:
                    self._load_error = StopRun(error.problems)
                    raise self._load_error from None
            return self._loaded

    def _load_now(self) -> Loaded:
        limits = {key: self.kwargs[key] for key in PIXEL_LIMITS if self.kwargs.get(key)}
        loaded = load(
            self.model_path,
            dtype=self.dtype,
            attn_implementation=self.attn_implementation,
            device_map=self.device_map,
            limits=limits,
        )
        if not callable(getattr(loaded.model, self.generate_function, None)):
            raise UserError(
                f"model {self.name!r}: generate_function {self.generate_function!r} is no method "
                f'of {type(loaded.model).__name__}; most models have "generate"'
            )
        if self._user_preprocess is None:
            check_default_preprocessing(self.name, loaded.processor, limits)
        return loaded

    def close(self) -> None:
        """Lets go of the model and the shrunk pictures."""
        self._loaded = None
        self._shrunk_pictures.close()
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
            torch.cuda.empty_cache()


def _wrong_return(stage: str, value: Any, expected: str) -> UserFunctionError:
    summary = f"TypeError: it returned {type(value).__name__}; expected {expected}"
    return UserFunctionError(stage, summary, summary)

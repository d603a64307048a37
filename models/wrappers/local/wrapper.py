"""A transformers checkpoint in this process, as a model wrapper (`imp_type: "transformers"`).

    request    cheap: hashes what decides about the answer; imports neither torch nor transformers
    encode     preprocess function: messages → tensors, beside the generation of others
    generate   waits for a place in a batch: generate method, then the postprocess function

The checkpoint is loaded by the first `encode`: where all answers are stored, nothing is loaded.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from models.wrappers.defaults import WrapperDefaults
from models.wrappers.local import checkpoint
from models.wrappers.local.batching import Batcher, OutOfMemory
from models.wrappers.local.checks import (
    check_default_preprocessing,
    check_generation,
    method_problems,
)
from models.wrappers.local.completions import Encoded, model_failure
from models.wrappers.local.defaults import (
    DEFAULTS_VERSION,
    default_postprocess_function,
    default_preprocess_function,
    model_inputs,
    turns_of,
)
from models.wrappers.local.devices import is_on_cuda, on_device_of, stop_if_lost
from models.wrappers.local.generating import ReplyMaker
from models.wrappers.local.grouping import largest, most_ahead
from models.wrappers.local.inputs import encoded_of
from models.wrappers.local.loading import Loaded, load
from models.wrappers.local.memory import free_memory, is_out_of_memory
from models.wrappers.local.pictures import ShrunkPictures, local_file
from models.wrappers.local.settings import (
    generation_notes,
    generation_problems,
    pixel_problems,
    placement_problems,
    whole_pixels,
)
from utils.contracts import CallError, Generation, Message, Prepared, Sizes, UserFunctionError
from utils.coordinates import PIXEL_LIMITS, thumbnail_wh
from utils.errors import StopRun, UserError
from utils.functions.calling import call_user_function, one_at_a_time, private_copy
from utils.functions.fingerprints import code_digest, code_text, digest, undescribed
from utils.functions.prompting import shown
from utils.images import content_digest, read_header

__all__ = [
    "Encoded", "LocalModelWrapper", "default_postprocess_function", "default_preprocess_function",
    "model_inputs", "turns_of",
]  # fmt: skip

TRANSPORT_KEYS = frozenset({"timeout_s"})
"""Keys of `kwargs` that say how to reach a model, not what it answers."""

_PICTURE = "<picture>"


class LocalModelWrapper(WrapperDefaults):
    """Asks a transformers model in this process, one request at a time or in batches.

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
        batch_size: how many requests go to the model at once, or "auto"; no part of the
            fingerprint, because it is not meant to change an answer.
        model_identity: stands for the checkpoint's files in the fingerprint, if given.
    """

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
        self._preprocess = one_at_a_time(
            preprocess_function or default_preprocess_function, threading.Lock()
        )
        self._postprocess = one_at_a_time(
            postprocess_function or default_postprocess_function, threading.Lock()
        )
        self._load_lock = threading.Lock()
        self._loaded: Loaded | None = None
        self._load_problems: list[str] = []
        self._batcher: Batcher[Encoded, Generation] | None = None
        self._settings_lock = threading.Lock()
        self._settings: dict[str, str] = {}
        self._code: dict[str, Any] = {}
        self._identity: Any = None
        self._img_size = whole_pixels(self.kwargs.get("img_size"))
        self._shrunk_pictures = ShrunkPictures(self._img_size)

    # ---------------------------------------------------------------- before the run

    def problems(self) -> list[str]:
        """What stands in the way of running, one line each; loads nothing."""
        found = checkpoint.missing_packages()
        found += checkpoint.checkpoint_problems(self.model_path)
        found += checkpoint.preparation_problems(
            self.model_path, by_default=self._user_preprocess is None
        )
        found += placement_problems(self.device_map, self.dtype, self.batch_size)
        found += pixel_problems(self.kwargs, checkpoint.vision_settings(self.model_path))
        if self.generate_function == "generate":  # another method knows its arguments itself
            brought = checkpoint.read_generation_config(self.model_path)
            found += generation_problems(self.generate_cfg, brought, self.batch_size)
        return found or method_problems(self.model_path, self.generate_function, self.generate_cfg)

    def notes_before(self) -> list[str]:
        """What the generate method will use, the checkpoint's own settings included."""
        unknown = [*undescribed(self._user_preprocess), *undescribed(self._user_postprocess)]
        unlike = [f"stored answers are not reused: {what}" for what in unknown]
        if self.generate_function != "generate":
            return unlike
        brought = checkpoint.read_generation_config(self.model_path)
        notes = unlike + generation_notes(self.generate_cfg, brought, self.batch_size)
        if checkpoint.settings_folder(self.model_path) is None:
            notes.append(
                f"{self.model_path} is not in the local cache: what its own settings change is said"
                " once it is loaded"
            )
        return notes

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

    def settings_digest(self) -> str:
        """Hash of checkpoint, settings and functions."""
        return self._settings_digest("")

    def _settings_digest(self, dataset: str) -> str:
        with self._settings_lock:
            if not self._code:
                # Once, before a function has run: it may count in a global.
                self._code = {
                    "preprocess": code_digest(self._user_preprocess),
                    "postprocess": code_digest(self._user_postprocess),
                }
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
                        **self._code,
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
        """Asks once; called from several threads, requests go to the model in batches.

        Raises:
            CallError: the generate method raised (kind "model").
            UserFunctionError: the preprocess function raised.
            StopRun: no checkpoint, inputs that cannot be put into batches, or a lost device.
            Abandoned: the run stopped before its turn.
        """
        batcher = self._batches()
        return batcher.generate(batcher.prepare(lambda: self.encode(prepared)))

    def encode(self, prepared: Prepared) -> Encoded:
        """Runs the preprocess function; may be called from a thread beside `generate_encoded`.

        Raises:
            UserFunctionError: the preprocess function raised, or returned no inputs.
            OutOfMemory: the device had no room for the inputs.
            CallError: a picture that `img_size` shrinks can no longer be read.
            StopRun: the checkpoint cannot be loaded, or the device can be used no more.
        """
        loaded = self._load()
        messages = private_copy(prepared.payload)
        try:
            self._shrunk_pictures.apply(messages)
        except OSError as error:  # it was readable when the request was made
            raise CallError("model", f"picture: {error}") from error
        try:
            with on_device_of(loaded.model):
                returned = call_user_function(
                    "preprocess",
                    self._preprocess,
                    messages,
                    loaded.model,
                    loaded.processor,
                    **self._function_kwargs(prepared),
                )
                return encoded_of(returned, prepared, loaded)
        except (UserFunctionError, RuntimeError) as error:
            stop_if_lost(error, self.name, loaded.model)
            cause = error.__cause__ or error
            if not is_out_of_memory(cause):
                raise
            problem = f"preparing the inputs: {model_failure(cause)}"
        raise OutOfMemory(problem)  # outside the handler: the traceback holds the tensors

    def generate_encoded(self, encoded: Sequence[Encoded]) -> list[Generation]:
        """Runs the generate method on prepared inputs of one or more requests, in order.

        Raises:
            CallError: the generate method raised (kind "model").
            StopRun: the device can be used no more.
        """
        return self._replies().run(encoded)

    def _replies(self) -> ReplyMaker:
        return ReplyMaker(
            self.name,
            self._load(),
            generate_function=self.generate_function,
            generate_cfg=self.generate_cfg,
            postprocess=self._postprocess if self._user_postprocess is not None else None,
            function_kwargs=self._function_kwargs,
        )

    def _batches(self) -> Batcher[Encoded, Generation]:
        loaded = self._load()
        with self._load_lock:
            if self._batcher is None:
                on_cpu = not is_on_cuda(loaded.model)
                self._batcher = Batcher(self.generate_encoded, self.batch_size, on_cpu=on_cpu)
            return self._batcher

    def in_flight(self, wanted: int | None) -> int:
        """Requests of one batch, and those that are prepared meanwhile."""
        most = largest(self.batch_size, on_cpu=not checkpoint.cuda_present())
        return most + most_ahead(most)

    def abandon(self) -> None:
        """Lets go of requests that wait for the model."""
        if self._batcher is not None:
            self._batcher.abandon()

    def notes_after(self) -> list[str]:
        """How the model's time was spent."""
        return self._batcher.account.told() if self._batcher is not None else []

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
            if self._load_problems:  # a broken checkpoint is not read once per sample
                raise StopRun(self._load_problems)
            if self._loaded is None:
                try:
                    self._loaded = self._load_now()
                except UserError as error:
                    # Not the error itself: its frames hold half a model, on the GPU perhaps.
                    self._load_problems = list(error.problems)
            if self._loaded is None:
                raise StopRun(self._load_problems)
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
        check_generation(
            self.name,
            loaded,
            generate_function=self.generate_function,
            generate_cfg=self.generate_cfg,
            batch_size=self.batch_size,
            announced=checkpoint.read_generation_config(self.model_path),
        )
        if self._user_preprocess is None:
            check_default_preprocessing(self.name, loaded.processor, limits)
        return loaded

    def close(self) -> None:
        """Lets go of the model and the shrunk pictures."""
        if self._batcher is not None:
            self._batcher.close()
            self._batcher = None
        self._loaded = None
        self._shrunk_pictures.close()
        free_memory()

"""A transformers checkpoint in this process, as a model wrapper (`imp_type: "transformers"`).

`request` hashes what decides about the answer, without torch: where all answers are stored, nothing
is loaded. `generate` runs the preprocess function beside the generation of others, waits for a
place in a batch, and runs generate method and postprocess function.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from models.wrappers.defaults import WrapperDefaults, request_of
from models.wrappers.local import checkpoint
from models.wrappers.local.batches import Batcher, largest, most_ahead
from models.wrappers.local.defaults import (
    DEFAULTS_VERSION,
    default_preprocess_function,
    resizes_by_area,
)
from models.wrappers.local.generating import LoadedModel, free_memory
from models.wrappers.local.loading import Checkpoint, load
from models.wrappers.local.settings import (
    cuda_present,
    expected_placement,
    generation_notes,
    generation_problems,
    placement_problems,
    with_floats,
)
from utils.contracts import Abandoned, Generation, Message, Prepared
from utils.coordinates import PIXEL_LIMITS
from utils.errors import StopRun, UserError
from utils.functions.calling import one_at_a_time
from utils.functions.fingerprints import code_digest, code_text, digest


class LocalModelWrapper(WrapperDefaults):
    """Asks a transformers model in this process, one request at a time or in batches.

    Arguments are the keys of a model entry (see docs/config.md). `batch_size` is no part of the
    fingerprint, because it is not meant to change an answer; device, dtype and attention are.
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
        trust_remote_code: bool = False,
    ) -> None:
        self.name, self.model_path = name, model_path
        self.generate_cfg, self.kwargs = dict(generate_cfg or {}), dict(kwargs or {})
        self.generate_function = generate_function or "generate"
        self.device_map = None if device_map == "" else device_map
        self.dtype, self.attn_implementation = dtype or None, attn_implementation or None
        self.batch_size, self.model_identity = batch_size, model_identity or None
        self.trust_remote_code = trust_remote_code
        self._user_preprocess, self._user_postprocess = preprocess_function, postprocess_function
        # Two locks: the postprocessing of one answer must not wait until the next picture is read.
        self._preprocess = one_at_a_time(
            preprocess_function or default_preprocess_function, threading.Lock()
        )
        self._postprocess_ids = postprocess_function and one_at_a_time(
            postprocess_function, threading.Lock()
        )
        self._lock = threading.Lock()
        self._model: LoadedModel | None = None
        self._load_problems: list[str] = []
        self._batcher: Batcher | None = None
        self._settings_lock, self._settings = threading.Lock(), ""
        self._img_size = max(0, self.kwargs.get("img_size") or 0)

    def problems(self) -> list[str]:
        """What stands in the way of running, one line each; loads nothing."""
        path = self.model_path
        found = checkpoint.missing_packages()
        found += checkpoint.checkpoint_problems(path)
        found += checkpoint.preparation_problems(path, by_default=self._user_preprocess is None)
        found += placement_problems(self.device_map, self.dtype, self.attn_implementation)
        if self.generate_function == "generate":  # another method knows its arguments itself
            brought = checkpoint.read_generation_config(path)
            found += generation_problems(self.generate_cfg, brought)
        return found or checkpoint.code_problems(path, is_trusted=self.trust_remote_code)

    def notes_before(self) -> list[str]:
        """What the generate method will use, the checkpoint's own settings included."""
        notes = []
        if self.generate_function == "generate":
            brought = checkpoint.read_generation_config(self.model_path)
            notes += generation_notes(self.generate_cfg, brought, self.batch_size)
            if checkpoint.settings_folder(self.model_path) is None:
                notes.append(f"{self.model_path} is not in the cache: its settings may change that")
        return notes

    def warm_up(self) -> None:
        """Loads the checkpoint."""
        self.model()

    def request(
        self, messages: list[Message], dataset: str, *, is_custom_prompt: bool = False
    ) -> Prepared:
        """Messages → request with its fingerprint; reads image headers and hashes, no pixels.

        Raises:
            UserError: an image or the checkpoint cannot be read.
        """
        return request_of(messages, dataset, self.settings_digest(dataset), img_size=self._img_size)

    def settings_digest(self, dataset: str = "") -> str:
        """Hash of checkpoint, settings and functions."""
        with self._settings_lock:
            if not self._settings:  # once, before a function has run: it may count in a global
                self._settings = digest([
                    self.model_identity or checkpoint.checkpoint_identity(self.model_path),
                    self._deciding_kwargs(),
                    with_floats(self.generate_cfg),  # 0 is 0.0
                    self.generate_function,
                    self.trust_remote_code,
                    # Rounding changes answers.
                    expected_placement(self.device_map, self.dtype, self.attn_implementation),
                    code_digest(self._user_preprocess),
                    code_digest(self._user_postprocess),
                    DEFAULTS_VERSION,
                ])  # fmt: skip
        return digest([self._settings, dataset])

    def _deciding_kwargs(self) -> dict[str, Any]:
        """The part of `kwargs` that can change an answer."""
        functions = [f for f in (self._user_preprocess, self._user_postprocess) if f is not None]
        kept = {k: v for k, v in self.kwargs.items() if k != "timeout_s"}
        if not functions:  # all that the default functions read
            kept = {key: self.kwargs.get(key) for key in PIXEL_LIMITS}
        elif not any("system_prompt" in code_text(function) for function in functions):
            kept.pop("system_prompt", None)  # the program puts it into the messages
        return {**kept, "img_size": self._img_size}

    def generate(self, prepared: Prepared) -> Generation:
        """Asks once; called from several threads, requests go to the model in batches.

        Raises:
            CallError: the generate method raised (kind "model").
            UserFunctionError: the preprocess function raised.
            StopRun: no checkpoint, inputs that cannot be put into batches, or a lost device.
            Abandoned: the run stopped before its turn.
        """
        model = self.model()
        if (batcher := self._batcher) is None:
            raise Abandoned  # it was closed meanwhile
        return batcher.answer(lambda: model.encode(prepared))

    def in_flight(self, wanted: int | None) -> int:
        """Requests of one batch, and those that are prepared meanwhile."""
        most = largest(self.batch_size, on_cpu=not cuda_present())
        return most + most_ahead(most)

    def abandon(self) -> None:
        """Lets go of requests that wait for the model."""
        if self._batcher is not None:
            self._batcher.abandon()

    def notes_after(self) -> list[str]:
        """How the model's time was spent."""
        return self._batcher.notes() if self._batcher is not None else []

    def model(self) -> LoadedModel:
        """The checkpoint in memory, with the config's functions; the first call loads it.

        Raises:
            StopRun: it cannot be loaded, or does not go with the config.
        """
        with self._lock:
            if self._model is None and not self._load_problems:
                try:
                    self._model = model = LoadedModel(
                        self.name,
                        self._loaded_checkpoint(),
                        preprocess=self._preprocess,
                        postprocess=self._postprocess_ids,
                        generate_function=self.generate_function,
                        generate_cfg=self.generate_cfg,
                        kwargs=self.kwargs,
                        img_size=self._img_size,
                    )
                    size = 1 if model.must_be_alone else self.batch_size
                    on_cpu = not model.checkpoint.devices[0].startswith("cuda")
                    self._batcher = Batcher(
                        model.answer, size, on_cpu=on_cpu, reply_tokens=model.reply_tokens
                    )
                except UserError as error:
                    # Not the error itself: its frames hold half a model, on the GPU perhaps.
                    self._load_problems = list(error.problems)
            if self._model is None:  # a broken checkpoint is not read once per sample
                raise StopRun(self._load_problems)
            return self._model

    def _loaded_checkpoint(self) -> Checkpoint:
        limits = {key: self.kwargs[key] for key in PIXEL_LIMITS if self.kwargs.get(key)}
        loaded = load(
            self.model_path,
            dtype=self.dtype,
            attn_implementation=self.attn_implementation,
            device_map=self.device_map,
            limits=limits,
            trust_remote_code=self.trust_remote_code,
        )
        who = f"model {self.name!r}"
        if not callable(getattr(loaded.model, self.generate_function, None)):
            raise UserError(
                f"{who}: generate_function {self.generate_function!r} is no method of "
                f'{type(loaded.model).__name__}; most models have "generate"'
            )
        if self._user_preprocess is None:
            image_processor = getattr(loaded.processor, "image_processor", None)
            if image_processor is None:
                made = type(loaded.processor).__name__
                raise UserError(f"{who}: the checkpoint takes no images: its processor is a {made}")
            if limits and not resizes_by_area(image_processor):
                why = "its image processor does not resize by area"
                print(f"warning: {who}: {', '.join(limits)} has no effect: {why}", file=sys.stderr)
        rank = os.environ.get("RANK")
        by = f" by rank {rank}" if rank else ""
        out = sys.stdout if rank in (None, "0") else sys.stderr  # on stdout rank 0 speaks alone
        print(f"loaded{by}: {', '.join(loaded.runs_with.values())}", file=out)
        return loaded

    def close(self) -> None:
        """Lets go of the model and the shrunk images."""
        if self._batcher is not None:
            self._batcher.close()
        if self._model is not None:
            self._model.close()
        self._batcher = self._model = None
        free_memory()

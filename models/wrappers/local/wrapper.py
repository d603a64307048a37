"""A transformers checkpoint in this process, as a model wrapper (`imp_type: "transformers"`).

`request` hashes what decides about the answer, without torch: where all answers are stored, nothing
is loaded. `generate` runs the preprocess function beside the generation of others, waits for a
place in a batch, and runs generate method and postprocess function.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Any

from models.wrappers.defaults import WrapperDefaults, request_of
from models.wrappers.known_versions import installed_versions, version_notes
from models.wrappers.local import checkpoint
from models.wrappers.local.batches import Batcher, max_ahead, max_batch_size
from models.wrappers.local.defaults import FINGERPRINT_VERSION, default_preprocess_function
from models.wrappers.local.generating import LoadedModel, free_memory
from models.wrappers.local.loading import Checkpoint, load
from models.wrappers.local.placement import (
    Placement,
    cuda_present,
    float32_note,
    placement_of,
    placement_problems,
    requested_dtype,
)
from models.wrappers.local.settings import (
    generation_notes,
    generation_problems,
    img_size_of,
    load_problems,
    with_floats,
)
from utils.contracts import Abandoned, Generation, Message, Prepared
from utils.coordinates import PIXEL_LIMITS
from utils.errors import StopRun, UserError
from utils.functions.calling import one_at_a_time
from utils.functions.fingerprints import code_digest, code_text, digest
from utils.geometry.resizing import steps_of

if TYPE_CHECKING:
    from utils.config.schema import Local


class LocalModelWrapper(WrapperDefaults):
    """Queries a transformers model in this process, one request at a time or in batches.

    `batch_size` is no part of the fingerprint, because it is not meant to change an answer; device,
    dtype and attention are.

    Args:
        name: of the model in the config.
        entry: the model entry of the config.
        preprocess_function: the user's; None: the default one.
        postprocess_function: the user's; None: the default one.
    """

    entry: Local

    def __init__(
        self,
        name: str,
        entry: Local,
        *,
        preprocess_function: Callable[..., Any] | None = None,
        postprocess_function: Callable[..., Any] | None = None,
    ) -> None:
        self.name = name
        self.entry = entry
        load_kwargs = entry.kwargs.get("load") or {}
        self._revision: str | None = load_kwargs.get("revision")  # branch, tag, commit on the hub
        self._adapter: str | None = load_kwargs.get("adapter")
        self._functions = (preprocess_function, postprocess_function)
        self.deciding_code = [function for function in self._functions if function is not None]
        # Two locks: the postprocessing of one answer must not wait until the next image is read.
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
        self._settings_lock = threading.Lock()
        self._settings = ""

    def problems(self) -> list[str]:
        """Problems in the way of running, one line each; loads nothing."""
        entry = self.entry
        path = entry.model_path
        problems = checkpoint.missing_packages() + checkpoint.checkpoint_problems(path)
        problems += load_problems(entry, is_on_hub=checkpoint.is_hub_id(path))
        if not problems:
            problems += placement_problems(entry, checkpoint.read_config(path, self._revision))
        if entry.generate_function == "generate":  # another method knows its arguments itself
            defaults = checkpoint.read_generation_config(path, self._revision)
            problems += generation_problems(entry.generate_cfg, defaults)
        if not problems:
            problems += checkpoint.code_problems(path, is_trusted=entry.trust_remote_code)
            needs_template = self._functions[0] is None
            problems += checkpoint.prompt_problems(path, needs_template=needs_template)
        return problems

    def fixed_by(self) -> str:
        """Say that decoding is greedy, where it is: equal prompts get equal answers."""
        entry = self.entry
        if entry.generate_function != "generate":
            return super().fixed_by()
        defaults = checkpoint.read_generation_config(entry.model_path, self._revision)
        is_sampling = {**defaults, **entry.generate_cfg}.get("do_sample")
        return "" if is_sampling else "without generate_cfg.do_sample true, decoding is greedy"

    def notes_before(self) -> list[str]:
        """Say what the generate method will use, the checkpoint's own settings included."""
        entry = self.entry
        path = entry.model_path
        notes = super().notes_before()
        if entry.generate_function == "generate":
            defaults = checkpoint.read_generation_config(path, self._revision)
            notes += generation_notes(entry.generate_cfg, defaults, entry.batch_size)
            if checkpoint.settings_folder(path, self._revision) is None:
                notes.append(f"{path} is not in the cache: its own settings may change this")
        config = checkpoint.read_config(path, self._revision)
        installed = installed_versions("transformers")
        notes += version_notes(str(config.get("model_type", "")), path, installed)
        placement = placement_of(entry, config)
        note = float32_note(entry, placement.dtype, placement.device)
        if note:
            notes.append(note)
        return notes

    @cached_property
    def _commit(self) -> str | None:
        """The commit of a checkpoint on the hub, asked once: what is hashed is what is loaded."""
        path = self.entry.model_path
        if not checkpoint.is_hub_id(path) or self.entry.model_identity:
            return self._revision
        return checkpoint.hub_commit(path, self._revision)

    @cached_property
    def _adapter_commit(self) -> str | None:
        if self._adapter is None or not checkpoint.is_hub_id(self._adapter):
            return None
        return checkpoint.hub_commit(self._adapter)

    def _placement(self) -> Placement:
        return placement_of(self.entry, checkpoint.read_config(self.entry.model_path, self._commit))

    def warm_up(self) -> None:
        """Load the checkpoint."""
        self.model()

    def request(
        self, messages: list[Message], dataset: str, *, is_custom_prompt: bool = False
    ) -> Prepared:
        """Return the request with its fingerprint; reads image headers and hashes, no pixels."""
        settings = self.settings_digest(dataset)
        return self.reusable(request_of(messages, dataset, settings, self.entry.kwargs))

    def settings_digest(self, dataset: str = "") -> str:
        """Return a hash of checkpoint, settings and functions."""
        with self._settings_lock:
            if not self._settings:  # once, before a function has run: it may count in a global
                self._settings = digest(self._deciding_settings())
        return digest([self._settings, dataset])

    def _deciding_settings(self) -> list[Any]:
        """The settings that decide the answers beside the prompt.

        What came later stands here only where it is set: answers from before it still count.
        """
        entry = self.entry
        path = entry.model_path
        placement = self._placement()
        settings = [
            entry.model_identity or checkpoint.checkpoint_identity(path, self._commit),
            self._deciding_kwargs(),
            with_floats(entry.generate_cfg),  # 0 is 0.0
            entry.generate_function,
            entry.trust_remote_code,
            # Rounding changes answers.
            {**asdict(placement), "dtype": requested_dtype(entry, placement.device)},
            *map(code_digest, self._functions),
            FINGERPRINT_VERSION,
        ]
        if self._adapter is not None:
            settings.append(checkpoint.checkpoint_identity(self._adapter, self._adapter_commit))
        return settings

    def _deciding_kwargs(self) -> dict[str, Any]:
        """Return the part of `kwargs` that can change an answer."""
        if self.deciding_code:
            deciding = dict(self.entry.kwargs)
            deciding.pop("timeout_s", None)
            if not any("system_prompt" in code_text(function) for function in self.deciding_code):
                deciding.pop("system_prompt", None)  # the program puts it into the messages
        else:  # all that the default functions read
            deciding = {key: self.entry.kwargs.get(key) for key in PIXEL_LIMITS}
            for key in ("load", "chat_template"):
                if self.entry.kwargs.get(key):
                    deciding[key] = self.entry.kwargs[key]
            if steps_of(self.entry.kwargs):
                deciding["resize"] = self.entry.kwargs["resize"]
        return {**deciding, "img_size": img_size_of(self.entry)}

    def generate(self, prepared: Prepared) -> Generation:
        """Send one request; called from several threads, requests go to the model in batches."""
        model = self.model()
        batcher = self._batcher
        if batcher is None:
            raise Abandoned  # it was closed meanwhile
        return batcher.answer(lambda: model.encode(prepared))

    def in_flight(self, requested: int | None) -> int:
        """Return the requests of one batch, and those that are prepared meanwhile."""
        size = max_batch_size(self.entry.batch_size, on_cpu=not cuda_present())
        return size + max_ahead(size)

    def abandon(self) -> None:
        """Let go of requests that wait for the model."""
        if self._batcher is not None:
            self._batcher.abandon()

    def notes_after(self) -> list[str]:
        """Say how the model's time was spent."""
        return self._batcher.notes() if self._batcher is not None else []

    def model(self) -> LoadedModel:
        """Return the checkpoint in memory.

        Raises:
            StopRun: it cannot be loaded, or does not fit the config.
        """
        with self._lock:
            if self._model is None and not self._load_problems:
                try:
                    self._model, self._batcher = self._loaded()
                except UserError as error:
                    # Not the error itself: its frames hold half a model, on the GPU perhaps.
                    self._load_problems = list(error.problems)
            if self._model is None:  # a broken checkpoint is not read once per sample
                raise StopRun(self._load_problems)
            return self._model

    def _loaded(self) -> tuple[LoadedModel, Batcher]:
        loaded = self._load_checkpoint()
        model = LoadedModel(self.name, self.entry, loaded, self._preprocess, self._postprocess_ids)
        batcher = Batcher(
            model.answer,
            1 if model.must_be_alone else self.entry.batch_size,
            on_cpu=not loaded.devices[0].startswith("cuda"),
            reply_tokens=model.reply_tokens,
            prefers_equal=loaded.runs_with.get("attention") == "sdpa",
            memory_share=lambda: model.memory_share,
        )
        return model, batcher

    def _load_checkpoint(self) -> Checkpoint:
        print(f"loading {self.entry.model_path} ...", file=sys.stderr, flush=True)
        loaded = load(self.entry, commit=self._commit, adapter_commit=self._adapter_commit)
        problem = self._misfit(loaded)
        if problem:
            raise UserError(f"model {self.name!r}: {problem}")
        rank = os.environ.get("RANK")
        output = sys.stdout if rank in (None, "0") else sys.stderr  # rank 0 alone has stdout
        by_rank = f" by rank {rank}" if rank else ""
        print(f"loaded{by_rank}: {', '.join(loaded.runs_with.values())}", file=output)
        return loaded

    def _misfit(self, loaded: Checkpoint) -> str:
        """Say why a checkpoint cannot be used as the config has it; empty if it can."""
        function = self.entry.generate_function
        if not callable(getattr(loaded.model, function, None)):
            return f"{type(loaded.model).__name__} has no method {function!r} (generate_function)"
        if self._functions[0] is not None:  # it makes the inputs
            return ""
        if getattr(loaded.processor, "image_processor", None) is None:
            kind = type(loaded.processor).__name__
            return f"the checkpoint takes no images: its processor is a {kind}"
        if getattr(loaded.processor, "chat_template", None) is None:
            return "the checkpoint has no chat template, so a preprocess_function must do its work"
        return ""

    def close(self) -> None:
        """Let go of the model and the shrunk images."""
        if self._batcher is not None:
            self._batcher.close()
        if self._model is not None:
            self._model.images.folder.cleanup()
        self._batcher = None
        self._model = None
        free_memory()

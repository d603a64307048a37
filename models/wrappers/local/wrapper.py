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
from models.wrappers.local import checkpoint
from models.wrappers.local.batches import Batcher, largest, most_ahead
from models.wrappers.local.defaults import DEFAULTS_VERSION, default_preprocess_function
from models.wrappers.local.generating import LoadedModel, free_memory
from models.wrappers.local.loading import Checkpoint, load
from models.wrappers.local.placement import (
    Placement,
    cuda_present,
    float32_note,
    placement_of,
    placement_problems,
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
from utils.functions.fingerprints import code_digest, code_text, digest, undescribed

if TYPE_CHECKING:
    from utils.config.schema import Local


class LocalModelWrapper(WrapperDefaults):
    """Asks a transformers model in this process, one request at a time or in batches.

    `entry` is a model entry of a config. Its `batch_size` is no part of the fingerprint, because it
    is not meant to change an answer; device, dtype and attention are.
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
        self.name, self.entry = name, entry
        self._functions = (preprocess_function, postprocess_function)
        # Two locks: the postprocessing of one answer must not wait until the next picture is read.
        given = preprocess_function or default_preprocess_function
        self._preprocess = one_at_a_time(given, threading.Lock())
        self._postprocess_ids = postprocess_function and one_at_a_time(
            postprocess_function, threading.Lock()
        )
        self._lock = threading.Lock()
        self._model: LoadedModel | None = None
        self._load_problems: list[str] = []
        self._batcher: Batcher | None = None
        self._settings_lock, self._settings = threading.Lock(), ""

    def problems(self) -> list[str]:
        """What stands in the way of running, one line each; loads nothing."""
        path, entry = self.entry.model_path, self.entry
        found = checkpoint.missing_packages() + checkpoint.checkpoint_problems(path)
        found += load_problems(entry, is_on_hub=checkpoint.is_hub_id(path))
        if not found:
            found += placement_problems(entry, checkpoint.read_config(path, self._revision))
        if entry.generate_function == "generate":  # another method knows its arguments itself
            brought = checkpoint.read_generation_config(path, self._revision)
            found += generation_problems(entry.generate_cfg, brought)
        if found:
            return found
        lacks_function = self._functions[0] is None
        return [
            *checkpoint.code_problems(path, is_trusted=entry.trust_remote_code),
            *checkpoint.prompt_problems(path, needs_template=lacks_function),
        ]

    def notes_before(self) -> list[str]:
        """What the generate method will use, the checkpoint's own settings included."""
        path, entry = self.entry.model_path, self.entry
        unknown = [what for function in self._functions for what in undescribed(function)]
        notes = [f"stored answers are not reused: {what}" for what in unknown]
        if entry.generate_function == "generate":
            brought = checkpoint.read_generation_config(path, self._revision)
            notes += generation_notes(entry.generate_cfg, brought, entry.batch_size)
            if checkpoint.settings_folder(path, self._revision) is None:
                notes.append(f"{path} is not in the cache: its settings may change that")
        placement = placement_of(entry, checkpoint.read_config(path, self._revision))
        note = float32_note(entry, placement.dtype, placement.device)
        return [*notes, note] if note else notes

    @property
    def _revision(self) -> str | None:
        """The branch, tag or commit on the hub that the config names."""
        return (self.entry.kwargs.get("load") or {}).get("revision")

    @cached_property
    def _commit(self) -> str | None:
        """The commit of a checkpoint on the hub, asked once: what is hashed is what is loaded."""
        path = self.entry.model_path
        if not checkpoint.is_hub_id(path) or self.entry.model_identity:
            return self._revision
        return checkpoint.hub_commit(path, self._revision)

    @cached_property
    def _adapter_commit(self) -> str | None:
        adapter = (self.entry.kwargs.get("load") or {}).get("adapter")
        if adapter is None or not checkpoint.is_hub_id(adapter):
            return None
        return checkpoint.hub_commit(adapter)

    def _placement(self) -> Placement:
        return placement_of(self.entry, checkpoint.read_config(self.entry.model_path, self._commit))

    def warm_up(self) -> None:
        """Loads the checkpoint."""
        self.model()

    def request(
        self, messages: list[Message], dataset: str, *, is_custom_prompt: bool = False
    ) -> Prepared:
        """Messages → request with its fingerprint; reads image headers and hashes, no pixels."""
        settings = self.settings_digest(dataset)
        return request_of(messages, dataset, settings, img_size=img_size_of(self.entry))

    def settings_digest(self, dataset: str = "") -> str:
        """Hash of checkpoint, settings and functions."""
        entry = self.entry
        with self._settings_lock:
            if not self._settings:  # once, before a function has run: it may count in a global
                self._settings = digest(
                    [
                        entry.model_identity
                        or checkpoint.checkpoint_identity(entry.model_path, self._commit),
                        self._adapter_identity(),
                        self._deciding_kwargs(),
                        with_floats(entry.generate_cfg),  # 0 is 0.0
                        entry.generate_function,
                        entry.trust_remote_code,
                        # Rounding changes answers.
                        asdict(self._placement()),
                        *map(code_digest, self._functions),
                        DEFAULTS_VERSION,
                    ]
                )
        return digest([self._settings, dataset])

    def _adapter_identity(self) -> Any:
        adapter = (self.entry.kwargs.get("load") or {}).get("adapter")
        if adapter is None:
            return None
        return checkpoint.checkpoint_identity(adapter, self._adapter_commit)

    def _deciding_kwargs(self) -> dict[str, Any]:
        """The part of `kwargs` that can change an answer."""
        functions = [function for function in self._functions if function is not None]
        kept = {k: v for k, v in self.entry.kwargs.items() if k != "timeout_s"}
        if not functions:  # all that the default functions read
            read = (*PIXEL_LIMITS, "load", "chat_template")
            kept = {key: self.entry.kwargs.get(key) for key in read}
        elif not any("system_prompt" in code_text(function) for function in functions):
            kept.pop("system_prompt", None)  # the program puts it into the messages
        return {**kept, "img_size": img_size_of(self.entry)}

    def generate(self, prepared: Prepared) -> Generation:
        """Asks once; called from several threads, requests go to the model in batches."""
        model = self.model()
        if (batcher := self._batcher) is None:
            raise Abandoned  # it was closed meanwhile
        return batcher.answer(lambda: model.encode(prepared))

    def in_flight(self, wanted: int | None) -> int:
        """Requests of one batch, and those that are prepared meanwhile."""
        most = largest(self.entry.batch_size, on_cpu=not cuda_present())
        return most + most_ahead(most)

    def abandon(self) -> None:
        """Lets go of requests that wait for the model."""
        if self._batcher is not None:
            self._batcher.abandon()

    def notes_after(self) -> list[str]:
        """How the model's time was spent."""
        return self._batcher.notes() if self._batcher is not None else []

    def model(self) -> LoadedModel:
        """The checkpoint in memory; StopRun: it cannot be loaded, or does not fit the config."""
        with self._lock:
            if self._model is None and not self._load_problems:
                try:
                    held, size = self._loaded_checkpoint(), self.entry.batch_size
                    self._model = model = LoadedModel(
                        self.name, self.entry, held, self._preprocess, self._postprocess_ids
                    )
                    self._batcher = Batcher(
                        model.answer,
                        1 if model.must_be_alone else size,
                        on_cpu=not held.devices[0].startswith("cuda"),
                        reply_tokens=model.reply_tokens,
                        prefers_equal=held.runs_with.get("attention") == "sdpa",
                    )
                except UserError as error:
                    # Not the error itself: its frames hold half a model, on the GPU perhaps.
                    self._load_problems = list(error.problems)
            if self._model is None:  # a broken checkpoint is not read once per sample
                raise StopRun(self._load_problems)
            return self._model

    def _loaded_checkpoint(self) -> Checkpoint:
        print(f"loading {self.entry.model_path} ...", file=sys.stderr, flush=True)
        loaded = load(self.entry, commit=self._commit, adapter_commit=self._adapter_commit)
        wanted = self.entry.generate_function
        problem, made = "", type(loaded.processor).__name__
        if not callable(getattr(loaded.model, wanted, None)):
            problem = f"{type(loaded.model).__name__} has no method {wanted!r} (generate_function)"
        elif self._functions[0] is not None:
            pass  # it makes the inputs
        elif getattr(loaded.processor, "image_processor", None) is None:
            problem = f"the checkpoint takes no images: its processor is a {made}"
        elif getattr(loaded.processor, "chat_template", None) is None:
            cure = "so a preprocess_function must do its work"
            problem = f"the checkpoint has no chat template, {cure}"
        if problem:
            raise UserError(f"model {self.name!r}: {problem}")
        rank = os.environ.get("RANK")
        out = sys.stdout if rank in (None, "0") else sys.stderr  # on stdout rank 0 speaks alone
        by = f" by rank {rank}" if rank else ""
        print(f"loaded{by}: {', '.join(loaded.runs_with.values())}", file=out)
        return loaded

    def close(self) -> None:
        """Lets go of the model and the shrunk images."""
        if self._batcher is not None:
            self._batcher.close()
        if self._model is not None and self._model.pictures is not None:
            self._model.pictures.folder.cleanup()
        self._batcher = self._model = None
        free_memory()

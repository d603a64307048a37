"""A model that is a Python class (`imp_type: "custom"`)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from models.wrappers.custom_results import check_failure, checked_generation
from models.wrappers.defaults import WrapperDefaults, request_of
from models.wrappers.local.defaults import DEFAULTS_VERSION
from models.wrappers.local.generating import free_memory
from utils.contracts import Abandoned, CallError, Generation, Message, Prepared
from utils.errors import UserError
from utils.functions.calling import as_user_error, call_user_function, private_copy
from utils.functions.fingerprints import code_digest, digest
from utils.functions.signatures import custom_arguments

if TYPE_CHECKING:
    from utils.config.schema import Custom


class CustomModelWrapper(WrapperDefaults):
    """Runs a user's class with `generate(message, *, dataset_name, **generate_cfg) -> str`.

    `generate` may return a `Generation` instead of a text, to give more facts. It may raise
    `CallError`; the program retries it like an error of a server. The program builds the class with
    the `kwargs` block, or without arguments if the class takes none.

    The class may have:

    - `max_concurrency = N`: up to N calls at once; the default is one.
    - `answers_version`: it replaces the code of the class in fingerprints. `model_identity` in the
      config names the version of the model there.
    - `one_by_one = True`: a sample starts when the one before it is over.
    - `announce(dataset_name, sample_count, index)`: with `one_by_one`, called before each sample.
    - `abandon()`: called when the run stops; `generate` then raises `Abandoned`.
    - `close()`: called at the end.
    """

    def __init__(
        self,
        name: str,
        entry: Custom,
        model_class: Callable[..., Any],
        postprocess_function: Callable[..., str] | None,
    ) -> None:
        self.name = name
        self.entry = entry
        self._class = model_class
        self._postprocess = postprocess_function
        self.max_concurrency = getattr(model_class, "max_concurrency", 1)
        settings = [entry.generate_cfg, entry.kwargs, entry.model_identity]
        version = getattr(model_class, "answers_version", None)
        self.deciding_code = (model_class,) if version is None else ()
        code = code_digest(model_class) if version is None else f"version {version}"
        self._settings = digest([code, DEFAULTS_VERSION, *settings])
        self.one_by_one = bool(getattr(model_class, "one_by_one", False))
        self._model: Any = None

    def problems(self) -> list[str]:
        """Build the object: a class whose weights are missing says so before the first sample."""
        limit = self.max_concurrency
        if limit is not None and (type(limit) is not int or limit < 1):
            name = getattr(self._class, "__qualname__", "the class")
            return [f"{name}.max_concurrency must be a whole number of at least 1, not {limit!r}"]
        try:
            self._model_or_new()
        except UserError as error:
            return list(error.problems)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - it may raise anything
            return [f"cannot be built: it {as_user_error('model', error).summary}"]
        return []

    def in_flight(self, requested: int | None) -> int | None:
        """Return as many requests at once as the user asks for and the class allows."""
        return min(filter(None, (requested, self.max_concurrency)), default=None)

    def _model_or_new(self) -> Any:
        if self._model is None:
            self._model = self._class(**custom_arguments(self._class, dict(self.entry.kwargs)))
        return self._model

    def settings_digest(self) -> str:
        """Return a hash of the class's code and settings."""
        return self._settings

    def request(
        self, messages: list[Message], dataset: str, *, is_custom_prompt: bool = False
    ) -> Prepared:
        """Return the messages with a fingerprint of texts, images and the class's code."""
        return self.reusable(request_of(messages, dataset, digest([self._settings, dataset])))

    def generate(self, prepared: Prepared) -> Generation:
        """Call the user's class once.

        Raises:
            CallError: it raised one or anything else, or returned nothing that can be used.
        """
        messages, generate_cfg = private_copy((prepared.payload, self.entry.generate_cfg))
        try:
            model = self._model_or_new()
            returned = model.generate(messages, dataset_name=prepared.dataset, **generate_cfg)
        except CallError as error:
            check_failure(error)
            raise
        except (KeyboardInterrupt, Abandoned):
            raise
        except BaseException as error:
            problem = as_user_error("generate", error)
            raise CallError("model", str(problem), trace=problem.trace) from error
        generation = checked_generation(returned)
        return replace(generation, image_sizes=generation.image_sizes or prepared.image_sizes)

    def announce(self, dataset: str, sample_count: int, index: int) -> None:
        """Tell the object which sample of a data set comes next, if it wants to know.

        Raises:
            UserFunctionError: it raised anything.
        """
        model = self._model_or_new()
        if hasattr(model, "announce"):
            call_user_function("announce", model.announce, dataset, sample_count, index)

    def abandon(self) -> None:
        """Tell an object that waits for somebody that the run has stopped."""
        if hasattr(self._model, "abandon"):
            with suppress(Exception, SystemExit):  # the run stops for a reason of its own
                self._model.abandon()

    def close(self) -> None:
        """Let the object go, and its memory, even where parts of it hold each other."""
        if hasattr(self._model, "close"):
            with suppress(Exception):  # everything it was asked for is in the log
                self._model.close()
        self._model = None
        free_memory()

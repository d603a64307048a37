"""A checkpoint behind a vLLM server that this run starts and stops (`imp_type: "vllm"`).

The server is a child process; it is asked like any other server. It is started when the first
answer is due: where all answers are stored, nothing is started.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from models.wrappers.api.wrapper import APIModelWrapper
from models.wrappers.local import checkpoint
from models.wrappers.vllm.arguments import deciding_options, options, serve_words
from models.wrappers.vllm.server import HOST, VllmServer, interpreter_problems
from utils.contracts import Abandoned, CallError, Generation, Prepared
from utils.coordinates import PIXEL_LIMITS
from utils.errors import StopRun
from utils.functions.fingerprints import digest
from utils.images import at_home

if TYPE_CHECKING:
    from utils.config.schema import Vllm

DEFAULT_START_TIMEOUT_S = 900.0
LAST_BREATH_S = 3.0  # between the end of a connection and the end of its process
# What vLLM reads in generation_config.json, and what names another source for it.
SAMPLING = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "max_new_tokens")
SAMPLING_OPTIONS = {"generation-config", "override-generation-config"}


class VllmModelWrapper(APIModelWrapper):
    """Asks a checkpoint through a vLLM server of its own, which serves it under the model's name.

    `settings` are further arguments of `APIModelWrapper`. `min_pixels` and `max_pixels` of `kwargs`
    reach the server, unless `serve_args` has `--mm-processor-kwargs`.
    """

    def __init__(self, name: str, entry: Vllm, **settings: Any) -> None:
        unused = _address(name, 1, "unused")
        super().__init__(name, entry, address=unused, proxies=False, **settings)
        given, kwargs = serve_words(entry.serve_args), entry.kwargs
        given += ["--trust-remote-code"] if entry.trust_remote_code else []
        self._serve_args = [*given, *_pixel_limits(kwargs, given)]
        self._start_timeout_s = float(kwargs.get("serve_timeout_s", DEFAULT_START_TIMEOUT_S))
        self._has_failures = False
        self._start_lock = threading.Lock()
        self._stopping = threading.Event()  # no server is started or waited for any more
        self._server: VllmServer | None = None  # one that answers
        self._start_error: StopRun | None = None

    def problems(self) -> list[str]:
        """What stands in the way of running; starts no server."""
        found = checkpoint.checkpoint_problems(self.entry.model_path)
        return found + interpreter_problems(os.environ)

    def notes_before(self) -> list[str]:
        """What the checkpoint brings along that changes answers though no config names it."""
        asked = self.entry.generate_cfg
        given = {**asked, **(asked.get("extra_body") or {})}
        brought = checkpoint.read_generation_config(self.entry.model_path)
        used = [f"{name} {brought[name]}" for name in SAMPLING if name in brought.keys() - given]
        if not used or SAMPLING_OPTIONS & dict(options(self._serve_args)[1]).keys():
            return []
        cure = 'generate_cfg takes precedence; "generation-config": "vllm" in serve_args ignores it'
        return [f"vLLM uses the checkpoint's settings: {', '.join(used)} ({cure})"]

    def warm_up(self) -> None:
        """Starts the server and waits until it answers; StopRun has the end of its log."""
        self._ready()

    @cached_property
    def identity(self) -> str:
        """Hash of the checkpoint and of the server's arguments that can change an answer."""
        weights = self.entry.model_identity or checkpoint.checkpoint_identity(self.entry.model_path)
        arguments = [
            [name, [_with_content(value) for value in values]]
            for name, values in deciding_options(self._serve_args)
        ]
        return digest(["vllm", weights, arguments])

    def generate(self, prepared: Prepared) -> Generation:
        """Sends the request once; `StopRun` if the server is gone, `Abandoned` if it never was."""
        server = self._ready()
        try:
            return super().generate(prepared)
        except CallError as error:
            self._has_failures = True
            if _is_gone(server, error):
                kept = "Answers so far are kept; the same command continues from here."
                why = server.obituary("while it was being queried")
                raise StopRun(f'model "{self.name}": {why}\n{kept}') from error
            raise

    def _ready(self) -> VllmServer:
        """The server, started by whoever comes first; the others wait for it."""
        with self._start_lock:
            if self._server is None and not self._start_error and not self._stopping.is_set():
                try:
                    self._server = self._started()
                except StopRun as error:
                    self._start_error = StopRun(f'model "{self.name}": {error}')
            if self._server is not None:
                return self._server
            if self._stopping.is_set() or self._start_error is None:
                raise Abandoned
            raise self._start_error

    def _started(self) -> VllmServer:
        path = self.entry.model_path
        model = path if checkpoint.is_hub_id(path) else str(at_home(path).absolute())
        server = VllmServer(model, self.name, self._serve_args)
        try:
            self._show(f"starting a vLLM server; its log is {server.log}")
            server.wait_until_ready(self._start_timeout_s, self._stopping, self._show)
            self.move_to(_address(self.name, server.port, server.key))
            super().warm_up()
        except BaseException as error:
            server.stop(keep_log=isinstance(error, StopRun) and not self._stopping.is_set())
            raise
        atexit.register(self.close)
        self._show(f"the vLLM server answers on port {server.port}")
        return server

    def _show(self, text: str) -> None:
        print(f"{self.name}: {text}", file=sys.stderr, flush=True)

    def abandon(self) -> None:
        """Nobody waits any longer for a server that is still starting."""
        self._stopping.set()

    def close(self) -> None:
        """Stops the server; its log stays where anything went wrong."""
        self._stopping.set()
        super().close()
        with self._start_lock:
            server, self._server = self._server, None
        atexit.unregister(self.close)
        if server is not None:
            server.stop(keep_log=self._has_failures)


def _address(name: str, port: int, key: str) -> str:
    return f"http://{HOST}:{port}/v1?api_key={key}&model={quote(name, safe='')}"


def _pixel_limits(kwargs: Mapping[str, Any], serve_args: Sequence[str]) -> list[str]:
    """The image's limits for the server's processor, which would use the checkpoint's."""
    option = "mm-processor-kwargs"
    if any(name.partition(".")[0] == option for name, _ in options(serve_args)[1]):
        return []
    return [f"--{option}.{name}={kwargs[name]}" for name in PIXEL_LIMITS if kwargs.get(name)]


def _with_content(value: str) -> str:
    """An argument's value; where it names a file, a chat template say, the content."""
    try:
        return hashlib.sha256(Path(value).read_bytes()).hexdigest()
    except (OSError, ValueError):
        return value


def _is_gone(server: VllmServer, error: CallError) -> bool:
    """Whether the server, and not this one request, is what failed."""
    if error.kind == "http" and (error.status_code or 0) >= 500:
        # The part that answers requests outlives the part that runs the model for a while.
        return not server.is_healthy()
    return server.has_ended(LAST_BREATH_S if "connection" in error.kind else 0.0)

"""A checkpoint behind a vLLM server that this run starts and stops (`imp_type: "vllm"`).

The server is a child process; it is asked like any other server, through `APIModelWrapper`. It is
started when the first answer is due: where all answers are stored, nothing is started.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import http.client
import os
import re
import secrets
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from models.wrappers.api.wrapper import APIModelWrapper
from models.wrappers.defaults import WrapperDefaults
from models.wrappers.local import checkpoint
from models.wrappers.vllm.server import (
    HOST,
    VllmServer,
    find_interpreter,
    interpreter_problems,
    server_environment,
)
from utils.config.environment import at_home
from utils.config.serve_args import deciding_options, options
from utils.contracts import Abandoned, CallError, Generation, Message, Prepared
from utils.coordinates import PIXEL_LIMITS
from utils.errors import StopRun
from utils.functions.fingerprints import digest

DEFAULT_START_TIMEOUT_S = 900.0
LAST_BREATH_S = 3.0  # between the end of a connection and the end of its process
LARGEST_ARGUMENT_FILE = 16 * 1024 * 1024  # a chat template, not weights
# What vLLM reads in generation_config.json.
SAMPLING = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "max_new_tokens")
_PROCESSOR_OPTION = "mm-processor-kwargs"


class VllmModelWrapper(WrapperDefaults):
    """Asks a checkpoint through a vLLM server of its own.

    Args:
        name: of the model entry; the server serves the checkpoint under it.
        model_path: a checkpoint folder, or `org/name` on the Hugging Face hub.
        generate_cfg: parameters of `chat.completions.create`.
        kwargs: the config's `kwargs` block. `min_pixels` and `max_pixels` reach the server, unless
            `serve_args` has `--mm-processor-kwargs`.
        serve_args: words for the server's command line.
        preprocess_function, postprocess_function: in the form for API models, or None.
        model_identity: stands for the checkpoint's files in fingerprints, if given.
        connections: how many requests may be in flight.
    """

    def __init__(
        self,
        name: str,
        *,
        model_path: str,
        generate_cfg: Mapping[str, Any],
        kwargs: Mapping[str, Any],
        serve_args: Sequence[str] = (),
        preprocess_function: Callable[..., Any] | None = None,
        postprocess_function: Callable[..., str] | None = None,
        model_identity: str | None = None,
        connections: int = 4,
    ) -> None:
        self.name, self.model_path = name, model_path
        self._serve_args = [*serve_args, *_pixel_limits(kwargs, serve_args)]
        self._start_timeout_s = float(kwargs.get("serve_timeout_s", DEFAULT_START_TIMEOUT_S))
        self._model_identity = model_identity
        self._settings: dict[str, Any] = {
            "generate_cfg": generate_cfg, "kwargs": kwargs, "connections": connections,
            "preprocess_function": preprocess_function,
            "postprocess_function": postprocess_function,
        }  # fmt: skip
        # Makes requests and applies the user's functions; its address is never asked. An address
        # is no part of a fingerprint here, and what stands for it is added in `request`.
        self._builder = APIModelWrapper(
            name, model_path=self._address(1, "unused"), model_identity="vllm", **self._settings
        )
        self._identity: str | None = None
        self._identity_lock, self._start_lock = threading.Lock(), threading.Lock()
        self._server: VllmServer | None = None
        self._client: APIModelWrapper | None = None
        self._start_error: StopRun | None = None
        self._abandonments = 0
        self._is_closed = self._has_failures = False

    def _address(self, port: int, key: str) -> str:
        return f"http://{HOST}:{port}/v1?api_key={key}&model={quote(self.name, safe='')}"

    # ---------------------------------------------------------------- before the run

    def problems(self) -> list[str]:
        """What stands in the way of running, one line each; starts no server."""
        found = checkpoint.checkpoint_problems(self.model_path)
        return found + interpreter_problems(os.environ)

    def notes_before(self) -> list[str]:
        """What the checkpoint brings along that changes answers though no config names it."""
        given = {**self._settings["generate_cfg"]}
        given |= given.get("extra_body") or {}
        _, arguments = options(self._serve_args)
        if any(
            name in ("generation-config", "override-generation-config") for name, _ in arguments
        ):
            return []
        brought = checkpoint.read_generation_config(self.model_path)
        used = [f"{name} {brought[name]}" for name in SAMPLING
                if name in brought and name not in given]  # fmt: skip
        if not used:
            return []
        return [
            f"vLLM takes from the checkpoint's generation_config.json: {', '.join(used)} "
            '(generate_cfg goes first; "generation-config": "vllm" in serve_args ignores it)'
        ]

    def warm_up(self) -> None:
        """Starts the server and waits until it answers.

        Raises:
            StopRun: it does not come up; says why, with the end of its log.
        """
        self._ready()

    def request(
        self, messages: list[Message], dataset: str, *, is_custom_prompt: bool = False
    ) -> Prepared:
        """The request that the server will get, under a fingerprint of checkpoint and settings.

        Raises:
            UserFunctionError: the user's preprocess function raised or returned no payload.
            UserError: a picture or the checkpoint cannot be read.
        """
        prepared = self._builder.request(messages, dataset, is_custom_prompt=is_custom_prompt)
        identity = self._checkpoint_and_settings()
        parts = {
            **prepared.parts,
            "settings": digest([identity, prepared.parts["settings"]]),
        }
        return replace(prepared, fingerprint=digest([identity, prepared.fingerprint]), parts=parts)

    def _checkpoint_and_settings(self) -> str:
        with self._identity_lock:
            if self._identity is None:
                weights = self._model_identity or checkpoint.checkpoint_identity(self.model_path)
                arguments = [
                    [name, [_with_content(value) for value in values]]
                    for name, values in deciding_options(self._serve_args)
                ]
                self._identity = digest(["vllm", weights, arguments])
            return self._identity

    def wire_size(self, prepared: Prepared) -> int:
        """Bytes of the request body."""
        return self._builder.wire_size(prepared)

    # ---------------------------------------------------------------- asking

    def generate(self, prepared: Prepared) -> Generation:
        """Sends the request once.

        Raises:
            CallError: no usable answer.
            StopRun: the server is gone.
            Abandoned: the run stopped while the server was starting.
        """
        server, client = self._ready()
        try:
            return client.generate(prepared)
        except CallError as error:
            self._has_failures = True
            if _is_gone(server, error):
                raise StopRun(
                    f'model "{self.name}": {server.obituary("while it was asked")}\n'
                    "Answers so far are kept; the same command goes on from here."
                ) from error
            raise

    def _ready(self) -> tuple[VllmServer, APIModelWrapper]:
        """The server, started by whoever comes first; the others wait for it."""
        before = self._abandonments
        with self._start_lock:
            if self._is_closed or self._abandonments != before:
                raise Abandoned
            if self._start_error is not None:
                raise self._start_error
            if self._server is None or self._client is None:
                try:
                    self._start()
                except StopRun as error:
                    if self._is_closed or self._abandonments != before:
                        raise Abandoned from error
                    self._start_error = StopRun(f'model "{self.name}": {error}')
                    raise self._start_error from error
            assert self._server is not None and self._client is not None
            return self._server, self._client

    def _start(self) -> None:
        before = self._abandonments
        key = secrets.token_urlsafe(24)
        needs_hub = checkpoint.is_hub_id(self.model_path)
        folder = at_home(self.model_path).absolute()
        server = VllmServer(
            python=find_interpreter(os.environ),
            model=self.model_path if needs_hub else str(folder),
            served_name=self.name,
            serve_args=self._serve_args,
            environ=server_environment(os.environ, key=key, needs_hub=needs_hub),
            log=_new_log(self.name),
        )
        self._server = server
        atexit.register(self.close)
        self._tell(f"starting a vLLM server; its log is {server.log}")
        server.start()
        if self._is_closed:  # meanwhile, by another thread
            server.stop()
        try:
            server.wait_until_ready(self._start_timeout_s, self._tell)
        except BaseException as error:  # a second Ctrl-C too
            server.stop()
            self._server = None
            is_told_to = self._is_closed or self._abandonments != before
            self._has_failures = isinstance(error, StopRun) and not is_told_to
            self._tidy_up(server)
            raise
        _ask_directly()
        self._client = APIModelWrapper(
            self.name, model_path=self._address(server.port, key), **self._settings
        )
        self._client.warm_up()
        self._tell(f"the vLLM server answers on port {server.port}")

    def _tell(self, text: str) -> None:
        print(f"{self.name}: {text}", file=sys.stderr, flush=True)

    def postprocess(self, text: str, dataset: str) -> str:
        """The reply as the parse function will see it.

        Raises:
            UserFunctionError: the user's postprocess function raised or returned no text.
        """
        return self._builder.postprocess(text, dataset)

    # ---------------------------------------------------------------- stopping

    def abandon(self) -> None:
        """Nobody waits any longer for a server that is still starting."""
        self._abandonments += 1
        server = self._server
        if server is not None and self._client is None:
            server.give_up()

    def close(self) -> None:
        """Stops the server; its log stays where anything went wrong."""
        self._is_closed = True
        server, self._server = self._server, None
        if server is None:
            return
        atexit.unregister(self.close)
        server.stop()
        self._tidy_up(server)

    def _tidy_up(self, server: VllmServer) -> None:
        if not self._has_failures:
            with contextlib.suppress(OSError):
                server.log.unlink()


def _pixel_limits(kwargs: Mapping[str, Any], serve_args: Sequence[str]) -> list[str]:
    """The picture's limits for the server's processor, which would use the checkpoint's."""
    limits = {name: kwargs[name] for name in PIXEL_LIMITS if kwargs.get(name)}
    _, given = options(serve_args)
    if not limits or any(name.partition(".")[0] == _PROCESSOR_OPTION for name, _ in given):
        return []
    return [f"--{_PROCESSOR_OPTION}.{name}={value}" for name, value in limits.items()]


def _with_content(value: str) -> Any:
    """An argument's value; of a file that it names, a chat template say, the content too."""
    with contextlib.suppress(OSError, ValueError):
        file = Path(value)
        if file.is_file() and file.stat().st_size <= LARGEST_ARGUMENT_FILE:
            return [file.name, hashlib.sha256(file.read_bytes()).hexdigest()]
    return value


def _is_gone(server: VllmServer, error: CallError) -> bool:
    """Whether the server, and not this one request, is what failed."""
    if error.kind in ("connection", "refused_connection"):
        return server.has_ended(LAST_BREATH_S)
    if error.kind == "http" and (error.status_code or 0) >= 500:
        # The part that answers requests outlives the part that runs the model for a while.
        with contextlib.suppress(OSError, http.client.HTTPException):
            return server.health() >= 500
    return server.has_ended()


def _new_log(model: str) -> Path:
    safe = re.sub(r"[^\w.-]", "_", model)[:60]
    handle, path = tempfile.mkstemp(prefix=f"vllm_{safe}_", suffix=".log")
    os.close(handle)
    return Path(path)


def _ask_directly() -> None:
    """Keeps requests to this machine's own server away from a proxy of the environment."""
    for name in ("NO_PROXY", "no_proxy"):
        if name == "no_proxy" and name not in os.environ:
            continue  # where both are set, this one counts
        hosts = os.environ.get(name, "")
        if HOST not in hosts.split(",") and hosts.strip() != "*":
            os.environ[name] = f"{hosts},{HOST}" if hosts else HOST

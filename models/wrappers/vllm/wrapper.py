"""A checkpoint behind a vLLM server that this run starts and stops (`imp_type: "vllm"`).

The server is a child process; it is queried like any other server. It is started when the first
request is due: where all answers are stored, nothing is started.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from models.wrappers.api.addresses import Addresses, addresses_in
from models.wrappers.api.servers import ServerPool
from models.wrappers.api.wrapper import APIModelWrapper
from models.wrappers.known_versions import version_notes
from models.wrappers.local import checkpoint
from models.wrappers.vllm.arguments import deciding_options, serve_words, split_options
from models.wrappers.vllm.replicas import GpuShares, Replicas, gpus_of, share_gpus
from models.wrappers.vllm.server import HOST, VllmServer, interpreter_problems, server_versions
from utils.config.endpoint import Endpoint, parse_endpoint
from utils.contracts import (
    Abandoned,
    CallError,
    ClientElsewhere,
    Generation,
    OtherMachines,
    Prepared,
)
from utils.coordinates import PIXEL_LIMITS
from utils.errors import StopRun
from utils.functions.fingerprints import digest
from utils.geometry.images import expand_home

if TYPE_CHECKING:
    from utils.config.schema import Vllm

DEFAULT_START_TIMEOUT_S = 900.0
EXIT_DELAY_S = 3.0  # between the end of a connection and the end of its process
# What vLLM reads in generation_config.json, and what names another source for it.
SAMPLING = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "max_new_tokens")
SAMPLING_OPTIONS = {"generation-config", "override-generation-config"}


class VllmModelWrapper(APIModelWrapper):
    """Queries a checkpoint through a vLLM server of its own, which serves it as the model's name.

    `min_pixels` and `max_pixels` of `kwargs` reach the server, unless `serve_args` has
    `--mm-processor-kwargs`.

    Args:
        name: of the model in the config.
        entry: the model entry of the config.
        **settings: further arguments of `APIModelWrapper`.
    """

    def __init__(self, name: str, entry: Vllm, **settings: Any) -> None:
        unused = _address(name, 1, "unused")
        super().__init__(name, entry, address=unused, **settings)
        self._serve_args = serve_words(entry.serve_args)
        if entry.trust_remote_code:
            self._serve_args.append("--trust-remote-code")
        self._serve_args += _pixel_limits(entry.kwargs, self._serve_args)
        timeout_s = entry.kwargs.get("serve_timeout_s", DEFAULT_START_TIMEOUT_S)
        self._start_timeout_s = float(timeout_s)
        self._has_failures = False
        self._start_lock = threading.Lock()
        self._stopping = threading.Event()  # no server is started or waited for any more
        self._own: VllmServer | None = None  # one that answers
        self._start_error: StopRun | None = None
        self._replicas: Replicas | None = None
        self._gpu_shares = GpuShares([])
        self._machines: OtherMachines | None = None  # that start replicas for this run, too
        self._client: ClientElsewhere | None = None  # it is another machine's run that asks
        if entry.replicas is not None:
            self._gpu_shares = share_gpus(entry.replicas, self._serve_args, gpus_of(os.environ))
            self._replicas = self._new_replicas(self._gpu_shares.devices)
            self.servers = ServerPool(
                name,
                partial(self._addresses, self._replicas),
                self._new_server,
                envelope={"headers": {}, "params": {}},
                may_differ=False,
                may_come=partial(self._may_come, self._replicas),
            )

    def problems(self) -> list[str]:
        """Problems in the way of running; starts no server."""
        problems = checkpoint.checkpoint_problems(self.entry.model_path)
        if self._gpu_shares.problem:
            problems.append(self._gpu_shares.problem)
        return problems + interpreter_problems(os.environ)

    def notes_before(self) -> list[str]:
        """Name GPUs without a server, and what changes answers though no config names it."""
        path = self.entry.model_path
        kind = str(checkpoint.read_config(path).get("model_type", ""))
        return [
            *([self._gpu_shares.note] if self._gpu_shares.note else []),
            *version_notes(kind, path, server_versions(os.environ)),
            *self._settings_notes(),
        ]

    def _settings_notes(self) -> list[str]:
        if SAMPLING_OPTIONS & {name for name, _ in split_options(self._serve_args)[1]}:
            return []
        requested = {**self.entry.generate_cfg, **(self.entry.generate_cfg.get("extra_body") or {})}
        defaults = checkpoint.read_generation_config(self.entry.model_path)
        used = [name for name in SAMPLING if name in defaults and name not in requested]
        if not used:
            return []
        settings = ", ".join(f"{name} {defaults[name]}" for name in used)
        cure = 'generate_cfg takes precedence; "generation-config": "vllm" in serve_args ignores it'
        return [f"vLLM uses the checkpoint's settings: {settings} ({cure})"]

    def warm_up(self) -> None:
        """Start the server, or all replicas, and wait; StopRun has the end of a log."""
        if self._replicas is not None:
            super().warm_up()
        else:
            self._started_server()

    @cached_property
    def identity(self) -> str:
        """The hash of the checkpoint and of the server's arguments that can change an answer."""
        weights = self.entry.model_identity or checkpoint.checkpoint_identity(self.entry.model_path)
        arguments = [
            [name, [_with_content(value) for value in values]]
            for name, values in deciding_options(self._serve_args)
        ]
        return digest(["vllm", weights, arguments])

    def generate(self, prepared: Prepared) -> Generation:
        """Send the request once.

        Raises:
            StopRun: the server is gone.
            Abandoned: the run stopped before it was there.
            CallError: no usable answer.
        """
        if self._replicas is not None:
            return super().generate(prepared)
        server = self._started_server()
        try:
            return super().generate(prepared)
        except CallError as error:
            self._has_failures = True
            if _is_gone(server, error):
                reason = server.exit_message("while it was being queried")
                raise StopRun(
                    f'model "{self.name}": {reason}\n'
                    "Answers so far are kept; the same command continues from here.",
                    summary=reason.partition("\n")[0],
                ) from error
            raise

    def _started_server(self) -> VllmServer:
        """Return the server, started by the first thread that needs it; the others wait."""
        with self._start_lock:
            if self._own is None and not self._start_error and not self._stopping.is_set():
                try:
                    self._own = self._start_own()
                except StopRun as error:
                    text = f'model "{self.name}": {error}'
                    self._start_error = StopRun(text, summary=error.summary)
            if self._own is not None:
                return self._own
            if self._stopping.is_set() or self._start_error is None:
                raise Abandoned
            raise self._start_error

    def _new_replicas(self, devices: Sequence[str | None]) -> Replicas:
        return Replicas(
            devices,
            new_server=self._launched,
            endpoint_of=self._endpoint_of,
            timeout_s=self._start_timeout_s,
            show=self._show,
        )

    def _endpoint_of(self, server: VllmServer) -> Endpoint:
        """A server's address, as its client reaches it."""
        host = HOST if self._client is None else self._client.host
        return parse_endpoint(_address(self.name, server.port, server.key, host))

    def _addresses(self, replicas: Replicas) -> Addresses:
        """Those of this machine's servers that answer, and of other machines'.

        The first call starts them all, and waits for this machine's.

        Raises:
            StopRun: none could be started on this machine.
        """
        if self._machines is None:
            return replicas.addresses()
        folder = self._machines.call()
        like = parse_endpoint(_address(self.name, 1, self._machines.key))
        local = replicas.addresses()
        others = addresses_in(folder, like)
        return Addresses([*local.endpoints, *others.endpoints], others.problems)

    def _may_come(self, replicas: Replicas) -> bool:
        return self._machines is not None or replicas.may_come()

    def use_machines(self, machines: OtherMachines) -> None:
        """Query the replicas of other machines, too."""
        self._machines = machines

    def serve(self, client: ClientElsewhere) -> None:
        """Keep the replicas of this machine running for a run whose client is on another one.

        Those that cannot be started are named and left out, as where the client has some itself.

        Raises:
            StopRun: the client is gone.
        """
        assert self._replicas is not None
        self._client = client
        if self._gpu_shares.note:
            self._show(self._gpu_shares.note)
        self._replicas.start()
        try:
            while client.is_waiting():
                client.tell([endpoint.base_url for endpoint in self._replicas.answering()])
        finally:
            client.tell([])  # before they stop

    def _launched(self, devices: str | None = None) -> VllmServer:
        """A server that has been started, and does not answer yet."""
        path = self.entry.model_path
        model = path if checkpoint.is_hub_id(path) else str(expand_home(path).absolute())
        atexit.register(self.close)
        shared_key = self._client.key if self._client is not None else ""
        return VllmServer(model, self.name, self._serve_args, devices, shared_key=shared_key)

    def _start_own(self) -> VllmServer:
        server = self._launched()
        try:
            self._show(f"starting a vLLM server; its log is {server.log}")
            server.wait_until_ready(self._start_timeout_s, self._stopping, self._show)
            self.move_to(_address(self.name, server.port, server.key))
            super().warm_up()
        except BaseException as error:
            server.stop(keep_log=isinstance(error, StopRun) and not self._stopping.is_set())
            raise
        self._show(f"the vLLM server answers on port {server.port}")
        return server

    def _show(self, text: str) -> None:
        print(f"{self.name}: {text}", file=sys.stderr, flush=True)

    def abandon(self) -> None:
        """Wait no longer for a server that is still starting."""
        self._stopping.set()
        if self._replicas is not None:
            self._replicas.abandon()

    def close(self) -> None:
        """Stop the servers; a log stays where anything went wrong."""
        self._stopping.set()
        super().close()
        if self._replicas is not None:
            self._replicas.close()
        with self._start_lock:
            server = self._own
            self._own = None
        atexit.unregister(self.close)
        if server is not None:
            server.stop(keep_log=self._has_failures)


def _address(name: str, port: int, key: str, host: str = HOST) -> str:
    return f"http://{host}:{port}/v1?api_key={key}&model={quote(name, safe='')}"


def _pixel_limits(kwargs: Mapping[str, Any], serve_args: Sequence[str]) -> list[str]:
    """Return the image's limits for the server's processor, which would use the checkpoint's."""
    option = "mm-processor-kwargs"
    if any(name.partition(".")[0] == option for name, _ in split_options(serve_args)[1]):
        return []
    return [f"--{option}.{name}={kwargs[name]}" for name in PIXEL_LIMITS if kwargs.get(name)]


def _with_content(value: str) -> str:
    """Return an argument's value; where it names a file, a chat template say, its hash."""
    try:
        return hashlib.sha256(Path(value).read_bytes()).hexdigest()
    except (OSError, ValueError):
        return value


def _is_gone(server: VllmServer, error: CallError) -> bool:
    """Whether the server failed, and not this one request."""
    if error.kind == "http" and (error.status_code or 0) >= 500:
        # The part that answers requests outlives the part that runs the model for a while.
        return not server.is_healthy()
    return server.has_ended(EXIT_DELAY_S if "connection" in error.kind else 0.0)

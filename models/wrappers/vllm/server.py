"""A vLLM server as a child of this run: command line, environment, health, log, stopping."""

from __future__ import annotations

import contextlib
import http.client
import importlib.util
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from models.wrappers.vllm import keeper as vllm_keeper
from utils.config.environment import at_home
from utils.config.secret_names import is_secret_name
from utils.errors import StopRun

HOST = "127.0.0.1"
API = "vllm.entrypoints.openai.api_server"
SECONDS_BETWEEN_LINES = 30.0
TAIL_LINES = 30
LONGEST_TAIL_LINE = 300
STOP_S = vllm_keeper.GRACE_S + 3.0  # for SIGTERM, SIGKILL and the keeper's own end

INSTALL = (
    "python3.11 -m venv .venv-vllm; .venv-vllm/bin/pip install -r requirements/vllm.txt; then set "
    "VLLM_PYTHON=.venv-vllm/bin/python"
)
# Below what the kernel gives to outgoing connections: the port must stay free until vLLM, which
# takes some twenty seconds to load, listens on it.
_PORTS = range(20000, 32000)
_HUB_TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
_URL_WITH_PASSWORD = re.compile(r"://[^/@\s]+:[^/@\s]+@")
# torchrun tells its ranks about each other; a server that read it would wait for the others.
_OF_A_RANK = re.compile(
    r"(LOCAL_|GROUP_|ROLE_)?(RANK|WORLD_SIZE)|ROLE_NAME|MASTER_(ADDR|PORT)|TORCHELASTIC_.*"
)


# -- the interpreter -------------------------------------------------------------------------------


def find_interpreter(environ: Mapping[str, str]) -> str:
    """The Python that has vLLM: `VLLM_PYTHON`, else this one."""
    given = environ.get("VLLM_PYTHON", "").strip()
    return str(at_home(given)) if given else sys.executable


def interpreter_problems(environ: Mapping[str, str]) -> list[str]:
    """Why no vLLM can be started, one line each."""
    python = find_interpreter(environ)
    if not environ.get("VLLM_PYTHON", "").strip():
        if importlib.util.find_spec("vllm") is None:
            return [f"vLLM is not installed beside this program; it wants a place of its own: "
                    f"{INSTALL}"]  # fmt: skip
        return []
    if shutil.which(python) is None:
        return [f"VLLM_PYTHON {python}: no such program; expected the Python of an environment "
                f"with vLLM: {INSTALL}"]  # fmt: skip
    look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('vllm') is None)"
    try:
        found = subprocess.run(
            [python, "-c", look], env=_own_place(environ), timeout=60,
            stdin=subprocess.DEVNULL, capture_output=True, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        return [f"VLLM_PYTHON {python} cannot be run: {error}"]
    if found.returncode != 0:
        return [f"VLLM_PYTHON {python}: vLLM is not installed there: {INSTALL}"]
    return []


def _own_place(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without what would lead vLLM's Python to modules that are not its own.

    The current folder counts as such: a run is often started where `models/` and `utils/` lie.
    """
    foreign = ("PYTHONPATH", "PYTHONHOME") if environ.get("VLLM_PYTHON", "").strip() else ()
    kept = {name: value for name, value in environ.items() if name not in foreign}
    return {**kept, "PYTHONSAFEPATH": "1"}


def server_environment(environ: Mapping[str, str], *, key: str, needs_hub: bool) -> dict[str, str]:
    """What the server gets of this run's environment: no secret that it has no use for.

    Args:
        key: the only one that may ask it; not on the command line, where `ps` would show it.
        needs_hub: the checkpoint is loaded from the Hugging Face hub, perhaps with a token and
            through a proxy.
    """
    kept = {}
    for name, value in _own_place(environ).items():
        is_secret = is_secret_name(name) or bool(_URL_WITH_PASSWORD.search(value))
        is_for_hub = name in _HUB_TOKENS or "proxy" in name.lower()
        if is_secret and not (needs_hub and is_for_hub):
            continue
        if name != "VLLM_PYTHON" and not _OF_A_RANK.fullmatch(name):
            kept[name] = value
    return {"VLLM_NO_USAGE_STATS": "1", **kept, "VLLM_API_KEY": key}


def free_port() -> int:
    """A port on which nobody listens."""
    for port in random.sample(_PORTS, len(_PORTS)):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((HOST, port))
            return port
    raise StopRun(f"no free port on {HOST} between {_PORTS.start} and {_PORTS.stop}")


# -- the process -----------------------------------------------------------------------------------


class VllmServer:
    """One server from its start to its end.

    Args:
        model: checkpoint folder or hub name.
        served_name: what the API calls the model.
        serve_args: words for vLLM's command line, checked by `utils.config.serve_args`.
        environ: of the server, `VLLM_API_KEY` included.
        log: file for what it prints; created, readable for its owner alone.
    """

    def __init__(
        self,
        *,
        python: str,
        model: str,
        served_name: str,
        serve_args: Sequence[str],
        environ: Mapping[str, str],
        log: Path,
    ) -> None:
        self.port, self.log = free_port(), log
        self._served_name, self._environ = served_name, dict(environ)
        # Ours come last and win: vLLM's parser takes "--hos" for "--host".
        self._command = [
            python, "-m", API, *serve_args, f"--model={model}",
            f"--served-model-name={served_name}", f"--host={HOST}", f"--port={self.port}",
        ]  # fmt: skip
        self._keeper: subprocess.Popen[bytes] | None = None
        self._server_pid: int | None = None
        self._exit_code: int | None = None
        self._start_error: OSError | None = None
        self._started = threading.Event()
        self._ended, self._cleared = threading.Event(), threading.Event()
        self._given_up = threading.Event()

    def start(self) -> None:
        """Starts the process and returns at once.

        Raises:
            StopRun: not even that is possible.
        """
        # A thread that lives as long as the server: the kernel takes the end of the thread that
        # started a process for the end of its parent.
        threading.Thread(target=self._keep, daemon=True, name="vllm-keeper").start()
        self._started.wait()
        if self._start_error is not None:
            raise StopRun(f"the vLLM server cannot be started: {self._start_error}")

    def _keep(self) -> None:
        try:
            keeper = [sys.executable, "-I", "-S", vllm_keeper.__file__, str(self.log)]
            with self.log.open("ab") as errors:
                self._keeper = subprocess.Popen(
                    [*keeper, *self._command],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                    env=self._environ, start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            self._start_error = error
            self._started.set()
            return
        self._started.set()
        assert self._keeper.stdout is not None
        with contextlib.suppress(ValueError):  # an empty line: it could not be started
            self._server_pid = int(self._keeper.stdout.readline())
        with contextlib.suppress(ValueError):  # an empty line: it was stopped
            self._exit_code = int(self._keeper.stdout.readline())
            self._ended.set()
        keeper_code = self._keeper.wait()
        if keeper_code < 0:
            self._kill_server()  # somebody killed the keeper
        if self._exit_code is None:
            self._exit_code = keeper_code
        self._ended.set()
        self._cleared.set()

    def _kill_server(self) -> None:
        if self._server_pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._server_pid, signal.SIGKILL)

    def wait_until_ready(self, timeout_s: float, tell: Callable[[str], None]) -> None:
        """Returns once the server answers.

        Args:
            tell: is given a line now and then.

        Raises:
            StopRun: it has ended, was stopped from another thread, or takes too long.
        """
        began_s = time.monotonic()
        next_line_s = SECONDS_BETWEEN_LINES
        while not self._answers():
            waited_s = time.monotonic() - began_s
            if self._ended.is_set():
                raise StopRun(self.obituary("before it was ready"))
            if self._given_up.is_set():
                raise StopRun("the run was stopped while the vLLM server was starting")
            if waited_s > timeout_s:
                raise StopRun(
                    f"the vLLM server was not ready after {timeout_s:.0f} s "
                    f"(kwargs.serve_timeout_s). {self._told_last()}"
                )
            if waited_s > next_line_s:
                next_line_s += SECONDS_BETWEEN_LINES
                last = (self._last_lines(1) or ["nothing yet"])[0]
                tell(f"the vLLM server is starting ({waited_s:.0f} s): {last}")
            self._ended.wait(0.2)

    def _answers(self) -> bool:
        """Whether this very server takes requests: it knows the key and the model's name."""
        try:
            if self.health() != 200:
                return False
            status, body = self._get("/v1/models")
            served = json.loads(body)["data"] if status == 200 else []
            return any(model["id"] == self._served_name for model in served)
        except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError):
            return False

    def health(self) -> int:
        """HTTP status of its health check.

        Raises:
            OSError, http.client.HTTPException: it does not answer.
        """
        return self._get("/health")[0]

    def _get(self, path: str) -> tuple[int, bytes]:
        # Not through a client that obeys proxy variables: the server is on this machine.
        connection = http.client.HTTPConnection(HOST, self.port, timeout=5)
        try:
            key = self._environ["VLLM_API_KEY"]
            connection.request("GET", path, headers={"Authorization": f"Bearer {key}"})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def has_ended(self, within_s: float = 0.0) -> bool:
        """Whether the process is gone, or goes within so many seconds."""
        return self._ended.wait(within_s)

    def obituary(self, when: str) -> str:
        """What has become of it, with the end of its log."""
        if not self._ended.is_set():
            return f"the vLLM server no longer works. {self._told_last()}"
        return f"the vLLM server ended {when} (exit code {self._exit_code}). {self._told_last()}"

    def _told_last(self) -> str:
        tail = "".join(f"\n  {line}" for line in self._last_lines(TAIL_LINES))
        return f"The end of its log, {self.log}:{tail or chr(10) + '  (empty)'}"

    def _last_lines(self, count: int) -> list[str]:
        try:
            with self.log.open("rb") as log:
                log.seek(max(0, log.seek(0, os.SEEK_END) - 256 * 1024))
                text = log.read().decode("utf-8", "replace")
        except OSError:
            return []
        text = re.sub(r"\x1b\[[0-9;]*m", "", text)  # colours
        lines = [line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")]
        return [line[:LONGEST_TAIL_LINE] for line in lines if line.strip()][-count:]

    def give_up(self) -> None:
        """Whoever waits for the server to come up waits no longer."""
        self._given_up.set()

    def stop(self) -> None:
        """Ends the server and everything that it has started; takes a few seconds at most."""
        self.give_up()
        keeper = self._keeper
        if keeper is None or keeper.stdin is None:
            return
        with contextlib.suppress(OSError):
            keeper.stdin.close()
        if not self._cleared.wait(STOP_S):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(keeper.pid, signal.SIGKILL)
            self._kill_server()

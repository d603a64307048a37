"""Stands in for the Python of an environment with vLLM: takes its command line, serves its API.

`install` writes it as a program for `VLLM_PYTHON`. What it does is chosen by `FAKE_VLLM` in its
environment, one word or several; it notes each start in the file `FAKE_VLLM_NOTES`:

    (none)      serves
    absent      has no vLLM
    old         says that it is vLLM 0.10.0
    fail        prints many lines, its key too, and exits with 3
    hang        never listens
    die:N       dies without a word after N answers, when two requests more have come
    first_dies:N  the first of all servers does so when one request more has come
    broken:N    then its engine is gone: 500, and 503 from its health check
    hold        never answers a request
    together:N  answers none before the run has looked at N servers
    family      starts a grandchild that leaves the process group and does not listen to SIGTERM
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PATIENCE_S = 120
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


def install(folder: Path) -> Path:
    """Writes the program; returns its path."""
    program = folder / "fake_vllm_python"
    code = f"import runpy\nrunpy.run_path({__file__!r}, run_name='__main__')\n"
    program.write_text(f"#!{sys.executable}\n{code}")
    program.chmod(0o755)
    return program


def notes(folder: Path) -> list[dict[str, Any]]:
    """The notes of the servers that were started with this folder: `pids`, `argv`, `environ`."""
    file = folder / "vllm_notes.jsonl"
    lines = file.read_text().splitlines(keepends=True) if file.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]  # or it is being written


def _note(**fields: Any) -> None:
    with Path(os.environ["FAKE_VLLM_NOTES"]).open("a") as file:
        file.write(json.dumps(fields) + "\n")


class _Server:
    """The API with as much of its behaviour as the tests need."""

    def __init__(self, arguments: list[str], behaviour: dict[str, int | None]) -> None:
        options = dict(word[2:].split("=", 1) for word in arguments if "=" in word)
        self.name, self.behaviour = options["served-model-name"], behaviour
        self.answered, self.lock, outer = 0, threading.Lock(), self
        # Of a run with two requests in flight, whose answers so far are in its log then.
        self.both = threading.Barrier(2)
        if "first_dies" in behaviour:
            try:
                Path(f"{os.environ['FAKE_VLLM_NOTES']}.first").open("x").close()
            except FileExistsError:  # another one is the first
                del behaviour["first_dies"]

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                """The tests read the log."""

            def do_GET(self) -> None:
                if self.path == "/health":
                    return self.reply(503 if outer.is_broken() else 200, {})
                return self.reply_to_key(lambda: (200, {"data": [{"id": outer.name}]}))

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                self.reply_to_key(lambda: outer.answer(body))

            def reply_to_key(self, answer: Callable[[], tuple[int, Any]]) -> None:
                key = f"Bearer {os.environ['VLLM_API_KEY']}"
                allowed = self.headers.get("authorization") == key
                self.reply(*(answer() if allowed else (401, {"error": "Unauthorized"})))

            def reply(self, status: int, content: Any) -> None:
                data = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self.http = ThreadingHTTPServer((options["host"], int(options["port"])), Handler)

    def is_broken(self) -> bool:
        limit = self.behaviour.get("broken")
        return limit is not None and self.answered >= limit

    def wait_for_others(self, count: int) -> None:
        notes_file = Path(os.environ["FAKE_VLLM_NOTES"])
        ends_s = time.monotonic() + PATIENCE_S
        while len([*notes_file.parent.glob(f"{notes_file.name}.looked-at-*")]) < count:
            assert time.monotonic() < ends_s
            time.sleep(0.02)

    def answer(self, body: dict[str, Any]) -> tuple[int, Any]:
        if body.get("max_tokens") == 1:  # a look at the server, no sample
            Path(f"{os.environ['FAKE_VLLM_NOTES']}.looked-at-{os.getpid()}").touch()
            return 200, {"choices": [], "usage": {"prompt_tokens": 10}}
        self.wait_for_others(self.behaviour.get("together") or 0)
        if "hold" in self.behaviour:
            print("holding a request", flush=True)
            _note(held=True)
            threading.Event().wait()
        with self.lock:
            limits = [self.behaviour.get(how) for how in ("die", "first_dies", "broken")]
            limit = next((number for number in limits if number is not None), None)
            is_over = limit is not None and self.answered >= limit
            self.answered += not is_over
        if is_over:
            if "first_dies" not in self.behaviour:
                self.both.wait(PATIENCE_S)
            if "broken" in self.behaviour:
                return 500, {"error": {"message": "EngineCore encountered an issue"}}
            print("CUDA error: an illegal memory access was encountered", flush=True)
            os._exit(9)
        message = {"role": "assistant", "content": f"B, says {body['model']}"}
        return 200, {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


def main(arguments: list[str]) -> int:
    words = os.environ.get("FAKE_VLLM", "").split()
    pairs = (word.partition(":")[::2] for word in words)
    behaviour = {name: int(number) if number else None for name, number in pairs}
    if arguments[0] == "-c":
        if "old" in behaviour and "distributions" in arguments[1]:
            print(json.dumps({"vllm": "0.10.0"}))
        return 1 if "absent" in behaviour else 0
    assert arguments[:2] == ["-m", "vllm.entrypoints.openai.api_server"], arguments
    pids = [os.getpid(), os.getppid()]
    if "family" in behaviour:
        deaf = [sys.executable, "-c", DEAF]
        pids += [subprocess.Popen(deaf).pid, subprocess.Popen(deaf, start_new_session=True).pid]
    _note(pids=pids, argv=arguments, environ=dict(os.environ))
    print("\x1b[32mINFO\x1b[0m loading", flush=True)
    if "fail" in behaviour:
        print(*(f"line {number} of its log" for number in range(40)), sep="\n")
        print(f"my key is {os.environ['VLLM_API_KEY']}")
        print("ValueError: this architecture is not known", flush=True)
        return 3
    if "hang" in behaviour:
        time.sleep(600)
    _Server(arguments, behaviour).http.serve_forever(0.02)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

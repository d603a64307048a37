"""Yardsticks for the engine, each in a process of its own.

python -m tools.yardsticks plain|text|bare URL JOBS.json THREADS

plain   a simple script: the openai client in threads; read the file, base64, `create`
text    the same without pictures: the cost of the client alone
bare    prebuilt bodies over keep-alive connections: the cost of moving the bytes

Prints `{"wall_s", "cpu_s"}` of the loop alone, without imports.
"""

from __future__ import annotations

import base64
import concurrent.futures
import http.client
import json
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

Jobs = list[dict[str, str]]
SYSTEM = "You are a GUI agent."


def plain(url: str, _jobs: Jobs) -> Callable[[dict[str, str]], None]:
    """The plain loop's work on one sample."""
    import openai

    client = openai.OpenAI(base_url=url, api_key="none")

    def ask(job: dict[str, str]) -> None:
        data = base64.b64encode(Path(job["image"]).read_bytes()).decode()
        picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
        _create(client, [picture, {"type": "text", "text": job["text"]}])

    return ask


def text(url: str, _jobs: Jobs) -> Callable[[dict[str, str]], None]:
    """The same, the picture left out."""
    import openai

    client = openai.OpenAI(base_url=url, api_key="none")
    return lambda job: _create(client, [{"type": "text", "text": job["text"]}])


def _create(client: Any, content: list[dict[str, Any]]) -> None:
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": content}]
    reply = client.chat.completions.create(
        model="mock", messages=messages, max_tokens=16, temperature=0
    )
    assert reply.choices[0].message.content


def bare(url: str, jobs: Jobs) -> Callable[[dict[str, str]], None]:
    """Bodies of the pictures' sizes, made beforehand and shared, over one connection a thread."""
    parts = urlsplit(url)
    local = threading.local()
    bodies: dict[int, bytes] = {}
    for job in jobs:
        size = Path(job["image"]).stat().st_size * 4 // 3
        bodies.setdefault(size, b"x" * size)

    def ask(job: dict[str, str]) -> None:
        if not hasattr(local, "connection"):
            local.connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
        body = bodies[Path(job["image"]).stat().st_size * 4 // 3]
        local.connection.request("POST", "/v1/chat/completions", body=body)
        json.loads(local.connection.getresponse().read())

    return ask


def main() -> None:
    """Runs one yardstick."""
    kind, url, jobs_file, threads = sys.argv[1:5]
    jobs = json.loads(Path(jobs_file).read_text())
    ask = {"plain": plain, "text": text, "bare": bare}[kind](url, jobs)
    wall_s, cpu_s = time.monotonic(), time.process_time()
    with concurrent.futures.ThreadPoolExecutor(int(threads)) as pool:
        for _ in pool.map(ask, jobs):
            pass
    print(json.dumps({"wall_s": time.monotonic() - wall_s, "cpu_s": time.process_time() - cpu_s}))


if __name__ == "__main__":
    main()

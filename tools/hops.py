"""Measure the cost of a run of one L2 sample, and of one more: functions, modules and calls.

python -m tools.hops [--samples 42] [--list]

Runs one sample, N and N + 1 samples against the mock server, in this process, and counts every call
of the program's own functions. A sample passes through the functions that the run of N + 1 samples
calls more often than the run of N.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import evaluate
from tools.api_engine import DATASET, PROJECT

ROOMS = tuple(str(PROJECT / name) for name in ("evaluate.py", "benchmarks", "models", "utils"))
INLINE = ("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")  # parts of a function
Function = tuple[str, str]
"""Module and qualified name."""


@contextlib.contextmanager
def counted() -> Iterator[Counter[Function]]:
    """Counts the calls of the program's functions in all threads that are started within."""
    calls: Counter[Function] = Counter()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        is_function = code.co_flags & inspect.CO_OPTIMIZED and code.co_name not in INLINE
        if event == "call" and is_function and code.co_filename.startswith(ROOMS):
            module = Path(code.co_filename).relative_to(PROJECT)
            calls[str(module), code.co_qualname] += 1

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def calls_of(samples: int, url: str, folder: Path) -> Counter[Function]:
    """The calls of one run over the first L2 samples of the sample data, one request at a time."""
    config = folder / "config.json"
    config.write_text(
        f'{{"model": {{"m": {{"model_path": "{url}?api_key=none&model=mock"}}}},'
        f' "data": {{"{DATASET}": {{"mode": "all"}}}}}}'
    )
    os.environ["LMUData"] = str(PROJECT / "sample_data")  # noqa: SIM112
    arguments = ["--config", str(config), "--work-dir", tempfile.mkdtemp(dir=folder)]
    arguments += ["--limit", str(samples), "--api-nproc", "1", "--no-report"]
    quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with quiet[0], quiet[1], counted() as calls:
        code = evaluate.main(arguments)
    assert code == 0, f"the run ended with {code}"
    return calls


def main() -> None:
    """Prints the figures, and with --list the functions of one more sample."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=42)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    command = [sys.executable, "-m", "tools.mock_server"]
    with (
        tempfile.TemporaryDirectory() as name,
        subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as server,
    ):
        assert server.stdout is not None
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        try:
            whole = calls_of(1, url, Path(name))  # with what is imported and made once
            before = calls_of(options.samples, url, Path(name))
            after = calls_of(options.samples + 1, url, Path(name))
        finally:
            server.kill()
    more = after - before
    for what, calls in (("a run of one sample", whole), ("one more sample", more)):
        modules = {module for module, _ in calls}
        print(f"{what}: {len(calls)} functions in {len(modules)} modules, {calls.total()} calls")
    if options.list:
        for (module, function), count in sorted(more.items()):
            print(f"{count:5} {module} {function}")


if __name__ == "__main__":
    main()

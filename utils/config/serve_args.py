"""`serve_args` of a model entry: what is passed on to the vLLM server that a run starts.

A list is taken as it stands (`["--max-num-seqs", "8"]`); an object is written out:
`{"max-num-seqs": 8, "enforce-eager": true, "limit-mm-per-prompt": {"image": 1}}`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Option = tuple[str, tuple[str, ...]]
"""Name without dashes in front, and its values as texts."""

_SET_HERE = "the program sets this itself; leave it out"
_NOT_YOURS = {
    "model": "the checkpoint is model_path; leave it out",
    "model-tag": "the checkpoint is model_path; leave it out",
    "served-model-name": _SET_HERE,
    "host": "the server listens on 127.0.0.1 alone; leave it out",
    "port": "the server gets a free port; leave it out",
    "uds": "the server listens on 127.0.0.1 alone; leave it out",
    "api-key": "the server gets a random key; leave it out",
    "root-path": _SET_HERE,
    "ssl-keyfile": "the server is asked over plain HTTP on this machine; leave it out",
    "ssl-certfile": "the server is asked over plain HTTP on this machine; leave it out",
    "ssl-ca-certs": "the server is asked over plain HTTP on this machine; leave it out",
    "ssl-cert-reqs": "the server is asked over plain HTTP on this machine; leave it out",
    "headless": "a server without its API cannot be asked; leave it out",
    "config": "arguments in a file of vLLM's own cannot be checked; write them into serve_args",
}

# Where and how fast, not what is answered. Everything that is not listed here counts as part of
# the answer: a wrong guess in that direction costs time, in the other one a wrong score.
_WITHOUT_EFFECT = {
    "tensor-parallel-size", "tp", "pipeline-parallel-size", "pp", "data-parallel-size", "dp",
    "data-parallel-size-local", "data-parallel-backend", "distributed-executor-backend",
    "enable-expert-parallel", "mm-encoder-tp-mode", "max-parallel-loading-workers",
    "gpu-memory-utilization", "kv-cache-memory-bytes", "cpu-offload-gb", "swap-space",
    "block-size", "num-gpu-blocks-override", "mm-processor-cache-gb", "mm-processor-cache-type",
    "max-num-seqs", "max-num-batched-tokens", "max-num-partial-prefills", "scheduling-policy",
    "max-long-partial-prefills", "long-prefill-token-threshold", "async-scheduling",
    "enable-chunked-prefill", "enable-prefix-caching", "enforce-eager", "download-dir",
    "api-server-count", "disable-frontend-multiprocessing", "disable-log-stats",
    "enable-log-requests", "disable-log-requests", "max-log-len", "uvicorn-log-level",
    "disable-uvicorn-access-log", "enable-server-load-tracking",
}  # fmt: skip

_NUMBER = re.compile(r"-[\d.]+(e[+-]?\d+)?")


def serve_words(value: Any) -> list[str]:
    """The arguments as words of a command line, from an object or a list.

    Raises:
        ValueError: it is neither, or an item fits nowhere; the text says so.
    """
    if isinstance(value, Mapping):
        return [word for name, item in value.items() for word in _written_out(name, item)]
    if isinstance(value, list):
        return [_word(item) for item in value]
    raise ValueError(
        'must be an object {"max-num-seqs": 8, ...} or a list ["--max-num-seqs", "8", ...]'
    )


def _written_out(name: str, value: Any) -> list[str]:
    option = f"--{canonical_name(name)}"
    if value is None:
        return []
    if isinstance(value, bool):
        return [option if value else f"--no-{option[2:]}"]
    words = [_word(item) for item in value] if isinstance(value, list) else [_word(value)]
    # A value that looks like an option would be taken for one.
    return [f"{option}={words[0]}"] if len(words) == 1 else [option, *words]


def _word(item: Any) -> str:
    if isinstance(item, str):
        return item
    if isinstance(item, (int, float)) and not isinstance(item, bool):
        return str(item)
    if isinstance(item, (dict, list)):
        return json.dumps(item)
    raise ValueError(f"holds {json.dumps(item)} where a text or a number is expected")


def canonical_name(name: str) -> str:
    """An option's name as vLLM reads it: no dashes in front, underscores up to a dot as dashes."""
    head, dot, tail = name.lstrip("-").partition(".")
    return head.replace("_", "-") + dot + tail


def options(words: Sequence[str]) -> tuple[list[str], list[Option]]:
    """What stands before the first option, and the options with their values."""
    stray: list[str] = []
    found: list[tuple[str, list[str]]] = []
    for word in words:
        if word.startswith("-") and not _NUMBER.fullmatch(word):
            name, equals, value = word.partition("=")
            found.append((canonical_name(name), [value] if equals else []))
        elif found:
            found[-1][1].append(word)
        else:
            stray.append(word)
    return stray, [(name, tuple(values)) for name, values in found]


def problems(words: Sequence[str]) -> Iterator[str]:
    """What cannot be passed on, one line each."""
    stray, given = options(words)
    if stray:
        yield f'"{stray[0]}" is no option; the list must begin with one, like "--max-num-seqs"'
    for name, _ in given:
        meant = _reserved(name)
        if meant is not None:
            yield f'"--{name}": {_NOT_YOURS[meant]}'


def _reserved(name: str) -> str | None:
    """The argument of ours that a name means; vLLM's parser takes the beginning of one for it."""
    if name in _NOT_YOURS:
        return name
    if len(name) < 2:  # -O, -q
        return None
    return next((ours for ours in _NOT_YOURS if ours.startswith(name)), None)


def deciding_options(words: Sequence[str]) -> list[Option]:
    """Those that can change an answer, sorted; options of speed and place left out."""
    _, given = options(words)
    return sorted(
        (name, values) for name, values in given if name.removeprefix("no-") not in _WITHOUT_EFFECT
    )

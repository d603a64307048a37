"""`serve_args` of a model entry: what is passed on to the vLLM server that a run starts.

A list is taken as it stands (`["--max-num-seqs", "8"]`); an object is written out:
`{"max-num-seqs": 8, "enforce-eager": true, "limit-mm-per-prompt": {"image": 1}}`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Option = tuple[str, tuple[str, ...]]  # name without dashes in front, and its values as texts

_NOT_YOURS = {
    **dict.fromkeys(("model", "model-tag"), "the checkpoint is model_path; leave it out"),
    **dict.fromkeys(
        (
            "host",
            "port",
            "uds",
            "api-key",
            "root-path",
            "served-model-name",
            "headless",
            "ssl-keyfile",
            "ssl-certfile",
            "ssl-ca-certs",
            "ssl-cert-reqs",
        ),
        "the program sets address, port, name and key of its server itself; leave it out",
    ),
    "config": "arguments in a config file of vLLM cannot be checked; write them into serve_args",
}

# Where and how fast, not what is answered. Everything that is not listed here counts as part of
# the answer: a wrong guess in that direction costs time, in the other one a wrong score.
_WITHOUT_EFFECT = {
    "tensor-parallel-size",
    "tp",
    "pipeline-parallel-size",
    "pp",
    "data-parallel-size",
    "dp",
    "distributed-executor-backend",
    "enable-expert-parallel",
    "gpu-memory-utilization",
    "cpu-offload-gb",
    "swap-space",
    "block-size",
    "max-num-seqs",
    "max-num-batched-tokens",
    "scheduling-policy",
    "async-scheduling",
    "enable-chunked-prefill",
    "enable-prefix-caching",
    "enforce-eager",
    "download-dir",
    "api-server-count",
    "disable-log-stats",
    "max-log-len",
    "enable-log-requests",
    "disable-log-requests",
    "uvicorn-log-level",
}

_NUMBER = re.compile(r"-[\d.]+(e[+-]?\d+)?")


def serve_words(value: Any) -> list[str]:
    """The arguments as words of a command line."""
    if not isinstance(value, Mapping):
        return [_word(item) for item in value]
    words: list[str] = []
    for name, item in value.items():
        option = f"--{canonical_name(name)}"
        if isinstance(item, bool):
            words.append(option if item else f"--no-{option[2:]}")
        elif item is not None:
            values = [_word(each) for each in (item if isinstance(item, list) else [item])]
            # A value that looks like an option would be taken for one.
            words += [f"{option}={values[0]}"] if len(values) == 1 else [option, *values]
    return words


def _word(item: Any) -> str:
    return item if isinstance(item, str) else json.dumps(item)


def canonical_name(name: str) -> str:
    """An option's name as vLLM reads it: no dashes in front, up to a dot dashes for underscores."""
    head, dot, tail = name.lstrip("-").partition(".")
    return head.replace("_", "-") + dot + tail


def options(words: Sequence[str]) -> tuple[list[str], list[Option]]:
    """What stands before the first option, and the options with their values."""
    stray: list[str] = []
    found: list[Option] = []
    for word in words:
        if word.startswith("-") and not _NUMBER.fullmatch(word):
            name, equals, value = word.partition("=")
            found.append((canonical_name(name), (value,) if equals else ()))
        elif found:
            found[-1] = found[-1][0], (*found[-1][1], word)
        else:
            stray.append(word)
    return stray, found


def serve_problems(value: Any) -> Iterator[str]:
    """What cannot be passed on, one line each."""
    stray, given = options(serve_words(value))
    if stray:
        yield f'"{stray[0]}" is not an option; the list must begin with one, like "--max-num-seqs"'
    for name, _ in given:
        # vLLM's parser takes the beginning of a name for it; -O and -q are names of their own.
        meant = [ours for ours in _NOT_YOURS if ours.startswith(name) and len(name) > 1]
        if meant:
            yield f'"--{name}": {_NOT_YOURS[name if name in meant else meant[0]]}'


def deciding_options(words: Sequence[str]) -> list[Option]:
    """Those that can change an answer, sorted; options of speed and place left out."""
    given = options(words)[1]
    return sorted(each for each in given if each[0].removeprefix("no-") not in _WITHOUT_EFFECT)

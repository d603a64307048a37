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

_RESERVED = {
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
        "the program itself sets the server's address, port, name and key; leave it out",
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


def serve_words(serve_args: Any) -> list[str]:
    """Return the arguments as words of a command line."""
    if not isinstance(serve_args, Mapping):
        return [_word(item) for item in serve_args]
    words: list[str] = []
    for name, value in serve_args.items():
        option = canonical_name(name)
        if value is True:
            words.append(f"--{option}")
        elif value is False:
            words.append(f"--no-{option}")
        elif isinstance(value, list) and len(value) != 1:
            words += [f"--{option}", *map(_word, value)]
        elif value is not None:
            item = value[0] if isinstance(value, list) else value
            words.append(f"--{option}={_word(item)}")  # apart, "-1" would be taken for an option
    return words


def _word(item: Any) -> str:
    return item if isinstance(item, str) else json.dumps(item)


def canonical_name(name: str) -> str:
    """Return an option's name as vLLM reads it: no dashes in front, and `_` before a dot is `-`."""
    head, dot, tail = name.lstrip("-").partition(".")
    return head.replace("_", "-") + dot + tail


def split_options(words: Sequence[str]) -> tuple[list[str], list[Option]]:
    """Return the words before the first option, and the options with their values."""
    stray_words: list[str] = []
    options: list[Option] = []
    for word in words:
        if word.startswith("-") and not _NUMBER.fullmatch(word):
            name, equals, value = word.partition("=")
            options.append((canonical_name(name), (value,) if equals else ()))
        elif options:
            name, values = options[-1]
            options[-1] = name, (*values, word)
        else:
            stray_words.append(word)
    return stray_words, options


def serve_problems(serve_args: Any) -> Iterator[str]:
    """Yield what cannot be passed on, one line each."""
    stray_words, options = split_options(serve_words(serve_args))
    if stray_words:
        yield (
            f'"{stray_words[0]}" is not an option; the list must begin with one, like '
            '"--max-num-seqs"'
        )
    for name, _ in options:
        # vLLM's parser takes the beginning of a name for it; -O and -q are names of their own.
        matches = [reserved for reserved in _RESERVED if reserved.startswith(name)]
        if matches and len(name) > 1:
            reserved = name if name in matches else matches[0]
            yield f'"--{name}": {_RESERVED[reserved]}'


def deciding_options(words: Sequence[str]) -> list[Option]:
    """Return the options that can change an answer, sorted; those of speed and place left out."""
    _, options = split_options(words)
    return sorted(
        option for option in options if option[0].removeprefix("no-") not in _WITHOUT_EFFECT
    )

"""Which prompt a sample gets: the user's function's, or the benchmark's default."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from utils.contracts import Benchmark, Line, Message, Prompt, PromptFunction, UserFunctionError
from utils.functions.calling import call_user_function, private_copy

MODEL_DEFAULT = "model_default"
BENCHMARK_DEFAULT = "benchmark_default"
MESSAGE_KEYS = ("role", "type", "value")


def prompt_builder(
    benchmark: Benchmark, *, system_prompt: str | None, custom: PromptFunction | None
) -> Callable[[Line], Prompt]:
    """The prompt of each line.

    Args:
        benchmark: builds the default prompt.
        system_prompt: the config's `kwargs.system_prompt`; without effect where `custom` answers.
        custom: the user's prompt function for this data set, or None.

    Raises (from the returned function):
        UserFunctionError: the user's function raised, or returned something that is no prompt.
    """
    use_system = system_prompt != MODEL_DEFAULT
    text = None if system_prompt in (None, "", BENCHMARK_DEFAULT, MODEL_DEFAULT) else system_prompt

    def build(line: Line) -> Prompt:
        if custom is not None:
            messages = call_user_function("prompt", custom, private_copy(line), benchmark.name)
            if messages is not None:
                return Prompt(_checked(messages, benchmark.image_root), is_custom=True)
        return Prompt(benchmark.build_prompt(line, use_system, text))

    return build


def shown(messages: Sequence[Message]) -> list[Message]:
    """The messages as people may read them later: an image is named by its place alone."""
    return [{**m, "value": ""} if m["type"] == "image" else dict(m) for m in messages]


def _checked(messages: Any, image_root: Path) -> list[Message]:
    if not isinstance(messages, (list, tuple)) or not messages:
        raise _no_prompt(messages, "a list of messages, or None")
    checked = []
    for message in messages:
        if not isinstance(message, dict) or not {*MESSAGE_KEYS} <= {*message}:
            raise _no_prompt(message, '{"role", "type", "value"} for each message')
        if not all(isinstance(message[key], (str, os.PathLike)) for key in MESSAGE_KEYS):
            raise _no_prompt(message, "texts as role, type and value of a message")
        ours = {key: os.fspath(message[key]) for key in MESSAGE_KEYS}
        is_file = ours["type"] == "image" and not ours["value"].startswith(("data:", "http"))
        if is_file and not Path(ours["value"]).exists():
            ours["value"] = str(image_root / ours["value"])  # relative: meant as the line has it
        checked.append(ours)
    return checked


def _no_prompt(returned: Any, expected: str) -> UserFunctionError:
    problem = f"returned {returned!r:.200}; expected {expected}"
    return UserFunctionError("prompt", problem, problem)

"""The prompt of a sample: from the user's function, or the benchmark's default."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from utils.contracts import Benchmark, Line, Message, Prompt, PromptFunction, UserFunctionError
from utils.functions.calling import call_user_function, private_copy
from utils.functions.fingerprints import code_digest, digest
from utils.functions.signatures import takes_settings
from utils.geometry.images import image_file, read_header
from utils.geometry.resizing import sent_wh

MESSAGE_KEYS = ("role", "type", "value")


@dataclass(frozen=True, slots=True)
class Prompting:
    """The functions and settings that make one model's prompts for one benchmark."""

    benchmark: Benchmark
    system_prompt: str | None = None  # `kwargs.system_prompt` of the config
    function: PromptFunction | None = None  # the user's; None: the benchmark's default
    settings: Mapping[str, Any] = field(default_factory=dict)  # that the function takes

    def builder(self) -> Callable[[Line], Prompt]:
        """The function that makes the prompt of a line; see `prompt_builder`."""
        return prompt_builder(
            self.benchmark,
            system_prompt=self.system_prompt,
            custom=self.function,
            settings=self.settings,
        )

    def default_wording(self, blank_line: Line) -> list[Message]:
        """The default prompt of a line whose own texts were taken out, for people."""
        build = prompt_builder(self.benchmark, system_prompt=self.system_prompt, custom=None)
        return readable_messages(build(blank_line).messages)

    def code_digest(self) -> str:
        """A hash of the prompt function and of the settings that it takes, if any."""
        code = code_digest(self.function)
        return digest([code, self.settings]) if self.settings else code

    def digest(self, line: Line) -> str:
        """A short hash of how questions are worded.

        Args:
            line: of any sample; with its question blanked the wording is what is left.
        """
        return short_digest([self._wording(line), self.code_digest()])

    def is_digest(self, stored: str, line: Line) -> bool:
        """Whether a hash in a log, also of an earlier version, belongs to these prompts."""
        if stored == self.digest(line):
            return True
        # Earlier versions wrote no function as None.
        return self.function is None and stored == short_digest([self._wording(line), None])

    def _wording(self, line: Line) -> list[Message]:
        blank = {**line, "question": "", "instruction": "", "options": {"A": ""}, "hint": None}
        return self.default_wording(blank)


def short_digest(value: Any) -> str:
    """The hash of a value as the records of runs have it."""
    return digest(value)[:16]


def prompt_builder(
    benchmark: Benchmark,
    *,
    system_prompt: str | None,
    custom: PromptFunction | None,
    settings: Mapping[str, Any] | None = None,
) -> Callable[[Line], Prompt]:
    """The function that makes the prompt of a line: the user's, else the benchmark's default.

    `system_prompt` is the config's `kwargs.system_prompt`, without effect where `custom` answers.
    `settings` is the `kwargs` block, for a function that takes it.
    The prompt raises UserFunctionError where `custom` raises, or returns something that is none.
    """
    use_system = system_prompt != "model_default"
    defaults = ("", "model_default", "benchmark_default")
    text = None if system_prompt in defaults else system_prompt
    with_settings = custom is not None and takes_settings(custom)

    def build(line: Line) -> Prompt:
        if custom is not None:
            keywords = _keywords(line, settings, benchmark.image_root) if with_settings else {}
            messages = call_user_function(
                "prompt", custom, private_copy(line), benchmark.name, **keywords
            )
            if messages is not None:
                return Prompt(checked_messages(messages, benchmark.image_root), is_custom=True)
        return Prompt(benchmark.build_prompt(line, use_system, text))

    return build


def _keywords(line: Line, settings: Mapping[str, Any] | None, image_root: Path) -> dict[str, Any]:
    """The `**settings` of a prompt function: the block, and the sizes of the image."""
    keywords: dict[str, Any] = private_copy(dict(settings or {}))
    file = image_file(str(line["image_path"])) if line.get("image_path") else None
    if file is not None:
        with suppress(OSError, ValueError):  # who reads the image says so
            file_wh = read_header(image_root / file).wh
            keywords["file_size"] = file_wh
            keywords["sent_size"] = sent_wh(keywords, file_wh)
    return keywords


def readable_messages(messages: Sequence[Message]) -> list[Message]:
    """Return the messages as people may read them later: an image is named by its place alone."""
    return [
        {**message, "value": ""} if message["type"] == "image" else dict(message)
        for message in messages
    ]


def checked_messages(messages: Any, image_root: Path, *, stage: str = "prompt") -> list[Message]:
    """The messages that a user's function has returned; UserFunctionError if they are none."""
    is_list = isinstance(messages, (list, tuple)) and messages
    if not is_list or not all(_is_message(message) for message in messages):
        problem = (
            f'returned {messages!r:.200}; expected a list of messages {{"role", "type", '
            '"value"}, all strings, or None'
        )
        raise UserFunctionError(stage, problem, problem)
    checked = []
    for message in messages:
        if message["type"] == "message":  # in the API's own form
            checked.append({key: message[key] for key in MESSAGE_KEYS})
            continue
        copy = {key: os.fspath(message[key]) for key in MESSAGE_KEYS}
        if message.get("turn") == "new":
            copy["turn"] = "new"
        if message["role"] == "tool":
            copy["call_id"] = message["call_id"]
        file = image_file(copy["value"]) if copy["type"] == "image" else None
        if file is not None:
            # Relative: meant as the line has it.
            copy["value"] = str(file if file.exists() else image_root / file)
        checked.append(copy)
    return checked


def _is_message(message: Any) -> bool:
    if not isinstance(message, dict):
        return False
    if message.get("type") == "message":
        return isinstance(message.get("value"), (dict, list)) and message.get("role") == "assistant"
    if message.get("role") == "tool" and not isinstance(message.get("call_id"), str):
        return False
    return all(isinstance(message.get(key), (str, os.PathLike)) for key in MESSAGE_KEYS)

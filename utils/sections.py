"""The section of a data set in a config: the keys that all have; benchmarks add their own.

A field's description is what its value "must be".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field

KeyProblem = tuple[tuple[str | int, ...], str]  # where in a section, and what is wrong there
S = TypeVar("S", bound=BaseModel)


class ConfigSection(BaseModel):
    """A part of a config: nothing else stands in it."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class DataSection(ConfigSection):
    """The keys of every data set.

    `repeats`: how often each question is asked; `only`: the rows that have one of the labels in
    each grouping named.
    """

    mode: str = "all"
    parse_function: str | None = None
    repeats: Annotated[int, Field(ge=1, le=100)] = Field(
        1, description="a whole number from 1 to 100: how often each question is asked"
    )
    only: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(
        {}, description='an object of labels by grouping: {"application": ["word", "excel"]}'
    )
    audits: list[Annotated[str, Field(min_length=1)]] = Field(
        [], description='a list of dotted paths: ["my_module.my_audit"]'
    )

    functions: ClassVar[Mapping[str, str]] = {}
    """Keys beside `parse_function` that may hold a dotted path, with the kind of the function."""

    @classmethod
    def completed(cls, entry: dict[str, Any]) -> tuple[dict[str, Any], list[KeyProblem]]:
        """Return an entry with what follows from its keys, and which of them do not go together."""
        return entry, []


class OpenSection(DataSection, extra="allow"):
    """A data set of any name; keys of its own (`language`) are the benchmark's `options`.

    `benchmark`: the name of a known one, or the dotted path of a class of the user's; `declined`:
    words that say that there is no such element.
    """

    benchmark: str | None = None
    declined: list[Annotated[str, Field(min_length=1)]] = Field(
        [], description='a list of texts, each of which says "not there": ["not found"]'
    )

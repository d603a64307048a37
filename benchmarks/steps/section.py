"""The section of a config for recorded steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from benchmarks.steps.rules import ALL_RULES
from utils.sections import KeyProblem, OpenSection
from utils.text import did_you_mean, listed


class StepSection(OpenSection):
    """A data set of recorded steps; `level`, `history`, `rows` are the benchmark's `options`.

    `rule`: the name of a rule, or the dotted path of a function of the user's; `rules`: judge by
    all rules of the data set, or by that of the score alone.
    """

    rule: str | None = None
    rules: Literal["all", "headline"] = Field(
        default="all", description='"all" or "headline": that of the score alone'
    )
    functions: ClassVar[Mapping[str, str]] = {"rule": "rule"}

    @classmethod
    def completed(cls, entry: dict[str, Any]) -> tuple[dict[str, Any], list[KeyProblem]]:
        """Return an entry, and whether there is no such rule."""
        rule = entry.get("rule")
        if not isinstance(rule, str) or "." in rule or rule in ALL_RULES:
            return entry, []
        rules = f"; known are {listed([*ALL_RULES])}, or the dotted path of a function of yours"
        hint = did_you_mean(rule, [*ALL_RULES]) or rules
        return entry, [(("rule",), f'there is no rule "{rule}"{hint}')]

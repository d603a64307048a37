"""The section of a config for tasks in live worlds."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from benchmarks.worlds.seeds import seeds_from
from utils.protocol import PLATFORMS
from utils.sections import DataSection, KeyProblem


def _each_seed_once(seeds: list[int]) -> list[int]:
    repeated = [seed for seed in dict.fromkeys(seeds) if seeds.count(seed) > 1]
    if repeated:
        raise ValueError(
            f"holds {repeated[0]} more than once; name each seed once. To play each task several "
            'times under each seed, set "repeats"'
        )
    return seeds


class LiveSection(DataSection):
    """The tasks to play, and their settings.

    A user's class in place of the program's own worlds, and its arguments; the maximum number of
    steps; seeds of task variants, or a text from which seeds follow; the tasks; earlier
    screenshots in default prompts.
    """

    environment: str | None = None
    environment_args: dict[str, Any] = Field(
        {}, description="an object { } with the arguments of the environment"
    )
    max_steps: Annotated[int, Field(ge=1)] = Field(
        50, description="a whole number of steps of at least 1"
    )
    seeds: Annotated[list[Annotated[int, Field(ge=0)]], AfterValidator(_each_seed_once)] = Field(
        [0], min_length=1, description="a list of whole numbers, at least one: [0]"
    )
    seeds_from: Annotated[str, Field(min_length=1)] | None = Field(
        None, description="a text from which four seeds follow"
    )
    platforms: list[Literal[PLATFORMS]] = Field(  # type: ignore[valid-type]
        [], description=f"a list of platforms out of {', '.join(PLATFORMS)}"
    )
    tasks: list[str] = Field(
        [], description='a list of task names, in which * stands for any text: ["office/mail_*"]'
    )
    history_images: Annotated[int, Field(ge=0)] = Field(
        2, description="a whole number of earlier screenshots of at least 0"
    )
    tell_steps: bool = False
    max_tokens_per_episode: Annotated[int, Field(ge=1)] | None = Field(
        None, description="a whole number of tokens of at least 1"
    )

    @classmethod
    def completed(cls, entry: dict[str, Any]) -> tuple[dict[str, Any], list[KeyProblem]]:
        """Return an entry with the seeds that follow from its text, if it has one."""
        problems: list[KeyProblem] = []
        if entry.get("environment_args") and not entry.get("environment"):
            problems.append((("environment_args",), 'only with "environment"; leave it out'))
        text = entry.get("seeds_from")
        if isinstance(text, str) and text:
            if "seeds" in entry:
                what = 'cannot be combined with "seeds"; leave one of them out'
                problems.append((("seeds_from",), what))
            else:
                entry = {**entry, "seeds": seeds_from(text)}
        return entry, problems

"""The jobs of the engine: one data set for one model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from utils.contracts import (
    Answered,
    Episode,
    FollowUp,
    Generation,
    Prompt,
    ReadReply,
    Sample,
    repeat_of,
)
from utils.engine.worlds import Worlds
from utils.errors import StopRun
from utils.scoring.scorer import Scorer
from utils.store.index import AnswerIndex
from utils.store.log import LoggedRun, RunLog


class Progress(Protocol):
    """Shows every finished sample."""

    def advance(self, status: str, *, reused: bool) -> None:
        """Count a sample that has ended with a status."""


@dataclass(frozen=True, kw_only=True)
class EpisodePlan:
    """The plan for playing the samples of a benchmark that acts. Only whole episodes are reused."""

    play: Callable[[Sample, Any], Episode]  # the prompts of a sample, in a world that is lent
    worlds: Worlds
    fingerprint: Callable[[Sample], str]  # of its task and the settings
    read_reply: Callable[[Sample, Prompt, Generation], ReadReply]  # to the first prompt of one


@dataclass(frozen=True, kw_only=True)
class ChainPlan:
    """The plan for samples whose prompts hold the replies to earlier samples."""

    chain_of: Callable[[Sample], str]
    prompt_after: Callable[[Sample, Answered], Prompt]  # called by several workers

    def key_of(self, sample: Sample) -> tuple[str, int]:
        """The chain that a sample is asked in: repeats have one each."""
        return self.chain_of(sample), repeat_of(sample.key)

    def chains(self, samples: Sequence[Sample]) -> list[list[Sample]]:
        """The samples by chain, each in order."""
        chains: dict[tuple[str, int], list[Sample]] = {}
        for sample in samples:
            chains.setdefault(self.key_of(sample), []).append(sample)
        return list(chains.values())


@dataclass(kw_only=True)
class Job:
    """One model on one data set: how samples are asked, what is answered, where answers go."""

    dataset: str
    samples: Sequence[Sample]
    prompt_of: Callable[[Sample], Prompt] | None = None  # the only prompt; None: there are episodes
    chains: ChainPlan | None = None  # None: no prompt waits for an answer to another sample
    episodes: EpisodePlan | None = None
    follow_up: FollowUp | None = None  # what is asked after the reply to a sample's only prompt
    answers: AnswerIndex  # what was answered before
    run: LoggedRun  # without a number until it is opened in the log
    log: RunLog = field(init=False)  # there once the run is open
    shard: tuple[int, int] = (0, 1)  # of the samples, which part of how many this process asks
    # Told the index of each sample, which is over before the next one begins; None: they overlap.
    before_sample: Callable[[int], None] | None = None
    first_look: Scorer | None = None  # judges the first answers while the others are asked
    functions: Mapping[str, str] = field(default_factory=dict)  # the user's, by stage
    stopped: StopRun | None = None  # why the job ended early
    reasons: Counter[str] = field(default_factory=Counter)  # how many samples were asked, and why
    reused: int = 0  # how many had an answer already
    tokens: Counter[str] = field(default_factory=Counter)  # of the answers that were asked for
    failures_in_a_row: Counter[str] = field(default_factory=Counter)  # of functions, by stage

    def open(self, log: RunLog, run: LoggedRun | None = None) -> None:
        """Have answers go into a log, in which the run stands."""
        self.log = log
        self.run = run or self.run

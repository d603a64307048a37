"""What the engine is given to do: one data set for one model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from utils.contracts import Episode, FollowUp, Generation, Prompt, ReadReply, Sample
from utils.engine.ranks.shares import Share
from utils.engine.worlds import Worlds
from utils.errors import StopRun
from utils.runs.log import AnswerIndex, LoggedRun, RunLog
from utils.scoring.scorer import Scorer


class Progress(Protocol):
    """Shows every finished sample."""

    def advance(self, status: str, *, reused: bool) -> None:
        """Count a sample that has ended with a status."""


@dataclass(kw_only=True)
class Questions:
    """The samples of one data set, how they are asked, and what was answered before."""

    dataset: str
    samples: Sequence[Sample]
    # Of a sample: prompts, sent the generations; where there are `worlds`, lent one as `world`.
    episode: Callable[..., Episode]
    answers: AnswerIndex
    worlds: Worlds | None = None
    # Of a whole episode (task and settings), where no single answer can be reused; None: each
    # sample has one prompt, whose answer can.
    fingerprint: Callable[[Sample], str] | None = None
    # Of an episode's first prompt: what a reply to it asks for; None: there are no actions.
    read_reply: Callable[[Sample, Prompt, Generation], ReadReply] | None = None
    follow_up: FollowUp | None = None  # what is asked after the reply to a sample's only prompt


@dataclass(kw_only=True)
class Job(Questions):
    """One data set being evaluated on one model, with log and counters."""

    log: RunLog
    run: LoggedRun  # what it belongs to, as opened in the log
    share: Share | None = None  # of the samples, that this process asks; None: all of them
    # Told the index of each sample, which is over before the next one begins; None: they overlap.
    before_sample: Callable[[int], None] | None = None
    first_look: Scorer | None = None  # judges the first answers while the others are asked
    functions: Mapping[str, str] = field(default_factory=dict)  # the user's, by stage
    stopped: StopRun | None = None  # why the job ended early
    reasons: Counter[str] = field(default_factory=Counter)  # how many samples were asked, and why
    reused: int = 0  # how many had an answer already
    failures_in_a_row: Counter[str] = field(default_factory=Counter)  # of functions, by stage

    def to_ask(self, under_way: Callable[[], int]) -> Iterator[Sample | None]:
        """Return the samples that this process asks; None: come back when less is under way."""
        return self.share.take(under_way) if self.share else iter(self.samples)

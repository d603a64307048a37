"""What the engine is given to do: one data set for one model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from utils.contracts import Episode, Sample
from utils.engine.ranks.shares import Share
from utils.engine.worlds import Worlds
from utils.errors import StopRun
from utils.runs.log import AnswerIndex, LoggedRun, RunLog
from utils.scoring.scorer import Scorer


@dataclass(kw_only=True)
class Questions:
    """The samples of one data set, how they are asked, and what was answered before.

    Attributes:
        episode: sample → generator of prompts that is sent the generations; where there are
            `worlds` it is lent one of them as `world`.
        fingerprint: of a whole episode (task and settings), where no single answer can be reused;
            None: each sample has one prompt, whose answer can.
    """

    dataset: str
    samples: Sequence[Sample]
    episode: Callable[..., Episode]
    answers: AnswerIndex
    worlds: Worlds | None = None
    fingerprint: Callable[[Sample], str] | None = None
    trial: int = 0

    @property
    def has_new_samples(self) -> bool:
        """Whether some sample was never asked, whatever has changed about the others since."""
        return any(not self.answers.knows(sample.key, self.trial) for sample in self.samples)


@dataclass(kw_only=True)
class Job(Questions):
    """One data set for one model, with its log and what became of it.

    Attributes:
        run: what it belongs to, as opened in the log.
        share: what of the samples this process asks; None: all of them.
        first_look: judges the first answers while the others are asked; None: nobody does.
        stopped: why the job ended early, if it did.
        reasons: how many samples were asked, by reason.
        reused: how many had an answer already.
        failures_in_a_row: of the user's functions, by stage.
    """

    log: RunLog
    run: LoggedRun
    share: Share | None = None
    first_look: Scorer | None = None
    stopped: StopRun | None = None
    reasons: Counter[str] = field(default_factory=Counter)
    reused: int = 0
    failures_in_a_row: Counter[str] = field(default_factory=Counter)

    def to_ask(self, under_way: Callable[[], int]) -> Iterator[Sample | None]:
        """The samples that this process asks; None: not now, ask again when less is under way."""
        if self.share is not None:
            return self.share.take(under_way)
        return iter(self.samples)

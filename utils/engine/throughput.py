"""What a number of requests in flight achieves: answers per second, and how sure that is. Pure.

Answers of a language model take 0.5 to 30 s, and one takes ten times as long as the next. A rate
from a few of them says little, so every rate comes with an error, taken from how much latencies
differ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

SHORTEST_S = 0.2  # below, a rate says more about the threads of this process than about the server
FEWEST_ANSWERS = 32
ERROR_AT_LEAST = 0.03  # relative: machines are never quite steady
WORTH_WHILE = 0.2  # of the growth in flight that must arrive as growth of the rate: 1.08 for 1.5
BUSY_SHARE = 0.9  # of a core: the interpreter runs one thread at a time
TELLING_ERRORS = 2.5  # a growth in flight must be so many errors wide to be judged


@dataclass(frozen=True, slots=True)
class Measured:
    """Answers per second with so many requests in flight.

    Attributes:
        error: of the rate, relative (one sigma).
        is_busy: whether this process had nothing left to give, whatever the server could do.
    """

    in_flight: float
    per_s: float
    error: float
    is_busy: bool = False

    def brings_more_than(self, lower: Measured) -> bool | None:
        """Whether the step up from `lower` was worth while; None: too noisy to say no."""
        growth = math.log(self.in_flight / lower.in_flight)
        gain = math.log(self.per_s / lower.per_s)
        if gain >= WORTH_WHILE * growth:
            return True
        error = math.hypot(self.error, lower.error)
        return False if TELLING_ERRORS * error <= growth else None


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of answers at one limit.

    Attributes:
        skip: answers still to be passed over: they come from before the limit was reached.
        rounds: how many rounds of answers it lasts at least.
        lasts_s: how long it lasts at least.
        began_s: when the last of the skipped answers came.
        began_cpu_s: CPU seconds that this process had taken until then.
        answers: how many came since; `starved` of them while fewer were in flight than allowed.
        latency_s, latency_s2: sums of their latencies, and of the squares.
    """

    skip: float
    rounds: float = 1.0
    lasts_s: float = SHORTEST_S
    began_s: float = 0.0
    began_cpu_s: float = 0.0
    answers: int = 0
    starved: int = 0
    latency_s: float = 0.0
    latency_s2: float = 0.0

    def after_answer(self, *, sent_s: float, now_s: float, cpu_s: float, was_full: bool) -> Window:
        """The window with one answer more."""
        if self.skip > 0:
            return replace(self, skip=self.skip - 1, began_s=now_s, began_cpu_s=cpu_s)
        latency_s = now_s - sent_s
        return replace(
            self,
            answers=self.answers + 1,
            starved=self.starved + (not was_full),
            latency_s=self.latency_s + latency_s,
            latency_s2=self.latency_s2 + latency_s**2,
        )

    def is_over(self, in_flight: float, now_s: float) -> bool:
        """Whether it has lasted its rounds, and long enough to say anything."""
        enough = max(FEWEST_ANSWERS, self.rounds * in_flight)
        if self.answers < enough or now_s - self.began_s < self.lasts_s:
            return False
        # Answers may come in bursts, one a round: only whole rounds can be compared.
        return self.answers % int(in_flight) == 0

    def measured(self, in_flight: float, now_s: float, cpu_s: float) -> Measured | None:
        """The rate; None if there was too little to do to fill the places."""
        if self.starved > self.answers / 2:
            return None
        mean_s = max(self.latency_s / self.answers, 1e-9)
        variance = max(self.latency_s2 / self.answers / mean_s**2 - 1, 0.0)
        error = math.hypot(math.sqrt(variance / self.answers), ERROR_AT_LEAST)
        lasted_s = now_s - self.began_s
        is_busy = cpu_s - self.began_cpu_s >= BUSY_SHARE * lasted_s
        return Measured(in_flight, self.answers / lasted_s, error, is_busy)

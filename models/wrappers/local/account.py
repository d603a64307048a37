"""How the time of a local model was spent."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Account:
    """How the time of the generating thread was spent.

    Attributes:
        generating_s: in the generate method.
        idle_s: without inputs, between the first batch and the last.
        batches, samples: how many.
    """

    generating_s: float = 0.0
    idle_s: float = 0.0
    batches: int = 0
    samples: int = 0

    def told(self) -> list[str]:
        """In one line for people, if there is something to tell."""
        if not self.batches:
            return []
        whole_s = self.generating_s + self.idle_s
        share = 100 * self.idle_s / whole_s if whole_s else 0.0
        return [
            f"the model generated for {self.generating_s:.1f} s in {self.batches} batches of "
            f"{self.samples / self.batches:.1f} and waited {self.idle_s:.1f} s "
            f"({share:.1f} %) for inputs"
        ]

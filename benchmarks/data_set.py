"""One data set as a run sees it: which samples, in which mode, read by which parse function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.base import Benchmark, Loaded, grouped
from benchmarks.circular import Circular
from utils.contracts import ParseFunction, Sample


@dataclass
class DataSet:
    """One data set of the run: the benchmark, its samples, and how replies are parsed.

    Attributes:
        circular: asks every rotation of a question's options; None: the questions alone.
    """

    benchmark: Benchmark
    mode: str
    parse: ParseFunction
    circular: Circular | None = None
    loaded: Loaded = field(default_factory=lambda: Loaded([], []))

    @property
    def bad_samples(self) -> list[str]:
        """The samples that are left out, one line for each picture or sample."""
        return [f"{self.benchmark.name}: {line}" for line in grouped(self.loaded.bad)]

    def asked(self, limit: int | None) -> Sequence[Sample]:
        """What is asked of the first `limit` samples: they themselves, or all their rotations."""
        samples = self.loaded.samples[:limit]
        return samples if self.circular is None else self.circular.asked(samples)

    def nothing_to_ask(self) -> list[str]:
        """A problem of the data root, if not one of its samples can be used."""
        if self.loaded.samples:
            return []
        first = [f"{self.benchmark.name}: none of its samples can be used, for instance"]
        why = self.bad_samples[:3] or [f"no sample is of mode {self.mode}"]
        return [*first, *why, "Do LMUData and IMAGE_ROOT_DIR point to the data set?"]

"""WHAT is asked and how an answer becomes a number."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from importlib import import_module
from typing import Any

from benchmarks.base import Benchmark, fill
from benchmarks.circular import Circular
from utils.analysis.audits import audits_of
from utils.contracts import DataSet, ParseFunction
from utils.errors import ScorerError, UserError
from utils.subsets import Label, UnknownLabels, base_mode, mode_with

GROUNDING, STEPS = "benchmarks.grounding", "benchmarks.steps"
MODULES = {
    "GUIContentUnderstanding": "benchmarks.l1_content_understanding",
    "GUIElementGrounding": "benchmarks.l2_element_grounding",
    "GUITaskAutomation": "benchmarks.l3_task_automation",
    "GUITaskCollaboration": "benchmarks.l4_task_collaboration",
    "ScreenSpot": f"{GROUNDING}.screenspot",
    "ScreenSpotV2": f"{GROUNDING}.screenspot",
    "ScreenSpotPro": f"{GROUNDING}.screenspot_pro",
    "OSWorldG": f"{GROUNDING}.osworld_g",
    "UIVision": f"{GROUNDING}.ui_vision",
    "VenusBenchGD": f"{GROUNDING}.venusbench_gd",
    "UII2E": f"{GROUNDING}.ui_i2e",
    "AndroidControl": f"{STEPS}.android_control",
    "GUIOdyssey": f"{STEPS}.gui_odyssey",
    "AITZ": f"{STEPS}.aitz",
    "CAGUI": f"{STEPS}.aitz",
    "AgentNetBench": f"{STEPS}.agentnetbench",
}
"""The module of each benchmark, whose class has the name of the data set."""
LEVELS = {
    "L1": "GUIContentUnderstanding",
    "L2": "GUIElementGrounding",
    "L3": "GUITaskAutomation",
    "L4": "GUITaskCollaboration",
}
"""Short names of data sets, which commands take, too."""


class KnownBenchmarks(Mapping[str, type[Benchmark]]):
    """The benchmarks by the name of their data set, each imported when it is first looked up."""

    def __getitem__(self, name: str) -> type[Benchmark]:
        benchmark: type[Benchmark] = getattr(import_module(MODULES[name]), name)
        return benchmark

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


BENCHMARK = KnownBenchmarks()


def build_data_set(
    name: str, settings: Mapping[str, Any], *, parse: ParseFunction | None, has_own_parser: bool
) -> DataSet:
    """Return one data set of a config, without its samples.

    Args:
        name: of the benchmark.
        settings: the entry of the data set in the config; an `environment` is the class itself, a
            `benchmark` a class or the name of a known one, `audits` functions by path.
        parse: the user's parse function for all models; None: the benchmark's default.
        has_own_parser: whether replies of some model are read by a function of the user's.
    """
    kind = settings.get("benchmark") or name
    benchmark_class: type[Benchmark] = kind if isinstance(kind, type) else BENCHMARK[kind]
    benchmark = benchmark_class.make(name, settings)
    benchmark.configure(settings)
    only = settings.get("only") or {}
    benchmark.only = only
    rotations = Circular(has_own_parser)
    return DataSet(
        benchmark,
        mode=mode_with(settings["mode"], only),
        parse=parse or benchmark.default_parse,
        circular=rotations if settings.get("circular") else None,
        repeats=settings.get("repeats", 1),
        rotations=rotations,
        audits=audits_of(benchmark_class, benchmark.audits, settings.get("audits") or {}),
    )


def count_rows(data: DataSet) -> tuple[int, int]:
    """Return the number of rows in a data set's mode, and the number that its `only` selects.

    Raises:
        UserError: the annotation file is missing or broken.
    """
    benchmark = data.benchmark
    assert isinstance(benchmark, Benchmark)
    full_mode = base_mode(data.mode)
    rows = [row for row in benchmark.rows(full_mode) if benchmark.in_mode(row, full_mode)]
    return len(rows), sum(benchmark.in_mode(row, data.mode) for row in rows)


def load_samples(
    data: DataSet, *, needs_images: bool = True, passed_over: Collection[Label] = ()
) -> tuple[list[str], list[str]]:
    """Load the samples of a data set.

    Args:
        data: the data set.
        needs_images: each image is opened and must be there.
        passed_over: labels of its `only` that its rows need not have.

    Returns:
        What a user should know about them, and the problems that stand in the way of a run.

    Raises:
        UnknownLabels: no row has a label of its `only`.
    """
    benchmark = data.benchmark
    assert isinstance(benchmark, Benchmark)
    benchmark.passed_over = passed_over
    problems = [f"{benchmark.name}: {problem}" for problem in benchmark.problems()]
    notes: list[str] = []
    try:
        notes = fill(data, benchmark, needs_images=needs_images)
        if needs_images:  # requests follow, so a scorer that fails is found before them
            notes += filter(None, [benchmark.try_scorer(data.samples[0])])
    except UnknownLabels:
        raise
    except ScorerError as error:
        problems.append(f"{benchmark.name}: {error}")
    except UserError as error:
        problems += error.problems
    return notes, problems

"""WHAT is asked and how an answer becomes a number."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from benchmarks.base import Benchmark, fill
from benchmarks.circular import Circular
from benchmarks.grounding.osworld_g import OSWorldG
from benchmarks.grounding.screenspot import ScreenSpot, ScreenSpotV2
from benchmarks.grounding.screenspot_pro import ScreenSpotPro
from benchmarks.grounding.ui_i2e import UII2E
from benchmarks.grounding.ui_vision import UIVision
from benchmarks.grounding.venusbench_gd import VenusBenchGD
from benchmarks.l1_content_understanding import GUIContentUnderstanding
from benchmarks.l2_element_grounding import GUIElementGrounding
from benchmarks.l3_task_automation import GUITaskAutomation
from benchmarks.l4_task_collaboration import GUITaskCollaboration
from benchmarks.steps.agentnetbench import AgentNetBench
from benchmarks.steps.aitz import AITZ, CAGUI
from benchmarks.steps.android_control import AndroidControl
from benchmarks.steps.gui_odyssey import GUIOdyssey
from utils.analysis.audits import audits_of
from utils.contracts import DataSet, ParseFunction
from utils.errors import ScorerError, UserError
from utils.subsets import Label, UnknownLabels, base_mode, mode_with


def by_name(classes: Iterable[type[Benchmark]]) -> dict[str, type[Benchmark]]:
    """Return benchmarks by the name that they claim.

    Raises:
        UserError: two of them claim the same.
    """
    benchmarks: dict[str, type[Benchmark]] = {}
    for benchmark in classes:
        other = benchmarks.setdefault(benchmark.name, benchmark)
        if other is not benchmark:
            paths = [f"{kind.__module__}.{kind.__qualname__}" for kind in (other, benchmark)]
            raise UserError(f'both {" and ".join(paths)} claim the name "{benchmark.name}"')
    return benchmarks


BENCHMARK = by_name(
    (
        GUIContentUnderstanding,
        GUIElementGrounding,
        GUITaskAutomation,
        GUITaskCollaboration,
        ScreenSpot,
        ScreenSpotV2,
        ScreenSpotPro,
        OSWorldG,
        UIVision,
        VenusBenchGD,
        UII2E,
        AndroidControl,
        GUIOdyssey,
        AITZ,
        CAGUI,
        AgentNetBench,
    )
)


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
    whole = base_mode(data.mode)
    rows = [row for row in benchmark.rows(whole) if benchmark.in_mode(row, whole)]
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
            benchmark.try_scorer(data.samples[0])
    except UnknownLabels:
        raise
    except ScorerError as error:
        problems.append(f"{benchmark.name}: {error}")
    except UserError as error:
        problems += error.problems
    return notes, problems

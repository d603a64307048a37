"""The figures of L3 and L4 with their intervals: the table, groups of episodes, what they cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from benchmarks.figures import Sections
from benchmarks.matrics import (
    Cost,
    TaskResult,
    cost_of,
    efficiency_area,
    episode_groups,
    expected_areas,
    feasibility_groups,
    given_up,
    partial_credits,
)
from utils.analysis.columns import Row, SampleColumns, share

FIELDS = (
    "hit",
    "steps",
    "platform",
    "split",
    "apps",
    "tier",
    "partial",
    "feasible",
    "ended",
    "action_count",
    "cost",
)
"""Of an episode's facts, what its figures are made of."""
Values = Callable[[Sequence[TaskResult]], Sequence[float]]  # one of each episode, 0..1


def episode_sections(columns: SampleColumns, title: str, budgets: Sequence[int]) -> Sections:
    """Return the sections of episodes: success rate and area under each budget, by platform.

    Intervals are clustered by task: variants of one share its difficulty.
    """
    figures = EpisodeFigures(columns)
    results = figures.results
    groups = episode_groups(results)
    everything = range(len(results))
    columns_of_table = {**groups["platform"], "Overall": everything}
    rows: list[Row] = []
    for budget in budgets:
        in_budget = [result.within(budget) for result in results]
        areas = partial(expected_areas, budget=budget)
        rows.append(figures.row(f"SR {budget}", successes, columns_of_table, in_budget))
        rows.append(figures.row(f"EQA* {budget}", areas, columns_of_table, in_budget))
    rows += _rows_by_task(figures, columns_of_table, groups["tier"])
    largest = budgets[-1]
    tiers = {  # with their samples: no field by which pages filter names these
        name: {**figures.cell(successes, indices), "at": figures.spans(indices)}
        for name, indices in groups["tier"].items()
    }

    def rates(group: Mapping[str, Sequence[int]]) -> dict[str, Row]:
        return {name: figures.cell(successes, indices) for name, indices in group.items()}

    cells_by_group = {
        "platform": rates(groups["platform"]),
        "split": rates(groups["category"]),
        "tier": tiers,
        "app": rates(groups["app"]),
    }
    return {
        "table": {
            "title": title,
            "columns": list(columns_of_table),
            "rows": rows,
            "unit": f"SR and EQA* in %, by step limit; all other rows at {largest} steps",
        },
        "averages": rates({f"overall SR at {largest} steps": everything}),
        "groups": {name: cells for name, cells in cells_by_group.items() if cells},
        "episodes": {
            "title": "How episodes end",
            "rows": _endings(results),
        },
        "cost": {
            "title": "What episodes cost",
            "rows": [
                {"name": f"per {name}", **_rounded(cost_of(results, per=name))}
                for name in ("episode", "success")
            ],
        },
        "efficiency": {
            "title": "EQA in file order",
            "rows": [_in_order(results, budget) for budget in budgets],
            "notes": ["The authors' figure; it depends on the order of the episodes."],
        },
    }


def successes(results: Sequence[TaskResult]) -> list[float]:
    """Return 1 for each success, else 0."""
    return [float(result.success) for result in results]


class EpisodeFigures:
    """Means of what episodes are worth, each with its interval."""

    def __init__(self, columns: SampleColumns) -> None:
        from utils.analysis.intervals import numbered

        self.results = episode_results(columns)
        self._columns = columns
        self._tasks = numbered([str(task) for task in columns["task"]])

    def cell(
        self, values: Values, indices: Sequence[int], results: Sequence[TaskResult] | None = None
    ) -> Row:
        """Return the mean over some episodes; `results`: in place of its own, under a budget."""
        chosen = [(results or self.results)[index] for index in indices]
        numbers = values(chosen)
        return {**share(numbers, self._tasks[indices]), "value": 100 * sum(numbers) / len(numbers)}

    def spans(self, indices: Sequence[int]) -> str:
        """Return the sample numbers of some episodes as pages read them: `0-3 7`."""
        chosen = set(indices)
        return self._columns.spans([index in chosen for index in range(len(self.results))])

    def row(
        self,
        name: str,
        values: Values,
        columns: Mapping[str, Sequence[int]],
        results: Sequence[TaskResult] | None = None,
        only: Sequence[int] | None = None,
    ) -> Row:
        """Return a row of the table: a cell for each column, None where no episode is in it.

        Args:
            name: of the row.
            values: what each episode is worth.
            columns: the indices of the episodes of each.
            results: in place of its own, under a budget.
            only: the indices of the episodes that the row is of; None: all.
        """
        selected = set(range(len(self.results)) if only is None else only)
        indices_by_column = [
            [index for index in indices if index in selected] for indices in columns.values()
        ]
        cells = [
            self.cell(values, indices, results) if indices else None
            for indices in indices_by_column
        ]
        return {"name": name, "cells": cells}


def _rows_by_task(
    figures: EpisodeFigures, columns: Mapping[str, Sequence[int]], tiers: Mapping[str, list[int]]
) -> list[Row]:
    """Return the rows of kinds of tasks, as far as there are such tasks, and of partial credit."""
    results = figures.results
    groups = feasibility_groups(results)
    feasible, infeasible = groups["feasible"], groups["infeasible"]
    rows: list[Row] = []
    if feasible and infeasible:
        rows.append(figures.row("SR feasible", successes, columns, only=feasible))
        rows.append(figures.row("recall infeasible", successes, columns, only=infeasible))
    if feasible:
        rows.append(figures.row("false fail", given_up, columns, only=feasible))
    rows += [
        figures.row(f"SR {tier}", successes, columns, only=indices)
        for tier, indices in tiers.items()
    ]
    if any(result.partial is not None for result in results):
        rows.append(figures.row("partial credit", partial_credits, columns))
    return rows


def episode_results(columns: SampleColumns) -> list[TaskResult]:
    """The result of each episode, as its benchmark has judged it."""
    rows = zip(*(columns[field] for field in FIELDS), strict=True)
    return [_result_of(dict(zip(FIELDS, values, strict=True))) for values in rows]


def _result_of(facts: Mapping[str, Any]) -> TaskResult:
    return TaskResult(
        success=bool(facts["hit"]),
        steps=int(facts["steps"]),
        platform=str(facts["platform"]),
        category=str(facts["split"]),
        apps=tuple(facts["apps"] or ()),
        tier=facts["tier"],
        partial=facts["partial"],
        feasible=facts["feasible"],
        end_reason=str(facts["ended"]),
        actions=facts["action_count"] or 0,
        cost=Cost(**facts["cost"]) if facts["cost"] else None,
    )


def _endings(results: Sequence[TaskResult]) -> list[Row]:
    """Return a row for each way in which episodes end."""
    rows: list[Row] = []
    for ending in sorted({result.end_reason for result in results}):
        episodes = [result for result in results if result.end_reason == ending]
        steps = [result.steps for result in episodes]
        rows.append(
            {
                "name": ending,
                "episodes": len(steps),
                "succeeded": sum(result.success for result in episodes),
                "mean steps": round(sum(steps) / len(steps), 1),
                "most steps": max(steps),
            }
        )
    return rows


def _in_order(results: Sequence[TaskResult], budget: int) -> Row:
    """Return the authors' area under a budget."""
    area = efficiency_area([result.within(budget) for result in results], budget)
    return {"name": f"{budget} steps", "EQA": None if area is None else 100 * area}


def _rounded(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Return numbers as pages show them."""
    return {
        name: round(value, 1) if isinstance(value, float) else value
        for name, value in numbers.items()
        if name != "Known num"
    }

"""What the answers to recorded steps come to: the score file and the sections of the analysis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.figures import Sections
from benchmarks.matrics import Scores, in_order, mean
from benchmarks.steps.action import KINDS
from benchmarks.steps.rules import Rule, StepVerdict
from utils.analysis.columns import Row, SampleColumns, share
from utils.contracts import Verdict

FIGURES = ("Type", "Grounding", "SR")
Worth = tuple[float | None, float | None, float | None]
"""What one step counts in each of `FIGURES`, 0..1; None: it does not count."""


def worth_of(verdict: StepVerdict) -> Worth:
    """What a verdict of a rule counts in each figure."""
    type_worth, grounding, success = (
        None if value is None else float(value)
        for value in (verdict.type, verdict.grounding, verdict.success)
    )
    return type_worth, grounding, success


class StepResult(NamedTuple):
    """What the score needs of one step."""

    episode: str
    step: int  # from 0
    step_count: int  # of its episode
    kind: str  # of the recorded action
    verdict: Verdict | None  # by the rule of the score
    worth: tuple[Worth, ...]  # by each of the rules, in their order

    def success(self, number: int) -> float | None:
        """What the step counts by the rule of this number, 0..1; None: it does not count."""
        return self.worth[number][2]


# -- score file -----------------------------------------------------------------------------------


def step_scores(results: Sequence[StepResult], rules: Mapping[str, Rule], chosen: str) -> Scores:
    """The score object: figures in percent by the chosen rule, by action, and by all rules.

    Args:
        results: of all steps.
        rules: by name, in the order of `StepResult.worth`.
        chosen: the name of the rule of the score.
    """
    number = list(rules).index(chosen)
    by_action = {
        kind: _block([result for result in results if result.kind == kind], number)
        for kind in in_order({result.kind for result in results}, KINDS)
    }
    return {
        "rule": chosen,
        **_block(results, number),
        "grounding_of": rules[chosen].grounding,
        **_episode_figures(results, number),
        "macro by action": mean([block["SR"] for block in by_action.values()]),
        "by_action": by_action,
        "by_rule": {
            name: {**_block(results, index), **_episode_figures(results, index)}
            for index, name in enumerate(rules)
        },
        "counts": {
            "samples": len(results),
            "answered": sum(result.verdict is not None for result in results),
            "unparsed": sum(result.verdict is Verdict.UNPARSED for result in results),
            "failed": sum(result.verdict is None for result in results),
        },
    }


def _block(results: Sequence[StepResult], number: int) -> dict[str, Any]:
    """Figures of some steps by one rule, each with the number of steps that count."""
    block: dict[str, Any] = {}
    for place, figure in enumerate(FIGURES):
        worth = [result.worth[number][place] for result in results]
        values = [value for value in worth if value is not None]
        block[figure] = _percent(values)
        block[f"num_{figure}"] = len(values)
    return block


def _episode_figures(results: Iterable[StepResult], number: int) -> dict[str, Any]:
    """Figures of episodes by one rule: those whose steps are all right, and how far they go.

    Progress is the part of an episode's steps before the first miss.
    """
    by_episode: dict[str, dict[int, bool]] = {}
    for result in results:
        success = result.success(number)
        if success is not None:
            by_episode.setdefault(result.episode, {})[result.step] = success == 1
    episodes = [[steps[step] for step in sorted(steps)] for steps in by_episode.values()]
    return {
        "episodes": len(episodes),
        "episode success": _percent([all(steps) for steps in episodes]),
        "progress": _percent([_before_first_miss(steps) for steps in episodes]),
    }


def _before_first_miss(steps: Sequence[bool]) -> float:
    return (steps.index(False) if False in steps else len(steps)) / len(steps)


def _percent(values: Sequence[float]) -> float | None:
    return 100 * sum(values) / len(values) if values else None


# -- analysis -------------------------------------------------------------------------------------


def step_sections(
    columns: SampleColumns, title: str, rules: Mapping[str, Rule], chosen: str, protocol: str
) -> Sections:
    """The sections of recorded steps; intervals are clustered by episode.

    Args:
        columns: of the scored samples.
        title: of the table.
        rules: by name, in the order of `StepResult.worth`.
        chosen: the name of the rule of the score.
        protocol: rows, level and history in words, which stand beside every figure.
    """
    figures = StepFigures(columns)
    number = list(rules).index(chosen)
    by_kind = figures.by_kind()
    members: dict[str, Sequence[int]] = {**by_kind, "Overall": range(len(columns))}
    rows: list[Row] = [
        {
            "name": figure,
            "cells": [figures.cell(place, number, indices) for indices in members.values()],
        }
        for place, figure in enumerate(FIGURES)
    ]
    success = rows[-1]["cells"]
    macro = mean([cell["value"] for cell in success[:-1] if cell])
    return {
        "table": {
            "title": title,
            "columns": list(members),
            "rows": rows,
            "unit": f"% by the rule {chosen}; {protocol}",
            "clusters": "episode",
            "official": list(FIGURES),
            "headline": f"rule {chosen}; {protocol}",
            "column_field": "split",
            "row_field": None,
            "parts": [],
        },
        "averages": {
            "micro over all rows": success[-1],
            "macro by action": macro
            if macro is None
            else {"value": macro, "low": None, "high": None, "samples": len(columns)},
        },
        "groups": {"split": dict(zip(by_kind, success, strict=False))},
        "rules": _rules_section(figures.results, rules, chosen),
    }


def _rules_section(
    results: Sequence[StepResult], rules: Mapping[str, Rule], chosen: str
) -> dict[str, Any]:
    """One set of answers under every rule."""
    rows = []
    for number, name in enumerate(rules):
        values = {**_block(results, number), **_episode_figures(results, number)}
        shown = (*FIGURES, "episode success", "progress")
        rows.append(
            {
                "name": f"{name} (score)" if name == chosen else name,
                "rows": values["num_SR"],
                **{figure: _rounded(values[figure]) for figure in shown},
            }
        )
    notes = [f"Grounding by {name}: {rule.grounding}." for name, rule in rules.items()]
    return {"title": "The same answers under every rule, in %", "rows": rows, "notes": notes}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


class StepFigures:
    """Means over some steps, each with its interval."""

    def __init__(self, columns: SampleColumns) -> None:
        from utils.analysis.intervals import numbered

        self.results = [_result_of(details) for details in columns["details"]]
        self._episodes = numbered([result.episode for result in self.results])

    def by_kind(self) -> dict[str, list[int]]:
        """The indices of the steps of each kind of recorded action."""
        kinds: dict[str, list[int]] = {}
        for index, result in enumerate(self.results):
            kinds.setdefault(result.kind, []).append(index)
        return {kind: kinds[kind] for kind in in_order(kinds, KINDS)}

    def cell(self, place: int, number: int, indices: Sequence[int]) -> Row | None:
        """A figure of some steps by one rule; None where none of them counts.

        Args:
            place: of the figure in `FIGURES`.
            number: of the rule.
            indices: of the steps.
        """
        worth = [(index, self.results[index].worth[number][place]) for index in indices]
        values = [value for _, value in worth if value is not None]
        if not values:
            return None
        episodes = self._episodes[[index for index, value in worth if value is not None]]
        return {**share(values, episodes), "value": _percent(values)}


def details_of(result: StepResult) -> dict[str, Any]:
    """What the figures need of a step, as JSON."""
    return result._asdict()


def _result_of(details: Mapping[str, Any]) -> StepResult:
    worth = tuple((values[0], values[1], values[2]) for values in details["worth"])
    return StepResult(**{**details, "worth": worth})

"""Pairs the samples that ask for one element in different words: in one run, or in two of a model.

Rows of one element share its `element_id`, and each says its `wording`: basic and functional, or
original and refined. Their figures beside each other are a paired experiment on how a model reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from utils.analysis.paired import compare_paired
from utils.comparing.runs import ComparedRun
from utils.contracts import Facts
from utils.text import counted, format_difference, format_number


class _Wording(NamedTuple):
    """The samples of a run that one wording of a table asks."""

    run: ComparedRun
    dataset: str
    name: str
    samples: Mapping[str, Facts]  # by element


def by_element(samples: Iterable[Facts]) -> dict[str, Facts]:
    """Return samples by the element that they ask for; those of other tables have none."""
    elements: dict[str, Facts] = {}
    for facts in samples:
        if facts.get("element_id") is not None:
            elements.setdefault(str(facts["element_id"]), facts)
    return elements


def wording_notes(runs: Sequence[ComparedRun]) -> list[str]:
    """Return the difference between every two wordings that a model was asked, in a sentence."""
    wordings = [
        _Wording(run, dataset, name, by_element(samples))
        for run in runs
        for dataset, scored in run.sets.items()
        if scored.has_score
        for name, samples in _samples_by_wording(scored.samples.values()).items()
    ]
    notes: list[str] = []
    for first, second in combinations(wordings, 2):
        is_pair_of_runs = first.run is not second.run and first.dataset == second.dataset
        if first.run.model == second.run.model and not is_pair_of_runs:
            notes += _difference(first, second)
    return notes


def _samples_by_wording(samples: Iterable[Facts]) -> dict[str, list[Facts]]:
    wordings: dict[str, list[Facts]] = {}
    for facts in samples:
        if facts.get("wording"):
            wordings.setdefault(facts["wording"], []).append(facts)
    return wordings


def _difference(first: _Wording, second: _Wording) -> list[str]:
    elements = [element for element in first.samples if element in second.samples]
    if first.name == second.name or not elements:
        return []
    hits = [
        [wording.samples[element]["hit"] for element in elements] for wording in (second, first)
    ]
    images = [str(first.samples[element]["image"]) for element in elements]
    paired = compare_paired(hits[0], hits[1], images)
    sides = " to ".join(
        f"{format_number(100 * sum(hits_of_wording) / len(elements))} %"
        for hits_of_wording in reversed(hits)
    )
    names = [wording.name for wording in (second, first)]
    if first.dataset != second.dataset:
        names = [f"{wording.dataset} ({wording.name})" for wording in (second, first)]
    label = first.run.label
    if second.run is not first.run:
        label += f" and {second.run.label}"
    return [
        f"{label}, {first.dataset}: {names[0]} − {names[1]} = "
        f"{format_difference(*paired.points)} ({sides}), "
        f"{counted(len(elements), 'element')} asked for in both wordings, interval by image"
    ]

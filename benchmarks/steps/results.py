"""Results of recorded steps: the score file and the sections of the analysis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.figures import Sections
from benchmarks.matrics import Scores, in_order, mean
from benchmarks.steps.action import KINDS, StepAction
from benchmarks.steps.chance import ClickRow, cheap_answers
from benchmarks.steps.doubtful import MEANINGS, VERSION
from benchmarks.steps.figures import figures
from benchmarks.steps.rules import JudgedStep, Rule, Share, StepVerdict
from benchmarks.steps.shown import rule_words
from benchmarks.steps.truth import StepTruth
from utils.analysis.columns import Row, SampleColumns, share
from utils.contracts import WH, Verdict, repeat_key

FIGURES = ("Type", "Grounding", "SR")
SUCCESS = FIGURES.index("SR")
WITHOUT_DOUBTFUL, WITHOUT_WAIT = "micro without doubtful rows", "micro without wait"
COMPARED_BY_RULE = ("SR", "Type", "Grounding", "Episodes")
"""Figures that a comparison of runs shows under every rule."""
FIRST_MISSES, DIFFERS = "first misses of episodes", "differs"
Worth = tuple[float | None, float | None, float | None]
"""The value of one step in each of `FIGURES`, 0..1; None: the figure leaves the step out."""
StepsByRule = Mapping[str, Sequence[JudgedStep]]
"""The scored steps by each rule, in the order of the rules."""


def worth_of(verdict: StepVerdict) -> Worth:
    """The value of a verdict in each of `FIGURES`."""
    type_worth, grounding, success = (
        None if value is None else float(value)
        for value in (verdict.type, verdict.grounding, verdict.success)
    )
    return type_worth, grounding, success


class StepResult(NamedTuple):
    """The facts about one step that the score needs."""

    episode: str
    step: int  # from 0
    kind: str  # of the recorded action
    verdict: Verdict | None  # by the rule of the score
    worth: tuple[Worth, ...]  # by each of the rules, in their order
    doubts: tuple[str, ...] = ()  # why the annotation may be wrong
    labels: tuple[tuple[str, Any], ...] = ()  # of the step, for the benchmark's own figures

    def by(self, number: int) -> WorthOfStep:
        """The step by the rule of this number."""
        type_worth, grounding, success = self.worth[number]
        verdict = StepVerdict(
            type=None if type_worth is None else type_worth == 1,
            grounding=None if grounding is None else grounding == 1,
            success=success,
        )
        return WorthOfStep(self.episode, self.step, verdict)


class WorthOfStep(NamedTuple):
    """A step by one rule."""

    episode: str
    step: int
    verdict: StepVerdict


def kind_name(kind: str) -> str:
    """The name of a kind of a phone's actions for people: the buttons are back, home and others."""
    return "back / press" if kind == "press" else kind


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
        "grounding_of": rules[chosen].grounding,
        **_block(results, number),
        "macro by action": mean([block["SR"] for block in by_action.values()]),
        "by_action": by_action,
        "apart": {
            name: _block([results[index] for index in part], number)
            for name, part in _apart(
                [result.doubts for result in results], [result.kind for result in results]
            ).items()
        },
        "by_rule": {name: _block(results, index) for index, name in enumerate(rules)},
        "counts": {
            "samples": len(results),
            "answered": sum(result.verdict is not None for result in results),
            "unparsed": sum(result.verdict is Verdict.UNPARSED for result in results),
            "failed": sum(result.verdict is None for result in results),
        },
    }


def _apart(doubts: Sequence[Sequence[str]], kinds: Sequence[str]) -> dict[str, list[int]]:
    """The indices of steps that are not annotated doubtfully, and of those that do not wait.

    Empty where nothing is doubtful.
    """
    if not any(doubts):
        return {}
    return {
        WITHOUT_DOUBTFUL: [index for index, doubtful in enumerate(doubts) if not doubtful],
        WITHOUT_WAIT: [index for index, kind in enumerate(kinds) if kind != "wait"],
    }


def _block(results: Sequence[StepResult], number: int) -> dict[str, float | None]:
    """Figures of some steps by one rule in percent, each with its denominator."""
    block: dict[str, float | None] = {}
    for name, figure in figures([result.by(number) for result in results]).items():
        block[name] = _percent(figure)
        block[f"num_{name}"] = figure.denominator
    return block


def _percent(figure: Share) -> float | None:
    return None if figure.value is None else 100 * figure.value


# -- analysis -------------------------------------------------------------------------------------


def step_sections(  # noqa: PLR0913 - what a section says of a data set
    columns: SampleColumns,
    title: str,
    rules: Mapping[str, Rule],
    chosen: str,
    protocol: str,
    *,
    groupings: Sequence[str] = (),
    has_phone_actions: bool = True,
) -> Sections:
    """The sections of recorded steps; intervals are clustered by episode.

    Args:
        columns: of the scored samples.
        title: of the table.
        rules: by name, in the order of the verdicts in `details`.
        chosen: the name of the rule of the score.
        protocol: rows, level and history in words, which stand beside every figure.
        groupings: labels of the rows that have a figure for each value.
        has_phone_actions: the rules judge one action of a phone, as cheap answers are.
    """
    by_rule = judged_by_rules(columns, rules)
    steps = StepFigures(columns, by_rule[chosen])
    name_of = kind_name if has_phone_actions else str
    by_kind = {name_of(kind): part for kind, part in steps.by_kind().items()}
    members: dict[str, Sequence[int]] = {**by_kind, "Overall": range(len(columns))}
    rows: list[Row] = [
        {"name": figure, "cells": [steps.cell(index, part) for part in members.values()]}
        for index, figure in enumerate(FIGURES)
    ]
    success = rows[-1]["cells"]
    sections: Sections = {
        "table": {
            "title": title,
            "columns": list(members),
            "rows": rows,
            "unit": f"% by the rule {chosen}; {protocol}",
            "rule": chosen,
            "scored_by": f"rule {chosen}; {protocol}",
            "clusters": "episode",
            "official": list(FIGURES),
            "headline": f"rule {chosen}; {protocol}",
            "column_field": "split",
            "row_field": None,
            "parts": [],
        },
        "averages": {
            "micro over all rows": success[-1],
            "macro by action": _macro(success[:-1]),
            **steps.apart(),
        },
        "groups": {
            "split": dict(zip(by_kind, success, strict=False)),
            **{grouping: steps.by_label(grouping) for grouping in groupings},
        },
    }
    sections["rule_words"] = rule_words(rules, chosen)
    if doubtful := _doubtful_section(columns, by_rule[chosen], chosen):
        sections["doubtful"] = doubtful
    if len(rules) > 1:
        sections["rules"] = _rules_section(columns, by_rule, rules, chosen)
    sections["official"] = _official_section(by_rule, rules)
    if has_phone_actions:
        sections["cheap_answers"] = _cheap_answers_section(columns, by_rule[chosen], rules)
    return sections


def _macro(cells: Sequence[Row | None]) -> Row | None:
    values = [cell["value"] for cell in cells if cell]
    if not values:
        return None
    samples = sum(cell["samples"] for cell in cells if cell)
    return {"value": mean(values), "low": None, "high": None, "samples": samples}


def _rules_section(
    columns: SampleColumns, by_rule: StepsByRule, rules: Mapping[str, Rule], chosen: str
) -> dict[str, Any]:
    """One set of answers under every rule."""
    rows = []
    by_score = by_rule[chosen]
    first_misses = _are_first_misses(by_score)
    spans_by_name = {FIRST_MISSES: columns.spans(first_misses)}
    words_of_rows = {}
    for name, steps in by_rule.items():
        shares = figures(steps)
        percents = {figure: _rounded(_percent(value)) for figure, value in shares.items()}
        row_name = f"{name} (score)" if name == chosen else name
        differs = [
            None not in (step.verdict.success, other.verdict.success)
            and step.verdict.success != other.verdict.success
            for step, other in zip(steps, by_score, strict=True)
        ]
        words_of_rows[row_name] = rules[name].sentences
        spans_by_name[f"{row_name} {DIFFERS}"] = columns.spans(differs)
        rows.append(
            {
                "name": row_name,
                "SR": percents["SR"],
                DIFFERS: sum(differs),
                **percents,
                "Rows": int(shares["SR"].denominator),
            }
        )
    notes = [
        "Episodes: share of episodes with all steps right. Progress: mean share of an episode's "
        "steps before the first miss. Differs: steps on which this rule and the rule of the score "
        "disagree. Rows: on how many the rule gives a success or a miss.",
    ]
    return {
        "title": "The same answers under every rule, in %",
        "rows": rows,
        "notes": notes,
        "score": chosen,
        "words": {name: rule.sentences for name, rule in rules.items()},
        "words_of_rows": words_of_rows,
        "figures": {
            figure: {name: row[figure] for name, row in zip(rules, rows, strict=True)}
            for figure in COMPARED_BY_RULE
        },
        "counts": {FIRST_MISSES: sum(first_misses)},
        "at": {name: spans for name, spans in spans_by_name.items() if spans},
    }


def _doubtful_section(
    columns: SampleColumns, steps: Sequence[JudgedStep], chosen: str
) -> dict[str, Any] | None:
    """The rows whose annotation is doubtful, by reason; None where there are none."""
    doubts = [set(details["doubts"]) for details in columns["details"]]
    if not any(doubts):
        return None
    rows = []
    spans_by_name = {}
    for name, is_meant in {
        "any of these": [bool(doubtful) for doubtful in doubts],
        **{words: [code in doubtful for doubtful in doubts] for code, words in MEANINGS.items()},
    }.items():
        if not any(is_meant):
            continue
        part = [step for step, is_in in zip(steps, is_meant, strict=True) if is_in]
        success = _rounded(_percent(figures(part)["SR"]))
        rows.append({"name": name, "count": sum(is_meant), f"SR by {chosen}, %": success})
        spans_by_name[name] = columns.spans(is_meant)
    return {
        "title": "Doubtful annotation",
        "rows": rows,
        "notes": [f"Found by fixed rules, version {VERSION} (docs/steps.md)."],
        "at": spans_by_name,
    }


def _are_first_misses(steps: Sequence[JudgedStep]) -> list[bool]:
    """Of each step whether it is the first miss of its episode."""
    first: dict[str, int] = {}
    for step in steps:
        if step.verdict.success not in (None, 1):
            first[step.episode] = min(step.step, first.get(step.episode, step.step))
    return [first.get(step.episode) == step.step for step in steps]


def _official_section(by_rule: StepsByRule, rules: Mapping[str, Rule]) -> dict[str, Any]:
    """Figures with the denominators of the authors' own scripts, where these are others."""
    rows = []
    for name, rule in rules.items():
        if rule.official_figures is None:
            continue
        steps = by_rule[name]
        figure_notes = {} if rule.official_notes is None else rule.official_notes(steps)
        for figure, value in rule.official_figures(steps).items():
            rows.append(
                {
                    "name": f"{name}: {figure}",
                    "value": _rounded(_percent(value)),
                    "of": f"{value.numerator:g} of {value.denominator:g}",
                    "note": figure_notes.get(figure, ""),
                }
            )
    notes = ["As the authors' scripts count. Some leave out the replies that they cannot read."]
    return {
        "title": "Figures as the authors' scripts print them, in %",
        "rows": rows,
        "notes": notes,
    }


def official_rows(rule: str, official: Mapping[str, float | None]) -> list[Row]:
    """Rows of the section of official figures, of figures in percent without denominators."""
    return [
        {"name": f"{rule}: {figure}", "value": _rounded(value), "of": ""}
        for figure, value in official.items()
    ]


def _cheap_answers_section(
    columns: SampleColumns, steps: Sequence[JudgedStep], rules: Mapping[str, Rule]
) -> dict[str, Any]:
    """The section with the scores of answers without knowledge on these rows."""
    recorded = [
        ClickRow(step.truth, tuple(size))
        for step, size in zip(steps, columns["file_wh"], strict=True)
        if size
    ]
    rows = [
        {
            "name": name,
            **{
                answer: _rounded(_percent(value))
                for answer, value in cheap_answers(rule.judge, recorded).items()
            },
        }
        for name, rule in rules.items()
    ]
    notes = [
        "SR of a model that always gives this one answer. Random clicks count on click rows only."
    ]
    return {"title": "SR of answers without knowledge, in %", "rows": rows, "notes": notes}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


class StepFigures:
    """Means over some steps by one rule, each with its interval."""

    def __init__(self, columns: SampleColumns, steps: Sequence[JudgedStep]) -> None:
        from utils.analysis.intervals import numbered

        self._steps = steps
        self._details: list[Mapping[str, Any]] = columns["details"]
        self._episodes = numbered([details["episode"] for details in self._details])

    def by_kind(self) -> dict[str, list[int]]:
        """The indices of the steps of each kind of recorded action."""
        kinds: dict[str, list[int]] = {}
        for index, step in enumerate(self._steps):
            kinds.setdefault(step.truth.action.kind, []).append(index)
        return {kind: kinds[kind] for kind in in_order(kinds, KINDS)}

    def apart(self) -> dict[str, Row | None]:
        """SR without doubtful rows, and without those that wait, if any row is doubtful."""
        doubts = [details["doubts"] for details in self._details]
        kinds = [step.truth.action.kind for step in self._steps]
        return {name: self.cell(SUCCESS, part) for name, part in _apart(doubts, kinds).items()}

    def by_label(self, name: str) -> dict[str, Row | None]:
        """SR for each value of a label."""
        members: dict[str, list[int]] = {}
        for index, details in enumerate(self._details):
            members.setdefault(str(details["labels"].get(name)), []).append(index)
        return {label: self.cell(SUCCESS, members[label]) for label in sorted(members)}

    def cell(self, figure_index: int, indices: Sequence[int]) -> Row | None:
        """The figure at this index of `FIGURES` for some steps; None where none of them counts."""
        worth = [(index, worth_of(self._steps[index].verdict)[figure_index]) for index in indices]
        values = [value for _, value in worth if value is not None]
        if not values:
            return None
        episodes = self._episodes[[index for index, value in worth if value is not None]]
        return {**share(values, episodes), "value": 100 * sum(values) / len(values)}


# -- what is kept of each step ---------------------------------------------------------------------


def details_of(
    result: StepResult,
    recorded: Mapping[str, Any],
    answered: Mapping[str, Any] | None,
    verdicts: Sequence[StepVerdict],
) -> dict[str, Any]:
    """The facts about a step that the figures need, as JSON.

    Args:
        recorded: the action in its JSON form; if there are several, the kind of the first.
        answered: the answer in the same form; None: nothing could be read.
        verdicts: by each of the rules, in their order.
    """
    return {
        "episode": result.episode,
        "step": result.step,
        "recorded": recorded,
        "answered": answered,
        "verdicts": [
            [verdict.type, verdict.grounding, verdict.success, dict(verdict.counts)]
            for verdict in verdicts
        ],
        "doubts": list(result.doubts),
        "labels": dict(result.labels),
    }


def judged_by_rules(columns: SampleColumns, rules: Iterable[str]) -> StepsByRule:
    """The scored steps by each of the rules, in the order of the verdicts in `details`.

    If each step has several answers, each of them belongs to an episode of its own.
    """
    read = [
        (
            details,
            repeat_key(details["episode"], repeat or 1),
            _action_of(details["answered"]) if details["answered"] else None,
            _truth_of(details, target),
        )
        for details, target, repeat in zip(
            columns["details"], columns["target"], columns["repeat"], strict=True
        )
    ]
    return {
        rule: [
            JudgedStep(
                episode=episode,
                step=details["step"],
                action=action,
                truth=truth,
                verdict=StepVerdict(*details["verdicts"][number]),
            )
            for details, episode, action, truth in read
        ]
        for number, rule in enumerate(rules)
    }


def _action_of(fields: Mapping[str, Any]) -> StepAction:
    """An action from its JSON form; of a desktop the kind alone."""
    is_of_phone = fields["kind"] in KINDS
    return StepAction.from_json(fields) if is_of_phone else StepAction(fields["kind"])


def _truth_of(details: Mapping[str, Any], target: Mapping[str, Any] | None) -> StepTruth:
    """The recorded action, with the candidate boxes in fractions."""
    boxes = (target or {}).get("boxes", ())
    action = _action_of(details["recorded"])
    return StepTruth(action, boxes_frac=tuple((x1, y1, x2, y2) for x1, y1, x2, y2 in boxes))


def size_of(line: Mapping[str, Any], file_wh: WH | None) -> WH:
    """The size of a step's screenshot in pixels: that of the file, or what the row says."""
    return file_wh or (line["image_size"][0], line["image_size"][1])

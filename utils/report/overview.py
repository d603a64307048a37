"""What the report's overview shows of a data set, as texts and links: Python rounds, not the page.

A link is a filter of the list: fields and their values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from utils.config.schema import token_limit_key
from utils.contracts import Facts
from utils.protocol import (
    ACTING,
    AVERAGE,
    DIFFICULTIES,
    GROUNDING_TYPES,
    OVERALL,
    PLATFORM_LABELS,
    has_score,
    noun_of,
    official_figures,
    unit_of,
)
from utils.published import read_published
from utils.report.run_facts import REPEATED
from utils.text import cut, format_interval, format_number, format_percent, format_share

Json = dict[str, Any]
NO_ANSWER = "no answer"
OUTCOMES = ("hit", "miss", "unparsed", NO_ANSWER, "refused", "failed")
FIELDS_OF_GROUPS = ("platform", "kind", "split", "app")
GROUP_TITLES = {"kind": "Type of element", "split": "Category", "app": "Application"}
SPLITS = (*DIFFICULTIES, *GROUNDING_TYPES)
MOST_EXAMPLES = 3
LONGEST_EXAMPLE = 200
EPISODE_TERMS = (
    "SR: share of episodes that succeeded within the step limit · EQA: efficiency-quality area, "
    "the mean share of successes so far while the allowed steps are used up, episodes in file order"
    " · EQA*: the same in any order"
)
CUT_OFF, RESIZED = "cut off at the token limit", "image resized"
WITHOUT_ANSWER = "without an answer"


class Tally:
    """Counts the samples of a data set while they pass, and keeps examples of what went wrong."""

    def __init__(self, dataset: str) -> None:
        self.dataset = dataset
        self.counts: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.apps: dict[str, set[str]] = {}  # as the list filters by them, of each application
        self._examples: dict[str, tuple[list[Json], list[Json]]] = {}

    def add(self, facts: Facts, row: int) -> list[str]:
        """One more sample, `row` being its number in the page; the checks that name it."""
        status, error = str(facts.get("status")), facts.get("error")
        outcome = str(facts.get("verdict") or NO_ANSWER) if status == "ok" else status
        attempts = facts.get("attempts") or 1
        tags = [CUT_OFF] * (facts.get("finish_reason") == "length")
        is_resized = facts.get("sent_wh") and facts["sent_wh"] != facts.get("file_wh")
        tags += [RESIZED] * bool(is_resized)
        tags += [REPEATED] * (attempts > 1)
        for name in facts.get("apps") or ():
            self.apps.setdefault(str(name), set()).add(str(facts.get("app")))
        self.outcomes[outcome] += 1
        self.counts.update(["samples", *tags])
        self.counts["requests"] += attempts
        if outcome in (NO_ANSWER, "refused", "failed"):
            self.counts[WITHOUT_ANSWER] += 1
        if outcome not in ("hit", "miss"):
            said = f"{error['class']}: {error['message']}" if error else facts.get("prediction")
            self._keep(outcome, str(said), row)
        return tags

    def _keep(self, outcome: str, text: str, row: int) -> None:
        """Examples that differ from each other come first, then others."""
        examples, others = self._examples.setdefault(outcome, ([], []))
        if len(examples) == MOST_EXAMPLES:
            return
        text = cut(text, LONGEST_EXAMPLE)
        is_new = text not in [each["text"] for each in examples]
        if is_new or len(others) < MOST_EXAMPLES:
            (examples if is_new else others).append({"text": text or "(empty)", "row": row})

    @property
    def has_score(self) -> bool:
        """Whether enough samples have an answer."""
        return has_score(self.without_answer, self.counts["samples"])

    @property
    def without_answer(self) -> int:
        """Failed, refused, or lost in the postprocess function."""
        return sum(self.outcomes[name] for name in (NO_ANSWER, "refused", "failed"))

    def problems(self, level: str) -> list[Json]:
        """What failed or could not be read, with examples."""
        total = self.counts["samples"]
        texts = (
            {
                "failed": "episodes failed",
                "refused": "episodes were refused by the server",
                NO_ANSWER: "episodes have no result",
                "unparsed": "episodes ended because no action could be read",
            }
            if level in ACTING
            else {
                "failed": "requests failed",
                "refused": "requests were refused by the server",
                NO_ANSWER: "replies have no text to read",
                "unparsed": "replies are unparsed",
            }
        )
        return [
            {
                "level": level,
                "count": f"{count:,} of {total:,}",
                "link": self.link(name),
                "text": f"{what} ({format_share(count, total)} %)",
                "examples": [*chain(*self._examples[name])][:MOST_EXAMPLES],
            }
            for name, what in texts.items()
            if (count := self.outcomes[name])
        ]

    def outcome_list(self) -> list[Json]:
        """What became of the samples, with counts and shares."""
        total = self.counts["samples"]
        return [
            {
                "name": name,
                "count": count,
                "share": format_share(count, total),
                "link": self.link(name),
            }
            for name in OUTCOMES
            if (count := self.outcomes[name])
        ]

    def link(self, outcome: str) -> Json:
        """The filter of the samples that ended so."""
        field = "status" if outcome in ("failed", "refused") else "verdict"
        more = {"status": "ok"} if outcome == NO_ANSWER else {}
        return {"dataset": self.dataset, field: outcome, **more}


def run_checks(counts: Mapping[str, int], entry: Mapping[str, Any]) -> list[Json]:
    """Checks of the run as a whole, one line each, in the form of those of a data set.

    `entry`: of the model, in the config.
    """
    total = counts["samples"] - counts["episodes"]  # of their turns nothing is known here
    found = [
        (
            "Answers",
            "every question has an answer",
            WITHOUT_ANSWER,
            {"verdict": NO_ANSWER},
            "questions have no answer: failed, refused, or lost in the postprocess function",
        ),
        (
            "Token limit",
            "no reply was cut off",
            CUT_OFF,
            {"finish": "length"},
            f"replies were cut off at the token limit ({token_limit_key(entry)})",
        ),
        (
            "Image size",
            "all images were sent as they are",
            RESIZED,
            {"check": RESIZED},
            "samples had their image resized before sending; pixel coordinates in replies "
            "are divided by the size of the file",
        ),
    ]
    return [
        {
            "level": "",
            "title": title,
            "clear": clear,
            "tables": [],
            "notes": [],
            "findings": [{"text": f"{counts[name]:,} of {total:,} {text}", "link": link}]
            if counts[name]
            else [],
        }
        for title, clear, name, link, text in found
        if total
    ]


def scores_of(
    tally: Tally, analysis: Mapping[str, Any], level: str, *, is_comparable: bool
) -> Json:
    """Official figures, table, groups and averages of a data set."""
    dataset, unit = tally.dataset, unit_of(level)
    official = official_figures(analysis) if tally.has_score else {}
    main = {OVERALL, AVERAGE, *[name for name in official if name.startswith("SR ")][-1:]}
    main |= official.keys() if len(official) == 1 else set()  # of a single mode
    figures = [
        {**_figure(dataset, name, cell, analysis), "is_main": name in main}
        for name, cell in official.items()
    ]
    circular = analysis.get("circular") or {}
    return {
        "unit": unit,
        "figures": figures,
        "no_score": None if tally.has_score else _no_score(tally, level),
        "chance": (analysis.get("chance") or {}).get("meaning"),
        "terms": EPISODE_TERMS if unit == "task" else "",
        "published": _published(dataset, figures, is_comparable=is_comparable),
        "outcomes": tally.outcome_list(),
        "table": _table(dataset, analysis["table"], unit) if figures else None,
        "circular": None
        if not circular.get("table")
        else {**_table(None, circular["table"], unit), "notes": circular["notes"]},
        "groups": [
            {
                "title": GROUP_TITLES.get(name, _heading(name)),
                "cells": [
                    _cell(cell, _group_link(tally, name, label), name=_heading(label))
                    for label, cell in cells.items()
                    if cell
                ],
            }
            for name, cells in (analysis.get("groups") or {}).items()
            if figures and (name != "split" or "episodes" in analysis)  # else: official figures
        ],
        "averages": [
            _cell(cell, None, name=_heading(name))
            for name, cell in (analysis.get("averages") or {}).items()
            if figures and cell and ("micro" in name or "macro" in name)
        ],
    }


def _figure(dataset: str, name: str, cell: Json, analysis: Mapping[str, Any]) -> Json:
    chance = (analysis.get("chance") or {}).get(name)
    link = {"dataset": dataset} | ({"split": name} if name in SPLITS else {})
    found = {"chance": chance, "chance_text": None if chance is None else format_number(chance, 1)}
    return {**_cell(cell, link, name=name), **found}


def _no_score(tally: Tally, level: str) -> Json:
    """What stands in the place of the score."""
    what = "episodes failed" if level in ACTING else "requests failed"
    what = f"{noun_of(level)}s have no answer" if tally.outcomes[NO_ANSWER] else what
    lost = [each for each in tally.problems(level) if each["link"].get("verdict") != "unparsed"]
    return {
        "text": f"{tally.without_answer:,} of {tally.counts['samples']:,} {what}",
        "link": {"dataset": tally.dataset, "verdict": NO_ANSWER},
        "examples": [example for each in lost for example in each["examples"]][:MOST_EXAMPLES],
    }


def _published(dataset: str, figures: Sequence[Json], *, is_comparable: bool) -> Json | None:
    """Published scores of other models beside the figures that they have."""
    published = read_published()
    rows = published.get(dataset, {})
    found = {}
    for name in (each["name"] for each in figures):
        values = {
            model: cells["Overall"]
            for model, cells in rows.get(name, {}).items()
            if "Overall" in cells
        }
        if values:
            ranked = sorted(values.items(), key=lambda each: -each[1])
            found[name] = [
                {"model": model, "value": value, "text": format_percent(value)}
                for model, value in ranked
            ]
    if not found:
        return None
    return {"figures": found, "source": published["source"], "is_comparable": is_comparable}


def _cell(cell: Mapping[str, Any], link: Json | None, *, name: str = "") -> Json:
    shown_texts = {"text": format_percent(cell["value"]), "range": format_interval(cell)}
    numbers = {key: cell.get(key) for key in ("value", "low", "high", "samples", "pictures")}
    return {"name": name, **shown_texts, **numbers, "link": link if cell.get("samples") else None}


def _table(dataset: str | None, table: Mapping[str, Any], unit: str) -> Json:
    rows = [
        {
            "name": _heading(row["name"]),
            "cells": [
                None
                if cell is None or cell["value"] is None
                else _cell(cell, _table_link(dataset, row["name"], column))
                for column, cell in zip(table["columns"], row["cells"], strict=True)
            ],
        }
        for row in table["rows"]
    ]
    said = table.get("unit", "accuracy in %") + f", with 95 % intervals by {unit}"
    return {
        "title": table["title"],
        "columns": [*map(_heading, table["columns"])],
        "rows": rows,
        "unit": said,
    }


def _table_link(dataset: str | None, row: str, column: str) -> Json | None:
    if dataset is None:  # a figure of several answers to each sample
        return None
    link = {"dataset": dataset} | ({"platform": column} if column in PLATFORM_LABELS else {})
    return link | ({"split": row} if row in SPLITS else {})


def _group_link(tally: Tally, group: str, label: str) -> Json | None:
    if label == "none":  # samples without a value, which no filter names
        return None
    if group == "app":  # an episode may need several
        return {"dataset": tally.dataset, group: sorted(tally.apps.get(label, {label}))}
    if group in FIELDS_OF_GROUPS:
        return {"dataset": tally.dataset, group: label}
    return {"dataset": tally.dataset, "check": f"{group}: {label}"}


def _heading(name: str) -> str:
    return PLATFORM_LABELS.get(name, name[:1].upper() + name[1:])

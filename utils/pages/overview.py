"""Makes what the report's overview shows of a data set: texts and links, rounded in Python.

A link is a filter of the list: fields and their values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from utils.analysis.judge_reading import SECTION as JUDGED
from utils.analysis.repeats import SECTION as REPEATS
from utils.config.schema import token_limit_key
from utils.contracts import Facts, repeat_of
from utils.coordinates import format_size
from utils.datasets.published import (
    PROTOCOLS,
    REMARKS,
    distance_of,
    read_published,
    sources_of,
)
from utils.findings import capitalised
from utils.pages.checks import group_tag
from utils.protocol import (
    ACTING,
    AVERAGE,
    DIFFICULTIES,
    GROUNDING_TYPES,
    IMPORTED,
    OVERALL,
    PLATFORM_LABELS,
    TIERS,
    episode_terms,
    is_environment_failure,
    official_figures,
    official_text,
    unit_of,
    why_no_score,
)
from utils.scoring.doubtful import SECTION as WITHOUT_DOUBTFUL
from utils.scoring.doubtful import heading
from utils.store.run_facts import REPEATED
from utils.text import (
    cut,
    format_interval,
    format_number,
    format_percent,
    format_share,
    resized_by,
    resized_text,
)

Json = dict[str, Any]
NO_ANSWER = "no answer"
OUTCOMES = ("hit", "miss", "unparsed", NO_ANSWER, "refused", "failed", "missing")
FIELDS_OF_GROUPS = ("platform", "kind", "split", "app")
ROWS_BY_FEASIBILITY = ("SR feasible", "recall infeasible", "false fail")
GROUP_TITLES = {
    "kind": "Type of element",
    "split": "Category",
    "app": "Application",
    "target size": "Target size, in % of the image size",
}
PROBLEMS = {
    "failed": "requests failed",
    "missing": "samples have no row in the import",
    "refused": "requests were refused by the server",
    NO_ANSWER: "replies have no text",
    "unparsed": "replies are unparsed",
}
PROBLEMS_OF_EPISODES = {
    "failed": "episodes failed",
    "missing": "episodes have no row in the import",
    "refused": "episodes were refused by the server",
    NO_ANSWER: "episodes have no result",
    "unparsed": "episodes ended because no action could be read",
}
SPLITS = (*DIFFICULTIES, *GROUNDING_TYPES)
MOST_EXAMPLES = 3
LONGEST_EXAMPLE = 200
TOO_FEW_ANSWERS = "No score: too many answers are missing to say anything about the model."
FAILED_ENVIRONMENT = (
    "No headline figure: run the same command to play these episodes again. The score file has all "
    "figures."
)
CUT_OFF, RESIZED = "cut off at the token limit", "image resized"
DECLINED = "declined"
WITHOUT_ANSWER = "without an answer"
ENVIRONMENT_FAILURES = "environment failures"


class Tally:
    """Counts the samples of a data set one by one, and keeps examples of what went wrong."""

    def __init__(self, dataset: str) -> None:
        self.dataset = dataset
        self.counts: Counter[str] = Counter()
        self.questions = 0  # each of which may have several answers
        self.outcomes: Counter[str] = Counter()
        self.resized: Counter[tuple[str, str]] = Counter()  # samples by size of the file, as sent
        self.apps: dict[str, set[str]] = {}  # as the list filters by them, of each application
        self.folders: set[str] = set()  # that its images lie in, by name
        self.taken_from: Counter[str] = Counter()  # samples by the folder of another table
        self.units: set[str] = set()  # the images or tasks that the samples are of
        self.episodes: set[str] = set()  # of recorded steps
        self.digests: dict[str, set[str]] = {}  # of each image, as the model was asked about it
        self._examples: dict[str, tuple[list[Json], list[Json]]] = {}

    def add(self, facts: Facts, row: int) -> list[str]:
        """Count a sample and return the checks that name it; `row`: its number in the page."""
        status = str(facts.get("status"))
        outcome = str(facts.get("verdict") or NO_ANSWER) if status == "ok" else status
        attempts = facts.get("attempts") or 1
        tags: list[str] = []
        if facts.get("finish_reason") == "length":
            tags.append(CUT_OFF)
        if facts.get("sent_wh") and facts["sent_wh"] != facts.get("file_wh"):
            tags.append(RESIZED)
            sizes = format_size(facts.get("file_wh")), format_size(facts["sent_wh"])
            self.resized[sizes] += 1
        if attempts > 1:
            tags.append(REPEATED)
        if facts.get("declined"):
            tags.append(DECLINED)
        self._add_origin(facts)
        self.questions += repeat_of(str(facts["key"])) == 1
        self.outcomes[outcome] += 1
        self.counts.update(["samples", *tags])
        self.counts["requests"] += attempts
        if outcome in (NO_ANSWER, "refused", "failed", "missing"):
            self.counts[WITHOUT_ANSWER] += 1
        self.counts[ENVIRONMENT_FAILURES] += is_environment_failure(facts)
        if outcome not in ("hit", "miss"):
            error = facts.get("error")
            text = f"{error['class']}: {error['message']}" if error else facts.get("prediction")
            self._keep(outcome, str(text), row)
        return tags

    def _add_origin(self, facts: Facts) -> None:
        """Keep what a sample is of: its image or task, applications, another table."""
        for name in facts.get("apps") or ():
            self.apps.setdefault(str(name), set()).add(str(facts.get("app")))
        image = facts.get("image")
        self.folders.add(str(image).partition("/")[0])
        if facts.get("episode"):
            self.episodes.add(str(facts["episode"]))
        unit = facts.get("task") or image
        if unit:
            self.units.add(unit)
        if image and facts.get("trajectory") is None:
            self.digests.setdefault(image, set()).update(filter(None, [facts.get("image_digest")]))
        if facts.get("taken_from"):
            self.taken_from[facts["taken_from"]] += 1

    def _keep(self, outcome: str, text: str, row: int) -> None:
        """Keep an example of an outcome: those that differ from each other come first."""
        examples, others = self._examples.setdefault(outcome, ([], []))
        if len(examples) == MOST_EXAMPLES:
            return
        text = cut(text, LONGEST_EXAMPLE)
        is_new = text not in [example["text"] for example in examples]
        alike = examples if is_new else others
        if len(alike) < MOST_EXAMPLES:
            alike.append({"text": text or "(empty)", "row": row})

    def why_no_score(self, level: str) -> str:
        """Say why no figure is shown; "": there are figures."""
        return why_no_score(
            level,
            self.counts["samples"],
            without_answer=self.counts[WITHOUT_ANSWER],
            environment_failures=self.counts[ENVIRONMENT_FAILURES],
        )

    def problems(self, level: str) -> list[Json]:
        """Samples that failed or could not be read, with examples."""
        total = self.counts["samples"]
        problems: list[Json] = []
        texts = PROBLEMS_OF_EPISODES if level in ACTING else PROBLEMS
        for outcome, text in texts.items():
            count = self.outcomes[outcome]
            if not count:
                continue
            examples, others = self._examples[outcome]
            problems.append(
                {
                    "level": level,
                    "count": f"{count:,} of {total:,}",
                    "link": self.link(outcome),
                    "text": f"{text} ({format_share(count, total)} %)",
                    "examples": [*examples, *others][:MOST_EXAMPLES],
                }
            )
        return problems

    def outcome_list(self) -> list[Json]:
        """The outcomes of the samples, with counts and shares."""
        total = self.counts["samples"]
        return [
            {
                "name": name,
                "count": self.outcomes[name],
                "share": format_share(self.outcomes[name], total),
                "link": self.link(name),
            }
            for name in OUTCOMES
            if self.outcomes[name]
        ]

    def declined(self) -> Json | None:
        """The number of replies that say that an element is not there; None: not one."""
        count = self.counts[DECLINED]
        link = {"dataset": self.dataset, "check": DECLINED}
        return {"count": count, "link": link} if count else None

    def link(self, outcome: str) -> Json:
        """Return the filter of the samples with an outcome."""
        link = {"dataset": self.dataset}
        if outcome in ("failed", "refused", "missing"):
            link["status"] = outcome
        else:
            link["verdict"] = outcome
        if outcome == NO_ANSWER:
            link["status"] = "ok"
        return link


def shared_rows(tally: Tally, tallies: Sequence[Tally]) -> str:
    """Say how many rows come from another table that the run has as well; "" for none."""
    sentences = [
        f"{count} of its {tally.counts['samples']:,} rows come from {other.dataset}, which this "
        "run also scores: the two scores are not independent."
        for folder, count in tally.taken_from.items()
        for other in tallies
        if folder in other.folders
    ]
    return " ".join(sentences)


def run_checks(
    counts: Mapping[str, int],
    entry: Mapping[str, Any],
    tallies: Sequence[Tally],
    by_recipe: Collection[str] = (),
) -> list[Json]:
    """Return the checks of the run as a whole, in the form of those of a data set.

    Args:
        counts: the sums of the tallies, and "episodes".
        entry: of the model, in the config.
        tallies: of all data sets.
        by_recipe: key paths of the settings of images that its recipe has set.
    """
    total = counts["samples"] - counts["episodes"]  # of their turns nothing is known here
    if not total:
        return []
    sizes = sum((tally.resized for tally in tallies), Counter())
    asked_by = resized_by(entry.get("kwargs") or {}, by_recipe)
    resized = capitalised(resized_text(sizes, asked_by)) if sizes else ""
    return [
        _run_check(
            "Replies",
            "every sample has a reply",
            {"verdict": NO_ANSWER},
            counts[WITHOUT_ANSWER],
            f"of {total:,} samples have no reply: failed, refused, or lost in the postprocess "
            "function",
        ),
        _run_check(
            "Token limit",
            "no reply was cut off",
            {"finish": "length"},
            counts[CUT_OFF],
            f"of {total:,} replies were cut off at the token limit ({token_limit_key(entry)})",
        ),
        {
            **_run_check("Image size", resized or "all images were sent as they are", {}, 0, ""),
            "findings": (
                [{"text": resized, "link": {"check": RESIZED}}] if resized and not asked_by else []
            ),
        },
    ]


def _run_check(title: str, clear: str, link: Json, count: int, finding: str) -> Json:
    """Return a check of the run as a whole.

    Args:
        title: of the check.
        clear: what is said where it found nothing.
        link: a filter that lists the samples that it found.
        count: of these samples.
        finding: what is said behind their count.
    """
    return {
        "level": "",
        "title": title,
        "clear": clear,
        "tables": [],
        "notes": [],
        "findings": [{"text": f"{count:,} {finding}", "link": link}] if count else [],
    }


def scores_of(
    tally: Tally, analysis: Mapping[str, Any], level: str, *, is_comparable: bool
) -> Json:
    """Return official figures, tables, groups and averages of a data set.

    Args:
        tally: of its samples.
        analysis: its sections; without a score only what needs none is used.
        level: of the data set.
        is_comparable: published scores of other models compare with these.
    """
    dataset = tally.dataset
    unit = (analysis.get("table") or {}).get("clusters") or unit_of(level)
    no_score = tally.why_no_score(level)
    figures = [] if no_score else _figures(tally, analysis)
    overview = {
        "unit": unit,
        "figures": figures,
        "no_score": _no_score(tally, level, no_score) if no_score else None,
        "chance": (analysis.get("chance") or {}).get("meaning"),
        "terms": _terms(analysis, unit),
        "published": None
        if IMPORTED in (analysis.get("head") or {})
        else _published(dataset, figures, is_comparable=is_comparable),
        "outcomes": tally.outcome_list(),
        "declined": tally.declined(),
        "table": _table(dataset, analysis["table"], unit) if figures else None,
        "circular": _own_table(analysis, "circular", unit),
        "judge": _own_table(analysis, "judge", unit) if figures else None,
        "judged": _judged(analysis) if figures else None,
        "all_orders": _all_orders(analysis) if figures else None,
        "without_doubtful": _without_doubtful(analysis) if figures else None,
        "groups": _groups(tally, analysis) if figures else [],
        "averages": _averages(analysis) if figures else [],
    }
    repeats = _own_table(analysis, REPEATS, unit) if figures else None
    if repeats:
        repeats["columns"] = analysis[REPEATS]["table"]["columns"]  # "pass@1" has no capital
        overview[REPEATS] = repeats
    return overview


def _own_table(analysis: Mapping[str, Any], name: str, unit: str) -> Json | None:
    """Return the table of a section with its notes; None where it has none."""
    section = analysis.get(name) or {}
    if not section.get("table"):
        return None
    return {**_table(None, section["table"], unit), "notes": section["notes"]}


def _figures(tally: Tally, analysis: Mapping[str, Any]) -> list[Json]:
    """Return the official figures; "is_main" marks those that stand large."""
    official = official_figures(analysis)
    success_rates = [name for name in official if name.startswith("SR ")]
    main = {OVERALL, AVERAGE, *success_rates[-1:]}
    if len(official) == 1:  # of a single mode
        main.update(official)
    return [
        {**_figure(tally.dataset, name, cell, analysis), "is_main": name in main}
        for name, cell in official.items()
    ]


def _groups(tally: Tally, analysis: Mapping[str, Any]) -> list[Json]:
    """Return the accuracies of groups of samples, by platform, kind and so on."""
    groups: list[Json] = []
    for name, cells in (analysis.get("groups") or {}).items():
        if name == "split" and "episodes" not in analysis:
            continue  # the official figures say it
        group_cells = [
            _cell(cell, _group_link(tally, name, label), name=_heading(label))
            for label, cell in cells.items()
            if cell
        ]
        groups.append({"title": GROUP_TITLES.get(name, _heading(name)), "cells": group_cells})
    return groups


def _averages(analysis: Mapping[str, Any]) -> list[Json]:
    """Return the averages that do not stand large: all of a grounding table, micro and macro."""
    headline = analysis["table"].get("headline")
    return [
        _cell(cell, None, name=_heading(name))
        for name, cell in (analysis.get("averages") or {}).items()
        if cell and name != headline and (headline or "micro" in name or "macro" in name)
    ]


def _judged(analysis: Mapping[str, Any]) -> Json | None:
    """Return the figure with the judge; None without one."""
    cell = (analysis.get(JUDGED) or {}).get("overall")
    return _cell(cell, None, name="Overall with the judge") if cell else None


def _all_orders(analysis: Mapping[str, Any]) -> Json | None:
    """Return the figure of circular evaluation; None without one."""
    rows = (analysis.get("circular") or {}).get("rows")
    name = "Circular accuracy: right in every order of the options"
    return _cell(rows[-1]["circular"], None, name=name) if rows else None


def _without_doubtful(analysis: Mapping[str, Any]) -> Json | None:
    """Return the figure without doubtful rows; None without one."""
    section = analysis.get(WITHOUT_DOUBTFUL) or {}
    cell = section.get("figure")
    return _cell(cell, None, name=capitalised(heading(section))) if cell else None


def _terms(analysis: Mapping[str, Any], unit: str) -> list[str]:
    """Notes that a reader of the figures that stand large has to know, a line each."""
    if unit == "task":
        rows = [row["name"] for row in (analysis.get("table") or {}).get("rows", ())]
        return episode_terms(rows)
    official = official_text(analysis)
    headline = (analysis.get("table") or {}).get("headline")
    others = [
        f"{name} {format_percent(cell['value'])} %"
        for name, cell in (analysis.get("averages") or {}).items()
        if headline and cell and name != headline
    ]
    lines = [f"official figure: {official}"] if official else []
    by_rule = analysis.get("rules")
    if by_rule:
        lines.append(f'figures by all other rules are below: "{by_rule["title"]}"')
    if others:
        lines.append(f"not official: {', '.join(others)}")
    return lines


def _figure(dataset: str, name: str, cell: Json, analysis: Mapping[str, Any]) -> Json:
    chance = (analysis.get("chance") or {}).get(name)
    table = analysis["table"]
    link = _table_link(dataset, name, table["columns"][-1], table)
    chance_text = None if chance is None else format_number(chance, 1)
    return {**_cell(cell, link, name=name), "chance": chance, "chance_text": chance_text}


def _no_score(tally: Tally, level: str, why: str) -> Json:
    """The text in the place of the score: why there is none, with its samples."""
    text = why
    total = tally.counts["samples"]
    without_answer = tally.counts[WITHOUT_ANSWER]
    if level not in ACTING and not tally.outcomes[NO_ANSWER]:
        text = f"{without_answer:,} of {total:,} requests failed"
    examples = [
        example
        for problem in tally.problems(level)
        if problem["link"].get("verdict") != "unparsed"
        for example in problem["examples"]
    ]
    return {
        "text": text,
        "note": TOO_FEW_ANSWERS if 2 * without_answer > total else FAILED_ENVIRONMENT,
        "link": {"dataset": tally.dataset, "verdict": NO_ANSWER},
        "examples": examples[:MOST_EXAMPLES],
    }


def _published(dataset: str, figures: Sequence[Json], *, is_comparable: bool) -> Json | None:
    """Return published scores of other models, best first, by name of the figure."""
    published = read_published()
    rows = published.get(dataset, {})
    others = published[PROTOCOLS].get(dataset, {})  # rows of another protocol
    remarks = published[REMARKS].get(dataset, {})
    published_figures: dict[str, list[Json]] = {}
    for figure in figures:
        scores = [
            {
                "model": model,
                "value": cells["Overall"],
                "text": format_percent(cells["Overall"]),
                "remark": remarks.get(model, ""),
            }
            for model, cells in rows.get(figure["name"], {}).items()
            if "Overall" in cells and model not in others
        ]
        if scores:
            best_first = sorted(scores, key=lambda score: -score["value"])
            published_figures[figure["name"]] = best_first
    if not published_figures:
        return None
    models = [score["model"] for scores in published_figures.values() for score in scores]
    sources = sources_of(published, dataset, dict.fromkeys(models))
    return {"figures": published_figures, "sources": sources, "is_comparable": is_comparable}


def published_of_checkpoint(section: Mapping[str, Any] | None) -> Json | None:
    """Return the published figures of the run's checkpoint, with their distance in words."""
    if not section:
        return None
    rows = [{**row, "distance": distance_of(row)} for row in section["rows"]]
    return {**section, "rows": rows}


def _cell(cell: Mapping[str, Any], link: Json | None, *, name: str = "") -> Json:
    texts = {"text": format_percent(cell["value"]), "range": format_interval(cell)}
    numbers = {key: cell.get(key) for key in ("value", "low", "high", "samples", "pictures")}
    return {"name": name, **texts, **numbers, "link": link if cell.get("samples") else None}


def _table(dataset: str | None, table: Mapping[str, Any], unit: str) -> Json:
    rows: list[Json] = []
    for row in table["rows"]:
        cells: list[Json | None] = []
        for column, cell in zip(table["columns"], row["cells"], strict=True):
            if cell is None or cell["value"] is None:
                cells.append(None)
            else:
                link = _table_link(dataset, row["name"], column, table)
                cells.append(_cell(cell, link))
        rows.append({"name": _heading(row["name"]), "cells": cells})
    has_intervals = any(cell and cell["range"] for row in rows for cell in row["cells"])
    intervals = f", with 95 % intervals by {table.get('clusters', unit)}" if has_intervals else ""
    return {
        "title": table["title"],
        "columns": [_heading(column) for column in table["columns"]],
        "rows": rows,
        "unit": f"{table.get('unit', 'accuracy in %')}{intervals}",
    }


def _table_link(
    dataset: str | None, row: str, column: str, table: Mapping[str, Any]
) -> Json | None:
    if dataset is None:  # a figure of several answers to each sample
        return None
    link = {"dataset": dataset}
    if "official" in table:
        fields = {column: table["column_field"]} if column != table["columns"][-1] else {}
        if row != table["rows"][-1]["name"]:
            fields[row] = table["row_field"]
        if None in fields.values():  # no filter selects these samples
            return None
        return link | {field: label for label, field in fields.items()}
    if row in ROWS_BY_FEASIBILITY:  # no filter selects these episodes
        return None
    if column != table["columns"][-1]:
        link["platform"] = column
    if row in SPLITS:
        link["split"] = row
    figure, _, tier = row.partition(" ")
    if figure == "SR" and tier in TIERS:
        link["check"] = group_tag("tier", tier)
    return link


def _group_link(tally: Tally, group: str, label: str) -> Json | None:
    if label == "none":  # samples without a value, which no filter names
        return None
    if group == "app":  # an episode may need several
        return {"dataset": tally.dataset, group: sorted(tally.apps.get(label, {label}))}
    if group in FIELDS_OF_GROUPS:
        return {"dataset": tally.dataset, group: label}
    return {"dataset": tally.dataset, "check": group_tag(group, label)}


def _heading(name: str) -> str:
    return PLATFORM_LABELS.get(name, name[:1].upper() + name[1:].replace("_", " "))

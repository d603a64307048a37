"""Episodes that were played and scored elsewhere: OSWorld, AndroidWorld, MobileWorld.

An episode comes with its score from 0 to 1; no check can be run again. Figures: the mean score and
the share of episodes with a full score, over all episodes, and beside them the figure that the
world's own program would give. Intervals go by task.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from benchmarks.figures import Sections
from benchmarks.matrics import Scores
from benchmarks.tables import TableBenchmark
from utils.analysis.columns import Row, SampleColumns, share
from utils.contracts import Judgement, Line, Sizes, Verdict
from utils.errors import UserError
from utils.program import EVALUATE

SUCCESS = 1.0  # the score of a task that was done as a whole
WITHOUT_SCORE = "without a score"
UNREADABLE = "unreadable score"
SCORED = "scored"
ENDINGS = (SCORED, UNREADABLE, WITHOUT_SCORE)
OWN = {  # by world: how its own program counts, and which endings it leaves out
    "osworld": ("OSWorld", (WITHOUT_SCORE,)),
    "android_world": ("AndroidWorld", (WITHOUT_SCORE, UNREADABLE)),
    "mobile_world": ("MobileWorld", (WITHOUT_SCORE, UNREADABLE)),
}


class EpisodeScore(NamedTuple):
    """The facts about an episode that the figures need."""

    domain: str
    score: float
    ending: str


class ImportedEpisodes(TableBenchmark):
    """The episodes of a world; there are none before they were imported."""

    name = level = "episodes"
    folder = "results of live worlds"  # there is none: nothing of it lies in LMUData
    text_key = "task"
    system_prompt = ""  # nothing is asked
    options: ClassVar[Mapping[str, tuple[str, ...]]] = {"world": (*OWN,)}
    result_columns = ("task", "domain", "score", "success", "steps", "ended", "error")

    def read_rows(self) -> Iterator[Line]:
        """Raise a UserError: episodes come from an import alone."""
        raise UserError(
            f"{self.name}: its episodes were played elsewhere; {EVALUATE} --import FOLDER "
            "reads them, and --mode eval scores them again"
        )

    def files(self) -> Sequence[Path]:
        """Return no file: episodes come from an import alone."""
        return []

    def user_text(self, line: Line) -> str:
        """Return the instruction of the episode, or the name of its task without one."""
        return str(line["instruction"] or line["task"])

    @staticmethod
    def default_parse(response: str, meta: Mapping[str, Any], /) -> float | None:
        """Return the score that a file has; None where it is no number from 0 to 1."""
        try:
            score = float(response)
        except ValueError:
            return None
        return score if math.isfinite(score) and 0 <= score <= 1 else None

    def judge_parsed(self, line: Line, sizes: Sizes, parsed: Any, reply: str | None) -> Judgement:
        """Return a hit for a full score; an unreadable one counts as 0."""
        ending = SCORED
        if reply is None:
            ending = WITHOUT_SCORE
        elif parsed is None:
            ending = UNREADABLE
        score = parsed or 0.0
        verdict = Verdict.HIT if score >= SUCCESS else Verdict.MISS
        if ending == UNREADABLE:
            verdict = Verdict.UNPARSED
        columns = {
            "task": line["task"],
            "domain": line["domain"],
            "score": parsed,
            "success": int(verdict is Verdict.HIT),
            "steps": line["steps"],
            "ended": ending,
            "error": line["error"],
        }
        facts = {
            "split": line["domain"],
            "kind": None,
            "text": line["instruction"] or line["task"],
            "hit": int(verdict is Verdict.HIT),
            "image": None,
            "task": line["task"],
            "partial": score,
            "steps": line["steps"],
            "ended": ending,
        }
        counted = EpisodeScore(str(line["domain"]), score, ending)
        return Judgement(None if reply is None else verdict, counted, columns, facts)

    def summarise(self, counted: Iterable[EpisodeScore], settings: Mapping[str, str]) -> Scores:
        """Return the mean score, the success rate and the world's own figure, in percent."""
        episodes = list(counted)
        title, left_out = self._own
        counted_there = [episode for episode in episodes if episode.ending not in left_out]
        return {
            "mean_score": _mean([episode.score for episode in episodes]),
            "success": _mean([float(episode.score >= SUCCESS) for episode in episodes]),
            f"as {title} counts": _mean([episode.score for episode in counted_there]),
            "counts": {
                "episodes": len(episodes),
                **{
                    ending: sum(episode.ending == ending for episode in episodes)
                    for ending in ENDINGS
                },
            },
            "sum_of_scores": sum(episode.score for episode in episodes),
            "domains": {
                domain: sum(episode.domain == domain for episode in episodes)
                for domain in sorted({episode.domain for episode in episodes})
            },
        }

    def sections(self, columns: SampleColumns, settings: Mapping[str, str]) -> Sections:
        """Return the figures by domain, with intervals."""
        title, left_out = self._own
        scores, tasks, endings = columns["partial"], columns["task"], columns["ended"]
        domains = sorted({str(domain) for domain in columns["split"]})
        everything = range(len(scores))
        groups: dict[str, Sequence[int]] = {
            domain: [i for i in everything if columns["split"][i] == domain] for domain in domains
        }
        groups["Overall"] = everything

        def row(name: str, values: Sequence[float], only: Sequence[int]) -> Row:
            chosen = set(only)
            cells = []
            for indices in groups.values():
                of_group = [index for index in indices if index in chosen]
                numbers = [values[index] for index in of_group]
                labels = [tasks[index] for index in of_group]
                cells.append(share(numbers, labels) if numbers else None)
            return {"name": name, "cells": cells}

        successes = [float(score >= SUCCESS) for score in scores]
        counted_there = [index for index in everything if endings[index] not in left_out]
        rows = [
            row("mean score", scores, everything),
            row("success", successes, everything),
            row(f"as {title} counts", scores, counted_there),
        ]
        table = {
            "title": self.title,
            "columns": [*groups],
            "rows": rows,
            "official": ["mean score", "success"],
            "unit": "in %, as scored elsewhere",
            "clusters": "task",
            "column_field": "split",
            "row_field": None,
        }
        overall = rows[0]["cells"][-1]
        return {
            "table": table,
            "averages": {"overall": overall},
            "groups": {},
            "episodes": {
                "title": "How episodes end",
                "rows": [
                    {"name": ending, "episodes": endings.count(ending)}
                    for ending in ENDINGS
                    if ending in endings
                ],
            },
        }

    @property
    def _own(self) -> tuple[str, tuple[str, ...]]:
        return OWN[str(self.settings["world"])]


def _mean(values: Sequence[float]) -> float | None:
    return 100 * sum(values) / len(values) if values else None

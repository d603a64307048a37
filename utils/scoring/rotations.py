"""Circular evaluation after the run: every rotation of every question, judged and written.

`<model>_GUIContentUnderstanding_rotations.jsonl` lies beside the samples file and has its form, one
line for each rotation of each scored question, those of a question in a row. Beyond the fields of a
samples file, of which `options` and `answer` are those of the rotation, it has

question             key of the question, as in the samples file; `key` is `<question>~<rotation>`
rotation, rotations  number of this one, 0 being the question as annotated; how many there are

A rotation that was not asked yet has no line. Like every derived file it comes from the log alone,
and the official score, spreadsheets and samples file are made before it, without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from utils.contracts import Collector, Facts, Record, turn_key
from utils.runs.finished import open_samples
from utils.runs.view import LogView
from utils.scoring import sheets as outputs
from utils.scoring.analysing import analyse
from utils.scoring.console import TableLike, render_table
from utils.scoring.samples import facts_of, write_facts, write_head
from utils.scoring.scorer import Scorer, reply_of

ROTATIONS_SUFFIX = "_rotations.jsonl"
SECTION = "circular"
OVERALL = "Overall"  # the row of all questions


class Rotating(Protocol):
    """What a data set knows of its rotations; `benchmarks.circular.Circular` is the real one."""

    def count(self, line: Mapping[str, Any]) -> int:
        """How many rotations a line has, the 0th included."""
        ...

    def collector(self) -> Collector:
        """Makes the section of the lines of a rotations file."""
        ...

    def table(self, section: Mapping[str, Any]) -> TableLike:
        """The section for people."""
        ...

    def figures(self, section: Mapping[str, Any]) -> dict[str, Any]:
        """The same as the section "table" of an analysis is, with intervals."""
        ...


@dataclass
class Rotations:
    """The rotations of one log, judged once its samples have been.

    Args:
        rotating: the data set's.
        log: holds the answers.
        scorer: one of its own, so that the official counts stay those of the questions.
        clean: removes secrets.

    Attributes:
        missing: how many have not been asked yet; known after `analyse`.
    """

    rotating: Rotating
    log: LogView
    scorer: Scorer
    clean: Callable[[Any], Any]
    missing: int = 0

    def analyse(self, samples: Path, path: Path) -> dict[str, Any]:
        """Writes the rotations file; returns the section by its name.

        Args:
            samples: the samples file, the 0th rotations.
            path: of the file to write.

        Raises:
            StopRun: a user's function failed ten times in a row, or the disk is full.
        """
        with outputs.open_lines(path) as lines, open_samples(samples) as (head, questions):
            write_head(lines, head)
            for question in questions:
                for facts in self._turns(question):
                    write_facts(lines, facts)
        sections = analyse(path, {SECTION: self.rotating.collector()})
        return {SECTION: sections[SECTION]}

    def _turns(self, question: Facts) -> Iterator[Facts]:
        """What is known of each rotation of a question."""
        count = self.rotating.count(question)
        common = {"question": question["key"], "rotations": count}
        yield {**question, **common, "rotation": 0}
        for number in range(1, count):
            record = self.log.record(turn_key(question["key"], number))
            if record is None:
                self.missing += 1
                continue
            facts = self.clean(facts_of(record, self.scorer.judge(record)))
            yield {**facts, **common, "rotation": number}

    def shown(self, section: Mapping[str, Any], model: str, note: str) -> list[str]:
        """The section's table and notes, for the console."""
        counted = sum(row["questions"] for row in section["rows"] if row["name"] == OVERALL)
        table, figures = self.rotating.table(section), self.rotating.figures(section)
        shown = render_table(table, model, counted, note=note, section=figures)
        return ["", shown, *section["notes"]]

    @property
    def is_whole(self) -> bool:
        """Whether all were asked and none failed."""
        return not self.missing and not self.scorer.has_failures


def all_answered(rotating: Rotating, log: LogView, postprocess: Callable[[str], str]) -> bool:
    """Whether every rotation that a log covers has a usable reply, for `--mode infer`."""
    return all(
        record is not None and reply_of(record, postprocess)[0] is not None
        for question in log.records()
        for record in _later(rotating, log, question)
    )


def _later(rotating: Rotating, log: LogView, question: Record) -> Iterator[Record | None]:
    for number in range(1, rotating.count(question["line"])):
        yield log.record(turn_key(question["key"], number))

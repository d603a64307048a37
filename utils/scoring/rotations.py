"""Circular evaluation after the run: every rotation of every question, judged and written.

`<model>_GUIContentUnderstanding_rotations.jsonl` lies beside the samples file and has its form, one
line for each rotation of each scored question, those of a question in a row. Beyond the fields of a
samples file, of which `options` and `answer` are those of the rotation, it has

question             key of the question, as in the samples file; `key` is `<question>~<rotation>`
rotation, rotations  number of this one, 0 being the question as annotated; how many there are

A rotation that was not queried yet has no line. Like every derived file it comes from the log
alone, and the official score, spreadsheets and samples file do not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utils.analysis.columns import SampleColumns
from utils.contracts import Facts, turn_key
from utils.runs.view import LogView
from utils.scoring.samples import Clean, facts_of
from utils.scoring.scorer import Scorer, reply_of
from utils.scoring.sheets import open_lines, to_json

ROTATIONS_SUFFIX = "_rotations.jsonl"
SECTION = "circular"


@dataclass
class Rotations:
    """The rotations of one log."""

    count_of: Callable[[Mapping[str, Any]], int]  # how many a line has, the 0th included
    view: LogView
    missing: int = 0  # how many have not been queried yet; known after `write`

    def write(
        self, path: Path, head: Facts, questions: Iterable[Facts], scorer: Scorer, clean: Clean
    ) -> SampleColumns:
        """Writes the rotations file; returns what stands in it.

        Args:
            questions: the facts of the samples, which are the 0th rotations.
            scorer: one of its own, so that the official counts stay those of the questions.

        Raises:
            StopRun: a user's function failed ten times in a row, or the disk is full.
        """
        columns = SampleColumns()
        with open_lines(path) as lines:
            lines.write(to_json(head) + "\n")
            for question in questions:
                key, count = question["key"], self.count_of(question)
                for number in range(count):
                    record = self.view.record(turn_key(key, number))
                    if record is None:
                        self.missing += 1
                        continue
                    facts = clean(facts_of(record, scorer.judge(record))) if number else question
                    facts = {**facts, "question": key, "rotations": count, "rotation": number}
                    lines.write(to_json(facts) + "\n")
                    columns.add(facts)
        return columns

    def are_all_answered(self, postprocess: Callable[[str], str]) -> bool:
        """Whether every rotation that the log covers has a usable reply, for `--mode infer`."""
        for question in self.view.records():
            for number in range(1, self.count_of(question["line"])):
                record = self.view.record(turn_key(question["key"], number))
                if record is None or reply_of(record, postprocess)[0] is None:
                    return False
        return True

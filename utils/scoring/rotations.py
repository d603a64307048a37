"""Circular evaluation after the run: every rotation of every question, judged and written.

`<model>_<data set>_rotations.jsonl` lies beside the samples file and has its form, one
line for each rotation of each scored question, those of a question in a row. Beyond the fields of a
samples file, of which `options` and `answer` are those of the rotation, it has

question             key of the question, as in the samples file; `key` is `<question>~<rotation>`
rotation, rotations  number of this one, 0 being the question as annotated; how many there are

A rotation that was not queried yet has no line. Like every derived file it comes from the log
alone, and the official score, spreadsheets and samples file do not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from utils.analysis.columns import SampleColumns
from utils.contracts import Facts, RotationRules, turn_key
from utils.scoring.samples import REPEAT, SamplesFile, facts_of
from utils.scoring.scorer import Scorer, reply_of
from utils.store.view import LogView

ROTATIONS_SUFFIX = "_rotations.jsonl"
SECTION = "circular"


def write_rotations(
    file: SamplesFile,
    questions: Iterable[Facts],
    circular: RotationRules,
    view: LogView,
    scorer: Scorer,
) -> tuple[SampleColumns, int]:
    """Write the rotations file; return what stands in it, and how many were not queried yet.

    Args:
        file: the rotations file.
        questions: the facts of the samples, which are the 0th rotations.
        circular: the rotations of a question.
        view: of the log, with the records of all rotations.
        scorer: one of its own, so that the official counts stay those of the questions.

    Raises:
        StopRun: a user's function failed ten times in a row, or the disk is full.
    """
    columns = SampleColumns()
    missing = 0
    with file.opened() as add_line:
        for question in questions:
            key, count = question["key"], circular.count(question)
            for number in range(count):
                record = view.record(turn_key(key, number))
                if record is None:
                    missing += 1
                    continue
                facts = question
                if number:
                    scored = scorer.judge(record)
                    facts = file.clean(facts_of(record, scored, has_repeats=REPEAT in question))
                facts = {**facts, "question": key, "rotations": count, "rotation": number}
                add_line(facts)
                columns.add(facts)
    return columns, missing


def are_all_answered(
    circular: RotationRules, view: LogView, postprocess: Callable[[str], str]
) -> bool:
    """Whether every rotation that the log covers has a usable reply, for `--mode infer`."""
    for question in view.records():
        for number in range(1, circular.count(question["line"])):
            record = view.record(turn_key(question["key"], number))
            if record is None or reply_of(record, postprocess)[0] is None:
                return False
    return True

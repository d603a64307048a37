"""From a run's log to judged samples, scores, and the files derived from them.

Each sample passes once: judged, written to the spreadsheets and the samples file, and kept in the
columns from which table, intervals and audits are worked out.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from utils.analysis.columns import SampleColumns
from utils.contracts import DataSet, Facts, Record
from utils.errors import UserError
from utils.runs.finished import SAMPLES_SUFFIX
from utils.runs.folder import RunFolder
from utils.runs.view import COVERAGE, LogView, Selection
from utils.scoring.rotations import ROTATIONS_SUFFIX, SECTION, Rotations, write_rotations
from utils.scoring.samples import facts_of, head_of
from utils.scoring.scorer import Scorer, reply_of, shown_reply
from utils.scoring.sheets import finite, open_lines, open_sheet, to_json, write_json

ANALYSIS_SUFFIX = "_analysis.json"


@dataclass(frozen=True)
class ScoringTask:
    """What is scored, and how.

    Attributes:
        limit: how many samples were asked for; None: all.
        postprocess: raw reply → text to parse.
        scorer: makes a scorer; circular evaluation needs a second one.
        clean: removes secrets: a user's function may have put one into a reply.
    """

    folder: RunFolder
    data: DataSet
    limit: int | None
    postprocess: Callable[[str], str]
    scorer: Callable[[], Scorer]
    clean: Callable[[Any], Any]

    @property
    def name(self) -> str:
        """Of the data set."""
        return self.data.benchmark.name

    @property
    def has_earlier_files(self) -> bool:
        """Whether the folder holds files of an earlier scoring."""
        file = partial(self.folder.file, self.name, SAMPLES_SUFFIX)
        return any(file(partial=part).exists() for part in (False, True))


@dataclass(frozen=True)
class Scored:
    """What came of scoring a log.

    Attributes:
        files: spreadsheets and, last, the score file.
        scores: the score object.
        analysis: sections by name: the score table with intervals, averages, audits.
        counts, errors: see `Scorer`.
        missing: samples of the run without an answer so far.
        notes: what the score leaves out or rests on, one line each.
        is_partial: the files end in `_partial`.
        is_whole: all that was asked for was answered and scored.
    """

    dataset: str
    mode: str
    files: list[Path]
    scores: dict[str, Any]
    analysis: dict[str, Any]
    counts: Counter[str]
    errors: dict[str, tuple[int, str]]
    missing: int
    notes: list[str] = field(default_factory=list)
    is_partial: bool = False
    is_whole: bool = True

    @property
    def warnings(self) -> list[str]:
        """What the sections of the analysis warn of."""
        sections = (
            each
            for name, each in self.analysis.items()
            if isinstance(each, Mapping) and name != COVERAGE  # those are notes
        )
        return [str(warning) for section in sections for warning in section.get("warnings", ())]


def write_predictions(task: ScoringTask, view: LogView) -> bool:
    """The predictions alone, for `--mode infer`; whether every sample has one."""
    is_whole = view.missing == 0
    is_partial = view.is_part(task.data.mode, task.limit)
    path = task.folder.file(task.name, ".xlsx", partial=is_partial)
    with open_sheet(path, [*view.columns, "prediction"]) as add:
        for record in view.records():
            reply, error = reply_of(record, task.postprocess)
            is_whole = is_whole and reply is not None
            shown = shown_reply(record, reply, error)
            add(task.clean({**record["line"], "prediction": shown}))
    task.folder.link_newest([path, task.folder.log(task.name)])
    if task.data.circular is not None:
        return is_whole and Rotations(task.data.circular.count, view).are_all_answered(
            task.postprocess
        )
    return is_whole


def score_data_set(task: ScoringTask, view: LogView) -> Scored:
    """Judges what a log holds of a data set, and writes every file derived from it.

    Raises:
        StopRun: a user's function failed ten times in a row, or the disk is full; files from
            before stay as they were.
        UserError: there is nothing to score.
    """
    data, folder, benchmark = task.data, task.folder, task.data.benchmark
    is_partial = view.is_part(data.mode, task.limit)
    records = Selection(view, benchmark.in_mode, data.mode, task.limit)
    if next(iter(records), None) is None:
        raise UserError(f"{task.name}: nothing to score: {records.nothing_there()}")
    name = partial(folder.file, task.name, partial=is_partial)
    scorer, columns = task.scorer(), SampleColumns()
    questions: list[Facts] = []  # of circular evaluation
    head = head_of(benchmark, folder.model, data.mode, partial=is_partial)
    with ResultFiles(task, view.columns, name, head) as files:
        for record in records:
            facts = files.add(record, scorer)
            columns.add(facts)
            if data.circular is not None:
                questions.append(facts)
    scores = scorer.scores(os.environ)
    sections = benchmark.sections(columns, os.environ)
    analysis = {"head": head, **{title: finite(section) for title, section in sections.items()}}
    rotations = None
    if data.circular is not None:
        rotations = Rotations(data.circular.count, view)
        turns = rotations.judge(questions, task.scorer(), task.clean)
        columns = SampleColumns()
        for facts in write_rotations(name(ROTATIONS_SUFFIX), head, turns):
            columns.add(facts)
        analysis[SECTION] = finite(data.circular.section(columns))
    else:  # those of an earlier circular run are out of date beside the new samples
        name(ROTATIONS_SUFFIX).unlink(missing_ok=True)
    analysis |= records.section()
    write_json(files.scores, scores)
    write_json(name(ANALYSIS_SUFFIX), analysis)
    derived = [*files.paths, name(ROTATIONS_SUFFIX), name(ANALYSIS_SUFFIX)]
    if not is_partial:  # those of an earlier --limit are out of date beside the full ones
        folder.drop_partial(task.name, [file.name for file in derived])
    folder.link_newest([*derived, folder.log(task.name)])
    is_whole = records.is_all() and not scorer.has_failures
    return Scored(
        dataset=task.name,
        mode=data.mode,
        files=[*files.sheets, files.scores],
        scores=scores,
        analysis=analysis,
        counts=scorer.counts,
        errors=scorer.errors,
        missing=records.missing,
        notes=[f"{task.name}: {warning}" for warning in records.warnings()],
        is_partial=is_partial,
        is_whole=is_whole and not (rotations and (rotations.missing or rotations.has_failures)),
    )


class ResultFiles:
    """Predictions, per-sample results and the samples file, written sample by sample.

    All of them appear when the last sample has been added, or none.
    """

    def __init__(
        self,
        task: ScoringTask,
        columns: Iterable[str],
        name: Callable[[str], Path],
        head: Facts,
    ) -> None:
        benchmark = task.data.benchmark
        self.sheets = [name(".xlsx"), name(f"_{benchmark.result_suffix}.xlsx")]
        self.samples = name(SAMPLES_SUFFIX)
        self.scores = name(f"_{benchmark.score_suffix}.json")
        self._columns = [*columns, "prediction"]
        self._benchmark, self._clean, self._head = benchmark, task.clean, head
        self._opened = ExitStack()

    @property
    def paths(self) -> list[Path]:
        """All of them, and the score file's."""
        return [*self.sheets, self.scores, self.samples]

    def __enter__(self) -> ResultFiles:
        kept = self._columns if self._benchmark.result_has_line else []
        self._add_prediction = self._opened.enter_context(open_sheet(self.sheets[0], self._columns))
        self._add_result = self._opened.enter_context(
            open_sheet(self.sheets[1], [*kept, *self._benchmark.result_columns])
        )
        self._lines = self._opened.enter_context(open_lines(self.samples))
        self._lines.write(to_json(self._head) + "\n")
        return self

    def __exit__(self, *error: Any) -> None:
        self._opened.__exit__(*error)

    def add(self, record: Record, scorer: Scorer) -> Facts:
        """Judges and writes one sample; returns its line of the samples file."""
        scored = scorer.judge(record)
        row = {**scored.line, "prediction": scored.prediction}
        facts, row, more = self._clean(
            [facts_of(record, scored), row, dict(scored.judgement.columns)]
        )
        self._lines.write(to_json(facts) + "\n")
        self._add_prediction(row)
        self._add_result({**row, **more} if self._benchmark.result_has_line else more)
        return facts  # type: ignore[no-any-return]

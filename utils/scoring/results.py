"""The files derived from a log, and the newest of each linked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from utils.contracts import Benchmark, Record
from utils.runs.finished import SAMPLES_SUFFIX
from utils.runs.folder import RunFolder
from utils.runs.view import LogView
from utils.scoring import sheets as outputs
from utils.scoring.analysing import ANALYSIS_SUFFIX, analyse
from utils.scoring.rotations import ROTATIONS_SUFFIX, Rotations
from utils.scoring.samples import facts_of, write_facts, write_head
from utils.scoring.scorer import Scorer, reply_of, shown_reply

Clean = Callable[[Any], Any]
"""Removes secrets: a user's function may have put one into a reply."""


@dataclass(frozen=True, slots=True)
class Written:
    """What came of scoring a log.

    Attributes:
        files: spreadsheets and, last, the score file.
        scores: the score object.
        analysis: see `utils.scoring.analysing`.
    """

    files: list[Path]
    scores: dict[str, Any]
    analysis: dict[str, Any]


def write_predictions(
    folder: RunFolder,
    dataset: str,
    log: LogView,
    postprocess: Callable[[str], str],
    clean: Clean,
    *,
    partial_run: bool,
) -> bool:
    """The predictions alone, for `--mode infer`; whether every sample has one."""
    is_whole = log.missing == 0
    path = folder.file(dataset, ".xlsx", partial=partial_run)
    with outputs.open_sheet(path, [*log.columns, "prediction"]) as add:
        for record in log.records():
            reply, error = reply_of(record, postprocess)
            shown = shown_reply(record, reply, error)
            is_whole = is_whole and reply is not None
            add(clean({**record["line"], "prediction": shown}))
    folder.link_newest([path, folder.log(dataset)])
    return is_whole


def write_results(
    folder: RunFolder,
    benchmark: Benchmark,
    log: LogView,
    records: Iterable[Record],
    scorer: Scorer,
    settings: Mapping[str, str],
    clean: Clean,
    *,
    mode: str,
    partial_run: bool,
    rotations: Rotations | None = None,
    extra_sections: Callable[[], dict[str, Any]] | None = None,
) -> Written:
    """Judges the records and writes predictions, per-sample results and scores on the way.

    Args:
        records: of `log`, those that are scored.
        settings: environment variables that a score depends on.
        mode: of the data set; stands in the head of the samples file.
        rotations: of the same log, for circular evaluation; judged after all else.
        extra_sections: makes further sections of the analysis, once all records have been read.

    Raises:
        StopRun: a user's function failed ten times in a row, or the disk is full; files from
            before stay as they were.
    """
    name = partial(folder.file, benchmark.name, partial=partial_run)
    files = [
        name(".xlsx"),
        name(f"_{benchmark.result_suffix}.xlsx"),
        name(f"_{benchmark.score_suffix}.json"),
    ]
    samples, analysis_file = name(SAMPLES_SUFFIX), name(ANALYSIS_SUFFIX)
    rotations_file = name(ROTATIONS_SUFFIX)
    columns = [*log.columns, "prediction"]
    kept = columns if benchmark.result_has_line else []
    with ExitStack() as sheets:
        add_prediction = sheets.enter_context(outputs.open_sheet(files[0], columns))
        add_result = sheets.enter_context(
            outputs.open_sheet(files[1], [*kept, *benchmark.result_columns])
        )
        lines = sheets.enter_context(outputs.open_lines(samples))
        head = {
            "dataset": benchmark.name,
            "level": benchmark.level,
            "model": folder.model,
            "mode": mode,
            "partial": partial_run,
        }
        write_head(lines, head)
        for record in records:
            scored = scorer.judge(record)
            write_facts(lines, clean(facts_of(record, scored)))
            row = clean({**scored.line, "prediction": scored.prediction})
            add_prediction(row)
            more = clean(dict(scored.judgement.columns))
            add_result({**row, **more} if benchmark.result_has_line else more)
    scores = scorer.scores(settings)
    outputs.write_json(files[2], scores)
    if rotations is None:  # what follows needs the memory that the log's index takes
        log.close()
    analysis = analyse(samples, benchmark.collectors(settings))
    if rotations is not None:
        analysis |= rotations.analyse(samples, rotations_file)
    else:  # those of an earlier circular run are out of date beside the new samples
        rotations_file.unlink(missing_ok=True)
    analysis |= extra_sections() if extra_sections is not None else {}
    outputs.write_json(analysis_file, analysis)
    derived = (*files, samples, rotations_file, analysis_file)
    if not partial_run:  # those of an earlier --limit are out of date beside the full ones
        folder.drop_partial(benchmark.name, [file.name for file in derived])
    folder.link_newest([*derived, folder.log(benchmark.name)])
    return Written(files, scores, analysis)

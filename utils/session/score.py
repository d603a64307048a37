"""One data set of one model is scored from its log."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from utils.datasets.published import (
    checkpoint_names,
    figures_beside,
    lines_of,
    with_newer,
)
from utils.engine.ranks import runs as ranks
from utils.errors import DONE, SOME_FAILED, ScorerError, StopRun, UserError
from utils.findings import doubt_about, warnings_in
from utils.protocol import SINGLE, official_figures
from utils.scoring import console
from utils.scoring.write import (
    NothingToScore,
    Scored,
    ScoringTask,
    score_data_set,
    write_predictions,
)
from utils.session.changed_settings import note_on_changed_settings
from utils.session.evaluation import Evaluation
from utils.session.result import Result, report_stop
from utils.store.derived import CODE
from utils.store.find import doubtful_order
from utils.store.folder import RunFolder, foreign_owner, logs_by_age
from utils.store.log import LoggedRun, RunLog
from utils.store.logged_config import SCORING_CONFIG, config_of_set
from utils.store.manifest import Entry, entry_of
from utils.store.run_facts import (
    IMAGES_BY_RECIPE,
    SAMPLE,
    SAMPLE_TEXT,
    data_kind,
    is_whole,
)
from utils.store.view import LogView, Selection
from utils.subsets import UnknownLabels

if TYPE_CHECKING:
    from utils.judging.judge import Judge
    from utils.judging.scoring import Judged  # loaded only where there is a judge

SCORE_AGAIN = (
    ". All replies are kept. After a change of your code, --mode eval scores them. After a change "
    "of the data file, the same command without --mode eval scores them; it sends no request again"
)
LogsByAge = Sequence[tuple[Path, Sequence[LoggedRun]]]
"""The logs of one model and data set with their runs, the one with the newest run first."""


def rescore(
    evaluations: Sequence[Evaluation], stack: ExitStack, folder: Path | None = None
) -> list[Result]:
    """Score what is in the logs (`--mode eval`).

    Answers made elsewhere count only where a model has no run, or where their folder is named.

    Args:
        evaluations: of one model.
        stack: gets the locks on the files.
        folder: of the run or import that is scored; None: the newest run.
    """
    logs = [_logs_of(evaluation, folder) for evaluation in evaluations]
    folders = {logs_of_set[0][0].parent for logs_of_set in logs if logs_of_set}
    for folder in sorted(folders):  # in one order for all processes, or two wait for each other
        stack.enter_context(RunFolder(evaluations[0].name, folder).scoring())
    return [
        _rescore_data_set(evaluation, logs_of_set)
        for evaluation, logs_of_set in zip(evaluations, logs, strict=True)
    ]


def _logs_of(evaluation: Evaluation, folder: Path | None) -> LogsByAge:
    """The logs of which the first is scored; of a folder that is named, its own alone."""
    work_dir, name, dataset = evaluation.options.work_dir, evaluation.name, evaluation.dataset
    logs = logs_by_age(work_dir, name, dataset)
    if folder is None and logs:
        return logs
    logs = [*logs, *logs_by_age(work_dir, name, dataset, imported=True)]
    return [(log, runs) for log, runs in logs if folder in (None, log.parent.resolve())]


def _rescore_data_set(evaluation: Evaluation, logs: LogsByAge) -> Result:
    options, name, dataset = evaluation.options, evaluation.name, evaluation.dataset
    if not logs:
        why = f"no log under {options.work_dir}"
        problem = f'model "{name}", {dataset}: {why}; leave out --mode eval'
        return report_stop(options, dataset, None, [problem], why)
    path = logs[0][0]
    doubt = _doubt_about(name, dataset, logs)
    if doubt is not None:
        return report_stop(options, dataset, None, [doubt], doubt)
    has_part = _newest_has_part(evaluation, logs)
    try:
        log = RunLog(path)  # keeps others from writing while files are made
    except UserError as error:
        return report_stop(options, dataset, None, error.problems, error.summary)
    newest = logs_by_age(options.work_dir, name, dataset)
    is_older = bool(newest) and newest[0][0].parent.resolve() != path.parent.resolve()
    folder = RunFolder(name, path.parent, is_older=is_older)
    with closing(log):
        ranks.adopt(folder, dataset, log)  # several ranks may have been stopped
        outcome = score(evaluation, folder)
    return replace(outcome, code=SOME_FAILED) if has_part else outcome


def _newest_has_part(evaluation: Evaluation, logs: LogsByAge) -> bool:
    """Say so where the newest log has only a part of what is requested, and another all of it."""
    data, limit = evaluation.data, evaluation.options.limit
    newest = logs[0][0]
    complete = [
        log
        for log, runs in logs
        if any(
            run.covers(data.mode) and run.has_enough(limit) and run.repeats >= data.repeats
            for run in runs
        )
    ]
    if not complete or newest in complete:
        return False
    print(
        f"{evaluation.dataset}: the newest log, in {newest.parent.name}, has only some of the "
        f"samples. The log in {complete[0].parent.name} has all. To score all samples, leave out "
        "--mode eval: the run then reuses the stored answers, and sends no request. To score that "
        f"log as it is, add --run-folder {complete[0].parent}"
    )
    return True


def _doubt_about(name: str, dataset: str, logs: LogsByAge) -> str | None:
    """Say why the newest log may not be the one to score, if that is so."""
    path, runs = logs[0]
    if runs:
        problem = foreign_owner(name, runs[-1], path.parent.parent)
        if problem is not None:
            return problem
    problem = doubtful_order([log.parent for log, _ in logs])
    if problem is None:
        return None
    return (
        f'model "{name}", {dataset}: {problem}. Move the folder that should not be scored out of '
        "the work-dir"
    )


def score(evaluation: Evaluation, folder: RunFolder) -> Result:
    """Score a log, write the files derived from it, and print the scores."""
    options, data, dataset = evaluation.options, evaluation.data, evaluation.dataset
    is_rescoring = options.mode == "eval"
    entry_of_run: Entry | None = None  # also for a data set whose scoring stops
    task = ScoringTask(
        folder=folder,
        data=data,
        limit=options.limit,
        postprocess=evaluation.postprocess,
        scorer=evaluation.scorer,
        clean=evaluation.secrets.clean_object,
        judged_by=evaluation.judged_by(),
        doubtful=evaluation.doubtful,
    )
    mode = data.mode if is_rescoring else None  # None: what this run has queried itself
    try:
        with closing(LogView(folder.log(dataset), mode, options.limit)) as view:
            is_part = view.is_part(data.mode, options.limit)
            entry = entry_of(view, data.benchmark.level, is_part=is_part)
            if by_recipe := evaluation.by_recipe_in(view.run):
                entry.facts[IMAGES_BY_RECIPE] = by_recipe
            task = replace(task, scorer=partial(evaluation.scorer, run=view.run))
            if options.mode == "infer":
                has_all = write_predictions(task, view)
                return Result(dataset, folder, DONE if has_all else SOME_FAILED, entry=entry)
            if is_rescoring:
                task = replace(task, notes=note_on_changed_settings(evaluation, view, folder.path))
            else:
                entry_of_run = entry
            if evaluation.judge is not None:
                second_reader = _judge_replies(evaluation, evaluation.judge, task, view)
                task = replace(task, second_reader=second_reader)
            scored = score_data_set(task, view)
            published = _note_scoring(evaluation, entry, scored)
    except StopRun as stop:  # what ends this data set alone; the others are scored all the same
        problems = [f"{dataset}: {problem}" for problem in stop.problems]
        outcome = report_stop(options, dataset, folder, problems, stop.summary)
        if task.has_earlier_files:
            print(f"{dataset}: not scored; its files are from an earlier scoring")
        return replace(outcome, entry=entry_of_run)
    except UserError as error:
        return _report_unscored(evaluation, folder, error)
    console.show_scored(scored, evaluation.name, options)
    if data_kind(entry.facts) == SAMPLE:
        print(f"{dataset}: {SAMPLE_TEXT}")
    if published is not None:
        print("\n".join(lines_of(published)))
    code = DONE if scored.is_whole else SOME_FAILED
    return Result(dataset, folder, code, is_scored=True, entry=entry, checksums=scored.checksums)


def _report_unscored(evaluation: Evaluation, folder: RunFolder, error: UserError) -> Result:
    """Print why a log was not scored. A question that it cannot answer says nothing of its run."""
    options = evaluation.options
    lines: Sequence[str] = error.problems
    if isinstance(error, UnknownLabels):
        lines = error.lines(is_typed=bool(options.only))
    advice = SCORE_AGAIN if isinstance(error, ScorerError) else ""
    problems = [f'model "{evaluation.name}", {line}{advice}' for line in lines]
    is_question = options.mode == "eval" and isinstance(error, (NothingToScore, UnknownLabels))
    return report_stop(
        options, evaluation.dataset, None if is_question else folder, problems, error.summary
    )


def _note_scoring(evaluation: Evaluation, entry: Entry, scored: Scored) -> dict[str, Any] | None:
    """Put what came of a scoring into the manifest's entry; return the published figures."""
    entry.facts[SCORING_CONFIG] = config_of_set(
        evaluation.config, evaluation.name, evaluation.dataset
    )
    entry.facts["figures"] = {} if scored.no_score else official_figures(scored.analysis)
    if scored.no_score:
        entry.facts["no_score"] = scored.no_score
    if scored_by := (scored.analysis.get("table") or {}).get("scored_by"):
        entry.facts["scored_by"] = scored_by
    if code := scored.analysis["head"].get(CODE):
        entry.facts[CODE] = code
    warned = warnings_in(scored.analysis)
    entry.facts["warnings"] = len(warned)
    if warned:
        entry.facts["warned"] = [str(finding) for finding in warned]
    is_part = scored.analysis["head"]["partial"]
    published = None if is_part else _published(evaluation, entry, scored)
    if published is not None:
        entry.facts["published"] = published
    return published


def _judge_replies(
    evaluation: Evaluation, judge: Judge, task: ScoringTask, view: LogView
) -> Judged:
    """The judge's readings of a model's replies."""
    from utils.judging.scoring import judge_replies

    return judge_replies(
        judge,
        Selection(view, task.data, task.limit),
        task.scorer(),
        task.folder,
        evaluation.options,
        evaluation.secrets.clean_object,
    )


def judge_requests(evaluation: Evaluation, folder: RunFolder) -> int:
    """The requests that a judge would get for the replies in a folder; nothing is sent."""
    from utils.judging.scoring import judge_replies

    judge, data, options = evaluation.judge, evaluation.data, evaluation.options
    assert judge is not None
    with closing(LogView(folder.log(evaluation.dataset), data.mode, options.limit)) as view:
        judged = judge_replies(
            judge,
            Selection(view, data, options.limit),
            evaluation.scorer(skip_errors=True, run=view.run),
            folder,
            replace(options, mode="eval"),
            evaluation.secrets.clean_object,
        )
    return min(judged.to_send, judge.max_requests)


def _published(evaluation: Evaluation, entry: Entry, scored: Scored) -> dict[str, Any] | None:
    """Return the published figures of the checkpoint, beside scores on the same data."""
    recipe = evaluation.recipe
    if recipe is None or scored.no_score or not is_whole(entry.facts, is_partial=False):
        return None
    section = figures_beside(
        with_newer(recipe.recipe.figures, recipe.recipe.hub_ids),
        checkpoint_names(evaluation.shown_entry),
        entry.facts["annotations"]["file"],
        scored.analysis,
        entry.facts.get("protocol", SINGLE),
        doubt_about(scored.analysis),
    )
    if section is not None:
        section["own_settings"] = recipe.own_settings(evaluation.dataset)
    return section

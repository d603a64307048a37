"""One data set of one model is scored from its log."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from utils.engine.ranks import runs as ranks
from utils.errors import DONE, SOME_FAILED, StopRun, UserError
from utils.findings import doubt_about, warnings_in
from utils.protocol import SINGLE, official_figures
from utils.published import checkpoint_names, figures_beside, lines_of
from utils.report.run_facts import is_whole
from utils.run.outcome import Outcome, report_stop
from utils.run.plan import Plan
from utils.run.requests import note_on_changed_settings
from utils.runs.find import doubtful_order
from utils.runs.folder import RunFolder, foreign_owner, logs_by_age
from utils.runs.log import LoggedRun, RunLog
from utils.runs.manifest import Entry, entry_of
from utils.runs.view import LogView, Selection, coverage_of
from utils.scoring import console
from utils.scoring.write import Scored, ScoringTask, score_data_set, write_predictions

if TYPE_CHECKING:
    from utils.judging.scoring import Judged  # loaded only where there is a judge

LogsByAge = Sequence[tuple[Path, Sequence[LoggedRun]]]
"""The logs of one model and data set with their runs, the one with the newest run first."""


def rescore(plan: Plan, name: str, stack: ExitStack) -> list[Outcome]:
    """Score what is in the logs (`--mode eval`); `stack` gets the locks on the files."""
    work_dir = plan.options.work_dir
    logs = {dataset: logs_by_age(work_dir, name, dataset) for dataset in plan.data}
    folders = {logs_of_set[0][0].parent for logs_of_set in logs.values() if logs_of_set}
    for folder in sorted(folders):  # in one order for all processes, or two wait for each other
        stack.enter_context(RunFolder(name, folder).scoring())
    return [_rescore_data_set(plan, name, dataset, logs[dataset]) for dataset in plan.data]


def _rescore_data_set(plan: Plan, name: str, dataset: str, logs: LogsByAge) -> Outcome:
    options = plan.options
    if not logs:
        why = f"no log under {options.work_dir}"
        return report_stop(
            plan, dataset, None, [f'model "{name}", {dataset}: {why}; leave out --mode eval'], why
        )
    path = logs[0][0]
    problem = _doubt_about(name, dataset, logs)
    if problem is not None:
        return report_stop(plan, dataset, None, [problem], problem)
    has_part = _newest_has_part(plan, dataset, logs)
    try:
        log = RunLog(path)  # keeps others from writing while files are made
    except UserError as error:
        return report_stop(plan, dataset, None, error.problems, error.summary)
    folder = RunFolder(name, path.parent)
    with closing(log):
        ranks.adopt(folder, dataset, log)  # several ranks may have been stopped
        outcome = score(plan, name, folder, dataset)
    return replace(outcome, code=SOME_FAILED) if has_part else outcome


def _newest_has_part(plan: Plan, dataset: str, logs: LogsByAge) -> bool:
    """Say so where the newest log has only a part of what is requested, and another all of it."""
    data, limit = plan.data[dataset], plan.options.limit
    newest = logs[0][0]
    complete = [
        log
        for log, runs in logs
        if any(
            all(coverage_of(run, data.mode, limit)) and run.repeats >= data.repeats for run in runs
        )
    ]
    if not complete or newest in complete:
        return False
    print(
        f"{dataset}: the newest log, in {newest.parent.name}, holds only part of what is asked "
        f"for, {complete[0].parent.name} all of it. To score that one, give the command of its "
        "run without --mode eval: it becomes the newest, and no request is repeated"
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
        f'model "{name}", {dataset}: {problem}; move what is not to be scored out of the work-dir'
    )


def score(plan: Plan, name: str, folder: RunFolder, dataset: str) -> Outcome:
    """Score a log, write the files derived from it, and print the scores."""
    options, data = plan.options, plan.data[dataset]
    is_rescoring = options.mode == "eval"
    entry_of_run: Entry | None = None  # also for a data set whose scoring stops
    task = ScoringTask(
        folder=folder,
        data=data,
        limit=options.limit,
        postprocess=plan.models[name].postprocess(dataset),
        scorer=partial(plan.scorer, name, dataset),
        clean=plan.secrets.clean_object,
    )
    mode = data.mode if is_rescoring else None  # None: what this run has queried itself
    try:
        with closing(LogView(folder.log(dataset), mode, options.limit)) as view:
            is_part = view.is_part(data.mode, options.limit)
            entry = entry_of(view, data.benchmark.level, is_part=is_part)
            task = replace(task, scorer=partial(plan.scorer, name, dataset, run=view.run))
            if options.mode == "infer":
                has_all = write_predictions(task, view)
                return Outcome(dataset, folder, DONE if has_all else SOME_FAILED, entry=entry)
            if is_rescoring:
                task = replace(task, notes=note_on_changed_settings(plan, name, dataset, view))
            else:
                entry_of_run = entry
            if dataset in plan.judges:
                task = replace(task, second_reader=_judge_replies(plan, name, dataset, task, view))
            scored = score_data_set(task, view)
            published = _note_scoring(plan, name, dataset, entry, scored)
    except StopRun as stop:  # what ends this data set alone; the others are scored all the same
        problems = [f"{dataset}: {problem}" for problem in stop.problems]
        outcome = report_stop(plan, dataset, folder, problems, stop.summary)
        if task.has_earlier_files:
            print(f"{dataset}: not scored; its files are from an earlier scoring")
        return replace(outcome, entry=entry_of_run)
    except UserError as error:
        problems = [f'model "{name}", {problem}' for problem in error.problems]
        return report_stop(plan, dataset, folder, problems, error.summary)
    console.show_scored(scored, name, options)
    if published is not None:
        print("\n".join(lines_of(published)))
    code = DONE if scored.is_whole else SOME_FAILED
    return Outcome(dataset, folder, code, is_scored=True, entry=entry, checksums=scored.checksums)


def _note_scoring(
    plan: Plan, name: str, dataset: str, entry: Entry, scored: Scored
) -> dict[str, Any] | None:
    """Put what came of a scoring into the manifest's entry; return the published figures."""
    entry.facts["figures"] = {} if scored.no_score else official_figures(scored.analysis)
    if scored.no_score:
        entry.facts["no_score"] = scored.no_score
    warned = warnings_in(scored.analysis)
    entry.facts["warnings"] = len(warned)
    if warned:
        entry.facts["warned"] = [str(finding) for finding in warned]
    is_part = scored.analysis["head"]["partial"]
    published = None if is_part else _published(plan, name, dataset, entry, scored)
    if published is not None:
        entry.facts["published"] = published
    return published


def _judge_replies(plan: Plan, name: str, dataset: str, task: ScoringTask, view: LogView) -> Judged:
    """Return what the judge makes of a model's replies."""
    from utils.judging.scoring import judge_replies, same_model_warning

    model_entry, entry = plan.config.model[name], plan.config.data[dataset].judge
    assert entry is not None
    judge = replace(plan.judges[dataset], warning=same_model_warning(model_entry, entry.model))
    return judge_replies(
        judge,
        Selection(view, task.data.benchmark.in_mode, task.data.mode, task.limit),
        task.scorer(),
        task.folder,
        plan.options,
        plan.secrets.clean_object,
    )


def _published(
    plan: Plan, name: str, dataset: str, entry: Entry, scored: Scored
) -> dict[str, Any] | None:
    """Return what others published of the checkpoint, beside scores on the same data."""
    filled_in = plan.config.recipes.get(name)
    if filled_in is None or scored.no_score or not is_whole(entry.facts, is_partial=False):
        return None
    section = figures_beside(
        filled_in.recipe.figures,
        checkpoint_names(plan.dump["model"][name]),
        entry.facts["annotations"]["file"],
        scored.analysis,
        entry.facts.get("protocol", SINGLE),
        doubt_about(scored.analysis),
    )
    if section is not None:
        section["own_settings"] = filled_in.own_settings(dataset)
    return section

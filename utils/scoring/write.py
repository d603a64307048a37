"""From a run's log to its scores, its files and what is printed of them."""

from __future__ import annotations

import os
from contextlib import closing
from functools import partial

from utils.config.environment import is_set
from utils.contracts import ModelWrapper
from utils.engine.ranks.runs import adopt
from utils.errors import DONE, SOME_FAILED, StopRun, UserError
from utils.plan import Plan
from utils.runs import coverage
from utils.runs.finished import SAMPLES_SUFFIX
from utils.runs.folder import RunFolder, logs_by_age
from utils.runs.log import RunLog
from utils.runs.view import LogView, log_with_all
from utils.scoring import console
from utils.scoring.analysing import warnings_of
from utils.scoring.results import write_predictions, write_results
from utils.scoring.rotations import SECTION, Rotations, all_answered
from utils.scoring.scorer import Scorer, Selection


def scorer_of(plan: Plan, model: ModelWrapper, dataset: str, *, skip_errors: bool) -> Scorer:
    data = plan.data[dataset]
    return Scorer(
        data.benchmark,
        postprocess=partial(model.postprocess, dataset=dataset),
        parse=data.parse,
        kwargs=plan.config.model[model.name].kwargs,
        skip_errors=skip_errors,
    )


def rescore(plan: Plan, name: str, model: ModelWrapper, dataset: str) -> int:
    """Scores what is in the logs (`--mode eval`)."""
    logs = logs_by_age(plan.options.work_dir, name, dataset)
    if not logs:
        where = plan.options.work_dir
        plan.stop([f'model "{name}", {dataset}: no log under {where}; run --mode infer'])
        return SOME_FAILED
    path, _ = logs[0]
    folder, least = RunFolder(name, path.parent), DONE
    whole = log_with_all(logs, plan.data[dataset].mode, plan.options.limit)
    if whole is not None and whole != path:
        least = SOME_FAILED
        print(
            f"{dataset}: the newest log, in {path.parent.name}, holds a part of what is asked for, "
            f"and {whole.parent.name} all of it. The same command without --mode eval takes its "
            "answers over"
        )
    try:
        log = RunLog(path)  # keeps others from writing while files are made
    except UserError as error:
        plan.stop(error.problems)
        return SOME_FAILED
    try:
        plan.written.setdefault(folder, []).append(dataset)
        adopt(folder, dataset, log)  # several ranks may have been stopped
        return max(write(plan, model, folder, dataset), least)
    finally:
        log.close()


def view_of(plan: Plan, folder: RunFolder, dataset: str) -> LogView:
    """The log as this run looks at it: at what it has asked itself, or at what is to be scored."""
    if plan.options.mode != "eval":
        return LogView(folder.log(dataset))
    return LogView(folder.log(dataset), plan.data[dataset].mode, plan.options.limit)


def write(plan: Plan, model: ModelWrapper, folder: RunFolder, dataset: str) -> int:
    """Scores a log and writes the files derived from it."""
    options, data, clean = plan.options, plan.data[dataset], plan.secrets.clean_object
    with closing(view_of(plan, folder, dataset)) as log:
        partial_run = log.is_part(data.mode, options.limit)
        if options.mode == "infer":
            postprocess = partial(model.postprocess, dataset=dataset)
            whole = write_predictions(
                folder, dataset, log, postprocess, clean, partial_run=partial_run
            )
            if data.circular is not None:
                whole = whole and all_answered(data.circular, log, postprocess)
            return DONE if whole else SOME_FAILED
        records = Selection(log, data.benchmark, data.mode, options.limit)
        if next(iter(records), None) is None:
            what = coverage.nothing_there(log, data.mode)
            plan.stop([f'model "{model.name}", {dataset}: nothing to score: {what}'])
            return SOME_FAILED
        scorer = scorer_of(plan, model, dataset, skip_errors=is_set("SKIP_ERR"))
        rotations = None
        if data.circular is not None:
            its_own = scorer_of(plan, model, dataset, skip_errors=is_set("SKIP_ERR"))
            rotations = Rotations(data.circular, log, its_own, clean)
        told = coverage.Told(log, records, data.mode, circular=rotations is not None)
        try:
            written = write_results(
                folder, data.benchmark, log, records, scorer, os.environ, clean, mode=data.mode,
                partial_run=partial_run, rotations=rotations, extra_sections=told.section,
            )  # fmt: skip
        except StopRun as stop:  # this data set's functions; the others are scored all the same
            plan.stop([f"{dataset}: {stop}"])
            files = [folder.file(dataset, SAMPLES_SUFFIX, partial=part) for part in (False, True)]
            if any(file.exists() for file in files):
                print(f"{dataset}: not scored; its files are those of an earlier scoring")
            return SOME_FAILED
    plan.scored.setdefault(folder, []).append(dataset)
    note = "" if data.mode == "all" else f" · {data.mode} only"
    note += " (partial)" if partial_run else ""
    table = data.benchmark.table(written.scores)
    count, analysis = scorer.counts["samples"], written.analysis
    section = analysis["table"]
    print("\n" + console.render_table(table, model.name, count, note=note, section=section))
    print(console.render_averages(analysis["averages"]))
    print("\n".join(console.render_summary(
        scorer, records.missing, verbose=options.verbose,
        fate=console.fate_of_failed(options.mode, ignored=options.ignore),
    )))  # fmt: skip
    for line in told.lines(dataset, options.limit):
        print(line)
    if rotations is not None:
        print("\n".join(rotations.shown(analysis[SECTION], model.name, note)))
    for warning in warnings_of({**analysis, coverage.SECTION: {}}):  # that one's are told above
        print(f"warning: {warning}")
    print(f"Files: {written.files[-1]} and {len(written.files) - 1} more beside it")
    is_whole = not records.missing and (rotations is None or rotations.is_whole)
    is_whole = is_whole and told.is_all(options.limit)
    return DONE if is_whole and not scorer.has_failures else SOME_FAILED

"""From a run's log to its scores, its files and what is printed of them."""

from __future__ import annotations

import os
from contextlib import closing
from functools import partial

from utils import console
from utils.analysis import warnings_of
from utils.contracts import ModelWrapper
from utils.environment import is_set
from utils.errors import StopRun, UserError
from utils.exit_codes import DONE, SOME_FAILED
from utils.plan import Plan
from utils.predictions import LogView, RunLog
from utils.ranks.logs import merge_newest_run
from utils.results import write_predictions, write_results
from utils.rotations import SECTION, Rotations, all_answered
from utils.run_folder import RunFolder, newest_log
from utils.scoring import Scorer, records_to_score


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
    found = newest_log(plan.options.work_dir, name, dataset)
    if found is None:
        where = plan.options.work_dir
        plan.stop([f'model "{name}", {dataset}: no log under {where}; run --mode infer'])
        return SOME_FAILED
    folder, path = found
    try:
        log = RunLog(path)  # keeps others from writing while files are made
    except UserError as error:
        plan.stop(error.problems)
        return SOME_FAILED
    try:
        plan.written.setdefault(folder, []).append(dataset)
        merge_newest_run(folder, dataset, log)  # several ranks may have been stopped
        return write(plan, model, folder, dataset, partial_run=plan.options.limit is not None)
    finally:
        log.close()


def write(
    plan: Plan, model: ModelWrapper, folder: RunFolder, dataset: str, *, partial_run: bool
) -> int:
    """Scores a log and writes the files derived from it."""
    options, data, clean = plan.options, plan.data[dataset], plan.secrets.clean_object
    with closing(LogView(folder.log(dataset))) as log:
        if options.mode == "infer":
            postprocess = partial(model.postprocess, dataset=dataset)
            whole = write_predictions(
                folder, dataset, log, postprocess, clean, partial_run=partial_run
            )
            if data.circular is not None:
                whole = whole and all_answered(data.circular, log, postprocess)
            return DONE if whole else SOME_FAILED
        partial_run = partial_run or log.is_limited or log.missing > 0 or not log.has(data.mode)
        scorer = scorer_of(plan, model, dataset, skip_errors=is_set("SKIP_ERR"))
        records = records_to_score(log, data.benchmark, data.mode, options.limit)
        rotations = None
        if data.circular is not None:
            its_own = scorer_of(plan, model, dataset, skip_errors=is_set("SKIP_ERR"))
            rotations = Rotations(data.circular, log, its_own, clean)
        try:
            written = write_results(
                folder, data.benchmark, log, records, scorer, os.environ, clean,
                partial_run=partial_run, rotations=rotations,
            )  # fmt: skip
        except StopRun as stop:  # this data set's functions; the others are scored all the same
            plan.stop([f"{dataset}: {stop}"])
            return SOME_FAILED
    note = "" if data.mode == "all" else f" · {data.mode} only"
    note += " (partial)" if partial_run else ""
    table = data.benchmark.table(written.scores)
    count, analysis = scorer.counts["samples"], written.analysis
    section = analysis["table"]
    print("\n" + console.render_table(table, model.name, count, note=note, section=section))
    print(console.render_averages(analysis["averages"]))
    print("\n".join(console.render_summary(scorer, log.missing, verbose=options.verbose)))
    if rotations is not None:
        print("\n".join(rotations.shown(analysis[SECTION], model.name, note)))
    for warning in warnings_of(analysis):
        print(f"warning: {warning}")
    print(f"Files: {written.files[-1]} and {len(written.files) - 1} more beside it")
    is_whole = not log.missing and (rotations is None or rotations.is_whole)
    return DONE if is_whole and not scorer.has_failures else SOME_FAILED

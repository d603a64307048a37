"""From a run's log to its scores, its files and what is printed of them."""

from __future__ import annotations

import os
import sys
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
from utils.results import write_predictions, write_results
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
        print(f'model "{name}", {dataset}: no log under {plan.options.work_dir}; run --mode infer')
        return SOME_FAILED
    folder, path = found
    try:
        log = RunLog(path)  # keeps others from writing while files are made
    except UserError as error:
        print(console.problem_report(error.problems, ran=True), file=sys.stderr)
        return SOME_FAILED
    try:
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
            return DONE if whole else SOME_FAILED
        partial_run = partial_run or log.is_limited or log.missing > 0 or not log.has(data.mode)
        scorer = scorer_of(plan, model, dataset, skip_errors=is_set("SKIP_ERR"))
        records = records_to_score(log, data.benchmark, data.mode, options.limit)
        try:
            written = write_results(
                folder, data.benchmark, log, records, scorer, os.environ, clean,
                partial_run=partial_run,
            )  # fmt: skip
        except StopRun as stop:  # this data set's functions; the others are scored all the same
            print(console.problem_report([f"{dataset}: {stop}"], ran=True), file=sys.stderr)
            return SOME_FAILED
    note = "" if data.mode == "all" else f" · {data.mode} only"
    note += " (partial)" if partial_run else ""
    table = data.benchmark.table(written.scores)
    print("\n" + console.render_table(table, model.name, scorer.counts["samples"], note=note))
    print("\n".join(console.render_summary(scorer, log.missing, verbose=options.verbose)))
    for warning in warnings_of(written.analysis):
        print(f"warning: {warning}")
    print(f"Files: {written.files[-1]} and {len(written.files) - 1} more beside it")
    return SOME_FAILED if scorer.has_failures or log.missing else DONE

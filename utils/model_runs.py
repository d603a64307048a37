"""One model on all data sets of a run: what it is asked, the logs, the engine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from utils import console
from utils.config import ModelEntry
from utils.contracts import ModelWrapper
from utils.derived_files import rescore, scorer_of, write
from utils.environment import PROJECT, is_set
from utils.exit_codes import DONE, SOME_FAILED
from utils.first_look import FirstLook
from utils.import_utils import resolve
from utils.inference_tools import Engine, EngineSettings
from utils.jobs import Job, Questions
from utils.outcomes import Policy
from utils.plan import Plan
from utils.predictions import AnswerIndex, RunLog
from utils.prompting import prompt_builder
from utils.provenance import Stopwatch, end_record, run_record
from utils.run_folder import RunFolder, git_commit


def evaluate_model(plan: Plan, name: str, model: ModelWrapper) -> int:
    """Asks one model everything that has no answer yet, scores, and writes; the exit code."""
    if plan.options.mode == "eval":
        return max([rescore(plan, name, model, dataset) for dataset in plan.data], default=DONE)
    folder = RunFolder.for_today(plan.options.work_dir, name, PROJECT)
    print(f'\nmodel "{name}" → {folder.path}')
    code = DONE
    logs: list[RunLog] = []
    try:
        jobs = []
        for dataset in plan.data:
            logs.append(RunLog(folder.log(dataset)))
            jobs.append(open_job(plan, name, dataset, folder, logs[-1]))
        infer(plan, model, jobs)
        for job in jobs:
            if job.stopped is not None:
                print(console.problem_report(job.stopped.problems, ran=True), file=sys.stderr)
                code = SOME_FAILED
                continue
            partial_run = plan.options.limit is not None
            code = max(code, write(plan, model, folder, job.dataset, partial_run=partial_run))
    finally:
        for log in logs:
            log.close()
    return code


def questions_of(plan: Plan, name: str, dataset: str, folder: RunFolder) -> Questions:
    """What one model is asked of one data set, and what it has answered before."""
    entry, data = plan.config.model[name], plan.data[dataset]
    prompt_of = prompt_builder(
        data.benchmark,
        system_prompt=entry.kwargs.get("system_prompt"),
        custom=_prompt_function(entry, name, dataset),
    )
    return Questions(
        dataset=dataset,
        samples=data.loaded.samples[: plan.options.limit],
        episode=partial(data.benchmark.episode, prompt_of=prompt_of),
        answers=AnswerIndex.of_logs(folder.all_logs(dataset)),
    )


def open_job(plan: Plan, name: str, dataset: str, folder: RunFolder, log: RunLog) -> Job:
    """Opens a run in its log."""
    asked, data = questions_of(plan, name, dataset, folder), plan.data[dataset]
    record = run_record(
        model=name,
        dataset=dataset,
        mode=data.mode,
        limit=plan.options.limit,
        samples=[sample.key for sample in asked.samples],
        bad=[str(bad) for bad in data.loaded.bad],
        config=plan.dump,
        commit=git_commit(PROJECT),
    )
    log.append(plan.secrets.clean_object(record))
    return Job(**vars(asked), log=log)


def _prompt_function(entry: ModelEntry, name: str, dataset: str) -> Callable[..., Any] | None:
    dotted = (entry.custom_prompt or {}).get(dataset)
    return resolve(dotted, role=f'model."{name}".custom_prompt.{dataset}') if dotted else None


def infer(plan: Plan, model: ModelWrapper, jobs: Sequence[Job]) -> None:
    options = plan.options
    looks = {job.dataset: _first_look(plan, model, job) for job in jobs}
    settings = EngineSettings(
        in_flight=options.api_nproc,
        policy=Policy(options.retry, options.outage_s, options.wait_for_server_s),
        fresh=options.fresh,
        keep_failed=options.ignore,
        skip_errors=is_set("SKIP_ERR"),
        clean=plan.secrets.clean_object,
        clean_text=plan.secrets.clean,
        on_answer=lambda dataset, record: looks[dataset].see(record),
        on_reason=console.show_reason if options.verbose else console.hide_reason,
    )
    progress = console.ConsoleProgress(sum(len(job.samples) for job in jobs), model.name)
    if any(job.has_new_samples for job in jobs):
        model.warm_up()
    cost = Stopwatch()
    try:
        Engine(model, settings, progress).run(jobs)
    finally:
        progress.close()
    for job in jobs:
        job.log.append(end_record(cost.wall_s, cost.cpu_s, asked=job.reasons, reused=job.reused))
        print(console.render_asked(job.dataset, job.reasons, job.reused))
    print(f"took {cost.wall_s:.1f} s ({cost.cpu_s:.1f} s of CPU)")


def _first_look(plan: Plan, model: ModelWrapper, job: Job) -> FirstLook:
    return FirstLook(
        [sample.key for sample in job.samples],
        scorer_of(plan, model, job.dataset, skip_errors=True),
        lambda text: print(f"warning: {model.name}, {job.dataset}: {text}", flush=True),
    )

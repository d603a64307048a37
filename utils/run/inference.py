"""One model is asked: its logs are opened, and all that has no answer yet is queried."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from functools import partial

from utils.contracts import ModelWrapper
from utils.engine.engine import Engine
from utils.engine.jobs import Job
from utils.engine.ranks import runs as ranks
from utils.engine.ranks.group import Group
from utils.errors import DONE
from utils.run.plan import Plan
from utils.run.requests import folder_of, open_job, questions_of, run_specs
from utils.runs.folder import RunFolder, choosing, logs_by_age
from utils.runs.log import RunLog
from utils.runs.records import end_record
from utils.scoring import console

BATCH_OF_AUTO = 8


def open_jobs(plan: Plan, name: str, stack: ExitStack) -> tuple[RunFolder, list[Job]]:
    """Choose the folder of a model's run and open the run in its logs, which `stack` closes."""
    work_dir = plan.options.work_dir
    specs = run_specs(plan, name)
    with choosing(work_dir, name):
        folder, why = folder_of(plan, name, specs)
        print(f'\nmodel "{name}" → {folder.path}' + (f" ({why})" if why else ""))
        opened = []
        for dataset in plan.data:
            log = RunLog(folder.log(dataset), clean=plan.secrets.clean_object)
            stack.enter_context(closing(log))
            ranks.adopt(folder, dataset, log)
            questions = questions_of(plan, name, dataset, folder)
            if questions.follow_up is not None:
                questions.follow_up.begin()
                stack.callback(questions.follow_up.close)
            opened.append((questions, log))
        numbers = [run.seq for _, runs in logs_by_age(work_dir, name) for run in runs]
        numbers += [questions.answers.newest for questions, _ in opened]
        seq = 1 + max(numbers, default=0)
        jobs = [
            open_job(plan, name, questions, log, specs[questions.dataset], seq)
            for questions, log in opened
        ]
    return folder, jobs


def infer(
    plan: Plan, model: ModelWrapper, jobs: Sequence[Job], group: Group | None = None
) -> tuple[float, float]:
    """Query all that has no answer until it is in the logs, of all ranks if rank 0 calls.

    Returns:
        The seconds that it took, and those of CPU.
    """
    options = plan.options
    for job in jobs:
        first_look = plan.scorer(model.name, job.dataset)
        job.functions = first_look.functions
        job.first_look = first_look if job.follow_up is None else None  # of single replies
        if model.one_by_one:
            job.before_sample = partial(model.announce, job.dataset, len(job.samples))
    for note in model.notes_before():
        print(note)
    # A sample that was never asked needs the model, whatever has changed about the others since.
    has_all = all(job.answers.knows(sample.key) for job in jobs for sample in job.samples)
    if options.fresh or not has_all:
        model.warm_up()
    has_repeats = any(plan.data[job.dataset].repeats > 1 for job in jobs)
    bar = console.ConsoleProgress(
        sum(len(job.samples) for job in jobs),
        model.name,
        is_quiet=plan.options.quiet,
        unit="answer" if has_repeats else "sample",
    )
    group_progress = None if group is None else ranks.GroupProgress(bar, group, model.name)
    began_s, began_cpu_s = time.monotonic(), time.process_time()
    longest_s = others_cpu_s = 0.0
    try:
        Engine(model, options, group_progress or bar, plan.secrets.clean).run(jobs)
        if group_progress is not None and group_progress.group.rank.leads:
            folder = RunFolder(model.name, jobs[0].log.path.parent)
            longest_s, others_cpu_s = ranks.collect(group_progress, folder, jobs)
    finally:
        bar.close()
    # Another rank may have begun, and finished, while this one was loading.
    wall_s = max(time.monotonic() - began_s, longest_s)
    cpu_s = time.process_time() - began_cpu_s + others_cpu_s
    for job in jobs:
        if job.stopped is None:
            job.log.append(end_record(wall_s, cpu_s, queried=job.reasons, reused=job.reused))
        job.log.sync()  # a network disk that is full says so here
        print(console.queried_line(job.dataset, job.reasons, job.reused))
    for note in model.notes_after():
        print(note)
    print(f"took {wall_s:.1f} s ({cpu_s:.1f} s of CPU)")
    return wall_s, cpu_s


def batch_size_of(plan: Plan, name: str) -> int:
    """Return how many samples of a model are generated together, as far as is known."""
    size = getattr(plan.config.model[name], "batch_size", 1)
    return BATCH_OF_AUTO if isinstance(size, str) else size or 1


def follow(plan: Plan, group: Group) -> int:
    """Do the work of a rank other than 0: query its share of each model's samples."""
    for name, model in plan.models.items():
        try:
            _take_part(plan, name, model, group)
        finally:
            model.close()
    return DONE


def _take_part(plan: Plan, name: str, model: ModelWrapper, group: Group) -> None:
    """Query this rank's share of one model's samples; rank 0 does everything else."""
    joined = ranks.join(group, name, plan.options.work_dir)
    if joined is None:
        return
    folder, runs = joined
    with ExitStack() as stack:
        jobs = []
        for dataset, run in runs.items():
            log = ranks.open_rank_log(group, folder, dataset, run, clean=plan.secrets.clean_object)
            stack.enter_context(closing(log))
            questions = questions_of(plan, name, dataset, folder)
            if questions.follow_up is not None:
                stack.callback(questions.follow_up.close)
            jobs.append(Job(**vars(questions), log=log, run=run))
        ranks.share_samples(group, name, jobs, batch_size_of(plan, name))
        wall_s, cpu_s = infer(plan, model, jobs, group)
    ranks.report(group, name, jobs, wall_s, cpu_s)

"""One model is asked: all that has no answer yet is queried."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from typing import TYPE_CHECKING, Any

from utils.config.options import Options
from utils.contracts import ModelWrapper, Record
from utils.engine.engine import Engine
from utils.engine.jobs import Job
from utils.engine.ranks import runs as ranks
from utils.engine.ranks.group import Group, Rank
from utils.engine.ranks.machines import Machine, job_folder
from utils.errors import DONE
from utils.scoring import console
from utils.session.evaluation import Evaluation
from utils.session.jobs import make_job
from utils.session.plan import Plan
from utils.store.folder import RunFolder
from utils.store.records import end_record

if TYPE_CHECKING:
    from utils.session.tracking import Tracking


def infer(
    evaluations: Sequence[Evaluation],
    jobs: Sequence[Job],
    group: Group | None = None,
    tracking: Tracking | None = None,
) -> tuple[float, float]:
    """Query all that has no answer until it is in the logs, of all ranks if rank 0 calls.

    Args:
        evaluations: of one model.
        jobs: of these evaluations.
        group: the ranks that share the samples; None: this process is alone.
        tracking: counts finished samples, too.

    Returns:
        The seconds that it took, and those of CPU.
    """
    model, options = evaluations[0].model, evaluations[0].options
    clean = evaluations[0].secrets.clean
    if model.one_by_one:
        for job in jobs:
            job.before_sample = partial(model.announce, job.dataset, len(job.samples))
    for note in model.notes_before():
        print(note)
    _warm_up(model, jobs, options)
    has_repeats = any(job.run.repeats > 1 for job in jobs)
    bar = console.ConsoleProgress(
        sum(len(job.samples) for job in jobs),
        model.name,
        is_quiet=options.quiet,
        unit="answer" if has_repeats else "sample",
        serving=model.servers.shown if model.servers is not None else None,
    )
    progress = bar if tracking is None else tracking.counting(bar)
    group_progress = None if group is None else ranks.GroupProgress(progress, group, model.name)
    began_s, began_cpu_s = time.monotonic(), time.process_time()
    longest_s = others_cpu_s = 0.0
    try:
        Engine(model, options, group_progress or progress, clean).run(jobs)
        if group_progress is not None and group_progress.group.rank.leads:
            folder = RunFolder(model.name, jobs[0].log.path.parent)
            longest_s, others_cpu_s = ranks.collect(group_progress, folder, jobs)
    finally:
        bar.close()
    # Another rank may have begun, and finished, while this one was loading.
    wall_s = max(time.monotonic() - began_s, longest_s)
    cpu_s = time.process_time() - began_cpu_s + others_cpu_s
    # A server that is the only one is asked now: it has answered, and no request waits for it.
    served = model.served() if any(job.reasons for job in jobs) else {}
    servers = model.servers.table() if model.servers is not None else []
    for job in jobs:
        if job.stopped is None:
            job.log.append(_end_of(job, served, servers, wall_s, cpu_s))
        job.log.sync()  # a network disk that is full says so here
        print(console.queried_line(job.dataset, job.reasons, job.reused))
        if job.reused and job.tokens.total() and job.shard[1] == 1:
            # Else they are those of all samples, which are printed with the score.
            print(f"  tokens of this command: {console.tokens_text(job.tokens)}")
    for line in console.server_lines(servers, wall_s):
        print(line)
    for note in model.notes_after():
        print(note)
    print(f"took {wall_s:.1f} s ({cpu_s:.1f} s of CPU)")
    return wall_s, cpu_s


def _warm_up(model: ModelWrapper, jobs: Sequence[Job], options: Options) -> None:
    """Load the model if it will be asked; note what several servers serve."""
    servers = model.servers
    if servers is not None and not options.fresh:
        for job in jobs:
            servers.expect(job.answers.served_to(job.run))
    # A sample that was never asked needs the model, whatever has changed about the others since.
    has_all = all(job.answers.knows(sample.key) for job in jobs for sample in job.samples)
    if has_all and not options.fresh:
        return
    model.warm_up()
    served = servers.served() if servers is not None else {}
    for job in jobs if served else ():
        job.log.append({"kind": "served", "served": served})


def _end_of(
    job: Job,
    served: Mapping[str, str | int],
    servers: Sequence[Mapping[str, Any]],
    wall_s: float,
    cpu_s: float,
) -> Record:
    """The record that closes a run's inference; `servers`: a row for each that was looked at."""
    record = end_record(wall_s, cpu_s, queried=job.reasons, reused=job.reused)
    if served:
        record["served"] = served
    if servers:
        record["servers"] = servers
    return record


def follow(plan: Plan, rank: Rank, group: Group | None) -> int:
    """Do the work of a rank other than 0: query its shard of each model's samples, or serve.

    Args:
        plan: what the run is about, as far as this rank has a part in it.
        rank: this one.
        group: of the ranks that torchrun has started.
    """
    spread = plan.spread_models
    machine: Machine | None = None
    if spread:
        machine = Machine(job_folder(plan.options.work_dir, rank, group), os.environ)
    for name, evaluations in plan.evaluations.items():
        try:
            if machine is not None and name in spread:
                client = machine.wait_for_call(name)
                if client is not None:
                    plan.models[name].serve(client)
            elif group is not None:
                _take_part(evaluations, group)
        finally:
            plan.models[name].close()
    return DONE


def _take_part(evaluations: Sequence[Evaluation], group: Group) -> None:
    """Query this rank's shard of one model's samples; rank 0 does everything else."""
    first = evaluations[0]
    joined = ranks.join(group, first.name, first.options.work_dir)
    if joined is None:
        return
    folder, runs = joined
    by_dataset = {evaluation.dataset: evaluation for evaluation in evaluations}
    with ExitStack() as stack:
        jobs = []
        for dataset, run in runs.items():
            clean = first.secrets.clean_object
            log = ranks.open_rank_log(group, folder, dataset, run, clean=clean)
            stack.enter_context(closing(log))
            job = make_job(by_dataset[dataset], folder, run)
            if job.follow_up is not None:
                stack.callback(job.follow_up.close)
            job.open(log)
            jobs.append(job)
        ranks.share_samples(group, jobs)
        wall_s, cpu_s = infer(evaluations, jobs, group)
    ranks.report(group, first.name, jobs, wall_s, cpu_s)

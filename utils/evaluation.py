"""One model on all data sets of a run: what it is asked, the logs, the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from typing import Any

from utils import PROJECT
from utils.config.environment import is_set
from utils.config.read import ModelEntry
from utils.contracts import ModelWrapper, Sample
from utils.engine.jobs import Job, Questions
from utils.engine.ranks.group import Group
from utils.engine.ranks.runs import (
    GroupProgress,
    adopt,
    begin,
    collect,
    join,
    leading,
    open_rank_log,
    report,
    share_samples,
)
from utils.engine.retry_policy import Policy
from utils.engine.worlds import Worlds
from utils.errors import DONE, SOME_FAILED
from utils.functions.fingerprints import digest
from utils.functions.prompting import prompt_builder
from utils.import_utils import resolve
from utils.inference_tools import Engine, EngineSettings
from utils.plan import Plan
from utils.report.build import report_after_run
from utils.runs.folder import RunFolder
from utils.runs.log import AnswerIndex, RunLog
from utils.runs.manifest import write_manifests
from utils.runs.provenance import Stopwatch, inputs_of, made_with
from utils.runs.records import end_record, run_record
from utils.scoring import console
from utils.scoring.write import rescore, scorer_of, write

BATCH_OF_AUTO = 8


def evaluate_model(plan: Plan, name: str, model: ModelWrapper, group: Group | None = None) -> int:
    """Asks one model everything that has no answer yet, scores, and writes; the exit code.

    Args:
        group: the ranks that share the samples; this process leads them.
    """
    if plan.options.mode == "eval":
        code = max([rescore(plan, name, model, dataset) for dataset in plan.data], default=DONE)
        write_manifests(plan, name)
        write_reports(plan, name)
        return code
    folder = RunFolder.for_today(plan.options.work_dir, name, PROJECT)
    plan.written[folder] = list(plan.data)
    print(f'\nmodel "{name}" → {folder.path}')
    code = DONE
    with ExitStack() as held:
        if group is not None:
            held.enter_context(leading(group, name))
        jobs = []
        for dataset in plan.data:
            log = RunLog(folder.log(dataset), clean=plan.secrets.clean_object)
            held.enter_context(closing(log))
            adopt(folder, dataset, log)
            jobs.append(open_job(plan, name, dataset, folder, log))
        if group is not None:
            begin(group, folder, jobs, _batch(plan, name))
        infer(plan, model, jobs, group, folder)
        for job in jobs:
            if job.stopped is not None:
                plan.stop(job.stopped.problems)
                code = SOME_FAILED
                continue
            code = max(code, write(plan, model, folder, job.dataset))
        write_manifests(plan, name)
        write_reports(plan, name)
        return SOME_FAILED if group is not None and group.given_up else code


def write_reports(plan: Plan, name: str) -> None:
    """The report of each folder that a run has scored in for one model."""
    options = plan.options
    for folder in [each for each in plan.written if each.model == name and options.report]:
        report_after_run(
            folder,
            plan.scored.get(folder, ()) if options.mode != "infer" else (),
            work_dir=options.work_dir,
            embed_originals=options.embed_originals,
        )


def take_part(plan: Plan, name: str, model: ModelWrapper, group: Group) -> None:
    """Asks this rank's share of one model's samples; rank 0 does everything else."""
    joined = join(group, name, plan.options.work_dir)
    if joined is None:
        return
    folder, runs = joined
    with ExitStack() as held:
        jobs = []
        for dataset, run in runs.items():
            clean = plan.secrets.clean_object
            log = open_rank_log(group, folder, dataset, run, clean=clean)
            held.enter_context(closing(log))
            asked = questions_of(plan, name, dataset, folder)
            jobs.append(Job(**vars(asked), log=log, run=run))
        share_samples(group, name, jobs, _batch(plan, name))
        cost = infer(plan, model, jobs, group)
    report(group, name, jobs, cost.cpu_s)


def questions_of(plan: Plan, name: str, dataset: str, folder: RunFolder) -> Questions:
    """What one model is asked of one data set, and what it has answered before."""
    entry, data = plan.config.model[name], plan.data[dataset]
    prompt_of = prompt_builder(
        data.benchmark,
        system_prompt=entry.kwargs.get("system_prompt"),
        custom=_prompt_function(entry, name, dataset),
    )
    logs = folder.all_logs(dataset)
    logs += [part for log in logs for part in folder.beside(log).rank_logs(dataset)]
    benchmark = data.benchmark
    return Questions(
        dataset=dataset,
        samples=data.asked(plan.options.limit),
        episode=partial(benchmark.episode, prompt_of=prompt_of),
        answers=AnswerIndex.of_logs(logs, own=folder.log(dataset)),
        worlds=Worlds(benchmark.open_world, benchmark.worlds) if benchmark.worlds else None,
        fingerprint=None if benchmark.replays else partial(_of_episode, entry.model_dump()),
    )


def _of_episode(settings: Mapping[str, Any], sample: Sample) -> str:
    """Of a whole episode: its task, and all that decides how it goes."""
    return digest([settings, sample.key, sample.line])


def open_job(plan: Plan, name: str, dataset: str, folder: RunFolder, log: RunLog) -> Job:
    """Opens a run in its log."""
    asked, data = questions_of(plan, name, dataset, folder), plan.data[dataset]
    samples = data.loaded.samples[: plan.options.limit]
    inputs = inputs_of(data.benchmark.annotation_file, samples)
    record = run_record(
        seq=0,
        model=name,
        dataset=dataset,
        mode=data.mode,
        limit=plan.options.limit,
        samples=[sample.key for sample in samples],
        bad=[str(bad) for bad in data.loaded.bad],
        asking={},
        made_with=made_with(
            config=plan.dump,
            config_file=plan.config.path,
            arguments=plan.options.arguments,
            inputs=inputs,
        ),
    )
    log.append(record)
    return Job(**vars(asked), log=log, run=record["started_at"])


def _batch(plan: Plan, name: str) -> int:
    """How many samples of a model are generated together, as far as one knows."""
    size = plan.config.model[name].batch_size
    return BATCH_OF_AUTO if isinstance(size, str) else size or 1


def _prompt_function(entry: ModelEntry, name: str, dataset: str) -> Callable[..., Any] | None:
    dotted = (entry.custom_prompt or {}).get(dataset)
    return resolve(dotted, role=f'model."{name}".custom_prompt.{dataset}') if dotted else None


def infer(
    plan: Plan,
    model: ModelWrapper,
    jobs: Sequence[Job],
    group: Group | None = None,
    folder: RunFolder | None = None,
) -> Stopwatch:
    """Asks all that has no answer; returns when it is in the logs, of all ranks if rank 0 asks.

    Args:
        folder: where rank 0 of a group finds what the others have answered.
    """
    options = plan.options
    for job in jobs:
        job.first_look = scorer_of(plan, model, job.dataset, skip_errors=is_set("SKIP_ERR"))
    settings = EngineSettings(
        in_flight=options.api_nproc,
        policy=Policy(options.retry, options.outage_s, options.wait_for_server_s),
        fresh=options.fresh,
        keep_failed=options.ignore,
        retry_refused=options.retry_refused,
        skip_errors=is_set("SKIP_ERR"),
        clean_text=plan.secrets.clean_told,
        on_reason=console.show_reason if options.verbose else None,
    )
    shown = console.ConsoleProgress(sum(len(job.samples) for job in jobs), model.name)
    of_group = None if group is None else GroupProgress(shown, group, model.name)
    progress = of_group or shown
    for note in model.notes_before():
        print(note)
    if options.fresh or any(job.has_new_samples for job in jobs):
        model.warm_up()
    cost, others_cpu_s = Stopwatch(), 0.0
    try:
        Engine(model, settings, progress).run(jobs)
        if of_group is not None and folder is not None:
            ask = Engine(model, replace(settings, fresh=False), progress).run
            others_cpu_s = collect(of_group, folder, jobs, ask, fresh=options.fresh)
    finally:
        shown.close()
    wall_s, cpu_s = cost.wall_s, cost.cpu_s + others_cpu_s
    for job in jobs:
        job.log.append(end_record(wall_s, cpu_s, asked=job.reasons, reused=job.reused))
        print(console.render_asked(job.dataset, job.reasons, job.reused))
    for note in model.notes_after():
        print(note)
    print(f"took {wall_s:.1f} s ({cpu_s:.1f} s of CPU)")
    return cost
